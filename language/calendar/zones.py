"""Time zones: a fixed offset from UTC, or a name of the IANA database with its history of changes."""

from __future__ import annotations

from language.errors import RuntimeFault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


#: A day inside of the years 0001 and 9999, in Unix seconds.
_FIRST_MOMENT = -62135510400
_LAST_MOMENT = 253402214400


class Zone:
    """A time zone. ``name`` is as the program wrote it."""

    __slots__ = ("_fixed", "_rules", "name")

    def __init__(self, name: str, fixed: int, rules: Any = None) -> None:
        self.name = name
        self._fixed = fixed
        self._rules = rules

    def offset(self, moment: int) -> int:
        """How many seconds local time is ahead of UTC at a moment in Unix seconds."""
        if self._rules is None:
            return self._fixed
        from datetime import UTC as universal
        from datetime import datetime, timedelta

        # Python's times end with the years 1 and 9999, in local time too.
        inside = min(max(moment, _FIRST_MOMENT), _LAST_MOMENT)
        ahead = (datetime(1970, 1, 1, tzinfo=universal) + timedelta(seconds=inside)).astimezone(self._rules).utcoffset()
        return 0 if ahead is None else int(ahead.total_seconds())

    def moment(self, shown: int) -> int:
        """The moment at which local time has a value (given as if it were UTC).

        Of two such moments the first one; for a local time that is skipped, the end of the gap.
        """
        early, late = self.offset(shown - 86400), self.offset(shown + 86400)
        candidates = sorted({shown - early, shown - late})
        for candidate in candidates:
            if candidate + self.offset(candidate) == shown:
                return candidate
        if early == late:
            return shown - early
        # Local time skips it between the two: finds the first moment with the later offset.
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
    """The zone that a text names: ``UTC``, ``+HH:MM``, ``-HH:MM:SS`` or ``America/Santiago``. Raises ``RuntimeFault``."""
    if name == "UTC":
        return UTC
    if name[:1] in ("+", "-"):
        parts = name[1:].split(":")
        digits = "".join(parts)
        if len(parts) in (2, 3) and {len(part) for part in parts} == {2} and digits.isascii() and digits.isdigit():
            hours, minutes, seconds = (*map(int, parts), 0)[:3]
            if hours < 24 and minutes < 60 and seconds < 60:
                ahead = hours * 3600 + minutes * 60 + seconds
                return Zone(name, -ahead if name[0] == "-" else ahead)
        raise _unknown(name)
    from zoneinfo import ZoneInfo

    try:
        return Zone(name, 0, ZoneInfo(name))
    except (KeyError, ValueError, OSError):  # missing, not a name of a zone, or a folder
        raise _unknown(name) from None


def _unknown(name: str) -> RuntimeFault:
    return RuntimeFault(f'unknown time zone "{name}"')
