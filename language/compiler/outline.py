"""Moves blocks that are nested deeper than CPython's compiler allows into functions of their own.

CPython allows twenty nested loops and ``try`` blocks in one code object. Deeper blocks become nested functions that share
the locals of the outer function. Their return value says how the block was left.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable

from language.compiler import python_ast as py
from language.compiler.emitter import COUNTING, Emitter, FunctionState
from language.compiler.python_ast import At, Py
from language.syntax import nodes
from language.syntax.walk import descend, statements_inside

DEEPEST = 9


def returns(em: Emitter, value: Py, at: At) -> ast.Return:
    """Returns a value from the task: directly, or through the functions that its blocks were moved into."""
    if em.state.outlined:
        return py.returns(py.tuple_of([value], at), at)
    return py.returns(value, at)


def nested(em: Emitter, write: Callable[[], None], at: At) -> None:
    """Emits what ``write`` emits, in a function of its own when it is inside too many blocks."""
    state = em.state
    if state.blocks < DEEPEST:
        write()
        return
    inner = FunctionState(
        state.function, is_task=state.is_task, outlined=True, outer_loops=state.loops > 0 or state.outer_loops
    )
    inner.temporaries = state.temporaries
    em.state = inner
    with em.buffer() as body:
        write()
        em.release(at)
    em.state = state
    state.owned = set()
    state.temporaries = inner.temporaries + 1
    answer = f"·{state.temporaries}"
    identifier = f"·block{state.temporaries}"
    shared = sorted(_assigned(body))
    if shared:
        # Python shares a name with the outer function only if that also assigns it: this assignment does, and is never
        # executed.
        targets: list[Py] = [py.store(name, at) for name in shared]
        em.emit(py.if_(py.constant(False, at), [py.placed(ast.Assign(targets, py.constant(None, at)), at)], [], at))
        body.insert(0, py.nonlocal_(shared, at))
    em.emit(py.function(identifier, [], [], body, at))
    em.emit(py.assign(answer, py.call(py.name(identifier, at), [], at), at))
    given = py.name(answer, at)
    on_break: list[ast.stmt] = [py.breaks(at)] if state.loops else [py.returns(given, at)]
    value: Py = given
    if not state.outlined:
        value = py.placed(ast.Subscript(given, py.constant(0, at), py.LOAD), at)
    leave = py.if_(py.is_(given, "·BREAK", at), on_break, [py.returns(value, at)], at)
    if not state.is_task:
        leave = py.if_(py.constant(True, at), on_break, [], at)
    em.emit(py.if_(py.is_not_none(given, at), [leave], [], at))


def _assigned(body: Iterable[ast.AST]) -> set[str]:
    """Names that the statements assign in their own function and share with the outer one."""
    names: set[str] = set()
    pending = list(body)
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.FunctionDef, ast.Lambda)):
            if isinstance(node, ast.FunctionDef):
                names.add(node.name)
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            if not node.id.startswith(COUNTING):
                names.add(node.id)
        elif isinstance(node, ast.ExceptHandler) and node.name is not None:
            pass  # bound and deleted inside of the handler
        pending.extend(ast.iter_child_nodes(node))
    return names


def contains_call(body: nodes.Block) -> bool:
    """Whether executing the statements may call a task, which could execute a ``stop``."""
    return any(isinstance(node, (nodes.Call, nodes.Pipe)) for node in descend(body, closed=(nodes.Task, nodes.Lambda)))


def contains_stop(body: nodes.Block) -> bool:
    """Whether the body contains a ``stop`` of the loop itself."""
    pending: list[nodes.Stmt] = list(body)
    while pending:
        node = pending.pop()
        if isinstance(node, nodes.Stop):
            return True
        if not isinstance(node, (nodes.Each, nodes.While, nodes.Task, nodes.Test)):
            pending += statements_inside(node)
    return False
