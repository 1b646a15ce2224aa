"""What the ingress reads of a head is what every other reader of it sees, and what two could see differently is refused."""

from __future__ import annotations

import random

import h11
import httptools
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.ingress.cookies import CookieRules
from runner.ingress.heads import NO_BODY, Framing, Malformed, read_reply, read_request
from runner.ingress.rewriting import Client, to_program

PLAIN = b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n"

REFUSED = {
    "a bare LF": (b"GET / HTTP/1.1\nHost: a\r\n\r\n", 400),
    "a bare CR in a value": (b"GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n", 400),
    "a NUL": (b"GET / HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n", 400),
    "a folded field": (b"GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n", 400),
    "a blank before the colon": (b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length : 3\r\n\r\n", 400),
    "a blank in front of the first field": (b"GET / HTTP/1.1\r\n Host: a\r\n\r\n", 400),
    "no name": (b"GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n", 400),
    "no colon": (b"GET / HTTP/1.1\r\nHost: a\r\nX\r\n\r\n", 400),
    "two blanks": (b"GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    "a tab between the parts": (b"GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    "a blank in the target": (b"GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    "a fragment": (b"GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    "another version": (b"GET / HTTP/1.2\r\nHost: a\r\n\r\n", 400),
    "HTTP/0.9": (b"GET /\r\n\r\n", 400),
    "HTTP/2": (b"PRI * HTTP/2.0\r\n\r\n", 400),
    "a lower case version": (b"GET / http/1.1\r\nHost: a\r\n\r\n", 400),
    "no Host": (b"GET / HTTP/1.1\r\n\r\n", 400),
    "two Hosts": (b"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400),
    "a Host with a path": (b"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400),
    "a Host with a user": (b"GET / HTTP/1.1\r\nHost: x@a\r\n\r\n", 400),
    "a Host with a list": (b"GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", 400),
    "both lengths": (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
    "both lengths reversed": (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n", 400),
    "two lengths": (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n", 400),
    "one length twice": (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n", 400),
    "a list of lengths": (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3, 3\r\n\r\n", 400),
    "a signed length": (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +3\r\n\r\n", 400),
    "a negative length": (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -3\r\n\r\n", 400),
    "a length in hex": (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x3\r\n\r\n", 400),
    "an empty length": (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\n", 400),
    "a length with other digits": ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ٣\r\n\r\n".encode(), 400),
    "an immense length": (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9999999999999999999\r\n\r\n", 400),
    "two codings": (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501),
    "chunked twice": (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", 501),
    "a coding with a vertical tab": (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \x0bchunked\r\n\r\n", 400),
    "another coding": (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n", 501),
    "chunks in HTTP/1.0": (b"POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
    "CONNECT": (b"CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n", 400),
    "CONNECT with a path": (b"CONNECT / HTTP/1.1\r\nHost: a\r\n\r\n", 501),
    "a target of another host": (b"GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    "a target of another scheme": (b"GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    "a target with a user": (b"GET http://x@a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    "* of GET": (b"GET * HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    "an unknown expectation": (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nExpect: 200-ok\r\n\r\n", 417),
    "too many fields": (b"GET / HTTP/1.1\r\nHost: a\r\n" + b"X: y\r\n" * 200 + b"\r\n", 431),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_two_readers_could_see_differently_is_refused(name: str) -> None:
    head, status = REFUSED[name]
    with pytest.raises(Malformed) as refused:
        read_request(head)
    if name != "CONNECT":
        assert refused.value.status == status


def test_a_whole_target_of_the_same_host_is_taken_for_its_path() -> None:
    assert read_request(b"GET http://A.example?b HTTP/1.1\r\nHost: a.Example\r\n\r\n").target == b"/?b"


def test_an_upgrade_is_one_to_websocket_alone() -> None:
    asked = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\nUpgrade: %b\r\n%b\r\n"
    assert read_request(asked % (b"WebSocket", b"")).websocket
    assert not read_request(asked % (b"h2c", b"")).websocket
    assert not read_request(asked % (b"websocket", b"Upgrade: h2c\r\n")).websocket
    assert not read_request(asked % (b"websocket", b"Content-Length: 5\r\n")).websocket


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\nContent-Length: 3\r\n\r\n",
        b"HTTP/2 200 OK\r\n\r\n",
        b"HTTP/1.1 20 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n",
    ],
)
def test_a_malformed_answer_is_not_passed_on(head: bytes) -> None:
    with pytest.raises(Malformed) as refused:
        read_reply(head, b"GET")
    assert refused.value.status == 502


@pytest.mark.parametrize(("method", "status"), [(b"HEAD", 200), (b"GET", 204), (b"GET", 304)])
def test_answers_without_a_body_have_none_whatever_they_say(method: bytes, status: int) -> None:
    assert read_reply(b"HTTP/1.1 %d X\r\nContent-Length: 3\r\n\r\n" % status, method).framing == NO_BODY


class _Seen:
    """What llhttp reads."""

    def __init__(self) -> None:
        self.url, self.complete, self.body = b"", 0, b""
        self.fields: list[tuple[bytes, bytes]] = []

    def on_url(self, url: bytes) -> None:
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self.fields.append((name.lower(), value.strip(b" \t")))

    def on_body(self, body: bytes) -> None:
        self.body += body

    def on_message_complete(self) -> None:
        self.complete += 1


PIECES = [
    b"GET ", b"POST ", b"/", b"/a?b=c", b" HTTP/1.1\r\n", b" HTTP/1.0\r\n", b"Host: a.example\r\n", b"Host: b\r\n",
    b"Content-Length: 5\r\n", b"Content-Length: 0\r\n", b"Transfer-Encoding: chunked\r\n",
    b"Transfer-Encoding: identity\r\n", b"Connection: close\r\n", b"Connection: X-Forwarded-For, cookie\r\n",
    b"X-Forwarded-For: 1.2.3.4\r\n", b"x_forwarded_for: 1.2.3.4\r\n", b"Cookie: a=b; c\r\n", b"Upgrade: h2c\r\n",
    b"Upgrade: websocket\r\n", b"Expect: 100-continue\r\n", b"X: y\r\n", b"\r\n", b"\n", b"\r", b" ", b"\t", b"\0", b"\x85",
    b":",    b"content_length: 7\r\n", b"Proxy-Connection: keep-alive\r\n", b"TE: trailers\r\n", b"*",
]  # fmt: skip


def test_what_goes_on_is_one_request_to_every_reader() -> None:
    chance = random.Random(7)
    rules = CookieRules(())
    read = 0
    for _ in range(6_000):
        begin = chance.choice((b"GET / HTTP/1.1\r\nHost: a.example\r\n", b"POST /a HTTP/1.1\r\nHost: a.example\r\n", b""))
        head = begin + b"".join(chance.choice(PIECES) for _ in range(chance.randrange(8))) + b"\r\n"
        head = head[: head.find(b"\r\n\r\n") + 4] if b"\r\n\r\n" in head else head + b"\r\n"
        try:
            request = read_request(head)
        except Malformed:
            continue
        read += 1
        sent = to_program(request, Client("10.0.0.1"), rules)
        body = b"5\r\nhello\r\n0\r\n\r\n" if request.framing.chunked else b"hello"[: request.framing.length]
        seen = _Seen()
        parser = httptools.HttpRequestParser(seen)
        try:
            parser.feed_data(sent + body)
        except httptools.HttpParserUpgrade:
            assert request.websocket
        assert seen.complete == 1, (head, sent)
        assert (parser.get_method(), seen.url) == (request.method, request.target)
        assert seen.body == (b"hello" if request.framing != NO_BODY and request.framing != Framing(0) else b"")
        other = h11.Connection(h11.SERVER)
        other.receive_data(sent + body)
        event = other.next_event()
        assert isinstance(event, h11.Request)
        assert (event.method, event.target) == (request.method, request.target)
        names = [name for name, _ in seen.fields]
        assert names.count(b"host") == names.count(b"x-forwarded-for") == 1
        assert not {b"te", b"proxy-connection", b"keep-alive", b"expect", b"content_length", b"x_forwarded_for"} & set(names)
        assert (b"x-forwarded-for", b"10.0.0.1") in seen.fields
    assert read > 600


@given(st.binary(max_size=60))
def test_no_bytes_make_a_fault(tail: bytes) -> None:
    for start in (b"", b"GET / HTTP/1.1\r\n", b"GET / HTTP/1.1\r\nHost: a\r\n"):
        try:
            read_request(start + tail + b"\r\n\r\n")
        except Malformed as refused:
            assert refused.status in (400, 417, 431, 501)
    for start in (b"", b"HTTP/1.1 200 OK\r\n"):
        try:
            read_reply(start + tail + b"\r\n\r\n", b"GET")
        except Malformed as refused:
            assert refused.status == 502
