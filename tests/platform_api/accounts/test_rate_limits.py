"""Requests of a token and of an address are limited, for all replicas together."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from browsing_person import Person
from platform_service import Service

from platform_api.accounts.rate_limits import (
    DEPLOYS_OF_A_HOOK,
    HOOKS_OF_AN_ADDRESS,
    REQUESTS_OF_A_TOKEN,
    SIGN_INS_OF_AN_ADDRESS,
    RateLimit,
)
from platform_api.accounts.sessions import cookie_name
from platform_api.accounts.throttle import count
from platform_api.moments import MINUTE
from platform_api.refusals import Refusal
from platform_api.store.database import Database
from platform_api.store.migrations.apply import migrate


@pytest.fixture
def main(tmp_path: Path) -> Iterator[Database]:
    database = Database(tmp_path / "main.db")
    migrate(database, "main")
    yield database
    database.close()


async def taken(limit: RateLimit, key: str, requests: int) -> int:
    """How many of ``requests`` are let through."""
    passed = 0
    for _ in range(requests):
        try:
            await limit.count(key)
        except Refusal as refusal:
            assert refusal.code == "rate_limited" and refusal.retry_after is not None and 0 < refusal.retry_after <= 60
        else:
            passed += 1
    return passed


def test_two_replicas_share_a_limit(main: Database) -> None:
    async def both() -> list[int]:
        one, two = RateLimit(main, "test", 120), RateLimit(main, "test", 120)
        counted = [await taken(one, "a", 60), await taken(two, "a", 100), await taken(one, "a", 100)]
        assert await taken(two, "b", 10) == 10, "another key has a limit of its own"
        return counted

    first, second, third = asyncio.run(both())
    assert first == 60 and second == 60
    assert third <= 2, "at most what a replica hands over at a time"


def test_one_process_lets_exactly_the_limit_through(main: Database) -> None:
    assert asyncio.run(taken(RateLimit(main, "test", 500), "a", 700)) == 500


def test_an_address_asks_for_tokens_no_more_than_its_limit(service: Service) -> None:
    client = service.client()
    statuses = [
        client.post("/api/v1/auth/device/token", json={"device_code": "x"}).status_code
        for _ in range(SIGN_INS_OF_AN_ADDRESS + 1)
    ]
    assert statuses == [404] * SIGN_INS_OF_AN_ADDRESS + [429]
    refused = client.post("/api/v1/auth/device")
    assert refused.status_code == 429 and 0 < int(refused.headers["Retry-After"]) <= 60
    assert service.signed_in().get("/api/v1/me").status_code == 200


def test_forms_that_let_somebody_in_count_too(service: Service) -> None:
    client = service.client()
    statuses = {client.post("/sign-in", data={"email": "x"}).status_code for _ in range(SIGN_INS_OF_AN_ADDRESS)}
    assert statuses == {403}, "they come from no page of ours"
    assert client.post("/sign-in", data={"email": "x"}, headers={"Origin": service.url}).status_code == 429
    assert client.post("/api/v1/auth/device").status_code == 429
    assert client.get("/sign-in").status_code == 200


def test_a_deploy_hook_is_limited_by_address_and_by_project(service: Service) -> None:
    client = service.signed_in()
    hooks = []
    for name in ("one", "two"):
        project = client.post("/api/v1/projects", json={"name": name, "source": "print(1)"}).json()["project"]["id"]
        hooks.append(client.post(f"/api/v1/projects/{project}/hook").json()["url"])
    caller = service.client()
    answers = [caller.post(hooks[0]) for _ in range(DEPLOYS_OF_A_HOOK + 1)]
    assert [answer.status_code for answer in answers] == [200] * DEPLOYS_OF_A_HOOK + [429]
    assert 0 < int(answers[-1].headers["Retry-After"]) <= 60
    assert caller.post(hooks[1]).status_code == 200, "each project has a limit of its own"
    left = HOOKS_OF_AN_ADDRESS - len(answers) - 1
    guesses = [caller.post(f"/hooks/deploy/{number}").status_code for number in range(left + 1)]
    assert guesses == [404] * left + [429]
    assert caller.post("/api/v1/auth/device").status_code == 200, "who guesses hooks keeps nobody from signing in"


def test_the_tools_of_an_assistant_count_as_requests_of_its_token(service: Service) -> None:
    client = service.signed_in()
    token_id = client.get("/api/v1/tokens").json()["items"][0]["id"]
    with service.platform.store.main.writing() as connection:
        count(connection, f"requests:{token_id}", MINUTE, REQUESTS_OF_A_TOKEN - 100)
    message = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    # The first exchange with the store, a sixtieth of the limit on, tells this process of the others' requests.
    statuses = [client.post("/mcp", json=message).status_code for _ in range(REQUESTS_OF_A_TOKEN // 60 + 1)]
    assert statuses[0] == 200 and statuses[-1] == 429
    assert client.get("/api/v1/me").status_code == 429


def test_a_browser_counts_as_a_token_does(service: Service) -> None:
    person = Person(service)
    digest = hashlib.sha256(person.client.cookies[cookie_name(service.platform.settings)].encode()).hexdigest()
    with service.platform.store.main.writing() as connection:
        count(connection, f"requests:{digest}", MINUTE, REQUESTS_OF_A_TOKEN)
    statuses = [person.get("/assets/icon.svg").status_code for _ in range(REQUESTS_OF_A_TOKEN // 60 + 1)]
    assert statuses[0] == 200 and statuses[-1] == 429
    refused = person.sends("/new", way="paste", name="x", source="print(1)")
    assert refused.status_code == 429 and 0 < int(refused.headers["Retry-After"]) <= 60
    assert service.client().get("/sign-in").status_code == 200


def test_limits_can_be_lifted(tmp_path: Path, database: str | None) -> None:
    with Service(tmp_path / "data", database=database, rate_limits=False) as service:
        client = service.client()
        for _ in range(SIGN_INS_OF_AN_ADDRESS + 1):
            assert client.post("/api/v1/auth/device/token", json={"device_code": "x"}).status_code == 404
