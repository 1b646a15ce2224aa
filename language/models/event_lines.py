"""Splits bytes into a stream of events as they arrive: server-sent events (``text/event-stream``) and JSON lines."""

from __future__ import annotations

#: The most bytes of one line.
_LONGEST_LINE = 16 * 1024 * 1024


class TooLong(ValueError):
    """A line exceeds the limit."""


class Lines:
    """The whole lines of a stream of bytes; the ends of lines are LF, CR LF or CR."""

    __slots__ = ("_rest", "_skip")

    def __init__(self) -> None:
        self._rest = b""
        self._skip = False

    def add(self, part: bytes) -> list[str]:
        """The lines that end in this part. Raises ``TooLong``."""
        if self._skip and part.startswith(b"\n"):
            part = part[1:]
        self._skip = part.endswith(b"\r")
        *whole, self._rest = (self._rest + part).replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        if len(self._rest) > _LONGEST_LINE:
            raise TooLong(f"a line is longer than {_LONGEST_LINE} bytes")
        return [line.decode("utf-8", "replace") for line in whole]

    def end(self) -> list[str]:
        """The last line, where the stream ended without a line end."""
        rest, self._rest = self._rest, b""
        return [rest.decode("utf-8", "replace")] if rest else []


class ServerSentEvents:
    """The data of server-sent events. Comments and other fields are left out."""

    __slots__ = ("_data", "_lines")

    def __init__(self) -> None:
        self._lines = Lines()
        self._data: list[str] = []

    def add(self, part: bytes) -> list[str]:
        """The data of each event that ends in this part. Raises ``TooLong``."""
        return self._events(self._lines.add(part))

    def end(self) -> list[str]:
        """The data of the last event, if the stream ended without the blank line after it."""
        return self._events([*self._lines.end(), ""])

    def _events(self, lines: list[str]) -> list[str]:
        found = []
        for line in lines:
            if not line:
                if self._data:
                    found.append("\n".join(self._data))
                    self._data = []
                continue
            name, _, value = line.partition(":")
            if name == "data":
                self._data.append(value.removeprefix(" "))
        return found


class JsonLines:
    """The lines of a stream of JSON texts."""

    __slots__ = ("_lines",)

    def __init__(self) -> None:
        self._lines = Lines()

    def add(self, part: bytes) -> list[str]:
        return [line for line in self._lines.add(part) if line.strip()]

    def end(self) -> list[str]:
        return [line for line in self._lines.end() if line.strip()]
