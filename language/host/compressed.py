"""DEFLATE in memory, in pieces and under limits: a program can be stopped between two pieces, and a bomb stops at its limit."""

from __future__ import annotations

import zlib

from language.errors import RuntimeFault
from language.values.allowance import refuse_beyond
from language.waits import cancellation_point

_PIECE = 1 << 18
#: The first piece of a stream: one of many small ones takes no more.
_FIRST = 512
#: Up to this many bytes nobody asks how well they were compressed.
_SMALL = 1 << 20
#: The window of a gzip stream, with its header, and of a bare one.
GZIP, BARE = 31, -15


class Room:
    """What an archive may still unpack to: ``most`` bytes in all, and ``ratio`` times what it holds itself.

    ``size`` is the length of the archive. Raises ``RuntimeFault`` that begins with the builtin's name beyond either.
    """

    __slots__ = ("_builtin", "_most", "_ratio", "_size", "taken")

    def __init__(self, builtin: str, size: int, most: int, ratio: int) -> None:
        self._builtin = builtin
        self._most = most
        self._ratio = ratio
        self._size = size
        self.taken = 0

    def take(self, count: int) -> None:
        """Notes so many unpacked bytes."""
        self.taken += count
        if self.taken > self._most:
            raise RuntimeFault(
                f"{self._builtin}: it unpacks to more than {self._most} bytes (option max_bytes)", kind="resources"
            )
        if self.taken > _SMALL and self.taken > self._ratio * self._size:
            raise RuntimeFault(
                f"{self._builtin}: it unpacks to more than {self._ratio} times its size (option max_ratio)", kind="resources"
            )
        refuse_beyond(self.taken)


def packed(data: bytes, level: int, window: int) -> bytes:
    """The compressed form; of gzip without a name and a time, so that equal data gives equal bytes."""
    packer = zlib.compressobj(level, zlib.DEFLATED, window)
    pieces = []
    for start in range(0, len(data), _PIECE):
        pieces.append(packer.compress(data[start : start + _PIECE]))
        cancellation_point()
    pieces.append(packer.flush())
    return b"".join(pieces)


def unpacked(builtin: str, data: bytes, start: int, window: int, room: Room) -> tuple[bytes, int]:
    """What the stream at ``start`` unpacks to, and where it ends. Raises ``RuntimeFault`` for what is no such
    stream."""
    reader = zlib.decompressobj(window)
    pieces: list[bytes] = []
    at, size = start, _FIRST
    try:
        while not reader.eof:
            rest = reader.unconsumed_tail
            if not rest:
                if at >= len(data):
                    raise RuntimeFault(f"{builtin}: the compressed data ends too early")
                rest = data[at : at + size]
                at += len(rest)
                size = min(2 * size, _PIECE)
            piece = reader.decompress(rest, _PIECE)
            room.take(len(piece))
            pieces.append(piece)
            cancellation_point()
    except zlib.error as error:
        raise RuntimeFault(f"{builtin}: the data is not compressed as it says, or damaged ({error})") from None
    return b"".join(pieces), at - len(reader.unused_data)


def gunzipped(builtin: str, data: bytes, room: Room) -> bytes:
    """What a gzip file unpacks to: all of its members, one after another; zeros behind them are padding."""
    if data[:2] != b"\x1f\x8b":
        raise RuntimeFault(f"{builtin}: the bytes are no gzip data")
    pieces = []
    at = 0
    while data[at : at + 2] == b"\x1f\x8b":
        piece, at = unpacked(builtin, data, at, GZIP, room)
        pieces.append(piece)
    if data[at:].strip(b"\0"):
        raise RuntimeFault(f"{builtin}: there is something else behind the gzip data")
    return b"".join(pieces)
