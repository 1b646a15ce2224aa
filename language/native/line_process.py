"""A child process that runs beside the program and exchanges lines with it."""

from __future__ import annotations

import os
import selectors
import subprocess
from collections import deque
from contextlib import suppress
from time import monotonic, sleep

from language.host.processes import LineProcess, LineTooLong, ProcessEnded, TimedOut
from language.native.processes import close, kill
from language.waits import POLLING_INTERVAL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO

_BLOCK = 1 << 16
_POLL_SECONDS = 0.01
#: The most bytes of answers that may wait for the child to read them, which is more than a well-behaved child needs.
_MOST_WAITING = 1 << 20


class NativeLineProcess(LineProcess):
    """A running child process and its two pipes; ``most`` is the longest line in bytes."""

    def __init__(self, process: subprocess.Popen[bytes], most: int) -> None:
        assert process.stdin is not None and process.stdout is not None
        self._process = process
        self._input: IO[bytes] = process.stdin
        self._output: IO[bytes] = process.stdout
        self._most = most
        #: the parts of an incomplete line, and the complete lines that have not been requested yet
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
            # Also ended on cancellation: half a message must not be left in the pipe before the next one.
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
                            raise ProcessEnded  # it sends requests without reading the answers
                        waiting.append(memoryview(reply + b"\n"))
                if waiting and not writing:
                    selector.register(self._input, selectors.EVENT_WRITE)
                    writing = True
                left = end - monotonic()
                if left <= 0:
                    raise TimedOut
                # Polls: Python delivers no exception to a thread that is blocked in a system call.
                for key, _ in selector.select(min(left, POLLING_INTERVAL)):
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
                kill(self._process)  # kills its process group, whether it has ended by itself or not
            close(self._output)
            self._begun.clear()
            self._lines.clear()


def _wait_unreaped(process: subprocess.Popen[bytes], seconds: float) -> None:
    """Blocks until the process has ended or the time is over.

    The process stays a zombie, so the number of its process group cannot be reused yet.
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
        # An earlier call was cancelled between the wait and recording its result: there is nothing left to kill.
        process.poll()
