"""What two readers of the same bytes could understand differently is refused, and the connection closed: nothing can be
smuggled behind it."""

from __future__ import annotations

import socket

import pytest
from applications import Paths, decoded, exchange, read_all, read_reply, status

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
    "a coding in the trailer": post(CHUNKED, body=b"0\r\nTransfer-Encoding: chunked\r\n\r\n"),
    "a folded trailer": post(CHUNKED, body=b"0\r\nA: b\r\n c\r\n\r\n"),
    "a line end in a quoted chunk extension": post(CHUNKED, body=b'3;a="\r\n"\r\nabc\r\n0\r\n\r\n'),
    "NUL in a chunk extension": post(CHUNKED, body=b"3;a\0\r\nabc\r\n0\r\n\r\n"),
    "a chunk size before a tab": post(CHUNKED, body=b"3\t\r\nabc\r\n0\r\n\r\n"),
    "a chunk size with an underscore": post(CHUNKED, body=b"3_0\r\nabc\r\n0\r\n\r\n"),
    "an empty coding": post(b"Transfer-Encoding:", b"Content-Length: 3", body=b"abc"),
    "identity beside a length": post(b"Transfer-Encoding: identity", b"Content-Length: 3", body=b"abc"),
    "a coding after a vertical tab": post(b"Transfer-Encoding: \x0bchunked", body=b"0\r\n\r\n"),
    "a chunked body in HTTP/1.0 on a connection that is kept": (
        b"POST /a HTTP/1.0\r\nHost: x\r\nConnection: keep-alive\r\n" + CHUNKED + b"\r\n\r\n0\r\n\r\n"
    ),
    "a whole target without Host": b"GET http://x/a HTTP/1.0\r\n\r\n",
    "a version with a leading zero": b"GET /a HTTP/01.1\r\n" + HOST + b"\r\n",
    "a version with two digits": b"GET /a HTTP/1.10\r\n" + HOST + b"\r\n",
    "a line end before the target": b"POST\r\n /a HTTP/1.1\r\n" + HOST + b"\r\n",
    "a length that is no number, with an upgrade": post(b"Connection: upgrade", b"Upgrade: foo", b"Content-Length: 3, 3"),
    "both lengths, with an upgrade": post(b"Connection: upgrade", b"Upgrade: foo", b"Content-Length: 3", CHUNKED),
    "two blanks before the target": b"GET  /a HTTP/1.1\r\n" + HOST + b"\r\n",
    "two blanks before the version": b"GET /a  HTTP/1.1\r\n" + HOST + b"\r\n",
    "a bare LF in front": b"\n" + get(),
    "a bare CR in front": b"\r" + get(),
    "an upgrade and a chunk size that is none": post(b"Connection: upgrade", b"Upgrade: foo", CHUNKED, body=b"0x1\r\na\r\n"),
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
        (b'"chunked"', 501),
        (b"chunked;q=1", 501),
        (b"chunked\xff", 501),
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


ANNOUNCED = (b"Connection: Upgrade", b"Upgrade: foo")
#: The same body in each framing.
FRAMED = {
    "with a length": ((b"Content-Length: %d" % len(SMUGGLED),), SMUGGLED),
    "with leading zeros in the length": ((b"Content-Length: 00%d" % len(SMUGGLED),), SMUGGLED),
    "in chunks": ((CHUNKED,), b"%x;a=b\r\n%b\r\n0\r\nA: b\r\n\r\n" % (len(SMUGGLED), SMUGGLED)),
    "in chunks of one byte": ((CHUNKED,), b"".join(b"1\r\n%c\r\n" % byte for byte in SMUGGLED) + b"0\r\n\r\n"),
}


@pytest.mark.parametrize("step", [1, 7, 1000])
@pytest.mark.parametrize("framing", FRAMED.values(), ids=FRAMED.keys())
@pytest.mark.parametrize("upgrade", [b"foo", b"h2c", b"websocket", b"TLS/1.0, HTTP/1.1"])
def test_the_body_behind_an_announced_upgrade_is_a_body(
    upgrade: bytes, framing: tuple[tuple[bytes, ...], bytes], step: int, application: Paths, port: int
) -> None:
    lines, body = framing
    first = post(b"Connection: Upgrade, HTTP2-Settings", b"Upgrade: " + upgrade, b"HTTP2-Settings: AAMA", *lines, body=body)
    data = first + b"PUT /b HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 1\r\n\r\nz"
    with socket.create_connection(("127.0.0.1", port), timeout=5) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for at in range(0, len(data), step):
            sock.sendall(data[at : at + step])
        assert read_all(sock).count(b"HTTP/1.1 200") == 2
    assert [(r.method, r.path, r.body) for r in application.requests] == [("POST", "/a", SMUGGLED), ("PUT", "/b", b"z")]


def test_a_large_body_behind_an_announced_upgrade(port: int) -> None:
    assert status(exchange(port, post(*ANNOUNCED, b"Content-Length: 5000000", body=b"x" * 5_000_000))) == 413
    chunked = post(*ANNOUNCED, CHUNKED, body=b"4c4b40\r\n" + b"x" * 5_000_000 + b"\r\n0\r\n\r\n")
    received = exchange(port, chunked + SMUGGLED)
    assert status(received) == 413 and received.count(b"HTTP/1.1 ") == 1
    received = exchange(port, post(*ANNOUNCED, CHUNKED, b"Connection: close", body=b"3\r\nabc\r\n0\r\n\r\n") + SMUGGLED)
    assert decoded(received)["body"] == "abc" and received.count(b"HTTP/1.1 ") == 1


def test_an_upgrade_with_a_body_is_told_to_go_on(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=5) as sock:
        sock.sendall(post(*ANNOUNCED, b"Expect: 100-continue", b"Content-Length: 3"))
        assert sock.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
        sock.sendall(b"abc")
        assert b'"body": "abc"' in read_reply(sock)[1]


def test_an_upgrade_that_is_not_made_leaves_the_connection_as_it_was(application: Paths, port: int) -> None:
    for version, kept in ((b"1.1", b""), (b"1.0", b"Connection: keep-alive\r\n")):
        asked = b"GET /a HTTP/%b\r\nHost: x\r\n%bConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n" % (version, kept)
        received = exchange(port, asked + asked + SMUGGLED.replace(b"Host", b"Connection: close\r\nHost"))
        assert received.count(b"HTTP/1.1 200") == 3
    assert len(application.requests) == 6


#: What makes a client close and begin anew: nothing behind it on the connection is read.
ENDED = {
    "a length that is none": post(b"Content-Length: x"),
    "a body over the limit": post(b"Content-Length: 5000000"),
    "an expectation that is none": post(b"Expect: the best"),
    "a head over the limit": get(b"A: " + b"x" * 40_000),
    "a coding that is not implemented": post(b"Transfer-Encoding: gzip, chunked"),
    "a tunnel": b"CONNECT x:80 HTTP/1.1\r\nHost: x:80\r\n\r\n",
    "Connection: close": get(b"Connection: close"),
    "Connection: close among others": get(b"Connection: keep-alive, close"),
    "HTTP/1.0": b"GET /a HTTP/1.0\r\n\r\n",
    "HTTP/1.0 with both options": b"GET /a HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n",
    "HTTP/1.0 with another option": b"GET /a HTTP/1.0\r\nConnection: foo\r\n\r\n",
}


@pytest.mark.parametrize("pause", [False, True])
@pytest.mark.parametrize("data", ENDED.values(), ids=ENDED.keys())
def test_nothing_is_read_behind_the_last_request(data: bytes, pause: bool, application: Paths, port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=5) as sock:
        sock.sendall(data if pause else data + SMUGGLED)
        if pause:
            sock.recv(1, socket.MSG_PEEK)
            sock.sendall(SMUGGLED)
        received = read_all(sock)
    assert received.count(b"HTTP/1.1 ") == 1 and b"\r\nConnection: close\r\n" in received
    assert all(request.path == "/a" for request in application.requests)


def test_a_request_is_not_taken_for_the_last_one_while_another_one_is_coming(application: Paths, port: int) -> None:
    """The same bytes mean something else inside of a field."""
    same = b"GET /json HTTP/1.1\r\nHost: x\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=5) as sock:
        sock.sendall(same)
        read_reply(sock)
        sock.sendall(same + b"GET /b HTTP/1.1\r\nA: ")
        read_reply(sock)
        sock.sendall(same)
        assert b'"path": "/b"' in read_reply(sock)[1]


@pytest.mark.parametrize("cut", range(1, 8))
def test_a_method_is_read_whole_behind_another_request(cut: int, application: Paths, port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=5) as sock:
        sock.sendall(get() + b"MEX /b HTTP/1.1\r\n"[:cut])
        sock.recv(1, socket.MSG_PEEK)
        sock.sendall(b"MEX /b HTTP/1.1\r\n"[cut:] + HOST + b"\r\n")
        received = read_all(sock)
    assert [part[:3] for part in received.split(b"HTTP/1.1 ")[1:]] == [b"200", b"501"]
    assert [request.method for request in application.requests] == ["GET"]


def test_an_unknown_method_behind_another_request_is_told_so(port: int) -> None:
    received = exchange(port, get() + b"MADE-UP /b HTTP/1.1\r\nHost: x\r\n\r\n")
    assert [part[:3] for part in received.split(b"HTTP/1.1 ")[1:]] == [b"200", b"501"]
