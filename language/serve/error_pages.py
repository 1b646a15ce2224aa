"""Errors of the runtime as pages for browsers. Other clients get JSON."""

from __future__ import annotations

from language.serve.notice_page import notice_page
from language.serve.page_style import STYLE, beside, source_hash
from language.serve.reply import Reply

TYPE_CHECKING = False
if TYPE_CHECKING:
    from language.serve.description import Service
    from language.serve.request import Request

_TITLES = {
    400: "This request cannot be read",
    401: "You need to sign in",
    403: "This request was refused",
    404: "There is nothing here",
    405: "This cannot be done here",
    413: "This is too large",
    421: "Unknown host name",
    426: "This is not a page",
    429: "Too many requests",
    502: "The service behind this one does not answer",
    503: "Not available right now",
    504: "This took too long",
}
_CURES = {
    401: "Sign in to the service, then come back.",
    429: "Wait a moment, then load the page again.",
    500: "The operator of the service finds the cause in its error output.",
    502: "Try again in a moment.",
    503: "Try again in a moment.",
    504: "Try again in a moment.",
}
_MOST_LINKS = 12

_CARD = """<div class="card">
<p class="status">{status}</p>
<h1>{title}</h1>
<p class="cause">{message}</p>
{rest}</div>"""


def content_policy() -> str:
    """The ``Content-Security-Policy`` of the pages: their own style, and nothing else."""
    return f"default-src 'none'; style-src {source_hash(STYLE)}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


def as_page(error: Reply, request: Request, service: Service, reference: str) -> Reply:
    """The same error as a page. A 404 links to the public pages of ``service``, unless that is private, and to ``reference``,
    the path of its reference page.
    """
    title = _TITLES.get(error.status) or ("Something went wrong" if error.status >= 500 else "This did not work")
    rest = []
    if error.status in _CURES:
        rest.append(f"<p>{_CURES[error.status]}</p>\n")
    if not service.private and error.status in (404, 405):
        if error.status == 404 and request.path.strip("/") == "":
            title = "This service has no start page"
        rest += _onward(service, request, reference)
    message = _escaped(error.message or "")
    page = notice_page(title, _CARD.format(title=title, status=error.status, message=message, rest="".join(rest)))
    headers = [*error.headers, ("Content-Security-Policy", content_policy()), ("X-Content-Type-Options", "nosniff")]
    return Reply(error.status, "text/html; charset=utf-8", page.encode("utf-8", "replace"), headers, closes=error.closes)


def _onward(service: Service, request: Request, reference: str) -> list[str]:
    """Links to the pages without a sign-in, and to the reference page of the service."""
    from urllib.parse import quote

    open_to_all = [
        route
        for route in service.sorted_routes
        if route.method == "GET" and route.kind == "handler" and not route.auth and not route.has_parameters
    ]
    pages = [route for route in open_to_all if {form.partition("@")[0] for form in route.gives.split()} & {"html", "content"}]
    paths = list(dict.fromkeys(route.path for route in pages or open_to_all))
    items = [
        f'<li><a href="{_escaped(beside(request.path, quote(path[1:])) or "./")}">{_escaped(path)}</a></li>\n'
        for path in paths[:_MOST_LINKS]
    ]
    found = [f"<ul>\n{''.join(items)}</ul>\n"] if items else []
    found.append(f'<p class="onward"><a href="{beside(request.path, reference)}">What this service answers</a></p>\n')
    return found


def _escaped(text: str) -> str:
    from html import escape

    return escape(text, quote=True)
