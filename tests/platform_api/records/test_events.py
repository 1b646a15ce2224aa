"""The changes of an account as a stream."""

from __future__ import annotations

import pytest
from event_streams import GENEROUS, events
from platform_service import Service
from stored_projects import stored_project

from platform_api.history.outbox import note


def tell(service: Service, project: str, event: str, *, chained: bool = True) -> None:
    with service.platform.store.main.writing() as connection:
        note(connection, project, {"event": event}, chained=chained)


def test_changes_of_all_projects_come_in_order_and_go_on_behind_the_last_one(service: Service) -> None:
    account, other = service.account(), service.account("other@example.com")
    store = service.platform.store
    first, second, foreign = stored_project(store, account), stored_project(store, account), stored_project(store, other)
    client = service.client(service.token(account))
    with events(client, "/api/v1/events") as stream:
        tell(service, first, "deploy_queued")
        tell(service, foreign, "deploy_queued")
        tell(service, second, "status", chained=False)
        tell(service, first, "deploy_live")
        found = [next(stream) for _ in range(3)]
        assert [(event["event"], event["data"]["event"], event["data"]["project_id"]) for event in found] == [
            ("change", "deploy_queued", first),
            ("change", "status", second),
            ("change", "deploy_live", first),
        ]
    with events(client, "/api/v1/events", headers={"Last-Event-ID": found[0]["id"]}) as stream:
        assert [next(stream) for _ in range(2)] == found[1:]
    with events(service.client(service.token(account, "read", project_id=second)), "/api/v1/events") as stream:
        tell(service, first, "stop")
        tell(service, second, "stop")
        assert next(stream)["data"]["project_id"] == second


def test_a_revoked_token_ends_the_stream(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform_api.event_stream.HEARTBEAT", 0.1)
    account = service.account()
    owner, watcher = service.client(service.token(account)), service.client(service.token(account, "read"))
    newest = owner.get("/api/v1/tokens").json()["items"][0]["id"]
    with watcher.stream("GET", "/api/v1/events", timeout=GENEROUS) as answer:
        lines = answer.iter_lines()
        assert next(lines) == ":"
        assert owner.delete(f"/api/v1/tokens/{newest}").status_code == 200
        assert set(lines) <= {":", ""}  # it ends


def test_events_need_the_scope_to_read(service: Service) -> None:
    account = service.account()
    assert service.client().get("/api/v1/events").status_code == 401
    assert service.client(service.token(account, "deploy")).get("/api/v1/events").status_code == 403
    answer = service.client(service.token(account)).get("/api/v1/events", headers={"Last-Event-ID": "-1"})
    assert (answer.status_code, answer.json()["code"]) == (400, "validation")
