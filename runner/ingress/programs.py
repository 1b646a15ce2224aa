"""Connections to programs: one exchange at a time each, kept for the next."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

#: A connection that nobody used for so long is not used again. Programs close theirs later.
IDLE_SECONDS: Final = 10.0
#: Kept connections of a program.
MOST_KEPT: Final = 64


class Exchange(Protocol):
    """What hears of a program's answer."""

    def received(self, data: bytes) -> None:
        """Bytes came from the program."""

    def lost(self) -> None:
        """The program ended the connection."""

    def can_send(self, ready: bool) -> None:
        """Whether the program reads as fast as it is sent to."""


class ProgramConnection(asyncio.Protocol):
    """A connection to a program. What comes while no exchange is under way ends it: nobody asked for it."""

    __slots__ = ("_forget", "exchange", "free_since", "transport", "used")

    def __init__(self, forget: Callable[[ProgramConnection], None]) -> None:
        self.transport: asyncio.Transport
        self.exchange: Exchange | None = None
        self.free_since = 0.0
        #: whether an exchange has ended on it
        self.used = False
        self._forget = forget

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begins."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        """Hands on what came."""
        if self.exchange is None:
            self.transport.abort()
        else:
            self.exchange.received(data)

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
    """

    def __init__(self) -> None:
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
        _, made = await loop.create_unix_connection(lambda: ProgramConnection(self._forget), path)
        return made

    def put_back(self, connection: ProgramConnection, place: tuple[str, int]) -> None:
        """An exchange has ended in order."""
        connection.exchange = None
        connection.used = True
        if place != self._place or len(self._free) >= MOST_KEPT or connection.transport.is_closing():
            connection.transport.abort()
            return
        connection.free_since = time.monotonic()
        connection.transport.resume_reading()  # it hears of the end of a connection
        self._free.append(connection)

    def close(self) -> None:
        """Ends the connections that are free."""
        for connection in self._free:
            connection.transport.abort()
        self._free.clear()

    def close_old(self) -> None:
        """Ends those that nobody used for long."""
        oldest = time.monotonic() - IDLE_SECONDS
        for connection in [each for each in self._free if each.free_since < oldest]:
            self._free.remove(connection)
            connection.transport.abort()

    def _forget(self, connection: ProgramConnection) -> None:
        if connection in self._free:
            self._free.remove(connection)
