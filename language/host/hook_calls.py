"""The hooks of an embedder as a program calls them: undisturbed by what ends the program, and counted for ``host_calls``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from language.embedder_calls import undisturbed
from language.errors import LimitExceeded

_KV = ("get", "set", "delete", "list")


class HookCalls:
    """Counts the calls of hooks. Raises ``LimitExceeded`` in the place of the one that is too many."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._left = most

    def begin(self) -> None:
        """Counts from nothing again."""
        self._left = self._most

    def counted(self, hooks: Mapping[str, Any]) -> dict[str, Any]:
        """The same hooks, their calls counted."""
        return _each(hooks, self._hook)

    def _hook(self, hook: Any) -> Any:
        def call(*arguments: Any) -> Any:
            if self._left == 0:
                raise LimitExceeded("host_calls", self._most)
            self._left -= 1
            return hook(*arguments)

        return call


def hooks_undisturbed(hooks: Mapping[str, Any]) -> dict[str, Any]:
    """The same hooks, in which nothing that ends the program arrives: it waits until they have returned."""
    return _each(hooks, undisturbed)


def _each(hooks: Mapping[str, Any], wrapped: Callable[[Any], Any]) -> dict[str, Any]:
    """The same hooks, each function wrapped; what is no function (``sleep: True``) stays as it is."""
    return {name: _store(hook, wrapped) if name == "kv" else _function(hook, wrapped) for name, hook in hooks.items()}


def _store(store: Any, wrapped: Callable[[Any], Any]) -> dict[str, Any]:
    parts = {name: store.get(name) if isinstance(store, Mapping) else getattr(store, name, None) for name in _KV}
    return {name: _function(part, wrapped) for name, part in parts.items() if part is not None}


def _function(hook: Any, wrapped: Callable[[Any], Any]) -> Any:
    return wrapped(hook) if callable(hook) else hook
