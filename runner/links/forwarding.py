"""Requests for a program that no descriptor reaches: what connects to a listening socket here is passed on to it over TCP."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable

from runner.links.tcp import copied

#: Bytes of a connection that wait to be taken.
_WAITING = 64 * 1024


class Forwarding:
    """Forwards the connections of a listening socket, until it is stopped.

    Args:
        listening: a listening socket that does not block. It is not closed here: another program takes it over.
        connect: gives a new connection to the program. Raises ``OSError``.
    """

    def __init__(self, listening: socket.socket, connect: Callable[[], Awaitable[socket.socket]]) -> None:
        self._listening = listening
        self._connect = connect
        self._under_way: set[asyncio.Task[None]] = set()
        self._accepting = asyncio.get_running_loop().create_task(self._accept())

    def stop(self) -> None:
        """Stops accepting. Accepted connections are kept."""
        self._accepting.cancel()

    async def close(self) -> None:
        """Ends what is under way too."""
        self.stop()
        tasks = [self._accepting, *self._under_way]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        # A descriptor of its own: the loop knows one reader for each, and two programs may accept for a moment.
        with self._listening.dup() as door:
            door.setblocking(False)
            while True:
                try:
                    connection, _ = await loop.sock_accept(door)
                except OSError:
                    await asyncio.sleep(0.1)  # no file descriptors left: the client waits
                    continue
                task = loop.create_task(self._pass_on(connection))
                self._under_way.add(task)
                task.add_done_callback(self._under_way.discard)

    async def _pass_on(self, connection: socket.socket) -> None:
        try:
            made = await self._connect()
        except OSError:
            connection.close()  # the program has gone in this moment: the ingress asks the next one
            return
        except BaseException:
            connection.close()
            raise
        writers = []
        try:
            reader, writer = await asyncio.open_connection(sock=connection, limit=_WAITING)
            writers.append(writer)
            there_reader, there_writer = await asyncio.open_connection(sock=made, limit=_WAITING)
            writers.append(there_writer)
            await asyncio.gather(copied(reader, there_writer), copied(there_reader, writer))
        except OSError:
            pass  # one of the two has gone
        finally:
            for writer in writers:
                writer.transport.abort()
            for left in (connection, made):
                left.close()
