"""The forms of the reference page with which a reader sends requests. The script of the page sends them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from language.serve.description import RouteInfo

#: Methods whose requests may have a body of any type.
_WITH_BODY = ("POST", "PUT", "PATCH")
#: Type → the HTML input for its fields, for types that are not a single line of text.
_INPUTS = {
    "integer": ' inputmode="numeric"',
    "number": ' inputmode="decimal"',
    "decimal": ' inputmode="decimal"',
    "date": ' type="date"',
    "datetime": ' placeholder="2026-11-23T10:00:00Z"',
    "duration": ' placeholder="PT1H30M"',
}
_FORMS = (("", "as the service chooses"), ("text/html", "HTML"), ("text/markdown", "Markdown"), ("application/json", "JSON"))


def token_field() -> str:
    """The field for the bearer token that every request to a route with ``requires auth`` carries."""
    return (
        '<p class="access" hidden><label>Bearer token <span class="kind">for routes that need a sign-in; it is not kept</span>'
        '<input id="token" type="password" autocomplete="off" spellcheck="false"></label></p>'
    )


def try_form(route: RouteInfo, example: str) -> str:
    """The form of one route. ``example`` is a JSON body as the route declares it; empty without a declaration."""
    from html import escape

    attributes = f' data-method="{escape(route.method)}" data-path="{escape(route.path)}"'
    if route.auth:
        attributes += ' data-auth="1"'
    fields = route.expected("form")
    if fields is not None:
        attributes += f' data-form="{"files" if any(kind == "map" for _, kind, _ in fields) else "texts"}"'
    socket = route.kind == "socket"
    if socket:
        attributes += ' data-socket="1"'
    inputs = "\n".join(_inputs(route, example))
    line = '<p class="send" data-line hidden><input aria-label="Message"><button type="button">Send message</button></p>'
    verb = "Open the WebSocket" if socket else f"Send {escape(route.method)}"
    return (
        '<details class="try" hidden>\n<summary>Try it</summary>\n'
        f'<form{attributes} autocomplete="off">\n<div class="fields">\n{inputs}\n</div>\n'
        f'<p class="send"><button>{verb}</button>'
        f'<button type="button" data-stop hidden>{"Close" if socket else "Stop"}</button></p>\n'
        f'{line if socket else ""}<div class="answer" aria-live="polite"></div>\n</form>\n</details>'
    )


def _inputs(route: RouteInfo, example: str) -> Iterator[str]:
    for segment in route.segments:
        if segment[0] in ":*":
            kind = "path" if segment[0] == ":" else "path, the rest of it"
            yield _field(segment[1:], kind, '<input data-in="path" required{name}>')
    asked = route.expected("query")
    for name, kind, optional in asked or ():
        yield _typed(name, kind, optional, "query")
    if asked is None and route.method == "GET":
        yield _field("Query", "a=1&b=2", '<input data-in="text">')
    for name, kind, optional in route.expected("form") or ():
        yield _typed(name, kind, optional, "form")
    if route.kind not in ("socket", "stream") and "content" in {form.partition("@")[0] for form in route.gives.split()}:
        options = "".join(f'<option value="{value}">{shown}</option>' for value, shown in _FORMS)
        yield _field("Answer", "its form", f'<select data-in="accept">{options}</select>')
    if route.expected("body") is not None:
        from html import escape

        control = f'<textarea data-in="body" data-kind="json" rows="4">{escape(example)}</textarea>'
        yield _field("Body", "JSON", control, wide=True)
    elif route.method in _WITH_BODY and route.expected("form") is None:
        yield _field("Body", "JSON or text", '<textarea data-in="body" rows="4"></textarea>', wide=True)


def _typed(name: str, kind: str, optional: bool, place: str) -> str:
    """A field of a query or form by its type: a list has a value on each line, a map is a file."""
    about = f"{place}, {kind}{', optional' * optional}"
    common = f' data-in="{place}" data-kind="{kind}"{{name}}'
    if kind == "list":
        return _field(name, f"{about}, one a line", f'<textarea rows="2"{common}></textarea>')
    needed = "" if optional or kind == "text" else " required"
    if kind == "map":
        return _field(name, f"{place}, a file{', optional' * optional}", f'<input type="file"{common}{needed}>')
    if kind == "bool":
        choices = "<option></option><option>true</option><option>false</option>"
        return _field(name, about, f"<select{common}{needed}>{choices}</select>")
    return _field(name, about, f"<input{common}{needed}{_INPUTS.get(kind, '')}>")


def _field(name: str, about: str, control: str, *, wide: bool = False) -> str:
    from html import escape

    control = control.replace("{name}", f' name="{escape(name)}"', 1) if "{name}" in control else control
    mark = ' class="wide"' if wide else ""
    return f'<label{mark}>{escape(name)} <span class="kind">{escape(about)}</span>{control}</label>'
