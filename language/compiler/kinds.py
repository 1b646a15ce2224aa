"""Infers at compile time what is known about a value.

Kinds: ``int`` (an integer), ``nonint`` (another number: Python repeats no text by it), ``num`` (a number or decimal: native
arithmetic never repeats or formats it), ``str`` (text), ``text`` (text or a secret), ``scalar`` (one of these), ``list`` and
``map`` (exactly these containers), ``bool``, ``none``, ``task``; ``None`` is unknown. A kind is used only to leave out
guards that it proves unnecessary. An unknown kind makes a program slower and never changes its meaning.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from language.compiler.resolution import ItemOf, Resolution, Variable
from language.syntax import nodes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from language.registry import Builtin, Facts

Kind = str | None
_PENDING = "?"
#: How often a value is inferred again before its variable counts as unknown. It keeps the time linear.
_MOST_TIMES = 8
#: kinds of numbers: an operator ``-``, ``/`` or ``%`` with one of them never formats a text and never gives a text or list
NUMERIC = ("int", "nonint", "num")
_SCALAR = (*NUMERIC, "str", "text", "scalar")
_TEXT = ("str", "text")
#: kinds that are certainly no secret
_PLAIN = (*NUMERIC, "str", "bool", "none", "list", "map")


class Kinds:
    """Infers the kinds of one resolved unit: a fixed point over all values that are assigned to each variable."""

    def __init__(self, resolution: Resolution, *, open_globals: bool, builtins: Mapping[str, Builtin]) -> None:
        self._resolution = resolution
        self._builtins = builtins
        self._nodes: dict[int, Kind] = {}
        self._settled = False
        # Optimistic: begins with the narrowest kinds and widens them until no assigned value contradicts.
        self._variables: dict[Variable, Kind] = {
            v: None if v.is_param or None in v.values or (open_globals and v.scope.parent is None) else _PENDING
            for v in resolution.variables
        }
        #: the variables whose kinds the current inference has used
        self._looked_at: list[Variable] = []
        self._settle([v for v, kind in self._variables.items() if kind == _PENDING])
        self._settled = True

    def _settle(self, unknown: list[Variable]) -> None:
        """Infers every value of the variables, and again whenever the kind of a variable in it changes."""
        given = [(v, value) for v in unknown for value in v.values if isinstance(value, (nodes.Expr, ItemOf))]
        times = [0] * len(given)
        users: dict[Variable, set[int]] = {v: set() for v in unknown}
        pending = deque(range(len(given)))
        waiting = [True] * len(given)
        while pending:
            number = pending.popleft()
            waiting[number] = False
            variable, value = given[number]
            before = self._variables[variable]
            if before is None:
                continue
            times[number] += 1
            kind: Kind = None
            if times[number] <= _MOST_TIMES:
                self._looked_at.clear()
                found = self._item(value.iterable) if isinstance(value, ItemOf) else self._infer(value)
                kind = join(before, found)
                for other in self._looked_at:
                    if other in users:
                        users[other].add(number)
            if kind != before:
                self._variables[variable] = kind
                for user in users[variable]:
                    if not waiting[user]:
                        waiting[user] = True
                        pending.append(user)
        for variable in unknown:
            if self._variables[variable] == _PENDING:
                self._variables[variable] = None

    def of(self, node: nodes.Expr) -> Kind:
        """The kind of an expression's value; ``None`` when unknown."""
        known: Kind = self._nodes.get(id(node), _PENDING)
        if known == _PENDING:
            known = self._infer(node)
            self._nodes[id(node)] = known
        return known

    def variable(self, variable: Variable) -> Kind:
        """The kind of every value of a variable."""
        return self._variables[variable]

    def _item(self, iterable: nodes.Expr) -> Kind:
        if isinstance(iterable, nodes.Call) and _calls_range(iterable) and self._sub(iterable) == "list":
            return "int"
        if isinstance(iterable, nodes.Call) and isinstance(iterable.func, nodes.Name):
            facts = self._facts(iterable.func)
            if facts is not None and facts.result == "list of str":
                return "str"
        kind = self._infer(iterable)
        if kind == _PENDING:
            return _PENDING
        return "str" if kind in ("str", "text", "map") else None

    def _infer(self, node: nodes.Expr) -> Kind:
        match node:
            case nodes.Number(value=value):
                return "int" if isinstance(value, int) else "nonint"
            case nodes.Decimal():
                return "nonint"
            case nodes.Text():
                return "str"
            case nodes.Template(parts=parts):
                return "str" if all(isinstance(part, str) or self._sub(part) in _PLAIN for part in parts) else "text"
            case nodes.Bool() | nodes.Compare() | nodes.BoolOp() | nodes.Not():
                return "bool"
            case nodes.Nothing():
                return "none"
            case nodes.ListLit():
                return "list"
            case nodes.MapLit():
                return "map"
            case nodes.Lambda():
                return "task"
            case nodes.Name():
                return self._name(node)
            case nodes.Arith(first=first, links=links):
                kind = self._sub(first)
                for link in links:
                    kind = arithmetic(link.op, kind, self._sub(link.operand))
                return kind
            case nodes.Negate(operand=operand):
                kind = self._sub(operand)
                return kind if kind in ("int", "nonint") else "num"
            case nodes.Power():
                return "num"
            case nodes.WhenExpr(arms=arms, otherwise=otherwise):
                kind = "none" if otherwise is None else self._sub(otherwise)
                for _, result in arms:
                    kind = join(kind, self._sub(result))
                return kind
            case nodes.Call(func=nodes.Name() as func, args=args):
                return self._call(func, len(args))
            case _:
                return None

    def _sub(self, node: nodes.Expr) -> Kind:
        return self.of(node) if self._settled else self._infer(node)

    def _name(self, node: nodes.Name) -> Kind:
        ref = self._resolution.refs.get(id(node))
        if ref is None or not ref.sure:
            return None
        variable = ref.variables[0]
        if not self._settled:
            self._looked_at.append(variable)
        return self.variable(variable)

    def _facts(self, func: nodes.Name) -> Facts | None:
        """The declared facts of the builtin that a name means; ``None`` where it means something else."""
        ref = self._resolution.refs.get(id(func))
        if ref is None or ref.variables or ref.outside != "builtin":
            return None
        builtin = self._builtins.get(func.id)
        return None if builtin is None else builtin.facts

    def _call(self, func: nodes.Name, count: int) -> Kind:
        facts = self._facts(func)
        if facts is None or (facts.falls_back and count != 1):
            return None
        return "list" if facts.result == "list of str" else facts.result


def _calls_range(call: nodes.Call) -> bool:
    return isinstance(call.func, nodes.Name) and call.func.id == "range"


def join(left: Kind, right: Kind) -> Kind:
    """The narrowest kind that includes both."""
    if left in (_PENDING, right):
        return right
    if right == _PENDING:
        return left
    if left in NUMERIC and right in NUMERIC:
        return "num"
    if left in _TEXT and right in _TEXT:
        return "text"
    if left in _SCALAR and right in _SCALAR:
        return "scalar"
    return None


def arithmetic(op: str, left: Kind, right: Kind) -> Kind:
    """The kind of a result when the operation does not fail."""
    numbers = (*NUMERIC, _PENDING)
    if op == "+":
        if left in numbers and right in numbers:
            if _PENDING in (left, right):
                return left if right == _PENDING else right
            return _of_numbers(left, right)
        if left in _TEXT or right in _TEXT:
            return "str" if left in _PLAIN and right in _PLAIN else "text"
        if left == right == "list":
            return "list"
        if _PENDING in (left, right):
            return _PENDING
        return "scalar" if left in _SCALAR or right in _SCALAR else None
    if op == "/":
        return "nonint"
    if _PENDING in (left, right) and left in numbers and right in numbers:
        return left if right == _PENDING else right
    return _of_numbers(left, right)


def _of_numbers(left: Kind, right: Kind) -> Kind:
    if "nonint" in (left, right):
        return "nonint"
    return "int" if left == right == "int" else "num"
