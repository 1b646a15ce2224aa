"""A small server in a process of its own, so that its work is not counted: prints its port, answers every request alike."""

from __future__ import annotations

import socket
from threading import Thread

BODY = b'{"id": 1, "name": "a", "tags": ["x", "y"]}'
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(BODY), BODY)


def serve(connection: socket.socket) -> None:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    pending = b""
    while more := connection.recv(65536):
        pending += more
        while b"\r\n\r\n" in pending:
            pending = pending.partition(b"\r\n\r\n")[2]
            connection.sendall(ANSWER)


def main() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(listener.getsockname()[1], flush=True)
        while True:
            connection, _ = listener.accept()
            Thread(target=serve, args=(connection,), daemon=True).start()


if __name__ == "__main__":
    main()
