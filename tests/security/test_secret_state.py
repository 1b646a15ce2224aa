"""No store of shared state ever holds a secret, nor the text that stands for one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import language
from language.errors import RuntimeFault
from language.host import EmbeddedHost
from language.host.kv_hook import HookedKv, KvState
from language.native import shared_redis, shared_sqlite
from language.runtime.context import Context
from language.values import Secret
from stdlib.state import family
from tests import servers

SEALED = Secret("hunter2", ("K",))
VALUES = [SEALED, [SEALED], {"a": [{"b": SEALED}]}, "x" + SEALED]


class Kept:
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
        yield KvState(HookedKv(Kept()), print)
    elif request.param == "sqlite":
        path = shared_sqlite.create()
        yield shared_sqlite.SqliteStore(path).state
        shared_sqlite.remove(path)
    else:
        for address in servers.redis():
            yield shared_redis.create(f"redis://:p%40ss%20word@{address}/4").state


def test_every_store_refuses_and_keeps_what_it_had(state: Any) -> None:
    ctx = Context(EmbeddedHost(), collect=True)
    ctx.state = state
    put, add = family.builtins["state_set"].function, family.builtins["state_incr"].function
    put(ctx, "s", 1)
    for value in VALUES:
        for key in ("s", "new"):
            with pytest.raises(RuntimeFault, match=f'state_set: a secret cannot be stored — the value of "{key}" holds'):
                put(ctx, key, value)
    with pytest.raises(RuntimeFault, match='state_incr: a secret cannot be stored — the value of "n" holds'):
        add(ctx, "n", SEALED)
    assert state.copy() == {"s": 1}


def test_a_program_can_recover_and_sees_which_key() -> None:
    kept = Kept()
    source = """
require secret("K")
try
    state_set("session", {"key": secret("K")})
recover e
    print(e)
print(length(state_all()))
"""
    answer = language.run(source, env={"K": "hunter2"}, host={"kv": kept})
    assert answer["ok"], answer
    assert answer["output"] == [
        'state_set: a secret cannot be stored — the value of "session" holds secret(K). Call secret() again where it is needed',
        "0",
    ]
    assert not kept.texts and "hunter2" not in str(answer)
