"""The ways in keep room for everybody: no address takes all connections, and who is gone without a word does not keep his."""

from __future__ import annotations

import asyncio
import resource
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runner import entrances, ingress
from runner.entrances import Entrances
from runner.settings import settings_from
from tests.servers import free_port


async def refused(place: tuple[str, int]) -> bool:
    """Whether a connection is ended at once."""
    reader, writer = await asyncio.open_connection(*place)
    try:
        return await asyncio.wait_for(reader.read(1), 0.3) == b""
    except TimeoutError:
        return False
    except ConnectionResetError:
        return True
    finally:
        writer.transport.abort()


def test_one_address_takes_a_part_of_the_connections_and_gives_it_back(tmp_path: Path) -> None:
    async def story() -> None:
        front = ingress.Ingress(domain="apps.example", most=8)
        listening = entrances._listening("127.0.0.1", 0)
        place = listening.getsockname()
        await front.listen(listening)
        held = [await asyncio.open_connection(*place) for _ in range(4)]
        while len(front.connections) < 4:
            await asyncio.sleep(0)
        for connection in front.connections:
            kept = connection.transport.get_extra_info("socket")
            assert kept.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
            assert kept.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == entrances.SILENT_SECONDS
        assert await refused(place) and len(front.connections) == 4
        other = ingress._counted_as("2001:db8:0:1:2:3:4:5")
        assert other == ingress._counted_as("2001:db8::1:ffff:0:0:1") != ingress._counted_as("2001:db8:0:2::1")
        for _, writer in held:
            writer.transport.abort()
        while front.connections:
            await asyncio.sleep(0)
        assert not front._of_address
        assert not await refused(place)
        await front.stop(0)

    asyncio.run(asyncio.wait_for(story(), 60))


def test_a_trusted_proxy_brings_as_many_as_there_may_be() -> None:
    async def story() -> None:
        trusted = settings_from({"PLATFORM_RUNNER_TOKEN": "lr_x", "PLATFORM_TRUSTED_PROXIES": "127.0.0.1"}).trusted_proxies
        front = ingress.Ingress(domain="apps.example", most=4, trusted=trusted)
        listening = entrances._listening("127.0.0.1", 0)
        await front.listen(listening)
        held = [await asyncio.open_connection(*listening.getsockname()) for _ in range(4)]
        while len(front.connections) < 4:
            await asyncio.sleep(0)
        assert await refused(listening.getsockname())
        for _, writer in held:
            writer.transport.abort()
        await front.stop(0)

    asyncio.run(asyncio.wait_for(story(), 60))


def test_visitors_leave_descriptors_for_what_keeps_the_programs() -> None:
    """In a process that may hold 1,024 the ingress takes fewer connections, and a runner raises the limit as far as it may."""
    look = (
        "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 4096))\n"
        "from runner.descriptors import raise_limit, room_for\n"
        "print(room_for(2)); raise_limit(); print(room_for(2), resource.getrlimit(resource.RLIMIT_NOFILE))"
    )
    said = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True).stdout.split("\n")
    assert said[:2] == ["256", "1792 (4096, 4096)"]
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    settings = replace(settings_from({"PLATFORM_RUNNER_TOKEN": "lr_x"}), apps_domain=None)
    assert Entrances(settings)._ingress._most <= max(16, soft // 2)


def test_an_entrance_that_cannot_be_opened_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entrances, "AGAIN_SECONDS", 0.01)
    create, failures = asyncio.BaseEventLoop.create_server, [OSError("No space left on device")] * 3

    async def created(self: Any, *given: Any, **parts: Any) -> Any:
        if failures:
            raise failures.pop()
        return await create(self, *given, **parts)

    class Project:
        project, slug, port, public_url = "prj_1", "shop", free_port(), ""

    async def story() -> None:
        opened = Entrances(settings_from({"PLATFORM_RUNNER_TOKEN": "lr_x"}))
        opened.open(Project())  # type: ignore[arg-type]
        await opened._opening["prj_1"]
        _, writer = await asyncio.open_connection("127.0.0.1", Project.port)
        writer.close()
        await opened.close()

    monkeypatch.setattr(asyncio.BaseEventLoop, "create_server", created)
    asyncio.run(asyncio.wait_for(story(), 60))
