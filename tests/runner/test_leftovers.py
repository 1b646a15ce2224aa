"""What the runner does with programs and sockets that it could not let go of at once."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path
from typing import Any

import pytest

from runner import leftovers
from runner.engines import EngineError
from runner.leftovers import Leftovers
from runner.links import Egress, StartValues
from runner.logs import read_to_the_end
from runner.opened_links import opened_link


class Stubborn:
    """A program whose engine is away for a while."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.removed = asyncio.Event()

    async def remove(self) -> None:
        if self.failures:
            self.failures -= 1
            raise EngineError("the daemon does not answer")
        self.removed.set()


def test_a_program_that_cannot_be_removed_is_removed_once_its_engine_is_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leftovers, "FIRST_PAUSE", 0.001)

    async def story() -> None:
        kept = Leftovers()
        at_once, later, never = Stubborn(0), Stubborn(3), Stubborn(10**9)
        given: list[Any] = [at_once, later, never]
        reasons = [await kept.remove(each) for each in given]
        assert [reason and reason.reason for reason in reasons] == [None, *["the daemon does not answer"] * 2]
        async with asyncio.timeout(60):
            await later.removed.wait()
        await kept.close()
        assert at_once.removed.is_set() and not never.removed.is_set()
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(story())


def test_the_first_socket_of_a_link_is_closed_where_the_second_cannot_be_made(tmp_path: Path) -> None:
    made: list[socket.socket] = []

    class Network:
        name, members = "runner", "10.0.0.0/24"

        async def listen(self, port: int) -> socket.socket:
            if made:
                raise OSError("the broker of the project's network is gone")
            made.append(socket.create_server(("127.0.0.1", port)))
            return made[0]

    class Engine:
        async def network(self, project: str) -> Network:
            return Network()

    async def story() -> None:
        engine: Any = Engine()
        events: Any = None
        egress = Egress("stdout", private_addresses=False)
        with pytest.raises(OSError, match="broker"):
            await opened_link(engine, "prj_1", tmp_path, StartValues(), egress, events)
        assert [each.fileno() for each in made] == [-1]

    asyncio.run(story())


def test_output_is_read_for_as_long_as_some_comes() -> None:
    async def story() -> None:
        count = 0

        async def read() -> None:
            nonlocal count
            for _ in range(60):
                count += 1
                await asyncio.sleep(0.02)

        reading = asyncio.ensure_future(read())
        await read_to_the_end(reading, lambda: count, 1.0)
        assert reading.done() and count == 60
        stuck: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        await read_to_the_end(stuck, lambda: count, 0.01)
        assert not stuck.done()

    asyncio.run(story())
