"""The pass between lexer and parser: every token gets the terminal it is in its place.

Settled here, because one token of look-ahead is not enough: which soft words are constructs, which ``(`` opens a lambda, which
``when`` is a block and which a value, what a bracket in a pattern is, which line an indented block belongs to, and where a line
ends (not before an indented block, once more after a block value). What is wrong in a way that only this pass can tell becomes
a token of the kind ``PROBLEM``, so that the first error of the file is the one reported.
"""

from __future__ import annotations

from typing import NamedTuple

from language.syntax import chains, serve_words
from language.syntax.line_layout import Line
from language.syntax.tokens import (
    CONTINUES_NAME,
    EXPORTABLE,
    GATE_WORDS,
    KEYWORD_TYPES,
    STARTS_EXPRESSION,
    STATEMENT_WORDS,
    Token,
    words,
)

PROBLEM = "PROBLEM"


class Settled(NamedTuple):
    """The tokens for the parser and, at the same positions, their terminals; in ``problems`` messages, codes, help by position.

    ``source`` are the tokens as the lexer gave them. ``blocks`` says what the lines of each block are, by the position of its
    ``INDENT``.
    """

    kinds: list[str]
    tokens: list[Token]
    problems: dict[int, tuple[str, str, str]]
    source: list[Token]
    blocks: dict[int, str]


def settle(tokens: list[Token]) -> Settled:
    """Settles the tokens of ``flat_tokens`` (without comments)."""
    layout = Layout(tokens)
    layout.run()
    return Settled(layout.kinds, layout.out, layout.problems, tokens, layout.opened)


class _Block(NamedTuple):
    """An open block: what its lines are, whether it is (part of) a value, of which kind, and whether a stream encloses it."""

    lines: str
    value: str
    streaming: bool


#: What the lines of the block below a line are, by the terminal that the line begins with; the others hold statements.
_LINES = {
    "MATCH": "arms",
    "TYPE": "fields",
    "ENUM": "fields",
    "SERVE": "serve",
    "ROUTES": "routes",
    "ROUTE": "route",
    "HOST": "host",
    "DESCRIBE": "describe",
}
_STATEMENT_LINES = words("statements route")
#: After these a word is bound, and between these it is a parameter, a part of a pattern, or a name that is read.
_BINDS = words("LET TASK TYPE EACH AS RECOVER")
_BEFORE_ITEM = words("LPAREN LBRACKET LBRACE COMMA")
_AFTER_ITEM = words("RPAREN RBRACKET RBRACE COMMA ASSIGN")
#: Hard keywords that stand between or after operands: a soft word before one of them is a name.
_AFTER_OPERAND = words("IN WITH IS THEN BE TO AS OF AND OR NOT OTHERWISE")


class Layout:
    """The state of the pass: ``tokens`` is its input, ``kinds`` and ``out`` are what it has settled so far."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.types = [token.type for token in tokens]
        self.kinds: list[str] = []
        self.out: list[Token] = []
        self.problems: dict[int, tuple[str, str, str]] = {}
        self.blocks: list[_Block] = []
        self.opened: dict[int, str] = {}
        #: what the next INDENT opens
        self.next_block: _Block | None = None
        #: whether the current `otherwise` continues a `when` that is a value
        self.value_goes_on = False
        self.gate_names: frozenset[str] | None = None

    def run(self) -> None:
        types = self.types
        pos = 0
        while True:
            kind = types[pos]
            if kind == "INDENT":
                block = self.next_block
                if block is None:
                    block = _Block("statements", "", bool(self.blocks) and self.blocks[-1].streaming)
                self.next_block = None
                self.blocks.append(block)
                self.opened[len(self.kinds)] = block.lines
                self.add(kind, pos)
            elif kind == "DEDENT":
                block = self.blocks.pop()
                self.add(kind, pos)
                if block.value == "when" and types[pos + 1] == "OTHERWISE":
                    self.value_goes_on = True
                elif block.value:
                    self.add_line_end()
            elif kind == "EOF":
                self.add("$END", pos)
                return
            else:
                pos = self.line(pos)
                continue
            pos += 1

    def add(self, kind: str, pos: int) -> None:
        self.kinds.append(kind)
        self.out.append(self.tokens[pos])

    def problem(self, message: str, pos: int, code: str, help: str = "") -> None:
        if self.types[pos] == "FAULT":  # the lexer has said what is wrong
            self.add("FAULT", pos)
            return
        self.problems[len(self.kinds)] = message, code, help
        self.add(PROBLEM, pos)

    def add_line_end(self) -> None:
        last = self.out[-1]
        self.kinds.append("NEWLINE")
        self.out.append(Token("NEWLINE", "", last.line, last.col, last.line, last.col, last.start, last.start))

    # ---- lines ----------------------------------------------------------------------------------------------------------

    def line(self, pos: int) -> int:
        """Settles the line that begins at ``pos`` and its end; gives the position after it."""
        types = self.types
        try:
            end = types.index("NEWLINE", pos)
        except ValueError:  # a bracket is open at the end of the file
            end = next(number for number in range(pos, len(types)) if types[number] in ("DEDENT", "EOF"))
        if end - pos > chains.MAX_LINKS:
            excess = chains.too_long(types, pos, end)
            if excess is not None:
                self.problem(chains.TOO_LONG, excess, "E0129")
        has_block = types[end] == "NEWLINE" and types[end + 1] == "INDENT"
        lines = self.blocks[-1].lines if self.blocks else "statements"
        first = len(self.kinds)
        if lines == "fields":
            for number in range(pos, end):
                self.add(types[number], number)
            owner = ""
        else:
            pos = self.first(pos, lines)
            owner = Line(self, first, lines, has_block).settle(pos, end)
        streaming = (bool(self.blocks) and self.blocks[-1].streaming) or owner == "STREAM"
        if has_block:
            value = ""
            if owner == "value when" or (owner == "OTHERWISE" and self.value_goes_on):
                value = "when"
            elif owner in ("value sandbox", "REASON_BLOCK", "JUDGE"):
                value = "other"
            under = "judge" if owner == "JUDGE" else _LINES.get(owner, "statements")
            self.next_block = _Block(under, value, streaming)
            self.value_goes_on = False
            return end + 1
        self.value_goes_on = False
        if types[end] == "NEWLINE":
            self.add("NEWLINE", end)
            return end + 1
        return end

    def is_name_use(self, pos: int) -> bool:
        """Whether the word before ``pos`` is a name there: what stands at ``pos`` cannot be its operand."""
        kind = self.types[pos]
        if kind not in STARTS_EXPRESSION or kind in CONTINUES_NAME:
            return True
        return kind == "NOT" and self.types[pos + 1] == "IN"

    def begins_gate(self, pos: int) -> bool:
        """Whether the word at ``pos`` (``approve``, ``confirm``, ``ask`` or ``show``) is the construct and not a name.

        Before ``(``, ``[`` and ``-`` it may be either: it is a name where the file binds it, and where the bracket stands at
        the word (``show(x)``, ``show[0]``) or the minus as between two values (``show - 1``, ``show-1``).
        """
        if not self.is_name_use(pos + 1):
            return True
        if self.types[pos + 1] not in CONTINUES_NAME:
            return False
        word, following, operand = self.tokens[pos : pos + 3]
        apart = following.line > word.end_line or following.start > word.end
        if not apart or (following.type == "MINUS" and operand.start > following.end):
            return False
        return word.value not in self.bound_words()

    def bound_words(self) -> frozenset[str]:
        """The words of gates that are names in this file, by where they stand: bound, a parameter, an item, an argument."""
        if self.gate_names is None:
            types, tokens = self.types, self.tokens
            self.gate_names = frozenset(
                token.value
                for pos, token in enumerate(tokens)
                if token.type == "IDENTIFIER"
                and token.value in GATE_WORDS
                and pos > 0
                and (types[pos - 1] in _BINDS or (types[pos - 1] in _BEFORE_ITEM and types[pos + 1] in _AFTER_ITEM))
            )
        return self.gate_names

    def first(self, pos: int, lines: str) -> int:
        """Settles the first words of a line where they decide what the line is; gives where its rest begins."""
        kind = self.types[pos]
        if lines in _STATEMENT_LINES:
            if kind == "IDENTIFIER":
                return self.statement_word(pos, lines)
            if kind == "REQUIRE":
                return self.require(pos)
            if kind in ("WHEN", "OTHERWISE"):
                self.add(kind, pos)
                if kind == "OTHERWISE" and self.types[pos + 1] == "WHEN":
                    self.add("WHEN", pos + 1)
                    return pos + 2
                return pos + 1
        elif lines in serve_words.LINES:
            return serve_words.clause(self, pos, lines)
        elif lines == "judge":
            if kind == "IDENTIFIER" and self.types[pos + 1] == "COLON":
                self.add(kind, pos)
                self.add("COLON", pos + 1)
                word = self.tokens[pos + 2].value
                if word in ("whether", "choose", "rate"):
                    self.add(word.upper(), pos + 2)
                    return pos + 3
                return pos + 2
        elif kind == "OTHERWISE":
            self.add(kind, pos)
            return pos + 1
        return pos

    def require(self, pos: int) -> int:
        types = self.types
        name_end = pos + 4 if types[pos + 2] == "DOT" else pos + 2
        bare = types[pos + 1] == "IDENTIFIER" and types[name_end : name_end + 1] in (["TEXT"], ["TEMPLATE"], ["NUMBER"])
        self.add("REQUIRE_BARE" if bare else "REQUIRE", pos)
        return pos + 1

    def statement_word(self, pos: int, lines: str) -> int:
        types = self.types
        word = self.tokens[pos].value
        following = types[pos + 1]
        if word in STATEMENT_WORDS:
            streaming = bool(self.blocks) and self.blocks[-1].streaming
            if not self.is_name_use(pos + 1) or (word == "send" and streaming and following in CONTINUES_NAME):
                if word == "expect":
                    return serve_words.expect(self, pos)
                self.add(word.upper(), pos)
                if word == "serve":
                    return serve_words.on(self, pos + 1)
                return pos + 1
            if word == "raise" and following in ("NEWLINE", "EOF"):
                self.problem(
                    'raise needs a message: raise("why") — or `raise err` to re-propagate a caught error', pos, "E0113"
                )
                return pos + 1
        elif (
            (word in ("use", "test") and following == "TEXT")
            or (word == "enum" and self.names_enum(pos + 1))
            or (word in ("stream", "socket") and following == "NEWLINE" and types[pos + 2] == "INDENT")
            or (word == "proxy" and following == "TO")
        ):
            self.add(word.upper(), pos)
            return pos + 1
        elif word == "export":
            return self.export(pos)
        elif lines == "route" and word in ("rate_limit", "timeout") and self.starts_limit(following):
            return serve_words.clause(self, pos, "limits")
        return pos

    def starts_limit(self, following: str) -> bool:
        return following in STARTS_EXPRESSION and following not in ("LPAREN", "LBRACKET")

    def names_enum(self, pos: int) -> bool:
        kind = self.types[pos]
        return kind == "IDENTIFIER" or (kind in KEYWORD_TYPES and self.types[pos + 1 : pos + 3] == ["NEWLINE", "INDENT"])

    def export(self, pos: int) -> int:
        following = self.tokens[pos + 1]
        if following.value in EXPORTABLE and following.type in ("TASK", "TYPE", "LET", "IDENTIFIER"):
            if self.blocks:
                self.problem(
                    "export works only at the top level of a file: move the declaration out of the block", pos, "E0128"
                )
                return pos + 1
            self.add("EXPORT", pos)
            if following.type == "IDENTIFIER":
                self.add(following.value.upper(), pos + 1)
                return pos + 2
            return pos + 1
        if following.type == "IDENTIFIER" or following.type in KEYWORD_TYPES - _AFTER_OPERAND:
            self.add("EXPORT", pos)
            self.problem("export must be followed by task, type, let, enum, or routes", pos + 1, "E0128")
            return pos + 2
        return pos
