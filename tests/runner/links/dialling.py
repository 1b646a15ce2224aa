"""Programs that dial a link, line by line, and what a link tells of them."""

from __future__ import annotations

import array
import asyncio
import json
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from runner.links import Egress, GateAsked, Link, LinkState, StartValues

TOKEN = "ab" * 32
#: Far more than anything here takes, also on a busy machine.
SECONDS = 60.0


class Told:
    """What a link has told, in its order."""

    def __init__(self) -> None:
        self.told: list[tuple[str, Any]] = []
        self._changed = asyncio.Event()

    def _add(self, kind: str, what: Any = None) -> None:
        self.told.append((kind, what))
        self._changed.set()

    def ready(self) -> None:
        self._add("ready")

    def audit(self, record: Mapping[str, Any], witness: str) -> None:
        self._add(f"audit of {witness}", dict(record))

    def gate_opened(self, gate: GateAsked) -> None:
        self._add("gate", gate)

    def gate_closed(self, gate: str, outcome: str, channel: str, value: str | None) -> None:
        self._add("closed", (gate, outcome, channel, value))

    def lost(self) -> None:
        self._add("lost")

    def of(self, kind: str) -> list[Any]:
        return [what for known, what in self.told if known == kind]

    async def until(self, kind: str, count: int = 1) -> list[Any]:
        """Waits until so many of this kind were told."""
        async with asyncio.timeout(SECONDS):
            while len(self.of(kind)) < count:
                self._changed.clear()
                await self._changed.wait()
        return self.of(kind)


class Caller:
    """Somebody who has dialled: lines as they stand, and the descriptors that came."""

    def __init__(self, folder: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(str(folder / "host.sock"))
        self.socket.setblocking(False)
        self.descriptors: list[int] = []
        self._begun = b""

    async def say(self, **message: Any) -> None:
        await self.write(json.dumps(message).encode() + b"\n")

    async def write(self, data: bytes) -> None:
        async with asyncio.timeout(SECONDS):
            await asyncio.get_running_loop().sock_sendall(self.socket, data)

    async def hear(self) -> dict[str, Any] | None:
        """The next message; ``None`` at the end of the connection."""
        while b"\n" not in self._begun:
            async with asyncio.timeout(SECONDS):
                data = await self._receive()
            if not data:
                return None
            self._begun += data
        line, _, self._begun = self._begun.partition(b"\n")
        heard: dict[str, Any] = json.loads(line)
        return heard

    async def _receive(self) -> bytes:
        while True:
            try:
                data, rights, _, _ = self.socket.recvmsg(65536, socket.CMSG_SPACE(64))
            except BlockingIOError:
                await self._readable()
                continue
            except ConnectionError:
                return b""
            for _, _, numbers in rights:
                found = array.array("i")
                found.frombytes(numbers)
                self.descriptors.extend(found)
            return data

    async def _readable(self) -> None:
        loop = asyncio.get_running_loop()
        readable = asyncio.Event()
        loop.add_reader(self.socket, readable.set)
        try:
            await readable.wait()
        finally:
            loop.remove_reader(self.socket)

    async def until(self, kind: str) -> dict[str, Any]:
        """The next message of this type; those before it are passed over."""
        while True:
            message = await self.hear()
            assert message is not None, f"the link ended before {kind}"
            if message["type"] == kind:
                return message

    async def ended(self) -> bool:
        """Whether the link ends now, whatever it still says."""
        while await self.hear() is not None:
            pass
        return True

    async def begin(self, resume: str = "") -> dict[str, Any]:
        await self.say(type="hello", protocol=1, version="1", mode="serve", resume=resume)
        answer = await self.hear()
        assert answer is not None
        return answer

    def close(self) -> None:
        self.socket.close()


async def nowhere(host: str, port: int) -> list[str]:
    raise OSError(-2, "no such name here")


def egress(ceiling: str = "none", *, private_addresses: bool = False, **more: Any) -> Egress:
    return Egress(ceiling, private_addresses=private_addresses, **{"resolver": nowhere, **more})


@asynccontextmanager
async def opened(
    folder: Path,
    way_out: Egress | None = None,
    *,
    values: StartValues | None = None,
    listening: socket.socket | None = None,
    kept: LinkState | None = None,
) -> AsyncIterator[tuple[Link, Told]]:
    told = Told()
    link = Link(folder, values or StartValues(), way_out or egress(), told, listening=listening, kept=kept)
    await link.open()
    try:
        yield link, told
    finally:
        await link.close()
