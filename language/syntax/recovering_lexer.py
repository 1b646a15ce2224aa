"""The lexer for sources with errors: it goes on behind what is no token, and ends brackets that are surely left open.

What is wrong becomes a token ``FAULT``, at which the parser stops with the error kept in ``faults``. A bracket that nobody
closed would take in the rest of the file: it ends before a line that cannot stand in a bracket.
"""

from __future__ import annotations

import re

from language.errors import LanguageError, ParseError
from language.hints import NO_BRACES, OTHER_STATEMENTS
from language.syntax.lexer import _BLANK_LINES, _CLOSE, _NEXT, _OPEN, _OPERATOR, _TEXT, Lexer
from language.syntax.tokens import ENDS_VALUE, GATE_WORDS, INFIX_WORDS, WORD_TYPES, Token, words

_LINE_ENDS = words("NEWLINE INDENT DEDENT")
#: Words that stand only at the start of a statement.
_BEGINS_STATEMENT = words("LET SET TASK GIVE EACH WHILE MATCH TYPE REQUIRE TRY RECOVER STOP IS INVARIANT INTENT WAIT_FOR")
_BEGINS_VALUE = words("TEXT NUMBER TEMPLATE BOOL_TRUE BOOL_FALSE NOTHING IDENTIFIER WHEN LBRACE FAULT")
_TAKES_BLOCK = words("WHEN OTHERWISE EACH WHILE MATCH TRY RECOVER TASK TYPE IS")
#: Soft words after which a value may stand, and before which one may.
_BEFORE_VALUE = GATE_WORDS | INFIX_WORDS | words("judge about per raise log send signal share observe checkpoint")
_AFTER_VALUE = INFIX_WORDS | words("per")
_PAIRS = {")": "(", "]": "[", "}": "{"}
_QUOTES = {"“": "”", "”": "”", "„": "“", "‘": "’", "’": "’", "«": "»", "‹": "›"}
_ODD_NUMBER = re.compile(r"[0-9A-Za-z_.]*")

_FOLLOWING = re.compile(r"[ \t]*(?:[A-Za-z_0-9]+|[\"'`{])")
#: Words that may follow a value.
_GOES_ON = _AFTER_VALUE | words("in with is then be to as of and or not otherwise timeout per")
_STATEMENT_LINE = re.compile(
    r"\n(?=[ \t]*(?:(?:let|set|task|give|each|while|match|type|require|try|recover|stop|is|when|otherwise|use|export|test|serve"
    r"|route)\b|[A-Za-z_][\w.]*\(|[A-Za-z_][\w.]*$|--|$))",
    re.MULTILINE,
)

BLOCK_COMMENT = "a comment begins with `--` and ends with its line: there is no /* */"
LONG_TEXT = "there are no triple quotes: a comment begins with `--`, a text over several lines stands between backticks"


class RecoveringLexer(Lexer):
    """``faults`` are the errors by the offset of their token, ``asides`` those that leave their line readable."""

    recovering = True

    def __init__(self, source: str, filename: str) -> None:
        super().__init__(source, filename)
        self.faults: dict[int, LanguageError | None] = {}
        self.asides: list[LanguageError] = []
        #: brackets that ended without being closed, braces of blocks: their closing ones are no errors of their own
        self._given_up = 0
        self._block_braces = 0
        #: the last line that stood between two levels of indentation: how many tokens there were, and where it stood
        self._last_uneven = 0
        self._last_width = -1
        self._tabs_told = False
        #: how many tokens were searched for the first one of the current line, and the position of that one
        self._scanned = 0
        self._first = 0

    def run(self) -> list[Token]:
        self.pos = self._indentation(0)
        while True:
            try:
                self.read()
                return self.tokens
            except LanguageError as error:
                self._pass_over(error)

    # ---- what is no token -----------------------------------------------------------------------------------------------

    def _pass_over(self, error: LanguageError) -> None:
        """Makes a ``FAULT`` token of the faulty text and continues after it."""
        start = self.pos
        end = max(self._end_of(start), start + 1)
        source = self.source
        line, column = self.line, start - self.line_start + 1
        breaks = source.count("\n", start, end)
        if breaks:
            self.line += breaks
            self.line_start = source.rfind("\n", start, end) + 1
        place = (line, column, self.line, end - self.line_start + 1, start, end)
        self.tokens.append(Token("FAULT", source[start:end], *place))
        self.faults[start] = error
        if not error.end_column:
            shown = source[start:end].split("\n")[0].rstrip()
            error.end_line, error.end_column = line, column + len(shown)
        self.pos = end

    def _end_of(self, start: int) -> int:
        source = self.source
        line_end = source.find("\n", start, self.limit)
        if line_end < 0:
            line_end = self.limit
        first = source[start]
        if source.startswith("/*", start):
            close = source.find("*/", start + 2, self.limit)
            return close + 2 if close >= 0 else line_end
        if source.startswith(('"""', "'''"), start):
            close = source.find(source[start : start + 3], start + 3, self.limit)
            return close + 3 if close >= 0 else line_end
        if first == "`":
            return self._end_of_template(line_end)
        if first in "\"'#" or source.startswith("--", start):
            return line_end
        if first in _QUOTES:
            close = source.find(_QUOTES[first], start + 1, line_end)
            return close + 1 if close >= 0 else line_end
        if first.isascii() and first.isdigit():
            found = _ODD_NUMBER.match(source, start, line_end)
            assert found is not None
            return found.end()
        return start + 2 if source.startswith(("&&", "||"), start) else start + 1

    def _end_of_template(self, line_end: int) -> int:
        """Where a template without its end leaves off: before the first line that reads as a statement."""
        if self.templates:
            return line_end
        found = _STATEMENT_LINE.search(self.source, line_end)
        return found.start() if found is not None else len(self.source)

    def foreign(self, group: int, start: int, end: int) -> int:
        source = self.source
        if group == _OPERATOR:
            if source.startswith("/*", start):
                raise self._refused(BLOCK_COMMENT, start, "E0119")
        elif group == _TEXT:
            if end - start == 2 and source.startswith(source[start], end):
                raise self._refused(LONG_TEXT, start, "E0121")
        elif group == _OPEN:
            if source[start] == "{" and self._opens_block(end):
                self._block_braces += 1
                raise self._refused(NO_BRACES, start, "E0110")
        elif group == _CLOSE:
            return self._closing(source[start], start, end)
        return 0

    def _refused(self, message: str, start: int, code: str) -> ParseError:
        """An error whose place ``_pass_over`` knows: the loop tells it where it stands."""
        line = self.source.count("\n", 0, start) + 1
        column = start - self.source.rfind("\n", 0, start)
        return ParseError(message, file=self.filename, line=line, column=column, code=code)

    def _template_ends(self, start: int, line: int, line_start: int) -> dict[int, int]:
        try:
            ends = super()._template_ends(start, line, line_start)
        except LanguageError as error:
            if error.line == line:
                raise
        else:
            if not self._runs_into_another(start, ends[start]):
                return ends
        raise self._open_template(start, line, start - line_start + 1)

    def _runs_into_another(self, start: int, close: int) -> bool:
        """Whether the backtick at ``close``, on a later line, surely begins a template of its own.

        A word or a text follows it, or one of the two lines has an even number of backticks.
        """
        source = self.source
        if "\n" not in source[start:close]:
            return False
        following = _FOLLOWING.match(source, close + 1)
        if following is not None and following[0].strip() not in _GOES_ON:
            return True
        return self._even_backticks(start) or self._even_backticks(close)

    def _even_backticks(self, pos: int) -> bool:
        begin = self.source.rfind("\n", 0, pos) + 1
        end = self.source.find("\n", pos)
        return self.source.count("`", begin, end if end >= 0 else len(self.source)) % 2 == 0

    # ---- lines and brackets ---------------------------------------------------------------------------------------------

    def uneven(self, width: int, col: int) -> int:
        try:
            super().uneven(width, col)
        except LanguageError as error:
            tokens = self.tokens
            since = [token.type for token in tokens[self._last_uneven :] if token.type in _LINE_ENDS]
            if width != self._last_width or since != ["NEWLINE"]:
                self.asides.append(error)
            self._last_uneven, self._last_width = len(tokens), width
        return min(level for level in self.indents if level > width)

    def mixed(self, prefix: str, other: str, col: int) -> None:
        if not self._tabs_told:  # that a file mixes them is one mistake
            self._tabs_told = True
            try:
                super().mixed(prefix, other, col)
            except LanguageError as error:
                self.asides.append(error)

    def _line_first(self) -> str:
        """The type of the first token of the current line. A word that begins a block in other languages counts as ``TRY``."""
        tokens = self.tokens
        for number in range(self._scanned, len(tokens)):
            if tokens[number].type in _LINE_ENDS:
                self._first = number + 1
        self._scanned = len(tokens)
        if self._first >= len(tokens):
            return ""
        first = tokens[self._first]
        if first.type == "IDENTIFIER" and first.value in OTHER_STATEMENTS:
            return "TRY"
        return first.type

    def _opens_block(self, end: int) -> bool:
        """Whether a ``{`` that ends at ``end`` opens the block of a statement, as in C: it is the last of its line."""
        if self.brackets:
            return False
        line_end = self.source.find("\n", end)
        rest = self.source[end : line_end if line_end >= 0 else len(self.source)].partition("--")[0]
        if rest.strip() or self._line_first() not in _TAKES_BLOCK:
            return False
        last = self.tokens[-1].type
        alone = len(self.tokens) == self._first + 1 and self._line_first() in ("TRY", "OTHERWISE", "RECOVER")
        return alone or last in ENDS_VALUE

    def _closing(self, text: str, start: int, end: int) -> int:
        """A closing bracket: where to go on when it belongs to what was given up before, else 0."""
        brackets = self.brackets
        if brackets:
            opener = _PAIRS[text]
            if brackets[-1] != opener and "`" not in brackets and opener in brackets:
                while brackets[-1] != opener:  # the inner ones are left open, the parser says so
                    brackets.pop()
            return 0
        if text == "}" and self._block_braces and self._line_first() == "":
            self._block_braces -= 1
            return end
        if self._given_up and self._line_first() == "":
            self._given_up -= 1
            self.faults[start] = None
            line = self.source.count("\n", 0, start) + 1
            column = start - self.source.rfind("\n", 0, start)
            self.tokens.append(Token("FAULT", text, line, column, line, column + 1, start, end))
            return end
        return 0

    def empty_line(self) -> bool:
        return not self.tokens or self.tokens[-1].type in _LINE_ENDS

    def breaks_off(self, pos: int) -> bool:
        if self.templates:
            return False
        source = self.source
        found = _BLANK_LINES.match(source, pos)
        assert found is not None
        at = found.end()
        if at == len(source):
            return self._give_up()
        begin = source.rfind("\n", 0, at) + 1
        width = at - begin + 3 * source.count("\t", begin, at)
        level = self.indents[-1]
        if width > level and self._line_first() not in _TAKES_BLOCK:
            return False
        token = _NEXT.match(source, at)
        assert token is not None
        word = token[1] or ""
        if word:
            kind = WORD_TYPES.get(word, "IDENTIFIER")
        else:
            kind = "TEXT" if token[5] or token[11] else "NUMBER" if token[7] or token[10] else "TEMPLATE" if token[12] else ""
            if token[3] == "{":
                kind = "LBRACE"
        last = self.tokens[-1]
        if kind in _BEGINS_STATEMENT:
            return last.type != "DOT" and self._give_up()
        if kind == "OTHERWISE":
            return width < level and self._give_up()
        if last.type not in ENDS_VALUE and last.type != "FAULT":
            return False
        if last.type == "IDENTIFIER" and last.value in _BEFORE_VALUE:
            return False
        return kind in _BEGINS_VALUE and word not in _AFTER_VALUE and self._give_up()

    def _give_up(self) -> bool:
        self._given_up += len(self.brackets)
        self.brackets.clear()
        return True

    def _finish(self, end: int, line: int, col: int) -> None:
        self.brackets.clear()
        super()._finish(end, line, col)
