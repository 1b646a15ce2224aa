"""Requests that a page of another site made a browser send: which of them are refused, decided in one place for every door.

A browser sends a page's requests to any address, services on the reader's own machine among them, and some of these it sends
without asking the service first (``fetch`` with ``mode: "no-cors"``, forms, WebSockets). It says in ``Sec-Fetch-Site`` and
``Origin`` where they come from, which a page cannot forge. Programs that are no browsers send neither field.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from language.serve.request import Request

#: Methods that change nothing (RFC 9110 section 9.2.1).
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_DEFAULT_PORTS = {"http": ":80", "https": ":443", "ws": ":80", "wss": ":443"}


def cross_origin(request: Request, allowed: str | None) -> str | None:
    """Why an unsafe request or a WebSocket upgrade is refused as one of another site; ``None`` where it may pass.

    The rule is that of ``http.CrossOriginProtection`` in Go 1.25. Where ``Sec-Fetch-Site`` is there, it decides:
    ``same-origin`` and ``none`` pass. Without it, an ``Origin`` must name the host and port that the request was sent to. A
    request with neither passes. ``allowed`` is the origin of the ``cors`` clause, ``"*"`` for every one; requests of that
    origin pass.

    It does not look at the method: the caller asks about requests with a method outside of :data:`SAFE_METHODS` and about
    upgrades.
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
    """Why the ``Origin`` of a request may not use the service, whatever ``Sec-Fetch-Site`` says; ``None`` where it may.

    The check that the Model Context Protocol asks of its servers.
    """
    origin = request.field("origin") or ""
    if not origin or _is_own(origin, request) or (allowed is not None and (allowed == "*" or _same(allowed, origin))):
        return None
    return f"cross-origin request refused: it comes from {_shown(origin)}"


def is_local_name(request: Request, names: Collection[str]) -> bool:
    """Whether ``Host`` may name a service that listens for this machine alone: ``localhost``, a name below it, an IP address or
    one of ``names`` (lower case, no port; ``*.example.com`` stands for that name and all below it).

    A page of another site can have its own name resolve to 127.0.0.1 and is then of the same origin as the service for a
    browser (DNS rebinding); the name in ``Host`` gives it away. A request without ``Host`` is of no browser.
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
        return False  # `null`: a sandboxed frame, a redirect, a file
    port = _DEFAULT_PORTS.get(scheme, "")
    own = [name.removesuffix(port).lower() for name in (request.field("host") or "", request.public_host) if name]
    return authority.removesuffix(port) in own


def _same(allowed: str, origin: str) -> bool:
    return bool(origin) and allowed.rstrip("/").lower() == origin.lower()


def _shown(origin: str) -> str:
    return f'"{origin}"' if origin else "another site"
