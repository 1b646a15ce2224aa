"""An answer that is kept is the one that would be made: for whoever asks, of what stands in the store at that moment."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from deploying import until
from litestar import Litestar
from platform_service import Service
from sqlalchemy import event, update
from stored_projects import stored_deploy, stored_project
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from platform_api.accounts import rate_limits
from platform_api.kept_answers import FROM_THE_STORE, Kept, KeptAnswers
from platform_api.store.database import Database
from platform_api.store.store import Store, open_store
from platform_api.store.tables import accounts, projects, tokens

API = "/api/v1"


@contextmanager
def elsewhere(service: Service) -> Iterator[Store]:
    """The same store with connections of its own, as another replica has it."""
    store = open_store(service.platform.settings)
    try:
        yield store
    finally:
        store.close()


@contextmanager
def statements(database: Database) -> Iterator[list[str]]:
    """What is asked of a database in the block."""
    asked: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        asked.append(statement)

    event.listen(database.engine, "before_cursor_execute", note)
    try:
        yield asked
    finally:
        event.remove(database.engine, "before_cursor_execute", note)


def test_what_has_not_changed_is_not_read_again(tmp_path: Path) -> None:
    with Service(tmp_path / "data") as service:
        account = service.account()
        project = stored_project(service.platform.store, account)
        client = service.client(service.token(account))
        for path in (f"{API}/projects", f"{API}/projects/{project}", f"{API}/projects/{project}/approvals"):

            def same_twice(path: str = path) -> bool:
                first = client.get(path)
                with statements(service.platform.store.main) as asked:
                    second = client.get(path)
                assert (first.status_code, first.content) == (second.status_code, second.content)
                names = [set(dict(answer.headers)) for answer in (first, second)]
                assert names[0] == names[1]
                differing = [name for name in first.headers if first.headers[name] != second.headers[name]]
                assert set(differing) <= {"x-request-id", "date"} and "x-request-id" in differing
                return not [statement for statement in asked if "FROM projects" in statement]

            until(same_twice)  # what the service does by itself may commit in between


def test_a_commit_of_another_replica_is_in_the_next_answer(service: Service) -> None:
    account = service.account()
    client = service.client(service.token(account))
    project = stored_project(service.platform.store, account)
    with elsewhere(service) as store:
        for number in range(8):
            with store.main.writing() as connection:
                connection.execute(update(projects).where(projects.c.id == project).values(name=f"Name {number}"))
            for _ in range(2):
                assert client.get(f"{API}/projects").json()["items"][0]["name"] == f"Name {number}"
                assert client.get(f"{API}/projects/{project}").json()["project"]["name"] == f"Name {number}"


def test_what_is_acknowledged_is_seen_while_others_write(service: Service) -> None:
    account = service.account()
    token = service.token(account)
    faults: list[str] = []

    def rename(project: str) -> None:
        client = service.client(token)
        for number in range(6):
            name = f"{project} {number}"
            assert client.patch(f"{API}/projects/{project}", json={"name": name}).status_code == 200
            for _ in range(2):
                shown = {item["id"]: item["name"] for item in client.get(f"{API}/projects").json()["items"]}
                if shown[project] != name:
                    faults.append(f"{shown[project]} is not {name}")

    made = [stored_project(service.platform.store, account) for _ in range(3)]
    threads = [threading.Thread(target=rename, args=(project,), daemon=True) for project in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not faults and not [thread for thread in threads if thread.is_alive()]


def test_each_caller_and_query_has_answers_of_its_own(service: Service) -> None:
    store = service.platform.store
    owner, other = service.account(), service.account("other@example.com")
    made = [stored_project(store, owner) for _ in range(3)]
    theirs = stored_project(store, other)
    whole, bound = service.client(service.token(owner)), service.client(service.token(owner, project_id=made[0]))
    others, blind = service.client(service.token(other)), service.client(service.token(owner, "deploy"))

    def ids(client: Any, query: str = "") -> list[str]:
        return [item["id"] for item in client.get(f"{API}/projects{query}").json()["items"]]

    for _ in range(3):
        assert ids(whole) == made[::-1]
        assert ids(whole, "?limit=1") == made[:1:-1]
        assert ids(bound) == made[:1]
        assert ids(others) == [theirs]
        assert blind.get(f"{API}/projects").status_code == 403
        assert whole.get(f"{API}/projects/{made[0]}").status_code == 200
        assert others.get(f"{API}/projects/{made[0]}").status_code == 404
        assert bound.get(f"{API}/projects/{made[1]}").status_code == 404
        assert service.client().get(f"{API}/projects").status_code == 401


@pytest.mark.parametrize("how", ["revoked", "disabled", "expired", "no scope"])
def test_who_may_no_longer_ask_is_refused_at_once(service: Service, how: str) -> None:
    account = service.account()
    token = service.token(account)
    client = service.client(token)
    for _ in range(3):
        assert client.get(f"{API}/projects").status_code == 200
    with elsewhere(service) as store, store.main.writing() as connection:
        if how == "revoked":
            connection.execute(update(tokens).values(revoked_at=1))
        elif how == "disabled":
            connection.execute(update(accounts).values(disabled=True))
        elif how == "expired":
            connection.execute(update(tokens).values(last_used_at=1))
        else:
            connection.execute(update(tokens).values(scopes="deploy"))
    assert client.get(f"{API}/projects").status_code == (403 if how == "no scope" else 401)


def test_what_every_request_passes_is_passed_beside_a_kept_answer(service: Service) -> None:
    client = service.signed_in()
    good = client.get(f"{API}/projects")
    for _ in range(2):
        assert client.get(f"{API}/projects").status_code == 200
        assert client.get(f"{API}/projects", headers={"Host": "elsewhere.example.com"}).status_code == 421
        twice = [*client.headers.raw, (b"Authorization", client.headers["Authorization"].encode())]
        assert service.client().get(f"{API}/projects", headers=twice).status_code == 400
        assert client.get(f"{API}/projects?q=%00").status_code == 400
        assert client.get(f"{API}/projects?limit=0").status_code == 400
        assert client.request("GET", f"{API}/projects", content=b"x" * 10).status_code == 200
        headless = client.head(f"{API}/projects")
        assert (headless.status_code, headless.content) == (200, b"")
        assert headless.headers["Content-Length"] == good.headers["Content-Length"]
        assert client.get(f"{API}/projects/").json() == good.json()
        assert client.get(f"{API}/projects", headers={"X-Request-Id": "mine-12345"}).headers["X-Request-Id"] == "mine-12345"


def test_kept_answers_are_counted_and_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limits, "REQUESTS_OF_A_TOKEN", 120)
    with Service(tmp_path / "data") as service:
        client = service.signed_in()
        statuses = [client.get(f"{API}/projects").status_code for _ in range(123)]
        assert statuses == [200] * 120 + [429] * 3
        text = service.client().get("/metrics").text
        for status, number in ((200, 120), (429, 3)):
            route = f"{API}/projects" if status == 200 else "none"
            assert f'platform_requests_total{{method="GET",route="{route}",status="{status}"}} {number}.0' in text
        assert "platform_requests_under_way 1.0" in text


def test_the_routes_whose_answers_are_kept_read_no_clock(service: Service) -> None:
    """Whoever adds one looks for ``now()`` in what it reads, and for anything beside the main store."""
    application = service.gateway.application
    assert isinstance(application, Litestar)
    kept = {
        route.path
        for route in application.routes
        for handler in getattr(route, "route_handlers", ())
        if FROM_THE_STORE.items() <= handler.opt.items()
    }
    project = f"{API}/projects/{{project_id:str}}"
    assert kept == {
        f"{API}/projects",
        project,
        f"{project}/approvals",
        f"{project}/deploys/{{deploy_id:str}}",
        f"{project}/runs",
        f"{project}/runs/{{run_id:str}}",
    }
    account = service.account()
    store, client = service.platform.store, service.client(service.token(account))
    made = stored_project(store, account)
    deploy = stored_deploy(store, made)
    for path in ("", "/approvals", f"/deploys/{deploy}", "/runs"):
        assert client.get(f"{API}/projects/{made}{path}").json() == client.get(f"{API}/projects/{made}{path}").json()


def test_what_is_kept_is_bounded_and_of_one_version() -> None:
    kept = KeptAnswers()
    large = Kept("/", (), b"x" * 1024 * 1024)
    for number in range(100):
        kept.keep((1, 1), ("tok", f"/{number}", b""), large)
    found = [number for number in range(100) if kept.find((1, 1), ("tok", f"/{number}", b"")) is not None]
    assert 0 < len(found) <= 16 and found[-1] == 99
    kept.keep((1, 1), ("tok", "/larger", b""), Kept("/", (), large.body + b"x"))
    assert kept.find((1, 1), ("tok", "/larger", b"")) is None
    for number in range(6_000):
        kept.keep((1, 1), ("tok", f"/{number}", b""), Kept("/", (), b""))
    assert sum(kept.find((1, 1), ("tok", f"/{number}", b"")) is not None for number in range(6_000)) <= 5_000
    small = Kept("/", (), b"small")
    kept.keep((1, 2), ("tok", "/", b""), small)
    kept.keep((1, 1), ("tok", "/late", b""), small)  # made of what stood there before
    assert kept.find((1, 2), ("tok", "/", b"")) is small
    assert kept.find((1, 1), ("tok", "/", b"")) is kept.find((1, 2), ("tok", "/late", b"")) is None


def test_a_kept_answer_is_written_without_a_task_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """uvicorn begins a request there: a version that does it elsewhere would let each go the long way without a word."""
    begun: list[str] = []
    plain = HttpToolsProtocol._start_asgi_task

    def note(connection: HttpToolsProtocol, cycle: Any, app: Any) -> None:
        begun.append(cycle.scope["path"])
        plain(connection, cycle, app)

    monkeypatch.setattr(HttpToolsProtocol, "_start_asgi_task", note)
    with Service(tmp_path / "data") as service:
        client = service.signed_in()
        head = f"Host: 127.0.0.1:{service.port}\r\nAuthorization: {client.headers['Authorization']}\r\n"

        def one_of_two() -> bool:
            begun.clear()
            answers = [client.get(f"{API}/projects") for _ in range(2)]
            assert {answer.json()["items"] == [] for answer in answers} == {True}
            return begun.count(f"{API}/projects") <= 1

        until(one_of_two)
        with socket.create_connection(("127.0.0.1", service.port), timeout=60) as connection:
            number = 600  # all of them are read before the first, which takes the long way, is answered
            asked = f"GET {API}/me HTTP/1.1\r\n{head}\r\n" + f"GET {API}/projects HTTP/1.1\r\n{head}\r\n" * number
            threading.Thread(target=connection.sendall, args=(asked.encode(),), daemon=True).start()
            received = b""
            while received.count(b'{"items":[]}') < number:
                received += connection.recv(65536)
        assert received.count(b"HTTP/1.1 200 OK\r\n") == number + 1
        closing = f"GET {API}/projects HTTP/1.1\r\n{head}Connection: close\r\n\r\n"
        with socket.create_connection(("127.0.0.1", service.port), timeout=60) as connection:
            connection.sendall(closing.encode())
            whole = b"".join(iter(lambda: connection.recv(65536), b""))
        assert b"connection: close" in whole and whole.endswith(b'{"items":[]}')
