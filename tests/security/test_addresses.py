"""Where a granted name leads: every door out connects to an address that was checked, and to no link-local one unasked."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from web_server import WebServer, reply

from language.capabilities.reserved_addresses import LINK_LOCAL, reserved_address
from language.capabilities.reserved_addresses import METADATA as METADATA_SERVICE
from language.capabilities.scopes import db_target
from language.errors import RuntimeFault
from language.native.host import NativeHost
from language.native.outgoing import checked_addresses, connect
from language.native.webhook_delivery import post
from language.runtime.context import Context
from stdlib.evm_reads import evm_rpc
from stdlib.http_client import fetch, http_post
from stdlib.mcp_client import mcp_connect
from stdlib.sql import db_open, sql
from stdlib.websockets import ws_connect
from tests import servers

METADATA = "169.254.169.254"
NAME = "inside.example"
REFUSED = "a link-local address must be granted literally"


class Names:
    """What the name leads to, one answer after the other; the last one stays. Remembers how often somebody asked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.answers: list[list[str]] = [[METADATA]]
        self.asked = 0
        real = socket.getaddrinfo

        def getaddrinfo(host: Any, port: Any, *rest: Any, **named: Any) -> Any:
            if host != NAME:
                return real(host, port, *rest, **named)
            self.asked += 1
            found = self.answers[0] if len(self.answers) == 1 else self.answers.pop(0)
            return [entry for address in found for entry in real(address, port, 0, socket.SOCK_STREAM)]

        monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Names:
    return Names(monkeypatch)


@pytest.fixture(scope="module")
def postgres_place() -> Iterator[str]:
    yield from servers.postgres()


@pytest.fixture(scope="module")
def mysql_place() -> Iterator[str]:
    yield from servers.mysql()


@pytest.fixture(scope="module")
def redis_place() -> Iterator[str]:
    yield from servers.redis()


def context() -> Context:
    ctx = Context(NativeHost(), collect=True)
    for name in ("net", "db"):
        ctx.capabilities.require(name, "*")
    return ctx


DOORS = {
    "fetch": lambda ctx, host: fetch(ctx, f"http://{host}/"),
    "http_post": lambda ctx, host: http_post(ctx, f"https://{host}/", "x"),
    "evm_rpc": lambda ctx, host: evm_rpc(ctx, f"http://{host}:8545/", "eth_chainId", []),
    "mcp_connect": lambda ctx, host: mcp_connect(ctx, f"http://{host}/mcp"),
    "ws_connect": lambda ctx, host: ws_connect(ctx, f"ws://{host}/"),
    "ws_connect over TLS": lambda ctx, host: ws_connect(ctx, f"wss://{host}/"),
    "postgres": lambda ctx, host: db_open(ctx, f"postgres://u:p@{host}/app?sslmode=disable"),
    "mysql": lambda ctx, host: db_open(ctx, f"mysql://u:p@{host}/app"),
    "redis": lambda ctx, host: db_open(ctx, f"redis://:p@{host}/0"),
    "rediss": lambda ctx, host: db_open(ctx, f"rediss://:p@{host}/0"),
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("answer", [[METADATA], ["127.0.0.1", METADATA], ["fe80::1"], ["::ffff:169.254.1.2"]], ids=str)
def test_a_name_that_leads_to_a_link_local_address_is_refused(names: Names, door: str, answer: list[str]) -> None:
    names.answers = [answer]
    with pytest.raises(RuntimeFault, match=REFUSED):
        DOORS[door](context(), NAME)
    assert names.asked == 1


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("host", [METADATA, "[fe80::1]", "[::ffff:a9fe:a9fe]", "[64:ff9b::a9fe:a9fe]", METADATA + "."])
def test_a_link_local_address_in_the_url_is_refused(door: str, host: str) -> None:
    with pytest.raises(RuntimeFault, match=REFUSED):
        DOORS[door](context(), host)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    "host",
    [
        "2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "169.254.43518", "0xa9.0xfe.0xa9.0xfe", "169.254.169.254.1", "127.1",
        "inside.example\\@good", "inside .example", "in%73ide.example", "[fe80::1%25eth0]", "[::1", "..",
    ],
)  # fmt: skip
def test_other_spellings_of_an_address_are_no_host(names: Names, door: str, host: str) -> None:
    with pytest.raises(RuntimeFault, match="has no host"):
        DOORS[door](context(), host)
    assert names.asked == 0


def test_digits_and_dots_of_other_scripts_are_what_they_look_like() -> None:
    for host in ("１６９.254.169.254", "169。254。169。254", "①69.254.169.254"):
        for door in DOORS.values():
            with pytest.raises(RuntimeFault, match=f"{REFUSED}|has no host"):
                door(context(), host)


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        (METADATA, True),
        ("169.253.255.255", False),
        ("169.255.0.0", False),
        ("fe80::", True),
        ("febf:ffff::1", True),
        ("fec0::1", False),
        ("fe80::1%eth0", True),
        ("::ffff:169.254.169.254", True),
        ("::169.254.169.254", True),
        ("::ffff:0:169.254.169.254", True),
        ("64:ff9b::169.254.169.254", True),
        ("64:ff9b:1:a9fe:a9:fe00::", True),
        ("64:ff9b:1::169.254.169.254", True),
        ("2002:a9fe:a9fe::1", True),
        ("64:ff9b::127.0.0.1", False),
        ("::ffff:127.0.0.1", False),
        ("2002:7f00:1::", False),
        ("0.0.0.0", False),
        ("::", False),
        ("2001:db8::a9fe:a9fe", False),
        ("localhost", False),
    ],
)
def test_the_forms_of_a_link_local_address(address: str, expected: bool) -> None:
    assert reserved_address(address) == (LINK_LOCAL if expected else None)


#: What clouds document beside 169.254.0.0/16, and forms of IPv6 that stand for such an IPv4 address.
SERVICES = [
    "100.100.100.200", "fd00:ec2::254", "fd00:ec2::23", "fd00:ec2::253", "fd20:ce::254", "168.63.129.16", "192.0.0.192",
    "fd00:c1::a9fe:a9fe", "fd00:42::42", "fd00:a9fe:a9fe::1", "::ffff:100.100.100.200", "64:ff9b::168.63.129.16",
    "2002:6464:64c8::", "fd00:0ec2:0:0::0254",
]  # fmt: skip
SERVICE_REFUSED = "an address of a cloud's metadata service must be granted literally"


@pytest.mark.parametrize("address", SERVICES)
def test_an_address_of_a_metadata_service(address: str) -> None:
    assert reserved_address(address) == METADATA_SERVICE


@pytest.mark.parametrize(
    "address",
    [
        "100.100.100.199", "100.64.0.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "168.63.129.17", "192.0.0.191", "fd00::1",
        "fd00:ec1:ffff::", "fd00:ec3::254", "fd20:ce::253", "fd00:42::41", "fc00::1", "127.0.0.1", "::1", "8.8.8.8",
        "::ffff:10.0.0.1",
    ],
)  # fmt: skip
def test_private_addresses_are_hosts_like_others(address: str) -> None:
    assert reserved_address(address) is None


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("address", ["100.100.100.200", "fd00:ec2::254", "fd20:ce::254", "168.63.129.16", "192.0.0.192"])
def test_no_door_leads_to_a_metadata_service(names: Names, door: str, address: str) -> None:
    names.answers = [[address]]
    host = f"[{address}]" if ":" in address else address
    for asked in (NAME, host):
        with pytest.raises(RuntimeFault, match=SERVICE_REFUSED):
            DOORS[door](context(), asked)
    assert names.asked == 1


@pytest.mark.parametrize("scope", ["*", None, "100.100.*", "100.100.100.20?", "100.100.100.201"])
def test_no_pattern_grants_a_metadata_service(scope: str | None) -> None:
    ctx = Context(NativeHost(), collect=True)
    ctx.capabilities.require("net", scope)
    with pytest.raises(RuntimeFault, match=f'100.100.100.200"?.* — {SERVICE_REFUSED}: add `require net'):
        ctx.capabilities.check_address("100.100.100.200", 80)
    ctx.capabilities.require("net", "100.100.100.200")
    ctx.capabilities.check_address("100.100.100.200", 80)


def refuse(address: str, _: int) -> None:
    raise RuntimeFault(f"refused {address}")


def test_a_socket_goes_to_the_address_that_was_checked(names: Names) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        names.answers = [["127.0.0.1"], [METADATA]]
        with connect(NAME, server.getsockname()[1], refuse, 10) as connection:
            assert connection.getpeername() == server.getsockname()
            assert connection.gettimeout() is None
        assert names.asked == 1
        with pytest.raises(RuntimeFault, match=f"refused {METADATA}"):
            checked_addresses(NAME, 80, refuse)


def test_the_next_address_is_tried() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        found = ["127.0.0.2", "127.0.0.1"]
        with connect("x", server.getsockname()[1], refuse, 10, lambda host, port: found) as connection:
            assert connection.getpeername() == server.getsockname()
    with pytest.raises(ConnectionRefusedError):
        connect("x", servers.free_port(), refuse, 10, lambda host, port: found)
    with pytest.raises(OSError, match="it has no address"):
        connect("x", 80, refuse, 10, lambda host, port: [])


@pytest.mark.parametrize("url", ["postgres://lang:p%40ss%20word@{}/app", "mysql://lang:p%40ss%20word@{}/app"])
def test_a_database_is_connected_to_at_the_checked_address(names: Names, request: pytest.FixtureRequest, url: str) -> None:
    place: str = request.getfixturevalue(url.partition(":")[0] + "_place")
    names.answers = [["127.0.0.1"], [METADATA]]
    ctx = context()
    db_open(ctx, url.format(f"{NAME}:{place.rpartition(':')[2]}"))
    assert sql(ctx, "SELECT 1 AS n") == [{"n": 1}]
    assert names.asked == 1
    ctx.host.databases.close_all()


def test_redis_is_connected_to_at_the_checked_address(names: Names, redis_place: str) -> None:
    names.answers = [["127.0.0.1"], [METADATA]]
    ctx = context()
    db_open(ctx, f"redis://:p%40ss%20word@{NAME}:{redis_place.rpartition(':')[2]}")
    engine = ctx.host.databases.default.engine
    assert engine.command(["PING"]) == b"PONG"
    engine.close()
    with pytest.raises(RuntimeFault, match=REFUSED):  # it connects again, and asks again
        engine.command(["PING"])


@pytest.mark.parametrize(
    ("scope", "granted"),
    [
        ("postgres://169.254.7.7/app", True),
        ("postgres://169.254.7.7/*", True),
        ("postgres://169.254.*/app", False),
        ("postgres://*/app", False),
        ("*", False),
        (None, False),
        ("postgres://169.254.7.8/app", False),
        ("mysql://169.254.7.7/app", False),
    ],
)
def test_a_grant_that_names_the_address_of_a_database(scope: str | None, granted: bool) -> None:
    ctx = Context(NativeHost(), collect=True)
    ctx.capabilities.require("db", scope)
    target = db_target(f"postgres://u:p@{NAME}/App")
    if granted:
        ctx.capabilities.check_db_address(target, "169.254.7.7")
    else:
        with pytest.raises(RuntimeFault, match=r'Capability not granted: db\("postgres://169.254.7.7/app"\)'):
            ctx.capabilities.check_db_address(target, "169.254.7.7")


class TestWebhook:
    def test_a_name_that_leads_to_a_link_local_address(self, names: Names) -> None:
        reason = post(f"http://{NAME}/hook?key=hunter2", b"{}", {})
        assert reason == f"the host {NAME} leads to a link-local address, {METADATA}"

    def test_a_name_that_leads_to_a_metadata_service(self, names: Names) -> None:
        names.answers = [["fd00:ec2::254"]]
        reason = post(f"http://{NAME}/hook?key=hunter2", b"{}", {})
        assert reason == f"the host {NAME} leads to an address of a cloud's metadata service, fd00:ec2::254"

    def test_the_checked_address_is_the_one_that_hears(self, names: Names) -> None:
        names.answers = [["127.0.0.1"], [METADATA]]
        with WebServer(lambda request: reply("x")) as server:
            url = f"http://user:p%40ss@{NAME}:{server.port}/hook"
            assert post(url, b"{}", {"X-Platform-Signature": "s"}) is None
            (heard,) = server.requests
        assert (heard.method, heard.target, heard.body) == ("POST", "/hook", b"{}")
        assert heard.headers["x-platform-signature"] == "s"
        assert heard.headers["authorization"] == "Basic dXNlcjpwQHNz"

    def test_no_redirect_is_followed(self, names: Names) -> None:
        with WebServer(lambda request: reply("", f"Location: http://{METADATA}/", status="302 Found")) as server:
            assert post(f"http://127.0.0.1:{server.port}/", b"{}", {}) == "HTTP 302"

    def test_the_body_of_the_answer_is_not_waited_for(self) -> None:
        ended = threading.Event()

        def serve(listener: socket.socket) -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(b"HTTP/1.1 204 No Content\r\n\r\n" if ended.is_set() else b"HTTP/1.1 200 OK\r\n\r\n")
                ended.wait(60)

        with socket.create_server(("127.0.0.1", 0)) as listener:
            thread = threading.Thread(target=serve, args=(listener,))
            thread.start()
            assert post(f"http://127.0.0.1:{listener.getsockname()[1]}/", b"{}", {}) is None
            ended.set()
            thread.join()

    def test_what_is_no_url(self) -> None:
        assert post("http:///x", b"", {}) == "the URL has no host"
        assert post("http://0x7f000001/", b"", {}) == "the URL has no host"
        assert "refused" in (post(f"http://127.0.0.1:{servers.free_port()}/", b"", {}) or "")
