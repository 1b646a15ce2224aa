"""Python's recursion limit, which belongs to the process, lent to those who need another one for a while."""

from __future__ import annotations

import sys

from language.locks import Lock

_lock = Lock()
_wanted: list[int] = []
_before = 0


class deep_recursion:
    """Room for ``frames`` more calls of Python code than are open now, and while nobody asks for more, no more.

    Calls between Python functions take no C stack, so the number is a bound on the program and not on the machine. Where
    several threads ask at once the deepest decides, and the last one to leave puts the limit back.
    """

    __slots__ = ("_frames", "_limit")

    def __init__(self, frames: int) -> None:
        self._frames = frames
        self._limit = 0

    def __enter__(self) -> None:
        depth = 0
        frame = sys._getframe()
        while frame is not None:
            depth += 1
            frame = frame.f_back  # type: ignore[assignment]
        self._limit = depth + self._frames
        _add(self._limit)

    def __exit__(self, *_: object) -> None:
        release(self._limit)


def hold() -> int:
    """Keeps the present limit until :func:`release` of the answer.

    For whoever starts threads: one of them that is deeper than the limit of the moment can bring the whole process down, so it
    must not go back before the last of them has ended, even if the run has.
    """
    limit = sys.getrecursionlimit()
    if _wanted:
        _wanted.append(limit)  # what the run around asked for: nothing changes
    else:
        _add(limit)
    return limit


def release(limit: int) -> None:
    """Gives back what was asked for; the last one puts the limit of before."""
    _wanted.remove(limit)
    if limit in _wanted:
        return
    with _lock:
        try:
            sys.setrecursionlimit(max(_wanted) if _wanted else _before)
        except RecursionError:
            # Left deeper than the limit before allows: the caller's own frames decide.
            sys.setrecursionlimit(limit)


def _add(limit: int) -> None:
    global _before
    with _lock:
        if not _wanted:
            _before = sys.getrecursionlimit()
        _wanted.append(limit)
        sys.setrecursionlimit(max(_wanted))
