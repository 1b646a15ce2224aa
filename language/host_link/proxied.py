"""Outgoing connections of a link over TCP, which cannot pass file descriptors: through the CONNECT port of the runner."""

from __future__ import annotations

import errno
import socket
import time

from language.waits import POLLING_INTERVAL

_LONGEST_HEAD = 16 * 1024


def connect(proxy: tuple[str, int], secret: str, target: tuple[str, int], capability: str, seconds: float) -> socket.socket:
    """A connection to the target, made by the runner; the socket is blocking, without a timeout.

    Errors: ``PermissionError`` for one that the runner refuses, ``OSError`` for one that is not made in time.
    """
    end = time.monotonic() + seconds
    host, port = target
    place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    connection = socket.create_connection(proxy, timeout=seconds)
    done = False
    try:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(
            f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\nProxy-Authorization: Bearer {secret}\r\n"
            f"Capability: {capability}\r\n\r\n".encode("ascii")
        )
        head = _head(connection, end)
        status, _, reason = head.partition(b"\r\n")[0].partition(b" ")[2].partition(b" ")
        text = reason.decode("utf-8", "replace")
        if status == b"403":
            raise OSError(errno.EACCES, f"the runner refused the connection: {text}")
        if status != b"200":
            raise OSError(errno.EHOSTUNREACH, text or "the runner made no connection")
        connection.settimeout(None)
        done = True
        return connection
    finally:
        if not done:
            connection.close()


def _head(connection: socket.socket, end: float) -> bytes:
    """The head of the response. It is read byte by byte, because the bytes after it are already those of the other server.

    The runner sends it after it has made the connection. The wait can be cancelled.
    """
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        left = max(0.001, end - time.monotonic())
        connection.settimeout(min(left, POLLING_INTERVAL))
        try:
            byte = connection.recv(1)
        except TimeoutError:
            if left <= POLLING_INTERVAL:
                raise
            continue
        if not byte or len(head) > _LONGEST_HEAD:
            raise OSError(errno.EPROTO, "the runner's proxy gave no answer")
        head += byte
    return head
