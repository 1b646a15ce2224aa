"""``trace``, ``measure`` and ``checkpoint``, as compiled code calls them."""

from __future__ import annotations

from language.values.display import display

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.runtime.context import Context


class RecordStatements:
    """The statements that make records, in one context. ``file`` is the file that contains them."""

    __slots__ = ("_context", "_file")

    def __init__(self, context: Context, file: str) -> None:
        self._context = context
        self._file = file

    def begin(self, kind: str, label: str, line: int) -> int:
        """To be called when a ``trace`` or ``measure`` block begins. Returns the argument for :meth:`end`."""
        return self._context.records.begin(self._context, kind, label, self._file, line)

    def end(self, begun: int) -> None:
        """To be called when the block has ended, possibly by the exception that is being handled."""
        self._context.records.end(self._context, begun)

    def checkpoint(self, value: Any, line: int) -> None:
        """Records the text of a value."""
        self._context.records.checkpoint(self._context, display(value), self._file, line)
