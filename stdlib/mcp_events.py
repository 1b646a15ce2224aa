"""Server-sent events (WHATWG HTML, section 9.2): finds a reply in a stream while it is received."""

from __future__ import annotations

from language.errors import RuntimeFault
from stdlib.mcp_protocol import reply_to

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class EventReader:
    """Parses a stream in pieces and searches the data of each event for the reply with one id, which is then in ``found``.

    Everything else is ignored: comments, notifications, requests of the server, invalid JSON.
    """

    def __init__(self, ident: int) -> None:
        self.found: dict[str, Any] | None = None
        self.begun = False
        self._ident = ident
        #: the pieces of the incomplete line
        self._line: list[bytes] = []
        self._data: list[bytes] = []
        self._after_return = False

    def feed(self, piece: bytes) -> bool:
        """Parses a piece. Returns whether the reply has been found."""
        if not self.begun:
            self.begun = True
            piece = piece.removeprefix(b"\xef\xbb\xbf")
        if self._after_return:
            piece = piece.removeprefix(b"\n")  # the second half of a line end
            self._after_return = False
        if piece:
            self._after_return = piece.endswith(b"\r")
            *lines, rest = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
            for line in lines:
                self._line.append(line)
                self._end_line()
                if self.found is not None:
                    return True
            if rest:
                self._line.append(rest)
        return self.found is not None

    def finish(self) -> None:
        """To be called at the end of the stream: an incomplete event then counts as complete."""
        if self.found is None:
            self._end_line()
            self._end_event()

    def _end_line(self) -> None:
        line = b"".join(self._line)
        self._line.clear()
        if not line:
            self._end_event()
            return
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))

    def _end_event(self) -> None:
        if not self._data:
            return
        text = b"\n".join(self._data).decode("utf-8", "replace")
        self._data.clear()
        from language.values.json_decoding import decode

        try:
            self.found = reply_to(decode(text), self._ident)
        except RuntimeFault:
            return
