"""What a schedule means, in the language of a page."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from language import Schedule
from platform_api.runs.schedule import UNSCHEDULED, meaning

_LOCALES = {"es": "es_ES", "pt": "pt_PT"}
#: ``cron_descriptor`` takes the names of days and months from the locale of the process, which is English.
_NAMES = {
    "Monday": {"es": "lunes", "pt": "segunda-feira"},
    "Tuesday": {"es": "martes", "pt": "terça-feira"},
    "Wednesday": {"es": "miércoles", "pt": "quarta-feira"},
    "Thursday": {"es": "jueves", "pt": "quinta-feira"},
    "Friday": {"es": "viernes", "pt": "sexta-feira"},
    "Saturday": {"es": "sábado", "pt": "sábado"},
    "Sunday": {"es": "domingo", "pt": "domingo"},
    "January": {"es": "enero", "pt": "janeiro"},
    "February": {"es": "febrero", "pt": "fevereiro"},
    "March": {"es": "marzo", "pt": "março"},
    "April": {"es": "abril", "pt": "abril"},
    "May": {"es": "mayo", "pt": "maio"},
    "June": {"es": "junio", "pt": "junho"},
    "July": {"es": "julio", "pt": "julho"},
    "August": {"es": "agosto", "pt": "agosto"},
    "September": {"es": "septiembre", "pt": "setembro"},
    "October": {"es": "octubre", "pt": "outubro"},
    "November": {"es": "noviembre", "pt": "novembro"},
    "December": {"es": "diciembre", "pt": "dezembro"},
}
_KEYWORDS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
}
_UNSCHEDULED = {"es": "se ejecuta solo cuando se pide", "pt": "executa só quando se pede"}
_NEXT = {"es": "próxima vez", "pt": "próxima vez"}
_WORD = re.compile(r"\b(?:" + "|".join(_NAMES) + r")\b")


def meaning_in(language: str, text: str, due: int | None) -> tuple[str, str]:
    """A schedule in words with its next time, and the language that these are in.

    Args:
        text: as it is stored; empty where there is none.
        due: its next time, in milliseconds since 1970.
    """
    if not text:
        return (_UNSCHEDULED[language], language) if language in _UNSCHEDULED else (UNSCHEDULED, "en")
    said = _described(language, text) if language in _LOCALES else None
    if said is None:
        return meaning(Schedule.parse(text), due), "en"
    if due is None:
        return f"{said} (UTC)", language
    return f"{said} (UTC); {_NEXT[language]} {datetime.fromtimestamp(due / 1000, UTC):%Y-%m-%d %H:%M}", language


def _described(language: str, text: str) -> str | None:
    from cron_descriptor import ExpressionDescriptor, FormatError, MissingFieldError, Options  # type: ignore[import-untyped]

    text = _KEYWORDS.get(text.lower(), text)
    fields = text.split()
    if len(fields) == 5 and fields[2] not in ("*", "?") and fields[4] not in ("*", "?"):
        return None  # a day of the month or a weekday: its words say that both are needed
    options = Options()
    options.locale_code, options.use_24hour_time_format = _LOCALES[language], True
    try:
        said = str(ExpressionDescriptor(text, options).get_description())
    except (FormatError, MissingFieldError, ValueError, IndexError, KeyError):
        return None
    return _WORD.sub(lambda found: _NAMES[found[0]][language], said)
