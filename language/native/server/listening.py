"""The socket that a server listens on."""

from __future__ import annotations

import errno
import os
import socket
import stat
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

DEFAULT_BACKLOG = 4096
#: The prefix of an address that is the path of a Unix socket.
UNIX = "unix:"
_PROBE_SECONDS = 1.0


class Listener:
    """A bound, listening socket.

    ``address`` is as given. ``port`` is the actual port where 0 was given, and 0 for a Unix socket.
    """

    __slots__ = ("_file", "_owner", "address", "port", "socket")

    def __init__(self, address: str, sock: socket.socket, file: tuple[int, int, int] | None = None) -> None:
        self.address = address
        self.socket = sock
        self.port: int = 0 if sock.family == socket.AF_UNIX else sock.getsockname()[1]
        self._file = file
        self._owner = os.getpid()

    def close(self) -> None:
        self.socket.close()

    def remove(self) -> None:
        """Removes the file of a Unix socket, unless another socket has replaced it. Called in the process that bound it, at its
        end.
        """
        if self._file is None or self._owner != os.getpid():
            return
        path = self.address.removeprefix(UNIX)
        with suppress(OSError), _alone(path):
            if _identity(path) == self._file:
                os.unlink(path)


def bind(address: str, port: int, backlog: int = DEFAULT_BACKLOG) -> Listener:
    """Listens at an IPv4 or IPv6 address or host name, or with ``unix:PATH`` at a Unix socket that only this user may connect
    to.

    Raises ``OSError``; :func:`bind_error` makes the message for it.
    """
    if address.startswith(UNIX):
        return _bind_unix(address, backlog)
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


def _bind_unix(address: str, backlog: int) -> Listener:
    path = address.removeprefix(UNIX)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with _alone(path):
            _make_room(path)
            sock.bind(path)
            os.chmod(path, 0o600)  # no client can connect before `listen`
            file = _identity(path)
            sock.listen(backlog)
    except OSError:
        sock.close()
        raise
    return Listener(address, sock, file)


def _identity(path: str) -> tuple[int, int, int]:
    """Distinguishes a socket from a later one of the same name, whose inode number may be equal."""
    found = os.lstat(path)
    return found.st_dev, found.st_ino, found.st_mtime_ns


def _make_room(path: str) -> None:
    """Removes the socket file of a process that has ended. Raises ``OSError`` when a process answers at it, and for any other
    file.
    """
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        raise OSError(errno.EEXIST, "there is a file that is no socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(_PROBE_SECONDS)
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            os.unlink(path)
        else:
            raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))


def is_loopback(address: str) -> bool:
    """Whether only this machine reaches what listens at an address as :func:`bind` takes it: ``127.0.0.1``, ``::1``,
    ``localhost``. A Unix socket is none, since no browser reaches one.
    """
    from ipaddress import ip_address

    if address.startswith(UNIX):
        return False
    try:
        taken = socket.getaddrinfo(address or None, 0, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][4][0]
        found = ip_address(str(taken).partition("%")[0])
    except (OSError, ValueError):
        return True  # nothing can listen there, and protection is the safe answer
    mapped = getattr(found, "ipv4_mapped", None)
    return (mapped or found).is_loopback


@contextmanager
def _alone(path: str) -> Iterator[None]:
    """Holds a lock on a folder, so that one process at a time binds or removes a socket there. Raises ``OSError``."""
    from fcntl import LOCK_EX, flock

    folder = os.open(os.path.dirname(path) or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        flock(folder, LOCK_EX)
        yield
    finally:
        os.close(folder)


def place(address: str, port: int) -> str:
    """The address of a server as text: ``127.0.0.1:8080``, ``[::1]:8080``, ``unix:/run/app.sock``."""
    if address.startswith(UNIX):
        return address
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def bind_error(address: str, port: int, error: OSError) -> str:
    """The message ``could not start server on 127.0.0.1:8080: Address already in use``."""
    return f"could not start server on {place(address, port)}: {error.strerror or error}"
