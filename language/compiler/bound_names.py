"""What the shape of statements says without any scope: the names they bind, and whether execution goes on behind them."""

from __future__ import annotations

from language.syntax import nodes
from language.syntax.patterns import names_of


def declared_names(block: nodes.Block) -> list[str]:
    """Names that the statements bind in their own scope."""
    names: list[str] = []
    _collect(block, names)
    return names


def _collect(block: nodes.Block, names: list[str]) -> None:
    for node in block:
        match node:
            case nodes.Let(name=name, value=value):
                names.append(name)
                _collect_value(value, names)
            case nodes.LetParts(pattern=pattern, value=value):
                names.extend(names_of(pattern))
                _collect_value(value, names)
            case nodes.Task(name=name) | nodes.TypeDef(name=name) | nodes.EnumDef(name=name):
                names.append(name)
            case nodes.RouteGroup(name=name) | nodes.Agent(name=name):
                names.append(name)
            case nodes.Use(alias=alias) | nodes.Observe(alias=alias) | nodes.WaitFor(alias=str(alias)):
                names.append(alias)
            case nodes.Set(value=value) | nodes.Give(value=nodes.Expr() as value):
                _collect_value(value, names)
            case nodes.When(arms=arms, otherwise=otherwise):
                for _, body in arms:
                    _collect(body, names)
                if otherwise is not None:
                    _collect(otherwise, names)
            case nodes.While(body=body) | nodes.Try(body=body) | nodes.Trace(body=body) | nodes.Stream(body=body):
                _collect(body, names)
            case nodes.Match(otherwise=tuple(otherwise)):
                _collect(otherwise, names)
            case _:
                pass


def _collect_value(value: nodes.Expr, names: list[str]) -> None:
    if isinstance(value, nodes.BlockValue) and isinstance(value.stmt, nodes.When):
        _collect((value.stmt,), names)


def leaves(block: nodes.Block) -> bool:
    """Whether execution certainly does not continue after the block."""
    return bool(block) and isinstance(block[-1], (nodes.Give, nodes.Stop, nodes.Raise))
