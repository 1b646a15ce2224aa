"""The time of day, for what is told to people. Everything that waits or measures uses the monotonic clock of the loop.

What has to be waited for across two processes of the runner is kept as a moment of ``steady_milliseconds`` with the ``boot``
that it counts from.
"""

from __future__ import annotations

import time
from functools import cache
from pathlib import Path

_BOOT = Path("/proc/sys/kernel/random/boot_id")


def unix_milliseconds() -> int:
    """Milliseconds since 1970-01-01 in UTC."""
    return time.time_ns() // 1_000_000


def steady_milliseconds() -> int:
    """Milliseconds of a clock that only goes forward, the same for all processes until the machine is started again."""
    return time.monotonic_ns() // 1_000_000


@cache
def boot() -> str:
    """Names the start of this machine; ``""`` where it cannot be found out."""
    try:
        return _BOOT.read_text(encoding="ascii").strip()
    except OSError:
        return ""
