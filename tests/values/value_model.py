"""A model of the language's values that cannot be wrong: every read of a variable copies the whole value.

The nodes are the part of the language that moves values about. Each knows its source text and how the model runs it, so a
program made of them says what it must print without the interpreter. Sharing, marks, reference counts: none of it exists here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

MOST_STEPS = 3_000
MOST_SIZE = 1_500


class TooLong(Exception):
    """The program is of no use as a test: it runs too long or its values grow too large."""


class Raised(Exception):
    """``raise``, or a read or write of what is not there."""


class Stopped(Exception):
    """``stop``."""


class Given(Exception):
    def __init__(self, value: Any) -> None:
        self.value = value


@dataclass(eq=False)
class Scope:
    """The names of one scope; ``outer`` is where it was defined."""

    outer: Scope | None
    names: dict[str, Any] = field(default_factory=dict)

    def holder(self, name: str) -> Scope:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope
            scope = scope.outer
        raise AssertionError(f"the generator used {name} where it cannot exist")


@dataclass(eq=False)
class Closure:
    """A task or lambda: its shown form, parameters with defaults, body and the scope it was made in."""

    shown: str
    params: tuple[tuple[str, Expr | None], ...]
    body: tuple[Stmt, ...]
    scope: Scope


@dataclass(eq=False)
class Namespace:
    """A module: never copied."""

    scope: Scope


@dataclass
class Machine:
    output: list[str] = field(default_factory=list)
    steps: int = 0

    def tick(self) -> None:
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise TooLong

    def call(self, task: Any, arguments: list[Any], named: dict[str, Any] | None = None) -> Any:
        self.tick()
        scope = Scope(task.scope)
        for number, (name, default) in enumerate(task.params):
            if number < len(arguments):
                scope.names[name] = arguments[number]
            elif named and name in named:
                scope.names[name] = named[name]
            else:
                assert default is not None
                scope.names[name] = default.run(self, task.scope)
        try:
            for statement in task.body:
                statement.run(self, scope)
        except Given as given:
            return given.value
        raise AssertionError("the generator ends every task with `give`")


def copied(value: Any) -> Any:
    """The deep copy that a bind is."""
    return _copied(value, [MOST_SIZE])


def _copied(value: Any, left: list[int]) -> Any:
    left[0] -= 1
    if left[0] < 0:
        raise TooLong
    if isinstance(value, list):
        return [_copied(item, left) for item in value]
    if isinstance(value, dict):
        return {key: _copied(item, left) for key, item in value.items()}
    return value


def shown(value: Any) -> str:
    """The display form."""
    if isinstance(value, list):
        return "[" + ", ".join(shown(item) for item in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {shown(item)}" for key, item in value.items()) + "}"
    if isinstance(value, Closure):
        return value.shown
    return str(value)


def read(value: Any, key: Any) -> Any:
    """``value[key]``."""
    if isinstance(value, Namespace):
        return value.scope.names[key]
    if isinstance(value, list) and isinstance(key, int) and -len(value) <= key < len(value):
        return value[key]
    if isinstance(value, dict) and str(key) in value:
        return value[str(key)]
    raise Raised


def write(value: Any, key: Any, item: Any) -> None:
    """``set value[key] to item``."""
    if isinstance(value, Namespace):
        value.scope.names[key] = item
    elif isinstance(value, list) and isinstance(key, int) and -len(value) <= key < len(value):
        value[key] = item
    elif isinstance(value, dict):
        value[str(key)] = item
    else:
        raise Raised


# ---- expressions -------------------------------------------------------------------------------------------------------


class Expr:
    def text(self) -> str:
        raise NotImplementedError

    def run(self, machine: Machine, scope: Scope) -> Any:
        """The value, owned by nobody else."""
        raise NotImplementedError


@dataclass(frozen=True)
class Number(Expr):
    value: int

    def text(self) -> str:
        return str(self.value)

    def run(self, machine: Machine, scope: Scope) -> Any:
        return self.value


@dataclass(frozen=True)
class Step:
    """``.a``, ``["a"]``, ``[0]`` or ``[expression]`` after a path."""

    key: str | Expr
    dotted: bool = False

    def text(self) -> str:
        if isinstance(self.key, Expr):
            return f"[{self.key.text()}]"
        return f".{self.key}" if self.dotted else f'["{self.key}"]'

    def run(self, machine: Machine, scope: Scope) -> Any:
        return self.key.run(machine, scope) if isinstance(self.key, Expr) else self.key


@dataclass(frozen=True)
class Path(Expr):
    """A variable and the steps into it."""

    name: str
    steps: tuple[Step, ...] = ()

    def text(self) -> str:
        return self.name + "".join(step.text() for step in self.steps)

    def run(self, machine: Machine, scope: Scope) -> Any:
        # What is read first stays as it was, whatever the index expressions do to the variable.
        value = scope.holder(self.name).names[self.name]
        for step in self.steps:
            value = value if isinstance(value, Namespace) else copied(value)
            value = read(value, step.run(machine, scope))
        return copied(value)


@dataclass(frozen=True)
class Of(Expr):
    """``a of path``"""

    key: str
    path: Path

    def text(self) -> str:
        return f"({self.key} of {self.path.text()})"

    def run(self, machine: Machine, scope: Scope) -> Any:
        return copied(read(self.path.run(machine, scope), self.key))


@dataclass(frozen=True)
class Items(Expr):
    items: tuple[Expr, ...]

    def text(self) -> str:
        return "[" + ", ".join(item.text() for item in self.items) + "]"

    def run(self, machine: Machine, scope: Scope) -> Any:
        return [item.run(machine, scope) for item in self.items]


@dataclass(frozen=True)
class Entries(Expr):
    entries: tuple[tuple[str, Expr], ...]

    def text(self) -> str:
        return "{" + ", ".join(f'"{key}": {value.text()}' for key, value in self.entries) + "}"

    def run(self, machine: Machine, scope: Scope) -> Any:
        return {key: value.run(machine, scope) for key, value in self.entries}


@dataclass(frozen=True)
class Plus(Expr):
    """Numbers or lists; ``modulo`` keeps numbers small."""

    left: Expr
    right: Expr

    def text(self) -> str:
        return f"({self.left.text()} + {self.right.text()})"

    def run(self, machine: Machine, scope: Scope) -> Any:
        machine.tick()
        left = self.left.run(machine, scope)
        right = self.right.run(machine, scope)
        if type(left) is not type(right) or not isinstance(left, int | list):
            raise Raised
        return left + right


@dataclass(frozen=True)
class Zero(Expr):
    """``expression % 1``: always 0, for what the expression does on its way."""

    inner: Expr

    def text(self) -> str:
        return f"{self.inner.text()} % 1"

    def run(self, machine: Machine, scope: Scope) -> Any:
        self.inner.run(machine, scope)
        return 0


@dataclass(frozen=True)
class Word(Expr):
    value: str

    def text(self) -> str:
        return f'"{self.value}"'

    def run(self, machine: Machine, scope: Scope) -> Any:
        return self.value


def append(items: Any, item: Any) -> Any:
    if not isinstance(items, list):
        raise Raised
    return [*items, item]


def insert(items: Any, place: int, item: Any) -> Any:
    if not isinstance(items, list) or not -len(items) <= place <= len(items):
        raise Raised
    place = place if place >= 0 else len(items) + place
    return [*items[:place], item, *items[place:]]


def merge(*maps: Any) -> Any:
    if not all(isinstance(m, dict) for m in maps):
        raise Raised
    return {key: value for m in maps for key, value in m.items()}


BUILTINS: dict[str, Callable[..., Any]] = {
    "append": append,
    "insert": insert,
    "merge": merge,
    "length": len,
    "reverse": lambda xs: xs[::-1],
    "values": lambda m: list(m.values()),
    "get": read,
    "slice": lambda xs, start: xs[start:],
    "sort": sorted,
    "flatten": lambda xs: [item for x in xs for item in (x if isinstance(x, list) else [x])],
}


@dataclass(frozen=True)
class Builtin(Expr):
    name: str
    arguments: tuple[Expr, ...]

    def text(self) -> str:
        return f"{self.name}({', '.join(argument.text() for argument in self.arguments)})"

    def run(self, machine: Machine, scope: Scope) -> Any:
        machine.tick()
        # A builtin's result holds its arguments' items: copied, since an argument may come in twice.
        return copied(BUILTINS[self.name](*[argument.run(machine, scope) for argument in self.arguments]))


@dataclass(frozen=True)
class Apply(Expr):
    """``apply(list, task)``, or piped."""

    items: Expr
    task: Expr
    piped: bool

    def text(self) -> str:
        if self.piped:
            return f"({self.items.text()} |> apply({self.task.text()}))"
        return f"apply({self.items.text()}, {self.task.text()})"

    def run(self, machine: Machine, scope: Scope) -> Any:
        items = self.items.run(machine, scope)
        task = self.task.run(machine, scope)
        return [machine.call(task, [copied(item)]) for item in items]


@dataclass(frozen=True)
class Parallel(Expr):
    """``parallel_map(task, list)``: every item has a copy of all variables that the task can reach."""

    task: Expr
    items: Expr

    def text(self) -> str:
        return f"parallel_map({self.task.text()}, {self.items.text()})"

    def run(self, machine: Machine, scope: Scope) -> Any:
        task = self.task.run(machine, scope)
        items = self.items.run(machine, scope)
        return [machine.call(deepcopy(task), [copied(item)]) for item in items]


@dataclass(frozen=True)
class Where(Expr):
    """``where(list, (name) => number)``"""

    items: Expr
    name: str
    wanted: Expr

    def text(self) -> str:
        return f"where({self.items.text()}, ({self.name}) => {self.wanted.text()})"

    def run(self, machine: Machine, scope: Scope) -> Any:
        kept = []
        for item in self.items.run(machine, scope):
            machine.tick()
            if self.wanted.run(machine, Scope(scope, {self.name: copied(item)})):
                kept.append(item)
        return kept


@dataclass(frozen=True)
class Reduce(Expr):
    """``reduce(list, (so_far, item) => body, start)``"""

    items: Expr
    so_far: str
    item: str
    body: Expr
    start: Expr

    def text(self) -> str:
        return f"reduce({self.items.text()}, ({self.so_far}, {self.item}) => {self.body.text()}, {self.start.text()})"

    def run(self, machine: Machine, scope: Scope) -> Any:
        items = self.items.run(machine, scope)
        value = self.start.run(machine, scope)
        for item in items:
            machine.tick()
            value = self.body.run(machine, Scope(scope, {self.so_far: value, self.item: copied(item)}))
        return value


@dataclass(frozen=True)
class Call(Expr):
    """A call; arguments with a name come after those without."""

    callee: Expr
    arguments: tuple[Expr, ...]
    named: tuple[tuple[str, Expr], ...] = ()

    def text(self) -> str:
        written = [argument.text() for argument in self.arguments] + [f"{name} = {value.text()}" for name, value in self.named]
        return f"{self.callee.text()}({', '.join(written)})"

    def run(self, machine: Machine, scope: Scope) -> Any:
        task = self.callee.run(machine, scope)
        arguments = [argument.run(machine, scope) for argument in self.arguments]
        return machine.call(task, arguments, {name: value.run(machine, scope) for name, value in self.named})


@dataclass(frozen=True)
class Choice(Expr):
    """``when a == b then c otherwise d``"""

    left: Expr
    right: Expr
    yes: Expr
    no: Expr

    def text(self) -> str:
        return f"(when {self.left.text()} == {self.right.text()} then {self.yes.text()} otherwise {self.no.text()})"

    def run(self, machine: Machine, scope: Scope) -> Any:
        left = self.left.run(machine, scope)
        equal = left == self.right.run(machine, scope)
        return (self.yes if equal else self.no).run(machine, scope)


@dataclass(frozen=True)
class Lambda(Expr):
    params: tuple[str, ...]
    body: Expr

    def text(self) -> str:
        return f"(({', '.join(self.params)}) => {self.body.text()})"

    def run(self, machine: Machine, scope: Scope) -> Any:
        label = f"task <lambda>({', '.join(self.params)})"
        return Closure(label, tuple((name, None) for name in self.params), (Give(self.body),), scope)


# ---- statements --------------------------------------------------------------------------------------------------------

Block = tuple["Stmt", ...]


class Stmt:
    def lines(self) -> Iterator[str]:
        raise NotImplementedError

    def run(self, machine: Machine, scope: Scope) -> None:
        raise NotImplementedError


def indented(block: Block) -> Iterator[str]:
    for statement in block:
        for line in statement.lines():
            yield "    " + line


def run_block(block: Block, machine: Machine, scope: Scope) -> None:
    for statement in block:
        machine.tick()
        statement.run(machine, scope)


@dataclass(frozen=True)
class Let(Stmt):
    name: str
    value: Expr

    def lines(self) -> Iterator[str]:
        yield f"let {self.name} be {self.value.text()}"

    def run(self, machine: Machine, scope: Scope) -> None:
        scope.names[self.name] = self.value.run(machine, scope)


@dataclass(frozen=True)
class Set(Stmt):
    """Value first, then the index expressions, then the variable is read and walked."""

    target: Path
    value: Expr

    def lines(self) -> Iterator[str]:
        yield f"set {self.target.text()} to {self.value.text()}"

    def run(self, machine: Machine, scope: Scope) -> None:
        value = self.value.run(machine, scope)
        keys = [step.run(machine, scope) for step in self.target.steps]
        holder = scope.holder(self.target.name)
        if not keys:
            holder.names[self.target.name] = value
            return
        place = holder.names[self.target.name]
        for key in keys[:-1]:
            place = read(place, key)
        write(place, keys[-1], value)


@dataclass(frozen=True)
class Do(Stmt):
    value: Expr

    def lines(self) -> Iterator[str]:
        yield self.value.text()

    def run(self, machine: Machine, scope: Scope) -> None:
        self.value.run(machine, scope)


@dataclass(frozen=True)
class Print(Stmt):
    values: tuple[Expr, ...]

    def lines(self) -> Iterator[str]:
        yield f"print({', '.join(value.text() for value in self.values)})"

    def run(self, machine: Machine, scope: Scope) -> None:
        machine.output.append(" ".join(shown(value) for value in [v.run(machine, scope) for v in self.values]))


@dataclass(frozen=True)
class Each(Stmt):
    name: str
    items: Expr
    body: Block

    def lines(self) -> Iterator[str]:
        yield f"each {self.name} in {self.items.text()}"
        yield from indented(self.body)

    def run(self, machine: Machine, scope: Scope) -> None:
        for item in self.items.run(machine, scope):
            try:
                run_block(self.body, machine, Scope(scope, {self.name: copied(item)}))
            except Stopped:
                break


@dataclass(frozen=True)
class While(Stmt):
    """A loop of ``rounds`` rounds, counted by a variable of its own."""

    counter: str
    rounds: int
    body: Block

    def lines(self) -> Iterator[str]:
        yield f"let {self.counter} be 0"
        yield f"while {self.counter} < {self.rounds}"
        yield f"    set {self.counter} to {self.counter} + 1"
        yield from indented(self.body)

    def run(self, machine: Machine, scope: Scope) -> None:
        scope.names[self.counter] = 0
        for _ in range(self.rounds):
            scope.names[self.counter] += 1
            try:
                run_block(self.body, machine, scope)
            except Stopped:
                break


@dataclass(frozen=True)
class When(Stmt):
    left: Expr
    right: Expr
    yes: Block
    no: Block

    def lines(self) -> Iterator[str]:
        yield f"when {self.left.text()} == {self.right.text()}"
        yield from indented(self.yes)
        if self.no:
            yield "otherwise"
            yield from indented(self.no)

    def run(self, machine: Machine, scope: Scope) -> None:
        left = self.left.run(machine, scope)
        equal = left == self.right.run(machine, scope)
        run_block(self.yes if equal else self.no, machine, scope)


@dataclass(frozen=True)
class MatchList(Stmt):
    """``match`` with ``[first, ...rest]``."""

    subject: Expr
    first: str
    rest: str
    body: Block

    def lines(self) -> Iterator[str]:
        yield f"match {self.subject.text()}"
        yield f"    is [{self.first}, ...{self.rest}]"
        for line in indented(self.body):
            yield "    " + line

    def run(self, machine: Machine, scope: Scope) -> None:
        subject = self.subject.run(machine, scope)
        if subject:
            run_block(self.body, machine, Scope(scope, {self.first: subject[0], self.rest: copied(subject[1:])}))


@dataclass(frozen=True)
class MatchMap(Stmt):
    """``match`` with ``{a, b: name}``."""

    subject: Expr
    other: str
    body: Block

    def lines(self) -> Iterator[str]:
        yield f"match {self.subject.text()}"
        yield f"    is {{a, b: {self.other}}}"
        for line in indented(self.body):
            yield "    " + line

    def run(self, machine: Machine, scope: Scope) -> None:
        subject = self.subject.run(machine, scope)
        run_block(self.body, machine, Scope(scope, {"a": subject["a"], self.other: subject["b"]}))


@dataclass(frozen=True)
class Try(Stmt):
    """``raises``: the body ends with ``raise``. The handler says that it ran."""

    body: Block
    raises: bool

    def lines(self) -> Iterator[str]:
        yield "try"
        yield from indented(self.body)
        if self.raises:
            yield '    raise "on purpose"'
        yield "recover"
        yield "    print(-1)"

    def run(self, machine: Machine, scope: Scope) -> None:
        try:
            run_block(self.body, machine, scope)
            if self.raises:
                raise Raised
        except Raised:
            machine.output.append("-1")


@dataclass(frozen=True)
class Sandbox(Stmt):
    body: Block

    def lines(self) -> Iterator[str]:
        yield "sandbox"
        yield from indented(self.body)

    def run(self, machine: Machine, scope: Scope) -> None:
        run_block(self.body, machine, Scope(scope))


@dataclass(frozen=True)
class Stop(Stmt):
    def lines(self) -> Iterator[str]:
        yield "stop"

    def run(self, machine: Machine, scope: Scope) -> None:
        raise Stopped


@dataclass(frozen=True)
class Give(Stmt):
    """``give``, or the value of the last statement of a task: of an expression or a ``let``."""

    value: Expr
    form: str = "give "

    def lines(self) -> Iterator[str]:
        yield f"{self.form}{self.value.text()}"

    def run(self, machine: Machine, scope: Scope) -> None:
        raise Given(self.value.run(machine, scope))


@dataclass(frozen=True)
class Task(Stmt):
    name: str
    params: tuple[tuple[str, Expr | None], ...]
    body: Block

    def lines(self) -> Iterator[str]:
        params = ", ".join(name if default is None else f"{name} = {default.text()}" for name, default in self.params)
        yield f"task {self.name}({params})"
        yield from indented(self.body)

    def run(self, machine: Machine, scope: Scope) -> None:
        label = f"task {self.name}({', '.join(name for name, _ in self.params)})"
        scope.names[self.name] = Closure(label, self.params, self.body, scope)


@dataclass(frozen=True)
class Use(Stmt):
    """``use "./m.lang" as name`` of a module whose top level is ``module``."""

    alias: str
    module: Block
    exported: frozenset[str]

    def module_text(self) -> str:
        lines = []
        for statement in self.module:
            own = list(statement.lines())
            if isinstance(statement, Let | Task) and statement.name in self.exported:
                own[0] = "export " + own[0]
            lines += own
        return "\n".join(lines) + "\n"

    def lines(self) -> Iterator[str]:
        yield f'use "./m.lang" as {self.alias}'

    def run(self, machine: Machine, scope: Scope) -> None:
        inner = Scope(None)
        run_block(self.module, machine, inner)
        scope.names[self.alias] = Namespace(inner)


@dataclass(frozen=True)
class Program:
    body: Block

    def text(self) -> str:
        return "\n".join(line for statement in self.body for line in statement.lines()) + "\n"

    def files(self) -> dict[str, str]:
        return next(({"m.lang": s.module_text()} for s in self.body if isinstance(s, Use)), {})

    def output(self) -> list[str]:
        """What the program must print; raises :class:`TooLong`."""
        machine = Machine()
        try:
            run_block(self.body, machine, Scope(None))
        except RecursionError:
            raise TooLong from None
        return machine.output
