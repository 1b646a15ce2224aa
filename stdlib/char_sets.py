"""Sets of characters for the regular expressions: sorted, disjoint ranges of code points, and the algebra on them."""

from __future__ import annotations

from stdlib import unicode_tables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    Ranges = tuple[tuple[int, int], ...]

LAST = 0x10FFFF

ALL: Ranges = ((0, LAST),)
NOT_NEWLINE: Ranges = ((0, 9), (11, LAST))
SPACE: Ranges = (
    (0x09, 0x0D), (0x20, 0x20), (0x85, 0x85), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029),
    (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000),
)  # fmt: skip

# The classes [[:name:]] are ASCII only, as in every other engine that supports them.
POSIX: dict[str, Ranges] = {
    "alnum": ((48, 57), (65, 90), (97, 122)),
    "alpha": ((65, 90), (97, 122)),
    "ascii": ((0, 127),),
    "blank": ((9, 9), (32, 32)),
    "cntrl": ((0, 31), (127, 127)),
    "digit": ((48, 57),),
    "graph": ((33, 126),),
    "lower": ((97, 122),),
    "print": ((32, 126),),
    "punct": ((33, 47), (58, 64), (91, 96), (123, 126)),
    "space": ((9, 13), (32, 32)),
    "upper": ((65, 90),),
    "word": ((48, 57), (65, 90), (95, 95), (97, 122)),
    "xdigit": ((48, 57), (65, 70), (97, 102)),
}

_CATEGORY_NAMES = {
    "letter": "L", "uppercase_letter": "Lu", "lowercase_letter": "Ll", "titlecase_letter": "Lt", "modifier_letter": "Lm",
    "other_letter": "Lo", "mark": "M", "number": "N", "decimal_number": "Nd", "punctuation": "P", "symbol": "S",
    "currency_symbol": "Sc", "math_symbol": "Sm", "separator": "Z", "space_separator": "Zs", "other": "C", "control": "Cc",
}  # fmt: skip

# The characters that are assigned: beyond plane 3's ideographs and plane 14's tags there is only private use.
_SCANNED = ((0, 0x3347F), (0xE0000, 0xE01EF))
_PRIVATE = ((0xF0000, 0xFFFFD), (0x100000, 0x10FFFD))

# The last character that has an upper or lower case.
_LAST_CASED = 0x1E943

_tables: dict[str, Ranges] = {}
_properties: dict[str, Ranges] = {}
_classes: dict[str, str] = {}


def merged(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """The union of ranges in any order."""
    result: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if result and low <= result[-1][1] + 1:
            if high > result[-1][1]:
                result[-1] = (result[-1][0], high)
        else:
            result.append((low, high))
    return tuple(result)


def negated(ranges: Ranges) -> Ranges:
    """The complement: all other characters."""
    result: list[tuple[int, int]] = []
    start = 0
    for low, high in ranges:
        if start < low:
            result.append((start, low - 1))
        start = high + 1
    if start <= LAST:
        result.append((start, LAST))
    return tuple(result)


def common(left: Ranges, right: Ranges) -> Ranges:
    """The intersection."""
    result: list[tuple[int, int]] = []
    i = j = 0
    while i < len(left) and j < len(right):
        low, high = max(left[i][0], right[j][0]), min(left[i][1], right[j][1])
        if low <= high:
            result.append((low, high))
        if left[i][1] < right[j][1]:
            i += 1
        else:
            j += 1
    return tuple(result)


def has(ranges: Ranges, code: int) -> bool:
    """Whether the character is in the set."""
    low, high = 0, len(ranges)
    while low < high:
        middle = (low + high) // 2
        if ranges[middle][1] < code:
            low = middle + 1
        else:
            high = middle
    return low < len(ranges) and ranges[low][0] <= code


def word() -> Ranges:
    r"""``\w``: letters, marks, decimal digits, letter numbers, connectors such as ``_``, and the two joiners."""
    return _table("word", unicode_tables.WORD)


def digit() -> Ranges:
    r"""``\d``: the decimal digits of every script."""
    return _table("digit", unicode_tables.DIGIT)


def _table(name: str, packed: str) -> Ranges:
    found = _tables.get(name)
    if found is None:
        ranges: list[tuple[int, int]] = []
        end = 0
        numbers = iter(packed.split())
        for distance, length in zip(numbers, numbers):
            low = end + int(distance, 36)
            end = low + int(length, 36)
            ranges.append((low, end))
        found = _tables[name] = tuple(ranges)
    return found


def property_set(name: str) -> Ranges | None:
    r"""``\p{name}``: a general category, short or long, ``Any``, or a script; ``None`` when the name is unknown."""
    if name == "Any":
        return ALL
    category = _CATEGORY_NAMES.get(name.lower(), name)
    if "L" not in _properties:
        _properties.update(_categories())
    return _properties.get(category) or _script(name)


def _categories() -> dict[str, Ranges]:
    from unicodedata import category

    found: dict[str, list[tuple[int, int]]] = {"Co": list(_PRIVATE)}
    for first, last in _SCANNED:
        start, current = first, category(chr(first))
        for code in range(first + 1, last + 1):
            kind = category(chr(code))
            if kind != current:
                found.setdefault(current, []).append((start, code - 1))
                start, current = code, kind
        found.setdefault(current, []).append((start, last))
    found["Cn"] = list(negated(merged(r for kind, ranges in found.items() if kind != "Cn" for r in ranges)))
    result = {kind: merged(ranges) for kind, ranges in found.items()}
    for major in "LMNPSZC":
        result[major] = merged(r for kind, ranges in found.items() if kind[0] == major for r in ranges)
    result["LC"] = result["L&"] = merged([*result["Lu"], *result["Ll"], *result["Lt"]])
    return result


def _script(name: str) -> Ranges | None:
    from stdlib.unicode_scripts import SCRIPTS

    packed = SCRIPTS.get(name)
    return None if packed is None else _table(name, packed)


def folded(ranges: Ranges) -> Ranges:
    """The set with every character that equals one of its characters when case is ignored."""
    more: list[tuple[int, int]] = []
    for low, high in ranges:
        for code in range(low, min(high, _LAST_CASED) + 1):
            more += [(ord(other), ord(other)) for other in _other_cases(chr(code)) if ord(other) != code]
    return merged([*ranges, *more])


def _other_cases(character: str) -> set[str]:
    """The characters that equal this one when case is ignored, itself included."""
    seen = {character}
    # The upper case of ı is the plain I, but they do not match each other.
    if character == "ı" or character.lower() == character == character.upper():
        return seen
    if not _classes:
        _classes.update({member: members for members in unicode_tables.FOLDS for member in members})
    waiting = [character]
    while waiting:
        near = waiting.pop()
        for other in {near.lower(), near.upper(), near.title(), near.casefold(), *_classes.get(near, "")} - seen:
            if len(other) == 1:
                seen.add(other)
                waiting.append(other)
    return seen
