"""Protects a process from other processes of the same user: its memory, descriptors and environment cannot be read."""

from __future__ import annotations

import ctypes
import os

_PR_SET_DUMPABLE = 4


def make_undumpable() -> None:
    """Makes the system refuse ``ptrace``, ``pidfd_getfd`` and ``/proc/PID/fd|mem|environ`` to processes of the same user.

    It holds until this process executes another program. Errors: ``OSError`` where the system does not support it.
    """
    prctl = getattr(ctypes.CDLL(None, use_errno=True), "prctl", None)
    if prctl is None:
        raise OSError("this system cannot keep a process from being looked into")
    if prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
