"""Events by topic: who gets what, what waits, what is dropped, and what several processes see."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import language
from language.errors import RuntimeFault
from language.native.host import NativeHost
from language.native.shared_sqlite import SqliteStore, create, remove
from language.runtime.context import Context
from language.shared.event_board import MOST_SUBSCRIPTIONS, MemoryEvents, Overflowed, QueueBounds, fits
from language.values import TRUE, Secret
from stdlib import bus
from stdlib.bus import bus_publish, bus_recv, bus_subscribe, bus_topics, bus_unsubscribe

LONG = 60
ROOT = str(Path(language.__file__).parents[1])


@pytest.fixture(params=["one process", "sqlite"])
def ctx(request):
    made = Context(NativeHost(), collect=True)
    path = ""
    if request.param == "sqlite":
        path = create()
        made.services.store = SqliteStore(path)
    yield made
    made.lifetime.end()
    if path:
        made.services.store.close()
        remove(path)


def error_of(function, *values):
    with pytest.raises(RuntimeFault) as caught:
        function(*values)
    return caught.value.message


def data(ctx, subscription):
    found = []
    while (event := bus_recv(ctx, subscription, 0)) is not None:
        found.append(event["data"])
    return found


def test_each_subscription_gets_each_event(ctx):
    first, second = bus_subscribe(ctx, "order.paid"), bus_subscribe(ctx, ["order.*", "stock.?"])
    assert bus_topics(ctx) == ["order.*", "order.paid", "stock.?"]
    assert bus_publish(ctx, "order.paid", {"id": 7}) == 2
    assert bus_publish(ctx, "stock.1", [1, 2.5, TRUE, None, b"x"]) == 1
    assert bus_publish(ctx, "stock.12") == 0
    event = {"topic": "order.paid", "data": {"id": 7}, "dropped": 0}
    assert bus_recv(ctx, first, 0) == event and bus_recv(ctx, second, 0) == event
    assert bus_recv(ctx, second, 0)["data"] == [1, 2.5, TRUE, None, b"x"]
    assert bus_recv(ctx, first, 0) is None
    assert bus_unsubscribe(ctx, first) is TRUE and bus_unsubscribe(ctx, first) is TRUE
    assert bus_publish(ctx, "order.paid") == 1
    assert error_of(bus_recv, ctx, first) == "bus_recv: subscription(order.paid) has ended"


def test_what_is_sent_is_a_copy_without_secrets(ctx):
    subscription = bus_subscribe(ctx, "t")
    sent = {"list": [1], "key": Secret("hunter2", ("KEY",))}
    bus_publish(ctx, "t", sent)
    sent["list"].append(2)
    assert data(ctx, subscription) == [{"list": [1], "key": "[redacted]"}]
    assert "a task cannot be stored" in error_of(bus_publish, ctx, "t", lambda: 1)


def test_the_oldest_are_dropped_and_counted(ctx):
    subscription = bus_subscribe(ctx, "t", {"max_events": 3})
    for number in range(10):
        bus_publish(ctx, "t", number)
    assert bus_recv(ctx, subscription, 0) == {"topic": "t", "data": 7, "dropped": 7}
    assert bus_recv(ctx, subscription, 0) == {"topic": "t", "data": 8, "dropped": 0}
    large = bus_subscribe(ctx, "u", {"max_bytes": 1000})
    for letter in "abc":
        bus_publish(ctx, "u", letter * 700)
    assert data(ctx, large) == ["c" * 700]
    bus_publish(ctx, "u", "d" * 2000)  # larger than all that may wait
    assert data(ctx, large) == []


def test_a_subscription_that_must_not_lose_any_ends(ctx):
    subscription = bus_subscribe(ctx, "t", {"max_events": 2, "on_full": "error"})
    assert [bus_publish(ctx, "t", number) for number in range(4)] == [1, 1, 1, 0]
    assert "has ended, because more events waited than it allows" in error_of(bus_recv, ctx, subscription, 0)
    assert error_of(bus_recv, ctx, subscription) == "bus_recv: subscription(t) has ended"
    assert bus_topics(ctx) == []


def test_a_receiver_is_woken(ctx):
    subscription = bus_subscribe(ctx, "t")
    sender = threading.Timer(0.1, lambda: bus_publish(ctx, "t", "late"))
    sender.start()
    begun = time.monotonic()
    assert bus_recv(ctx, subscription, LONG)["data"] == "late"
    assert time.monotonic() - begun < LONG / 2
    sender.join(LONG)
    assert bus_recv(ctx, subscription, 0.05) is None
    if not subscription.board.shared:
        assert not subscription.board.bells(subscription.identifier)


def test_arguments_that_are_none(ctx):
    assert "a topic is a text" in error_of(bus_subscribe, ctx, Secret("x", ("K",)))
    assert "1 to 1000 characters" in error_of(bus_subscribe, ctx, "")
    assert "1 to 1000 characters" in error_of(bus_publish, ctx, "x" * 1001)
    assert "cannot hold * or ?" in error_of(bus_publish, ctx, "a*")
    assert "the topics must be 1 to" in error_of(bus_subscribe, ctx, [])
    assert "on_full" in error_of(bus_subscribe, ctx, "t", {"on_full": "wait"})
    assert error_of(bus_recv, ctx, "t") == "bus_recv expects a subscription, got text"
    assert "does not cross" in error_of(bus_recv, Context(NativeHost(), collect=True), bus_subscribe(ctx, "t"))


def test_there_are_no_more_than_there_can_be(ctx, monkeypatch):
    monkeypatch.setattr("language.shared.event_board.MOST_SUBSCRIPTIONS", 2)
    monkeypatch.setattr("language.native.shared_sqlite_events.MOST_SUBSCRIPTIONS", 2)
    first = bus_subscribe(ctx, "t")
    bus_subscribe(ctx, "t")
    assert "as many as there can be" in error_of(bus_subscribe, ctx, "t")
    bus_unsubscribe(ctx, first)
    bus_subscribe(ctx, "t")
    assert MOST_SUBSCRIPTIONS == 1000


def test_the_end_of_a_run_ends_its_subscriptions(ctx):
    bus_subscribe(ctx, "t")
    ctx.lifetime.end()
    assert bus_topics(ctx) == [] and not bus._open


def test_agents_hear_each_other():
    answer = language.run(
        "agent Listener\n"
        '    let sub be bus_subscribe("news.*")\n'
        '    signal "ready" with 1\n'
        "    give bus_recv(sub, 60).data\n"
        "task begin()\n    spawn Listener\n"
        'let id be begin()\nwait_for "ready" timeout 60\n'
        'print(bus_publish("news.tea", "green"))\nprint(agent_wait(id, 60).result)\n',
        host=NativeHost(),
    )
    assert answer["output"] == ["1", "green"], answer


ANOTHER = """
import sys
from language.native.shared_sqlite import SqliteStore
from language.shared.event_board import QueueBounds
other = SqliteStore(sys.argv[1])
other.events.subscribe(["t"], QueueBounds(10, 10_000, True))
sys.exit(0 if other.events.publish("t", {"from": "another"}, 0) == 2 else 1)
"""


def test_events_reach_another_process():
    path = create()
    store = SqliteStore(path)
    try:
        mine = store.events.subscribe(["t"], QueueBounds(10, 10_000, True))
        subprocess.run([sys.executable, "-c", ANOTHER, str(path)], cwd=ROOT, check=True, timeout=LONG)
        assert store.events.take(mine).value == {"from": "another"}
        # The subscription of the process that has ended is forgotten with the next one.
        assert store.events.publish("t", 1, 0) == 2
        store.events.subscribe(["u"], QueueBounds(10, 10_000, True))
        assert store.events.publish("t", 2, 0) == 1
    finally:
        store.close()
        remove(path)


def test_many_threads_lose_nothing():
    board = MemoryEvents()
    identifier = board.subscribe(["*"], QueueBounds(100_000, 1 << 30, True))
    threads = [threading.Thread(target=lambda: [board.publish("t", n, 1) for n in range(500)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG)
    count = 0
    while board.take(identifier) is not None:
        count += 1
    assert count == 2000


def test_topics_fit_as_globs_do():
    assert fits("a.b", ["a.*"]) and fits("a.b", ["x", "a.?"]) and fits("a[b]", ["a[b]"])
    assert not fits("a.b", ["a", "b.*", "a.b?"])


def test_overflow_of_a_board():
    board = MemoryEvents()
    identifier = board.subscribe(["t"], QueueBounds(1, 100, False))
    assert [board.publish("t", 1, 1), board.publish("t", 2, 1), board.publish("t", 3, 1)] == [1, 1, 0]
    assert board.has_event(identifier)
    with pytest.raises(Overflowed):
        board.take(identifier)
