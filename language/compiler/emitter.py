"""The state of one compilation: the Python function being written, its statements so far, its temporaries.

Expressions are written in two ways at once where it pays: the *native* form uses Python's own operators, the *exact* form
calls the runtime. The native form runs inside a ``try`` that costs nothing; when Python refuses an operation for which the
language has an answer, or an error of its own to tell, the exact form is evaluated in its place. That is safe because such a
region holds only names, literals, reads and operators: calls are evaluated before it, in order, into temporaries.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from language.compiler import python_ast as py
from language.compiler.kinds import Kind, Kinds
from language.compiler.ownership import Ownership
from language.compiler.python_ast import At, Py
from language.compiler.resolver import Function, Ref, Resolution, Variable
from language.compiler.serve_facts import CapabilitiesUsed
from language.syntax import nodes

if TYPE_CHECKING:
    from language.registry import Builtin

#: Kinds whose values hold no container: a temporary of them may live on.
SCALARS = frozenset(("int", "nonint", "num", "bool", "none", "task", "str", "text", "scalar"))

#: How the locals begin that hold a container while its references are counted.
COUNTING = "·held"


class FunctionState:
    """What belongs to the Python function being written."""

    __slots__ = ("blocks", "function", "held", "is_task", "kept", "loops", "outer_loops", "outlined", "owned", "temporaries")

    def __init__(self, function: Function, *, is_task: bool, outlined: bool = False, outer_loops: bool = False) -> None:
        self.function = function
        #: a block moved into a function of its own, and whether a loop stands around it
        self.outlined = outlined
        self.outer_loops = outer_loops
        self.temporaries = 0
        #: temporaries of the statement being written that may hold a container
        self.held: list[str] = []
        #: a path whose container the statement before wrote into, and the local that still holds it
        self.kept: tuple[nodes.Expr, str] | None = None
        self.is_task = is_task
        #: how many loops enclose this point in the function
        self.loops = 0
        #: how many of CPython's static blocks (loops, tries) enclose this point
        self.blocks = 0
        #: ownership flags that are surely true at this point
        self.owned: set[str] = set()


class _Buffer:
    """A list of statements of its own for a while."""

    __slots__ = ("_emitter", "_outer")

    def __init__(self, emitter: Emitter) -> None:
        self._emitter = emitter
        self._outer = emitter.out

    def __enter__(self) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        self._emitter.out = out
        return out

    def __exit__(self, *_: object) -> None:
        self._emitter.out = self._outer


class Emitter:
    """Writes one unit. ``context_builtins`` collects the builtins that a run binds to its context."""

    def __init__(
        self,
        resolution: Resolution,
        kinds: Kinds,
        program: nodes.Program,
        builtins: dict[str, Builtin],
        constants: frozenset[str],
        *,
        metered: bool,
        interruptible: bool = False,
        is_module: bool,
        flat: bool = False,
    ) -> None:
        self.resolution = resolution
        self.kinds = kinds
        self.builtins = builtins
        gates = {name: builtin.capability for name, builtin in builtins.items() if builtin.capability is not None}
        self.capabilities_used = CapabilitiesUsed(program, gates)
        self.constants = constants
        self.metered = metered
        #: whether no operation may take long, and none make a value beyond all memory (``language.values.allowance``)
        self.interruptible = interruptible
        self.is_module = is_module
        #: whether every call's result goes into a local, so that no expression nests deep
        self.flat = flat
        self.out: list[ast.stmt] = []
        self.state = FunctionState(resolution.main, is_task=False)
        self.shared_builtins: set[str] = set()
        self.context_builtins: set[str] = set()
        self.decimals: dict[str, str] = {}
        self.loop_catches = resolution.loose_stop or resolution.uses_modules or is_module
        self._steady = self._steady_names()
        self.ownership = Ownership(resolution, self._steady, program, kinds, builtins)
        #: products whose guards stand in the operation around them, by ``id``
        self.unguarded: set[int] = set()
        #: the fields of types whose names nothing else can mean, as far as their definitions stand above
        self.records: dict[Variable, tuple[str, ...]] = {}
        #: a path of the statement being written that a local holds by now: the path as it is read, and the local
        self.held_path: tuple[nodes.Expr, str] | None = None
        #: the statement behind the one being written, when its value is not wanted
        self.following: nodes.Stmt | None = None
        #: a local that surely holds a text where the code being written runs
        self.text_local: str | None = None
        #: ``intent`` statements of the preamble, by ``id``
        self.preamble: frozenset[int] = frozenset()

    # ---- statements and temporaries -------------------------------------------------------------------------------------

    def emit(self, statement: ast.stmt) -> None:
        self.out.append(statement)

    def buffer(self) -> _Buffer:
        """Statements emitted inside ``with em.buffer() as statements`` go into that list."""
        return _Buffer(self)

    def temporary(self, kind: Kind = None) -> str:
        """A fresh local; one that may hold a container is cleared at the end of the statement."""
        state = self.state
        state.temporaries += 1
        name = f"·{state.temporaries}"
        if kind not in SCALARS:
            state.held.append(name)
        return name

    def counting_local(self) -> str:
        """A fresh local that holds a container while its references are counted, and is never shared with a nested function."""
        self.state.temporaries += 1
        return f"{COUNTING}{self.state.temporaries}"

    def save(self, value: Py, at: At, kind: Kind = None) -> Py:
        """Evaluates a value now, into a temporary."""
        name = self.temporary(kind)
        self.emit(py.assign(name, value, at))
        return py.name(name, at)

    def release(self, at: At) -> None:
        """Clears the temporaries of the statement, so that they do not keep containers from being written in place."""
        state = self.state
        if state.held:
            targets: list[Py] = [py.store(name, at) for name in state.held]
            self.emit(py.placed(ast.Assign(targets, py.constant(None, at)), at))
            state.held = []

    # ---- names ----------------------------------------------------------------------------------------------------------

    def builtin_name(self, name: str) -> str:
        """The Python name of a builtin, noted as used."""
        builtin = self.builtins.get(name)
        if builtin is not None and builtin.context:
            self.context_builtins.add(name)
        else:
            self.shared_builtins.add(name)
        return name + "·b"

    def opens(self, variable: Variable) -> bool:
        """Whether code outside of the unit may reach the variable."""
        return (self.resolution.uses_modules or self.is_module) and variable.scope.parent is None

    def static_builtin(self, node: nodes.Expr) -> str | None:
        """The builtin that a name surely means, if it does."""
        if type(node) is not nodes.Name:
            return None
        ref = self.resolution.refs.get(id(node))
        if ref is None or ref.variables or ref.outside != "builtin" or node.id in self.constants:
            return None
        return node.id

    def variable(self, variable: Variable, at: At) -> Py:
        """Reads a variable that is bound."""
        if variable.boxed:
            return py.placed(ast.Subscript(py.name(variable.python, at), py.constant(0, at), py.LOAD), at)
        return py.name(variable.python, at)

    def store_variable(self, variable: Variable, value: Py, at: At) -> ast.stmt:
        if variable.boxed:
            target = py.placed(ast.Subscript(py.name(variable.python, at), py.constant(0, at), py.STORE), at)
            return py.placed(ast.Assign([target], value), at)
        return py.assign(variable.python, value, at)

    def bind(self, variable: Variable, value: Py, at: At) -> None:
        self.emit(self.store_variable(variable, value, at))

    def bound(self, variable: Variable, value: nodes.Expr | None, at: At) -> None:
        """Notes a new value of a variable: whether the variable is its only holder."""
        flag = self.ownership.flag(variable)
        if flag is not None:
            fresh = value is not None and self.ownership.is_fresh(value)
            self.emit(py.assign(flag, py.constant(fresh, at), at))
            self.state.owned.discard(flag)
            if fresh and not self.ownership.is_list(variable):
                self.state.owned.add(flag)

    def let_out(self, expression: nodes.Expr, at: At) -> None:
        """Notes that evaluating the expression may let the containers of variables out."""
        for variable in self.ownership.escaping(expression):
            self.shared(variable, at)

    def shared(self, variable: Variable, at: At) -> None:
        flag = self.ownership.flag(variable)
        if flag is not None:
            self.emit(py.assign(flag, py.constant(False, at), at))
            self.state.owned.discard(flag)

    def outside(self, name: str, where: str, at: At) -> Py:
        """A name that no variable of the unit holds."""
        if where == "builtin":
            return py.name(self.builtin_name(name), at)
        if where == "entry":
            return py.call(py.placed(ast.Attribute(py.name("·unit", at), "lookup", py.LOAD), at), [py.constant(name, at)], at)
        return py.runtime("undefined", [py.constant(name, at)], at)

    def record(self, node: nodes.Expr, count: int) -> tuple[str, ...] | None:
        """The fields of the type that a called name surely means, if it has that many."""
        ref = self.resolution.refs.get(id(node)) if type(node) is nodes.Name else None
        if ref is None or not ref.sure:
            return None
        fields = self.records.get(ref.variables[0])
        return fields if fields is not None and len(fields) == count else None

    def read(self, node: nodes.Name) -> Py:
        """The value of a name."""
        at = node.span[:2]
        ref = self.resolution.refs[id(node)]
        return self.read_ref(ref, node.id, at)

    def read_ref(self, ref: Ref, name: str, at: At) -> Py:
        variables = ref.variables
        if ref.sure or (len(variables) == 1 and not variables[0].checked and not variables[0].boxed):
            return self.variable(variables[0], at)
        if ref.outside == "none":
            result = self.variable(variables[-1], at)
            variables = variables[:-1]
        else:
            result = self.outside(name, ref.outside, at)
        for variable in reversed(variables):
            value = self.variable(variable, at)
            result = py.conditional(py.is_not(value, "·UNSET", at), value, result, at)
        return result

    def is_stable(self, expression: Py) -> bool:
        """Whether evaluating siblings first cannot change what this expression gives, nor the order of errors."""
        if type(expression) is ast.Constant:
            return True
        if type(expression) is not ast.Name:
            return False
        identifier = expression.id
        return identifier.startswith("·") or identifier.endswith("·b") or identifier in self._steady

    def _steady_names(self) -> frozenset[str]:
        """The Python names that are plain reads which no call changes: surely bound, written by their own function only."""
        unsure = {v for ref in self.resolution.refs.values() if not ref.sure for v in ref.variables}
        open_globals = self.resolution.uses_modules or self.is_module
        return frozenset(
            v.python
            for v in self.resolution.variables
            if not (v.set_inside or v.checked or v in unsure or v.boxed or (open_globals and v.scope.parent is None))
        )
