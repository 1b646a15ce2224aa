"""Shapes of every subject."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

#: No control characters. Python takes ``$`` before a last line feed too, which the rest refuses.
PLAIN = r"^[^\x00-\x1f\x7f]*$(?!\n)"
#: Control characters mean nothing in a name, and PostgreSQL stores no NUL.
Name = Annotated[str, Meta(min_length=1, max_length=100, pattern=PLAIN)]


class Answer(Struct, kw_only=True):
    """A success."""


class Done(Answer):
    """An operation without a result."""

    ok: bool = True


class ErrorAnswer(Struct, kw_only=True, omit_defaults=True):
    """An error: a sentence, its status and its code."""

    error: str
    status: int
    code: str
    field: str | None = None
    details: dict[str, Any] | None = None
    request_id: str | None = None
