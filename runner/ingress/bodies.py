"""Parses bodies as they are received: where one ends, and its chunks, which are re-encoded (RFC 9112 section 7.1)."""

from __future__ import annotations

import re
from typing import Final, Protocol

from runner.ingress.heads import Framing, Malformed

#: Bytes that chunked framing may have beside the data, and for each byte of it: a client may send chunks of one byte.
_FRAMING_BYTES: Final = 16 * 1024
_FRAMING_A_BYTE: Final = 16
_LONGEST_LINE: Final = 1024
_SIZE_LINE = re.compile(rb"([0-9A-Fa-f]{1,15})(?:[ \t]*;[\t -~\x80-\xff]*)?")
_TRAILER_LINE = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t -~\x80-\xff]*")
LAST_CHUNK: Final = b"0\r\n\r\n"


class BodyReader(Protocol):
    """Takes a body out of what a connection receives. ``over``: nothing of it is still to come."""

    over: bool

    def take(self, data: bytes) -> tuple[bytes, bytes]:
        """The data in ``data``, and what follows the end of the body. Errors: ``Malformed``."""


class SizedReader:
    """A body of so many bytes."""

    __slots__ = ("_left", "over")

    def __init__(self, length: int) -> None:
        self._left = length
        self.over = not length

    def take(self, data: bytes) -> tuple[bytes, bytes]:
        """See ``BodyReader``."""
        left = self._left
        if len(data) < left:
            self._left = left - len(data)
            return data, b""
        self._left = 0
        self.over = True
        return (data, b"") if len(data) == left else (data[:left], data[left:])


class UntilEndReader:
    """A body that ends with its connection."""

    __slots__ = ("over",)

    def __init__(self) -> None:
        self.over = False

    def take(self, data: bytes) -> tuple[bytes, bytes]:
        """See ``BodyReader``."""
        return data, b""


class ChunkedReader:
    """A body in chunks. Their extensions and the trailer fields are dropped."""

    __slots__ = ("_data_bytes", "_framing_bytes", "_left", "_line", "_state", "_status", "over")

    def __init__(self, status: int) -> None:
        self._status = status
        self._state = "size"
        self._line = b""
        self._left = 0
        self._data_bytes = self._framing_bytes = 0
        self.over = False

    def take(self, data: bytes) -> tuple[bytes, bytes]:
        """See ``BodyReader``."""
        parts: list[bytes] = []
        at = 0
        while at < len(data) and not self.over:
            if self._state == "data":
                part = data[at : at + self._left]
                parts.append(part)
                at += len(part)
                self._left -= len(part)
                self._data_bytes += len(part)
                if not self._left:
                    self._state = "end"
                continue
            end = data.find(b"\n", at)
            piece = data[at:] if end < 0 else data[at : end + 1]
            at += len(piece)
            self._line += piece
            self._framing_bytes += len(piece)
            too_much = self._framing_bytes > _FRAMING_BYTES + _FRAMING_A_BYTE * self._data_bytes
            if len(self._line) > _LONGEST_LINE or too_much:
                raise Malformed(self._status, "the chunks have more framing than data")
            if end >= 0:
                line, self._line = self._line, b""
                self._read_line(line)
        return b"".join(parts), data[at:]

    def _read_line(self, line: bytes) -> None:
        if not line.endswith(b"\r\n"):
            raise Malformed(self._status, "a line of the chunks has no proper end")
        text = line[:-2]
        if self._state == "size":
            size = _SIZE_LINE.fullmatch(text)
            if size is None:
                raise Malformed(self._status, "the size of a chunk is no number")
            self._left = int(size[1], 16)
            self._state = "data" if self._left else "trailer"
        elif self._state == "end":
            if text:
                raise Malformed(self._status, "a chunk is longer than it says")
            self._state = "size"
        elif text:
            if not _TRAILER_LINE.fullmatch(text):
                raise Malformed(self._status, "a trailer field is malformed")
        else:
            self.over = True


def reader(framing: Framing, status: int) -> BodyReader:
    """What reads a body.

    Args:
        status: of the refusal of what is malformed: 400 for a request, 502 for a reply.
    """
    if framing.chunked:
        return ChunkedReader(status)
    return UntilEndReader() if framing.until_end else SizedReader(framing.length)


def chunk(data: bytes) -> bytes:
    """Data as a chunk. Empty data gives none: an empty chunk would be the last one."""
    return b"%x\r\n%b\r\n" % (len(data), data) if data else b""
