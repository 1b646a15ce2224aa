"""The boards of events of one and of several processes answer alike."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

from language.native import shared_redis, shared_sqlite
from language.native.shared_redis import RedisStore
from language.native.shared_sqlite import SqliteStore
from language.shared.event_board import MemoryEvents, Overflowed, QueueBounds
from language.values import TRUE
from tests import servers

MANY = QueueBounds(1000, 1 << 20, True)


@pytest.fixture(scope="module")
def redis_url() -> Iterator[str]:
    for address in servers.redis():
        yield f"redis://:{quote('p@ss word')}@{address}/4"


@pytest.fixture(params=["memory", "sqlite", "redis"])
def boards(request: pytest.FixtureRequest) -> Iterator[tuple[Any, Any]]:
    """A board as two processes see it."""
    if request.param == "memory":
        board = MemoryEvents()
        yield board, board
    elif request.param == "sqlite":
        path = shared_sqlite.create()
        stores = SqliteStore(path), SqliteStore(path)
        yield stores[0].events, stores[1].events
        for store in stores:
            store.close()
        shared_sqlite.remove(path)
    else:
        url = request.getfixturevalue("redis_url")
        pair = shared_redis.create(url), RedisStore(url)
        yield pair[0].events, pair[1].events
        for one in pair:
            one.close()


def drawn(board: Any, identifier: str) -> list[tuple[str, Any, int]]:
    found = []
    while (event := board.take(identifier)) is not None:
        found.append((event.topic, event.value, event.dropped))
    return found


def test_what_one_publishes_the_other_takes(boards: tuple[Any, Any]) -> None:
    mine, theirs = boards
    first, second = mine.subscribe(["a.*", "x"], MANY), theirs.subscribe(["a.b"], MANY)
    assert mine.topics() == theirs.topics() == ["a.*", "a.b", "x"]
    assert not mine.has_event(first)
    value = {"n": 10**30, "b": b"\0", "t": TRUE, "list": [None, 1.5, "é"]}
    assert (theirs.publish("a.b", value, 9), mine.publish("x", 1, 9), mine.publish("none", 1, 9)) == (2, 1, 0)
    assert mine.has_event(first)
    assert drawn(mine, first) == [("a.b", value, 0), ("x", 1, 0)]
    assert drawn(theirs, second) == [("a.b", value, 0)]
    mine.unsubscribe(first)
    mine.unsubscribe(first)
    assert theirs.publish("x", 1, 9) == 0 and mine.take(first) is None and not mine.has_event(first)


def test_the_bounds(boards: tuple[Any, Any]) -> None:
    mine, theirs = boards
    few, small = mine.subscribe(["t"], QueueBounds(3, 1 << 20, True)), mine.subscribe(["t"], QueueBounds(100, 400, True))
    strict = mine.subscribe(["t"], QueueBounds(2, 1 << 20, False))
    counts = [theirs.publish("t", "x" * 90 + str(number), 100) for number in range(6)]
    assert counts == [3, 3, 3, 2, 2, 2]
    assert [(value[90:], dropped) for _, value, dropped in drawn(mine, few)] == [("3", 3), ("4", 0), ("5", 0)]
    kept = drawn(mine, small)
    assert kept[-1][1].endswith("5") and 1 <= len(kept) <= 4 and kept[0][2] == 6 - len(kept)
    assert mine.has_event(strict)
    with pytest.raises(Overflowed):
        mine.take(strict)
    assert theirs.publish("t", "y" * 1000, 1000) == 2 and drawn(mine, small) == []


def test_two_processes_lose_nothing(boards: tuple[Any, Any]) -> None:
    mine = boards[0]
    identifier = mine.subscribe(["t"], MANY)
    threads = [threading.Thread(target=lambda one=one: [one.publish("t", n, 1) for n in range(40)]) for one in boards]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(value for _, value, _ in drawn(mine, identifier)) == sorted([*range(40)] * 2)
