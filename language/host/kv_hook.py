"""The ``kv`` hook of an embedder: what `state_*` and memories are kept in where there is no file.

Values are JSON text. A store that fails to read is never taken for an empty one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from language.errors import RuntimeFault
from language.host.memory import MemoryEntry, Rule, failed

STATE = "state"
_MISSING = object()


class KvFailed(Exception):
    """The hook failed; the text says how."""


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
    """The shared state of a program over a hook, one key for each entry; in the place of the map that it is elsewhere."""

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
        """The value that ``new`` makes of the present one; there is one caller at a time."""
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
        raise RuntimeFault(f"{store}: the host store failed: what it holds is no JSON: {error}", kind="file") from None


class KvMemory:
    """A memory in the namespace ``memory:<name>``: one JSON object, read whole and written whole after each change."""

    def __init__(self, kv: HookedKv, name: str, warn: Any) -> None:
        self._kv = kv
        self._name = name
        self._namespace = f"memory:{name}"
        self._warn = warn

    def add(self, category: str, content: str, tags: list[str], source: str, now: float) -> str:
        data = self._read()
        entries = data["entries"]
        last = max([*(_number(key) for key in entries), int(data.get("last") or 0)], default=0)
        identifier = f"mem_{last + 1}"
        entries[identifier] = {
            "id": identifier,
            "category": category,
            "content": content,
            "data": {},
            "tags": tags,
            "created_at": now,
            "updated_at": now,
            "source": source,
            "confidence": 1.0,
            "active": True,
        }
        self._write(data)
        return identifier

    def entries(self) -> list[MemoryEntry]:
        found = []
        for entry in self._read()["entries"].values():
            if entry.get("active", True):
                tags = [str(tag) for tag in entry.get("tags") or []]
                updated = float(entry.get("updated_at") or 0.0)
                found.append(
                    MemoryEntry(entry["id"], entry["category"], entry["content"], tags, entry.get("source") or "main", updated)
                )
        return found

    def forget(self, identifier: str, now: float) -> None:
        data = self._read()
        entry = data["entries"].get(identifier)
        if entry is not None and entry.get("active", True):
            entry.update(active=False, updated_at=now)
            self._write(data)

    def rules(self) -> list[Rule]:
        return [
            Rule(rule["name"], rule["level"], rule["description"], rule.get("category") or "")
            for rule in self._read()["rules"].values()
            if rule.get("active", True)
        ]

    def _read(self) -> dict[str, Any]:
        import json

        try:
            text = self._kv.get(self._namespace, "memory")
        except KvFailed as failure:
            raise failed(self._name, f"the host store failed: {failure}") from None
        if text is None:
            return {"entries": {}, "rules": {}}
        try:
            data = json.loads(text)
            well_formed = all(isinstance(data.get(part), dict) for part in ("entries", "rules"))
        except (ValueError, AttributeError):
            well_formed = False
        if not well_formed:
            raise failed(self._name, "the host store failed: what it holds is no memory")
        return data  # type: ignore[no-any-return]

    def _write(self, data: dict[str, Any]) -> None:
        import json

        try:
            self._kv.set(self._namespace, "memory", json.dumps(data))
        except KvFailed as failure:
            self._warn(f'lang: warning: kv: cannot write "memory" of {self._namespace}: {failure}')
            raise failed(self._name, f"the host store failed: {failure}") from None


def _number(identifier: str) -> int:
    digits = identifier.rpartition("_")[2]
    return int(digits) if digits.isascii() and digits.isdigit() else 0
