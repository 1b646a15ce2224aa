"""Escapes untrusted text in messages that may be read on a terminal.

An error, a warning or a question quotes data: a file name, a header, a field of a request. Unescaped, its control sequences
would move the cursor, change colours or overwrite the screen, and its direction marks would reorder the line. They are
escaped always and not only for terminals, because a log may be read on a terminal later. What a program writes with
``print``, ``eprint`` and ``log`` is not escaped.
"""

from __future__ import annotations

#: Characters that reorder the text around them (Unicode UAX #9), or that end a line without being a line end.
_REORDERING = (0x061C, 0x200E, 0x200F, 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_SHOWN = {code: f"\\u{{{code:x}}}" for code in (*range(0x20), *range(0x7F, 0xA0), *_REORDERING)}
_ONE_LINE = {**_SHOWN, 0x0A: "\\n"}
_JSON = {code: f"\\u{code:04x}" for code in _SHOWN}
_LINES = {code: shown for code, shown in _SHOWN.items() if code not in (0x09, 0x0A)}


def visible(text: str) -> str:
    """The text with control and reordering characters as ``\\u{...}``; line ends and tabs are kept."""
    return text if text.isprintable() else text.translate(_LINES)


def one_line(text: str) -> str:
    """As :func:`visible` for a text that must stay on one line: line ends become ``\\n``, tabs ``\\u{9}``."""
    return text if text.isprintable() else text.translate(_ONE_LINE)


def json_line(text: str) -> str:
    """One line of JSON with the same meaning, its control and reordering characters as escapes of JSON.

    A JSON encoder escapes only those below U+0020: 8-bit control sequences (U+009B) would remain.
    """
    return text if text.isprintable() else text.translate(_JSON)
