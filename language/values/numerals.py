"""Numbers written as text: which texts are numbers. Only ASCII digits count, with ``_`` only between two digits."""

from __future__ import annotations

from itertools import pairwise

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

#: The characters with Unicode's property White_Space. Python's ``strip`` also removes the separators U+001C to U+001F.
WHITE_SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)


def clean_number(text: str) -> str | None:
    """A number in decimal or exponent form (``-1_000.50e3``, ``.5``, ``5.``) without its ``_``; ``None`` for anything else."""
    cleaned = _without_marks(text, str.isdigit)
    if cleaned is None:
        return None
    mantissa, mark, exponent = cleaned.lower().partition("e")
    if mark and not _without_sign(exponent).isdigit():
        return None
    whole, _, fraction = _without_sign(mantissa).partition(".")
    return cleaned if (whole + fraction).isdigit() else None


def clean_digits(text: str, base: int) -> str | None:
    """The digits of an unsigned integer in ``base`` (2..36) without their ``_``; ``None`` for anything else."""
    cleaned = _without_marks(text, str.isalnum)
    if not cleaned:
        return None
    allowed = "0123456789abcdefghijklmnopqrstuvwxyz"[:base]
    return None if cleaned.lower().strip(allowed) else cleaned


def _without_sign(text: str) -> str:
    return text[1:] if text.startswith(("+", "-")) else text


def _without_marks(text: str, is_digit: Callable[[str], bool]) -> str | None:
    if not text.isascii():
        return None
    if "_" not in text:
        return text
    parts = text.split("_")
    for left, right in pairwise(parts):
        if not (is_digit(left[-1:]) and is_digit(right[:1])):
            return None
    return "".join(parts)
