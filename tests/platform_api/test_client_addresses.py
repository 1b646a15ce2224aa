"""Whose address counts: that of the peer, unless the peer is a proxy that is trusted to name another."""

from __future__ import annotations

from pathlib import Path

import pytest
from platform_service import Service
from sqlalchemy import select

from platform_api.store.tables import devices


@pytest.mark.parametrize(
    ("trusted", "forwarded", "seen"),
    [
        ((), "203.0.113.5", "127.0.0.1"),
        (("192.0.2.0/24",), "203.0.113.5", "127.0.0.1"),
        (("127.0.0.1",), "203.0.113.5", "203.0.113.5"),
        (("127.0.0.1",), "198.51.100.1, 203.0.113.5", "203.0.113.5"),  # what a client writes in front is not believed
        (("127.0.0.0/8", "203.0.113.5"), "198.51.100.1, 203.0.113.5", "198.51.100.1"),
        (("127.0.0.1",), "", "127.0.0.1"),
    ],
)
def test_the_address_of_a_client(tmp_path: Path, trusted: tuple[str, ...], forwarded: str, seen: str) -> None:
    with Service(tmp_path / "data", trusted_proxies=trusted) as service:
        headers = {"X-Forwarded-For": forwarded} if forwarded else {}
        assert service.client().post("/api/v1/auth/device", headers=headers).status_code == 200
        with service.platform.store.main.reading() as connection:
            assert connection.execute(select(devices.c.address)).scalar_one() == seen
