"""Heads as they go on: to the program with what the ingress knows of the client, to the client without what is for one hop
(RFC 9110 section 7.6).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_address

from runner.ingress.cookies import CookieRules
from runner.ingress.heads import ReplyHead, RequestHead, connection_names

_HOP_BY_HOP = frozenset({
    b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection", b"te", b"trailer",
    b"transfer-encoding", b"upgrade",
})  # fmt: skip
_OURS = frozenset({b"host", b"content-length", b"expect", b"cookie"})
#: What proxies say of a client; believed of those alone that are listed.
_SAID_BY_PROXIES = frozenset({b"forwarded", b"x-real-ip", b"x-forwarded"})
_FORWARDED = b"x-forwarded-"
#: What a program may not say for a host that it shares with others: each would act on all of them.
_FOR_A_WHOLE_HOST = frozenset({b"strict-transport-security", b"public-key-pins"})
#: It clears what all hosts below the same registrable domain have stored.
_BEYOND_A_HOST = frozenset({b"clear-site-data"})


@dataclass(frozen=True, slots=True)
class Client:
    """Who sent a request.

    Attributes:
        address: of the socket.
        trusted: whether it is a proxy that may say who the client is.
        secure: whether it came over TLS as far as the ingress sees.
    """

    address: str
    trusted: bool = False
    secure: bool = False


def is_trusted(address: str, proxies: tuple[IPv4Network | IPv6Network, ...]) -> bool:
    """Whether an address is that of a trusted proxy."""
    if not proxies:
        return False
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(parsed, "ipv4_mapped", None)
    return any((mapped or parsed) in network for network in proxies)


def to_program(request: RequestHead, client: Client, cookies: CookieRules) -> bytes:
    """The head that the program gets."""
    dropped = _HOP_BY_HOP | _OURS | connection_names(request.fields)
    lines = [b"%b %b HTTP/1.1\r\nHost: %b\r\n" % (request.method, request.target, request.host)]
    hops: list[bytes] = []
    said: dict[bytes, bytes] = {}
    jar: list[bytes] = []
    for name, value in request.fields:
        # `X_Forwarded_For` is another name, but not for a program that hands its fields on as environment variables.
        plain = name.replace(b"_", b"-")
        if plain.startswith(_FORWARDED) or plain in _SAID_BY_PROXIES:
            if client.trusted and plain == name:
                if name == b"x-forwarded-for":
                    hops.append(value)
                else:
                    said[name] = value
            continue
        if name == b"cookie":
            jar.append(value)
        elif plain not in dropped:
            lines.append(b"%b: %b\r\n" % (name, value))
    kept = b"; ".join(found for found in map(cookies.to_program, jar) if found)
    if kept:
        lines.append(b"cookie: %b\r\n" % kept)
    hops.append(client.address.encode("ascii", "replace"))
    proto = said.get(b"x-forwarded-proto", b"").rpartition(b",")[2].strip().lower()
    if proto not in (b"http", b"https"):
        proto = b"https" if client.secure else b"http"
    lines.append(b"x-forwarded-for: %b\r\nx-forwarded-proto: %b\r\n" % (b", ".join(hops), proto))
    if request.host:
        lines.append(b"x-forwarded-host: %b\r\n" % request.host)
    if request.websocket:
        lines.append(b"connection: upgrade\r\nupgrade: websocket\r\n")
    elif request.framing.chunked:
        lines.append(b"transfer-encoding: chunked\r\n")
    elif request.framing.length or any(name == b"content-length" for name, _ in request.fields):
        lines.append(b"content-length: %d\r\n" % request.framing.length)
    lines.append(b"\r\n")
    return b"".join(lines)


@dataclass(frozen=True, slots=True)
class ToClient:
    """How a reply goes to the client.

    Attributes:
        head: its bytes.
        closes: whether the connection ends behind it.
        chunked: whether its body is put into chunks.
    """

    head: bytes
    closes: bool
    chunked: bool


def to_client(
    reply: ReplyHead, request: RequestHead, cookies: CookieRules, *, shared_host: bool, date: Callable[[], bytes]
) -> ToClient:
    """The head that the client gets.

    Args:
        shared_host: whether other projects have the same host.
        date: a ``Date`` line for a reply that has none.
    """
    dropped = _HOP_BY_HOP | {b"content-length"} | _BEYOND_A_HOST | connection_names(reply.fields)
    if shared_host:
        dropped |= _FOR_A_WHOLE_HOST
    lines = [b"HTTP/1.1 %d %b\r\n" % (reply.status, reply.reason)]
    dated = False
    length: bytes | None = None
    for name, value in reply.fields:
        if name == b"set-cookie":
            cookie = cookies.to_browser(value)
            if cookie is not None:
                lines.append(b"set-cookie: %b\r\n" % cookie)
        elif name not in dropped:
            lines.append(b"%b: %b\r\n" % (name, value))
            dated = dated or name == b"date"
        elif name == b"content-length":
            length = value
    if not dated and reply.status >= 200:
        lines.append(date())
    framing = reply.framing
    if reply.websocket:
        lines.append(b"connection: upgrade\r\nupgrade: websocket\r\n\r\n")
        return ToClient(b"".join(lines), False, False)
    closes = not request.keep_alive
    chunked = False
    if framing.chunked or framing.until_end:
        if request.old:
            closes = True  # it knows no other end of such a body
        else:
            chunked = True
            lines.append(b"transfer-encoding: chunked\r\n")
    elif reply.status >= 200 and reply.status != 204 and length is not None and length.isdigit():
        lines.append(b"content-length: %b\r\n" % length)  # of HEAD and 304 too: it is what a GET would have
    if closes:
        lines.append(b"connection: close\r\n")
    elif request.old:
        lines.append(b"connection: keep-alive\r\n")
    lines.append(b"\r\n")
    return ToClient(b"".join(lines), closes, chunked)
