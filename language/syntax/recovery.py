"""Reading a source with errors: at most one error for each statement is reported, the rest becomes the tree.

The parser stops at a token that fits nowhere. The statement that the token stands in is left out: its parts leave the stack,
and reading goes on at the next line. A block below the line left out is read by itself, for its own errors. Errors
that only follow from a statement being left out are not reported.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from contextlib import suppress
from functools import cache
from typing import NamedTuple

from language.errors import LanguageError, ParseError
from language.hints import OTHER_STATEMENTS
from language.syntax import nodes
from language.syntax.layout import Settled, settle
from language.syntax.lexer import flat_tokens, normalised
from language.syntax.node_index import NodeIndex
from language.syntax.parse_errors import explain
from language.syntax.parser import Stack, Unfit, run
from language.syntax.recovering_lexer import RecoveringLexer
from language.syntax.table_reading import NESTING, accepts, tables
from language.syntax.tokens import Token, words

_LINE_ENDS = words("NEWLINE INDENT DEDENT")
_STOPS = _LINE_ENDS | words("$END")
_CONTINUES = words("OTHERWISE RECOVER")
#: Terminals of lines with a block. What stands indented below another line goes on with it and is no statement by itself.
_TAKES_BLOCK = words(
    "WHEN EACH WHILE MATCH TRY RECOVER OTHERWISE TASK TYPE ENUM IS AGENT TRACE MEASURE TEST SERVE ROUTES "
    "ROUTE HOST DESCRIBE STREAM SOCKET FAULT PROBLEM"
)
_SERVE = "SERVE ON NUMBER INDENT"
#: The terminals around a block that is read by itself, by the kind of its lines.
_AROUND = {
    "statements": ("", ""),
    "arms": ("MATCH BOOL_TRUE INDENT", "DEDENT"),
    "types": ("TYPE IDENTIFIER INDENT", "DEDENT"),
    "variants": ("ENUM IDENTIFIER INDENT", "DEDENT"),
    "judge": ("JUDGE TEXT INDENT", "DEDENT NEWLINE"),
    "serve": (_SERVE, "DEDENT"),
    "host": (f"{_SERVE} HOST TEXT INDENT", "DEDENT DEDENT"),
    "describe": (f"{_SERVE} DESCRIBE INDENT", "DEDENT DEDENT"),
    "route": (f"{_SERVE} ROUTE TEXT INDENT", "DEDENT DEDENT"),
    "routes": ("EXPORT ROUTES IDENTIFIER INDENT", "DEDENT"),
}
#: How often the parser may refuse the same token, each time with less before it, until the token is passed over.
_REFUSALS = 5
_VALUES = {"NUMBER": "1", "TEXT": "GET /", "IDENTIFIER": "x", "BOOL_TRUE": "true", "NOTHING": "nothing"}


class Recovered(NamedTuple):
    """The tree without the statements that could not be read, the errors in the order of the source, and the words of the
    statements left out: what these bind, call and use is not known. ``found`` has the nodes of the tree."""

    program: nodes.Program
    errors: list[LanguageError]
    words: frozenset[str]
    found: NodeIndex


class _Part(NamedTuple):
    """A block to be read by itself: the positions of its tokens, and what its lines are."""

    begin: int
    end: int
    lines: str


def parse_all(source: str, filename: str) -> tuple[nodes.Program, list[LanguageError]]:
    """The statements of ``source`` that can be read, and all its errors, at most one a statement. Raises nothing."""
    found = recovered(source, filename)
    return found.program, found.errors


def recovered(source: str, filename: str, *, likely_faulty: bool = False) -> Recovered:
    """As ``parse_all``, with the words of the statements that were left out.

    ``likely_faulty``: the source is not tried as a program without errors first, which takes half as long as reading one with
    errors. The result is the same.
    """
    if likely_faulty:
        return _Recovery(source, filename).result()
    try:
        stack = Stack()
        settled = settle(flat_tokens(source, filename))
        program = run(tables(), settled.kinds, settled.tokens, stack)
        return Recovered(program, [], frozenset(), NodeIndex(program))
    except (LanguageError, Unfit):
        return _Recovery(source, filename).result()


def first_error(source: str, filename: str) -> LanguageError:
    """The first error of a source that is no program."""
    errors = _Recovery(source, filename, only_first=True).result().errors
    return errors[0] if errors else ParseError("the text is no program", file=filename, line=1, column=1)


@cache
def _symbols() -> dict[int, str]:
    """The terminal that leads to each state which a terminal leads to."""
    return {target: terminal for row in tables().actions for terminal, target in row.items() if target >= 0}


class _Recovery:
    def __init__(self, source: str, filename: str, only_first: bool = False) -> None:
        self.source = normalised(source)
        lexer = RecoveringLexer(self.source, filename)
        self.settled: Settled = settle(lexer.run())
        self.kinds = self.settled.kinds
        self.tokens = self.settled.tokens
        self.starts = [token.start for token in self.tokens]
        self.filename = filename
        self.faults = lexer.faults
        self.errors: list[LanguageError] = list(lexer.asides)
        #: positions of the tokens at which errors were told
        self.told: list[int] = []
        self.parts: list[_Part] = []
        self.words: set[str] = set()
        self.tables = tables()
        self.only_first = only_first

    def result(self) -> Recovered:
        program = self.read(_Part(0, len(self.kinds), "statements"), whole=True)
        while self.parts and not self.only_first:
            self.read(self.parts.pop(), whole=False)
        if program is None:
            program = nodes.Program((1, 1, 1, 1), ())
        by_line: dict[int, LanguageError] = {}
        for error in sorted(self.errors, key=lambda error: (error.line, error.column)):
            error.file = self.filename
            by_line.setdefault(error.line, error)
        return Recovered(program, list(by_line.values()), frozenset(self.words), NodeIndex(program))

    # ---- reading --------------------------------------------------------------------------------------------------------

    def read(self, part: _Part, whole: bool) -> nodes.Program | None:
        stack = Stack()
        before, after = _AROUND[part.lines]
        self.feed(stack, before, part.begin)
        stack.position = part.begin
        program: nodes.Program | None = None
        refusals = 0
        reached = -1
        while stack.position < part.end and not (self.only_first and self.told):
            refusals = refusals + 1 if stack.position == reached else 0
            reached = stack.position
            if refusals == _REFUSALS:
                stack.position += 1
                continue
            try:
                program = run(self.tables, self.kinds, self.tokens, stack, part.end)
            except Unfit:
                self.unfit(stack, part)
            except ParseError as error:
                self.refused(stack, part, error)
            else:
                break
        if not whole:
            self.feed(stack, f"{after} $END", part.end - 1)
        return program

    def feed(self, stack: Stack, kinds: str, at: int) -> None:
        """Has the parser read terminals that the source has not."""
        names = kinds.split()
        here = self.tokens[at]
        place = (here.line, here.col, here.line, here.col, here.start, here.start)
        stack.position = 0
        with suppress(Unfit, ParseError):  # what stands around a block read by itself does not matter
            run(self.tables, names, [Token(name, _VALUES.get(name, ""), *place) for name in names], stack)

    # ---- errors ---------------------------------------------------------------------------------------------------------

    def tell(self, error: LanguageError | None, position: int) -> None:
        if error is not None:
            self.errors.append(error)
        insort(self.told, position)

    def tell_unfit(self, stack: Stack, position: int) -> None:
        token = self.tokens[position]
        fault = self.faults.get(token.start) if self.kinds[position] == "FAULT" else None
        if self.kinds[position] == "FAULT" and (fault is None or not self.is_foreign(position, fault)):
            self.tell(fault, position)
        else:
            self.tell(explain(self.tables, stack.states, self.settled, position, self.source), position)

    def is_foreign(self, position: int, fault: LanguageError) -> bool:
        """Whether braces are the smaller mistake of the line: it begins with a word of another language."""
        while position > 0 and self.kinds[position - 1] not in _LINE_ENDS:
            position -= 1
        first = self.tokens[position]
        return fault.code == "E0110" and first.type == "IDENTIFIER" and first.value in OTHER_STATEMENTS

    def was_told(self, begin: int, end: int) -> bool:
        """Whether an error was told from one position up to another."""
        number = bisect_left(self.told, begin)
        return number < len(self.told) and self.told[number] < end

    def unfit(self, stack: Stack, part: _Part) -> None:
        """Goes on after a token that fits nowhere."""
        position = stack.position
        start = self.line_start(position, part)
        kind = self.kinds[position]
        if kind == "INDENT":
            self.unfit_block(stack, part, start)
        elif position > start:
            self.tell_unfit(stack, position)
            self.pop_to(stack, start)
            self.skip(stack, part, start, position)
        else:
            self.unfit_line(stack, part)
        self.count_depth(stack)

    def unfit_block(self, stack: Stack, part: _Part, start: int) -> None:
        position = stack.position
        self.tell_unfit(stack, position)
        complete = position > start and accepts(self.tables, stack.states, "NEWLINE")
        if complete:
            self.feed(stack, "NEWLINE", position)
            reads = self.kinds[position + 1] in self.tables.actions[0]
            stack.position = self.past_block(position, part, self.owner(start), reads)
        else:
            self.pop_to(stack, start)
            self.skip(stack, part, start, position)

    def unfit_line(self, stack: Stack, part: _Part) -> None:
        """The first token of a line fits nowhere: what stands before it is not complete, or the line is no statement."""
        position = stack.position
        kind = self.kinds[position]
        height = self.height_that_takes(stack, kind)
        if height:
            begin = self.position_of(stack.firsts[height - 1])
            if not self.was_told(begin, position):
                self.tell_unfit(stack, position)
            self.leave_out(begin, position)
            self.cut(stack, height)
        elif kind == "DEDENT":
            self.emptied_block(stack, part)
        elif kind == "$END":
            self.cut(stack, 1)
            if not accepts(self.tables, stack.states, kind):
                stack.position = part.end
        else:
            self.tell_unfit(stack, position)
            self.skip(stack, part, position, position)

    def emptied_block(self, stack: Stack, part: _Part) -> None:
        """A block ends of which nothing is left."""
        position = stack.position
        if accepts(self.tables, stack.states, "NOTHING"):
            self.feed(stack, "NOTHING NEWLINE", position)
            stack.position = position
            return
        depth = 0
        opener = position - 1
        while opener > part.begin and (self.kinds[opener] != "INDENT" or depth):
            depth += {"DEDENT": 1, "INDENT": -1}.get(self.kinds[opener], 0)
            opener -= 1
        start = self.line_start(opener, part)
        if not self.was_told(start, position):
            self.tell_unfit(stack, position)
        self.pop_to(stack, start, through=True)
        self.leave_out(start, position)
        stack.position = self.after_dedent(position, part)

    def refused(self, stack: Stack, part: _Part, error: ParseError) -> None:
        """Goes on after something that can be read and is refused all the same."""
        position = stack.position
        if stack.firsts and stack.firsts[-1] is self.tokens[position]:  # nested too deeply
            self.cut(stack, len(stack.states) - 1)
            first = position
        else:
            first = position if stack.first is None else self.position_of(stack.first)
        start = self.line_start(position, part)
        begin = self.line_start(first, part)
        if not self.was_told(begin, position):
            self.tell(error, position)
        self.pop_to(stack, begin)
        if begin < start:
            self.leave_out(begin, start)
            if self.kinds[position] == "NEWLINE":
                stack.position = position + 1
        else:
            self.skip(stack, part, start, position)
        self.count_depth(stack)

    # ---- the stack ------------------------------------------------------------------------------------------------------

    def cut(self, stack: Stack, states: int) -> None:
        del stack.states[states:], stack.values[states - 1 :], stack.firsts[states - 1 :], stack.lasts[states - 1 :]

    def pop_to(self, stack: Stack, start: int, through: bool = False) -> None:
        """Takes off the stack what was read from position ``start`` on; ``through`` the block below that line too."""
        offset = self.tokens[start].start
        firsts = stack.firsts
        height = len(firsts)
        while height and firsts[height - 1].start >= offset:
            above = firsts[height - 1]
            if above.type in _LINE_ENDS and above.start == above.end and not (through and above.start > offset):
                break
            height -= 1
        self.cut(stack, height + 1)

    def height_that_takes(self, stack: Stack, kind: str) -> int:
        """How many states are left without the construct that ``kind`` does not go on with; 0 when none is in the way."""
        symbols = _symbols()
        for height in range(len(stack.states) - 1, 0, -1):
            if symbols.get(stack.states[height]) == "INDENT" and kind != "$END":
                return 0
            if accepts(self.tables, stack.states[:height], kind):
                return height
        return 0

    def count_depth(self, stack: Stack) -> None:
        symbols = _symbols()
        stack.depth = sum(symbols.get(state) in NESTING for state in stack.states)

    # ---- lines ----------------------------------------------------------------------------------------------------------

    def position_of(self, token: Token) -> int:
        position = bisect_left(self.starts, token.start)
        while self.tokens[position] is not token and self.starts[position] == token.start and position + 1 < len(self.starts):
            position += 1
        return position

    def line_start(self, position: int, part: _Part) -> int:
        while position > part.begin and self.kinds[position - 1] not in _LINE_ENDS:
            position -= 1
        return position

    def skip(self, stack: Stack, part: _Part, start: int, position: int) -> None:
        """Goes on at the line after that of ``start``: without its block, and what continues it."""
        kinds = self.kinds
        end = part.end
        owner = self.owner(start)
        continued = owner in _TAKES_BLOCK or owner == ""
        while True:
            while position < end and kinds[position] not in _STOPS:
                position += 1
            if position < end and kinds[position] == "NEWLINE":
                position += 1
            elif position < end and kinds[position] == "INDENT":
                reads = owner in _TAKES_BLOCK or self.settled.blocks[position] != "statements" or owner == ""
                position = self.past_block(position, part, owner, reads)
                continued = True
            again = position < end and kinds[position] in _CONTINUES and continued
            if not again or accepts(self.tables, stack.states, kinds[position]):
                break
            owner = kinds[position]
        self.leave_out(start, position)
        stack.position = position

    def owner(self, start: int) -> str:
        """The terminal that the line begins with; empty for a statement of another language that has a block."""
        kind = self.kinds[start]
        if kind == "EXPORT":
            kind = self.kinds[start + 1]
        return "" if kind == "IDENTIFIER" and self.tokens[start].value in OTHER_STATEMENTS else kind

    def past_block(self, position: int, part: _Part, owner: str, reads: bool) -> int:
        """The position after the block that begins at ``position``; with ``reads`` it is to be read for its own errors."""
        depth = 0
        end = position
        while end < part.end:
            depth += {"INDENT": 1, "DEDENT": -1}.get(self.kinds[end], 0)
            if depth == 0:
                break
            end += 1
        if reads:
            lines = self.settled.blocks[position]
            if lines == "fields":
                lines = "types" if owner == "TYPE" else "variants"
            elif owner == "" and self.kinds[position + 1 : position + 3] == ["IDENTIFIER", "COLON"]:
                lines = "types"  # below `class Name`
            self.parts.append(_Part(position + 1, end, lines))
        self.leave_out(position, end)
        return self.after_dedent(end, part)

    def after_dedent(self, position: int, part: _Part) -> int:
        """The position after the end of a block, and after the end of its line when the block was a value."""
        position += 1
        return position + 1 if position < part.end and self.kinds[position] == "NEWLINE" else position

    def leave_out(self, begin: int, end: int) -> None:
        self.words.update(token.value for token in self.tokens[begin:end] if token.type == "IDENTIFIER")
