"""Two services on one store: what is committed on one of them holds on the other one with its next request."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from deploying import API, made, ok, refused, runner_of, until
from platform_service import Service
from sqlalchemy import select, update

from platform_api.accounts.administration import set_disabled
from platform_api.accounts.sessions import end_sessions, start_session
from platform_api.store.tables import open_streams
from runner.protocol import GateOpened

GATES = 6


@pytest.fixture
def replicas(tmp_path: Path, database: str | None) -> Iterator[tuple[Service, Service]]:
    """Both have one folder, since they need one master key."""
    with Service(tmp_path, database=database) as one, Service(tmp_path, database=database) as two:
        yield one, two


def test_who_is_let_in_by_one_replica_is_shut_out_by_both_at_once(replicas: tuple[Service, Service]) -> None:
    one, two = replicas
    account = one.account()
    one.account("admin@example.com", admin=True)
    owner = one.client(one.token(account))
    for turn in range(4):
        token = one.token(account, "read")
        clients = [replica.client(token) for replica in replicas]
        assert [client.get(f"{API}/me").status_code for client in clients * 2] == [200] * 4  # known to both by now
        newest = ok(owner.get(f"{API}/tokens"))["items"][0]["id"]
        ok(owner.delete(f"{API}/tokens/{newest}"))
        order = clients if turn % 2 else clients[::-1]
        assert [client.get(f"{API}/me").status_code for client in order] == [401, 401]
    with one.platform.store.main.writing() as connection:
        cookie = start_session(connection, account, "127.0.0.1")
    browsers = [replica.client() for replica in replicas]
    for browser in browsers:
        browser.cookies.set("platform-session", cookie)
    assert [browser.get("/").status_code for browser in browsers * 2] == [200] * 4
    with two.platform.store.main.writing() as connection:
        end_sessions(connection, account)
    assert 200 not in [browser.get("/").status_code for browser in browsers]
    token = one.token(account)
    clients = [replica.client(token) for replica in replicas]
    assert [client.get(f"{API}/me").status_code for client in clients * 2] == [200] * 4
    with two.platform.store.main.writing() as connection:
        set_disabled(connection, account, True)
    assert [client.get(f"{API}/me").status_code for client in clients] == [401, 401]


def test_a_gate_is_decided_on_one_replica_while_the_other_one_lists_it(replicas: tuple[Service, Service]) -> None:
    one, two = replicas
    token = one.token(one.account())
    first, second = one.client(token), two.client(token)
    with runner_of(one) as runner:
        project = made(first, "worker", source="sleep(100)\n")
        ok(first.post(f"{API}/projects/{project}/deploys"))
        runner.converge()
        report: dict[str, Any] = {"project": project, "kind": "approve", "message": "Go?", "left_ms": 2**40}
        runner.report(*(GateOpened(gate=f"g{number}", **report) for number in range(GATES)))
        waiting = {gate["id"] for gate in ok(second.get(f"{API}/approvals"))["items"]}
        assert len(waiting) == GATES
        decided: set[str] = set()
        over = threading.Event()
        wrong: list[str] = []

        def look() -> None:
            with httpx.Client(base_url=two.url, headers=first.headers, timeout=60) as client:
                while not over.is_set():
                    gone = set(decided)  # answered before this list was asked for
                    listed = {gate["id"] for gate in ok(client.get(f"{API}/approvals"))["items"]}
                    wrong.extend(gone & listed)

        looking = threading.Thread(target=look)
        looking.start()
        try:
            for gate in sorted(waiting):
                # Both replicas are asked at once: one of them decides.
                with ThreadPoolExecutor(2) as pool:
                    answers = list(
                        pool.map(
                            lambda client, gate=gate: client.post(f"{API}/approvals/{gate}", json={"decision": True}),
                            (first, second),
                        )
                    )
                assert sorted(answer.status_code for answer in answers) == [200, 409]
                decided.add(gate)
                assert refused(second.post(f"{API}/approvals/{gate}", json={"decision": False})) == (409, "gate_closed")
        finally:
            over.set()
            looking.join()
        assert wrong == []
        assert ok(first.get(f"{API}/approvals"))["items"] == ok(second.get(f"{API}/approvals"))["items"] == []
        until(lambda: (runner.poll(), len(runner.decisions) == GATES)[1])
        assert all(decision.decision is True for decision in runner.decisions.values())


def test_the_streams_of_an_account_are_counted_over_both_replicas(
    replicas: tuple[Service, Service], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platform_api.accounts.open_streams.OPEN_AN_ACCOUNT", 3)
    monkeypatch.setattr("platform_api.accounts.open_streams.KEPT_EVERY", 3600)
    one, two = replicas
    account = one.account()
    token = one.token(account)
    headers = {"Authorization": f"Bearer {token}"}

    async def opened(client: httpx.AsyncClient, replica: Service) -> httpx.Response:
        return await client.send(client.build_request("GET", f"{replica.url}{API}/events", headers=headers), stream=True)

    async def check() -> None:
        async with httpx.AsyncClient(timeout=120) as client:
            at_once = await asyncio.gather(*(opened(client, replica) for replica in replicas * 4))
            assert 1 <= sum(answer.status_code == 200 for answer in at_once) <= 3
            for answer in at_once:
                await answer.aclose()
            await asyncio.to_thread(until, lambda: not one.platform.open_streams.open and not two.platform.open_streams.open)
            for replica in replicas:
                await replica.platform.open_streams.keep()
            assert kept(one) == {}
            first, second, third = [await opened(client, replica) for replica in (one, two, one)]
            assert [answer.status_code for answer in (first, second, third)] == [200] * 3
            assert [(await opened(client, replica)).status_code for replica in replicas] == [429, 429]
            await first.aclose()
            await asyncio.to_thread(until, lambda: one.platform.open_streams.open == {account: 1})
            fourth = await opened(client, one)  # who has closed one here may open one here at once
            assert fourth.status_code == 200
            await fourth.aclose()
            await asyncio.to_thread(until, lambda: one.platform.open_streams.open == {account: 1})
            assert (await opened(client, two)).status_code == 429
            await one.platform.open_streams.keep()
            fifth = await opened(client, two)  # and there with the next sign of life
            assert fifth.status_code == 200
            with one.platform.store.main.writing() as connection:  # the other replica is gone without a word
                gone = update(open_streams).where(open_streams.c.streams == 2).values(seen_at=0)
                assert connection.execute(gone).rowcount == 1
            sixth = await opened(client, one)
            assert sixth.status_code == 200
            await one.platform.open_streams.keep()
            assert sorted(kept(one).values()) == [2]
            for answer in (second, third, fifth, sixth):
                await answer.aclose()

    asyncio.run(check())


def kept(service: Service) -> dict[str, int]:
    with service.platform.store.main.reading() as connection:
        rows = connection.execute(select(open_streams.c.replica, open_streams.c.streams)).all()
    return {row.replica: row.streams for row in rows}
