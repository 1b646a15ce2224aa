"""How much memory the process has taken since a moment, as the system tells it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from io import FileIO


class ResidentMemory:
    """The growth of this process since this was made. To be closed.

    Read without letting go of the interpreter: where many threads compete for it, getting it back takes as long as all of them
    together keep it, and a file that is opened and read through Python's library lets go of it ten times.
    """

    __slots__ = ("_before", "_buffer", "_file", "_page", "_read")

    def __init__(self) -> None:
        self._file: FileIO | None = None
        self._before = 0
        try:
            self._file = open("/proc/self/statm", "rb", buffering=0)  # noqa: SIM115 (as long as the run)
        except OSError:
            return  # the system does not tell
        from ctypes import c_int, c_long, c_size_t, c_void_p, create_string_buffer, pythonapi
        from os import sysconf

        self._page = sysconf("SC_PAGE_SIZE")
        self._buffer = create_string_buffer(64)
        self._read = pythonapi["pread"]
        self._read.argtypes = (c_int, c_void_p, c_size_t, c_long)
        self._before = self._taken()

    def grown(self) -> int:
        """In bytes; 0 where the system does not tell."""
        return self._taken() - self._before

    def close(self) -> None:
        """From now on :meth:`grown` knows of nothing: who still asks belongs to a run that is over."""
        self._before = 0
        if self._file is not None:
            self._file.close()

    def _taken(self) -> int:
        if self._file is None:
            return 0
        try:
            self._read(self._file.fileno(), self._buffer, 63, 0)
            return int(self._buffer.value.split(None, 2)[1]) * self._page
        except (ValueError, IndexError):  # closed
            return 0
