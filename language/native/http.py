"""HTTP over sockets: HTTP/1.1 (RFC 9112) with persistent connections.

Protocol and streams are those of httpcore, the transport of httpx. The connection pool is our own, because the address of a
connection must pass the access checks (``language.native.outgoing``). Of the environment only the machine's trusted root
certificates are used (``SSL_CERT_FILE``, ``SSL_CERT_DIR``): no proxy, no credentials, no ``.netrc``.
"""

from __future__ import annotations

import os
import ssl
import time
from collections.abc import Iterator
from functools import cache

import httpcore

from language.capabilities.reserved_addresses import reserved_address
from language.capabilities.scopes import bracketed
from language.host.http import MOST_BODY, HttpReply, HttpRequest, NotConnected, TransportFailure, too_large
from language.locks import Lock
from language.native.interruptible_stream import InterruptibleStream
from language.native.outgoing import Resolver, checked_addresses, connect, connected, connector, shares
from language.native.socket_stream import SocketStream
from language.native.tls_socket import TlsSocket

_PORTS = {"http": 80, "https": 443}
#: Idempotent methods, whose requests may be retried (RFC 9110 section 9.2.2).
_IDEMPOTENT = frozenset(("GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"))
#: Seconds after which an idle connection is no longer used. A server may close it while the next request is on its way. A
#: request that is not idempotent takes only a connection that was idle for less time than any usual server's timeout.
_LONGEST_IDLE = 15.0
_LONGEST_IDLE_ONCE = 1.0
_MOST_IDLE = 64
_CHUNK = 64 * 1024
_SENT_LENGTH = frozenset(("POST", "PUT", "PATCH"))

#: Paths of the root certificates on common operating systems, for interpreters that were built for another system.
_ROOTS = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)


TYPE_CHECKING = False
if TYPE_CHECKING:
    from language.host.web_sockets import SocketRequest
    from language.native.web_socket import ClientChannel


class _Connection:
    """An open connection with its origin and address."""

    __slots__ = ("address", "http", "idle_since", "reserved", "stream")

    def __init__(self, place: httpcore.Origin, stream: InterruptibleStream, address: str) -> None:
        self.http = httpcore.HTTP11Connection(place, stream)
        self.stream = stream
        self.address = address
        self.reserved = reserved_address(address) is not None
        self.idle_since = 0.0


class NativeHttp:
    """The HTTP client of a native host. One object serves all threads of a run.

    ``resolver`` and ``roots`` (certificates in PEM that are trusted in place of the system's) are for tests of hosts; the
    certificate and the host name are verified in any case. ``most`` is the largest body of a response in bytes. Its connections
    are made under ``capability``; clients of different capabilities share no connections.
    """

    def __init__(
        self,
        *,
        resolver: Resolver | None = None,
        roots: str | None = None,
        most: int = MOST_BODY,
        capability: str = "net",
    ) -> None:
        self._capability = capability
        self._resolver = resolver
        self._roots = roots
        self._most = most
        self._idle: dict[tuple[str, str, int], list[_Connection]] = {}
        self._idle_count = 0
        self._lock = Lock()
        self._tls: ssl.SSLContext | None = None

    def exchange(self, request: HttpRequest) -> HttpReply:
        """Sends the request and reads the whole response; see ``language.host.http.Http``."""
        target = request.target
        if target.scheme not in _PORTS:
            raise TransportFailure(f"unsupported scheme '{target.scheme}': only http and https are supported")
        port = target.port if target.port is not None else _PORTS[target.scheme]
        origin = (target.scheme, target.host, port)
        raw = _raw_request(request, origin)
        end = None if request.total is None else time.monotonic() + request.total
        connection = self._take(origin, _LONGEST_IDLE if request.method in _IDEMPOTENT else _LONGEST_IDLE_ONCE)
        if connection is not None:
            if connection.reserved:
                request.check_address(connection.address, port)
            try:
                return self._send(connection, origin, raw, request, end)
            except _ClosedBefore as closed:
                if request.method not in _IDEMPOTENT:
                    raise TransportFailure(str(closed)) from closed
        try:
            return self._send(self._connect(origin, request, end), origin, raw, request, end)
        except _ClosedBefore as closed:
            raise TransportFailure(str(closed)) from closed

    def web_socket(self, request: SocketRequest) -> ClientChannel:
        """Opens a WebSocket over a connection of its own. Its address is checked as for a request. Raises ``CannotOpen``, and
        what ``request.check_address`` raises.
        """
        from language.host.web_sockets import CannotOpen
        from language.native.web_socket import ClientChannel

        target = request.target
        if target.scheme not in ("ws", "wss"):
            raise CannotOpen(f"unsupported scheme '{target.scheme}': only ws and wss are supported")
        port = target.port if target.port is not None else 443 if target.scheme == "wss" else 80
        end = time.monotonic() + request.seconds
        try:
            connected = connect(
                target.host, port, request.check_address, request.seconds, self._resolver, capability=self._capability
            )
        except OSError as error:
            raise CannotOpen(f"cannot connect to {bracketed(target.host)}:{port}: {_reason(error)}") from error
        opened = False
        try:
            if target.scheme == "wss":
                connected.settimeout(max(end - time.monotonic(), 0.001))
                connected = _tls_context(self._roots).wrap_socket(connected, server_hostname=target.host)
            channel = ClientChannel(connected, request.most_message)
            channel.open(request, end)
            opened = True
        except (OSError, ValueError) as error:
            raise CannotOpen(f"TLS with {target.host}: {_reason(error)}") from error
        finally:
            if not opened:
                connected.close()
        return channel

    def close(self) -> None:
        """Closes the idle connections."""
        with self._lock:
            resting = [connection for connections in self._idle.values() for connection in connections]
            self._idle.clear()
            self._idle_count = 0
        for connection in resting:
            connection.http.close()

    # ---- connections ----------------------------------------------------------------------------------------------------

    def _take(self, origin: tuple[str, str, int], longest: float) -> _Connection | None:
        """An idle connection to the origin that is still open: the most recently used one, which is the least likely to have
        been closed.
        """
        oldest = time.monotonic() - longest
        while True:
            with self._lock:
                resting = self._idle.get(origin)
                if not resting:
                    return None
                connection = resting.pop()
                self._idle_count -= 1
            # Readable without a pending request: closed by the server, or out of sync with the protocol.
            if connection.idle_since >= oldest and not connection.http.has_expired():
                return connection
            connection.http.close()

    def _put_back(self, origin: tuple[str, str, int], connection: _Connection) -> None:
        connection.idle_since = time.monotonic()
        dropped: list[_Connection] = []
        with self._lock:
            self._idle.setdefault(origin, []).append(connection)
            self._idle_count += 1
            if self._idle_count > _MOST_IDLE:
                # All idle connections of the least recently used origin are closed.
                stale = min((key for key in self._idle if self._idle[key]), key=lambda key: self._idle[key][-1].idle_since)
                dropped = self._idle.pop(stale)
                self._idle_count -= len(dropped)
        for other in dropped:
            other.http.close()

    def _connect(self, origin: tuple[str, str, int], request: HttpRequest, end: float | None) -> _Connection:
        _, host, port = origin
        if connector() is not None:
            stream, address = self._connected_elsewhere(host, port, request, end), ""
            return self._connection(origin, stream, address, request, end)
        try:
            addresses = checked_addresses(host, port, request.check_address, self._resolver)
        except OSError as error:
            raise NotConnected(f"cannot resolve the host {host}: {_reason(error)}") from error
        seconds = request.timeout if request.connect is None else request.connect
        deadline = time.monotonic() + seconds
        if end is not None:
            deadline = min(deadline, end)
        failure = NotConnected(f"cannot connect to {bracketed(host)}:{port}: no answer in {seconds:g} s")
        for address, share in shares(addresses, deadline):
            try:
                stream = SocketStream(connected(address, port, share))
            except TimeoutError:
                continue
            except OSError as error:
                failure = NotConnected(f"cannot connect to {bracketed(host)}:{port}: {_reason(error)}")
                continue
            return self._connection(origin, stream, address, request, end)
        raise failure

    def _connected_elsewhere(self, host: str, port: int, request: HttpRequest, end: float | None) -> httpcore.NetworkStream:
        """A connection that the runner makes: it resolves the name and checks the address."""
        limit = request.timeout if request.connect is None else request.connect
        seconds = limit if end is None else min(limit, max(end - time.monotonic(), 0.001))
        try:
            return SocketStream(connect(host, port, request.check_address, seconds, capability=self._capability))
        except OSError as error:
            raise NotConnected(f"cannot connect to {bracketed(host)}:{port}: {_reason(error)}") from error

    def _connection(
        self,
        origin: tuple[str, str, int],
        stream: httpcore.NetworkStream,
        address: str,
        request: HttpRequest,
        end: float | None,
    ) -> _Connection:
        scheme, host, port = origin
        if scheme == "https":
            limit = request.timeout if request.connect is None else request.connect
            left = limit if end is None else min(limit, max(end - time.monotonic(), 0.001))
            stream = self._secure(stream, host, left, limit)
        return _Connection(httpcore.Origin(scheme.encode(), host.encode(), port), InterruptibleStream(stream), address)

    def _secure(self, stream: httpcore.NetworkStream, host: str, left: float, timeout: float) -> httpcore.NetworkStream:
        """Starts TLS over the stream; certificate and host name are verified. Closes the stream when that fails."""
        if self._tls is None:
            self._tls = _tls_context(self._roots)
        try:
            return stream.start_tls(self._tls, server_hostname=host, timeout=left)
        except httpcore.TimeoutException as error:
            raise TransportFailure(f"TLS with {host}: no answer in {timeout:g} s") from error
        except (httpcore.NetworkError, ValueError) as error:
            raise TransportFailure(f"TLS with {host}: {_reason(error.__cause__ or error)}") from error

    # ---- one request ----------------------------------------------------------------------------------------------------

    def _send(
        self,
        connection: _Connection,
        origin: tuple[str, str, int],
        raw: httpcore.Request,
        request: HttpRequest,
        end: float | None,
    ) -> HttpReply:
        """Sends the request and reads the response. Afterwards the connection is idle if both sides keep it alive, otherwise
        closed.

        Raises ``_ClosedBefore`` when it was lost before any part of the response arrived.
        """
        http = connection.http
        connection.stream.end = end if request.deadline is None else request.deadline()
        most = self._most if request.most is None else min(self._most, request.most)
        whole = False
        try:
            try:
                response = http.handle_request(raw)
            except (httpcore.ReadError, httpcore.WriteError) as error:
                raise _ClosedBefore(f"the connection broke: {_reason(error.__cause__ or error)}") from error
            except httpcore.RemoteProtocolError as error:
                if str(error).startswith("Server disconnected"):
                    raise _ClosedBefore("the server closed the connection without an answer") from error
                raise
            for name, value in response.headers:
                if name.lower() == b"content-length" and value.isdigit() and request.method != "HEAD" and int(value) > most:
                    raise too_large(most)
            headers = [(name.decode("latin-1"), _header_text(value)) for name, value in response.headers]
            is_enough = None if request.enough is None else request.enough(response.status, headers)
            chunks = []
            size = 0
            for chunk in response.iter_stream():
                size += len(chunk)
                if size > most:
                    raise too_large(most)
                chunks.append(chunk)
                if is_enough is not None and is_enough(chunk):
                    break
                if request.deadline is not None:
                    connection.stream.end = request.deadline()
            else:
                response.close()
                whole = True
        except httpcore.TimeoutException as error:
            raise TransportFailure(f"no answer in {request.timeout} s") from error
        except httpcore.NetworkError as error:
            raise TransportFailure(f"the connection broke: {_reason(error.__cause__ or error)}") from error
        except httpcore.LocalProtocolError as error:
            # the text of the cause may contain a header
            raise TransportFailure("the request cannot be sent as HTTP/1.1") from error
        except httpcore.ProtocolError as error:
            raise TransportFailure(f"malformed response: {error}") from error
        finally:
            # Also closed on cancellation: half a response must not be left in the connection for the next request.
            if not whole:
                http.close()
        if http.is_idle():
            self._put_back(origin, connection)
        else:
            http.close()
        return HttpReply(response.status, headers, b"".join(chunks))


class _ClosedBefore(Exception):
    """The connection was lost before any part of the response arrived. The server may not have seen the request."""


def _raw_request(request: HttpRequest, origin: tuple[str, str, int]) -> httpcore.Request:
    scheme, host, port = origin
    place = bracketed(host) if port == _PORTS[scheme] else f"{bracketed(host)}:{port}"
    headers = [(b"Host", place.encode()), *((name.encode(), value) for name, value in request.headers)]
    body = request.body
    if body is not None or request.method in _SENT_LENGTH:
        headers.append((b"Content-Length", b"%d" % len(body or b"")))
    return httpcore.Request(
        request.method.encode(),
        httpcore.URL(scheme=scheme.encode(), host=host.encode(), port=port, target=request.path.encode()),
        headers=headers,
        content=_Chunks(body) if body else None,
        extensions={"timeout": {"read": request.timeout, "write": request.timeout}},
    )


class _Chunks:
    """A body in parts, because the stream copies the unsent rest of a part after each write. It can be iterated more than
    once.
    """

    def __init__(self, body: bytes) -> None:
        self._body = body

    def __iter__(self) -> Iterator[bytes]:
        body = self._body
        return (body[at : at + _CHUNK] for at in range(0, len(body), _CHUNK))


def _header_text(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.decode("latin-1")


@cache
def _tls_context(roots: str | None) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=roots)
    context.sslsocket_class = TlsSocket
    if roots is None:
        known = ssl.get_default_verify_paths()
        if known.cafile is None and known.capath is None:
            for path in _ROOTS:
                if os.path.exists(path):
                    context.load_verify_locations(path)
                    break
    context.set_alpn_protocols(["http/1.1"])
    return context


def _reason(error: BaseException) -> str:
    """The reason that the system or the TLS library gives, without error numbers and file names."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the certificate does not verify: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return (error.reason or "handshake failed").replace("_", " ").lower()
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__
