"""A proxy that only passes bytes on, as a peer of the ingress. ``python bare_proxy.py SOCKET`` prints its port.

It reads no request, adds and removes nothing, counts nothing and refuses nobody. Each connection has one of its own to the Unix
socket of the program.
"""

from __future__ import annotations

import asyncio
import sys
from typing import cast


class End(asyncio.Protocol):
    """One end of a connection: what comes here is written to the other one."""

    def __init__(self) -> None:
        self.other: asyncio.Transport | None = None
        self.own: asyncio.Transport | None = None
        self.waiting = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Takes it."""
        self.own = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Passes a piece on, or keeps it until the other end is there."""
        if self.other is None:
            self.waiting += data
        else:
            self.other.write(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """Closes the other end."""
        if self.other is not None:
            self.other.close()


class Client(End):
    """The end of a client: it connects to the program."""

    def __init__(self, socket: str) -> None:
        super().__init__()
        self._socket = socket

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Takes it, and connects to the program."""
        super().connection_made(transport)
        self._task = asyncio.get_running_loop().create_task(self._connect())

    async def _connect(self) -> None:
        program = End()
        program.other = self.own
        transport, _ = await asyncio.get_running_loop().create_unix_connection(lambda: program, self._socket)
        transport.write(bytes(self.waiting))
        self.other = transport


async def main(socket: str) -> None:
    """Runs until it is ended."""
    server = await asyncio.get_running_loop().create_server(lambda: Client(socket), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
