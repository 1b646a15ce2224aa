"""What a service says about itself: to agents, to search engines, to tools and to people (7.12 of the manual).

Everything here is made from a ``Service``, the plain description of one table of routes.
"""

from __future__ import annotations

from language.serve.description import RouteInfo, Service
from language.serve.docs_page import content_policy, docs_page
from language.serve.openapi import openapi
from language.serve.reply import Reply
from language.serve.routes import split

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from language.capabilities import Capability
    from language.serve.request import Request
    from language.serve.table import HostTable, ServeTable

#: What every program may do: saying so of a route says nothing.
_EVERYWHERE = ("stdout", "time")
_TEXT = "text/plain; charset=utf-8"
_XML = "application/xml; charset=utf-8"
#: What a URL may hold as it is in its path (RFC 3986 section 3.3), and escapes that are there already.
_PATH_CHARACTERS = "/%:@!$&'()*+,;=-._~"
_HOST_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-._:[]")


def service_of(intent: str | None, table: ServeTable, host: HostTable, grants: Iterable[Capability] = ()) -> Service:
    """The description of one host's table. What ``describe`` says holds for all hosts, the domain for the default one.

    ``grants`` are those of the program: the hosts among them are named, of everything else only that it is used.
    """
    hosts = [f"net:{grant.scope}" for grant in grants if grant.name == "net" and grant.scope is not None]
    routes = []
    for route in host.declared:
        rate = table.rate if route.rate is None else route.rate
        seconds = table.timeout if route.timeout is None else route.timeout
        routes.append(
            RouteInfo(
                route.method,
                route.path,
                auth=route.auth,
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
    """The URL that the client knows the service by: the domain, else what ``Host`` says (``localhost`` where it says nothing
    that could be a host). ``X-Forwarded-Host`` is never used: anyone can send it."""
    scheme = "https" if request.secure or _forwarded_scheme(request) == "https" else "http"
    if domain is not None:
        return f"{scheme}://{domain}"
    host = (request.field("host") or "").lower()
    return f"{scheme}://{host}" if host and _HOST_CHARACTERS.issuperset(host) else f"{scheme}://localhost"


def _forwarded_scheme(request: Request) -> str:
    return (request.field("x-forwarded-proto") or "").partition(",")[0].strip().lower()


def llms_reply(service: Service) -> Reply | None:
    """The reply to ``GET /llms.txt``; ``None`` for a private service."""
    return None if service.private else Reply(200, _TEXT, llms_txt(service).encode())


def find(service: Service, request: Request) -> Reply | None:
    """The document that a path nothing else answers stands for; ``None`` when there is none."""
    if request.method not in ("GET", "HEAD"):
        return None
    path = "/" + "/".join(split(request.path))
    base = base_url(request, service.domain)
    if path == "/robots.txt":
        return Reply(200, _TEXT, robots_txt(service, base).encode())
    if service.private:
        return None
    if path == "/sitemap.xml":
        return Reply(200, _XML, sitemap(service, base).encode())
    if path == "/openapi.json":
        return Reply(200, "application/json", openapi(service, base).encode())
    if path == "/docs" and service.docs:
        accepted = (request.field("accept") or "").lower()
        markdown = "text/markdown" in accepted and "text/html" not in accepted
        content_type, body = docs_page(service, base, markdown=markdown)
        # Every text in the page is escaped; should one ever not be, it must not run.
        return Reply(200, content_type, body.encode(), [("Vary", "Accept"), ("Content-Security-Policy", content_policy())])
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
    """Whether crawlers may come (RFC 9309), and where the site map is."""
    if service.private:
        return "User-agent: *\nDisallow: /\n"
    return f"User-agent: *\nAllow: /\nSitemap: {base}/sitemap.xml\n"


def sitemap(service: Service, base: str) -> str:
    """The pages that a crawler can fetch just so (sitemaps.org)."""
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
