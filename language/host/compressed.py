"""DEFLATE in memory, in pieces and with limits: a program can be cancelled between two pieces, and a decompression bomb is
stopped at the limit.
"""

from __future__ import annotations

import zlib

from language.errors import RuntimeFault
from language.values.allowance import refuse_beyond
from language.waits import cancellation_point

_PIECE = 1 << 18
#: Bytes of the first piece of a stream; enough for most small streams.
_FIRST = 512
#: The compression ratio is not limited up to this many unpacked bytes.
_SMALL = 1 << 20
#: The ``wbits`` of zlib for a gzip stream and for raw DEFLATE.
GZIP, BARE = 31, -15


class Room:
    """The limits of what an archive may unpack to: ``most`` bytes in total, and ``ratio`` times its own size.

    ``size`` is the length of the archive in bytes. Beyond either limit :meth:`take` raises ``RuntimeFault``, whose message
    begins with the builtin's name.
    """

    __slots__ = ("_builtin", "_most", "_ratio", "_size", "taken")

    def __init__(self, builtin: str, size: int, most: int, ratio: int) -> None:
        self._builtin = builtin
        self._most = most
        self._ratio = ratio
        self._size = size
        self.taken = 0

    def take(self, count: int) -> None:
        """Counts unpacked bytes."""
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
    """The compressed data. A gzip header gets no name and no time, so that equal data gives equal bytes."""
    packer = zlib.compressobj(level, zlib.DEFLATED, window)
    pieces = []
    for start in range(0, len(data), _PIECE):
        pieces.append(packer.compress(data[start : start + _PIECE]))
        cancellation_point()
    pieces.append(packer.flush())
    return b"".join(pieces)


def unpacked(builtin: str, data: bytes, start: int, window: int, room: Room) -> tuple[bytes, int]:
    """The unpacked data of the stream at ``start``, and the position of its end. Raises ``RuntimeFault`` for an invalid
    stream.
    """
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
    """The unpacked data of a gzip file: all its members, concatenated. Zeros after the last one are padding."""
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
