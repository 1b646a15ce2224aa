"""Answers of many megabytes: few at a time of an account, none for a client that does not read, none made on the event loop."""

from __future__ import annotations

import json
import logging
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import msgspec
import pytest
from browsing_person import Person
from deploying import until
from platform_service import Service
from sqlalchemy import insert
from stored_projects import stored_project

from platform_api.api.schemas.projects import File, Package
from platform_api.moments import now
from platform_api.packages.package import Inspection, PackageFile
from platform_api.packages.storage import store_package
from platform_api.store.tables import counters, history

API = "/api/v1"
AT_A_TIME = 4
MEBIBYTE = 1024 * 1024
#: As large as a package can be, of a character that JSON writes as two.
LARGE = [PackageFile(f"{number}.txt", b'"' * (5 * MEBIBYTE - 8), "utf8") for number in range(4)]
MAIN = PackageFile("main.lang", b"print(1)\n", "utf8")


def project_of(service: Service, account: str, files: list[PackageFile]) -> str:
    with service.platform.store.main.writing() as connection:
        stored = store_package(connection, files, "main.lang", "worker", Inspection("main.lang", "worker", "stdout,time"))
    return stored_project(service.platform.store, account, package_hash=stored)


def large_project(service: Service, account: str) -> str:
    """A project with a package of 20 MiB and a history of 12 MB."""
    project = project_of(service, account, [MAIN, *LARGE])
    line = json.dumps({"prev": "0" * 64, "text": "x" * 4_000}).encode() + b"\n"
    with service.platform.store.records.writing() as connection:
        rows = [{"project_id": project, "seq": number, "at": now(), "line": line} for number in range(1, 3_001)]
        connection.execute(insert(history), rows)
        connection.execute(insert(counters).values(project_id=project, history_seq=len(rows), history_hash="0" * 64))
    return project


def token_client(service: Service, account: str) -> httpx.Client:
    return service.client(service.token(account))


def browser(service: Service, account: str) -> httpx.Client:
    return Person(service, account).client


#: The large answers of a project: who asks for them and where.
WAYS: dict[str, tuple[Callable[[Service, str], httpx.Client], str]] = {
    "package": (token_client, f"{API}/projects/{{}}/package"),
    "history": (token_client, f"{API}/projects/{{}}/history"),
    "page": (browser, "/projects/{}/history.jsonl"),
}


@contextmanager
def silent(service: Service, client: httpx.Client, path: str) -> Iterator[tuple[int, socket.socket]]:
    """A connection on which an answer is asked for, and nothing is read behind its head. Gives its status."""
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(120)
        connection.connect(("127.0.0.1", service.port))
        names = ("authorization", "accept", "cookie")
        request = client.build_request("GET", path)
        own = "".join(f"{name}: {request.headers[name]}\r\n" for name in names if name in request.headers)
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{service.port}\r\n{own}\r\n".encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            received = connection.recv(1)
            assert received, head
            head += received
        yield int(head.split()[1]), connection


@pytest.mark.parametrize("way", WAYS)
def test_readers_that_do_not_read_are_few_and_hold_up_nobody_else(service: Service, way: str) -> None:
    made, template = WAYS[way]
    account, stranger = service.account(), service.account("other@example.com")
    client, other = made(service, account), made(service, stranger)
    path = template.format(large_project(service, account))
    with ExitStack() as stack:
        statuses = [stack.enter_context(silent(service, client, path))[0] for _ in range(AT_A_TIME)]
        assert statuses == [200] * AT_A_TIME
        with client.stream("GET", path) as refused:
            assert refused.status_code == 429
            assert int(refused.headers["Retry-After"]) > 0
            said = refused.read().decode()
        assert f"This account has {AT_A_TIME} downloads under way: wait until one has ended." in said
        if way != "page":
            assert json.loads(said)["code"] == "rate_limited"
        assert token_client(service, account).get(f"{API}/me").status_code == 200
        for project in (large_project(service, stranger), stored_project(service.platform.store, stranger)):
            assert other.get(template.format(project)).status_code == 200
        until(lambda: service.platform.downloads.open == {account: AT_A_TIME})
    until(lambda: not service.platform.downloads.open)
    assert client.get(path).status_code == 200


@pytest.mark.parametrize("way", WAYS)
def test_a_client_that_accepts_nothing_is_given_up(
    service: Service, way: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("platform_api.api.streams.PATIENCE", 0.2)
    caplog.set_level(logging.INFO)
    made, template = WAYS[way]
    account = service.account()
    client, project = made(service, account), large_project(service, account)
    with ExitStack() as stack:
        readers = [stack.enter_context(silent(service, client, template.format(project)))[1] for _ in range(AT_A_TIME)]
        until(lambda: service.open_connections() == 0)
        assert service.platform.downloads.open == {}
        assert client.get(template.format(stored_project(service.platform.store, account))).status_code == 200
        for reader in readers:
            assert received(reader) < 12_000_000, "it was not all kept for this reader"
    said = [record.getMessage() for record in caplog.records if record.name != "platform.requests"]
    assert len([line for line in said if line.endswith(" was ended: its client accepts nothing")]) == AT_A_TIME
    assert not [record for record in caplog.records if record.levelno > logging.INFO], "nothing has failed"


def received(connection: socket.socket) -> int:
    """How many bytes come on a connection until it ends."""
    number = 0
    try:
        while part := connection.recv(MEBIBYTE):
            number += len(part)
    except ConnectionResetError:
        pass
    return number


def test_recipes_have_the_same_places(tmp_path: Path) -> None:
    recipe = tmp_path / "catalog" / "large"
    recipe.mkdir(parents=True)
    for file in [MAIN, *LARGE[:3]]:
        (recipe / file.path).write_bytes(file.content)
    (recipe.parent / "catalog.toml").write_text('[[recipe]]\npath = "large"\n', encoding="utf-8")
    with Service(tmp_path / "data", recipes=str(recipe.parent)) as service, ExitStack() as stack:
        account = service.account()
        client, path = token_client(service, account), f"{API}/recipes/large/package"
        project = stored_project(service.platform.store, account)
        for _ in range(AT_A_TIME):
            assert stack.enter_context(silent(service, client, path))[0] == 200
        for refused in (path, f"{API}/projects/{project}/package"):
            assert client.get(refused).status_code == 429
        assert service.signed_in("other@example.com").get(path).status_code == 200
        assert client.get(f"{API}/recipes").status_code == 200


def test_no_limits_means_no_limit_of_downloads(tmp_path: Path) -> None:
    with Service(tmp_path / "data", rate_limits=False) as service, ExitStack() as stack:
        account = service.account()
        client, path = token_client(service, account), f"{API}/projects/{large_project(service, account)}/package"
        for _ in range(AT_A_TIME + 1):
            assert stack.enter_context(silent(service, client, path))[0] == 200


@pytest.mark.parametrize("way", ["package", "read_file"])
def test_the_event_loop_writes_and_reads_no_package(tmp_path: Path, way: str) -> None:
    with Service(tmp_path / "data") as service:
        account = service.account()
        client, project = token_client(service, account), project_of(service, account, [MAIN, *LARGE])
        texts = [file.content.decode() for file in LARGE]
        begun = time.thread_time()
        msgspec.json.encode(texts)
        encoded = time.thread_time() - begun

        def asked() -> None:
            if way == "package":
                assert client.get(f"{API}/projects/{project}/package").status_code == 200
                return
            call = {"name": "read_file", "arguments": {"project_id": project, "path": LARGE[0].path, "start": 7}}
            reply = client.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}).json()
            found = reply["result"]["structuredContent"]
            assert (found["content"], found["size"]) == ('"' * 50_000, len(texts[0]))

        # The least of three: garbage may be collected in one.
        assert min(service.longest_turn(asked) for _ in range(3)) < encoded / 2


def test_a_package_is_sent_as_its_schema_says_and_with_its_length(service: Service) -> None:
    account = service.account()
    files = [
        PackageFile('a "b\\ \u00e9.txt', '\x01"\\\n\u00e9\U0001f600'.encode(), "utf8"),
        PackageFile("data.bin", bytes(range(256)), "base64"),
        PackageFile("empty.txt", b"", "utf8"),
        MAIN,
    ]
    client = token_client(service, account)
    for own in (files, [MAIN]):
        project = project_of(service, account, own)
        path = f"{API}/projects/{project}/package"
        answer, head = client.get(path), client.head(path)
        found = msgspec.json.decode(answer.content, type=Package)
        assert [(file.path, file.encoding) for file in found.files] == [(file.path, file.encoding) for file in own]
        assert answer.content == msgspec.json.encode(found)
        assert found.files[-1] == File(path="main.lang", content="print(1)\n", encoding="utf8")
        assert answer.headers["Content-Type"] == "application/json"
        assert answer.headers["Content-Length"] == head.headers["Content-Length"] == str(len(answer.content))
        assert (head.status_code, head.content) == (200, b"")


@pytest.mark.parametrize("way", ["history", "page"])
def test_a_history_has_the_headers_of_a_file(service: Service, way: str) -> None:
    made, template = WAYS[way]
    account = service.account()
    client, project = made(service, account), large_project(service, account)
    path = template.format(project)
    answer, head = client.get(path), client.head(path)
    assert answer.content.count(b"\n") == 3_001 and b'"summary"' in answer.content.splitlines()[-1]
    for given in (answer, head):
        assert given.headers["Content-Type"] == "application/x-ndjson"
        assert given.headers["Content-Disposition"] == f'attachment; filename="{project}.history.jsonl"'
        assert given.headers["Cache-Control"] == "no-store"
        assert "Content-Length" not in given.headers
    assert (head.status_code, head.content) == (200, b"")
    until(lambda: not service.platform.downloads.open)


@pytest.mark.parametrize("way", WAYS)
def test_a_client_that_goes_away_before_the_first_byte_gives_its_place_back(service: Service, way: str) -> None:
    made, template = WAYS[way]
    account = service.account()
    client, path = made(service, account), template.format(large_project(service, account))
    request = client.build_request("GET", path)
    own = "".join(f"{name}: {request.headers[name]}\r\n" for name in ("authorization", "cookie") if name in request.headers)
    for _ in range(AT_A_TIME + 1):
        with socket.create_connection(("127.0.0.1", service.port)) as connection:
            connection.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{service.port}\r\n{own}\r\n".encode())
            until(lambda: service.platform.downloads.open == {account: 1})
        until(lambda: not service.platform.downloads.open)
    assert client.get(path).status_code == 200
