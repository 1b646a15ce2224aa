"""Sends requests over a TCP port or a Unix socket as fast as they are answered, and prints what it saw as JSON.

    python tests/bench/load_client.py PLACE HOST METHOD PATH BODY_BYTES kept|new CONNECTIONS SECONDS

PLACE is ``address:port`` or the path of a Unix socket. ``new`` makes a connection for each request. wrk knows no Unix sockets:
a server behind one is compared with a way to it over TCP by the same client.
"""

from __future__ import annotations

import json
import re
import select
import socket
import sys
import time

LENGTH = re.compile(rb"\r\ncontent-length: ([0-9]+)\r\n", re.IGNORECASE)


class Connection:
    """One request after the other."""

    def __init__(self, place: str, request: bytes) -> None:
        self._place, self._request = place, request
        self.open()

    def open(self) -> None:
        """Connects anew."""
        host, colon, port = self._place.rpartition(":")
        if colon:
            self.socket = socket.create_connection((host, int(port)))
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        else:
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.connect(self._place)

    def ask(self) -> None:
        """Sends the request."""
        self.asked = time.perf_counter()
        self._missing = -1
        self._head = b""
        self.socket.sendall(self._request)

    def take(self) -> bool:
        """Reads on, and says whether the answer is complete. Errors: ``OSError`` for one that is no success."""
        data = self.socket.recv(262_144)
        if not data:
            raise ConnectionResetError("the connection was closed before the answer was complete")
        if self._missing < 0:
            self._head += data
            end = self._head.find(b"\r\n\r\n")
            if end < 0:
                return False
            length = LENGTH.search(self._head)
            if length is None or not self._head.startswith(b"HTTP/1.1 200 "):
                raise OSError(f"it was answered {self._head[:200]!r}")
            self._missing = end + 4 + int(length[1]) - len(self._head)
        else:
            self._missing -= len(data)
        return not self._missing


def run(place: str, request: bytes, connections: int, seconds: float, *, kept: bool) -> dict[str, float]:
    """How many answers came, and what they took."""
    poll = select.epoll()
    found: dict[int, Connection] = {}

    def begin(connection: Connection) -> None:
        connection.ask()
        found[connection.socket.fileno()] = connection
        poll.register(connection.socket, select.EPOLLIN)

    for _ in range(connections):
        begin(Connection(place, request))
    times: list[float] = []
    started = now = time.perf_counter()
    processor = time.process_time()
    while now - started < seconds:
        answered = poll.poll(5)
        now = time.perf_counter()
        for descriptor, _ in answered:
            connection = found[descriptor]
            if not connection.take():
                continue
            now = time.perf_counter()
            times.append(now - connection.asked)
            if kept:
                connection.ask()
            else:
                poll.unregister(descriptor)
                del found[descriptor]
                connection.socket.close()
                connection.open()
                begin(connection)
    took = now - started
    times.sort()
    return {
        "per_second": len(times) / took,
        "p99_ms": times[len(times) * 99 // 100] * 1000,
        "processor_us": (time.process_time() - processor) / len(times) * 1e6,
        "requests": len(times),
    }


def main() -> None:
    place, host, method, path, size, mode, connections, seconds = sys.argv[1:]
    lines = [f"{method} {path} HTTP/1.1", f"Host: {host}"]
    if int(size):
        lines.append(f"Content-Length: {size}")
    if mode == "new":
        lines.append("Connection: close")
    request = "\r\n".join([*lines, "", ""]).encode() + b"x" * int(size)
    print(json.dumps(run(place, request, int(connections), float(seconds), kept=mode == "kept")))


if __name__ == "__main__":
    main()
