"""Processes as a host offers them: what the builtin ``run`` asks for and what comes back."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


class CannotStart(Exception):
    """The command does not exist, or the system refuses to start it; the text says why."""


class TimedOut(Exception):
    """The time was over; the process and those it started have been killed."""


class Command:
    """A command to run, without a shell. ``name`` as the program gave it; it is looked up in the host's own ``PATH``.

    ``folder`` is the working directory (``None``: that of the program), ``added`` variables of the environment on top of the
    host's, of which those that ``withheld(name)`` says are left out. ``most_output`` bytes are kept of each stream.
    """

    __slots__ = ("added", "arguments", "folder", "most_output", "name", "seconds", "standard_input", "withheld")

    def __init__(
        self,
        name: str,
        arguments: Sequence[str],
        *,
        seconds: float,
        standard_input: bytes | None,
        folder: str | None,
        added: Mapping[str, str],
        withheld: Callable[[str], bool],
        most_output: int,
    ) -> None:
        self.name = name
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


class Processes:
    """The processes of a host."""

    def run(self, command: Command) -> Finished:
        """Runs a command to its end. Raises ``CannotStart`` or ``TimedOut``."""
        raise NotImplementedError
