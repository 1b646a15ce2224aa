"""Connections to programs: one exchange at a time each, kept for the next."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

#: Seconds after which an idle connection is not used again. Programs close theirs later.
IDLE_SECONDS: Final = 10.0
#: Kept connections of a program.
MOST_KEPT: Final = 64


class Exchange(Protocol):
    """Receives the parts of a program's reply."""

    def received(self, data: bytes) -> None:
        """Bytes came from the program."""

    def lost(self) -> None:
        """The program ended the connection."""

    def can_send(self, ready: bool) -> None:
        """Whether the program reads as fast as it is sent to."""


class ProgramConnection(asyncio.BufferedProtocol):
    """A connection to a program. Data that arrives without a request under way closes it."""

    __slots__ = ("_forget", "_received", "exchange", "free_since", "transport", "used")

    def __init__(self, received: memoryview, forget: Callable[[ProgramConnection], None]) -> None:
        self.transport: asyncio.Transport
        self._received = received
        self.exchange: Exchange | None = None
        self.free_since = 0.0
        #: whether an exchange has ended on it
        self.used = False
        self._forget = forget

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begins."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where bytes are received."""
        return self._received

    def buffer_updated(self, nbytes: int) -> None:
        """Hands on what came."""
        if self.exchange is None:
            self.transport.abort()
        else:
            self.exchange.received(bytes(self._received[:nbytes]))

    def connection_lost(self, exc: Exception | None) -> None:
        """Ends."""
        exchange, self.exchange = self.exchange, None
        if exchange is None:
            self._forget(self)
        else:
            exchange.lost()

    def pause_writing(self) -> None:
        """The program does not read as fast."""
        if self.exchange is not None:
            self.exchange.can_send(False)

    def resume_writing(self) -> None:
        """It does again."""
        if self.exchange is not None:
            self.exchange.can_send(True)


class ProgramConnections:
    """The connections to the program of one project.

    A connection was made to whichever program listened then. Where another one has taken its place (another ``epoch``), those
    that are free are ended.

    Args:
        received: where every connection of the loop receives what it copies before the next one receives.
    """

    def __init__(self, received: memoryview) -> None:
        self._received = received
        self._free: list[ProgramConnection] = []
        self._place: tuple[str, int] = ("", 0)

    def take(self, path: str, epoch: int) -> ProgramConnection | None:
        """A connection that is free, if there is one."""
        if (path, epoch) != self._place:
            self.close()
            self._place = (path, epoch)
        oldest = time.monotonic() - IDLE_SECONDS
        while self._free:
            found = self._free.pop()
            if found.free_since > oldest and not found.transport.is_closing():
                return found
            found.transport.abort()
        return None

    async def connect(self, path: str, epoch: int) -> ProgramConnection:
        """A new connection. Errors: ``OSError``."""
        self._place = (path, epoch)
        loop = asyncio.get_running_loop()
        _, made = await loop.create_unix_connection(lambda: ProgramConnection(self._received, self._forget), path)
        return made

    def put_back(self, connection: ProgramConnection, place: tuple[str, int]) -> None:
        """An exchange has ended in order."""
        connection.exchange = None
        connection.used = True
        if place != self._place or len(self._free) >= MOST_KEPT or connection.transport.is_closing():
            connection.transport.abort()
            return
        connection.free_since = time.monotonic()
        connection.transport.resume_reading()  # a paused connection does not report its end
        self._free.append(connection)

    def close(self) -> None:
        """Ends the connections that are free."""
        for connection in self._free:
            connection.transport.abort()
        self._free.clear()

    def close_old(self) -> None:
        """Closes the connections that were idle for long."""
        oldest = time.monotonic() - IDLE_SECONDS
        for connection in [each for each in self._free if each.free_since < oldest]:
            self._free.remove(connection)
            connection.transport.abort()

    def _forget(self, connection: ProgramConnection) -> None:
        if connection in self._free:
            self._free.remove(connection)
