"""The state of one compilation: the Python function being made, its statements so far, its temporaries.

Where it makes programs faster, an expression is compiled in two forms. The *native* form uses Python's own operators; the
*exact* form calls the runtime. The native form runs inside a ``try``, which costs nothing while no exception is raised. When
Python refuses an operation for which the language has a result or another error, the exact form is evaluated. That is safe
because such a region contains only names, literals, reads and operators: calls are evaluated before it, in order, into
temporaries.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from language.compiler import python_ast as py
from language.compiler.kinds import Kind, Kinds
from language.compiler.ownership import Ownership
from language.compiler.python_ast import At, Py
from language.compiler.resolution import Function, Ref, Resolution, Variable
from language.compiler.serve_facts import CapabilitiesUsed
from language.syntax import nodes

if TYPE_CHECKING:
    from language.registry import Builtin

#: Kinds whose values hold no container: a temporary of such a kind need not be cleared.
SCALARS = frozenset(("int", "nonint", "num", "bool", "none", "task", "str", "text", "scalar"))

#: The prefix of locals that hold a container while its references are counted.
COUNTING = "·held"


class FunctionState:
    """State of the Python function that is being made."""

    __slots__ = ("blocks", "function", "held", "is_task", "kept", "loops", "outer_loops", "outlined", "owned", "temporaries")

    def __init__(self, function: Function, *, is_task: bool, outlined: bool = False, outer_loops: bool = False) -> None:
        self.function = function
        #: a block that was moved into a function of its own, and whether it is inside a loop
        self.outlined = outlined
        self.outer_loops = outer_loops
        self.temporaries = 0
        #: temporaries of the current statement that may hold a container
        self.held: list[str] = []
        #: a path whose container the statement before wrote into, and the local that still holds that container
        self.kept: tuple[nodes.Expr, str] | None = None
        self.is_task = is_task
        #: how many loops enclose this point in the function
        self.loops = 0
        #: how many of CPython's static blocks (loops, tries) enclose this point
        self.blocks = 0
        #: ownership flags that are certainly true at this point
        self.owned: set[str] = set()


class _Buffer:
    """Collects statements in a list of its own for a while."""

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
    """Compiles one unit. ``context_builtins`` collects the builtins that a run binds to its context."""

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
        #: whether no operation may take long, nor make a value beyond the memory limit (``language.values.allowance``)
        self.interruptible = interruptible
        self.is_module = is_module
        #: whether every call's result is assigned to a local, so that no expression is nested deeply
        self.flat = flat
        self.out: list[ast.stmt] = []
        self.state = FunctionState(resolution.main, is_task=False)
        self.shared_builtins: set[str] = set()
        self.context_builtins: set[str] = set()
        self.decimals: dict[str, str] = {}
        self.loop_catches = resolution.loose_stop or resolution.uses_modules or is_module
        self._steady = self._steady_names()
        self.ownership = Ownership(resolution, self._steady, program, kinds, builtins)
        #: by ``id``: products whose guards are part of the operation around them
        self.unguarded: set[int] = set()
        #: the fields of types whose names cannot mean anything else, for definitions above this point
        self.records: dict[Variable, tuple[str, ...]] = {}
        #: a path of the current statement that a local already holds: the path as it is read, and the local
        self.held_path: tuple[nodes.Expr, str] | None = None
        #: the next statement, when the value of the current one is not used
        self.following: nodes.Stmt | None = None
        #: a local that certainly holds a text at this point
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
        """A new local. One that may hold a container is cleared at the end of the statement."""
        state = self.state
        state.temporaries += 1
        name = f"·{state.temporaries}"
        if kind not in SCALARS:
            state.held.append(name)
        return name

    def counting_local(self) -> str:
        """A new local for a container while its references are counted. It is never shared with a nested function."""
        self.state.temporaries += 1
        return f"{COUNTING}{self.state.temporaries}"

    def save(self, value: Py, at: At, kind: Kind = None) -> Py:
        """Evaluates a value now, into a temporary."""
        name = self.temporary(kind)
        self.emit(py.assign(name, value, at))
        return py.name(name, at)

    def release(self, at: At) -> None:
        """Clears the temporaries of the statement: their references would prevent writes in place."""
        state = self.state
        if state.held:
            targets: list[Py] = [py.store(name, at) for name in state.held]
            self.emit(py.placed(ast.Assign(targets, py.constant(None, at)), at))
            state.held = []

    # ---- names ----------------------------------------------------------------------------------------------------------

    def builtin_name(self, name: str) -> str:
        """The Python name of a builtin; records its use."""
        builtin = self.builtins.get(name)
        if builtin is not None and builtin.context:
            self.context_builtins.add(name)
        else:
            self.shared_builtins.add(name)
        return name + "·b"

    def opens(self, variable: Variable) -> bool:
        """Whether code outside of the unit may access the variable."""
        return (self.resolution.uses_modules or self.is_module) and variable.scope.parent is None

    def static_builtin(self, node: nodes.Expr) -> str | None:
        """The builtin that a name certainly means, if any."""
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
        """Records a new value of a variable, for whether the variable is its only holder."""
        flag = self.ownership.flag(variable)
        if flag is not None:
            fresh = value is not None and self.ownership.is_fresh(value)
            self.emit(py.assign(flag, py.constant(fresh, at), at))
            self.state.owned.discard(flag)
            if fresh and not self.ownership.is_list(variable):
                self.state.owned.add(flag)

    def let_out(self, expression: nodes.Expr, at: At) -> None:
        """Records that evaluating the expression may share the containers of variables."""
        for variable in self.ownership.escaping(expression):
            self.shared(variable, at)

    def shared(self, variable: Variable, at: At) -> None:
        flag = self.ownership.flag(variable)
        if flag is not None:
            self.emit(py.assign(flag, py.constant(False, at), at))
            self.state.owned.discard(flag)

    def outside(self, name: str, where: str, at: At) -> Py:
        """A name that is no variable of the unit."""
        if where == "builtin":
            return py.name(self.builtin_name(name), at)
        if where == "entry":
            return py.call(py.placed(ast.Attribute(py.name("·unit", at), "lookup", py.LOAD), at), [py.constant(name, at)], at)
        return py.runtime("undefined", [py.constant(name, at)], at)

    def record(self, node: nodes.Expr, count: int) -> tuple[str, ...] | None:
        """The fields of the type that a called name certainly means, if that has ``count`` fields."""
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
        """Whether evaluating siblings first changes neither this expression's value nor the order of errors."""
        if type(expression) is ast.Constant:
            return True
        if type(expression) is not ast.Name:
            return False
        identifier = expression.id
        return identifier.startswith("·") or identifier.endswith("·b") or identifier in self._steady

    def _steady_names(self) -> frozenset[str]:
        """The Python names of plain reads that no call changes: certainly bound, assigned in their own function only."""
        unsure = {v for ref in self.resolution.refs.values() if not ref.sure for v in ref.variables}
        open_globals = self.resolution.uses_modules or self.is_module
        return frozenset(
            v.python
            for v in self.resolution.variables
            if not (v.set_inside or v.checked or v in unsure or v.boxed or (open_globals and v.scope.parent is None))
        )
