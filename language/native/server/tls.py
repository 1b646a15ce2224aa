"""TLS: certificates by host name, and non-blocking handshakes."""

from __future__ import annotations

import os
import ssl
from typing import TYPE_CHECKING, Any

from language.locks import Lock
from language.native.server.console import say
from language.native.server.polling import READ, WRITE
from language.native.tls_socket import TlsSocket, forget

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Sequence

    from language.native.server.connection import Connection
    from language.native.server.engine import ServerEngine
    from language.native.server.settings import Certificate

#: Seconds between two checks of the certificate files.
_RELOAD_SECONDS = 1.0


class _Socket(TlsSocket):
    """A TLS socket that raises ``BlockingIOError`` as other sockets do. One thread may read while another one writes: OpenSSL's
    object itself is not safe for that.
    """

    turn: Lock

    def recv(self, *arguments: Any) -> bytes:
        try:
            with self.turn:
                return super().recv(*arguments)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise BlockingIOError from None

    def send(self, *arguments: Any) -> int:
        try:
            with self.turn:
                return super().send(*arguments)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise BlockingIOError from None

    def note_sent(self, data: bytes, taken: list[int]) -> None:
        """Sends data and appends the number of sent bytes, without a cancellation point between the two (see
        ``writing.note_sent``).
        """
        try:
            with self.turn:
                taken.extend(map(self._sslobj.write, (data,)))  # type: ignore[attr-defined]
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise BlockingIOError from None
        except OSError as error:
            forget(error)
            raise

    def unwrap(self) -> socket.socket:
        try:
            with self.turn:
                return super().unwrap()
        except OSError as error:
            forget(error)
            raise


class _Certificates:
    """The TLS contexts of a listener's certificates. A certificate whose files change is loaded again."""

    def __init__(self, certificates: Sequence[Certificate]) -> None:
        """Raises ``ValueError`` naming unusable files."""
        self._certificates = certificates
        self._contexts = [_context(certificate) for certificate in certificates]
        self._stamps = [_stamp(certificate) for certificate in certificates]
        self._next_look = 0.0
        self._arrange()

    def _arrange(self) -> None:
        pairs = list(zip(self._certificates, self._contexts))
        named = {certificate.host.lower(): context for certificate, context in pairs if certificate.host is not None}
        unnamed = [context for certificate, context in pairs if certificate.host is None]
        #: for a new connection: the certificate for every host, else the first one; the client's host name (SNI) may select
        #: another
        self.context = unnamed[-1] if unnamed else self._contexts[0]

        def choose(sock: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
            found = _named(named, (name or "").lower())
            if found is not None:
                sock.context = found

        if named:
            self.context.sni_callback = choose

    def look(self, now: float) -> None:
        """Loads changed certificates for further handshakes. Unusable files are reported and left out."""
        if now < self._next_look:
            return
        self._next_look = now + _RELOAD_SECONDS
        for number, certificate in enumerate(self._certificates):
            stamp = _stamp(certificate)
            if stamp == self._stamps[number]:
                continue
            self._stamps[number] = stamp
            try:
                self._contexts[number] = _context(certificate)
            except ValueError as error:
                say(f"[serve] {error}; the old one stays in use")
        self._arrange()


def _stamp(certificate: Certificate) -> tuple[tuple[int, int, int] | None, ...]:
    return tuple(_file_stamp(path) for path in (certificate.certificate, certificate.key))


def _file_stamp(path: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _named(contexts: dict[str, ssl.SSLContext], name: str) -> ssl.SSLContext | None:
    found = contexts.get(name)
    while found is None and "." in name:
        found = contexts.get("*." + name)  # `*.x.com` matches every name below x.com
        name = name.partition(".")[2]
    return found


def _context(certificate: Certificate) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION
    context.set_alpn_protocols(["http/1.1"])
    context.sslsocket_class = _Socket
    try:
        context.load_cert_chain(certificate.certificate, certificate.key)
    except (OSError, ssl.SSLError) as error:
        reason = error.strerror or str(error)
        raise ValueError(
            f"tls: cannot use certificate '{certificate.certificate}' with key '{certificate.key}': {reason}"
        ) from None
    return context


def wrapper(engine: ServerEngine, certificates: Sequence[Certificate]) -> Callable[[Connection], None]:
    """A function that starts TLS on an accepted connection. Raises ``ValueError`` naming unusable files."""
    known = _Certificates(certificates)
    engine.watchers.add(known.look)

    def wrap(connection: Connection) -> None:
        sock = known.context.wrap_socket(connection.socket, server_side=True, do_handshake_on_connect=False)
        assert isinstance(sock, _Socket)
        sock.turn = Lock()
        connection.socket = sock

        def handshake() -> bool:
            try:
                sock.do_handshake()
            except ssl.SSLWantReadError:
                engine.watch(connection, READ)
                return False
            except ssl.SSLWantWriteError:
                engine.watch(connection, WRITE)
                return False
            engine.watch(connection, READ)
            connection.secure = True
            return True

        connection.handshake = handshake

    return wrap
