"""A session of the REPL: its inputs share one global scope, the grants, modules and agents."""

from __future__ import annotations

from dataclasses import replace
from types import CellType

from language.compiler.compilation import compile_program
from language.runtime.context import Context
from language.runtime.instance import Instance
from language.syntax import nodes
from language.syntax.parser import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from language.agents.registry import Definition
    from language.capabilities import Ceiling
    from language.code import Code
    from language.host import Host
    from language.runtime.modules import Sources
    from language.values import Module

#: The variable that receives the value of an expression. No program can use this name.
VALUE = "·value"


class ReplSession:
    """The variables, modules, agents and grants that inputs share.

    ``sources`` and ``build`` are those of :class:`Instance`. Definitions of an input that then fails are kept.
    """

    def __init__(self, host: Host, *, ceiling: Ceiling | None, sources: Sources, build: Callable[[str, str], Code]) -> None:
        self.context = Context(host, mode="repl", ceiling=ceiling, recorded=False)
        self._sources = sources
        self._build = build
        self._globals: dict[str, CellType] = {VALUE: CellType(None)}
        self._modules: dict[str, Module] = {}
        self._agents: dict[str, Definition] = {}

    def values(self) -> dict[str, Any]:
        """The variables of the session that are bound, by their names."""
        return {name: cell.cell_contents for name, cell in self._globals.items() if name != VALUE and _is_bound(cell)}

    def run(self, source: str, filename: str) -> Any:
        """Runs one input: the value of its last statement if that is an expression, else ``None`` (``nothing``).

        Raises what :meth:`Instance.run` raises, and ``LexerError`` or ``ParseError``.
        """
        program = parse(source, filename)
        last = program.statements[-1] if program.statements else None
        if isinstance(last, nodes.ExprStmt):
            kept = nodes.Let(last.span, VALUE, last.value, False)
            program = replace(program, statements=(*program.statements[:-1], kept))
        bound = frozenset(name for name, cell in self._globals.items() if _is_bound(cell))
        code = compile_program(program, session=bound).named(filename)
        instance = Instance(code, self.context.host, context=self.context, sources=self._sources, build=self._build)
        instance.globals = self._globals
        instance.modules = self._modules
        instance.agents = self._agents
        cell = self._globals[VALUE]
        cell.cell_contents = None
        try:
            instance.run()
            return cell.cell_contents
        finally:
            cell.cell_contents = None


def _is_bound(cell: CellType) -> bool:
    from language.runtime.intrinsics import UNSET

    try:
        return cell.cell_contents is not UNSET
    except ValueError:
        return False
