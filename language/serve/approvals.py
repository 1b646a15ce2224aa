"""The reserved routes by which a person answers a gate: the listing, the decision, the decision link.

They come before the routes of the program and need no authentication, because a decision needs the one-time token of its gate.
Only the forms named here are reserved; all other paths below ``/approvals`` belong to the program.
"""

from __future__ import annotations

from language.errors import RuntimeFault
from language.serve.origins import cross_origin
from language.serve.reply import Reply
from language.shared.gate_board import (
    DECIDED,
    NEEDS_DECISION,
    NEEDS_VALUE,
    TOO_LONG,
    UNKNOWN,
    WRONG_TOKEN,
    GateRecord,
    is_client_link,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.gates.queue import GateQueue
    from language.serve.request import Request

#: The most bytes of the body of a decision.
BODY_LIMIT = 64 * 1024

_NOT_STORED = ("Cache-Control", "no-store")
_MALFORMED = 'malformed body — expected JSON {"token": "...", "decision": true|false} or {"token": "...", "value": "text"}'
_NO_TOKEN = 'missing "token" — the console line and the webhook of the gate contain it'
_NO_ANSWER = 'missing "decision" (true|false, for approve/confirm) or "value" (text, for ask)'
_UNREACHABLE = "the pending approvals cannot be reached"
_ANSWERS = {
    UNKNOWN: (404, f"{UNKNOWN} — it may have expired, or a HUMAN already answered it"),
    WRONG_TOKEN: (403, f"{WRONG_TOKEN} — the gate is still waiting for a HUMAN with the correct token"),
    NEEDS_DECISION: (400, f"{NEEDS_DECISION}: true or false — it is still waiting"),
    NEEDS_VALUE: (400, f"{NEEDS_VALUE}: a text — it is still waiting"),
    TOO_LONG: (400, f"{TOO_LONG} — the gate is still waiting"),
}


def is_reserved(method: str, path: str) -> bool:
    """Whether a request has one of the reserved forms. ``path`` is not decoded and has no query."""
    return "/approvals" in path and _parts(method, path) is not None


def shown_path(path: str) -> str:
    """The path of a request for an error message, without everything after ``/approvals/``, which may be a token.

    That segment may be anywhere and percent-encoded: a person may mistype a decision link, and a proxy may forget to remove its
    prefix.
    """
    from urllib.parse import unquote

    segments = path.split("/")
    for place, segment in enumerate(segments):
        if unquote(segment).strip().lower() == "approvals" and any(segments[place + 1 :]):
            return "/".join([*segments[: place + 1], "…"])
    return path


def answer(queue: GateQueue, request: Request) -> Reply | None:
    """The answer to a request of a reserved form; ``None`` for all others. Never raises."""
    parts = _parts(request.method, request.path)
    if parts is None:
        return None
    try:
        if not parts:
            return _json(200, {"pending": queue.pending()})
        if len(parts) == 1:
            return _decision(queue, request, parts[0])
        return _link(queue, request, parts[0], parts[1])
    except RuntimeFault:  # raised by a store that several processes share
        return _error(503, _UNREACHABLE)


def too_large() -> Reply:
    """The answer to a decision whose body is over the limit."""
    return _error(413, "payload too large", closes=True)


def _parts(method: str, path: str) -> list[str] | None:
    """The segments after ``/approvals`` in a reserved form, without empty ones, as in the routes of programs."""
    segments = [segment for segment in path.split("/") if segment]
    if not segments or segments[0] != "approvals" or len(segments) > 3:
        return None
    if method != "POST" if len(segments) == 2 else method not in ("GET", "HEAD"):
        return None
    if "%" not in path:
        return segments[1:]
    from urllib.parse import unquote

    return [unquote(segment) for segment in segments[1:]]


# ---- POST /approvals/{id} ----------------------------------------------------------------------------------------------


def _decision(queue: GateQueue, request: Request, identifier: str) -> Reply:
    if request.body_file is not None or len(request.body) > BODY_LIMIT:
        return too_large()
    fields, is_form = _fields(request.body)
    if not is_form:
        # The form of a decision link is accepted from every origin: its sender has the one-time token of that link.
        refused = cross_origin(request, None)
        if refused is not None:
            return _error(403, refused)
    if fields is None:
        return _error(400, _MALFORMED)
    token = fields.get("token")
    if not isinstance(token, str) or not token:
        return _page_or_error(is_form, 400, _NO_TOKEN, "Invalid link")
    decision = _decision_in(fields, is_form)
    value = fields.get("value")
    if not isinstance(value, str):
        value = None
    if decision is None and value is None:
        return _page_or_error(is_form, 400, _NO_ANSWER, "Missing decision")
    record = queue.look(identifier, token)
    channel = "page" if is_form else "api"
    outcome = queue.decide(identifier, token, decision=decision, value=value, channel=channel, decider=_decider(request))
    if outcome == DECIDED:
        if not is_form:
            return _json(200, {"ok": True})
        # If both members are given, the one that belongs to the kind of the gate counts.
        asked = isinstance(record, GateRecord) and record.kind == "ask"
        return _decided_page(queue, identifier, token, "Answered" if asked else _word(decision is True))
    if is_form and outcome == UNKNOWN:
        return _gone(queue, identifier, token)
    status, text = _ANSWERS[outcome]
    return _page_or_error(is_form, status, text, _TITLES[outcome])


#: The titles of the pages by outcome.
_TITLES = {
    UNKNOWN: "Not found",
    WRONG_TOKEN: "Invalid link",
    NEEDS_DECISION: "Missing decision",
    NEEDS_VALUE: "Answer needed",
    TOO_LONG: "Answer too long",
}


def _fields(body: bytes) -> tuple[dict[str, Any] | None, bool]:
    """The members of a body, JSON or a form with a token, and whether it is a form; ``None`` for any other body."""
    from language.values.json_decoding import decode

    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None, False
    try:
        found = decode(text)
    except (RuntimeFault, RecursionError):
        return _form(text), True
    return (found, False) if isinstance(found, dict) else (None, False)


def _form(text: str) -> dict[str, Any] | None:
    """The fields of ``application/x-www-form-urlencoded`` text, if there is a token; browsers send line ends as CR LF."""
    from urllib.parse import parse_qsl

    found = {name: value.replace("\r\n", "\n") for name, value in parse_qsl(text.strip(), keep_blank_values=True)}
    return found if "token" in found else None


def _decision_in(fields: dict[str, Any], is_form: bool) -> bool | None:
    from language.values import FALSE, TRUE

    given = fields.get("decision")
    if is_form:
        return {"true": True, "false": False}.get(given) if isinstance(given, str) else None
    return True if given is TRUE else False if given is FALSE else None


# ---- GET /approvals/{id}/{token} ---------------------------------------------------------------------------------------


def _link(queue: GateQueue, request: Request, identifier: str, token: str) -> Reply:
    if request.method == "HEAD":
        return _error(405, "method not allowed", ("Allow", "GET"))
    choice = _choice(request.query_text)
    if choice is not None and choice not in ("yes", "no"):
        return _page(400, "Missing decision")
    record = queue.look(identifier, token)
    if not isinstance(record, GateRecord):
        return _gone(queue, identifier, token) if record == UNKNOWN else _page(_ANSWERS[record][0], _TITLES[record])
    if choice is not None and record.kind == "ask":
        return _page(400, "Answer needed", onward=True)
    if choice is None or _is_prefetch(request):
        from language.serve.approval_pages import button_page

        return _html(200, button_page(record, token, queue.seconds_left(record), queue.prefix, queue.program))
    outcome = queue.decide(identifier, token, decision=choice == "yes", channel="link", decider=_decider(request))
    if outcome == UNKNOWN:  # another decision came first
        return _gone(queue, identifier, token)
    if outcome != DECIDED:
        return _page(_ANSWERS[outcome][0], _TITLES[outcome])
    return _decided_page(queue, identifier, token, _word(choice == "yes"))


def _decided_page(queue: GateQueue, identifier: str, token: str, title: str) -> Reply:
    """The page after a decision. It calls nobody a person who may be the client of a tool."""
    from language.serve.approval_pages import result_page

    decided = queue.recent(identifier, token)
    return _html(200, result_page(title, by_client=decided is not None and is_client_link(decided.record, token)))


def _gone(queue: GateQueue, identifier: str, token: str) -> Reply:
    """The page for a gate that waits no more. Who has its token reads how it was decided; a stranger learns nothing."""
    from language.serve.approval_pages import result_page

    decided = queue.recent(identifier, token)
    before = None if decided is None else (decided.how, decided.when)
    return _html(_ANSWERS[UNKNOWN][0], result_page(_TITLES[UNKNOWN], before=before))


def _decider(request: Request) -> str:
    return f"the holder of its token at {request.address or 'an unknown address'}"


def _choice(query_text: str) -> str | None:
    if not query_text:
        return None
    from urllib.parse import parse_qsl

    choices = {value for name, value in parse_qsl(query_text, keep_blank_values=True) if name == "d"}
    if not choices:
        return None
    return choices.pop() if len(choices) == 1 else ""  # contradictory choices count as none


def _is_prefetch(request: Request) -> bool:
    """Whether a browser or mail program prefetches the page. Such a request decides nothing."""
    return any(name in ("sec-purpose", "purpose", "x-moz") and "prefetch" in value.lower() for name, value in request.fields)


# ---- replies -----------------------------------------------------------------------------------------------------------


def _word(decision: bool) -> str:
    return "Approved" if decision else "Denied"


def _json(status: int, value: Any, *fields: tuple[str, str], closes: bool = False) -> Reply:
    import json

    return Reply(status, "application/json", json.dumps(value).encode(), [_NOT_STORED, *fields], closes=closes)


def _error(status: int, text: str, *fields: tuple[str, str], closes: bool = False) -> Reply:
    return _json(status, {"error": text, "status": status}, *fields, closes=closes)


def _page_or_error(is_form: bool, status: int, text: str, title: str) -> Reply:
    return _page(status, title) if is_form else _error(status, text)


def _page(status: int, title: str, *, onward: bool = False) -> Reply:
    from language.serve.approval_pages import result_page

    return _html(status, result_page(title, onward=onward))


def _html(status: int, page: str) -> Reply:
    from language.serve.approval_pages import content_policy

    fields = [
        _NOT_STORED,
        ("Referrer-Policy", "no-referrer"),
        ("X-Robots-Tag", "noindex"),
        ("Content-Security-Policy", content_policy()),
        ("X-Content-Type-Options", "nosniff"),
        ("X-Frame-Options", "DENY"),
    ]
    return Reply(status, "text/html; charset=utf-8", page.encode("utf-8", "replace"), fields)
