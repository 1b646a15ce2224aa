"""One running agent: its context, its thread, and the report of its end, whatever ends it."""

from __future__ import annotations

from language.agents.copies import copied
from language.agents.registry import DONE, ERROR, STOPPED, WORKERS_OF_AGENT
from language.embedder_calls import uncancellable
from language.errors import ExitProgram, InternalError, LanguageError, LimitExceeded, RuntimeFault, Uncatchable
from language.runtime.context import Lifetime
from language.runtime.intrinsics import UNSET
from language.runtime.isolation import isolate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from language.agents.registry import Agent, Agents, Definition
    from language.runtime.context import Context


def prepared(agents: Agents, spawner: Context, agent: Agent, definition: Definition) -> Callable[[], None]:
    """The function that the thread of an agent runs. The spawner's variables are copied now, in the spawner's thread."""
    start = agent.starts
    context = _context(agents, spawner, agent)
    assert spawner.instance is not None
    values = [agent.given.get(name, UNSET) for name in definition.names]
    # Copying the entry module copies the whole program, so that the agent has its own definitions from which to start other
    # agents.
    function, _, *given = isolate([definition.function, spawner.instance.entry, *values], context, redacted=True)
    return lambda: _run(agents, agent, start, context, function, given)


def _context(agents: Agents, spawner: Context, agent: Agent) -> Context:
    context = spawner.fork()
    held = agent.capabilities
    context.capabilities = held.fork(held.context, grants=held.grants, frozen=False)
    context.lifetime = Lifetime()
    context.exchange = None
    context.agent = agent
    context.is_agent = True
    context.prefix = f"[{agent.name}] "
    context.lines = None
    context.sink = agents
    context.workers_left = min(spawner.workers_left, WORKERS_OF_AGENT)
    return context


def _run(agents: Agents, agent: Agent, start: int, context: Context, function: Any, given: list[Any]) -> None:
    state, result, message = STOPPED, None, None
    failure: BaseException | None = None
    try:
        agents.begun(agent)
        result = _result(context, agent, function, given)
        state = DONE
    except LanguageError as error:
        state, message = ERROR, error.message
        failure = _failure(agent, error)
    except ExitProgram:
        state, message = ERROR, "exit() cannot be called in an agent: signal the main program, which can"
        failure = _failure(agent, RuntimeFault(message))
    except (LimitExceeded, InternalError, MemoryError) as error:
        state, message, failure = ERROR, str(error) or type(error).__name__, error
    except Uncatchable:
        pass  # stopped
    # A cancellation may be delivered at any point before the end is reported.
    end = uncancellable(lambda: _end(agents, agent, start, context, state, result, failure, message))
    while not agent.has_ended(start):
        try:
            end()
        except Uncatchable:
            continue


def _result(context: Context, agent: Agent, function: Any, given: list[Any]) -> Any:
    results: list[Any] = []
    instance = context.instance
    assert instance is not None

    def work() -> None:
        instance.guarded(lambda: results.append(function(*given)))

    if context.spans is None:
        work()
    else:
        attributes = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": agent.name,
            "gen_ai.agent.id": agent.identifier,
        }
        with context.span(f"invoke_agent {agent.name}", "internal", attributes):
            work()
    return copied(results[0])


def _end(
    agents: Agents,
    agent: Agent,
    start: int,
    context: Context,
    state: str,
    result: Any,
    failure: BaseException | None,
    message: str | None,
) -> None:
    try:
        context.lifetime.end()
    finally:
        agents.finish(agent, start, state, result, failure, message)


def _failure(agent: Agent, error: LanguageError) -> RuntimeFault:
    """The error with which the program ends, with the position at which it arose."""
    message = f"Agent '{agent.identifier}' failed: {error.message}"
    failure = RuntimeFault(message, kind=error.kind, code=error.code, help=error.help)
    failure.file, failure.line, failure.column = error.file, error.line, error.column
    failure.end_line, failure.end_column = error.end_line, error.end_column
    failure.cure, failure.calls, failure.more_calls = error.cure, error.calls, error.more_calls
    return failure
