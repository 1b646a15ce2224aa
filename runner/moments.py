"""The time of day, for what is told to people. Everything that waits or measures uses the monotonic clock of the loop.

What has to be waited for across two processes of the runner is kept as a ``Deadline``.
"""

from __future__ import annotations

import time
from dataclasses import astuple, dataclass
from functools import cache
from pathlib import Path
from typing import Any

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


@dataclass(frozen=True, slots=True)
class Deadline:
    """When the time of something is up, for this process of the runner and for one after it.

    Attributes:
        until: in Unix milliseconds.
        ends, boot: by the steady clock, and the start of the machine that it counts from.
    """

    until: int
    ends: int
    boot: str

    @classmethod
    def after(cls, milliseconds: int) -> Deadline:
        """So many milliseconds from now."""
        return cls(unix_milliseconds() + milliseconds, steady_milliseconds() + milliseconds, boot())

    @classmethod
    def from_json(cls, value: Any) -> Deadline:
        """What ``to_json`` gave. Errors: ``ValueError``, ``TypeError``."""
        until, ends, started = value
        return cls(int(until), int(ends), str(started))

    def to_json(self) -> list[Any]:
        """As a list for JSON."""
        return list(astuple(self))

    def left(self) -> int:
        """Milliseconds until then, negative afterwards. The time of day, which jumps, counts only where the machine was
        started again meanwhile.
        """
        same = self.boot != "" and self.boot == boot()
        return self.ends - steady_milliseconds() if same else self.until - unix_milliseconds()
