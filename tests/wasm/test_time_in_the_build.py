"""``time_ms`` ends a program of the web build soon whatever one operation has to do, as it does in Python."""

from __future__ import annotations

import time

import pytest

from language.wasm import WebBuild
from tests.runtime.test_time_of_single_operations import LIMIT_MS, OPERATIONS
from tests.wasm.web_build import web_build

#: Processor time: WebAssembly takes some times as long as the same code natively.
MOST_SECONDS = 40 * LIMIT_MS / 1000


@pytest.fixture(scope="module")
def build() -> WebBuild:
    made = WebBuild(web_build())
    made.run("print(1)")  # makes the instance
    return made


#: Below.
ELSEWHERE = ("base58",)


@pytest.mark.parametrize("name", [name for name in OPERATIONS if name not in ELSEWHERE])
def test_the_program_ends(build: WebBuild, name: str) -> None:
    limits = {"time_ms": LIMIT_MS, "memory_bytes": 400_000_000}
    started = time.thread_time()
    answer = build.run(OPERATIONS[name], limits=limits)
    taken = time.thread_time() - started
    assert answer.get("limit") in ("time_ms", "memory_bytes") or answer["ok"] or "more than" in answer["errors"][0], answer
    assert taken < MOST_SECONDS


def test_base58_of_many_bytes(build: WebBuild) -> None:
    source = 'let b be int_to_bytes(58 ** 20000 - 1)\nlet t be decode(b, "base58")\nprint(length(t), bytes(t, "base58") == b)'
    answer = build.run(source)
    assert (answer["output"], answer["errors"]) == (["20000 true"], [])
