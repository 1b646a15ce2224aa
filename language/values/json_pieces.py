"""Scans long JSON texts in pieces.

Python's scanner builds all values of a text in one call. No limit can interrupt that call, and a text of brackets needs
twenty times its size in memory. Here each call of the scanner is given one piece of the text, which ends at a comma outside
of strings. Brackets are added so that a piece is valid JSON: those of the containers that are open at its start before it,
those of the containers that are open at its end after it. The scanned values are then added to the containers that earlier
pieces began.

In invalid JSON the scanner finds the error inside a piece as it would in the whole text. Only the position of the error is
converted to one in the whole text.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    #: Start and end in the text; how many of the containers open at the start are still open at the end; the brackets of
    #: containers opened since that are still open at the end. At the end of the last piece no container is open.
    Piece = tuple[int, int, int, str]

#: Texts with more characters are scanned in pieces.
LARGE = 1 << 18
#: How many characters are searched at a time. A piece has less than twice as many, plus possibly one long string.
WINDOW = 1 << 16

_CLOSING = {"[": "]", "{": "}"}
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


class TooDeep(Exception):
    """Brackets are nested deeper than allowed."""


def cut(text: str, most_depth: int, window: int = WINDOW) -> list[Piece]:
    """The pieces of a JSON text, at least one. Raises :class:`TooDeep` when brackets nest deeper than ``most_depth``.

    The pieces of invalid JSON are correct up to the first one that contains an error.
    """
    pieces: list[Piece] = []
    stack: list[str] = []
    start, kept, is_over = 0, 0, False
    for brackets, comma in _windows(text, window):
        for bracket in _without_pairs(brackets, most_depth - len(stack)):
            if bracket in _CLOSING:
                stack.append(bracket)
                if len(stack) > most_depth:
                    raise TooDeep
            elif stack:
                stack.pop()
                kept = min(kept, len(stack))
                is_over = is_over or not stack
        if comma is not None:
            is_over = is_over or not stack
            if not is_over:
                pieces.append((start, comma, kept, "".join(stack[kept:])))
                start, kept = comma + 1, len(stack)
    pieces.append((start, len(text), 0, ""))
    return pieces


def scan(text: str, decoder: Any, pieces: list[Piece]) -> Any:
    """The value of a JSON text. Result and errors are those of ``decoder.decode(text)``."""
    from json import JSONDecodeError

    stack: list[Any] = []
    name, mark = _unused_name(), _unused_name()
    for start, end, kept, opened in pieces:
        is_last = not kept and not opened
        before = _opening(stack, name) if stack else text[: _behind_blanks(text, 0)]
        if not stack:
            start = len(before)
        behind = "" if is_last else _ending(stack[:kept], opened, mark)
        try:
            value, read = decoder.scan_once(before + text[start:end] + behind, len(before) if not stack else 0)
        except JSONDecodeError as error:
            raise JSONDecodeError(error.msg, text, start - len(before) + error.pos) from None
        except StopIteration as stop:
            raise JSONDecodeError("Expecting value", text, start - len(before) + stop.value) from None
        read += start - len(before)
        if is_last or read != end + len(behind):
            read = _behind_blanks(text, read)
            if read != len(text):
                raise JSONDecodeError("Extra data", text, read)
        if not stack:
            root = value
        inner = value
        for _ in range(kept - 1):
            inner = inner[0 if inner.__class__ is list else name]
        begun = [] if is_last else _open_at_end(inner, len(opened) - (not stack), mark)
        _add(stack, value, name)
        stack = begun if not stack else stack[:kept] + begun[1:]
    return root


def _opening(stack: list[Any], name: str) -> str:
    """The text that opens these containers again: each is the first value of the one around it, the innermost one has a
    number.
    """
    opened = "".join(["[" if container.__class__ is list else f'{{"{name}":' for container in stack])
    return f"{opened}0,"


def _ending(kept: list[Any], opened: str, mark: str) -> str:
    """The text that closes the open containers, with a mark as the last value of the innermost one."""
    brackets = "".join(["[" if container.__class__ is list else "{" for container in kept]) + opened
    last = f',"{mark}"' if brackets[-1] == "[" else f',"{mark}":"{mark}"'
    return last + "".join([_CLOSING[bracket] for bracket in reversed(brackets)])


def _open_at_end(container: Any, below: int, mark: str) -> list[Any]:
    """The containers that were open at the end of a piece: ``container`` and ``below`` levels inside it. Removes the mark."""
    if not below:
        if container.__class__ is list:
            if container and container[-1] == mark:
                del container[-1]
                return [container]
        elif container.get(mark) == mark:
            del container[mark]
            return [container]
        return []
    # The last value is the last in the text, unless a name occurs twice in an object.
    for child in reversed(container if container.__class__ is list else container.values()):
        if child.__class__ is list or child.__class__ is dict:
            found = _open_at_end(child, below - 1, mark)
            if found:
                return [container, *found]
    return []


def _add(stack: list[Any], value: Any, name: str) -> None:
    """Adds the values scanned after :func:`_opening` to the containers."""
    for container in stack:
        if container.__class__ is list:
            following = value[0]
            del value[0]
            container += value
        else:
            following = value.pop(name)
            container.update(value)
        value = following


def _behind_blanks(text: str, start: int) -> int:
    import re  # The json module has imported it already.

    found = re.compile("[ \\t\\n\\r]*").match(text, start)
    assert found is not None, "it matches nothing, too"
    return found.end()


def _unused_name() -> str:
    """A random name that the text cannot contain."""
    from os import urandom

    return urandom(16).hex()


def _windows(text: str, window: int) -> Iterator[tuple[str, int | None]]:
    """The brackets outside of strings up to the last comma of each window, with the position of that comma; then those up to
    the end.
    """
    position, inside = 0, 0
    while position < len(text):
        part = text[position : position + window]
        if (len(part) - len(part.rstrip("\\"))) % 2:
            part = text[position : position + len(part) + 1]  # an escape sequence is not split
        if "\\" in part:
            part = part.replace("\\\\", "--").replace('\\"', "--")
        segments = part.split('"')
        outside = segments[inside::2]
        for index in range(len(outside) - 1, -1, -1):
            comma = outside[index].rfind(",")
            if comma >= 0:
                behind = segments[inside + 2 * index :]
                place = position + len(part) - sum(map(len, behind)) - len(behind) + 1 + comma
                yield _brackets([*outside[:index], outside[index][:comma]]), place
                outside = [outside[index][comma:], *outside[index + 1 :]]
                break
        yield _brackets(outside), None
        inside ^= len(segments) % 2 == 0
        position += len(part)


def _brackets(parts: list[str]) -> str:
    return "".join(parts).encode("ascii", "replace").translate(None, _NOT_BRACKETS).decode("ascii")


def _without_pairs(brackets: str, room: int) -> str:
    """The brackets without innermost pairs, removed up to eight times; all of them unless ``room`` levels then surely
    suffice.
    """
    left, rounds = brackets, 0
    while rounds < 8 and ("[]" in left or "{}" in left):
        left = left.replace("[]", "").replace("{}", "")
        rounds += 1
    return left if left.count("[") + left.count("{") + 2 * rounds <= room else brackets
