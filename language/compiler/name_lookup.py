"""The names in force at one point of a walk: which variable each means, and which of them are certainly bound there.

The language looks names up when they are read: a name that is not bound yet means the one of the outer scope. A read of a
certainly bound variable becomes a plain read of a Python local. A read of one that may be unbound, and has an outer variable
of the same name, is checked at run time.
"""

from __future__ import annotations

from language.compiler import python_ast as py
from language.compiler.bound_names import declared_names
from language.compiler.resolution import FRESH, FUNCTION, Function, Ref, Resolution, Scope, Value, Variable
from language.syntax import nodes

#: The builtin whose pages can read every global by name.
READING_GLOBALS = "render"


class NameLookup:
    """Binds, reads and assigns names where the walk stands.

    ``builtins`` are the known names, ``naming_tasks`` those of builtins that find tasks by name, ``session`` the names that
    are defined outside of the unit. ``is_module`` decides what an unknown name means.
    """

    def __init__(
        self, builtins: frozenset[str], naming_tasks: frozenset[str], *, is_module: bool, session: frozenset[str]
    ) -> None:
        self._builtins = builtins
        self._naming_tasks = naming_tasks
        #: builtins that the program rebinds by ``set``: they become globals, which needs a second walk
        self.builtins_set: frozenset[str] = frozenset()
        self._is_module = is_module
        self._session = session
        self._taken: dict[str, int] = {}
        self._sure: set[Variable] = set()
        #: the same, in the order in which they became it
        self._made_sure: list[Variable] = []
        self._maybe: set[Variable] = set()
        #: how many loops of the function enclose the place
        self._loops = 0
        self._reads_globals = False
        main = Function(None, None)
        self._scope = Scope(None, main, FUNCTION, 0)
        self.result = Resolution(main, self._scope)

    # ---- declarations ---------------------------------------------------------------------------------------------------

    def _variable(self, name: str, scope: Scope) -> Variable:
        known = scope.names.get(name)
        if known is not None:
            return known
        count = self._taken.get(name, 0)
        self._taken[name] = count + 1
        variable = Variable(name, scope, name if count == 0 and name not in py.TAKEN else f"{name}·{count}")
        scope.names[name] = variable
        self.result.variables.append(variable)
        return variable

    def _declare(self, block: nodes.Block, scope: Scope) -> None:
        """Declares the names that the statements bind in this scope, without those of inner scopes."""
        for name in declared_names(block):
            if scope.parent is None and name in self._session:
                continue
            self._variable(name, scope)

    def _bind(self, node: object, name: str, value: Value) -> Variable | None:
        """A ``let``-like binding in the current scope; ``None`` for a name of the REPL session, which is assigned by name."""
        scope = self._scope
        if name not in scope.names and scope.parent is None and name in self._session:
            return None
        variable = self._variable(name, scope)
        variable.values.append(value)
        if self._loops > scope.loops:
            variable.binds_once = False
        self.result.bound[id(node), name] = variable
        self._make_sure(variable)
        self._maybe.add(variable)
        return variable

    def _bind_unknown(self, node: object, name: str) -> None:
        """Binds a name to a value that is known at run time only."""
        variable = self._bind(node, name, None)
        if variable is None:
            self._assign(node, name, None)
        else:
            variable.follows = variable.binds_once = False

    # ---- what is surely bound -------------------------------------------------------------------------------------------

    def _make_sure(self, variable: Variable) -> None:
        if variable not in self._sure:
            self._sure.add(variable)
            self._made_sure.append(variable)

    def _undo(self, mark: int) -> set[Variable]:
        """Undoes the certain bindings made since that list had the length ``mark``, and returns them."""
        since = self._made_sure[mark:]
        del self._made_sure[mark:]
        self._sure.difference_update(since)
        return set(since)

    def _after_one_of(self, ends: list[set[Variable]]) -> None:
        """Joins alternative branches: certainly bound is what each of them bound."""
        if ends:
            for variable in set.intersection(*ends):
                self._make_sure(variable)

    # ---- lookups --------------------------------------------------------------------------------------------------------

    def _lookup(self, name: str) -> Ref:
        candidates: list[Variable] = []
        scope: Scope | None = self._scope
        here = self._scope.function
        sure = False
        while scope is not None:
            variable = scope.names.get(name)
            if variable is not None:
                if variable in self._sure:
                    candidates.append(variable)
                    sure = True
                    break
                if variable.owner is not here or variable in self._maybe:
                    candidates.append(variable)
            scope = scope.parent
        if sure:
            outside = "none"
        elif name in self._session:
            outside = "entry"
        elif name in self._builtins:
            outside = "builtin"
        elif self._is_module or self._session:
            outside = "entry"  # in a REPL session: possibly a name of a later input
        else:
            outside = "undefined"
        if len(candidates) > 1 or (candidates and not sure and outside != "undefined"):
            for variable in candidates:
                if variable not in self._sure:
                    variable.checked = True
        for variable in candidates:
            if variable not in self._sure and variable.scope.kind == FRESH and variable.scope.in_loop:
                variable.checked = True  # the Python local still holds the value of the previous round
            if variable.owner is not here:
                variable.captured = True
                if not sure:
                    variable.binds_once = False
                function: Function | None = here
                while function is not None and function is not variable.owner:
                    function.uses.add(variable)
                    function = function.parent
        return Ref(tuple(candidates), outside, sure and len(candidates) == 1)

    def _read(self, node: object, name: str) -> None:
        ref = self._lookup(name)
        self.result.refs[id(node)] = ref
        if ref.outside == "builtin" and (name in self._naming_tasks or name == READING_GLOBALS):
            self.result.names_tasks = True
            self._reads_globals |= name == READING_GLOBALS

    def _assign(self, node: object, name: str, value: Value) -> None:
        ref = self._lookup(name)
        if ref.outside == "builtin" and not self._is_module:
            self.builtins_set |= {name}
        here = self._scope.function
        for variable in ref.variables:
            variable.values.append(value)
            if not ref.sure:
                variable.checked = True
            if variable.owner is not here:
                variable.set_inside = True
                here.assigned_outer.add(variable)
        self.result.refs[id(node)] = ref
