"""Moments are kept as whole milliseconds since 1970 and shown as RFC 3339 in UTC."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from functools import lru_cache

SECOND = 1_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR


def now() -> int:
    """Milliseconds since 1970-01-01 in UTC."""
    return time.time_ns() // 1_000_000


@lru_cache(10_000)
def rfc3339(moment: int) -> str:
    """``2026-01-31T09:30:00.123Z``.

    Args:
        moment: milliseconds since 1970.
    """
    return rfc3339_once(moment)


def rfc3339_once(moment: int) -> str:
    """As ``rfc3339``, for a moment that nobody asks for again: it is not remembered."""
    second, millisecond = divmod(moment, 1000)
    return f"{_to_the_second(second)}.{millisecond:03d}Z"


@lru_cache(100)
def _to_the_second(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).isoformat()[:19]


def rfc3339_or_none(moment: int | None) -> str | None:
    """As ``rfc3339``; ``None`` for what has not happened."""
    return None if moment is None else rfc3339(moment)
