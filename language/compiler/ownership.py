"""Finds variables that are known to be the only holder of their list or map, so that a write need not count references.

A local that no closure captures is tracked through its function. Its *flag*, a Python local of its own, is true while the
container was made or copied here and has not been read as a value since. Reading an item, a field or the length does not
count as such a read. Where every binding makes a new container and no read shares it, no flag is needed: the variable is
*always* the owner.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from language.compiler.kinds import Kinds
from language.compiler.resolution import ItemOf, Resolution, Value, Variable
from language.compiler.resolver import llm_operands
from language.compiler.serve_facts import block_values
from language.runtime.reference_counts import BORROWS
from language.syntax import nodes
from language.syntax.walk import children, statements_inside

if TYPE_CHECKING:
    from collections.abc import Mapping

    from language.registry import Builtin, Facts


class Ownership:
    """The result for one unit. ``steady`` are the Python names of certainly bound variables of one function."""

    def __init__(
        self,
        resolution: Resolution,
        steady: frozenset[str],
        program: nodes.Program,
        kinds: Kinds,
        builtins: Mapping[str, Builtin],
    ) -> None:
        self._resolution = resolution
        self._builtins = builtins
        self._kinds = kinds
        self._followed: dict[Variable, bool] = {}
        self._written_otherwise: set[Variable] = set()
        self._written_by_number: set[Variable] = set()
        #: cache of results: each needs all values of a variable, and every statement that assigns the variable asks
        self._lists: dict[Variable, bool] = {}
        self._counting: dict[Variable, bool] = {}
        for variable in resolution.variables:
            written = variable.grown or "path" in variable.values
            if written and not variable.captured and variable.python in steady and variable.follows:
                self._followed[variable] = True
        if self._followed:
            self._find_escapes(program.statements)

    def _find_escapes(self, program: nodes.Block) -> None:
        """Marks the variables that need a flag: those with a binding that is not new, or with a read that shares the
        container.
        """
        pending: list[nodes.Stmt] = list(program)
        while pending:
            statement = pending.pop()
            if isinstance(statement, nodes.Set):
                self._note_write(statement)
            for expression in direct_expressions(statement):
                for variable in self.escaping(expression):
                    variable.escapes = True
            pending += statements_inside(statement)
        for variable in self._followed:
            bindings = [value for value in variable.values if value != "path"]
            fresh = all(isinstance(value, nodes.Expr) and self.is_fresh(value) for value in bindings)
            if variable.is_param or not fresh or variable.escapes:
                self._followed[variable] = False

    def _note_write(self, statement: nodes.Set) -> None:
        target = statement.target
        first: nodes.Expr = target
        while isinstance(target, (nodes.Index, nodes.Field, nodes.Of)):
            first, target = target, target.obj
        ref = self._resolution.refs.get(id(target))
        if ref is None:
            return
        for variable in ref.variables:
            if isinstance(first, nodes.Index) and self._kinds.of(first.index) == "int":
                self._written_by_number.add(variable)
            elif isinstance(first, (nodes.Index, nodes.Field, nodes.Of)) or isinstance(statement.value, nodes.MapLit):
                self._written_otherwise.add(variable)

    def is_list(self, variable: Variable) -> bool:
        """Whether the flag also says that the container is a list, for variables that are only written by integer index."""
        answer = self._lists.get(variable)
        if answer is None:
            answer = self._lists[variable] = (
                variable in self._written_by_number
                and variable not in self._written_otherwise
                and not any(isinstance(value, nodes.MapLit) for value in variable.values)
                and self.flag(variable) is not None
            )
        return answer

    def always(self, variable: Variable) -> bool:
        """Whether the variable is the only holder at every moment."""
        return self._followed.get(variable, False)

    def flag(self, variable: Variable) -> str | None:
        """The Python local that is true while the variable is the only holder; ``None`` when there is none."""
        return f"·o·{variable.python}" if self._followed.get(variable) is False else None

    def counts(self, variable: Variable) -> bool:
        """Whether the variable's own reference to its value is always counted, because no other local is ever assigned to it.

        A variable that another function assigns is in a cell, whose reference is counted.
        """
        if not BORROWS or variable.set_inside:
            return True
        answer = self._counting.get(variable)
        if answer is None:
            answer = not variable.is_param and all(_never_borrowed(value) for value in variable.values)
            self._counting[variable] = answer
        return answer

    def is_fresh(self, value: nodes.Expr) -> bool:
        """Whether an expression always gives a new container, which nothing else holds."""
        match value:
            case nodes.ListLit() | nodes.MapLit():
                return True
            case nodes.Call(func=nodes.Name() as func):
                facts = self._facts(func)
                return facts is not None and facts.fresh
            case nodes.Arith(links=links):
                # joining two lists gives a new list; any other result of ``+`` is no container
                return all(link.op == "+" for link in links)
            case _:
                return False

    def _facts(self, func: nodes.Expr) -> Facts | None:
        """The declared facts of the builtin that is called; ``None`` for any other call."""
        if not isinstance(func, nodes.Name):
            return None
        ref = self._resolution.refs.get(id(func))
        if ref is None or ref.variables or ref.outside != "builtin":
            return None
        builtin = self._builtins.get(func.id)
        return None if builtin is None else builtin.facts

    def escaping(self, expression: nodes.Expr) -> set[Variable]:
        """The tracked variables whose containers evaluating the expression may share."""
        found: set[Variable] = set()
        if self._followed:
            self._walk(expression, True, found)
        return found

    def _walk(self, node: nodes.Expr, lets_out: bool, found: set[Variable]) -> None:
        match node:
            case nodes.Name():
                ref = self._resolution.refs.get(id(node))
                if lets_out and ref is not None:
                    found.update(v for v in ref.variables if v in self._followed)
            case nodes.Index(obj=obj, index=index):
                self._walk(obj, False, found)
                self._walk(index, False, found)
            case nodes.Field(obj=obj) | nodes.Of(obj=obj):
                self._walk(obj, False, found)
            case nodes.Arith(first=first, links=links) | nodes.Compare(first=first, links=links):
                self._walk(first, False, found)
                for link in links:
                    self._walk(link.operand, False, found)
            case nodes.BoolOp(operands=operands):
                for operand in operands:
                    self._walk(operand, False, found)
            case nodes.Not(operand=operand) | nodes.Negate(operand=operand):
                self._walk(operand, False, found)
            case nodes.Power(base=base, exponent=exponent):
                self._walk(base, False, found)
                self._walk(exponent, False, found)
            case nodes.Template(parts=parts):
                for part in parts:
                    if not isinstance(part, str):
                        self._walk(part, False, found)
            case nodes.ListLit(items=items):
                for item in items:
                    self._walk(item, True, found)
            case nodes.MapLit(entries=entries):
                for key, value in entries:
                    self._walk(key, False, found)
                    self._walk(value, True, found)
            case nodes.Call():
                self._walk_call(node, found)
            case nodes.Pipe(first=first, steps=steps):
                self._walk(first, True, found)
                for step in steps:
                    self._walk(step, True, found)
            case nodes.WhenExpr(arms=arms, otherwise=otherwise):
                for condition, value in arms:
                    self._walk(condition, False, found)
                    self._walk(value, lets_out, found)
                if otherwise is not None:
                    self._walk(otherwise, lets_out, found)
            case nodes.SandboxExpr(body=body):
                self._walk(body, lets_out, found)
            case nodes.Gate(message=message, options=options):
                self._walk(message, False, found)
                if options is not None:
                    self._walk(options, True, found)
            case nodes.Show(value=value, label=label):
                self._walk(value, True, found)
                if label is not None:
                    self._walk(label, False, found)
            case nodes.Reason() | nodes.Decide() | nodes.Analyze() | nodes.Generate():
                for operand in llm_operands(node):
                    self._walk(operand, False, found)
            case _:
                pass  # literals; lambdas capture, and captured variables are not tracked; blocks analyse their own statements

    def _walk_call(self, node: nodes.Call, found: set[Variable]) -> None:
        facts = self._facts(node.func)
        if facts is None:
            self._walk(node.func, False, found)
        for position, arg in enumerate(node.args):
            kept = facts is None or facts.keeps == "anything" or (facts.keeps == "items" and position > 0)
            self._walk(arg.value, kept, found)


def _never_borrowed(value: Value) -> bool:
    match value:
        case str() | ItemOf():
            return True
        case nodes.Index() | nodes.Field() | nodes.Of() | nodes.Call() | nodes.Arith() | nodes.ListLit() | nodes.MapLit():
            return True
        case nodes.Number() | nodes.Text() | nodes.Template() | nodes.Bool() | nodes.Nothing():
            return True
        case _:
            return False


def direct_expressions(node: nodes.Stmt) -> list[nodes.Expr]:
    """The expressions that a statement evaluates itself, without those of its inner blocks.

    The value of ``give`` is left out: the read of a plain variable ends its task.
    """
    match node:
        case nodes.Set(target=target, value=value):
            found = [value]
            while isinstance(target, (nodes.Index, nodes.Field, nodes.Of)):
                if isinstance(target, nodes.Index):
                    found.append(target.index)
                target = target.obj
            return found
        case nodes.Give(value=nodes.Expr() as value):
            return [] if isinstance(value, nodes.Name) else [value]
        case nodes.Task() | nodes.Test() | nodes.Agent():
            return []
        case nodes.Serve(port=port, clauses=clauses):
            return [port, *block_values(clauses)]
        case nodes.RouteGroup(routes=group):
            return block_values(group)
        case _:
            return _expressions_inside(node)


def _expressions_inside(node: nodes.Stmt) -> list[nodes.Expr]:
    """The expressions in a statement in source order, without those of its blocks and without nested ones."""
    found: list[nodes.Expr] = []
    pending = children(node)
    pending.reverse()
    while pending:
        part = pending.pop()
        if isinstance(part, nodes.Expr):
            found.append(part)
        elif not isinstance(part, nodes.Stmt):
            inside = children(part)
            inside.reverse()
            pending += inside
    return found
