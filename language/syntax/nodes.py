"""The abstract syntax tree: frozen dataclasses with source spans, and nothing that computes.

A span is ``(line, column, end_line, end_column)``, 1-based, columns in Unicode code points, the end exclusive. ``at`` is the
``(line, column)`` of the token at which errors of the node are placed: the operator, the opening bracket, the dot. Operators,
pipes, comparisons and ``otherwise when`` are kept as flat chains, so that a chain of a thousand links is not a tree a thousand
levels deep.
"""

from __future__ import annotations

from dataclasses import dataclass

Span = tuple[int, int, int, int]
At = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Node:
    span: Span


class Expr(Node):
    __slots__ = ()


class Stmt(Node):
    __slots__ = ()


class Pattern(Node):
    __slots__ = ()


Block = tuple[Stmt, ...]


# ---- literals and names ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Number(Expr):
    """An integer or float literal."""

    value: int | float


@dataclass(frozen=True, slots=True)
class Decimal(Expr):
    """A decimal literal: its text without the suffix ``d`` and without ``_``."""

    text: str


@dataclass(frozen=True, slots=True)
class Text(Expr):
    value: str


@dataclass(frozen=True, slots=True)
class Template(Expr):
    """Backtick text: literal pieces (``str``) and holes (``Expr``) in order; ``raw`` is the text as written."""

    parts: tuple[str | Expr, ...]
    raw: str


@dataclass(frozen=True, slots=True)
class Bool(Expr):
    value: bool


@dataclass(frozen=True, slots=True)
class Nothing(Expr):
    pass


@dataclass(frozen=True, slots=True)
class Name(Expr):
    id: str


# ---- compound expressions ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ListLit(Expr):
    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class MapLit(Expr):
    entries: tuple[tuple[Expr, Expr], ...]


@dataclass(frozen=True, slots=True)
class Lambda(Expr):
    params: tuple[str, ...]
    body: Expr


@dataclass(frozen=True, slots=True)
class Link:
    """One step of a left-associative chain: operator, the place of its token, right operand."""

    op: str
    at: At
    operand: Expr


@dataclass(frozen=True, slots=True)
class Arith(Expr):
    """``first op operand op operand ...`` of one precedence level, ``+ -`` or ``* / // %``; left-associative."""

    first: Expr
    links: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class Power(Expr):
    base: Expr
    exponent: Expr
    at: At


@dataclass(frozen=True, slots=True)
class Compare(Expr):
    """A chain of ``== != < > <= >= in`` and ``not in``; errors stand at the first operator."""

    first: Expr
    links: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class BoolOp(Expr):
    """``and`` or ``or`` over two or more operands."""

    op: str
    operands: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Not(Expr):
    operand: Expr
    at: At


@dataclass(frozen=True, slots=True)
class Negate(Expr):
    operand: Expr
    at: At


@dataclass(frozen=True, slots=True)
class Pipe(Expr):
    """``first |> step |> step``; ``at`` of the first ``|>`` is the place of errors of every step."""

    first: Expr
    steps: tuple[Expr, ...]
    at: At


@dataclass(frozen=True, slots=True)
class Arg:
    """An argument; ``name`` is ``None`` when positional."""

    name: str | None
    value: Expr
    at: At


@dataclass(frozen=True, slots=True)
class Call(Expr):
    func: Expr
    args: tuple[Arg, ...]
    at: At


@dataclass(frozen=True, slots=True)
class Field(Expr):
    """``obj.name``"""

    obj: Expr
    name: str
    at: At


@dataclass(frozen=True, slots=True)
class Index(Expr):
    """``obj[index]``"""

    obj: Expr
    index: Expr
    at: At


@dataclass(frozen=True, slots=True)
class Of(Expr):
    """``name of obj``; ``at`` is the word ``of``."""

    name: str
    obj: Expr
    at: At


@dataclass(frozen=True, slots=True)
class WhenExpr(Expr):
    """Inline ``when c then a otherwise when d then b otherwise z``, flat."""

    arms: tuple[tuple[Expr, Expr], ...]
    otherwise: Expr | None


@dataclass(frozen=True, slots=True)
class SandboxExpr(Expr):
    body: Expr


@dataclass(frozen=True, slots=True)
class BlockValue(Expr):
    """A block form of ``when`` or ``sandbox`` as the whole value of ``let``, ``set`` or ``give``."""

    stmt: Stmt


# ---- people and models -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Within:
    """``within 90s``: the number as written and the unit ``s m h d``."""

    amount: int | float | str
    unit: str


@dataclass(frozen=True, slots=True)
class Gate(Expr):
    """``approve``, ``confirm`` or ``ask``; ``options`` is the ``with`` operand of ``ask``."""

    kind: str
    message: Expr
    options: Expr | None
    within: Within | None


@dataclass(frozen=True, slots=True)
class Show(Expr):
    value: Expr
    label: Expr | None


@dataclass(frozen=True, slots=True)
class Reason(Expr):
    topic: Expr | None
    about: bool
    with_name: str | None
    with_value: Expr | None
    block: Block | None


@dataclass(frozen=True, slots=True)
class Decide(Expr):
    options: Expr | None
    given: Expr | None


@dataclass(frozen=True, slots=True)
class Analyze(Expr):
    subject: Expr
    purpose: str | None


@dataclass(frozen=True, slots=True)
class Generate(Expr):
    what: str
    given: Expr | None
    with_name: str | None
    with_value: Expr | None


@dataclass(frozen=True, slots=True)
class Question:
    """A line of a ``judge`` block: kind ``whether``, ``choose`` or ``rate``."""

    name: str
    kind: str
    subject: Expr
    among: Expr | None
    or_nothing: bool


@dataclass(frozen=True, slots=True)
class Judge(Expr):
    subject: Expr
    questions: tuple[Question, ...]


# ---- patterns ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AnyPattern(Pattern):
    """``_``"""


@dataclass(frozen=True, slots=True)
class BindPattern(Pattern):
    """A bare name inside a list, map or variant pattern."""

    name: str


@dataclass(frozen=True, slots=True)
class ValuePattern(Pattern):
    """An expression compared with ``==`` (also a bare name directly after ``is``)."""

    value: Expr


@dataclass(frozen=True, slots=True)
class SpreadPattern(Pattern):
    """``...name`` or ``...`` in a list pattern."""

    name: str | None


@dataclass(frozen=True, slots=True)
class ListPattern(Pattern):
    items: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class MapPattern(Pattern):
    """``{k, k2: p}``: key and pattern; a bare ``k`` is ``(k, BindPattern(k))``."""

    fields: tuple[tuple[str, Pattern], ...]


@dataclass(frozen=True, slots=True)
class VariantPattern(Pattern):
    """``E.v`` or ``E.v(p, q)`` (``path`` is the Field expression; ``args`` is ``None`` without parentheses).

    Whether it is an enum variant is known when the program runs; if not, ``value`` (the same source as an ordinary
    expression) is compared by ``==``. Arguments: bare names bind, everything else is a ValuePattern.
    """

    path: Field
    args: tuple[Pattern, ...] | None
    value: Expr


# ---- statements --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ExprStmt(Stmt):
    value: Expr


@dataclass(frozen=True, slots=True)
class Let(Stmt):
    name: str
    value: Expr
    exported: bool


@dataclass(frozen=True, slots=True)
class LetParts(Stmt):
    """``let [a, b] be value`` and ``let {a, b} be value``: the pattern holds names, ``_`` and patterns of them, no values."""

    pattern: ListPattern | MapPattern
    value: Expr
    exported: bool


@dataclass(frozen=True, slots=True)
class Set(Stmt):
    """``target`` is any expression; what may be set is checked when it runs."""

    target: Expr
    value: Expr


@dataclass(frozen=True, slots=True)
class Give(Stmt):
    value: Expr | None


@dataclass(frozen=True, slots=True)
class Stop(Stmt):
    value: Expr | None


@dataclass(frozen=True, slots=True)
class Raise(Stmt):
    value: Expr


@dataclass(frozen=True, slots=True)
class Require(Stmt):
    """``capability`` is the dotted name as written, for example ``file.read``."""

    capability: str
    scope: Expr | None


@dataclass(frozen=True, slots=True)
class Invariant(Stmt):
    text: str | None
    condition: Expr


@dataclass(frozen=True, slots=True)
class Intent(Stmt):
    text: str


@dataclass(frozen=True, slots=True)
class Use(Stmt):
    path: str
    alias: str


@dataclass(frozen=True, slots=True)
class Spawn(Stmt):
    agent: str
    args: tuple[tuple[str, Expr], ...]


@dataclass(frozen=True, slots=True)
class Share(Stmt):
    value: Expr
    name: Expr


@dataclass(frozen=True, slots=True)
class Observe(Stmt):
    name: Expr
    alias: str


@dataclass(frozen=True, slots=True)
class Signal(Stmt):
    name: Expr
    payload: Expr | None


@dataclass(frozen=True, slots=True)
class WaitFor(Stmt):
    name: Expr
    timeout: Expr | None
    alias: str | None


@dataclass(frozen=True, slots=True)
class Log(Stmt):
    value: Expr


@dataclass(frozen=True, slots=True)
class Checkpoint(Stmt):
    value: Expr


@dataclass(frozen=True, slots=True)
class Param:
    name: str
    default: Expr | None
    at: At


@dataclass(frozen=True, slots=True)
class Task(Stmt):
    name: str
    params: tuple[Param, ...]
    body: Block
    exported: bool


@dataclass(frozen=True, slots=True)
class TypeDef(Stmt):
    """A constructor; ``fields`` are ``(name, type name)``, the types documentation only."""

    name: str
    fields: tuple[tuple[str, str], ...]
    exported: bool


@dataclass(frozen=True, slots=True)
class EnumDef(Stmt):
    """``variants`` are ``(name, payload field names or None)``."""

    name: str
    variants: tuple[tuple[str, tuple[str, ...] | None], ...]
    exported: bool


@dataclass(frozen=True, slots=True)
class When(Stmt):
    arms: tuple[tuple[Expr, Block], ...]
    otherwise: Block | None


@dataclass(frozen=True, slots=True)
class Each(Stmt):
    name: str
    iterable: Expr
    body: Block


@dataclass(frozen=True, slots=True)
class While(Stmt):
    condition: Expr
    body: Block


@dataclass(frozen=True, slots=True)
class Arm(Node):
    pattern: Pattern
    guard: Expr | None
    body: Block


@dataclass(frozen=True, slots=True)
class Match(Stmt):
    subject: Expr
    arms: tuple[Arm, ...]
    otherwise: Block | None


@dataclass(frozen=True, slots=True)
class Try(Stmt):
    body: Block
    name: str
    handler: Block


@dataclass(frozen=True, slots=True)
class Sandbox(Stmt):
    under: Expr | None
    body: Block


@dataclass(frozen=True, slots=True)
class Trace(Stmt):
    """``trace "n"`` or ``measure "n"`` with a block; ``kind`` says which."""

    kind: str
    label: str
    body: Block


@dataclass(frozen=True, slots=True)
class Test(Stmt):
    name: str
    body: Block


@dataclass(frozen=True, slots=True)
class Agent(Stmt):
    name: str
    body: Block


# ---- serve -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RateLimit(Node):
    """``amount`` is ``None`` for ``none`` / ``unlimited``; ``window`` is ``second``, ``minute`` or ``hour``."""

    amount: Expr | None
    window: str | None


@dataclass(frozen=True, slots=True)
class RouteTimeout(Node):
    """``seconds`` is ``None`` for ``timeout none``."""

    seconds: Expr | None


@dataclass(frozen=True, slots=True)
class Route(Node):
    method: str
    path: str
    requires_auth: bool
    rate_limit: RateLimit | None
    timeout: RouteTimeout | None
    body: Block


@dataclass(frozen=True, slots=True)
class Clause(Node):
    """Any other clause of a serve or host block.

    ``kind`` is its first words (``auth``, ``errors``, ``max_body``, ``max_streams``, ``static``, ``cors``, ``describe``,
    ``private``, ``docs``, ``mount``, ``tls``, ``domain``, ``redirect``, ``bind``, ``trust``); ``operands`` maps the words of
    the clause to their expressions, for example ``{"prefix": ..., "from": ..., "cache": ...}`` in source order.
    """

    kind: str
    operands: tuple[tuple[str, Expr], ...]


@dataclass(frozen=True, slots=True)
class HostBlock(Node):
    name: Expr
    clauses: tuple[Clause | Route, ...]


@dataclass(frozen=True, slots=True)
class Serve(Stmt):
    port: Expr
    clauses: tuple[Clause | Route | RateLimit | RouteTimeout | HostBlock, ...]


@dataclass(frozen=True, slots=True)
class RouteGroup(Stmt):
    """``export routes NAME`` and its indented routes."""

    name: str
    routes: tuple[Route, ...]


@dataclass(frozen=True, slots=True)
class Expect(Stmt):
    """``expect body {field: type, other: optional type}``

    ``place`` is ``body``, ``form`` or ``query``. Each field is its name, its type and whether it may be left out.
    """

    place: str
    fields: tuple[tuple[str, str, bool], ...]


@dataclass(frozen=True, slots=True)
class Stream(Stmt):
    body: Block


@dataclass(frozen=True, slots=True)
class Socket(Stmt):
    body: Block


@dataclass(frozen=True, slots=True)
class Send(Stmt):
    value: Expr
    event: Expr | None


@dataclass(frozen=True, slots=True)
class Proxy(Stmt):
    target: Expr


@dataclass(frozen=True, slots=True)
class Program(Node):
    statements: Block
