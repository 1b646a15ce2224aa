"""Processes that end with the one that started them, however that one came to its end.

The starting process holds the one end of a pipe and never writes. The system closes it with the process, also where that is
killed, and who reads the other end sees it.
"""

from __future__ import annotations

import os
import signal
import stat
from _thread import start_new_thread

__all__ = ["Lifeline", "follow_parent"]

#: Names the descriptor to follow, in the environment of a started process.
_VARIABLE = "LANG_LIFELINE"


class Lifeline:
    """One pipe, made by the process that others are to end with.

    For a program that is started: hand on ``descriptor`` (``pass_fds``) and the variables of :meth:`environment`; it calls
    :func:`follow_parent`. For a process that is forked: it calls :meth:`follow`. ``descriptor`` becomes readable when the
    holder has ended. Raises ``OSError`` where there are no more descriptors.
    """

    def __init__(self) -> None:
        self.descriptor, self._held = os.pipe()

    def environment(self) -> dict[str, str]:
        """The variables for a program that is started with ``descriptor``."""
        return {_VARIABLE: str(self.descriptor)}

    def let_go(self) -> None:
        """This process is not the holder, or not any more. In a forked process right after the fork."""
        os.close(self._held)

    def follow(self) -> None:
        """In a forked process: lets go, and has this process end with the holder. See :func:`follow_parent`."""
        self.let_go()
        _follow(self.descriptor)


def follow_parent() -> None:
    """Has this process end when the one that started it with a :class:`Lifeline` has: it gets SIGTERM then.

    Nothing happens without such a parent. What this process starts in its turn neither sees nor holds the pipe.
    """
    named = os.environ.pop(_VARIABLE, "")
    if not named.isdecimal():
        return
    descriptor = int(named)
    try:
        if not stat.S_ISFIFO(os.fstat(descriptor).st_mode):
            return
    except OSError:  # whoever stands between handed on the variables alone
        return
    os.set_inheritable(descriptor, False)
    _follow(descriptor)


def _follow(descriptor: int) -> None:
    def wait() -> None:
        while os.read(descriptor, 1):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    start_new_thread(wait, ())
