"""A connected socket as a stream of httpcore."""

from __future__ import annotations

import select
import socket
import ssl
from time import monotonic
from typing import Any

import httpcore

from language.native.outgoing import readable, writable
from language.waits import POLLING_INTERVAL


class SocketStream(httpcore.NetworkStream):
    """Reads, writes and closes the socket; timeouts in seconds."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        try:
            self._socket.settimeout(timeout)
            return self._socket.recv(max_bytes)
        except TimeoutError as error:
            raise httpcore.ReadTimeout(str(error)) from error
        except OSError as error:
            raise httpcore.ReadError(str(error)) from error

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        try:
            self._socket.settimeout(timeout)
            self._socket.sendall(buffer)
        except TimeoutError as error:
            raise httpcore.WriteTimeout(str(error)) from error
        except OSError as error:
            raise httpcore.WriteError(str(error)) from error

    def close(self) -> None:
        self._socket.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        try:
            secured = ssl_context.wrap_socket(self._socket, server_hostname=server_hostname, do_handshake_on_connect=False)
        except (OSError, ssl.SSLError) as error:
            self.close()
            raise httpcore.ConnectError(str(error)) from error
        try:
            _shake_hands(secured, None if timeout is None else monotonic() + timeout)
        except BaseException as error:
            secured.close()
            if isinstance(error, TimeoutError):
                raise httpcore.ConnectTimeout(str(error)) from error
            if isinstance(error, OSError):
                raise httpcore.ConnectError(str(error)) from error
            raise
        return SocketStream(secured)

    def get_extra_info(self, info: str) -> Any:
        if info == "socket":
            return self._socket
        if info == "ssl_object":
            return self._socket if isinstance(self._socket, ssl.SSLSocket) else None
        if info == "is_readable":
            poll = select.poll()
            poll.register(self._socket.fileno(), select.POLLIN)
            return bool(poll.poll(0))
        return None


def _shake_hands(secured: ssl.SSLSocket, end: float | None) -> None:
    """The TLS handshake, until ``end`` (monotonic seconds). No system call blocks for longer than a polling interval."""
    secured.setblocking(False)
    while True:
        wait = writable
        try:
            secured.do_handshake()
            return
        except ssl.SSLWantReadError:
            wait = readable
        except ssl.SSLWantWriteError:
            pass
        left = POLLING_INTERVAL if end is None else end - monotonic()
        if left <= 0:
            raise TimeoutError("no answer in time")
        wait(secured, min(left, POLLING_INTERVAL))
