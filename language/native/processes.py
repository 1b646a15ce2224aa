"""Child processes: without a shell, with the three standard descriptors only, each in a process group of its own."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
from contextlib import suppress
from time import monotonic

from language.host.http import MOST_BODY
from language.host.processes import CannotStart, Command, Finished, LineProcess, OpenProcess, Processes, TimedOut
from language.native.shielded import Given, NoThread, Shielded
from language.waits import POLLING_INTERVAL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import IO

#: API keys of the language models that the runtime itself calls: no child receives them.
PROVIDER_KEYS = frozenset(("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "MINIMAX_API_KEY", "DEEPSEEK_API_KEY"))

_BLOCK = 1 << 16


class NativeProcesses(Processes):
    """Starts child processes. ``hidden_names`` are variables that no child receives: those of the ``.env`` file."""

    def __init__(
        self,
        hidden_names: Iterable[str] = (),
        *,
        most: int = MOST_BODY,
        surroundings: Callable[[], Mapping[str, str]] | None = None,
    ) -> None:
        """``most`` is the longest line in bytes that is read from a process which exchanges lines with the program.
        ``surroundings`` returns variables of the host for every child; it is called when one is started.
        """
        self._surroundings = surroundings
        self._most = most
        self._hidden = PROVIDER_KEYS.union(hidden_names)

    def run(self, command: Command) -> Finished:
        end = monotonic() + command.seconds
        return _result(Shielded(lambda shielded: self._run(command, end, shielded)))

    def start(self, command: Command) -> LineProcess:
        return _result(Shielded(lambda shielded: self._line_process(command, shielded)))

    def open(self, command: Command, *, by_lines: bool) -> OpenProcess:
        return _result(Shielded(lambda shielded: self._open_process(command, by_lines, shielded)))

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

    def _open_process(self, command: Command, by_lines: bool, shielded: Shielded[OpenProcess]) -> OpenProcess:
        from language.native.guard import new_guard
        from language.native.open_process import NativeOpenProcess

        guard = new_guard()

        def start(through: Sequence[str] = (), inherited: Sequence[int] = ()) -> subprocess.Popen[bytes]:
            return self._start(command, subprocess.PIPE, subprocess.PIPE, through, inherited)

        try:
            process = None if guard is None else guard.start(start)
            if process is None:
                process = start()
                if guard is not None:
                    guard.watch(process.pid)
        except BaseException:
            if guard is not None:
                guard.end()
            raise
        opened = NativeOpenProcess(process, guard, command.most_output, by_lines)
        if shielded.abandoned:
            opened.end()
        return opened

    def _start(
        self,
        command: Command,
        standard_input: int,
        errors: int | None,
        through: Sequence[str] = (),
        inherited: Sequence[int] = (),
    ) -> subprocess.Popen[bytes]:
        """``through`` is the command line that starts ``language.native.guarded_start``, put before that of the command;
        ``inherited`` are the descriptors that it needs.
        """
        if command.file is None:
            raise CannotStart("no such command in PATH")
        if command.folder is not None and not os.path.isdir(command.folder):
            raise CannotStart(f'the working directory "{command.folder}" is no folder')
        environment = self._environment(command)
        if through:
            locale = f"={environment['LC_CTYPE']}" if "LC_CTYPE" in environment else ""
            through = [*through, locale, command.file]
        try:
            return subprocess.Popen(
                [*through, command.name, *command.arguments],
                executable=through[0] if through else command.file,
                bufsize=0,
                stdin=standard_input,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=command.folder,
                env=environment,
                close_fds=True,
                pass_fds=inherited,
                # A session of its own: the whole process group can be killed, and it cannot read from the program's terminal.
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
    """The exit code of a process that has closed its streams; waits for it. Raises ``TimedOut``."""
    while True:
        left = end - monotonic()
        try:
            return process.wait(min(max(left, 0.0), POLLING_INTERVAL))
        except subprocess.TimeoutExpired:
            if left <= 0 or shielded.abandoned:
                raise TimedOut from None


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kills a process and all processes of its group."""
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):  # all have ended
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()


def close(pipe: IO[bytes]) -> None:
    """Closes one end of a pipe."""
    with suppress(OSError):  # a pipe without a reader
        pipe.close()


class _Streams:
    """Writes the standard input of a process and reads both of its outputs, keeping as much as the limit allows."""

    def __init__(self, process: subprocess.Popen[bytes], command: Command) -> None:
        self._process = process
        self._input = memoryview(command.standard_input or b"")
        self._most = command.most_output
        self._pieces: dict[IO[bytes] | None, list[bytes]] = {process.stdout: [], process.stderr: []}
        self._sizes: dict[IO[bytes] | None, int] = {process.stdout: 0, process.stderr: 0}

    def run(self, end: float, shielded: Shielded[Finished]) -> None:
        """Returns when all streams are closed. Raises ``TimedOut``, also when the caller has abandoned the work."""
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
                for key, _ in selector.select(min(left, POLLING_INTERVAL)):
                    pipe: IO[bytes] = key.fileobj  # type: ignore[assignment]
                    more = self._feed(pipe) if pipe is process.stdin else self._drain(pipe)
                    if not more:
                        selector.unregister(pipe)
                        close(pipe)

    def _feed(self, pipe: IO[bytes]) -> bool:
        """Writes as much as the pipe takes. Returns whether there is more to write and a reader."""
        try:
            self._input = self._input[os.write(pipe.fileno(), self._input[:_BLOCK]) :]
        except BlockingIOError:
            return True
        except BrokenPipeError:
            return False
        return len(self._input) > 0

    def _drain(self, pipe: IO[bytes]) -> bool:
        """Reads what is available. Returns whether more can follow."""
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
        """The kept part of an output, and whether there was more."""
        return b"".join(self._pieces[pipe]), self._sizes[pipe] > self._most
