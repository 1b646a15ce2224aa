"""A child process that goes on beside the program and is talked to line by line."""

from __future__ import annotations

import os
import selectors
import subprocess
from collections import deque
from contextlib import suppress
from time import monotonic, sleep

from language.host.processes import LineProcess, LineTooLong, ProcessEnded, TimedOut
from language.native.processes import close, kill
from language.waits import LONGEST_NAP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO

_BLOCK = 1 << 16
_POLL_SECONDS = 0.01
#: Bytes of answers that may wait for the child to read them: more than any number of honest questions makes.
_MOST_WAITING = 1 << 20


class NativeLineProcess(LineProcess):
    """A running child with its two pipes; ``most`` is the longest line in bytes."""

    def __init__(self, process: subprocess.Popen[bytes], most: int) -> None:
        assert process.stdin is not None and process.stdout is not None
        self._process = process
        self._input: IO[bytes] = process.stdin
        self._output: IO[bytes] = process.stdout
        self._most = most
        #: of a line that has not ended, and lines that nobody has asked for yet
        self._begun: list[bytes] = []
        self._begun_size = 0
        self._lines: deque[bytes] = deque()
        os.set_blocking(self._input.fileno(), False)
        os.set_blocking(self._output.fileno(), False)

    def talk(self, message: bytes, answer: Callable[[bytes], bytes | None] | None, seconds: float) -> None:
        if self._input.closed:
            raise ProcessEnded
        whole = False
        try:
            self._talk(message, answer, monotonic() + seconds)
            whole = True
        finally:
            # Also when the run is being ended: half a message must not stay behind for the next.
            if not whole:
                self.end(0)

    def _talk(self, message: bytes, answer: Callable[[bytes], bytes | None] | None, end: float) -> None:
        waiting = deque([memoryview(message + b"\n")])
        waiting_size = 0
        with selectors.DefaultSelector() as selector:
            if answer is not None:
                selector.register(self._output, selectors.EVENT_READ)
            selector.register(self._input, selectors.EVENT_WRITE)
            writing = True
            while True:
                while answer is not None and self._lines:
                    reply = answer(self._lines.popleft())
                    if reply is None:
                        return
                    if reply:
                        waiting_size += len(reply)
                        if waiting_size > _MOST_WAITING:
                            raise ProcessEnded  # it asks and asks, and reads no answer
                        waiting.append(memoryview(reply + b"\n"))
                if waiting and not writing:
                    selector.register(self._input, selectors.EVENT_WRITE)
                    writing = True
                left = end - monotonic()
                if left <= 0:
                    raise TimedOut
                # In naps: no exception reaches a thread that waits in the system.
                for key, _ in selector.select(min(left, LONGEST_NAP)):
                    if key.fileobj is self._output:
                        self._read()
                    else:
                        self._write(waiting)
                if writing and not waiting:
                    selector.unregister(self._input)
                    writing = False
                    waiting_size = 0
                    if answer is None:
                        return

    def _write(self, waiting: deque[memoryview]) -> None:
        try:
            written = os.write(self._input.fileno(), waiting[0][:_BLOCK])
        except BlockingIOError:
            return
        except BrokenPipeError:
            raise ProcessEnded from None
        waiting[0] = waiting[0][written:]
        if not waiting[0]:
            waiting.popleft()

    def _read(self) -> None:
        try:
            data = os.read(self._output.fileno(), _BLOCK)
        except BlockingIOError:
            return
        if not data:
            raise ProcessEnded
        *lines, rest = data.split(b"\n")
        for line in lines:
            self._begin(line)
            self._lines.append(b"".join(self._begun))
            self._begun.clear()
            self._begun_size = 0
        self._begin(rest)

    def _begin(self, part: bytes) -> None:
        self._begun_size += len(part)
        if self._begun_size > self._most:
            raise LineTooLong(self._most)
        if part:
            self._begun.append(part)

    def hang_up(self) -> None:
        close(self._input)

    def end(self, seconds: float) -> None:
        close(self._input)
        try:
            if self._process.returncode is None:
                _wait_unreaped(self._process, seconds)
        finally:
            if self._process.returncode is None:
                kill(self._process)  # with those it started, whether it has ended by itself or not
            close(self._output)
            self._begun.clear()
            self._lines.clear()


def _wait_unreaped(process: subprocess.Popen[bytes], seconds: float) -> None:
    """Returns when the process has ended or the time is over. It stays a zombie: the number of its group is still its own, and
    cannot yet be that of somebody else's.
    """
    if not hasattr(os, "waitid"):
        with suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
        return
    end = monotonic() + seconds
    options = os.WEXITED | os.WNOHANG | os.WNOWAIT
    try:
        while os.waitid(os.P_PID, process.pid, options) is None:
            left = end - monotonic()
            if left <= 0:
                return
            sleep(min(left, _POLL_SECONDS))
    except ChildProcessError:
        # An earlier end was cut off between the wait and the note of it: there is nothing left to be killed.
        process.poll()
