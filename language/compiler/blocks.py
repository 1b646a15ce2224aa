"""Blocks: their statements in order, and where the value of a block goes.

A block stands in tasks, branches, loops, routes and expressions. Their modules write it through here, and know nothing of the
statements; each kind of statement is written by what :data:`WRITERS` names.
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
    """The value goes into this Python local, which holds ``None`` before."""

    name: str


class Return(NamedTuple):
    """The value is what the task gives."""


RETURN = Return()
Dest = Into | Return | None

#: How each kind of statement is written; filled in by the module that writes them.
WRITERS: dict[type[nodes.Stmt], Callable[[Emitter, Any, Dest], None]] = {}


def deliver(em: Emitter, dest: Dest, value: Py, at: At) -> None:
    """Hands a value to where the block's value is wanted."""
    if isinstance(dest, Into):
        em.emit(py.assign(dest.name, value, at))
    elif isinstance(dest, Return):
        em.emit(outline.returns(em, value, at))


#: Statements in a row between two occasions to end a program.
_BETWEEN_TURNS = 16


def block(em: Emitter, body: nodes.Block, dest: Dest) -> None:
    last = len(body) - 1
    for index, node in enumerate(body):
        if em.metered:
            em.emit(py.expression(py.runtime("tick", [], node.span[:2]), node.span[:2]))
        elif em.interruptible and index % _BETWEEN_TURNS == _BETWEEN_TURNS - 1:
            em.emit(py.expression(py.runtime("turn", [], node.span[:2]), node.span[:2]))
        em.following = body[index + 1] if index < last - (dest is not None) else None
        statement(em, node, dest if index == last else None)


def statement(em: Emitter, node: nodes.Stmt, dest: Dest) -> None:
    """One statement. The numbers of its temporaries are free again behind it, but for one that holds a path for the next."""
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
