"""The ``kv`` hook of an embedder, and the storage of `state_*` values in it.

Values are JSON text. A failed read is an error and never counts as an empty store.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from language.errors import RuntimeFault

STATE = "state"
_MISSING = object()


class KvFailed(Exception):
    """The hook failed; the text is the reason."""


class HookedKv:
    """``kv`` as a dict or an object with ``get``, ``set``, ``delete`` and ``list``."""

    def __init__(self, hook: Any) -> None:
        self._hook = hook

    def get(self, namespace: str, key: str) -> str | None:
        answer = self._call("get", namespace, key)
        value = answer.get("value", _MISSING) if isinstance(answer, Mapping) else answer
        if value is None or isinstance(value, str):
            return value
        raise KvFailed("the kv hook gave no text")

    def set(self, namespace: str, key: str, value: str) -> None:
        self._call("set", namespace, key, value)

    def delete(self, namespace: str, key: str) -> None:
        self._call("delete", namespace, key)

    def keys(self, namespace: str) -> list[str]:
        answer = self._call("list", namespace)
        keys = answer.get("keys") if isinstance(answer, Mapping) else answer
        if isinstance(keys, (list, tuple)) and all(isinstance(key, str) for key in keys):
            return list(keys)
        raise KvFailed("the kv hook listed no keys")

    def _call(self, name: str, *arguments: str) -> Any:
        hook = self._hook.get(name) if isinstance(self._hook, Mapping) else getattr(self._hook, name, None)
        if hook is None:
            raise KvFailed(f"the kv hook has no {name}")
        try:
            answer = hook(*arguments)
        except Exception as error:
            raise KvFailed(f"{type(error).__name__}: {error}") from error
        if isinstance(answer, Mapping) and answer.get("error") is not None:
            raise KvFailed(str(answer["error"]))
        return answer


class KvState:
    """The shared state of a program in a hook, one key for each value, with the methods of a ``dict``."""

    def __init__(self, kv: HookedKv, warn: Any) -> None:
        self._kv = kv
        self._warn = warn

    def get(self, name: str, default: Any = None, /) -> Any:
        try:
            text = self._kv.get(STATE, name)
        except KvFailed as failure:
            raise _state_failed(failure) from None
        return default if text is None else _decoded(text, STATE)

    def __setitem__(self, name: str, value: Any, /) -> None:
        from language.values.json_encoding import encode

        text = encode(value, "state_set")
        try:
            self._kv.set(STATE, name, text)
        except KvFailed as failure:
            self._warn(f'lang: warning: kv: cannot write "{name}" of {STATE}: {failure}')
            raise _state_failed(failure) from None

    def pop(self, name: str, default: Any = None, /) -> Any:
        try:
            self._kv.delete(STATE, name)
        except KvFailed as failure:
            raise _state_failed(failure) from None
        return default

    def copy(self) -> dict[str, Any]:
        try:
            names = self._kv.keys(STATE)
        except KvFailed as failure:
            raise _state_failed(failure) from None
        return {name: self.get(name) for name in names}

    def change(self, name: str, new: Any) -> Any:
        """Replaces a value by ``new(value)`` and returns it. Only one caller at a time."""
        value = new(self.get(name))
        self[name] = value
        return value


def _state_failed(failure: KvFailed) -> RuntimeFault:
    return RuntimeFault(f"state: the host store failed: {failure}", kind="file")


def _decoded(text: str, store: str) -> Any:
    from language.values.json_decoding import decode

    try:
        return decode(text)
    except (RuntimeFault, ValueError) as error:
        raise RuntimeFault(f"{store}: the host store failed: its value is not JSON: {error}", kind="file") from None
