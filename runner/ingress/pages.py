"""What the ingress says itself: a page for people, JSON for programs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from email.utils import formatdate
from html import escape
from http import HTTPStatus
from typing import Literal

Subject = Literal["malformed", "unknown_host", "unavailable", "not_started", "too_slow", "no_answer", "busy"]


@dataclass(frozen=True, slots=True)
class Words:
    """A page in one language."""

    title: str
    text: str


#: From a subject to its page in each language. The reasons are in the log of the project and are not shown to visitors.
WORDS: dict[Subject, dict[str, Words]] = {
    "malformed": {
        "en": Words("This request cannot be read", "It does not keep the rules of HTTP."),
        "es": Words("No se puede leer esta solicitud", "No cumple las reglas de HTTP."),
        "pt": Words("Não é possível ler este pedido", "Ele não segue as regras do HTTP."),
    },
    "unknown_host": {
        "en": Words("There is no program at this address", "Look at the address again, or ask whoever gave it to you."),
        "es": Words("No hay ningún programa en esta dirección", "Revise la dirección o pregunte a quien se la dio."),
        "pt": Words("Não há nenhum programa neste endereço", "Confira o endereço ou pergunte a quem o deu."),
    },
    "unavailable": {
        "en": Words("This program is not running", "It was stopped, or has not been deployed yet."),
        "es": Words("Este programa no está en marcha", "Se detuvo o aún no se ha desplegado."),
        "pt": Words("Este programa não está em execução", "Foi parado ou ainda não foi implantado."),
    },
    "not_started": {
        "en": Words("This program could not be started", "Its owner finds the reason in its log."),
        "es": Words("No se pudo iniciar este programa", "Su propietario encuentra el motivo en el registro."),
        "pt": Words("Não foi possível iniciar este programa", "O dono encontra o motivo no registro."),
    },
    "too_slow": {
        "en": Words("This program takes too long", "It did not answer in time. Try again in a moment."),
        "es": Words("Este programa tarda demasiado", "No respondió a tiempo. Inténtelo de nuevo en un momento."),
        "pt": Words("Este programa demora demais", "Não respondeu a tempo. Tente de novo daqui a pouco."),
    },
    "no_answer": {
        "en": Words("This program did not answer", "It ended the connection. Its owner may find the reason in its log."),
        "es": Words("Este programa no respondió", "Cerró la conexión. Su propietario puede ver el motivo en el registro."),
        "pt": Words("Este programa não respondeu", "Fechou a conexão. O dono pode ver o motivo no registro."),
    },
    "busy": {
        "en": Words("Too many requests wait for this program", "Try again in a moment."),
        "es": Words("Demasiadas solicitudes esperan a este programa", "Inténtelo de nuevo en un momento."),
        "pt": Words("Há pedidos demais à espera deste programa", "Tente de novo daqui a pouco."),
    },
}
_PAGE = """<!doctype html>
<html lang="{language}">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title></head>
<body><h1>{title}</h1><p>{text}</p></body>
</html>
"""


def page(
    status: int, subject: Subject, *, detail: str = "", accept: bytes = b"", languages: bytes = b"", bodiless: bool = False
) -> bytes:
    """A whole reply, after which the connection ends.

    Args:
        detail: what is wrong with a malformed request.
        accept: the ``Accept`` field of the request.
        languages: its ``Accept-Language``.
        bodiless: whether the request was a ``HEAD``.
    """
    words = WORDS[subject]
    if b"text/html" in accept.lower():
        language = chosen_language(languages)
        title, text = words[language].title, words[language].text
        body = _PAGE.format(language=language, title=escape(title), text=escape(f"{text} {detail}".strip())).encode()
        kind = "text/html; charset=utf-8"
    else:
        reason = detail or words["en"].text
        body = json.dumps({"error": f"{words['en'].title}: {reason}", "status": status, "code": subject}).encode()
        kind = "application/json"
    lines = [
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
        f"Date: {formatdate(usegmt=True)}",
        f"Content-Type: {kind}",
        f"Content-Length: {len(body)}",
        "Cache-Control: no-store",
        "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'",
        "X-Content-Type-Options: nosniff",
        "Connection: close",
    ]
    if status in (503, 504):
        lines.append("Retry-After: 5")
    head = ("\r\n".join(lines) + "\r\n\r\n").encode("ascii")
    return head if bodiless else head + body


def chosen_language(accepted: bytes) -> str:
    """The first language of ``Accept-Language`` that there are pages in, by weight; else English."""
    found: list[tuple[float, int, str]] = []
    for order, item in enumerate(accepted[:1000].decode("latin-1").split(",")):
        tag, _, rest = item.strip().partition(";")
        weight = rest.strip().removeprefix("q=")
        try:
            value = float(weight) if weight else 1.0
        except ValueError:
            continue
        short = tag.strip().lower().partition("-")[0]
        if short in ("en", "es", "pt") and 0 < value <= 1:
            found.append((-value, order, short))
    return min(found)[2] if found else "en"
