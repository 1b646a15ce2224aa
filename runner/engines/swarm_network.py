"""The network of one project, and the way into it for the runner's process, which is not on it.

A small container on the manager's machine is on the network beside the project's programs. It makes sockets there and hands
them to the runner (``socket_broker.py``): what a program sends is read by the runner alone.
"""

from __future__ import annotations

import array
import asyncio
import json
import os
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

#: By which programs reach the runner.
NAME = "runner"
SOCKET = "host.sock"
ANSWER_SECONDS = 30.0
_CHUNK = 4096
_MOST_DESCRIPTORS = 16


class ProjectNetwork:
    """See the module.

    Args:
        folder: mounted, read-only, into the broker's container and nowhere else.
        members: all addresses of the network.
        address: gives the address of a started program there, ``None`` for one that is gone.
        moved: called when the broker has come back in another place: the sockets that it made before lead nowhere.
    """

    name = NAME

    def __init__(self, folder: Path, members: str, address: Callable[[str], str | None], moved: Callable[[], object]) -> None:
        self.members = members
        self._address = address
        self._moved = moved
        self._path = folder / SOCKET
        self._loop = asyncio.get_running_loop()
        self._door: socket.socket | None = None
        self._broker: socket.socket | None = None
        self._place: int | None = None
        self._there = asyncio.Event()
        self._numbers = 0
        self._asked: dict[int, asyncio.Future[socket.socket]] = {}
        self._begun = b""
        self._handed: list[socket.socket] = []

    def open(self) -> None:
        """Waits for the broker. Raises ``OSError``."""
        with suppress(FileNotFoundError):
            self._path.unlink()
        door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
        folder = os.open(self._path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            door.bind(f"/proc/self/fd/{folder}/{SOCKET}")  # the path itself may be longer than a socket's may
            os.chmod(self._path, 0o666)  # the broker's user is not the runner's; the mode of the folder restricts access
            door.listen(1)
        except OSError:
            door.close()
            raise
        finally:
            os.close(folder)
        self._door = door
        self._loop.add_reader(door, self._somebody)

    def close(self) -> None:
        """Lets go of the broker, which goes on."""
        if self._door is not None:
            self._loop.remove_reader(self._door)
            self._door.close()
            self._door = None
        self._lost()

    async def listen(self, port: int) -> socket.socket:
        """A socket that listens there. Raises ``OSError``."""
        return await self._made({"listen": port})

    async def connect(self, start: str, port: int) -> socket.socket:
        """A connection to a program there. Raises ``OSError``."""
        address = self._address(start)
        if address is None:
            raise ConnectionRefusedError(f"the program {start} is not on the network")
        return await self._made({"connect": [address, port]})

    async def _made(self, asked: dict[str, Any]) -> socket.socket:
        answer: asyncio.Future[socket.socket] | None = None
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                await self._there.wait()
                assert self._broker is not None
                self._numbers += 1
                answer = self._asked[self._numbers] = self._loop.create_future()
                await self._loop.sock_sendall(self._broker, json.dumps({"id": self._numbers, **asked}).encode() + b"\n")
                return await answer
        except TimeoutError:
            raise OSError("the broker of the project's network does not answer") from None
        finally:
            if answer is not None:
                self._asked = {number: each for number, each in self._asked.items() if each is not answer}

    # ---- the broker ----------------------------------------------------------------------------------------------------

    def _somebody(self) -> None:
        assert self._door is not None
        try:
            broker, _ = self._door.accept()
        except OSError:
            return
        self._lost()  # the newest is the one that is there
        broker.setblocking(False)
        self._broker = broker
        self._loop.add_reader(broker, self._readable)

    def _lost(self) -> None:
        self._there.clear()
        if self._broker is not None:
            self._loop.remove_reader(self._broker)
            self._broker.close()
            self._broker = None
        for made in self._handed:
            made.close()
        self._handed.clear()
        self._begun = b""
        for answer in self._asked.values():
            if not answer.done():
                answer.set_exception(OSError("the broker of the project's network is gone"))

    def _readable(self) -> None:
        assert self._broker is not None
        try:
            data, rights, _, _ = self._broker.recvmsg(_CHUNK, socket.CMSG_SPACE(4 * _MOST_DESCRIPTORS), socket.MSG_CMSG_CLOEXEC)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data, rights = b"", []
        for level, kind, numbers in rights:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                found = array.array("i")
                found.frombytes(numbers[: len(numbers) - len(numbers) % found.itemsize])
                self._handed += [socket.socket(fileno=number) for number in found]
        if not data:
            self._lost()
            return
        *lines, self._begun = (self._begun + data).split(b"\n")
        for line in lines:
            self._take(json.loads(line))

    def _take(self, told: dict[str, Any]) -> None:
        if "network" in told:
            before, self._place = self._place, int(told["network"])
            self._there.set()
            if before is not None and before != self._place:
                self._moved()
            return
        made = self._handed.pop(0) if "error" not in told and self._handed else None
        answer = self._asked.get(int(told["id"]))
        if answer is None or answer.done():
            if made is not None:
                made.close()
        elif made is None:
            answer.set_exception(OSError(str(told.get("error", "no descriptor came"))))
        else:
            made.setblocking(False)
            answer.set_result(made)
