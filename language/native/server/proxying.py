"""Forwards requests to another server and its responses to the client (RFC 9110 section 7.6).

Both messages get new framing here. The length of a request's body is that of the bytes read. The length of a response's body
is its single ``Content-Length``, or else the body ends with the connection. Hop-by-hop fields, including those that
``Connection`` names, are not forwarded. Of the upgrades that a client may ask for, only ``websocket`` is forwarded: through
a tunnel for HTTP/2, for example, requests would pass unchecked.
"""

from __future__ import annotations

import os
import select
import socket
import struct
from time import monotonic
from typing import TYPE_CHECKING

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from language.errors import RuntimeFault
from language.native.outgoing import connect
from language.native.server.connection import CLOSE
from language.native.server.heads import fields, status_line
from language.native.server.listening import UNIX
from language.native.server.writing import POLLING_SECONDS, Writer
from language.serve.reply import ClientGone

if TYPE_CHECKING:
    from collections.abc import Iterable

    from language.native.server.connection import Connection
    from language.native.server.engine import ServerEngine
    from language.native.server.requests import Incoming
    from language.serve.reply import ProxyReply

#: Octets received over the wire are forwarded unchanged.
_OCTETS = "latin-1"
_HOP_BY_HOP = frozenset({
    "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer",
    "transfer-encoding", "upgrade",
})  # fmt: skip
#: Fields that are replaced by new values for the next server.
_OURS = frozenset({"host", "content-length", "expect", "x-forwarded-for", "x-forwarded-proto", "x-forwarded-host"})
_UPGRADE = "connection: upgrade\r\nupgrade: websocket\r\n"
_CONNECT_SECONDS = 10.0
#: How many seconds the head of the response may take.
_ANSWER_SECONDS = 300.0
_STEP = 65536
_LONGEST_HEAD = 256 * 1024


class _Failed(Exception):
    """The other server cannot be reached, or does not speak HTTP. The text is the reason."""


def forward(engine: ServerEngine, connection: Connection, incoming: Incoming, reply: ProxyReply) -> None:
    """Forwards the request and the response, each as it arrives. Raises ``OSError`` when the client has closed the
    connection.
    """
    try:
        try:
            upstream = _connect(reply)
        except OSError as why:
            raise _Failed(f"cannot connect to {reply.host}:{reply.port}: {why.strerror or why}") from None
        except RuntimeFault as refused:  # no grant names the address that the host resolves to
            raise _Failed(refused.message) from None
        with upstream:
            _Relay(engine, connection, incoming, reply, upstream).run()
    except _Failed as failure:
        answer = reply.failed(str(failure))
        answer.headers.extend(reply.headers)
        connection.answer(incoming, answer)
    except ClientGone:
        raise ConnectionResetError from None
    finally:
        reply.ended()


def _connect(reply: ProxyReply) -> socket.socket:
    """A connection to one of the addresses of the host. Raises ``OSError``, and ``RuntimeFault`` for a refused address."""
    upstream = connect(reply.host, reply.port, reply.check_address, _CONNECT_SECONDS)
    upstream.setblocking(False)
    upstream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return upstream


class _Relay:
    """One forwarded request and its response. It also receives the callbacks of the response's parser."""

    def __init__(
        self, engine: ServerEngine, connection: Connection, incoming: Incoming, reply: ProxyReply, upstream: socket.socket
    ) -> None:
        self._engine = engine
        self._connection = connection
        self._incoming = incoming
        self._reply = reply
        self._upstream = upstream
        self._writer = Writer(connection, connection.site.settings.write_seconds)
        self._parser = HttpResponseParser(self)
        self._parts: list[bytes] = []
        self._begun = False
        self._over = False
        self._tunnel = False
        self._wants_tunnel = False
        self._sized = False
        self._fields: list[tuple[str, str]] = []
        self._received = 0

    def run(self) -> None:
        self._send_request()
        until = monotonic() + _ANSWER_SECONDS
        while not self._over:
            data = self._read_answer(until)
            self._received += len(data)
            rest = b""
            if not data:
                self._at_end()
            else:
                try:
                    self._parser.feed_data(data)
                except HttpParserUpgrade as upgrade:
                    rest = data[upgrade.args[0] :]
                    self._over = True
                except HttpParserError as error:
                    if isinstance(error.__context__, _Failed):
                        raise error.__context__ from None
                    if self._over:
                        break  # data after the end of the response
                    self._broken(f"malformed answer: {error}")
            if not self._begun and self._received > _LONGEST_HEAD:
                raise _Failed("malformed answer: the header fields are too large")
            parts, self._parts = self._parts, []
            if parts:
                self._writer.send(b"".join(parts))
            if self._tunnel:
                if rest:
                    self._writer.send(rest)
                self._run_tunnel()
                return

    # ---- there ----------------------------------------------------------------------------------------------------------

    def _send_request(self) -> None:
        incoming, request = self._incoming, self._incoming.request
        target = self._reply.base.rstrip("/") + request.path + ("?" + request.query_text if request.query_text else "")
        dropped = _HOP_BY_HOP | _OURS | _named_by_connection(request.fields)
        lines = [f"{request.method} {target} HTTP/1.1\r\n", f"Host: {_authority(self._reply)}\r\n"]
        # `Content_Length` is another name here, but servers that pass fields as environment variables (CGI) treat it as the
        # same.
        lines += [f"{name}: {value}\r\n" for name, value in request.fields if name.replace("_", "-") not in dropped]
        hops = [value for name, value in request.fields if name == "x-forwarded-for"]
        if self._connection.address != UNIX:
            hops.append(self._connection.address)
        if hops:
            lines.append(f"x-forwarded-for: {', '.join(hops)}\r\n")
        lines.append(f"x-forwarded-proto: {'https' if request.secure else 'http'}\r\n")
        host = request.field("host")
        if host:
            lines.append(f"x-forwarded-host: {host}\r\n")
        size = os.path.getsize(request.body_file) if request.body_file is not None else len(request.body)
        if size or request.field("content-length") is not None or incoming.body is not None:
            lines.append(f"content-length: {size}\r\n")
        self._wants_tunnel = incoming.upgrade and _is_websocket(request.fields)
        lines.append(_UPGRADE if self._wants_tunnel else "connection: close\r\n")
        self._send_there("".join(lines).encode(_OCTETS) + b"\r\n" + request.body)
        if request.body_file is not None:
            with open(request.body_file, "rb") as file:
                while chunk := file.read(_STEP):
                    self._send_there(chunk)

    def _send_there(self, data: bytes) -> None:
        poll = select.poll()
        poll.register(self._upstream, select.POLLOUT)
        left = memoryview(data)
        until = monotonic() + self._connection.site.settings.write_seconds
        while left:
            try:
                left = left[self._upstream.send(left) :]
            except BlockingIOError:
                if monotonic() > until:
                    raise _Failed("the server does not read the request") from None
                poll.poll(POLLING_SECONDS * 1000)
                self._check_client()
            except OSError:
                return  # it may have responded before it closed

    # ---- back -----------------------------------------------------------------------------------------------------------

    def _read_answer(self, until: float) -> bytes:
        """The next bytes of the response; empty at its end."""
        poll = select.poll()
        poll.register(self._upstream, select.POLLIN)
        while True:
            try:
                return self._upstream.recv(_STEP)
            except BlockingIOError:
                poll.poll(POLLING_SECONDS * 1000)
            except OSError as error:
                self._broken(f"the connection to {_authority(self._reply)} broke: {error.strerror or error}")
                return b""
            self._check_client()
            if not self._begun and monotonic() > until:
                raise _Failed(f"{_authority(self._reply)} does not answer")

    def _check_client(self) -> None:
        if self._connection.gone:
            raise ClientGone

    def _broken(self, why: str) -> None:
        """Handles a lost connection. Before the response has begun the client gets an error reply, after that its connection is
        reset.
        """
        if not self._begun:
            raise _Failed(why)
        # A reset, so that the client does not take the received part for the whole.
        self._connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        raise ConnectionResetError(why)

    def _at_end(self) -> None:
        if not self._begun:
            raise _Failed(f"{_authority(self._reply)} closed the connection without an answer")
        if self._sized:
            self._broken("the answer is shorter than it says")
        self._over = True

    def on_header(self, name: bytes, value: bytes) -> None:
        self._fields.append((str(name, _OCTETS), str(value, _OCTETS).strip(" \t")))

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        given, self._fields = self._fields, []
        if self._over:
            return  # data after the end of the response
        if self._parser.get_http_version() not in ("1.0", "1.1") or status < 100:
            raise _Failed("malformed answer: no status of HTTP/1.1")
        if 100 <= status < 200 and status != 101:
            return  # an interim response, meant for this server
        self._begun = True
        self._reply.status = status
        incoming = self._incoming
        dropped = _HOP_BY_HOP | {"content-length"} | _named_by_connection([(name.lower(), value) for name, value in given])
        added = self._reply.headers  # headers that the service adds to every reply
        dropped |= {name.lower() for name, _ in added}
        kept = [(name, value) for name, value in given if name.lower() not in dropped]
        head = status_line(status) + fields(kept, _OCTETS) + fields(added)
        dates = [value for name, value in kept if name.lower() == "date"]
        if dates:
            head += f"Date: {dates[0]}\r\n".encode(_OCTETS)
        if status == 101:
            if not self._wants_tunnel or not _is_websocket([(name.lower(), value) for name, value in given]):
                raise _Failed("malformed answer: an upgrade that nobody asked for")
            self._tunnel = True
            self._connection.leaving = True
            self._parts.append(head + b"Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
            return
        length = next((value for name, value in given if name.lower() == "content-length"), None)
        codings = [value.lower() for name, value in given if name.lower() == "transfer-encoding"]
        if codings not in ([], ["chunked"]):
            raise _Failed("malformed answer: a transfer coding that is not implemented")
        self._sized = bool(codings) or length is not None
        bodiless = incoming.request.method == "HEAD" or status in (204, 304)
        if length is not None and not codings and status != 204:
            head += f"Content-Length: {length}\r\n".encode(_OCTETS)
        elif not bodiless:
            self._connection.leaving = True  # the reply ends with the connection
        if not incoming.keep_alive:
            self._connection.leaving = True
        if self._connection.leaving:
            head += CLOSE
        self._parts.append(head + b"\r\n")
        self._over = bodiless

    def on_body(self, data: bytes) -> None:
        if self._begun and not self._over:
            self._parts.append(data)

    def on_message_complete(self) -> None:
        if self._begun:
            self._over = True

    # ---- an upgraded connection -----------------------------------------------------------------------------------------

    def _run_tunnel(self) -> None:
        """Copies bytes in both directions until either side closes."""
        connection, upstream = self._connection, self._upstream
        self._engine.watch(connection, 0)
        rest, connection.reader.rest = connection.reader.rest, b""
        if rest:
            self._send_there(rest)
        poll = select.poll()
        poll.register(upstream, select.POLLIN)
        poll.register(connection.descriptor, select.POLLIN)
        while not connection.site.draining:
            for descriptor, _ in poll.poll(POLLING_SECONDS * 1000):
                try:
                    data = connection.receive() if descriptor == connection.descriptor else upstream.recv(_STEP)
                except BlockingIOError:
                    continue
                if not data:
                    return
                if descriptor == connection.descriptor:
                    self._send_there(data)
                else:
                    self._writer.send(data)


def _authority(reply: ProxyReply) -> str:
    host = f"[{reply.host}]" if ":" in reply.host else reply.host
    return host if reply.port == 80 else f"{host}:{reply.port}"


def _named_by_connection(given: Iterable[tuple[str, str]]) -> frozenset[str]:
    """The hop-by-hop fields that a ``Connection`` field names."""
    return frozenset(word.strip().lower() for name, value in given if name == "connection" for word in value.split(","))


def _is_websocket(given: Iterable[tuple[str, str]]) -> bool:
    """Whether ``Upgrade`` names ``websocket`` and no other protocol."""
    return [value.lower() for name, value in given if name == "upgrade"] == ["websocket"]
