"""Child processes that end when their parent process ends, also when it is killed.

The parent holds the write end of a pipe and never writes. The system closes that end when the parent ends. A child that reads
the other end sees the end of the file then.
"""

from __future__ import annotations

import os
import signal
import stat
from _thread import start_new_thread

__all__ = ["Lifeline", "follow_parent"]

#: The environment variable that tells a started process the file descriptor of the pipe.
_VARIABLE = "LANG_LIFELINE"


class Lifeline:
    """One pipe, made by the parent process.

    A child that is started as a program is given ``descriptor`` (``pass_fds``) and the variables of :meth:`environment`, and
    calls :func:`follow_parent`. A forked child calls :meth:`follow`. ``descriptor`` becomes readable when the parent has ended.
    Raises ``OSError`` where the system has no more file descriptors.
    """

    def __init__(self) -> None:
        self.descriptor, self._held = os.pipe()

    def environment(self) -> dict[str, str]:
        """The variables for a program that is started with ``descriptor``."""
        return {_VARIABLE: str(self.descriptor)}

    def close_write_end(self) -> None:
        """Closes the write end in this process. A forked child does so right after the fork."""
        os.close(self._held)

    def follow(self) -> None:
        """In a forked child: closes the write end and makes this process end with the parent, as :func:`follow_parent` does."""
        self.close_write_end()
        _follow(self.descriptor)


def follow_parent() -> None:
    """Sends this process SIGTERM when the parent that started it with a :class:`Lifeline` has ended.

    Does nothing without such a parent. Processes that this one starts do not inherit the pipe.
    """
    named = os.environ.pop(_VARIABLE, "")
    if not named.isdecimal():
        return
    descriptor = int(named)
    try:
        if not stat.S_ISFIFO(os.fstat(descriptor).st_mode):
            return
    except OSError:  # a process between the two passed on the variables without the descriptor
        return
    os.set_inheritable(descriptor, False)
    _follow(descriptor)


def _follow(descriptor: int) -> None:
    def wait() -> None:
        while os.read(descriptor, 1):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    start_new_thread(wait, ())
