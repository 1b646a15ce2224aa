"""Time zones: a fixed distance from UTC, or a name of the IANA database with its history of changes."""

from __future__ import annotations

from language.errors import RuntimeFault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Zone:
    """A clock on the wall. ``name`` is as the program wrote it."""

    __slots__ = ("_fixed", "_rules", "name")

    def __init__(self, name: str, fixed: int, rules: Any = None) -> None:
        self.name = name
        self._fixed = fixed
        self._rules = rules

    def offset(self, moment: int) -> int:
        """How many seconds the clock is ahead of UTC at a moment in Unix seconds."""
        if self._rules is None:
            return self._fixed
        from datetime import UTC as universal
        from datetime import datetime, timedelta

        ahead = (datetime(1970, 1, 1, tzinfo=universal) + timedelta(seconds=moment)).astimezone(self._rules).utcoffset()
        return 0 if ahead is None else int(ahead.total_seconds())

    def moment(self, shown: int) -> int:
        """When the clock shows a time (given as if it were UTC): the first time it does, else the end of the gap that skips
        it.
        """
        early, late = self.offset(shown - 86400), self.offset(shown + 86400)
        candidates = sorted({shown - early, shown - late})
        for candidate in candidates:
            if candidate + self.offset(candidate) == shown:
                return candidate
        if early == late:
            return shown - early
        # Between the two the clock jumps over it: find the first moment with the later offset.
        low, high = candidates[0] - 86400, candidates[-1] + 86400
        while high - low > 1:
            middle = (low + high) // 2
            if middle + self.offset(middle) <= shown:
                low = middle
            else:
                high = middle
        return high


UTC = Zone("UTC", 0)


def zone_of(name: str) -> Zone:
    """The zone that a text names: ``UTC``, ``+HH:MM``, ``-HH:MM`` or ``America/Santiago``. Raises ``RuntimeFault``."""
    if name == "UTC":
        return UTC
    if name[:1] in ("+", "-"):
        hours, colon, minutes = name[1:].partition(":")
        digits = hours + minutes
        if colon and len(hours) == len(minutes) == 2 and digits.isascii() and digits.isdigit():
            ahead = int(hours) * 3600 + int(minutes) * 60
            if int(hours) < 24 and int(minutes) < 60:
                return Zone(name, -ahead if name[0] == "-" else ahead)
        raise _unknown(name)
    from zoneinfo import ZoneInfo

    try:
        return Zone(name, 0, ZoneInfo(name))
    except (KeyError, ValueError, OSError):  # not there, no name of a zone, a folder
        raise _unknown(name) from None


def _unknown(name: str) -> RuntimeFault:
    return RuntimeFault(f'unknown time zone "{name}"')
