"""The terminal of the person who runs a program: its size, its keys by name."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class UserTerminal:
    """The terminal at standard input and standard output."""

    def size(self) -> tuple[int, int] | None:
        """Columns and rows; ``None`` if standard output is not a terminal."""
        raise NotImplementedError

    @property
    def shows(self) -> bool:
        """Whether standard output is a terminal that understands control sequences."""
        raise NotImplementedError

    @property
    def colours(self) -> bool:
        """Whether colours may be shown: ``NO_COLOR`` is not set."""
        raise NotImplementedError

    @property
    def has_keys(self) -> bool:
        """Whether standard input is a terminal."""
        raise NotImplementedError

    def key(self, seconds: float) -> bytes | None:
        """The bytes of the next key, not shown and without waiting for the end of a line; ``None`` when none is pressed within
        ``seconds``, ``b""`` at the end of input. Keys stay hidden until ``release``.
        """
        raise NotImplementedError

    def release(self) -> None:
        """Restores the terminal mode from before the first key: typed text is echoed and read line by line."""
        raise NotImplementedError

    def without_keys(self, ask: Callable[[], str | None]) -> str | None:
        """Calls ``ask`` with the terminal released. Meanwhile ``key`` waits and reads nothing."""
        raise NotImplementedError


_NAMED = {
    b"\r": "enter", b"\n": "enter", b"\t": "tab", b"\x7f": "backspace", b"\b": "backspace", b"\x1b": "escape", b" ": "space",
    b"\x00": "ctrl+space",
}  # fmt: skip
#: The keys by the final character of a control sequence (ECMA-48; xterm), and by the number before ``~``.
_FINAL = {
    "A": "up", "B": "down", "C": "right", "D": "left", "H": "home", "F": "end", "Z": "shift+tab",
    "P": "f1", "Q": "f2", "R": "f3", "S": "f4",
}  # fmt: skip
_NUMBERED = {
    "1": "home", "2": "insert", "3": "delete", "4": "end", "5": "page_up", "6": "page_down", "7": "home", "8": "end",
    "11": "f1", "12": "f2", "13": "f3", "14": "f4", "15": "f5", "17": "f6", "18": "f7", "19": "f8", "20": "f9", "21": "f10",
    "23": "f11", "24": "f12",
}  # fmt: skip
_MODIFIERS = ((1, "shift"), (2, "alt"), (4, "ctrl"))


def key_name(data: bytes) -> str:
    """The name of a key: the character itself, or words such as ``up``, ``ctrl+c``, ``alt+x``, ``f5``. ``unknown`` for a
    sequence that belongs to no known key.
    """
    if data in _NAMED:
        return _NAMED[data]
    if len(data) == 1 and data[0] < 0x20:
        return "ctrl+" + chr(data[0] + 0x60 if 1 <= data[0] <= 26 else data[0] + 0x40)
    if data[:1] != b"\x1b":
        return data.decode("utf-8", "replace")
    if data[1:2] in (b"[", b"O") and len(data) > 2:
        return _sequence(data[2:].decode("ascii", "replace"))
    return "alt+" + key_name(data[1:])


def _sequence(rest: str) -> str:
    fields, final = rest[:-1].split(";"), rest[-1]
    found = _NUMBERED.get(fields[0]) if final == "~" else _FINAL.get(final)
    if found is None:
        return "unknown"
    mask = int(fields[1]) - 1 if len(fields) > 1 and fields[1].isascii() and fields[1].isdigit() and len(fields[1]) < 4 else 0
    return "".join([f"{name}+" for bit, name in _MODIFIERS if mask & bit]) + found


def key_length(data: bytes) -> int:
    """The number of bytes of the first key; 0 if its sequence is incomplete."""
    if not data:
        return 0
    if data[0] == 0x1B:
        if len(data) == 1:
            return 0
        if data[1:2] not in (b"[", b"O"):
            following = key_length(data[1:])
            return 1 + following if following else 0
        for at in range(2, len(data)):
            if 0x40 <= data[at] <= 0x7E:
                return at + 1
            if at > 16:
                return at
        return 0
    width = 1 if data[0] < 0xC0 else 2 if data[0] < 0xE0 else 3 if data[0] < 0xF0 else 4
    return width if len(data) >= width else 0
