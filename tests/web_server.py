"""A real HTTP server on this machine that remembers what reached it, byte by byte."""

from __future__ import annotations

import json
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from threading import Lock, Thread


class Received:
    """One request as it came over the wire."""

    def __init__(self, head: bytes, body: bytes, connection: int) -> None:
        lines = head.decode("latin-1").split("\r\n")
        self.head = head
        self.method, self.target, self.version = lines[0].split(" ", 2)
        self.lines = lines[1:]
        self.headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in self.lines)}
        self.body = body
        self.connection = connection


def reply(body: str | bytes = b"", *headers: str, status: str = "200 OK") -> bytes:
    """An answer with a length, the connection kept."""
    data = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(data)}"]
    return "\r\n".join(lines).encode("utf-8") + b"\r\n\r\n" + data


def json_reply(value: object, status: str = "200 OK") -> bytes:
    return reply(json.dumps(value), "Content-Type: application/json", status=status)


class WebServer:
    """Answers each request with what ``answer`` gives for it: bytes, or nothing to close the connection.

    An answer that sends by itself takes the socket as a second argument. With ``tls`` it speaks TLS; ``host`` is where it
    listens.
    """

    def __init__(
        self, answer: Callable[..., bytes | None], *, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1"
    ) -> None:
        self._answer = answer
        self._tls = tls
        self._lock = Lock()
        self.requests: list[Received] = []
        self.connections = 0
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.create_server((host, 0), family=family)
        self._open: list[socket.socket] = []
        self.host = host
        self.port = self._listener.getsockname()[1]
        shown = f"[{host}]" if ":" in host else host
        self.url = f"{'https' if tls else 'http'}://{shown}:{self.port}"
        Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> WebServer:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.drop_connections()

    def drop_connections(self) -> None:
        """Closes every open connection, as a server does with idle ones."""
        with self._lock:
            gone, self._open = self._open, []
        for connection in gone:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()

    @property
    def last(self) -> Received:
        return self.requests[-1]

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            Thread(target=self._serve, args=(connection, self.connections), daemon=True).start()

    def _serve(self, connection: socket.socket, number: int) -> None:
        with suppress(OSError):
            if self._tls is not None:
                connection = self._tls.wrap_socket(connection, server_side=True)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self._open.append(connection)
            pending = b""
            while True:
                while b"\r\n\r\n" not in pending:
                    more = connection.recv(65536)
                    if not more:
                        return
                    pending += more
                head, _, pending = pending.partition(b"\r\n\r\n")
                received = Received(head, b"", number)
                length = int(received.headers.get("content-length", "0"))
                while len(pending) < length:
                    pending += connection.recv(65536)
                received.body, pending = pending[:length], pending[length:]
                self.requests.append(received)
                if self._answer.__code__.co_argcount == 2:
                    answer = self._answer(received, connection)
                else:
                    answer = self._answer(received)
                if answer is None:
                    with suppress(OSError):
                        connection.shutdown(socket.SHUT_RDWR)
                    connection.close()
                    return
                connection.sendall(answer)
