"""What ends a program from outside never arrives inside a function of its embedder."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

import language

PROGRAMS = {
    "http": ('require net("*")\nwhile true\n    let x be fetch("http://a.example/")', "http"),
    "llm": ('require llm\nwhile true\n    let x be reason about "x"', "llm"),
    "log": ('while true\n    eprint("x")', "log"),
    "sleep": ("while true\n    sleep(0.001)", "sleep"),
    "human": ('while true\n    let x be approve "go?"', "human"),
    "kv": ('while true\n    state_set("k", 1)', "kv"),
}


class Ledger:
    """Two updates that belong together, under a lock."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.first = self.second = 0

    def update(self) -> None:
        self.lock.acquire()
        self.first += 1
        for _ in range(5_000):
            pass
        self.second += 1
        self.lock.release()

    def hooks(self) -> dict[str, Any]:
        def http(request: dict[str, Any]) -> dict[str, Any]:
            self.update()
            return {"status": 200, "body": ""}

        def llm(operation: str, prompt: str) -> dict[str, Any]:
            self.update()
            return {"text": "x", "tokens": 1}

        def human(*_: Any) -> dict[str, Any]:
            self.update()
            return {"ok": True}

        def silent(*_: Any) -> None:
            self.update()

        kv = {"get": silent, "set": silent, "delete": silent, "list": lambda namespace: []}
        return {"http": http, "llm": llm, "human": human, "log": silent, "sleep": silent, "kv": kv}


@pytest.mark.parametrize("workers", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_no_update_is_torn(name: str, workers: bool) -> None:
    source, hook = PROGRAMS[name]
    if workers:
        require, _, body = source.rpartition("while true\n")
        source = f"{require}task work(n)\n    while true\n    {body}\nlet r be parallel_map(work, [1, 2])"
    called = 0
    for _ in range(2):
        ledger = Ledger()
        answer = language.run(source, host={hook: ledger.hooks()[hook]}, limits={"time_ms": 60})
        assert answer.get("limit") == "time_ms", answer["errors"]
        with ledger.lock:
            assert ledger.first == ledger.second
        called += ledger.first
    assert called > 0


def test_a_program_inside_of_a_hook_has_limits_of_its_own() -> None:
    inner: list[dict[str, Any]] = []

    def log(line: str) -> None:
        inner.append(language.run("while true\n    let x be 1", limits={"time_ms": 50}))

    started = time.monotonic()
    answer = language.run('eprint("x")\nprint("after")', host={"log": log}, limits={"time_ms": 60_000})
    assert [each.get("limit") for each in inner] == ["time_ms"]
    assert answer["output"] == ["after"] and "limit" not in answer
    assert time.monotonic() - started < 30


def test_a_limit_that_passes_inside_of_a_hook_ends_the_program_behind_it() -> None:
    done: list[str] = []

    def log(line: str) -> None:
        time.sleep(0.3)
        done.append(line)

    answer = language.run('eprint("x")\nwhile true\n    let x be 1', host={"log": log}, limits={"time_ms": 50})
    assert answer["limit"] == "time_ms" and done == ["x"]


def test_what_a_hook_raises_leaves_nothing_behind() -> None:
    def log(line: str) -> None:
        raise ValueError("no")

    program = language.Program('eprint("x")', host={"log": log})
    for _ in range(3):
        assert not program.run()["ok"]
    assert language.run("while true\n    let x be 1", limits={"time_ms": 50})["limit"] == "time_ms"
