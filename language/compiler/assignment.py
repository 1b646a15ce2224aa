"""``set``: rebinding a name, and writing into the value of a variable at any depth.

Lists and maps are values. A container with a single reference is written in place; a shared one is copied first. CPython's
reference count tells which; :mod:`language.runtime.reference_counts` describes how it is read and why that is right on every
version.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass

from language.compiler import parts
from language.compiler import python_ast as py
from language.compiler.blocks import Dest, deliver
from language.compiler.emitter import SCALARS, Emitter
from language.compiler.paths import Step, calls_nothing, reads, same_path, same_read, steps_of
from language.compiler.python_ast import At, Py
from language.compiler.resolution import Variable
from language.runtime.reference_counts import ALONE, ALONE_COUNTED, ALONE_INSIDE
from language.syntax import nodes

TEXTUAL = ("str", "text")


@dataclass(frozen=True, slots=True)
class Place:
    """A location of a container: how to read it, and how to replace it."""

    read: Py
    store: Callable[[Py], ast.stmt]
    #: whether it is inside another container, and ``read`` is a local that it was just read into
    inside: bool = False
    #: whether nothing else holds a reference to the container
    owned: bool = False
    #: whether the variable's own reference is always counted
    counted: bool = False
    #: the local that is true while nothing else holds the container, and whether it is true at every moment
    flag: str | None = None
    always: bool = False
    #: whether the flag also says that the container is a list
    is_list: bool = False


def write(em: Emitter, node: nodes.Set, dest: Dest) -> None:
    target = node.target
    if isinstance(target, nodes.Name):
        _write_name(em, node, target, dest)
    elif isinstance(target, (nodes.Index, nodes.Field, nodes.Of)):
        _write_path(em, node, target, dest)
    else:
        _invalid(em, node, "Invalid set target")


def _invalid(em: Emitter, node: nodes.Set, message: str) -> None:
    at = node.span[:2]
    parts.into(em, node.value, lambda form: py.expression(form, at))
    em.emit(py.raises(py.runtime("fault", [py.constant(message, at)], at), at))


# ---- names -------------------------------------------------------------------------------------------------------------


def _write_name(em: Emitter, node: nodes.Set, target: nodes.Name, dest: Dest) -> None:
    at = node.span[:2]
    ref = em.resolution.refs[id(node)]
    if not ref.sure:
        form = parts.value(em, node.value)
        if not em.is_stable(form):
            form = em.save(form, at)
        _store_unsure(em, node, target.id, form)
        if dest is not None:
            deliver(em, dest, form, at)
        return
    variable = ref.variables[0]
    place = _variable_place(em, variable, at)
    if not _grow(em, node, target, place):
        if not _append_text(em, node, target, variable):
            parts.into(em, node.value, place.store)
        em.bound(variable, node.value, at)
    if dest is not None:
        em.release(at)
        em.shared(variable, at)
        deliver(em, dest, place.read, at)


def _variable_place(em: Emitter, variable: Variable, at: At) -> Place:
    ownership = em.ownership
    return Place(
        em.variable(variable, at),
        lambda form: em.store_variable(variable, form, at),
        flag=ownership.flag(variable),
        always=ownership.always(variable),
        counted=ownership.counts(variable),
        is_list=ownership.is_list(variable),
    )


def _store_unsure(em: Emitter, node: nodes.Set, name: str, form: Py) -> None:
    """Stores into the innermost variable that is bound at run time."""
    at = node.span[:2]
    ref = em.resolution.refs[id(node)]
    outer = em.out
    variables = list(ref.variables)
    fallback = None
    if ref.outside == "none":
        fallback = variables.pop()
    for variable in variables:
        tail: list[ast.stmt] = []
        bound = py.is_not(em.variable(variable, at), "·UNSET", at)
        em.emit(py.if_(bound, [em.store_variable(variable, form, at)], tail, at))
        em.out = tail
    if fallback is not None:
        em.emit(em.store_variable(fallback, form, at))
    elif ref.outside == "entry":
        named = node.target.span[:2]
        em.emit(py.expression(py.unit_call("assign_existing", [py.constant(name, named), form], named), named))
    else:
        named = node.target.span[:2]
        em.emit(py.raises(py.runtime("cannot_set", [py.constant(name, named)], named), named))
    em.out = outer


def _append_text(em: Emitter, node: nodes.Set, target: nodes.Name, variable: Variable) -> bool:
    """``set s to s + a + b`` of a text, compiled as ``s = s + (a + b)``, which Python extends in place; ``False`` for anything
    else.

    The operands may be joined first only where that always gives text: one of the first two must be a text. Python extends
    in place only a plain local, so the value of a captured variable is moved to one meanwhile.
    """
    value = node.value
    if not isinstance(value, nodes.Arith) or any(link.op != "+" for link in value.links):
        return False
    if not isinstance(value.first, nodes.Name) or value.first.id != target.id or variable.boxed:
        return False
    operands = [link.operand for link in value.links]
    kinds = [em.kinds.of(operand) for operand in operands]
    if em.kinds.variable(variable) not in TEXTUAL or not (len(operands) == 1 or set(kinds[:2]) & set(TEXTUAL)):
        return False
    if not variable.captured and len(operands) == 1:
        return False
    at = node.span[:2]
    pieces = parts.in_order(em, operands)
    pieces = [parts.settle(em, p, k, at) if p.exact is None else p for p, k in zip(pieces, kinds)]
    local = variable.python if not variable.captured else em.temporary("text")
    if len(operands) > parts.LONGEST_CHAIN:
        return False
    joined = pieces[0].native
    exact: Py = py.runtime("add", [py.name(local, at), pieces[0].exact or pieces[0].native], value.links[0].at)
    for link, part in zip(value.links[1:], pieces[1:]):
        joined = py.placed(ast.BinOp(joined, ast.Add(), part.native), link.at)
        exact = py.runtime("add", [exact, part.exact or part.native], link.at)
    native = py.placed(ast.BinOp(py.name(local, at), ast.Add(), joined), value.links[0].at)
    grows = parts.region([py.assign(local, native, at)], [py.assign(local, exact, at)], at)
    if not variable.captured:
        em.emit(grows)
        return True
    if any(reads(operand, target.id) for operand in operands):
        return False
    em.emit(py.assign(local, py.name(variable.python, at), at))
    em.emit(py.assign(variable.python, py.constant(None, at), at))
    em.emit(py.tries([grows], [], at, [py.assign(variable.python, py.name(local, at), at)]))
    em.emit(py.assign(local, py.constant(None, at), at))
    return True


# ---- growing in place --------------------------------------------------------------------------------------------------


def _growth(em: Emitter, node: nodes.Set) -> tuple[str, list[nodes.Expr]] | None:
    """The operation and its further operands of ``append``, ``insert``, ``merge`` or ``+ [..]`` applied to the target
    itself.
    """
    value = node.value
    if isinstance(value, nodes.Call):
        known = em.static_builtin(value.func)
        counts = {"append": 2, "insert": 3, "merge": 2}
        if known not in counts or len(value.args) != counts[known] or any(arg.name for arg in value.args):
            return None
        if not same_path(value.args[0].value, node.target):
            return None
        return known, [arg.value for arg in value.args[1:]]
    if isinstance(value, nodes.Arith) and len(value.links) == 1 and value.links[0].op == "+":
        operand = value.links[0].operand
        if isinstance(operand, nodes.ListLit) and same_path(value.first, node.target):
            return "extend", [operand]
    return None


def _grow(em: Emitter, node: nodes.Set, target: nodes.Expr, place: Place) -> bool:
    """Compiles such an operation on a variable; ``False`` when the statement is none."""
    growth = _growth(em, node)
    if growth is None:
        return False
    operation, operands = growth
    at = node.span[:2]
    snapshot: Py | None = None
    if not em.is_stable(place.read):
        # The operands may call code that writes the variable: the operation applies to its value before them.
        snapshot = em.save(place.read, at)
    forms = _settled(em, operands, place.read)
    if snapshot is None:
        _grow_place(em, node, operation, forms, place, em.kinds.of(target) == ("map" if operation == "merge" else "list"))
        return True
    _grow_snapshot(em, node, operation, forms, place, snapshot)
    return True


def _grow_snapshot(em: Emitter, node: nodes.Set, operation: str, forms: list[Py], place: Place, snapshot: Py) -> None:
    """Applies the operation to the value before the operands were evaluated; in place when the location still holds that
    value.
    """
    at = node.span[:2]
    changed = [place.store(_grown(em, operation, [snapshot, *forms], node))]
    with em.buffer() as unchanged:
        assert isinstance(snapshot, ast.Name)
        em.emit(py.assign(snapshot.id, py.constant(None, at), at))
        _grow_place(em, node, operation, forms, place, False)
    em.emit(py.if_(py.compare(place.read, ast.Is(), snapshot, at), unchanged, changed, at))


def _settled(em: Emitter, operands: list[nodes.Expr], container: Py) -> list[Py]:
    """Values that may be used more than once, none of them the container's own variable."""
    forms = parts.values(em, operands)
    settled: list[Py] = []
    for form, operand in zip(forms, operands):
        own = isinstance(form, ast.Name) and isinstance(container, ast.Name) and form.id == container.id
        if own or not em.is_stable(form):
            form = em.save(form, operand.span[:2], em.kinds.of(operand))
        settled.append(form)
    return settled


def _grow_place(em: Emitter, node: nodes.Set, operation: str, forms: list[Py], place: Place, is_list: bool) -> None:
    at = node.span[:2]
    kind = "·dict" if operation == "merge" else "·list"
    call_at = node.value.at if isinstance(node.value, nodes.Call) else node.value.span[:2]
    if operation in ("append", "extend"):
        method = py.placed(ast.Attribute(place.read, operation, py.LOAD), call_at)
        in_place: ast.stmt = py.expression(py.call(method, forms, call_at), at)
    else:
        in_place = py.expression(py.runtime(f"{operation}_in_place", [place.read, *forms], call_at), at)
    fits: list[Py] = [] if is_list else [py.is_(py.call(py.name("·type", at), [place.read], at), kind, at)]
    copied: list[ast.stmt] = [place.store(_grown(em, operation, [place.read, *forms], node))]
    if place.always or _surely_owned(em, place):
        em.emit(py.if_(fits[0], [in_place], copied, at) if fits else in_place)
        return
    counted, let_go = _is_alone(em, place, at)
    alone = py.both([counted, *fits], at) if fits else counted
    if place.flag is None:
        em.emit(py.if_(alone, [in_place], copied, at))
        return
    now: Py = py.constant(True, at)
    if place.is_list:
        now = py.is_(py.call(py.name("·type", at), [place.read], at), "·list", at)
    now_owned = py.assign(place.flag, now, at)
    owned: Py = py.name(place.flag, at)
    if fits:
        owned = py.both([owned, *fits], at)
    em.emit(py.if_(owned, [in_place], [py.if_(alone, [in_place], copied, at), *let_go, now_owned], at))
    _note_owned(em, place)


def _grown(em: Emitter, operation: str, forms: list[Py], node: nodes.Set) -> Py:
    """The new container that the operation gives; the old one is unchanged."""
    if operation == "extend":
        assert isinstance(node.value, nodes.Arith)
        return py.runtime("add", forms, node.value.links[0].at)
    assert isinstance(node.value, nodes.Call)
    return py.call(py.name(em.builtin_name(operation), node.value.at), forms, node.value.at)


def _is_alone(em: Emitter, place: Place, at: At) -> tuple[Py, list[ast.stmt]]:
    """Whether only this location holds its container. Also gives the statements that drop the reference which the test
    needed.
    """
    if place.inside:
        assert isinstance(place.read, ast.Name)
        return _counts(at, ALONE_INSIDE, _held(place.read.id, place.read, at)), []
    alone, held = _variable_is_alone(em, place.read, place.counted, at)
    if held is None:
        return alone, []
    if place.flag is None:
        em.state.held.append(held)
        return alone, []
    return alone, [py.assign(held, py.constant(None, at), at)]


def _variable_is_alone(em: Emitter, read: Py, counted: bool, at: At) -> tuple[Py, str | None]:
    """Whether only a variable holds its container, and the local that holds it from then on, if one does."""
    if counted and isinstance(read, ast.Name):
        return _counts(at, ALONE_COUNTED, _held(read.id, read, at)), None
    held = em.counting_local()
    if isinstance(read, ast.Subscript):
        return _counts(at, ALONE_INSIDE, _held(held, read, at)), held
    return _counts(at, ALONE, _held(held, read, at), py.name(held, at)), held


def _held(local: str, value: Py, at: At) -> Py:
    return py.placed(ast.NamedExpr(py.store(local, at), value), at)


def _counts(at: At, alone: int, *values: Py) -> Py:
    counts: list[Py] = [py.call(py.name("·refs", at), [value], at) for value in values]
    total = counts[0]
    for count in counts[1:]:
        total = py.placed(ast.BinOp(total, ast.Add(), count), at)
    return py.compare(total, ast.Eq(), py.constant(alone, at), at)


def _copied_unless(alone: Py, copy: ast.stmt, at: At) -> ast.stmt:
    absent = py.placed(ast.UnaryOp(ast.Not(), alone), at)
    return py.if_(absent, [copy], [], at)


def _own(em: Emitter, place: Place, step: Step, at: At) -> None:
    """Makes the container at a location its only reference, by a shallow copy when it is shared. ``step`` is the next step into
    it.
    """
    if place.owned or place.always or _surely_owned(em, place):
        return
    alone, let_go = _is_alone(em, place, at)
    copy = _copied_unless(alone, place.store(_copy(place.read, step, at)), at)
    if place.flag is None:
        em.emit(copy)
        return
    absent = py.placed(ast.UnaryOp(ast.Not(), py.name(place.flag, at)), at)
    now_owned: Py = py.constant(True, at)
    if place.is_list:
        now_owned = py.is_(py.call(py.name("·type", at), [place.read], at), "·list", at)
    em.emit(py.if_(absent, [copy, *let_go, py.assign(place.flag, now_owned, at)], [], at))
    _note_owned(em, place)


def _copy(read: Py, step: Step, at: At) -> Py:
    """A shallow copy of the type that the step makes likely, without a call of the runtime."""
    own = py.runtime("own", [read], at)
    kind = py.call(py.name("·type", at), [read], at)
    if isinstance(step, nodes.Index) and not isinstance(step.index, nodes.Text):
        every = py.placed(ast.Slice(None, None, None), at)
        return py.conditional(py.is_(kind, "·list", at), py.placed(ast.Subscript(read, every, py.LOAD), at), own, at)
    copied = py.call(py.placed(ast.Attribute(read, "copy", py.LOAD), at), [], at)
    return py.conditional(py.is_(kind, "·dict", at), copied, own, at)


def _surely_owned(em: Emitter, place: Place) -> bool:
    """Whether an earlier statement made the variable the only holder, and no later one shared the container."""
    return place.flag in em.state.owned


def _note_owned(em: Emitter, place: Place) -> None:
    if place.flag is not None and not place.is_list:
        em.state.owned.add(place.flag)


# ---- paths -------------------------------------------------------------------------------------------------------------


def _write_path(em: Emitter, node: nodes.Set, target: Step, dest: Dest) -> None:
    at = node.span[:2]
    steps, root = steps_of(target)
    if not isinstance(root, nodes.Name):
        _invalid(em, node, "Invalid set target: it must start from a variable — bind the value first: let x be …, then set x.…")
        return
    ref = em.resolution.refs[id(node)]
    growth = _growth(em, node)
    indices = [step.index for step in steps if isinstance(step, nodes.Index)]
    operands = [node.value] if growth is None else growth[1]
    root_read = em.variable(ref.variables[0], at) if ref.sure else py.constant(None, at)
    folded = _folded(em, node, steps, indices) if growth is None and dest is None else None
    kept, em.state.kept = em.state.kept, None
    if kept is not None:
        em.state.held.append(kept[1])
        if folded is not None and same_read(target.obj, kept[0]):
            place = Place(py.name(kept[1], at), lambda form: py.expression(form, at), inside=True, owned=True)
            own_key = [target.index] if isinstance(target, nodes.Index) else []
            _put_folded(em, node, target, iter(_settled(em, own_key, root_read)), place, folded)
            _keep(em, node, steps, root, kept[1])
            return
        em.release(at)
    snapshot: Py | None = None
    if growth is not None and not all(calls_nothing(operand) for operand in operands):
        # The operands may call code that writes the path: the operation applies to its value before them.
        assert isinstance(node.value, (nodes.Call, nodes.Arith))
        before = node.value.args[0].value if isinstance(node.value, nodes.Call) else node.value.first
        snapshot = em.save(parts.value(em, before), at)
    if folded is not None:
        given, keys = [], iter(_settled(em, indices, root_read))
    else:
        forms = _settled(em, [*operands, *indices], root_read)
        given, keys = forms[: len(operands)], iter(forms[len(operands) :])
    place = _root(em, node, root, at)
    for step in steps[:-1]:
        _own(em, place, step, at)
        place = _inner(em, place, step, keys)
    last = steps[-1]
    _own(em, place, last, at)
    if growth is None:
        if folded is not None:
            _put_folded(em, node, last, keys, place, folded)
            if place.inside and isinstance(place.read, ast.Name):
                _keep(em, node, steps, root, place.read.id)
        else:
            _put(em, place.read, last, keys, parts.plain(given[0]), at, again=None, place=place)
        if dest is not None:
            deliver(em, dest, given[0], at)
        return
    inner = _inner(em, place, last, keys)
    if snapshot is None:
        _grow_place(em, node, growth[0], given, inner, False)
    else:
        _grow_snapshot(em, node, growth[0], given, inner, snapshot)
    if dest is not None:
        deliver(em, dest, inner.read, at)


def _put_folded(em: Emitter, node: nodes.Set, last: Step, keys: object, place: Place, value: parts.Part) -> None:
    """Writes a value that is evaluated at the moment of the write; it reads the written container through the location."""
    if place.inside and isinstance(place.read, ast.Name):
        em.held_path = last.obj, place.read.id
        value = _written_again(em, node.value) or value
    _put(em, place.read, last, keys, value, node.span[:2], again=node.value, place=place)
    em.held_path = None


def _keep(em: Emitter, node: nodes.Set, steps: list[Step], root: nodes.Name, local: str) -> None:
    """Keeps the container in its local for the next statement, when that writes a scalar into the same one and calls
    nothing.
    """
    following = em.following
    if not isinstance(following, nodes.Set) or not isinstance(following.target, (nodes.Index, nodes.Field, nodes.Of)):
        return
    target = following.target
    if not same_read(target.obj, steps[-1].obj) or em.kinds.of(following.value) not in SCALARS:
        return
    ref, next_ref = em.resolution.refs[id(node)], em.resolution.refs[id(following)]
    if not (ref.sure and next_ref.sure and ref.variables == next_ref.variables) or _growth(em, following) is not None:
        return
    indices = [step.index for step in steps[:-1] if isinstance(step, nodes.Index)]
    own_key = [target.index] if isinstance(target, nodes.Index) else []
    if not all(calls_nothing(part) for part in [following.value, *own_key]) or any(reads(i, root.id) for i in indices):
        return
    em.state.held.remove(local)
    em.state.kept = steps[-1].obj, local


def _folded(em: Emitter, node: nodes.Set, steps: list[Step], indices: list[nodes.Expr]) -> parts.Part | None:
    """The value's part when it may be evaluated at the moment of the write.

    That holds when it calls nothing and cannot be the written container itself: a scalar, or a read of a path of one step.
    """
    scalar = em.kinds.of(node.value) in SCALARS
    if not (scalar or (len(steps) == 1 and isinstance(node.value, (nodes.Index, nodes.Field)))):
        return None
    if not all(calls_nothing(index) for index in indices):
        return None
    return _written_again(em, node.value)


def _written_again(em: Emitter, value: nodes.Expr) -> parts.Part | None:
    """The same value's part, compiled again with what is known now; ``None`` when it needs statements of its own."""
    with em.buffer() as before:
        part = parts.tree(em, value)
    return None if before or part.exact is None else part


def _root(em: Emitter, node: nodes.Set, root: nodes.Name, at: At) -> Place:
    ref = em.resolution.refs[id(node)]
    if ref.sure:
        return _variable_place(em, ref.variables[0], at)
    # The variable is known only at run time: works on a local, then stores it back.
    local = em.temporary(None)
    variables = list(ref.variables)
    fallback = variables.pop() if ref.outside == "none" else None
    outer = em.out
    for variable in variables:
        tail: list[ast.stmt] = []
        value = em.variable(variable, at)
        own = em.store_variable(variable, py.runtime("own", [value], at), at)
        alone, held = _variable_is_alone(em, value, em.ownership.counts(variable), at)
        if held is not None:
            em.state.held.append(held)
        take: list[ast.stmt] = [_copied_unless(alone, own, at), py.assign(local, value, at)]
        em.emit(py.if_(py.is_not(value, "·UNSET", at), take, tail, at))
        em.out = tail
    if fallback is not None:
        value = em.variable(fallback, at)
        own = em.store_variable(fallback, py.runtime("own", [value], at), at)
        alone, held = _variable_is_alone(em, value, em.ownership.counts(fallback), at)
        if held is not None:
            em.state.held.append(held)
        em.emit(_copied_unless(alone, own, at))
        em.emit(py.assign(local, value, at))
    elif ref.outside == "entry":
        em.emit(py.assign(local, py.unit_call("own_existing", [py.constant(root.id, at)], at), at))
    else:
        named = root.span[:2]
        em.emit(py.raises(py.runtime("cannot_set", [py.constant(root.id, named)], named), named))
    em.out = outer
    # The variable holds the same container now, so a write through the local also writes the variable's value.
    read = py.name(local, at)
    return Place(read, lambda form: py.expression(form, at), owned=True)


def _key_form(step: Step, keys: object) -> Py:
    if isinstance(step, nodes.Index):
        assert hasattr(keys, "__next__")
        form: Py = next(keys)
        return form
    return py.constant(step.name, step.at)


def _inner(em: Emitter, place: Place, step: Step, keys: object) -> Place:
    """Descends one level: reads the value there into a local."""
    key = _key_form(step, keys)
    at = step.at
    local = em.temporary(None)
    native = py.subscript(place.read, key, at, 1 if isinstance(step, nodes.Index) else 0)
    exact = py.runtime("index" if isinstance(step, nodes.Index) else "field", [place.read, key], at)
    em.emit(parts.region([py.assign(local, native, at)], [py.assign(local, exact, at)], at))
    holder = place.read

    def store(form: Py) -> ast.stmt:
        # the copy is stored in the local first, then in the outer container
        put = py.runtime("put", [holder, key, py.placed(ast.NamedExpr(py.store(local, at), form), at)], at)
        return py.expression(put, at)

    return Place(py.name(local, at), store, inside=True)


def _put(
    em: Emitter,
    container: Py,
    step: Step,
    keys: object,
    value: parts.Part,
    statement_at: At,
    *,
    again: nodes.Expr | None,
    place: Place,
) -> None:
    """The last step: stores the value under its key. A value that cannot be written into is an error at the statement.

    ``again`` is the expression of a value that is evaluated at the moment of the write.
    """
    list_flag = place.flag if place.is_list else None
    at = step.at
    key = _key_form(step, keys)
    general = value.native
    exact = general if value.exact is None else value.exact
    native = _stored(container, key, general, at)
    if not isinstance(step, nodes.Index):
        refused = py.expression(py.runtime("set_field", [container, key, exact], statement_at), at)
        em.emit(parts.region([native], [refused], at))
        return
    slow: list[ast.stmt] = [
        py.expression(py.runtime("writable", [container, exact], statement_at), statement_at),
        py.expression(py.runtime("set_index", [container, key, exact], at), at),
    ]
    kind = em.kinds.of(step.index)
    container_kind = em.kinds.of(step.obj)
    container_type = py.call(py.name("·type", at), [container], at)
    if isinstance(step.index, nodes.Text) or (kind == "str" or (kind == "int" and container_kind == "list")):
        em.emit(parts.region([native], slow, at))
    elif kind == "int":
        fits: Py = py.is_(container_type, "·list", at) if list_flag is None else py.name(list_flag, at)
        em.emit(py.if_(fits, [parts.region([native], slow, at)], slow, at))
    else:
        key_type = py.call(py.name("·type", at), [key], at)
        if again is not None and isinstance(key, ast.Name):
            em.text_local = key.id
            value = _written_again(em, again) or value
            em.text_local = None
            native = _stored(container, key, value.native, at)
        # a list refuses a text as its index, but a map would accept an integer as its key
        as_map: list[ast.stmt] = [native]
        if value.risky or container_kind != "map":
            as_map = [parts.region([native], slow, at)]
        otherwise = slow
        is_int = py.is_(key_type, "·int", at)
        if container_kind == "list":
            em.emit(py.if_(is_int, [parts.region([_stored(container, key, general, at)], slow, at)], slow, at))
            return
        if container_kind != "map":
            in_list: list[ast.stmt] = [parts.region([_stored(container, key, general, at)], slow, at)]
            is_list = py.both([is_int, py.is_(container_type, "·list", at)], at)
            otherwise = [py.if_(is_list, in_list, slow, at)]
        em.emit(py.if_(py.is_(key_type, "·str", at), as_map, otherwise, at))


def _stored(container: Py, key: Py, value: Py, at: At) -> ast.stmt:
    return py.placed(ast.Assign([py.placed(ast.Subscript(container, key, py.STORE), at)], value), at)
