"""Deploys over HTTP, with a runner that is driven step by step."""

from __future__ import annotations

import threading
from pathlib import Path

import httpx
import pytest
from deploying import API, JOB, WEB, deployed, detail, made, ok, refused, runner_of, status
from fake_runner import CRASHED, ENGINE
from platform_service import Service
from sqlalchemy import func, select
from stored_projects import stored_deploy, stored_project

from platform_api.accounts.records import make_account
from platform_api.packages import storage
from platform_api.packages.storage import KEPT
from platform_api.plans.budgets import stored_used
from platform_api.store import tables
from platform_api.store.store import Store

CRASHES = 'raise "boom"\n'


def deploys_of(client: httpx.Client, project: str) -> list[tuple[int, str]]:
    return [(deploy["number"], deploy["status"]) for deploy in detail(client, project)["deploys"]]


def test_a_deploy_goes_live(service: Service) -> None:
    client = service.signed_in()
    with runner_of(service) as runner:
        project = made(client)
        assert status(client, project) == "created"
        answer = ok(client.post(f"{API}/projects/{project}/deploys"))
        assert set(answer) == {"deploy", "ceiling", "missing_secrets", "problems", "url", "logs"}
        assert answer["deploy"]["status"] == "queued" and answer["deploy"]["number"] == 1
        assert answer["deploy"]["ceiling"] == answer["ceiling"] and answer["ceiling"]["text"] == "serve=8080,stdout,time"
        assert answer["logs"] == f"{service.url}{API}/projects/{project}/logs" and answer["url"].startswith("http://127.0.0.1:")
        assert status(client, project) == "deploying"
        runner.converge()
        shown = ok(client.get(f"{API}/projects/{project}/deploys/{answer['deploy']['id']}"))
        assert set(shown) == {"deploy", "ceiling"} and shown["deploy"]["status"] == "live"
        assert shown["deploy"]["started_at"] <= shown["deploy"]["finished_at"]
        record = detail(client, project)["project"]
        assert (record["status"], record["current_deploy"], record["engine"]) == ("running", answer["deploy"]["id"], ENGINE)


@pytest.mark.parametrize("body", [b"", b"{}", b'{"unknown": 1}'])
def test_no_body_deploys_the_current_package(service: Service, body: bytes) -> None:
    client = service.signed_in()
    project = made(client)
    before = detail(client, project)["package"]["package"]
    answer = ok(client.post(f"{API}/projects/{project}/deploys", content=body))
    assert answer["deploy"]["package_hash"] == before and answer["deploy"]["created_via"] == "token"
    assert detail(client, project)["project"]["status_reason"] == "No runner with room for it is connected: it waits for one."


def test_a_new_package_or_entry_file(service: Service) -> None:
    client = service.signed_in()
    project = made(client)
    changed = WEB.replace("hello", "new")
    first = ok(client.post(f"{API}/projects/{project}/deploys", json={"source": changed, "entry": "ignored.lang"}))
    files = ok(client.get(f"{API}/projects/{project}/package"))
    assert [file["content"] for file in files["files"]] == [changed]
    assert files["package"] == first["deploy"]["package_hash"]
    sent = [{"path": "app.lang", "content": "let broken be", "encoding": "utf8"}, {"path": "a.txt", "content": "x"}]
    second = ok(client.post(f"{API}/projects/{project}/deploys", json={"files": sent, "entry": "app.lang", "source": WEB}))
    assert second["deploy"]["entry"] == "app.lang" and detail(client, project)["project"]["entry"] == "app.lang"
    assert deploys_of(client, project) == [(2, "queued"), (1, "superseded")]
    refusal = client.post(f"{API}/projects/{project}/deploys", json={"source": "let x be"})
    assert refused(refusal) == (400, "validation") and refusal.json()["details"]["errors"][0]["line"] == 1
    assert deploys_of(client, project) == [(2, "queued"), (1, "superseded")]


def test_a_failed_deploy_leaves_the_one_before(service: Service) -> None:
    client = service.signed_in()
    with runner_of(service) as runner:
        project = deployed(client, runner)
        live = detail(client, project)["project"]["current_deploy"]
        answer = ok(client.post(f"{API}/projects/{project}/deploys", json={"source": CRASHES + WEB}))
        assert status(client, project) == "deploying"
        runner.converge()
        shown = ok(client.get(f"{API}/projects/{project}/deploys/{answer['deploy']['id']}"))["deploy"]
        assert (shown["status"], shown["error"]) == ("failed", CRASHED)
        record = detail(client, project)["project"]
        assert (record["status"], record["current_deploy"]) == ("running", live)
        runner.converge()  # is told to keep the one before
        assert status(client, project) == "running" and runner.projects[project].deploy.id == live


def test_a_first_deploy_that_fails(service: Service) -> None:
    client = service.signed_in()
    with runner_of(service) as runner:
        project = deployed(client, runner, source=CRASHES + WEB)
        record = detail(client, project)["project"]
        assert (record["status"], record["status_reason"]) == ("failed", CRASHED)
        runner.converge()
        assert runner.projects[project].desired == "down" and status(client, project) == "failed"
        assert ok(client.post(f"{API}/projects/{project}/stop")) == {"ok": True, "status": "failed"}
        ok(client.post(f"{API}/projects/{project}/deploys", json={"source": WEB}))
        runner.converge()
        assert status(client, project) == "running"


def test_a_late_report_changes_nothing(service: Service) -> None:
    client = service.signed_in()
    with runner_of(service) as runner:
        project = made(client)
        ok(client.post(f"{API}/projects/{project}/deploys"))
        runner.poll()
        runner.phase(project, "starting")
        late = runner.projects[project].generation
        assert deploys_of(client, project) == [(1, "starting")]
        ok(client.post(f"{API}/projects/{project}/deploys"))
        runner.phase(project, "running", generation=late)
        assert deploys_of(client, project) == [(2, "queued"), (1, "superseded")] and status(client, project) == "deploying"
        assert ok(client.post(f"{API}/projects/{project}/stop")) == {"ok": True, "status": "stopping"}
        runner.phase(project, "running", generation=late + 1)
        assert status(client, project) == "stopping" and deploys_of(client, project)[0] == (2, "cancelled")
        runner.converge()
        assert status(client, project) == "stopped"
        assert ok(client.post(f"{API}/projects/{project}/stop")) == {"ok": True, "status": "stopped"}


def test_stopping_what_no_runner_has_is_done_at_once(service: Service) -> None:
    client = service.signed_in()
    project = made(client)
    assert ok(client.post(f"{API}/projects/{project}/stop")) == {"ok": True, "status": "created"}
    ok(client.post(f"{API}/projects/{project}/deploys"))
    assert ok(client.post(f"{API}/projects/{project}/stop")) == {"ok": True, "status": "stopped"}
    assert deploys_of(client, project) == [(1, "cancelled")]


def test_deleting_waits_for_the_runner(service: Service) -> None:
    client = service.signed_in()
    with runner_of(service) as runner:
        project = deployed(client, runner)
        for _ in range(2):
            assert ok(client.delete(f"{API}/projects/{project}")) == {"ok": True, "status": "deleting"}
        assert status(client, project) == "deleting"
        for path in ("deploys", "stop", "run"):
            assert refused(client.post(f"{API}/projects/{project}/{path}")) == (409, "conflict")
        runner.converge()
        assert client.get(f"{API}/projects/{project}").status_code == 404
        assert runner.report() is not None and runner.refused == []


def test_two_deploys_at_once_leave_one_on_its_way(service: Service) -> None:
    client = service.signed_in()
    project = made(client)
    answers: list[httpx.Response] = []
    clients = [service.client(client.headers["Authorization"].split()[1]) for _ in range(6)]

    def ask(one: httpx.Client) -> None:
        answers.append(one.post(f"{API}/projects/{project}/deploys"))

    threads = [threading.Thread(target=ask, args=(one,)) for one in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [answer.status_code for answer in answers] == [200] * 6
    assert sorted(answer.json()["deploy"]["number"] for answer in answers) == [1, 2, 3, 4, 5, 6]
    assert deploys_of(client, project) == [(6, "queued"), *((number, "superseded") for number in (5, 4, 3, 2, 1))]


def test_a_budget_holds_for_deploys_at_once(service: Service) -> None:
    """The free plan allows five services: of seven that are asked for at once, five are queued."""
    client = service.signed_in(plan="free")
    projects = [made(client, name=f"s{number}") for number in range(7)]
    answers: list[httpx.Response] = []
    clients = [service.client(client.headers["Authorization"].split()[1]) for _ in projects]

    def ask(one: httpx.Client, project: str) -> None:
        answers.append(one.post(f"{API}/projects/{project}/deploys"))

    threads = [threading.Thread(target=ask, args=each) for each in zip(clients, projects)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answer.status_code for answer in answers) == [200] * 5 + [409] * 2
    assert {answer.json()["code"] for answer in answers if answer.status_code == 409} == {"plan_limit"}


def test_above_the_plan(service: Service) -> None:
    client = service.signed_in(plan="free")
    project = made(client, source='require exec("ls")\n' + WEB)
    answer = client.post(f"{API}/projects/{project}/deploys")
    assert refused(answer) == (409, "plan_limit") and "line 1" in answer.json()["error"]
    assert answer.json()["error"] == detail(client, project)["blocked"]


def test_an_owner_narrows_the_ceiling_and_a_person_widens_it(service: Service) -> None:
    account = service.account()
    client = service.client(service.token(account))
    machine = service.client(service.token(account, "read", "deploy"))
    project = made(client, source='require net("*.example.com")\nrequire random\n' + WEB)
    deploy = f"{API}/projects/{project}/deploys"
    whole = ok(client.post(deploy))["ceiling"]["text"]
    narrow = ok(machine.post(deploy, json={"ceiling": "serve=8080,stdout,net=api.example.com,exec"}))["ceiling"]
    assert narrow["text"] == "serve=8080,stdout,net=api.example.com"
    assert [(item["capability"], item["line"]) for item in narrow["items"]] == [("serve", 3), ("stdout", None), ("net", 1)]
    assert ok(machine.post(deploy))["ceiling"] == narrow, "a deploy that says nothing keeps what was taken away"
    assert ok(machine.post(deploy, json={"ceiling": "serve,stdout"}))["ceiling"]["text"] == "serve=8080,stdout"
    for wider in ("", "serve,stdout,random"):
        refusal = machine.post(deploy, json={"ceiling": wider})
        assert refused(refusal) == (403, "forbidden") and refusal.json()["details"] == {"scope": "approve"}
    assert ok(client.post(deploy, json={"ceiling": ""}))["ceiling"]["text"] == whole
    assert refused(client.post(deploy, json={"ceiling": "sudo"})) == (400, "validation")


def test_what_an_owner_took_away_does_not_come_back_by_way_of_a_smaller_program(service: Service) -> None:
    account = service.account()
    client = service.client(service.token(account))
    machine = service.client(service.token(account, "read", "deploy"))
    whole = 'require net("*.example.com")\nrequire random\n' + WEB
    project = made(client, source=whole)
    deploy = f"{API}/projects/{project}/deploys"
    kept = ok(client.post(deploy, json={"ceiling": "serve,stdout,time,random"}))["ceiling"]["text"]
    for given in ("", "serve,stdout,time,random,net"):
        small = machine.post(deploy, json={"source": WEB, "ceiling": given})
        assert ok(small)["ceiling"]["text"] == "serve=8080,stdout,time", "nothing of this program was taken away"
        assert ok(machine.post(deploy, json={"source": whole}))["ceiling"]["text"] == kept
    ok(machine.post(deploy, json={"source": WEB, "ceiling": "exec"}))
    nothing = ok(machine.post(deploy, json={"source": whole}))["ceiling"]["text"]
    assert nothing == "none", "what two ceilings have in common may be nothing, which is not everything"


def test_stopping_the_deploy_of_an_owner_does_not_bring_back_what_it_took_away(service: Service) -> None:
    account = service.account()
    client = service.client(service.token(account))
    machine = service.client(service.token(account, "read", "deploy"))
    whole, small = "random,serve=8080,stdout,time", "serve=8080,stdout"
    with runner_of(service) as runner:
        project = deployed(client, runner, source="require random\n" + WEB)
        place = f"{API}/projects/{project}"
        [first] = detail(client, project)["deploys"]
        hook = ok(machine.post(f"{place}/hook"))["url"]

        def asked(one: httpx.Client, **body: object) -> str:
            return str(ok(one.post(f"{place}/deploys", json=body))["ceiling"]["text"])

        def stop() -> None:
            ok(machine.post(f"{place}/stop"))
            assert deploys_of(client, project)[0][1] == "cancelled"

        assert asked(client) == whole
        assert asked(client, ceiling=small) == small
        stop()
        assert asked(machine) == small, "it was queued"
        runner.poll()
        runner.phase(project, "starting")
        assert deploys_of(client, project)[0][1] == "starting"
        stop()
        assert asked(machine, apply=True) == small, "it was starting"
        stop()
        assert ok(machine.post(f"{place}/deploys/{first['id']}/rollback"))["ceiling"]["text"] == small
        stop()
        ok(service.client().post(hook))
        assert detail(client, project)["deploys"][0]["ceiling"]["text"] == small
        stop()
        assert ok(machine.post(f"{place}/rehearsals", json={}))["rehearsal"]["ceiling"] == small
        for wider in ("", "serve,stdout,random"):
            assert refused(machine.post(f"{place}/deploys", json={"ceiling": wider})) == (403, "forbidden")

        assert asked(client, ceiling="") == whole
        stop()
        assert asked(machine) == small, "a wider ceiling of a deploy that was stopped does not count"
        assert asked(client, ceiling="") == whole
        assert asked(machine) == whole
        runner.converge()
        assert deploys_of(client, project)[0][1] == "live"
        assert asked(machine) == whole
        stop()
        assert asked(machine) == whole, "what was taken away before a person widened the ceiling binds no more"


def test_a_newer_deploy_that_fails_does_not_bring_back_what_an_owner_took_away(service: Service) -> None:
    account = service.account()
    client = service.client(service.token(account))
    machine = service.client(service.token(account, "read", "deploy"))
    source, whole, small = "require random\n" + WEB, "random,serve=8080,stdout,time", "serve=8080,stdout"
    with runner_of(service) as runner:
        project = deployed(client, runner, source=source)

        def asked(one: httpx.Client, **body: object) -> str:
            return str(ok(one.post(f"{API}/projects/{project}/deploys", json=body))["ceiling"]["text"])

        assert asked(client, ceiling=small) == small
        assert asked(machine, source=CRASHES + source) == small
        runner.converge()
        assert deploys_of(client, project) == [(3, "failed"), (2, "superseded"), (1, "live")]
        assert asked(machine, source=source) == small
        assert asked(client, ceiling="") == whole
        runner.converge()
        assert asked(client, source=CRASHES + source, ceiling=small) == small
        runner.converge()
        assert deploys_of(client, project)[:2] == [(6, "failed"), (5, "live")]
        assert asked(client, source=source) == whole, "an owner whose narrowed program does not start can go on"


def test_widening_waits_for_a_person(service: Service) -> None:
    account = service.account()
    client = service.client(service.token(account))
    machine = service.client(service.token(account, "read", "deploy"))
    with runner_of(service) as runner:
        project = deployed(client, runner)
        place = f"{API}/projects/{project}"
        ok(machine.patch(place, json={"review_widening": True}))
        without = machine.patch(place, json={"name": "Other", "review_widening": False})
        assert refused(without) == (403, "forbidden"), "what a machine asked for, a person takes away"
        assert detail(client, project)["project"]["name"] == "Shop", "nothing of a refused change is kept"
        wider = {"source": 'require net("api.example.com")\n' + WEB}
        first = ok(machine.post(f"{API}/projects/{project}/deploys", json=wider))["deploy"]
        assert first["status"] == "needs_review" and status(client, project) == "running"
        second = ok(machine.post(f"{API}/projects/{project}/deploys", json=wider))["deploy"]
        assert deploys_of(client, project) == [(3, "needs_review"), (2, "superseded"), (1, "live")]
        confirm = f"{API}/projects/{project}/deploys/{second['id']}/confirm"
        assert refused(machine.post(confirm)) == (403, "forbidden")
        assert ok(client.post(confirm))["deploy"]["status"] == "queued"
        assert refused(client.post(confirm)) == (409, "conflict")
        runner.converge()
        assert deploys_of(client, project)[0] == (3, "live")
        same = ok(machine.post(f"{API}/projects/{project}/deploys"))["deploy"]
        assert same["status"] == "queued"
        runner.converge()
        widest = {"source": "require random\n" + WEB}
        third = ok(machine.post(f"{API}/projects/{project}/deploys", json=widest))["deploy"]
        declined = client.post(f"{API}/projects/{project}/deploys/{third['id']}/confirm", json={"decision": False})
        assert ok(declined)["deploy"]["status"] == "cancelled" and status(client, project) == "running"


def test_going_back_and_applying_the_environment(service: Service) -> None:
    client = service.signed_in()
    with runner_of(service) as runner:
        project = deployed(client, runner)
        deploys = f"{API}/projects/{project}/deploys"
        first = detail(client, project)["deploys"][0]
        ok(client.post(deploys, json={"source": WEB.replace("hello", "second")}))
        runner.converge()
        ok(client.put(f"{API}/projects/{project}/env/COLOUR", json={"value": "red"}))
        assert ok(client.get(f"{API}/projects/{project}/env"))["needs_redeploy"] is True
        back = ok(client.post(f"{deploys}/{first['id']}/rollback"))["deploy"]
        assert (back["package_hash"], back["created_via"]) == (first["package_hash"], "rollback")
        assert ok(client.get(f"{API}/projects/{project}/env"))["needs_redeploy"] is False
        runner.converge()
        assert runner.projects[project].deploy.variables == {"COLOUR": "red"}
        ok(client.put(f"{API}/projects/{project}/secrets/KEY", json={"value": "s3cret"}))
        applied = ok(client.post(deploys, json={"apply": True}))["deploy"]
        assert (applied["package_hash"], applied["created_via"]) == (first["package_hash"], "apply")
        runner.converge()
        assert runner.projects[project].deploy.secrets == {"KEY": "s3cret"}
        failed = ok(client.post(deploys, json={"source": CRASHES + WEB}))["deploy"]
        runner.converge()
        assert refused(client.post(f"{deploys}/{failed['id']}/rollback")) == (409, "conflict")
        assert client.post(f"{deploys}/dep_x/rollback").status_code == 404
        assert refused(client.post(deploys, json={"source": WEB, "apply": True})) == (400, "validation")


def test_only_the_live_deploy_keeps_its_environment(service: Service) -> None:
    client = service.signed_in()
    with runner_of(service) as runner:
        project = deployed(client, runner)
        for _ in range(3):
            ok(client.post(f"{API}/projects/{project}/deploys"))
        runner.converge()
    with service.platform.store.main.reading() as connection:
        kept = connection.exec_driver_sql("SELECT number FROM deploys WHERE environment IS NOT NULL").scalars().all()
    assert kept == [4]


def test_a_deploy_hook(service: Service) -> None:
    client = service.signed_in()
    project = made(client, "job")
    address = ok(client.post(f"{API}/projects/{project}/hook"))["url"]
    assert address.startswith(f"{service.url}/hooks/deploy/")
    open_ = service.client()
    answer = ok(open_.post(address, content=b"whatever"))
    assert answer["ok"] and answer["status"] == "queued"
    [deploy] = detail(client, project)["deploys"]
    assert (deploy["id"], deploy["created_via"]) == (answer["deploy"], "hook")
    newer = ok(client.post(f"{API}/projects/{project}/hook"))["url"]
    assert open_.post(address).status_code == 404
    ok(open_.post(newer))
    assert ok(client.delete(f"{API}/projects/{project}/hook")) == {"ok": True}
    assert open_.post(newer).status_code == 404 and open_.post(f"{service.url}/hooks/deploy/x").status_code == 404


def test_what_others_cannot_reach(service: Service) -> None:
    client = service.signed_in()
    project = made(client)
    deploy = ok(client.post(f"{API}/projects/{project}/deploys"))["deploy"]["id"]
    stranger = service.signed_in("stranger@example.com")
    other = made(stranger, "job", source=JOB)
    for method, path in [
        ("POST", f"projects/{project}/deploys"),
        ("GET", f"projects/{project}/deploys/{deploy}"),
        ("GET", f"projects/{other}/deploys/{deploy}"),
        ("POST", f"projects/{project}/deploys/{deploy}/rollback"),
        ("POST", f"projects/{other}/deploys/{deploy}/confirm"),
        ("POST", f"projects/{project}/stop"),
        ("POST", f"projects/{project}/hook"),
        ("GET", f"projects/{project}/approvals"),
        ("GET", f"projects/{project}/runs"),
    ]:
        assert stranger.request(method, f"{API}/{path}").status_code == 404, path


def test_a_restart_of_the_service_and_of_the_runner(tmp_path: Path, database: str | None) -> None:
    with Service(tmp_path / "data", database=database) as service:
        client = service.signed_in()
        with runner_of(service, folder=tmp_path) as runner:
            project = deployed(client, runner)
            ok(client.post(f"{API}/projects/{project}/deploys"))
            token = client.headers["Authorization"].split()[1]
    with Service(tmp_path / "data", database=database) as service:
        client = service.client(token)
        assert status(client, project) == "deploying"
        with runner_of(service, folder=tmp_path) as runner:
            assert runner.projects[project].generation == 2
            runner.converge()
        assert deploys_of(client, project) == [(2, "live"), (1, "superseded")]


def test_the_newest_deploys_of_a_project_are_kept(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with store.main.writing() as connection:
        account = make_account(connection, "owner@example.com")
    project, other = stored_project(store, account, deploys_made=9), stored_project(store, account)
    statuses = ["superseded", "failed", "superseded", "live", "cancelled", "superseded", "failed", "failed", "needs_review"]
    for number, each in enumerate(statuses, 1):
        stored_deploy(store, project, number, status=each)
    stored_deploy(store, other, 1, status="failed")
    monkeypatch.setattr(storage, "KEPT", 2)
    monkeypatch.setattr(storage, "MOST_DEPLOYS", 3)
    with store.main.writing() as connection:
        storage.forget_old_packages(connection, project)
        rows = connection.execute(select(tables.deploys).order_by(tables.deploys.c.number)).all()
    assert [row.number for row in rows if row.project_id == project] == [4, 6, 7, 8, 9], "what can be gone back to stays"
    assert [row.number for row in rows if row.project_id == other] == [1]


def test_packages_of_old_deploys_are_thrown_away_and_their_hashes_stay(service: Service) -> None:
    client = service.signed_in()
    with runner_of(service) as runner:
        project = deployed(client, runner)
        deploys = f"{API}/projects/{project}/deploys"
        failed = ok(client.post(deploys, json={"source": CRASHES + WEB}))["deploy"]
        runner.converge()
        for number in range(KEPT + 2):
            ok(client.post(deploys, json={"source": f"{WEB}-- {number}\n"}))
            runner.converge()
        with service.platform.store.main.reading() as connection:
            rows = connection.execute(select(tables.deploys).order_by(tables.deploys.c.number)).all()
            kept = set(connection.execute(select(tables.packages.c.hash)).scalars())
            used = stored_used(connection, rows[0].created_by)[1]
            size = connection.execute(
                select(func.sum(tables.packages.c.stored)).where(tables.packages.c.hash.in_(kept))
            ).scalar_one()
        assert len(rows) == KEPT + 4 and all(row.package_hash for row in rows)
        assert [row.number for row in rows if row.package_gone] == [1, 2, 3]
        assert {row.package_hash for row in rows if not row.package_gone} == kept and failed["package_hash"] not in kept
        assert used == size, "what is gone counts no more"
        assert refused(client.post(f"{deploys}/{rows[0].id}/rollback")) == (409, "conflict")
        shown = ok(client.get(f"{deploys}/{rows[0].id}"))["deploy"]
        assert shown["package_hash"] == rows[0].package_hash
        assert ok(client.post(f"{deploys}/{rows[3].id}/rollback"))["deploy"]["package_hash"] == rows[3].package_hash
        runner.converge()
        again = ok(client.post(deploys, json={"source": WEB}))["deploy"]
        assert again["package_hash"] == rows[0].package_hash, "what is sent again is stored again"
        runner.converge()
        assert status(client, project) == "running"
