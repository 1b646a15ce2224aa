"""Changes Python's recursion limit, which is process-wide, for the duration of a block."""

from __future__ import annotations

import sys

from language.locks import Lock

_lock = Lock()
_wanted: list[int] = []
_before = 0


class deep_recursion:
    """Ensures room for ``frames`` more calls of Python code than are active now.

    Calls between Python functions use no C stack, so the limit bounds the program and not the machine. When several threads
    are inside, the highest limit holds; the last one to leave restores the limit from before.
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
        release_limit(self._limit)


def hold_limit() -> int:
    """Keeps the current limit until :func:`release_limit` is called with the returned value.

    For code that starts threads: the process crashes if a thread is deeper than the limit at that time. The limit must
    therefore not be lowered before the last thread has ended, even if the run has.
    """
    limit = sys.getrecursionlimit()
    if _wanted:
        _wanted.append(limit)  # the limit of the current run: nothing changes
    else:
        _add(limit)
    return limit


def release_limit(limit: int) -> None:
    """Ends one request for a limit; the last one restores the limit from before."""
    _wanted.remove(limit)
    if limit in _wanted:
        return
    with _lock:
        try:
            sys.setrecursionlimit(max(_wanted) if _wanted else _before)
        except RecursionError:
            # The current depth exceeds the previous limit: the caller's own frames determine the limit.
            sys.setrecursionlimit(limit)


def _add(limit: int) -> None:
    global _before
    with _lock:
        if not _wanted:
            _before = sys.getrecursionlimit()
        _wanted.append(limit)
        sys.setrecursionlimit(max(_wanted))
