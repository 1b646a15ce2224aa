"""TLS: certificates by host name, and handshakes that nobody waits for."""

from __future__ import annotations

import ssl
from _thread import LockType, allocate_lock
from typing import TYPE_CHECKING, Any

from language.native.server.polling import READ, WRITE

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Sequence

    from language.native.server.connection import Connection
    from language.native.server.engine import ServerEngine
    from language.native.server.settings import Certificate


class _Socket(ssl.SSLSocket):
    """A TLS socket that says ``BlockingIOError`` like any other one, and that one thread may read while another one writes:
    OpenSSL's own object is for one at a time.
    """

    turn: LockType

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
        """Sends data and appends how much was taken, with nothing in between (see ``writing.note_sent``)."""
        try:
            with self.turn:
                taken.extend(map(self._sslobj.write, (data,)))  # type: ignore[attr-defined]
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise BlockingIOError from None

    def unwrap(self) -> socket.socket:
        with self.turn:
            return super().unwrap()


def context_for(certificates: Sequence[Certificate]) -> ssl.SSLContext:
    """The context of a listener: the certificate of the host the client names, else the one for every host, else the first.

    Raises ``ValueError`` naming the files that cannot be used.
    """
    contexts: dict[str, ssl.SSLContext] = {}
    default: ssl.SSLContext | None = None
    for certificate in certificates:
        made = _context(certificate)
        if certificate.host is None:
            default = made
        else:
            contexts[certificate.host.lower()] = made
    if default is None:
        default = next(iter(contexts.values()))

    def choose(sock: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
        found = _named(contexts, (name or "").lower())
        if found is not None:
            sock.context = found

    if contexts:
        default.sni_callback = choose
    return default


def _named(contexts: dict[str, ssl.SSLContext], name: str) -> ssl.SSLContext | None:
    found = contexts.get(name)
    while found is None and "." in name:
        found = contexts.get("*." + name)  # `*.x.com` holds for x.com and everything below it
        name = name.partition(".")[2]
    return found


def _context(certificate: Certificate) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
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
    """Begins TLS on a new connection."""
    context = context_for(certificates)

    def wrap(connection: Connection) -> None:
        sock = context.wrap_socket(connection.socket, server_side=True, do_handshake_on_connect=False)
        assert isinstance(sock, _Socket)
        sock.turn = allocate_lock()
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
