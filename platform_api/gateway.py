"""The checks before every route: request ids, hosts, sizes, tokens, headers. Plain ASGI around the application.

Tokens are checked here and not at the routes: a path below ``/api/v1`` that does not exist answers 401 without a token,
and a new route needs a token unless it is listed as open.
"""

from __future__ import annotations

import ipaddress
import json
import logging
import re
import time
from typing import TYPE_CHECKING, Any

from litestar.utils import normalize_path

from platform_api.accounts.sessions import check_origin, cookie_of, note_session_use, session_of
from platform_api.accounts.tokens import note_use
from platform_api.addresses import counted_as
from platform_api.identifiers import request_id
from platform_api.kept_answers import FROM_THE_STORE, Kept, Noted
from platform_api.refusals import Refusal, internal
from platform_api.replays import is_replayable, once
from platform_api.service_log import log_request
from platform_api.short_way import ShortWay

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, MutableMapping

    from litestar import Response

    from platform_api.accounts.principal import Principal
    from platform_api.platform import Platform

    Scope = MutableMapping[str, Any]
    Message = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]

logger = logging.getLogger("platform")
API = "/api/v1"
#: The route of the tools for assistants, and the document that tells a client without a token where to get one.
TOOLS = "/mcp"
TOOLS_METADATA = "/.well-known/oauth-protected-resource"
#: The routes below ``/api/v1`` that need no token.
OPEN = frozenset(
    {
        ("POST", f"{API}/auth/login"),
        ("POST", f"{API}/auth/device"),
        ("POST", f"{API}/auth/device/token"),
        ("GET", f"{API}/recipes"),
    }
)
#: The route at which a proxy asks whether to obtain a certificate for a host.
ASK = "/ingress/ask"
#: Paths that monitoring and proxies request by IP address: every ``Host`` is accepted there.
_ANY_HOST = frozenset({"/healthz", "/readyz", "/metrics", ASK})
#: Paths that a proxy in front keeps from everybody outside: they are answered under this spelling alone, the one it looks for.
_INSIDE = frozenset({"/metrics", ASK})
#: The routes and forms of the sign-in, whose requests are limited by address.
_SIGN_IN = (f"{API}/auth/", "/sign-in", "/device")
#: Paths that contain a secret and need nothing else, also limited by address.
_HOOKS = "/hooks/"
#: Paths for programs with tokens: cookies are ignored there, and the origin is not checked.
MACHINES = (f"{API}/", TOOLS, "/runner/", _HOOKS)
#: Headers by which a proxy names whom it asks for.
_FORWARDING = frozenset({b"x-forwarded-for", b"forwarded", b"x-real-ip"})
#: Headers that decide: of two, one part of the way could take the first and another the second.
_ONCE = (b"host", b"authorization", b"idempotency-key", b"origin")
LARGEST_BODY = 32 * 1024 * 1024
#: Of a request without a token or a session: a form of the sign-in, which is read into memory for everybody.
LARGEST_BODY_OF_A_STRANGER = 64 * 1024
_BEARER = re.compile(r"[Bb]earer +(\S+)")

_CONTENT_POLICY = {
    "default-src": "'none'",
    "script-src": "'self' 'wasm-unsafe-eval'",
    "style-src": "'self'",
    "img-src": "'self' data:",
    "connect-src": "'self'",
    "font-src": "'self'",
    "worker-src": "'self'",
    "manifest-src": "'self'",
    "form-action": "'self'",
    "base-uri": "'none'",
    "frame-ancestors": "'none'",
}
SECURITY_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"content-security-policy", "; ".join(f"{name} {value}" for name, value in _CONTENT_POLICY.items()).encode()),
)
_NAMES_OF_HEADERS = frozenset(name for name, _ in SECURITY_HEADERS)


class Gateway:
    """The ASGI application for a server.

    Args:
        application: the routes.
        page: makes the page that shows a refusal to a browser; returns ``None`` for other clients.

    Attributes:
        application: the same.
        short_way: what a server may ask for the answer first.
    """

    def __init__(
        self,
        application: Callable[..., Awaitable[None]],
        platform: Platform,
        page: Callable[[Any, Refusal], Response[Any] | None],
    ) -> None:
        self.application = application
        self._platform = platform
        self._page = page
        self._networks = [ipaddress.ip_network(proxy) for proxy in platform.settings.trusted_proxies]
        self._hosts = _hosts(platform.settings.host)
        self._headers = [*SECURITY_HEADERS]
        if platform.settings.secure:
            self._headers.append((b"strict-transport-security", b"max-age=31536000"))
        self.short_way = ShortWay(platform, self._hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles one connection as the ASGI specification says (https://asgi.readthedocs.io)."""
        if scope["type"] != "http":
            await self.application(scope, receive, send)
            return
        started, headers = time.perf_counter(), dict(scope["headers"])
        own_id = request_id(headers.get(b"x-request-id", b""))
        method = scope["method"]
        if method == "HEAD":  # RFC 9110, 9.3.2: answered as GET, without the body
            scope = {**scope, "method": "GET"}
            send = _without_body(send)
        # Decoded as the router decodes it, so that the checked path is the routed one.
        given, scope["path"] = scope["path"], normalize_path(scope["path"])
        state = scope.setdefault("state", {})
        state["request_id"] = own_id
        peer, port = scope.get("client") or ("", 0)
        # A proxy that nobody has named: its address says nothing of who asks.
        state["address_known"] = headers.keys().isdisjoint(_FORWARDING) or self._is_trusted(str(peer))
        scope["client"] = (self._client(scope), port)

        status, begun = 500, False

        async def reply(message: Message) -> None:
            nonlocal status, begun
            if message["type"] == "http.response.start":
                status, begun = message["status"], True
                message["headers"] = [*self._all_headers(message["headers"]), (b"x-request-id", own_id.encode())]
            await send(message)

        self._platform.metrics.begun()
        try:
            if given != scope["path"] and scope["path"] in _INSIDE:
                await self._refuse(scope, reply, Refusal("not_found", "There is nothing at this path."))
            else:
                await self._handle(scope, headers, receive, reply)
        except Exception as error:  # errors of the gateway itself, such as a database that does not answer
            if begun:
                raise
            logger.error("request %s failed before its route", own_id, exc_info=error)
            await self._refuse(scope, reply, internal())
        finally:
            # The template of the path, because paths contain ids, and those of sign-in links and deploy hooks contain secrets.
            route = scope.get("path_template") or "none"
            seconds = time.perf_counter() - started
            self._platform.metrics.answered(method, route, status, seconds)
            principal = state.get("principal")
            log_request(own_id, method, route, status, seconds, principal.account_id if principal else None)

    def _all_headers(self, own: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        """The headers of an answer with those that each has. What it says itself of these holds."""
        present = {name.lower() for name, _ in own}
        if present.isdisjoint(_NAMES_OF_HEADERS):
            return [*own, *self._headers]
        return [*own, *(header for header in self._headers if header[0] not in present)]

    async def _handle(self, scope: Scope, headers: dict[bytes, bytes], receive: Receive, reply: Send) -> None:
        limits, path = self._platform.limits, scope["path"]
        try:
            for name in _ONCE if len(headers) < len(scope["headers"]) else ():
                if sum(given == name for given, _ in scope["headers"]) > 1:
                    raise Refusal("bad_request", f"The header {name.decode().title()} is there twice.")
            if path not in _ANY_HOST and headers.get(b"host", b"").decode("latin-1").lower() not in self._hosts:
                raise Refusal("misdirected", f"This service is reached at {self._platform.settings.base_url}.")
            length = headers.get(b"content-length", b"0")
            if length.isdigit() and int(length) > LARGEST_BODY:
                raise too_large()
            refuse_nul(path, scope["query_string"])
            if path == TOOLS:
                self._refuse_foreign(headers)
            inside = path in (API, TOOLS) or path.startswith(f"{API}/")
            if inside and (scope["method"], path) not in OPEN:
                principal = await self._principal(headers)
                scope["state"]["principal"] = principal
                if limits is not None:
                    await limits.tokens.count(str(principal.token_id))
                if is_replayable(scope["method"], headers):
                    await once(self._platform, principal, self.application, scope, headers, _bounded(receive), reply)
                    return
                if scope["method"] == "GET":
                    await self._get(scope, principal, receive, reply)
                    return
            if limits is not None and scope["method"] == "POST" and path.startswith(_SIGN_IN):
                await limits.sign_ins.count(counted_as(scope["client"][0]))
            if limits is not None and path.startswith(_HOOKS):
                await limits.hooks.count(counted_as(scope["client"][0]))
            if not inside and path not in _ANY_HOST and not path.startswith(MACHINES):
                await self._browser(scope, headers)
        except Refusal as refusal:
            await self._refuse(scope, reply, refusal)
            return
        # Paths of runners look at their own tokens before they read; those of hooks read nothing.
        known = "principal" in scope["state"] or (not inside and path.startswith(MACHINES))
        await self.application(scope, _bounded(receive, LARGEST_BODY if known else LARGEST_BODY_OF_A_STRANGER), reply)

    async def _get(self, scope: Scope, principal: Principal, receive: Receive, reply: Send) -> None:
        """Gives the answer that is kept, or has it made and keeps it where its route says so."""
        version = self._platform.credentials.version  # read when the token was looked at, before what the route reads
        if version is None:
            await self.application(scope, _bounded(receive), reply)
            return
        asked = (principal.token_id, scope["path"], scope["query_string"])
        kept = self._platform.kept_answers.find(version, asked)
        if kept is not None:
            scope["path_template"] = kept.route
            await reply({"type": "http.response.start", "status": 200, "headers": kept.headers})
            await reply({"type": "http.response.body", "body": kept.body})
            return
        noted = Noted(reply)
        await self.application(scope, _bounded(receive), noted)
        if noted.kept is not None and FROM_THE_STORE.items() <= scope["route_handler"].opt.items():
            headers, body = noted.kept
            kept = Kept(scope["path_template"], tuple(self._all_headers(headers)), body)
            self._platform.kept_answers.keep(version, asked, kept)

    async def _refuse(self, scope: Scope, reply: Send, refusal: Refusal) -> None:
        shown = self._page(scope, refusal)
        if shown is None:
            await answer(reply, refusal, scope["state"]["request_id"], self._challenge(scope["path"]))
            return
        headers = [(b"content-type", b"text/html; charset=utf-8"), (b"content-length", str(len(shown.content)).encode())]
        headers += [(name.lower().encode(), value.encode("latin-1")) for name, value in shown.headers.items()]
        await reply({"type": "http.response.start", "status": shown.status_code, "headers": headers})
        await reply({"type": "http.response.body", "body": shown.content})

    async def _principal(self, headers: dict[bytes, bytes]) -> Principal:
        bearer = _BEARER.fullmatch(headers.get(b"authorization", b"").decode("latin-1").strip())
        if bearer is None:
            raise Refusal(
                "unauthorized", "This needs the header `Authorization: Bearer <API token>`. `lang login` gets a token."
            )
        found = await self._platform.credentials.principal(bearer[1])
        if found is None:
            raise Refusal(
                "unauthorized", "This token does not hold: it is unknown, revoked or expired. `lang login` gets another."
            )
        principal, use_is_news = found
        if use_is_news and principal.token_id is not None:
            await self._platform.store.main.write(note_use, principal.token_id)
        return principal

    def _refuse_foreign(self, headers: dict[bytes, bytes]) -> None:
        """Refuses requests that a page of another site made a browser send. Other clients send no ``Origin``."""
        origin = _text(headers, b"origin")
        scheme = "https" if self._platform.settings.secure else "http"
        if origin is not None and origin.lower() not in {f"{scheme}://{host}" for host in self._hosts}:
            raise Refusal("forbidden", f"This was sent by a page of another site than {self._platform.settings.base_url}.")

    def _challenge(self, path: str) -> str:
        """What a 401 says about the tokens that are taken."""
        if path != TOOLS:
            return "Bearer"
        return f'Bearer resource_metadata="{self._platform.settings.base_url}{TOOLS_METADATA}{TOOLS}", scope="read deploy"'

    async def _browser(self, scope: Scope, headers: dict[bytes, bytes]) -> None:
        """Finds the session of a browser, and refuses requests that another site made it send."""
        settings, main = self._platform.settings, self._platform.store.main
        host, origin, site = (_text(headers, name) for name in (b"host", b"origin", b"sec-fetch-site"))
        check_origin(settings, scope["method"], host or "", origin, site)
        value = cookie_of(settings, _text(headers, b"cookie") or "")
        session = None if value is None else await main.read(session_of, value)
        scope["state"]["session"] = session
        if session is not None:
            scope["state"]["principal"] = session.principal
            if self._platform.limits is not None:
                await self._platform.limits.tokens.count(session.digest.hex())
            if session.use_is_news:
                await main.write(note_session_use, session.digest)

    def _client(self, scope: Scope) -> str:
        """The address of the client: that of the peer, or the one that a trusted proxy names."""
        address = str((scope.get("client") or ("",))[0])
        if not self._networks:
            return address
        named = b",".join(value for name, value in scope["headers"] if name == b"x-forwarded-for").decode("latin-1")
        hops = [part.strip() for part in named.split(",") if part.strip()]
        while self._is_trusted(address) and hops:
            address = hops.pop()
        return address

    def _is_trusted(self, address: str) -> bool:
        try:
            parsed = ipaddress.ip_address(address)
        except ValueError:
            return False
        parsed = getattr(parsed, "ipv4_mapped", None) or parsed  # a dual-stack socket gives ::ffff:10.0.0.1
        return any(parsed in network for network in self._networks)


def refuse_nul(path: str, query: bytes) -> None:
    """Errors: ``bad_request`` for NUL, which databases cannot store in texts."""
    if "\0" in path or b"%00" in query:
        raise Refusal("bad_request", "A path and a query hold no NUL.")


def too_large(most: int = LARGEST_BODY) -> Refusal:
    """A body above the limit."""
    if most == LARGEST_BODY:
        return Refusal("payload_too_large", f"A request body has at most {LARGEST_BODY // 1024 // 1024} MiB.")
    return Refusal("payload_too_large", f"Before the sign-in a request body has at most {most // 1024} KiB.")


async def answer(send: Send, refusal: Refusal, request_id: str, challenge: str = "Bearer") -> None:
    """Sends an error answer.

    Args:
        challenge: the ``WWW-Authenticate`` of a 401.
    """
    body = json.dumps(refusal.body(request_id)).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if refusal.status == 401:
        headers.append((b"www-authenticate", challenge.encode()))
    if refusal.retry_after is not None:
        headers.append((b"retry-after", str(refusal.retry_after).encode()))
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _text(headers: dict[bytes, bytes], name: bytes) -> str | None:
    return headers[name].decode("latin-1") if name in headers else None


def _hosts(host: str) -> frozenset[str]:
    """The spellings of the host of ``base_url`` that a client may send."""
    name, _, port = host.rpartition(":") if host.rpartition(":")[2].isdigit() else (host, "", "")
    hosts = {host, name} if port in ("80", "443") else {host}
    if name in ("127.0.0.1", "localhost", "[::1]"):
        hosts |= {f"{local}:{port}" if port else local for local in ("127.0.0.1", "localhost", "[::1]")}
    return frozenset(hosts)


def _without_body(send: Send) -> Send:
    """Sends only the headers of an answer. A stream is told that its client is gone."""

    async def headers_alone(message: Message) -> None:
        if message["type"] == "http.response.start":
            await send(message)
            await send({"type": "http.response.body", "body": b""})

    return headers_alone


def _bounded(receive: Receive, most: int = LARGEST_BODY) -> Receive:
    """Counts the bytes of a body, which may announce no length."""
    received = 0

    async def counted() -> Message:
        nonlocal received
        message = await receive()
        if message["type"] == "http.request":
            received += len(message.get("body", b""))
            if received > most:
                raise too_large(most)
        return message

    return counted
