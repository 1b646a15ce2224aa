"""Decides which cross-origin requests of browsers are refused, for all kinds of routes (protection against CSRF).

A page can make a browser send requests to any address, also to services on the reader's own machine. Some of them it sends
without a preflight request (``fetch`` with ``mode: "no-cors"``, forms, WebSockets). The fields ``Sec-Fetch-Site`` and
``Origin`` name the site of the page, and a page cannot forge them. Clients that are not browsers send neither field.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from language.serve.request import Request

#: Methods that change nothing (RFC 9110 section 9.2.1).
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
#: The most header fields that the reply to a preflight request names.
MOST_FIELDS = 64
_LONGEST_FIELD = 100
#: What the name of a header field consists of (RFC 9110 section 5.6.2).
_TOKEN = frozenset("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_DEFAULT_PORTS = {"http": ":80", "https": ":443", "ws": ":80", "wss": ":443"}


def cross_origin(request: Request, allowed: str | None) -> str | None:
    """Why an unsafe request or a WebSocket upgrade is refused as cross-origin; ``None`` if it is allowed.

    The rule is that of ``http.CrossOriginProtection`` in Go 1.25. If ``Sec-Fetch-Site`` is present, it decides:
    ``same-origin`` and ``none`` are allowed. Without it, an ``Origin`` must name the host and port that the request was sent
    to. A request with neither is allowed. ``allowed`` is the origin of the ``cors`` clause, ``"*"`` for every one; requests of
    that origin are allowed.

    The method is not checked here: call it for methods outside of :data:`SAFE_METHODS` and for upgrades.
    """
    origin = request.field("origin") or ""
    sites = [value.strip().lower() for name, value in request.fields if name == "sec-fetch-site" and value]
    if sites:
        if all(site in ("same-origin", "none") for site in sites):
            return None
    elif not origin or _is_own(origin, request):
        return None
    if allowed is not None and (allowed == "*" or _same(allowed, origin)):
        return None
    return f"cross-origin request refused: it comes from {_shown(origin)}"


def foreign_origin(request: Request, allowed: str | None) -> str | None:
    """Why the ``Origin`` of a request may not use the service, whatever ``Sec-Fetch-Site`` says; ``None`` if it may.

    The Model Context Protocol requires this check of its servers.
    """
    origin = request.field("origin") or ""
    if not origin or _is_own(origin, request) or (allowed is not None and (allowed == "*" or _same(allowed, origin))):
        return None
    return f"cross-origin request refused: it comes from {_shown(origin)}"


def allowed_fields(request: Request, allowed: str) -> list[str]:
    """The header fields that a page may send, for the reply to a preflight request: the two that every page may, and what a
    page of the allowed origin asks for (``Access-Control-Request-Headers``), at most :data:`MOST_FIELDS` names.
    """
    fields = ["Content-Type", "Authorization"]
    if allowed != "*" and not _same(allowed, request.field("origin") or ""):
        return fields
    known = {name.lower() for name in fields}
    for asked in (request.field("access-control-request-headers") or "").split(","):
        name = asked.strip(" \t")
        if name and len(name) <= _LONGEST_FIELD and _TOKEN.issuperset(name) and name.lower() not in known:
            known.add(name.lower())
            fields.append(name)
    return fields[:MOST_FIELDS]


def is_local_name(request: Request, names: Collection[str]) -> bool:
    """Whether ``Host`` may name a service that listens for this machine alone: ``localhost``, a name below it, an IP address or
    one of ``names`` (lower case, no port; ``*.example.com`` stands for that name and all below it).

    This protects against DNS rebinding: another site can make its own name resolve to 127.0.0.1, so that a browser takes the
    service for the same origin. ``Host`` then has the name of that site. A request without ``Host`` is not from a browser.
    """
    if not request.field("host"):
        return True
    host = request.host.rstrip(".")
    if host == "localhost" or host.endswith(".localhost") or _is_address(host):
        return True
    return any(host == name or (name.startswith("*.") and (host == name[2:] or host.endswith(name[1:]))) for name in names)


def _is_address(host: str) -> bool:
    from ipaddress import ip_address

    try:
        ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True


def _is_own(origin: str, request: Request) -> bool:
    scheme, mark, authority = origin.lower().partition("://")
    if not mark or not authority:
        return False  # `null`: a sandboxed frame, a redirect or a local file
    port = _DEFAULT_PORTS.get(scheme, "")
    own = [name.removesuffix(port).lower() for name in (request.field("host") or "", request.public_host) if name]
    return authority.removesuffix(port) in own


def _same(allowed: str, origin: str) -> bool:
    return bool(origin) and allowed.rstrip("/").lower() == origin.lower()


def _shown(origin: str) -> str:
    return f'"{origin}"' if origin else "another site"
