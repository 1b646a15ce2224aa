"""Error messages for values of other languages, and for statements in the place of a value."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from language.hints import IN_BACKTICKS
from language.syntax.foreign_lines import LONGEST, is_line, line_without_comment
from language.syntax.parse_errors import Told
from language.syntax.token_words import found
from language.syntax.tokens import ENDS_VALUE, STARTS_EXPRESSION, words

if TYPE_CHECKING:
    from language.syntax.parse_errors import Situation
    from language.syntax.tokens import Token

#: Statements of one line whose result is a variable that they name themselves.
_NAMING = words("wait_for observe")
#: Words that begin a statement, and no value: reserved ones, and such that may be names.
_RESERVED = words("WAIT_FOR MATCH TASK EACH WHILE TRY LET SET GIVE STOP REQUIRE TYPE")
_SOFT = words("spawn share observe signal trace log measure checkpoint raise send agent enum")
#: Operators that are words elsewhere.
_WORDED = {"mod": "%", "div": "//", "xor": "!=", "eq": "==", "ne": "!=", "lt": "<", "gt": ">", "le": "<=", "ge": ">="}
_NO_TUPLES = "several values in one are a list, between brackets: `[a, b]`"


def value_habit(at: Situation) -> Told | None:
    """What to say when the mistake is a value as other languages write it, else ``None``."""
    return _statement(at) or _choice(at) or _parentheses(at) or _alternatives(at) or _loop(at) or _smaller(at)


def _whole_line(at: Situation) -> str:
    return line_without_comment(at.line_of(at.tokens[at.start]))


def _statement(at: Situation) -> Told | None:
    """A word that begins a statement stands where a value is wanted."""
    if at.kinds[at.position] in _RESERVED and at.wants_operand and at.position > at.start and at.opener < 0:
        begun = at.token
    elif at.previous.type == "IDENTIFIER" and at.previous.value in _SOFT and at.position - 1 > at.start and at.opener < 0:
        begun = at.previous
        if at.token.type not in STARTS_EXPRESSION or at.kinds[at.position - 2] in ENDS_VALUE:
            return None
    else:
        return None
    if at.first not in ("LET", "SET", "GIVE") and begun is not at.token:
        return None
    if begun is at.token:
        message = f"expected a value after {found(at.previous, at.source)}, found {at.found()}"
    else:
        message = f"`{begun.value}` begins a statement, which is no value"
    return Told(message, begun, "E0113", _statement_help(at, begun.value, begun.start))


def _statement_help(at: Situation, word: str, start: int) -> str:
    end = at.source.find("\n", start)
    rest = line_without_comment(at.source[start : end if end >= 0 else len(at.source)])
    matched = re.match(r"(let|set)\s+([A-Za-z_]\w*)\s+(?:be|to)\s", _whole_line(at))
    name = matched[2] if matched else "x"
    if len(rest) > LONGEST or not rest.isprintable():
        return ""
    if word in _NAMING:
        here = f"{rest} as {name}"
        return f"write `{here}`: it makes the variable itself" if is_line(here) else ""
    if word == "spawn" and is_line(rest):
        return f"a task that ends with it gives the id: `task start()`, `{rest}` below it, and then `let {name} be start()`"
    if word == "match":
        return f"a task gives what its `match` finds: `{rest}` in it, and `give` with the value in each case"
    if word == "task":
        parameters = re.match(r"task\s*(\([^()]*\))", rest)
        here = f"task {name}{parameters[1] if parameters else '(x)'}"
        told = "write `{0}` in place of this line, its body indented below; a short one is a lambda, `(x) => x + 1`"
        return told.format(here) if is_line(here) else ""
    return f"write `{rest}` on a line of its own" if is_line(rest) else ""


def _choice(at: Situation) -> Told | None:
    """``if c then a else b``"""
    if at.previous.type != "IDENTIFIER" or at.previous.value != "if" or at.position - 1 <= at.start:
        return None
    if at.kinds[at.position - 2] in ENDS_VALUE:  # `a if c else b`
        return None
    message = "a choice between two values is `when c then a otherwise b`"
    end = at.source.find("\n", at.previous.start)
    rest = line_without_comment(at.source[at.previous.start : end if end >= 0 else len(at.source)])
    matched = re.fullmatch(r"if\s+(.+?)\s*(?:\bthen\b|:)\s*(.+?)\s*\belse\b:?\s*(.+?)(\)*)", rest)
    help_ = ""
    if matched is not None and len(rest) <= LONGEST and "else if" not in rest and "elif" not in rest:
        here = f"when {matched[1]} then {matched[2]} otherwise {matched[3]}"
        help_ = f"write `{here}`" if is_line(f"let x be {here}") else ""
    return Told(message, at.previous, "E0121", help_)


def _parentheses(at: Situation) -> Told | None:
    """A tuple, the parameters of a lambda, values for ``%``."""
    if at.token.type != "COMMA" or at.opener < 0 or at.kinds[at.opener] != "LPAREN" or "RPAREN" not in at.accepted:
        return None
    opened = at.tokens[at.opener]
    before = at.kinds[at.opener - 1] if at.opener else "NEWLINE"
    if before in ENDS_VALUE and at.tokens[at.opener - 1].end == opened.start:
        return None
    closing = _closing(at)
    last = at.tokens[closing] if closing else None
    inside = at.source[opened.end : last.start] if last is not None else ""
    if closing and at.kinds[closing + 1 : closing + 2] == ["ARROW"]:
        end = at.source.find("\n", opened.start)
        rest = line_without_comment(at.source[opened.start : end if end >= 0 else len(at.source)])
        here = rest.replace("->", "=>", 1)
        help_ = f"write `{here}`" if len(here) <= LONGEST and is_line(f"let x be {here}") else ""
        return Told("there is no `->`: a lambda is written `(x) => x + 1`", at.tokens[closing + 1], "E0117", help_)
    if before == "PERCENT":
        message = "values go into a text with a template: `...{x}`"
        return Told(message, at.tokens[at.opener - 1], "E0117", IN_BACKTICKS, last)
    here = f"[{inside}]"
    help_ = f"write `{here}`" if inside and len(here) <= LONGEST and is_line(f"let x be {here}") else ""
    return Told(_NO_TUPLES, opened, "E0121", help_, last)


def _closing(at: Situation) -> int:
    """Position of the bracket that closes the one open around the token; 0 where none does."""
    depth = 0
    for number in range(at.opener, len(at.kinds)):
        if at.kinds[number] in ("LPAREN", "LAMBDA", "LBRACKET", "LBRACE"):
            depth += 1
        elif at.kinds[number] in ("RPAREN", "RBRACKET", "RBRACE"):
            depth -= 1
            if not depth:
                return number
        elif at.kinds[number] in ("NEWLINE", "INDENT", "DEDENT", "$END"):
            return 0
    return 0


def _alternatives(at: Situation) -> Told | None:
    """``is "a", "b"``"""
    if at.first != "IS" or at.opener >= 0:
        return None
    word = at.token.value if at.token.type == "IDENTIFIER" else ""
    if not (at.token.type in ("COMMA", "OR") or word == "or") or "INDENT" not in at.accepted:
        return None
    return Told("a case of `match` has one value", at.token, "E0117", alternatives(_whole_line(at)))


def alternatives(line: str) -> str:
    """What to write for a case of ``match`` with several values."""
    values = line.removeprefix("is").strip()
    parts = [part.strip() for part in re.split(r"\s*(?:,|\|+|\bor\b)\s*", values)]
    here = f"is _ when x in [{', '.join(parts)}]"
    told = "write one case for each value, or `{0}`, where x is the value of the `match`"
    return told.format(here if len(here) <= LONGEST and is_line(here) else "is _ when x in [a, b]")


def character_help(character: str, line: str, place: int) -> str:
    """What to write for an operator with ``|`` or ``?``, which stands at that place of the line."""
    line = line_without_comment(line)
    if character == "|":
        return alternatives(line.strip()) if re.match(r"\s*is\s", line) else ""
    before, after = line[:place], line[place + 1 :]
    if after.startswith("."):
        owner, name = re.search(r"[A-Za-z_][\w.]*$", before), re.match(r"\.([A-Za-z_]\w*)", after)
        if owner is not None and name is not None:
            return f'write `get({owner[0]}, "{name[1]}", nothing)`, which is `nothing` where the key is missing'
        return ""
    if after.startswith("?"):
        left, right = re.search(r"[A-Za-z_][\w.]*\s*$", before), re.match(r"\?\s*(\w+|\"[^\"]*\"|\[\]|\{\})", after)
        if left is not None and right is not None:
            value = left[0].strip()
            return f"write `when {value} != nothing then {value} otherwise {right[1]}`"
        return ""
    matched = re.fullmatch(r"\s*(?:let\s+\w+\s+be|set\s+[\w.]+\s+to|give)\s+(.+?)\s*\?\s*(.+?)\s*:\s*(.+)", line)
    here = f"when {matched[1]} then {matched[2]} otherwise {matched[3]}" if matched else ""
    return f"write `{here}`" if here and len(here) <= LONGEST and is_line(f"let x be {here}") else ""


def _loop(at: Situation) -> Told | None:
    if at.first != "EACH":
        return None
    line = _whole_line(at)
    if at.position == at.start + 1 and at.token.type in ("LBRACKET", "LPAREN", "LBRACE"):
        matched = re.match(r"each\s+([\[({][^\[\](){}]*[\])}])\s+in\s+(.+)", line)
        names, values = (matched[1], matched[2]) if matched else ("[a, b]", "xs")
        if values.startswith("items("):
            help_ = f"write `each entry in {values}`, which gives `entry.key` and `entry.value`"
        elif values.startswith("enumerate("):
            help_ = f"write `each entry in {values}`, which gives `entry.index` and `entry.item`"
        else:
            names = f"[{names[1:-1]}]" if names.startswith("(") else names
            help_ = f"write `each part in {values}`, and `let {names} be part` below it"
        return Told("`each` binds one name", at.token, "E0118", help_ if len(help_) <= 2 * LONGEST else "")
    if at.token.type == "IDENTIFIER" and at.token.value in ("step", "by") and at.opener < 0 and at.before == "RPAREN":
        matched = re.fullmatch(r"(each\s+\w+\s+in\s+range\(.+)\)\s+(?:step|by)\s+(.+)", line)
        here = f"{matched[1]}, {matched[2]})" if matched else ""
        help_ = f"write `{here}`" if here and len(here) <= LONGEST and is_line(here) else ""
        return Told("the step is the third argument: `range(1, 10, 2)`", at.token, "E0117", help_)
    return None


def _begins(token: Token) -> bool:
    return token.type in STARTS_EXPRESSION


def _smaller(at: Situation) -> Told | None:
    kind = at.token.type
    before = at.previous
    if kind == "ASSIGN" and at.opener >= 0 and at.kinds[at.opener] == "LAMBDA":
        message = "a parameter of a lambda has no default"
        return Told(message, at.token, "E0121", "write a task, `task f(a, b = 2)` with its body below, and pass its name")
    if kind == "TEXT" and before.type == "IDENTIFIER" and before.value.lower() in ("r", "b", "u") and at.glued:
        raw = at.source[at.token.start + 1 : at.token.end - 1]
        if before.value.lower() == "b":
            help_ = f"write `bytes({at.written(at.token, at.token)})`"
            return Told("bytes are made of a text", before, "E0121", help_, at.token)
        letter = before.value
        escaped = raw.replace("\\", "\\\\").replace('"', '\\"')
        value = f'"{escaped}"' if letter.lower() == "r" else at.written(at.token, at.token)
        return Told(f"no letter stands before a text: leave the `{letter}` out", before, "E0121", f"write `{value}`", at.token)
    if kind == "IS" and at.before in ENDS_VALUE and at.following().type != "NOT":
        right = at.following()
        left = at.written(before, before)
        value = {"None": "nothing", "null": "nothing", "True": "true", "False": "false"}.get(right.value, right.value)
        help_ = f"write `{left} == {value}`" if right.type in ("NUMBER", "IDENTIFIER") and left else ""
        if right.type == "TEXT":
            help_ = f"write `{left} == {at.written(right, right)}`"
        example = "" if help_ else ": `x == nothing`"
        return Told(f"values are compared with `==`, not with `is`{example}", at.token, "E0117", help_)
    if at.token.value in _WORDED and kind == "IDENTIFIER" and at.before in ENDS_VALUE and _begins(at.following()):
        sign = _WORDED[at.token.value]
        here = f"{at.written(before, before)} {sign} {at.written(at.following(), at.following())}"
        return Told(f"`{at.token.value}` is written `{sign}`", at.token, "E0117", f"write `{here}`")
    if at.first == "INVARIANT" and at.position == at.start + 1 and "COLON" in at.accepted:
        rest = at.written(at.token)
        help_ = f"write `invariant: {rest}`" if rest else ""
        return Told(f"expected `:`, found {at.found()}", at.token, "E0118", help_)
    return None
