"""Processes as a host offers them: run to their end, or talked to while they go on."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


class CannotStart(Exception):
    """The command does not exist, or the system refuses to start it; the text says why."""


class TimedOut(Exception):
    """The time was over; the process and those it started have been killed."""


class ProcessEnded(Exception):
    """The process has closed its output, or does not take its input any more."""


class LineTooLong(Exception):
    """The process wrote a line longer than the bound; ``most`` is the bound in bytes."""

    def __init__(self, most: int) -> None:
        super().__init__(f"a line is longer than {most} bytes")
        self.most = most


class Command:
    """A command to run, without a shell. ``name`` as the program gave it, ``file`` the path of what is started under that name,
    ``None`` when nothing of this name was found.

    ``folder`` is the working directory (``None``: that of the program), ``added`` variables of the environment on top of the
    host's, of which those that ``withheld(name)`` says are left out. ``most_output`` bytes are kept of each stream.
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
    """How a process ended: its exit code, -1 when a signal killed it, and what it wrote, as far as it is kept."""

    __slots__ = ("exit_code", "stderr", "stderr_cut", "stdout", "stdout_cut")

    def __init__(self, exit_code: int, stdout: bytes, stdout_cut: bool, stderr: bytes, stderr_cut: bool) -> None:
        self.exit_code = exit_code
        self.stdout = stdout
        self.stdout_cut = stdout_cut
        self.stderr = stderr
        self.stderr_cut = stderr_cut


class LineProcess:
    """A process that goes on beside the program, line by line: what it reads on its input, what it writes on its output.

    After an error other than of the caller's own the process has been killed.
    """

    def talk(self, message: bytes, answer: Callable[[bytes], bytes | None] | None, seconds: float) -> None:
        """Writes ``message`` and hands each line that comes, without its line end, to ``answer``: what that gives is written in
        its turn, ``None`` ends the talk. Without ``answer`` it ends when the message is written.

        Raises ``TimedOut``, ``ProcessEnded`` or ``LineTooLong``.
        """
        raise NotImplementedError

    def hang_up(self) -> None:
        """Closes the input of the process, for it to end by itself. Never raises."""
        raise NotImplementedError

    def end(self, seconds: float) -> None:
        """Waits that long for the process to end, then kills it and those it started. Never raises; twice is nothing."""
        raise NotImplementedError


class Processes:
    """The processes of a host."""

    def start(self, command: Command) -> LineProcess:
        """Starts a command to talk to; its error output goes to that of the program. Raises ``CannotStart``."""
        raise NotImplementedError

    def run(self, command: Command) -> Finished:
        """Runs a command to its end. Raises ``CannotStart`` or ``TimedOut``."""
        raise NotImplementedError
