"""The proxy for commands of a program: ``CONNECT`` and nothing else, one tunnel for one request."""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterator

import pytest

from language.host_link.connect_proxy import ConnectProxy
from tests.runner.links.dialling import SECONDS


class Outside:
    """What the proxy connects through: each connection is one end of a pair, the other one stands in ``ends``."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []
        self.ends: list[socket.socket] = []

    def connect(self, host: str, port: int) -> socket.socket:
        self.asked.append((host, port))
        if host == "refused.example":
            raise OSError(errno.EACCES, "the ceiling has no net item for it")
        if host == "away.example":
            raise OSError(errno.EHOSTUNREACH, "no answer in time")
        ours, theirs = socket.socketpair()
        theirs.settimeout(SECONDS)
        self.ends.append(theirs)
        return ours


@pytest.fixture(scope="module")
def proxy() -> Iterator[tuple[int, Outside]]:
    outside = Outside()
    made = ConnectProxy(outside.connect)
    assert made.variables()["https_proxy"] == f"http://127.0.0.1:{made.port}" == made.variables()["ALL_PROXY"]
    yield made.port, outside
    for end in outside.ends:
        end.close()


def asked(port: int, data: bytes) -> tuple[int, bytes]:
    """Status and body of what is answered to this, all of it."""
    with socket.create_connection(("127.0.0.1", port), SECONDS) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while chunk := connection.recv(65536):
            answer += chunk
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split(b" ", 2)[1]), body


@pytest.mark.parametrize(
    ("request_line", "status"),
    [
        (b"GET http://a.example/ HTTP/1.1", 405),
        (b"POST http://a.example/ HTTP/1.1", 405),
        (b"connect a.example:443 HTTP/1.1", 405),
        (b" CONNECT a.example:443 HTTP/1.1", 405),
        (b"CONNECT a.example HTTP/1.1", 400),
        (b"CONNECT a.example: HTTP/1.1", 400),
        (b"CONNECT a.example:0 HTTP/1.1", 400),
        (b"CONNECT a.example:65536 HTTP/1.1", 400),
        (b"CONNECT a.example:+443 HTTP/1.1", 400),
        (b"CONNECT u:p@a.example:443 HTTP/1.1", 400),
        (b"CONNECT a.example:443/x HTTP/1.1", 400),
        (b"CONNECT a.example:443?x HTTP/1.1", 400),
        (b"CONNECT http://a.example:443 HTTP/1.1", 400),
        (b"CONNECT 127.1:443 HTTP/1.1", 400),
        (b"CONNECT 2130706433:443 HTTP/1.1", 400),
        (b"CONNECT ::1:443 HTTP/1.1", 400),
        (b"CONNECT [::1%lo]:443 HTTP/1.1", 400),
        (b"CONNECT a.example:443 b.example:443 HTTP/1.1", 400),
        (b"CONNECT a.example:443", 400),
        (b"CONNECT a.example:443 HTTP/2", 400),
        (b"CONNECT a\texample:443 HTTP/1.1", 400),
        ("CONNECT \u0430.example:443 HTTP/1.1".encode(), 400),
        (b"CONNECT refused.example:443 HTTP/1.1", 403),
        (b"CONNECT away.example:443 HTTP/1.1", 502),
        (b"", 405),
    ],
)
def test_what_is_refused(proxy: tuple[int, Outside], request_line: bytes, status: int) -> None:
    port, outside = proxy
    before = len(outside.ends)
    assert asked(port, request_line + b"\r\nHost: a.example:443\r\n\r\n")[0] == status
    assert len(outside.ends) == before


def test_a_head_without_an_end(proxy: tuple[int, Outside]) -> None:
    assert asked(proxy[0], b"CONNECT a.example:443 HTTP/1.1\r\nX: " + b"x" * 9_000)[0] == 431


@pytest.mark.parametrize("place", [b"A.Example:443", b"a.example.:443"])
def test_the_host_is_asked_for_in_its_canonical_form(proxy: tuple[int, Outside], place: bytes) -> None:
    port, outside = proxy
    with socket.create_connection(("127.0.0.1", port), SECONDS) as connection:
        connection.sendall(b"CONNECT " + place + b" HTTP/1.1\r\n\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.1 200 ")
        assert outside.asked[-1] == ("a.example", 443)
        outside.ends.pop().close()


def test_a_second_request_in_a_tunnel_reaches_the_same_place(proxy: tuple[int, Outside]) -> None:
    """What follows the head belongs to the other side, whatever it looks like, and the ``Host`` field decides nothing."""
    port, outside = proxy
    second = b"CONNECT refused.example:443 HTTP/1.1\r\n\r\n"
    count = len(outside.asked)
    with socket.create_connection(("127.0.0.1", port), SECONDS) as connection:
        connection.sendall(b"CONNECT [2001:db8::1]:443 HTTP/1.1\r\nHost: refused.example\r\n\r\n" + second)
        assert connection.recv(100) == b"HTTP/1.1 200 Connection established\r\n\r\n"
        end = outside.ends.pop()
        assert end.recv(100) == second
        assert outside.asked[count:] == [("2001:db8::1", 443)]
        # Half of it ends first, the other half goes on.
        connection.shutdown(socket.SHUT_WR)
        assert end.recv(1) == b""
        end.sendall(b"answer")
        end.close()
        assert connection.recv(100) == b"answer" and connection.recv(1) == b""
