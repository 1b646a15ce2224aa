"""Declared versus done of a project through HTTP, and the ceiling that would have been enough."""

from __future__ import annotations

import json
from typing import Any, Literal

import pytest
from browsing_person import Person
from deploying import API, deployed, runner_of, until
from hypothesis import given
from hypothesis import strategies as st
from platform_service import Service
from sqlalchemy import update
from stored_projects import SOURCE, stored_deploy, stored_project

from language import Capability, Ceiling, compare, inspect
from platform_api.moments import DAY, now
from platform_api.packages.package import Inspection, RequireLine
from platform_api.records import declared
from platform_api.records.audit import append_audit
from platform_api.records.declared import Declaration, Seen, findings
from platform_api.store.tables import projects
from runner.protocol import AuditRecord


def record(capability: str, scope: str | None, granted: bool = True, **more: Any) -> dict[str, Any]:
    fields = {"ts": now() / 1000, "capability": capability, "scope": scope, "granted": granted, "origin": "program", "why": "w"}
    return fields | more


def live_project(service: Service, account: str, ceiling: str) -> tuple[str, str]:
    store = service.platform.store
    project = stored_project(store, account)
    deploy = stored_deploy(store, project, ceiling=json.dumps({"text": ceiling, "items": [], "denied_by_plan": []}))
    with store.main.writing() as connection:
        connection.execute(update(projects).where(projects.c.id == project).values(current_deploy=deploy))
    return project, deploy


def test_nothing_counts_as_never_used_where_not_all_is_compared(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    account = service.account()
    ceiling = str(inspect(SOURCE).ceiling)
    project, deploy = live_project(service, account, ceiling)
    client = service.client(service.token(account))
    with service.platform.store.records.writing() as connection:
        append_audit(connection, project, deploy, [record("net", f"{number}.example.com", False) for number in range(6)])
    for most, narrower in ((6, True), (5, False)):
        monkeypatch.setattr(declared, "_LEAST_COMPARED", 1)
        monkeypatch.setattr(declared, "_MOST_COMPARED", most)
        body = client.get(f"/api/v1/projects/{project}/audit/declared").json()
        assert (body["narrower"], body["shrunk"] == body["ceiling"]) == (narrower, not narrower)
        assert len(body["refused"]) == most


def test_what_was_used_what_never_and_the_ceiling_that_is_enough(service: Service) -> None:
    account = service.account()
    project, deploy = live_project(service, account, str(inspect(SOURCE).ceiling))
    client = service.client(service.token(account))
    records = [
        record("random", None, count=3),
        record("net", "api.example.com"),
        record("net", "api.example.com", witness="runner"),
        record("net", "evil.example", witness="runner", count=2),
        record("exec", "git", False),
        record("exec", "git", False),
        record("file.read", "data/old", ts=(now() - 8 * DAY) / 1000),
    ]
    with service.platform.store.records.writing() as connection:
        append_audit(connection, project, deploy, records)
    body = client.get(f"/api/v1/projects/{project}/audit/declared", params={"days": 7}).json()
    assert [(item["capability"], item["scope"], item["line"], item["done"]) for item in body["items"]] == [
        ("random", None, 1, 3),
        ("net", "api.example.com", 2, 1),
        ("file.read", "data/*", 3, 0),
    ]
    assert body["refused"] == [{"capability": "exec", "scope": "git", "why": "w", "count": 2}]
    assert body["unexplained"] == [{"capability": "net", "scope": "evil.example", "granted": True, "count": 2}]
    assert body["deploy"] == deploy and body["narrower"] is True
    assert (body["ceiling"], body["shrunk"]) == (
        "random,net=api.example.com,file.read=data/*,stdout,time",
        "random,net=api.example.com,stdout,time",
    )
    longer = client.get(f"/api/v1/projects/{project}/audit/declared").json()
    assert longer["narrower"] is False and longer["shrunk"] == longer["ceiling"]
    for days in ("0", "31", "x"):
        assert client.get(f"/api/v1/projects/{project}/audit/declared?days={days}").status_code == 400


def test_what_is_proposed_stays_within_a_narrower_ceiling_that_is_there(service: Service) -> None:
    account = service.account()
    project, deploy = live_project(service, account, "random,stdout,time")
    with service.platform.store.records.writing() as connection:
        append_audit(connection, project, deploy, [record("net", "api.example.com"), record("random", None)])
    body = service.client(service.token(account)).get(f"/api/v1/projects/{project}/audit/declared").json()
    assert (body["shrunk"], body["narrower"]) == ("random,stdout,time", False)


def test_before_the_first_deploy_it_is_about_the_package(service: Service) -> None:
    account = service.account()
    project = stored_project(service.platform.store, account)
    body = service.client(service.token(account)).get(f"/api/v1/projects/{project}/audit/declared").json()
    assert body["deploy"] is None and body["since"] is None and len(body["items"]) == 3 and body["shrunk"] == "stdout,time"


NAMES = st.sampled_from(["random", "llm", "net", "file.read"])
SCOPES = {"net": ["api.example.com", "*.example.com", "b.example.org"], "file.read": ["data/a", "data/*", "etc"]}
CAPABILITIES = NAMES.flatmap(lambda name: st.tuples(st.just(name), st.sampled_from(SCOPES.get(name, [None]))))


@pytest.mark.parametrize("witness", ["program", "runner"])
@given(declared=st.lists(CAPABILITIES, unique=True), used=st.lists(CAPABILITIES), given_=st.lists(CAPABILITIES))
def test_a_proposal_is_never_wider_and_holds_all_that_was_used(
    witness: str,
    declared: list[tuple[str, str | None]],
    used: list[tuple[str, str | None]],
    given_: list[tuple[str, str | None]],
) -> None:
    lines = tuple(RequireLine(name, scope, number, "main.lang") for number, (name, scope) in enumerate(declared, 1))
    ceiling = Ceiling.parse(",".join(["stdout", "time", *(_item(one) for one in given_)]))
    declaration = Declaration(None, Inspection("main.lang", "worker", "", lines), ceiling)
    seen = [Seen(name, scope, True, "program", "w", witness, 1) for name, scope in used]
    found = findings(declaration, seen)
    assert not compare(ceiling, found.shrunk).holds_more
    assert found.narrower == compare(found.shrunk, ceiling).holds_more
    if witness == "program":
        declares = Ceiling(tuple(Capability(name, scope) for name, scope in declared))
        for done in (Capability(name, scope) for name, scope in used if "*" not in (scope or "")):
            assert found.shrunk.covers(done) == (declares.covers(done) and ceiling.covers(done))
    else:
        assert str(found.shrunk) == "stdout,time"


def _item(one: tuple[str, str | None]) -> str:
    return one[0] if one[1] is None else f"{one[0]}={one[1]}"


def test_a_project_whose_runner_saw_what_its_program_did_not_record_is_flagged(service: Service) -> None:
    """A connection that went around the interpreter, made or refused, whatever else is in the report."""
    person = Person(service)
    client = service.client(service.token(person.account))
    machine = service.client(service.token(person.account, "read", "deploy"))
    with runner_of(service) as runner:
        project = deployed(client, runner)

        def seen(
            scope: str, witness: Literal["program", "runner"], *, granted: bool = True, capability: str = "net"
        ) -> AuditRecord:
            fields: Any = {"project": project, "ts": now() / 1000, "scope": scope, "granted": granted}
            return AuditRecord(**fields, capability=capability, witness=witness)

        def flagged() -> bool:
            page = person.shows(f"/projects/{project}/audit")
            found = bool(client.get(f"{API}/projects/{project}/audit/declared").json()["flagged"])
            assert found == ("I have looked at it" in page) == ("look at its audit" in person.shows("/"))
            return found

        runner.report(seen("api.example.com", "program"), seen("api.example.com", "runner"))
        runner.report(seen("API.example.com:443", "runner"))  # recorded in an earlier report
        runner.report(seen("later.example.com", "runner"), seen("later.example.com", "program"))
        runner.report(seen("postgres://data.example:6432/shop", "program", capability="db"))
        runner.report(seen("data.example:6432", "runner", capability="db"))  # a runner tells host and port alone
        assert not flagged()
        for around in (seen("evil.example", "runner"), seen("10.0.0.1", "runner", granted=False)):
            runner.report(seen("api.example.com", "program"), around)
            assert flagged()
            assert str(around.scope) in person.shows(f"/projects/{project}/audit")
            assert machine.post(f"{API}/projects/{project}/audit/reviewed").status_code == 403
            assert flagged(), "what deploys cannot take it away"
            assert person.sends(f"/projects/{project}/reviewed").status_code == 303
            assert not flagged()
        runner.report(seen("private.example", "program"), seen("private.example", "runner", granted=False))
        assert flagged(), "one says that it was granted, the other refused it"
        assert client.post(f"{API}/projects/{project}/audit/reviewed").json() == {"ok": True}
        assert not flagged()
        until(lambda: client.get(f"{API}/projects/{project}/history").text.count("witnesses_differ") == 3)
        other = service.client(service.token(service.account("other@example.com")))
        assert other.post(f"{API}/projects/{project}/audit/reviewed").status_code == 404
