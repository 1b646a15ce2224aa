"""Conditional and partial requests for a file (RFC 9110 sections 8.8, 13 and 14)."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

#: The header fields that make a request conditional or partial.
FIELDS = frozenset({"if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "if-range", "range"})

_MOST_DIGITS = 20


class UnusableRange(ValueError):
    """A range of bytes that cannot be sent: malformed or outside of the file."""


def version_of(status: os.stat_result) -> str:
    """The part of an ``ETag`` that identifies a version of a file: its size, and a digest of its times in nanoseconds and
    inode.

    The second of its modification is not enough: a file can be replaced within that second.
    """
    from hashlib import sha256

    times = f"{status.st_mtime_ns}.{status.st_ctime_ns}.{status.st_ino}"
    return f"{status.st_size:x}-{sha256(times.encode()).hexdigest()[:16]}"


def entity_tag(version: str, coding: str = "") -> str:
    """The ``ETag`` of a version of a file. Each coding has its own: different bytes must not share a strong validator."""
    return f'"{version}-{coding}"' if coding else f'"{version}"'


def named_tag(field: str, tags: Iterable[str], *, weakly: bool) -> str | None:
    """The first of the tags that a list in a header field contains; ``*`` contains all; ``None`` if it contains none.

    In a weak comparison ``W/"x"`` equals ``"x"``; in a strong one it equals nothing.
    """
    if field.strip() == "*":
        return next(iter(tags))
    named = set()
    for element in field.split(","):
        tag = element.strip()
        named.add(tag[2:] if weakly and tag.startswith("W/") else tag)
    return next((tag for tag in tags if tag in named), None)


def unchanged_since(field: str, modified: int, modified_date: str) -> bool | None:
    """Whether a file modified at that second is not newer than the date of a field; ``None`` if that is not a date."""
    if field == modified_date:
        return True
    from email.utils import parsedate_to_datetime

    try:
        return modified <= parsedate_to_datetime(field).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def byte_range(field: str, size: int) -> tuple[int, int] | None:
    """Start and length of the range in ``Range``; ``None`` to send the whole, also for several ranges and for units other than
    bytes (RFC 9110 section 14.2). Raises :class:`UnusableRange`.
    """
    unit, equals, text = field.partition("=")
    if not equals or unit.strip().lower() != "bytes" or "," in text:
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
