"""The proxy for commands that a program starts. They have no network of their own, and reach through the proxy what the
program's ceiling covers.

It supports ``CONNECT host:port`` only (RFC 9110, 9.3.6). The runner decides about each connection.
"""

from __future__ import annotations

import socket
from collections.abc import Callable

from language.capabilities.scopes import net_target
from language.errors import RuntimeFault
from language.host_link.relay import LoopbackPort, relay

#: Returns a connected socket for host and port. Raises ``OSError``.
Connect = Callable[[str, int], socket.socket]

_LONGEST_HEAD = 8 * 1024
_HEAD_SECONDS = 30.0
_VARIABLES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")


class ConnectProxy:
    """A proxy on a loopback port."""

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self.port = LoopbackPort(self._serve).port

    def variables(self) -> dict[str, str]:
        """The variables that tell a command about the proxy, in both spellings."""
        address = f"http://127.0.0.1:{self.port}"
        return {name: address for known in _VARIABLES for name in (known, known.lower())}

    def _serve(self, connection: socket.socket) -> None:
        connection.settimeout(_HEAD_SECONDS)
        head, rest = _head(connection)
        if head is None:
            _refuse(connection, 431 if rest else 400, "the head of the request is too long or cut off")
            return
        method, _, target = head.partition(b"\r\n")[0].partition(b" ")
        place, _, version = target.partition(b" ")
        if method != b"CONNECT":
            _refuse(connection, 405, "this proxy knows CONNECT alone")
            return
        found = _authority(place)
        if found is None or not version.startswith(b"HTTP/1."):
            _refuse(connection, 400, "expected CONNECT host:port HTTP/1.1")
            return
        try:
            upstream = self._connect(*found)
        except PermissionError as refused:
            _refuse(connection, 403, refused.strerror or "refused")
            return
        except OSError as failed:
            _refuse(connection, 502, failed.strerror or "not reached")
            return
        with upstream:
            connection.settimeout(None)
            connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            if rest:
                upstream.sendall(rest)
            relay(connection, upstream)


def _head(connection: socket.socket) -> tuple[bytes | None, bytes]:
    """The head of the request and what followed it; no head where it is not complete within its time or size."""
    data = b""
    while True:
        head, found, rest = data.partition(b"\r\n\r\n")
        if found:
            return head, rest
        if len(data) > _LONGEST_HEAD:
            return None, data
        more = connection.recv(_LONGEST_HEAD)
        if not more:
            return None, b""
        data += more


def _authority(place: bytes) -> tuple[str, int] | None:
    """Host and port in canonical form, as the interpreter checks and records them; ``None`` for an invalid authority or one
    without a port.
    """
    try:
        target = net_target("tcp://" + place.decode("ascii"), "CONNECT")
    except (RuntimeFault, UnicodeDecodeError):
        return None
    if not target.port or target.userinfo is not None or target.path_and_query != "/" or b"/" in place:
        return None
    return target.host, target.port


def _refuse(connection: socket.socket, status: int, reason: str) -> None:
    body = reason.encode("utf-8", "replace") + b"\n"
    connection.sendall(
        b"HTTP/1.1 %d Refused\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
        % (status, len(body))
        + body
    )
