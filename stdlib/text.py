"""Text: case, search, splitting and joining, templates. Arguments that expect text accept any value in its raw form."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.registry import Family
from language.values import as_map, to_bool, type_of
from language.values.display import display, raw_text
from language.values.operators import add, is_decimal
from stdlib import large_texts
from stdlib.options import whole_argument
from stdlib.sizes import check_length, together

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.values import Bool

family = Family("text", "Text", pure=True)

# Unicode's White_Space. Python's own strip() also removes the separators U+001C to U+001F, which are not among them.
WHITE_SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)

_NEVER_JOINED = frozenset(("nothing", "list", "map", "bytes", "task"))

# Lower-case letters of Latin-1 (from U+00E0) and Latin Extended-A without their accents; a space keeps the letter.
_LATIN_1 = "aaaaaa ceeeeiiiidnooooo ouuuuy y"
_EXTENDED_A = (
    "aaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiii  jjkkqllllllllllnnnnnn nnoooooo  rrrrrrssssssss"
    "ttttttuuuuuuuuuuuuwwyyyzzzzzzs"
)
_FOLDED: dict[int, str] = {0xE0 + i: base for i, base in enumerate(_LATIN_1) if base != " "}
_FOLDED.update({0x100 + i: base for i, base in enumerate(_EXTENDED_A) if base != " "})
_FOLDED.update({ord("ß"): "ss", ord("æ"): "ae", ord("œ"): "oe", ord("þ"): "th", ord("ĳ"): "ij", ord("ŉ"): "'n"})


# Results with fewer characters than this are not checked for their length.
_ASKED = 1 << 20
# The most digits after the point of a number.
_MOST_PLACES = 1000


@family.builtin("upper(t)", result="str", keeps="nothing", method="upper")
def upper(t: Any) -> str:
    """The text in upper case, by the full mapping of Unicode: `upper("straße")` is `STRASSE`."""
    return large_texts.upper(raw_text(t))


@family.builtin("lower(t)", result="str", keeps="nothing", method="lower")
def lower(t: Any) -> str:
    """The text in lower case, by the full mapping of Unicode."""
    return large_texts.lower(raw_text(t))


@family.builtin("trim(t)", result="str", keeps="nothing")
def trim(t: Any) -> str:
    """The text without white space (Unicode's) at both ends."""
    return raw_text(t).strip(WHITE_SPACE)


@family.builtin("starts_with(t, p)", result="bool", keeps="nothing", method="startswith")
def starts_with(t: Any, p: Any) -> Bool:
    """Whether the text begins with `p`."""
    return to_bool(raw_text(t).startswith(raw_text(p)))


@family.builtin("ends_with(t, p)", result="bool", keeps="nothing", method="endswith")
def ends_with(t: Any, p: Any) -> Bool:
    """Whether the text ends with `p`."""
    return to_bool(raw_text(t).endswith(raw_text(p)))


@family.builtin("split(t, sep)", result="list of str", fresh=True, keeps="nothing")
def split(t: Any, sep: Any) -> list[str]:
    """The parts of the text between the separators, empty parts kept: `split("a,,b", ",")` is `["a", "", "b"]`.

    The separator is literal text. With `""` the result is the list of characters.
    """
    return large_texts.split(raw_text(t), raw_text(sep))


@family.builtin("join(list, sep, on?, how?)", keeps="nothing")
def join(items: Any, sep: Any, on: Any = None, how: Any = None) -> Any:
    """The items as one text with `sep` between them: `join(["a", 1], ", ")` is `a, 1`. Items are joined as by `+` with text.

    `nothing`, lists, maps, bytes and tasks among the items are an error; convert them with `text` first.

    With a third argument it joins two tables, lists of maps, on the columns `on` (a name or a list of names) that both have:
    `join(orders, customers, "customer_id")`. `how` is `inner` (default: matching rows only), `left`, `right` or `outer` (rows
    without match kept, of that side or both), `semi` or `anti` (rows of the left table with or without match). Every row of
    the result has every column, `nothing` where a side has no match; a column of the right table whose name the left one has
    too becomes `<column>_right`.
    """
    if on is not None or how is not None:
        from stdlib.table_join import join_tables

        return join_tables(items, sep, on, how)
    if items.__class__ is not list:
        raise RuntimeFault("First argument to join must be a list", kind="type")
    separator = raw_text(sep)
    check_length("join", len(separator) * (len(items) - 1))
    if set(map(type, items)) <= {str}:
        return together("join", items, separator)
    return _join_values(items, separator)


def _join_values(items: list[Any], separator: str) -> Any:
    """The joined text; a secret when one is among the items."""
    parts: list[str] = []
    sealed: list[Any] = []
    for number, item in enumerate(items, 1):
        kind = type_of(item)
        if kind in _NEVER_JOINED:
            raise RuntimeFault(f"join: item {number} is {kind} — convert it on purpose: text(x)", kind="type")
        if number > 1:
            parts.append(separator)
        if kind == "secret":
            sealed += [together("join", parts), item]
            parts = []
        else:
            parts.append(display(item))
    result: Any = ""
    for part in [*sealed, together("join", parts)]:
        result = add(result, part)
    return result


@family.builtin("replace(t, old, new)", aliases=("replace_text",), result="str")
def replace(t: Any, old: Any, new: Any) -> str:
    """The text with every occurrence of `old` replaced, both literal: `replace("aXbX", "X", "-")` is `a-b-`."""
    text, piece, instead = raw_text(t), raw_text(old), raw_text(new)
    if len(instead) > len(piece) and len(text) * len(instead) > _ASKED:
        # The length can be a product of both lengths: it is known before the text is built.
        check_length("replace", len(text) + text.count(piece) * (len(instead) - len(piece)))
    return text.replace(piece, instead)


@family.builtin('pad_left(t, width, fill = " ")', named=("fill",), result="str", keeps="nothing")
def pad_left(t: Any, width: Any, fill: Any = None) -> str:
    """The text with `fill` before it, up to `width` characters, as columns of numbers need: `pad_left(7, 3)` is `"  7"`,
    `pad_left(7, 3, "0")` is `"007"`. A text that is as long or longer stays. `fill` is one character.
    """
    text = raw_text(t)
    return _filling("pad_left", text, width, fill) + text


@family.builtin('pad_right(t, width, fill = " ")', named=("fill",), result="str", keeps="nothing")
def pad_right(t: Any, width: Any, fill: Any = None) -> str:
    """The text with `fill` after it, up to `width` characters, as columns of texts need: `pad_right("pen", 5)` is `"pen  "`.
    A text that is as long or longer stays. `fill` is one character.
    """
    text = raw_text(t)
    return text + _filling("pad_right", text, width, fill)


def _filling(name: str, text: str, width: Any, fill: Any) -> str:
    """What is missing of the text to that width."""
    character = " " if fill is None else raw_text(fill)
    if len(character) != 1:
        raise RuntimeFault(f"{name}: fill must be one character, got {len(character)}")
    wanted = whole_argument(name, "width", width)
    check_length(name, wanted)
    return character * (wanted - len(text))


@family.builtin("repeat_text(t, count)", result="str", keeps="nothing")
def repeat_text(t: Any, count: Any) -> str:
    """The text `count` times, one after the other: `repeat_text("-", 5)` is `-----`, `repeat_text("ab", 0)` is empty."""
    text = raw_text(t)
    times = whole_argument("repeat_text", "count", count, 0)
    check_length("repeat_text", len(text) * times)
    return text * times


@family.builtin("to_fixed(x, digits)", result="str", keeps="nothing")
def to_fixed(x: Any, digits: Any) -> str:
    """The number as a text with exactly `digits` digits after the point, 0 to 1000: `to_fixed(12.5, 2)` is `12.50`.

    It is rounded by its exact value, ties to even, as `round_to` does it: `to_fixed(2.675, 2)` is `2.67`, and
    `to_fixed(2.675d, 2)` is `2.68`. What rounds to zero has no sign. `nan` and infinities are shown as `print` shows them.
    """
    places = whole_argument("to_fixed", "digits", digits, 0, _MOST_PLACES)
    if x.__class__ is int:
        return display(x) + ("." + "0" * places if places else "")
    if is_decimal(x):
        return display(x.rounded(places))
    if x.__class__ is not float:
        raise RuntimeFault(f"to_fixed expects a number, got {type_of(x)}", kind="type")
    return format(x, f"z.{places}f") if x - x == 0 else display(x)


@family.builtin("fmt(template, values?)", result="str")
def fmt(template: Any, values: Any = None) -> str:
    """The template with `{name}` replaced by the value of that key: `fmt("Hi {who}", {"who": "Ana"})` is `Hi Ana`.

    `{a.b}` reads field `b` of the map `a`; `{{` and `}}` are literal braces. Braces around anything that is neither a key nor a
    name stay as they are. A name without a value is an error.
    """
    text = raw_text(template)
    given: dict[str, Any] | None = {} if values is None else as_map(values)
    if given is None:
        raise RuntimeFault(f"fmt(template, values): values must be a map, got {type_of(values)}", kind="type")
    longest = max(map(len, given), default=0)
    parts: list[str] = []
    at = 0
    opening, closing = _find(text, "{", 0), _find(text, "}", 0)
    while True:
        brace = min(opening, closing)
        parts.append(text[at:brace])
        if brace == len(text):
            return together("fmt", parts)
        at = brace + 1
        shown = text[brace]
        if text[brace : brace + 2] in ("{{", "}}"):
            at += 1
        elif brace == opening and closing < len(text) and (closing - at <= longest or text.find("{", at, closing) < 0):
            value = _hole(text[at:closing], given)
            if value is not None:
                shown, at = value, closing + 1
        parts.append(shown)
        if opening < at:
            opening = _find(text, "{", at)
        if closing < at:
            closing = _find(text, "}", at)


def _find(text: str, brace: str, start: int) -> int:
    found = text.find(brace, start)
    return len(text) if found < 0 else found


def _hole(name: str, given: dict[str, Any]) -> str | None:
    """The display form for ``{name}``; ``None`` when the braces are kept. Raises ``RuntimeFault`` without a value."""
    if name in given:
        return display(given[name])
    steps = name.split(".")
    if not all(step.isidentifier() for step in steps):
        return None
    if len(steps) > 1 and steps[0] not in given:
        return None
    value: Any = given
    for step in steps:
        fields = as_map(value)
        if fields is None or step not in fields:
            hole = "{" + name + "}"
            raise RuntimeFault(f"fmt: no value for {hole} — pass it in the map, or write {{{hole}}} for a literal brace")
        value = fields[step]
    return display(value)


@family.builtin("fold_text(t)", aliases=("fold",))
def fold_text(t: Any) -> str:
    """The text in lower case and without the accents of Latin letters, for comparing and searching.

    `fold_text("Continúa")` is `continua`. Covers Latin-1 and Latin Extended-A (`ß` becomes `ss`, `æ` `ae`, `œ` `oe`, `þ` `th`,
    `ø` `o`); everything else passes.
    """
    # The lower case of İ is two characters, the second of which is a combining dot.
    return large_texts.translate(large_texts.lower(raw_text(t).replace("İ", "i")), _FOLDED)


@family.builtin("strip_ansi(t)")
def strip_ansi(t: Any) -> str:
    """The text without terminal escapes (colours, cursor moves) and control characters other than line ends and tabs.

    Of a line that `\\r` redraws, only what was drawn last remains.
    """
    text = raw_text(t)
    if not any((c < " " and c not in "\n\t") or "\x7f" <= c <= "\x9f" for c in set(text)):
        return text
    from re import sub

    text = sub("\x1b\\[[0-?]*[ -/]*[@-~]?|\x9b[0-?]*[ -/]*[@-~]?", "", text)
    text = sub("(?:\x1b[\\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\\\|\x9c)?", "", text)
    text = sub("\x1b[ -/]*[0-~]?", "", text)
    lines = [line.rstrip("\r").rpartition("\r")[2] for line in large_texts.split(text, "\n")]
    return sub("[\x00-\x08\x0b-\x1f\x7f-\x9f]", "", "\n".join(lines))
