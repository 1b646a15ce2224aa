"""What the commands write. Texts that come from a service or a program act on no terminal."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any

#: Control characters but the tab, the marks that turn the direction of writing, and halves of characters, which nothing writes.
_ACTING = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
#: The same, but for the colours that ``coloured`` writes: the one place where a terminal is told something.
_FOREIGN = re.compile(rf"(\x1b\[(?:0|1|2|31|32|33)m)|{_ACTING.pattern}")
_COLOURS = {"good": "32", "wait": "33", "bad": "31", "quiet": "2", "bold": "1"}
#: The colour of each status of a project, a deploy or a run.
_STATUS = {
    "running": "good", "ready": "good", "live": "good", "succeeded": "good", "approved": "good", "answered": "good",
    "ended": "good", "failed": "bad", "denied": "bad", "timed_out": "bad",
    "deploying": "wait", "queued": "wait", "starting": "wait", "waking": "wait", "needs_review": "wait", "pending": "wait",
    "stopping": "wait", "deleting": "wait",
}  # fmt: skip


def plain(text: object) -> str:
    """A text with every character that a terminal would obey replaced by its code, ``\\x1b`` for example."""
    return _ACTING.sub(_code, str(text))


def _code(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()


def _harmless(line: str) -> str:
    """A line in which a terminal obeys nothing but colours, whatever its writer has let through."""
    return _FOREIGN.sub(lambda found: found[1] or _code(found), line)


def out(line: str = "") -> None:
    """Writes a line to standard output."""
    verbatim(_harmless(line))


def verbatim(line: str) -> None:
    """Writes a line to standard output as it is: what a program has written, for who reads it from a pipe."""
    sys.stdout.write(line.encode("utf-8", "replace").decode() + "\n")
    sys.stdout.flush()


def note(line: str) -> None:
    """Writes a line to standard error: what a script that reads the output does not want."""
    sys.stdout.flush()
    sys.stderr.write(_harmless(line) + "\n")
    sys.stderr.flush()


def show_json(value: Any) -> None:
    """Writes one JSON value on a line, with every character that a terminal would obey as an escape of JSON."""
    verbatim(_ACTING.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False)))


def has_colours() -> bool:
    """Whether standard output is a terminal that shows colours (https://no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def coloured(text: str, colour: str) -> str:
    """The text in a colour of ``_COLOURS``, where colours are shown."""
    return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m" if has_colours() and colour in _COLOURS else text


def status(word: str) -> str:
    """A status in its colour."""
    return coloured(plain(word), _STATUS.get(word, "quiet"))


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Writes rows below a head in columns as wide as their content. The last column takes what it needs."""
    texts = [[plain(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(head, *texts, strict=True)]
    out(coloured("  ".join(name.ljust(width) for name, width in zip(head, widths, strict=True)).rstrip(), "bold"))
    for row in texts:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        cells = [
            coloured(cell, _STATUS[cell.strip()]) if name == "STATUS" and cell.strip() in _STATUS else cell
            for name, cell in zip(head, cells, strict=True)
        ]
        out("  ".join(cells).rstrip())
