"""Wraps the hooks of an embedder: a hook cannot be cancelled while it runs, and its calls count for ``host_calls``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from language.embedder_calls import uncancellable
from language.errors import LimitExceeded

_KV = ("get", "set", "delete", "list")


class HookCalls:
    """Counts the calls of hooks. Raises ``LimitExceeded`` in place of the call that exceeds the limit."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._left = most

    def begin(self) -> None:
        """Resets the count."""
        self._left = self._most

    def counted(self, hooks: Mapping[str, Any]) -> dict[str, Any]:
        """The same hooks with their calls counted."""
        return _each(hooks, self._hook)

    def _hook(self, hook: Any) -> Any:
        def call(*arguments: Any) -> Any:
            if self._left == 0:
                raise LimitExceeded("host_calls", self._most)
            self._left -= 1
            return hook(*arguments)

        return call


def uncancellable_hooks(hooks: Mapping[str, Any]) -> dict[str, Any]:
    """The same hooks, uncancellable: cancellation of the program is deferred until the hook has returned."""
    return _each(hooks, uncancellable)


def _each(hooks: Mapping[str, Any], wrapped: Callable[[Any], Any]) -> dict[str, Any]:
    """The hooks with each function wrapped. A value that is not a function (``sleep: True``) is kept unchanged."""
    return {name: _store(hook, wrapped) if name == "kv" else _function(hook, wrapped) for name, hook in hooks.items()}


def _store(store: Any, wrapped: Callable[[Any], Any]) -> dict[str, Any]:
    parts = {name: store.get(name) if isinstance(store, Mapping) else getattr(store, name, None) for name in _KV}
    return {name: _function(part, wrapped) for name, part in parts.items() if part is not None}


def _function(hook: Any, wrapped: Callable[[Any], Any]) -> Any:
    return wrapped(hook) if callable(hook) else hook
