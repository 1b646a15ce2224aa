"""Hints for people who know other languages: one sentence behind an error's text.

Every function gives the sentence with ``" — "`` before it, or the empty text. Nothing is imported at load: the runtime asks
here when an error is being made.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

# ---- names that were nearly right -----------------------------------------------------------------------------------------

#: Beyond this many characters a name is compared with nothing: the comparison is quadratic.
_LONGEST_NAME = 60


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The one of the ``known`` names that ``name`` most likely stands for, the empty text when none is near enough or two are
    equally near.

    Near is the same name in other letter case or with other underscores, else few single changes: one inserted, lost, changed
    or swapped character in names of three or four characters, two in longer ones.
    """
    if not 2 <= len(name) <= _LONGEST_NAME:
        return ""
    bare = name.casefold().replace("_", "")
    most = 0 if len(name) < 3 else 1 if len(name) < 5 else 2
    best, found, others = most + 1, "", False
    for candidate in known:
        if candidate == name or abs(len(candidate) - len(name)) > most + 1:
            continue
        if candidate.casefold().replace("_", "") == bare:
            distance = 0
        else:
            distance = _distance(name, candidate, best)
        if distance < best:
            best, found, others = distance, candidate, False
        elif distance == best and best <= most and candidate != found:
            others = True
    return "" if others else found


def _distance(left: str, right: str, most: int) -> int:
    """How many single changes make one text the other, two swapped neighbours being one change; ``most + 1`` for more."""
    if abs(len(left) - len(right)) > most:
        return most + 1
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        above, row, earlier = row, [i], before
        for j, b in enumerate(right, 1):
            cost = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (a != b))
            if i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b:
                cost = min(cost, earlier[j - 2] + 1)
            row.append(cost)
        before = above
        if min(row) > most:
            return most + 1
    return row[-1]


# ---- while reading the source ------------------------------------------------------------------------------------------

#: What is said of the import of a library.
IMPORT = (
    "leave this line out, because builtins such as `json_decode(t)` and `read_file(path)` are always there. "
    'A file of your own is loaded with `use "./file.lang" as name`'
)
#: What is said of the word that a function begins with.
TASK = "a task begins with `task name(a, b)`, its body indented below, and gives its result with `give value`"
#: First words of statements of other languages, and what to write here.
OTHER_STATEMENTS = {
    "return": "a task gives its result with `give value`",
    "def": TASK,
    "function": TASK,
    "fn": TASK,
    "func": TASK,
    "for": "a loop is `each x in xs` or `while condition`, its body indented below",
    "if": "a condition is `when c`, its body indented below, then perhaps `otherwise when d` and `otherwise`",
    "elif": "the next condition is `otherwise when d`, its body indented below",
    "else": "the last branch is `otherwise`, its body indented below",
    "import": IMPORT,
    "from": IMPORT,
    "class": "a record is `type Name` with one `field: type` a line below, or just a map",
    "except": "what follows a `try` block is `recover err`, its body indented below",
    "catch": "what follows a `try` block is `recover err`, its body indented below",
    "finally": "what must happen in any case stands after the `try` and its `recover`",
    "var": "a variable is made with `let x be 1` and changed with `set x to 2`",
    "const": "a variable is made with `let x be 1`",
    "pass": "a block that does nothing holds the value `nothing`",
    "break": "a loop is left with `stop`",
    "continue": "put the rest of the loop's body below a `when` with the opposite condition, such as `when not c`",
    "throw": 'an error is raised with `raise "why"`',
    "elsif": "the next condition is `otherwise when d`, its body indented below",
    "elseif": "the next condition is `otherwise when d`, its body indented below",
    "unless": "write `when not c`, its body indented below",
    "until": "write `while not c`, its body indented below",
    "foreach": "a loop is `each x in xs`, its body indented below",
    "loop": "a loop without an end is `while true`, its body indented below",
    "switch": "several cases are `match x`, each one `is value` with its body indented below",
    "case": "a case of `match` is `is value`, its body indented below",
    "default": "the last case of `match` is `otherwise`, its body indented below",
    "struct": "a record is `type Name` with one `field: type` a line below, or just a map",
    "interface": "a record is `type Name` with one `field: type` a line below, or just a map",
    "async": "a call waits for its result, so no word stands before it",
    "await": "a call waits for its result, so no word stands before it",
    "yield": "a task gives one result with `give value`: collect the values in a list",
    "del": "a key leaves a map with `set m to remove(m, key)`",
    "delete": "a key leaves a map with `set m to remove(m, key)`",
    "assert": 'what must hold is `assert(condition, "why")`',
    "println": "write `print(x)`",
    "echo": "write `print(x)`",
    **dict.fromkeys(
        ("global", "nonlocal"), "leave this line out, because `set x to 1` in a task changes the variable of the file"
    ),
    "end": "leave this line out, because a block ends where its indentation ends",
}


#: What is said of the brace that another language begins a block with.
NO_BRACES = "blocks have no braces: leave out `{` and `}`, and indent the block below this line"

_CHARACTERS = {
    "?": ("for a choice between two values write `when c then a otherwise b`", "E0117"),
    "&": ("`and` joins conditions", "E0117"),
    "|": ("`or` joins conditions, `|>` passes a value to a call", "E0117"),
    "^": ("`**` raises to a power", "E0117"),
    "!": ("`not x` negates, `a != b` asks whether two values differ", "E0117"),
    "#": ("a comment begins with `--`", "E0119"),
    ";": ("a statement ends with its line: leave the `;` out", "E0102"),
    "$": ("a variable is its name alone, a value in a template stands in `{x}`", "E0102"),
    "\\": ("what stands in brackets may go on over several lines", "E0102"),
    **dict.fromkeys("“”„«»‘’‹›", ("typographic quotes: a text stands between \"...\" or '...'", "E0122")),
    **dict.fromkeys("–—−", ("minus and comments are written with `-`", "E0122")),
    "…": ("three dots are written `...`", "E0122"),
    "×": ("times is `*`", "E0122"),
    "÷": ("divided by is `/`", "E0122"),
    "≠": ("different is `!=`", "E0122"),
    "≤": ("at most is `<=`", "E0122"),
    "≥": ("at least is `>=`", "E0122"),
    "→": ("a lambda is `(x) => x + 1`", "E0122"),
    **dict.fromkeys("\u00a0\u2009\u202f\u200b\ufeff", ("an invisible character: write a plain space", "E0122")),
}


def character_hint(character: str) -> tuple[str, str]:
    """What stands after ``Unexpected character``, and the code of the mistake."""
    told, code = _CHARACTERS.get(character, ("", "E0102"))
    return (f" — {told}" if told else ""), code


# ---- while running -----------------------------------------------------------------------------------------------------

_NAMES = {
    **dict.fromkeys(("approve", "confirm"), 'a person is asked without brackets: `approve "message"`'),
    "ask": 'a person is asked without brackets: `ask "question" with [a, b]`',
    "show": "a value is shown without brackets: `show value`",
    "log": "a line of the log is written without brackets: `log value`. The logarithm is `ln(x)`",
    "body": "in a route, what was sent is `request.body`, and `request.json` where it is JSON",
    "today": 'the day of today is `date(datetime(now(), "UTC"))`',
    "None": "the empty value is `nothing`",
    "null": "the empty value is `nothing`",
    "nil": "the empty value is `nothing`",
    "undefined": "the empty value is `nothing`",
    "NULL": "the empty value is `nothing`",
    "True": "write `true`",
    "False": "write `false`",
    "TRUE": "write `true`",
    "FALSE": "write `false`",
    "NaN": "write `nan`",
    "Infinity": "write `inf`",
    "len": "write `length(x)`",
    "size": "write `length(x)`",
    "count": "write `length(x)`, or `count_where(xs, pred)` to count some",
    "str": "write `text(x)`",
    "String": "write `text(x)`",
    "string": "write `text(x)`",
    "repr": "write `text(x)`, or `json_encode(x)` for data",
    "Number": "write `number(x)`",
    "parseInt": "write `int(x)`",
    "parseFloat": "write `float(x)`",
    **dict.fromkeys(("parse_int", "to_int", "toInt", "integer", "Integer"), "write `int(x)`"),
    **dict.fromkeys(("parse_float", "to_float"), "write `float(x)`"),
    **dict.fromkeys(("to_number", "toNumber", "tonumber"), "write `number(x)`"),
    **dict.fromkeys(("to_text", "tostring"), "write `text(x)`"),
    **dict.fromkeys(("json_parse", "parse_json", "from_json"), "write `json_decode(t)`"),
    **dict.fromkeys(("json_stringify", "to_json"), "write `json_encode(x)`"),
    "paragraph": "a paragraph of a page is `prose(text)`",
    "bool": "every value has a truth: use it as a condition, or write `not not x`",
    "dict": "a map is written `{key: value}`",
    "list": "a list is written `[a, b]`",
    "map": "write `apply(xs, fn)`",
    "filter": "write `where(xs, pred)`",
    "foreach": "write `each x in xs`",
    "forEach": "write `each x in xs`",
    "fold": "write `reduce(xs, fn, start)`",
    "any": "write `some(xs, pred)`",
    "all": "write `every(xs, pred)`",
    "find": "write `find_first(xs, pred)`",
    "sorted": "write `sort(xs)`, or `sort_by(xs, key)`",
    "reversed": "write `reverse(xs)`",
    "push": "write `set xs to append(xs, x)`",
    "concat": "write `a + b`",
    "zip": "write `zip_with(a, b, (x, y) => [x, y])`",
    "set": "write `unique(xs)` for a list without doubles",
    "substring": "write `slice(t, start, end)`",
    "substr": "write `slice(t, start, end)`",
    **dict.fromkeys(("ljust", "padEnd", "padStart", "rjust", "pad"), "write `pad_left(t, width)` or `pad_right(t, width)`"),
    "toFixed": "write `to_fixed(x, digits)`",
    "isinstance": 'write `type_of(x) == "text"`',
    "typeof": "write `type_of(x)`",
    "type": "write `type_of(x)`",
    "input": "write `read_line(prompt)`, or `ask` for a person's answer",
    "prompt": "write `read_line(prompt)`, or `ask` for a person's answer",
    "open": "write `read_file(path)` or `write_file(path, content)`",
    "readFile": "write `read_file(path)`",
    "json": "write `json_encode(x)` and `json_decode(t)`",
    "JSON": "write `json_encode(x)` and `json_decode(t)`",
    "console": "write `print(x)`",
    "printf": "write `print(x)` with a template: print(`...{x}`)",
    "println": "write `print(x)`",
    "puts": "write `print(x)`",
    "echo": "write `print(x)`",
    "Math": "mathematical builtins stand alone: `floor(x)`, `sqrt(x)`, `pi`",
    "math": "mathematical builtins stand alone: `floor(x)`, `sqrt(x)`, `pi`",
    "re": "write `matches(t, pattern)` and the other `regex_` builtins",
    "os": "write `env(name)`, or the builtins for files",
    "sys": "write `args()` and `exit(code)`",
    "time": "write `now()` and `sleep(seconds)`",
    "timedelta": "write `duration(days = 1)`",
    "Date": "write `date(year, month, day)`, or `now()` and `format_time(t, pattern)`",
    "requests": "write `http_get(url)` and the other `http` builtins",
    "self": "there are no methods: a task gets the value as a parameter",
    "this": "there are no methods: a task gets the value as a parameter",
    "new": "a type is called like a task: `Point(1, 2)`",
    "Error": 'an error is raised with `raise "why"`',
    "Exception": 'an error is raised with `raise "why"`',
    "ValueError": 'an error is raised with `raise "why"`',
    "lambda": "a lambda is written `(x) => x + 1`",
    "elif": "write `otherwise when c`",
    "mod": "the remainder is `a % b`",
    "div": "whole division is `a // b`",
    "xor": "write `a != b`",
}


#: The help for a name that is not known, where no known name is near and :func:`undefined_name_hint` says nothing.
NO_NAME_LIKE_IT = "no name like it is known here: make it first with `let` or `task`, or take it from a module with `use`"


def undefined_name_hint(name: str) -> str:
    """After ``Undefined variable: '{name}'``, for names of other languages."""
    if name in OTHER_STATEMENTS:
        return f" — `{name}` is not a statement: {OTHER_STATEMENTS[name]}"
    told = name_elsewhere(name)
    return f" — {told}" if told else ""


def name_elsewhere(name: str) -> str:
    """What to write here for a value or function that other languages call so; empty where nothing is known."""
    told = _NAMES.get(name)
    if told is None and name in _METHODS and (not name.islower() or name in _FUNCTIONS):
        told = f"write `{_METHODS[name]}`"
    return told or ""


_METHODS = {
    "append": "set xs to append(xs, x)",
    "push": "set xs to append(xs, x)",
    "add": "set xs to append(xs, x)",
    "extend": "set xs to xs + ys",
    "concat": "xs + ys",
    "insert": "set xs to insert(xs, i, x)",
    "pop": "set xs to slice(xs, 0, -1)",
    "remove": "set m to remove(m, key)",
    "delete": "set m to remove(m, key)",
    "get": "get(m, key, default)",
    "has": "key in m",
    "has_key": "key in m",
    "hasOwnProperty": "key in m",
    "keys": "keys(m)",
    "values": "values(m)",
    "items": "items(m)",
    "entries": "items(m)",
    "update": "set m to merge(m, other)",
    "length": "length(x)",
    "len": "length(x)",
    "size": "length(x)",
    "count": "length(x)",
    "map": "apply(xs, fn)",
    "forEach": "each x in xs",
    "filter": "where(xs, pred)",
    "reduce": "reduce(xs, fn, start)",
    "find": "find_first(xs, pred)",
    "some": "some(xs, pred)",
    "any": "some(xs, pred)",
    "every": "every(xs, pred)",
    "all": "every(xs, pred)",
    "sort": "sort(xs)",
    "sorted": "sort(xs)",
    "reverse": "reverse(xs)",
    "reversed": "reverse(xs)",
    "slice": "slice(xs, from, to)",
    "index": "index_of(xs, x)",
    "indexOf": "index_of(xs, x)",
    "index_of": "index_of(xs, x)",
    "contains": "contains(xs, x)",
    "includes": "contains(xs, x)",
    "join": "join(xs, separator)",
    "split": "split(t, separator)",
    "upper": "upper(t)",
    "toUpperCase": "upper(t)",
    "lower": "lower(t)",
    "toLowerCase": "lower(t)",
    "strip": "trim(t)",
    "trim": "trim(t)",
    "replace": "replace(t, old, new)",
    "startswith": "starts_with(t, prefix)",
    "startsWith": "starts_with(t, prefix)",
    "starts_with": "starts_with(t, prefix)",
    "endswith": "ends_with(t, suffix)",
    "endsWith": "ends_with(t, suffix)",
    "ends_with": "ends_with(t, suffix)",
    "format": "`...{x}`",
    "encode": "bytes(t)",
    "decode": "decode(b)",
    "toString": "text(x)",
    "rjust": "pad_left(t, width)",
    "padStart": "pad_left(t, width)",
    "ljust": "pad_right(t, width)",
    "padEnd": "pad_right(t, width)",
    "repeat": "repeat_text(t, count)",
    "toFixed": "to_fixed(x, digits)",
    "to_string": "text(x)",
    "copy": "let b be a",
}


#: Methods that people also write as functions, and whose names are nobody's own.
_FUNCTIONS = frozenset({"strip", "startswith", "endswith", "to_string"})


def missing_key_hint(type_name: str, key: object) -> str:
    """After ``Map has no key '{key}'`` or ``Cannot access property '{key}' of {type_name}``, for methods of other languages."""
    call = _METHODS.get(key) if isinstance(key, str) else None
    if call is None or type_name == "nothing":  # a field of what should have been there, not a method
        return ""
    shown = call if call.startswith("`") else f"`{call}`"
    return f" — values have no methods: write {shown}"


_UNITS = ("weeks", "days", "hours", "minutes", "seconds", "milliseconds", "microseconds")
_PARTS = ("year", "month", "day", "hour", "minute", "second", "weekday")


def time_part_help(kind: str, name: str) -> str:
    """What to write for a field of a date, datetime or duration; empty where nothing is known."""
    bare = name.removeprefix("total_")
    if kind == "duration" and (bare in _UNITS or f"{bare}s" in _UNITS):
        return f'write `in_units(d, "{bare if bare in _UNITS else bare + "s"}")`, where d is the duration'
    if kind in ("date", "datetime") and name in _PARTS:
        return f"write `date_parts(d).{name}`, where d is the {kind}"
    return ""


#: Methods whose values stand the other way round in some language, or that mean something else there.
_UNLIKE = frozenset({"join", "remove", "delete", "slice"})


def method_as_call(name: str, owner: str, arguments: list[str], *, keeps: bool) -> str:
    """The call of a method of another language as it is written here; the empty text where that is not sure.

    ``owner`` and ``arguments`` are the texts in the source. ``keeps``: the changed value is to be kept in ``owner``.
    """
    import re

    found = re.fullmatch(r"(set \w+ to )?(\w+)\(([^()]*)\)", _METHODS.get(name, ""))
    if found is None or name in _UNLIKE or found[3].count(",") != len(arguments):
        return ""
    call = f"{found[2]}({', '.join([owner, *arguments])})"
    return f"set {owner} to {call}" if found[1] and keeps else call


def too_many_hint(builtin: str) -> str:
    """After ``{builtin}() takes at most …``."""
    told = {
        "round": "to a number of digits: `round_to(x, n)`",
        "sort": "by a key: `sort_by(xs, key)`, backwards: `sort(xs, desc = true)`",
        "split": "all pieces are split; keep some with `slice(pieces, from, to)` and `join`",
    }.get(builtin)
    return f" — {told}" if told else ""


#: The help where a value was to be put into a text in the way of another language.
IN_BACKTICKS = "such a text stands between backticks in place of the quotes, with each value in braces: `You owe {total}`"
#: The help for a module that is loaded by itself, or by one that it loads.
CIRCULAR = "leave this line out if it names its own file; else put what both files need into a third one that both load"


def operation_help(left: str, operator: str, right: str) -> str:
    """How to put right an operator between values of these types; empty where no conversion would."""
    if left == "text" and operator == "%":
        return IN_BACKTICKS
    if {left, right} == {"text", "number"}:
        if operator == "*":
            return "`*` does not repeat a text: write `repeat_text(t, count)`"
        if operator in ("<", ">", "<=", ">="):
            return "a text and a number have no order: make a number of the text first, `int(t)` or `number(t)`"
        return "`+` joins a text and a value. To calculate with a text, make a number of it first: `int(t)` or `number(t)`"
    if {left, right} == {"decimal", "number"}:
        return "turn the number into a decimal first: `decimal(n)`, or the decimal into a float: `float(d)`"
    if {left, right} in ({"date", "number"}, {"datetime", "number"}):
        hours = ", an hour later `d + duration(hours = 1)`" if "datetime" in (left, right) else ""
        return f"a day later is `add_days(d, 1)`{hours}"
    if {left, right} == {"duration", "number"}:
        return 'a number of a duration is `in_units(d, "days")`, a duration of a number `duration(days = n)`'
    if "nothing" in (left, right):
        return "one of the values is `nothing`: ask first with `when x != nothing`, where x is that value"
    return ""


def operation_hint(left: str, operator: str) -> str:
    """After ``Unsupported operation: {left} {operator} …``: a text formatted with ``%``, a text repeated with ``*``."""
    if left == "text" and operator == "%":
        return " — values go into a text with a template: `...{x}`"
    return ""
