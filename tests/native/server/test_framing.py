"""What two readers of the same bytes could understand differently is refused, and the connection closed: nothing can be
smuggled behind it."""

from __future__ import annotations

import socket

import pytest
from applications import Paths, decoded, exchange, read_reply, status

HOST = b"Host: x\r\n"
#: What a smuggler wants to be read as a request of its own.
SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"


def post(*lines: bytes, body: bytes = b"") -> bytes:
    return b"POST /a HTTP/1.1\r\n" + HOST + b"".join(line + b"\r\n" for line in lines) + b"\r\n" + body


def get(*lines: bytes) -> bytes:
    return b"GET /a HTTP/1.1\r\n" + HOST + b"".join(line + b"\r\n" for line in lines) + b"\r\n"


CHUNKED = b"Transfer-Encoding: chunked"
REFUSED = {
    "both lengths": post(b"Content-Length: 6", CHUNKED, body=b"0\r\n\r\n" + SMUGGLED),
    "both lengths, the other way round": post(CHUNKED, b"Content-Length: 6", body=b"0\r\n\r\n" + SMUGGLED),
    "two lengths": post(b"Content-Length: 3", b"Content-Length: 4", body=b"abcd"),
    "the same length twice": post(b"Content-Length: 3", b"Content-Length: 3", body=b"abc"),
    "a list of lengths": post(b"Content-Length: 3, 3", body=b"abc"),
    "a signed length": post(b"Content-Length: +3", body=b"abc"),
    "a negative length": post(b"Content-Length: -3", body=b"abc"),
    "a hexadecimal length": post(b"Content-Length: 0x3", body=b"abc"),
    "a length with a blank": post(b"Content-Length: 1 2", body=b"abc"),
    "an empty length": post(b"Content-Length: ", body=b"abc"),
    "a length beyond 64 bits": post(b"Content-Length: 18446744073709551616", body=b"abc"),
    "a length after a vertical tab": post(b"Content-Length: \x0b3", body=b"abc"),
    "a folded field": get(b"A: b", b" c"),
    "a folded length": post(b"Content-Length: 3", b"\t0", body=b"abc"),
    "a folded coding": post(b"Transfer-Encoding:", b" chunked", body=b"0\r\n\r\n" + SMUGGLED),
    "a first field that begins with a blank": b"GET /a HTTP/1.1\r\n Host: x\r\n\r\n",
    "a blank before the colon": get(b"A : b"),
    "a blank before the colon of a length": post(b"Content-Length : 3", body=b"abc"),
    "a tab before the colon of a coding": post(b"Transfer-Encoding\t: chunked", body=b"0\r\n\r\n"),
    "a field without a colon": get(b"Abc"),
    "a field without a name": get(b": b"),
    "a name that is no token": get(b"A(b): c"),
    "NUL in a name": get(b"A\0: b"),
    "NUL in a value": get(b"A: b\0c"),
    "NUL in the target": b"GET /a\0 HTTP/1.1\r\n" + HOST + b"\r\n",
    "a control character in a value": get(b"A: b\x01c"),
    "a bare CR in a value": get(b"A: b\rTransfer-Encoding: chunked"),
    "a bare LF after the request line": b"GET /a HTTP/1.1\n" + HOST + b"\r\n",
    "a bare LF after a field": b"GET /a HTTP/1.1\r\nHost: x\nA: b\r\n\r\n",
    "a bare LF at the end of the head": b"GET /a HTTP/1.1\r\nHost: x\r\n\n",
    "a blank behind the version": b"GET /a HTTP/1.1 \r\n" + HOST + b"\r\n",
    "a tab in the request line": b"GET\t/a HTTP/1.1\r\n" + HOST + b"\r\n",
    "a blank in the target": b"GET /a b HTTP/1.1\r\n" + HOST + b"\r\n",
    "another protocol": b"GET /a RTSP/1.0\r\n" + HOST + b"\r\n",
    "a version in small letters": b"GET /a http/1.1\r\n" + HOST + b"\r\n",
    "no Host": b"GET /a HTTP/1.1\r\n\r\n",
    "two Hosts": b"GET /a HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
    "the same Host twice": b"GET /a HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n",
    "two hosts in one field": b"GET /a HTTP/1.1\r\nHost: x, y\r\n\r\n",
    "a Host with a path": b"GET /a HTTP/1.1\r\nHost: x/y\r\n\r\n",
    "a Host with a user": b"GET /a HTTP/1.1\r\nHost: u@x\r\n\r\n",
    "a Host with a blank": b"GET /a HTTP/1.1\r\nHost: x y\r\n\r\n",
    "a whole target of another host": b"GET http://y/a HTTP/1.1\r\nHost: x\r\n\r\n",
    "a whole target with a user": b"GET http://u@x/a HTTP/1.1\r\nHost: x\r\n\r\n",
    "a whole target of another scheme": b"GET ftp://x/a HTTP/1.1\r\nHost: x\r\n\r\n",
    "a target without a slash": b"GET a HTTP/1.1\r\nHost: x\r\n\r\n",
    "a target with raw bytes": b"GET /\xc3\xa9 HTTP/1.1\r\nHost: x\r\n\r\n",
    "* for another method than OPTIONS": b"GET * HTTP/1.1\r\nHost: x\r\n\r\n",
    "a chunked body in HTTP/1.0": b"POST /a HTTP/1.0\r\n" + CHUNKED + b"\r\n\r\n0\r\n\r\n" + SMUGGLED,
    "chunked twice": post(b"Transfer-Encoding: chunked, chunked", body=b"0\r\n\r\n"),
    "two codings": post(CHUNKED, b"Transfer-Encoding: identity", body=b"0\r\n\r\n"),
    "chunked that is not the last": post(b"Transfer-Encoding: chunked, identity", body=b"0\r\n\r\n"),
    "a chunk size with 0x": post(CHUNKED, body=b"0x3\r\nabc\r\n0\r\n\r\n"),
    "a chunk size with a sign": post(CHUNKED, body=b"+3\r\nabc\r\n0\r\n\r\n"),
    "a negative chunk size": post(CHUNKED, body=b"-3\r\nabc\r\n0\r\n\r\n"),
    "a chunk size after a blank": post(CHUNKED, body=b" 3\r\nabc\r\n0\r\n\r\n"),
    "a chunk size before a blank": post(CHUNKED, body=b"3 \r\nabc\r\n0\r\n\r\n"),
    "an empty chunk size": post(CHUNKED, body=b"\r\nabc"),
    "a chunk size beyond 64 bits": post(CHUNKED, body=b"10000000000000003\r\nabc\r\n0\r\n\r\n"),
    "a bare LF after a chunk size": post(CHUNKED, body=b"3\nabc\r\n0\r\n\r\n"),
    "a bare CR after a chunk size": post(CHUNKED, body=b"3\rX\nabc\r\n0\r\n\r\n"),
    "a bare LF in a chunk extension": post(CHUNKED, body=b"3;\nx\r\nabc\r\n0\r\n\r\n"),
    "a bare LF after a chunk": post(CHUNKED, body=b"3\r\nabc\n0\r\n\r\n"),
    "a chunk longer than its size": post(CHUNKED, body=b"3\r\nabcd\r\n0\r\n\r\n"),
    "two bytes in the place of the line end": post(CHUNKED, body=b"3\r\nabcXX0\r\n\r\n"),
    "a length in the trailer": post(CHUNKED, body=b"0\r\nContent-Length: 3\r\n\r\n"),
    "a bare LF in the trailer": post(CHUNKED, body=b"0\r\nA: b\n\r\n"),
}


@pytest.mark.parametrize("data", REFUSED.values(), ids=REFUSED.keys())
def test_an_ambiguous_message_is_refused(data: bytes, application: Paths, port: int) -> None:
    received = exchange(port, data + SMUGGLED)
    assert status(received) == 400
    assert received.count(b"HTTP/1.1 ") == 1
    assert b"\r\nConnection: close\r\n" in received
    assert decoded(received)["status"] == 400
    assert not application.requests, "the program was asked"


@pytest.mark.parametrize(
    ("coding", "wanted"),
    [
        (b"gzip, chunked", 501),
        (b", chunked", 501),
        (b"xchunked", 501),
        (b"identity", 501),
        (b"chunked,", 400),
    ],
)
def test_other_codings_are_not_read(coding: bytes, wanted: int, application: Paths, port: int) -> None:
    received = exchange(port, post(b"Transfer-Encoding: " + coding, body=b"0\r\n\r\n") + SMUGGLED)
    assert status(received) == wanted
    assert received.count(b"HTTP/1.1 ") == 1
    assert not application.requests


@pytest.mark.parametrize("version", [b"HTTP/2.0", b"HTTP/0.9"])
def test_other_versions(version: bytes, port: int) -> None:
    received = exchange(port, b"GET /a " + version + b"\r\n" + HOST + b"\r\n")
    assert status(received) == 505
    assert received.endswith(b'{"error": "HTTP version not supported", "status": 505}')


def test_a_tunnel_is_refused(application: Paths, port: int) -> None:
    received = exchange(port, b"CONNECT x:80 HTTP/1.1\r\nHost: x:80\r\n\r\n" + SMUGGLED)
    assert status(received) == 501
    assert received.count(b"HTTP/1.1 ") == 1
    assert not application.requests


@pytest.mark.parametrize(
    "junk", [b"\0\0\0\0", b"\x16\x03\x01\x02\x00\x01\x00\x01", b"hello\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"]
)
def test_what_is_no_http(junk: bytes, port: int) -> None:
    received = exchange(port, junk + b" " * 64 + b"\r\n\r\n")
    assert status(received) in (400, 501, 505)
    assert not received.endswith(b"<still open>")


def test_a_refusal_behind_good_requests_comes_last(port: int) -> None:
    received = exchange(port, get() + get() + get(b"A : b") + SMUGGLED)
    assert [part[:3] for part in received.split(b"HTTP/1.1 ")[1:]] == [b"200", b"200", b"400"]
    assert b"smuggled" not in received


@pytest.mark.parametrize("step", [1, 2, 3, 7, 50, 1000])
def test_any_split_of_the_bytes_is_read_alike(step: int, application: Paths, port: int) -> None:
    first = (
        b"PURGE /a?b=c HTTP/1.1\r\nHost: x\r\nX-Long: " + b"v" * 50 + b"\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nTrailer: t\r\n\r\n"
    )
    second = b"MADE-UP /b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=5) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for data in (first, second):
            for at in range(0, len(data), step):
                sock.sendall(data[at : at + step])
            assert read_reply(sock)[0].startswith(b"HTTP/1.1 200")
    assert [(r.method, r.path, r.query_text, r.body) for r in application.requests] == [
        ("PURGE", "/a", "b=c", b"abcde"),
        ("MADE-UP", "/b", "", b""),
    ]
    assert ("x-long", "v" * 50) in application.requests[0].fields
    assert all(name != "trailer" for name, _ in application.requests[0].fields)


def test_an_unknown_method_behind_another_request_is_told_so(port: int) -> None:
    received = exchange(port, get() + b"MADE-UP /b HTTP/1.1\r\nHost: x\r\n\r\n")
    assert [part[:3] for part in received.split(b"HTTP/1.1 ")[1:]] == [b"200", b"501"]
