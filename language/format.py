"""``lang fmt``: formats a program in its one canonical layout.

The formatter changes only white space. It walks the tokens and uses the tree only for what tokens do not show: which
parenthesis is a call, which minus has two operands, what is a definition. At the end it compares the tokens of its result
with those of its input. The author chooses where lines break inside brackets; their indentation is fixed, and a long line, or a
list or map that is broken in part, is broken further (``language/line_breaks.py``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from language.errors import InternalError
from language.line_breaks import Row, further_breaks
from language.syntax import nodes
from language.syntax.lexer import normalised, tokenize
from language.syntax.parser import parse
from language.syntax.walk import descend

if TYPE_CHECKING:
    from language.syntax.tokens import Token

INDENT = 4
_LAYOUT = frozenset({"NEWLINE", "INDENT", "DEDENT", "EOF"})
_OPENERS = frozenset({"LPAREN", "LBRACKET", "LBRACE"})
_CLOSERS = frozenset({"RPAREN", "RBRACKET", "RBRACE"})
_DEFINITIONS = (nodes.Task, nodes.TypeDef, nodes.EnumDef, nodes.Test, nodes.Agent, nodes.Serve, nodes.RouteGroup)


def format_source(source: str, filename: str = "<source>") -> str:
    """The program in canonical layout: four spaces a level, one blank line around top-level definitions, at most one elsewhere,
    single spaces around operators, comments where they were, LF, a final newline. In a line of 120 columns or more the
    arguments of a call, the parameters of a task, the items of a list, the entries of a map or the steps of a pipe in
    parentheses stand one on a line. In a list or map that is broken between its items or at one end alone they always do.

    ``source`` is the text of the file; a byte order mark is dropped and CRLF becomes LF. The result holds the same tokens and
    comments in the same order. Formatting it again changes nothing. Raises ``LexerError`` or ``ParseError``, whose places name
    ``filename``, when the text is not a program.
    """
    source = normalised(source)
    program = parse(source, filename)
    tokens = tokenize(source, filename, keep_comments=True)
    lines = _with_blank_lines_around_definitions(_lines(source, tokens), _definition_lines(program))
    result = _Printer(source, _Syntax.of(program)).text(lines)
    if _content(source, tokens) != _content(result, tokenize(result, filename, keep_comments=True)):
        raise InternalError(f"formatting would change the tokens of {filename}")
    return result


def _content(source: str, tokens: list[Token]) -> list[tuple[str, str]]:
    """What formatting must not change: every token's kind and text with the block structure, and the comments."""
    program: list[tuple[str, str]] = []
    comments: list[tuple[str, str]] = []
    for token in tokens:
        if token.type == "COMMENT":
            comments.append(("COMMENT", source[token.start : token.end].rstrip()))
        else:
            program.append((token.type, "" if token.type in _LAYOUT else source[token.start : token.end]))
    return program + comments


# ---- what the tree knows -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Syntax:
    """Positions (line, column) of the tokens whose spacing depends on their role."""

    calls: frozenset[nodes.At]
    #: of the brackets of lists and maps
    literals: frozenset[nodes.At]
    indexes: frozenset[nodes.At]
    subtractions: frozenset[nodes.At]
    #: of the keywords of gates and of ``show``
    gates: frozenset[nodes.At]

    @staticmethod
    def of(program: nodes.Program) -> _Syntax:
        calls: set[nodes.At] = set()
        indexes: set[nodes.At] = set()
        subtractions: set[nodes.At] = set()
        gates: set[nodes.At] = set()
        values: set[nodes.At] = set()
        for node in descend(program):
            if isinstance(node, nodes.Call):
                calls.add(node.at)
            elif isinstance(node, nodes.Index):
                indexes.add(node.at)
            elif isinstance(node, nodes.Arith):
                subtractions.update(link.at for link in node.links if link.op == "-")
            elif isinstance(node, (nodes.Gate, nodes.Show)):
                gates.add(node.span[:2])
            elif isinstance(node, (nodes.ListLit, nodes.MapLit)):
                values.add(node.span[:2])
        return _Syntax(frozenset(calls), frozenset(values), frozenset(indexes), frozenset(subtractions), frozenset(gates))


def _definition_lines(program: nodes.Program) -> frozenset[int]:
    """First lines of the top-level definitions."""
    return frozenset(statement.span[0] for statement in program.statements if isinstance(statement, _DEFINITIONS))


# ---- from tokens to lines ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Line:
    """A logical line with its comments, or a comment on a line of its own."""

    level: int
    tokens: tuple[Token, ...]
    blank_before: bool

    @property
    def is_comment(self) -> bool:
        return self.tokens[0].type == "COMMENT"


def _lines(source: str, tokens: list[Token]) -> list[_Line]:
    """The logical lines and the comments between them, each with its level; ``blank_before`` as in the source."""
    statements, comments = _statements(tokens)
    result: list[_Line] = []
    position = 0
    waiting: list[Token] = []

    def add(level: int, group: list[Token]) -> None:
        blank = bool(result) and group[0].line - result[-1].tokens[-1].end_line > 1
        opens_block = bool(result) and not result[-1].is_comment and level > result[-1].level
        result.append(_Line(level, tuple(group), blank and not opens_block))

    widths: list[int] = []
    level = 0
    for next_level, statement in [*statements, (0, [])]:
        end = statement[0].start if statement else len(source)
        while position < len(comments) and comments[position].start < end:
            waiting.append(comments[position])
            position += 1
        for comment, comment_level in zip(waiting, _comment_levels(source, waiting, widths, level, next_level)):
            add(comment_level, [comment])
        waiting = []
        if not statement:
            break
        last_line = statement[-1].end_line
        while position < len(comments) and comments[position].line <= last_line:
            waiting.append(comments[position])
            position += 1
        group = sorted([*statement, *waiting], key=lambda token: token.start)
        waiting = []
        add(next_level, group)
        level = next_level
        widths[level:] = [_width(source, statement[0])]
    return result


def _statements(tokens: list[Token]) -> tuple[list[tuple[int, list[Token]]], list[Token]]:
    """The logical lines as (level, tokens), and the comments."""
    statements: list[tuple[int, list[Token]]] = []
    comments: list[Token] = []
    level = 0
    current: list[Token] = []
    for token in tokens:
        if token.type == "COMMENT":
            comments.append(token)
        elif token.type in _LAYOUT:
            if current:
                statements.append((level, current))
                current = []
            level += {"INDENT": 1, "DEDENT": -1}.get(token.type, 0)
        else:
            current.append(token)
    if current:
        statements.append((level, current))
    return statements, comments


def _comment_levels(source: str, comments: list[Token], widths: list[int], before: int, after: int) -> list[int]:
    """The levels of the comments between a line of level ``before`` and one of level ``after``.

    A comment belongs to the line below it, unless blocks end there: then its own indentation shows which of those blocks it
    belongs to. ``widths`` are the indentations of the open levels in the source.
    """
    levels = []
    deepest = max(before, after)
    for comment in comments:
        if after < deepest:
            column = _width(source, comment)
            deepest = max((level for level in range(after + 1, deepest + 1) if widths[level] <= column), default=after)
        levels.append(deepest)
    return levels


def _width(source: str, token: Token) -> int:
    """The indentation before the first token of a line; a tab counts four."""
    start = source.rfind("\n", 0, token.start) + 1
    return sum(4 if character == "\t" else 1 for character in source[start : token.start])


def _with_blank_lines_around_definitions(lines: list[_Line], definitions: frozenset[int]) -> list[_Line]:
    """Sets ``blank_before`` for the top-level definitions. Comments directly above a definition belong to it."""
    blank = [line.blank_before for line in lines]
    after_definition = False
    for number, line in enumerate(lines):
        if line.level:
            continue
        if after_definition:
            blank[number] = True
            after_definition = False
        if not line.is_comment and line.tokens[0].line in definitions:
            first = number
            while first and lines[first - 1].is_comment and not lines[first - 1].level and not blank[first]:
                first -= 1
            blank[first] = first > 0
            after_definition = True
    return [_Line(line.level, line.tokens, flag) for line, flag in zip(lines, blank)]


def _parameters(tokens: tuple[Token, ...]) -> frozenset[nodes.At]:
    """The place of the parenthesis of the parameters where the line begins a task."""
    for task, name, bracket in (tokens[0:3], tokens[1:4]) if len(tokens) > 3 else ():
        if (task.type, name.type, bracket.type) == ("TASK", "IDENTIFIER", "LPAREN"):
            return frozenset({(bracket.line, bracket.col)})
    return frozenset()


# ---- from lines to text ------------------------------------------------------------------------------------------------


class _Printer:
    def __init__(self, source: str, syntax: _Syntax) -> None:
        self.source = source
        self.syntax = syntax
        #: places of the brackets of calls, parameters, lists and maps
        self.breakable: frozenset[nodes.At] = frozenset()

    def text(self, lines: list[_Line]) -> str:
        self.breakable = self.syntax.calls.union(self.syntax.literals, *[_parameters(line.tokens) for line in lines])
        pieces: list[str] = []
        for line in lines:
            if line.blank_before:
                pieces.append("\n")
            pieces.append(self._line(line))
            pieces.append("\n")
        return "".join(pieces)

    def _line(self, line: _Line) -> str:
        """The logical line as one or several lines of text, without the last line end."""
        breaks: frozenset[int] = frozenset()
        while True:
            rows = self._rows(line, breaks)
            more = further_breaks(line.tokens, rows, self.breakable, self.syntax.literals) - breaks
            if not more:
                return "\n".join(self._with_comment(line.tokens, row) for row in rows)
            breaks |= more

    def _rows(self, line: _Line, breaks: frozenset[int]) -> list[Row]:
        """The lines of text: those of the source, and one more before each token of ``breaks``."""
        rows: list[Row] = []
        indent = line.level * INDENT
        pieces = [" " * indent]
        first = 0
        open_brackets: list[int] = []  # for each open bracket the indentation of its line
        tokens = line.tokens
        unary = False
        for number, token in enumerate(tokens):
            if number:
                before = tokens[number - 1]
                if token.line > before.end_line or number in breaks:
                    rows.append(Row(first, number, "".join(pieces)))
                    if token.line - before.end_line > 1 and before.type not in _OPENERS and token.type not in _CLOSERS:
                        rows.append(Row(number, number, ""))
                    indent = open_brackets[-1] + (0 if token.type in _CLOSERS else INDENT)
                    first, pieces = number, [" " * indent]
                elif token.type != "COMMENT" and self._spaced(tokens, number, unary):
                    pieces.append(" ")
            unary = token.type == "MINUS" and (token.line, token.col) not in self.syntax.subtractions
            if token.type in _OPENERS:
                open_brackets.append(indent)
            elif token.type in _CLOSERS:
                open_brackets.pop()
            if token.type != "COMMENT" or number == first:
                pieces.append(self._written(token))
        rows.append(Row(first, len(tokens), "".join(pieces)))
        return rows

    def _with_comment(self, tokens: tuple[Token, ...], row: Row) -> str:
        """The text of the row, and the comment behind it where there is one."""
        last = row.after - 1
        if last <= row.first or tokens[last].type != "COMMENT":
            return row.text
        return f"{row.text}  {self._written(tokens[last])}"

    def _written(self, token: Token) -> str:
        text = self.source[token.start : token.end]
        return text.rstrip() if token.type == "COMMENT" else text

    def _spaced(self, tokens: tuple[Token, ...], number: int, after_unary: bool) -> bool:
        """Whether a space precedes the token with that number, on the same line as the token before it."""
        before, token = tokens[number - 1], tokens[number]
        if after_unary:
            return token.type == "MINUS"  # `--` would be a comment
        if before.type in _OPENERS or before.type in ("DOT", "SPREAD"):
            return False
        if token.type in _CLOSERS or token.type in ("COMMA", "COLON", "DOT"):
            return False
        if token.type == "LPAREN":
            return not ((token.line, token.col) in self.syntax.calls or self._declares(tokens, number))
        if token.type == "LBRACKET":
            return (token.line, token.col) not in self.syntax.indexes
        if before.type == "NUMBER" and token.type == "IDENTIFIER":
            return not self._is_duration(before, token)
        return True

    def _declares(self, tokens: tuple[Token, ...], number: int) -> bool:
        """Whether the parenthesis belongs to the name before it in ``task``, ``require``, ``raise`` or a variant of an enum."""
        if number > 5 or (tokens[0].line, tokens[0].col) in self.syntax.gates:  # `require a.b (` is the longest
            return False
        words = [token.type for token in tokens[:number]]
        if words[0] == "IDENTIFIER" and self._written(tokens[0]) == "export":
            words = words[1:]
        return words in (["IDENTIFIER"], ["TASK", "IDENTIFIER"]) or (
            words[0] == "REQUIRE" and (len(words) == 2 or (len(words) == 4 and words[2] == "DOT"))
        )

    def _is_duration(self, amount: Token, unit: Token) -> bool:
        """``within 90s``. Without a space a fraction or an exponent could be read with the unit, so only plain digits are
        joined to it.
        """
        return self._written(unit) in ("s", "m", "h") and self._written(amount).replace("_", "").isdecimal()
