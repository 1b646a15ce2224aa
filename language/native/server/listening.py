"""The socket that a server listens on."""

from __future__ import annotations

import socket

DEFAULT_BACKLOG = 4096


class Listener:
    """A bound, listening socket. ``address`` is as it was asked for; ``port`` is the real one where 0 was."""

    __slots__ = ("address", "port", "socket")

    def __init__(self, address: str, sock: socket.socket) -> None:
        self.address = address
        self.socket = sock
        self.port: int = sock.getsockname()[1]

    def close(self) -> None:
        self.socket.close()


def bind(address: str, port: int, backlog: int = DEFAULT_BACKLOG) -> Listener:
    """Listens at an IPv4 or IPv6 address or host name.

    Raises ``OSError``; :func:`bind_error` says it in the words of the manual.
    """
    family, kind, protocol, _, target = socket.getaddrinfo(
        address or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    sock = socket.socket(family, kind, protocol)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6 and address in ("::", ""):
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        sock.bind(target)
        sock.listen(backlog)
    except OSError:
        sock.close()
        raise
    return Listener(address, sock)


def bind_error(address: str, port: int, error: OSError) -> str:
    """``could not start server on 0.0.0.0:8080: Address already in use``"""
    shown = f"[{address}]" if ":" in address else address
    return f"could not start server on {shown}:{port}: {error.strerror or error}"
