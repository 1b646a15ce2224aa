"""Shared state."""

from __future__ import annotations

import threading
from types import CellType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language.errors import RuntimeFault
from language.host import EmbeddedHost
from language.runtime.context import Context
from language.values import TRUE, Module, Secret
from language.values.decimals import parse as dec
from stdlib.responses import family as responses
from stdlib.state import family


@pytest.fixture
def ctx():
    return Context(EmbeddedHost(), collect=True)


def run(name, *values):
    return family.builtins["state_" + name].function(*values)


def test_what_is_set_is_got(ctx):
    assert run("set", ctx, "a", [1]) == [1]
    assert run("get", ctx, "a") == [1]
    assert run("get", ctx, "b") is None
    assert run("get", ctx, "b", 5) == 5
    run("set", ctx, "n", None)
    assert run("get", ctx, "n", 5) is None
    assert run("all", ctx) == {"a": [1], "n": None}
    assert run("delete", ctx, "a") is TRUE
    assert run("delete", ctx, "a") is TRUE
    assert run("all", ctx) == {"n": None}


@pytest.mark.parametrize(("key", "same"), [(1, "1"), (1.0, "1.0"), (TRUE, "true"), (None, "nothing"), ([1], "[1]")])
def test_keys_are_display_texts(ctx, key, same):
    run("set", ctx, key, "v")
    assert run("get", ctx, same) == "v"
    assert list(run("all", ctx)) == [same]


def test_values_are_copied_in_and_out(ctx):
    value = {"list": [1]}
    run("set", ctx, "k", value)
    value["list"].append(2)
    assert run("get", ctx, "k") == {"list": [1]}
    everything = run("all", ctx)
    everything["more"] = 1
    assert "more" not in run("all", ctx)


@pytest.mark.parametrize("plaintext", ["p", b"p", ""])
def test_secrets_are_stored_redacted(ctx, plaintext):
    sealed = Secret(plaintext, ("KEY",))
    shared = [sealed]
    module = Module("m", bool)
    module.export("inner", CellType(sealed), fixed=True)
    response = responses.builtins["ok"].function({"a": sealed})
    for value in (sealed, [sealed], {"a": [1, {"b": sealed}]}, [shared, shared], module, response):
        assert run("set", ctx, "s", value) is value
        kept = run("get", ctx, "s")
        assert "[redacted]" in repr(kept) and "Secret" not in repr(kept)
    run("set", ctx, "s", [shared, shared])
    assert run("get", ctx, "s") == [["[redacted]"], ["[redacted]"]]
    for name in ("set", "get", "incr", "delete"):
        with pytest.raises(RuntimeFault, match=f"state_{name}: a secret cannot be a key"):
            run(name, ctx, sealed)


def test_tasks_cannot_be_stored(ctx):
    for task in (run, [run], {"a": {"b": run}}):
        with pytest.raises(RuntimeFault) as caught:
            run("set", ctx, "t", task)
        assert caught.value.message == "state_set: a task cannot be stored"
    assert run("get", ctx, "t") is None
    module = Module("m", bool)
    run("set", ctx, "m", module)
    assert run("get", ctx, "m") == {}


@pytest.mark.parametrize(
    ("stored", "delta", "expected"),
    [(None, None, 1), (5, None, 6), (5, -2, 3), (5, 0.5, 5.5), (0.5, 1, 1.5), ("x", 2, 2), (5, "x", 6), (5, TRUE, 6),
     (TRUE, 1, 1), (5, dec("0.5"), 5.5), (10**400, 1, 10**400 + 1), (10**400, 0.5, float("inf"))],
)  # fmt: skip
def test_incr(ctx, stored, delta, expected):
    if stored is not None:
        run("set", ctx, "n", stored)
    result = run("incr", ctx, "n", delta)
    assert (result, result.__class__) == (expected, expected.__class__)
    assert run("get", ctx, "n") == expected


@given(st.lists(st.integers(), max_size=20))
def test_increments_add_up(deltas):
    ctx = Context(EmbeddedHost(), collect=True)
    for delta in deltas:
        run("incr", ctx, "n", delta)
    assert run("get", ctx, "n", 0) == sum(deltas)


def test_increments_of_many_threads_are_all_counted(ctx):
    threads = [threading.Thread(target=lambda: [run("incr", ctx, "n") for _ in range(2000)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert run("get", ctx, "n") == 16000


def test_missing_keys_have_their_own_text():
    for name in ("set", "get", "incr", "delete"):
        assert family.builtins["state_" + name].too_few == f"state_{name}: missing key"
