"""Runners: their tokens, what they are told, what is stored of their reports, where projects are placed."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from deploying import API, WEB, deployed, detail, made, ok, refused, runner_of, runner_token, status, until
from fake_runner import ENGINE, FakeRunner
from hypothesis import given
from hypothesis import strategies as st
from platform_service import Service
from sqlalchemy import select, update

from platform_api.moments import now
from platform_api.runners.forgetting import forget_runner
from platform_api.runners.placement import Candidate, choose
from platform_api.store.tables import erasures, log_lines, projects, runners
from runner.protocol import (
    AuditRecord,
    Batch,
    Figures,
    GateOpened,
    LogLine,
    PhaseReport,
    PollRequest,
    ReportRequest,
    RunnerState,
    batch,
    dumps,
)

#: When the records were made, in seconds since 1970. What is old is deleted by the service's upkeep.
MOMENT = now() // 1000 + 0.5


def lines_of(client: httpx.Client, project: str) -> list[str]:
    return [item["line"] for item in ok(client.get(f"{API}/projects/{project}/logs/tail"))["items"]]


def test_without_a_runner_token_nothing_is_told(service: Service) -> None:
    account = service.signed_in().headers["Authorization"].split()[1]
    token = runner_token(service)
    for given_ in (None, account, token[:-1], "lr_x"):
        client = service.client(given_)
        for method, path in [("POST", "poll"), ("POST", "report"), ("GET", "packages/sha256:x"), ("GET", "status")]:
            answer = client.request(method, f"/runner/v1/{path}")
            assert refused(answer) == (401, "unauthorized"), path
    assert service.client(token).get(f"{API}/me").status_code == 401
    assert service.client(token).get("/runner/v1/status").json()["connected"] is False


def test_a_new_token_ends_the_one_before(service: Service) -> None:
    first, second = runner_token(service), runner_token(service)
    assert service.client(first).get("/runner/v1/status").status_code == 401
    assert service.client(second).get("/runner/v1/status").status_code == 200


def test_a_token_is_bound_to_its_runner(service: Service) -> None:
    client = service.client(runner_token(service, "one"))
    state = RunnerState(id="two", instance="i")
    assert refused(client.post("/runner/v1/poll", content=dumps(PollRequest(runner=state)))) == (403, "forbidden")
    for body in (b"", b"[]", b'{"runner": 1}', b'{"runner": {"id": "one"}}'):
        assert refused(client.post("/runner/v1/poll", content=body)) == (400, "validation")
    state = RunnerState(id="one", instance="i")
    for cursor in ("x", "-1", "9" * 30, "٣"):
        asked = dumps(PollRequest(runner=state, cursor=cursor))
        assert refused(client.post("/runner/v1/poll", content=asked)) == (400, "validation")


def test_the_second_runner_with_one_id_is_refused(service: Service, tmp_path: Path) -> None:
    with runner_of(service, folder=tmp_path) as first:
        token = first._client.headers["Authorization"].split()[1]
        second = FakeRunner(service.url, token, "one")
        asked = dumps(PollRequest(runner=RunnerState(id="one", instance=second.instance)))
        assert refused(second.ask("poll", asked)) == (409, "conflict")
        assert refused(second.ask("report", dumps(ReportRequest(instance=second.instance)))) == (409, "conflict")
        # The same folder is the same runner: it was restarted.
        first.spool()
        again = FakeRunner(service.url, token, "one", tmp_path)
        again.poll()
        again.kill()
        # After a minute of silence another folder takes over.
        with service.platform.store.main.writing() as connection:
            connection.execute(update(runners).values(seen_at=runners.c.seen_at - 61_000))
        second.poll()
        assert refused(first.ask("report", dumps(ReportRequest(instance=first.instance)))) == (409, "conflict")
        second.kill()


def test_a_poll_waits_for_a_change(service: Service) -> None:
    client = service.signed_in()
    with runner_of(service) as runner:
        project = deployed(client, runner)
        runner.poll()
        began = time.monotonic()
        assert runner.poll(wait=1).projects == () and time.monotonic() - began >= 0.9
        told: list[Any] = []
        waiting = threading.Thread(target=lambda: told.append(runner.poll(wait=30)))
        waiting.start()
        ok(client.post(f"{API}/projects/{project}/deploys"))
        waiting.join()
        assert [spec.project for spec in told[0].projects] == [project]


def test_what_a_deploy_tells_its_runner(service: Service) -> None:
    client = service.signed_in()
    with runner_of(service) as runner:
        project = made(client, source='require secret("KEY")\nrequire file.write("notes/*")\n' + WEB)
        ok(client.put(f"{API}/projects/{project}/env/COLOUR", json={"value": "red"}))
        ok(client.put(f"{API}/projects/{project}/env/KEY", json={"value": "s3cret"}))
        answer = ok(client.post(f"{API}/projects/{project}/deploys"))
        [spec] = runner.poll().projects
        assert (spec.project, spec.generation, spec.desired, spec.kind) == (project, 1, "up", "web")
        assert spec.url == answer["url"] and spec.port is not None and spec.limits.memory_mb == 256
        deploy = spec.deploy
        assert deploy is not None and deploy.id == answer["deploy"]["id"]
        assert (deploy.variables, deploy.secrets) == ({"COLOUR": "red"}, {"KEY": "s3cret"})
        assert deploy.ceiling == answer["ceiling"]["text"] and deploy.writes_data is True
        files = runner.package(deploy.package_hash)
        assert files["main.lang"].endswith(WEB.encode())
        with runner_of(service, "two") as other:
            found = other._client.get(f"/runner/v1/packages/{deploy.package_hash}")
            assert found.status_code == 404, "a package of another runner's project"
            other.report(
                PhaseReport(project=project, generation=1, phase="running"), LogLine(project=project, at=now(), line="x")
            )
            assert len(other.refused) == 2
        assert status(client, project) == "deploying" and lines_of(client, project) == []


def test_the_version_that_a_deploy_went_live_with_is_told_to_the_runner_that_follows(service: Service) -> None:
    client = service.signed_in()
    with runner_of(service) as runner:
        deployed(client, runner)
        [spec] = runner.poll().projects
        assert spec.deploy is not None and (spec.generation, spec.deploy.engine) == (1, ENGINE)
        assert runner.poll().projects == ()


def test_reports_are_stored_once_whatever_is_sent_again(service: Service) -> None:
    client = service.signed_in()
    with runner_of(service) as runner:
        project = deployed(client, runner)
        items = tuple(LogLine(project=project, at=now(), line=f"line {number}") for number in range(40))
        runner.spool(*items[:20])
        runner.send(acknowledge=False)
        runner.spool(*items[20:])
        clients = [threading.Thread(target=lambda: runner.send(acknowledge=False)) for _ in range(4)]
        for each in clients:
            each.start()
        for each in clients:
            each.join()
        runner.send()
        assert lines_of(client, project) == [item.line for item in items]


def test_a_batch_without_items_asks_what_is_stored(service: Service) -> None:
    """A runner that lost an answer knows by that what has arrived."""
    client = service.signed_in()
    with runner_of(service) as runner:
        project = deployed(client, runner)

        def acknowledged(*batches: Batch) -> Any:
            report = ReportRequest(instance=runner.instance, batches=batches)
            return ok(runner.ask("report", dumps(report)))["acknowledged"]

        line, figures = LogLine(project=project, at=now(), line="x"), Figures(project=project, memory_mb=1)
        assert acknowledged(batch("lines", 7, [line]), batch("seen", 9, [figures])) == {"lines": 7, "seen": 9}
        found = acknowledged(*(Batch(stream=name) for name in ("lines", "seen", "other")))
        assert found == {"lines": 7, "seen": 9, "other": 0}


def test_what_cannot_be_taken_is_acknowledged_and_named(service: Service) -> None:
    client = service.signed_in()
    with runner_of(service) as runner:
        project = deployed(client, runner)
        items: list[tuple[int, dict[str, Any]]] = [
            (1001, {"type": "sudo"}),
            (1002, {"type": "phase", "project": project}),
            (1003, {"type": "phase", "project": "prj_x", "generation": 1, "phase": "running"}),
            (1009, {"type": "phase", "project": project, "generation": 1, "phase": "sleeping"}),
        ]
        request = ReportRequest(instance=runner.instance, batches=(Batch(stream="state", items=tuple(items)),))
        answer = runner.ask("report", dumps(request)).json()
        assert answer["acknowledged"] == {"state": 1009}
        assert [each["sequence"] for each in answer["refused"]] == [1001, 1002, 1003]
        assert status(client, project) == "sleeping"
        mixed = Batch(
            stream="other",
            items=(
                *batch("other", 1, [LogLine(project=project, at=now(), line="x")]).items,
                *batch("other", 2, [PhaseReport(project=project, generation=1, phase="running")]).items,
            ),
        )
        backwards = Batch(stream="other", items=((2, {"type": "log"}), (1, {"type": "log"})))
        for wrong in (mixed, backwards):
            asked = dumps(ReportRequest(instance=runner.instance, batches=(wrong,)))
            assert refused(runner.ask("report", asked)) == (400, "validation")


def test_logs_and_audit_arrive_where_they_are_shown(service: Service) -> None:
    client = service.signed_in()
    with runner_of(service) as runner:
        project = deployed(client, runner)
        runner.report(
            LogLine(project=project, at=now(), line="out\0\ud800", stream="err"),
            AuditRecord(project=project, ts=MOMENT, capability="net", scope="a.b", granted=False, origin="program", why="no"),
        )
        assert len(lines_of(client, project)) == 1
        [record] = ok(client.get(f"{API}/projects/{project}/audit"))["items"]
        assert (record["capability"], record["scope"], record["granted"], record["ts"]) == ("net", "a.b", False, MOMENT)


def test_a_forgotten_runner_frees_its_projects_and_owes_the_erasure(service: Service, tmp_path: Path) -> None:
    client = service.signed_in()
    with runner_of(service, "one", tmp_path) as first:
        up, gone = deployed(client, first), deployed(client, first)
        ok(client.delete(f"{API}/projects/{gone}"))
        generation = first.projects[up].generation
        assert forget_runner(service.platform.store, "one") == 2
        assert client.get(f"{API}/projects/{gone}").status_code == 404
        answer = first.ask("report", dumps(ReportRequest(instance=first.instance)))
        assert answer.status_code == 401
    assert detail(client, up)["project"]["status"] == "waking"
    with runner_of(service, "two") as second:
        until(lambda: (second.poll(), up in second.projects)[1])
        assert second.projects[up].generation == generation + 2
        second.converge()
        assert status(client, up) == "running"
        # The first comes back with a new token: it erases what it has, and says nothing else about the project.
        with runner_of(service, "one", tmp_path) as first:
            assert {spec.project: spec.desired for spec in first.projects.values()} == {up: "erased", gone: "erased"}
            first.converge()
            assert first.refused == [] and status(client, up) == "running"
            again = FakeRunner(service.url, first._client.headers["Authorization"].split()[1], "one", tmp_path)
            assert again.poll().projects == ()
            again.kill()


def test_a_runner_is_forgotten_while_its_reports_arrive(service: Service) -> None:
    """Each report is taken over before its project is free, or refused: no gate stays open, and the project is free."""
    client, store = service.signed_in(), service.platform.store
    for number in range(3):
        with runner_of(service) as runner:
            mine = [deployed(client, runner, source='approve "Go?"\nsleep(1)\n', kind="worker") for _ in range(3)]
            generations = {project: runner.projects[project].generation for project in mine}
            started = threading.Barrier(len(mine) + 1)
            answers: dict[str, list[int]] = {project: [] for project in mine}

            def keep_reporting(project: str) -> None:
                for at in range(1, 10_000):
                    gate = GateOpened(
                        project=project,
                        gate=f"{project}-{at}",
                        kind="approve",
                        message="?",
                        left_ms=2**40,
                    )
                    phase = PhaseReport(project=project, generation=generations[project], phase="running")  # noqa: B023
                    line = LogLine(project=project, at=now(), line="x")
                    batches = (batch(f"s{project}", 2 * at, [gate, phase]), batch(f"r{project}", at, [line]))
                    asked = dumps(ReportRequest(instance=runner.instance, batches=batches))
                    answers[project].append(runner.ask("report", asked).status_code)  # noqa: B023
                    if at == 2:
                        started.wait()  # noqa: B023
                    if answers[project][-1] != 200:  # noqa: B023
                        return

            reporting = [threading.Thread(target=keep_reporting, args=(project,)) for project in mine]
            for thread in reporting:
                thread.start()
            started.wait()
            assert forget_runner(store, "one") == len(mine)
            for thread in reporting:
                thread.join()
        assert {answer for each in answers.values() for answer in each} <= {200, 401, 409}, f"round {number}"
        assert ok(client.get(f"{API}/approvals"))["items"] == []
        assert {status(client, project) for project in mine} == {"waking"}
        with store.main.reading() as connection:
            owed = select(erasures.c.project_id).where(erasures.c.runner_id == "one")
            assert set(connection.scalars(owed)) >= set(mine)
            homes = select(projects.c.home_runner).where(projects.c.id.in_(mine))
            assert set(connection.scalars(homes)) == {None}
        for project in mine:
            ok(client.post(f"{API}/projects/{project}/stop"))


def test_a_runner_without_isolation_takes_projects_of_administrators_alone(service: Service) -> None:
    someone = service.signed_in()
    admin = service.signed_in("admin@example.com", admin=True)
    projects = [made(someone), made(admin)]
    runner = FakeRunner(service.url, runner_token(service), "one")
    runner.isolation = {"sandbox": False}
    runner.poll()
    for client, project in zip((someone, admin), projects):
        ok(client.post(f"{API}/projects/{project}/deploys"))
    runner.poll()
    assert set(runner.projects) == {projects[1]}
    assert "waits for one" in detail(someone, projects[0])["project"]["status_reason"]
    runner.kill()


CANDIDATES = st.lists(
    st.builds(Candidate, st.text("abc", min_size=1, max_size=3), st.integers(0, 2000), st.integers(0, 2000), st.booleans()),
    max_size=5,
    unique_by=lambda candidate: candidate.id,
)


@given(CANDIDATES, st.integers(1, 1000), st.booleans())
def test_the_choice_of_a_runner(candidates: list[Candidate], memory_mb: int, administrator: bool) -> None:
    chosen = choose(candidates, memory_mb, administrator=administrator)
    room = {each.id: each.capacity_mb - each.promised_mb for each in candidates if each.isolates or administrator}
    fitting = [runner for runner, free in room.items() if free >= memory_mb]
    assert (chosen is None) == (not fitting)
    if chosen is not None:
        assert chosen in fitting and room[chosen] == max(room[runner] for runner in fitting)
        assert choose(reversed(candidates), memory_mb, administrator=administrator) == chosen


def test_a_project_waits_until_there_is_room(service: Service) -> None:
    client = service.signed_in()
    with runner_of(service, capacity_mb=300) as runner:
        first, second = deployed(client, runner), made(client)
        ok(client.post(f"{API}/projects/{second}/deploys"))
        runner.converge()
        assert second not in runner.projects
        ok(client.post(f"{API}/projects/{first}/stop"))
        until(lambda: (runner.converge(), second in runner.projects)[1])
        runner.converge()
        assert status(client, second) == "running" and status(client, first) == "stopped"


@pytest.mark.parametrize("name", ["", "Upper", "a_b", "-a", "a" * 64, "a/b"])
def test_an_id_that_no_runner_has(service: Service, name: str) -> None:
    from platform_api.refusals import Refusal

    with pytest.raises(Refusal, match="lower-case"):
        runner_token(service, name)


def test_log_lines_of_many_projects_in_one_stream(service: Service) -> None:
    client = service.signed_in()
    with runner_of(service) as runner:
        projects = [deployed(client, runner, name=name) for name in ("a", "b")]
        runner.report(*(LogLine(project=projects[number % 2], at=now(), line=str(number)) for number in range(1200)))
        with service.platform.store.records.reading() as connection:
            for at, project in enumerate(projects):
                query = select(log_lines.c.line).where(log_lines.c.project_id == project).order_by(log_lines.c.id)
                assert connection.execute(query).scalars().all() == [str(number) for number in range(at, 1200, 2)]
