"""Memories: in SQLite files natively, over the ``kv`` hook of an embedder (``docs/memory.md``)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import language
from conformance.cases import load

ROOT = Path(__file__).resolve().parent.parent.parent


class Kv:
    """A host's store: namespaces of texts."""

    def __init__(self) -> None:
        self.data: dict[tuple[str, str], str] = {}

    def get(self, namespace: str, key: str) -> str | None:
        return self.data.get((namespace, key))

    def set(self, namespace: str, key: str, value: str) -> None:
        self.data[namespace, key] = value

    def delete(self, namespace: str, key: str) -> None:
        self.data.pop((namespace, key), None)

    def list(self, namespace: str) -> list[str]:
        return [key for space, key in self.data if space == namespace]


def native(tmp_path: Path, source: str, *flags: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "agent.lang").write_text(source, encoding="utf-8")
    return subprocess.run(
        [sys.executable, "-m", "language.cli.main", "run", *flags, "agent.lang"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def embedded(source: str, kv: Any = None, **options: Any) -> dict[str, Any]:
    answer: dict[str, Any] = language.run(source, filename="agent.lang", host={"kv": kv} if kv is not None else None, **options)
    return answer


PROGRAM = """
require memory("notes")
print(remember("preference", "answers in French", ["language", 2]))
print(remember("learning", "Water boils at 100", ["physics", "language"]))
print(remember("decision", true))
forget_memory("mem_3")
forget_memory("mem_99")
print(remember("context", nothing))
each entry in recall()
    print(entry)
print(length(recall("preference")), length(recall("nonsense")), length(recall(search = "BOILS")))
let both be ["language", "2"]
print(length(recall(tags = ["2"])), length(recall(tags = both)), length(recall(tags = both, mode = "ALL")))
print(length(recall(tags = [])), length(recall(tags = [], mode = "all")), length(recall(tags = both, mode = "any")))
print(length(recall(limit = 1)), length(recall(limit = 2.0)), length(recall(nothing, nothing, nothing, nothing, 200d)))
each wrong in [() => recall(limit = 0), () => recall(limit = -1), () => recall(limit = 2.9), () => recall(limit = "2"),
    () => recall(mode = "every"), () => recall(mode = 1), () => recall(tags = "language"),
    () => remember("learning", "x", "language")]
    try
        wrong()
    recover why
        print(why)
print(length(recall(from = "main")), length(recall(from = "*")), length(recall(from = "helper")))
print(memory_summary())
"""
EXPECTED = """mem_1
mem_2
mem_3
mem_4
{id: "mem_4", category: "context", content: "None", source: "main", tags: []}
{id: "mem_2", category: "learning", content: "Water boils at 100", source: "main", tags: ["physics", "language"]}
{id: "mem_1", category: "preference", content: "answers in French", source: "main", tags: ["language", "2"]}
1 0 1
1 2 1
3 3 2
1 2 3
recall: limit must be a positive integer, got 0
recall: limit must be a positive integer, got -1
recall: limit must be a positive integer, got 2.9
recall: limit must be a positive integer, got 2
recall: mode must be "any" or "all", got "every"
recall: mode must be "any" or "all", got number
recall: tags must be a list of texts, got text
remember: tags must be a list of texts, got text
3 3 0
Agent Memory: 3 entries, 0 rules
"""


def test_what_is_remembered_natively(tmp_path: Path) -> None:
    done = native(tmp_path, PROGRAM)
    assert (done.stdout, done.stderr) == (EXPECTED, "")
    assert (tmp_path / ".lang" / "state" / "notes.db").is_file()
    # Another run goes on; numbers are never used again.
    again = native(tmp_path, 'require memory("notes")\nprint(length(recall()), remember("rule", "x"))\n')
    assert again.stdout == "3 mem_5\n"


def test_what_is_remembered_over_a_hook() -> None:
    kv = Kv()
    answer = embedded(PROGRAM, kv)
    assert "\n".join(answer["output"]) + "\n" == EXPECTED and answer["errors"] == []
    stored = json.loads(kv.data["memory:notes", "memory"])
    assert set(stored) == {"entries", "rules"}
    assert stored["entries"]["mem_1"]["tags"] == ["language", "2"] and stored["entries"]["mem_3"]["active"] is False
    assert set(stored["entries"]["mem_1"]) == {
        "id", "category", "content", "data", "tags", "created_at", "updated_at", "source", "confidence", "active",
    }  # fmt: skip
    assert embedded('require memory("notes")\nprint(remember("rule", "x"))', kv)["output"] == ["mem_5"]
    assert embedded('require memory("other")\nprint(length(recall()))', kv)["output"] == ["0"]


@pytest.mark.parametrize("name", ["about", "limits", "progress", "rules"])
def test_the_hook_gives_what_the_file_gives(name: str) -> None:
    """The cases of memories, which builds without a store leave out."""
    case = load(ROOT / "conformance" / "memory" / f"{name}.lang")
    kv = Kv()
    answer = embedded(case.data.decode(), kv)
    assert answer["errors"] == []
    lines = "\n".join(answer["output"]).split("\n")
    assert len(lines) == len(case.expectations)
    assert [line for line, expected in zip(lines, case.expectations) if not expected.matches(line)] == []
    assert {key for _, key in kv.data} <= {"memory", "progress"}


def test_a_number_is_not_used_again_after_what_had_it_is_gone() -> None:
    for gone in ("forget_memory(last, true)", 'forget_memory([last, "mem_7"], erase = true)', "print()"):
        kv = Kv()
        source = 'require memory("n")\nlet last be remember("context", "b", nothing, {"ttl": 0.000001})\n'
        embedded(source + gone, kv)
        assert embedded('require memory("n")\nprint(remember("rule", "x"), length(recall()))', kv)["output"] == ["mem_2 1"]


def test_the_memory_must_be_declared() -> None:
    answer = embedded("recall()", Kv())
    assert answer["errors"] == [
        "Runtime error: agent.lang:1:7: Capability not granted: memory. Persistent agent state (remember/recall, "
        "rules, progress) requires a declared memory — the declared name identifies its store. Add: "
        'require memory("agent") at the top of the program'
    ]
    assert [(record["capability"], record["granted"]) for record in answer["audit"]] == [("memory", False)]


@pytest.mark.parametrize("ceiling", ["stdout", "memory=shop-*"])
def test_the_ceiling_holds_and_nothing_is_created(ceiling: str, tmp_path: Path) -> None:
    source = 'require memory("notes")\nremember("rule", "x")\n'
    kv = Kv()
    assert 'Capability not granted: memory("notes")' in embedded(source, kv, ceiling=ceiling)["errors"][0]
    assert kv.data == {}
    done = native(tmp_path, source, "--cap-set", ceiling)
    assert done.returncode == 1 and 'Capability not granted: memory("notes")' in done.stderr
    assert not (tmp_path / ".lang").exists()


def test_a_sandbox_takes_it_away() -> None:
    source = 'require memory("notes")\nsandbox\n    try\n        remember("bogus", nothing)\n    recover e\n        print(e)\n'
    assert embedded(source, Kv())["output"][0].startswith('Capability not granted: memory("notes")')


def test_categories_are_few() -> None:
    answer = embedded('require memory("n")\nremember("idea", "x")', Kv())
    assert answer["errors"][0].endswith(
        "Invalid memory category: 'idea'. Valid categories: preference, rule, learning, decision, context"
    )


def test_a_secret_is_kept_redacted() -> None:
    kv = Kv()
    embedded('require memory("n")\nrequire secret("K")\nremember("context", secret("K"))', kv, env={"K": "hunter2"})
    assert "hunter2" not in str(kv.data) and "secret(K)" in kv.data["memory:n", "memory"]


def test_without_a_store_the_error_says_what_to_do() -> None:
    error = embedded('require memory("n")\nrecall()')["errors"][0]
    assert 'memory "n" is declared but this host provides no durable storage (wasm profile)' in error


def broken(*_: object) -> object:
    raise OSError("disk on fire")


@pytest.mark.parametrize("get", [broken, lambda *_: {"error": "disk on fire"}, lambda *_: 5, lambda *_: "[]", lambda *_: "{"])
def test_a_store_that_fails_is_not_taken_for_an_empty_one(get: Any) -> None:
    kv = Kv()
    hooks = {"get": get, "set": kv.set, "delete": kv.delete, "list": kv.list}
    answer = embedded('require memory("n")\nremember("rule", "x")', hooks)
    assert 'memory "n": the host store failed: ' in answer["errors"][0] and kv.data == {}


def test_a_write_that_fails_is_told() -> None:
    logged: list[str] = []
    kv = Kv()
    answer: Any = language.run(
        'require memory("n")\nremember("rule", "x")',
        host={"kv": {"get": kv.get, "set": broken, "delete": kv.delete, "list": kv.list}, "log": logged.append},
    )
    assert "disk on fire" in answer["errors"][0]
    assert logged == ['lang: warning: kv: cannot write "memory" of memory:n: OSError: disk on fire']


def test_a_file_that_is_no_database_is_an_error_and_stays(tmp_path: Path) -> None:
    state = tmp_path / ".lang" / "state"
    state.mkdir(parents=True)
    (state / "n.db").write_bytes(b"x" * 4096)
    done = native(tmp_path, 'require memory("n")\nremember("rule", "x")\n')
    assert done.returncode == 1 and 'memory "n": cannot write' in done.stderr and "n.db" in done.stderr
    assert (state / "n.db").read_bytes() == b"x" * 4096


def test_workers_share_one_store(tmp_path: Path) -> None:
    done = native(
        tmp_path,
        'require memory("n")\ntask keep(i)\n    give remember("learning", text(i))\n'
        "print(length(unique(parallel_map(keep, range(40)))))\n"
        "print(length(recall()))\n",
    )
    assert (done.stdout, done.stderr) == ("40\n40\n", "")


def test_shared_state_over_a_hook() -> None:
    kv = Kv()
    source = (
        'state_set("a", {"b": [1, 2.5, nothing, true]})\nprint(state_get("a").b, state_incr("n", 2), state_incr("n"))\n'
        'print(state_get("none", 7), state_delete("a"), state_all())\n'
    )
    assert embedded(source, kv)["output"] == ["[1, 2.5, nothing, true] 2 3", "7 true {n: 3}"]
    assert kv.data == {("state", "n"): "3"}
    assert embedded('print(state_incr("n"))', kv)["output"] == ["4"]
    hooks = {"get": broken, "set": kv.set, "delete": kv.delete, "list": broken}
    for call in ('state_get("n")', 'state_incr("n")', "state_all()"):
        assert "state: the host store failed: OSError: disk on fire" in embedded(call, hooks)["errors"][0]
    assert kv.data == {("state", "n"): "4"}
