"""Where programs get to, and where not: the ceiling in the runner, and the addresses that names lead to."""

from __future__ import annotations

import asyncio
import socket

import pytest

from language import is_public_address
from runner.links import Egress, EgressRefused

#: What no program reaches by a name, and by an address only where plan and ceiling both say so.
NOT_PUBLIC = [
    "127.0.0.1", "127.9.9.9", "0.0.0.0", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1",
    "169.254.169.254", "168.63.129.16", "100.100.100.200", "192.0.0.192", "192.0.2.1", "198.18.0.1", "203.0.113.9", "224.0.0.1",
    "240.0.0.1", "255.255.255.255", "::", "::1", "fe80::1", "fc00::1", "fd00:ec2::254", "ff02::1", "2001:db8::1",
    "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "::ffff:0:127.0.0.1", "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe", "64:ff9b:1::7f00:1", "2002:7f00:1::", "2002:a9fe:a9fe::1", "2001:0:7f00:1::1", "100::1", "fec0::1",
    "3fff::1", "5f00::1", "192.88.99.1", "::ffff:8.8.8.8",
]  # fmt: skip
PUBLIC = ["93.184.216.34", "8.8.8.8", "2606:2800:220:1:248:1893:25c8:1946", "2001:4860:4860::8888"]


async def refusal(egress: Egress, host: str, port: int = 80, capability: str = "net") -> EgressRefused:
    with pytest.raises(EgressRefused) as refused:
        (await egress.connect(host, port, capability)).close()
    return refused.value


class Names:
    """A resolver that gives a list to each question, the next one to the next question."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> list[str]:
        self.asked.append(host)
        return self.answers.pop(0)


@pytest.mark.parametrize("address", NOT_PUBLIC)
@pytest.mark.parametrize("ceiling", ["net", "net=*", "net=name.example", "db=postgres://name.example/x,net=name.example"])
@pytest.mark.parametrize("private", [True, False])
def test_a_name_never_leads_to_an_address_that_is_not_public(address: str, ceiling: str, private: bool) -> None:
    assert not is_public_address(address)

    async def body() -> None:
        for found in ([address], ["93.184.216.34", address]):
            egress = Egress(ceiling, private_addresses=private, resolver=Names(found))
            refused = await refusal(egress, "name.example")
            assert refused.denied and ("not public" in refused.reason or "no public" in refused.reason)

    asyncio.run(body())


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses(address: str) -> None:
    assert is_public_address(address)


@pytest.mark.parametrize("address", ["fe80::1%eth0", "127.0.0.1.example", "", "1"])
def test_what_a_resolver_gives_that_is_no_plain_address(address: str) -> None:
    egress = Egress("net", private_addresses=True, resolver=Names([address]))
    assert asyncio.run(refusal(egress, "name.example")).denied


@pytest.mark.parametrize(
    ("ceiling", "host", "port", "capability"),
    [
        ("net=a.example", "b.example", 443, "net"),
        ("net=a.example:443", "a.example", 80, "net"),
        ("net=a.example", "x.a.example", 443, "net"),
        ("net=*.a.example", "a.example", 443, "net"),
        ("net=a.example", "a.example", 5432, "db"),
        ("db=postgres://a.example/x", "a.example", 5432, "net"),
        ("db=shop.db", "shop.db", 5432, "db"),
        ("env=a.example,exec,file,stdout", "a.example", 1, "net"),
        ("none", "a.example", 1, "net"),
        ("llm", "a.example", 443, "llm"),
        ("net", "a.example", 443, "exec"),
        ("net", "a.example", 443, ""),
        # No other spelling of a host than the one that was checked.
        ("net", "A.example", 1, "net"),
        ("net", "a.example.", 1, "net"),
        ("net", "a.example\n", 1, "net"),
        ("net", "a.example\0.b", 1, "net"),
        ("net", "ä.example", 1, "net"),
        ("net", "a.example/", 1, "net"),
        ("net", "u@a.example", 1, "net"),
        ("net", "[::1]", 1, "net"),
        ("net", "127.1", 1, "net"),
        ("net", "2130706433", 1, "net"),
        ("net", "0x7f000001", 1, "net"),
        ("net", "0177.0.0.1", 1, "net"),
        ("net", "", 1, "net"),
        ("net", ".", 1, "net"),
        ("net", "a" * 300, 1, "net"),
        ("net", "a.example", 0, "net"),
        ("net", "a.example", -1, "net"),
        ("net", "a.example", 65536, "net"),
    ],
)
def test_what_the_ceiling_does_not_cover_is_not_even_resolved(ceiling: str, host: str, port: int, capability: str) -> None:
    names = Names(["93.184.216.34"])
    egress = Egress(ceiling, private_addresses=True, resolver=names)
    assert asyncio.run(refusal(egress, host, port, capability)).denied
    assert names.asked == []


def test_a_private_address_takes_the_plan_and_an_item_that_names_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        async def reached(ceiling: str, host: str, private: bool, capability: str = "net") -> bool:
            egress = Egress(ceiling, private_addresses=private, resolver=Names(["127.0.0.1"]))
            try:
                (await egress.connect(host, port, capability)).close()
            except EgressRefused:
                return False
            return True

        async def body() -> None:
            assert await reached("net=127.0.0.1", "127.0.0.1", True)
            assert await reached(f"net=name.example,net=127.0.0.1:{port}", "name.example", True)
            assert await reached(f"db=postgres://127.0.0.1:{port}/x", "127.0.0.1", True, "db")
            # Another service of the same host is no database: an SSH server, an interface of an operator.
            assert not await reached("db=postgres://127.0.0.1/x", "127.0.0.1", True, "db")
            assert not await reached(f"db=postgres://127.0.0.1:{port + 1}/x", "127.0.0.1", True, "db")
            assert not await reached("net=127.0.0.1", "127.0.0.1", False)
            assert not await reached("net=127.0.0.*", "127.0.0.1", True)
            assert not await reached("net", "127.0.0.1", True)
            assert not await reached(f"net=name.example,net=127.0.0.1:{port + 1}", "name.example", True)
            # What opens an address for databases opens it for nothing else.
            assert not await reached(f"net,db=postgres://127.0.0.1:{port}/x", "127.0.0.1", True)

        asyncio.run(body())


def test_the_model_provider_is_reached_with_llm_and_nothing_else_is() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        async def body() -> None:
            resolver = Names(*[["127.0.0.1"]] * 9)
            allowed = Egress("llm", private_addresses=True, llm=("127.0.0.1", port), resolver=resolver)
            (await allowed.connect("127.0.0.1", port, "llm")).close()
            assert (await refusal(allowed, "127.0.0.1", port, "net")).denied
            assert (await refusal(allowed, "127.0.0.1", port + 1, "llm")).denied
            assert (await refusal(allowed, "other.example", port, "llm")).denied
            without = Egress("net,stdout", private_addresses=True, llm=("127.0.0.1", port), resolver=resolver)
            assert (await refusal(without, "127.0.0.1", port, "llm")).denied
            # The provider is a setting of the project: a name that leads to this machine opens it no more than any other.
            for private, host in ((False, "127.0.0.1"), (False, "models.example"), (True, "models.example")):
                egress = Egress("llm", private_addresses=private, llm=(host, port), resolver=resolver)
                assert (await refusal(egress, host, port, "llm")).denied

        asyncio.run(body())


def test_a_name_is_asked_for_once_and_the_checked_address_is_connected_to() -> None:
    """Whoever answers the second question otherwise gets no second question."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        names = Names(["127.0.0.1"], ["169.254.169.254"])

        async def body() -> None:
            egress = Egress(f"net=name.example:{port},net=127.0.0.1", private_addresses=True, resolver=names)
            made = await egress.connect("name.example", port, "net")
            assert made.getpeername() == ("127.0.0.1", port)
            made.close()
            assert names.asked == ["name.example"]
            assert (await refusal(egress, "name.example", port)).denied  # and the next one is looked at again

        asyncio.run(body())


def test_a_place_that_does_not_answer_is_no_refusal() -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        egress = Egress("net=127.0.0.1", private_addresses=True, resolver=Names(["127.0.0.1"]))
        refused = asyncio.run(refusal(egress, "127.0.0.1", bound.getsockname()[1]))
        assert not refused.denied and "Connection refused" in refused.reason


def test_one_program_has_few_questions_open_at_a_time() -> None:
    open_now = most = 0

    async def slow(host: str, port: int) -> list[str]:
        nonlocal open_now, most
        open_now += 1
        most = max(most, open_now)
        await asyncio.sleep(0)
        open_now -= 1
        return ["127.0.0.1"]

    async def body() -> None:
        egress = Egress("net", private_addresses=False, resolver=slow)
        await asyncio.gather(*(refusal(egress, f"h{number}.example") for number in range(100)))

    asyncio.run(body())
    assert most == 4
