"""A child process that runs beside the program, which reads and writes its streams at any time.

It needs no thread: its pipes are read only while the program waits for it. At other times its output stays in the pipes, and
when they are full it blocks. It is reaped only when the program ends it, so that the id of its process group cannot be reused
before.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
from collections import deque
from contextlib import suppress
from time import monotonic

from language.host.processes import OpenProcess, ProcessEnded, ProcessEvent, TimedOut
from language.locks import Lock
from language.native.processes import close, kill
from language.native.shielded import NoThread, Shielded
from language.waits import POLLING_INTERVAL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO

    from language.native.guard import Guard

_BLOCK = 1 << 16
#: Seconds between two checks whether a process has ended, on systems without a descriptor for that (``pidfd``).
_POLL_SECONDS = 0.01
#: Bytes that an event counts against the limit in addition to its content.
_EVENT_BYTES = 64
_SIGNALS = {
    "kill": signal.SIGKILL,
    "term": signal.SIGTERM,
    "int": signal.SIGINT,
    "hup": getattr(signal, "SIGHUP", signal.SIGTERM),
}


class NativeOpenProcess(OpenProcess):
    """A running child process and its three pipes. ``most`` is the number of output bytes that are buffered unread."""

    def __init__(self, process: subprocess.Popen[bytes], guard: Guard | None, most: int, by_lines: bool) -> None:
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        self._process = process
        self._most = max(most, 1)
        self._by_lines = by_lines
        self._input: IO[bytes] = process.stdin
        #: the outputs that are still open, and the incomplete line of each
        self._outputs: dict[IO[bytes], str] = {process.stdout: "stdout", process.stderr: "stderr"}
        self._begun: dict[str, list[bytes]] = {"stdout": [], "stderr": []}
        self._events: deque[ProcessEvent] = deque()
        self._kept = 0
        self._code: int | None = None
        self._over = False
        self._ending = Lock()
        self.pid = process.pid
        self.sent = self.received = self.dropped = 0
        for pipe in (self._input, *self._outputs):
            os.set_blocking(pipe.fileno(), False)
        self._ended_descriptor = _end_of(process.pid)
        self._guard = guard

    # ---- what the program asks for ---------------------------------------------------------------------------------------

    def receive(self, seconds: float) -> ProcessEvent | None:
        if not self._attend(monotonic() + seconds, self.has_event):
            return None
        if not self._events:
            return ProcessEvent("exit", code=self.exit_code() or 0)
        event = self._events.popleft()
        self._kept -= len(event.data) + _EVENT_BYTES
        return event

    def send(self, data: bytes, seconds: float) -> None:
        rest = memoryview(data)

        def write() -> bool:
            nonlocal rest
            if self._input.closed:
                raise ProcessEnded
            try:
                written = os.write(self._input.fileno(), rest[:_BLOCK])
            except BlockingIOError:
                return False
            except BrokenPipeError:
                raise ProcessEnded from None
            self.sent += written
            rest = rest[written:]
            return not rest

        end = monotonic() + seconds
        while not write():
            if not rest:
                return
            if not self._attend(end, lambda: False, writing=True):
                raise TimedOut

    def close_input(self) -> None:
        close(self._input)

    def wait(self, seconds: float | None) -> int | None:
        end = float("inf") if seconds is None else monotonic() + seconds
        self._attend(end, lambda: self.exit_code() is not None, dropping=True)
        return self.exit_code()

    def exit_code(self) -> int | None:
        if self._code is None:
            self._code = _exit_code_of(self._process)
        return self._code

    def signal(self, name: str) -> bool:
        if self._over or self.exit_code() is not None:
            return False
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, _SIGNALS[name])
        return True

    def usage(self) -> tuple[float, int] | None:
        if self._over or self.exit_code() is not None:
            return None
        try:
            with open(f"/proc/{self.pid}/stat", encoding="utf-8", errors="replace") as file:
                fields = file.read().rpartition(")")[2].split()
            ticks, pages = int(fields[11]) + int(fields[12]), int(fields[21])
            return ticks / os.sysconf("SC_CLK_TCK"), pages * os.sysconf("SC_PAGE_SIZE")
        except (OSError, ValueError, IndexError):
            return None

    def waiting(self) -> list[int]:
        found = [pipe.fileno() for pipe in self._outputs] if self._kept < self._most else []
        if self._ended_descriptor is not None and not found:
            found.append(self._ended_descriptor)
        return found

    def has_event(self) -> bool:
        if not self._events:
            self._read(0.0)
        return bool(self._events) or (not self._outputs and self.exit_code() is not None)

    def end(self) -> None:
        if self._over:
            return
        try:
            Shielded(self._end).result()
        except NoThread:
            self._end()

    def _end(self, shielded: Shielded[None] | None = None) -> None:
        with self._ending:
            if self._over:
                return
            self.exit_code()
            if self._guard is not None:
                self._guard.end()
            kill(self._process)
            for pipe in (self._input, *self._outputs):
                close(pipe)
            self._outputs = {}
            self._events.clear()
            if self._ended_descriptor is not None:
                os.close(self._ended_descriptor)
                self._ended_descriptor = None
            if self._code is None:
                self._code = -1
            self._over = True

    # ---- streams -----------------------------------------------------------------------------------------------------------

    def _attend(self, end: float, done: Callable[[], bool], *, writing: bool = False, dropping: bool = False) -> bool:
        """Reads until ``done()``, or with ``writing`` until the input can be written to, at most until ``end`` (monotonic
        seconds). Returns whether that happened in time.

        It polls: Python delivers no exception to a thread that is blocked in a system call.
        """
        while not done():
            left = end - monotonic()
            if left <= 0:
                return False
            if self._read(min(left, POLLING_INTERVAL), writing=writing, dropping=dropping):
                return True
        return True

    def _read(self, seconds: float, *, writing: bool = False, dropping: bool = False) -> bool:
        """Waits at most ``seconds`` for an event, and reads the available output. Returns whether the input can be written
        to.
        """
        with selectors.DefaultSelector() as selector:
            if dropping or self._kept < self._most:
                for output in self._outputs:
                    selector.register(output, selectors.EVENT_READ)
            if writing:
                selector.register(self._input, selectors.EVENT_WRITE)
            if seconds and self._ended_descriptor is not None and self._code is None:
                selector.register(self._ended_descriptor, selectors.EVENT_READ)
            elif self._code is None and self._ended_descriptor is None:
                seconds = min(seconds, _POLL_SECONDS)
            takes = False
            for key, _ in selector.select(seconds):
                if key.fileobj is self._input:
                    takes = True
                elif key.fileobj == self._ended_descriptor:
                    self.exit_code()  # stores the exit code, so that the descriptor is not waited for again
                elif key.fileobj in self._outputs:
                    self._drain(key.fileobj, dropping)
        return takes

    def _drain(self, pipe: IO[bytes], dropping: bool) -> None:
        try:
            data = os.read(pipe.fileno(), min(_BLOCK, self._most))
        except BlockingIOError:
            return
        kind = self._outputs[pipe]
        if not data:
            del self._outputs[pipe]
            close(pipe)
            self._add_begun(kind)
            return
        self.received += len(data)
        if dropping and self._kept >= self._most:
            self.dropped += len(data)
            return
        if not self._by_lines:
            self._add(kind, data)
            return
        *lines, rest = data.split(b"\n")
        for line in lines:
            self._begun[kind].append(line)
            self._kept += len(line)
            self._add_begun(kind, whole=True)
        if rest:
            self._begun[kind].append(rest)
            self._kept += len(rest)
            if self._kept >= self._most:  # a line that exceeds the buffer is delivered in parts
                self._add_begun(kind)

    def _add_begun(self, kind: str, *, whole: bool = False) -> None:
        line = b"".join(self._begun[kind])
        self._begun[kind].clear()
        self._kept -= len(line)
        if line or whole:
            self._add(kind, line)

    def _add(self, kind: str, data: bytes) -> None:
        self._events.append(ProcessEvent(kind, data))
        self._kept += len(data) + _EVENT_BYTES


def _end_of(pid: int) -> int | None:
    """A descriptor that becomes readable when the process ends; ``None`` where the system has none."""
    if not hasattr(os, "pidfd_open"):
        return None
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None


def _exit_code_of(process: subprocess.Popen[bytes]) -> int | None:
    """The exit code of a process, -1 when a signal ended it; ``None`` while it runs. The process stays a zombie where the
    system supports that.
    """
    if process.returncode is not None or not hasattr(os, "waitid"):
        code = process.poll()
        return None if code is None else -1 if code < 0 else code
    try:
        found = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return -1
    if found is None:
        return None
    return found.si_status if found.si_code == os.CLD_EXITED else -1
