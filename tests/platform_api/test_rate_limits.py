"""Requests of a token and of an address are limited, for all replicas together."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from platform_service import Service

from platform_api.accounts.rate_limits import SIGN_INS_OF_AN_ADDRESS, RateLimit
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


def test_limits_can_be_lifted(tmp_path: Path) -> None:
    with Service(tmp_path / "data", rate_limits=False) as service:
        client = service.client()
        for _ in range(SIGN_INS_OF_AN_ADDRESS + 1):
            assert client.post("/api/v1/auth/device/token", json={"device_code": "x"}).status_code == 404
