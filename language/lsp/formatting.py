"""The canonical layout of a document as edits."""

from __future__ import annotations

from lsprotocol.types import Range, TextEdit

from language.errors import InternalError, LanguageError
from language.format import format_source
from language.lsp.document_text import DocumentText


def formatting_edits(source: DocumentText, file: str) -> list[TextEdit]:
    """The edit that makes of a text what ``lang fmt`` makes of it, its line ends kept; none where it is no program.

    The edit covers the lines alone that change, so that the cursor stays where it was.
    """
    text = source.text
    try:
        formatted = format_source(text, file)
    except (LanguageError, InternalError):
        return []
    if "\r\n" in text:
        formatted = formatted.replace("\n", "\r\n")
    if formatted == text:
        return []
    old, new = text.splitlines(keepends=True), formatted.splitlines(keepends=True)
    first = 0
    while first < min(len(old), len(new)) and old[first] == new[first]:
        first += 1
    last = 0
    while last < min(len(old), len(new)) - first and old[-1 - last] == new[-1 - last]:
        last += 1
    start = sum(map(len, old[:first]))
    end = len(text) - sum(map(len, old[len(old) - last :]))
    changed = "".join(new[first : len(new) - last])
    return [TextEdit(Range(source.position(start), source.position(end)), changed)]
