"""An in-memory LRU cache of contents, bounded by their total size."""

from __future__ import annotations

from language.locks import Lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Hashable


class Copies:
    """Contents by key, with a total of at most ``limit`` bytes. The least recently used ones are evicted. Thread-safe."""

    __slots__ = ("_bytes", "_contents", "_limit", "_lock", "_making")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._bytes = 0
        self._contents: dict[Hashable, bytes] = {}
        self._making: dict[Hashable, Lock] = {}
        self._lock = Lock()

    def get(self, key: Hashable) -> bytes | None:
        """The cached content of a key; ``None`` without one."""
        with self._lock:
            content = self._contents.pop(key, None)
            if content is not None:
                self._contents[key] = content  # the order is that of use, the most recent one last
            return content

    def made(self, key: Hashable, make: Callable[[], bytes | None], *, keep: bool) -> bytes | None:
        """The cached content of a key, or the result of ``make``, which is cached if ``keep`` is true for it. If several
        threads want the same content, one at a time makes it, so that only one copy needs memory.
        """
        with self._lock:
            making = self._making.setdefault(key, Lock())
        try:
            with making:
                content = self.get(key)
                if content is None:
                    content = make()
                    if content is not None and keep:
                        self._keep(key, content)
                return content
        finally:
            with self._lock:
                self._making.pop(key, None)

    def _keep(self, key: Hashable, content: bytes) -> None:
        with self._lock:
            if len(content) > self._limit or key in self._contents:
                return
            self._contents[key] = content
            self._bytes += len(content)
            while self._bytes > self._limit:
                self._bytes -= len(self._contents.pop(next(iter(self._contents))))
