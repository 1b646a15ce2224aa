"""Runs one ``lang`` command in a child process with limits of time, output and memory.

The program that runs there may be hostile, so the child inherits nothing of this process except what is set here. Commands that
the program was allowed to start end with the child (``language.cli.descendants``).
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Event

from language.lifeline import Lifeline

#: The child sets its own limits before it reads any input of the client. On a system without a limit of the address space, only
#: time and output are limited.
_START = """
from language.cli.descendants import begin_work
begin_work({lifeline})
import resource
for what, most in ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_CPU, {seconds}), (resource.RLIMIT_AS, {memory})):
    hard = resource.getrlimit(what)[1]
    bound = most if hard == resource.RLIM_INFINITY else min(most, hard)
    try:
        resource.setrlimit(what, (bound, bound))
    except (OSError, ValueError):
        pass
from language.lifeline import follow_parent
follow_parent()
from language.cli.main import main
raise SystemExit(main())
"""
#: Seconds between two checks while the process writes nothing.
_PAUSE = 0.05
_CHUNK = 1 << 16
#: Seconds that a process may take to end its descendants after SIGTERM, and between two checks of that.
_ENDING_SECONDS = 10.0
_ENDING_PAUSE = 0.005


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits of one call: ``seconds`` from its start, ``output`` bytes on each of its two streams, ``memory`` bytes."""

    seconds: float
    output: int
    memory: int


@dataclass(frozen=True, slots=True)
class Ended:
    """The result: both streams, cut at their limit; the exit code; and the limit that ended it (``time``, ``output``,
    ``cancelled``), empty if it ended by itself.
    """

    output: str
    errors: str
    code: int
    bound: str


class BoundedCommands:
    """Starts ``lang`` commands that end with this process, even if it is killed."""

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self._lifeline = Lifeline()
        seconds = (int(bounds.seconds) + 1) * (os.cpu_count() or 1)
        self._start = _START.format(lifeline=self._lifeline.descriptor, seconds=seconds, memory=bounds.memory)

    def run(self, words: list[str], source: bytes, folder: str, cancelled: Event) -> Ended:
        """Runs ``lang WORDS`` with ``source`` as its standard input in a folder, without the settings of this process.

        Raises ``OSError`` where no process can be started.
        """
        with tempfile.TemporaryFile() as given:
            given.write(source)
            given.seek(0)
            process = subprocess.Popen(
                [sys.executable, "-P", "-c", self._start, *words],
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=folder,
                env={**_environment(os.environ), **self._lifeline.environment()},
                pass_fds=(self._lifeline.descriptor,),
                start_new_session=True,
            )
        return self._watched(process, cancelled)

    def _watched(self, process: subprocess.Popen[bytes], cancelled: Event) -> Ended:
        assert process.stdout is not None
        assert process.stderr is not None
        kept: dict[int, bytearray] = {process.stdout.fileno(): bytearray(), process.stderr.fileno(): bytearray()}
        deadline = time.monotonic() + self.bounds.seconds
        bound = ""
        with process.stdout, process.stderr, selectors.DefaultSelector() as ready:
            for descriptor in kept:
                os.set_blocking(descriptor, False)
                ready.register(descriptor, selectors.EVENT_READ)
            while not bound and not _has_ended(process.pid):
                if cancelled.is_set():
                    bound = "cancelled"
                elif time.monotonic() > deadline:
                    bound = "time"
                elif not self._read(ready, kept, _PAUSE):
                    bound = "output"
                elif not ready.get_map():
                    cancelled.wait(_PAUSE)
            if bound:
                _end(process.pid)
            # Killed before it is reaped: until then the system cannot reuse its process id.
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            while not bound and self._last(ready, kept):
                pass
        texts = [bytes(data[: self.bounds.output]).decode("utf-8", "replace") for data in kept.values()]
        if not bound and any(len(data) > self.bounds.output for data in kept.values()):
            bound = "output"
        return Ended(texts[0], texts[1], process.returncode, bound)

    def _last(self, ready: selectors.BaseSelector, kept: dict[int, bytearray]) -> bool:
        """Reads what is available after the process has ended, and returns whether there may be more. A descendant that left
        the session may keep writing, so this does not wait for the end of the stream.
        """
        before = sum(map(len, kept.values()))
        return self._read(ready, kept, 0) and sum(map(len, kept.values())) > before

    def _read(self, ready: selectors.BaseSelector, kept: dict[int, bytearray], seconds: float) -> bool:
        """Reads what arrives within a time; false if it exceeds the limit."""
        for key, _ in ready.select(seconds) if ready.get_map() else ():
            try:
                piece = os.read(key.fd, _CHUNK)
            except BlockingIOError:
                continue
            if not piece:
                ready.unregister(key.fd)
            kept[key.fd] += piece
        return all(len(data) <= self.bounds.output for data in kept.values())


def _end(pid: int) -> None:
    """Ends a process with its descendants and waits for that, some seconds at most."""
    os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + _ENDING_SECONDS
    while not _has_ended(pid) and time.monotonic() < deadline:
        time.sleep(_ENDING_PAUSE)


def _has_ended(pid: int) -> bool:
    """Whether a process has ended, without reaping it."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of this process without the settings of `lang`, and with the cache turned off."""
    kept = {name: value for name, value in environ.items() if not name.startswith("PLATFORM_")}
    return {**kept, "PLATFORM_CACHE": "off", "NO_COLOR": "1"}
