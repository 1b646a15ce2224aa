"""The client of WebSockets against a server of this machine."""

from __future__ import annotations

import hashlib
import socket
import ssl
import threading
from collections.abc import Iterator

import pytest
import trustme
from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, BytesMessage, CloseConnection, Ping, RejectConnection, Request, TextMessage
from wsproto.utilities import LocalProtocolError

import language
from language.errors import RuntimeFault
from language.host import EmbeddedHost
from language.native.host import NativeHost
from language.native.http import NativeHttp
from language.runtime.context import Context
from language.values import TRUE, Secret
from stdlib import websockets
from stdlib.selection import select
from stdlib.websockets import ws_close, ws_connect, ws_recv, ws_send, ws_status
from tests.open_descriptors import left_open, open_descriptors

LONG = 60


class LocalHost(NativeHost):
    def __init__(self, door):
        super().__init__()
        self._http = door


class Server:
    """Answers each connection by the path that was asked for, in a thread of its own."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._tls = tls
        self.port = self._listening.getsockname()[1]
        self.asked: list[Request] = []
        self.closed: list[CloseConnection] = []
        self.gone = threading.Semaphore(0)
        threading.Thread(target=self._accept, daemon=True).start()

    def url(self, path: str) -> str:
        return f"{'wss' if self._tls else 'ws'}://127.0.0.1:{self.port}/{path}"

    def stop(self) -> None:
        self._listening.close()

    def _accept(self) -> None:
        while True:
            try:
                stream, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(stream,), daemon=True).start()

    def _serve(self, stream: socket.socket) -> None:
        try:
            stream.settimeout(LONG)
            if self._tls is not None:
                stream = self._tls.wrap_socket(stream, server_side=True)
            self._talk(stream)
        except (OSError, LocalProtocolError):  # the other side is gone
            pass
        finally:
            stream.close()
            self.gone.release()

    def _talk(self, stream: socket.socket) -> None:
        ws = WSConnection(ConnectionType.SERVER)
        path = ""
        received = hashlib.sha256()
        while True:
            data = stream.recv(65536)
            ws.receive_data(data or None)
            if path == "pings" and data:
                stream.sendall(ws.send(Ping(b"are you there")))
            for event in ws.events():
                if isinstance(event, Request):
                    self.asked.append(event)
                    path = event.target.strip("/").partition("?")[0]
                    if path == "refused":
                        stream.sendall(ws.send(RejectConnection(status_code=302, headers=[(b"Location", b"/echo")])))
                        return
                    if path == "garbage":
                        stream.sendall(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")
                        return
                    if path == "silent":
                        stream.recv(1)
                        return
                    chosen = event.subprotocols[-1] if event.subprotocols else None
                    stream.sendall(ws.send(AcceptConnection(subprotocol=chosen)))
                    if path == "greets":
                        stream.sendall(ws.send(Ping(b"?")) + ws.send(TextMessage("hello")) + ws.send(BytesMessage(b"\0\xff")))
                        stream.sendall(ws.send(CloseConnection(code=1000)))
                    elif path == "vast":
                        stream.sendall(ws.send(TextMessage("x" * 2000)))
                    elif path == "broken":
                        stream.sendall(b"\xff\xff\xff")
                elif path == "pings" and isinstance(event, BytesMessage):
                    received.update(event.data)
                    if event.message_finished:
                        stream.sendall(ws.send(TextMessage(received.hexdigest())))
                elif isinstance(event, TextMessage | BytesMessage):
                    stream.sendall(ws.send(type(event)(data=event.data, message_finished=event.message_finished)))
                elif isinstance(event, CloseConnection):
                    self.closed.append(event)
                    if path != "greets":
                        stream.sendall(ws.send(event.response()))
                    return
            if not data:
                return


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.stop()


def context(*scopes, door=None):
    ctx = Context(LocalHost(door or NativeHttp()), collect=True)
    for scope in scopes or ("*", "127.0.0.1"):
        ctx.capabilities.require("net", scope)
    return ctx


@pytest.fixture
def ctx():
    made = context()
    yield made
    made.lifetime.end()


def error_of(function, *values):
    with pytest.raises(RuntimeFault) as caught:
        function(*values)
    return caught.value.message


def test_messages_go_both_ways(ctx, server):
    made = ws_connect(ctx, server.url("echo?a=b c"), {"headers": {"X-Key": Secret("hunter2", ("K",))}, "protocols": ["a", "b"]})
    for message, kind in (("é漢", "text"), (b"\0\xff", "binary"), ("x" * 300_000, "text"), ("", "text")):
        assert ws_send(ctx, made, message) is TRUE
        received = ws_recv(ctx, made, LONG)
        # A large message comes back in the parts in which the other side has read it.
        while len(received["data"]) < len(message):
            received["data"] += ws_recv(ctx, made, LONG)["data"]
        assert received == {"type": kind, "data": message}
    ws_send(ctx, made, {"a": [1, None]})
    assert ws_recv(ctx, made, LONG)["data"] == '{"a": [1, null]}'
    assert ws_recv(ctx, made, 0) is None and ws_status(ctx, made) == "open"
    asked = server.asked[-1]
    assert asked.target == "/echo?a=b%20c" and asked.subprotocols == ["a", "b"]
    assert (b"x-key", b"hunter2") in [(name.lower(), value) for name, value in asked.extra_headers]
    assert ws_close(ctx, made, 3001, "enough") is TRUE and ws_close(ctx, made) is TRUE
    assert (server.closed[-1].code, server.closed[-1].reason) == (3001, "enough")
    assert ws_status(ctx, made) == "closed"
    assert ws_recv(ctx, made, 0) == {"type": "close", "data": None}
    assert error_of(ws_send, ctx, made, "x") == "ws_send: the server has closed the socket"


def test_answers_to_pings_stand_between_messages(ctx, server):
    """A pong inside of a frame that is being sent would become a part of its content."""
    made = ws_connect(ctx, server.url("pings"))
    message = bytes(range(256)) * (1 << 15)
    ws_send(ctx, made, message)
    assert ws_recv(ctx, made, LONG) == {"type": "text", "data": hashlib.sha256(message).hexdigest()}
    ws_close(ctx, made)


def test_the_server_closes(ctx, server):
    made = ws_connect(ctx, server.url("greets"))
    assert select(ctx, {"feed": made}, LONG) == {"source": "socket", "handle": made, "name": "feed"}
    assert [ws_recv(ctx, made, LONG) for _ in range(3)] == [
        {"type": "text", "data": "hello"},
        {"type": "binary", "data": b"\0\xff"},
        {"type": "close", "data": None},
    ]
    assert select(ctx, [made], 0) is not None
    assert "the server has closed the socket" in error_of(ws_send, ctx, made, "x")


def test_what_is_no_web_socket(ctx, server):
    assert error_of(ws_connect, ctx, server.url("refused")) == "ws_connect: the server answered 302: there is no WebSocket"
    assert "no WebSocket handshake" in error_of(ws_connect, ctx, server.url("garbage"))
    assert error_of(ws_connect, ctx, server.url("silent"), {"timeout": 0.3}) == "ws_connect: no answer in 0.3 s"
    assert "only ws and wss" in error_of(ws_connect, ctx, server.url("x").replace("ws:", "http:"))
    assert "the URL has no host" in error_of(ws_connect, ctx, "echo")
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    assert "cannot connect to 127.0.0.1" in error_of(ws_connect, ctx, f"ws://127.0.0.1:{port}/")
    for _ in range(3):
        assert server.gone.acquire(timeout=LONG)


def test_a_message_that_is_too_large_closes(ctx, server):
    made = ws_connect(ctx, server.url("vast"), {"max_message": 1000})
    assert ws_recv(ctx, made, LONG) == {"type": "close", "data": None}
    made = ws_connect(ctx, server.url("broken"))
    assert ws_recv(ctx, made, LONG)["type"] == "close"


def test_the_address_is_checked_as_for_a_request(server):
    assert 'net("127.0.0.1:' in error_of(ws_connect, context("example.com"), server.url("echo"))
    # A name that leads to the metadata service of a cloud is refused although its host is granted.
    for address in ("169.254.169.254", "fe80::1"):
        door = NativeHttp(resolver=lambda host, port, address=address: [address])
        ctx = context("feed.example", door=door)
        message = error_of(ws_connect, ctx, f"ws://feed.example:{server.port}/echo")
        assert "Capability not granted" in message and address in message, message
    # The name is resolved once: a second answer is never asked for.
    answers = iter([["127.0.0.1"]])
    door = NativeHttp(resolver=lambda host, port: next(answers))
    ctx = context("feed.example", f"127.0.0.1:{server.port}", door=door)
    made = ws_connect(ctx, f"ws://feed.example:{server.port}/echo")
    ws_send(ctx, made, "x")
    assert ws_recv(ctx, made, LONG)["data"] == "x"
    ctx.lifetime.end()


def test_certificates_are_verified():
    authority = trustme.CA()
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    server = Server(tls)
    try:
        trusting = context(door=NativeHttp(roots=authority.cert_pem.bytes().decode()))
        made = ws_connect(trusting, server.url("echo"))
        ws_send(trusting, made, "sealed")
        assert select(trusting, [made], LONG) is not None and ws_recv(trusting, made, 0)["data"] == "sealed"
        trusting.lifetime.end()
        message = error_of(
            ws_connect, context(door=NativeHttp(roots=trustme.CA().cert_pem.bytes().decode())), server.url("echo")
        )
        assert "the certificate does not verify" in message
    finally:
        server.stop()


def test_rights_are_asked_at_each_use(server):
    program = f'require net("127.0.0.1")\nlet s be ws_connect("{server.url("echo")}")\nsandbox\n    '
    for act in ('ws_send(s, "x")', "ws_recv(s, 0)", "ws_status(s)", "ws_close(s)", 'ws_broadcast([s], "x")', "select([s], 0)"):
        answer = language.run(program + act, host=NativeHost())
        assert "Capability not granted: net(" in answer["errors"][0], act


def test_secrets_and_headers(ctx, server):
    assert "the secret K" in error_of(ws_connect, ctx, Secret("ws://x", ("K",)))
    made = ws_connect(ctx, server.url("echo"))
    assert "a secret is not sent" in error_of(ws_send, ctx, made, Secret("x", ("K",)))
    for name in ("Upgrade", "Sec-WebSocket-Key", "Connection"):
        assert f"the header {name} is set by the language" in error_of(
            ws_connect, ctx, server.url("echo"), {"headers": {name: "x"}}
        )
    assert "line break" in error_of(ws_connect, ctx, server.url("echo"), {"headers": {"X": "a\r\nY: b"}})
    assert "a list of names" in error_of(ws_connect, ctx, server.url("echo"), {"protocols": ["a b"]})
    assert "unknown option" in error_of(ws_connect, ctx, server.url("echo"), {"origin": "x"})


def test_it_ends_with_the_run_and_does_not_cross(ctx, monkeypatch):
    server = Server()
    before = open_descriptors()
    made = ws_connect(ctx, server.url("echo"))
    assert "does not cross" in error_of(ws_send, context(), made, "x")
    monkeypatch.setattr(websockets, "MOST_SOCKETS", 1)
    assert "1 sockets are open" in error_of(ws_connect, ctx, server.url("echo"))
    ctx.lifetime.end()
    assert server.gone.acquire(timeout=LONG)  # the server has closed its end too
    assert left_open(before) == [] and not any(websockets._open.values())
    source = f'require net("127.0.0.1")\nlet s be ws_connect("{server.url("echo")}")\nws_recv(s, 600)'
    assert language.run(source, host=NativeHost(), limits={"time_ms": 500})["limit"] == "time_ms"
    assert not any(websockets._open.values())
    server.stop()


def test_a_host_without_sockets():
    made = Context(EmbeddedHost(), collect=True)
    assert error_of(ws_connect, made, "ws://x/").startswith("ws_connect: not available in the wasm profile")
