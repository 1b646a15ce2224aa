"""Random requests before three readers: ``python tests/native/server/request_fuzz.py [--inputs N] [--seed N]``, ``make fuzz``.

Pipelines of requests are made from the pieces of the grammar of HTTP/1.1, right ones and wrong ones, and garbled a little. The
server's reader gets the bytes in one piece, byte by byte, and cut at random places; llhttp (through httptools) and h11 get them
whole. What the server's reader takes for a request, each of the others takes for the same one; where it takes fewer of them, it
has refused the rest. An input that breaks this is printed,
made smaller byte by byte, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

import h11  # noqa: E402
from httptools import HttpParserError, HttpParserInvalidMethodError, HttpParserUpgrade, HttpRequestParser  # noqa: E402

from language.native.server.requests import RequestReader  # noqa: E402
from language.serve.reply import Reply  # noqa: E402
from language.serve.request import Request, split_target  # noqa: E402


class Message(NamedTuple):
    """What has to be the same for every reader. ``fields`` without those of a trailer."""

    method: str
    path: str
    query: str
    fields: tuple[tuple[str, str], ...]
    body: bytes


class Reading(NamedTuple):
    """``ended``: why nothing more was read, empty where everything was."""

    messages: list[Message]
    ended: str


# ---- the server's reader -------------------------------------------------------------------------------------------------


class AnyBody:
    """Takes bodies of any size, in memory."""

    def client(self, request: Request) -> None:
        return

    def body_limit(self, request: Request) -> int | None:
        return None

    def too_large(self, request: Request) -> Reply:
        raise AssertionError("there is no limit")

    def spill(self) -> str:
        raise AssertionError("no body is that large")

    def report(self, failure: OSError) -> None:
        raise failure


def read_here(pieces: list[bytes]) -> Reading:
    """As a connection does whose upgrades are not made."""
    reader = RequestReader(AnyBody())
    messages: list[Message] = []
    for piece in pieces:
        reader.feed(piece)
        while reader.requests:
            incoming = reader.requests.pop(0)
            request = incoming.request
            messages.append(
                Message(request.method, request.path, request.query_text, tuple(request.fields), request.body),
            )
            if not incoming.keep_alive:
                return Reading(messages, "closed")
            if reader.rest and not reader.requests:
                reader.resume()
        if reader.refusal is not None:
            return Reading(messages, reader.refusal.message)
    return Reading(messages, "")


# ---- the others ----------------------------------------------------------------------------------------------------------


class _Collector:
    def __init__(self) -> None:
        self.parser = HttpRequestParser(self)
        self.messages: list[Message] = []
        self.closed = False
        self._url = b""
        self._fields: list[tuple[str, str]] = []
        self._kept: tuple[tuple[str, str], ...] = ()
        self._method = ""
        self._body = b""

    def on_message_begin(self) -> None:
        self._url, self._fields, self._body = b"", [], b""

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._fields.append((name.decode("latin-1").lower(), value.decode("latin-1").strip(" \t")))

    def on_headers_complete(self) -> None:
        self._kept = tuple(self._fields)
        self._method = self.parser.get_method().decode()
        self.closed = not self.parser.should_keep_alive()

    def on_body(self, data: bytes) -> None:
        self._body += data

    def on_message_complete(self) -> None:
        self.messages.append(_message(self._method, self._url.decode("latin-1"), self._kept, self._body))


#: Where h11 ends and llhttp goes on behind another request: request lines with several blanks, HTTP/1.0 with keep-alive.
_H11_ENDS = ("illegal request line", "no request line", "closed")
_UNKNOWN = "a method that llhttp does not know"
_UPGRADE = re.compile(rb"upgrade", re.IGNORECASE)
_CHANGED = re.compile("u[px]", re.IGNORECASE)
_FIRST_METHOD = re.compile(rb"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,32}(?= )")


def _without_upgrade(data: bytes) -> bytes:
    """httptools would end a message with its head where an upgrade is announced."""
    return _UPGRADE.sub(b"uxgrade", data)


def _is_known(method: bytes) -> bool:
    try:
        HttpRequestParser(object()).feed_data(method + b" / HTTP/1.1\r\nHost: x\r\n\r\n")
    except HttpParserUpgrade:
        return True  # CONNECT
    except HttpParserError:
        return False
    return True


def read_by_llhttp(data: bytes) -> Reading:
    """``data`` in one piece. A method that only the server's reader knows, in the first request, is read as another one."""
    data = _without_upgrade(data)
    method = None
    first = _FIRST_METHOD.match(data)
    if first is not None and not _is_known(first[0]):
        method = first[0].decode()
        data = b"POST" + data[first.end() :]
    collector = _Collector()
    ended = ""
    try:
        collector.parser.feed_data(data)
    except HttpParserUpgrade:
        collector.messages.pop()  # a tunnel
        ended = "CONNECT"
    except HttpParserInvalidMethodError:
        ended = _UNKNOWN
    except HttpParserError as error:
        ended = _UNKNOWN if "HTTP/2" in str(error) else str(error)  # PRI is a method like any other one for us
    messages = collector.messages
    if method is not None and messages:
        messages[0] = messages[0]._replace(method=method)
    return Reading(messages, ended)


def read_by_h11(data: bytes) -> Reading:
    connection = h11.Connection(h11.SERVER, max_incomplete_event_size=1 << 20)
    messages: list[Message] = []
    connection.receive_data(data)
    try:
        while True:
            event = connection.next_event()
            if event is h11.NEED_DATA:
                return Reading(messages, "")
            assert isinstance(event, h11.Request), event
            body = b""
            while not isinstance(part := connection.next_event(), h11.EndOfMessage):
                if part is h11.NEED_DATA:
                    return Reading(messages, "")
                assert isinstance(part, h11.Data)
                body += bytes(part.data)
            fields = tuple((name.decode("latin-1"), value.decode("latin-1").strip(" \t")) for name, value in event.headers)
            if event.method == b"CONNECT":
                return Reading(messages, "CONNECT")
            messages.append(_message(event.method.decode(), event.target.decode("latin-1"), fields, body))
            connection.send(h11.Response(status_code=200, headers=[("Content-Length", "0")]))
            connection.send(h11.EndOfMessage())
            if connection.our_state is h11.MUST_CLOSE:
                return Reading(messages, "closed")
            connection.start_next_cycle()
    except h11.RemoteProtocolError as error:
        return Reading(messages, str(error))


def _message(method: str, target: str, fields: tuple[tuple[str, str], ...], body: bytes) -> Message:
    path, query = split_target(target) if target != "*" else ("*", "")
    return Message(method, path, query, fields, body)


# ---- what to read --------------------------------------------------------------------------------------------------------

_UNKNOWN_METHODS = (b"MADE-UP", b"MEX", b"get", b"X")
_SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"
_LENGTHS = (b"+%d", b"-%d", b"0%d", b"%d ", b" \t%d\t", b"%d, %d", b"0x%d", b"%d.0", b"%d_0", b"\x0b%d", b"%d\x00", b"1%d", b"")
_CODINGS = (
    *(b"Chunked", b" chunked\t", b"chunked, chunked", b"gzip, chunked", b"identity", b"xchunked", b"chunked;a=b", b"chunked,"),
    *(b"\x0bchunked", b'"chunked"', b"chunked\xff", b"", b"chunked\r\n gzip"),
)
_LINE_ENDS = (b"\n", b"\r", b"\r\r\n", b"\n\r\n", b" \r\n", b"\x00\r\n")
_OTHER_FIELDS = (
    *(b"Expect: 100-continue", b"A:b", b"A:", b"A : b", b" A: b", b"A: b\x00", b"A: b\r c: d", b"A: b\r\n c", b"A", b": b"),
    *(b"A: \xe9", b"A\xe9: b", b"A: b\x7f", b"Content_Length: 3", b"Transfer-Encodin\x67: identity", b"Content-Length\t: 1"),
    *(b"Host: y", b"Trailer: A", b"TE: trailers", b"A(b): c", b"Content-Length: 0"),
)
_CONNECTIONS = (
    b"close",
    b"keep-alive",
    b"Upgrade",
    b"close, upgrade",
    b"upgrade, HTTP2-Settings",
    b"foo",
    b"keep-alive, close",
)
_UPGRADES = (b"foo", b"h2c", b"websocket", b"")
_TARGETS = (
    b"/",
    b"/a?b=c",
    b"/a#b",
    b"*",
    b"http://x/a",
    b"http://x",
    b"http://y/a",
    b"a",
    b"/\xe9",
    b"/a b",
    b"//x",
    b"/%00",
    b"",
)
_VERSIONS = (
    b"HTTP/1.0",
    b"HTTP/1.0",
    b"HTTP/1.2",
    b"HTTP/2.0",
    b"http/1.1",
    b"HTTP/1.10",
    b"RTSP/1.0",
    b"ICE/1.0",
    b"HTTP/1.1 ",
    b"",
)
_BETWEEN = (b"\r\n", b"\n", b"\r", b" ", b"\r\n\r\n", b"\x00")


def inputs(chance: random.Random) -> bytes:
    """One pipeline of requests, most of them right but for a piece or two."""
    data = b""
    for _ in range(chance.choice((1, 2, 2, 3))):
        data += one_request(chance)
        if chance.random() < 0.05:
            data += chance.choice(_BETWEEN)
    if chance.random() < 0.5:
        data += _SMUGGLED
    while chance.random() < 0.15:
        at = chance.randrange(len(data))
        with_one = bytes([chance.choice((0, 9, 10, 11, 13, 32, 44, 48, 58, 59, 127, 255, chance.randrange(256)))])
        data = data[:at] + chance.choice((b"", with_one, with_one)) + data[at + chance.randrange(2) :]
    return data


def one_request(chance: random.Random) -> bytes:
    def end() -> bytes:
        return b"\r\n" if chance.random() < 0.99 else chance.choice(_LINE_ENDS)

    def rarely(otherwise: bytes, choices: tuple[bytes, ...], odds: float = 0.05) -> bytes:
        return chance.choice(choices) if chance.random() < odds else otherwise

    method = rarely(
        chance.choice((b"GET", b"POST", b"PUT", b"HEAD", b"OPTIONS")),
        (*_UNKNOWN_METHODS, b"CONNECT", b"SOURCE", b"PRI", b"M-SEARCH"),
    )
    blank = rarely(b" ", (b"  ", b"\t", b"\r\n "), 0.01)
    version = rarely(b"HTTP/1.1", _VERSIONS)
    fields = [rarely(b"Host: x", (b"", b"Host:", b"Host: x, y", b"host:\tx"), 0.03)]
    body = chance.choice((b"", b"abc", _SMUGGLED, _SMUGGLED[: chance.randrange(30)]))
    framed = b""
    length = b"%d" % len(body)
    if chance.random() < 0.1:
        bad = chance.choice(_LENGTHS)
        length = bad % ((len(body),) * bad.count(b"%d"))
    framing = chance.randrange(10)
    if framing < 4:
        fields.append(b"Content-Length: " + length)
        framed = body
    elif framing < 7:
        fields.append(b"Transfer-Encoding: " + rarely(b"chunked", _CODINGS, 0.1))
        framed = in_chunks(body, chance)
    if chance.random() < 0.03:
        fields.append(chance.choice((b"Content-Length: " + length, b"Transfer-Encoding: chunked")))
    if chance.random() < 0.25:
        fields.append(b"Connection: " + chance.choice(_CONNECTIONS))
    if chance.random() < 0.25:
        fields.append(b"Upgrade: " + chance.choice(_UPGRADES))
        if chance.random() < 0.6:
            fields.append(b"Connection: upgrade")
    if chance.random() < 0.1:
        fields.append(chance.choice(_OTHER_FIELDS))
    chance.shuffle(fields)
    first = method + blank + rarely(b"/a", _TARGETS, 0.1) + rarely(b" ", (b"  ", b"\t"), 0.01) + version + end()
    return first + b"".join(line + end() for line in fields if line) + end() + framed


def in_chunks(body: bytes, chance: random.Random) -> bytes:
    """The body in chunks, now and then with a mistake."""
    data = b""
    at = 0
    while at < len(body):
        size = chance.randint(1, len(body) - at)
        number = b"%x" % size
        if chance.random() < 0.06:
            number = (
                chance.choice((b"%X", b"0%x", b"00000000000000000%x", b"0x%x", b"+%x", b"-%x", b"%x ", b" %x", b"%x_0")) % size
            )
        elif chance.random() < 0.05:
            number += chance.choice((b";a", b";a=b", b';a="b"', b" ;a=b", b'; a = "\r\n"', b";\n", b";", b";\x00", b";a=b;c"))
        line = b"\r\n" if chance.random() < 0.98 else chance.choice((b"\n", b"\r", b"", b"\r\r\n", b"XX"))
        data += number + (b"\r\n" if chance.random() < 0.98 else b"\n") + body[at : at + size] + line
        at += size
    last = b"0" if chance.random() < 0.95 else chance.choice((b"00", b"0;a=b", b"-0", b"", b"0x0", b"0" * 20))
    trailer = (
        b"" if chance.random() < 0.9 else chance.choice((b"A: b\r\n", b"Content-Length: 3\r\n", b"A : b\r\n", b"A: b\n", b"\n"))
    )
    return data + last + b"\r\n" + trailer + b"\r\n"


def segmentations(data: bytes, chance: random.Random) -> Iterator[list[bytes]]:
    yield [data]
    yield [data[at : at + 1] for at in range(len(data))]
    cuts = sorted(chance.randrange(len(data) + 1) for _ in range(chance.choice((1, 1, 2, 5))))
    yield [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)]) if start < end]


# ---- comparing -----------------------------------------------------------------------------------------------------------


def examine(data: bytes, chance: random.Random) -> Reading:
    """How the bytes are read in one piece. Raises ``AssertionError`` where two readers take them for different requests."""
    by_llhttp, by_h11 = read_by_llhttp(data), read_by_h11(data)
    first: Reading | None = None
    for pieces in segmentations(data, chance):
        here = read_here(pieces)
        first = first or here
        compare(here, by_llhttp, f"llhttp, {len(pieces)} piece(s)", plain=True)
        compare(here, by_h11, f"h11, {len(pieces)} piece(s)", plain=False)
    assert first is not None
    return first


def compare(here: Reading, other: Reading, name: str, *, plain: bool) -> None:
    for number, message in enumerate(here.messages):
        if number >= len(other.messages):
            assert other.ended, f"{name}: request {number} is there for us alone: {message}\n{other}"
            lenient = other.ended == _UNKNOWN if plain else other.ended.startswith(_H11_ENDS)
            lenient &= number > 0 or other.ended == "no request line received"  # h11 takes no empty line in front
            assert lenient, f"{name}: request {number} was refused there: {message}\n{other.ended}"
            return
        taken, wanted = _comparable(message), _comparable(other.messages[number])
        assert taken == wanted, f"{name}: request {number} differs:\n{taken}\n{wanted}"
    missing = len(other.messages) > len(here.messages)
    assert here.ended or not missing, f"{name}: a request is missing: {here}\n{other}"


def _comparable(message: Message) -> Message:
    """Without what :func:`_without_upgrade` changed, the coding in small letters as h11 writes it."""
    fields = tuple((_mended(k), v.lower() if k == "transfer-encoding" else _mended(v)) for k, v in message.fields)
    body = _mended(message.body.decode("latin-1")).encode("latin-1")
    return message._replace(path=_mended(message.path), query=_mended(message.query), fields=fields, body=body)


def _mended(text: str) -> str:
    return _CHANGED.sub("up", text)


def broken(data: bytes, seed: int) -> str | None:
    """What went wrong, ``None`` when nothing did."""
    try:
        examine(data, random.Random(seed))
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def smaller(data: bytes, seed: int) -> bytes:
    """The bytes without everything that is not needed to break the rule."""
    wanted = broken(data, seed) or ""
    size = len(data) // 2
    while size:
        at = 0
        while at < len(data):
            shorter = data[:at] + data[at + size :]
            if shorter and (broken(shorter, seed) or "")[:30] == wanted[:30]:
                data = shorter
            else:
                at += size
        size //= 2
    return data


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000_000)
    options = parser.parse_args()
    endings: Counter[str] = Counter()
    requests = 0
    for seed in range(options.seed, options.seed + options.inputs):
        chance = random.Random(seed)
        data = inputs(chance)
        try:
            reading = examine(data, random.Random(seed))
        except Exception as error:
            print(f"seed {seed}: {type(error).__name__}: {error}\n{data!r}")
            least = smaller(data, seed)
            print(f"smaller: {least!r}\n{broken(least, seed)}")
            return 1
        requests += len(reading.messages)
        endings["refused" if reading.ended not in ("", "closed") else reading.ended or "open"] += 1
    print(f"{options.inputs} inputs from seed {options.seed}, {requests} requests, {dict(endings)}: no two readings")
    return 0


if __name__ == "__main__":
    sys.exit(main())
