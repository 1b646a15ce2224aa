"""A small application with every kind of reply, and the servers that stand before it."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from language.errors import RuntimeFault
from language.native.server import Server, ServerEngine, Settings, bind
from language.serve.reply import FileReply, ProxyReply, Reply, SocketReply, StreamReply
from language.serve.request import Request

if TYPE_CHECKING:
    from selectors import BaseSelector

    from language.serve.reply import Sink, SocketChannel

BODY_LIMIT = 4 * 1024 * 1024
#: What makes the selector of servers that are started here, ``None`` for what is best on this system.
selector: type[BaseSelector] | None = None


class Paths:
    """An application of functions by path; the rest is as a served program has it."""

    def __init__(self, limit: int | None = BODY_LIMIT) -> None:
        self.limit = limit
        self.gate = threading.Event()
        self.requests: list[Request] = []
        self.stopping_now = False
        self.cancelled = False
        self.gates_closed = False
        self.proxies_ended = 0
        self.upstream = ("127.0.0.1", 1, "")
        self.checked: list[str] = []
        self.folder = Path(".")
        self.stream_ended = threading.Event()
        self.stream_error: BaseException | None = None
        self._lock = threading.Lock()
        self._running = 0
        self.most_running = 0

    @property
    def in_flight(self) -> int:
        return self._running

    def body_limit(self, request: Request) -> int | None:
        return self.limit

    def is_reserved(self, request: Request) -> bool:
        return request.path.startswith("/approvals")

    def too_large(self, request: Request) -> Reply:
        return _json(413, {"error": "payload too large", "status": 413}, closes=True)

    def stopping(self, request: Request) -> Reply:
        reply = _json(503, {"error": "server shutting down"})
        reply.headers.append(("Retry-After", "2"))
        return reply

    def begin_shutdown(self) -> None:
        self.stopping_now = True

    def close_gates(self) -> None:
        self.gates_closed = True

    def cancel_all(self) -> None:
        self.cancelled = True
        self.gate.set()

    def respond(self, request: Request) -> Reply:
        with self._lock:
            self._running += 1
            self.most_running = max(self.most_running, self._running)
        try:
            return self._respond(request)
        finally:
            with self._lock:
                self._running -= 1

    def _respond(self, request: Request) -> Reply:
        path = request.path
        if path == "/json":
            return Reply(200, "application/json", b'{"id": 1, "name": "a", "tags": ["x", "y"]}')
        self.requests.append(request)
        if path == "/gate":
            self.gate.wait(60)
            return _json(200, {"waited": True})
        if path == "/sleep":
            time.sleep(float(request.query_text))
            return _json(200, {"slept": request.query_text})
        if path == "/spin":
            until = time.monotonic() + float(request.query_text)
            while time.monotonic() < until:
                pass
            return _json(200, {"spun": request.query_text})
        if path == "/large":
            if request.query_text.startswith("late"):  # the leader has gone on meanwhile: another thread sends the reply
                time.sleep(0.05)
                return Reply(200, "application/octet-stream", b"x" * int(request.query_text[4:]))
            return Reply(200, "application/octet-stream", b"x" * int(request.query_text))
        if path == "/file":
            descriptor = os.open(self.folder / "file", os.O_RDONLY)
            return FileReply(200, "text/plain", [("ETag", '"1"')], descriptor, 0, os.fstat(descriptor).st_size)
        if path == "/part":
            descriptor = os.open(self.folder / "file", os.O_RDONLY)
            return FileReply(206, "text/plain", [], descriptor, 10, 20)
        if path == "/boom":
            raise RuntimeError("a defect")
        if path == "/inject":
            return Reply(200, "text/plain", b"x", [("X-A", "b\r\nSet-Cookie: evil=1")])
        if path == "/nothing":
            return Reply(204, None)
        if path == "/unchanged":
            return Reply(304, None, b"", [("ETag", '"1"')])
        if path == "/close":
            return Reply(200, "text/plain", b"bye", closes=True)
        if path == "/stream":
            return StreamReply(200, "text/event-stream", [("Cache-Control", "no-cache")], self._stream, b": keepalive\n\n")
        if path == "/socket":
            return SocketReply(self._talk)
        if path.startswith("/proxy"):
            return ProxyReply(*self.upstream, _bad_gateway, self._proxy_ended, self._check_address)
        body = request.body
        if request.body_file is not None:
            body = Path(request.body_file).read_bytes()
        seen = {
            "method": request.method,
            "path": request.path,
            "query": request.query_text,
            "fields": request.fields,
            "body": body.decode("latin-1") if len(body) < 10_000 else len(body),
            "file": request.body_file,
            "address": request.address,
            "secure": request.secure,
        }
        return _json(200, seen)

    def _stream(self, sink: Sink) -> None:
        try:
            for number in range(3):
                sink.send(f"data: {number}\n\n".encode())
            while not self.gate.wait(0.05):
                if self.stopping_now:
                    sink.send(b"event: error\ndata: stopping\n\n")
                    return
                if self.stream_error is not None:
                    return
        except BaseException as error:
            self.stream_error = error
            raise
        finally:
            self.stream_ended.set()

    def stream_forever(self, sink: Sink) -> None:
        while True:
            sink.send(b"data: x\n\n")
            time.sleep(0.01)

    def _talk(self, channel: SocketChannel) -> None:
        while (message := channel.receive(20)) is not None:
            if message == "close":
                channel.close(4001, "as asked")
                return
            if message == "end":
                return
            channel.send(message.upper())

    def _check_address(self, address: str, port: int) -> None:
        self.checked.append(address)
        raise RuntimeFault(f"refused: {address}")

    def _proxy_ended(self) -> None:
        self.proxies_ended += 1


def _bad_gateway(why: str) -> Reply:
    return _json(502, {"error": f"proxy error: {why}", "status": 502})


def _json(status: int, value: object, *, closes: bool = False) -> Reply:
    return Reply(status, "application/json", json.dumps(value).encode(), closes=closes)


@contextmanager
def running(application: Paths, settings: Settings | None = None, address: str = "127.0.0.1") -> Iterator[Server]:
    """A running server before the application."""
    settings = settings or Settings()
    engine = ServerEngine(settings, None if selector is None else selector())
    server = Server(bind(address, 0), application, settings, engine=engine)
    server.start()
    try:
        yield server
    finally:
        application.gate.set()
        server.stop(0)


@contextmanager
def serving(application: Paths, settings: Settings | None = None) -> Iterator[int]:
    """The port of a running server."""
    with running(application, settings) as server:
        yield server.listener.port


def exchange(port: int, data: bytes, *, seconds: float = 5.0, half_close: bool = False) -> bytes:
    """Sends bytes on a connection of their own and reads until the server closes it, or nothing comes for a while."""
    with closing(socket.create_connection(("127.0.0.1", port), timeout=seconds)) as sock:
        with suppress(BrokenPipeError, ConnectionResetError):
            sock.sendall(data)
        if half_close:
            # A server that has ended the connection already leaves nothing to half-close (ENOTCONN).
            with suppress(OSError):
                sock.shutdown(socket.SHUT_WR)
        return read_all(sock)


def read_all(sock: socket.socket) -> bytes:
    """Everything until the server closes; what else ends the reading is written behind it."""
    received = []
    try:
        while more := sock.recv(65536):
            received.append(more)
    except TimeoutError:
        received.append(b"<still open>")
    except ConnectionResetError:
        received.append(b"<reset>")
    return b"".join(received)


def status(received: bytes) -> int:
    """The status of a reply."""
    return int(received.split(b" ", 2)[1])


def decoded(received: bytes) -> Any:
    """The JSON body of the last reply in what was received."""
    return json.loads(received.rpartition(b"\r\n\r\n")[2])


def read_reply(sock: socket.socket) -> tuple[bytes, bytes]:
    """Head and body of one sized reply."""
    received = b""
    while b"\r\n\r\n" not in received:
        more = sock.recv(65536)
        if not more:
            raise EOFError(received)
        received += more
    head, _, body = received.partition(b"\r\n\r\n")
    length = next((int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")), 0)
    while len(body) < length:
        more = sock.recv(65536)
        if not more:
            raise EOFError(received)
        body += more
    assert len(body) == length, "bytes behind the reply"
    return head, body


def wait_for(condition: Callable[[], bool], seconds: float = 5.0) -> bool:
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True
