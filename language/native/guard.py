"""Kills a process group when the interpreter has ended, for whatever reason, SIGKILL included."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress

from language.host.processes import CannotStart
from language.native import guarded_start
from language.native.processes import close, kill

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    #: Starts a process: the words are its command line, which ends up executing the command; the descriptors are inherited.
    Start = Callable[[Sequence[str], Sequence[int]], subprocess.Popen[bytes]]

_SHELL = "/bin/sh"


class Guard:
    """A process that kills a process group when this process has ended.

    It reads from a pipe whose write end only this process holds. The system closes that end when this process ends. The guard
    is started before the group and is then told its id.
    """

    def __init__(self) -> None:
        read, self._held = os.pipe()
        self._over = False
        try:
            self._process = subprocess.Popen(
                [_SHELL, "-c", 'read -r group || exit; read -r end; kill -s KILL -- "-$group"'],
                stdin=read,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={},
                cwd="/",
                start_new_session=True,
            )
        except BaseException:
            os.close(self._held)
            raise
        finally:
            os.close(read)

    def start(self, start: Start) -> subprocess.Popen[bytes] | None:
        """Starts a command as a new process, which tells this guard its process id before it executes the command.

        Returns ``None`` where that is impossible, because it needs a Python executable. Raises ``CannotStart``.
        """
        # If Python is embedded in another program, that executable cannot run a script.
        if not os.path.basename(sys.executable or "").startswith("python"):
            return None
        read, answer = os.pipe()
        try:
            words = [sys.executable, "-I", "-S", "-X", "utf8", guarded_start.__file__]
            process = start([*words, str(self._held), str(answer)], [self._held, answer])
        except BaseException:
            os.close(read)
            raise
        finally:
            os.close(answer)
        with open(read, "rb") as file:
            answered = file.read()
        if answered == guarded_start.STARTED:
            return process
        self_told = answered.startswith(guarded_start.STARTED)
        if self_told:
            self.end()  # before the group is reaped
        kill(process)
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                close(pipe)
        if self_told:
            raise CannotStart(os.strerror(int(answered[1:])))
        return None

    def watch(self, group: int) -> None:
        """Tells the guard the id of the process group to kill."""
        with suppress(BrokenPipeError):
            os.write(self._held, b"%d\n" % group)

    def end(self) -> None:
        """Ends the guard without killing the group. Call it before the group is reaped, after which its id may be reused."""
        if self._over:
            return
        self._over = True
        self._process.kill()
        self._process.wait()
        os.close(self._held)


def new_guard() -> Guard | None:
    """A new guard; ``None`` without a shell or if no process can be started. A child process then ends with the program only if
    the program ends by itself.
    """
    try:
        return Guard()
    except OSError:
        return None
