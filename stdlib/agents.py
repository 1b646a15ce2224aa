"""Several agents: their list, their outcomes, and atomic changes of shared values."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.registry import Family
from language.values import is_callable, to_bool, type_of
from stdlib.native_only import native_only

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.runtime.context import Context
    from language.values import Bool

family = Family("agents", "Agents")

MOST_RESTARTS = 1_000_000


@family.builtin("agents()", context=True)
def agents(ctx: Context) -> list[dict[str, Any]]:
    """The agents that were started, in that order, each `{id, name, state, error}`; of those that ended, the newest 1,000.

    `state` is `STARTING`, `WORKING`, `WAITING`, `DONE`, `ERROR` or `STOPPED`; `error` is the message, else `nothing`.

    `where(agents(), (a) => a.state == "ERROR")`
    """
    from language.agents import agents_of

    _need_threads(ctx, "agents")
    return [
        {"id": agent.identifier, "name": agent.name, "state": agent.state, "error": agent.error}
        for agent in agents_of(ctx).all()
    ]


@family.builtin("agent_wait(id, timeout?)", context=True)
def agent_wait(ctx: Context, id: Any, timeout: Any = None) -> dict[str, Any] | None:
    """Waits until an agent has ended and gives `{state, result, error}`: `result` is the value of its `give`.

    The result is `nothing` when the agent has not ended after `timeout` seconds (without it there is no limit), or when the
    agent itself waits and nothing is left that could end its wait.

    `agent_wait(spawn_id, 60)`
    """
    from language.agents import agents_of
    from language.agents.statements import seconds_of

    seconds = None if timeout is None else seconds_of("agent_wait: timeout", timeout)
    return agents_of(ctx).wait(ctx, _id("agent_wait", id), seconds)


@family.builtin("agent_stop(id)", context=True)
def agent_stop(ctx: Context, id: Any) -> Bool:
    """Ends an agent, and the agents that it started, whatever they are doing. Gives `false` when it had already ended, else
    `true`.

    The agent ends within a tenth of a second, even while it waits or sleeps. `agent_wait` waits for that.

    `agent_stop("Writer_0")`
    """
    from language.agents import agents_of

    _need_threads(ctx, "agent_stop")
    return to_bool(agents_of(ctx).stop(_id("agent_stop", id)))


@family.builtin("agent_restart(id, max, within)", context=True)
def agent_restart(ctx: Context, id: Any, max: Any, within: Any) -> Bool:
    """Starts an ended agent again, with the same id, the values that `spawn` gave it, and the variables as they are now.

    Gives `false` and starts nothing when the agent was restarted `max` times within the last `within` seconds. The error that
    ended the agent before no longer fails the program.

    `agent_restart("Reader_0", 3, 60)`
    """
    from language.agents import agents_of
    from language.agents.statements import seconds_of

    _need_threads(ctx, "agent_restart")
    if type(max) is not int or not 0 <= max <= MOST_RESTARTS:
        raise RuntimeFault(f"agent_restart: max must be a whole number from 0 to {MOST_RESTARTS}", kind="type")
    seconds = seconds_of("agent_restart: within", within)
    return to_bool(agents_of(ctx).restart(ctx, _id("agent_restart", id), max, seconds))


@family.builtin("share_change(key, task)", context=True)
def share_change(ctx: Context, key: Any, task: Any) -> Any:
    """Replaces what is shared as `key` by `task(value)` and gives the new value; no other write is lost.

    `value` is `nothing` for a key that was never shared. When another agent writes the key meanwhile, the task is called again
    with the new value, so it should have no side effects.

    `share_change("count", (n) => n + 1)`
    """
    from language.agents import agents_of
    from language.agents.copies import key_of
    from language.runtime.calls import callback

    if not is_callable(task):
        raise RuntimeFault(f"share_change: the second argument must be a task, got {type_of(task)}", kind="type")
    return agents_of(ctx).blackboard.change(key_of("share_change", key), callback(task, 1))


def _need_threads(ctx: Context, builtin: str) -> None:
    """Raises ``RuntimeFault`` without threads: there an agent ends before the statement that starts it, so none can be named,
    stopped or restarted.
    """
    if not ctx.host.runs_jobs:
        raise native_only(builtin, "this build has no agent threads")


def _id(builtin: str, value: Any) -> str:
    if type(value) is not str:
        raise RuntimeFault(f"{builtin}: the id of an agent is a text, got {type_of(value)}", kind="type")
    return value
