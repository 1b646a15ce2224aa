"""A memory in the ``kv`` hook of an embedder: two JSON objects in the namespace ``memory:<name>``, each always read and written
as a whole.

A failed read is an error and never counts as an empty store.
"""

from __future__ import annotations

from language.host import memory_ranking as ranking
from language.host.kv_hook import KvFailed
from language.host.memory import MemoryEntry, Query, Rule, failed, found, number_of
from language.host.progress import Step, no_step, no_task

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from language.errors import RuntimeFault
    from language.host.kv_hook import HookedKv


class KvMemory:
    """A memory in the namespace ``memory:<name>``."""

    def __init__(self, kv: HookedKv, name: str, warn: Any) -> None:
        self._kv = kv
        self._name = name
        self._namespace = f"memory:{name}"
        self._warn = warn

    # ---- entries --------------------------------------------------------------------------------------------------------

    def add(self, entry: MemoryEntry, now: float) -> str:
        data = self._memory()
        entries = data["entries"]
        last = _last(data)
        for expired in [name for name, kept in entries.items() if _is_expired(kept, now)]:
            del entries[expired]
            data["last"] = last  # numbers are not used again
        place = next((known for known in map(self._entry, entries.values()) if _is_place(known, entry)), None)
        identifier = f"mem_{last + 1}" if place is None else place.id
        before = entries.get(identifier, {"data": {}, "created_at": now, "confidence": 1.0})
        entries[identifier] = {
            "id": identifier,
            "category": entry.category,
            "content": entry.content,
            "data": before["data"],
            "tags": entry.tags,
            "created_at": before["created_at"],
            "updated_at": now,
            "source": entry.source,
            "confidence": before["confidence"],
            "active": True,
        }
        for field, value in (("key", entry.key), ("about", entry.about or None), ("expires_at", entry.expires)):
            if value is not None:
                entries[identifier][field] = value
        if "last" in data:
            data["last"] = _last(data)
        self._write("memory", data)
        return identifier

    def search(self, query: Query, now: float) -> list[MemoryEntry]:
        return found(self._visible(), query, now)

    def ranked(self, words: list[str], about: str, limit: int, now: float) -> list[MemoryEntry]:
        entries = found(self._visible(), Query(about=about, limit=2**63), now)
        return ranking.best(entries, ranking.useful(ranking.frequencies_in(entries, words), len(entries)), limit)

    def forget(self, identifiers: list[str], erase: bool, now: float) -> None:
        data = self._memory()
        entries = data["entries"]
        last = _last(data)
        changed = False
        for identifier in identifiers:
            entry = entries.get(identifier)
            if entry is None:
                continue
            if erase:
                del entries[identifier]
                data["last"] = last  # numbers are not used again
                changed = True
            elif entry.get("active", True):
                entry.update(active=False, updated_at=now)
                changed = True
        if changed:
            self._write("memory", data)

    def count(self, now: float) -> int:
        return sum(entry.expires is None or entry.expires > now for entry in self._visible())

    # ---- rules ----------------------------------------------------------------------------------------------------------

    def add_rule(self, rule: Rule) -> None:
        data = self._memory()
        data["rules"][rule.name] = {
            "name": rule.name,
            "level": rule.level,
            "description": rule.description,
            "condition": "",
            "action": "warn",
            "category": rule.category,
            "tags": [],
            "active": True,
        }
        self._write("memory", data)

    def rules(self) -> list[Rule]:
        return [
            Rule(rule["name"], rule["level"], rule["description"], rule.get("category") or "")
            for rule in self._memory()["rules"].values()
            if rule.get("active", True)
        ]

    # ---- progress -------------------------------------------------------------------------------------------------------

    def create_progress(self, task: str, steps: list[str], source: str, now: float) -> None:
        data = self._read("progress", {})
        kept = data.get(task)
        if kept is not None and not all(step.is_over for step in self._steps(kept)):
            return
        data[task] = {
            "task_name": task,
            "steps": [_step_data(Step(step)) for step in steps],
            "created_at": now,
            "agent_name": source,
        }
        self._write("progress", data)

    def steps(self, task: str) -> list[Step] | None:
        kept = self._read("progress", {}).get(task)
        return None if kept is None else self._steps(kept)

    def change_step(self, task: str, step: str, change: Callable[[Step], None]) -> None:
        data = self._read("progress", {})
        kept = data.get(task)
        if kept is None:
            raise no_task(task)
        steps = self._steps(kept)
        for one in steps:
            if one.name == step:
                change(one)
                kept["steps"] = [_step_data(each) for each in steps]
                self._write("progress", data)
                return
        raise no_step(task, step)

    def _steps(self, kept: Any) -> list[Step]:
        try:
            return [
                Step(
                    *(step["name"], step["status"], step.get("started_at"), step.get("finished_at")),
                    *(step.get("result"), step.get("error"), step.get("retries") or 0),
                )
                for step in kept["steps"]
            ]
        except (KeyError, TypeError, AttributeError):
            raise self._failed("its value is not progress") from None

    # ---- parts ----------------------------------------------------------------------------------------------------------

    def _visible(self) -> list[MemoryEntry]:
        return [self._entry(entry) for entry in self._memory()["entries"].values() if entry.get("active", True)]

    def _entry(self, entry: dict[str, Any]) -> MemoryEntry:
        try:
            tags = entry.get("tags") or []
            if type(tags) is not list:
                raise self._failed(f"the entry {entry.get('id')} is damaged: its tags are not a JSON list")
            return MemoryEntry(
                *(entry["id"], entry["category"], entry["content"], [str(tag) for tag in tags], entry.get("source") or "main"),
                float(entry.get("updated_at") or 0.0),
                key=entry.get("key") if entry.get("active", True) else None,
                about=entry.get("about") or "",
                expires=entry.get("expires_at"),
            )
        except (KeyError, AttributeError, TypeError, ValueError):
            raise self._failed("its value is not a memory: an entry is damaged") from None

    def _memory(self) -> dict[str, Any]:
        data = self._read("memory", {"entries": {}, "rules": {}})
        if not all(isinstance(data.get(part), dict) for part in ("entries", "rules")):
            raise self._failed("its value is not a memory")
        return data

    def _read(self, key: str, empty: dict[str, Any]) -> dict[str, Any]:
        import json

        try:
            text = self._kv.get(self._namespace, key)
        except KvFailed as failure:
            raise self._failed(str(failure)) from None
        if text is None:
            return empty
        try:
            data = json.loads(text)
        except ValueError:
            data = None
        if not isinstance(data, dict):
            raise self._failed(f"its value is not {key}")
        return data

    def _write(self, key: str, data: dict[str, Any]) -> None:
        import json

        try:
            self._kv.set(self._namespace, key, json.dumps(data))
        except KvFailed as failure:
            self._warn(f'lang: warning: kv: cannot write "{key}" of {self._namespace}: {failure}')
            raise self._failed(str(failure)) from None

    def _failed(self, why: str) -> RuntimeFault:
        return failed(self._name, f"the host store failed: {why}")


def _last(data: dict[str, Any]) -> int:
    """The greatest number that an entry has been given."""
    return max([*map(number_of, data["entries"]), int(data.get("last") or 0)], default=0)


def _is_expired(entry: dict[str, Any], now: float) -> bool:
    expires = entry.get("expires_at")
    return expires is not None and expires <= now


def _is_place(known: MemoryEntry, entry: MemoryEntry) -> bool:
    """Whether an entry with a key replaces a known one."""
    return entry.key is not None and (known.key, known.source, known.about) == (entry.key, entry.source, entry.about)


def _step_data(step: Step) -> dict[str, Any]:
    return {
        "name": step.name,
        "status": step.status,
        "started_at": step.started,
        "finished_at": step.finished,
        "result": step.result,
        "error": step.error,
        "retries": step.retries,
    }
