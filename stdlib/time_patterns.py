"""Formats and parses times by patterns of ``%`` codes, independent of the locale."""

from __future__ import annotations

from language.calendar.gregorian import (
    DAY_SECONDS,
    MONTHS,
    WEEKDAYS,
    date_of_days,
    day_of_year,
    days_in_month,
    days_of_date,
    is_leap,
    iso_week,
    weekday,
)
from language.errors import RuntimeFault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class Moment:
    """One second of the calendar as local time that is ``ahead`` seconds ahead of UTC; ``zone`` is the name of its zone."""

    __slots__ = ("ahead", "day", "days", "hour", "micros", "minute", "month", "second", "seconds", "weekday", "year", "zone")

    def __init__(self, seconds: int, micros: int, ahead: int = 0, zone: str | None = "UTC") -> None:
        self.seconds = seconds
        self.micros = micros
        self.ahead = ahead
        self.zone = zone
        self.days, rest = divmod(seconds, DAY_SECONDS)
        self.year, self.month, self.day = date_of_days(self.days)
        self.hour, rest = divmod(rest, 3600)
        self.minute, self.second = divmod(rest, 60)
        self.weekday = weekday(self.days)


_SHORTHANDS = {"F": "%Y-%m-%d", "T": "%H:%M:%S"}

_WRITERS: dict[str, Callable[[Moment], str]] = {
    "Y": lambda m: f"{m.year:04}",
    "y": lambda m: f"{m.year % 100:02}",
    "m": lambda m: f"{m.month:02}",
    "d": lambda m: f"{m.day:02}",
    "e": lambda m: f"{m.day:2}",
    "H": lambda m: f"{m.hour:02}",
    "I": lambda m: f"{(m.hour + 11) % 12 + 1:02}",
    "M": lambda m: f"{m.minute:02}",
    "S": lambda m: f"{m.second:02}",
    "f": lambda m: f"{m.micros:06}",
    "p": lambda m: "AM" if m.hour < 12 else "PM",
    "j": lambda m: f"{day_of_year(m.days):03}",
    "a": lambda m: WEEKDAYS[m.weekday - 1][:3],
    "A": lambda m: WEEKDAYS[m.weekday - 1],
    "b": lambda m: MONTHS[m.month - 1][:3],
    "B": lambda m: MONTHS[m.month - 1],
    "u": lambda m: str(m.weekday),
    "w": lambda m: str(m.weekday % 7),
    "V": lambda m: f"{iso_week(m.days):02}",
    "s": lambda m: _unix(m),
    "z": lambda m: _offset(m),
    "Z": lambda m: m.zone or "",
}


def _unix(moment: Moment) -> str:
    if moment.zone is None:
        raise RuntimeFault('format_time: "%s" needs a time zone; give it one: datetime(x, "UTC")', kind="type")
    return str(moment.seconds - moment.ahead)


def _offset(moment: Moment) -> str:
    """``+0100``; nothing without a zone."""
    if moment.zone is None:
        return ""
    minutes = abs(moment.ahead) // 60
    return f"{'-' if moment.ahead < 0 else '+'}{minutes // 60:02}{minutes % 60:02}"


def formatted(moment: Moment, pattern: str) -> str:
    """The text of a moment. Raises ``RuntimeFault`` for an unknown code."""
    return "".join([_WRITERS[piece](moment) if is_code else piece for is_code, piece in _pieces("format_time", pattern)])


def _pieces(builtin: str, pattern: str) -> list[tuple[bool, str]]:
    """The parts of a pattern: codes (``True`` and the letter) and literal text."""
    pieces: list[tuple[bool, str]] = []
    literals = pattern.split("%")
    pieces.append((False, literals[0]))
    at = 1
    while at < len(literals):
        part = literals[at]
        if part == "":
            # "%%": the following text is literal again. A "%" at the end of a pattern is not a code.
            if at + 1 == len(literals):
                raise RuntimeFault(f'{builtin}: "%" is not a strftime specifier')
            pieces.append((False, "%" + literals[at + 1]))
            at += 2
            continue
        code = part[0]
        if code in _SHORTHANDS:
            pieces += _pieces(builtin, _SHORTHANDS[code])
        elif code in _WRITERS:
            pieces.append((True, code))
        else:
            raise RuntimeFault(f'{builtin}: "%{code}" is not a strftime specifier')
        pieces.append((False, part[1:]))
        at += 1
    return pieces


def parsed(text: str, pattern: str) -> int:
    """The unix seconds of a text written by a pattern. Raises ``RuntimeFault`` ``invalid time: ...``."""
    return _read("parse_time", text, pattern).seconds()


def parsed_parts(builtin: str, text: str, pattern: str) -> tuple[int, int, int | None]:
    """The time in a text by a pattern: seconds of local time since 1970, microseconds, and how many seconds local time is ahead
    of UTC (``None`` if the pattern has no zone). Raises as :func:`parsed`.
    """
    return _read(builtin, text, pattern).parts()


def _read(builtin: str, text: str, pattern: str) -> _Reader:
    reader = _Reader(text)
    for is_code, piece in _pieces(builtin, pattern):
        if is_code:
            reader.read_code(piece)
        else:
            reader.read_literal(piece)
    reader.finish()
    return reader


# The most digits of a number, its least and its greatest value.
_NUMBERS = {
    "Y": (4, 0, 9999),
    "y": (2, 0, 99),
    "m": (2, 1, 12),
    "d": (2, 1, 31),
    "e": (2, 1, 31),
    "H": (2, 0, 23),
    "I": (2, 1, 12),
    "M": (2, 0, 59),
    "S": (2, 0, 59),
    "f": (9, 0, 999_999_999),
    "j": (3, 1, 366),
    "u": (1, 1, 7),
    "w": (1, 0, 6),
    "V": (2, 1, 53),
}


class _Reader:
    """Parses a text code by code; of a repeated code the last value counts."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._values: dict[str, int] = {}

    def read_literal(self, literal: str) -> None:
        for char in literal:
            if char.isspace():
                self._skip_blanks()
            elif self._text.startswith(char, self._at):
                self._at += 1
            else:
                raise self._mismatch(f'"{char}"')

    def _skip_blanks(self) -> None:
        while self._text[self._at : self._at + 1].isspace():
            self._at += 1

    def read_code(self, code: str) -> None:
        if code in _NUMBERS:
            self._read_number(code)
        elif code in "aA":
            self._values["weekday"] = self._name(WEEKDAYS, "a weekday") + 1
        elif code in "bB":
            self._values["m"] = self._name(MONTHS, "a month") + 1
        elif code == "p":
            self._values["p"] = self._name(("AM", "PM"), "AM or PM")
        elif code == "s":
            self._values["s"] = self._unix_seconds()
        elif code == "z":
            self._values["z"] = self._offset()
        else:
            self._name(("UTC", "GMT", "Z"), "UTC")
            self._values["z"] = 0

    def _digits(self, most: int) -> str:
        end = self._at
        while end < len(self._text) and end - self._at < most and self._text[end] in "0123456789":
            end += 1
        digits = self._text[self._at : end]
        self._at = end
        return digits

    def _read_number(self, code: str) -> None:
        most, least, greatest = _NUMBERS[code]
        if code == "e":
            self._skip_blanks()
        start = self._at
        digits = self._digits(most)
        if not digits or (code == "Y" and len(digits) < 4):
            self._at = start
            raise self._mismatch(f"%{code}")
        value = int(digits)
        if not least <= value <= greatest:
            raise RuntimeFault(f"invalid time: {digits} is out of range for %{code} in {_shown(self._text)}")
        if code == "f":
            value = int(digits[:6].ljust(6, "0"))
        self._values["d" if code == "e" else code] = value

    def _name(self, names: tuple[str, ...], what: str) -> int:
        rest = self._text[self._at : self._at + 9].lower()
        for number, name in enumerate(names):
            for form in (name.lower(), name[:3].lower()):
                if rest.startswith(form):
                    self._at += len(form)
                    return number
        raise self._mismatch(what)

    def _unix_seconds(self) -> int:
        sign = -1 if self._text.startswith("-", self._at) else 1
        if sign < 0:
            self._at += 1
        digits = self._digits(12)
        if not digits:
            raise self._mismatch("%s")
        return sign * int(digits)

    def _offset(self) -> int:
        """``Z``, ``+HHMM`` or ``+HH:MM``, in seconds."""
        mark = self._text[self._at : self._at + 1]
        if mark in ("Z", "z"):
            self._at += 1
            return 0
        if mark not in ("+", "-"):
            raise self._mismatch("%z")
        self._at += 1
        hours = self._digits(2)
        if self._text.startswith(":", self._at):
            self._at += 1
        minutes = self._digits(2)
        if len(hours) != 2 or len(minutes) != 2 or int(hours) > 23 or int(minutes) > 59:
            raise self._mismatch("%z")
        seconds = int(hours) * 3600 + int(minutes) * 60
        return seconds if mark == "+" else -seconds

    def finish(self) -> None:
        if self._at < len(self._text):
            raise RuntimeFault(f"invalid time: unexpected text at position {self._at} in {_shown(self._text)}")

    def _mismatch(self, expected: str) -> RuntimeFault:
        return RuntimeFault(f"invalid time: expected {expected} at position {self._at} in {_shown(self._text)}")

    def seconds(self) -> int:
        """The Unix seconds of the parsed values. Raises ``RuntimeFault`` for dates that do not exist and codes that
        contradict.
        """
        values = self._values
        if "s" in values:
            return values["s"]
        days = self._days()
        for code, found in (("weekday", weekday(days)), ("u", weekday(days)), ("w", weekday(days) % 7), ("V", iso_week(days))):
            if values.get(code, found) != found:
                what = "week" if code == "V" else "weekday"
                raise RuntimeFault(f"invalid time: the {what} does not fit the date in {_shown(self._text)}")
        hour = values.get("H", 0)
        if "I" in values:
            hour = values["I"] % 12 + 12 * values["p"] if "p" in values else values["I"]
        time = hour * 3600 + values.get("M", 0) * 60 + values.get("S", 0)
        return days * DAY_SECONDS + time - values.get("z", 0)

    def parts(self) -> tuple[int, int, int | None]:
        """The seconds of local time, its microseconds, and its seconds ahead of UTC. Raises as :meth:`seconds`."""
        values = self._values
        ahead = 0 if "s" in values else values.get("z")
        return self.seconds() + (ahead or 0), values.get("f", 0), ahead

    def _days(self) -> int:
        values = self._values
        if "Y" in values:
            year = values["Y"]
        elif "y" in values:
            # The century by the rule of POSIX: 69..99 are 1969..1999.
            year = values["y"] + (1900 if values["y"] >= 69 else 2000)
        else:
            raise RuntimeFault(f"invalid time: the pattern has no year (%Y), so {_shown(self._text)} is no date")
        if "j" in values and "m" not in values:
            if values["j"] == 366 and not is_leap(year):
                raise RuntimeFault(f"invalid time: {year} has no day 366")
            return days_of_date(year, 1, 1) + values["j"] - 1
        month, day = values.get("m", 1), values.get("d", 1)
        if day > days_in_month(year, month):
            raise RuntimeFault(f"invalid time: {MONTHS[month - 1]} {year} has no day {day}")
        days = days_of_date(year, month, day)
        if values.get("j", day_of_year(days)) != day_of_year(days):
            raise RuntimeFault(f"invalid time: the day of the year does not fit the date in {_shown(self._text)}")
        return days


def _shown(text: str) -> str:
    from language.values.display import quote

    return quote(text if len(text) <= 60 else text[:60] + "…")


def parsed_rfc3339(text: str) -> int | None:
    """The unix seconds of a date-time of RFC 3339, the offset being optional; ``None`` for any other text."""
    if len(text) < 19 or not text.isascii():
        return None
    if text[4] + text[7] + text[13] + text[16] != "--::" or text[10] not in "Tt":
        return None
    numbers = (text[0:4], text[5:7], text[8:10], text[11:13], text[14:16], text[17:19])
    if not all(number.isdigit() for number in numbers):
        return None
    year, month, day, hour, minute, second = map(int, numbers)
    if not (1 <= month <= 12 and 1 <= day <= days_in_month(year, month) and hour <= 23 and minute <= 59 and second <= 60):
        return None
    rest = text[19:]
    if rest.startswith("."):
        behind = rest[1:].lstrip("0123456789")
        if len(behind) == len(rest) - 1:
            return None
        rest = behind
    offset = _rfc3339_offset(rest)
    if offset is None:
        return None
    seconds = days_of_date(year, month, day) * DAY_SECONDS + hour * 3600 + minute * 60 + second - offset
    # A leap second is the last second of a day in UTC; Unix time counts it as the first second of the next day.
    return None if second == 60 and seconds % DAY_SECONDS else seconds


def _rfc3339_offset(text: str) -> int | None:
    if text in ("", "Z", "z"):
        return 0
    if len(text) != 6 or text[0] not in "+-" or text[3] != ":" or not (text[1:3] + text[4:6]).isdigit():
        return None
    hours, minutes = int(text[1:3]), int(text[4:6])
    if hours > 23 or minutes > 59:
        return None
    seconds = hours * 3600 + minutes * 60
    return seconds if text[0] == "+" else -seconds
