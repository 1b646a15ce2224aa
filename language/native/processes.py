"""Child processes of the machine: no shell, no descriptor but the standard three, a process group of their own."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
from contextlib import suppress
from time import monotonic

from language.host.http import MOST_BODY
from language.host.processes import CannotStart, Command, Finished, LineProcess, Processes, TimedOut
from language.native.shielded import Given, NoThread, Shielded
from language.waits import LONGEST_NAP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import IO

#: Keys of the providers that the runtime itself asks: no child needs them to do its work.
PROVIDER_KEYS = frozenset(("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "MINIMAX_API_KEY", "DEEPSEEK_API_KEY"))

_BLOCK = 1 << 16


class NativeProcesses(Processes):
    """Processes of this machine. ``hidden_names`` are variables that no child receives: those of the ``.env`` file."""

    def __init__(
        self,
        hidden_names: Iterable[str] = (),
        *,
        most: int = MOST_BODY,
        surroundings: Callable[[], Mapping[str, str]] | None = None,
    ) -> None:
        """``most``: bytes of the longest line that is read of a process with which a program talks. ``surroundings`` gives
        variables of the host that every child receives; it is asked when one is started.
        """
        self._surroundings = surroundings
        self._most = most
        self._hidden = PROVIDER_KEYS.union(hidden_names)

    def run(self, command: Command) -> Finished:
        end = monotonic() + command.seconds
        return _result(Shielded(lambda shielded: self._run(command, end, shielded)))

    def start(self, command: Command) -> LineProcess:
        return _result(Shielded(lambda shielded: self._line_process(command, shielded)))

    def _run(self, command: Command, end: float, shielded: Shielded[Finished]) -> Finished:
        source = subprocess.DEVNULL if command.standard_input is None else subprocess.PIPE
        process = self._start(command, source, subprocess.PIPE)
        streams = _Streams(process, command)
        ended = False
        try:
            streams.run(end, shielded)
            code = _exit_code(process, end, shielded)
            ended = True
        finally:
            if not ended:
                kill(process)
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    close(pipe)
        return Finished(-1 if code < 0 else code, *streams.kept(process.stdout), *streams.kept(process.stderr))

    def _line_process(self, command: Command, shielded: Shielded[LineProcess]) -> LineProcess:
        from language.native.line_process import NativeLineProcess

        process = NativeLineProcess(self._start(command, subprocess.PIPE, None), self._most)
        if shielded.abandoned:
            process.end(0)
        return process

    def _start(self, command: Command, standard_input: int, errors: int | None) -> subprocess.Popen[bytes]:
        if command.file is None:
            raise CannotStart("no such command in PATH")
        if command.folder is not None and not os.path.isdir(command.folder):
            raise CannotStart(f'the working directory "{command.folder}" is no folder')
        try:
            return subprocess.Popen(
                [command.name, *command.arguments],
                executable=command.file,
                bufsize=0,
                stdin=standard_input,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=command.folder,
                env=self._environment(command),
                close_fds=True,
                # Its own session: killed as a whole, and nobody to ask at the terminal of the program.
                start_new_session=True,
            )
        except OSError as error:
            raise CannotStart(error.strerror or str(error)) from None
        except ValueError:
            raise CannotStart("a NUL character in the command, an argument or a variable") from None

    def _environment(self, command: Command) -> dict[str, str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if not (name in self._hidden or name.startswith("PLATFORM_") or command.withheld(name))
        }
        if self._surroundings is not None:
            kept.update(self._surroundings())
        kept.update(command.added)
        return kept


def _result(shielded: Shielded[Given]) -> Given:
    try:
        return shielded.result()
    except NoThread:
        raise CannotStart("the system has no (more) threads") from None


def _exit_code(process: subprocess.Popen[bytes], end: float, shielded: Shielded[Finished]) -> int:
    """Waits for a process that has closed its streams. Raises ``TimedOut``."""
    while True:
        left = end - monotonic()
        try:
            return process.wait(min(max(left, 0.0), LONGEST_NAP))
        except subprocess.TimeoutExpired:
            if left <= 0 or shielded.abandoned:
                raise TimedOut from None


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kills the process and those it started, as long as they stayed in its group."""
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):  # all gone
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()


def close(pipe: IO[bytes]) -> None:
    """Closes one end of a pipe."""
    with suppress(OSError):  # a pipe without a reader
        pipe.close()


class _Streams:
    """Feeds the standard input and drains both outputs of a process, keeping what the limit allows."""

    def __init__(self, process: subprocess.Popen[bytes], command: Command) -> None:
        self._process = process
        self._input = memoryview(command.standard_input or b"")
        self._most = command.most_output
        self._pieces: dict[IO[bytes] | None, list[bytes]] = {process.stdout: [], process.stderr: []}
        self._sizes: dict[IO[bytes] | None, int] = {process.stdout: 0, process.stderr: 0}

    def run(self, end: float, shielded: Shielded[Finished]) -> None:
        """Until all streams are closed. Raises ``TimedOut``, also when nobody waits for them any more."""
        process = self._process
        with selectors.DefaultSelector() as selector:
            for output in (process.stdout, process.stderr):
                if output is not None:
                    os.set_blocking(output.fileno(), False)
                    selector.register(output, selectors.EVENT_READ)
            if process.stdin is not None:
                os.set_blocking(process.stdin.fileno(), False)
                selector.register(process.stdin, selectors.EVENT_WRITE)
            while selector.get_map():
                left = end - monotonic()
                if left <= 0 or shielded.abandoned:
                    raise TimedOut
                for key, _ in selector.select(min(left, LONGEST_NAP)):
                    pipe: IO[bytes] = key.fileobj  # type: ignore[assignment]
                    more = self._feed(pipe) if pipe is process.stdin else self._drain(pipe)
                    if not more:
                        selector.unregister(pipe)
                        close(pipe)

    def _feed(self, pipe: IO[bytes]) -> bool:
        """Writes what fits; whether there is more to write and somebody to read it."""
        try:
            self._input = self._input[os.write(pipe.fileno(), self._input[:_BLOCK]) :]
        except BlockingIOError:
            return True
        except BrokenPipeError:
            return False
        return len(self._input) > 0

    def _drain(self, pipe: IO[bytes]) -> bool:
        """Reads what there is; whether more can come."""
        try:
            data = os.read(pipe.fileno(), _BLOCK)
        except BlockingIOError:
            return True
        room = self._most - self._sizes[pipe]
        if room > 0:
            self._pieces[pipe].append(data[:room])
        self._sizes[pipe] += len(data)
        return len(data) > 0

    def kept(self, pipe: IO[bytes] | None) -> tuple[bytes, bool]:
        """What is kept of an output, and whether there was more."""
        return b"".join(self._pieces[pipe]), self._sizes[pipe] > self._most
