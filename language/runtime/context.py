"""The context of one running program: its host, its capabilities, where its lines go, what its builtins share.

A fresh object for every run, never thread state: an asynchronous exception that skips a ``finally`` can then leave nothing
behind in another run.
"""

from __future__ import annotations

from language.capabilities.grants import CapabilitySet
from language.errors import LimitExceeded
from language.runtime.services import Services

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from language.audit.records import Audit
    from language.capabilities import Ceiling
    from language.capabilities.commands import AskedCommand
    from language.capabilities.scopes import DbTarget, GrantedPath, NetTarget
    from language.gates import Gates
    from language.host import Host
    from language.runtime.instance import Instance
    from language.serve.exchange import Exchange
    from language.serve.request import Request

MOST_WARNINGS = 1000
#: Worker threads of one program, those that workers start included.
MOST_WORKERS = 256


class Lifetime:
    """One run, request or job: what has to be put in order when it ends. Its workers share it."""

    __slots__ = ("_endings",)

    def __init__(self) -> None:
        self._endings: list[Callable[[], None]] = []

    def at_end(self, act: Callable[[], None]) -> None:
        """``act`` is called once, the last one first; it must not raise."""
        self._endings.append(act)

    @property
    def pending(self) -> bool:
        """Whether anything has to be put in order."""
        return bool(self._endings)

    def end(self) -> None:
        while self._endings:
            self._endings.pop()()


class Context:
    """What context builtins receive.

    ``lines`` is the list that collects output (embedding, tests), or ``None`` when lines go to the host at once. ``mode`` is
    ``run``, ``test``, ``embedded`` or ``repl``. Decisions over capabilities go to ``audit``, without one to a list of their own
    (``capabilities.records``), or nowhere where ``unheard``: then a granted request costs least.
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
        audit: Audit | None = None,
        unheard: bool = False,
        implicit: bool = True,
    ) -> None:
        self.host = host
        self.mode = mode
        if audit is None and not unheard:
            from language.audit.records import Audit

            audit = Audit(host.now)
        self.capabilities = CapabilitySet(ceiling, audit, on_disk=host.on_disk, implicit=implicit)
        #: the text of the program's ``intent:``, frozen once the program has begun
        self.intent: str | None = None
        self.arguments = list(arguments)
        self.state: dict[str, Any] = {}
        self.services = Services()
        self.lifetime = Lifetime()
        self._root: Context | None = None
        #: the program that runs here; ``None`` before it is made
        self.instance: Instance | None = None
        self._gates: Gates | None = None
        #: the request that is being answered here
        self.exchange: Exchange | None = None
        #: what stands before every line, in handlers and jobs of a server
        self.prefix = ""
        self.program = ""  # the file of the program as errors show it
        self.lines: list[str] | None = [] if collect else None
        self.output_limit = output_limit
        self.workers_left = MOST_WORKERS
        self._warned: set[str] = set()
        self._written = 0
        self._gated = ceiling is not None

    def write(self, line: str) -> None:
        """One line of program output. Raises ``RuntimeFault`` when the ceiling lacks ``stdout``."""
        if self._gated:
            self.capabilities.check_output("stdout")
        if self.lines is None:
            self.host.write_line(self.prefix + line)
            return
        self._count(line)
        self.lines.append(line)

    def write_error(self, line: str) -> None:
        """One line to the error stream; never part of the program's output."""
        if self._gated:
            self.capabilities.check_output("stdout")
        self.host.write_error_line(self.prefix + line)

    def log(self, text: str) -> None:
        """A ``log`` line: to the error stream, or in order with the output where that is collected for an embedder."""
        line = "[LOG] " + text
        if self.mode == "embedded":
            self.write(line)
        else:
            self.write_error(line)

    def warn(self, text: str) -> None:
        """A warning of the runtime itself."""
        self.host.write_notice("lang: warning: " + text)

    def warn_once(self, text: str) -> None:
        """A warning that a run, its workers included, gives once; after many different ones no more are kept or given."""
        if text not in self._warned and len(self._warned) < MOST_WARNINGS:
            self._warned.add(text)
            self.warn(text)

    def begin_output(self) -> None:
        """The output counts from nothing again."""
        self._written = 0

    def _count(self, line: str) -> None:
        if self.output_limit is not None:
            self._written += len(line.encode("utf-8", "replace")) + 1
            if self._written > self.output_limit:
                raise LimitExceeded("output_bytes", self.output_limit)

    @property
    def gates(self) -> Gates:
        """Who answers the human gates of this run; nobody, unless the one who started it said who."""
        if self._gates is None:
            from language.gates import Gates, PassingGates

            self._gates = PassingGates(self.host) if self.mode == "test" else Gates(self.host, "non-interactive run, no TTY")
        return self._gates

    @gates.setter
    def gates(self, gates: Gates) -> None:
        self._gates = gates
        gates.audit = self.capabilities.audit

    @property
    def request(self) -> Request | None:
        """The record of the request that is being answered; ``None`` outside of handlers."""
        return None if self.exchange is None else self.exchange.request

    @property
    def root(self) -> Context:
        """The context of the program itself, of which this one is a worker, request or job, or the same."""
        return self._root or self

    def check(self, capability: str, scope: str | None = None) -> None:
        """Asks for one capability whose scope is a name, or none. Raises ``RuntimeFault`` when it is not granted."""
        self.capabilities.check(capability, scope)

    def check_path(self, capability: str, path: str) -> GrantedPath:
        """Asks for ``file.read`` or ``file.write`` of a path, put in canonical form here and symbolic links followed.

        Use the answer and not the text: its path, and the folder that what is opened must lie in. Raises ``RuntimeFault``.
        """
        return self.capabilities.check_path(capability, path)

    def check_command(self, name: str) -> AskedCommand:
        """Asks for ``exec`` of a command. Start the file that the answer has located, nothing else. Raises ``RuntimeFault``."""
        from language.capabilities.commands import AskedCommand

        command = AskedCommand(name)
        self.capabilities.check_command(command)
        return command

    def check_net(self, target: NetTarget) -> None:
        """Asks for ``net`` of a URL that ``scopes.net_target`` took apart. Raises ``RuntimeFault``."""
        self.capabilities.check_net(target)

    def check_address(self, address: str, port: int) -> None:
        """Asks for the reserved address that the name of a granted host leads to. Raises ``RuntimeFault`` unless a grant
        names it literally; that it does is no new record.
        """
        self.capabilities.check_address(address, port)

    def check_db(self, target: DbTarget) -> GrantedPath | None:
        """Asks for ``db`` of what ``scopes.db_target`` took apart: for a file what :meth:`check_path` answers, else ``None``.

        Raises ``RuntimeFault``.
        """
        return self.capabilities.check_db(target)

    def hides(self, capability: str, path: str) -> bool:
        """Whether a walk below a granted folder has to pass over this path. Makes no record."""
        return self.capabilities.hides(capability, path)

    def granted_literally(self, capability: str, scope: str) -> bool:
        """Whether a grant names exactly this scope: no pattern and no bare name. For ``net`` give the port connected to."""
        return self.capabilities.granted_literally(capability, scope)

    def fork(self, workers: int = 1) -> Context:
        """A child for one of ``workers``: the same host and capabilities, its own collected output, counted at the parent.

        The workers share the threads that the parent may still start, and work for the request that it answers.
        """
        child = Context(self.host, mode=self.mode, collect=True, output_limit=self.output_limit, unheard=True)
        child.capabilities = self.capabilities.fork()
        child.intent = self.intent
        child._gated = self._gated
        child.arguments = self.arguments
        child.state = self.state
        child.services = self.services
        child._root = self.root
        child.lifetime = self.lifetime
        child.instance = self.instance
        child.exchange = self.exchange
        child._gates = self._gates
        child.program = self.program
        child._warned = self._warned
        child.workers_left = self.workers_left // workers - 1
        return child

    def fork_request(self, capabilities: CapabilitySet, prefix: str) -> Context:
        """A child for the requests of a server: with its own grants, collecting where this one does, its lines told apart."""
        child = self.fork()
        child.capabilities = capabilities
        child.lifetime = Lifetime()
        child.lines = None if self.lines is None else []
        child.prefix = prefix
        child.workers_left = self.workers_left
        return child

    @property
    def collected(self) -> list[str]:
        """The lines collected so far."""
        return self.lines if self.lines is not None else []
