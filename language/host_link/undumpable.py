"""A process that its own user cannot look into: neither memory, descriptors nor environment, whoever runs beside it."""

from __future__ import annotations

import ctypes
import os

_PR_SET_DUMPABLE = 4


def make_undumpable() -> None:
    """Has the system refuse ``ptrace``, ``pidfd_getfd`` and ``/proc/PID/fd|mem|environ`` to processes of the same user.

    It holds until this process starts another program in its place. Errors: ``OSError`` where the system has no such thing.
    """
    prctl = getattr(ctypes.CDLL(None, use_errno=True), "prctl", None)
    if prctl is None:
        raise OSError("this system cannot keep a process from being looked into")
    if prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
