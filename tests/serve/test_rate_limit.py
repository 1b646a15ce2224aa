"""Rate limits: who may pass when, what the headers say, and how much memory strangers can take."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language.host import EmbeddedHost
from language.serve.rate_limit import Limiter
from language.shared import buckets
from language.shared.buckets import MemoryBuckets
from language.shared.memory_store import InMemorySharedStore


class Clock(EmbeddedHost):
    """A host whose monotonic clock stands until somebody moves it. Its wall clock is nobody's business here."""

    def __init__(self) -> None:
        super().__init__()
        self.time = 1000.0

    def monotonic(self) -> float:
        return self.time

    def now(self) -> float:
        raise AssertionError("limits know no wall clock")


def limiter(amount: float, window: float) -> tuple[Clock, Limiter]:
    clock = Clock()
    return clock, Limiter(InMemorySharedStore(clock), amount, window, "x")


def test_a_bucket_is_emptied_and_fills_up_evenly() -> None:
    clock, limit = limiter(3, 60)
    assert [limit.take("a").allowed for _ in range(5)] == [True, True, True, False, False]
    clock.time += 19.9
    assert not limit.take("a").allowed
    clock.time += 0.1  # a refusal took nothing: after 20 seconds in all there is a token
    assert [limit.take("a").allowed for _ in range(2)] == [True, False]
    clock.time += 1000
    assert [limit.take("a").allowed for _ in range(4)] == [True, True, True, False]


def test_the_headers_of_a_limit() -> None:
    clock, limit = limiter(10, 60)
    assert limit.take("a").headers() == [
        ("RateLimit-Limit", "10"),
        ("RateLimit-Remaining", "9"),
        ("RateLimit-Reset", "7"),  # six seconds to the missing token, plus one
    ]
    for _ in range(8):
        limit.take("a")
    assert limit.take("a").headers()[1:] == [("RateLimit-Remaining", "0"), ("RateLimit-Reset", "61")]
    assert limit.take("a").headers() == [
        ("RateLimit-Limit", "10"),
        ("RateLimit-Remaining", "0"),
        ("RateLimit-Reset", "61"),
        ("Retry-After", "7"),
    ]
    clock.time += 3  # half a token has come back
    verdict = limit.take("a")
    assert (verdict.allowed, verdict.remaining, verdict.reset, verdict.retry_after) == (False, 0, 58, 4)
    clock.time += 3
    verdict = limit.take("a")
    assert (verdict.allowed, verdict.remaining, verdict.reset, verdict.retry_after) == (True, 0, 61, 0)


@pytest.mark.parametrize("window", [1, 60, 3600])
def test_retry_after_is_long_enough_and_less_than_a_second_too_long(window: int) -> None:
    for amount in (1, 3, 7, 100, 1000):
        clock, limit = limiter(amount, window)
        while (verdict := limit.take("a")).allowed:
            pass
        clock.time += verdict.retry_after
        assert limit.take("a").allowed
        assert verdict.retry_after <= window / amount + 1


@given(st.integers(1, 50), st.sampled_from([1, 60, 3600]), st.lists(st.floats(0, 100), max_size=60))
def test_never_more_pass_than_the_limit_grants(amount: int, window: int, pauses: list[float]) -> None:
    clock, limit = limiter(amount, window)
    started = clock.time
    passed = 0
    for pause in pauses:
        clock.time += pause
        verdict = limit.take("a")
        passed += verdict.allowed
        assert passed <= amount + (clock.time - started) * amount / window + 1e-6
        assert 0 <= verdict.remaining < amount and 1 <= verdict.reset <= window + 1


def test_each_key_and_each_limit_has_a_bucket_of_its_own() -> None:
    store = InMemorySharedStore(Clock())
    one, same, other = Limiter(store, 1, 60, "one"), Limiter(store, 1, 60, "one"), Limiter(store, 1, 60, "other")
    assert one.take("a").allowed and not same.take("a").allowed
    assert one.take("b").allowed and other.take("a").allowed


def test_threads_share_the_tokens() -> None:
    _, limit = limiter(1000, 3600)
    passed: list[int] = []
    threads = [
        threading.Thread(target=lambda: passed.append(sum(limit.take("a").allowed for _ in range(300)))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(passed) == 1000


def test_buckets_unseen_for_two_windows_are_dropped() -> None:
    clock = Clock()
    held = MemoryBuckets(5, 60, clock.monotonic)
    for number in range(100):
        held.take(f"early {number}")
    clock.time += 100
    held.take("late")
    clock.time += 29  # two windows after the early ones, and less than 30 seconds after the last look
    held.take("late")
    assert len(held) == 101
    clock.time += 1
    held.take("late")
    assert len(held) == 1


def test_somebody_with_many_addresses_takes_a_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buckets, "MOST_BUCKETS", 100)
    clock = Clock()
    held = MemoryBuckets(2, 3600, clock.monotonic)
    for number in range(1000):
        held.take("regular")
        held.take(f"sprayed {number}")
    assert len(held) == 100
    assert held.take("regular") < 0  # who is seen all the time is not forgotten


def test_a_limit_costs_little() -> None:
    limit = Limiter(InMemorySharedStore(EmbeddedHost()), 1e9, 60)
    best = 1.0
    for _ in range(5):
        started = time.perf_counter()
        for _ in range(10_000):
            limit.take("192.0.2.1")
        best = min(best, (time.perf_counter() - started) / 10_000)
    assert best < 10e-6, f"{best * 1e6:.1f} us"


@pytest.mark.parametrize("amount", [0, 0.5])
def test_a_limit_below_one_lets_nobody_pass(amount: float) -> None:
    _, limit = limiter(amount, 60)
    verdict: Any = limit.take("a")
    assert not verdict.allowed and verdict.retry_after >= 60
