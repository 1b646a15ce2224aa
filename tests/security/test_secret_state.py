"""No store of shared state ever holds a secret: it keeps what JSON says in its place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import language
from language.host import EmbeddedHost
from language.host.kv_hook import HookedKv, KvState
from language.native import shared_redis, shared_sqlite
from language.runtime.context import Context
from language.values import Secret
from stdlib.state import family
from tests import servers

SEALED = Secret("hunter2", ("K",))
MARK = "[redacted]"
VALUES = [SEALED, [SEALED], {"a": [{"b": SEALED}]}, "x" + SEALED]


class Shielded:
    """A ``kv`` hook that keeps what it is told."""

    def __init__(self) -> None:
        self.texts: dict[tuple[str, str], str] = {}

    def get(self, namespace: str, key: str) -> str | None:
        return self.texts.get((namespace, key))

    def set(self, namespace: str, key: str, value: str) -> None:
        self.texts[namespace, key] = value

    def delete(self, namespace: str, key: str) -> None:
        self.texts.pop((namespace, key), None)

    def list(self, namespace: str) -> list[str]:
        return [key for space, key in self.texts if space == namespace]


@pytest.fixture(params=["memory", "kv", "sqlite", "redis"])
def state(request: pytest.FixtureRequest) -> Iterator[Any]:
    if request.param == "memory":
        yield {}
    elif request.param == "kv":
        yield KvState(HookedKv(Shielded()), print)
    elif request.param == "sqlite":
        path = shared_sqlite.create()
        yield shared_sqlite.SqliteStore(path).state
        shared_sqlite.remove(path)
    else:
        for address in servers.redis():
            yield shared_redis.create(f"redis://:p%40ss%20word@{address}/4").state


def test_every_store_keeps_a_mark_in_its_place(state: Any) -> None:
    ctx = Context(EmbeddedHost(), collect=True)
    ctx.state = state
    put, add = family.builtins["state_set"].function, family.builtins["state_incr"].function
    for key, value in enumerate(VALUES):
        put(ctx, key, value)
    add(ctx, "n", SEALED)
    assert state.copy() == {"0": MARK, "1": [MARK], "2": {"a": [{"b": MARK}]}, "3": MARK, "n": 1}


def test_the_embedder_is_told_once() -> None:
    kept, lines = Shielded(), []
    source = """
require secret("K")
state_set("session", {"key": secret("K")})
state_set("again", secret("K"))
print(state_get("session").key)
"""
    answer = language.run(source, env={"K": "hunter2"}, host={"kv": kept, "log": lines.append})
    assert answer["ok"] and answer["output"] == [MARK], answer
    assert kept.texts == {("state", "session"): '{"key": "[redacted]"}', ("state", "again"): '"[redacted]"'}
    told = [line for line in lines if "redacted" in line]
    assert told == ['lang: warning: state_set: the secret K was stored as "[redacted]"']
    assert "hunter2" not in str(answer) + str(lines)
