"""The words of ``serve`` blocks, special only in their places: for the layout pass.

Lines of a ``serve``, ``host``, ``describe`` or ``export routes`` block begin with a word of a closed list. What follows it on
the line is settled with the words that the clause knows; what is wrong is told with the texts of the manual.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from language.syntax.tokens import DESCRIBE_CLAUSES, HOST_CLAUSES, KEYWORD_TYPES, SERVE_CLAUSES, Token, words

if TYPE_CHECKING:
    from language.syntax.layout import Layout

LINES = words("serve host describe routes route")

_FIRST_WORDS = {
    "serve": SERVE_CLAUSES,
    "host": HOST_CLAUSES,
    "describe": DESCRIBE_CLAUSES,
    "routes": words("route"),
    "limits": words("rate_limit timeout"),
}
#: What each block is called, and the lines that it may hold.
_FORMS = {
    "serve": (
        "'serve'",
        "`route ...`, `auth with ...`, `errors with ...`, `max_body ...`, `max_streams ...`, `rate_limit ... per ...`, "
        "`timeout ...`, `static ...`, `cors ...`, `describe`, `private`, `docs off`, `mount ...`, `host ...`, `tls ...`, "
        "`domain ...`, `redirect https`, `bind ...` or `trust proxy ...`",
    ),
    "host": ("a 'host' block", "`route ...`, `auth with ...`, `static ...` or `tls cert ... key ...`"),
    "describe": ("'describe'", "`about:`, `api:` or `version:`"),
    "routes": ("'export routes'", "`route ...`"),
}
#: Words inside a clause: after a finished value, or directly after the clause's first word.
_INNER = {
    "STATIC": words("from cache fallback"),
    "MOUNT": words("at"),
    "TLS": words("cert key auto"),
    "REDIRECT": words("https"),
    "DOCS": words("off"),
    "TRUST": words("proxy"),
    "RATE_LIMIT": words("per none unlimited"),
    "TIMEOUT": words("none"),
    "ROUTE": words("requires"),
}
_NOTHING: frozenset[str] = frozenset()
_DIRECTLY = words("cert auto https off proxy")
_WINDOWS = words("second minute hour")
_PLACES = words("body form query")
_TYPES = ("text", "number", "integer", "decimal", "bool", "list", "map", "date", "datetime", "duration")


def inner_words(kind: str) -> frozenset[str]:
    """The soft words of the clause that begins with the terminal ``kind``."""
    return _INNER.get(kind, _NOTHING)


def shown(token: Token) -> str:
    """A token in a message: as it is written."""
    if not token.value:
        return "the end of the line" if token.type != "TEXT" else '`""`'
    return "a template" if token.type == "TEMPLATE" else f'`"{token.value}"`' if token.type == "TEXT" else f"`{token.value}`"


def _unknown_line(token: Token, lines: str) -> tuple[str, str]:
    """The message for a line that begins with none of the words of its block, and the help: the word that is near, else all."""
    from language.hints import did_you_mean

    near = did_you_mean(token.value, sorted(_FIRST_WORDS[lines])) if token.type == "IDENTIFIER" else ""
    block, forms = _FORMS[lines]
    told = f"did you mean `{near}`?" if near else f"leave this line out, or begin it with {forms}"
    if lines == "serve" and token.value in ("listen", "port"):
        told = "leave this line out: the port stands in the line above, `serve on 8080`"
    return f"{shown(token)} cannot begin a line inside {block}", told


def clause(layout: Layout, pos: int, lines: str) -> int:
    """Settles the first words of a line of a serve block; gives where the rest begins."""
    token = layout.tokens[pos]
    if token.type != "IDENTIFIER" or token.value not in _FIRST_WORDS[lines]:
        message, help_ = _unknown_line(token, lines)
        layout.problem(message, pos, "E0124", help_)
        return pos + 1
    layout.add(token.value.upper(), pos)
    if token.value == "route":
        return _route(layout, pos + 1)
    return pos + 1


def after_clause_word(layout: Layout, pos: int, word: str) -> int:
    """A soft word directly after the first word of its clause."""
    if word in ("none", "unlimited") and layout.types[pos + 1] in ("NEWLINE", "EOF"):
        layout.add("UNLIMITED", pos)
    elif word in _DIRECTLY:
        layout.add(word.upper(), pos)
    else:
        layout.add("IDENTIFIER", pos)
    return pos + 1


def per(layout: Layout, pos: int) -> int:
    """``per`` and the window after it."""
    layout.add("PER", pos)
    window = layout.tokens[pos + 1]
    if window.type != "IDENTIFIER":
        return pos + 1
    if window.value in _WINDOWS:
        layout.add("WINDOW", pos + 1)
    else:
        layout.problem(f"rate_limit window must be second, minute, or hour, found `{window.value}`", pos + 1, "E0126")
    return pos + 2


def on(layout: Layout, pos: int) -> int:
    """``serve`` must go on with ``on``."""
    if layout.types[pos] == "IDENTIFIER" and layout.tokens[pos].value == "on":
        layout.add("ON", pos)
        return pos + 1
    layout.problem("Expected 'on' after 'serve' (serve on PORT)", pos, "E0118")
    return pos + 1


def _route(layout: Layout, pos: int) -> int:
    token = layout.tokens[pos]
    message = 'Expected a route spec string, e.g. "GET /path"' if token.type != "TEXT" else route_problem(token.value)
    if message:
        layout.problem(message, pos, "E0124", _route_help(layout, pos))
        return pos if token.type in ("NEWLINE", "EOF", "DEDENT") else pos + 1
    layout.add("TEXT", pos)
    words = layout.tokens[pos + 1 : pos + 3]
    if [word.value for word in words] == ["requires", "auth"]:
        layout.kinds.append("REQUIRES_AUTH")
        layout.out.append(words[0]._replace(value="requires auth", end_col=words[1].end_col, end=words[1].end))
        return pos + 3
    return pos + 1


def _route_help(layout: Layout, pos: int) -> str:
    """The route as it was probably meant; the empty text where that cannot be told."""
    token, after = layout.tokens[pos : pos + 2] if pos + 1 < len(layout.tokens) else (layout.tokens[pos],) * 2
    method, _, path = token.value.strip().partition(" ")
    if token.type == "TEXT" and method.startswith("/"):
        method, path = "GET", token.value.strip()
    elif not path and after.type == "TEXT":  # the path in a text of its own
        path = after.value
    elif token.type != "TEXT":
        return ""
    path = "/" + path.strip().removeprefix("/")
    if not method.isalpha() or not path.isprintable() or any(sign in path for sign in ' "*'):
        return ""
    return f'write `route "{method.upper()} {path}"`'


def route_problem(spec: str) -> str:
    """What is wrong with the text of a route, or the empty text."""
    method, blank, path = spec.strip().partition(" ")
    path = path.strip()
    if not blank or not method:
        return f"Route spec must be \"METHOD /path\", got '{spec}'"
    if not path.startswith("/"):
        return f"Route path must start with '/', got '{path}'"
    segments = [segment for segment in path.split("/") if segment]
    for number, segment in enumerate(segments):
        if segment == "*":
            return "Catch-all segment must be named, e.g. '*path', got '*'"
        if segment.startswith("*") and number < len(segments) - 1:
            return f"Catch-all '{segment}' must be the LAST segment of the path, got '{path}'"
    return ""


def expect(layout: Layout, pos: int) -> int:
    """``expect body {name: type, name: optional type}``, also of ``form`` and ``query``."""
    types = layout.types
    tokens = layout.tokens
    layout.add("EXPECT", pos)
    pos += 1
    place = tokens[pos].value
    if place not in _PLACES or types[pos] != "IDENTIFIER":
        layout.problem("Expected 'body', 'form' or 'query' after 'expect'", pos, "E0118")
        return pos + 1
    layout.add("PLACE", pos)
    pos += 1
    if types[pos] != "LBRACE":
        layout.problem("Expected '{' to declare the expected shape", pos, "E0118")
        return pos if types[pos] in ("NEWLINE", "EOF", "DEDENT") else pos + 1
    layout.add("LBRACE", pos)
    pos += 1
    while types[pos] == "IDENTIFIER" and types[pos + 1] == "COLON":
        layout.add("IDENTIFIER", pos)
        layout.add("COLON", pos + 1)
        pos += 2
        if types[pos] == "IDENTIFIER" and tokens[pos].value == "optional":
            layout.add("OPTIONAL", pos)
            pos += 1
        if types[pos] != "IDENTIFIER" or tokens[pos].value not in _TYPES:
            layout.problem(f"Expected a type name ({', '.join(_TYPES)})", pos, "E0116")
            return pos if types[pos] in ("NEWLINE", "EOF", "DEDENT") or types[pos] in KEYWORD_TYPES else pos + 1
        if place == "query" and tokens[pos].value == "map":
            *others, last = (name for name in _TYPES if name != "map")
            layout.problem(f"a query holds no map: its fields are {', '.join(others)} or {last}", pos, "E0116")
            return pos + 1
        layout.add("IDENTIFIER", pos)
        pos += 1
        if types[pos] == "COMMA":
            layout.add("COMMA", pos)
            pos += 1
    return pos
