"""The null object for a span of the trace when no trace is recorded."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class NoSpan:
    """Has the methods of a span (:class:`language.runtime.spans.Span`) and does nothing."""

    __slots__ = ()

    def set(self, name: str, value: Any) -> None:
        """Keeps nothing."""

    def fail(self, kind: str) -> None:
        """Keeps nothing."""

    def __enter__(self) -> NoSpan:
        return self

    def __exit__(self, *_: object) -> None:
        return None


NO_SPAN = NoSpan()
