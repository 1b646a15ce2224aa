"""A link over TCP, for programs that descriptors cannot reach: in a virtual machine, or on another machine.

Whoever dials must know the secret of the link. The program listens at a port of its own. Its connections come in at a second
port here, where each is asked for with ``CONNECT`` and then passed on. There the program shows the secret that it was given
when it started: the secret of the link opens nothing but the first exchange, so that a command which finds it gets nowhere.
"""

from __future__ import annotations

import asyncio
import hmac
import socket
from pathlib import Path

from language.host_link import ConnectWanted, Hello, Listen
from runner.links.connection import LinkConnection
from runner.links.egress import Egress, EgressRefused
from runner.links.link import Link, LinkEvents, record_of
from runner.links.values import LinkState, StartValues

_LONGEST_HEAD = 8 * 1024
_HEAD_SECONDS = 10.0
#: Connections of one program at a time, and bytes of each that wait to be written; the others are not accepted.
_MOST_CONNECTIONS = 256
_STEP = 64 * 1024


class TcpLink(Link):
    """The link of one started program over TCP.

    Args:
        host: the address to listen at, of a network that this program and the runner alone are on.
        secret: what the program proves itself with from its first word on; at least 32 characters.
        port: the port that a service is told to listen at; ``None`` for one that does not serve.
        doors: listening sockets for the link and for its proxy, where they are not made here at ``host``: those of a network
            that this process is not on. They are closed with the link.

    The other arguments are those of ``Link``. Errors: ``ValueError`` for a short secret.
    """

    def __init__(
        self,
        host: str,
        secret: str,
        values: StartValues,
        egress: Egress,
        events: LinkEvents,
        *,
        port: int | None,
        kept: LinkState | None = None,
        doors: tuple[socket.socket, socket.socket] | None = None,
    ) -> None:
        if len(secret) < 32:
            raise ValueError("the secret of a link over TCP has at least 32 characters")
        super().__init__(Path(), values, egress, events, listening=None, kept=kept)
        self._host = host
        self._secret = secret
        self._listen_port = port
        self._doors = doors
        self._proxy: asyncio.Server | None = None
        self._tunnels: set[asyncio.Task[None]] = set()
        #: the ports of the link and of its proxy, once it is open; given before, those are taken
        self.port = 0
        self.egress_port = 0

    async def open(self) -> None:
        """Listens at both ports. Errors: ``OSError``."""
        if self._doors is None:
            self._proxy = await asyncio.start_server(self._tunnel, self._host, self.egress_port, limit=_LONGEST_HEAD)
        else:
            self._proxy = await asyncio.start_server(self._tunnel, sock=self._doors[1], limit=_LONGEST_HEAD)
        self.egress_port = self._proxy.sockets[0].getsockname()[1]
        await super().open()

    async def close(self) -> None:
        """Ends the link for good, and the connections that go through it."""
        if self._proxy is not None:
            self._proxy.close()
        for tunnel in list(self._tunnels):
            tunnel.cancel()
        await asyncio.gather(*self._tunnels, return_exceptions=True)
        await super().close()
        for door in self._doors or ():
            door.close()

    # ---- who dials ------------------------------------------------------------------------------------------------------

    def _make_door(self) -> socket.socket:
        if self._doors is None:
            door = socket.create_server((self._host, self.port), backlog=8)
        else:
            door = self._doors[0].dup()  # the given socket stays open: this process cannot make another one in that network
        door.setblocking(False)
        self.port = door.getsockname()[1]
        return door

    def _remove_door(self) -> None:
        pass  # there is no file

    @property
    def _first_is_the_program(self) -> bool:
        return False  # others may be on the network

    def _knows_the_secret(self, hello: Hello) -> bool:
        return hmac.compare_digest(hello.secret.encode(), self._secret.encode())

    def _host_settings(self) -> dict[str, object]:
        return {**super()._host_settings(), "egress": self.egress_port}

    def _hand_listening(self, caller: LinkConnection) -> None:
        if self._listen_port is not None:
            caller.send(Listen(self._listen_port))

    # ---- connections ----------------------------------------------------------------------------------------------------

    async def _tunnel(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tunnels.add(task)
        try:
            if len(self._tunnels) <= _MOST_CONNECTIONS:
                await self._passed_on(reader, writer)
        except (OSError, EOFError, ValueError, asyncio.LimitOverrunError):
            pass  # one of the two has gone, or it was no request: the connection ends
        finally:
            self._tunnels.discard(task)
            writer.transport.abort()

    async def _passed_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _HEAD_SECONDS)
        wanted = self._wanted(head)
        if isinstance(wanted, str):
            await _answer(writer, wanted)
            return
        try:
            made = await self._egress.connect(wanted.host, wanted.port, wanted.capability)
        except EgressRefused as refused:
            self._events.audit(record_of(wanted, refused), "runner")
            await _answer(writer, f"{403 if refused.denied else 502} {refused.reason}")
            return
        try:
            self._events.audit(record_of(wanted, None), "runner")
            there_reader, there_writer = await asyncio.open_connection(sock=made)
        except BaseException:
            made.close()
            raise
        try:
            await _answer(writer, "200 Connection established")
            await asyncio.gather(copied(reader, there_writer), copied(there_reader, writer))
        finally:
            there_writer.transport.abort()

    def _wanted(self, head: bytes) -> ConnectWanted | str:
        """What a request asks for, or the status of what is wrong with it."""
        first, *lines = head.decode("latin-1").split("\r\n")
        fields: dict[str, str] = {}
        for line in lines:
            name, colon, value = line.partition(":")
            if colon:
                if name.lower() in fields:
                    return "400 A field occurs twice"
                fields[name.lower()] = value.strip()
        scheme, _, secret = fields.get("proxy-authorization", "").partition(" ")
        if scheme != "Bearer" or not hmac.compare_digest(secret.encode(), self.state.resume.encode()):
            return "407 The secret of the start is missing or wrong"
        words = first.split(" ")
        if len(words) != 3 or words[0] != "CONNECT" or words[2] != "HTTP/1.1":
            return "405 This proxy knows CONNECT alone"
        host, colon, digits = words[1].rpartition(":")
        if not (colon and digits.isascii() and digits.isdigit() and len(digits) < 6):
            return "400 Expected host:port"
        if host.startswith("[") and host.endswith("]"):
            host = host[1:-1]
        return ConnectWanted(0, host, int(digits), fields.get("capability", "net"))


async def _answer(writer: asyncio.StreamWriter, status: str) -> None:
    text = "".join(c if " " <= c <= "~" else "?" for c in status)
    writer.write(f"HTTP/1.1 {text}\r\n\r\n".encode("ascii"))
    await writer.drain()


async def copied(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    """Passes on what comes, as fast as it is taken, until its end."""
    while data := await source.read(_STEP):
        target.write(data)
        await target.drain()
    if target.can_write_eof():
        target.write_eof()
