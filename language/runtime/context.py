"""The context of one running program: its host, its capabilities, its output, and the state that its builtins share.

Every run has its own object, and nothing is kept in the state of a thread. So an asynchronous exception that skips a
``finally`` cannot affect another run.
"""

from __future__ import annotations

from language.capabilities import IMPLICIT
from language.capabilities.grants import CapabilitySet
from language.errors import LimitExceeded
from language.runtime.services import Services

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from language.agents.registry import Agent, Agents
    from language.audit.records import Audit
    from language.capabilities import Ceiling
    from language.capabilities.commands import AskedCommand
    from language.capabilities.scopes import DbTarget, GrantedPath, NetTarget
    from language.gates import Gates
    from language.host import Host
    from language.models.budget import Usage
    from language.runtime.instance import Instance
    from language.runtime.no_span import NoSpan
    from language.runtime.spans import Span, Spans
    from language.serve.exchange import Exchange
    from language.serve.request import Request
    from language.tracing.records import Records

MOST_WARNINGS = 1000
#: The most worker threads of one program, including those that its workers start.
MOST_WORKERS = 256


class Lifetime:
    """The cleanup of one run, request or job. Its workers share it."""

    __slots__ = ("_endings",)

    def __init__(self) -> None:
        self._endings: list[Callable[[], None]] = []

    def at_end(self, act: Callable[[], None]) -> None:
        """Registers ``act``, called at the end. The one registered last is called first. ``act`` must not raise.

        A cancellation can interrupt ``act``. The next call of :meth:`end` then calls it again, so it must be idempotent.
        """
        self._endings.append(act)

    @property
    def pending(self) -> bool:
        """Whether any cleanup is registered."""
        return bool(self._endings)

    def end(self) -> None:
        """Calls the registered functions. A function that a cancellation interrupts stays registered; whoever raised the
        cancellation calls this method again after the last one.
        """
        while self._endings:
            act = self._endings[-1]
            act()
            if act in self._endings:
                self._endings.remove(act)


class Context:
    """The first argument of builtins that need the running program.

    ``lines`` is the list that collects output (embedding, tests), or ``None`` when lines go to the host at once. ``mode`` is
    ``run``, ``test``, ``embedded`` or ``repl``. Decisions about capabilities are recorded in ``audit``, or without one in
    ``capabilities.records``. Without an ``audit`` and with ``recorded`` false they are not recorded, which makes a granted
    request cheapest.
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
        recorded: bool = True,
        implicit: tuple[str, ...] = IMPLICIT,
    ) -> None:
        self.host = host
        self.mode = mode
        if audit is None and recorded:
            from language.audit.records import Audit

            audit = Audit(host.now)
        self.capabilities = CapabilitySet(ceiling, audit, on_disk=host.on_disk, implicit=implicit, deployed=host.deployed)
        #: the text of the program's ``intent:``; it cannot change once the program has begun
        self.intent: str | None = None
        self.arguments = list(arguments)
        self.state: dict[str, Any] = {}
        self.services = Services()
        self.lifetime = Lifetime()
        self._root: Context | None = None
        #: where the spans of this context are kept; ``None`` unless a trace was asked for
        self.spans: Spans | None = None
        #: the running program; ``None`` until it is made
        self.instance: Instance | None = None
        self._gates: Gates | None = None
        #: the running tool that a model has called; gates inside it show its name
        self.tool: str | None = None
        #: the request that is being answered
        self.exchange: Exchange | None = None
        #: the agent that this context belongs to, and whether this is the agent's own context rather than that of a worker
        #: which it started
        self.agent: Agent | None = None
        self.is_agent = False
        #: the limits of tokens of the tasks that run (``llm_limit``), the outermost first
        self.llm_limits: tuple[Usage, ...] = ()
        #: writes the lines of an agent; ``None`` if this context writes its lines itself
        self.sink: Agents | None = None
        #: the text put before every line, in agents, and in handlers and jobs of a server
        self.prefix = ""
        self.program = ""  # the file of the program as shown in errors
        self.lines: list[str] | None = [] if collect else None
        self.output_limit = output_limit
        self.workers_left = MOST_WORKERS
        self._warned: set[str] = set()
        self._written = 0
        self._gated = ceiling is not None

    def write(self, line: str) -> None:
        """Writes one line of program output. Raises ``RuntimeFault`` when the ceiling lacks ``stdout``."""
        if self._gated:
            self.capabilities.check_output("stdout")
        if self.lines is None:
            if self.sink is None:
                self.host.write_line(self.prefix + line)
            else:
                self.sink.write(self.prefix + line, error=False)
            return
        self._count(line)
        self.lines.append(line)

    def write_error(self, line: str) -> None:
        """Writes one line to the error stream. It is not part of the program's output."""
        if self._gated:
            self.capabilities.check_output("stdout")
        if self.sink is None:
            self.host.write_error_line(self.prefix + line)
        else:
            self.sink.write(self.prefix + line, error=True)

    def log(self, text: str) -> None:
        """Writes a ``log`` line: to the error stream, or between the lines of output where those are collected for an
        embedder.
        """
        line = "[LOG] " + text
        if self.mode == "embedded":
            self.write(line)
        else:
            self.write_error(line)

    def warn(self, text: str) -> None:
        """Writes a warning of the runtime itself."""
        self.host.write_notice("lang: warning: " + text)

    def warn_once(self, text: str) -> None:
        """Writes a warning once in a run, its workers included. After a fixed number of different warnings no more are
        written.
        """
        if text not in self._warned and len(self._warned) < MOST_WARNINGS:
            self._warned.add(text)
            self.warn(text)

    def begin_output(self) -> None:
        """Resets the count of output bytes."""
        self._written = 0

    def _count(self, line: str) -> None:
        if self.output_limit is not None:
            self._written += len(line.encode("utf-8", "replace")) + 1
            if self._written > self.output_limit:
                raise LimitExceeded("output_bytes", self.output_limit)

    @property
    def records(self) -> Records:
        """The records of ``trace``, ``measure`` and ``checkpoint`` in the program."""
        found = self.services.records
        if found is None:
            from language.tracing.records import Records

            found = self.services.records = Records(self.host)
        return found

    def span(self, name: str, kind: str = "internal", attributes: Mapping[str, Any] | None = None) -> Span | NoSpan:
        """A context manager that records a span of the trace, if one was asked for. ``kind`` is ``internal`` or ``client``.

        Names and attributes hold no texts of the program (prompts, answers, arguments) unless ``spans.content`` is true.
        """
        if self.spans is not None:
            return self.spans.span(name, kind, attributes)
        from language.runtime.no_span import NO_SPAN

        return NO_SPAN

    def background(self) -> str:
        """Information about the program for a model, if the settings enable it (see :mod:`language.runtime.background`). Raises
        ``RuntimeFault``.
        """
        from language.runtime.background import background

        return background(self)

    @property
    def gates(self) -> Gates:
        """Answers the human gates of this run. Unless the caller set one, every gate is refused."""
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
        """The context of the program itself, which for a worker, request or job differs from its own context."""
        return self._root or self

    def check(self, capability: str, scope: str | None = None) -> None:
        """Checks a capability whose scope is a name, or that has no scope. Raises ``RuntimeFault`` when it is not granted."""
        self.capabilities.check(capability, scope)

    def check_path(self, capability: str, path: str) -> GrantedPath:
        """Checks ``file.read`` or ``file.write`` of a path, which is resolved here (canonical form, symbolic links followed).

        Open the returned path and not the given text; the result also names the folder that the opened file must lie in.
        Raises ``RuntimeFault`` when it is not granted.
        """
        return self.capabilities.check_path(capability, path)

    def check_command(self, name: str) -> AskedCommand:
        """Checks ``exec`` of a command. Start only the file that the result names. Raises ``RuntimeFault`` when not granted."""
        from language.capabilities.commands import AskedCommand

        command = AskedCommand(name)
        self.capabilities.check_command(command)
        return command

    def check_net(self, target: NetTarget) -> None:
        """Checks ``net`` of a URL, parsed by ``scopes.net_target``. Raises ``RuntimeFault`` when it is not granted."""
        self.capabilities.check_net(target)

    def check_address(self, address: str, port: int) -> None:
        """Checks a reserved address that the name of a granted host resolved to. Raises ``RuntimeFault`` unless a grant names
        that address literally. A granted address makes no further audit record.
        """
        self.capabilities.check_address(address, port)

    def check_db(self, target: DbTarget) -> GrantedPath | None:
        """Checks ``db`` of a URL, parsed by ``scopes.db_target``. Raises ``RuntimeFault`` when it is not granted.

        Returns what :meth:`check_path` returns for a database in a file, else ``None``.
        """
        return self.capabilities.check_db(target)

    def hides(self, capability: str, path: str) -> bool:
        """Whether the listing of a granted folder must leave out this path. Makes no audit record."""
        return self.capabilities.hides(capability, path)

    def granted_literally(self, capability: str, scope: str) -> bool:
        """Whether a grant names exactly this scope, without a pattern. A scope of ``net`` includes the port."""
        return self.capabilities.granted_literally(capability, scope)

    def fork(self, workers: int = 1) -> Context:
        """A child context for one of ``workers``: the same host and capabilities, collected output of its own.

        Its output counts against the parent's limit. The workers divide among them the number of threads that the parent may
        still start. They belong to the request that the parent answers.
        """
        child = Context(self.host, mode=self.mode, collect=True, output_limit=self.output_limit, recorded=False)
        child.capabilities = self.capabilities.fork()
        child.intent = self.intent
        child._gated = self._gated
        child.arguments = self.arguments
        child.state = self.state
        child.services = self.services
        child._root = self.root
        if self.spans is not None:
            child.spans = self.spans.fork()
        child.llm_limits = self.llm_limits
        child.agent = self.agent
        child.sink = self.sink
        child.lifetime = self.lifetime
        child.instance = self.instance
        child.tool = self.tool
        child.exchange = self.exchange
        child._gates = self._gates
        child.program = self.program
        child._warned = self._warned
        child.workers_left = self.workers_left // workers - 1
        return child

    def fork_request(self, capabilities: CapabilitySet, prefix: str) -> Context:
        """A child context for a request of a server, with ``capabilities`` of its own and ``prefix`` before its lines.

        It collects output where this context does.
        """
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
