"""Human gates: opened by reports, decided once, handed over, expired."""

from __future__ import annotations

import threading
from typing import Any

import httpx
import pytest
from deploying import API, WEB, deployed, ok, refused, runner_of
from fake_runner import FakeRunner
from hypothesis import given
from hypothesis import strategies as st
from platform_service import Service
from sqlalchemy import insert, select, update
from stored_projects import stored_project

from platform_api.gates.lifecycle import STATUSES, TYPES, GateState, closed, decided, expired
from platform_api.gates.operations import expire, overdue_gates
from platform_api.gates.pruning import AGE, KEPT
from platform_api.identifiers import new_id
from platform_api.moments import DAY, MINUTE, now
from platform_api.records.pruning import prune
from platform_api.store.tables import gates
from runner.protocol import GateClosed, GateOpened

CONTRACT = {"id", "project_id", "project", "gate_id", "type", "message", "status", "expires_at", "received_at"}


def opened(runner: FakeRunner, project: str, gate: str = "g1", kind: Any = "approve", **more: Any) -> None:
    report = {"message": "Ship it?", "left_ms": 300_000} | more
    runner.report(GateOpened(project=project, gate=gate, kind=kind, **report))


def inbox(client: httpx.Client) -> Any:
    return ok(client.get(f"{API}/approvals"))


@pytest.mark.parametrize(
    ("kind", "body", "status"),
    [
        ("approve", {"decision": True}, "approved"),
        ("confirm", {"decision": False}, "denied"),
        ("ask", {"value": "blue, of course"}, "answered"),
        ("ask", {"value": ""}, "answered"),
    ],
)
def test_a_gate_is_decided_and_handed_over(service: Service, kind: str, body: dict[str, Any], status: str) -> None:
    account = service.account()
    client = service.client(service.token(account))
    with runner_of(service) as runner:
        project = deployed(client, runner)
        opened(runner, project, kind=kind, options=("blue", "red") if kind == "ask" else None)
        [gate] = inbox(client)["items"]
        assert set(gate) - {"options"} == CONTRACT
        assert (gate["project_id"], gate["project"], gate["gate_id"], gate["type"]) == (project, "Shop", "g1", kind)
        assert gate.get("options") == (["blue", "red"] if kind == "ask" else None)
        assert ok(client.get(f"{API}/projects/{project}/approvals"))["items"] == [gate]
        answer = ok(client.post(f"{API}/approvals/{gate['id']}", json=body))
        assert answer == {"ok": True, "status": status, "delivered": False}
        assert inbox(client)["items"] == []
        [recent] = inbox(client)["recent"]
        assert (recent["status"], recent["decided_by"], recent["delivered"]) == (status, account, False)
        assert recent.get("value") == body.get("value")
        [told] = runner.poll().decisions
        assert (told.id, told.gate, told.decision, told.value) == (gate["id"], "g1", body.get("decision"), body.get("value"))
        outcome: Any = status
        runner.report(GateClosed(project=project, gate="g1", outcome=outcome, channel="api", value=told.value))
        [recent] = inbox(client)["recent"]
        assert (recent["status"], recent["delivered"]) == (status, True) and "expired" not in recent
        assert refused(client.post(f"{API}/approvals/{gate['id']}", json=body)) == (409, "gate_closed")
        assert runner.poll().decisions == ()


def test_a_gate_of_a_project_that_is_being_deleted_is_not_decided(service: Service) -> None:
    client = service.signed_in()
    with runner_of(service) as runner:
        project = deployed(client, runner)
        opened(runner, project)
        [gate] = inbox(client)["items"]
        assert ok(client.delete(f"{API}/projects/{project}"))["status"] == "deleting"
        assert refused(client.post(f"{API}/approvals/{gate['id']}", json={"decision": True})) == (409, "conflict")


def test_what_does_not_fit_the_type(service: Service) -> None:
    client = service.signed_in()
    with runner_of(service) as runner:
        project = deployed(client, runner)
        opened(runner, project, "yes-or-no")
        opened(runner, project, "question", "ask")
        gate = {each["gate_id"]: each["id"] for each in inbox(client)["items"]}
        for name, body in [
            ("yes-or-no", {}),
            ("yes-or-no", {"value": "yes"}),
            ("yes-or-no", {"decision": "yes"}),
            ("yes-or-no", {"decision": True, "value": "x"}),
            ("question", {"decision": True}),
            ("question", {"value": 7}),
            ("question", {"value": "é" * 8_193}),
            ("question", {"value": "a\0b"}),
        ]:
            assert refused(client.post(f"{API}/approvals/{gate[name]}", json=body)) == (400, "validation"), body
        assert len(inbox(client)["items"]) == 2
        assert client.post(f"{API}/approvals/apr_x", json={"decision": True}).status_code == 404
        stranger = service.signed_in("stranger@example.com")
        assert stranger.post(f"{API}/approvals/{gate['question']}", json={"value": "x"}).status_code == 404
        assert inbox(stranger)["items"] == []


def test_an_assistant_cannot_answer_its_own_gate(service: Service) -> None:
    account = service.account()
    client = service.client(service.token(account))
    machine = service.client(service.token(account, "read", "deploy", "secrets"))
    with runner_of(service) as runner:
        project = deployed(client, runner)
        opened(runner, project)
        [gate] = inbox(machine)["items"]
        refusal = machine.post(f"{API}/approvals/{gate['id']}", json={"decision": True})
        assert refused(refusal) == (403, "forbidden") and refusal.json()["details"] == {"scope": "approve"}


def test_of_two_who_decide_at_once_one_does(service: Service) -> None:
    client = service.signed_in()
    with runner_of(service) as runner:
        project = deployed(client, runner)
        clients = [service.client(client.headers["Authorization"].split()[1]) for _ in range(6)]
        for number in range(5):
            opened(runner, project, f"g{number}")
            [gate] = inbox(client)["items"]
            answers: list[tuple[int, bool]] = []

            def decide(
                one: httpx.Client, decision: bool, gate: str = gate["id"], said: list[tuple[int, bool]] = answers
            ) -> None:
                said.append((one.post(f"{API}/approvals/{gate}", json={"decision": decision}).status_code, decision))

            threads = [threading.Thread(target=decide, args=(one, at % 2 == 0)) for at, one in enumerate(clients)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            [winner] = [decision for status, decision in answers if status == 200]
            assert sorted(status for status, _ in answers) == [200, *[409] * 5]
            [told] = runner.poll().decisions
            assert told.decision is winner
            assert inbox(client)["recent"][0]["status"] == ("approved" if winner else "denied")
            runner.report(
                GateClosed(project=project, gate=f"g{number}", outcome="approved" if winner else "denied", channel="api")
            )


def test_nobody_answers_in_time(service: Service) -> None:
    client = service.signed_in()
    with runner_of(service) as runner:
        project = deployed(client, runner)
        opened(runner, project, "late", left_ms=0)
        [gate] = ok(client.get(f"{API}/projects/{project}/approvals"))["items"]
        assert gate["status"] == "pending" and inbox(client)["items"] == []
        refusal = client.post(f"{API}/approvals/{gate['id']}", json={"decision": True})
        assert refused(refusal) == (409, "gate_closed") and "expired" in refusal.json()["error"]
        runner.report(GateClosed(project=project, gate="late", outcome="expired", channel="deadline"))
        [recent] = inbox(client)["recent"]
        assert (recent["status"], recent["expired"]) == ("denied", True) and "decided_by" not in recent
        opened(runner, project, "silent", left_ms=0)
        _expire(service, now() + MINUTE)
        assert [each["status"] for each in inbox(client)["recent"]] == ["denied", "denied"]


def test_a_decision_that_cannot_be_handed_over(service: Service) -> None:
    client = service.signed_in()
    with runner_of(service) as runner:
        project = deployed(client, runner)
        for gate in ("dead", "silent"):
            opened(runner, project, gate)
            [pending] = inbox(client)["items"]
            ok(client.post(f"{API}/approvals/{pending['id']}", json={"decision": True}))
        runner.report(GateClosed(project=project, gate="dead", outcome="expired", channel="exit", delivered=False))
        with service.platform.store.main.writing() as connection:
            connection.execute(update(gates).where(gates.c.gate_id == "silent").values(expires_at=now() - DAY))
        _expire(service, now())
        for recent in inbox(client)["recent"]:
            assert (recent["status"], recent["expired"], recent["undelivered"]) == ("denied", True, True)
        assert runner.poll().decisions == ()


def _expire(service: Service, moment: int) -> None:
    with service.platform.store.main.writing() as connection:
        for each in overdue_gates(connection, moment):
            expire(connection, *each, moment)


def test_decided_at_the_program_itself(service: Service) -> None:
    client = service.signed_in()
    with runner_of(service) as runner:
        project = deployed(client, runner)
        opened(runner, project, "g1", "ask")
        runner.report(GateClosed(project=project, gate="g1", outcome="answered", channel="link", value="green"))
        [recent] = inbox(client)["recent"]
        assert (recent["status"], recent["value"]) == ("answered", "green") and "decided_by" not in recent
        runner.report(GateClosed(project=project, gate="unknown", outcome="approved", channel="link"))
        assert runner.refused == ["no gate of this id was opened"]


def test_a_decision_is_told_again_when_the_gate_is_announced_again(service: Service) -> None:
    client = service.signed_in()
    with runner_of(service) as runner:
        project = deployed(client, runner)
        opened(runner, project)
        opened(runner, project)
        [gate] = inbox(client)["items"]
        ok(client.post(f"{API}/approvals/{gate['id']}", json={"decision": True}))
        assert len(runner.poll().decisions) == 1 and runner.poll().decisions == ()
        opened(runner, project)
        assert [told.gate for told in runner.poll().decisions] == ["g1"]
        assert len(inbox(client)["recent"]) == 1


def test_gates_of_a_program_that_runs(service: Service) -> None:
    client = service.signed_in()
    with runner_of(service) as runner:
        project = deployed(client, runner, source='task gated()\n    give approve "Ship?"\n' + WEB)
        [gate] = inbox(client)["items"]
        ok(client.post(f"{API}/approvals/{gate['id']}", json={"decision": False}))
        runner.converge()
        assert inbox(client)["recent"][0]["delivered"] is True
        assert project == gate["project_id"]


EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("decide"), st.booleans(), st.integers(0, 20)),
        st.tuples(st.just("expire")),
        st.tuples(
            st.just("close"),
            st.sampled_from(["approved", "denied", "answered", "expired"]),
            st.booleans(),
            st.sampled_from(["api", "link", "exit"]),
        ),
    ),
    max_size=8,
)


@given(st.sampled_from(TYPES), EVENTS)
def test_a_gate_is_decided_once(kind: str, events: list[tuple[Any, ...]]) -> None:
    state = GateState(kind, expires_at=10)
    decisions = 0
    for event in events:
        before = state
        if event[0] == "decide":
            text = "answer" if kind == "ask" else None
            after = decided(state, event[2], None if kind == "ask" else event[1], text)
            assert after is None or event[2] < 10
            decisions += after is not None
            state = after or state
        elif event[0] == "expire":
            state = expired(state)
        else:
            state = closed(state, event[1], delivered=event[2], channel=event[3])
        assert state.status in STATUSES and decisions <= 1
        assert not (state.expired and state.delivered)
        assert state.status == "denied" or not state.expired
        assert before.is_pending or not state.is_pending
        if before.delivered or before.expired:
            assert state == before


def test_the_newest_closed_gates_are_kept_for_a_month_and_open_ones_until_they_close(service: Service) -> None:
    store, owner = service.platform.store, service.account()
    busy, old, moment = stored_project(store, owner), stored_project(store, owner), now()

    def stored(project: str, name: str, closed_at: int | None, **columns: Any) -> dict[str, Any]:
        row = {
            "id": new_id("apr"), "project_id": project, "gate_id": name, "type": "approve", "message": "?",
            "status": "approved", "expired": False, "decided_at": closed_at, "delivered_at": closed_at,
            "expires_at": moment + DAY, "received_at": 0,
        }  # fmt: skip
        return row | columns

    waiting = {"status": "pending", "decided_at": None, "delivered_at": None}
    month = moment - AGE
    rows = [stored(busy, "waits", None, **waiting), stored(busy, "on its way", moment, delivered_at=None)]
    rows += [stored(busy, f"{number}", moment) for number in range(KEPT + 3)]
    rows += [stored(old, "decided", month - 1), stored(old, "expired", month - 1, delivered_at=None, expired=True)]
    rows += [stored(old, "on its way", month - 1, delivered_at=None), stored(old, "waits", None, **waiting, expires_at=month)]
    rows += [stored(old, "younger", month)]
    with store.main.writing() as connection:
        connection.execute(insert(gates), rows)
    prune(store, moment)

    def kept(project: str) -> set[str]:
        with store.main.reading() as connection:
            return set(connection.scalars(select(gates.c.gate_id).where(gates.c.project_id == project)))

    assert kept(busy) == {"waits", "on its way", *(f"{number}" for number in range(3, KEPT + 3))}
    # The service itself closes what nobody can answer any more, at any time: then it counts as closed now.
    assert kept(old) == {"on its way", "waits", "younger"}
