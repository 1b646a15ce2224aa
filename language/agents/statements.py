"""The statements of agents, as compiled code calls them, with the conversion of their operands."""

from __future__ import annotations

from language.agents import agents_of
from language.agents.copies import key_of
from language.errors import RuntimeFault
from language.values import TRUE, type_of
from language.values.operators import is_decimal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FunctionType
    from typing import Any

    from language.runtime.context import Context

DEFAULT_SECONDS = 30.0
MOST_SECONDS = 3600.0


class AgentStatements:
    """The statements of agents in one context."""

    __slots__ = ("_agents", "_context")

    def __init__(self, context: Context) -> None:
        self._context = context
        self._agents = agents_of(context)

    def agent(self, name: str, names: tuple[str, ...], function: FunctionType) -> dict[str, Any]:
        """Defines an agent. ``names`` are the parameters of ``function``, which a ``spawn`` may give by name."""
        return self._agents.define(self._context, name, names, function)

    def spawn(self, name: str, names: tuple[str, ...], *values: Any) -> str:
        """Starts an agent and returns its id."""
        return self._agents.spawn(self._context, name, dict(zip(names, values)))

    def share(self, value: Any, key: Any) -> Any:
        """Puts a value on the blackboard and returns it."""
        self._agents.blackboard.share(key_of("share", key), value)
        return value

    def observe(self, key: Any) -> Any:
        """The value on the blackboard; ``None`` if there is none."""
        return self._agents.blackboard.observe(key_of("observe", key))

    def signal(self, key: Any, *payload: Any) -> None:
        """Sends a signal. ``payload`` is the value after ``with``; ``true`` is sent without one.

        Raises ``RuntimeFault`` for ``nothing``, which is what a wait gives without a signal.
        """
        name = key_of("signal", key)
        if payload and payload[0] is None:
            raise RuntimeFault(
                f'signal "{name}" with nothing: nothing is what a wait gives that ends without a signal; leave out `with`, or '
                "send false or an empty text",
            )
        self._agents.signal(name, payload[0] if payload else TRUE)

    def wait_for(self, key: Any, *timeout: Any) -> Any:
        """The next signal of the channel, or ``None``. ``timeout`` is the value after that word, if there is one."""
        name = key_of("wait_for", key)
        seconds = seconds_of("wait_for timeout", timeout[0]) if timeout else DEFAULT_SECONDS
        return self._agents.wait_for(self._context, name, seconds)


def seconds_of(word: str, value: Any) -> float:
    """A number of seconds, clamped to the range from 0 to an hour."""
    kind = type(value)
    if is_decimal(value):
        seconds = float(value.to_float())
    elif kind is int or kind is float:
        seconds = MOST_SECONDS if value >= MOST_SECONDS else float(value)
    else:
        raise RuntimeFault(f"{word} must be a number of seconds, got {type_of(value)}", kind="type")
    return min(max(seconds, 0.0), MOST_SECONDS) if seconds == seconds else 0.0
