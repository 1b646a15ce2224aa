"""Host name and port of a deleted web project: for a month they are given to no other account."""

from __future__ import annotations

import time
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest
from deploying import API, deployed, made, ok, runner_of
from platform_service import Service
from sqlalchemy import delete, func, select

from platform_api.accounts.records import make_account
from platform_api.moments import DAY, HOUR, now
from platform_api.packages.package import Inspection, PackageFile
from platform_api.plans.plans import load_plans
from platform_api.projects import reserved_addresses
from platform_api.projects.create import NewProject, create_project
from platform_api.projects.delete import remove_project
from platform_api.records.pruning import prune
from platform_api.refusals import Refusal
from platform_api.runners.forgetting import forget_runner
from platform_api.store import tables
from platform_api.store.backup import back_up, restore
from platform_api.store.store import Store

PLANS = load_plans()


class Made(NamedTuple):
    id: str
    slug: str
    port: int | None


def account(store: Store, name: str) -> str:
    with store.main.writing() as connection:
        return make_account(connection, f"{name}@example.com", plan="team")


def make(store: Store, owner: str, name: str = "Shop", *, kind: str = "web", first_port: int = 8800) -> Made:
    files = (PackageFile("main.lang", b'print("hi")\n'),)
    new = NewProject(name, files, "main.lang", kind, Inspection("main.lang", kind, "stdout,time"))
    with store.main.writing() as connection:
        project = create_project(connection, PLANS, first_port, owner, new)
        columns = select(tables.projects.c.slug, tables.projects.c.port).where(tables.projects.c.id == project)
        slug, port = connection.execute(columns).one()
    return Made(project, slug, port)


def remove(store: Store, project: Made) -> None:
    with store.main.writing() as connection:
        remove_project(connection, project.id)


def reserved(store: Store) -> int:
    with store.main.reading() as connection:
        return connection.execute(select(func.count()).select_from(tables.reserved_addresses)).scalar_one()


def set_forward(milliseconds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets that much time pass."""
    before = time.time_ns
    monkeypatch.setattr("time.time_ns", lambda: before() + milliseconds * 1_000_000)


def test_the_address_of_a_deleted_project_is_given_to_no_other_account(store: Store) -> None:
    mine, other = account(store, "mine"), account(store, "other")
    first = make(store, mine)
    assert first[1:] == ("shop", 8800)
    remove(store, first)
    theirs = make(store, other)
    assert theirs[1:] == ("shop-2", 8801)
    # Who had it gets it back, and it is reserved anew when that project is deleted.
    again = make(store, mine)
    assert again[1:] == first[1:]
    remove(store, again)
    remove(store, theirs)
    assert make(store, account(store, "third"))[1:] == ("shop-3", 8802)
    assert make(store, other)[1:] == theirs[1:] and make(store, mine)[1:] == first[1:]


def test_a_project_without_visitors_reserves_nothing(store: Store) -> None:
    mine, other = account(store, "mine"), account(store, "other")
    for kind in ("job", "worker"):
        remove(store, make(store, mine, kind=kind))
        assert reserved(store) == 0
    assert make(store, other)[1:] == ("shop", 8800)


def test_after_a_month_the_address_is_free(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    mine, other = account(store, "mine"), account(store, "other")
    remove(store, make(store, mine))
    set_forward(30 * DAY - HOUR, monkeypatch)
    prune(store)
    assert reserved(store) == 1
    early = make(store, other)
    assert early[1:] == ("shop-2", 8801)
    set_forward(HOUR, monkeypatch)
    late = make(store, other)
    assert late[1:] == ("shop", 8800), "free as soon as the time is over, and not only when the row is gone"
    remove(store, late)
    assert reserved(store) == 1, "the row of the former account is replaced"
    prune(store, now() + 29 * DAY)
    assert reserved(store) == 1
    prune(store, now() + 31 * DAY)
    assert reserved(store) == 0


def test_where_no_port_is_left_the_one_that_was_reserved_first_is_given(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    mine, other, first_port = account(store, "mine"), account(store, "other"), 65_533
    projects = [make(store, mine, first_port=first_port) for _ in range(3)]
    assert [project.port for project in projects] == [65_533, 65_534, 65_535]
    with pytest.raises(Refusal, match="Every port for web projects is taken"):
        make(store, other, first_port=first_port)
    for project in projects[:2]:
        remove(store, project)
        set_forward(HOUR, monkeypatch)
    # A second project has this port: the time of the last one counts.
    again = make(store, mine, "Blog", first_port=first_port)
    assert again[1:] == ("blog", 65_533)
    remove(store, again)
    assert make(store, other, first_port=first_port)[1:] == ("shop-4", 65_534)
    assert make(store, other, first_port=first_port)[1:] == ("shop-5", 65_533)
    with pytest.raises(Refusal, match="Every port for web projects is taken"):
        make(store, other, first_port=first_port)


def test_a_reservation_outlives_its_account(store: Store) -> None:
    mine, other = account(store, "mine"), account(store, "other")
    remove(store, make(store, mine))
    with store.main.writing() as connection:
        connection.execute(delete(tables.accounts).where(tables.accounts.c.id == mine))
    prune(store)
    assert make(store, other)[1:] == ("shop-2", 8801)


def test_the_reservations_of_an_account_are_bounded(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reserved_addresses, "MOST", 2)
    mine, other = account(store, "mine"), account(store, "other")
    for name in ("a", "b", "c", "d"):
        remove(store, make(store, mine, name))
        set_forward(HOUR, monkeypatch)
    remove(store, make(store, other, "e"))
    prune(store)
    with store.main.reading() as connection:
        assert set(connection.scalars(select(tables.reserved_addresses.c.slug))) == {"c", "d", "e"}


def test_a_restored_store_has_the_reservations(store: Store, sqlite_store: Store, tmp_path: Path) -> None:
    mine, other = account(store, "mine"), account(store, "other")
    remove(store, make(store, mine))
    back_up(store, tmp_path / "backup", "key")
    assert restore(sqlite_store, tmp_path / "backup").rows["reserved_addresses"] == 1
    assert make(sqlite_store, other)[1:] == ("shop-2", 8801)
    assert make(sqlite_store, mine)[1:] == ("shop", 8800)


def address(client: httpx.Client, project: str) -> tuple[str, str]:
    shown = ok(client.get(f"{API}/projects/{project}"))["project"]
    return shown["slug"], shown["url"]


@pytest.mark.parametrize("way", ["at once", "by its runner", "with its runner"])
def test_every_way_of_deleting_reserves_the_address(service: Service, way: str) -> None:
    mine, other = service.signed_in(), service.signed_in("other@example.com")
    if way == "at once":
        project = made(mine)
        before = address(mine, project)
        assert ok(mine.delete(f"{API}/projects/{project}"))["status"] == "deleted"
    else:
        with runner_of(service) as runner:
            project = deployed(mine, runner)
            before = address(mine, project)
            assert ok(mine.delete(f"{API}/projects/{project}"))["status"] == "deleting"
            if way == "by its runner":
                runner.converge()
            else:
                forget_runner(service.platform.store, "one")
    assert mine.get(f"{API}/projects/{project}").status_code == 404
    theirs = address(other, made(other))
    assert theirs[0] == "shop-2" and theirs[1] != before[1]
    assert address(mine, made(mine)) == before
