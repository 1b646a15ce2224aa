"""Gates by the thousand, and gates whose thread is ended from outside."""

from __future__ import annotations

import threading
import time
from _thread import get_ident
from collections.abc import Iterator
from typing import Any

import pytest

from language.errors import Cancelled
from language.gates import Gate
from language.gates.queue import GateQueue
from language.shared.gate_board import DECIDED, UNKNOWN
from language.values import FALSE, TRUE
from tests.waiting_gates import Asked, Console, Handler, approve, raise_in, wait_for


@pytest.fixture
def small_stacks() -> Iterator[None]:
    before = threading.stack_size(256 * 1024)
    yield
    threading.stack_size(before)


def test_two_thousand_gates_wait_at_once_and_cheaply(small_stacks: None) -> None:
    console = Console()
    queue = GateQueue(console, {})
    answers: list[Any] = []
    threads = [threading.Thread(target=lambda: answers.append(queue.answer(approve(within=60)))) for _ in range(2000)]
    for thread in threads:
        thread.start()
    wait_for(lambda: len(queue.pending()) == 2000, 30)
    time.sleep(2)  # until the polling intervals are long
    before = time.process_time()
    time.sleep(2)
    spent = (time.process_time() - before) / 2
    assert spent < 0.25, f"waiting takes {spent:.2f} of a processor"
    entries = queue.pending()
    tokens = {line.split(" ")[3]: line.split('"token": "')[1][:64] for line in console.lines if "approval pending" in line}
    delays = []
    for number in (0, 999, 1999):
        identifier = entries[number]["id"]
        decided = len(answers)
        started = time.perf_counter()
        assert queue.decide(identifier, tokens[identifier], decision=True) == DECIDED
        while len(answers) == decided and time.perf_counter() < started + 10:
            time.sleep(0.001)
        delays.append(time.perf_counter() - started)
    assert max(delays) < 1
    assert len(queue.pending()) == 1997
    assert len(queue.close()) == 1997
    for thread in threads:
        thread.join(30)
    assert sorted(map(bool, answers)) == [False] * 1997 + [True] * 3


def test_a_wait_ends_when_its_thread_is_cancelled_and_woken() -> None:
    console = Console()
    queue = GateQueue(console, {})
    waits = []
    for _ in range(5):  # the best of them: a busy machine may hold up one
        asked = Asked(queue, approve(within=60))
        time.sleep(2)  # until the polling intervals are long
        started = time.monotonic()
        raise_in(asked.thread.ident or 0, Cancelled)
        queue.wake(asked.thread.ident or 0)
        asked.thread.join(10)
        waits.append(time.monotonic() - started)
        assert isinstance(asked.error, Cancelled)
        assert queue.pending() == []
        assert queue.decide(asked.id, console.token_of(asked.id), decision=True) == UNKNOWN
        if waits[-1] < 0.3:
            break
    assert min(waits) < 0.3


def test_a_wait_ends_soon_also_when_nobody_wakes_it() -> None:
    queue = GateQueue(Console(), {})
    asked = Asked(queue, approve(within=60))
    time.sleep(2)
    started = time.monotonic()
    raise_in(asked.thread.ident or 0, Cancelled)
    asked.thread.join(10)
    assert time.monotonic() - started < 30 and isinstance(asked.error, Cancelled)


def test_waking_the_wrong_one_changes_nothing() -> None:
    console = Console()
    queue = GateQueue(console, {})
    asked = Asked(queue, approve())
    for _ in range(50):
        queue.wake(get_ident())
        queue.wake(asked.thread.ident or 0)
        queue.wake_all()
    assert [entry["id"] for entry in queue.pending()] == [asked.id]
    assert queue.decide(asked.id, console.token_of(asked.id), decision=True) == DECIDED
    assert asked.value() is TRUE


def test_a_thread_that_is_cancelled_again_and_again_leaves_no_gate_behind() -> None:
    """Wherever the exceptions land: before the gate stands, while it waits, while it is taken back."""
    console = Console()
    queue = GateQueue(console, {})
    for round_number in range(150):
        handler = Handler(lambda: queue.answer(approve(within=60)))
        wait_for(lambda handler=handler: handler.begun)  # type: ignore[misc]
        time.sleep(round_number * 0.00002)
        handler.cancel(queue.wake_all, pause=0.0001)
    assert queue.pending() == [] and queue._waiting == {}
    asked = Asked(queue, approve())  # and no lock was left locked
    assert queue.decide(asked.id, console.token_of(asked.id), decision=True) == DECIDED
    assert asked.value() is TRUE


def test_a_shutdown_refuses_new_gates_first_and_pending_ones_later() -> None:
    console = Console()
    queue = GateQueue(console, {})
    asked = Asked(queue, approve())
    other = Asked(queue, approve())
    queue.refuse_new()
    assert queue.answer(approve()) is FALSE
    assert queue.decide(asked.id, console.token_of(asked.id), decision=True) == DECIDED
    assert asked.value() is TRUE
    assert queue.close() == [other.id]
    assert other.value() is FALSE
    notices = [line for line in console.lines if "notice" in line]
    assert len(notices) == 2 and "shutting down" in notices[0] and other.id in notices[1]


class Jumping(Console):
    """A console whose wall clock somebody sets."""

    offset = 0.0

    def now(self) -> float:
        return super().now() + self.offset


@pytest.mark.parametrize("jump", [86_400.0, -86_400.0])
def test_a_jump_of_the_wall_clock_changes_no_wait(jump: float) -> None:
    console = Jumping()
    queue = GateQueue(console, {})
    started = time.monotonic()
    asked = Asked(queue, approve(within=0.4))
    console.offset = jump
    assert [entry["id"] for entry in queue.pending()] == [asked.id]
    late = Asked(queue, approve(within=5))
    assert queue.decide(late.id, console.token_of(late.id), decision=True) == DECIDED
    assert late.value() is TRUE
    assert asked.value() is FALSE
    assert 0.35 < time.monotonic() - started < 30


def test_a_wait_without_end_has_an_expiry_all_the_same() -> None:
    console = Console()
    queue = GateQueue(console, {})
    asked = Asked(queue, Gate("confirm", "?", None, float("inf")))
    assert queue.pending()[0]["expires_at"] > time.time() + 1e9
    assert queue.decide(asked.id, console.token_of(asked.id), decision=False) == DECIDED
    assert asked.value() is FALSE
