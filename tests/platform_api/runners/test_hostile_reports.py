"""What a program writes reaches the service through its runner: no text and no number of it may stop the runner's stream."""

from __future__ import annotations

import secrets
from typing import Any

import httpx
from deploying import API, deployed, ok, refused, runner_of, runner_token
from fake_runner import FakeRunner
from platform_service import Service

from language import MOST_GATE_OPTIONS
from platform_api.moments import DAY, now
from runner.protocol import (
    AuditRecord,
    Batch,
    Figures,
    GateClosed,
    GateOpened,
    LogLine,
    PhaseReport,
    PollRequest,
    ReportAnswer,
    ReportRequest,
    RunnerState,
    RunReport,
    dumps,
    loads,
    to_json,
)

TEXTS = ["a\0b", "\ud800", secrets.token_hex(35_000)]
NUMBERS = [2**63 - 1, -(2**63), 2**31, -(2**31) - 1]
FLOATS = [1e308, -1e308, 1e300]


def hostile(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each item once for each extreme of each of its fields."""
    found = []
    for item in items:
        for name, value in item.items():
            if name == "type" or isinstance(value, bool):
                continue
            extremes: list[Any] = TEXTS if isinstance(value, str) else NUMBERS if isinstance(value, int) else FLOATS
            extremes = [[text] for text in TEXTS] if isinstance(value, list) else extremes
            found += [item | {name: extreme} for extreme in extremes]
    return found


def report(runner: FakeRunner, stream: str, items: list[dict[str, Any]]) -> ReportAnswer:
    body = dumps(ReportRequest(instance=runner.instance, batches=(Batch(stream=stream, items=tuple(enumerate(items, 1))),)))
    answer = runner.ask("report", body)
    assert answer.status_code == 200, answer.text
    return loads(ReportAnswer, answer.content)


def everything(client: httpx.Client, project: str, job: str) -> None:
    """Whatever shows what was reported still does."""
    for path in ("projects", "approvals", "usage", f"projects/{project}", f"projects/{project}/logs/tail"):
        ok(client.get(f"{API}/{path}"))
    for path in ("audit", "approvals", "metrics", "audit/declared"):
        ok(client.get(f"{API}/projects/{project}/{path}"))
    ok(client.get(f"{API}/projects/{job}/runs"))
    assert client.get(f"{API}/projects/{project}/history").status_code == 200


def test_no_text_and_no_number_stops_a_stream(service: Service) -> None:
    client = service.signed_in()
    with runner_of(service) as runner:
        project, job = deployed(client, runner), deployed(client, runner, "job")
        run = ok(client.post(f"{API}/projects/{job}/run"))["run"]["id"]
        runner.poll()
        records = [
            to_json(LogLine(project=project, at=now(), line="x", run="r")),
            to_json(
                AuditRecord(project=project, ts=1.5, capability="net", granted=True, scope="s", origin="o", why="w", deploy="d")
            ),
        ]
        records.append(
            to_json(AuditRecord(project=project, ts=1.5, capability="net", granted=True, scope="s", witness="runner"))
        )
        states = [
            to_json(Figures(project=project, memory_mb=1, cpu_seconds=1.5, disk_mb=1, requests=1, last_request_at=now())),
            to_json(
                GateOpened(project=project, gate="g", kind="ask", message="m", left_ms=DAY, options=("a",), deploy="d", run="r")
            ),
            to_json(GateClosed(project=project, gate="g", outcome="answered", channel="c", value="v")),
            to_json(RunReport(project=job, run=run, attempt=1, status="running", output="o", exit_code=1, deploy="d")),
            to_json(PhaseReport(project=project, generation=1, phase="running", detail="d", engine="e")),
        ]
        for stream, items in (("records", hostile(records)), ("state", hostile(states))):
            answer = report(runner, stream, items)
            assert answer.acknowledged == {stream: len(items)}
            everything(client, project, job)
        many = {"options": ["a"] * (MOST_GATE_OPTIONS + 1), "gate": "many"}
        question = to_json(GateOpened(project=project, gate="most", kind="ask", message="m", left_ms=DAY))
        most = question | {"options": ["a"] * MOST_GATE_OPTIONS}
        answer = report(runner, "questions", [most, question | many])
        assert [(each.sequence, each.reason) for each in answer.refused] == [(2, "a gate has at most 100 options")]
        shown = {item["gate_id"]: len(item["options"]) for item in ok(client.get(f"{API}/approvals"))["items"]}
        assert shown["most"] == MOST_GATE_OPTIONS and "many" not in shown
        end = to_json(RunReport(project=job, run=run, attempt=1, status="failed", output="a\0b\ud800", exit_code=2**40))
        report(runner, "end", [end, end | {"exit_code": 1}])
        [shown] = ok(client.get(f"{API}/projects/{job}/runs"))["items"]
        assert (shown["status"], shown["exit_code"]) == ("failed", 1)


def test_a_number_that_cannot_be_kept_is_refused(service: Service) -> None:
    with runner_of(service) as runner:
        item = to_json(LogLine(project="p", at=1, line="x"))
        batch = Batch(stream="numbers", items=((2**63, item),))
        body = dumps(ReportRequest(instance=runner.instance, batches=(batch,)))
        assert refused(runner.ask("report", body)) == (400, "validation")


def test_an_instance_that_cannot_be_kept_is_refused(service: Service) -> None:
    runner = FakeRunner(service.url, runner_token(service), "one")
    for instance in ("", *TEXTS):
        state = RunnerState(id="one", instance=instance)
        assert refused(runner.ask("poll", dumps(PollRequest(runner=state, wait=0)))) == (400, "validation")
    state = RunnerState(id="one", instance=runner.instance, host="a\0b\ud800", capacity_mb=2**62)
    assert runner.ask("poll", dumps(PollRequest(runner=state, wait=0))).status_code == 200
    runner.kill()
