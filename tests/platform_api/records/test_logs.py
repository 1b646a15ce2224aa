"""The log of a project through HTTP: tails, streams, who may read them, and how many at once."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from event_streams import GENEROUS, events
from platform_service import Service
from sqlalchemy import event
from stored_projects import stored_project

from platform_api.moments import rfc3339
from platform_api.records.logs import append_logs
from platform_api.store.store import Store

#: When the first line was printed, in milliseconds since 1970. What is older than some days is deleted by the service's upkeep.
FIRST = int(time.time()) * 1000
#: How often each of the writers writes; `make soak` has more.
LOG_ROUNDS = int(os.environ.get("SOAK_LOG_ROUNDS", "4"))


def append(store: Store, project_id: str, *lines: str, stream: str = "out") -> None:
    with store.records.writing() as connection:
        append_logs(connection, project_id, [(FIRST + n, stream, line, None) for n, line in enumerate(lines)])


def taken(stream: Iterator[dict[str, Any]], count: int) -> list[str]:
    return [next(stream)["data"]["line"] for _ in range(count)]


# ---- tails ---------------------------------------------------------------------------------------------------------------


def test_a_tail_gives_the_last_lines_and_then_those_behind_one(service: Service) -> None:
    account = service.account()
    client, project = service.client(service.token(account)), stored_project(service.platform.store, account)
    path = f"/api/v1/projects/{project}/logs/tail"
    assert client.get(path).json() == {"items": [], "last": "0"}
    assert client.get(path, params={"after": "7"}).json() == {"items": [], "last": "7"}
    append(service.platform.store, project, *"abcde")
    body = client.get(path, params={"limit": 2}).json()
    assert body == {
        "items": [
            {"id": "4", "at": rfc3339(FIRST + 3), "line": "d"},
            {"id": "5", "at": rfc3339(FIRST + 4), "line": "e"},
        ],
        "last": "5",
    }
    behind = client.get(path, params={"after": "0", "limit": 3}).json()
    assert [item["line"] for item in behind["items"]] == ["a", "b", "c"] and behind["last"] == "3"
    assert [item["line"] for item in client.get(path, params={"after": "3"}).json()["items"]] == ["d", "e"]


@pytest.mark.parametrize("query", ["after=x", "after=-1", "after=9223372036854775808", "after=%D9%A3", "limit=0", "limit=501"])
def test_what_is_no_position_in_a_log_is_refused(service: Service, query: str) -> None:
    account = service.account()
    project = stored_project(service.platform.store, account)
    answer = service.client(service.token(account)).get(f"/api/v1/projects/{project}/logs/tail?{query}")
    assert (answer.status_code, answer.json()["code"]) == (400, "validation")
    assert answer.json()["field"] == query.partition("=")[0]


def test_a_line_is_cut_at_8_kib_and_holds_nothing_that_a_store_cannot(service: Service) -> None:
    account = service.account()
    client, project = service.client(service.token(account)), stored_project(service.platform.store, account)
    append(service.platform.store, project, "é" * 5000, "a\0b", "\ud800", "two\nlines\r")
    lines = [item["line"] for item in client.get(f"/api/v1/projects/{project}/logs/tail").json()["items"]]
    assert lines == ["é" * 4096, "a\ufffdb", "?", "two\nlines\r"]
    with events(client, f"/api/v1/projects/{project}/logs") as stream:
        assert taken(stream, 4) == lines


@pytest.mark.parametrize("end", ["logs", "logs/tail"])
def test_logs_are_read_by_their_account_with_the_scope_for_it_alone(service: Service, end: str) -> None:
    owner, other = service.account(), service.account("other@example.com")
    mine, another = (stored_project(service.platform.store, owner) for _ in range(2))
    path = f"/api/v1/projects/{mine}/{end}"
    assert service.client().get(path).status_code == 401
    assert service.client(service.token(other)).get(path).status_code == 404
    assert service.client(service.token(owner, "read", project_id=another)).get(path).status_code == 404
    refused = service.client(service.token(owner, "deploy")).get(path)
    assert (refused.status_code, refused.json()["details"]) == (403, {"scope": "read"})


def test_a_tail_skips_no_line_while_fifty_write_at_once(tmp_path: Path, database: str | None) -> None:
    writers, rounds, together = 50, LOG_ROUNDS, 3
    with Service(tmp_path, database=database, rate_limits=False) as service:
        account = service.account()
        client, project = service.client(service.token(account)), stored_project(service.platform.store, account)
        failures: list[BaseException] = []

        def write(writer: int) -> None:
            try:
                for turn in range(rounds):
                    with service.platform.store.records.writing() as connection:
                        lines = [(1, "out", f"{writer} {turn * together + n}", None) for n in range(together)]
                        append_logs(connection, project, lines)
                        time.sleep(0.001 * (writer % 5))  # it has its numbers and commits late
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=write, args=(writer,)) for writer in range(writers)]
        for thread in threads:
            thread.start()
        after, found, wanted = "0", [], writers * rounds * together
        deadline = time.monotonic() + GENEROUS
        while len(found) < wanted and time.monotonic() < deadline and not failures:
            body = client.get(f"/api/v1/projects/{project}/logs/tail", params={"after": after, "limit": 500}).json()
            found += body["items"]
            after = body["last"]
        for thread in threads:
            thread.join()
        assert not failures
        assert [item["id"] for item in found] == [str(number) for number in range(1, wanted + 1)]
        for writer in range(writers):
            own = [int(item["line"].split()[1]) for item in found if item["line"].split()[0] == str(writer)]
            assert own == list(range(rounds * together))


# ---- streams -------------------------------------------------------------------------------------------------------------


def test_a_stream_begins_with_the_last_lines_and_goes_on_with_new_ones(service: Service) -> None:
    account = service.account()
    client, project = service.client(service.token(account)), stored_project(service.platform.store, account)
    store = service.platform.store
    append(store, project, *(str(number) for number in range(150)))
    append(store, project, "oops", stream="err")
    path = f"/api/v1/projects/{project}/logs"
    with events(client, path) as stream:
        assert taken(stream, 99) == [str(number) for number in range(51, 150)]
        assert next(stream) == {
            "id": "151",
            "event": "log",
            "data": {"id": "151", "at": rfc3339(FIRST), "line": "oops", "stream": "err"},
        }
        append(store, project, "new")
        assert taken(stream, 1) == ["new"]
    with events(client, f"{path}?tail=0") as stream:
        append(store, project, "newer")
        assert taken(stream, 1) == ["newer"]
    with events(client, path, headers={"Last-Event-ID": "149"}) as stream:
        assert taken(stream, 4) == ["149", "oops", "new", "newer"]
    assert client.get(path, headers={"Last-Event-ID": "x"}).status_code == 400


def test_a_stream_without_lines_is_open_at_once(service: Service) -> None:
    account = service.account()
    client, project = service.client(service.token(account)), stored_project(service.platform.store, account)
    with client.stream("GET", f"/api/v1/projects/{project}/logs") as answer:
        assert answer.status_code == 200 and next(answer.iter_lines()) == ":"


def test_a_stream_reads_a_long_log_in_pages_and_misses_nothing_meanwhile(service: Service) -> None:
    account = service.account()
    client, project = service.client(service.token(account)), stored_project(service.platform.store, account)
    store = service.platform.store
    append(store, project, *(str(number) for number in range(3000)))
    with events(client, f"/api/v1/projects/{project}/logs", headers={"Last-Event-ID": "0"}) as stream:
        for first in range(3000, 9000, 1000):  # while the first ones are on their way
            append(store, project, *(str(number) for number in range(first, first + 1000)))
        assert taken(stream, 9000) == [str(number) for number in range(9000)]


def test_a_slow_reader_costs_no_memory_and_loses_no_line(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform_api.records.feed.WAITING_ROWS", 10)
    account = service.account()
    client, project = service.client(service.token(account)), stored_project(service.platform.store, account)
    long = "x" * 4000
    with events(client, f"/api/v1/projects/{project}/logs") as stream:
        for number in range(0, 6000, 20):  # 24 MB while nothing is read: far more than sockets hold
            append(service.platform.store, project, *(f"{number + n} {long}" for n in range(20)))
        assert [line.split()[0] for line in taken(stream, 6000)] == [str(number) for number in range(6000)]


def test_a_client_that_accepts_nothing_is_given_up(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform_api.api.streams.PATIENCE", 0.2)
    account = service.account()
    client, project = service.client(service.token(account)), stored_project(service.platform.store, account)
    append(service.platform.store, project, *("x" * 8000 for _ in range(5000)))
    with events(client, f"/api/v1/projects/{project}/logs", headers={"Last-Event-ID": "0"}):
        until(lambda: not service.platform.open_streams.open)


def test_a_heartbeat_comes_and_a_revoked_token_ends_the_stream(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform_api.event_stream.HEARTBEAT", 0.1)
    account = service.account()
    owner = service.client(service.token(account))
    project = stored_project(service.platform.store, account)
    token = service.token(account, "read")
    watcher = service.client(token)
    with watcher.stream("GET", f"/api/v1/projects/{project}/logs", timeout=GENEROUS) as answer:
        lines = answer.iter_lines()
        assert [line for line in (next(lines) for _ in range(6)) if line] == [":"] * 3
        newest = owner.get("/api/v1/tokens").json()["items"][0]["id"]
        assert owner.delete(f"/api/v1/tokens/{newest}").status_code == 200
        assert set(lines) <= {":", ""}  # it ends
    assert watcher.get(f"/api/v1/projects/{project}/logs").status_code == 401


def test_streams_of_a_store_that_nobody_changes_read_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each asks at every heartbeat whether its token still holds."""
    monkeypatch.setattr("platform_api.event_stream.HEARTBEAT", 0.05)
    with Service(tmp_path / "data") as service, ExitStack() as stack:
        account = service.account()
        client, project = service.client(service.token(account)), stored_project(service.platform.store, account)
        path = f"/api/v1/projects/{project}/logs"
        streams = [stack.enter_context(client.stream("GET", path, timeout=GENEROUS)).iter_lines() for _ in range(10)]
        asked: list[str] = []
        listening = (service.platform.store.main.engine, "before_cursor_execute", lambda *given: asked.append(given[2]))
        event.listen(*listening)
        beats = sum(1 for lines in streams for _ in range(60) if next(lines) == ":")
        event.remove(*listening)
        of_tokens = [statement for statement in asked if "FROM tokens" in statement]
        assert beats == 300 and len(of_tokens) < 100


def test_streams_end_with_the_service(tmp_path: Path, database: str | None) -> None:
    with Service(tmp_path, database=database) as service:
        account = service.account()
        project = stored_project(service.platform.store, account)
        stack = ExitStack()
        client = httpx.Client(base_url=service.url, headers={"Authorization": f"Bearer {service.token(account)}"})
        stack.callback(client.close)
        streams = [
            stack.enter_context(client.stream("GET", path, timeout=GENEROUS)).iter_lines()
            for path in (f"/api/v1/projects/{project}/logs", "/api/v1/events")
        ]
        assert [next(lines) for lines in streams] == [":", ":"]
    with stack:  # to their ends: a stream that is cut off is an error here
        assert [list(lines) for lines in streams] == [[""], [""]]


def test_an_account_has_a_hundred_streams_open_at_once(service: Service) -> None:
    account, other = service.account(), service.account("other@example.com")
    projects = {owner: stored_project(service.platform.store, owner) for owner in (account, other)}
    path, token = f"/api/v1/projects/{projects[account]}/logs", service.token(account)

    async def check() -> None:
        limits = httpx.Limits(max_connections=None)
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx.AsyncClient(base_url=service.url, headers=headers, limits=limits, timeout=GENEROUS) as client:
            opened = [await client.send(client.build_request("GET", path), stream=True) for _ in range(100)]
            assert {answer.status_code for answer in opened} == {200}
            refused = await client.get(path)
            assert (refused.status_code, refused.json()["code"]) == (429, "rate_limited")
            assert int(refused.headers["Retry-After"]) > 0
            for answer in opened:
                await answer.aclose()

    asyncio.run(check())
    with events(service.client(service.token(other)), f"/api/v1/projects/{projects[other]}/logs"):
        pass
    until(lambda: not service.platform.open_streams.open)
    with events(service.client(token), path):  # those that were closed do not count
        pass


def test_a_line_reaches_500_watchers_through_one_reader(
    tmp_path: Path, database: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from platform_api.records import logs

    reads = 0
    read = logs.lines_after

    def counted(*args: Any) -> Any:
        nonlocal reads
        reads += 1
        return read(*args)

    with Service(tmp_path, database=database, rate_limits=False) as service:
        account = service.account()
        project, token = stored_project(service.platform.store, account), service.token(account)
        request = (
            f"GET /api/v1/projects/{project}/logs HTTP/1.1\r\nHost: 127.0.0.1:{service.port}\r\n"
            f"Authorization: Bearer {token}\r\n\r\n"
        ).encode()

        async def check() -> None:
            places = asyncio.Semaphore(50)

            async def opened() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
                async with places:
                    reader, writer = await asyncio.open_connection("127.0.0.1", service.port)
                    writer.write(request)
                    await reader.readuntil(b":\n\n")
                    return reader, writer

            watchers = await asyncio.gather(*(opened() for _ in range(500)))
            monkeypatch.setattr(logs, "lines_after", counted)
            for number in range(10):
                await asyncio.to_thread(append, service.platform.store, project, f"line {number}")
                ends = f'"line {number}"'.encode()
                await asyncio.gather(*(reader.readuntil(ends) for reader, _ in watchers))
            for _, writer in watchers:
                writer.close()

        asyncio.run(asyncio.wait_for(check(), GENEROUS))
        assert 10 <= reads < 100


# ---- replicas ------------------------------------------------------------------------------------------------------------


def test_two_replicas_see_the_lines_of_each_other_at_once(
    tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("platform_api.changes.POLL", 3600.0)  # what comes has been notified
    with Service(tmp_path / "a", database=postgres_url) as one, Service(tmp_path / "b", database=postgres_url) as two:
        account = one.account()
        project, token = stored_project(one.platform.store, account), one.token(account)
        path = f"/api/v1/projects/{project}/logs"
        with events(one.client(token), path) as first, events(two.client(token), path) as second:
            for number, service in enumerate([one, two] * 20):
                append(service.platform.store, project, str(number))
                if number % 4 == 0:  # the others come in bursts, of which notifications are held back
                    time.sleep(0.01)
            for stream in (first, second):
                assert taken(stream, 40) == [str(number) for number in range(40)]
        assert not caplog.records


def test_a_replica_whose_connection_for_notifications_breaks_hears_again(tmp_path: Path, postgres_url: str) -> None:
    import psycopg

    with Service(tmp_path, database=postgres_url) as service:
        account = service.account()
        client, project = service.client(service.token(account)), stored_project(service.platform.store, account)
        with events(client, f"/api/v1/projects/{project}/logs") as stream:
            append(service.platform.store, project, "before")
            assert taken(stream, 1) == ["before"]
            with psycopg.connect(postgres_url, autocommit=True) as connection:
                ended = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'"
                # The stream does not wait for the connection that listens: the line came from its own process.
                until(lambda: connection.execute(ended).fetchone() == (1,))
            append(service.platform.store, project, "after")
            assert taken(stream, 1) == ["after"]


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + GENEROUS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
