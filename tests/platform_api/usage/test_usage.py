"""What projects take and what an account uses, as a runner reports it; and what a whole life of a project leaves behind."""

from __future__ import annotations

import io
import json

from deploying import API, deployed, made, ok, runner_of, until
from event_streams import events
from platform_service import Service
from sqlalchemy import select
from stored_projects import stored_project

from language import verify_audit
from platform_api.moments import DAY, MINUTE, now
from platform_api.store.tables import figures
from platform_api.usage.figures import prune_figures, take_figures
from runner.protocol import AuditRecord, Figures, LogLine


def test_what_a_runner_reports_is_shown(service: Service) -> None:
    account = service.account()
    client = service.client(service.token(account))
    with runner_of(service) as runner:
        project = deployed(client, runner)
        empty = ok(client.get(f"{API}/projects/{project}/metrics"))
        assert empty == {"items": [], "current": None}
        runner.report(Figures(project=project, memory_mb=40, cpu_seconds=1.5, disk_mb=3, requests=7, last_request_at=now()))
        runner.report(Figures(project=project, memory_mb=50, cpu_seconds=2.25, disk_mb=4, requests=9))
        body = ok(client.get(f"{API}/projects/{project}/metrics"))
        assert body["items"][-1] == body["current"] and 1 <= len(body["items"]) <= 2
        assert body["current"].pop("at").endswith(":00.000Z")
        assert body["current"] == {"memory_mb": 50, "cpu_seconds": 2.25, "disk_mb": 4, "requests": 9}
        used = ok(client.get(f"{API}/usage"))
        assert used["plan"] == "team" and used["services"]["used"] == 1 and used["projects"] == {"used": 1, "limit": 2000}
        assert used["memory_mb"] == {"used": 256, "limit": 65536} and used["packages_mb"]["used"] == 1
        assert (used["memory_taken_mb"], used["disk_mb"], used["runs"]) == (50, 4, 0)
    other = service.client(service.token(service.account("other@example.com")))
    assert other.get(f"{API}/projects/{project}/metrics").status_code == 404
    assert ok(other.get(f"{API}/usage"))["services"]["used"] == 0
    for minutes in ("0", "1441", "x"):
        assert client.get(f"{API}/projects/{project}/metrics?minutes={minutes}").status_code == 400


def test_a_sample_a_minute_is_kept_for_a_day_whatever_is_reported(service: Service) -> None:
    store = service.platform.store
    project = stored_project(store, service.account())
    moment = now()
    with store.main.writing() as connection:
        for age in (DAY + 2 * MINUTE, 5 * MINUTE, 5 * MINUTE, 0):
            wild = Figures(project=project, memory_mb=2**70, cpu_seconds=float("nan"), disk_mb=-5, requests=2**80)
            take_figures(connection, project, wild, moment - age)
        prune_figures(connection, moment)
        rows = connection.execute(select(figures)).all()
    assert len(rows) == 2
    assert (rows[0].memory_mb, rows[0].cpu_ms, rows[0].disk_mb, rows[0].requests) == (2**31 - 1, 0, 0, 2**63 - 1)


def test_the_life_of_a_project_is_one_chain_and_its_lines_reach_who_watches(service: Service) -> None:
    client = service.client(service.token(service.account()))
    with runner_of(service) as runner:
        project = made(client)
        with events(client, f"{API}/projects/{project}/logs") as log, events(client, f"{API}/events") as changes:
            ok(client.put(f"{API}/projects/{project}/secrets/STRIPE_KEY", json={"value": "hunter2hunter2"}))
            deploy = ok(client.post(f"{API}/projects/{project}/deploys"))["deploy"]["id"]
            runner.converge()
            runner.report(LogLine(project=project, at=now(), line="Serving."))
            while next(log)["data"]["line"] != "Serving.":
                pass
            record = {"ts": now() / 1000, "capability": "exec", "scope": "git", "granted": False, "origin": "program"}
            runner.report(AuditRecord(project=project, deploy=deploy, why="No matching grant found", **record))
            ok(client.post(f"{API}/projects/{project}/stop"))
            runner.converge()
            told = []
            while "stop" not in told:
                told.append(next(changes)["data"]["event"])
        assert {"deploy_asked", "deploy_live", "status"} <= set(told)

        def chained() -> list[str]:
            content = client.get(f"{API}/projects/{project}/history").content
            assert verify_audit(io.BytesIO(content)).complete and b"hunter2" not in content
            return [json.loads(line).get("event") for line in content.splitlines()]

        until(lambda: {"deploy_asked", "deploy_live", "audit", "stop"} <= set(chained()))
        assert chained()[-1] is None and "status" not in chained()
        [item] = ok(client.get(f"{API}/projects/{project}/audit?only=denied"))["items"]
        assert (item["capability"], item["scope"], item["why"]) == ("exec", "git", "No matching grant found")
