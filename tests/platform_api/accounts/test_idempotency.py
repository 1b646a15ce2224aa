"""A write with an ``Idempotency-Key`` is carried out once and answered alike as often as it is sent."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from litestar import Router, post
from litestar.params import JSONBody
from platform_service import Service
from sqlalchemy import select, update

from platform_api.accounts import idempotency
from platform_api.api.requests import ApiRequest
from platform_api.moments import now
from platform_api.refusals import Refusal
from platform_api.store import tables

WRITE = "/api/v1/writes"
KEY = {"Idempotency-Key": "one"}


class Writes:
    """A route that tells how often it was called, and can be made to wait or to fail."""

    def __init__(self) -> None:
        self.calls = 0
        self.entered, self.go = threading.Event(), threading.Event()

    def router(self) -> Router:
        @post(WRITE, status_code=200)
        async def write(request: ApiRequest, data: JSONBody[dict[str, Any]]) -> dict[str, Any]:
            import asyncio

            self.calls += 1
            if data.get("wait"):
                self.entered.set()
                await asyncio.to_thread(self.go.wait, 60)
            if data.get("refuse"):
                raise Refusal(data["refuse"], "As it was asked.")
            return {"call": self.calls, "shown": "once-only-secret", **data}

        return Router(path="/", route_handlers=[write], request_class=ApiRequest, include_in_schema=False)


@pytest.fixture
def writes() -> Writes:
    return Writes()


@pytest.fixture
def running(tmp_path: Path, database: str | None, writes: Writes) -> Iterator[Service]:
    with Service(tmp_path / "data", database=database, routers=[writes.router()]) as service:
        yield service


def kept(service: Service) -> list[Any]:
    with service.platform.store.main.reading() as connection:
        return list(connection.execute(select(tables.idempotency)).all())


def test_the_first_answer_is_given_again_and_lies_encrypted(running: Service, writes: Writes) -> None:
    client = running.signed_in()
    first = client.post(WRITE, json={"a": 1}, headers=KEY)
    again = client.post(WRITE, json={"a": 1}, headers=KEY)
    assert (first.status_code, first.json()["call"]) == (200, 1)
    assert (again.status_code, again.content) == (200, first.content)
    assert "Idempotent-Replayed" not in first.headers and again.headers["Idempotent-Replayed"] == "true"
    assert first.headers["X-Request-Id"] != again.headers["X-Request-Id"]
    assert client.post(WRITE, json={"a": 1}).json()["call"] == 2, "without a key every request counts"
    [row] = kept(running)
    assert b"once-only-secret" not in row.response


def test_a_key_is_for_one_request_of_one_account_with_one_set_of_scopes(running: Service, writes: Writes) -> None:
    account = running.account()
    client = running.client(running.token(account))
    client.post(WRITE, json={"a": 1}, headers=KEY)
    others = [
        client.post(WRITE, json={"a": 2}, headers=KEY),
        client.post(WRITE + "?x=1", json={"a": 1}, headers=KEY),
        client.delete("/api/v1/tokens/tok_x", headers=KEY),
        running.client(running.token(account, "deploy")).post(WRITE, json={"a": 1}, headers=KEY),
        running.client(running.token(account, project_id="prj_x")).post(WRITE, json={"a": 1}, headers=KEY),
    ]
    assert [(answer.status_code, answer.json()["code"]) for answer in others] == [(409, "conflict")] * len(others)
    assert writes.calls == 1
    assert running.client(running.token(account)).post(WRITE, json={"a": 1}, headers=KEY).json()["call"] == 1
    assert running.signed_in("other@example.com").post(WRITE, json={"a": 1}, headers=KEY).json()["call"] == 2


def test_many_at_once_are_carried_out_once(running: Service, writes: Writes) -> None:
    token = running.token(running.account())

    def send(_: int) -> httpx.Response:
        return running.client(token).post(WRITE, json={"wait": True}, headers=KEY)

    with ThreadPoolExecutor(8) as pool:
        sent = [pool.submit(send, 0)]
        assert writes.entered.wait(60)
        early = send(1)
        assert early.status_code == 409 and early.headers["Retry-After"] == "1"
        sent += [pool.submit(send, number) for number in range(6)]
        writes.go.set()
        answers = [one.result() for one in sent]
    assert writes.calls == 1
    assert {answer.status_code for answer in answers} <= {200, 409}
    assert send(9).content == answers[0].content


@pytest.mark.parametrize(("code", "status", "calls"), [("conflict", 409, 1), ("internal", 500, 2), ("rate_limited", 429, 2)])
def test_refusals_stay_and_faults_may_be_tried_again(
    service: Service, code: str, status: int, calls: int, tmp_path: Path, database: str | None
) -> None:
    writes = Writes()
    with Service(tmp_path / "other", database=database, routers=[writes.router()]) as running:
        client = running.signed_in()
        for _ in range(2):
            assert client.post(WRITE, json={"refuse": code}, headers=KEY).status_code == status
    assert writes.calls == calls


def test_an_answer_is_kept_for_a_day_and_a_lost_request_for_minutes(running: Service, writes: Writes) -> None:
    client = running.signed_in()

    def aged(**values: Any) -> None:
        with running.platform.store.main.writing() as connection:
            connection.execute(update(tables.idempotency).values(**values))

    client.post(WRITE, json={}, headers=KEY)
    aged(created_at=now() - idempotency.LIFE - 1)
    assert client.post(WRITE, json={}, headers=KEY).json()["call"] == 2
    aged(created_at=now() - idempotency.LOST + 60_000, status=None)
    assert client.post(WRITE, json={}, headers=KEY).status_code == 409
    aged(created_at=now() - idempotency.LOST - 1, status=None)
    assert client.post(WRITE, json={}, headers=KEY).json()["call"] == 3


@pytest.mark.parametrize("key", ["", "a b", "x" * 129, "ä"])
def test_a_key_that_cannot_be_one_is_refused(service: Service, key: str) -> None:
    answer = service.signed_in().delete("/api/v1/tokens/tok_x", headers={b"Idempotency-Key": key.encode("latin-1")})
    assert (answer.status_code, answer.json()["field"]) == (400, "Idempotency-Key")


def test_what_is_kept_of_an_account_has_an_end(running: Service, writes: Writes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idempotency, "MOST_KEPT", 300)
    client = running.signed_in()
    large = {"pad": "x" * 200_000}

    def sent(key: str) -> httpx.Response:
        return client.post(WRITE, json=large, headers={"Idempotency-Key": key})

    answers = [sent(f"key-{number}") for number in range(6)]
    assert [answer.status_code for answer in answers] == [200, 200, 429, 429, 429, 429]
    assert answers[2].json()["code"] == "rate_limited" and int(answers[2].headers["Retry-After"]) > 3600
    assert sum(len(row.response or b"") for row in kept(running)) < 500_000
    assert len(kept(running)) == writes.calls == 2, "nothing is done and nothing is kept of what is refused"
    assert sent("key-0").content == answers[0].content, "what is kept is given again"
    assert client.post(WRITE, json=large).status_code == 200, "a request without a key is no matter of this"
    other = running.signed_in("other@example.com")
    assert other.post(WRITE, json=large, headers=KEY).status_code == 200
