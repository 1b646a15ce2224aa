"""Detects changes of the system clock while the service runs, because stored moments are those of the former clock."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from platform_api.moments import DAY, SECOND, now

if TYPE_CHECKING:
    from collections.abc import Callable

#: A difference between two readings up to this counts as no change.
SLEWED = 2 * SECOND
#: How long a change is taken into account. After that, moments stored before it no longer matter.
REMEMBERED = DAY


class ClockJumps:
    """Compares the time of day with a monotonic clock at each reading.

    Args:
        clock: its seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._between = self._difference()
        self._jumps: list[tuple[float, int]] = []

    def look(self) -> int:
        """Milliseconds by which the time of day was changed since the last reading; negative if it was set back."""
        difference = self._difference()
        jump, self._between = difference - self._between, difference
        if abs(jump) <= SLEWED:
            return 0
        self._jumps.append((self._clock(), jump))
        return jump

    @property
    def ahead(self) -> int:
        """Milliseconds by which it was set forward in all. Records may be younger than they seem by that much."""
        since = self._clock() - REMEMBERED / SECOND
        self._jumps = [(moment, jump) for moment, jump in self._jumps if moment > since]
        return max(0, sum(jump for _, jump in self._jumps))

    def _difference(self) -> int:
        return now() - int(self._clock() * SECOND)
