"""The audit and the history of a project through HTTP."""

from __future__ import annotations

import io
import json
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from platform_service import Service
from sqlalchemy import func, select
from stored_projects import stored_project

from language import verify_audit
from platform_api.history.export import exported
from platform_api.history.mover import move
from platform_api.history.outbox import note
from platform_api.identifiers import new_id
from platform_api.moments import DAY, now
from platform_api.projects.delete import remove_project
from platform_api.records import pruning
from platform_api.records.audit import append_audit, audit_of
from platform_api.records.logs import append_logs
from platform_api.records.pruning import prune
from platform_api.store.store import Store
from platform_api.store.tables import account_events, counters, history, history_outbox, log_lines, projects

GENEROUS = 60.0
#: When the records were made, in seconds since 1970. What is old is deleted by the service's upkeep.
MOMENT = int(time.time()) + 0.25
TEXTS = st.text(max_size=6, alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0"))


def record(capability: str = "net", scope: str | None = "api.example.com", granted: bool = True, **more: Any) -> dict[str, Any]:
    why = f'Granted by {capability}("{scope}")' if granted else "No matching grant found"
    fields = {
        "ts": MOMENT,
        "capability": capability,
        "scope": scope,
        "granted": granted,
        "origin": "program",
        "why": why,
    }
    return fields | more


def append(store: Store, project: str, *records: dict[str, Any], deploy: str | None = "dep_1") -> None:
    with store.records.writing() as connection:
        append_audit(connection, project, deploy, records)


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + GENEROUS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


# ---- the audit -----------------------------------------------------------------------------------------------------------


def test_the_audit_is_newest_first_and_has_the_six_fields_and_the_witness_that_is_no_program(service: Service) -> None:
    account = service.account()
    client, project = service.client(service.token(account)), stored_project(service.platform.store, account)
    append(service.platform.store, project, record(), record("exec", "git", False), record("random", None, witness="runner"))
    body = client.get(f"/api/v1/projects/{project}/audit").json()
    assert set(body) == {"items"} and [item["capability"] for item in body["items"]] == ["random", "exec", "net"]
    assert body["items"][2] == record()
    assert body["items"][0] == {**record("random", None), "witness": "runner"}


def test_filters_combine_and_find_a_text_in_any_case(service: Service) -> None:
    account = service.account()
    client, project = service.client(service.token(account)), stored_project(service.platform.store, account)
    records = [
        record(scope="Straße.example"),
        record(scope="100%_safe"),
        record("secret", "STRIPE_KEY", False),
        record("env", "HOME", True, origin="runtime"),
    ]
    append(service.platform.store, project, *records)

    def found(**query: str) -> list[str]:
        return [item["scope"] for item in client.get(f"/api/v1/projects/{project}/audit", params=query).json()["items"]]

    assert found(only="denied") == ["STRIPE_KEY"]
    assert found(only="granted", q="net") == ["100%_safe", "Straße.example"]
    assert found(q="STRASSE") == ["Straße.example"] == found(q="straße")
    assert found(q="%") == ["100%_safe"] == found(q="0%_s")
    assert found(q="_") == ["STRIPE_KEY", "100%_safe"]
    assert found(q="RUNTIME") == ["HOME"] and found(q="no matching") == ["STRIPE_KEY"]
    assert found(only="denied", q="example") == [] == found(q="x'; DROP TABLE audit_records; --")
    for query in ("only=all", "only=", f"q={'x' * 501}", "cursor=x", "limit=501"):
        assert client.get(f"/api/v1/projects/{project}/audit?{query}").status_code == 400


def test_pages_follow_each_other_without_gap_while_records_come(service: Service) -> None:
    account = service.account()
    client, project = service.client(service.token(account)), stored_project(service.platform.store, account)
    append(service.platform.store, project, *(record(scope=str(number)) for number in range(250)))
    path, seen, query = f"/api/v1/projects/{project}/audit", [], {"limit": "60"}
    while True:
        body = client.get(path, params=query).json()
        seen += [item["scope"] for item in body["items"]]
        append(service.platform.store, project, record(scope="later"))
        if body["next_cursor"] is None:
            break
        query["cursor"] = body["next_cursor"]
    assert seen == [str(number) for number in reversed(range(250))]
    assert "next_cursor" in client.get(path).json()


@pytest.mark.parametrize("end", ["audit", "history"])
def test_they_are_read_by_their_account_with_the_scope_for_it_alone(service: Service, end: str) -> None:
    owner, other = service.account(), service.account("other@example.com")
    path = f"/api/v1/projects/{stored_project(service.platform.store, owner)}/{end}"
    assert service.client().get(path).status_code == 401
    assert service.client(service.token(other)).get(path).status_code == 404
    assert service.client(service.token(owner, "deploy")).get(path).status_code == 403


# ---- the history ---------------------------------------------------------------------------------------------------------


def verified(content: bytes) -> Any:
    found = verify_audit(io.BytesIO(content))
    assert found.ok, found.why
    assert found.complete
    return found


def test_what_was_noted_and_what_was_asked_for_are_one_chain(tmp_path: Path, database: str | None) -> None:
    with Service(tmp_path, database=database) as service:
        account, store = service.account(), service.platform.store
        client, project = service.client(service.token(account)), stored_project(store, account)
        empty = client.get(f"/api/v1/projects/{project}/history")
        assert verified(empty.content).lines == 1 and json.loads(empty.content)["summary"]["lines"] == 0
        with store.main.writing() as connection:
            note(connection, project, {"event": "deploy_queued", "deploy": "dep_1", "ceiling": "stdout,time"})
            note(connection, project, {"event": "status", "status": "deploying"}, chained=False)
        until(lambda: _chained(store) == 1)
        append(store, project, record(), record("exec", "git", False, count=3), deploy="dep_1")
        with store.main.writing() as connection:
            note(connection, project, {"event": "gate_decided", "gate": "g1", "by": account, "channel": "api"})
        until(lambda: _chained(store) == 4)
        answer = client.get(f"/api/v1/projects/{project}/history")
        assert answer.headers["Content-Type"].startswith("application/x-ndjson")
        found = verified(answer.content)
        lines = [json.loads(line) for line in answer.content.splitlines()]
        assert [line.get("event") for line in lines] == ["deploy_queued", "audit", "audit", "gate_decided", None]
        assert lines[2]["count"] == 3 and lines[2]["granted"] is False and lines[3]["by"] == account
        assert found.lines == 5 and lines[-1]["summary"]["lines"] == 4
        changed = answer.content.replace(b'"granted": false', b'"granted": true')
        assert verify_audit(changed.splitlines(keepends=True)).line == 4
        (tmp_path / "export").write_bytes(answer.content)
        words = [sys.executable, "-m", "language", "audit", "verify", str(tmp_path / "export")]
        checked = subprocess.run(words, capture_output=True, text=True, timeout=GENEROUS, check=False)
        assert checked.returncode == 0 and checked.stdout.startswith("OK: 5 lines, seq 1 to 5"), checked.stderr
        assert not checked.stderr


def _chained(store: Store) -> int:
    with store.records.reading() as connection:
        return int(connection.scalar(select(func.count()).select_from(history)) or 0)


def test_what_is_rolled_back_was_never_noted(store: Store) -> None:
    with pytest.raises(ZeroDivisionError), store.main.writing() as connection:
        note(connection, "prj_a", {"event": "deploy_live"})
        raise ZeroDivisionError
    assert move(store) == 0


def test_a_crash_between_the_two_files_writes_nothing_twice(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    for round_ in range(3):  # the outbox is empty again each time: its numbers must not begin anew
        with store.main.writing() as connection:
            for number in range(4):
                note(connection, "prj_a", {"event": "step", "n": 4 * round_ + number})
        with monkeypatch.context() as patched:
            patched.setattr("platform_api.history.mover._forget", crash)
            with pytest.raises(KeyboardInterrupt):
                move(store)
        assert move(store) == 4 and move(store) == 0
    content = b"".join(exported(store.records, "prj_a"))
    verified(content)
    assert [json.loads(line)["n"] for line in content.splitlines()[:-1]] == list(range(12))


def test_many_movers_and_writers_make_one_chain(store: Store) -> None:
    writers, each = 8, 12
    over = threading.Event()
    failures: list[BaseException] = []

    def guarded(step: Callable[[], None]) -> threading.Thread:
        def run() -> None:
            try:
                step()
            except BaseException as error:
                failures.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        return thread

    def write(writer: int) -> None:
        for number in range(each):
            with store.main.writing() as connection:
                note(connection, f"prj_{writer % 2}", {"event": "step", "writer": writer, "n": number})
                time.sleep(random.random() * 0.003)  # later numbers are committed first
            append(store, f"prj_{writer % 2}", record())

    def carry() -> None:
        while not over.is_set():
            move(store)

    movers = [guarded(carry) for _ in range(3)]
    for thread in [guarded(lambda writer=writer: write(writer)) for writer in range(writers)]:
        thread.join()
    until(lambda: not _noted(store) or bool(failures))
    over.set()
    for thread in movers:
        thread.join()
    assert not failures
    for project in range(2):
        content = b"".join(exported(store.records, f"prj_{project}"))
        verified(content)
        lines = [json.loads(line) for line in content.splitlines()[:-1]]
        assert sum(line["event"] == "audit" for line in lines) == writers // 2 * each
        for writer in range(project, writers, 2):
            assert [line["n"] for line in lines if line.get("writer") == writer] == list(range(each))


def _noted(store: Store) -> int:
    with store.main.reading() as connection:
        return int(connection.scalar(select(func.count()).select_from(history_outbox)) or 0)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.dictionaries(TEXTS, TEXTS | st.integers() | st.none(), max_size=3), max_size=5), st.data())
def test_whatever_is_noted_verifies_and_any_change_is_found(
    sqlite_store: Store, events: list[dict[str, Any]], data: st.DataObject
) -> None:
    project = new_id("prj")
    with sqlite_store.main.writing() as connection:
        for event in events:
            note(connection, project, {"event": "any", "fields": event})
    move(sqlite_store)
    content = b"".join(exported(sqlite_store.records, project))
    assert verified(content).lines == len(events) + 1
    at = round(data.draw(st.floats(0, 1)) * (len(content) - 2))
    other = bytes([(content[at] + data.draw(st.integers(1, 255))) % 256])
    changed = verify_audit(io.BytesIO(content[:at] + other + content[at + 1 :]))
    assert not changed.ok or changed.last != verified(content).last


# ---- what is thrown away -------------------------------------------------------------------------------------------------


def test_pruning_leaves_a_checkpoint_and_what_is_young(store: Store, tmp_path: Path) -> None:
    project, moment = _stored(store), now()
    old, young = (moment - 31 * DAY) / 1000, (moment - 29 * DAY) / 1000
    append(store, project, *(record(scope=f"old{n}", ts=old) for n in range(7)))
    append(store, project, *(record(scope=f"young{n}", ts=young) for n in range(3)))
    whole = verified(b"".join(exported(store.records, project)))
    prune(store, moment)
    content = b"".join(exported(store.records, project))
    found = verified(content)
    assert (found.first.seq, found.lines) == (7, 4)
    lines = content.splitlines(keepends=True)
    assert verify_audit(lines[1:], after=found.first).ok and not verify_audit(lines[1:]).ok
    assert found.last.seq == whole.last.seq
    (tmp_path / "export").write_bytes(content)
    words = [sys.executable, "-m", "language", "audit", "verify", str(tmp_path / "export")]
    checked = subprocess.run(words, capture_output=True, text=True, timeout=GENEROUS, check=False)
    assert checked.returncode == 0 and "seq 8 to 11" in checked.stdout and "checkpoint" in checked.stderr
    prune(store, moment + 40 * DAY)
    content = b"".join(exported(store.records, project))
    found = verified(content)
    assert (found.first.seq, found.lines) == (10, 1)
    append(store, project, record(ts=moment / 1000))
    assert verified(b"".join(exported(store.records, project))).last.seq == 12


def test_no_project_fills_the_store_with_its_records(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    project = _stored(store)
    with store.main.reading() as connection:
        account = connection.execute(select(projects.c.account_id)).scalar_one()
    other = stored_project(store, account)
    for each in (project, other):
        append(store, each, *(record(scope=f"a{n}", ts=now() / 1000) for n in range(9 if each == project else 3)))
    monkeypatch.setattr(pruning, "AUDIT_RECORDS", 4)
    monkeypatch.setattr(pruning, "HISTORY_LINES", 5)
    prune(store)
    with store.records.reading() as connection:
        kept = [row.scope for row in audit_of(connection, project, granted=None, text="", before=None, limit=100)]
        assert kept == ["a8", "a7", "a6", "a5"]
        assert len(audit_of(connection, other, granted=None, text="", before=None, limit=100)) == 3
    found = verified(b"".join(exported(store.records, project)))
    assert (found.first.seq, found.lines) == (4, 6), "five lines and the summary behind a checkpoint"


def test_of_a_log_the_last_ten_thousand_lines_of_seven_days_are_kept(store: Store) -> None:
    project, moment = _stored(store), now()
    with store.records.writing() as connection:
        append_logs(connection, project, [(moment - 8 * DAY, "out", "old", None)] * 5)
        append_logs(connection, project, [(moment, "out", "young", None)] * 20)
    prune(store, moment)
    assert _numbers(store, project) == (6, 25)
    with store.records.writing() as connection:
        append_logs(connection, project, [(moment, "out", "young", None)] * 10_050)
    prune(store, moment)
    assert _numbers(store, project) == (76, 10_075)


def test_nothing_is_left_of_a_project_that_is_gone(store: Store) -> None:
    with store.records.writing() as connection:
        append_logs(connection, "prj_gone", [(now(), "out", "x", None)] * 3)
    append(store, "prj_gone", record(ts=now() / 1000))
    kept = _stored(store)
    with store.records.writing() as connection:
        append_logs(connection, kept, [(now(), "out", "x", None)] * 3)
    prune(store)
    with store.records.reading() as connection:
        assert list(connection.scalars(select(counters.c.project_id))) == [kept]
        assert set(connection.scalars(select(log_lines.c.project_id))) == {kept}
    assert _chained(store) == 0


def test_the_events_of_a_project_that_is_gone_are_erased_with_it(store: Store) -> None:
    gone = _stored(store)
    with store.main.reading() as connection:
        account = connection.execute(select(projects.c.account_id)).scalar_one()
    kept = stored_project(store, account)
    with store.main.writing() as connection:
        note(connection, gone, {"event": "gate_opened", "message": "Pay 100 to Ann?"})
        note(connection, kept, {"event": "gate_opened", "message": "Pay 100 to Bob?"})
    move(store)
    with store.main.writing() as connection:
        remove_project(connection, gone)
    prune(store)
    with store.records.reading() as connection:
        assert list(connection.scalars(select(account_events.c.project_id))) == [kept]


def _stored(store: Store) -> str:
    from platform_api.accounts.records import make_account

    with store.main.writing() as connection:
        account = make_account(connection, "owner@example.com")
    return stored_project(store, account)


def _numbers(store: Store, project: str) -> tuple[int, int]:
    with store.records.reading() as connection:
        numbers = select(func.min(log_lines.c.id), func.max(log_lines.c.id)).where(log_lines.c.project_id == project)
        row = connection.execute(numbers).one()
    return int(row[0]), int(row[1])
