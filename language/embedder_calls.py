"""Calls from a program into hooks, the functions of its embedder: cancellation is deferred until the hook has returned.

A program is cancelled by an asynchronous exception in its thread (``language.runtime.threads.raise_in``). Inside of a hook
that exception could leave a lock held, or one of two updates undone. Each thread therefore counts the hooks that it is in. A
watchdog that was started before the innermost hook was called raises no exception until that hook has returned.
"""

from __future__ import annotations

from _thread import get_ident

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

#: By thread: how many nested calls of hooks have not returned. No entry means none.
depths: dict[int, int] = {}
#: Python delivers a pending exception at the end of a round of a loop.
_ROUNDS = 8


def depth() -> int:
    """How many nested calls of hooks in this thread have not returned."""
    return depths.get(get_ident(), 0)


def set_depth(count: int) -> None:
    """Sets the number of nested calls of hooks in this thread. At the end of a run it is set to what it was before the run."""
    if count:
        depths[get_ident()] = count
    else:
        depths.pop(get_ident(), None)


def uncancellable(hook: Callable[..., Any]) -> Callable[..., Any]:
    """The hook as a function during which no cancellation is delivered: the exception is raised after it has returned."""

    def call(*arguments: Any) -> Any:
        ident = get_ident()
        before = depths.get(ident, 0)
        # Between this line and `try` no exception is delivered: there is neither a call nor a loop.
        depths[ident] = before + 1
        try:
            for _ in range(_ROUNDS):  # delivers an exception that was already pending
                pass
            return hook(*arguments)
        finally:
            if before:
                depths[ident] = before
            else:
                depths.pop(ident, None)

    return call
