"""The addresses of runners: the path of a Unix socket, or a host and port over TCP."""

from __future__ import annotations

import socket
from dataclasses import dataclass

#: The prefix of an address over TCP.
TCP = "tcp://"
_CONNECT_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class RunnerPlace:
    """An address of a runner: ``path``, or ``host`` and ``port``."""

    path: str = ""
    host: str = ""
    port: int = 0

    @property
    def is_tcp(self) -> bool:
        """Whether the transport is TCP, which cannot pass file descriptors."""
        return not self.path

    def dialled(self) -> socket.socket:
        """A new connection, which no child process inherits. Errors: ``OSError``."""
        if self.is_tcp:
            connection = socket.create_connection((self.host, self.port), _CONNECT_SECONDS)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return connection
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(self.path)
        except BaseException:
            connection.close()
            raise
        return connection


def place_of(address: str, secret: str) -> RunnerPlace:
    """Parses an address. Errors: ``ValueError`` for an invalid one, and for TCP without a secret."""
    if not address.startswith(TCP):
        return RunnerPlace(path=address)
    host, _, digits = address.removeprefix(TCP).rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not (host and digits.isascii() and digits.isdigit() and 0 < int(digits[:6]) < 65536):
        raise ValueError("expected a path or tcp://host:port")
    if not secret:
        raise ValueError("a link over TCP needs its secret")
    return RunnerPlace(host=host, port=int(digits))
