"""Parses a template into a tree: matches blocks with their ends and parses expressions. It does not recurse over blocks."""

from __future__ import annotations

import re
from typing import NoReturn

from language.errors import LanguageError
from language.syntax import nodes
from language.syntax.literals import unescape
from language.syntax.tokens import MAX_DEPTH, TOO_DEEP
from language.templates.expressions import LITERAL_NAMES, expression
from language.templates.holes import BLANKS, Hole, TemplateFault, cut
from language.templates.template_nodes import Body, Each, Fill, Include, Part, Slot, Template, Text, Value, When

_DIRECTIVE = re.compile(r"(each|when|otherwise|end|raw|include|layout|slot|fill)(?!\w)(.*)", re.DOTALL)
_EACH = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)[ \t\r\n\f\v]+in(?!\w)(.*)", re.DOTALL)
_QUOTED = re.compile(r"\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)'", re.DOTALL)
_WITH = re.compile(r"with(?!\w)(.*)", re.DOTALL)

#: The most characters of a hole that are shown in an error.
LONGEST_SHOWN = 200
_HINT = (
    "'{' and '}' delimit template holes; wrap literal CSS/JS blocks in { raw } ... { end }, or serve them from a static file"
)


def parse(source: str, file: str) -> Template:
    """The tree of a template; ``file`` is the name shown in errors. Raises ``TemplateFault``."""
    return _Parser(file).run(cut(source, file))


class _Block:
    """An open block: what opened it, the current branch, the branches before."""

    __slots__ = ("arms", "branch", "condition", "iterable", "line", "name", "otherwise", "word")

    def __init__(self, word: str, line: int) -> None:
        self.word = word
        self.line = line
        self.branch: list[Part] = []
        self.name = ""
        self.iterable: nodes.Expr | None = None
        self.condition: nodes.Expr | None = None
        self.arms: list[tuple[nodes.Expr, Body]] = []
        #: the content before ``otherwise``, once that is reached
        self.otherwise: Body | None = None

    def close(self, placed: bool) -> Part:
        branch = tuple(self.branch)
        if self.word == "each":
            assert self.iterable is not None
            if self.otherwise is None:
                return Each(self.line, self.name, self.iterable, branch, None)
            return Each(self.line, self.name, self.iterable, self.otherwise, branch)
        if self.word == "when":
            if self.condition is not None:
                return When(self.line, (*self.arms, (self.condition, branch)), None)
            return When(self.line, tuple(self.arms), branch)
        return Fill(self.line, self.name, branch, placed)


class _Parser:
    def __init__(self, file: str) -> None:
        self._file = file
        self._line = 0
        self._blocks: list[_Block] = []
        self._top: list[Part] = []
        self._layout: str | None = None
        self._includes: dict[str, None] = {}

    def run(self, pieces: list[str | Hole]) -> Template:
        for piece in pieces:
            if isinstance(piece, Hole):
                self._line = piece.line
                self._hole(piece.text)
            else:
                self._add(Text(piece))
        if self._blocks:
            block = self._blocks[-1]
            self._line = block.line
            self._fail(f"missing '{{ end }}' for '{{ {block.word} ... }}'")
        return Template(tuple(self._top), self._layout, tuple(self._includes))

    def _fail(self, message: str) -> NoReturn:
        raise TemplateFault(f"{self._file}:{self._line}: {message}")

    def _add(self, part: Part) -> None:
        (self._blocks[-1].branch if self._blocks else self._top).append(part)

    def _open(self, word: str) -> _Block:
        if len(self._blocks) >= MAX_DEPTH:
            self._fail(TOO_DEEP)
        block = _Block(word, self._line)
        self._blocks.append(block)
        return block

    # ---- holes ----------------------------------------------------------------------------------------------------------

    def _hole(self, text: str) -> None:
        directive = _DIRECTIVE.match(text)
        if directive is None:
            self._add(Value(self._line, self._expression(text, text), False))
            return
        word, rest = directive[1], directive[2].strip(BLANKS)
        match word:
            case "each":
                self._each(rest)
            case "when":
                condition = self._expression(rest, text)
                self._open("when").condition = condition
            case "otherwise":
                self._otherwise(rest)
            case "end":
                self._end(rest)
            case "raw":
                self._add(Value(self._line, self._expression(rest, text), True))
            case "include":
                self._include(rest)
            case _:
                self._place(word, rest)

    def _expression(self, text: str, hole: str) -> nodes.Expr:
        try:
            return expression(text, self._line)
        except LanguageError as error:
            shown = hole if len(hole) <= LONGEST_SHOWN else hole[:LONGEST_SHOWN] + "…"
            self._fail(f"invalid expression {{ {shown} }}: {error.message} — {_HINT}")

    def _each(self, rest: str) -> None:
        found = _EACH.fullmatch(rest)
        if found is None or found[1] in LITERAL_NAMES:
            self._fail("invalid 'each' directive: expected '{ each <name> in <expr> }'")
        try:
            iterable = expression(found[2].strip(BLANKS), self._line)
        except LanguageError as error:
            self._fail(f"invalid 'each' directive: {error.message}")
        block = self._open("each")
        block.name = found[1]
        block.iterable = iterable

    def _otherwise(self, rest: str) -> None:
        block = self._blocks[-1] if self._blocks else None
        if block is None or block.word == "fill" or block.otherwise is not None:
            self._fail("'otherwise' outside a 'when' or 'each' block")
        arm = _DIRECTIVE.match(rest)
        if rest and (arm is None or arm[1] != "when" or not arm[2].strip(BLANKS)):
            self._fail(f"expected '{{ otherwise }}' or '{{ otherwise when <cond> }}', got: {{ otherwise {rest} }}")
        branch = tuple(block.branch)
        if block.word == "each":
            if arm is not None:
                self._fail(
                    "'{ otherwise when ... }' is not valid in an 'each' block "
                    "(only a bare '{ otherwise }' as the empty-list branch)"
                )
            block.otherwise = branch
        else:
            assert block.condition is not None
            block.arms.append((block.condition, branch))
            if arm is not None:
                block.condition = self._expression(arm[2].strip(BLANKS), f"otherwise {rest}")
            else:
                block.condition = None
                block.otherwise = branch
        block.branch = []

    def _end(self, rest: str) -> None:
        if rest:
            self._fail(f"invalid expression {{ end {rest} }}: nothing can follow 'end' — {_HINT}")
        if not self._blocks:
            self._fail("'{ end }' without a matching block")
        block = self._blocks.pop()
        self._add(block.close(placed=not self._blocks))

    def _include(self, rest: str) -> None:
        path, rest = self._quoted("include", rest)
        props = None
        if rest:
            found = _WITH.fullmatch(rest)
            if found is None:
                self._fail(f"unexpected text after the include path (only 'with <expr>' is allowed): {rest}")
            given = found[1].strip(BLANKS)
            if not given:
                self._fail(f"'{{ include \"{path}\" with ... }}' needs an expression after 'with'")
            try:
                props = expression(given, self._line)
            except LanguageError as error:
                self._fail(f"invalid 'with' expression: {error.message}")
        self._includes[path] = None
        self._add(Include(self._line, path, props))

    def _place(self, word: str, rest: str) -> None:
        """``layout``, ``slot`` and ``fill``: a name only, which is optional for a slot."""
        if word == "slot" and not rest:
            self._add(Slot(self._line, None))
            return
        name, rest = self._quoted(word, rest)
        if rest:
            self._fail(f"unexpected text after the {word} {'path' if word == 'layout' else 'name'}: {rest}")
        if word == "slot":
            self._add(Slot(self._line, name))
        elif word == "fill":
            self._open("fill").name = name
        elif self._layout is None and not self._blocks:
            self._layout = name

    def _quoted(self, word: str, rest: str) -> tuple[str, str]:
        """The quoted text at the beginning of ``rest``, and what follows it."""
        found = _QUOTED.match(rest)
        if found is None:
            self._fail(f"'{{ {word} ... }}' needs a quoted path, got: {rest}")
        return unescape(found[1] if found[1] is not None else found[2]), rest[found.end() :].strip(BLANKS)
