"""What stands for a span of the trace where no trace was asked for."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class NoSpan:
    """Stands for a span (:class:`language.runtime.spans.Span`) where no trace was asked for."""

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
