"""Lines that only make a value which nobody takes: ``append(out, 1)`` leaves ``out`` as it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from language.analysis.manifest import Problem
from language.analysis.meanings import FileMeanings, Meanings
from language.analysis.name_places import SourceText
from language.compiler.resolution import ItemOf
from language.registry import Builtin
from language.syntax import nodes
from language.syntax.walk import descend

CODE = "W0117"

#: Builtins that change nothing and call nothing of the program, beside those whose declaration says so.
ONLY_GIVING = frozenset(
    (
        *("append", "insert", "remove", "merge", "items", "values", "enumerate", "range", "reverse", "sort", "flatten"),
        *("unique", "index_of", "chunk", "collect", "is_integer", "is_text", "is_list", "is_map", "is_decimal", "is_bytes"),
        *("sum", "product", "min", "max", "mean", "median", "var", "std", "argmin", "argmax", "cumsum", "diff", "mode"),
        *("matches", "regex_find_all", "regex_capture", "capture", "regex_replace", "json_encode", "format_time"),
        *("fill_missing", "drop_missing", "count_missing", "is_missing", "url_encode", "bytes_to_int", "int_to_bytes"),
    )
)
#: The same as long as the task that they are given changes and calls nothing.
ONLY_GIVING_WITH_A_TASK = frozenset(
    (
        *("apply", "where", "transform", "reduce", "sort_by", "group_by", "count_by", "find_first", "every", "some"),
        *("count_where", "zip_with"),
    )
)
#: Those that give another state of their first argument, which is likely to be kept under the same name.
_CHANGING = frozenset(
    (
        *("append", "insert", "remove", "merge", "reverse", "sort", "sort_by", "unique", "where", "flatten"),
        *("upper", "lower", "trim", "replace", "regex_replace", "slice", "round", "round_to", "floor", "ceil", "trunc", "abs"),
        *("text", "number", "int", "float", "decimal", "fill_missing", "drop_missing", "add_days", "add_months"),
    )
)
#: Of these a line may be there to fail where its argument is not as it has to be.
_CHECKING = frozenset(
    ("validate", "date", "datetime", "duration", "parse_date", "parse_datetime", "url_parse", "xml_parse", "array", "get", "at")
)
#: Replies that are made of a value alone. ``render`` and ``content`` read files.
_REPLIES = frozenset(
    (
        *("ok", "created", "not_found", "fail", "html", "respond", "binary", "redirect", "with_header", "set_cookie"),
        "clear_cookie",
    )
)
#: What an expression consists of that changes nothing.
_PLAIN = (
    *(nodes.Number, nodes.Decimal, nodes.Text, nodes.Template, nodes.Bool, nodes.Nothing, nodes.Name, nodes.ListLit),
    *(nodes.MapLit, nodes.Arith, nodes.Power, nodes.Compare, nodes.BoolOp, nodes.Not, nodes.Negate, nodes.Field),
    *(nodes.Index, nodes.Of, nodes.WhenExpr, nodes.Link),
)
#: What holds a block that is no part of the statements around it; the value of a task and of a block that is a value is taken.
_ROOTS = (nodes.Program, nodes.Task, nodes.Route, nodes.Agent, nodes.Test, nodes.Stream, nodes.Socket, nodes.BlockValue)
#: The longest line that a cure repeats.
_LONGEST = 100


def dropped_values_of(meanings: Meanings) -> Iterator[Problem]:
    """The warnings, file by file."""
    for file in meanings.files.values():
        looked = _Dropped(file)
        for root in file.index.of(*_ROOTS):
            yield from looked.below(root)


class _Dropped:
    """Looks through one file."""

    def __init__(self, file: FileMeanings) -> None:
        self._file = file
        self._text: SourceText | None = None
        #: whether `give` may stand in the block that is looked through
        self._gives = False

    def below(self, root: Any) -> Iterator[Problem]:
        """The warnings for the statements of a root and of the blocks in it."""
        block = _block_of(root)
        self._gives = isinstance(root, (nodes.Task, nodes.Route))
        #: blocks, whether the value of the last statement is taken, is tried, and is the end of a route
        pending = [(block, isinstance(root, (nodes.Task, nodes.BlockValue)), False, isinstance(root, nodes.Route))]
        while pending:
            block, taken, tried, ends = pending.pop()
            for number, statement in enumerate(block):
                last = number == len(block) - 1
                if isinstance(statement, nodes.ExprStmt):
                    if not (last and taken):
                        yield from self._statement(statement.value, tried=tried, ends=last and ends)
                    continue
                for inner, caught in _blocks_in(statement):
                    loop = isinstance(statement, (nodes.Each, nodes.While))
                    pending.append((inner, last and taken, tried or caught, last and ends and not loop))

    def _statement(self, value: nodes.Expr, *, tried: bool, ends: bool) -> Iterator[Problem]:
        told = self._told(value, tried=tried)
        if told is None and ends and isinstance(value, (nodes.MapLit, nodes.ListLit, nodes.Text, nodes.Template, nodes.Name)):
            told = "the route does not give this value, so its reply is `null`", self._written("give {}", value)
        if told is not None:
            message, cure = told
            yield Problem(self._file.unit.file, *value.span[:2], message, "warning", CODE, *value.span[2:], cure)

    def _told(self, value: nodes.Expr, *, tried: bool) -> tuple[str, str] | None:
        """What is wrong with a statement that is this expression, and the cure."""
        match value:
            case nodes.Call(func=nodes.Name() as func, args=args):
                return self._call(value, func, args[0].value if args else None, args, tried=tried)
            case nodes.Pipe(first=first, steps=(*_, nodes.Call(func=nodes.Name() as func, args=args))):
                return self._call(value, func, first, args, tried=tried)
            case nodes.Pipe(first=first, steps=(*_, nodes.Name() as func)):
                return self._call(value, func, first, (), tried=tried)
            case nodes.Compare(first=first, links=(nodes.Link(op="==", operand=operand),)) if not tried:
                message = "this comparison has no effect: nobody takes its result"
                if self._is_variable(first):
                    cure = self._written("set {} to {}", first, operand).removesuffix(".")
                    return message, f"{cure} to give `{self._shown(first)}` this value."
                return message, self._keeping(value)
            case nodes.Compare() | nodes.Not() if not tried:
                return "this comparison has no effect: nobody takes its result", self._keeping(value)
            case nodes.Arith(first=first, links=links) if not tried and all(link.op != "//" for link in links):
                message = "this calculation has no effect: nobody takes its result"
                if self._is_variable(first) and not self._is_of_a_loop(first):
                    return message, self._written("set {} to {}", first, value)
                return message, self._keeping(value)
            case nodes.Name(id=name) if not tried:
                meaning = self._file.of(value)
                if isinstance(meaning, nodes.Task):
                    params = ", ".join(param.name for param in meaning.params)
                    return f"this line names the task `{name}` and does not call it", f"Write `{name}({params})`."
                if isinstance(meaning, Builtin) and not meaning.required:
                    return f"this line names `{name}` and does not call it", f"Write `{name}()`."
        return None

    def _call(
        self, whole: nodes.Expr, func: nodes.Name, first: nodes.Expr | None, args: tuple[nodes.Arg, ...], *, tried: bool
    ) -> tuple[str, str] | None:
        builtin = self._file.of(func)
        if not isinstance(builtin, Builtin) or builtin.name in _CHECKING:
            return None
        name = builtin.name
        if name in _REPLIES:
            if not self._gives:
                return None
            return f"{name}() only makes a reply, and nothing gives this one", self._written("give {}", whole)
        if not (builtin.facts.pure or name in ONLY_GIVING or (name in ONLY_GIVING_WITH_A_TASK and _changes_nothing(args))):
            return None
        if tried and name not in ("append", "insert", "remove", "merge"):
            return None  # it may be there to fail
        if name in _CHANGING and first is not None and self._is_variable(first):
            message = f"{name}() leaves `{self._shown(first)}` as it is: the new value that it gives is dropped here"
            return message, self._written("set {} to {}", first, whole)
        return f"this line has no effect: {name}() only gives a value, and nobody takes it", self._keeping(whole)

    def _is_variable(self, node: nodes.Expr) -> bool:
        """Whether it names a variable of the program, or a place in one."""
        while isinstance(node, (nodes.Field, nodes.Index)):
            node = node.obj
        ref = self._file.ref(node) if isinstance(node, nodes.Name) else None
        return ref is not None and bool(ref.variables) and self._file.of(node).__class__ not in (nodes.Task, nodes.Use)

    def _is_of_a_loop(self, node: nodes.Expr) -> bool:
        ref = self._file.ref(node) if isinstance(node, nodes.Name) else None
        return ref is not None and any(isinstance(value, ItemOf) for variable in ref.variables for value in variable.values)

    def _keeping(self, value: nodes.Expr) -> str:
        return (
            f"{self._written('print({})', value).removesuffix('.')} to show the value, keep it with `let`, or remove the line."
        )

    def _written(self, form: str, *parts: nodes.Expr) -> str:
        written = form.format(*map(self._shown, parts))
        return f"Write `{written if len(written) <= _LONGEST else form.format(*('...' for _ in parts))}`."

    def _shown(self, part: nodes.Expr) -> str:
        if part.span[0] != part.span[2]:
            return "..."
        if self._text is None:
            self._text = SourceText(self._file.unit.file, self._file.unit.source)
        return self._text.text(part.span)


def _block_of(root: Any) -> tuple[Any, ...]:
    if isinstance(root, nodes.BlockValue):
        return (root.stmt,)
    return root.statements if isinstance(root, nodes.Program) else root.body


def _blocks_in(statement: nodes.Stmt) -> Iterator[tuple[nodes.Block, bool]]:
    """The blocks of a statement whose value is that of the statement, and whether an error in them is caught."""
    match statement:
        case nodes.When(arms=arms, otherwise=otherwise):
            yield from ((block, False) for _, block in arms)
            yield otherwise or (), False
        case nodes.Match(arms=arms, otherwise=otherwise):
            yield from ((arm.body, False) for arm in arms)
            yield otherwise or (), False
        case nodes.Try(body=body, handler=handler):
            yield body, True
            yield handler, False
        case nodes.Each(body=body) | nodes.While(body=body) | nodes.Sandbox(body=body) | nodes.Trace(body=body):
            yield body, False
        case _:
            return


def _changes_nothing(args: tuple[nodes.Arg, ...]) -> bool:
    """Whether what a builtin is to call is a lambda that changes nothing."""
    tasks = [arg.value.body for arg in args if isinstance(arg.value, nodes.Lambda)]
    return bool(tasks) and all(isinstance(node, _PLAIN) for body in tasks for node in descend(body))
