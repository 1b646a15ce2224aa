"""Locks on files (``flock``), which do nothing on a system without them."""

from __future__ import annotations

import sys

__all__ = ["AVAILABLE", "LOCK_EX", "LOCK_NB", "LOCK_SH", "LOCK_UN", "flock"]

if sys.platform == "win32":

    def flock(descriptor: int, operation: int, /) -> None:
        """Does nothing."""

    LOCK_EX = LOCK_NB = LOCK_SH = LOCK_UN = 0
    AVAILABLE = False
else:
    from fcntl import LOCK_EX, LOCK_NB, LOCK_SH, LOCK_UN, flock

    AVAILABLE = True
