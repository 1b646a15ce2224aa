"""Translates a template into a task of the language, for the language's own compiler.

The parameters of the task are what a rendering provides, with names that no program can use. The first one is the unit, which
looks up the names that compiled code does not define. Every free name of an expression is looked up there when the page runs,
in its data and in the program's globals. So one compiled page serves every program. ``each`` and ``when`` become the statements
of the language. A hole is a call that escapes the value and one that appends it.
"""

from __future__ import annotations

from collections.abc import Iterator

from language.code import Code
from language.compiler.compilation import COMPILER_DEPTH, compile_program, no_collection
from language.recursion import deep_recursion
from language.syntax import nodes
from language.syntax.walk import descend
from language.templates import template_nodes

#: The parameters of the task, in the order in which a rendering passes them.
PARAMETERS = (
    *("·unit", "·write", "·escaped", "·text", "·items", "·field"),
    *("·include", "·component", "·slot", "·fill", "·misplaced"),
)
TASK = "·page"


def compile_template(template: template_nodes.Template, *, metered: bool) -> Code:
    """Compiles a page; ``metered`` counts its steps."""
    writer = _Writer()
    body = (*writer.body(template.body, ()), nodes.Give((1, 1, 1, 1), None))
    params = tuple(nodes.Param(name, None, (1, 1)) for name in PARAMETERS)
    program = nodes.Program((1, 1, 1, 1), (nodes.Task((1, 1, 1, 1), TASK, params, body, False),))
    with no_collection(), deep_recursion(COMPILER_DEPTH):
        return compile_program(program, metered=metered, module=True, session=frozenset(writer.names))


def _span(line: int) -> nodes.Span:
    return line, 1, line, 1


def _name(identifier: str, line: int) -> nodes.Name:
    return nodes.Name(_span(line), identifier)


def _text(text: str, line: int) -> nodes.Text:
    return nodes.Text(_span(line), text)


def _call(function: str, line: int, *values: nodes.Expr) -> nodes.Call:
    at = line, 1
    return nodes.Call(_span(line), _name(function, line), tuple(nodes.Arg(None, value, at) for value in values), at)


def _does(value: nodes.Expr) -> nodes.ExprStmt:
    return nodes.ExprStmt(value.span, value)


class _Writer:
    """Makes the statements. ``loops`` are the enclosing loop variables, innermost last; ``names`` collects the names that are
    looked up.
    """

    def __init__(self) -> None:
        self.names: set[str] = set()
        self._count = 0

    def _fresh(self, what: str) -> str:
        self._count += 1
        return f"·{what}{self._count}"

    def body(self, parts: template_nodes.Body, loops: tuple[str, ...]) -> nodes.Block:
        return tuple(self._statements(parts, loops))

    def _statements(self, parts: template_nodes.Body, loops: tuple[str, ...]) -> Iterator[nodes.Stmt]:
        line = 1
        for part in parts:
            if isinstance(part, template_nodes.Text):
                yield _does(_call("·write", line, _text(part.text, line)))
                continue
            line = part.line
            match part:
                case template_nodes.Value(value=value, raw=raw):
                    shown = _call("·text" if raw else "·escaped", line, self._value(value, loops))
                    yield _does(_call("·write", line, shown))
                case template_nodes.When(arms=arms, otherwise=otherwise):
                    made = tuple((self._value(condition, loops), self.body(branch, loops)) for condition, branch in arms)
                    yield nodes.When(_span(line), made, None if otherwise is None else self.body(otherwise, loops))
                case template_nodes.Each():
                    yield from self._each(part, loops)
                case template_nodes.Include():
                    yield _does(self._include(part, loops))
                case template_nodes.Slot(name=name):
                    which = nodes.Nothing(_span(line)) if name is None else _text(name, line)
                    yield _does(_call("·write", line, _call("·slot", line, which)))
                case template_nodes.Fill():
                    yield from self._fill(part)

    def _value(self, value: nodes.Expr, loops: tuple[str, ...]) -> nodes.Expr:
        """An expression. A single name that is not a loop variable is looked up as a field."""
        if isinstance(value, nodes.Name):
            line = value.span[0]
            return value if value.id in loops else _call("·field", line, _text(value.id, line))
        self.names.update(node.id for node in descend(value) if isinstance(node, nodes.Name))
        return value

    def _each(self, part: template_nodes.Each, loops: tuple[str, ...]) -> Iterator[nodes.Stmt]:
        line = part.line
        items: nodes.Expr = _call("·items", line, self._value(part.iterable, loops))
        name = ""
        if part.otherwise is not None:
            name = self._fresh("items")
            yield nodes.Let(_span(line), name, items, False)
            items = _name(name, line)
        yield nodes.Each(_span(line), part.name, items, self.body(part.body, (*loops, part.name)))
        if part.otherwise is not None:
            empty = nodes.Not(_span(line), _name(name, line), (line, 1))
            yield nodes.When(_span(line), ((empty, self.body(part.otherwise, loops)),), None)

    def _include(self, part: template_nodes.Include, loops: tuple[str, ...]) -> nodes.Expr:
        line = part.line
        path, write = _text(part.path, line), _name("·write", line)
        if part.props is not None:
            return _call("·component", line, path, write, self._value(part.props, loops))
        seen = tuple((_text(name, line), _name(name, line)) for name in dict.fromkeys(loops))
        return _call("·include", line, path, write, nodes.MapLit(_span(line), seen))

    def _fill(self, part: template_nodes.Fill) -> Iterator[nodes.Stmt]:
        line = part.line
        if not part.placed:
            yield _does(_call("·misplaced", line, _text(part.name, line)))
            return
        task = self._fresh("fill")
        # The parameter `·write` of the part shadows that of the page, so output inside the part goes to the part.
        body = (*self.body(part.body, ()), nodes.Give(_span(line), None))
        yield nodes.Task(_span(line), task, (nodes.Param("·write", None, (line, 1)),), body, False)
        yield _does(_call("·fill", line, _text(part.name, line), _name(task, line)))
