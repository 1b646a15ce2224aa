"""A served program as a function from request to reply: everything but sockets (docs/serve.md).

``respond`` is called from many threads at once. Each request runs in its own copy of the program.
"""

from __future__ import annotations

from language.console_text import one_line
from language.errors import RuntimeFault
from language.serve import approvals
from language.serve.exchange import EndRequest, Exchange
from language.serve.handlers import HandlerFailed, admit, handle, shape_error, token_of
from language.serve.instances import Instances
from language.serve.negotiation import FORMATS, split_suffix
from language.serve.origins import SAFE_METHODS, allowed_fields, cross_origin, is_local_name
from language.serve.proxy_target import Proxied
from language.serve.reply import ClientGone, ProxyReply, Reply, SocketReply, StreamReply
from language.serve.response_values import ResponseValue
from language.serve.routes import split
from language.serve.shaping import error_reply, shape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from language.runtime.context import Context
    from language.serve.proxy_target import Target
    from language.serve.rate_limit import Limiter
    from language.serve.reply import Sink, SocketChannel
    from language.serve.request import Request
    from language.serve.routes import Route
    from language.serve.surroundings import Surroundings
    from language.serve.table import HostTable, ServeTable

INTERNAL = "internal server error"
STOPPING = "cancelled: server shutting down"


class Application:
    """One ``serve`` block.

    ``around`` provides static mounts, discovery documents, rate limits and gates behind a server, and none of these in handler
    mode (``docs/embedding.md``). ``detailed`` says whether a 500 contains the cause, ``access_log`` whether each request writes
    a line to standard error. ``local_names`` are the host names besides ``localhost`` that a service for this machine alone
    accepts; ``None`` for a service that others may reach, which accepts every name.
    """

    def __init__(
        self,
        root: Context,
        table: ServeTable,
        port: int,
        *,
        around: Surroundings,
        detailed: bool = True,
        prefix: str = "",
        local_names: tuple[str, ...] | None = None,
        access_log: bool = False,
    ) -> None:
        self.port = port
        self.table = table
        self._root = root
        self._around = around
        self._detailed = detailed
        self._instances = Instances(root, table.functions, prefix)
        self._watch = around.watch
        self._streams = 0
        self._cors = table.cors
        self._local_names = local_names
        self._access_log = access_log
        self._collected: list[str] | None = None
        self._reporter: Callable[[str, Exchange], None] = self._report
        self.stopping_now = False

    # ---- called by a server ---------------------------------------------------------------------------------------------

    @property
    def in_flight(self) -> int:
        """The number of handlers that are running."""
        return len(self._watch)

    def body_limit(self, request: Request) -> int | None:
        """The most bytes of the body of a request, ``None`` for no limit. Called after its head was read."""
        return approvals.BODY_LIMIT if self._around.is_reserved(request) else self._around.max_body

    def is_reserved(self, request: Request) -> bool:
        """Whether the request decides or lists human gates. Such a request must not wait for handlers, which may all wait for a
        gate.
        """
        return self._around.is_reserved(request)

    def too_large(self, request: Request) -> Reply:
        """The reply to a request whose body exceeds the limit."""
        if self.is_reserved(request):
            return self._logged(self._secured(approvals.too_large()), request)
        reply = error_reply(413, "payload too large")
        reply.closes = True
        return self._logged(self._finished(reply, request), request)

    def stopping(self, request: Request) -> Reply:
        """The reply to a request that arrives on an open connection while the server stops."""
        return self._logged(self._finished(_stopping(), request), request)

    def begin_shutdown(self) -> None:
        """Called when no more requests are accepted. Ends the streams."""
        self.stopping_now = True
        self._watch.cancel_streams(STOPPING)

    def close_gates(self) -> None:
        """Denies the pending gates, so that their handlers can still answer within the grace period."""
        self._around.close_gates()

    def cancel_all(self) -> None:
        """Ends every handler that still runs."""
        self._watch.cancel_all(STOPPING)

    def respond(self, request: Request) -> Reply:
        """The reply to a request; raises nothing."""
        return self._logged(self._replied(request), request)

    def _replied(self, request: Request) -> Reply:
        around = self._around
        if self._local_names is not None and not is_local_name(request, self._local_names):
            return self._secured(self._around.errors(_misdirected(request), request))
        early = around.early(request)
        if early is not None:
            return self._secured(early)
        host = around.host(request)
        declared = request.method != "OPTIONS" or host.table.find("OPTIONS", request.path) is not None
        reply = self._dispatch(request, host) if declared else self._options(request, host)
        return self._finished(reply, request)

    def handled(self, request: Request, log: list[str]) -> Reply:
        """The reply in handler mode, one request at a time; ``log`` takes the lines that the program prints."""
        self._collected = log
        return self._around.early(request) or _kept_in_own_frames(self._dispatch(request, self.table.default))

    # ---- steps of a request ---------------------------------------------------------------------------------------------

    def _dispatch(self, request: Request, host: HostTable) -> Reply:
        around = self._around
        if request.method not in SAFE_METHODS:
            refused = cross_origin(request, self._cors)
            if refused is not None:
                return error_reply(403, refused)
        path = request.path
        method = self._method(request)
        if around.sockets and method == "GET" and "/llms.txt" in path and split(path) == ["llms.txt"]:
            return around.llms_txt(host) or self._not_found(request)
        found = host.table.find(method, path)
        suffix: str | None = None
        if found is not None:
            if found[0].ends_in_parameter and "." in path:
                stem, suffix = split_suffix(path)
                if suffix is not None:
                    found = host.table.find(method, stem) or found
            return self._run(request, host, found[0], found[1], suffix)
        methods = host.table.methods(path)
        if methods:
            return self._unrouted(405, "method not allowed", request, [("Allow", ", ".join(methods))])
        if method == "GET":
            stem, suffix = split_suffix(path)
            if suffix is not None:
                found = host.table.find(method, stem)
                if found is not None:
                    return self._run(request, host, found[0], found[1], suffix)
            late = around.static(host, request) or around.fallback(host, request) or around.discovery(host, request)
            if late is not None:
                return late
        elif around.has_static(host, request):
            return self._unrouted(405, "method not allowed", request, [("Allow", "GET, HEAD")])
        return self._not_found(request)

    def _run(self, request: Request, host: HostTable, route: Route, params: dict[str, Any], suffix: str | None) -> Reply:
        if route.kind in _UPGRADING:  # browsers send no preflight request before a WebSocket
            refused = cross_origin(request, self._cors) if request.field("upgrade") is not None else None
            if refused is not None:
                return error_reply(403, refused)
        exchange = self._exchange(request, params, None if suffix is None else FORMATS[suffix])
        limiter = self._around.limiter(route)
        headers: list[tuple[str, str]] = []
        if limiter is not None:
            verdict = limiter.take(request.address)
            if not verdict.allowed:
                return _limited(verdict)
            headers = verdict.headers()
        if request.body and "json" in (request.field("content-type") or "").lower():
            try:
                exchange.parse_json()
            except ValueError as why:
                return _unreadable(request, why)
        seconds = 0.0
        if self._around.sockets:
            seconds = self.table.timeout if route.timeout is None else route.timeout
        reply = self._within(exchange, seconds, self._answer, host, route, exchange, limiter, headers)
        if reply is None:
            reply = self._lasting(route, exchange, seconds)
        reply.headers += headers
        return reply

    def _within(self, exchange: Exchange, seconds: float, work: Callable[..., Reply | None], *arguments: Any) -> Reply | None:
        """The result of ``work(*arguments)``, or the reply for a request that was cancelled or ended early."""
        reply: Reply | None
        try:
            if seconds:
                now = self._root.host.monotonic()
                deadline = (exchange.request.arrived or now) + seconds
                if deadline <= now:  # it waited too long for a thread, so the handler is not run
                    exchange.reason = _timed_out(seconds)
                    return self._cancelled(exchange, seconds)
                reply = self._watch.run(exchange, deadline, _timed_out(seconds), work, *arguments)
            else:
                reply = self._watch.run(exchange, None, "", work, *arguments)
        except EndRequest as ended:
            reply = ended.reply
        finally:
            self._instances.take_all_back(exchange)
        return reply if exchange.reason is None else self._cancelled(exchange, seconds)

    def _answer(
        self, host: HostTable, route: Route, exchange: Exchange, limiter: Limiter | None, headers: list[tuple[str, str]]
    ) -> Reply | None:
        """The reply of a handler, or a refusal. ``None`` for a route of another kind whose client is admitted. ``headers`` are
        added to every reply except a refusal.
        """
        if route.auth:
            refusal = None if self._admitted(host, exchange) else self._unauthorized(host, route, exchange)
            if refusal is None and limiter is not None and exchange.person is not None:
                verdict = limiter.take("\0" + exchange.person)
                refusal = None if verdict.allowed else _limited(verdict)
            if refusal is not None:
                headers.clear()
                return refusal
        if route.kind == "handler":
            return self._handled(route, exchange)
        for place, fields in route.expect:
            exchange.expect(place, fields)  # before the head of the reply is sent, after which a 400 is impossible
        return None

    def _unauthorized(self, host: HostTable, route: Route, exchange: Exchange) -> Reply:
        reply = self._error(401, "unauthorized", exchange)
        if route.tools and self._around.sockets and not any(name.lower() == "www-authenticate" for name, _ in reply.headers):
            from language.serve.discovery import challenge

            domain = self.table.domains[0] if self.table.domains and not host.name else None
            reply.headers.append(("WWW-Authenticate", challenge(exchange.request, route.path, domain)))
        return reply

    def _exchange(self, request: Request, params: dict[str, Any], format: str | None = None) -> Exchange:
        exchange = Exchange(request, params, format, self._cors)
        exchange.detailed, exchange.report = self._detailed, self._reporter
        if self._collected is not None:
            exchange.log = self._collected
        return exchange

    def _handled(self, route: Route, exchange: Exchange) -> Reply:
        copy = self._instances.take(exchange)
        try:
            value = handle(copy, route, exchange)
            if value.__class__ is Proxied:
                return self._sent_on(value.target, exchange)
            return self._shaped(value, exchange)
        except HandlerFailed as failure:
            return self._failed(str(failure), exchange)
        except RuntimeFault as failure:  # the value cannot be written as a reply
            return self._failed(str(failure), exchange)
        finally:
            self._instances.give_back(copy, exchange)

    def _shaped(self, value: Any, exchange: Exchange) -> Reply:
        """The reply for a value that a task of the program returned."""
        stylesheet = self._around.stylesheet
        return shape(value, exchange.request, format=exchange.format, redacted=self._redacted, stylesheet=stylesheet)

    def _admitted(self, host: HostTable, exchange: Exchange) -> bool:
        if host.auth is None:
            return False
        token = token_of(exchange.request.text(exchange.request.field("authorization") or ""))
        user, failed = admit(self._instances, host.auth, host.auth_count, token, exchange)
        if failed is not None:
            self._report(f"401 {failed}", exchange)
        exchange.user = user
        exchange.person = identity(user)
        return user is not None

    # ---- streams, sockets, proxies
    # ----------------------------------------------------------------------------------------------

    def _lasting(self, route: Route, exchange: Exchange, seconds: float) -> Reply:
        if not self._around.sockets:
            return error_reply(501, _UNSUPPORTED[route.kind])
        if route.kind == "proxy":
            assert route.target is not None
            return self._proxied(route.target)
        if route.kind == "socket" and (exchange.request.field("upgrade") or "").lower() != "websocket":
            reply = error_reply(426, "this route is a WebSocket: connect with an upgrade request")
            reply.headers.append(("Upgrade", "websocket"))
            return reply
        if exchange.request.method == "HEAD":
            return Reply(200, "text/event-stream", b"", list(_STREAM_HEADERS), compressible=False)
        if not self._open_stream():
            return _too_many()
        if route.kind == "socket":
            return SocketReply(lambda channel: self._talk(route, exchange, channel, seconds), self._close_stream)
        return StreamReply(
            200,
            "text/event-stream",
            list(_STREAM_HEADERS),
            lambda sink: self._produce(route, exchange, sink, seconds),
            b": keepalive\n\n",
        )

    def _open_stream(self) -> bool:
        if self._streams >= self.table.max_streams or self.stopping_now:
            return False
        self._streams += 1
        return True

    def _close_stream(self) -> None:
        self._streams -= 1

    def _produce(self, route: Route, exchange: Exchange, sink: Sink, seconds: float) -> None:
        exchange.sink = sink
        failed: str | None = None
        try:
            failed = self._last(route, exchange, seconds)
        finally:
            self._close_stream()
            if failed is not None and failed != "":
                from language.serve.shaping import json_text

                sink.send(f"event: error\ndata: {json_text({'error': failed})}\n\n".encode())

    def _talk(self, route: Route, exchange: Exchange, channel: SocketChannel, seconds: float) -> None:
        exchange.channel = channel
        failed: str | None = None
        try:
            failed = self._last(route, exchange, seconds)
        finally:
            self._close_stream()
            if failed is None:
                channel.close(1000)
            elif exchange.reason is not None:
                channel.close(1001, failed.encode()[:123].decode("utf-8", "ignore"))
            elif failed:
                channel.close(1011, failed.encode()[:123].decode("utf-8", "ignore"))

    def _last(self, route: Route, exchange: Exchange, seconds: float) -> str | None:
        """Runs a handler that streams. Returns the error it ended with, ``""`` if the client left, else ``None``."""
        exchange.streams = True
        until = self._root.host.monotonic() + seconds if seconds else None
        failed: str | None = None
        try:
            failed = self._watch.run(exchange, until, _timed_out(seconds), self._talked, route, exchange)
        except HandlerFailed as failure:
            self._log(f"[serve:{self.port}] 500 {failure}")
            failed = str(failure) if self._detailed else INTERNAL
        except EndRequest as ended:
            from json import loads

            failed = loads(ended.reply.body)["error"]
        except ClientGone:
            failed = ""
        finally:
            self._instances.take_all_back(exchange)
        return failed if exchange.reason is None else exchange.reason

    def _talked(self, route: Route, exchange: Exchange) -> str | None:
        given = handle(self._instances.take(exchange), route, exchange)
        if isinstance(given, ResponseValue) and given.headers:
            return "with_header and cookies cannot be set once a stream has begun"
        return None

    def _sent_on(self, target: Target, exchange: Exchange) -> Reply:
        """The reply for a handler that ends with ``proxy to``."""
        if not self._around.sockets:
            return error_reply(501, _UNSUPPORTED["proxy"])
        if exchange.request.field("upgrade") is not None:  # browsers send no preflight request before a WebSocket
            refused = cross_origin(exchange.request, self._cors)
            if refused is not None:
                return error_reply(403, refused)
        return self._proxied(target)

    def _proxied(self, target: Target) -> Reply:
        if not self._open_stream():
            return _too_many()

        def failed(why: str) -> Reply:
            self._log(f"[serve:{self.port}] 502 {why}")
            return error_reply(502, f"proxy error: {why}" if self._detailed else "bad gateway")

        return ProxyReply(*target, failed, self._close_stream, self._root.check_address)

    # ---- errors ---------------------------------------------------------------------------------------------------------

    def _failed(self, detail: str, exchange: Exchange) -> Reply:
        if exchange.reason is not None:  # the failure is a consequence of the cancellation
            return error_reply(500, INTERNAL)
        self._report(f"500 {detail}", exchange)
        return self._error(500, detail if self._detailed else INTERNAL, exchange)

    def _cancelled(self, exchange: Exchange, seconds: float) -> Reply:
        if exchange.reason == STOPPING:
            return _stopping()
        reply = error_reply(504, f"gateway timeout: the handler exceeded {_seconds_text(seconds)}")
        reply.closes = True
        return reply

    def _method(self, request: Request) -> str:
        """The method by which a route is looked up. HEAD is answered as GET, with the same ``Content-Length``."""
        return "GET" if request.method == "HEAD" else request.method

    def _not_found(self, request: Request) -> Reply:
        return self._unrouted(404, f"no route for {self._method(request)} {approvals.shown_path(request.path)}", request)

    def _unrouted(self, status: int, message: str, request: Request, headers: list[tuple[str, str]] | None = None) -> Reply:
        """The error for a request that matches no route. The errors task may shape it, within the timeout of the block."""
        exchange = self._exchange(request, {})
        if self.table.errors is None:
            return self._error(status, message, exchange, headers)
        seconds = self.table.timeout if self._around.sockets else 0.0
        reply = self._within(exchange, seconds, self._error, status, message, exchange, headers)
        assert reply is not None
        return reply

    def _error(self, status: int, message: str, exchange: Exchange, headers: list[tuple[str, str]] | None = None) -> Reply:
        """An error of the runtime, with the body that the errors task gives it."""
        reply = error_reply(status, message)
        if self.table.errors is not None:
            if status in (404, 405):
                exchange.forget_body()
            value, failed = shape_error(self._instances, self.table.errors, status, message, exchange)
            if failed is not None:
                self._report(f"errors task failed: {failed}", exchange, "serve")
            elif value is not None:
                try:
                    shaped = self._shaped(value, exchange)
                except RuntimeFault as failure:
                    self._report(f"errors task failed: {failure}", exchange, "serve")
                else:
                    if not (value.__class__ is ResponseValue and value.kind == "redirect"):
                        shaped.status = status
                    reply = shaped
        if headers:
            reply.headers += headers
        return reply

    def _options(self, request: Request, host: HostTable) -> Reply:
        methods = host.table.methods(request.path) or (["GET"] if self._around.has_static(host, request) else [])
        if not methods:
            return self._unrouted(404, f"no route for {approvals.shown_path(request.path)}", request)
        allowed = ", ".join(sorted({*methods, "HEAD", "OPTIONS"}))
        reply = Reply(204, None, b"", [("Allow", allowed)])
        if self._cors is not None:
            reply.headers += [
                ("Access-Control-Allow-Methods", allowed),
                ("Access-Control-Allow-Headers", ", ".join(allowed_fields(request, self._cors))),
                ("Access-Control-Max-Age", "86400"),
            ]
        return reply

    def _finished(self, reply: Reply, request: Request) -> Reply:
        """The reply after the steps that apply to every reply: errors in the form for this client, CORS headers,
        compression.
        """
        if reply.message is not None:
            reply = self._around.errors(reply, request)
        if self._cors is not None:
            reply.headers.append(("Access-Control-Allow-Origin", self._cors))
        if len(reply.body) >= 1024 and reply.compressible:
            reply = self._around.compressed(reply, request)
        return self._secured(_kept_in_own_frames(reply))

    def _secured(self, reply: Reply) -> Reply:
        """The reply; over TLS with ``Strict-Transport-Security``."""
        if self._around.tls:
            reply.headers.append(("Strict-Transport-Security", "max-age=31536000; includeSubDomains"))
        return reply

    def _logged(self, reply: Reply, request: Request) -> Reply:
        """The reply. Its access log line is written when its status and size are known."""
        if not self._access_log:
            return reply
        from language.serve.access_log import access_line, at_end

        def log(status: int, size: int | None) -> None:
            host = self._root.host
            host.write_error_line(access_line(request, status, size, host.now()))

        at_end(reply, request, log)
        return reply

    def _report(self, what: str, exchange: Exchange, where: str = "") -> None:
        """Logs a line for the operator; in handler mode it is collected with the other lines of the request."""
        self._log(f"[{where or f'serve:{self.port}'}] {what}")
        if self._collected is not None:
            exchange.log.append(f"[handler] {what}")

    def _log(self, line: str) -> None:
        """Logs one line. Line ends in it, which a client may have sent, are escaped."""
        if self._around.sockets:
            self._root.host.write_error_line(one_line(line))

    def _redacted(self) -> None:
        self._log(f"[serve:{self.port}] warning: a secret in a reply was written as [redacted]")


#: Kinds of routes that can switch to another protocol (``Upgrade``).
_UPGRADING = frozenset({"socket", "proxy"})
#: What a browser shows as a document in which one can act.
_PAGES = ("text/html", "application/xhtml+xml", "image/svg+xml")
_STREAM_HEADERS = [("Cache-Control", "no-cache"), ("X-Accel-Buffering", "no")]
_NEEDS_SERVER = "run this program with the native `lang serve`"
_UNSUPPORTED = {
    "stream": f"stream routes (SSE) are not supported in handler mode — they need a live socket; {_NEEDS_SERVER}",
    "proxy": f"`proxy to` is not supported in handler mode — forward from the host, or {_NEEDS_SERVER}",
    "socket": f"socket routes are not supported in handler mode — they need a live socket; {_NEEDS_SERVER}",
}


def identity(user: Any) -> str | None:
    """The key of a user's rate limits and budgets: a text itself, or ``id``, ``sub`` or ``keyid`` of a map."""
    from language.values import as_map
    from language.values.display import display

    if type(user) is str:
        return user or None
    entries = as_map(user)
    if entries is None:
        return None
    for key in ("id", "sub", "keyid"):
        value = entries.get(key)
        if value is not None and value != "":
            return display(value)
    return None


def _kept_in_own_frames(reply: Reply) -> Reply:
    """The reply; a page of the program that says nothing of frames is shown in those of its own origin alone.

    In a frame of another site a person can be made to press a button of the page, and that request is one of its own origin.
    ``frame-ancestors`` asks every frame around the page, where ``X-Frame-Options`` once asked the outermost alone, and a
    program that wants to be embedded names those sites with it.
    """
    kind = reply.content_type
    if kind is None or not kind.lower().startswith(_PAGES):
        return reply
    if any(name.lower() in ("content-security-policy", "x-frame-options") for name, _ in reply.headers):
        return reply
    reply.headers.append(("Content-Security-Policy", "frame-ancestors 'self'"))
    return reply


def _unreadable(request: Request, why: ValueError) -> Reply:
    """The reply to a JSON body that cannot be read. A number that is too large is no mistake of syntax: its place is named."""
    from language.values.json_decoding import OutOfRange, place_out_of_range

    if not isinstance(why, OutOfRange):
        return error_reply(400, "malformed JSON body")
    place = place_out_of_range(request.body.decode("utf-8"))
    where = f"field '{place}'" if place else "the body"
    return error_reply(400, f"{where}: {why}", {"field": place or None})


def _misdirected(request: Request) -> Reply:
    return error_reply(
        421,
        f"this service is for this machine alone and does not answer for the host '{request.host}': open it as localhost, or "
        "name the host with `domain` in the serve block or in PLATFORM_SERVE_HOSTS, or let other machines reach it with "
        "`--bind ADDRESS`",
    )


def _limited(verdict: Any) -> Reply:
    reply = error_reply(429, "rate limit exceeded")
    reply.headers += verdict.headers()
    return reply


def _stopping() -> Reply:
    reply = error_reply(503, "server shutting down")
    reply.headers.append(("Retry-After", "2"))
    return reply


def _too_many() -> Reply:
    reply = error_reply(503, "too many concurrent streams")
    reply.headers.append(("Retry-After", "5"))
    return reply


def _timed_out(seconds: float) -> str:
    return f"cancelled: request timed out after {_seconds_text(seconds)}"


def _seconds_text(seconds: float) -> str:
    from language.values.display import number_text

    return f"{number_text(int(seconds) if seconds == int(seconds) else seconds)}s"
