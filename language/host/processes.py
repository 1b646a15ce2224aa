"""Child processes of a host: run to their end, kept running to exchange lines with the program, or kept running with streams
that the program reads and writes at any time.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


class CannotStart(Exception):
    """The command does not exist, or the system refuses to start it; the text is the reason."""


class TimedOut(Exception):
    """The timeout has passed; the process and those it started have been killed."""


class ProcessEnded(Exception):
    """The process has closed its output, or no longer reads its input."""


class LineTooLong(Exception):
    """The process wrote a line longer than the limit ``most``, in bytes."""

    def __init__(self, most: int) -> None:
        super().__init__(f"a line is longer than {most} bytes")
        self.most = most


class Command:
    """A command to run without a shell.

    ``name`` is as the program gave it; ``file`` is the path of the file that is started, ``None`` when none was found.
    ``folder`` is the working directory (``None``: that of the program). ``added`` are environment variables in addition to
    those of the host. Variables of the host for which ``withheld(name)`` is true are left out. ``most_output`` is how many
    bytes are kept of each output.
    """

    __slots__ = ("added", "arguments", "file", "folder", "most_output", "name", "seconds", "standard_input", "withheld")

    def __init__(
        self,
        name: str,
        file: str | None,
        arguments: Sequence[str],
        *,
        seconds: float = 0,
        standard_input: bytes | None = None,
        folder: str | None,
        added: Mapping[str, str],
        withheld: Callable[[str], bool],
        most_output: int = 0,
    ) -> None:
        self.name = name
        self.file = file
        self.arguments = arguments
        self.seconds = seconds
        self.standard_input = standard_input
        self.folder = folder
        self.added = added
        self.withheld = withheld
        self.most_output = most_output


class Finished:
    """The end of a process: its exit code, -1 when a signal killed it, and the kept parts of its outputs."""

    __slots__ = ("exit_code", "stderr", "stderr_cut", "stdout", "stdout_cut")

    def __init__(self, exit_code: int, stdout: bytes, stdout_cut: bool, stderr: bytes, stderr_cut: bool) -> None:
        self.exit_code = exit_code
        self.stdout = stdout
        self.stdout_cut = stdout_cut
        self.stderr = stderr
        self.stderr_cut = stderr_cut


class LineProcess:
    """A process that exchanges lines with the program through its standard input and output.

    After any error that the caller's own ``answer`` did not raise, the process has been killed.
    """

    def talk(self, message: bytes, answer: Callable[[bytes], bytes | None] | None, seconds: float) -> None:
        """Writes ``message`` and calls ``answer`` with each line, given without its line end.

        What ``answer`` returns is written to the process; ``None`` ends the exchange. Without ``answer`` it ends when the
        message is written. Raises ``TimedOut``, ``ProcessEnded`` or ``LineTooLong``.
        """
        raise NotImplementedError

    def hang_up(self) -> None:
        """Closes the input of the process, so that it can end by itself. Never raises."""
        raise NotImplementedError

    def end(self, seconds: float) -> None:
        """Waits ``seconds`` for the process to end, then kills it and those it started. Never raises; idempotent."""
        raise NotImplementedError


class ProcessEvent:
    """An event of a process: ``kind`` is ``stdout``, ``stderr`` or ``exit``. ``data`` is a part of an output, without the end
    of its line where lines are read; ``code`` is the exit code, -1 when a signal ended the process.
    """

    __slots__ = ("code", "data", "kind")

    def __init__(self, kind: str, data: bytes = b"", code: int = 0) -> None:
        self.kind = kind
        self.data = data
        self.code = code


class OpenProcess:
    """A process that runs beside the program, which reads its outputs and writes its input.

    At most ``most_output`` bytes of its outputs are buffered unread; after that the process blocks until the program reads
    (backpressure). One thread at a time uses it.
    """

    pid: int
    #: bytes written to the input, bytes read of both outputs, bytes of those that were dropped
    sent: int
    received: int
    dropped: int

    def receive(self, seconds: float) -> ProcessEvent | None:
        """The next event; ``None`` when none comes within ``seconds``. Once the process has ended and its outputs are read,
        every call returns the event ``exit``.
        """
        raise NotImplementedError

    def send(self, data: bytes, seconds: float) -> None:
        """Writes to the input of the process. Meanwhile outputs are read, up to the limit. Raises ``TimedOut`` or
        ``ProcessEnded``; a part of the data may then have been written.
        """
        raise NotImplementedError

    def close_input(self) -> None:
        """Closes the input. Idempotent."""
        raise NotImplementedError

    def wait(self, seconds: float | None) -> int | None:
        """The exit code, as soon as the process has ended; ``None`` when it has not within ``seconds``. Meanwhile outputs are
        read, and what exceeds the limit is dropped.
        """
        raise NotImplementedError

    def exit_code(self) -> int | None:
        """The exit code; ``None`` while the process runs."""
        raise NotImplementedError

    def signal(self, name: str) -> bool:
        """Sends ``kill``, ``term``, ``int`` or ``hup`` to the process and its group. Returns whether the process was
        running.
        """
        raise NotImplementedError

    def usage(self) -> tuple[float, int] | None:
        """Processor time in seconds and resident memory in bytes; ``None`` if the system does not report them, or when the
        process has ended.
        """
        raise NotImplementedError

    def waiting(self) -> list[int]:
        """The descriptors that become readable when there may be a new event. Raises nothing."""
        raise NotImplementedError

    def has_event(self) -> bool:
        """Whether :meth:`receive` would return an event at once."""
        raise NotImplementedError

    def end(self) -> None:
        """Kills the process and those of its group and closes its streams. Never raises; idempotent."""
        raise NotImplementedError


class Processes:
    """The processes of a host."""

    def open(self, command: Command, *, by_lines: bool) -> OpenProcess:
        """Starts a command to run beside the program. ``by_lines`` makes each line of its outputs one event. Raises
        ``CannotStart``.
        """
        raise NotImplementedError

    def start(self, command: Command) -> LineProcess:
        """Starts a command to exchange lines with. Its error output goes to that of the program. Raises ``CannotStart``."""
        raise NotImplementedError

    def run(self, command: Command) -> Finished:
        """Runs a command to its end. Raises ``CannotStart`` or ``TimedOut``."""
        raise NotImplementedError
