"""What a value may take of memory where the program has a limit, asked before the value is built.

Whoever watches over a program's memory looks every few milliseconds, and later on a busy machine. A value whose size is known
beforehand, and that one operation builds (a text joined, bytes filled up), asks here first: it would be there before anybody
could look.
"""

from __future__ import annotations

from _thread import get_ident

from language.errors import LimitExceeded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

#: Bytes below which nobody needs to ask.
SMALL = 1 << 20
#: What a place in a list takes, in bytes.
PLACE = 8


class Allowance:
    """The memory of one run: ``most`` bytes, of which ``taken`` tells how many are in use where that is known."""

    __slots__ = ("most", "taken")

    def __init__(self, most: int, taken: Callable[[], int] | None = None) -> None:
        self.most = most
        self.taken = taken

    def passed(self) -> bool:
        """Whether more is in use."""
        return self.taken is not None and self.taken() > self.most


#: By thread: the allowance of the program that runs there.
_limits: dict[int, Allowance] = {}


def memory_limit() -> Allowance | None:
    """The allowance of the program that runs in this thread; ``None`` without one."""
    return _limits.get(get_ident())


def set_memory_limit(allowance: Allowance | None) -> None:
    """Sets the allowance of what runs in this thread from now on; ``None``: it may take what there is."""
    if allowance is None:
        _limits.pop(get_ident(), None)
    else:
        _limits[get_ident()] = allowance


def refuse_beyond(size: int) -> None:
    """Raises ``LimitExceeded`` where a value of so many bytes, beside what the program has taken, would pass the limit."""
    if _limits and size > SMALL:
        allowance = _limits.get(get_ident())
        if allowance is not None:
            room = allowance.most
            if size <= room and allowance.taken is not None:
                room -= allowance.taken()
            if size > room:
                raise LimitExceeded("memory_bytes", allowance.most)


def refuse_together(texts: Iterable[str], characters: int) -> None:
    """:func:`refuse_beyond` for texts with so many characters in all, put together."""
    if _limits and characters > SMALL:
        refuse_beyond(sum(map(_bytes_of, texts)))


def _bytes_of(text: str) -> int:
    return len(text) if text.isascii() else text.__sizeof__()


def add_within(left: Any, right: Any) -> Any:
    """``left + right`` in a program under limits: large texts, lists and bytes ask before they grow."""
    kind = left.__class__
    if right.__class__ is kind:
        if kind is int or kind is float:
            return left + right
        if kind is str or kind is bytes or kind is list:
            if len(left) + len(right) > SMALL // PLACE:
                refuse_beyond(left.__sizeof__() + right.__sizeof__())
            return left + right
    from language.values.operators import add

    return add(left, right)
