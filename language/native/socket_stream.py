"""A socket that somebody else has connected, as a stream of httpcore."""

from __future__ import annotations

import select
import socket
import ssl
from typing import Any

import httpcore


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
            self._socket.settimeout(timeout)
            return SocketStream(ssl_context.wrap_socket(self._socket, server_hostname=server_hostname))
        except TimeoutError as error:
            self.close()
            raise httpcore.ConnectTimeout(str(error)) from error
        except (OSError, ssl.SSLError) as error:
            self.close()
            raise httpcore.ConnectError(str(error)) from error

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
