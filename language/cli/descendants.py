"""A process that ends together with all its descendants, also those in sessions of their own.

A child does the work. This process adopts every descendant that loses its parent (Linux: ``PR_SET_CHILD_SUBREAPER``), and kills
them all when the child has ended, when this process gets SIGTERM, or when the process that started this one has ended. On a
system without subreapers, only the processes of this session are killed.
"""

from __future__ import annotations

import os
import select
import signal
from contextlib import suppress
from types import FrameType

_PR_SET_CHILD_SUBREAPER = 36


class _Stopped(Exception):
    """SIGTERM has arrived."""


def begin_work(lifeline: int) -> None:
    """Returns in a new process, which does the work. This process never returns: it waits and ends with the same status.

    Args:
        lifeline: a descriptor that is readable once the process that started this one has ended.
    """
    if not _adopts():
        return
    signal.signal(signal.SIGTERM, _stop)
    try:
        worker = os.fork()
        if worker == 0:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            return
        status = _waited(worker, lifeline)
    except _Stopped:
        status = signal.SIGTERM
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    _end_descendants()
    _end_as(status)


def _adopts() -> bool:
    """Makes this process a subreaper: the parent of its orphaned descendants. Returns whether the system supports that."""
    if not hasattr(os, "pidfd_open"):
        return False
    from ctypes import CDLL, c_ulong

    try:
        return bool(CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, c_ulong(1), c_ulong(0), c_ulong(0), c_ulong(0)) == 0)
    except (OSError, AttributeError):
        return False


def _stop(number: int, frame: FrameType | None) -> None:
    raise _Stopped


def _waited(worker: int, lifeline: int) -> int:
    """The status with which the worker ends; that of SIGTERM if it had to be ended."""
    ended = os.pidfd_open(worker)
    poll = select.poll()
    poll.register(ended, select.POLLIN)
    poll.register(lifeline, select.POLLIN)
    while True:
        ready = {descriptor for descriptor, _ in poll.poll()}
        if ended in ready:
            return os.waitpid(worker, 0)[1]
        if lifeline in ready:
            return signal.SIGTERM


def _end_descendants() -> None:
    """Kills all descendants. A process that is orphaned meanwhile becomes a child of this process and is killed as well."""
    while True:
        for child in _children():
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _children() -> list[int]:
    """The process ids of this process's children that have not been reaped."""
    own = str(os.getpid())
    found = []
    for name in os.listdir("/proc"):
        if name.isdecimal():
            with suppress(OSError), open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                fields = file.read().rpartition(")")[2].split()
                if len(fields) > 1 and fields[1] == own:
                    found.append(int(name))
    return found


def _end_as(status: int) -> None:
    """Ends this process with the exit code or the signal of another one."""
    number = status & 0x7F
    if number:
        with suppress(OSError, ValueError):  # SIGKILL has no handler
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(status >> 8 & 0xFF)
