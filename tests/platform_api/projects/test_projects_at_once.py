"""Many who change projects at once, on SQLite and on PostgreSQL: nothing is lost, no limit is passed, no two share a name."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from platform_service import Service
from sqlalchemy import func, select
from stored_projects import stored_project

from platform_api.accounts.records import make_account
from platform_api.packages.package import Inspection, PackageFile
from platform_api.packages.storage import load_package
from platform_api.plans.plans import Plans, load_plans
from platform_api.projects.create import NewProject, create_project
from platform_api.projects.delete import remove_project
from platform_api.refusals import Refusal
from platform_api.store.store import Store
from platform_api.store.tables import packages, projects

pytestmark = pytest.mark.once
PLANS = load_plans()


@pytest.fixture
def service(tmp_path: Path, database: str | None) -> Iterator[Service]:
    """A service on each kind of store."""
    with Service(tmp_path / "data", database=database) as running:
        yield running


def new(name: str = "Shop", content: bytes = b'print("hi")\n', kind: str = "web") -> NewProject:
    files = (PackageFile("main.lang", content),)
    return NewProject(name, files, "main.lang", kind, Inspection("main.lang", kind, "stdout,time"))


def account(store: Store, plan: str = "team") -> str:
    with store.main.writing() as connection:
        return make_account(connection, "owner@example.com", plan=plan)


def make(store: Store, owner: str, project: NewProject) -> str | None:
    """The id of a new project, or ``None`` where the plan is full."""
    try:
        with store.main.writing() as connection:
            return create_project(connection, PLANS, 8800, owner, project)
    except Refusal as refusal:
        assert refusal.code == "plan_limit"
        return None


def test_a_plan_is_never_passed_by_requests_at_once(store: Store) -> None:
    owner = account(store, "free")
    for number in range(PLANS["free"].projects - 2):
        stored_project(store, owner, str(number))
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: make(store, owner, new()), range(8)))
    assert sum(each is not None for each in made) == 2
    with store.main.reading() as connection:
        assert connection.execute(select(func.count()).select_from(projects)).scalar_one() == PLANS["free"].projects


def test_slugs_and_ports_are_unique(store: Store) -> None:
    owner = account(store)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: make(store, owner, new()), range(16)))
    with store.main.reading() as connection:
        rows = connection.execute(select(projects.c.slug, projects.c.port)).all()
    assert {row.slug for row in rows} == {"shop", *(f"shop-{number}" for number in range(2, 17))}
    assert {row.port for row in rows} == set(range(8800, 8816))


def test_a_package_that_is_used_again_while_its_last_project_goes(store: Store) -> None:
    """One thread makes projects of a package, another deletes the only ones that use it: no project ever lacks its package."""
    owner = account(store)

    def one(number: int) -> None:
        made = make(store, owner, new(kind="worker"))
        assert made is not None
        with store.main.reading() as connection:
            stored = connection.execute(select(projects.c.package_hash).where(projects.c.id == made)).scalar_one()
            assert load_package(connection, stored).entry == "main.lang"
        with store.main.writing() as connection:
            remove_project(connection, made)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(one, range(80)))
    with store.main.reading() as connection:
        assert connection.execute(select(func.count()).select_from(projects)).scalar_one() == 0
    make(store, owner, new())
    with store.main.reading() as connection:
        assert connection.execute(select(func.count()).select_from(packages)).scalar_one() >= 1


def test_the_size_of_stored_packages_is_limited(store: Store) -> None:
    owner = account(store, "free")
    plans = Plans({"free": replace(PLANS["free"], packages_mb=1)})
    with store.main.writing() as connection:
        create_project(connection, plans, 8800, owner, new(content=os.urandom(700_000)))
    with pytest.raises(Refusal, match="1 MB of stored packages"), store.main.writing() as connection:
        create_project(connection, plans, 8800, owner, new(content=os.urandom(700_000)))
    with store.main.writing() as connection:
        create_project(connection, plans, 8800, owner, new(content=b"0" * 4_000_000))
    with store.main.reading() as connection:
        assert connection.execute(select(func.count()).select_from(projects)).scalar_one() == 2
        assert connection.execute(select(func.count()).select_from(packages)).scalar_one() == 2


def test_the_way_of_a_project_over_http(service: Service) -> None:
    client = service.signed_in()
    made = client.post("/api/v1/projects", json={"name": "Shop", "source": 'print(secret("KEY"))'}).json()
    here = f"/api/v1/projects/{made['project']['id']}"
    assert client.put(f"{here}/secrets/KEY", json={"value": "x"}).status_code == 200
    assert client.put(f"{here}/env/A", json={"value": "1"}).json()["kind"] == "variable"
    assert client.put(f"{here}/env/A", json={"value": "2"}).json()["kind"] == "variable"
    assert client.patch(here, json={"name": "Other"}).json()["project"]["name"] == "Other"
    found = client.get(f"{here}/env").json()
    assert ([item["name"] for item in found["items"]], found["missing"], found["needs_redeploy"]) == (["A", "KEY"], [], True)
    detail = client.get(here).json()
    assert (detail["missing_secrets"], detail["blocked"], detail["deploys"]) == ([], "", [])
    assert client.get(f"{here}/package").json()["files"][0]["content"] == 'print(secret("KEY"))'
    assert [project["name"] for project in client.get("/api/v1/projects").json()["items"]] == ["Other"]
    assert client.delete(here).json()["status"] == "deleted"
    assert client.get(here).status_code == 404


def test_writes_to_one_environment_at_once(service: Service) -> None:
    token = service.token(service.account())
    made = service.client(token).post("/api/v1/projects", json={"name": "Shop", "source": ""}).json()
    here = f"/api/v1/projects/{made['project']['id']}"

    def write(number: int) -> int:
        return service.client(token).put(f"{here}/env/V{number % 3}", json={"value": str(number)}).status_code

    with ThreadPoolExecutor(6) as pool:
        assert set(pool.map(write, range(18))) == {200}
    client = service.client(token)
    assert [item["name"] for item in client.get(f"{here}/env").json()["items"]] == ["V0", "V1", "V2"]
    for number in range(3):
        client.delete(f"{here}/env/V{number}")
    assert client.get(f"{here}/env").json() == {"items": [], "missing": [], "needs_redeploy": False}
