"""The context of one running program: its host, its capabilities, where its lines go, what its builtins share.

A fresh object for every run, never thread state: an asynchronous exception that skips a ``finally`` can then leave nothing
behind in another run.
"""

from __future__ import annotations

from language.capability import CapabilitySet, Ceiling
from language.errors import LimitExceeded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.host import Host

DEFAULT_OUTPUT_LIMIT = 16 * 1024 * 1024
MOST_WARNINGS = 1000


class Context:
    """What context builtins receive.

    ``lines`` is the list that collects output (embedding, tests), or ``None`` when lines go to the host at once. ``mode`` is
    ``run``, ``test``, ``embedded`` or ``repl``.
    """

    def __init__(
        self,
        host: Host,
        *,
        mode: str = "run",
        ceiling: Ceiling | None = None,
        arguments: tuple[str, ...] = (),
        collect: bool = False,
        output_limit: int | None = None,
    ) -> None:
        self.host = host
        self.mode = mode
        self.capabilities = CapabilitySet(ceiling, host.now)
        self.arguments = list(arguments)
        self.state: dict[str, Any] = {}
        self.lines: list[str] | None = [] if collect else None
        self.output_limit = output_limit
        self.items_limit: int | None = None
        self._warned: set[str] = set()
        self._written = 0
        self._gated = ceiling is not None

    def write(self, line: str) -> None:
        """One line of program output. Raises ``RuntimeFault`` when the ceiling lacks ``stdout``."""
        if self._gated:
            self.capabilities.check_output("stdout")
        if self.lines is None:
            self.host.write_line(line)
            return
        self._count(line)
        self.lines.append(line)

    def write_error(self, line: str) -> None:
        """One line to the error stream; never part of the program's output."""
        if self._gated:
            self.capabilities.check_output("stdout")
        self.host.write_error_line(line)

    def log(self, text: str) -> None:
        """A ``log`` line: to the error stream, or in order with the output where that is collected for an embedder."""
        line = "[LOG] " + text
        if self.mode == "embedded":
            self.write(line)
        else:
            self.write_error(line)

    def warn(self, text: str) -> None:
        """A warning of the runtime itself."""
        self.host.write_error_line("lang: warning: " + text)

    def warn_once(self, text: str) -> None:
        """A warning that a run, its workers included, gives once; after many different ones no more are kept or given."""
        if text not in self._warned and len(self._warned) < MOST_WARNINGS:
            self._warned.add(text)
            self.warn(text)

    def _count(self, line: str) -> None:
        if self.output_limit is not None:
            self._written += len(line.encode("utf-8", "replace")) + 1
            if self._written > self.output_limit:
                raise LimitExceeded("output_bytes", self.output_limit)

    def check(self, capability: str, scope: str | None = None) -> None:
        """Asks for one capability. Raises ``RuntimeFault`` when it is not granted."""
        self.capabilities.check(capability, scope)

    def check_items(self, count: int) -> None:
        """Refuses to build a value of ``count`` items beyond the memory limit of the run, before any of it exists."""
        if self.items_limit is not None and count > self.items_limit:
            raise LimitExceeded("memory_bytes", self.items_limit * 8)

    def fork(self) -> Context:
        """A child for a worker: the same host and capabilities, its own collected output, counted at the parent."""
        child = Context(self.host, mode=self.mode, collect=True, output_limit=self.output_limit)
        child.capabilities = self.capabilities.fork()
        child._gated = self._gated
        child.arguments = self.arguments
        child.state = self.state
        child._warned = self._warned
        child.items_limit = self.items_limit
        return child

    @property
    def collected(self) -> list[str]:
        """The lines collected so far."""
        return self.lines if self.lines is not None else []
