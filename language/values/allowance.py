"""Memory limits for single large values, checked before a value is built.

The watchdog reads the memory in use every few milliseconds, on a busy machine less often. An operation that builds a large
value whose size is known in advance (joining texts, padding bytes) checks here first, because the watchdog would notice it too
late.
"""

from __future__ import annotations

from _thread import get_ident

from language.errors import LimitExceeded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

#: Sizes up to this many bytes need no check.
SMALL = 1 << 20
#: The bytes of one item in a list.
PLACE = 8


class Allowance:
    """The memory limit of one run: ``most`` bytes. ``taken`` returns the bytes in use, where that is known."""

    __slots__ = ("most", "taken")

    def __init__(self, most: int, taken: Callable[[], int] | None = None) -> None:
        self.most = most
        self.taken = taken

    def passed(self) -> bool:
        """Whether the memory in use exceeds the limit."""
        return self.taken is not None and self.taken() > self.most


#: Thread identifier → the memory limit of the program that the thread runs.
_limits: dict[int, Allowance] = {}


def memory_limit() -> Allowance | None:
    """The memory limit of the program that this thread runs; ``None`` without one."""
    return _limits.get(get_ident())


def set_memory_limit(allowance: Allowance | None) -> None:
    """Sets the memory limit of this thread; ``None`` removes it."""
    if allowance is None:
        _limits.pop(get_ident(), None)
    else:
        _limits[get_ident()] = allowance


def refuse_beyond(size: int) -> None:
    """Raises ``LimitExceeded`` if a value of ``size`` bytes, added to the memory in use, would exceed the limit."""
    if _limits and size > SMALL:
        allowance = _limits.get(get_ident())
        if allowance is not None:
            room = allowance.most
            if size <= room and allowance.taken is not None:
                room -= allowance.taken()
            if size > room:
                raise LimitExceeded("memory_bytes", allowance.most)


def refuse_together(texts: Iterable[str], characters: int) -> None:
    """:func:`refuse_beyond` for the joined text of ``texts``, which has ``characters`` characters."""
    if _limits and characters > SMALL:
        refuse_beyond(sum(map(_bytes_of, texts)))


def _bytes_of(text: str) -> int:
    return len(text) if text.isascii() else text.__sizeof__()


def add_within(left: Any, right: Any) -> Any:
    """``left + right`` in a program under limits: large texts, lists and bytes are checked before they are joined."""
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
