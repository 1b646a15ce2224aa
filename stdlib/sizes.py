"""Limits on the length of a text that one call of a builtin makes, checked before the text is built."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.values.allowance import refuse_beyond, refuse_together

#: The most characters of a text that one call makes by repetition. Growing a text step by step has no such limit.
LONGEST = 1 << 28


def check_length(name: str, characters: int) -> None:
    """Raises ``RuntimeFault`` that begins with ``name`` beyond :data:`LONGEST`, ``LimitExceeded`` beyond the memory limit."""
    if characters > LONGEST:
        raise RuntimeFault(f"{name}: the result would have {characters} characters, more than {LONGEST}")
    refuse_beyond(characters)


def together(name: str, parts: list[str], separator: str = "") -> str:
    """The parts joined to one text. Raises as :func:`check_length` does."""
    characters = sum(map(len, parts)) + len(separator) * (len(parts) - 1)
    check_length(name, characters)
    refuse_together(parts, characters)
    return separator.join(parts)
