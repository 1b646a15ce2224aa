"""Python's recursion limit, which belongs to the process, lent to those who need another one for a while."""

from __future__ import annotations

import sys

_wanted: list[int] = []
_before = 0


class deep_recursion:
    """Room for ``frames`` more calls of Python code than are open now, and while nobody asks for more, no more.

    Calls between Python functions take no C stack, so the number is a bound on the program and not on the machine. Where
    several
    threads ask at once the deepest decides, and the last one to leave puts the limit back.
    """

    __slots__ = ("_frames", "_limit")

    def __init__(self, frames: int) -> None:
        self._frames = frames
        self._limit = 0

    def __enter__(self) -> None:
        global _before
        depth = 0
        frame = sys._getframe()
        while frame is not None:
            depth += 1
            frame = frame.f_back  # type: ignore[assignment]
        self._limit = depth + self._frames
        if not _wanted:
            _before = sys.getrecursionlimit()
        _wanted.append(self._limit)
        sys.setrecursionlimit(max(_wanted))

    def __exit__(self, *_: object) -> None:
        _wanted.remove(self._limit)
        limit = max(_wanted) if _wanted else _before
        try:
            sys.setrecursionlimit(limit)
        except RecursionError:
            # Left deeper than the limit before allows: the caller's own frames decide.
            sys.setrecursionlimit(self._limit)
