"""Error messages for code in the grammar of other languages: they say what is written here instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from language import hints
from language.syntax.foreign_lines import line_without_comment, written_here
from language.syntax.foreign_values import value_habit
from language.syntax.parse_errors import Told
from language.syntax.token_words import found
from language.syntax.tokens import ENDS_VALUE, words

if TYPE_CHECKING:
    from language.syntax.parse_errors import Situation
    from language.syntax.tokens import Token

_ARITHMETIC = words("PLUS NEGATIVE MINUS STAR SLASH FLOORDIV PERCENT POWER")
#: What is said of a comment that begins as in other languages.
SLASHES = "`//` divides and rounds down; comments start with --"
_BLOCK_ENDS = words("NEWLINE INDENT $END")
_SLICE = "`to` is the first position that is left out; without it, `slice(xs, 1)` goes to the end"


def habit(at: Situation) -> Told | None:
    """What to say when the mistake is the grammar of another language, else ``None``."""
    return (
        _statement(at)
        or _comment(at)
        or value_habit(at)
        or _assignment(at)
        or _block(at)
        or _operator(at)
        or _expression(at)
        or _annotation(at)
    )


def _statement(at: Situation) -> Told | None:
    """The first word of the statement is one of another language."""
    if at.kinds[at.position] == "INDENT" and at.start == at.position:
        return None
    first = at.tokens[at.start]
    if (
        first.value == "use"
        and at.kinds[at.start] == "IDENTIFIER"
        and at.position == at.start + 1
        and at.token.type == "IDENTIFIER"
    ):
        name = at.token.value
        used = _first_field(at, name) or "sqrt"
        help_ = (
            f"if `{name}` is no file of yours, leave the line out. Builtins stand in no module, so it is `{used}` and not "
            f'`{name}.{used}`. A file of your own is loaded with `use "./{name}.lang" as {name}`'
        )
        return Told("`use` takes the path of a file, in quotes", at.token, "E0118", help_)
    if at.kinds[at.start] != "IDENTIFIER" or first.value not in hints.OTHER_STATEMENTS:
        return None
    if at.position != at.start and not at.ends and at.token.type != "INDENT":
        return None
    here = written_here(line_without_comment(at.line_of(first)))
    help_ = f"write `{here}`" if here else ""
    return Told(f"`{first.value}` is not a statement: {hints.OTHER_STATEMENTS[first.value]}", first, "E0111", help_)


def _first_field(at: Situation, name: str) -> str:
    """What the program takes from ``name`` first, as ``name.field``; empty where it takes nothing."""
    for place in range(at.position + 1, len(at.kinds) - 2):
        if at.tokens[place].value == name and at.kinds[place + 1] == "DOT" and at.kinds[place + 2] == "IDENTIFIER":
            return at.tokens[place + 2].value
    return ""


def _comment(at: Situation) -> Told | None:
    slash = _slash_comment(at)
    if slash is not None:
        return Told(SLASHES, slash, "E0119")
    for start in (at.position, at.position - 1):
        if 0 <= start < len(at.kinds) - 1 and at.kinds[start : start + 2] == ["SLASH", "STAR"]:
            first, second = at.tokens[start : start + 2]
            if first.end == second.start:
                return Told("a comment begins with `--` and ends with its line: there is no /* */", first, "E0119", last=second)
    return None


def _slash_comment(at: Situation) -> Token | None:
    if at.opener >= 0:
        return None
    if at.token.type == "FLOORDIV":
        return at.token
    for number in range(at.start, at.position):
        if at.kinds[number] == "FLOORDIV" and (at.ends or number == at.position - 1):
            return at.tokens[number] if at.kinds[number + 1] != "NUMBER" else None
    return None


# ---- assignments -------------------------------------------------------------------------------------------------------


def _assignment(at: Situation) -> Told | None:
    kind = at.token.type
    first = at.tokens[at.start]
    if kind == "ASSIGN" and at.before in _ARITHMETIC and at.glued:
        return _in_place(at, f"{at.previous.value}=", at.written(at.following()))
    if kind in ("PLUS", "MINUS") and at.before == kind and at.glued and at.following().type in ("NEWLINE", "INDENT", "EOF"):
        return _in_place(at, at.token.value * 2, "1")
    if kind == "COLON" and at.ends and at.opener < 0 and at.following().type == "ASSIGN" and at.kinds[at.start] == "IDENTIFIER":
        return _no_assignment(at, first, at.following())
    if kind != "ASSIGN":
        return None
    if at.first == "LET" and "BE" in at.accepted:
        return _wrong_word(at, "`let` is written with `be`, not with `=`", "be")
    if at.first == "SET" and "TO" in at.accepted and at.opener < 0:
        return _wrong_word(at, "`set` is written with `to`, not with `=`", "to")
    if at.ends and at.opener < 0 and at.kinds[at.start] == "IDENTIFIER":
        if at.position > at.start + 1 and at.kinds[at.start + 1] == "IDENTIFIER":
            return None
        return _no_assignment(at, first, at.token)
    return None


def _in_place(at: Situation, operator: str, value: str) -> Told:
    first = at.tokens[at.start]
    target = at.written(first, at.tokens[max(at.position - 2, at.start)])
    if at.kinds[at.start] != "IDENTIFIER" or not target or not value:
        target, value = "x", "1"
    message = f"there is no `{operator}`: write `set {target} to {target} {operator[0]} {value}`"
    return Told(message, at.previous, "E0112", "", at.token)


def _wrong_word(at: Situation, message: str, word: str) -> Told:
    begin = at.written(at.tokens[at.start], at.previous)
    value = at.written(at.following()) if at.following().type not in ("NEWLINE", "INDENT", "EOF") else "5"
    return Told(message, at.token, "E0112", f"write `{begin} {word} {value}`" if begin and value else "")


def _no_assignment(at: Situation, first: Token, sign: Token) -> Told:
    target = at.written(first, at.previous)
    value = at.written(at.following(1 if sign is at.token else 2))
    written = at.source[at.token.start : sign.end]
    if at.position == at.start + 1:
        name = first.value
        message = f"`{written}` does not assign: make the variable with `let {name} be ...`, change it with `set {name} to ...`"
        changed = f"`set {name} to {value}`"
        if any(token.value == name for token in at.tokens[at.position :]):  # the value uses the name: the variable exists
            help_ = f"write {changed}"
        else:
            help_ = f"write `let {name} be {value}`, or {changed}" if value else ""
    else:
        message = f"`{written}` does not assign: make a variable with `let x be ...`, change what it holds with `set x to ...`"
        help_ = f"write `set {target} to {value}`" if target and value else ""
    return Told(message, first, "E0112", help_, sign)


# ---- blocks ------------------------------------------------------------------------------------------------------------


def _block(at: Situation) -> Told | None:
    kind = at.token.type
    takes_block = "INDENT" in at.accepted
    if kind == "COLON" and at.opener < 0:
        at_end = at.kinds[at.position + 1] in _BLOCK_ENDS
        if takes_block or (at_end and "NEWLINE" in at.accepted):
            return Told("blocks have no colon: end the line here and indent the block below it", at.token, "E0110")
    if kind == "THEN" and takes_block and "WHEN" in at.kinds[at.start : at.start + 2]:
        message = (
            "`when ... then ...` is a value, not a statement: indent what is to happen below `when c`, or use the value: "
            "give when c then a otherwise b"
        )
        return Told(message, at.token, "E0110")
    if kind == "LBRACE" and takes_block:
        return Told(hints.NO_BRACES, at.token, "E0110")
    if kind == "FAT_ARROW" and takes_block:
        return Told("a block has no `=>`: end the line here and indent the block below it", at.token, "E0110")
    if at.before == "OTHERWISE" and at.token.value in ("if", "elif") and at.position == at.start + 1:
        return Told(f"`otherwise {at.token.value}` is written `otherwise when`", at.token, "E0111")
    if kind in ("LET", "SET", "GIVE", "EACH", "WHILE", "MATCH", "TRY") and at.opener >= 0 and at.wants_operand:
        braces = at.kinds[at.opener] == "LBRACE" and at.kinds[at.opener - 1 : at.opener] == ["FAT_ARROW"]
        hole = at.kinds[at.opener] == "HOLE"
        what = (
            "a lambda is one expression"
            if braces
            else "between `{` and `}` of a text stands a value"
            if hole
            else "a bracket holds values"
        )
        message = f"{what}, and `{at.token.value}` begins a statement"
        return Told(
            message,
            at.token,
            "E0110",
            "write the statements in a task"
            if hole
            else "write a task above, `task f(x)` with the statements indented below it, and pass its name: `apply(xs, f)`",
        )
    return None


# ---- expressions -------------------------------------------------------------------------------------------------------


def _operator(at: Situation) -> Told | None:
    kind = at.token.type
    if kind == "ASSIGN" and at.before in ("EQUAL", "NOT_EQUAL") and at.glued:
        return Told(f"`{at.previous.value}=` is written `{at.previous.value}`", at.previous, "E0117", "", at.token)
    if kind == "GREATER" and at.before == "LESS" and at.glued:
        return Told("`<>` is written `!=`", at.previous, "E0117", "", at.token)
    if kind == "ASSIGN" and ("INDENT" in at.accepted or (at.ends and at.first in ("GIVE", "LET", "SET"))):
        return Told(
            "`=` is only for named arguments, `f(x = 1)`; values are compared with `==`", at.token, "E0117", "write `==`"
        )
    if kind == "IS" and at.before in ENDS_VALUE:
        if at.following().type == "NOT":
            return Told("`is not` is written `!=`: `x != nothing`", at.token, "E0117", "", at.following())
        return Told("values are compared with `==`, not with `is`: `x == nothing`", at.token, "E0117")
    if kind == "DOT" and at.before == "DOT" and at.glued:
        return Told("there is no `..`: `range(1, 4)` gives 1, 2 and 3", at.previous, "E0117", "", at.token)
    if kind == "ARROW":
        if at.first == "TASK":
            return Told("a task does not declare what it gives: end the line after its parameters", at.token, "E0117")
        return Told("there is no `->`: a lambda is written `(x) => x + 1`", at.token, "E0117")
    if kind == "STAR" and at.wants_operand and at.before in ("STAR", "COMMA", "LPAREN"):
        return Told("a call takes its arguments one by one: a list cannot be spread with `*`", at.token, "E0121")
    if kind == "POWER" and at.wants_operand and at.before in ("COMMA", "LPAREN"):
        return Told("a call takes its arguments one by one: a map cannot be spread with `**`", at.token, "E0121")
    if kind == "SPREAD":
        opener = at.kinds[at.opener] if at.opener >= 0 else ""
        how = "`merge(a, b)` joins maps" if opener == "LBRACE" else "`xs + ys` joins lists, `xs + [x]` adds a value"
        return Told(f"`...` stands only in patterns; {how}", at.token, "E0121")
    return None


def _expression(at: Situation) -> Told | None:
    kind = at.token.type
    before = at.previous
    word = at.token.value if kind == "IDENTIFIER" else ""
    if kind in ("TEXT", "TEMPLATE") and before.type == "IDENTIFIER" and at.glued and len(before.value) <= 2:
        inner = at.token.value if before.value in ("f", "F") and kind == "TEXT" else ""
        help_ = f"write `{inner}`, with the backticks" if inner and inner.isprintable() and "`" not in inner else ""
        message = "text with values in it stands between backticks, without a letter before: `...{x}`"
        return Told(message, before, "E0121", help_, at.token)
    if before.type == "IDENTIFIER" and (before.value == "lambda" or kind == "FAT_ARROW"):
        return Told("a lambda is written `(x) => x + 1`, its parameters always in parentheses", before, "E0121", "", at.token)
    if word == "if" and at.before in ENDS_VALUE:
        return Told("a choice between two values is `when c then a otherwise b`", at.token, "E0121")
    if word == "else" and "OTHERWISE" in at.accepted:
        return Told("`else` is written `otherwise`", at.token, "E0121", "write `when c then a otherwise b`")
    if word == "for" and at.opener >= 0:
        message = "there are no comprehensions: `apply(xs, (x) => ...)` gives all results, `where(xs, (x) => ...)` filters"
        return Told(message, at.token, "E0121")
    if word == "new" or (before.type == "IDENTIFIER" and before.value == "new" and kind == "IDENTIFIER"):
        at_word = at.token if word == "new" else before
        return Told("there is no `new`: a type is called like a task, `Point(1, 2)`", at_word, "E0121")
    if before.type == "IDENTIFIER" and before.value in ("await", "async") and kind == "IDENTIFIER":
        return Told(f"there is no `{before.value}`: a call waits for its result", before, "E0111")
    if kind == "COLON" and at.opener >= 0 and _is_index(at):
        return Told("there is no slice syntax: write `slice(xs, from, to)`", at.token, "E0121", _SLICE)
    return None


def _is_index(at: Situation) -> bool:
    return at.kinds[at.opener] == "LBRACKET" and at.opener > 0 and at.kinds[at.opener - 1] in ENDS_VALUE


def _annotation(at: Situation) -> Told | None:
    kind = at.token.type
    if kind == "COLON" and at.first == "TASK" and at.opener == at.start + 2 + (at.kinds[at.start] == "EXPORT"):
        return Told(
            "tasks declare no types: write the names of the parameters alone, and nothing behind the `)`",
            at.token,
            "E0121",
            "",
            at.following(),
        )
    if kind == "COLON" and at.first == "LET" and "BE" in at.accepted:
        return Told("variables have no types: `let x be 5`", at.token, "E0121", "", at.following())
    if kind == "COMMA" and at.first == "LET" and "BE" in at.accepted and at.opener < 0:
        return Told("`let` makes one variable, or takes a list apart: `let [a, b] be pair`", at.token, "E0118")
    if kind == "COMMA" and at.first == "EACH" and "IN" in at.accepted:
        help_ = (
            "for a map write `each entry in items(m)`, which gives `entry.key` and `entry.value`; for a list "
            "`each entry in enumerate(xs)`, which gives `entry.index` and `entry.item`"
        )
        return Told("`each` binds one name", at.token, "E0118", help_)
    if kind == "IDENTIFIER" and at.ends and at.position == at.start + 1 and at.following().type == "ASSIGN":
        name = at.token.value
        value = at.written(at.following(2))
        message = f"a variable is made with `let`, without a type: `let {name} be {value or '...'}`"
        return Told(message, at.tokens[at.start], "E0112", "", at.following())
    if kind == "INDENT" and at.kinds[at.start] == "IDENTIFIER" and found(at.tokens[at.start], at.source) == "`end`":
        return Told("a block ends where its indentation ends", at.tokens[at.start], "E0110")
    return None
