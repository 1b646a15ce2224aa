"""What to say about the first token that does not fit.

The parser knows which terminals it could have taken; together with the words before the token that tells what was being
written. A message says what was expected and what stands there, in the words of a source; habits of other languages are told
by ``foreign_habits``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from language.errors import ParseError
from language.syntax.table_reading import accepts
from language.syntax.token_words import found, wanted
from language.syntax.tokens import ENDS_VALUE, KEYWORD_TYPES, STARTS_EXPRESSION, Token, words

if TYPE_CHECKING:
    from language.syntax.layout import Settled
    from language.syntax.table_reading import Tables

LINE_ENDS = words("NEWLINE INDENT DEDENT")
_STOPS = LINE_ENDS | words("$END")
_OPENERS = {"LPAREN": "RPAREN", "LAMBDA": "RPAREN", "LBRACKET": "RBRACKET", "PATTERN_LIST": "RBRACKET", "LBRACE": "RBRACE"}
_OPENERS |= {"PATTERN_MAP": "RBRACE", "HOLE": "HOLE_END"}
_CLOSERS = frozenset(_OPENERS.values())
_SEPARATED = words("LPAREN LAMBDA LBRACKET PATTERN_LIST LBRACE PATTERN_MAP")
#: What closes or continues the innermost construct, most telling first; the rest of what could follow are operators.
_EXPECTED = (
    *("THEN", "COLON", "RPAREN", "RBRACKET", "RBRACE", "FAT_ARROW", "TO", "AS", "BETWEEN", "ACROSS", "FROM", "KEY", "ASSIGN"),
    *("IS", "INDENT", "TEXT", "IDENTIFIER"),
)
_PLAIN_OF = "`of` needs a plain name on its left (`name of person`); for a computed key use an index: `person[key]`"
#: Lines that only continue what stands above them.
_CONTINUING = {
    "OTHERWISE": (
        "`otherwise` continues a `when` or ends a `match`",
        "write it at the indentation of its `when`, directly after the block of that `when`",
    ),
    "RECOVER": (
        "`recover` continues a `try`",
        "write it at the indentation of its `try`, directly after the block of that `try`",
    ),
    "IS": ("`is` begins a case of `match`", "indent it below `match value`; values are compared with `==`"),
}
#: Words that are reserved for later versions, and what to write instead.
_RESERVED = {
    "REPEAT": "a loop is `each i in range(5)` or `while condition`",
    "AND_THEN": "tasks are called one after the other, each on a line of its own",
    "ALLOW": "what a program may do stands in `require` lines",
    "DENY": "what a program may do stands in `require` lines",
    "VERIFY": 'what must hold is `assert(condition, "why")`',
}


class Told(NamedTuple):
    """What is said of a mistake: the message, the token it begins at, its code, the help, the token it ends at."""

    message: str
    token: Token
    code: str = "E0101"
    help: str = ""
    last: Token | None = None


def explain(tables: Tables, states: list[int], settled: Settled, position: int, source: str) -> ParseError:
    """The error for the token at ``position``, which the parser in ``states`` cannot take. ``source`` is the whole text."""
    problem = settled.problems.get(position)
    token = settled.tokens[position]
    told = (
        Told(problem[0], token, problem[1], problem[2])
        if problem is not None
        else Situation(tables, states, settled, position, source).tell()
    )
    error = ParseError(told.message, line=told.token.line, column=told.token.col, code=told.code, help=told.help)
    last = told.last or told.token
    before = settled.tokens[position - 1] if position else told.token
    if told.token.type == "NEWLINE" and before.end_line == told.token.line:
        error.column = before.end_col  # not behind a comment
    if last.end > told.token.start and last.type not in LINE_ENDS:
        error.end_line, error.end_column = last.end_line, last.end_col
    error.incomplete = told.code == "E0104" and _STOPS.issuperset(settled.kinds[position:])
    return error


def _accepted(tables: Tables, states: list[int]) -> frozenset[str]:
    """The terminals that could have come next: those that are shifted in the end, not only reduced for."""
    return frozenset(terminal for terminal in tables.actions[states[-1]] if accepts(tables, states, terminal))


class Situation:
    """Where the parser stopped: the token, what could have stood there, the line and the bracket around it."""

    def __init__(self, tables: Tables, states: list[int], settled: Settled, position: int, source: str) -> None:
        self.kinds = settled.kinds
        self.tokens = settled.tokens
        self.source = source
        self.position = position
        self.token = settled.tokens[position]
        self.accepted = _accepted(tables, states)
        self.start = position
        while self.start and self.kinds[self.start - 1] not in LINE_ENDS:
            self.start -= 1
        self.before = self.kinds[position - 1] if position else "NEWLINE"
        self.opener = self._innermost_opener()
        self.ends = "NEWLINE" in self.accepted and not self.wants_operand
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

    # ---- what is known of the place -------------------------------------------------------------------------------------

    @property
    def wants_operand(self) -> bool:
        """Whether an expression could have begun here."""
        return "NUMBER" in self.accepted

    @property
    def first(self) -> str:
        """The terminal that the line begins with."""
        kind = self.kinds[self.start]
        return self.kinds[self.start + 1] if kind == "EXPORT" else kind

    @property
    def previous(self) -> Token:
        return self.tokens[self.position - 1] if self.position else self.token

    @property
    def glued(self) -> bool:
        """Whether no blank stands before the token."""
        return self.previous.end == self.token.start

    def following(self, distance: int = 1) -> Token:
        """A token behind the one at hand; the last one where the source ends before."""
        return self.tokens[min(self.position + distance, len(self.tokens) - 1)]

    def found(self) -> str:
        return found(self.token, self.source)

    def written(self, first: Token, last: Token | None = None) -> str:
        """The source from one token up to another, or to the end of the line; empty when that is long or has several lines."""
        if last is None:
            end = self.position
            while end < len(self.kinds) and self.kinds[end] not in _STOPS:
                end += 1
            last = self.tokens[max(end - 1, 0)]
        text = self.source[first.start : last.end]
        return text if "\n" not in text and len(text) <= 60 else ""

    def line_of(self, token: Token) -> str:
        """The source from a token to the end of its line."""
        end = self.source.find("\n", token.start)
        return self.source[token.start : end if end >= 0 else len(self.source)]

    # ---- telling --------------------------------------------------------------------------------------------------------

    def tell(self) -> Told:
        from language.syntax.foreign_habits import habit

        return habit(self) or self._bracket() or self._binding_error() or self._layout() or self._rest()

    def _rest(self) -> Told:
        if self.wants_operand:
            return self._value_missing()
        return self._missing_word() or self._expected()

    def _bracket(self) -> Told | None:
        kind = self.kinds[self.position]
        if self.opener >= 0 and kind in _STOPS:
            opened = self.tokens[self.opener]
            sign = self.source[opened.start : opened.end]
            closing = wanted(_OPENERS[self.kinds[self.opener]])
            return Told(f"this `{sign}` is never closed", opened, "E0104", f"write {closing} after its last value")
        if kind in _CLOSERS and self.opener >= 0 and _OPENERS[self.kinds[self.opener]] != kind and not self.wants_operand:
            opened = self.tokens[self.opener]
            closing = wanted(_OPENERS[self.kinds[self.opener]])
            message = f"expected {closing}, found {self.found()}: the bracket {self._opened(opened)} is still open"
            return Told(message, self.token, "E0105")
        if kind in _CLOSERS and self.opener < 0 and kind != "HOLE_END" and (self.ends or self.position == self.start):
            return Told(f"{self.found()} closes nothing: no bracket is open here", self.token, "E0105", "leave it out")
        return None

    def _opened(self, opened: Token) -> str:
        sign = self.source[opened.start : opened.end]
        return f"`{sign}` of line {opened.line}" if opened.line != self.token.line else f"`{sign}` at column {opened.col}"

    def _layout(self) -> Told | None:
        kind = self.kinds[self.position]
        if kind == "INDENT" and self.token.type == "INDENT":
            following = self.kinds[self.position + 1]
            last = self.following()
            if following not in STARTS_EXPRESSION | KEYWORD_TYPES | {"FAULT", "PROBLEM"} or following in (
                "AND",
                "OR",
                "IN",
                "OF",
                "THEN",
                "WITH",
            ):
                return self._continued(last)
            message = "this line is indented deeper than the one before it, which opens no block"
            return Told(message, self.token, "E0108", "begin it at the column of the line before", last)
        if self.position == self.start and kind in _CONTINUING:
            message, help_ = _CONTINUING[kind]
            return Told(f"{message}, and none stands here", self.token, "E0130", help_)
        if self.position == self.start and kind in _RESERVED:
            return Told(f"`{self.token.value}` is a reserved word without a meaning: {_RESERVED[kind]}", self.token, "E0115")
        if kind == "OF" and self.before in ENDS_VALUE and "PLUS" in self.accepted:
            return Told(_PLAIN_OF, self.token, "E0101")
        return None

    def _binding_error(self) -> Told | None:
        what = self._binding()
        if what is None or "IDENTIFIER" not in self.accepted or self.token.type == "INDENT":
            return None
        if self.token.type in KEYWORD_TYPES:
            return Told(f"'{self.token.value}' is a reserved word; choose another name for the {what}", self.token, "E0115")
        article = "an" if what[0] in "aeiou" else "a"
        return Told(f"expected {article} {what}, found {self.found()}", self.token, "E0116")

    def _continued(self, token: Token) -> Told:
        message = (
            f"a line cannot begin with {found(token, self.source)}: an expression over several lines must stand in parentheses"
        )
        return Told(
            message,
            token,
            "E0108",
            "open the parenthesis on the line before: a statement ends with its line, unless a bracket is open",
        )

    def _value_missing(self) -> Told:
        token = self.token
        if self.position > self.start and self.before not in LINE_ENDS:
            after = f" after {found(self.previous, self.source)}"
        else:
            after = ""
        if self.before == "HOLE":
            after = " between `{` and `}`"
        if self.position == self.start and not after:
            if token.type in ("PIPE", "DOT"):
                return self._continued(token)
            return Told(f"a statement cannot begin with {self.found()}", token, "E0101")
        help_ = ""
        if token.type == "DOT" and self.following().type == "NUMBER":
            return Told("a number begins with a digit: `0.5`", token, "E0120", "", self.following())
        if token.type in KEYWORD_TYPES and self.following().type == "ASSIGN" and self.opener >= 0:
            return Told(f"'{token.value}' is a reserved word and names no argument", token, "E0115")
        if token.type in LINE_ENDS:
            help_ = "write the value on the same line; what stands in brackets may go on over several lines"
        elif token.type in ("HOLE_END", "RBRACE") and self.before == "HOLE":
            help_ = "`\\{` in a template is the brace itself"
        return Told(f"expected a value{after}, found {self.found()}", token, "E0113", help_)

    def _missing_word(self) -> Told | None:
        accepted = self.accepted
        first = self.first
        shown = self.found()
        if first == "LET" and "BE" in accepted:
            value = self._after_wrong_word() or "..."
            begin = self.written(self.tokens[self.start], self.previous)
            if self.following().type == "BE" and self.before == "IDENTIFIER":  # `let mut x be 5`
                begin = begin.removesuffix(self.previous.value) + self.written(self.token, self.token)
                message = f"`let` takes one name, found `{self.written(self.previous, self.token)}`"
                return Told(message, self.previous, "E0118", f"write `{begin} be {value}`", self.token)
            help_ = f"write `{begin} be {value}`"
            return Told(f"expected `be` after the name in `let`, found {shown}", self.token, "E0118", help_)
        if self.kinds[max(self.position - 2, 0)] == "EACH" and "IN" in accepted:
            word = self.token.type in KEYWORD_TYPES | {"IDENTIFIER"} and self.following().type not in LINE_ENDS
            values = self.written(self.following() if word else self.token)
            help_ = f"write `each {self.previous.value} in {values or 'xs'}`"
            return Told(f"expected `in` after the name in `each`, found {shown}", self.token, "E0118", help_)
        if "RECOVER" in accepted:
            return Told(
                "expected `recover` after the block of `try`",
                self.token,
                "E0118",
                "write `recover err` at the indentation of `try`, and below it, indented, what happens after an error",
            )
        if "PER" in accepted:
            return Told("expected `per` in rate_limit (e.g. rate_limit 100 per minute)", self.token, "E0118")
        if self.opener < 0:
            if first == "SET" and "TO" in accepted:
                value = self._after_wrong_word()
                target = self.written(self.tokens[self.start], self.previous)
                help_ = f"write `{target} to {value}`" if target and value else "`set x to 5`"
                return Told(f"expected `to` in `set`, found {shown}", self.token, "E0118", help_)
            if first == "USE" and "AS" in accepted:
                help_ = '`use "./file.lang" as name`'
                return Told(f"expected `as` after the path of the module, found {shown}", self.token, "E0118", help_)
        if self.before == "DOT" and first == "REQUIRE" and self.position == self.start + 3:
            return Told(f"expected a capability after the `.`, found {shown}", self.token, "E0116", "`require file.read`")
        return None

    def _after_wrong_word(self) -> str:
        """The value of a `let` or `set` that lacks its word; a word that stands in its place is no part of the value."""
        wrong = self.token.type in ("TO", "BE") or (self.token.type == "IDENTIFIER" and self.following().type in ("TO", "BE"))
        value = self.following() if wrong else self.token
        if value.type in ("TO", "BE"):  # `let mut x be 5`
            value = self.following(2)
        return "" if value.type in LINE_ENDS | {"EOF"} else self.written(value)

    def _expected(self) -> Told:
        accepted = self.accepted
        token = self.token
        shown = self.found()
        if self.opener >= 0 and self.kinds[self.opener] == "HOLE" and "THEN" not in accepted and "HOLE_END" in accepted:
            return Told(f"expected `}}` after the value, found {shown}", token, "E0114")
        if "NEWLINE" in accepted:
            return self._leftover()
        if "INDENT" in accepted:
            if token.type in LINE_ENDS or token.start == token.end:
                what = "below `serve on PORT`" if self.first == "SERVE" else "below this line"
                return Told(
                    f"expected an indented block {what}",
                    token,
                    "E0109",
                    "indent the lines that belong to it by four spaces",
                )
            return self._leftover()
        for terminal in _EXPECTED:
            if terminal in accepted:
                return self._expected_terminal(terminal)
        if len(accepted) <= 3:
            names = " or ".join(wanted(terminal) for terminal in sorted(accepted))
            return Told(f"expected {names}, found {shown}", token, "E0118")
        return Told(f"unexpected {shown.removeprefix('a ')}", token)

    def _expected_terminal(self, terminal: str) -> Told:
        shown = self.found()
        expected = wanted(terminal)
        if self.opener >= 0 and "COMMA" in self.accepted and self.kinds[self.opener] in _SEPARATED:
            opened = self.tokens[self.opener]
            message = f"expected `,` or {expected}, found {shown}"
            if opened.line != self.token.line:
                message += f": the bracket {self._opened(opened)} is still open"
            help_ = self._quote_inside()
            if not help_ and self.token.type in STARTS_EXPRESSION:
                help_ = "values and names in brackets are separated by `,`"
                if self.previous.end_line < self.token.line and self.before in ENDS_VALUE:
                    help_ += f": write one at the end of line {self.previous.end_line}"
            return Told(message, self.token, "E0125", help_)
        if terminal == "COLON" and self.opener >= 0:
            key = found(self.previous, self.source)
            message = f"expected `:` after the key {key} of the map, found {shown}"
            plain = self.previous.type == "IDENTIFIER" and not self.written(self.previous).startswith(('"', "'"))
            name = self.previous.value
            help_ = f'write `"{name}": {name}`' if plain else 'an entry is `"key": value`'
            return Told(message, self.token, "E0125", help_)
        if terminal == "COLON" and self._block_word() == "TYPE":
            field = found(self.previous, self.source)
            return Told(f"expected `:` after the field {field}, found {shown}", self.token, "E0125", "a field is `name: type`")
        if terminal == "IDENTIFIER" and self.before == "DOT":
            return Told(f"expected the name of a member after the `.`, found {shown}", self.token, "E0116")
        if terminal == "IS" and self.position == self.start:
            help_ = (
                "the case of all other values is `otherwise`, its body indented below"
                if self.token.value == "_"
                else "a case is `is value` with its body indented below; the last one may be `otherwise`"
            )
            return Told(f"expected `is` at the start of a case of `match`, found {shown}", self.token, "E0118", help_)
        return Told(f"expected {expected}, found {shown}", self.token, "E0118" if expected.startswith("`") else "E0116")

    def _leftover(self) -> Told:
        shown = self.found()
        token = self.token
        if token.type in ("BE", "TO") and self.position == self.start + 1 and self.before == "IDENTIFIER":
            word = "let" if token.type == "BE" else "set"
            written = self.written(self.previous)
            help_ = f"write `{word} {written}`" if written else ""
            return Told(f"expected `{word}` before `{self.previous.value} {token.value}`", self.previous, "E0118", help_, token)
        if self._block_word() == "ENUM":
            message = f"expected the end of the line after the variant, found {shown}"
            help_ = "each variant stands on a line of its own; what one holds stands in parentheses: `circle(radius)`"
            return Told(message, token, "E0114", help_)
        message = f"unexpected {shown.removeprefix('a ')} after the end of this statement"
        if quote := self._quote_inside():
            return Told(message, token, "E0114", quote)
        if token.type in ("LET", "SET", "GIVE", "EACH", "WHILE", "TASK", "WHEN", "MATCH", "TRY", "REQUIRE", "STOP"):
            return Told(message, token, "E0114", "write each statement on a line of its own")
        if self.before == "IDENTIFIER" and token.type in ENDS_VALUE | {"TEMPLATE", "WHEN", "NOT", "LBRACE"} and not self.glued:
            name = self.previous.value
            arguments = self.written(token)
            call = f"{name}({arguments})" if arguments and "--" not in arguments else f"{name}(...)"
            help_ = ""
            if self.kinds[self.start] in ("LET", "SET", "GIVE") and arguments == token.value:
                help_ = f"for one value, write an operator between the two; for a list, `[{name}, {arguments}]`"
            return Told(f"{message}. If you meant to call `{name}`, write the parentheses: {call}", token, "E0114", help_)
        help_ = ""
        if self.before == token.type == "NUMBER":
            first, second = self.previous.value, token.value
            help_ = f"for one value, write an operator between the two: `{first} + {second}`; for a list, `[{first}, {second}]`"
        return Told(f"{message}. If you meant several statements, put them on separate lines", token, "E0114", help_)

    def _quote_inside(self) -> str:
        """The help where a text ended at a quote that was meant as a part of it."""
        if self.before != "TEXT" or not self.glued or self.token.type not in KEYWORD_TYPES | {"IDENTIFIER"}:
            return ""
        quote = self.source[self.previous.end - 1]
        other = "'" if quote == '"' else '"'
        return f"the text ends at the `{quote}` before it: inside of a text write `\\{quote}`, or put {other} around the text"

    # ---- names ----------------------------------------------------------------------------------------------------------

    def _binding(self) -> str | None:
        """What kind of name would be bound here."""
        first = self.first
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
                    while line and self.kinds[line - 1] not in LINE_ENDS:
                        line -= 1
                    return self.kinds[line + 1] if self.kinds[line] == "EXPORT" else self.kinds[line]
                depth -= 1
        return ""
