"""Text that others wrote, in a line of our own on somebody's terminal.

An error, a warning or a question quotes data: a file name, a header, a field of a request. Written as it is, its escape
sequences would move the cursor, recolour, or write over what stands there, and its marks of direction would reorder the line.
They are shown instead, always and not on terminals alone: a log is read on a terminal in the end. What a program writes with
``print``, ``eprint`` and ``log`` is its own affair.
"""

from __future__ import annotations

#: Characters that reorder the text around them (Unicode UAX #9) or end a line without being its end.
_REORDERING = (0x061C, 0x200E, 0x200F, 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_SHOWN = {code: f"\\u{{{code:x}}}" for code in (*range(0x20), *range(0x7F, 0xA0), *_REORDERING)}
_ONE_LINE = {**_SHOWN, 0x0A: "\\n"}
_JSON = {code: f"\\u{code:04x}" for code in _SHOWN}
_LINES = {code: shown for code, shown in _SHOWN.items() if code not in (0x09, 0x0A)}


def visible(text: str) -> str:
    """The text with control and reordering characters as ``\\u{...}``; line ends and tabs stay."""
    return text if text.isprintable() else text.translate(_LINES)


def one_line(text: str) -> str:
    """As :func:`visible` for a prompt or a line that must stay one: line ends as ``\\n``, tabs as ``\\u{9}``."""
    return text if text.isprintable() else text.translate(_ONE_LINE)


def json_line(text: str) -> str:
    """JSON text of one line with the same meaning, its control and reordering characters as escapes of JSON.

    A JSON encoder escapes those below U+0020 alone: the control sequences of eight bits (U+009B) pass it.
    """
    return text if text.isprintable() else text.translate(_JSON)
