"""The reference page of a service, as HTML for people and as Markdown for agents (docs/serve.md)."""

from __future__ import annotations

from language.serve.description import WINDOWS
from language.serve.docs_forms import token_field, try_form
from language.serve.docs_script import SCRIPT
from language.serve.page_style import STYLE_PATH, beside, source_hash

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from language.serve.description import RouteInfo, Service

_EXAMPLES = {"text": '"..."', "number": "1", "integer": "1", "decimal": "1.50", "bool": "true", "list": "[]", "map": "{}"}
_EXAMPLES |= {"date": '"2026-11-23"', "datetime": '"2026-11-23T10:00:00Z"', "duration": '"PT1H30M"'}
_PLACES = {"body": "Body, JSON", "form": "Form", "query": "Query"}
_KINDS = {
    "stream": "Answers with server-sent events.",
    "socket": "Opens a WebSocket.",
    "proxy": "Answered by a service behind this one.",
}
_FORMS = {
    "html": "Answers with HTML.",
    "redirect": "Redirects to another address.",
    "*/*": "Answers with a content type of its own.",
    "content": "Answers with HTML, Markdown or JSON: by `.html`, `.md` or `.json` behind the path, else by `Accept`.",
}
#: The path ``/`` takes no suffix.
_CONTENT_OF_ROOT = "Answers with HTML, Markdown or JSON: by `Accept`."


def docs_page(service: Service, base: str, *, markdown: bool, path: str = "/docs") -> tuple[str, str]:
    """The content type and the text of the page, which the client asked for at ``path``."""
    if markdown:
        return "text/markdown; charset=utf-8", "\n".join(_markdown(service, base)) + "\n"
    return "text/html; charset=utf-8", "\n".join(_html(service, base, path)) + "\n"


def content_policy() -> str:
    """The ``Content-Security-Policy`` of the page: the stylesheet of the service, its own script, requests to the service.

    Every text in the page is escaped. If that ever failed for one, the policy would still prevent it from running as a script.
    """
    return (
        f"default-src 'none'; style-src 'self'; script-src {source_hash(SCRIPT)}; connect-src 'self'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    )


def _notes(route: RouteInfo) -> list[str]:
    """Sentences about a route: forms of its replies, sign-in, limits and capabilities."""
    notes = []
    if route.kind in _KINDS:
        notes.append(_KINDS[route.kind])
    else:
        forms = dict.fromkeys(form.partition("@")[0] for form in route.gives.split())
        known = _FORMS if route.path != "/" else _FORMS | {"content": _CONTENT_OF_ROOT}
        notes += [known.get(form, f"Answers with `{form}`.") for form in forms if form != "json"]
    if route.auth:
        notes.append("Needs a sign-in: `Authorization: Bearer TOKEN`, or the cookie of the service.")
    if route.limit is not None:
        amount, seconds = route.limit
        notes.append(f"At most {amount:g} requests per {WINDOWS.get(seconds, f'{seconds} seconds')}.")
    if route.timeout is not None:
        notes.append(f"Takes {route.timeout:g} seconds at most.")
    if route.capabilities:
        notes.append(f"May use {', '.join(route.capabilities)}.")
    return notes


def _example(route: RouteInfo, base: str) -> str:
    """A command that calls the route."""
    from shlex import quote
    from urllib.parse import quote_plus

    path = "/" + "/".join(segment[1:].upper() if segment[0] in ":*" else segment for segment in route.segments)
    asked = [f"{quote_plus(name)}={_sample(kind)}" for name, kind, optional in route.expected("query") or () if not optional]
    if asked:
        path += "?" + "&".join(asked)
    words = ["curl"]
    if route.kind == "stream":
        words.append("-N")
    if route.method != "GET":
        words.append(f"-X {quote(route.method)}")
    words.append(quote(base + path))
    if route.auth:
        words.append("-H 'Authorization: Bearer TOKEN'")
    fields = route.expected("body")
    if fields is not None:
        words += ["-H 'Content-Type: application/json'", "-d " + quote(_example_body(route))]
    fields = route.expected("form") or ()
    flag = "-F" if any(kind == "map" for _, kind, _ in fields) else "--data-urlencode"
    for name, kind, optional in fields:
        if not optional:
            words.append(f"{flag} " + quote(f"{name}={'@FILE' if kind == 'map' else _sample(kind)}"))
    return " ".join(words)


def _example_body(route: RouteInfo) -> str:
    """A JSON body with the required fields; empty if the route declares no body."""
    fields = route.expected("body")
    if fields is None:
        return ""
    return "{" + ", ".join(f"{_quoted(name)}: {_EXAMPLES[kind]}" for name, kind, optional in fields if not optional) + "}"


def _quoted(name: str) -> str:
    from json import dumps

    return dumps(name, ensure_ascii=False)


def _sample(kind: str) -> str:
    """An example value of a field of a query or form."""
    return "TEXT" if kind in ("text", "list") else _EXAMPLES[kind].strip('"')


def _markdown(service: Service, base: str) -> Iterator[str]:
    yield f"# {_line(service.title)}"
    if service.summary is not None:
        yield f"\n{_line(service.summary)}"
    yield f"\nVersion {service.version}, at <{base}>." if service.version else f"\nAt <{base}>."
    yield f"\nMachine-readable: <{base}/openapi.json>, <{base}/llms.txt>."
    remarks = _remarks(service)
    if remarks:
        yield "\n## API\n"
        for item in remarks:
            yield f"- {_line(item)}"
    if service.routes:
        yield "\n## Endpoints"
    fence = "```"
    for route in service.sorted_routes:
        yield f"\n### {_code(route.spec)}"
        description = _description(service, route)
        if description:
            yield f"\n{_line(description)}"
        for note in _notes(route):
            yield f"\n{note}"
        for place, fields in route.expect:
            yield f"\n{_PLACES[place]}:\n"
            for name, kind, optional in fields:
                yield f"- {_code(name)}: {kind}{', optional' * optional}"
        if route.kind != "socket":
            yield f"\n{fence}sh\n{_example(route, base)}\n{fence}"


def _html(service: Service, base: str, path: str) -> Iterator[str]:
    from html import escape

    title = escape(service.title)
    routes = service.sorted_routes
    yield '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{title}</title>\n"
    yield f'<link rel="stylesheet" href="{beside(path, STYLE_PATH[1:])}">\n</head>'
    yield f'<body class="docs" data-root="{beside(path, "")}">\n<header>\n<h1>{title}</h1>'
    if service.summary is not None:
        yield f"<p>{escape(service.summary)}</p>"
    version = f"Version {escape(service.version)}, at " if service.version else "At "
    links = ", ".join(f'<a href="{beside(path, name)}">{name}</a>' for name in ("openapi.json", "llms.txt"))
    yield f'<p class="quiet">{version}<code>{escape(base)}</code>. For programs: {links}</p>\n</header>'
    yield '<div class="columns">'
    if routes:
        yield '<nav aria-label="Endpoints">\n<ul>'
        for number, route in enumerate(routes, 1):
            yield f'<li><a href="#r{number}">{escape(route.spec)}</a></li>'
        yield "</ul>\n</nav>"
    yield "<main>"
    remarks = _remarks(service)
    if remarks:
        yield "<h2>API</h2>\n<ul>"
        for item in remarks:
            yield f"<li>{escape(item)}</li>"
        yield "</ul>"
    if routes:
        yield "<h2>Endpoints</h2>"
    if any(route.auth for route in routes):
        yield token_field()
    for number, route in enumerate(routes, 1):
        yield from _section(service, base, route, number)
    yield f"</main>\n</div>\n<script>{SCRIPT}</script>\n</body>\n</html>"


def _section(service: Service, base: str, route: RouteInfo, number: int) -> Iterator[str]:
    from html import escape

    tone = f" {route.method.lower()}" if route.method in ("POST", "PUT", "PATCH", "DELETE") else ""
    yield f'<section class="route" id="r{number}">'
    yield f'<h3><span class="method{tone}">{escape(route.method)}</span> <code>{escape(route.path)}</code></h3>'
    description = _description(service, route)
    if description:
        yield f"<p>{escape(description)}</p>"
    for note in _notes(route):
        yield f'<p class="quiet">{_with_code(escape(note))}</p>'
    for place, fields in route.expect:
        head = f'<tr><th scope="col">Field of the {place}</th><th scope="col">Type</th></tr>'
        yield f"<table>\n<thead>{head}</thead>\n<tbody>"
        for name, kind, optional in fields:
            yield f"<tr><td><code>{escape(name)}</code></td><td>{escape(kind)}{', optional' * optional}</td></tr>"
        yield "</tbody>\n</table>"
    if route.kind != "socket":
        yield f"<pre>{escape(_example(route, base))}</pre>"
    yield try_form(route, _example_body(route))
    yield "</section>"


def _remarks(service: Service) -> list[str]:
    """The entries of ``describe`` about the service; entries about one route are shown with that route."""
    told = {service.note_of(route) for route in service.routes}
    return [entry for entry in service.api if entry not in told]


def _description(service: Service, route: RouteInfo) -> str:
    """The entry of ``describe`` about a route, without its method and path."""
    return (service.note_of(route) or "").removeprefix(route.spec).lstrip(" \t-:–—")


def _with_code(text: str) -> str:
    """HTML in which text between backticks is code."""
    pieces = text.split("`")
    return "".join(f"<code>{piece}</code>" if index % 2 else piece for index, piece in enumerate(pieces))


def _line(text: str) -> str:
    return " ".join(text.splitlines())


def _code(text: str) -> str:
    """A code span of Markdown, also for a text with backticks."""
    fence = "`"
    while fence in text:
        fence += "`"
    return f"{fence} {text} {fence}" if "`" in text else f"{fence}{text}{fence}"
