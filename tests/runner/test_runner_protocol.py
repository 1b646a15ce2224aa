"""The records that service and runner exchange: there and back, and what does not fit is named."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner import protocol
from runner.protocol import (
    AuditRecord,
    Batch,
    DecisionSpec,
    DeploySpec,
    Figures,
    GateClosed,
    GateOpened,
    Limits,
    LogLine,
    PackageAnswer,
    PhaseReport,
    PollAnswer,
    PollRequest,
    ProjectSpec,
    ProtocolError,
    ReportAnswer,
    ReportRequest,
    RunnerState,
    RunReport,
    RunSpec,
)

NUMBERS = st.integers(-(2**63), 2**63 - 1)
st.register_type_strategy(int, NUMBERS)
st.register_type_strategy(float, st.floats(allow_nan=False, allow_infinity=False))


@pytest.mark.parametrize(
    "record", [PollRequest, PollAnswer, ProjectSpec, ReportAnswer, PackageAnswer, *protocol.ITEMS.values()]
)
def test_every_record_comes_back(record: type[object]) -> None:
    @given(st.from_type(record))
    def there_and_back(made: object) -> None:
        assert protocol.loads(record, protocol.dumps(made)) == made
        if record in protocol.ITEMS.values():
            assert protocol.item_from_json(json.loads(protocol.dumps(made))) == made

    there_and_back()


def test_a_batch_holds_items_with_their_numbers() -> None:
    items = (PhaseReport(project="p", generation=1, phase="running"), Figures(project="p"))
    request = ReportRequest(instance="i", batches=(protocol.batch("state", 7, items),))
    [read] = protocol.loads(ReportRequest, protocol.dumps(request)).batches
    assert [(number, protocol.item_from_json(item)) for number, item in read.items] == [(7, items[0]), (8, items[1])]


def test_what_the_other_side_has_learned_since_is_passed_over() -> None:
    read = protocol.from_json(Limits, {"memory_mb": 7, "threads": 12})
    assert read == Limits(memory_mb=7)


def test_secrets_are_not_shown() -> None:
    spec = DeploySpec(id="d", number=1, package_hash="h", entry="m", kind="web", ceiling="", secrets={"KEY": "hidden"})
    assert "hidden" not in repr(spec) and "hidden" not in repr(ProjectSpec(
        project="p", generation=1, desired="up", slug="s", name="n", kind="web", deploy=spec))  # fmt: skip


@pytest.mark.parametrize(
    ("record", "value", "message"),
    [
        (PollRequest, [], "the body must be an object"),
        (PollRequest, {}, "runner is missing"),
        (PollRequest, {"runner": {"id": "r"}}, "runner.instance is missing"),
        (PollRequest, {"runner": {"id": "r", "instance": 1}}, "runner.instance must be a text"),
        (PollRequest, {"runner": {"id": "r", "instance": "i"}, "wait": True}, "wait must be a whole number"),
        (PollRequest, {"runner": {"id": "r", "instance": "i"}, "wait": 2**63}, "wait is out of range"),
        (RunnerState, {"id": "r", "instance": "i", "engines": "docker"}, "engines must be a list"),
        (RunnerState, {"id": "r", "instance": "i", "isolation": {"a": 1}}, "isolation.a must be true or false"),
        (ReportRequest, {"instance": "i", "batches": [{"stream": "s", "items": [[1]]}]}, r"items\[0\] must have 2 parts"),
        (RunSpec, {"id": "r", "project": "p", "deploy": None, "attempt": 1}, "deploy must be a text"),
        (DecisionSpec, {"id": "r", "project": "p", "gate": "g", "decision": "yes"}, "decision must be true or false"),
        (Batch, {"stream": "s", "items": [[1, "x"]]}, r"items\[0\]\[1\] must be an object"),
        (AuditRecord, {"project": "p", "ts": float("inf"), "capability": "c", "granted": True}, "ts must be a finite number"),
        (LogLine, {"project": "p", "at": 1, "line": "x", "stream": "stdout"}, "stream must be one of out, err, system"),
        (PhaseReport, {"project": "p", "generation": 1, "phase": "up"}, "phase must be one of starting"),
        (RunReport, {"project": "p", "run": "r", "attempt": 1, "status": "queued"}, "status must be one of running"),
        (GateOpened, {"project": "p", "gate": "g", "kind": "show"}, "kind must be one of approve, confirm, ask"),
        (GateClosed, {"project": "p", "gate": "g", "outcome": "pending"}, "outcome must be one of"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(record: type[object], value: object, message: str) -> None:
    with pytest.raises(ProtocolError, match=message):
        protocol.from_json(record, value)


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 100_000])
def test_a_body_that_is_no_json(body: bytes) -> None:
    with pytest.raises(ProtocolError):
        protocol.loads(PollRequest, body)


@pytest.mark.parametrize("item", [{}, {"type": "sudo"}, {"type": 7}, {"type": []}])
def test_an_item_of_an_unknown_type(item: dict[str, object]) -> None:
    with pytest.raises(ProtocolError, match="type must be one of phase"):
        protocol.item_from_json(item)
