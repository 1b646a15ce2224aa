"""Conditional and partial requests for a file (RFC 9110 sections 8.8, 13 and 14)."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

#: The fields of a request that decide here.
FIELDS = frozenset({"if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "if-range", "range"})

_MOST_DIGITS = 20


class UnusableRange(ValueError):
    """A range of bytes that cannot be sent: malformed, outside of the file, or more than one."""


def entity_tag(size: int, modified: int, coding: str = "") -> str:
    """The ``ETag`` of a file by its size in bytes and the second it was modified; one of its own for each coding of it, as two
    sequences of bytes must not share a strong validator."""
    return f'"{size:x}-{modified:x}-{coding}"' if coding else f'"{size:x}-{modified:x}"'


def named_tag(field: str, tags: Iterable[str], *, weakly: bool) -> str | None:
    """The first of the tags that the list of a field names, ``*`` naming every one; ``None`` when it names none.

    Compared weakly, ``W/"x"`` is ``"x"``; strongly, it is nothing.
    """
    if field.strip() == "*":
        return next(iter(tags))
    named = set()
    for element in field.split(","):
        tag = element.strip()
        named.add(tag[2:] if weakly and tag.startswith("W/") else tag)
    return next((tag for tag in tags if tag in named), None)


def unchanged_since(field: str, modified: int, modified_date: str) -> bool | None:
    """Whether a file modified at that second is no newer than the date of a field; ``None`` when that is no date."""
    if field == modified_date:
        return True
    from email.utils import parsedate_to_datetime

    try:
        return modified <= parsedate_to_datetime(field).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def byte_range(field: str, size: int) -> tuple[int, int] | None:
    """Where the range that ``Range`` asks for starts and how long it is; ``None`` to send the whole, which is what a unit
    other than bytes gets (RFC 9110 section 14.2). Raises :class:`UnusableRange`."""
    unit, equals, text = field.partition("=")
    if not equals or unit.strip().lower() != "bytes":
        return None
    first_text, dash, last_text = text.strip().partition("-")
    if not dash:
        raise UnusableRange(field)
    if not first_text:
        length = min(_number(last_text), size)
        if length == 0:
            raise UnusableRange(field)
        return size - length, length
    first = _number(first_text)
    last = min(_number(last_text), size - 1) if last_text else size - 1
    if first > last:
        raise UnusableRange(field)
    return first, last - first + 1


def _number(digits: str) -> int:
    if not (digits.isascii() and digits.isdigit()):
        raise UnusableRange(digits)
    digits = digits.lstrip("0")
    return int(digits or "0") if len(digits) <= _MOST_DIGITS else 10**_MOST_DIGITS
