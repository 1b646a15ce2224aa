"""The reference page of a service, as HTML for people and as Markdown for agents (7.12 of the manual)."""

from __future__ import annotations

from language.serve.description import WINDOWS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from language.serve.description import RouteInfo, Service

_EXAMPLES = {"text": '"..."', "number": "1", "bool": "true", "list": "[]", "map": "{}"}
_KINDS = {
    "stream": "Answers with server-sent events.",
    "socket": "Opens a WebSocket.",
    "proxy": "Answered by a service behind this one.",
}
_FORMS = {
    "html": "Answers with HTML.",
    "redirect": "Sends on to another address.",
    "*/*": "Answers with a content type of its own.",
    "content": "Answers with HTML, Markdown or JSON: by `Accept`, or by a suffix of the path.",
}

_STYLE = """
:root { color-scheme: light dark; --line: #d5d9e0; --dim: #5b6472; --code: #f2f4f7; --accent: #1d5fbf }
@media (prefers-color-scheme: dark) { :root { --line: #333a45; --dim: #a0a9b8; --code: #1d222a; --accent: #86b4f5 } }
* { box-sizing: border-box }
body { font: 16px/1.55 system-ui, sans-serif; max-width: 52rem; margin: 0 auto; padding: 2rem 1rem 4rem }
h1 { line-height: 1.2; margin: 0 0 .25rem; overflow-wrap: anywhere }
h2 { margin: 2.5rem 0 .5rem } h3 { margin: 0 0 .25rem; font-size: 1rem; overflow-wrap: anywhere }
p { margin: .4rem 0 } a { color: var(--accent) } .dim { color: var(--dim) }
code, pre { font: .9em ui-monospace, Menlo, Consolas, monospace }
pre { background: var(--code); padding: .75rem; border-radius: .4rem; overflow-x: auto; margin: .75rem 0 0 }
section { border-top: 1px solid var(--line); padding: 1.1rem 0 }
table { border-collapse: collapse; margin: .5rem 0 } th, td { text-align: left; padding: .2rem 1.5rem .2rem 0 }
ul { padding-left: 1.2rem; margin: .4rem 0 } nav ul { columns: 18rem }
""".strip()


def docs_page(service: Service, base: str, *, markdown: bool) -> tuple[str, str]:
    """The content type and the text of the page."""
    if markdown:
        return "text/markdown; charset=utf-8", "\n".join(_markdown(service, base)) + "\n"
    return "text/html; charset=utf-8", "\n".join(_html(service, base)) + "\n"


def content_policy() -> str:
    """The ``Content-Security-Policy`` of the page: its own style and nothing else.

    Every text in the page is escaped; should one ever not be, it must not run.
    """
    from base64 import b64encode
    from hashlib import sha256

    digest = b64encode(sha256(f"\n{_STYLE}\n".encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


def _notes(route: RouteInfo) -> list[str]:
    """What is to be known of a route beside its body, each in a sentence."""
    notes = []
    if route.kind in _KINDS:
        notes.append(_KINDS[route.kind])
    else:
        forms = dict.fromkeys(form.partition("@")[0] for form in route.gives.split())
        notes += [_FORMS.get(form, f"Answers with `{form}`.") for form in forms if form != "json"]
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

    path = "/" + "/".join(segment[1:].upper() if segment[0] in ":*" else segment for segment in route.segments)
    words = ["curl"]
    if route.kind == "stream":
        words.append("-N")
    if route.method != "GET":
        words.append(f"-X {quote(route.method)}")
    words.append(quote(base + path))
    if route.auth:
        words.append("-H 'Authorization: Bearer TOKEN'")
    if route.expect is not None:
        body = ", ".join(f'"{name}": {_EXAMPLES[kind]}' for name, kind in route.expect)
        words += ["-H 'Content-Type: application/json'", "-d " + quote(f"{{{body}}}")]
    return " ".join(words)


def _markdown(service: Service, base: str) -> Iterator[str]:
    yield f"# {_line(service.title)}"
    if service.summary is not None:
        yield f"\n{_line(service.summary)}"
    yield f"\nVersion {service.version}, at <{base}>." if service.version else f"\nAt <{base}>."
    yield f"\nMachine-readable: <{base}/openapi.json>, <{base}/llms.txt>."
    if service.api:
        yield "\n## API\n"
        for item in service.api:
            yield f"- {_line(item)}"
    if service.routes:
        yield "\n## Endpoints"
    fence = "```"
    for route in service.sorted_routes:
        yield f"\n### {_code(route.spec)}"
        description = service.note_of(route)
        if description is not None:
            yield f"\n{_line(description)}"
        for note in _notes(route):
            yield f"\n{note}"
        if route.expect:
            yield "\nBody, JSON:\n"
            for name, kind in route.expect:
                yield f"- {_code(name)}: {kind}"
        if route.kind != "socket":
            yield f"\n{fence}sh\n{_example(route, base)}\n{fence}"


def _html(service: Service, base: str) -> Iterator[str]:
    from html import escape

    title = escape(service.title)
    routes = service.sorted_routes
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{title}</title>\n<style>\n{_STYLE}\n</style>\n</head>\n<body>\n<header>\n<h1>{title}</h1>"
    if service.summary is not None:
        yield f"<p>{escape(service.summary)}</p>"
    version = f"Version {escape(service.version)}, at " if service.version else "At "
    yield f'<p class="dim">{version}<code>{escape(base)}</code></p>'
    yield '<p class="dim">Machine-readable: <a href="/openapi.json">openapi.json</a>, <a href="/llms.txt">llms.txt</a></p>'
    yield "</header>"
    if service.api:
        yield "<h2>API</h2>\n<ul>"
        for item in service.api:
            yield f"<li>{escape(item)}</li>"
        yield "</ul>"
    if not routes:
        yield "</body>\n</html>"
        return
    yield '<h2>Endpoints</h2>\n<nav aria-label="Endpoints">\n<ul>'
    for number, route in enumerate(routes, 1):
        yield f'<li><a href="#r{number}"><code>{escape(route.spec)}</code></a></li>'
    yield "</ul>\n</nav>\n<main>"
    for number, route in enumerate(routes, 1):
        yield f'<section id="r{number}">\n<h3><code>{escape(route.spec)}</code></h3>'
        description = service.note_of(route)
        if description is not None:
            yield f"<p>{escape(description)}</p>"
        for note in _notes(route):
            yield f'<p class="dim">{_with_code(escape(note))}</p>'
        if route.expect:
            yield '<table>\n<thead><tr><th scope="col">Field of the body</th><th scope="col">Type</th></tr></thead>\n<tbody>'
            for name, kind in route.expect:
                yield f"<tr><td><code>{escape(name)}</code></td><td>{escape(kind)}</td></tr>"
            yield "</tbody>\n</table>"
        if route.kind != "socket":
            yield f"<pre>{escape(_example(route, base))}</pre>"
        yield "</section>"
    yield "</main>\n</body>\n</html>"


def _with_code(text: str) -> str:
    """What stands between backticks as code."""
    pieces = text.split("`")
    return "".join(f"<code>{piece}</code>" if index % 2 else piece for index, piece in enumerate(pieces))


def _line(text: str) -> str:
    return " ".join(text.splitlines())


def _code(text: str) -> str:
    """A code span of Markdown, whatever backticks the text holds."""
    fence = "`"
    while fence in text:
        fence += "`"
    return f"{fence} {text} {fence}" if "`" in text else f"{fence}{text}{fence}"
