"""Names resolved before anything runs: which variable a name means, who captures it, what is surely bound where.

The language looks names up when they are read: a name may be unbound where it is read and then means the outer one. The walk
here follows the order of execution and keeps two facts about every variable at every point: it is surely bound, or it may be.
A read of a surely bound variable is a plain read of a Python local; one that may be unbound and has an outer namesake is
checked when it runs; everything else is decided here.

Scopes that begin afresh each time (a round of ``each``, a match arm, ``recover``, ``sandbox``) live in the Python function
around them. A variable of such a scope that a closure captures is *boxed*, so that every round has its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from language.compiler import python_ast as py
from language.compiler.serve_facts import clause_values, deferred_values, handler_names, proxied
from language.syntax import nodes

#: The builtin whose pages read every global by its name.
READING_GLOBALS = "render"

FRESH = "fresh"
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
        #: what is assigned anywhere; ``None`` stands for a value the compiler does not see, ``path`` for a write into it
        self.values: list[Value] = []
        #: whether ``append``, ``insert``, ``merge`` or ``+ [..]`` of itself is assigned to it
        self.grown = False
        #: whether only ``let``, ``set``, parameters and ``each`` bind it
        self.follows = True
        #: whether nothing can bind it a second time in its scope, nor a closure be made before it is bound
        self.binds_once = True
        #: the task whose definition binds it
        self.task: nodes.Task | None = None
        #: whether a read somewhere lets its value out
        self.escapes = False

    @property
    def lent(self) -> bool:
        """Captured by a closure out of a scope that begins afresh in a loop."""
        return self.captured and self.scope.kind == FRESH and self.scope.in_loop

    @property
    def boxed(self) -> bool:
        """Lent to closures and bound more than once: all of them share a box. What is bound once they get as it is."""
        return self.lent and not (self.binds_once and len(self.values) == 1)

    def __repr__(self) -> str:
        return f"<{self.python}>"


class ItemOf:
    """The value of a loop variable: an item of what the loop walks."""

    __slots__ = ("iterable",)

    def __init__(self, iterable: nodes.Expr) -> None:
        self.iterable = iterable


Value = nodes.Expr | ItemOf | str | None


class Function:
    """One Python function to be: the program's main, a task, a lambda, a test block."""

    __slots__ = ("assigned_outer", "node", "parent", "uses")

    def __init__(self, parent: Function | None, node: object) -> None:
        self.parent = parent
        self.node = node
        #: variables of enclosing functions that this one assigns
        self.assigned_outer: set[Variable] = set()
        #: variables of enclosing functions that this one or one inside it reads or assigns
        self.uses: set[Variable] = set()


class Scope:
    __slots__ = ("function", "kind", "loops", "names", "parent")

    def __init__(self, parent: Scope | None, function: Function, kind: str, loops: int) -> None:
        self.parent = parent
        self.function = function
        self.kind = kind
        #: how many loops of its function stand around the scope
        self.loops = loops
        self.names: dict[str, Variable] = {}

    @property
    def in_loop(self) -> bool:
        return self.loops > 0


@dataclass(slots=True)
class Ref:
    """What a name means at one place: variables to try in order, then what lies outside of the unit.

    ``outside`` is ``builtin``, ``entry`` (a global of the entry program, looked up by name when it runs) or ``undefined``. When
    ``sure`` the single variable is surely bound. ``variables`` may be empty.
    """

    variables: tuple[Variable, ...]
    outside: str
    sure: bool


@dataclass(slots=True)
class Resolution:
    """The outcome for one unit, keyed by ``id`` of the syntax node."""

    main: Function
    top: Scope
    refs: dict[int, Ref] = field(default_factory=dict)
    bound: dict[tuple[int, str], Variable] = field(default_factory=dict)
    functions: dict[int, Function] = field(default_factory=dict)
    scopes: dict[int, Scope] = field(default_factory=dict)
    prebound: list[Variable] = field(default_factory=list)
    variables: list[Variable] = field(default_factory=list)
    #: whether a module is imported anywhere: it may read and set the globals by their names
    uses_modules: bool = False
    loose_stop: bool = False
    #: whether a builtin is read that finds tasks by their names while the program runs
    names_tasks: bool = False


class Resolver:
    """Walks one unit in the order of execution. ``builtins`` are the known names, ``naming_tasks`` those of
    builtins that find tasks by their names; ``entry_names`` decides what an unknown
    name of a module means."""

    def __init__(
        self,
        builtins: frozenset[str],
        naming_tasks: frozenset[str],
        *,
        is_module: bool,
        session: frozenset[str] = frozenset(),
        forced: frozenset[str] = frozenset(),
    ) -> None:
        self._builtins = builtins
        self._naming_tasks = naming_tasks
        self._forced = forced
        #: builtins that the program rebinds by ``set``: they become globals, which needs another walk
        self.builtins_set: frozenset[str] = frozenset()
        self._is_module = is_module
        self._session = session
        self._taken: dict[str, int] = {}
        self._sure: set[Variable] = set()
        #: the same, in the order in which they became it
        self._made_sure: list[Variable] = []
        self._maybe: set[Variable] = set()
        self._loops = 0
        self._reads_globals = False
        main = Function(None, None)
        self._scope = Scope(None, main, FUNCTION, 0)
        self.result = Resolution(main, self._scope)

    def unit(self, program: nodes.Program, *, with_tests: bool) -> Resolution:
        top = self._scope
        self._declare(program.statements, top)
        for name in sorted(self._forced):
            self._variable(name, top)
        for name, variable in top.names.items():
            if name in self._builtins:
                self.result.prebound.append(variable)
                variable.values.append(None)
                variable.follows = variable.binds_once = False
                self._make_sure(variable)
        tests = [s for s in program.statements if isinstance(s, nodes.Test)]
        for statement in program.statements:
            if not isinstance(statement, nodes.Test):
                self._statement(statement)
        if with_tests:
            for test in tests:
                self._function(test, (), test.body)
        if self._reads_globals:
            for variable in top.names.values():
                variable.captured = True
        return self.result

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
        """Declares what the statements bind in the scope itself, without entering scopes of their own."""
        for name in declared_names(block):
            if scope.parent is None and name in self._session:
                continue
            self._variable(name, scope)

    def _bind(self, node: object, name: str, value: Value) -> Variable | None:
        """A ``let``-like binding in the current scope; ``None`` for a name of the session (assigned by name)."""
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

    # ---- what is surely bound -------------------------------------------------------------------------------------------

    def _make_sure(self, variable: Variable) -> None:
        if variable not in self._sure:
            self._sure.add(variable)
            self._made_sure.append(variable)

    def _undo(self, mark: int) -> set[Variable]:
        """Takes back what was made sure since the list of that was ``mark`` long, and gives it."""
        since = self._made_sure[mark:]
        del self._made_sure[mark:]
        self._sure.difference_update(since)
        return set(since)

    def _after_one_of(self, ends: list[set[Variable]]) -> None:
        """One of several ways was gone: surely bound is what each of them bound."""
        if ends:
            for variable in set.intersection(*ends):
                self._make_sure(variable)

    def _unfollowed(self, node: object, name: str) -> None:
        variable = self._bind(node, name, None)
        if variable is not None:
            variable.follows = variable.binds_once = False

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
            outside = "entry"  # in a session: perhaps a name of a later input
        else:
            outside = "undefined"
        if len(candidates) > 1 or (candidates and not sure and outside != "undefined"):
            for variable in candidates:
                if variable not in self._sure:
                    variable.checked = True
        for variable in candidates:
            if variable not in self._sure and variable.scope.kind == FRESH and variable.scope.in_loop:
                variable.checked = True  # Python's local still has the value of the round before
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

    # ---- scopes ---------------------------------------------------------------------------------------------------------

    def _function(
        self, node: object, params: tuple[nodes.Param, ...] | tuple[str, ...], body: nodes.Block | nodes.Expr
    ) -> None:
        outer_scope, outer_loops = self._scope, self._loops
        function = Function(outer_scope.function, node)
        self.result.functions[id(node)] = function
        for param in params:
            if isinstance(param, nodes.Param) and param.default is not None:
                # evaluated at call time in the scope of the definition
                self._deferred(param.default, node)
        scope = Scope(outer_scope, function, FUNCTION, 0)
        self.result.scopes[id(node)] = scope
        # What the body binds are variables of its own scopes: no other place can mean them.
        self._scope, self._loops = scope, 0
        for param in params:
            name = param.name if isinstance(param, nodes.Param) else param
            # Under the scope and not the node: that one binds the task's own name, which a parameter may have too.
            variable = self._bind(scope, name, None)
            if variable is not None:
                variable.is_param = True
        if isinstance(body, tuple):
            self._declare(body, scope)
            self._block(body)
        else:
            self._expression(body)
        self._scope, self._loops = outer_scope, outer_loops

    def _deferred(self, default: nodes.Expr, task: object) -> None:
        """A default is a function of its own, called by the task: it sees the scope of the definition."""
        if isinstance(default, (nodes.Number, nodes.Text, nodes.Bool, nodes.Nothing)):
            return
        self._function(default, (), default)

    def _fresh(self, node: object) -> Scope:
        scope = Scope(self._scope, self._scope.function, FRESH, self._loops)
        self.result.scopes[id(node)] = scope
        return scope

    def _block(self, block: nodes.Block) -> None:
        for statement in block:
            self._statement(statement)

    def _in_scope(self, scope: Scope, block: nodes.Block) -> None:
        outer = self._scope
        self._scope = scope
        self._declare(block, scope)
        self._block(block)
        self._scope = outer

    def _branches(self, branches: list[nodes.Block], *, may_skip: bool) -> None:
        """Blocks of which at most one runs: surely bound afterwards is what every one of them binds."""
        mark = len(self._made_sure)
        ends: list[set[Variable]] = [set()] if may_skip else []
        for block in branches:
            self._block(block)
            bound = self._undo(mark)
            if not leaves(block):
                ends.append(bound)
        self._after_one_of(ends)

    # ---- statements -----------------------------------------------------------------------------------------------------

    def _statement(self, node: nodes.Stmt) -> None:
        match node:
            case nodes.ExprStmt(value=value):
                self._expression(value)
            case nodes.Let(name=name, value=value):
                self._expression(value)
                if self._bind(node, name, value) is None:
                    self._assign(node, name, value)
            case nodes.Set(target=target, value=value):
                self._expression(value)
                if isinstance(target, nodes.Name):
                    self._assign(node, target.id, value)
                    self.result.refs[id(target)] = self.result.refs[id(node)]
                    if _grows(target.id, value):
                        for variable in self.result.refs[id(node)].variables:
                            variable.grown = True
                else:
                    self._target(node, target)
            case nodes.Give(value=value) | nodes.Stop(value=value):
                if value is not None:
                    self._expression(value)
                if isinstance(node, nodes.Stop) and self._loops == 0:
                    self.result.loose_stop = True
            case nodes.Task(name=name, params=params, body=body):
                self._definition(node, name, lambda: self._function(node, params, body))
            case nodes.TypeDef(name=name) | nodes.EnumDef(name=name):
                bound = self._bind(node, name, None)
                if bound is None:
                    self._assign(node, name, None)
                else:
                    bound.follows = bound.binds_once = False
            case nodes.When(arms=arms, otherwise=otherwise):
                self._when(arms, otherwise)
            case nodes.Each(name=name, iterable=iterable, body=body):
                self._expression(iterable)
                self._each(node, name, iterable, body)
            case nodes.While(condition=condition, body=body):
                self._while(condition, body)
            case nodes.Match():
                self._match(node)
            case nodes.Try():
                self._try(node)
            case nodes.Sandbox(under=under, body=body):
                if under is not None:
                    self._expression(under)
                self._in_scope(self._fresh(node), body)
            case nodes.Trace(body=body):
                self._block(body)
            case nodes.Use(alias=alias):
                self.result.uses_modules = True
                bound = self._bind(node, alias, None)
                if bound is None:
                    self._assign(node, alias, None)
                else:
                    bound.follows = bound.binds_once = False
            case nodes.Test():
                pass  # only at the top level of a file, handled there
            case nodes.Raise(value=value) | nodes.Log(value=value) | nodes.Checkpoint(value=value):
                self._expression(value)
            case nodes.Invariant(condition=condition):
                self._expression(condition)
            case nodes.Require(scope=scope):
                if scope is not None:
                    self._expression(scope)
            case nodes.Serve(port=port, clauses=clauses):
                self._expression(port)
                self._clauses(clauses)
            case nodes.RouteGroup(name=name, routes=routes):
                self._clauses(routes)
                bound = self._bind(node, name, None)
                if bound is None:
                    self._assign(node, name, None)
                else:
                    bound.follows = bound.binds_once = False
            case nodes.Stream(body=body):
                self._block(body)
            case nodes.Socket(body=body):
                self._socket(node, body)
            case nodes.Send(value=value, event=event):
                self._expression(value)
                if event is not None:
                    self._expression(event)
            case nodes.Proxy(target=target):
                self._expression(target)
            case _:
                pass  # constructs of agents: refused when they run, their names mean nothing yet

    def _socket(self, node: nodes.Socket, body: nodes.Block) -> None:
        outer = self._scope
        scope = self._fresh(node)
        self._scope = scope
        self._unfollowed(node, "socket")
        self._declare(body, scope)
        self._block(body)
        self._scope = outer

    def _clauses(self, clauses: Sequence[nodes.Node]) -> None:
        """The values of a ``serve`` block, evaluated where it stands, and its routes, each a function."""
        for clause in clauses:
            for value in clause_values(clause):
                self._expression(value)
            for value in deferred_values(clause):
                self._function(value, (), value)
            if isinstance(clause, nodes.HostBlock):
                self._expression(clause.name)
                self._clauses(clause.clauses)
            elif isinstance(clause, nodes.Route) and proxied(clause) is None:
                self._function(clause, handler_names(clause), clause.body)

    def _definition(self, node: nodes.Stmt, name: str, define: object) -> None:
        # A task may call itself: inside its own body the name is bound as soon as the definition ran.
        variable = self._bind(node, name, None)
        if variable is None:
            self._assign(node, name, None)
        else:
            variable.follows = variable.binds_once = False
            if isinstance(node, nodes.Task):
                variable.task = node
        assert callable(define)
        define()

    def _target(self, node: nodes.Set, target: nodes.Expr) -> None:
        """The indices of a path, then its variable, which the path reads and writes."""
        while True:
            match target:
                case nodes.Index(obj=obj, index=index):
                    self._expression(index)
                    target = obj
                case nodes.Field(obj=obj) | nodes.Of(obj=obj):
                    target = obj
                case nodes.Name(id=name):
                    self._assign(node, name, "path")
                    self.result.refs[id(target)] = self.result.refs[id(node)]
                    return
                case _:
                    self._expression(target)
                    return

    def _when(self, arms: tuple[tuple[nodes.Expr, nodes.Block], ...], otherwise: nodes.Block | None) -> None:
        for condition, _ in arms:
            self._expression(condition)
        blocks = [block for _, block in arms] + ([otherwise] if otherwise is not None else [])
        self._branches(blocks, may_skip=otherwise is None)

    def _each(self, node: nodes.Each, name: str, iterable: nodes.Expr, body: nodes.Block) -> None:
        mark = len(self._made_sure)
        self._loops += 1
        outer = self._scope
        scope = self._fresh(node)
        self._scope = scope
        self._bind(node, name, ItemOf(iterable))
        self._declare(body, scope)
        self._block(body)
        self._scope = outer
        self._loops -= 1
        self._undo(mark)

    def _while(self, condition: nodes.Expr, body: nodes.Block) -> None:
        for name in declared_names(body):
            variable = self._scope.names.get(name)
            if variable is not None:
                self._maybe.add(variable)
        self._expression(condition)
        mark = len(self._made_sure)
        self._loops += 1
        self._block(body)
        self._loops -= 1
        self._undo(mark)

    def _match(self, node: nodes.Match) -> None:
        self._expression(node.subject)
        mark = len(self._made_sure)
        ends: list[set[Variable]] = [] if node.otherwise is not None else [set()]
        outer = self._scope
        for arm in node.arms:
            scope = self._fresh(arm)
            self._scope = scope
            self._pattern(arm, arm.pattern)
            if arm.guard is not None:
                self._expression(arm.guard)
            self._declare(arm.body, scope)
            self._block(arm.body)
            self._scope = outer
            bound = self._undo(mark)
            if not leaves(arm.body):
                ends.append(bound)
        if node.otherwise is not None:
            self._block(node.otherwise)
            bound = self._undo(mark)
            if not leaves(node.otherwise):
                ends.append(bound)
        self._after_one_of(ends)

    def _pattern(self, arm: nodes.Arm, pattern: nodes.Pattern) -> None:
        match pattern:
            case nodes.BindPattern(name=name) | nodes.SpreadPattern(name=str(name)):
                self._unfollowed(arm, name)
            case nodes.ListPattern(items=items):
                for item in items:
                    self._pattern(arm, item)
            case nodes.MapPattern(fields=fields):
                for _, item in fields:
                    self._pattern(arm, item)
            case nodes.ValuePattern(value=value):
                self._expression(value)
            case nodes.VariantPattern(path=path, args=args, value=value):
                self._expression(path)
                if value is not path:
                    self._expression(value)
                for item in args or ():
                    self._pattern(arm, item)
            case _:
                pass

    def _try(self, node: nodes.Try) -> None:
        mark = len(self._made_sure)
        self._block(node.body)
        body_end = self._undo(mark)
        outer = self._scope
        scope = self._fresh(node)
        self._scope = scope
        self._unfollowed(node, node.name)
        self._declare(node.handler, scope)
        self._block(node.handler)
        self._scope = outer
        handler_end = self._undo(mark)
        self._after_one_of([end for end, block in ((body_end, node.body), (handler_end, node.handler)) if not leaves(block)])

    # ---- expressions ----------------------------------------------------------------------------------------------------

    def _expression(self, node: nodes.Expr) -> None:
        match node:
            case nodes.Name(id=name):
                self._read(node, name)
            case nodes.Number() | nodes.Text() | nodes.Bool() | nodes.Nothing() | nodes.Decimal():
                pass
            case nodes.Call(func=func, args=args):
                self._expression(func)
                for arg in args:
                    self._expression(arg.value)
            case nodes.Arith(first=first, links=links) | nodes.Compare(first=first, links=links):
                self._expression(first)
                for link in links:
                    self._expression(link.operand)
            case nodes.Field(obj=obj) | nodes.Of(obj=obj):
                self._expression(obj)
            case nodes.Index(obj=obj, index=index):
                self._expression(obj)
                self._expression(index)
            case nodes.Template(parts=parts):
                for part in parts:
                    if not isinstance(part, str):
                        self._expression(part)
            case nodes.ListLit(items=items):
                for item in items:
                    self._expression(item)
            case nodes.MapLit(entries=entries):
                for key, value in entries:
                    self._expression(key)
                    self._expression(value)
            case nodes.Lambda(params=params, body=body):
                self._function(node, params, body)
            case nodes.BoolOp(operands=operands):
                for operand in operands:
                    self._expression(operand)
            case nodes.Not(operand=operand) | nodes.Negate(operand=operand):
                self._expression(operand)
            case nodes.Power(base=base, exponent=exponent):
                self._expression(base)
                self._expression(exponent)
            case nodes.Pipe(first=first, steps=steps):
                self._expression(first)
                for step in steps:
                    self._expression(step)
            case nodes.WhenExpr(arms=arms, otherwise=otherwise):
                for condition, value in arms:
                    self._expression(condition)
                    self._expression(value)
                if otherwise is not None:
                    self._expression(otherwise)
            case nodes.SandboxExpr(body=body):
                self._expression(body)
            case nodes.BlockValue(stmt=stmt):
                self._statement(stmt)
            case nodes.Gate(message=message, options=options):
                self._expression(message)
                if options is not None:
                    self._expression(options)
            case nodes.Show(value=value, label=label):
                self._expression(value)
                if label is not None:
                    self._expression(label)
            case nodes.Reason() | nodes.Decide() | nodes.Analyze() | nodes.Generate():
                for operand in llm_operands(node):
                    self._expression(operand)
            case _:
                pass


def llm_operands(node: nodes.Expr) -> list[nodes.Expr]:
    """What an LLM operation evaluates, in order."""
    match node:
        case nodes.Reason(topic=topic, with_value=value):
            found = [topic, value]
        case nodes.Decide(options=options, given=given):
            found = [options, given]
        case nodes.Analyze(subject=subject):
            found = [subject]
        case nodes.Generate(given=given, with_value=value):
            found = [given, value]
        case _:
            found = []
    return [operand for operand in found if operand is not None]


def _grows(name: str, value: nodes.Expr) -> bool:
    match value:
        case nodes.Call(func=nodes.Name(id="append" | "insert" | "merge"), args=(first, *_)):
            return isinstance(first.value, nodes.Name) and first.value.id == name
        case nodes.Arith(first=nodes.Name(id=first_name), links=(nodes.Link(op="+", operand=nodes.ListLit()),)):
            return first_name == name
        case _:
            return False


def declared_names(block: nodes.Block) -> list[str]:
    """Names that the statements bind in the scope they stand in."""
    names: list[str] = []
    _collect(block, names)
    return names


def _collect(block: nodes.Block, names: list[str]) -> None:
    for node in block:
        match node:
            case nodes.Let(name=name, value=value):
                names.append(name)
                _collect_value(value, names)
            case nodes.Task(name=name) | nodes.TypeDef(name=name) | nodes.EnumDef(name=name):
                names.append(name)
            case nodes.RouteGroup(name=name):
                names.append(name)
            case nodes.Use(alias=alias):
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
    """Whether the block surely does not run on past its end."""
    return bool(block) and isinstance(block[-1], (nodes.Give, nodes.Stop, nodes.Raise))
