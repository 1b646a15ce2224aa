"""Resolves names before anything runs: which variable a name means, which closures capture it, where it is certainly bound.

The walk follows the order of execution, and at every point knows of every variable whether it is certainly bound, and whether
it may be.

Scopes that begin again each time (a round of ``each``, a match arm, ``recover``, ``sandbox``) belong to the Python function
around them. A variable of such a scope that a closure captures is *boxed*, so that every round has its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from language.compiler.bound_names import declared_names, leaves
from language.compiler.name_lookup import NameLookup
from language.compiler.resolution import FRESH, FUNCTION, Function, ItemOf, Resolution, Scope, Variable
from language.compiler.serve_facts import RENEWED_BY_EXPECT, clause_values, deferred_values, handler_names, proxied
from language.syntax import nodes
from language.syntax.patterns import names_of
from language.syntax.walk import descend


class Resolver(NameLookup):
    """Walks one unit in the order of execution.

    The arguments are those of ``NameLookup``, and ``forced``: builtins that are to be globals, since the unit sets them.
    """

    def __init__(
        self,
        builtins: frozenset[str],
        naming_tasks: frozenset[str],
        *,
        is_module: bool,
        session: frozenset[str] = frozenset(),
        forced: frozenset[str] = frozenset(),
    ) -> None:
        super().__init__(builtins, naming_tasks, is_module=is_module, session=session)
        self._forced = forced
        self._statements: nodes.Block = ()
        #: by agent, the names that the ``spawn`` statements of the unit give it; ``None`` until an agent is met
        self._spawned: dict[str, dict[str, None]] | None = None
        self._spawned_elsewhere = False

    def unit(self, program: nodes.Program, *, with_tests: bool) -> Resolution:
        top = self._scope
        self._statements = program.statements
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
        # The body binds variables of its own scopes, which no other place can refer to.
        self._scope, self._loops = scope, 0
        for param in params:
            name = param.name if isinstance(param, nodes.Param) else param
            # Keyed by the scope and not the node: the node's binding is the task's own name, which may equal a parameter's.
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
        """A default is a function of its own, called by the task. It is resolved in the scope of the definition."""
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
        """Branches of which at most one runs: certainly bound afterwards is what every one of them binds."""
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
            case nodes.LetParts(pattern=pattern, value=value):
                self._expression(value)
                for name in names_of(pattern):
                    self._bind_unknown(node, name)
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
                self._bind_unknown(node, name)
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
                self._bind_unknown(node, alias)
            case nodes.Test():
                pass  # allowed at the top level of a file only, handled there
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
                self._bind_unknown(node, name)
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
            case nodes.Expect():
                self._renew(node)
            case nodes.Agent(name=name, body=body):
                self._definition(node, name, lambda: self._agent(node, body))
            case nodes.Spawn(args=args):
                for _, value in args:
                    self._expression(value)
            case nodes.Share(value=value, name=key):
                self._expression(value)
                self._expression(key)
            case nodes.Observe(name=key, alias=alias):
                self._expression(key)
                self._bind_unknown(node, alias)
            case nodes.Signal(name=key, payload=payload):
                self._expression(key)
                if payload is not None:
                    self._expression(payload)
            case nodes.WaitFor(name=key, timeout=timeout, alias=alias):
                self._expression(key)
                if timeout is not None:
                    self._expression(timeout)
                if alias is not None:
                    self._bind_unknown(node, alias)
            case _:
                pass

    def _agent(self, node: nodes.Agent, body: nodes.Block) -> None:
        """The body of an agent is a function. Its parameters are the names that a ``spawn`` may give: each may be unbound, and
        then means what it means outside.
        """
        outer_scope, outer_loops = self._scope, self._loops
        function = Function(outer_scope.function, node)
        self.result.functions[id(node)] = function
        scope = Scope(outer_scope, function, FUNCTION, 0)
        self.result.scopes[id(node)] = scope
        self._scope, self._loops = scope, 0
        for name in self._given_to(node):
            variable = self._variable(name, scope)
            variable.is_param = variable.checked = True
            variable.follows = variable.binds_once = False
            variable.values.append(None)
            self._maybe.add(variable)
        self._declare(body, scope)
        self._block(body)
        self._scope, self._loops = outer_scope, outer_loops

    def _given_to(self, node: nodes.Agent) -> list[str]:
        """The names that ``spawn`` statements may give to an agent: those of this unit, and where another unit may start it,
        every name in its body that is no builtin.
        """
        if self._spawned is None:
            self._spawned = {}
            for found in descend(self._statements):
                if type(found) is nodes.Spawn:
                    self._spawned.setdefault(found.agent, {}).update((name, None) for name, _ in found.args)
                elif type(found) is nodes.Use:
                    self._spawned_elsewhere = True
        names = dict(self._spawned.get(node.name, {}))
        if self._spawned_elsewhere or self._is_module or self._session:
            read = (found.id for found in descend(node.body) if type(found) is nodes.Name)
            names.update((name, None) for name in read if name not in self._builtins)
        return list(names)

    def _renew(self, node: nodes.Expect) -> None:
        """``expect`` assigns the handler's names of the request, wherever it stands in the handler."""
        here = self._scope.function
        function: Function | None = here
        while function is not None and not isinstance(function.node, nodes.Route):
            function = function.parent
        if function is None:
            return
        names = self.result.scopes[id(function.node)].names
        for name in RENEWED_BY_EXPECT:
            variable = names.get(name)
            if variable is None:
                continue
            variable.values.append(None)
            variable.binds_once = False
            if variable.owner is not here:
                variable.captured = variable.set_inside = True
                here.assigned_outer.add(variable)
                inner: Function | None = here
                while inner is not None and inner is not variable.owner:
                    inner.uses.add(variable)
                    inner = inner.parent
            self.result.bound[id(node), name] = variable

    def _socket(self, node: nodes.Socket, body: nodes.Block) -> None:
        outer = self._scope
        scope = self._fresh(node)
        self._scope = scope
        self._bind_unknown(node, "socket")
        self._declare(body, scope)
        self._block(body)
        self._scope = outer

    def _clauses(self, clauses: Sequence[nodes.Node]) -> None:
        """The values of a ``serve`` block, evaluated where it stands, and its routes, each of which is a function."""
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
        # A task may call itself: when its body runs, its name is bound.
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
        """The indices of a path, then its variable, which is both read and written."""
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
                self._bind_unknown(arm, name)
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
        self._bind_unknown(node, node.name)
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


def resolve(program: nodes.Program, *, module: bool, with_tests: bool, session: frozenset[str] = frozenset()) -> Resolution:
    """Resolves the names of one unit.

    ``module`` says that it is a module; ``session`` are names that are defined outside of it. The caller must be inside of
    ``deep_recursion``.
    """
    from language import library

    builtins = library().all_builtins()
    known = frozenset(builtins) | frozenset(library().all_constants())
    naming_tasks = frozenset(name for name, builtin in builtins.items() if builtin.facts.names_tasks)
    forced: frozenset[str] = frozenset()
    while True:
        resolver = Resolver(known, naming_tasks, is_module=module, session=session, forced=forced)
        resolution = resolver.unit(program, with_tests=with_tests)
        if resolver.builtins_set <= forced:
            return resolution
        forced |= resolver.builtins_set


def llm_operands(node: nodes.Expr) -> list[nodes.Expr]:
    """The operands of an LLM operation in order of evaluation."""
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
