"""The growth of the process's resident memory, as the system reports it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from io import FileIO


class ResidentMemory:
    """Measures the growth of this process's resident memory above the smallest value seen since the object was made. Call
    :meth:`close` at the end.

    Memory that the allocator has freed but still holds is returned to the system first (``malloc_trim``, if available), and
    memory that the host frees later lowers the smallest value. Otherwise a program could use that memory in addition to its
    limit.

    It reads without releasing the interpreter's lock (GIL). With many threads, reacquiring that lock takes long, and opening
    and reading a file through Python's library releases it ten times.
    """

    __slots__ = ("_buffer", "_file", "_least", "_page", "_read")

    def __init__(self) -> None:
        self._file: FileIO | None = None
        self._least = 0
        try:
            self._file = open("/proc/self/statm", "rb", buffering=0)  # noqa: SIM115 (as long as the run)
        except OSError:
            return  # not Linux
        from ctypes import c_int, c_long, c_size_t, c_void_p, create_string_buffer, pythonapi
        from os import sysconf

        self._page = sysconf("SC_PAGE_SIZE")
        self._buffer = create_string_buffer(64)
        self._read = pythonapi["pread"]
        self._read.argtypes = (c_int, c_void_p, c_size_t, c_long)
        try:
            trim = pythonapi["malloc_trim"]
        except AttributeError:
            pass  # not the GNU C library
        else:
            trim.argtypes = (c_size_t,)
            trim(0)
        self._least = self._taken()

    def grown(self) -> int:
        """The growth in bytes; 0 on systems without ``/proc``."""
        taken = self._taken()
        self._least = min(self._least, taken)
        return taken - self._least

    def close(self) -> None:
        """Closes the file. :meth:`grown` returns 0 from now on; a late caller belongs to a run that has ended."""
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
