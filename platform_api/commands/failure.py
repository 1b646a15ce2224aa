"""The error that ends a command."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class Failure(Exception):
    """Ends a command with exit code 1 and one line on standard error.

    Args:
        message: what is wrong and what to do about it.
        answer: the error answer of the service, where there is one.
        more: lines to show below the message, such as what a program has written.
    """

    def __init__(self, message: str, answer: dict[str, Any] | None = None, more: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.answer = answer or {}
        self.more = more
