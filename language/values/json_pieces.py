"""JSON texts of many characters, scanned in pieces.

Python's scanner makes all the values of a text in one call, which no limit can end, and the values of a text of brackets take
twenty times its memory. Here each call of the scanner gets a piece of the text. A piece ends at a comma outside of strings.
The containers that are open where it begins are opened again in front of it, those that are open where it ends are closed
behind it, and what the scanner makes of that is added to the containers that earlier pieces have begun.

Where the text is no JSON, the scanner meets the fault inside a piece as it would in the whole text, so that only the position
of the error has to be counted from the beginning of the text again.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    #: Start and end in the text; how many of the containers that are open at the start are still open at the end; the brackets
    #: of those that were opened since and are open at the end. At the end of the last piece of a text nothing is open.
    Piece = tuple[int, int, int, str]

#: Characters of a text beyond which it is scanned in pieces.
LARGE = 1 << 18
#: Characters that are looked at together. A piece has fewer than twice as many, and one long string besides.
WINDOW = 1 << 16

_CLOSING = {"[": "]", "{": "}"}
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


class TooDeep(Exception):
    """Brackets nest deeper than is taken."""


def cut(text: str, most_depth: int, window: int = WINDOW) -> list[Piece]:
    """The pieces of a JSON text, at least one. Raises :class:`TooDeep` where brackets nest more than ``most_depth`` levels.

    Of a text that is no JSON the pieces are right up to the first one that has a fault in it.
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
    """The value of a JSON text, as ``decoder.decode(text)`` gives it, with the same errors."""
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
    """What opens these containers again: each has the next one as its first value, the innermost one has a number."""
    opened = "".join(["[" if container.__class__ is list else f'{{"{name}":' for container in stack])
    return f"{opened}0,"


def _ending(kept: list[Any], opened: str, mark: str) -> str:
    """What closes the open containers, with a mark as the last value of the innermost one."""
    brackets = "".join(["[" if container.__class__ is list else "{" for container in kept]) + opened
    last = f',"{mark}"' if brackets[-1] == "[" else f',"{mark}":"{mark}"'
    return last + "".join([_CLOSING[bracket] for bracket in reversed(brackets)])


def _open_at_end(container: Any, below: int, mark: str) -> list[Any]:
    """The containers that were open at the end of a piece, ``container`` and so many below it. The mark is taken away."""
    if not below:
        if container.__class__ is list:
            if container and container[-1] == mark:
                del container[-1]
                return [container]
        elif container.get(mark) == mark:
            del container[mark]
            return [container]
        return []
    # The last value but where a later value of an earlier name of the object was the last in the text.
    for child in reversed(container if container.__class__ is list else container.values()):
        if child.__class__ is list or child.__class__ is dict:
            found = _open_at_end(child, below - 1, mark)
            if found:
                return [container, *found]
    return []


def _add(stack: list[Any], value: Any, name: str) -> None:
    """Adds what was scanned behind :func:`_opening` to the containers."""
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
    import re  # The json module has loaded it.

    found = re.compile("[ \\t\\n\\r]*").match(text, start)
    assert found is not None, "it matches nothing, too"
    return found.end()


def _unused_name() -> str:
    """A name that nobody can have written into the text."""
    from os import urandom

    return urandom(16).hex()


def _windows(text: str, window: int) -> Iterator[tuple[str, int | None]]:
    """The brackets outside of strings, up to the last comma of each window, with the place of the comma; or to its end."""
    position, inside = 0, 0
    while position < len(text):
        part = text[position : position + window]
        if (len(part) - len(part.rstrip("\\"))) % 2:
            part = text[position : position + len(part) + 1]  # an escape is not parted
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
    """The brackets without those that are closed among them, where fewer than ``room`` levels are certain then."""
    left, rounds = brackets, 0
    while rounds < 8 and ("[]" in left or "{}" in left):
        left = left.replace("[]", "").replace("{}", "")
        rounds += 1
    return left if left.count("[") + left.count("{") + 2 * rounds <= room else brackets
