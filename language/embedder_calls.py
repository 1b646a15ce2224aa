"""Calls out of a program into functions of its embedder: what ends the program from outside waits until they have returned.

Whoever ends a program raises an exception in its thread, between any two steps of it (``language.runtime.threads.raise_in``).
Inside of a hook that would leave a lock taken, or one of two updates done. So a thread counts here how many hooks it is in, and
nobody who began before the innermost of them raises in it.
"""

from __future__ import annotations

from _thread import get_ident

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

#: By thread: how many hooks are open in it. No entry: none.
depths: dict[int, int] = {}
#: An exception arrives between two rounds of a loop.
_ROUNDS = 8


def depth() -> int:
    """How many hooks are open in this thread."""
    return depths.get(get_ident(), 0)


def set_depth(count: int) -> None:
    """Says how many hooks are open in this thread: after a run, as many as before it."""
    if count:
        depths[get_ident()] = count
    else:
        depths.pop(get_ident(), None)


def undisturbed(hook: Callable[..., Any]) -> Callable[..., Any]:
    """The hook as a function in which no exception of somebody else's arrives."""

    def call(*arguments: Any) -> Any:
        ident = get_ident()
        before = depths.get(ident, 0)
        # Between this step and the block below no exception arrives: there is neither a call nor a loop.
        depths[ident] = before + 1
        try:
            for _ in range(_ROUNDS):  # one that was sent before arrives here
                pass
            return hook(*arguments)
        finally:
            if before:
                depths[ident] = before
            else:
                depths.pop(ident, None)

    return call
