"""What surely fails where it is reached: names that nothing defines, calls with a wrong number of arguments, fields that a
value does not have. The messages are those of the running program.

In the body of a ``try`` the same is a warning, because the program goes on, and in a lambda without parameters, because whoever
is given that decides what its failure means. In the argument of ``assert_error`` it is intended, and is not
reported. Nor is what a literal condition keeps from ever running.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from language import library
from language.analysis.checker import Checked
from language.analysis.hidden_names import HidingNames, made_inside
from language.analysis.literal_faults import Fault, literal_faults
from language.analysis.manifest import Problem
from language.analysis.meanings import FileMeanings, Meaning, Meanings
from language.analysis.pattern_faults import pattern_faults
from language.analysis.placement_faults import placement_faults
from language.analysis.service_faults import service_faults
from language.analysis.symbols import symbols_of
from language.capabilities.require_lines import is_literal
from language.errors import LanguageError, ParseError, RuntimeFault
from language.hints import NO_NAME_LIKE_IT, did_you_mean, method_as_call, undefined_name_hint
from language.registry import Builtin
from language.runtime.calls import (
    called_as,
    missing_argument,
    missing_or_misspelt,
    not_callable,
    signature_of,
    too_few_for_builtin,
    too_many,
    too_many_for_builtin,
)
from language.runtime.intrinsics import cannot_set, undefined_text
from language.syntax import nodes
from language.syntax.foreign_habits import SLASHES
from language.syntax.lexer import normalised
from language.syntax.patterns import names_of
from language.syntax.walk import descend
from language.values import operators

#: A value of each kind that has no fields, for the message that reading one gives. The kind `num` may also be a duration: the
#: difference of two dates.
_SAMPLES: dict[str, Any] = {"list": [], "str": "", "int": 0, "nonint": 0.5}
#: A value of each literal that nobody can call; but for the map, none of them has fields.
_UNCALLABLE: dict[type, Any] = {nodes.Number: 0, nodes.Text: "", nodes.Template: "", nodes.ListLit: [], nodes.MapLit: {}}


def faults_of(checked: Checked, meanings: Meanings) -> list[Problem]:
    """All of them, file by file, in the order of the source; those that a ``try`` catches have the kind ``warning``."""
    if checked.entry is None:
        return []
    found: list[Problem] = []
    for file in meanings.files.values():
        found += sorted(_Faults(checked, file, meanings).found(), key=lambda problem: (problem.line, problem.column))
    return found


#: The most problems of a file that are reported with the name that was probably meant. Comparing names takes time in proportion
#: to the product of two counts, and nobody reads more suggestions at once.
MOST_SUGGESTIONS = 20

#: The most exports of a module that are listed where none is similar to the name that was asked for.
MOST_SHOWN = 10

#: Where an error is caught or intended, and what is no plain read.
_LOOKED_AT = (
    *(nodes.Try, nodes.Lambda, nodes.MapLit, nodes.When, nodes.WhenExpr, nodes.BoolOp, nodes.Compare, nodes.Call),
    *(nodes.Require, nodes.VariantPattern, nodes.Set, nodes.Pipe, nodes.ExprStmt),
)

#: The one of some names that a name probably stands for, or the empty text.
Suggest = Callable[[str, Iterable[str]], str]


class _Faults:
    """Looks through one file."""

    def __init__(self, checked: Checked, file: FileMeanings, meanings: Meanings) -> None:
        self._meanings = meanings
        self._suggestions_left = MOST_SUGGESTIONS
        # Facts about a definition that each of its uses needs, cached by the identity of the definition.
        self._exported: dict[int, dict[str, None]] = {}
        self._keys_of: dict[int, dict[str, None] | None] = {}
        self._parameters: dict[int, tuple[list[str], set[str]]] = {}
        self._checked = checked
        self._file = file
        self._hiding = HidingNames(file)
        self._lines: list[str] | None = None
        self._caught: set[int] = set()
        self._meant: set[int] = set()
        self._piped: set[int] = set()
        self._targets: set[int] = set()
        self._keys_of_maps: set[int] = set()
        #: calls by the ``id`` of the field that is called, and the calls that are statements
        self._calls: dict[int, nodes.Call] = {}
        self._statements: set[int] = set()

    def found(self) -> Iterator[Problem]:
        self._look_around()
        told: set[int] = set()
        for node in self._file.index.of(nodes.Name, nodes.ExprStmt, nodes.Call, nodes.Field, nodes.Of):
            if id(node) in self._meant or id(node) in told:
                continue
            for error, span in self._in(node):
                told.add(id(node))  # the path of a variant is there twice: as a pattern and as a value
                yield self._problem(error, span, caught=id(node) in self._caught)
        for node, error, span in self._of_other_kinds():
            if id(node) not in self._meant:
                yield self._problem(error, span, caught=id(node) in self._caught)

    def _of_other_kinds(self) -> Iterator[Fault]:
        file = self._file
        yield from literal_faults(file)
        yield from pattern_faults(file)
        yield from placement_faults(file, self._meanings)
        yield from service_faults(file)

    def _look_around(self) -> None:
        """Finds the nodes at which an error is caught or intended, and those that are not plain reads."""
        for node in self._file.index.of(*_LOOKED_AT):
            match node:
                case nodes.Try(body=body):
                    self._caught.update(id(inner) for inner in descend(body))
                case nodes.Lambda(params=(), body=body):
                    self._caught.update(id(inner) for inner in descend(body))
                case nodes.MapLit(entries=entries):
                    self._keys_of_maps.update(id(key) for key, _ in entries)
                case nodes.When() | nodes.WhenExpr() | nodes.BoolOp() | nodes.Compare():
                    self._meant.update(id(inner) for part in _never_run(node) for inner in descend(part))
                case nodes.Call(func=nodes.Field() as func):
                    self._calls[id(func)] = node
                case nodes.ExprStmt(value=nodes.Call() as call):
                    self._statements.add(id(call))
                case nodes.Call(func=nodes.Name(id="assert_error"), args=args):
                    self._meant.update(id(inner) for arg in args for inner in descend(arg))
                case nodes.Require(scope=scope) if scope is not None and not is_literal(scope):
                    self._meant.update(id(inner) for inner in descend(scope))  # refused as a whole
                case nodes.VariantPattern(path=path, value=value) if value is not path:
                    # an expression only where the path is no variant; else its names bind
                    of_path = {id(inner) for inner in descend(path)}
                    self._meant.update(id(inner) for inner in descend(value) if id(inner) not in of_path)
                case nodes.Set(target=target):
                    self._targets.add(id(target))
                    while isinstance(target, (nodes.Field, nodes.Index, nodes.Of)):
                        target = target.obj
                    self._targets.add(id(target))
                case nodes.Pipe(steps=steps):
                    self._piped.update(id(step) for step in steps)
                case _:
                    continue

    def _in(self, node: Any) -> Iterator[tuple[LanguageError, nodes.Span]]:
        match node:
            case nodes.Name(id=name):
                yield from self._read(node, name)
            case nodes.ExprStmt(value=nodes.Arith(links=links)):
                yield from self._comment(links)
            case nodes.Call(func=func, args=args, at=(line, column)):
                error = self._call(self._callee(func), func, args, 1 if id(node) in self._piped else 0)
                if error is not None:
                    yield error, (line, column, *node.span[2:])
            case nodes.Field(obj=obj, name=name, at=at) if id(node) not in self._targets:
                error = self._field(obj, name)
                if error is not None:
                    error.help = self._as_call(node) or error.help
                    yield error, (*at, *node.span[2:])
            case nodes.Of(obj=obj, name=name, at=at) if id(node) not in self._targets:
                error = self._field(obj, name)
                if error is not None:
                    yield error, (*at, at[0], at[1] + len("of"))
            case _:
                return

    def _problem(self, error: LanguageError, span: nodes.Span, *, caught: bool) -> Problem:
        kind = "warning" if caught else error.kind
        line, column, end_line, end_column = span
        return Problem(self._file.unit.file, line, column, error.message, kind, error.code, end_line, end_column, error.help)

    # ---- names ----------------------------------------------------------------------------------------------------------

    def _read(self, node: nodes.Name, name: str) -> Iterator[tuple[LanguageError, nodes.Span]]:
        ref = self._file.ref(node)
        if ref is None or not self._file.is_undefined(name, ref):
            return
        if id(node) in self._targets:
            error = _coded(cannot_set(name), "E0202")
        else:
            error = RuntimeFault(undefined_text(name), kind="name")
        if not error.help:
            error.help = self._help(node, name)
        yield error, node.span

    def _comment(self, links: tuple[nodes.Link, ...]) -> Iterator[tuple[LanguageError, nodes.Span]]:
        """The error for ``value // words`` as a statement, where a word is not defined: the comment of another language."""
        for number, link in enumerate(links):
            if link.op == "//" and any(self._is_undefined(node) for node in descend(link.operand)):
                self._meant.update(id(node) for later in links[number:] for node in descend(later.operand))
                line, column = link.at
                yield ParseError(SLASHES, code="E0119"), (line, column, line, column + len(link.op))
                return

    def _is_undefined(self, node: Any) -> bool:
        ref = self._file.ref(node) if isinstance(node, nodes.Name) else None
        return ref is not None and self._file.is_undefined(node.id, ref)

    def _help(self, node: nodes.Name, name: str) -> str:
        """The help for an undefined name; the empty text where none is known."""
        if id(node) in self._keys_of_maps:
            return f'A key stands in quotes: `"{name}"`. Without them it is a variable.'
        if undefined_name_hint(name):
            return ""  # the message says it
        if self._stands_behind_slashes(node):
            return SLASHES
        if self._suggestions_left <= 0:
            return ""
        inside = made_inside(self._file, node)
        if inside:
            self._suggestions_left -= 1
            return inside
        if name in self._file.resolution.top.names:
            self._suggestions_left -= 1
            made = (n.span[0] for n in self._file.index.of(nodes.Let, nodes.Task) if n.name == name)
            line = next((line for line in made if line > node.span[0]), 0)
            return f"`{name}` is made on line {line}: move that line up, before this one." if line else ""
        seen = symbols_of(self._checked).visible(self._file.unit.file, *node.span[:2])
        known = (*library().all_builtins(), *library().all_constants())
        near = self._suggest(name, [symbol.name for symbol in seen]) or did_you_mean(name, known)
        if near:
            return f"Did you mean `{near}`?"
        told = id(node) in self._targets or not undefined_text(name).endswith("'")  # the message says what to do
        return "" if told else NO_NAME_LIKE_IT

    def _stands_behind_slashes(self, node: nodes.Name) -> bool:
        """Whether the name is the first word after ``//``, which begins a comment in other languages."""
        line, column = node.span[:2]
        lines = self._source_lines()
        return 0 < line <= len(lines) and lines[line - 1][: column - 1].rstrip().endswith("//")

    def _source_lines(self) -> list[str]:
        if self._lines is None:
            self._lines = normalised(self._file.unit.source).split("\n")
        return self._lines

    def _suggest(self, name: str, known: Iterable[str]) -> str:
        if self._suggestions_left <= 0:
            return ""
        self._suggestions_left -= 1
        return did_you_mean(name, sorted(known))

    # ---- calls ----------------------------------------------------------------------------------------------------------

    def _callee(self, func: nodes.Expr) -> Meaning | tuple[str, tuple[str, ...] | None] | None:
        """What is called: for a variant of an enum its full name and its fields."""
        if isinstance(func, nodes.Field):
            owner = self._file.of(func.obj)
            if isinstance(owner, nodes.EnumDef):
                variants = dict(owner.variants)
                return (f"{owner.name}.{func.name}", variants[func.name]) if func.name in variants else None
        return self._file.of(func)

    def _call(self, callee: Any, func: nodes.Expr, args: tuple[nodes.Arg, ...], before: int) -> LanguageError | None:
        positional = before + sum(arg.name is None for arg in args)
        names = [arg.name for arg in args if arg.name is not None]
        match callee:
            case nodes.Task(name=name):
                return _task_call(name, *self._parameters_of(callee), positional, args, names, self._suggest)
            case nodes.Lambda():
                return _task_call("<lambda>", *self._parameters_of(callee), positional, args, names, self._suggest)
            case Builtin():
                return _builtin_call(callee, positional, args, names)
            case nodes.TypeDef(name=name, fields=fields):
                return _constructor_call(f"Type {name}", fields, positional, names)
            case (str(name), tuple(fields)):
                return _constructor_call(f"variant {name}", fields, positional, names)
            case (str(name), None):
                error = _coded(not_callable({}), "E0303")
                error.help = f"`{name}` holds no values: write it without parentheses."
                return error
            case _ if type(callee) in _UNCALLABLE:
                error = _coded(not_callable(_UNCALLABLE[type(callee)]), "E0303")
            case None:
                found = self._hiding.value(func)
                if found is None:
                    return None
                error = _coded(not_callable(found), "E0303")
            case _:
                return None
        line = self._hiding.line(func)
        if line and isinstance(func, nodes.Name):
            error.help = f"`{func.id}` of line {line} hides the builtin `{func.id}`: give the variable another name."
        return error

    def _parameters_of(self, callee: nodes.Task | nodes.Lambda) -> tuple[list[str], set[str]]:
        """The parameters, and which of them have no default."""
        found = self._parameters.get(id(callee))
        if found is None:
            if isinstance(callee, nodes.Task):
                required = {param.name for param in callee.params if param.default is None}
                found = [param.name for param in callee.params], required
            else:
                found = list(callee.params), set(callee.params)
            self._parameters[id(callee)] = found
        return found

    # ---- fields ---------------------------------------------------------------------------------------------------------

    def _field(self, obj: nodes.Expr, name: str) -> LanguageError | None:
        owner = self._file.of(obj)
        keys = self._keys(owner)
        if keys is not None:
            if isinstance(owner, nodes.EnumDef) and name in self._meanings.unread:
                return None  # it may be what a line of the enum that could not be read defines
            return None if name in keys else _message_of(keys, name, keys, self._suggest)
        if isinstance(owner, nodes.Use):
            return self._export(owner, name)
        kind = self._file.kind(obj)
        if kind in _SAMPLES:
            return _message_of(_SAMPLES[kind], name, (), self._suggest)
        if type(owner) in _UNCALLABLE and not isinstance(owner, nodes.MapLit):
            return _message_of(_UNCALLABLE[type(owner)], name, (), self._suggest)
        return None

    def _as_call(self, field: nodes.Field) -> str:
        """The help for a method of another language, with the names of the program; the empty text where that is not sure."""
        call = self._calls.get(id(field))
        if call is None or call.span[0] != call.span[2] or any(arg.name is not None for arg in call.args):
            return ""
        line = self._source_lines()[call.span[0] - 1]
        owner, *arguments = (
            line[part.span[1] - 1 : part.span[3] - 1] for part in (field.obj, *(arg.value for arg in call.args))
        )
        keeps = id(call) in self._statements and isinstance(field.obj, (nodes.Name, nodes.Field, nodes.Index))
        here = method_as_call(field.name, owner, arguments, keeps=keeps)
        return f"Write `{here}`." if here else ""

    def _keys(self, owner: Any) -> dict[str, None] | None:
        """The keys of a map whose literal, type or variant is known."""
        if not isinstance(owner, (nodes.MapLit, nodes.EnumDef, nodes.Call)):
            return None
        if id(owner) not in self._keys_of:
            keys = self._keys_in(owner)
            self._keys_of[id(owner)] = None if keys is None else dict.fromkeys(keys)
        return self._keys_of[id(owner)]

    def _keys_in(self, owner: nodes.MapLit | nodes.EnumDef | nodes.Call) -> tuple[str, ...] | None:
        match owner:
            case nodes.MapLit(entries=entries):
                keys = [key.value for key, _ in entries if isinstance(key, nodes.Text)]
                return tuple(keys) if len(keys) == len(entries) else None
            case nodes.EnumDef(variants=variants):
                return ("__enum", *(name for name, _ in variants))
            case nodes.Call(func=func):
                match self._callee(func):
                    case nodes.TypeDef(fields=fields):
                        return tuple(name for name, _ in fields)
                    case (str(), tuple(fields)):
                        return ("__variant", *fields)
        return None

    def _export(self, use: nodes.Use, name: str) -> LanguageError | None:
        module = self._file.module(use)
        if module is None or module.unit.unread:
            return None
        exported = self._exported.get(id(module))
        if exported is None:
            exported = self._exported[id(module)] = dict.fromkeys(sorted(_exports(module)))
        if name in exported:
            return None
        if name in module.resolution.top.names:
            return RuntimeFault(
                f"the module has no export '{name}' — it is defined inside the module but not exported: write "
                f"`export task {name}` or `export let {name} be …` there",
                kind="name",
                code="E0204",
            )
        near = self._suggest(name, exported)
        told = f"Did you mean `{near}`?" if near else _what_is_exported(exported)
        return RuntimeFault(f"the module '{use.alias}' has no export '{name}'", kind="name", code="E0204", help=told)


def _what_is_exported(names: Collection[str]) -> str:
    """What may be written instead; ``names`` are sorted."""
    shown = [f"`{name}`" for name in islice(names, MOST_SHOWN)]
    more = f" and {len(names) - MOST_SHOWN} more" if len(names) > MOST_SHOWN else ""
    return (
        f"It exports {', '.join(shown)}{more}." if shown else "It exports nothing: write `export` before what others may use."
    )


def _exports(module: FileMeanings) -> set[str]:
    found: set[str] = set()
    for node in module.unit.program.statements:
        if isinstance(node, nodes.LetParts) and node.exported:
            found.update(names_of(node.pattern))
        elif isinstance(node, nodes.RouteGroup) or (
            isinstance(node, (nodes.Let, nodes.Task, nodes.TypeDef, nodes.EnumDef)) and node.exported
        ):
            found.add(node.name)
    return found


def _never_run(node: nodes.When | nodes.WhenExpr | nodes.BoolOp | nodes.Compare) -> Iterator[object]:
    """The parts of a node that a literal before them keeps from ever running."""
    match node:
        case nodes.When(arms=arms, otherwise=otherwise) | nodes.WhenExpr(arms=arms, otherwise=otherwise):
            taken = False
            for condition, part in arms:
                truth = _truth(condition)
                if taken or truth is False:
                    yield part
                taken = taken or truth is True
            if taken and otherwise is not None:
                yield otherwise
        case nodes.BoolOp(op=op, operands=operands):
            for number, operand in enumerate(operands):
                if _truth(operand) is (op == "or"):
                    yield from operands[number + 1 :]
                    return
        case nodes.Compare(first=nodes.Number(value=left), links=(link, *rest)):
            if isinstance(link.operand, nodes.Number) and link.op in ("<", ">", "<=", ">="):
                right = link.operand.value
                holds = {"<": left < right, ">": left > right, "<=": left <= right, ">=": left >= right}[link.op]
                if not holds:
                    yield from (later.operand for later in rest)
        case _:
            return


def _truth(node: nodes.Expr) -> bool | None:
    """Whether a literal is true; ``None`` for what is none."""
    match node:
        case nodes.Bool(value=value) | nodes.Number(value=value) | nodes.Text(value=value):
            return bool(value)
        case nodes.Nothing():
            return False
        case _:
            return None


def _message_of(value: Any, name: str, keys: Iterable[str], suggest: Suggest) -> LanguageError | None:
    """The error of reading a field of a value."""
    try:
        operators.field(value, name)
    except RuntimeFault as error:
        near = suggest(name, keys)
        if error.help:
            pass
        elif near:
            error.help = f"Did you mean `{near}`?"
        elif shown := [f"`{key}`" for key in islice(keys, MOST_SHOWN + 2) if len(key) <= 60 and not key.startswith("__")]:
            more = " and others" if len(shown) > MOST_SHOWN else ""
            error.help = f"It has {', '.join(shown[:MOST_SHOWN])}{more}."
        return _coded(error, "E0401" if isinstance(value, dict) else "E0305")
    return None


def _coded(error: LanguageError, code: str) -> LanguageError:
    error.code = code
    return error


def _task_call(
    name: str,
    params: list[str],
    required: set[str],
    positional: int,
    args: tuple[nodes.Arg, ...],
    names: list[str],
    suggest: Suggest,
) -> LanguageError | None:
    """The order is that of ``language.runtime.calls.call_named``."""
    if positional > len(params):
        return too_many(name, len(params), positional + len(names), _form(name, params, required))
    unknown = next((given for given in names if given not in params), None)
    for index, param in enumerate(params):
        if param in required and index >= positional and param not in names:
            missing = missing_argument(name, param, _form(name, params, required))
            return missing if unknown is None else missing_or_misspelt(missing, unknown, params)
    error = _order(args)
    if error is not None:
        return error
    taken = set(params[:positional])
    for given in names:
        if given not in params:
            near = suggest(given, params)
            told = f"Did you mean `{near}`?" if near else f"Parameters of it: {', '.join(params)}." if params else ""
            return RuntimeFault(f"unknown parameter '{given}'", kind="name", code="E0206", help=told)
        if given in taken:
            return RuntimeFault(f"duplicate argument '{given}'", kind="type", code="E0306")
        taken.add(given)
    return None


def _form(name: str, params: Sequence[str], required: Container[str]) -> str:
    """How it is called; the empty text where that is long, because a file may have as many such calls as it has lines."""
    return called_as(signature_of(name, params, required)) if len(params) <= MOST_SHOWN else ""


def _order(args: tuple[nodes.Arg, ...]) -> LanguageError | None:
    named = [arg.name is not None for arg in args]
    if True in named and False in named[named.index(True) :]:
        return RuntimeFault("positional argument after named argument", kind="type", code="E0306")
    return None


def _builtin_call(builtin: Builtin, positional: int, args: tuple[nodes.Arg, ...], names: list[str]) -> LanguageError | None:
    """The order is that of ``language.runtime.calls``."""
    most = builtin.most
    if most is not None and (positional if builtin.named else positional + len(names)) > most:
        return _coded(too_many_for_builtin(builtin.name, most, positional + len(names)), "E0302")
    for name in names:
        if not builtin.named:
            message = f"{builtin.name}() does not accept named arguments (got {name} = …); pass it by position"
            return RuntimeFault(message, kind="type", code="E0206")
        if name not in builtin.named:
            takes = ", ".join(builtin.named)
            message = f"{builtin.name}() has no argument named '{name}' (named arguments it takes: {takes})"
            return RuntimeFault(message, kind="name", code="E0206")
    if positional < builtin.required:
        return _coded(too_few_for_builtin(builtin, positional), "E0302")
    return _order(args)


def _constructor_call(label: str, fields: Sequence[Any], positional: int, names: list[str]) -> LanguageError | None:
    name = label.partition(" ")[2]
    if names:
        return RuntimeFault(f"{name} takes its values by position, without names", kind="type", code="E0206")
    if positional == len(fields):
        return None
    shown = [field if isinstance(field, str) else field[0] for field in fields[: MOST_SHOWN + 1]]
    message = f"{label} expects {len(fields)} fields, got {positional}"
    return RuntimeFault(message, kind="type", code="E0302", help=_form(name, shown, shown))
