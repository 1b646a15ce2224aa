"""The differences of two values, for the report of a failed test."""

from __future__ import annotations

from language.values import as_map
from language.values.display import display, key_text
from language.values.operators import same

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

#: The most differences that are listed; further ones are counted.
MOST = 20
#: Lists of up to this many items are aligned; longer ones are compared position by position.
_ALIGNED = 1000
#: The most characters of a value that are shown.
_WIDEST = 80


def differences(expected: Any, actual: Any) -> list[str]:
    """One line for each place where two lists, two maps or two texts of several lines differ, at most ``MOST``; none for other
    values, which the message shows completely. Secrets are shown by their names.
    """
    if not _has_parts(expected, actual):
        return []
    lines: list[str] = []
    more = 0
    for line in _parts(expected, actual, ""):
        if len(lines) < MOST:
            lines.append(line)
        else:
            more += 1
    return [*lines, f"and {more} more"] if more else lines


def _has_parts(expected: Any, actual: Any) -> bool:
    if type(expected) is list and type(actual) is list:
        return True
    if type(expected) is str and type(actual) is str:
        return "\n" in expected and "\n" in actual
    return as_map(expected) is not None and as_map(actual) is not None


def _parts(expected: Any, actual: Any, path: str) -> Iterator[str]:
    """The differences of two values. The recursion is as deep as the values, which ``same`` has already compared."""
    if not _has_parts(expected, actual):
        yield f"{path}: expected {_shown(expected)}, got {_shown(actual)}"
    elif type(expected) is str:
        yield from _of_lists(expected.split("\n"), actual.split("\n"), path, lambda place: f"{path or 'text'} line {place + 1}")
    elif type(expected) is list:
        yield from _of_lists(expected, actual, path, lambda place: f"{path}[{place}]")
    else:
        yield from _of_maps(as_map(expected) or {}, as_map(actual) or {}, path)


def _of_maps(expected: dict[Any, Any], actual: dict[Any, Any], path: str) -> Iterator[str]:
    for key, value in expected.items():
        place = f"{path}.{key_text(key)}"
        if key not in actual:
            yield f"{place}: missing, expected {_shown(value)}"
        elif not same(actual[key], value):
            yield from _parts(value, actual[key], place)
    for key, value in actual.items():
        if key not in expected:
            yield f"{path}.{key_text(key)}: not expected, got {_shown(value)}"


def _of_lists(expected: list[Any], actual: list[Any], path: str, place_of: Callable[[int], str]) -> Iterator[str]:
    """Common items are aligned, so that a missing item is reported once instead of shifting all items after it."""
    for wanted, found in _aligned(expected, actual):
        for number in range(max(len(wanted), len(found))):
            if number >= len(found):
                yield f"{place_of(wanted[number])}: missing, expected {_shown(expected[wanted[number]])}"
            elif number >= len(wanted):
                yield f"{place_of(found[number])}: not expected, got {_shown(actual[found[number]])}"
            elif not same(actual[found[number]], expected[wanted[number]]):
                yield from _parts(expected[wanted[number]], actual[found[number]], place_of(found[number]))


def _aligned(expected: list[Any], actual: list[Any]) -> Iterator[tuple[range, range]]:
    """The ranges of items to compare in both lists."""
    if max(len(expected), len(actual)) > _ALIGNED:
        yield range(len(expected)), range(len(actual))
        return
    from difflib import SequenceMatcher

    shown = [display(item) for item in expected], [display(item) for item in actual]
    for operation, start, end, other_start, other_end in SequenceMatcher(None, *shown, autojunk=False).get_opcodes():
        if operation != "equal":
            yield range(start, end), range(other_start, other_end)
        else:  # values with the same text may still differ, such as a decimal and a float
            for wanted, found in zip(range(start, end), range(other_start, other_end)):
                yield range(wanted, wanted + 1), range(found, found + 1)


def _shown(value: Any) -> str:
    text = display([value])[1:-1]  # with texts in quotes
    return text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"
