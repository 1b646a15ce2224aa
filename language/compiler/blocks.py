"""Blocks: their statements in order, and what happens to the value of a block.

Tasks, branches, loops, routes and expressions contain blocks. Their modules compile them through this module, without
importing the statements: each kind of statement is compiled by its entry in :data:`WRITERS`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from language.compiler import outline
from language.compiler import python_ast as py
from language.compiler.emitter import Emitter
from language.compiler.ownership import direct_expressions
from language.compiler.python_ast import At, Py
from language.compiler.unavailable import unavailable
from language.syntax import nodes


class Into(NamedTuple):
    """The value is assigned to this Python local, which holds ``None`` before."""

    name: str


class Return(NamedTuple):
    """The value is returned by the task."""


RETURN = Return()
Dest = Into | Return | None

#: By kind of statement, the function that compiles it. Filled in by the modules that define them.
WRITERS: dict[type[nodes.Stmt], Callable[[Emitter, Any, Dest], None]] = {}


def deliver(em: Emitter, dest: Dest, value: Py, at: At) -> None:
    """Passes a value to the destination of the block's value."""
    if isinstance(dest, Into):
        em.emit(py.assign(dest.name, value, at))
    elif isinstance(dest, Return):
        em.emit(outline.returns(em, value, at))


#: How many consecutive statements run between two cancellation points.
_CANCELLATION_INTERVAL = 16


def block(em: Emitter, body: nodes.Block, dest: Dest) -> None:
    last = len(body) - 1
    for index, node in enumerate(body):
        if em.metered:
            em.emit(py.expression(py.runtime("tick", [], node.span[:2]), node.span[:2]))
        elif em.interruptible and index % _CANCELLATION_INTERVAL == _CANCELLATION_INTERVAL - 1:
            em.emit(py.expression(py.runtime("cancellation_point", [], node.span[:2]), node.span[:2]))
        em.following = body[index + 1] if index < last - (dest is not None) else None
        statement(em, node, dest if index == last else None)


def statement(em: Emitter, node: nodes.Stmt, dest: Dest) -> None:
    """One statement. Its temporaries are free again after it, except one that holds a path for the next statement."""
    before = em.state.temporaries
    for expression in direct_expressions(node):
        em.let_out(expression, node.span[:2])
    write = WRITERS.get(type(node))
    if write is None:
        em.emit(py.expression(unavailable(node), node.span[:2]))
    else:
        write(em, node, dest)
    em.release(node.span[:2])
    if em.state.kept is None:
        em.state.temporaries = before
