"""The shared store in a Redis server."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import settings

from language.errors import Cancelled
from language.gates import Gate
from language.gates.queue import GateQueue
from language.native.shared_redis import RedisStore, create
from language.serve.rate_limit import Limiter
from language.shared.gate_board import DECIDED, UNKNOWN
from language.shared.store import StoreFailure
from language.values import FALSE, TRUE
from tests import servers
from tests.shared.store_model import StoreMachine
from tests.waiting_gates import Asked, Console, Handler, approve


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    for address in servers.redis():
        yield f"redis://:{quote('p@ss word')}@{address}/3"


def test_it_answers_as_memory_does(url: str) -> None:
    class Machine(StoreMachine):
        def make_store(self) -> Any:
            return create(url)

    from hypothesis.stateful import run_state_machine_as_test

    run_state_machine_as_test(Machine, settings=settings(max_examples=40, stateful_step_count=25, deadline=None))


def test_every_start_begins_empty_and_leaves_other_keys_alone(url: str) -> None:
    store = create(url)
    store._server.say("SET", "other", "kept")
    store.state["k"] = 1
    assert RedisStore(url).state.get("k") == 1
    again = create(url)
    assert again.state.copy() == {} and store.state.get("k") is None
    assert store._server.say("GET", "other") == b"kept"


@pytest.mark.parametrize("url", ["redis://127.0.0.1:1/0", "http://127.0.0.1", "redis://127.0.0.1:x", ""])
def test_a_store_that_cannot_be_reached_says_so(url: str) -> None:
    with pytest.raises(StoreFailure):
        create(url)


def test_a_wrong_password_is_not_shown(url: str) -> None:
    with pytest.raises(StoreFailure) as caught:
        create(url.replace("p%40ss%20word", "hunter2"))
    assert "hunter2" not in caught.value.message


def test_a_limit_holds_over_two_connections(url: str) -> None:
    create(url)
    limits = [Limiter(RedisStore(url), 10, 3600, "l") for _ in range(2)]
    assert sum(limits[n % 2].take("a").allowed for n in range(30)) == 10
    verdict = limits[0].take("a")
    assert verdict.remaining == 0 and 355 < verdict.retry_after <= 361
    assert Limiter(RedisStore(url), 1, 0.2, "quick").take("a").allowed
    assert not Limiter(RedisStore(url), 1, 0.2, "quick").take("a").allowed
    time.sleep(0.21)
    assert Limiter(RedisStore(url), 1, 0.2, "quick").take("a").allowed


def test_another_process_decides(url: str) -> None:
    console = Console()
    store = create(url)
    queue = GateQueue(console, {}, board=store.gates)
    asked = Asked(queue, approve())
    token = console.token_of(asked.id)
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            assert [entry["id"] for entry in queue.pending()] == [asked.id]
            assert queue.decide(asked.id, "0" * 64, decision=True) != DECIDED
            assert queue.decide(asked.id, token, decision=True) == DECIDED
            assert queue.decide(asked.id, token, decision=False) == UNKNOWN
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    started = time.monotonic()
    assert asked.value() is TRUE
    assert time.monotonic() - started < 10
    assert queue.pending() == []


def test_of_decisions_at_once_one_counts(url: str) -> None:
    console = Console()
    queue = GateQueue(console, {}, board=create(url).gates)
    others = [GateQueue(console, {}, board=RedisStore(url).gates) for _ in range(10)]
    for _ in range(5):
        asked = Asked(queue, approve())
        token = console.token_of(asked.id)
        outcomes: list[tuple[bool, str]] = []
        start = threading.Barrier(10)

        def decide(number: int, asked: Asked, token: str, outcomes: Any) -> None:
            start.wait()  # noqa: B023
            outcomes.append((number % 2 == 0, others[number].decide(asked.id, token, decision=number % 2 == 0)))

        threads = [threading.Thread(target=decide, args=(n, asked, token, outcomes)) for n in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        winners = [decision for decision, outcome in outcomes if outcome == DECIDED]
        assert len(winners) == 1 and [outcome for _, outcome in outcomes].count(UNKNOWN) == 9
        assert asked.value() is (TRUE if winners[0] else FALSE)


def test_increments_of_many_threads_and_connections_are_all_counted(url: str) -> None:
    create(url)
    stores = [RedisStore(url) for _ in range(3)]

    def work(store: RedisStore) -> None:
        for _ in range(100):
            store.state.change("n", lambda n: (n or 0) + 1)

    threads = [threading.Thread(target=work, args=(store,)) for store in stores for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert stores[0].state.get("n") == 600


# Python reports an exception that hit the thread which the cancelled one was just starting.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_thread_that_is_cancelled_leaves_no_wrong_answer_behind(url: str) -> None:
    """An exchange that was cut off must not give its reply to the next question."""
    store = create(url)
    queue = GateQueue(Console(), {}, board=store.gates)
    store.state["right"] = "right"

    def work() -> None:
        store.state["wrong"] = "wrong"
        store.state.get("wrong")
        store.state.change("n", lambda n: (n or 0) + 1)
        queue.answer(Gate("approve", "?", None, 0.001))

    for round_number in range(80):
        handler = Handler(work)
        time.sleep(0.002 + round_number * 0.0001)
        handler.cancel(queue.wake_all)
        assert store.state.get("right") == "right"
    assert queue.pending() == []


def test_an_exchange_that_was_cut_off_is_not_gone_on_with(url: str) -> None:
    store = create(url)
    store.state["right"] = "right"

    def cut_off(say: Any) -> None:
        store._server._connection.send_command("ECHO", '"wrong"')
        raise Cancelled

    with pytest.raises(Cancelled):
        store._server.turn(cut_off)
    assert store.state.get("right") == "right"
