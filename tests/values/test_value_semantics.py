"""Lists and maps are values: random programs against a model that copies on every read.

The programs are made so that they are well typed and end: what they do is move containers through variables, parameters,
results, closures, loop variables, patterns, builtins, globals written by tasks and variables of a module, and write into them
at every depth meanwhile.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, note, settings
from hypothesis import strategies as st
from value_model import (
    Apply,
    Block,
    Builtin,
    Call,
    Choice,
    Do,
    Each,
    Entries,
    Expr,
    Give,
    Items,
    Lambda,
    Let,
    MatchList,
    MatchMap,
    Number,
    Of,
    Parallel,
    Path,
    Plus,
    Print,
    Program,
    Reduce,
    Sandbox,
    Set,
    Step,
    Stmt,
    Stop,
    Task,
    TooLong,
    Try,
    Use,
    When,
    Where,
    While,
    Word,
    Zero,
)

import language

# A type is "int", "any" (what only `try` may touch), ("list", T) with at least one item, ("map", T) with the keys a and b, or
# ("fn", parameters, result, how many are required, and for tasks the names of the parameters).
INT = "int"
ANY = "any"
INTS = ("list", INT)
RECORD = ("map", INT)
CONTAINERS: tuple[Any, ...] = (
    INTS,
    RECORD,
    ("list", INTS),
    ("list", RECORD),
    ("map", INTS),
    ("map", RECORD),
    ("list", ("list", INTS)),
    ("map", ("list", RECORD)),
    ("list", ("map", INTS)),
)
FUNCTIONS = ("list", ("fn", (), INTS, 0))


@cache
def numbers_below(n: int) -> st.SearchStrategy[int]:
    return st.integers(0, n - 1)


class Maker:
    """Draws one program."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.scopes: list[dict[str, Any]] = [{}]
        self.count = 0
        self.room = 28
        self.calls = 0
        self.in_loop = False
        self.result: Any = None

    # ---- choices

    def below(self, n: int) -> int:
        return self.draw(numbers_below(n)) if n > 1 else 0

    def chance(self, one_in: int) -> bool:
        return self.below(one_in) == one_in - 1

    def pick(self, options: Any) -> Any:
        return options[self.below(len(options))]

    def fresh(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count}"

    def visible(self) -> dict[str, Any]:
        return {name: kind for scope in self.scopes for name, kind in scope.items()}

    def some_type(self) -> Any:
        return ANY if self.chance(9) else INT if self.chance(8) else self.pick(CONTAINERS)

    # ---- paths

    def routes(self, wanted: Any) -> list[tuple[str, tuple[str, ...]]]:
        """Every way from a variable to a value of the type (``"container"``: of any list or map type)."""
        found: list[tuple[str, tuple[str, ...]]] = []

        def walk(name: str, kind: Any, route: tuple[str, ...]) -> None:
            if kind == wanted or (wanted == "container" and kind[0] in ("list", "map") and kind != FUNCTIONS):
                found.append((name, route))
            if kind[0] == "module":
                for member, inner in kind[1].items():
                    walk(name, inner, (*route, "." + member))
            elif kind[0] in ("list", "map") and len(route) < 4:
                walk(name, kind[1], (*route, kind[0]))

        for name, kind in self.visible().items():
            walk(name, kind, ())
        return found

    def path(self, name: str, route: tuple[str, ...]) -> Path:
        return Path(name, tuple(self.step(part) for part in route))

    def step(self, part: str) -> Step:
        if part.startswith("."):
            return Step(part[1:], dotted=not self.chance(4))
        if part == "map":
            return Step(self.pick("ab"), dotted=not self.chance(3))
        if self.chance(6):
            call = self.a_call(INT)
            if call is not None:
                return Step(Zero(call))
        return Step(Number(self.pick((0, -1))))

    def near(self, routes: list[tuple[str, tuple[str, ...]]]) -> list[tuple[str, tuple[str, ...]]]:
        """Every other time, when there are any, those that begin at a variable of the innermost scope."""
        own = [found for found in routes if found[0] in self.scopes[-1]]
        return own if own and self.chance(2) else routes

    def type_at(self, name: str, route: tuple[str, ...]) -> Any:
        kind = self.visible()[name]
        for part in route:
            kind = kind[1][part[1:]] if part.startswith(".") else kind[1]
        return kind

    # ---- expressions

    def read(self, kind: Any) -> Expr | None:
        routes = self.routes(kind)
        if not routes:
            return None
        path = self.path(*self.pick(self.near(routes)))
        last = path.steps[-1] if path.steps else None
        if last is not None and last.dotted and self.chance(5):
            return Of(str(last.key), Path(path.name, path.steps[:-1]))
        return path

    def a_call(self, result: Any, depth: int = 0) -> Expr | None:
        if self.calls > 1:
            return None
        tasks = [
            (name, route) for kind in self.kinds() if kind[0] == "fn" and kind[2] == result for name, route in self.routes(kind)
        ]
        if not tasks:
            return None
        name, route = self.pick(tasks)
        _, params, _, required, *names = self.type_at(name, route)
        given = required + self.below(len(params) - required + 1)
        plain = self.below(given + 1) if names and given and self.chance(3) else given
        self.calls += 1
        callee = self.path(name, route)
        arguments = tuple(self.expr(param, depth) for param in params[:plain])
        rest = list(range(plain, given))
        if self.chance(2):
            rest.reverse()
        named = tuple((names[0][n], self.expr(params[n], depth)) for n in rest)
        self.calls -= 1
        return Call(callee, arguments, named)

    def kinds(self) -> list[Any]:
        """The types reachable from the visible variables, in an order that does not depend on hashes."""
        found: set[Any] = set()
        left = list(self.visible().values())
        while left:
            kind = left.pop()
            if kind[0] == "module":
                left += kind[1].values()
            else:
                found.add(kind)
                if kind[0] in ("list", "map"):
                    left.append(kind[1])
        return sorted(found, key=str)

    def expr(self, kind: Any, depth: int = 2) -> Expr:
        if kind == ANY and self.chance(2):
            return self.expr(self.pick(CONTAINERS), depth)
        made = self.read(kind) if self.chance(2) else None
        if made is None and depth > 0:
            made = self.pick((self.a_call, self.built, self.built, self.chosen))(kind, depth - 1)
        return made or self.literal(kind, depth)

    def literal(self, kind: Any, depth: int) -> Expr:
        if kind == INT:
            return Number(self.below(10))
        if kind == ANY:
            return self.read(ANY) or Items((Number(self.below(10)), Items((Number(self.below(10)),))))
        if kind[0] == "list":
            return Items(tuple(self.expr(kind[1], depth - 1) for _ in range(1 + self.below(2))))
        if kind[0] == "map":
            return Entries((("a", self.expr(kind[1], depth - 1)), ("b", self.expr(kind[1], depth - 1))))
        assert kind[0] == "fn" and kind[1] == ()
        return Lambda((), self.expr(kind[2], depth - 1))

    def chosen(self, kind: Any, depth: int) -> Expr:
        return Choice(self.expr(INT, depth), Number(self.below(3)), self.expr(kind, depth), self.expr(kind, depth))

    def built(self, kind: Any, depth: int) -> Expr | None:
        """An expression of a builtin or an operator."""
        if kind == INT:
            if self.chance(2):
                return Plus(self.expr(INT, depth), Number(self.below(10)))
            return Builtin("length", (self.expr(self.pick(CONTAINERS), depth),))
        if kind == ANY or kind[0] == "fn":
            return None
        inner = kind[1]
        if kind[0] == "map":
            if self.chance(3):
                return Builtin("get", (self.expr(("list", kind), depth), Number(self.pick((0, -1)))))
            return Builtin("merge", (self.expr(kind, depth), self.expr(kind, depth)))
        way = self.below(13)
        if way == 11:
            item = self.fresh("p")
            items = self.expr(kind, depth)
            self.scopes.append({item: inner})
            wanted = self.expr(INT, depth)
            self.scopes.pop()
            return Builtin("append", (Where(items, item, wanted), self.expr(inner, depth)))
        if way == 12:
            so_far, item, source = self.fresh("p"), self.fresh("p"), self.pick(CONTAINERS)
            items = self.expr(("list", source), depth)
            self.scopes.append({so_far: kind, item: source})
            body = Builtin("append", (Path(so_far), self.expr(inner, depth))) if self.chance(2) else self.expr(kind, depth)
            self.scopes.pop()
            return Reduce(items, so_far, item, body, self.expr(kind, depth))
        if way == 10 and kind == INTS:
            return Builtin("sort", (self.expr(kind, depth),))
        if way == 10:
            tasks = [(n, k) for n, k in self.scopes[0].items() if n[0] == "t" and len(k[1]) == 1 and k[2] == inner]
            if tasks:
                name, task = self.pick(tasks)
                return Parallel(Path(name), self.expr(("list", task[1][0]), depth))
        if way == 0:
            return Builtin("append", (self.expr(kind, depth), self.expr(inner, depth)))
        if way == 1:
            return Plus(self.expr(kind, depth), self.expr(kind, depth))
        if way == 2:
            return Builtin("insert", (self.expr(kind, depth), Number(self.pick((0, 1, -1))), self.expr(inner, depth)))
        if way == 3:
            return Builtin("reverse", (self.expr(kind, depth),))
        if way == 4:
            return Builtin("slice", (self.expr(kind, depth), Number(-1)))
        if way == 5:
            return Builtin("values", (self.expr(("map", inner), depth),))
        if way == 6:
            return Builtin("get", (self.expr(("map", kind), depth), Word(self.pick("ab"))))
        if way == 7:
            return Builtin("flatten", (self.expr(("list", kind), depth),)) if inner == INT or inner[0] == "map" else None
        tasks = [(n, k) for n, k in self.visible().items() if k[0] == "fn" and len(k[1]) == 1 and k[2] == inner]
        if tasks and way == 8:
            name, task = self.pick(tasks)
            return Apply(self.expr(("list", task[1][0]), depth), Path(name), piped=self.chance(2))
        source = self.pick(CONTAINERS)
        param = self.fresh("p")
        items = self.expr(("list", source), depth)
        self.scopes.append({param: source})
        body = self.expr(inner, depth)
        self.scopes.pop()
        return Apply(items, Lambda((param,), body), piped=self.chance(2))

    # ---- statements

    def block(self, bound: dict[str, Any], depth: int, *, most: int = 3) -> Block:
        self.scopes.append(bound)
        made = tuple(s for _ in range(1 + self.below(most)) for s in self.statement(depth))
        self.scopes.pop()
        return made

    def statement(self, depth: int) -> list[Stmt]:
        if self.room <= 0:
            return [self.grow()]
        self.room -= 1
        simple = (self.let, self.assign, self.write, self.write, self.grow, self.grow, self.show, self.act, self.wild)
        blocks = (self.each, self.loop, self.when, self.match, self.attempt, self.task)
        nested = (*blocks, self.maker_task, self.keep, self.chain, self.writes)
        if depth > 0 and self.chance(3):
            return self.pick(nested)(depth - 1)
        return [self.pick(simple)()]

    def let(self) -> Stmt:
        kind = self.some_type()
        same = [name for name, k in self.visible().items() if k == kind]
        value = self.expr(kind)
        if same and self.chance(2):
            return Let(self.pick(same), value)
        name = self.fresh("v")
        self.scopes[-1][name] = kind
        return Let(name, value)

    def assign(self) -> Stmt:
        names = [n for n, k in self.visible().items() if k[0] != "fn" and k[0] != "module" and k != FUNCTIONS]
        name = self.pick(names)
        return Set(Path(name), self.expr(self.visible()[name]))

    def write(self) -> Stmt:
        """``set`` through a path."""
        name, route = self.pick(self.near(self.routes("container")))
        kind = self.type_at(name, route)
        last = Step("c", dotted=True) if kind[0] == "map" and self.chance(4) else self.step(kind[0])
        return Set(Path(name, (*self.path(name, route).steps, last)), self.expr(kind[1]))

    def writes(self, depth: int) -> list[Stmt]:
        """Writes of numbers into one list or map, one behind the other, which may read what they write."""
        routes = [found for found in self.routes("container") if self.type_at(*found)[1] == INT]
        if not routes:
            return [self.grow()]
        name, route = self.pick(self.near(routes))
        kind = self.type_at(name, route)
        container = self.path(name, route)
        made: list[Stmt] = []
        for _ in range(2 + self.below(2)):
            target = Path(name, (*container.steps, self.step(kind[0])))
            value = Plus(target, Number(self.below(9))) if self.chance(2) else self.expr(INT, depth)
            made.append(Set(target, value))
        return made

    def grow(self) -> Stmt:
        """The five forms that must not copy when nobody else holds the value."""
        name, route = self.pick(self.near(self.routes("container")))
        kind = self.type_at(name, route)
        path = self.path(name, route)
        value: Expr
        if kind[0] == "map":
            value = Builtin("merge", (path, self.expr(kind, 1)))
        else:
            way = self.below(3)
            if way == 0:
                value = Builtin("append", (path, self.expr(kind[1], 1)))
            elif way == 1:
                value = Plus(path, self.expr(kind, 1))
            else:
                value = Builtin("insert", (path, Number(self.pick((0, 1, -1))), self.expr(kind[1], 1)))
        return Set(path, value)

    def wild(self) -> Stmt:
        """Writes of anything anywhere, self-containing values among them; what fails leaves all as it was."""
        names = [name for name, kind in self.visible().items() if kind == ANY]
        if not names:
            return self.grow()
        name = self.pick(names)
        steps = tuple(
            Step(Number(self.pick((0, 1, -1)))) if self.chance(2) else Step(self.pick("ab"), self.chance(2))
            for _ in range(self.below(3))
        )
        target = Path(name, steps)
        other = Path(self.pick(names))
        value = self.pick(
            (
                other,
                Builtin("append", (target, other)),
                Plus(target, other),
                Builtin("merge", (target, other)),
                Builtin("insert", (target, Number(0), other)),
                Items((other, other)),
                Entries((("a", other), ("b", target))),
            )
        )
        return Try((Set(target, value),), raises=False)

    def show(self) -> Stmt:
        return Print(tuple(self.expr(self.some_type()) for _ in range(1 + self.below(2))))

    def act(self) -> Stmt:
        call = self.a_call(self.pick([k[2] for k in self.kinds() if k[0] == "fn"] or [INT]))
        return Do(call) if call is not None else self.show()

    def each(self, depth: int) -> list[Stmt]:
        name = self.fresh("x")
        lists = [k for k in self.kinds() if k[0] == "list"] or [INTS]
        kind = self.pick(lists)
        before, self.in_loop = self.in_loop, True
        body = self.block({name: kind[1]}, depth)
        if self.chance(5):
            body = (*body, When(self.expr(INT, 1), Number(self.below(3)), (Stop(),), ()))
        self.in_loop = before
        return [Each(name, self.expr(kind, 1), body)]

    def loop(self, depth: int) -> list[Stmt]:
        before, self.in_loop = self.in_loop, True
        body = self.block({}, depth)
        self.in_loop = before
        return [While(self.fresh("n"), 1 + self.below(3), body)]

    def when(self, depth: int) -> list[Stmt]:
        left, right = self.expr(INT, 1), Number(self.below(3))
        yes = self.block({}, depth)
        if self.result is not None and self.chance(3):
            yes = (*yes, Give(self.expr(self.result)))
        elif self.in_loop and self.chance(3):
            yes = (*yes, Stop())
        return [When(left, right, yes, self.block({}, depth) if self.chance(2) else ())]

    def match(self, depth: int) -> list[Stmt]:
        if self.chance(2):
            kind = self.pick([k for k in CONTAINERS if k[0] == "list"])
            first, rest = self.fresh("m"), self.fresh("m")
            # What is left may be empty: it may be shown and copied, not taken apart.
            subject = self.expr(kind, 1)
            body = self.block({first: kind[1]}, depth)
            return [MatchList(subject, first, rest, (*body, Print((Path(rest),))))]
        kind = self.pick([k for k in CONTAINERS if k[0] == "map"])
        other = self.fresh("m")
        return [MatchMap(self.expr(kind, 1), other, self.block({"a": kind[1], other: kind[1]}, depth))]

    def attempt(self, depth: int) -> list[Stmt]:
        if self.chance(3):
            return [Sandbox(self.block({}, depth))]
        return [Try(self.block({}, depth), raises=self.chance(2))]

    def task(self, depth: int) -> list[Stmt]:
        result = self.pick((INT, *CONTAINERS))
        kinds = [self.some_type() for _ in range(self.below(3))]
        names = [self.fresh("p") for _ in kinds]
        required = len(kinds) - 1 if kinds and self.chance(3) else len(kinds)
        params = tuple(
            (name, None if n < required else self.expr(kind, 1))
            for n, (name, kind) in enumerate(zip(names, kinds, strict=True))
        )
        name = self.fresh("t")
        outside = self.in_loop, self.result
        self.in_loop, self.result = False, result
        bound = dict(zip(names, kinds, strict=True))
        body = self.block(bound, depth)
        self.scopes.append(bound)
        body = (*body, Give(self.expr(result), self.pick(("give ", "give ", "", "let result be "))))
        self.scopes.pop()
        self.in_loop, self.result = outside
        self.scopes[-1][name] = ("fn", tuple(kinds), result, required, tuple(names))
        return [Task(name, params, body)]

    def maker_task(self, depth: int) -> list[Stmt]:
        """A task that gives a closure over its own variable, and a variable that holds one."""
        kind = self.pick(CONTAINERS)
        outer, inner, own, held = self.fresh("t"), self.fresh("t"), self.fresh("v"), self.fresh("f")
        start = self.expr(kind, 1)
        outside = self.in_loop, self.result
        self.in_loop, self.result = False, None
        self.scopes.append({own: kind})
        body = tuple(s for _ in range(1 + self.below(2)) for s in self.statement(0))
        self.scopes.pop()
        self.in_loop, self.result = outside
        closure = ("fn", (), kind, 0)
        self.scopes[-1][outer] = ("fn", (), closure, 0)
        self.scopes[-1][held] = closure
        task = Task(outer, (), (Let(own, start), Task(inner, (), (*body, Give(Path(own)))), Give(Path(inner))))
        return [task, Let(held, Call(Path(outer), ()))]

    def chain(self, depth: int) -> list[Stmt]:
        """Tasks that hand a value down to each other, each writing what it was given before and after.

        They see nothing but their parameters, so what they hand down are plain locals that no closure shares.
        """
        kind = self.pick(CONTAINERS)
        outside = self.scopes, self.in_loop, self.result
        self.in_loop, self.result = False, None
        made: list[Stmt] = []
        below = ""
        for _ in range(2 + self.below(2)):
            name, value = self.fresh("t"), self.fresh("p")
            self.scopes = [{value: kind}]
            body = self.some(depth)
            if below:
                result = self.fresh("v")
                body += [Let(result, self.handed(below, Path(value)))]
                self.scopes[0][result] = kind
                body += self.some(depth)
            body += [Print(tuple(Path(local) for local, k in self.scopes[0].items() if k == kind))]
            made.append(Task(name, ((value, None),), (*body, Give(self.read(kind) or Path(value)))))
            below = name
        again, value, count = self.fresh("t"), self.fresh("p"), self.fresh("p")
        self.scopes = [{value: kind}]
        body = [
            *self.some(depth),
            When(Path(count), Number(0), (Give(self.handed(below, Path(value))),), ()),
            Do(Call(Path(again), (Path(value), Plus(Path(count), Number(-1))))),
            *self.some(depth),
            Print((Path(value),)),
        ]
        made.append(Task(again, ((value, None), (count, None)), (*body, Give(Path(value)))))
        start, own, result = self.fresh("t"), self.fresh("v"), self.fresh("v")
        self.scopes = [{}]
        literal = self.literal(kind, 1)
        self.scopes = [{own: kind}]
        first = Call(Path(again), (Path(own), Number(self.below(3)))) if self.chance(2) else self.handed(below, Path(own))
        body = [Let(own, literal), *self.some(depth), Let(result, first), Print((Path(own), Path(result)))]
        made.append(Task(start, (), (*body, *self.some(depth), Print((Path(result),)), Give(Path(own)))))
        self.scopes, self.in_loop, self.result = outside
        last = self.fresh("v")
        self.scopes[-1][last] = kind
        return [*made, Let(last, Call(Path(start), ())), Let(last, self.handed(below, Path(last)))]

    def some(self, depth: int) -> list[Stmt]:
        return [s for _ in range(self.below(3)) for s in self.statement(depth)]

    def handed(self, task: str, value: Path) -> Expr:
        """The task's result for the value, called in one of the ways there are."""
        way = self.below(7)
        one, other = self.fresh("p"), self.fresh("p")
        if way == 0:
            return Call(Lambda((one,), Call(Path(task), (Path(one),))), (value,))
        if way == 1:
            return Builtin("get", (Apply(Items((value, value)), Path(task), piped=self.chance(2)), Number(-1)))
        if way == 2:
            return Builtin("get", (Parallel(Path(task), Items((value, value))), Number(-1)))
        if way == 3:
            return Reduce(Items((Number(1), Number(2))), one, other, Call(Path(task), (Path(one),)), value)
        if way == 4:
            return Choice(Number(1), Number(self.below(2)), Call(Path(task), (value,)), value)
        return Call(Path(task), (value,))

    def keep(self, depth: int) -> list[Stmt]:
        """Puts a lambda over the visible variables into a list of lambdas."""
        lists = [name for name, kind in self.visible().items() if kind == FUNCTIONS]
        if not lists:
            name = self.fresh("k")
            self.scopes[-1][name] = FUNCTIONS
            return [Let(name, Items((Lambda((), self.expr(INTS, 1)),)))]
        name = self.pick(lists)
        return [Set(Path(name), Builtin("append", (Path(name), Lambda((), self.expr(INTS, 1)))))]

    # ---- the program

    def module(self) -> Use:
        """A module with an exported variable that its tasks grow and write."""
        kind = self.pick([k for k in CONTAINERS if k[0] == "list"])
        outside, self.scopes = self.scopes, [{}]
        start = self.literal(kind, 1)
        self.scopes = [{"V": kind}]
        put = Task("put", (("x", None),), (Set(Path("V"), Builtin("append", (Path("V"), Path("x")))), Give(Path("V"))))
        self.scopes.append({"x": kind[1]})
        poke = Task("poke", (("x", None),), (self.write(), self.grow(), Give(Path("V"))))
        self.scopes = outside
        member = ("fn", (kind[1],), kind, 1, ("x",))
        members = {"V": kind, "put": member, "poke": member}
        self.scopes[0]["mod"] = ("module", members)
        return Use("mod", (Let("V", start), put, poke), frozenset(members))

    def program(self) -> Program:
        body: list[Stmt] = []
        if self.chance(3):
            body.append(self.module())
            if self.chance(2):
                self.scopes[0]["again"] = self.scopes[0]["mod"]
                body.append(Let("again", Path("mod")))
        for kind in (INTS, self.pick(CONTAINERS), self.pick(CONTAINERS), ANY):
            name = self.fresh("g")
            body.append(Let(name, self.literal(kind, 2)))
            self.scopes[0][name] = kind
        for _ in range(1 + self.below(2)):
            body += self.task(1)
        if self.chance(3):
            body += self.chain(1)
        while self.room > 0:
            body += self.statement(3)
        for name, kind in self.scopes[0].items():
            if kind[0] == "module":
                body.append(Print((Path(name, (Step("V", dotted=True),)),)))
            elif kind == FUNCTIONS:
                body += [Print((Call(Path(name, (Step(Number(i)),)), ()),)) for i in (0, -1)]
            elif kind[0] != "fn":
                body.append(Print((Path(name),)))
        return Program(tuple(body))


@st.composite
def programs(draw: Any) -> Program:
    return Maker(draw).program()


def ran(program: Program, **options: Any) -> list[str]:
    answer = language.Program(program.text(), files=program.files(), **options).run()
    assert answer["errors"] == []
    return answer["output"]


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs())
def test_values_are_copies(program: Program) -> None:
    try:
        expected = program.output()
    except TooLong:
        assume(False)
    note(program.text())
    note(str(program.files()))
    assert ran(program) == expected


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs())
def test_values_are_copies_under_limits(program: Program) -> None:
    """The metered compilation means the same."""
    try:
        expected = program.output()
    except TooLong:
        assume(False)
    note(program.text())
    assert ran(program, limits={"steps": 10_000_000}) == expected


@pytest.mark.parametrize("rounds", [3])
def test_the_model_itself(rounds: int) -> None:
    """The model says what the manual says (14 case 2, in its nodes)."""
    xs, ys = Path("xs"), Path("ys")
    side = Task("side", (), (Set(ys, Items((Number(9), Number(9)))), Give(Number(5))))
    program = Program(
        (
            Let("xs", Items((Number(1), Number(2)))),
            Let("ys", xs),
            Set(Path("ys", (Step(Number(0)),)), Number(9)),
            Print((xs, ys)),
            side,
            Set(ys, Builtin("append", (ys, Call(Path("side"), ())))),
            Print((ys,)),
            Set(Path("xs", (Step(Number(0)),)), xs),
            Print((xs,)),
            While("n", rounds, (Set(xs, Builtin("append", (xs, Path("n")))),)),
            Print((xs,)),
        )
    )
    expected = ["[1, 2] [9, 2]", "[9, 2, 5]", "[[1, 2], 2]", "[[1, 2], 2, 1, 2, 3]"]
    assert program.output() == expected
    assert ran(program) == expected
