"""The agents of a running program: how they start and end, who is notified, and the detection of deadlocks."""

from __future__ import annotations

from language.agents.blackboard import Blackboard
from language.agents.channels import WAITING, WORKING, Participant, Waiter, Waits
from language.agents.copies import copied
from language.errors import RuntimeFault
from language.locks import Lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import FunctionType
    from typing import Any

    from language.capabilities.grants import CapabilitySet
    from language.runtime.context import Context
    from language.runtime.threads import Background

#: How many agents may run at the same time, unless ``PLATFORM_MAX_AGENTS`` is set, and the greatest value of that.
MOST_ALIVE = 64
MOST_SETTING = 1_000
#: How many ended agents are kept in the registry.
MOST_ENDED = 1_000
#: How many threads one agent may start for ``parallel_map``.
WORKERS_OF_AGENT = 16
#: Seconds that the end of a program waits for the agents that it stops.
GRACE = 2.0

STARTING = "STARTING"
DONE = "DONE"
ERROR = "ERROR"
STOPPED = "STOPPED"


class SeveralProcesses(RuntimeFault):
    """A service with several worker processes uses agents, which is refused because each process would have its own."""

    def __init__(self) -> None:
        super().__init__(
            "agents, shared values and signals are those of one process, and this service has several: serve it with "
            "--workers 1, or keep what its processes share with state_set",
            kind="unsupported",
        )


class Definition:
    """An agent as its ``agent`` statement defines it. ``names`` are the values that its function takes, in order."""

    __slots__ = ("function", "name", "names")

    def __init__(self, name: str, names: tuple[str, ...], function: FunctionType) -> None:
        self.name = name
        self.names = names
        self.function = function


class Agent(Participant):
    """One agent that was started. ``capabilities`` are those that it has at each start.

    ``number`` counts the agents of the program. ``starts`` counts how often this one was started, because the thread of an
    earlier start may still be running. ``failure`` is the error that ended it; ``handled`` says that the error was reported to
    somebody.
    """

    __slots__ = (
        *("background", "capabilities", "children", "error", "failure", "given", "handled"),
        *("identifier", "name", "number", "parent", "restarts", "result", "starts", "stopping", "waiters"),
    )

    def __init__(
        self, identifier: str, name: str, number: int, parent: Agent | None, given: dict[str, Any], capabilities: CapabilitySet
    ) -> None:
        super().__init__(identifier)
        self.identifier = identifier
        self.number = number
        self.name = name
        self.parent = parent
        self.given = given
        self.capabilities = capabilities
        self.children: list[Agent] = []
        self.waiters: list[Waiter] = []
        self.restarts: list[float] = []
        self.starts = 0
        self.begin()

    def begin(self) -> None:
        """Resets everything that a start of the agent changes."""
        self.starts += 1
        self.state = STARTING
        self.background: Background | None = None
        self.result: Any = None
        self.error: str | None = None
        self.failure: BaseException | None = None
        self.handled = False
        self.stopping = False

    @property
    def ended(self) -> bool:
        return self.state in (DONE, ERROR, STOPPED)

    def has_ended(self, start: int) -> bool:
        """Whether that start of the agent has ended."""
        return self.ended or self.starts != start

    def outcome(self) -> dict[str, Any]:
        """The outcome of the agent, as a value of the language."""
        return {"state": self.state, "result": self.result, "error": self.error}


class Agents:
    """The agents of one program, its blackboard and its signals. ``root`` is the context of the program itself."""

    def __init__(self, root: Context) -> None:
        store = root.services.store
        if store is not None and store.gates.shared:
            raise SeveralProcesses()
        self._root = root
        self._lock = Lock()
        self._output = Lock()
        self.blackboard = Blackboard()
        self.waits = Waits(self._lock, self._settle, root.host.monotonic)
        self.main = Participant("the main program")
        #: by id, in the order in which they were started
        self._agents: dict[str, Agent] = {}
        self._alive: dict[Agent, None] = {}
        self._count = 0
        self._serving = root.mode == "serve"
        self.threads = root.host.runs_jobs
        self._most: int | None = None
        root.lifetime.at_end(self.stop_all)

    # ---- starting -------------------------------------------------------------------------------------------------------

    def define(self, context: Context, name: str, names: tuple[str, ...], function: FunctionType) -> dict[str, Any]:
        """Makes an agent known to the copy of the program that defines it. Returns the value of the statement."""
        assert context.instance is not None
        context.instance.agents[name] = Definition(name, names, function)
        return {"name": name, "state": "defined"}

    def spawn(self, context: Context, name: str, given: dict[str, Any]) -> str:
        """Starts an agent and returns its id. Without threads it runs in the caller's thread before this method returns, and
        its error is raised here.
        """
        definition = self._definition(context, name)
        self._check_given(definition, given)
        if not self.threads:
            return self._run_here(definition, given)
        parent = context.agent
        with self._lock:
            if len(self._alive) >= self._limit():
                raise RuntimeFault(
                    f"spawn: too many agents ({len(self._alive)}): wait until some have ended, or raise PLATFORM_MAX_AGENTS",
                    kind="resources",
                )
            identifier = f"{name}_{self._count}"
            agent = Agent(identifier, name, self._count, parent, given, self._capabilities(context, identifier))
            self._count += 1
            self._agents[identifier] = agent
            self._alive[agent] = None
            if parent is not None:
                parent.children.append(agent)
        self._start(context, agent, definition)
        return identifier

    def restart(self, context: Context, identifier: str, most: int, within: float) -> bool:
        """Restarts an agent that has ended, with the values that it was given. Returns whether it was restarted.

        It is not restarted if it was restarted ``most`` times within the last ``within`` seconds.
        """
        agent = self.agent("agent_restart", identifier)
        definition = self._definition(context, agent.name)
        if not agent.capabilities.is_bounded_as(context.capabilities):
            raise RuntimeFault(
                f"agent_restart: '{identifier}' was started outside of this sandbox, with more capabilities than are here",
                kind="capability",
            )
        now = context.host.monotonic()
        with self._lock:
            if not agent.ended:
                raise RuntimeFault(f"agent_restart: '{identifier}' has not ended: its state is {agent.state}")
            agent.restarts = [moment for moment in agent.restarts if now - moment < within]
            if len(agent.restarts) >= most:
                return False
            if len(self._alive) >= self._limit():
                raise RuntimeFault(f"agent_restart: too many agents ({len(self._alive)})", kind="resources")
            agent.restarts.append(now)
            agent.begin()
            self._alive[agent] = None
        self._start(context, agent, definition)
        return True

    def _definition(self, context: Context, name: str) -> Definition:
        instance = context.instance
        found = None if instance is None else instance.agents.get(name)
        if found is None:
            raise RuntimeFault(f"No agent defined with name '{name}'", kind="name")
        return found

    def _check_given(self, definition: Definition, given: Iterable[str]) -> None:
        from language import library

        for name in given:
            if name not in definition.names and name in library().all_builtins():
                raise RuntimeFault(
                    f"spawn: '{name}' is the name of a builtin, which '{definition.name}' of another file reads: use another "
                    "name",
                    kind="name",
                )

    def _limit(self) -> int:
        if self._most is None:
            from language.settings import read_setting, whole_number

            name, host = "PLATFORM_MAX_AGENTS", self._root.host
            read = whole_number(1, MOST_SETTING)
            wanted = f"a whole number from 1 to {MOST_SETTING}"
            self._most = read_setting(name, host.environ(name), read, wanted, MOST_ALIVE, host.warn)
        return self._most

    def _capabilities(self, spawner: Context, identifier: str) -> CapabilitySet:
        """The capabilities of a new agent: those that the process grants to every program, and the declared memory. Its own
        ``require`` lines add to them. It never has more than the ``sandbox`` or the tool that starts it.
        """
        program = self._root.capabilities
        grants = [*program.ambient, *(grant for grant in program.grants if grant.name == "memory")]
        return spawner.capabilities.fork(f"agent:{identifier}", grants=grants, frozen=False)

    def _start(self, spawner: Context, agent: Agent, definition: Definition) -> None:
        from language.agents.agent_run import prepared
        from language.runtime.threads import Background

        try:
            background = Background(prepared(self, spawner, agent, definition))
            with self._lock:
                agent.background = background
                stopped = agent.stopping
            if stopped:  # stopped before there was a thread that could be cancelled
                background.end()
            background.start()
        except BaseException:
            self._forget(agent)
            raise

    def _forget(self, agent: Agent) -> None:
        with self._lock:
            self._alive.pop(agent, None)
            self._agents.pop(agent.identifier, None)
            if agent.parent is not None and agent in agent.parent.children:
                agent.parent.children.remove(agent)

    def _run_here(self, definition: Definition, given: dict[str, Any]) -> str:
        from language.runtime.intrinsics import UNSET

        identifier = f"agent:{definition.name}"
        agent = Agent(identifier, definition.name, self._count, None, {}, self._root.capabilities)
        self._agents[identifier] = agent
        agent.state = ERROR
        agent.result = copied(definition.function(*(given.get(name, UNSET) for name in definition.names)))
        agent.state = DONE
        self._count += 1
        return identifier

    # ---- what an agent does ---------------------------------------------------------------------------------------------

    def participant(self, context: Context) -> Participant | None:
        """The participant whose code runs in a context; ``None`` for a handler, a job or a worker."""
        if context is self._root:
            return self.main
        agent = context.agent
        return agent if agent is not None and context.is_agent else None

    def begun(self, agent: Agent) -> None:
        """Called in the thread of an agent before its first statement."""
        with self._lock:
            agent.state = WORKING

    def write(self, line: str, *, error: bool) -> None:
        """Writes a line of an agent, with its prefix, to the output of the program."""
        with self._output:
            if error:
                self._root.write_error(line)
            else:
                self._root.write(line)

    def signal(self, name: str, value: Any) -> None:
        """Sends a copy of the value. Without threads nobody can wait for it, so nothing is sent."""
        if self.threads:
            self.waits.send(name, copied(value))

    def wait_for(self, context: Context, name: str, seconds: float) -> Any:
        """The next signal of a channel; ``None`` if none arrived in time."""
        if not self.threads:
            return None
        participant = self.participant(context)
        if participant is None and self._serving and self._is_over():
            seconds = 0
        return self.waits.receive(name, seconds, participant)

    def _is_over(self) -> bool:
        """Whether there were agents and all have ended."""
        return self._count > 0 and not self._alive

    # ---- ending ---------------------------------------------------------------------------------------------------------

    def finish(
        self, agent: Agent, start: int, state: str, result: Any, failure: BaseException | None, message: str | None
    ) -> None:
        """Called when a start of an agent has ended, by its thread, or for a thread that was cancelled before it could call.
        Only the first call for each start has an effect.
        """
        with self._lock:
            if agent.has_ended(start):
                return
            agent.state = state
            agent.result = result
            agent.failure = failure
            agent.error = message
            self._alive.pop(agent, None)
            children = [child for child in agent.children if not child.ended]
            agent.children = []
            waiters, agent.waiters = agent.waiters, []
            for waiter in waiters:
                if not waiter.done:
                    self.waits.all.pop(waiter, None)
                    waiter.end(agent.outcome(), given=True)
            self.waits.send(f"ended:{agent.identifier}", agent.outcome(), only_newest=True)
            self._forget_oldest()
            self._settle()
            background = None if agent.stopping else agent.background
            agent.stopping = True
        # From here on the agent may already have been restarted.
        for child in children:
            self._stop(child)
        if background is not None:
            background.end()

    def _forget_oldest(self) -> None:
        if len(self._agents) > MOST_ENDED + len(self._alive):
            oldest = next(agent for agent in self._agents.values() if agent.ended)
            del self._agents[oldest.identifier]
            self.waits.drop(f"ended:{oldest.identifier}")

    def stop(self, identifier: str) -> bool:
        """Ends an agent at its next statement, and the agents that it started. Returns false if it had already ended."""
        agent = self.agent("agent_stop", identifier)
        return self._stop(agent)

    def _stop(self, agent: Agent) -> bool:
        with self._lock:
            if agent.ended or agent.stopping:
                return not agent.ended
            agent.stopping = True
            background = agent.background
        if background is not None:
            background.end()
        return True

    def stop_all(self, since: int = 0) -> None:
        """Ends every agent that was started after the first ``since`` agents, and waits up to :data:`GRACE` seconds for their
        ends.
        """
        monotonic = self._root.host.monotonic
        agents = [agent for agent in list(self._alive) if agent.number >= since]
        for agent in agents:
            self._stop(agent)
        end = monotonic() + GRACE
        for agent in agents:
            self._wait_for_end(agent, max(0.0, end - monotonic()), None)

    def wait(self, context: Context, identifier: str, seconds: float | None) -> dict[str, Any] | None:
        """The outcome of an agent; ``None`` if it has not ended within ``seconds``, or if nothing can end it any more."""
        return self._wait_for_end(self.agent("agent_wait", identifier), seconds, self.participant(context))

    def _wait_for_end(self, agent: Agent, seconds: float | None, participant: Participant | None) -> dict[str, Any] | None:
        with self._lock:
            if agent.ended:
                return agent.outcome()
            waiter = self.waits.begin_until(f"the end of {agent.identifier}", agent.waiters, participant)
        outcome: dict[str, Any] | None = self.waits.end_until(waiter, agent.waiters, seconds)
        return outcome

    def join(self, since: int = 0) -> None:
        """Waits until every agent that was started after the first ``since`` agents has ended. Raises the error of the first
        one that failed, with the errors of the others in ``others``.
        """
        self.main.state = WAITING
        try:
            with self._lock:
                self._settle()
            while alive := [agent for agent in list(self._alive) if agent.number >= since]:
                self._wait_for_end(alive[0], None, None)
        finally:
            self.main.state = WORKING
        failed = [agent for agent in self._agents.values() if agent.failure is not None and not agent.handled]
        failed = [agent for agent in failed if agent.number >= since]
        for agent in failed:
            agent.handled = True
        if failed:
            raise _joined(failed)

    @property
    def count(self) -> int:
        """The number of agents started so far."""
        return self._count

    def agent(self, builtin: str, identifier: str) -> Agent:
        """The agent of that id. Raises ``RuntimeFault``."""
        found = self._agents.get(identifier)
        if found is None:
            raise RuntimeFault(f"{builtin}: no agent has the id '{identifier}': `spawn` gives it", kind="name")
        return found

    def all(self) -> list[Agent]:
        """The running agents and the most recent of the ended ones, in the order of their starts."""
        with self._lock:
            self._reap()
            return list(self._agents.values())

    # ---- when nothing can happen any more -------------------------------------------------------------------------------

    def _reap(self) -> None:
        """Marks agents as ended whose threads were cancelled before they could report it."""
        for agent in list(self._alive):
            if agent.background is not None and agent.background.returned:
                self.finish(agent, agent.starts, STOPPED, None, None, None)

    def _settle(self) -> None:
        """Ends all waits if nothing is left that could end one (deadlock). Called with the lock held."""
        self._reap()
        if self._serving:
            if not self._is_over():
                return
        elif self.main.state == WORKING or any(agent.state != WAITING for agent in self._alive) or self._jobs_pending():
            return
        if self.waits.all and not self._is_over():
            self._tell()
        self.waits.end_all()

    def _jobs_pending(self) -> bool:
        return self._root.mode != "test" and self._root.services.has_active_jobs

    def _tell(self) -> None:
        """Reports who waits for what, the main program first."""
        waiting = {id(waiter.participant): waiter for waiter in self.waits.all}
        found = (waiting.get(id(participant)) for participant in (self.main, *self._alive))
        waits = ", ".join(f"{waiter.participant.label} for {waiter.what}" for waiter in found if waiter and waiter.participant)
        self._root.host.write_notice(
            f"[lang] notice: nobody is left who could end these waits, so they end with nothing: {waits}"
        )


def _joined(failed: list[Agent]) -> BaseException:
    """The error of the failed agents: a limit of the run itself if one was exceeded, else the first error, with the others in
    ``others``.
    """
    errors: list[RuntimeFault] = []
    for agent in failed:
        if not isinstance(agent.failure, RuntimeFault):
            assert agent.failure is not None
            return agent.failure
        errors.append(agent.failure)
    errors[0].others = tuple(errors[1:])
    return errors[0]
