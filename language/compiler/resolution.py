"""What the walk over one unit finds: its variables, scopes and Python functions, and what each name means."""

from __future__ import annotations

from dataclasses import dataclass, field

from language.syntax import nodes

#: A scope that begins again each time it is entered, within the Python function around it.
FRESH = "fresh"
#: The scope of a Python function.
FUNCTION = "function"


class Variable:
    """One variable of the program."""

    __slots__ = (
        *("name", "scope", "owner", "python", "captured", "set_inside", "checked", "values"),
        *("is_param", "grown", "follows", "escapes", "binds_once", "task"),
    )

    def __init__(self, name: str, scope: Scope, python: str) -> None:
        self.name = name
        self.scope = scope
        self.owner = scope.function
        self.python = python
        self.captured = False
        self.set_inside = False
        self.checked = False
        self.is_param = False
        #: everything that is assigned to it; ``None`` for a value unknown to the compiler, ``path`` for a write into it
        self.values: list[Value] = []
        #: whether ``append``, ``insert``, ``merge`` or ``+ [..]`` of itself is assigned to it
        self.grown = False
        #: whether only ``let``, ``set``, parameters and ``each`` bind it, so that it can be tracked
        self.follows = True
        #: whether nothing can bind it a second time in its scope, and no closure is made before it is bound
        self.binds_once = True
        #: the task whose definition binds it
        self.task: nodes.Task | None = None
        #: whether any read shares its value
        self.escapes = False

    @property
    def lent(self) -> bool:
        """Whether a closure captures it from a scope that begins again in a loop."""
        return self.captured and self.scope.kind == FRESH and self.scope.in_loop

    @property
    def boxed(self) -> bool:
        """Whether it is such a variable that is bound more than once: its closures share a box. Others are captured by
        value.
        """
        return self.lent and not (self.binds_once and len(self.values) == 1)

    def __repr__(self) -> str:
        return f"<{self.python}>"


class ItemOf:
    """The value of a loop variable: an item of the iterated value."""

    __slots__ = ("iterable",)

    def __init__(self, iterable: nodes.Expr) -> None:
        self.iterable = iterable


Value = nodes.Expr | ItemOf | str | None


class Function:
    """A Python function to be made: the program's main, a task, a lambda, a test block."""

    __slots__ = ("assigned_outer", "node", "parent", "uses")

    def __init__(self, parent: Function | None, node: object) -> None:
        self.parent = parent
        self.node = node
        #: variables of enclosing functions that this one assigns
        self.assigned_outer: set[Variable] = set()
        #: variables of enclosing functions that this one, or one inside it, reads or assigns
        self.uses: set[Variable] = set()


class Scope:
    __slots__ = ("function", "kind", "loops", "names", "parent")

    def __init__(self, parent: Scope | None, function: Function, kind: str, loops: int) -> None:
        self.parent = parent
        self.function = function
        self.kind = kind
        #: how many loops of its function enclose the scope
        self.loops = loops
        self.names: dict[str, Variable] = {}

    @property
    def in_loop(self) -> bool:
        return self.loops > 0


@dataclass(slots=True)
class Ref:
    """What a name means at one place: variables to try in order, then what lies outside of the unit.

    ``outside`` is ``builtin``, ``entry`` (a global of the entry program, looked up by name at run time) or ``undefined``.
    With ``sure`` the single variable is certainly bound. ``variables`` may be empty.
    """

    variables: tuple[Variable, ...]
    outside: str
    sure: bool


@dataclass(slots=True)
class Resolution:
    """The result for one unit, by ``id`` of the syntax node."""

    main: Function
    top: Scope
    refs: dict[int, Ref] = field(default_factory=dict)
    bound: dict[tuple[int, str], Variable] = field(default_factory=dict)
    functions: dict[int, Function] = field(default_factory=dict)
    scopes: dict[int, Scope] = field(default_factory=dict)
    prebound: list[Variable] = field(default_factory=list)
    variables: list[Variable] = field(default_factory=list)
    #: whether a module is imported anywhere: it may read and set globals by name
    uses_modules: bool = False
    loose_stop: bool = False
    #: whether a builtin is read that finds tasks by name at run time
    names_tasks: bool = False
