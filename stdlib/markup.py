"""Escaping for HTML and XML text, and detection of links that run a script."""

from __future__ import annotations

_ESCAPES = {ord("&"): "&amp;", ord("<"): "&lt;", ord(">"): "&gt;", ord('"'): "&quot;", ord("'"): "&#x27;"}

_RUNS_SCRIPT = ("javascript", "vbscript")

# Invisible characters that Python does not count as blanks: soft hyphen, zero-width characters, direction marks, byte order
# mark.
_INVISIBLE = (
    "\xad\u061c\u180e\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2061\u2062\u2063\u2064\ufeff\ufffd"
)


def escape(text: str) -> str:
    """The text with ``& < > " '`` as character references: safe between tags and inside quoted attributes."""
    return text.translate(_ESCAPES)


def runs_script(url: str, *, data: bool) -> bool:
    """Whether following the URL could run a script: its scheme is ``javascript`` or ``vbscript``, or, with ``data``, ``data``.

    Browsers drop control characters and blanks at the start of a URL, and tabs and line ends anywhere in it, before they read
    the scheme, in any case (WHATWG URL, section 4.4); here all of them and invisible characters are dropped everywhere.
    """
    head, colon, _ = url.partition(":")
    if not colon:
        return False
    scheme = "".join([c for c in head if c > " " and not c.isspace() and not "\x7f" <= c <= "\x9f" and c not in _INVISIBLE])
    return scheme.lower() in ((*_RUNS_SCRIPT, "data") if data else _RUNS_SCRIPT)
