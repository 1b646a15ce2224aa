"""The rules by which a gate is decided, to the moment."""

from __future__ import annotations

import threading

import pytest

from language.host import EmbeddedHost
from language.shared.gate_board import (
    DECIDED,
    NEEDS_DECISION,
    NEEDS_VALUE,
    TOO_LONG,
    UNKNOWN,
    WRONG_TOKEN,
    GateRecord,
    digest_of,
    holds,
    is_client_link,
    with_client_link,
)
from language.shared.memory_store import InMemorySharedStore

TOKEN = "ab" * 32


def board_with(kind: str) -> tuple[InMemorySharedStore, str]:
    store = InMemorySharedStore(EmbeddedHost())
    return store, store.gates.open(GateRecord(kind, "?", None, digest_of(TOKEN), 0, 100.0))


@pytest.mark.parametrize(("now", "outcome"), [(99.999, DECIDED), (100.0, UNKNOWN), (200.0, UNKNOWN)])
def test_a_gate_stands_up_to_its_deadline_also_when_nobody_has_woken(now: float, outcome: str) -> None:
    store, identifier = board_with("approve")
    assert store.gates.decide(identifier, digest_of(TOKEN), True, None, lambda: now) == outcome
    assert store.gates.take(identifier) is (True if outcome == DECIDED else None)


@pytest.mark.parametrize(
    ("kind", "token", "decision", "value", "outcome"),
    [
        ("approve", TOKEN, False, None, DECIDED),
        ("confirm", TOKEN, None, "x", NEEDS_DECISION),
        ("confirm", TOKEN.upper(), True, None, WRONG_TOKEN),
        ("ask", TOKEN, True, None, NEEDS_VALUE),
        ("ask", TOKEN, True, "", DECIDED),
        ("ask", TOKEN, None, "x" * 16384, DECIDED),
        ("ask", TOKEN, None, "x" * 16385, TOO_LONG),
        ("ask", "", None, "x", WRONG_TOKEN),
    ],
)
def test_what_a_gate_needs(kind: str, token: str, decision: bool | None, value: str | None, outcome: str) -> None:
    store, identifier = board_with(kind)
    assert store.gates.decide(identifier, digest_of(token), decision, value, lambda: 0.0) == outcome
    assert (store.gates.pending(0.0) == []) is (outcome == DECIDED)
    assert store.gates.answered() == ([identifier] if outcome == DECIDED else [])


def test_the_time_that_counts_is_that_of_the_turn() -> None:
    """The clock is read once nobody else can decide any more."""
    store, identifier = board_with("approve")
    read: list[bool] = []

    def clock() -> float:
        # The lock lets its holder in again: whether it is held another thread finds out.
        tried = threading.Thread(target=lambda: read.append(not store.gates._lock.acquire(blocking=False)))
        tried.start()
        tried.join()
        return 0.0

    store.gates.decide(identifier, digest_of(TOKEN), True, None, clock)
    assert read == [True]


LINK = "cd" * 32


def linked() -> GateRecord:
    return GateRecord("approve", "?", None, with_client_link(digest_of(TOKEN), digest_of(LINK)), 0, 100.0)


@pytest.mark.parametrize(("token", "other"), [(TOKEN, LINK), (LINK, TOKEN)])
def test_each_of_both_tokens_decides_and_both_only_once(token: str, other: str) -> None:
    board = InMemorySharedStore(EmbeddedHost()).gates
    identifier = board.open(linked())
    assert board.decide(identifier, digest_of(token), True, None, lambda: 0.0) == DECIDED
    assert board.decide(identifier, digest_of(other), False, None, lambda: 0.0) == UNKNOWN
    assert board.take(identifier) is True


def test_only_the_token_of_the_link_is_that_of_the_client() -> None:
    record = linked()
    assert is_client_link(record, LINK) and not is_client_link(record, TOKEN)
    without = GateRecord("approve", "?", None, digest_of(TOKEN), 0, 100.0)
    assert not is_client_link(without, TOKEN) and not is_client_link(without, "")
    assert holds(record, LINK) and holds(record, TOKEN)
    for wrong in ("", TOKEN + LINK, TOKEN[:32], LINK.upper()):
        assert not holds(record, wrong) and not holds(without, wrong)
        assert board_with("approve")[0].gates.decide("interact_1", digest_of(wrong), True, None, lambda: 0.0) == UNKNOWN
