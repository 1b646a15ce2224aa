"""Log lines."""

from __future__ import annotations

from platform_api.api.schemas.shared import Answer


class LogLine(Answer):
    """A line that a program printed. ``id`` grows within a project."""

    id: str
    at: str
    line: str


class LogTail(Answer):
    """Lines, oldest first. ``last`` is the next ``after``."""

    items: list[LogLine]
    last: str
