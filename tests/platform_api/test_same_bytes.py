"""A request whose bytes were answered before is not parsed again, and is answered as if it were."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from platform_service import Service, new_files
from sqlalchemy import update
from stored_projects import stored_project
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from platform_api.accounts.records import make_account
from platform_api.accounts.tokens import Tokens, digest, make_token
from platform_api.settings import Settings
from platform_api.store.store import open_store
from platform_api.store.tables import projects, tokens

API = "/api/v1"


class Client:
    """A connection that stays open."""

    def __init__(self, service: Service) -> None:
        self._socket = socket.create_connection(("127.0.0.1", service.port), timeout=60)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._read = self._socket.makefile("rb")

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def answer(self) -> tuple[int, dict[str, str], bytes]:
        """Status, headers, body of the next one."""
        status = int(self._read.readline().split()[1])
        headers = {}
        while line := self._read.readline().strip():
            name, _, value = line.decode().partition(": ")
            headers[name] = value
        return status, headers, self._read.read(int(headers["content-length"]))

    def asked(self, data: bytes) -> tuple[int, dict[str, str], bytes]:
        self.send(data)
        return self.answer()

    def is_ended(self) -> bool:
        """Waits until the service ends it."""
        return self._read.read(1) == b""

    def close(self) -> None:
        self._read.close()
        self._socket.close()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Service]:
    """On SQLite alone, because with PostgreSQL nothing is kept; without limits, which one of the tests would meet."""
    with Service(tmp_path / "data", rate_limits=False) as service:
        yield service


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The path of each request that is parsed."""
    begun: list[bytes] = []
    plain = HttpToolsProtocol.on_url

    def note(connection: HttpToolsProtocol, url: bytes) -> None:
        begun.append(url)
        plain(connection, url)

    monkeypatch.setattr(HttpToolsProtocol, "on_url", note)
    return begun


def request(service: Service, token: str, path: str = f"{API}/projects", more: str = "", method: str = "GET") -> bytes:
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{service.port}\r\nAuthorization: Bearer {token}\r\n{more}\r\n"
    return head.encode()


def remembered(client: Client, data: bytes, parsed: list[bytes]) -> bytes:
    """Asks until a request of these bytes is answered without being parsed; gives the body."""
    for _ in range(200):
        parsed.clear()
        status, _, body = client.asked(data)
        assert status == 200
        if not parsed:
            return body
        time.sleep(0.01)  # what the service does by itself commits now and then
    raise AssertionError("it is parsed each time")


def test_the_same_bytes_are_not_parsed_again(served: Service, parsed: list[bytes]) -> None:
    account = served.account()
    token = served.token(account)
    project = stored_project(served.platform.store, account)
    asked = request(served, token)
    first, second = Client(served), Client(served)
    body = remembered(first, asked, parsed)
    assert project.encode() in body
    assert second.asked(asked)[2] == body  # on a connection that has parsed nothing yet
    answers = [client.asked(asked)[1] for client in (first, second) for _ in range(20)]
    assert len({answer["x-request-id"] for answer in answers}) == 40
    assert {tuple(answer) for answer in answers} == {tuple(answers[0])} and "date" in answers[0]
    assert second.asked(request(served, token, more="X-Request-Id: mine-12345\r\n"))[1]["x-request-id"] == "mine-12345"
    for _ in range(3):
        headers = second.asked(request(served, token, more="X-Request-Id: mine-12345\r\n"))[1]
        assert headers["x-request-id"] == "mine-12345"
    first.close()
    second.close()


@pytest.mark.parametrize("pieces", [1, 2, 40])
def test_bytes_that_are_not_one_request_are_parsed(served: Service, parsed: list[bytes], pieces: int) -> None:
    asked = request(served, served.token(served.account()))
    client = Client(served)
    body = remembered(client, asked, parsed)
    for _ in range(3):
        client.send(asked * 3)
        assert [client.answer()[2] for _ in range(3)] == [body] * 3
        data = asked * 2
        step = -(-len(data) // pieces)
        for start in range(0, len(data), step):
            client.send(data[start : start + step])
            time.sleep(0.002)
        assert [client.answer()[2] for _ in range(2)] == [body] * 2
    assert client.asked(asked)[2] == body
    client.close()


def test_a_body_is_never_taken_for_a_request(served: Service, parsed: list[bytes]) -> None:
    token = served.token(served.account())
    asked = request(served, token)
    client = Client(served)
    remembered(client, asked, parsed)
    client.send(request(served, token, more=f"Content-Length: {len(asked)}\r\n", method="POST"))
    time.sleep(0.2)
    client.send(asked)
    assert client.answer()[0] == 400  # the body, which is not JSON
    assert client.asked(asked)[0] == 200
    client.send(request(served, token, path=f"{API}/me", more=f"Content-Length: {len(asked)}\r\n"))
    time.sleep(0.2)
    client.send(asked)
    client.send(request(served, token, path=f"{API}/nothing"))
    assert [client.answer()[0] for _ in range(2)] == [200, 404]
    client.close()


def test_answers_keep_their_order(served: Service, parsed: list[bytes]) -> None:
    token = served.token(served.account())
    asked, other = request(served, token), request(served, token, path=f"{API}/me")
    client = Client(served)
    lists = remembered(client, asked, parsed)
    me = client.asked(other)[2]
    assert me != lists
    for _ in range(20):
        for data in (other, asked, other, asked):
            client.send(data)
        assert [client.answer()[2] for _ in range(4)] == [me, lists, me, lists]
    client.close()


def test_an_acknowledged_change_is_in_the_next_answer_of_the_same_bytes(served: Service, parsed: list[bytes]) -> None:
    """Of this process and of another replica, while other connections have the same bytes answered all the time."""
    account = served.account()
    asked = request(served, served.token(account))
    project = stored_project(served.platform.store, account)
    watcher = Client(served)
    over = threading.Event()
    broken: list[object] = []

    def ask_on() -> None:
        client = Client(served)
        try:
            while not over.is_set():
                status, _, body = client.asked(asked)
                if status != 200 or project.encode() not in body:
                    broken.append((status, body))
        except Exception as error:
            broken.append(error)
        client.close()

    threads = [threading.Thread(target=ask_on, daemon=True) for _ in range(4)]
    other = open_store(served.platform.settings)
    try:
        for thread in threads:
            thread.start()
        for number in range(60):
            for store in (other, served.platform.store):
                name = f"Name {number} of {'another' if store is other else 'this'}"
                with store.main.writing() as connection:
                    connection.execute(update(projects).where(projects.c.id == project).values(name=name))
                for _ in range(3):
                    assert name.encode() in watcher.asked(asked)[2]
        remembered(watcher, asked, parsed)
        with other.main.writing() as connection:
            connection.execute(update(tokens).values(revoked_at=1))
        over.set()
        assert watcher.asked(asked)[0] == 401
    finally:
        over.set()
        for thread in threads:
            thread.join(60)
        other.close()
    # Only those that asked at the end have met the token that was revoked.
    assert all(isinstance(one, tuple) and one[0] == 401 for one in broken)
    watcher.close()


def test_a_turn_has_what_was_committed_before_it(tmp_path: Path) -> None:
    """What arrives after an acknowledgement is answered in a later turn, with a version that is read there."""
    new_files(tmp_path)
    settings = Settings(data=tmp_path, base_url="http://127.0.0.1:1")
    store, other = open_store(settings), open_store(settings)

    def commit(number: int) -> None:
        with other.main.writing() as connection:
            connection.execute(update(tokens).values(created_at=number))

    async def turns() -> None:
        loop, main = asyncio.get_running_loop(), store.main
        here, there = socket.socketpair()
        seen: list[tuple[int, int] | None] = []
        arrived = asyncio.Event()

        def receive() -> None:
            assert here.recv(1) == b"x"
            seen.append(main.version_in_turn())
            arrived.set()

        loop.add_reader(here, receive)
        for number in range(100):
            before = main.version_in_turn()
            commit(number)
            assert main.version_in_turn() == before != main.version()
            there.send(b"x")  # whoever was told of the commit asks, while this turn goes on
            await arrived.wait()
            arrived.clear()
            assert seen.pop() != before
        loop.remove_reader(here)
        here.close()
        there.close()

    async def never_back() -> None:
        known = Tokens(store.main, 30)
        own = digest(token)
        assert await known.principal(token) is not None
        assert known.known_in_turn(own) is not None
        commit(1)
        assert known.known_in_turn(own) is not None  # asked before that
        assert await known.principal(token) is not None  # reads the version anew, in the same turn
        later = known.version
        assert known.known_in_turn(own) is None and known.version == later
        await asyncio.sleep(0)
        assert known.known_in_turn(own) is not None and known.version == later

    try:
        with store.main.writing() as connection:
            token = make_token(connection, make_account(connection, "a@example.com"), "one", ("read",), "token")[1]
        asyncio.run(turns())
        asyncio.run(never_back())
    finally:
        store.close()
        other.close()


def test_a_connection_ends_when_nothing_is_asked_for_a_while(tmp_path: Path, parsed: list[bytes]) -> None:
    with Service(tmp_path / "data") as served:
        asked = request(served, served.token(served.account()))
        served.end_idle_connections(2)
        client = Client(served)
        remembered(client, asked, parsed)
        until = time.monotonic() + 3
        while time.monotonic() < until:
            last = time.monotonic()
            assert client.asked(asked)[0] == 200
            time.sleep(0.2)
        assert client.is_ended()
        assert time.monotonic() - last > 1.9
        client.close()
