"""What plans allow: ceilings, services, memory. Pure rules, and the same over HTTP."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from platform_service import Service
from sqlalchemy import update
from stored_projects import stored_project

from language import Capability, Ceiling, inspect
from platform_api.packages.package import Inspection, RequireLine
from platform_api.plans import plans
from platform_api.plans.budgets import over_plan
from platform_api.plans.ceilings import EffectiveCeiling, denied_because, effective
from platform_api.plans.plans import load_plans
from platform_api.store.tables import projects

BUNDLED = Path(plans.__file__).with_name("plans.toml")
PLANS = load_plans()
FREE, PRO, TEAM = PLANS["free"], PLANS["pro"], PLANS["team"]


def inspection_of(source: str) -> Inspection:
    found = inspect(source)
    assert found.errors == (), found.errors
    lines = tuple(RequireLine(each.capability.name, each.capability.scope, each.line, each.file) for each in found.requires)
    return Inspection(found.entry, found.kind, str(found.ceiling), lines)


@pytest.mark.parametrize(
    "item",
    [
        "exec=git", "exec", "db", "db=*", "db=postgres://db.example.com/shop", "db=redis://localhost", "net", "net=*",
        "net=*:443", "net=*.*", "net=*.com", "net=*.com:443",
        "net=api.*", "net=*xample.com", "net=a?.com", "net=10.0.0.*", "net=*.0.0.1",
        "net=localhost", "net=localhost:5432", "net=app.localhost", "net=redis", "net=db.internal", "net=printer.local",
        "net=127.0.0.1", "net=127.0.0.1:80", "net=10.1.2.3", "net=192.168.1.1:8080", "net=169.254.169.254", "net=[::1]:80",
        "net=::1", "net=fd00::1", "net=::ffff:10.0.0.1", "net=fe80::*", "net=*.b.internal", "net=x.LOCALHOST",
        "net=localhost.", "net=?",
    ],
)  # fmt: skip
def test_what_the_free_plan_denies(item: str) -> None:
    [capability] = Ceiling.parse(item).items
    assert denied_because(capability, FREE)
    if capability.name != "exec":
        assert denied_because(capability, PRO) == ""
    assert denied_because(capability, TEAM) == ""


@pytest.mark.parametrize(
    "item",
    [
        "net=api.example.com", "net=api.example.com:8443", "net=*.example.com", "net=a*.b.example.com:443", "net=93.184.216.34",
        "net=[2606:2800:220:1::1]:443", "net=*.example.co.uk", "db=./notes.db", "db=data/*", "db=:memory:", "file=data/*",
        "env=HOME", "secret", "llm", "serve=8080", "memory=notes", "random", "stdin",
    ],
)  # fmt: skip
def test_what_the_free_plan_leaves(item: str) -> None:
    [capability] = Ceiling.parse(item).items
    assert denied_because(capability, FREE) == ""


scopes = st.one_of(st.none(), st.text("abc.*?:/[]0129-", min_size=1, max_size=20))


@given(scopes, st.ip_addresses(v=4).filter(lambda address: not address.is_global))
def test_what_is_left_of_the_network_covers_no_private_address(scope: str | None, address: object) -> None:
    """The rule behind the rules: no scope that the free plan leaves allows a connection to an address that is not public."""
    try:
        [item] = Ceiling.parse("net" if scope is None else f"net={scope}").items
    except ValueError:
        assume(False)
    if denied_because(item, FREE) == "":
        assert not item.covers(Capability("net", str(address))), (item, address)


@given(
    st.lists(st.sampled_from(["exec", "net", "net=*.com", "net=api.example.com", "db", "file=data/*", "random"]), unique=True)
)
def test_a_ceiling_is_what_is_left_and_what_is_denied(items: list[str]) -> None:
    text = ",".join([*items, "stdout", "time"])
    found = effective(Inspection("main.lang", "web", text), FREE)
    left = [Capability(item.capability, item.scope) for item in found.items]
    denied = [Capability(item.capability, item.scope) for item in found.denied_by_plan]
    assert set(left) | set(denied) == set(Ceiling.parse(text).items) and not set(left) & set(denied)
    assert Ceiling.parse(found.text).items == tuple(left)
    assert effective(Inspection("main.lang", "web", text), TEAM).denied_by_plan == ()
    assert EffectiveCeiling.from_json(found.to_json()) == found


def test_a_ceiling_tells_the_lines_of_the_entry_file() -> None:
    found = effective(inspection_of('require net("api.example.com")\nrequire net\nrequire random\n'), FREE)
    assert [(item.capability, item.scope, item.line) for item in found.items] == [
        ("net", "api.example.com", 1),
        ("random", None, 3),
        ("stdout", None, None),
        ("time", None, None),
    ]
    [denied] = found.denied_by_plan
    assert denied.reason.startswith("require net (main.lang, line 2): the plan free does not allow")


PLAIN = Inspection("main.lang", "web", "stdout,time")


@given(st.sampled_from(["web", "worker", "job"]), st.integers(1, 400), st.integers(0, 8), st.integers(0, 2_000))
def test_a_deploy_fits_exactly_while_the_budgets_hold(kind: str, memory_mb: int, services: int, memory: int) -> None:
    fits = memory_mb <= FREE.project_memory_mb
    if kind != "job":
        fits = fits and services + 1 <= FREE.services and memory + memory_mb <= FREE.memory_mb
    assert (over_plan(FREE, PLAIN, kind, memory_mb, services, memory) == "") == fits


def test_a_larger_plan_is_never_stricter() -> None:
    for smaller, larger in ((FREE, PRO), (PRO, TEAM)):
        numbers = ("services", "memory_mb", "project_memory_mb", "disk_mb", "projects", "packages_mb", "runs")
        assert all(getattr(smaller, name) < getattr(larger, name) for name in numbers)
        assert set(larger.above) <= set(smaller.above)


def test_a_refusal_names_the_budget() -> None:
    assert over_plan(FREE, PLAIN, "web", 257, 0, 0).endswith("the plan free allows 256 MB a project.")
    assert "5 others are up" in over_plan(FREE, PLAIN, "web", 256, 5, 0)
    assert "80 MB are left, this project needs 256 MB" in over_plan(FREE, PLAIN, "web", 256, 3, 1_200)
    above = over_plan(FREE, replace(PLAIN, ceiling="exec=git,stdout"), "job", 1, 0, 0)
    assert above == 'require exec("git"): the plan free does not allow exec.'


def test_blocked_counts_what_is_up(service: Service) -> None:
    account = service.account("free@example.com", plan="free")
    client = service.client(service.token(account))
    ids = [stored_project(service.platform.store, account, source='print("hi")') for _ in range(6)]

    def blocked(project: str) -> str:
        return str(client.get(f"/api/v1/projects/{project}").json()["blocked"])

    assert blocked(ids[5]) == ""
    with service.platform.store.main.writing() as connection:
        connection.execute(update(projects).where(projects.c.id.in_(ids[:5])).values(desired="up"))
    assert "5 services at a time" in blocked(ids[5])
    assert blocked(ids[0]) == "", "one that is up is counted once"
    with service.platform.store.main.writing() as connection:
        connection.execute(update(projects).where(projects.c.id == ids[0]).values(desired="down"))
    assert blocked(ids[5]) == ""
    other = client.post("/api/v1/projects", json={"name": "Git", "source": 'require exec("git")\nprint(1)\n'}).json()
    assert other["ceiling"]["text"] == "stdout,time"
    assert blocked(other["project"]["id"]).startswith('require exec("git") (main.lang, line 1): the plan free')


def test_memory_that_is_in_use_is_counted_whatever_the_next_deploy_is_to_have(service: Service) -> None:
    client = service.client(service.token(service.account(plan="pro")))

    def up(name: str) -> tuple[str, int]:
        body = {"name": name, "kind": "web", "source": "print(1)"}
        project = client.post("/api/v1/projects", json=body).json()["project"]["id"]
        assert client.patch(f"/api/v1/projects/{project}", json={"memory_mb": 1024}).status_code == 200
        asked = client.post(f"/api/v1/projects/{project}/deploys").status_code
        assert client.patch(f"/api/v1/projects/{project}", json={"memory_mb": 16}).status_code == 200
        return project, asked

    answers = [up(f"p{number}")[1] for number in range(9)]
    assert answers == [200] * 8 + [409], "8 GB in all"
    assert client.get("/api/v1/usage").json()["memory_mb"] == {"used": 8192, "limit": 8192}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("services = 5", "services = -1"), r"\[free\] services must be a number from 0, it is -1"),
        (("services = 5", "services = true"), r"\[free\] services must be a number"),
        (("sleep = false", "sleep = 1"), r"\[free\] sleep must be true or false"),
        (("services = 5", ""), r"\[free\] services must be a number from 0, it is None"),
        (("services = 5", "services = 5\ncpus = 1"), r"\[free\] cpus is no setting"),
        (('"exec", "db url"', '"exec", "spelling"'), r"\[free\] above: 'spelling' is none of"),
        (("[pro]", "[other]"), r"there is no plan \[pro\]"),
        (("[pro]", "[pro"), r"plans.toml: "),
    ],
)
def test_a_file_of_plans_that_cannot_be_is_named(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    text = BUNDLED.read_text()
    path = tmp_path / "plans.toml"
    path.write_text(text.replace(*change))
    with pytest.raises(ValueError, match=message):
        load_plans(path)


def test_an_operator_gives_other_plans(tmp_path: Path, database: str | None) -> None:
    text = BUNDLED.read_text()
    path = tmp_path / "plans.toml"
    path.write_text(text.replace("projects = 20\n", "projects = 1\n"))
    with Service(tmp_path / "data", database=database, plans=path) as service:
        client = service.signed_in(plan="free")
        answers = [client.post("/api/v1/projects", json={"name": "x", "source": ""}).status_code for _ in range(2)]
        assert answers == [200, 409]
