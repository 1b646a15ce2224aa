"""Requests that go on to another server."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from typing import Any

import pytest
from applications import Paths, decoded, exchange, read_all, read_reply, running, serving, status, wait_for
from test_websockets import HANDSHAKE, TEXT, frame

ASK = b"GET /proxy/a%%20b?c=d HTTP/1.1\r\nHost: front.example:80\r\nConnection: close\r\n%b\r\n"


@contextmanager
def front_and_back() -> Iterator[tuple[int, Paths, Paths]]:
    back, front = Paths(), Paths()
    with serving(back) as back_port, serving(front) as front_port:
        front.upstream = ("127.0.0.1", back_port, "/base")
        yield front_port, front, back


@contextmanager
def answering(*pieces: bytes, pause: float = 0.0, keep: bool = False) -> Iterator[tuple[int, list[bytes]]]:
    """A front before a server that sends these bytes whatever it is asked; what it was asked."""
    asked: list[bytes] = []
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.settimeout(5)
            asked.append(connection.recv(65536))
            for piece in pieces:
                connection.sendall(piece)
                time.sleep(pause)
            if keep:
                asked.append(connection.recv(1))

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    front = Paths()
    front.upstream = ("127.0.0.1", listener.getsockname()[1], "")
    with listener, serving(front) as port:
        yield port, asked
    assert wait_for(lambda: front.proxies_ended == 1)


def seen_by(back: Paths) -> dict[str, Any]:
    request = back.requests[-1]
    return {name: request.field(name) for name, _ in request.fields}


def test_a_request_goes_on_and_the_reply_comes_back() -> None:
    with front_and_back() as (port, front, back):
        received = exchange(port, ASK % b"X-A: 1\r\nCookie: a=b\r\n")
        assert status(received) == 200
        seen = decoded(received)
        assert (seen["method"], seen["path"], seen["query"]) == ("GET", "/base/proxy/a%20b", "c=d")
        fields = seen_by(back)
        assert fields["host"] == f"127.0.0.1:{front.upstream[1]}"
        assert fields["x-forwarded-for"] == "127.0.0.1"
        assert fields["x-forwarded-proto"] == "http"
        assert fields["x-forwarded-host"] == "front.example:80"
        assert (fields["x-a"], fields["cookie"]) == ("1", "a=b")
        assert received.count(b"Date: ") == 1
        assert wait_for(lambda: front.proxies_ended == 1)


def test_fields_for_one_hop_stay_there() -> None:
    with front_and_back() as (port, _, back):
        extra = b"TE: trailers\r\nKeep-Alive: 5\r\nProxy-Authorization: x\r\nX-Mine: 1\r\nX-Forwarded-For: 9.9.9.9\r\n"
        exchange(port, (ASK % extra).replace(b"Connection: close", b"Connection: close, X-Mine"))
        fields = seen_by(back)
        assert not {"te", "keep-alive", "proxy-authorization", "x-mine"} & set(fields)
        assert fields["x-forwarded-for"] == "9.9.9.9, 127.0.0.1"


@pytest.mark.parametrize("size", [0, 5, 3_000_000])
@pytest.mark.parametrize("chunked", [False, True])
def test_the_body_goes_on(size: int, chunked: bool) -> None:
    body = b"x" * size
    if chunked:
        sent = b"Transfer-Encoding: chunked\r\n\r\n" + (b"%x\r\n%b\r\n" % (size, body) if size else b"") + b"0\r\n\r\n"
    else:
        sent = b"Content-Length: %d\r\n\r\n%b" % (size, body)
    with front_and_back() as (port, _, back):
        received = exchange(port, b"POST /proxy HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + sent)
        assert status(received) == 200
        fields = seen_by(back)
        assert fields["content-length"] == str(size)
        assert "transfer-encoding" not in fields


def test_the_body_of_an_announced_upgrade_goes_on() -> None:
    head = b"POST /proxy HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: %b\r\n"
    with front_and_back() as (port, _, back):
        for upgrade in (b"foo", b"h2c", b"websocket"):
            for framed in (b"Content-Length: 3\r\n\r\nabc", b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"):
                received = exchange(port, head % upgrade + framed + ASK % b"")
                assert received.count(b"HTTP/1.1 200") == 2
                posted = back.requests[-2]
                assert (posted.method, posted.body, posted.field("content-length")) == ("POST", b"abc", "3")
                assert posted.field("upgrade") is None and posted.field("transfer-encoding") is None


@pytest.mark.parametrize("upgrade", [b"h2c", b"foo", b"websocket, h2c", b"websocket\r\nUpgrade: h2c"])
def test_no_tunnel_for_another_protocol(upgrade: bytes) -> None:
    """A tunnel would carry requests that nobody here reads; the server behind is not asked for one."""
    switching = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"
    with answering(switching) as (port, asked):
        lines = b"Upgrade: %b\r\nHTTP2-Settings: AAMA\r\n" % upgrade
        head = (ASK % lines).replace(b"Connection: close", b"Connection: Upgrade, HTTP2-Settings")
        assert status(exchange(port, head)) == 502
    assert b"upgrade" not in asked[0].lower() and b"http2-settings" not in asked[0].lower()


def test_a_tunnel_to_another_protocol_than_asked_for_is_refused() -> None:
    switching = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"
    with answering(switching) as (port, _):
        assert status(exchange(port, (HANDSHAKE % b"").replace(b"/socket", b"/proxy"))) == 502


def test_fields_that_only_look_like_those_of_the_framing_stay_behind() -> None:
    """A server that makes environment variables of fields cannot tell ``Content_Length`` from ``Content-Length``."""
    extra = b"Content_Length: 30\r\nTransfer_Encoding: chunked\r\nX_Forwarded_For: 9.9.9.9\r\nX_Mine: 1\r\n"
    with front_and_back() as (port, _, back):
        assert status(exchange(port, ASK % extra)) == 200
        fields = seen_by(back)
    assert not {"content_length", "transfer_encoding", "x_forwarded_for"} & set(fields)
    assert fields["x_mine"] == "1" and fields["x-forwarded-for"] == "127.0.0.1"


def test_a_connection_is_kept_when_the_answer_has_a_length() -> None:
    with front_and_back() as (port, _, _), socket.create_connection(("127.0.0.1", port), timeout=5) as sock:
        for _ in range(3):
            sock.sendall(b"GET /proxy HTTP/1.1\r\nHost: x\r\n\r\n")
            assert b'"/base/proxy"' in read_reply(sock)[1]
        sock.sendall(b"HEAD /proxy HTTP/1.1\r\nHost: x\r\n\r\nGET /json HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        parts = read_all(sock).split(b"HTTP/1.1 ")[1:]
        assert parts[0].endswith(b"\r\n\r\n") and b"Content-Length: " in parts[0]
        assert parts[1].endswith(b"}")


def test_answers_with_every_framing() -> None:
    head = b"HTTP/1.1 200 Fine\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nConnection: X-Hop\r\nX-Hop: 1\r\n"
    for pieces in (
        [head + b"Content-Length: 5\r\n\r\nab", b"cde"],
        [head + b"Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n", b"3\r\ncde\r\n0\r\n\r\n"],
        [head + b"\r\nab", b"cde"],
        [b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n", head + b"Content-Length: 5\r\n\r\nabcde"],
    ):
        with answering(*pieces) as (port, asked):
            received = exchange(port, ASK % b"")
        answer, _, body = received.partition(b"\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 200 OK\r\n") and body == b"abcde"
        assert answer.count(b"Set-Cookie: ") == 2
        assert b"X-Hop" not in answer and b"Transfer-Encoding" not in answer
        assert asked[0].startswith(b"GET /proxy/a%20b?c=d HTTP/1.1\r\n")


def test_a_stream_comes_back_as_it_is_made() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
    with (
        answering(head, b"data: 1\n\n", b"data: 2\n\n", pause=1.5) as (port, _),
        socket.create_connection(("127.0.0.1", port), timeout=5) as sock,
    ):
        sock.sendall(ASK % b"")
        received = b""
        while b"data: 1\n\n" not in received:
            received += sock.recv(1000)
        assert b"data: 2" not in received
        assert read_all(sock) == b"data: 2\n\n"


BROKEN = {
    "no HTTP": b"hello\r\n\r\n",
    "nothing": b"",
    "a head that breaks off": b"HTTP/1.1 200 OK\r\nA: b",
    "two lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "a length and chunks": b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    "a signed length": b"HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nab",
    "a list of lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nab",
    "a length beyond 64 bits": b"HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551618\r\n\r\nab",
    "another coding": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nab",
    "two codings": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n",
    "chunked twice": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a folded field": b"HTTP/1.1 200 OK\r\nA: b\r\n c\r\nContent-Length: 2\r\n\r\nab",
    "a bare LF": b"HTTP/1.1 200 OK\r\nA: b\nContent-Length: 2\r\n\r\nab",
    "a bare CR": b"HTTP/1.1 200 OK\r\nA: b\rSet-Cookie: c=d\r\nContent-Length: 2\r\n\r\nab",
    "NUL": b"HTTP/1.1 200 OK\r\nA: b\0\r\nContent-Length: 2\r\n\r\nab",
    "a blank before the colon": b"HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nab",
    "a status of four digits": b"HTTP/1.1 2000 OK\r\nContent-Length: 2\r\n\r\nab",
    "a status below 100": b"HTTP/1.1 099 OK\r\nContent-Length: 2\r\n\r\nab",
    "another version": b"HTTP/2.0 200 OK\r\nContent-Length: 2\r\n\r\nab",
    "an upgrade nobody asked for": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    "a head without end": b"HTTP/1.1 200 OK\r\n" + b"A: bcdefgh\r\n" * 30_000,
}


@pytest.mark.parametrize("answer", BROKEN.values(), ids=BROKEN.keys())
def test_a_malformed_answer_is_a_502(answer: bytes) -> None:
    with answering(answer) as (port, _):
        received = exchange(port, ASK % b"")
    assert status(received) == 502
    assert decoded(received)["error"].startswith("proxy error: ")


def test_what_stands_behind_an_answer_is_not_passed_on() -> None:
    behind = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
    for answer, method in (
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", b"GET"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n", b"GET"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n", b"HEAD"),
        (b"HTTP/1.1 204 No Content\r\nContent-Length: 900\r\n\r\n", b"GET"),
        (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 900\r\n\r\n", b"GET"),
    ):
        with answering(answer + behind) as (port, _):
            received = exchange(port, (ASK % b"").replace(b"GET", method))
        assert received.count(b"HTTP/1.1 ") == 1 and b"evil" not in received
        assert b"204" not in answer or b"Content-Length" not in received


def test_a_server_that_is_not_there_is_a_502() -> None:
    front = Paths()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        front.upstream = ("127.0.0.1", taken.getsockname()[1], "")
    with serving(front) as port:
        received = exchange(port, ASK % b"")
    assert status(received) == 502
    assert "Connection refused" in decoded(received)["error"]
    assert front.proxies_ended == 1


def test_an_answer_that_breaks_off_is_not_taken_for_whole() -> None:
    with answering(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc") as (port, _):
        received = exchange(port, ASK % b"")
    assert received.endswith((b"\r\n\r\nabc", b"abc<reset>")) and b"Content-Length: 10" in received
    with answering(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc") as (port, _):
        received = exchange(port, ASK % b"")
    assert received.endswith(b"<reset>"), "the client cannot tell"


def test_a_client_that_leaves_ends_the_request_there() -> None:
    with answering(b"HTTP/1.1 200 OK\r\n\r\ndata", keep=True) as (port, asked):
        with socket.create_connection(("127.0.0.1", port), timeout=5) as sock:
            sock.sendall(ASK % b"")
            sock.recv(1000)
        assert wait_for(lambda: asked[1:] == [b""])


def test_a_websocket_goes_through() -> None:
    back, front = Paths(), Paths()
    with running(back) as behind, running(front) as before:
        front.upstream = ("127.0.0.1", behind.listener.port, "")
        handshake = (HANDSHAKE % b"").replace(b"/socket", b"/proxy/socket")
        original = back.respond
        back.respond = lambda request: original(_at(request, "/socket"))  # type: ignore[method-assign]
        with socket.create_connection(("127.0.0.1", before.listener.port), timeout=5) as sock:
            sock.sendall(handshake + frame(TEXT, b"early"))
            received = b""
            while not received.endswith(b"\x81\x05EARLY"):
                received += sock.recv(1000)
            assert received.startswith(b"HTTP/1.1 101") and b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in received
            sock.sendall(frame(TEXT, b"later"))
            assert sock.recv(1000) == b"\x81\x05LATER"
        assert wait_for(lambda: behind.engine.connections == before.engine.connections == 0)
    assert front.proxies_ended == 1


def _at(request: Any, path: str) -> Any:
    request.path = path
    return request


class TestLinkLocalAddresses:
    """There cloud machines keep their credentials: whatever a host is written as, the address it leads to is asked for."""

    @pytest.mark.parametrize(
        ("host", "address"),
        [
            ("169.254.169.254", "169.254.169.254"),
            ("2852039166", "169.254.169.254"),
            ("0xa9fea9fe", "169.254.169.254"),
            ("0251.0376.0251.0376", "169.254.169.254"),
            ("169.254.43518", "169.254.169.254"),
            ("fe80::1", "fe80::1"),
            ("::ffff:169.254.169.254", "::ffff:169.254.169.254"),
            ("::ffff:a9fe:a9fe", "::ffff:169.254.169.254"),
            ("64:ff9b::a9fe:a9fe", "64:ff9b::a9fe:a9fe"),
            ("2002:a9fe:a9fe::1", "2002:a9fe:a9fe::1"),
        ],
    )
    def test_no_spelling_of_an_address_is_connected_to(self, host: str, address: str) -> None:
        front = Paths()
        front.upstream = (host, 9, "")
        with serving(front) as port:
            received = exchange(port, ASK % b"")
        assert status(received) == 502
        assert decoded(received)["error"] == f"proxy error: refused: {front.checked[0]}"
        assert [ip_address(each) for each in front.checked] == [ip_address(address)]

    @pytest.mark.parametrize("addresses", [["169.254.169.254"], ["127.0.0.1", "169.254.169.254"], ["fe80::1", "127.0.0.1"]])
    def test_no_name_that_leads_there_is_connected_to(self, monkeypatch: pytest.MonkeyPatch, addresses: list[str]) -> None:
        front = Paths()
        with answering(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") as (port, asked):
            front.upstream = ("name.example", port, "")
            resolving(monkeypatch, lambda: addresses)
            with serving(front) as front_port:
                received = exchange(front_port, ASK % b"")
            monkeypatch.undo()
            exchange(port, ASK % b"")  # what answers was not asked before
        assert status(received) == 502 and "name.example" not in front.checked
        assert len(asked) == 1

    def test_the_address_that_was_looked_at_is_the_one_connected_to(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A name that leads elsewhere the second time it is asked for is asked for once."""
        answers = iter([["127.0.0.1"], ["169.254.169.254"], ["169.254.169.254"]])
        with front_and_back() as (port, front, _):
            front.upstream = ("name.example", front.upstream[1], "/base")
            resolving(monkeypatch, lambda: next(answers))
            assert status(exchange(port, ASK % b"")) == 200
            assert status(exchange(port, ASK % b"")) == 502
        assert front.checked == ["169.254.169.254"]

    def test_the_next_address_is_tried(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with front_and_back() as (port, front, _):
            front.upstream = ("name.example", front.upstream[1], "/base")
            resolving(monkeypatch, lambda: ["127.0.0.77", "127.0.0.1"])
            assert status(exchange(port, ASK % b"")) == 200


def resolving(monkeypatch: pytest.MonkeyPatch, addresses: Callable[[], list[str]]) -> None:
    """Has the system's resolver give these addresses for the name ``name.example``."""
    real = socket.getaddrinfo

    def lookup(host: Any, port: Any, *rest: Any, **options: Any) -> Any:
        if host != "name.example":
            return real(host, port, *rest, **options)
        return [entry for address in addresses() for entry in real(address, port, *rest, **options)]

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
