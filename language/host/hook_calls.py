"""The limit ``host_calls``: how often a program may call the hooks of its embedder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
        """The same hooks, their calls counted; what is no function (``sleep: True``) stays as it is."""
        return {name: self._store(hook) if name == "kv" else self._hook(hook) for name, hook in hooks.items()}

    def _store(self, store: Any) -> dict[str, Any]:
        parts = {name: store.get(name) if isinstance(store, Mapping) else getattr(store, name, None) for name in _KV}
        return {name: self._hook(part) for name, part in parts.items() if part is not None}

    def _hook(self, hook: Any) -> Any:
        if not callable(hook):
            return hook

        def call(*arguments: Any) -> Any:
            if self._left == 0:
                raise LimitExceeded("host_calls", self._most)
            self._left -= 1
            return hook(*arguments)

        return call
