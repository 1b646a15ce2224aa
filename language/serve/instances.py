"""Copies of the program, one for each concurrent request, restored and reused after it.

A request starts from the globals as they were when the ``serve`` block ran, and its changes are undone. A copy of a program
costs more than most requests, so copies are kept and restored. Only variables (cells) need to be restored: a write to a list or
map that others reference changes a copy of it.
"""

from __future__ import annotations

from collections import deque

from language.runtime.isolation import isolate_with_cells

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CellType
    from typing import Any

    from language.capabilities.grants import CapabilitySet
    from language.runtime.context import Context
    from language.serve.exchange import Exchange

#: The most copies that are kept for further requests.
MOST_IDLE = 64


class ProgramCopy:
    """One copy: its context, and its functions in the order of the application's."""

    __slots__ = ("_base", "_bound", "_intent", "_unbound", "context", "functions")

    def __init__(self, context: Context, functions: list[Any], cells: list[CellType], base: CapabilitySet) -> None:
        self.context = context
        self.functions = functions
        self._base = base
        self._intent = context.intent
        self._bound: list[tuple[CellType, Any]] = []
        self._unbound: list[CellType] = []
        for cell in cells:
            try:
                self._bound.append((cell, cell.cell_contents))
            except ValueError:
                self._unbound.append(cell)

    def restore(self) -> bool:
        """Restores the variables. Returns false if that is impossible and the copy must be discarded."""
        context = self.context
        if context.lifetime.pending:
            context.lifetime.end()
        for cell, value in self._bound:
            try:
                if cell.cell_contents is not value:
                    cell.cell_contents = value
            except ValueError:
                cell.cell_contents = value
        for cell in self._unbound:
            try:
                del cell.cell_contents
            except ValueError:
                continue
        context.exchange = None
        context.begin_output()
        context.intent = self._intent
        if context.capabilities.changed:
            context.capabilities = self._base.fork("request", frozen=False)
        instance = context.instance
        return instance is None or not instance.modules


class Instances:
    """The pool of copies of one served program. Threads that handle requests take copies and give them back."""

    def __init__(self, root: Context, functions: list[Any], prefix: str) -> None:
        self._root = root
        self._prefix = prefix
        self._idle: deque[ProgramCopy] = deque()
        # The grants and variables of this moment; later changes of the top level do not affect requests.
        self._base = root.capabilities.fork("request", frozen=False)
        self._pristine, _ = isolate_with_cells(functions, self._context())
        self._idle.append(self._make())

    def take(self, exchange: Exchange) -> ProgramCopy:
        """A copy for a request."""
        try:
            copy = self._idle.pop()
        except IndexError:
            copy = self._make()
        exchange.copies += (copy,)
        return copy

    def give_back(self, copy: ProgramCopy, exchange: Exchange) -> None:
        """Returns a copy to the pool. A copy that still has pending work stays with the request until the request ends."""
        if exchange.reason is None and not copy.context.lifetime.pending:
            copies = exchange.copies
            exchange.copies = () if len(copies) == 1 else tuple(other for other in copies if other is not copy)
            self._restore(copy)

    def take_all_back(self, exchange: Exchange) -> None:
        """Returns all copies of a request to the pool. Called when the request can no longer be cancelled."""
        for copy in exchange.copies:
            if exchange.reason is None:
                self._restore(copy)
            else:  # it was cancelled at an unknown point, so no other request may use it
                copy.context.lifetime.end()
        exchange.copies = ()

    def _restore(self, copy: ProgramCopy) -> None:
        if copy.restore() and len(self._idle) < MOST_IDLE:
            self._idle.append(copy)

    def _make(self) -> ProgramCopy:
        context = self._context()
        functions, cells = isolate_with_cells(self._pristine, context)
        return ProgramCopy(context, functions, cells, self._base)

    def _context(self) -> Context:
        return self._root.fork_request(self._base.fork("request", frozen=False), self._prefix)
