"""What to say about the first token that does not fit.

The parser knows which terminals it could have taken; together with the words before the token that tells what was being
written. The texts are those of the manual.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from language import hints
from language.errors import ParseError
from language.syntax.tokens import ENDS_VALUE, KEYWORD_TYPES, Token, words

if TYPE_CHECKING:
    from language.syntax.layout import Settled
    from language.syntax.table_reading import Tables

_LINE_ENDS = words("NEWLINE INDENT DEDENT")
_OPENERS = {"LPAREN": "RPAREN", "LAMBDA": "RPAREN", "LBRACKET": "RBRACKET", "PATTERN_LIST": "RBRACKET", "LBRACE": "RBRACE"}
_OPENERS |= {"PATTERN_MAP": "RBRACE", "HOLE": "HOLE_END"}
_CLOSERS = frozenset(_OPENERS.values())
#: What closes or continues the innermost construct, most telling first; the rest of what could follow are operators.
_EXPECTED = (
    *("THEN", "COLON", "RPAREN", "RBRACKET", "RBRACE", "FAT_ARROW", "TO", "AS", "BETWEEN", "ACROSS", "FROM", "KEY", "ASSIGN"),
    *("IS", "INDENT", "TEXT", "IDENTIFIER"),
)
#: Messages and the terminal that is missing, when nothing else could have followed it.
_MISSING = {
    "BE": "Expected 'be' after variable name in let binding",
    "RECOVER": "Expected 'recover' after try block",
    "PER": "Expected 'per' in rate_limit (e.g. rate_limit 100 per minute)",
}
_LEFTOVER = (
    "after the end of this statement. If you meant to call something, write the parentheses: f(x). "
    "If you meant several statements, put them on separate lines"
)
_PLAIN_OF = "`of` needs a plain name on its left (`name of person`); for a computed key use an index: `person[key]`"


def explain(tables: Tables, states: list[int], settled: Settled, position: int) -> ParseError:
    """The error for the token at ``position``, which the parser in ``states`` cannot take."""
    message, token = _Explanation(tables, states, settled, position).tell()
    return ParseError(message, line=token.line, column=token.col)


def _accepted(tables: Tables, states: list[int]) -> frozenset[str]:
    """The terminals that could have come next: those that are shifted in the end, not only reduced for."""
    found = set()
    for terminal in tables.actions[states[-1]]:
        stack = list(states)
        while (action := tables.actions[stack[-1]].get(terminal)) is not None:
            if action >= 0:
                found.add(terminal)
                break
            reduction = tables.reductions[~action]
            if reduction.size:
                del stack[-reduction.size :]
            if terminal == "$END" and tables.jumps[stack[-1]].get(reduction.origin) == tables.end:
                found.add(terminal)
                break
            stack.append(tables.jumps[stack[-1]][reduction.origin])
    return frozenset(found)


def shown_type(token: Token) -> str:
    """The type as messages name it."""
    if token.type in ("HOLE_END", "TEMPLATE_END"):
        return {"HOLE_END": "RBRACE", "TEMPLATE_END": "TEMPLATE"}[token.type]
    return "EOF" if token.type == "NEWLINE" and token.start == token.end and not token.value else token.type


def shown_value(token: Token) -> str:
    """The value as messages show it: numbers bare, ``None`` for line ends, the column count for a change of indentation."""
    if token.type in ("NEWLINE", "EOF"):
        return "None"
    if token.type in ("INDENT", "DEDENT", "NUMBER"):
        return token.value
    return f"'{token.value}'"


class _Explanation:
    def __init__(self, tables: Tables, states: list[int], settled: Settled, position: int) -> None:
        self.kinds = settled.kinds
        self.tokens = settled.tokens
        self.problem = settled.problems.get(position)
        self.position = position
        self.token = settled.tokens[position]
        self.accepted = _accepted(tables, states)
        self.start = position
        while self.start and self.kinds[self.start - 1] not in _LINE_ENDS:
            self.start -= 1
        self.before = self.kinds[position - 1] if position else "NEWLINE"
        self.opener = self._innermost_opener()
        if self.token.type == "INDENT" and "NEWLINE" not in self.accepted:
            # the line before it is not complete: its end, which the layout pass dropped, is what does not fit
            before = settled.source.index(self.token) - 1
            if before >= 0:
                self.token = settled.source[before]

    def _innermost_opener(self) -> int:
        """Position of the bracket that is open around the token, -1 for none."""
        depth = 0
        for number in range(self.position - 1, self.start - 1, -1):
            if self.kinds[number] in _CLOSERS:
                depth += 1
            elif self.kinds[number] in _OPENERS:
                if depth == 0:
                    return number
                depth -= 1
        return -1

    def tell(self) -> tuple[str, Token]:
        """The message and the token whose place it names."""
        if self.problem is not None:
            return self.problem, self.token
        told = self._other_language() or self._colon()
        if told is not None:
            return told
        message = self._message()
        if "reserved word" not in message:
            message += self._hint()
        return message, self.token

    # ---- what people from other languages write -------------------------------------------------------------------------

    def _other_language(self) -> tuple[str, Token] | None:
        first = self._statement_word()
        ends = "NEWLINE" in self.accepted and not self._wants_operand()
        if first is not None and (self.position == self.start or ends or self.token.type == "INDENT"):
            return f"`{first.value}` is not a statement: {hints.OTHER_STATEMENTS[first.value]}", first
        comment = self._slash_comment(ends)
        if comment is not None:
            return "`//` divides and rounds down; comments start with --", comment
        block_comment = self._block_comment()
        if block_comment is not None:
            return "a comment begins with `--` and ends with its line: there is no /* */", block_comment
        if self.token.type == "ASSIGN" and ends and self.opener < 0:
            return self._assignment()
        if self.token.type == "THEN" and "INDENT" in self.accepted and "WHEN" in self.kinds[self.start : self.start + 2]:
            return (
                "`when ... then ...` is a value, not a statement: indent what is to happen below `when c`, or use the value: "
                "give when c then a otherwise b",
                self.token,
            )
        return None

    def _statement_word(self) -> Token | None:
        """The first word of the statement at hand, if it is one of another language; before an indent, of the line above it."""
        start = self.start
        if self.token.type == "INDENT" and start == self.position:
            return None
        first = self.tokens[start]
        return first if self.kinds[start] == "IDENTIFIER" and first.value in hints.OTHER_STATEMENTS else None

    def _slash_comment(self, ends: bool) -> Token | None:
        if self.opener >= 0:
            return None
        if self.token.type == "FLOORDIV":
            return self.token
        for number in range(self.start, self.position):
            if self.kinds[number] == "FLOORDIV" and (ends or number == self.position - 1):
                return self.tokens[number] if self.kinds[number + 1] != "NUMBER" else None
        return None

    def _block_comment(self) -> Token | None:
        """The ``/`` of a ``/*`` that the token at hand is part of."""
        for slash in (self.position, self.position - 1):
            if 0 <= slash < len(self.kinds) - 1 and self.kinds[slash : slash + 2] == ["SLASH", "STAR"]:
                first, second = self.tokens[slash : slash + 2]
                if first.end == second.start:
                    return first
        return None

    def _assignment(self) -> tuple[str, Token] | None:
        first = self.tokens[self.start]
        if self.kinds[self.start] != "IDENTIFIER" or self.before in ("PLUS", "MINUS", "STAR", "SLASH", "PERCENT"):
            return None
        if self.position == self.start + 1:
            name = first.value
            return f"`=` does not assign: make the variable with `let {name} be ...`, change it with `set {name} to ...`", first
        return "`=` does not assign: make a variable with `let x be ...`, change what it holds with `set x to ...`", first

    def _colon(self) -> tuple[str, Token] | None:
        if self.token.type != "COLON" or self.opener >= 0:
            return None
        at_end = self.kinds[self.position + 1] in ("NEWLINE", "INDENT", "$END")
        if "INDENT" in self.accepted or (at_end and "NEWLINE" in self.accepted):
            return "blocks have no colon: end the line here and indent the block below it", self.token
        return None

    def _hint(self) -> str:
        kind = self.token.type
        before = self.tokens[self.position - 1] if self.position else self.token
        glued = before.end == self.token.start
        if kind == "ASSIGN" and self.before in ("PLUS", "NEGATIVE", "MINUS", "STAR", "SLASH", "PERCENT") and glued:
            return hints.IN_PLACE
        if kind == "ASSIGN" and "INDENT" in self.accepted:
            return hints.EQUALS_IN_CONDITION
        if kind in ("TEXT", "TEMPLATE") and before.type == "IDENTIFIER" and glued and len(before.value) <= 2:
            return hints.PREFIXED_TEXT
        if kind == "IS":
            return hints.COMPARED_WITH_IS
        if before.type == "IDENTIFIER" and before.value == "lambda":
            return hints.LAMBDA
        if kind == "FAT_ARROW" and before.type == "IDENTIFIER":
            return hints.LAMBDA
        if kind == "IDENTIFIER" and self.token.value == "if" and self.before in ENDS_VALUE:
            return hints.CONDITIONAL
        if kind == "IDENTIFIER" and self.token.value == "for" and self.opener >= 0:
            return hints.COMPREHENSION
        if kind == "COLON" and self.opener >= 0 and self._is_index(self.opener):
            return hints.SLICE
        return ""

    def _is_index(self, opener: int) -> bool:
        return self.kinds[opener] == "LBRACKET" and opener > 0 and self.kinds[opener - 1] in ENDS_VALUE

    # ---- the texts of the manual ----------------------------------------------------------------------------------------

    def _message(self) -> str:
        token = self.token
        if token.type == "INDENT" or (token.type == "DEDENT" and "INDENT" not in self.accepted):
            return self._unexpected()
        if token.type == "OF" and self.before in ENDS_VALUE and "PLUS" in self.accepted:
            return _PLAIN_OF
        what = self._binding()
        if what is not None and "IDENTIFIER" in self.accepted:
            if token.type in KEYWORD_TYPES:
                return f"'{token.value}' is a reserved word; choose another name for the {what}"
            return f"Expected {what}, got {shown_type(token)}"
        if self._wants_operand():
            return self._unexpected()
        return self._missing_word() or self._expected()

    def _unexpected(self) -> str:
        return f"Unexpected token: {shown_type(self.token)} ({shown_value(self.token)})"

    def _wants_operand(self) -> bool:
        """Whether an expression could have begun here."""
        return "NUMBER" in self.accepted

    def _missing_word(self) -> str | None:
        first = self.kinds[self.start]
        accepted = self.accepted
        if self.kinds[max(self.position - 2, 0)] == "EACH" and "IN" in accepted:
            return "Expected 'in' after variable in each loop"
        for terminal, message in _MISSING.items():
            if terminal in accepted:
                return message
        if self.opener < 0:
            if first == "SET" and "TO" in accepted:
                return "Expected 'to' in set statement"
            if first == "USE" and "AS" in accepted:
                return "Expected 'as' after the module path"
        if self.before == "DOT" and first == "REQUIRE" and self.position == self.start + 3:
            return "Expected a capability sub-name after '.'"
        return None

    def _expected(self) -> str:
        accepted = self.accepted
        kind = self.token.type
        if self.opener >= 0 and self.kinds[self.opener] == "HOLE" and "THEN" not in accepted and "HOLE_END" in accepted:
            return self._unexpected()
        if "NEWLINE" in accepted:
            return f"unexpected {shown_type(self.token)} {_LEFTOVER}"
        if "INDENT" in accepted:
            if self.kinds[self.start] == "SERVE":
                return "Expected an indented block after 'serve on PORT'"
            if kind in ("NEWLINE", "EOF", "DEDENT") or self.token.start == self.token.end:
                return "Expected indented block"
            if "PLUS" in accepted:
                return f"unexpected {shown_type(self.token)} {_LEFTOVER}"
            return f"Expected NEWLINE, got {shown_type(self.token)}"
        for terminal in _EXPECTED:
            if terminal in accepted:
                return f"Expected {terminal}, got {shown_type(self.token)}"
        if len(accepted) == 1:
            return f"Expected {next(iter(accepted))}, got {shown_type(self.token)}"
        return self._unexpected()

    def _binding(self) -> str | None:
        """What kind of name would be bound here."""
        first = self.kinds[self.start]
        if first == "EXPORT":
            first = self.kinds[self.start + 1]
        before = self.before
        simple = {
            "LET": "variable after 'let'",
            "EACH": "loop variable after 'each'",
            "TASK": "task name",
            "TYPE": "type name",
            "ENUM": "enum name",
            "AGENT": "agent name",
            "SPAWN": "agent name",
            "ROUTES": "name of the routes group",
            "RECOVER": "error name after 'recover'",
        }.get(before)
        if simple is not None:
            return None if before == "RECOVER" and self.token.type not in KEYWORD_TYPES else simple
        if before == "AS":
            return {"USE": "module alias after 'as'"}.get(first, "variable after 'as'")
        if self.opener >= 0 and before in ("COMMA", self.kinds[self.opener]):
            return self._bound_in_bracket(first)
        if self.position == self.start:
            return self._bound_in_block()
        return None

    def _bound_in_bracket(self, first: str) -> str | None:
        opener = self.kinds[self.opener]
        if opener == "LAMBDA":
            return "lambda parameter"
        if opener == "PATTERN_MAP":
            return "map pattern field name"
        if opener == "LBRACE" and first == "EXPECT":
            return "field name"
        if opener == "LPAREN" and self.opener == self.start + 1 and self._block_word() == "ENUM":
            return "payload field name"
        header = self.kinds[self.start : self.opener]
        if opener == "LPAREN" and header in (["TASK", "IDENTIFIER"], ["EXPORT", "TASK", "IDENTIFIER"]):
            return "parameter name"
        return None

    def _bound_in_block(self) -> str | None:
        return {"TYPE": "field name", "ENUM": "variant name"}.get(self._block_word())

    def _block_word(self) -> str:
        """The terminal that begins the line above the block in which the token's line stands."""
        depth = 0
        for number in range(self.start - 1, 0, -1):
            kind = self.kinds[number]
            if kind == "DEDENT":
                depth += 1
            elif kind == "INDENT":
                if depth == 0:
                    line = number
                    while line and self.kinds[line - 1] not in _LINE_ENDS:
                        line -= 1
                    return self.kinds[line + 1] if self.kinds[line] == "EXPORT" else self.kinds[line]
                depth -= 1
        return ""
