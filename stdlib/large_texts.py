"""Operations on large texts in pieces. Cancellation is possible, and limits are checked, between two pieces."""

from __future__ import annotations

from language.values.allowance import refuse_beyond, refuse_together

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

#: The characters of a piece. A shorter text is one piece.
PIECE = 1 << 18

# Temporary memory for changing the case of a text, in bytes for each non-ASCII character: three characters of four bytes.
_WHILE_CHANGING = 12


def split(text: str, separator: str) -> list[str]:
    """As ``text.split(separator)``; for an empty separator the characters of the text."""
    if not separator:
        return characters(text)
    size, width = len(text), len(separator)
    if size <= PIECE:
        return text.split(separator)
    parts: list[str] = []
    position = 0
    while size - position > PIECE:
        # The text after the last separator of a piece is searched again: the part, or a separator, may continue.
        *found, rest = text[position : position + PIECE].split(separator)
        if found:
            parts += found
            position += PIECE - len(rest)
            continue
        end = text.find(separator, max(position, position + PIECE - width + 1))
        if end < 0:
            break
        parts.append(text[position:end])
        position = end + width
    parts += text[position:].split(separator)
    return parts


def characters(text: str) -> list[str]:
    """As ``list(text)``."""
    found: list[str] = []
    for start in range(0, len(text), PIECE):
        found += text[start : start + PIECE]
    return found


def upper(text: str) -> str:
    """As ``text.upper()``. Raises ``LimitExceeded`` where the result exceeds the memory limit of the program."""
    if len(text) <= PIECE or text.isascii():
        return text.upper()
    return _together(text[start : start + PIECE].upper() for start in range(0, len(text), PIECE))


def lower(text: str) -> str:
    """As ``text.lower()``. Raises as :func:`upper` does."""
    if len(text) <= PIECE or text.isascii():
        return text.lower()
    return _together(piece.lower() for piece in _words(text))


def translate(text: str, table: dict[int, str]) -> str:
    """As ``text.translate(table)``. Raises as :func:`upper` does."""
    if len(text) <= PIECE:
        return text.translate(table)
    return _together(text[start : start + PIECE].translate(table) for start in range(0, len(text), PIECE))


def _words(text: str) -> Iterator[str]:
    """Pieces of the text that can be converted to lower case separately.

    Only the lower case of a capital sigma depends on the characters around it, up to a blank or a line end at most.
    """
    start, size, anywhere = 0, len(text), "Σ" not in text
    while start < size:
        end = start + PIECE
        if not anywhere and end < size:
            end = max(text.rfind(" ", start, end), text.rfind("\n", start, end)) + 1
            if end == 0:
                blanks = (text.find(" ", start + PIECE), text.find("\n", start + PIECE))
                end = min((blank + 1 for blank in blanks if blank >= 0), default=size)
                refuse_beyond(_WHILE_CHANGING * (end - start))
        yield text[start:end]
        start = end


def _together(pieces: Iterator[str]) -> str:
    found: list[str] = []
    taken = 0
    for piece in pieces:
        taken += piece.__sizeof__()
        refuse_beyond(taken)
        found.append(piece)
    refuse_together(found, sum(map(len, found)))
    return "".join(found)
