"""Redis through the builtins, against a server of this machine."""

from __future__ import annotations

import time

import pytest

from language.errors import RuntimeFault
from language.native.host import NativeHost
from language.runtime.context import Context
from language.values import FALSE, TRUE, Secret
from stdlib.redis import family
from stdlib.sql import db_close, db_open, sql
from tests import servers


@pytest.fixture(scope="module")
def place():
    yield from servers.redis()


def make(*requires):
    ctx = Context(NativeHost(), collect=True)
    for name, scope in requires or (("db", "*"),):
        ctx.capabilities.require(name, scope)
    return ctx


@pytest.fixture
def ctx(place):
    made = make()
    db_open(made, f"redis://:p%40ss%20word@{place}/1")
    connection = made.host.databases.default
    connection.call(made.lifetime, lambda engine: engine.command(["FLUSHALL"]))
    yield made
    made.host.databases.close_all()


def run(name, ctx, *values):
    return family.builtins["redis_" + name].function(ctx, *values)


def error_of(name, ctx, *values):
    with pytest.raises(RuntimeFault) as caught:
        run(name, ctx, *values)
    return caught.value.message


def test_every_command_of_the_manual_is_there():
    names = "get set del exists mget mset keys type incr decr incrby expire ttl persist hget hset hgetall hdel hincrby"
    names += " lpush rpush lpop rpop lrange llen sadd srem smembers sismember lock unlock"
    assert set(family.builtins) == {"redis_" + name for name in names.split()}


def test_keys(ctx):
    assert run("get", ctx, "k") is None
    assert run("set", ctx, "k", "é") is TRUE
    assert run("get", ctx, "k") == "é"
    assert run("exists", ctx, "k") is TRUE
    assert run("exists", ctx, "none") is FALSE
    assert run("type", ctx, "k") == "string"
    assert run("mset", ctx, {"a": 1, "b": 2.5}) is TRUE
    assert run("mget", ctx, ["a", "none", "b"]) == ["1", None, "2.5"]
    assert run("mget", ctx, []) == []
    assert run("keys", ctx, "*") == ["a", "b", "k"]
    assert run("del", ctx, ["a", "b", "none"]) == 2
    assert run("del", ctx, "k") == 1


def test_bytes_that_are_no_text_stay_bytes(ctx):
    run("set", ctx, b"\xff", b"\xfe")
    assert run("get", ctx, b"\xff") == b"\xfe"
    run("set", ctx, "t", b"text")
    assert run("get", ctx, "t") == "text"


def test_numbers_and_times(ctx):
    assert run("incr", ctx, "n") == 1
    assert run("incrby", ctx, "n", 10) == 11
    assert run("decr", ctx, "n") == 10
    assert run("ttl", ctx, "n") == -1
    assert run("ttl", ctx, "none") == -2
    assert run("expire", ctx, "n", 100) is TRUE
    assert run("expire", ctx, "none", 100) is FALSE
    assert 98 <= run("ttl", ctx, "n") <= 100
    assert run("persist", ctx, "n") is TRUE
    assert run("persist", ctx, "n") is FALSE
    run("set", ctx, "short", "v", 1)
    assert run("ttl", ctx, "short") == 1


def test_hashes(ctx):
    assert run("hset", ctx, "h", {"a": 1, "b": "x"}) == 2
    assert run("hget", ctx, "h", "a") == "1"
    assert run("hget", ctx, "h", "none") is None
    assert run("hgetall", ctx, "h") == {"a": "1", "b": "x"}
    assert run("hincrby", ctx, "h", "a", 4) == 5
    assert run("hdel", ctx, "h", ["a", "none"]) == 1
    assert run("hgetall", ctx, "none") == {}


def test_lists_and_sets(ctx):
    assert run("rpush", ctx, "l", ["a", "b"]) == 2
    assert run("lpush", ctx, "l", "z") == 3
    assert run("lrange", ctx, "l", 0, -1) == ["z", "a", "b"]
    assert run("llen", ctx, "l") == 3
    assert (run("lpop", ctx, "l"), run("rpop", ctx, "l"), run("lpop", ctx, "l"), run("lpop", ctx, "l")) == ("z", "b", "a", None)
    assert run("sadd", ctx, "s", ["b", "a", "a"]) == 2
    assert run("smembers", ctx, "s") == ["a", "b"]
    assert run("sismember", ctx, "s", "a") is TRUE
    assert run("srem", ctx, "s", "a") == 1
    assert run("sismember", ctx, "s", "a") is FALSE


def test_locks(ctx):
    token = run("lock", ctx, "job")
    assert len(token) == 32
    assert run("lock", ctx, "job") is None
    assert run("unlock", ctx, "job", "other") is FALSE
    assert run("unlock", ctx, "job", token) is TRUE
    assert run("unlock", ctx, "job", token) is FALSE
    assert run("lock", ctx, "job", 50) is not None
    time.sleep(0.1)
    assert run("lock", ctx, "job") is not None


def test_errors(ctx):
    run("set", ctx, "k", "v")
    assert "wrong kind of value" in error_of("lpush", ctx, "k", "x").lower()
    assert run("get", ctx, "k") == "v"  # the connection goes on
    assert error_of("set", ctx, "k", TRUE) == "redis_set: keys and values are text, bytes or numbers, got bool"
    assert error_of("get", ctx, None) == "redis_get: keys and values are text, bytes or numbers, got nothing"
    assert error_of("incrby", ctx, "k", 1.5) == "redis_incrby: amount must be an integer, got number"
    assert error_of("mset", ctx, [1]) == "redis_mset: expected a map, got list"
    assert 'reveal("KEY")' in error_of("set", ctx, "k", Secret("plain", ("KEY",)))


def test_the_wrong_family(ctx):
    with pytest.raises(RuntimeFault, match=r"sql: the default connection, redis://127.0.0.1:\d+/1, is not an SQL database"):
        sql(ctx, "SELECT 1")
    db_close(ctx)
    db_open(ctx, ":memory:", "memory")
    assert error_of("get", ctx, "k") == "redis_get: the default connection, :memory:, is not Redis"
    db_close(ctx)
    assert error_of("get", ctx, "k") == 'No database connection. Use db_open("path.db") first.'


def test_scopes_and_logging_in(place):
    host = place.partition(":")[0]
    with pytest.raises(RuntimeFault, match=f'Capability not granted: db."redis://{place}/2"'):  # at the default port alone
        db_open(make(("db", f"redis://{host}/2")), f"redis://:p%40ss%20word@{place}/2")
    ctx = make(("db", f"redis://{place}/2"))
    with pytest.raises(RuntimeFault, match=f'Capability not granted: db."redis://{place}/3"'):
        db_open(ctx, f"redis://:p%40ss%20word@{place}/3")
    db_open(ctx, f"redis://:p%40ss%20word@{place}/2")
    ctx.capabilities.enter(())
    assert error_of("get", ctx, "k").startswith(f'Capability not granted: db("redis://{place}/2")')
    with pytest.raises(RuntimeFault) as caught:
        db_open(make(), f"redis://:wrong-secret@{place}/0")
    assert "wrong-secret" not in caught.value.message
    with pytest.raises(RuntimeFault, match="refused"):
        db_open(make(), f"redis://127.0.0.1:{servers.free_port()}")
