"""The time of day, for what is told to people. Everything that waits or measures uses the monotonic clock of the loop."""

from __future__ import annotations

import time


def unix_milliseconds() -> int:
    """Milliseconds since 1970-01-01 in UTC."""
    return time.time_ns() // 1_000_000
