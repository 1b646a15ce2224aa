"""What each rule of the grammar builds: children to nodes.

A builder gets the values of its rule (the words filtered out, ``None`` for each optional part that is absent) and the first and
last token of its text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from language.errors import ParseError
from language.syntax import nodes
from language.syntax.literals import number_value
from language.syntax.nodes import At, Expr, Pattern, Span, Stmt
from language.syntax.patterns import parts_of, pattern_of
from language.syntax.tokens import Token

Builder = Callable[[list[Any], Token, Token], Any]
BUILDERS: dict[str, Builder] = {}

_PROTECTED = frozenset(("print", "eprint"))
_ONLY_NAMES = (
    "let takes a value apart into names: only a name, `_`, `...rest`, `[...]` or `{...}` can stand here. "
    "To compare parts with values, use match"
)


def registrar(builders: dict[str, Builder]) -> Callable[..., Callable[[Builder], Builder]]:
    """A decorator that enters a builder under the names of its rules or alternatives."""

    def builds(*names: str) -> Callable[[Builder], Builder]:
        def register(builder: Builder) -> Builder:
            for name in names:
                builders[name] = builder
            return builder

        return register

    return builds


builds = registrar(BUILDERS)


def span(first: Token, last: Token) -> Span:
    return (first[2], first[3], last[4], last[5])


def at(token: Token) -> At:
    return (token[2], token[3])


def refused(message: str, token: Token) -> ParseError:
    """The error for a token that the grammar allows and a rule refuses. The caller raises it."""
    error = ParseError(message, line=token.line, column=token.col, code="E0123")
    error.end_line, error.end_column = token.end_line, token.end_col
    return error


def protect(name: Token) -> None:
    """Refuses to bind a task or lambda to the name of a protected builtin. Raises ``ParseError``."""
    if name.value in _PROTECTED:
        message = f"'{name.value}' is a protected builtin and cannot be bound to something callable: choose another name"
        raise refused(message, name)


# ---- program and simple statements -------------------------------------------------------------------------------------


@builds("program")
def _program(c: list[Any], first: Token, last: Token) -> nodes.Program:
    return nodes.Program(span(first, last), tuple(c))


@builds("block")
def _block(c: list[Any], first: Token, last: Token) -> tuple[Stmt, ...]:
    return tuple(c)


@builds("expression")
def _expression(c: list[Any], first: Token, last: Token) -> nodes.ExprStmt:
    return nodes.ExprStmt(span(first, last), c[0])


@builds("let")
def _let(c: list[Any], first: Token, last: Token) -> nodes.Let:
    exported, name, value = c
    if isinstance(value, nodes.Lambda):
        protect(name)
    return nodes.Let(span(first, last), name.value, value, exported is not None)


@builds("let_parts")
def _let_parts(c: list[Any], first: Token, last: Token) -> nodes.LetParts:
    exported, pattern, value = c
    seen: set[str] = set()
    for part in parts_of(pattern):
        line, column, _, _ = part.span
        if not isinstance(part, (nodes.AnyPattern, nodes.BindPattern, nodes.SpreadPattern)):
            raise ParseError(_ONLY_NAMES, line=line, column=column, code="E0116")
        name = getattr(part, "name", None)
        if name in seen:
            raise ParseError(f"duplicate name '{name}' in let: each part needs its own", line=line, column=column, code="E0123")
        if name in _PROTECTED:
            protect(first._replace(value=name, line=line, col=column))
        if name is not None:
            seen.add(name)
    return nodes.LetParts(span(first, last), pattern, value, exported is not None)


@builds("set")
def _set(c: list[Any], first: Token, last: Token) -> nodes.Set:
    target, value = c
    if isinstance(value, nodes.Lambda) and isinstance(target, nodes.Name) and target.id in _PROTECTED:
        protect(first._replace(value=target.id, line=target.span[0], col=target.span[1]))
    return nodes.Set(span(first, last), target, value)


@builds("give")
def _give(c: list[Any], first: Token, last: Token) -> nodes.Give:
    return nodes.Give(span(first, last), c[0])


@builds("stop")
def _stop(c: list[Any], first: Token, last: Token) -> nodes.Stop:
    return nodes.Stop(span(first, last), c[0])


@builds("raising")
def _raise(c: list[Any], first: Token, last: Token) -> nodes.Raise:
    return nodes.Raise(span(first, last), c[0])


@builds("capability")
def _capability(c: list[Any], first: Token, last: Token) -> str:
    return f"{c[0].value}.{c[1].value}" if c[1] is not None else str(c[0].value)


@builds("require", "require_bare")
def _require(c: list[Any], first: Token, last: Token) -> nodes.Require:
    return nodes.Require(span(first, last), c[0], c[1])


@builds("invariant")
def _invariant(c: list[Any], first: Token, last: Token) -> nodes.Invariant:
    text, condition = c
    if isinstance(text, nodes.Template):
        shown: str | None = text.raw
    else:
        shown = text.value if text is not None else None
    return nodes.Invariant(span(first, last), shown, condition)


@builds("intent")
def _intent(c: list[Any], first: Token, last: Token) -> nodes.Intent:
    return nodes.Intent(span(first, last), c[0].value)


@builds("use")
def _use(c: list[Any], first: Token, last: Token) -> nodes.Use:
    return nodes.Use(span(first, last), c[0].value, c[1].value)


@builds("named_value")
def _named_value(c: list[Any], first: Token, last: Token) -> tuple[str, Expr]:
    return (c[0].value, c[1])


@builds("spawn")
def _spawn(c: list[Any], first: Token, last: Token) -> nodes.Spawn:
    return nodes.Spawn(span(first, last), c[0].value, tuple(c[1:]))


@builds("share")
def _share(c: list[Any], first: Token, last: Token) -> nodes.Share:
    return nodes.Share(span(first, last), c[0], c[1])


@builds("observe")
def _observe(c: list[Any], first: Token, last: Token) -> nodes.Observe:
    return nodes.Observe(span(first, last), c[0], c[1].value)


@builds("signal")
def _signal(c: list[Any], first: Token, last: Token) -> nodes.Signal:
    return nodes.Signal(span(first, last), c[0], c[1])


@builds("wait_for")
def _wait_for(c: list[Any], first: Token, last: Token) -> nodes.WaitFor:
    return nodes.WaitFor(span(first, last), c[0], c[1], c[2].value if c[2] is not None else None)


@builds("log")
def _log(c: list[Any], first: Token, last: Token) -> nodes.Log:
    return nodes.Log(span(first, last), c[0])


@builds("checkpoint")
def _checkpoint(c: list[Any], first: Token, last: Token) -> nodes.Checkpoint:
    return nodes.Checkpoint(span(first, last), c[0])


@builds("block_value")
def _block_value(c: list[Any], first: Token, last: Token) -> nodes.BlockValue:
    return nodes.BlockValue(span(first, last), c[0])


# ---- statements with a block -------------------------------------------------------------------------------------------


@builds("param")
def _param(c: list[Any], first: Token, last: Token) -> nodes.Param:
    return nodes.Param(c[0].value, c[1], at(c[0]))


@builds("task")
def _task(c: list[Any], first: Token, last: Token) -> nodes.Task:
    exported, name, *params, body = c
    params = [param for param in params if param is not None]
    protect(name)
    seen: set[str] = set()
    for param in params:
        if param.name in seen:
            raise ParseError(f"duplicate parameter '{param.name}'", line=param.at[0], column=param.at[1], code="E0123")
        seen.add(param.name)
    return nodes.Task(span(first, last), name.value, tuple(params), body, exported is not None)


@builds("type_field")
def _type_field(c: list[Any], first: Token, last: Token) -> tuple[str, str]:
    return (c[0].value, c[1].value)


@builds("shape_field")
def _shape_field(c: list[Any], first: Token, last: Token) -> tuple[str, str, bool]:
    name, optional, kind = c
    return (name.value, kind.value, optional is not None)


@builds("type")
def _type(c: list[Any], first: Token, last: Token) -> nodes.TypeDef:
    exported, name, *fields = c
    protect(name)
    return nodes.TypeDef(span(first, last), name.value, tuple(fields), exported is not None)


@builds("plain_variant")
def _plain_variant(c: list[Any], first: Token, last: Token) -> tuple[str, None]:
    return (c[0].value, None)


@builds("payload_variant")
def _payload_variant(c: list[Any], first: Token, last: Token) -> tuple[str, tuple[str, ...]]:
    return (c[0].value, tuple(name.value for name in c[1:] if name is not None))


@builds("enum")
def _enum(c: list[Any], first: Token, last: Token) -> nodes.EnumDef:
    exported, name, *variants = c
    protect(name)
    return nodes.EnumDef(span(first, last), name.value, tuple(variants), exported is not None)


@builds("when")
def _when(c: list[Any], first: Token, last: Token) -> nodes.When:
    otherwise = c.pop()
    return nodes.When(span(first, last), tuple(zip(c[::2], c[1::2], strict=True)), otherwise)


@builds("each")
def _each(c: list[Any], first: Token, last: Token) -> nodes.Each:
    return nodes.Each(span(first, last), c[0].value, c[1], c[2])


@builds("while")
def _while(c: list[Any], first: Token, last: Token) -> nodes.While:
    return nodes.While(span(first, last), c[0], c[1])


@builds("try")
def _try(c: list[Any], first: Token, last: Token) -> nodes.Try:
    return nodes.Try(span(first, last), c[0], c[1].value if c[1] is not None else "error", c[2])


@builds("sandbox")
def _sandbox(c: list[Any], first: Token, last: Token) -> nodes.Sandbox:
    return nodes.Sandbox(span(first, last), None, c[0])


@builds("sandbox_under")
def _sandbox_under(c: list[Any], first: Token, last: Token) -> nodes.Sandbox:
    return nodes.Sandbox(span(first, last), c[0], c[1])


@builds("trace")
def _trace(c: list[Any], first: Token, last: Token) -> nodes.Trace:
    return nodes.Trace(span(first, last), first.value, c[0].value, c[1])


@builds("test")
def _test(c: list[Any], first: Token, last: Token) -> nodes.Test:
    return nodes.Test(span(first, last), c[0].value, c[1])


@builds("agent")
def _agent(c: list[Any], first: Token, last: Token) -> nodes.Agent:
    return nodes.Agent(span(first, last), c[0].value, c[1])


@builds("arm")
def _arm(c: list[Any], first: Token, last: Token) -> nodes.Arm:
    pattern, guard, body = c
    return nodes.Arm(span(first, last), pattern_of(pattern, inside=False), guard, body)


@builds("match")
def _match(c: list[Any], first: Token, last: Token) -> nodes.Match:
    subject, *arms, otherwise = c
    return nodes.Match(span(first, last), subject, tuple(arms), otherwise)


# ---- patterns ----------------------------------------------------------------------------------------------------------


@builds("any_pattern")
def _any_pattern(c: list[Any], first: Token, last: Token) -> Pattern:
    return nodes.AnyPattern(span(first, last))


@builds("expression_pattern")
def _expression_pattern(c: list[Any], first: Token, last: Token) -> Expr:
    # what it means depends on where it stands: settled by the pattern around it
    value: Expr = c[0]
    return value


@builds("spread")
def _spread(c: list[Any], first: Token, last: Token) -> Pattern:
    return nodes.SpreadPattern(span(first, last), c[0].value if c[0] is not None else None)


@builds("list_pattern")
def _list_pattern(c: list[Any], first: Token, last: Token) -> Pattern:
    items = tuple(pattern_of(item, inside=True) for item in c)
    spreads = [item for item in items if isinstance(item, nodes.SpreadPattern)]
    if len(spreads) > 1:
        line, column, _, _ = spreads[1].span
        raise ParseError("a list pattern may have at most one '...' spread", line=line, column=column, code="E0123")
    return nodes.ListPattern(span(first, last), items)


@builds("field_pattern")
def _field_pattern(c: list[Any], first: Token, last: Token) -> tuple[str, Pattern]:
    name, pattern = c
    if pattern is None:
        return (name.value, nodes.BindPattern(span(name, name), name.value))
    return (name.value, pattern_of(pattern, inside=True))


@builds("map_pattern")
def _map_pattern(c: list[Any], first: Token, last: Token) -> Pattern:
    return nodes.MapPattern(span(first, last), tuple(field for field in c if field is not None))


# ---- operators ---------------------------------------------------------------------------------------------------------


@builds("pipe")
def _pipe(c: list[Any], first: Token, last: Token) -> nodes.Pipe:
    return nodes.Pipe(span(first, last), c[0], tuple(c[2::2]), at(c[1]))


@builds("any_of")
def _any_of(c: list[Any], first: Token, last: Token) -> nodes.BoolOp:
    return nodes.BoolOp(span(first, last), "or", tuple(c))


@builds("all_of")
def _all_of(c: list[Any], first: Token, last: Token) -> nodes.BoolOp:
    return nodes.BoolOp(span(first, last), "and", tuple(c))


@builds("negation")
def _negation(c: list[Any], first: Token, last: Token) -> nodes.Not:
    return nodes.Not(span(first, last), c[0], at(first))


def _links(c: list[Any]) -> tuple[nodes.Link, ...]:
    return tuple(nodes.Link(c[i][1], (c[i][2], c[i][3]), c[i + 1]) for i in range(1, len(c), 2))


@builds("compare")
def _compare(c: list[Any], first: Token, last: Token) -> nodes.Compare:
    return nodes.Compare(span(first, last), c[0], _links(c))


@builds("arith_sum", "arith_product")
def _arith(c: list[Any], first: Token, last: Token) -> nodes.Arith:
    return nodes.Arith(span(first, last), c[0], _links(c))


@builds("negative")
def _negative(c: list[Any], first: Token, last: Token) -> nodes.Negate:
    return nodes.Negate(span(first, last), c[0], at(first))


@builds("to_power")
def _to_power(c: list[Any], first: Token, last: Token) -> nodes.Power:
    return nodes.Power(span(first, last), c[0], c[2], at(c[1]))


@builds("of")
def _of(c: list[Any], first: Token, last: Token) -> nodes.Of:
    return nodes.Of(span(first, last), c[0].value, c[2], at(c[1]))


@builds("call")
def _call(c: list[Any], first: Token, last: Token) -> nodes.Call:
    return nodes.Call(span(first, last), c[0], tuple(argument for argument in c[2:] if argument is not None), at(c[1]))


@builds("argument")
def _argument(c: list[Any], first: Token, last: Token) -> nodes.Arg:
    return nodes.Arg(None, c[0], at(first))


@builds("named_argument")
def _named_argument(c: list[Any], first: Token, last: Token) -> nodes.Arg:
    return nodes.Arg(c[0].value, c[1], at(first))


@builds("field")
def _field(c: list[Any], first: Token, last: Token) -> nodes.Field:
    return nodes.Field(span(first, last), c[0], c[2].value, at(c[1]))


@builds("index")
def _index(c: list[Any], first: Token, last: Token) -> nodes.Index:
    return nodes.Index(span(first, last), c[0], c[2], at(c[1]))


# ---- values ------------------------------------------------------------------------------------------------------------


@builds("name")
def _name(c: list[Any], first: Token, last: Token) -> nodes.Name:
    return nodes.Name(span(first, last), first.value)


@builds("number")
def _number(c: list[Any], first: Token, last: Token) -> nodes.Number | nodes.Decimal:
    value = number_value(first.value)
    if value is None:
        return nodes.Decimal(span(first, last), first.value[:-1].replace("_", ""))
    return nodes.Number(span(first, last), value)


@builds("text")
def _text(c: list[Any], first: Token, last: Token) -> nodes.Text:
    return nodes.Text(span(first, last), first.value)


@builds("template")
def _template(c: list[Any], first: Token, last: Token) -> nodes.Template:
    parts = tuple(part.value if isinstance(part, Token) else part for part in c[1:-1])
    return nodes.Template(span(first, last), parts, first.value)


@builds("true")
def _true(c: list[Any], first: Token, last: Token) -> nodes.Bool:
    return nodes.Bool(span(first, last), True)


@builds("false")
def _false(c: list[Any], first: Token, last: Token) -> nodes.Bool:
    return nodes.Bool(span(first, last), False)


@builds("nothing")
def _nothing(c: list[Any], first: Token, last: Token) -> nodes.Nothing:
    return nodes.Nothing(span(first, last))


@builds("list")
def _list(c: list[Any], first: Token, last: Token) -> nodes.ListLit:
    return nodes.ListLit(span(first, last), tuple(item for item in c if item is not None))


@builds("map")
def _map(c: list[Any], first: Token, last: Token) -> nodes.MapLit:
    return nodes.MapLit(span(first, last), tuple(zip(c[::2], c[1::2], strict=True)))


@builds("lambda")
def _lambda(c: list[Any], first: Token, last: Token) -> nodes.Lambda:
    *names, body = c
    seen: list[str] = []
    for name in names:
        if name is None:
            continue
        if name.value in seen:
            raise refused(f"duplicate parameter '{name.value}'", name)
        seen.append(name.value)
    return nodes.Lambda(span(first, last), tuple(seen), body)


@builds("when_then")
def _when_then(c: list[Any], first: Token, last: Token) -> nodes.WhenExpr:
    otherwise = c.pop()
    return nodes.WhenExpr(span(first, last), tuple(zip(c[::2], c[1::2], strict=True)), otherwise)


@builds("sandboxed")
def _sandboxed(c: list[Any], first: Token, last: Token) -> nodes.SandboxExpr:
    return nodes.SandboxExpr(span(first, last), c[0])


# ---- models and people -------------------------------------------------------------------------------------------------


@builds("reason")
def _reason(c: list[Any], first: Token, last: Token) -> nodes.Reason:
    about, topic, name, value, *block = c
    named = name.value if name is not None else None
    return nodes.Reason(span(first, last), topic, about is not None, named, value, block[0] if block else None)


@builds("decide")
def _decide(c: list[Any], first: Token, last: Token) -> nodes.Decide:
    return nodes.Decide(span(first, last), c[0], c[1])


@builds("analyze")
def _analyze(c: list[Any], first: Token, last: Token) -> nodes.Analyze:
    return nodes.Analyze(span(first, last), c[0], c[1].value if c[1] is not None else None)


@builds("generate")
def _generate(c: list[Any], first: Token, last: Token) -> nodes.Generate:
    what, given, name, value = c
    return nodes.Generate(span(first, last), what.value, given, name.value if name is not None else None, value)


@builds("within")
def _within(c: list[Any], first: Token, last: Token) -> nodes.Within:
    text = c[0].value
    amount = number_value(text[:-1])
    return nodes.Within(amount if amount is not None else text[:-1], text[-1])


@builds("gate")
def _gate(c: list[Any], first: Token, last: Token) -> nodes.Gate:
    return nodes.Gate(span(first, last), c[0].value, c[1], None, c[2])


@builds("ask")
def _ask(c: list[Any], first: Token, last: Token) -> nodes.Gate:
    return nodes.Gate(span(first, last), "ask", c[0], c[1], c[2])


@builds("show")
def _show(c: list[Any], first: Token, last: Token) -> nodes.Show:
    return nodes.Show(span(first, last), c[0], c[1])


@builds("whether")
def _whether(c: list[Any], first: Token, last: Token) -> nodes.Question:
    return nodes.Question(c[0].value, "whether", c[1], None, False)


@builds("choose")
def _choose(c: list[Any], first: Token, last: Token) -> nodes.Question:
    return nodes.Question(c[0].value, "choose", c[1], c[2], c[3] is not None)


@builds("rate")
def _rate(c: list[Any], first: Token, last: Token) -> nodes.Question:
    return nodes.Question(c[0].value, "rate", c[1], c[2], False)


@builds("judge")
def _judge(c: list[Any], first: Token, last: Token) -> nodes.Judge:
    return nodes.Judge(span(first, last), c[0], tuple(c[1:]))
