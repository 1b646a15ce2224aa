"""Whose address counts: that of the peer, unless the peer is a proxy that is trusted to name another."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

import pytest
from browsing_person import Person
from hypothesis import given
from hypothesis import strategies as st
from platform_service import Service
from sqlalchemy import select

from platform_api.accounts.sign_in import FAILURES_OF_AN_ACCOUNT
from platform_api.addresses import counted_as
from platform_api.store.tables import devices


@pytest.mark.parametrize(
    ("trusted", "forwarded", "seen"),
    [
        ((), "", "127.0.0.1"),
        ((), "203.0.113.5", ""),  # the peer speaks for others, and nobody has said that it may
        (("192.0.2.0/24",), "203.0.113.5", ""),
        (("127.0.0.1",), "203.0.113.5", "203.0.113.5"),
        (("127.0.0.1",), "198.51.100.1, 203.0.113.5", "203.0.113.5"),  # what a client writes in front is not believed
        (("127.0.0.0/8", "203.0.113.5"), "198.51.100.1, 203.0.113.5", "198.51.100.1"),
        (("127.0.0.1",), "", "127.0.0.1"),
    ],
)
def test_the_address_of_a_client(
    tmp_path: Path, database: str | None, trusted: tuple[str, ...], forwarded: str, seen: str
) -> None:
    with Service(tmp_path / "data", database=database, trusted_proxies=trusted) as service:
        headers = {"X-Forwarded-For": forwarded} if forwarded else {}
        assert service.client().post("/api/v1/auth/device", headers=headers).status_code == 200
        with service.platform.store.main.reading() as connection:
            assert connection.execute(select(devices.c.address)).scalar_one() == seen


def test_behind_a_proxy_that_nobody_named_no_link_fills_in_its_code(tmp_path: Path) -> None:
    """Everybody has the address of the proxy there: whoever sends the link of a device of his own would have it filled in."""
    for trusted, filled in (((), False), (("127.0.0.1",), True)):
        with Service(tmp_path / f"data{len(trusted)}", trusted_proxies=trusted) as service:
            person = Person(service)
            for asks, looks, known in (("203.0.113.5", "203.0.113.5", filled), ("203.0.113.5", "198.51.100.1", False)):
                asked = service.client().post("/api/v1/auth/device", headers={"X-Forwarded-For": asks}).json()
                page = person.client.get(f"/device?code={asked['user_code']}", headers={"X-Forwarded-For": looks}).text
                assert (f'value="{asked["user_code"]}"' in page) == known


def test_a_proxy_may_name_the_client_in_lines_of_its_own(tmp_path: Path) -> None:
    with Service(tmp_path / "data", trusted_proxies=("127.0.0.1", "203.0.113.5")) as service:
        lines = [("X-Forwarded-For", "192.0.2.9, 198.51.100.1"), ("X-Forwarded-For", "203.0.113.5")]
        assert service.client().post("/api/v1/auth/device", headers=lines).status_code == 200
        with service.platform.store.main.reading() as connection:
            assert connection.execute(select(devices.c.address)).scalar_one() == "198.51.100.1"


def test_failed_sign_ins_are_counted_by_what_one_customer_has(tmp_path: Path) -> None:
    """Of IPv6 that is a network of 64 bits: 2^64 addresses would be 2^64 times ten attempts."""
    with Service(tmp_path / "data", trusted_proxies=("127.0.0.1",)) as service:
        service.account()
        client = service.client()

        def status(address: str) -> int:
            body = {"email": "owner@example.com", "password": "wrong words"}
            return client.post("/api/v1/auth/login", json=body, headers={"X-Forwarded-For": address}).status_code

        assert [status(f"2001:db8:1:2::{number:x}") for number in range(FAILURES_OF_AN_ACCOUNT + 1)][-1] == 429
        assert status("2001:db8:1:3::1") == status("198.51.100.1") == status("198.51.100.2") == 401


@given(st.ip_addresses(), st.ip_addresses(v=6))
def test_what_an_address_is_counted_as(address: IPv4Address | IPv6Address, other: IPv6Address) -> None:
    if isinstance(address, IPv4Address):
        assert counted_as(str(address)) == counted_as(f"::ffff:{address}") == str(address)
    elif address.ipv4_mapped is None and other.ipv4_mapped is None:
        assert (counted_as(str(address)) == counted_as(str(other))) == (int(address) >> 64 == int(other) >> 64)
    assert counted_as("unknown") == "unknown"
