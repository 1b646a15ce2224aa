"""Source text to tokens: words, numbers, texts, line ends and indentation.

One regular expression finds the next token; what it cannot settle (numbers with a prefix, texts with escapes, templates, a
``--`` that may be no comment) goes through the functions of ``literals``. A template is lexed in place, hole by hole, so that
everything in a hole has its true position; nothing here recurses.
"""

from __future__ import annotations

import re

from language.errors import LanguageError, LexerError, ParseError
from language.syntax.literals import Unterminated, number_end, template_ends, unescape, unescape_piece, word_end
from language.syntax.tokens import ENDS_VALUE, MAX_DEPTH, OPERATOR_TYPES, TOO_DEEP, WORD_TYPES, Token

__all__ = ["Token", "decode_source", "flat_tokens", "tokenize"]

_NEXT = re.compile(
    r"""[ \t]*(?:
      ([A-Za-z_\x80-\U0010ffff][A-Za-z0-9_\x80-\U0010ffff]*)               # 1 word
    | ([,:]|\.(?!\.)|[+*/%<>=!|-]=|\*\*|//|=>|\|>|->|-(?!-)|[+*/%<>=])       # 2 operator
    | ([(\[{])                                                             # 3 opening bracket
    | ([)\]}])                                                             # 4 closing bracket
    | ("[^"\\\n]*"|'[^'\\\n]*')                                            # 5 text without escapes
    | (\n)                                                                 # 6 end of line
    | ([0-9]+(?:\.[0-9]+)?(?![0-9A-Za-z_.\x80-\U0010ffff]))                # 7 plain number
    | (--[^\n]*)                                                           # 8 comment
    | (\.+)                                                                # 9 dots
    | ([0-9])                                                              # 10 any other number
    | (["'])                                                               # 11 text with escapes, or without an end
    | (`)                                                                  # 12 template
    | (\Z)                                                                 # 13 end of the source or of the hole
    | (.)                                                                  # 14 nothing of ours
    )""",
    re.VERBOSE | re.DOTALL,
)
_WORD, _OPERATOR, _OPEN, _CLOSE, _TEXT, _NEWLINE, _NUMBER, _COMMENT, _DOTS, _ODD_NUMBER, _ODD_TEXT = range(1, 12)
_TEMPLATE, _END = 12, 13
_LONG_TEXT = re.compile(r'"(?:[^"\\\n]|\\[^\n])*"|\'(?:[^\'\\\n]|\\[^\n])*\'')
_BLANK_LINES = re.compile(r"(?:[ \t]*(?:--[^\n]*)?\n)*[ \t]*(?:--[^\n]*\Z)?")
#: Of a longer line nothing is said but its mistake.
_MOST_READ_AGAIN = 200
_COMMENTS = re.compile(r"--[^\n]*")
_PIECE = re.compile(r"[^\\{]*(?:\\.[^\\{]*)*", re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")


def decode_source(data: bytes) -> str:
    """The text of a program's file: UTF-8, a byte order mark dropped, CRLF and lone CR as LF.

    Raises ``UnicodeDecodeError`` for other bytes.
    """
    return normalised(data.decode("utf-8"))


def normalised(source: str) -> str:
    """The text as the lexer reads it: no byte order mark, LF line ends, U+FFFD for each lone surrogate."""
    if source.startswith("\ufeff"):
        source = source[1:]
    if "\r" in source:
        source = source.replace("\r\n", "\n").replace("\r", "\n")
    if not source.isascii() and _SURROGATE.search(source) is not None:
        source = _SURROGATE.sub("\ufffd", source)
    return source


def tokenize(source: str, filename: str, keep_comments: bool = False) -> list[Token]:
    """The tokens of ``source``, each template as one ``TEMPLATE`` token.

    With ``keep_comments`` every comment outside template holes is a ``COMMENT`` token where it stands; comments never affect
    ``NEWLINE``, ``INDENT`` and ``DEDENT``. Offsets count in the text as ``decode_source`` gives it. Raises as
    ``flat_tokens``.
    """
    out: list[Token] = []
    depth = 0
    for token in flat_tokens(source, filename, keep_comments):
        kind = token.type
        if kind == "TEMPLATE":
            depth += 1
            if depth == 1:
                out.append(token)
        elif kind == "TEMPLATE_END":
            depth -= 1
        elif depth == 0:
            out.append(token)
    return out


def flat_tokens(source: str, filename: str, keep_comments: bool = False) -> list[Token]:
    """The tokens with templates taken apart, as the parser wants them.

    A ``TEMPLATE`` token spans the whole template; after it come its ``PIECE`` tokens, each hole between ``HOLE`` and
    ``HOLE_END``, and ``TEMPLATE_END``. Raises ``LexerError``, and ``ParseError`` for templates nested beyond the limit.
    """
    return Lexer(normalised(source), filename, keep_comments).run()


class Lexer:
    """The state of the lexer. ``RecoveringLexer`` continues after an error; the methods that only it needs do nothing here."""

    #: whether `foreign`, `breaks_off` and `empty_line` are asked
    recovering = False

    def __init__(self, source: str, filename: str, keep_comments: bool = False) -> None:
        self.source = source
        self.filename = filename
        self.keep_comments = keep_comments
        self.tokens: list[Token] = []
        self.line = 1
        self.line_start = 0
        #: the columns at which the lines of the open blocks begin, and the tabs and blanks before them
        self.indents = [0]
        self.prefixes = [""]
        self.tabs = "\t" in source
        #: open brackets, innermost last; a template's hole is "`"
        self.brackets: list[str] = []
        self.ends: dict[int, int] = {}
        #: templates being lexed: offset of the closing backtick, limit outside, number of brackets outside
        self.templates: list[tuple[int, int, int]] = []
        #: where the next token is looked for, and up to where
        self.pos = 0
        self.limit = len(source)

    def run(self) -> list[Token]:
        self.pos = self._indentation(0)
        self.read()
        return self.tokens

    def read(self) -> None:
        """Reads from ``pos`` to the end. After an error ``pos``, ``line`` and ``line_start`` say where it stands."""
        source = self.source
        tokens = self.tokens
        brackets = self.brackets
        add = tokens.append
        make = tuple.__new__
        match = _NEXT.match
        word_types = WORD_TYPES
        operator_types = OPERATOR_TYPES
        recovering = self.recovering
        limit = self.limit
        pos = start = self.pos
        line = self.line
        line_start = self.line_start
        try:
            while True:
                found = match(source, pos, limit)
                assert found is not None
                group = found.lastindex
                assert group is not None
                start, end = found.span(group)
                col = start - line_start + 1
                if recovering:
                    pos = self.foreign(group, start, end)
                    if pos:
                        continue
                if group == _WORD:
                    text = found[_WORD]
                    if not text.isascii():
                        length = word_end(text)
                        if length == 0:
                            raise self._unexpected(source[start], line, col)
                        text = text[:length]
                        end = start + length
                    kind = word_types.get(text, "IDENTIFIER")
                elif group == _OPERATOR:
                    text = found[_OPERATOR]
                    if text not in operator_types:  # `+=` and the like are two operators, `!` and `|` alone are none
                        text = text[0]
                        end = start + 1
                        if text not in operator_types:
                            raise self._unexpected(text, line, col, start)
                    kind = operator_types[text]
                elif group == _OPEN:
                    text = found[_OPEN]
                    brackets.append(text)
                    kind = operator_types[text]
                elif group == _CLOSE:
                    text = found[_CLOSE]
                    if brackets and brackets[-1] != "`":
                        brackets.pop()
                    kind = operator_types[text]
                elif group == _TEXT:
                    text = source[start + 1 : end - 1]
                    kind = "TEXT"
                elif group == _NEWLINE:
                    if brackets and not (recovering and self.breaks_off(end)):
                        line += 1
                        line_start = end
                    else:
                        if not recovering or not self.empty_line():
                            add(make(Token, ("NEWLINE", "", line, col, line + 1, 1, start, end)))
                        self.line = line + 1
                        self.line_start = end
                        end = self._indentation(end)
                        line = self.line
                        line_start = self.line_start
                    pos = end
                    continue
                elif group == _NUMBER:
                    text = found[_NUMBER]
                    kind = "NUMBER"
                elif group == _COMMENT:
                    self._check_comment(start, end, line, col)
                    pos = end
                    if self.keep_comments:
                        add(self._comment(start, end, line, line_start))
                    continue
                elif group == _DOTS:
                    if end - start == 3:
                        text = "..."
                        kind = "SPREAD"
                    else:
                        text = "."
                        end = start + 1
                        kind = "DOT"
                        while source.startswith(".", end, limit):  # a run of dots that is no spread
                            add(make(Token, (kind, text, line, col, line, col + 1, start, end)))
                            start += 1
                            end += 1
                            col += 1
                elif group == _ODD_NUMBER:
                    try:
                        end = number_end(source, start, limit)
                    except LexerError as error:
                        raise self._error(error.message, line, col, "E0120") from None
                    text = source[start:end]
                    kind = "NUMBER"
                elif group == _ODD_TEXT:
                    whole = _LONG_TEXT.match(source, start, limit)
                    if whole is None:
                        raise self._open_string(start, line, col)
                    end = whole.end()
                    text = unescape(source[start + 1 : end - 1])
                    kind = "TEXT"
                elif group == _TEMPLATE:
                    if len(self.templates) >= MAX_DEPTH:
                        raise ParseError(TOO_DEEP, file=self.filename, line=line, column=col, code="E0129")
                    if start not in self.ends:
                        self.ends = self._template_ends(start, line, line_start)
                    close = self.ends[start]
                    inside = source[start + 1 : close]
                    breaks = inside.count("\n")
                    end_line = line + breaks
                    end_col = close + 1 - source.rfind("\n", start, close) if breaks else close + 2 - line_start
                    add(make(Token, ("TEMPLATE", inside, line, col, end_line, end_col, start, close + 1)))
                    self.templates.append((close, limit, len(brackets)))
                    self.line, self.line_start = line, line_start
                    pos, limit = self._resume(start + 1)
                    line, line_start = self.line, self.line_start
                    continue
                elif group == _END:
                    if not self.templates:
                        break
                    # the end of a hole: brackets that are still open in it end here, and the parser reports them
                    del brackets[self.templates[-1][2] :]
                    add(make(Token, ("HOLE_END", "}", line, col, line, col + 1, start, start + 1)))
                    self.line, self.line_start = line, line_start
                    pos, limit = self._resume(start + 1)
                    line, line_start = self.line, self.line_start
                    continue
                else:
                    raise self._unexpected(found[14], line, col, start)
                add(make(Token, (kind, text, line, col, line, end - line_start + 1, start, end)))
                pos = end
        except LanguageError:
            self.pos, self.line, self.line_start, self.limit = start, line, line_start, limit
            raise
        self._finish(start, line, col)

    # ---- lines ----------------------------------------------------------------------------------------------------------

    def _indentation(self, pos: int) -> int:
        """At a line's start: skips blank and comment-only lines, opens or closes blocks; gives where the next token stands."""
        source = self.source
        found = _BLANK_LINES.match(source, pos)
        assert found is not None
        end = found.end()
        if self.keep_comments:
            self._blank_comments(pos, end)
        breaks = source.count("\n", pos, end)
        if breaks:
            self.line += breaks
            self.line_start = source.rfind("\n", pos, end) + 1
        start = self.line_start
        if end == len(source):
            return end
        width = end - start + 3 * source.count("\t", start, end)
        indents = self.indents
        if width != indents[-1]:
            col = end - start + 1
            if width > indents[-1]:
                indents.append(width)
                self.prefixes.append(source[start:end])
                self.tokens.append(Token("INDENT", str(width), self.line, col, self.line, col, end, end))
            else:
                if width not in indents:
                    width = self.uneven(width, col)
                while width < indents[-1]:
                    indents.pop()
                    self.prefixes.pop()
                    self.tokens.append(Token("DEDENT", str(indents[-1]), self.line, col, self.line, col, end, end))
        if self.tabs:
            self._check_tabs(source[start:end])
        return end

    def _check_tabs(self, prefix: str) -> None:
        """Refuses an indentation that equals that of its block only for a certain width of tabs."""
        prefixes = self.prefixes
        outer = prefixes[-2] if len(prefixes) > 1 else ""
        if prefix != prefixes[-1] or not prefix.startswith(outer):
            self.mixed(prefix, prefixes[-1] if prefix != prefixes[-1] else outer, len(prefix) + 1)

    def uneven(self, width: int, col: int) -> int:
        """Refuses a line that ends a block and stands at the indentation of none of the others."""
        near = [max(level for level in self.indents if level < width), min(level for level in self.indents if level > width)]
        message = f"Inconsistent indentation: expected {near[0]} or {near[1]} spaces but got {width}"
        if width >= col:  # wider than its characters: it has tabs
            help_ = "a tab at the beginning of a line counts as four spaces: indent all lines of the file with spaces"
        else:
            help_ = "begin the line at the column of the lines that it belongs to"
        error = self._error(message, self.line, 1, "E0106", help_)
        error.column, error.end_line, error.end_column = col, self.line, col + 1
        raise error

    def mixed(self, prefix: str, other: str, col: int) -> None:
        """Refuses a line that is indented with other tabs and blanks than ``other``, the lines above that it belongs to."""
        own, above = _made_of(prefix), _made_of(other)
        differ = f"the lines above with {above}" if own != above else "the lines above with others"
        message = f"tabs and spaces are mixed: this line is indented with {own}, {differ}"
        error = self._error(message, self.line, col, "E0107", "indent all lines of the file with four spaces a level")
        error.end_line, error.end_column = self.line, col + 1
        raise error

    def _blank_comments(self, pos: int, end: int) -> None:
        line = self.line
        line_start = self.line_start
        for found in _COMMENTS.finditer(self.source, pos, end):
            breaks = self.source.count("\n", pos, found.start())
            if breaks:
                line += breaks
                line_start = self.source.rfind("\n", pos, found.start()) + 1
            pos = found.start()
            self.tokens.append(self._comment(found.start(), found.end(), line, line_start))

    def _comment(self, start: int, end: int, line: int, line_start: int) -> Token:
        text = self.source[start:end].rstrip()
        return Token("COMMENT", text, line, start - line_start + 1, line, end - line_start + 1, start, end)

    def _finish(self, end: int, line: int, col: int) -> None:
        """Ends the last line and all blocks. The line end that the file lacks has no width."""
        tokens = self.tokens
        last = next((token.type for token in reversed(tokens) if token.type != "COMMENT"), "NEWLINE")
        if not self.brackets and last not in ("NEWLINE", "INDENT", "DEDENT"):
            tokens.append(Token("NEWLINE", "", line, col, line, col, end, end))
        for level in reversed(self.indents[:-1]):
            tokens.append(Token("DEDENT", str(level), line, col, line, col, end, end))
        tokens.append(Token("EOF", "", line, col, line, col, end, end))

    # ---- templates ------------------------------------------------------------------------------------------------------

    def _template_ends(self, start: int, line: int, line_start: int) -> dict[int, int]:
        try:
            return template_ends(self.source, start)
        except Unterminated as error:
            at = error.start
            breaks = self.source.count("\n", start, at)
            line += breaks
            col = at - self.source.rfind("\n", start, at) if breaks else at - line_start + 1
            if error.kind == "string":
                raise self._open_string(at, line, col) from None
            raise self._open_template(at, line, col) from None

    def _resume(self, pos: int) -> tuple[int, int]:
        """Goes on with the innermost template at ``pos``: its next piece, then into the next hole or out at its end.

        Gives the offset to continue at, and the limit.
        """
        source = self.source
        close, outer, depth = self.templates[-1]
        found = _PIECE.match(source, pos, close)
        assert found is not None
        end = found.end()
        line = self.line
        col = pos - self.line_start + 1
        breaks = source.count("\n", pos, end)
        if breaks:
            self.line += breaks
            self.line_start = source.rfind("\n", pos, end) + 1
        end_col = end - self.line_start + 1
        if end > pos:
            piece = unescape_piece(source[pos:end])
            self.tokens.append(Token("PIECE", piece, line, col, self.line, end_col, pos, end))
        if end == close:
            self.tokens.append(Token("TEMPLATE_END", "`", self.line, end_col, self.line, end_col + 1, end, end + 1))
            self.templates.pop()
            del self.brackets[depth:]
            return close + 1, outer
        self.tokens.append(Token("HOLE", "{", self.line, end_col, self.line, end_col + 1, end, end + 1))
        self.brackets.append("`")
        return end + 1, self.ends[end]

    # ---- recovery -------------------------------------------------------------------------------------------------------

    def foreign(self, group: int, start: int, end: int) -> int:
        """Where to go on when what stands from ``start`` to ``end`` is to be passed over, else 0. May raise."""
        return 0

    def breaks_off(self, pos: int) -> bool:
        """Whether the line at ``pos`` begins a statement although a bracket is open."""
        return False

    def empty_line(self) -> bool:
        """Whether the current line has no token."""
        return False

    # ---- errors ---------------------------------------------------------------------------------------------------------

    def _error(self, message: str, line: int, col: int, code: str, help: str = "") -> LexerError:
        return LexerError(message, file=self.filename, line=line, column=col, code=code, help=help)

    def _unexpected(self, character: str, line: int, col: int, start: int = -1) -> LexerError:
        from language.hints import character_hint

        shown = character.encode("unicode_escape").decode() if character == "\\" or ord(character) < 32 else character
        if "\x7f" <= character <= "\x9f":
            shown = f"\\x{ord(character):02x}"
        hint, code = character_hint(character)
        if start >= 0 and (pair := self.source[start : start + 2]) in ("?.", "??"):
            hint = f" — there is no `{pair}`"
        help_ = ""
        if character in ("|", "?") and start >= 0 and col <= _MOST_READ_AGAIN:
            from language.syntax.foreign_values import character_help

            begin = start - col + 1
            text, _, _ = self.source[begin : begin + _MOST_READ_AGAIN].partition("\n")
            help_ = character_help(character, text, col - 1)
            if character == "|" and help_:
                hint = " — a case of `match` has one value"
        return self._error(f"Unexpected character: '{shown}'" + hint, line, col, code, help_)

    def _open_string(self, start: int, line: int, col: int) -> LexerError:
        where = "newline in string" if "\n" in self.source[start:] else "reached end of file"
        help_ = f"write `{self.source[start]}` where the text ends; a text over several lines stands between backticks"
        return self._error(f"Unterminated string ({where})", line, col, "E0103", help_)

    def _open_template(self, start: int, line: int, col: int) -> LexerError:
        help_ = "write a backtick where the template ends"
        end = self.source.find("\n", start)
        if "{" in self.source[start : len(self.source) if end < 0 else end]:
            help_ += "; `\\{` in it is the brace itself"
        return self._error("Unterminated template (reached end of file)", line, col, "E0103", help_)

    def _check_comment(self, start: int, end: int, line: int, col: int) -> None:
        """Refuses a ``--`` that was surely meant as two minus signs."""
        source = self.source
        after = source[start + 2 : start + 3]
        if not (after == "(" or (after.isascii() and after.isdigit())):
            return
        before = source[start - 1] if start else "\n"
        if not before.isspace() and before not in "([{,":
            message = (
                "`--` right after a value starts a comment and hides the rest of the line: to subtract a negative value write "
                "`- (-x)`, in a comment leave a blank after the `--`"
            )
            raise self._error(message, line, col, "E0127")
        last = self.tokens[-1] if self.tokens else None
        if last is None or last.end_line != line or last.type not in ENDS_VALUE:
            return
        if self.brackets and self.brackets[-1] == "(" and _closes_parenthesis(source[start + 2 : end]):
            message = (
                "`--` starts a comment here and hides the closing `)`: to subtract a negative value write `- (-x)`, "
                "a comment goes after the bracket or on a line of its own"
            )
            raise self._error(message, line, col, "E0127")


def _closes_parenthesis(text: str) -> bool:
    depth = 0
    for character in text:
        if character == "(":
            depth += 1
        elif character == ")":
            if depth == 0:
                return True
            depth -= 1
    return False


def _made_of(prefix: str) -> str:
    """What an indentation consists of, in words."""
    return " and ".join(name for name, blank in (("tabs", "\t"), ("spaces", " ")) if blank in prefix) or "nothing"
