"""The layout pass inside one line: soft words, brackets, inline and block ``when``, patterns, durations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from language.syntax import serve_words
from language.syntax.tokens import ENDS_VALUE, GATE_WORDS, INFIX_WORDS, KEYWORD_TYPES, STARTS_EXPRESSION, words

if TYPE_CHECKING:
    from language.syntax.layout import Layout

#: Terminals of lines that take a block themselves.
_TAKES_BLOCK = words(
    "WHEN EACH WHILE MATCH TRY RECOVER OTHERWISE TASK TYPE ENUM IS AGENT TRACE MEASURE TEST SERVE ROUTES "
    "ROUTE HOST DESCRIBE STREAM SOCKET BLOCK_SANDBOX UNDER_SANDBOX"
)
#: After these a word is not the first of an expression, though no value stands before it.
_BEFORE_NAME = words("REQUIRE REQUIRE_BARE LET EACH TASK TYPE ENUM AGENT SPAWN")
_DURATION_UNITS = words("s m h d")
_NO_DURATION = "Expected a duration after 'within' (e.g. within 90s, 2m, 1h, 1d)"
_JUDGE_OPERANDS = words("IDENTIFIER TEXT TEMPLATE LBRACE NUMBER BOOL_TRUE BOOL_FALSE NOTHING")
#: After ``about`` and ``between`` these say that the word is the operand itself.
_CONTINUES_OPERAND = words(
    "DOT OF PLUS STAR SLASH FLOORDIV PERCENT POWER EQUAL NOT_EQUAL LESS GREATER LESS_EQUAL GREATER_EQUAL PIPE AND OR IN ASSIGN"
)
#: Types of tokens that stay as they are inside a line. An identifier may change when its word is soft.
_PLAIN = words(
    "NUMBER TEXT TEMPLATE TEMPLATE_END PIECE PLUS STAR SLASH FLOORDIV PERCENT POWER EQUAL NOT_EQUAL LESS "
    "GREATER LESS_EQUAL GREATER_EQUAL ASSIGN ARROW FAT_ARROW PIPE COMMA DOT SPREAD COLON"
)
_SOFT = GATE_WORDS | INFIX_WORDS | words("judge about _")


class _Bracket:
    """An open bracket of a line: its terminal, where it stands, and the inline ``when`` in it that lack their ``then``."""

    __slots__ = ("at", "kind", "whens")

    def __init__(self, kind: str, at: int) -> None:
        self.kind = kind
        self.at = at
        self.whens: list[int] = []


class Line:
    """Settles the tokens of one line after its first words."""

    def __init__(self, layout: Layout, first: int, lines: str, has_block: bool) -> None:
        self.layout = layout
        self.first = first
        self.lines = lines
        self.has_block = has_block
        self.brackets = [_Bracket("", first)]
        kinds = layout.kinds
        if len(kinds) > first and kinds[-1] == "WHEN":
            self.brackets[0].whens.append(len(kinds) - 1)
        self.words = serve_words.inner_words(kinds[first]) if lines in serve_words.LINES and len(kinds) > first else frozenset()
        #: the last `reason` or `judge` outside brackets
        self.taker = -1

    def settle(self, pos: int, end: int) -> str:
        """Settles the tokens from ``pos`` up to ``end``; tells what in the line takes a block below it: ``value when``,
        ``value sandbox``, ``REASON_BLOCK``, ``JUDGE`` or the first terminal."""
        layout = self.layout
        types = layout.types
        tokens = layout.tokens
        kinds = layout.kinds
        out = layout.out
        words = self.words
        while pos < end:
            kind = types[pos]
            if kind == "IDENTIFIER":
                word = tokens[pos].value
                if word in _SOFT or word in words:
                    pos = self.soft(pos, word)
                    continue
            elif kind not in _PLAIN:
                if kinds and kinds[-1] == "DOT" and kind in KEYWORD_TYPES:
                    kind = "IDENTIFIER"  # after a dot every word is a member's name
                else:
                    pos = self.special(pos, kind)
                    continue
            kinds.append(kind)
            out.append(tokens[pos])
            pos += 1
        return self.block_taker()

    def block_taker(self) -> str:
        kinds = self.layout.kinds
        for number in self.brackets[0].whens[:1]:
            if kinds[number] == "INLINE_WHEN" and kinds[number - 1] in ("BE", "TO", "GIVE"):
                kinds[number] = "WHEN"
                return "value when"
        if not self.has_block:
            return ""
        own = kinds[self.first]
        if own == "EXPORT":
            own = kinds[self.first + 1]
        if own in _TAKES_BLOCK:
            return own
        if self.taker >= 0:
            if kinds[self.taker] == "REASON":
                kinds[self.taker] = "REASON_BLOCK"
            return kinds[self.taker]
        if "BLOCK_SANDBOX" in kinds[self.first :] or "UNDER_SANDBOX" in kinds[self.first :]:
            return "value sandbox"
        return own

    # ---- soft words -----------------------------------------------------------------------------------------------------

    def soft(self, pos: int, word: str) -> int:
        layout = self.layout
        kinds = layout.kinds
        before = kinds[-1] if kinds else ""
        following = layout.types[pos + 1]
        kind = "IDENTIFIER"
        if before == "DOT" or before in _BEFORE_NAME:
            pass
        elif before in ENDS_VALUE and len(kinds) != self.first:
            if word == "within" and word not in self.words:
                return self.within(pos)
            if word == "per" and word in self.words:
                return serve_words.per(layout, pos)
            if word in INFIX_WORDS or word in self.words:
                kind = word.upper()
        elif word in self.words and len(kinds) > self.first and (len(kinds) - 1 == self.first or before == "REQUIRES"):
            return serve_words.after_clause_word(layout, pos, word)
        elif word in GATE_WORDS:
            if layout.begins_gate(pos):
                kind = word.upper()
        elif word == "judge":
            if following in _JUDGE_OPERANDS:
                kind = "JUDGE"
                if len(self.brackets) == 1:
                    self.taker = len(kinds)
        elif word == "about":
            if before in ("REASON", "REASON_BLOCK") and following not in _CONTINUES_OPERAND:
                kind = "ABOUT"
        elif word == "between":
            if before == "DECIDE" and following not in _CONTINUES_OPERAND:
                kind = "BETWEEN"
        elif word == "given":
            if before in ("DECIDE", "BETWEEN") and following in STARTS_EXPRESSION:
                kind = "GIVEN"
        elif word == "_" and self.stands_for_pattern() and following not in ("LPAREN", "DOT", "LBRACKET"):
            kind = "ANY"
        kinds.append(kind)
        layout.out.append(layout.tokens[pos])
        return pos + 1

    def within(self, pos: int) -> int:
        """``within 90s``: number and unit become one token."""
        layout = self.layout
        number = layout.tokens[pos + 1]
        layout.add("WITHIN", pos)
        if number.type != "NUMBER":
            layout.problem(_NO_DURATION, pos + 1, "E0126")
            return pos + 2 if layout.types[pos + 1] not in ("NEWLINE", "EOF") else pos + 1
        text = number.value
        last = number
        if text.endswith("d") and not text[:2].lower().startswith("0x"):
            unit = "d"
            text = text[:-1]
        else:
            last = layout.tokens[pos + 2]
            if last.type != "IDENTIFIER":
                layout.problem(_NO_DURATION, pos + 1, "E0126")
                return pos + 2
            unit = last.value
            if unit not in _DURATION_UNITS:
                message = f"Invalid duration suffix '{unit}' after 'within' — use s, m, h or d (e.g. within 90s)"
                layout.problem(message, pos + 2, "E0126")
                return pos + 3
        if not any(digit in "123456789" for digit in text.lower().partition("e")[0]):
            layout.problem(_NO_DURATION, pos + 1, "E0126")
        else:
            layout.kinds.append("DURATION")
            layout.out.append(number._replace(value=text + unit, end_col=last.end_col, end=last.end))
        return pos + 2 if last is number else pos + 3

    def stands_for_pattern(self) -> bool:
        """Whether a pattern begins here."""
        kinds = self.layout.kinds
        top = self.brackets[-1].kind
        before = kinds[-1] if kinds else ""
        if top == "":
            return before == "LET" or (self.lines == "arms" and before == "IS" and len(kinds) - 1 == self.first)
        return (top == "PATTERN_LIST" and before in ("PATTERN_LIST", "COMMA")) or (top == "PATTERN_MAP" and before == "COLON")

    # ---- brackets and keywords ------------------------------------------------------------------------------------------

    def special(self, pos: int, kind: str) -> int:
        layout = self.layout
        kinds = layout.kinds
        types = layout.types
        before = kinds[-1] if kinds else ""
        if kind in ("LPAREN", "LBRACKET", "LBRACE", "HOLE"):
            if kind in ("LBRACKET", "LBRACE") and self.stands_for_pattern():
                if kind == "LBRACKET":
                    kind = "PATTERN_LIST"
                elif types[pos + 1] in ("RBRACE", "IDENTIFIER") or kinds[self.first] in ("LET", "EXPORT"):
                    kind = "PATTERN_MAP"
            self.brackets.append(_Bracket(kind, len(kinds)))
        elif kind in ("RPAREN", "RBRACKET", "RBRACE", "HOLE_END"):
            if len(self.brackets) > 1:
                closed = self.brackets.pop()
                if kind == "RPAREN" and closed.kind == "LPAREN" and types[pos + 1] == "FAT_ARROW":
                    kinds[closed.at] = "LAMBDA"
        elif kind == "MINUS":
            if before not in ENDS_VALUE or len(kinds) == self.first:
                kind = "NEGATIVE"
        elif kind == "NOT":
            if types[pos + 1] == "IN" and before in ENDS_VALUE and len(kinds) > self.first:
                token = layout.tokens[pos]
                last = layout.tokens[pos + 1]
                kinds.append("NOT_IN")
                layout.out.append(token._replace(value="not in", end_line=last.end_line, end_col=last.end_col, end=last.end))
                return pos + 2
        elif kind == "WHEN":
            kind = self.when(before)
        elif kind == "THEN":
            if self.brackets[-1].whens:
                self.brackets[-1].whens.pop()
        elif kind == "SANDBOX":
            return self.sandbox(pos, before)
        elif kind == "REASON" and len(self.brackets) == 1:
            self.taker = len(kinds)
        kinds.append(kind)
        layout.out.append(layout.tokens[pos])
        return pos + 1

    def when(self, before: str) -> str:
        here = self.brackets[-1]
        kinds = self.layout.kinds
        in_arm = self.lines == "arms" and kinds[self.first : self.first + 1] == ["IS"]
        if in_arm and here.kind == "" and (before in ENDS_VALUE or before == "ANY"):
            return "GUARD"
        here.whens.append(len(kinds))
        return "NEXT_WHEN" if before == "OTHERWISE" else "INLINE_WHEN"

    def sandbox(self, pos: int, before: str) -> int:
        layout = self.layout
        types = layout.types
        following = types[pos + 1]
        whole = len(self.brackets) == 1 and (len(layout.kinds) == self.first or before in ("BE", "TO", "GIVE"))
        if whole and following == "NEWLINE" and self.has_block:
            layout.add("BLOCK_SANDBOX", pos)
        elif whole and layout.tokens[pos + 1].value == "under" and following == "IDENTIFIER" and types[pos + 2] != "NEWLINE":
            layout.add("UNDER_SANDBOX", pos)
            layout.add("UNDER", pos + 1)
            return pos + 2
        else:
            layout.add("SANDBOX", pos)
        return pos + 1
