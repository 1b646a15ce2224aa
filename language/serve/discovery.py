"""The documents of a service about itself, for agents, search engines, tools and people (docs/serve.md).

All are made from a ``Service``, the description of one table of routes.
"""

from __future__ import annotations

from language.serve.approvals import is_reserved
from language.serve.description import RouteInfo, Service
from language.serve.docs_page import content_policy, docs_page
from language.serve.negotiation import format_of
from language.serve.openapi import openapi
from language.serve.reply import Reply
from language.serve.routes import split

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from language.capabilities import Capability
    from language.serve.request import Request
    from language.serve.table import HostTable, ServeTable

#: Capabilities that every program has; they are not listed with a route.
_EVERYWHERE = ("stdout", "time")
_TEXT = "text/plain; charset=utf-8"
_XML = "application/xml; charset=utf-8"
#: Characters that need no escape in the path of a URL (RFC 3986 section 3.3), and ``%`` of existing escapes.
_PATH_CHARACTERS = "/%:@!$&'()*+,;=-._~"
#: The path of the metadata document of a route with tools, before the path of that route.
METADATA = "/.well-known/oauth-protected-resource"
_HOST_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-._:[]")


def service_of(intent: str | None, table: ServeTable, host: HostTable, grants: Iterable[Capability] = ()) -> Service:
    """The description of the table of one host. ``describe`` holds for all hosts, the domain for the default one.

    ``grants`` are those of the program. Hosts of ``net`` are published; of other capabilities only the name.
    """
    hosts = [f"net:{grant.scope}" for grant in grants if grant.name == "net" and grant.scope is not None]
    routes = []
    for route in host.declared:
        if is_reserved(route.method, route.path) or (route.method == "GET" and split(route.path) == ["llms.txt"]):
            continue  # the runtime answers this path, so the route is never reached
        rate = table.rate if route.rate is None else route.rate
        seconds = table.timeout if route.timeout is None else route.timeout
        routes.append(
            RouteInfo(
                route.method,
                route.path,
                auth=route.auth,
                tools=route.tools,
                kind=route.kind,
                gives=route.gives,
                expect=route.expect,
                limit=rate or None,
                timeout=seconds or None,
                capabilities=_shown(route.uses, hosts),
            )
        )
    return Service(
        tuple(routes),
        about=table.about,
        intent=intent,
        api=tuple(table.api),
        version=table.version,
        domain=table.domains[0] if table.domains and not host.name else None,
        private=table.private,
        docs=table.docs,
    )


def _shown(uses: tuple[str, ...], hosts: list[str]) -> tuple[str, ...]:
    shown: list[str] = []
    for name in uses:
        if name == "net":
            shown += hosts or [name]
        elif name not in _EVERYWHERE:
            shown.append(name)
    return tuple(shown)


def base_url(request: Request, domain: str | None = None) -> str:
    """The URL of the service for the client: with the declared domain, else with ``Host`` (``localhost`` if that is not a valid
    host). ``X-Forwarded-Host`` is never used, because every client can send it.
    """
    scheme = "https" if request.secure or _forwarded_scheme(request) == "https" else "http"
    if domain is not None:
        return f"{scheme}://{domain}"
    host = (request.field("host") or "").lower()
    return f"{scheme}://{host}" if host and _HOST_CHARACTERS.issuperset(host) else f"{scheme}://localhost"


def _forwarded_scheme(request: Request) -> str:
    return (request.field("x-forwarded-proto") or "").partition(",")[0].strip().lower()


def challenge(request: Request, path: str, domain: str | None) -> str:
    """The ``WWW-Authenticate`` of a 401 for a route with tools: it names the document that says where to get a token (RFC
    9728).
    """
    from urllib.parse import quote

    return f'Bearer resource_metadata="{base_url(request, domain)}{METADATA}{quote(path, safe=_PATH_CHARACTERS)}"'


def _metadata(service: Service, path: str, base: str) -> Reply | None:
    """The metadata document of a route with tools that requires a token. ``path`` is :data:`METADATA` followed by the path of
    the route, which may be left out if there is only one such route.
    """
    from json import dumps
    from urllib.parse import quote

    found = [route.path for route in service.routes if route.tools and route.auth]
    named = path.removeprefix(METADATA) or (found[0] if len(found) == 1 and not service.private else "")
    if named not in found:
        return None
    about = {"resource": f"{base}{quote(named, safe=_PATH_CHARACTERS)}", "bearer_methods_supported": ["header"]}
    if service.about is not None:
        about["resource_name"] = service.about
    return Reply(200, "application/json", dumps(about).encode())


def llms_reply(service: Service) -> Reply | None:
    """The reply to ``GET /llms.txt``; ``None`` for a private service."""
    return None if service.private else Reply(200, _TEXT, llms_txt(service).encode())


def find(service: Service, request: Request) -> Reply | None:
    """The document at the path of a request that nothing else answers; ``None`` if there is none."""
    if request.method not in ("GET", "HEAD"):
        return None
    path = "/" + "/".join(split(request.path))
    base = base_url(request, service.domain)
    if path == "/robots.txt":
        return Reply(200, _TEXT, robots_txt(service, base).encode())
    if path.startswith(METADATA):
        return _metadata(service, path, base)
    if service.private:
        return None
    if path == "/sitemap.xml":
        return Reply(200, _XML, sitemap(service, base).encode())
    if path == "/openapi.json":
        return Reply(200, "application/json", openapi(service, base).encode())
    if path == "/docs" and service.docs:
        markdown = format_of(None, request.field("accept")) == "markdown"
        content_type, body = docs_page(service, base, markdown=markdown, path=request.path)
        fields = [("Vary", "Accept"), ("Content-Security-Policy", content_policy()), ("X-Content-Type-Options", "nosniff")]
        return Reply(200, content_type, body.encode("utf-8", "replace"), fields)
    return None


def llms_txt(service: Service) -> str:
    """The service in a few lines, for a language model (llmstxt.org)."""
    lines = [f"# {_one_line(service.title)}"]
    if service.summary is not None:
        lines += ["", f"> {_one_line(service.summary)}"]
    if service.routes:
        lines += ["", "## Endpoints"]
        for route in service.sorted_routes:
            uses = f"  [{', '.join(route.capabilities)}]" if route.capabilities else ""
            lines.append(f"- {route.spec}{uses}")
    if service.api:
        lines += ["", "## API", *(f"- {_one_line(item)}" for item in service.api)]
    lines += ["", "## Machine-readable", "- /openapi.json", "- /sitemap.xml"]
    return "\n".join(lines) + "\n"


def robots_txt(service: Service, base: str) -> str:
    """Whether crawlers are allowed (RFC 9309), and the address of the site map."""
    if service.private:
        return "User-agent: *\nDisallow: /\n"
    return f"User-agent: *\nAllow: /\nSitemap: {base}/sitemap.xml\n"


def sitemap(service: Service, base: str) -> str:
    """The pages that a crawler can fetch without parameters or a sign-in (sitemaps.org)."""
    from html import escape
    from urllib.parse import quote

    paths = {
        route.path
        for route in service.routes
        if route.method == "GET" and route.kind == "handler" and not route.auth and not route.has_parameters
    }
    urls = "".join(f"  <url><loc>{escape(base + quote(path, safe=_PATH_CHARACTERS))}</loc></url>\n" for path in sorted(paths))
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{urls}</urlset>\n'
    )


def _one_line(text: str) -> str:
    return " ".join(text.splitlines())
