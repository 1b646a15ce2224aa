"""Parses dates, datetimes and durations in the forms of ISO 8601 and RFC 3339."""

from __future__ import annotations

from language.calendar.zones import UTC, zone_of
from language.errors import RuntimeFault
from language.values.dates import Date, date_of
from language.values.datetimes import DateTime
from language.values.durations import DAY, HOUR, MINUTE, SECOND, Duration

#: The longest text that is read.
_MOST_CHARACTERS = 60


def read_date(text: str) -> Date | None:
    """The date of ``YYYY-MM-DD``; ``None`` for any other text and for a day that does not exist."""
    if len(text) != 10 or text[4] != "-" or text[7] != "-":
        return None
    numbers = _numbers(text[:4], text[5:7], text[8:])
    return None if numbers is None else date_of(*numbers)


def read_datetime(text: str) -> DateTime | None:
    """The datetime of ``YYYY-MM-DDTHH:MM[:SS[.ffffff]]``, optionally followed by ``Z`` or an offset.

    A blank is accepted in place of the ``T``. ``None`` for any other text and for a time that does not exist. Digits beyond
    microseconds are cut.
    """
    day = read_date(text[:10]) if len(text) <= _MOST_CHARACTERS else None
    if day is None or text[10:11] not in ("T", "t", " ") or not text[10:11]:
        return None
    end = 11
    while end < len(text) and text[end] in "0123456789:.":
        end += 1
    time = _time(text[11:end])
    offset = _offset(text[end:])
    if time is None or offset is None:
        return None
    local = day.days * DAY + time
    try:
        if not offset:
            return DateTime(local)
        zone = UTC if offset in ("Z", "z") else zone_of(offset)
        return DateTime(local - zone.offset(0) * SECOND, zone)
    except RuntimeFault:  # beyond the years 1 to 9999
        return None


def _numbers(*texts: str) -> list[int] | None:
    if all(text.isascii() and text.isdigit() for text in texts):
        return [int(text) for text in texts]
    return None


def _time(text: str) -> int | None:
    """Microseconds since midnight of ``HH:MM``, ``HH:MM:SS`` or ``HH:MM:SS.f``."""
    whole, point, digits = text.partition(".")
    parts = whole.split(":")
    if any(len(part) != 2 for part in parts) or len(parts) not in (2, 3) or (point and (len(parts) == 2 or not digits)):
        return None
    numbers = _numbers(*parts, digits or "0")
    if numbers is None:
        return None
    hour, minute, second = (*numbers[:-1], 0)[:3]
    if hour > 23 or minute > 59 or second > 59:
        return None
    return hour * HOUR + minute * MINUTE + second * SECOND + int(digits[:6].ljust(6, "0"))


def _offset(text: str) -> str | None:
    """An offset in the form with a colon; ``None`` for a text that is not an offset."""
    if text in ("", "Z", "z"):
        return text
    digits = text[1:].replace(":", "")
    if text[0] not in "+-" or len(digits) not in (2, 4, 6) or _numbers(digits) is None:
        return None
    hours, minutes, seconds = digits[:2], digits[2:4] or "00", digits[4:] or "00"
    if text[1:] not in (digits, f"{hours}:{minutes}", f"{hours}:{minutes}:{seconds}"):
        return None
    if int(hours) > 23 or int(minutes) > 59 or int(seconds) > 59:
        return None
    return f"{text[0]}{hours}:{minutes}" + (f":{seconds}" if seconds != "00" else "")


def read_duration(text: str) -> Duration | None:
    """The duration of ``P1W``, ``P1DT2H30M`` or ``PT0.5S``, with an optional sign; ``None`` for any other text.

    Only the last number may have a fraction. Years and months have no fixed length, so a text with them is not a duration.
    """
    rest = text[1:] if text[:1] in ("-", "+") else text
    if len(text) > _MOST_CHARACTERS or rest[:1] != "P" or len(rest) < 3 or rest[-1] == "T":
        return None
    micros, digits, units, in_time, done = 0, "", "WD", False, False
    for character in rest[1:]:
        if character in "0123456789.":
            digits += character
        elif character == "T" and not in_time and not digits:
            in_time, units = True, "HMS"
        elif character in units and digits and not done:
            length = {"W": 7 * DAY, "D": DAY, "H": HOUR, "M": MINUTE, "S": SECOND}[character]
            units = units[units.index(character) + 1 :]
            whole, point, part = digits.partition(".")
            done = bool(point)
            if not whole or (point and (not part or "." in part)):
                return None
            micros += int(whole) * length + (int(part) * length // 10 ** len(part) if part else 0)
            digits = ""
        else:
            return None
    if digits:
        return None
    try:
        return Duration(-micros if text[0] == "-" else micros)
    except RuntimeFault:
        return None
