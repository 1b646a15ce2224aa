"""Whether programs on a machine can reach the runner over a network of their own: tried, before the first one is put there."""

from __future__ import annotations

import asyncio
import secrets
import socket
from contextlib import suppress
from pathlib import Path

from runner.engines import EngineError, Program
from runner.engines.docker_api import DockerApi, DockerFault
from runner.engines.swarm_network import NAME
from runner.engines.swarm_networks import Networks
from runner.engines.swarm_nodes import Machine
from runner.engines.swarm_service import service_settings

#: Seconds for a task of the machine to come up and dial.
CHECK_SECONDS = 15.0
#: No project has this name: those of the service begin with `prj_`.
PROJECT = "swarm-check"

_DIAL = """
import socket, sys, time
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    try:
        with socket.create_connection((sys.argv[1], int(sys.argv[3])), 3) as link:
            link.sendall(sys.argv[4].encode())
            break
    except OSError:
        time.sleep(0.1)
"""


async def reaches(api: DockerApi, networks: Networks, machine: Machine, runner: str, image: str, *, encrypted: bool) -> None:
    """Has a task of the machine dial the runner over a network like those of projects. Raises ``EngineError``."""
    network = await networks.of(PROJECT)
    word, start = secrets.token_hex(16), f"check{secrets.token_hex(6)}"
    try:
        door = await network.listen(0)
    except OSError as error:
        raise EngineError(f"the network for the check cannot be listened on: {error}") from error
    program = Program(
        project=PROJECT, deploy=PROJECT, start=start, run=None, mode="run", package=Path(), entry="none", ceiling="none",
        link=Path(), cache=None, memory_mb=64, disk_mb=1,
    )  # fmt: skip
    settings = service_settings(
        program,
        ["python3", "-IBc", _DIAL, NAME, str(CHECK_SECONDS), str(door.getsockname()[1]), word],
        image=image,
        variables={},
        labels={"lang.runner": runner, "lang.project": PROJECT},
        told="",
        network=networks.id(PROJECT),
        files={},
        volume=None,
        machine=machine.id,
        secret=None,
    )
    del settings["Labels"]["lang.program"]
    try:
        await api.ask("POST", "/services/create", body=settings)
        async with asyncio.timeout(CHECK_SECONDS):
            await _heard(door, word.encode())
    except TimeoutError:
        why = "nothing that it sends arrives here"
        if encrypted:
            why += (
                ". Encrypted networks need IPsec in the kernels of both machines (the modules esp4 and xfrm_user, AES-GCM), "
                "and IP protocol 50 open between them; PLATFORM_SWARM_ENCRYPTION=off goes without encryption"
            )
        else:
            why += ": UDP 4789, and TCP and UDP 7946, must be open between the machines"
        raise EngineError(f"over the network of a project {why}") from None
    except OSError as error:
        raise EngineError(f"the network for the check cannot be listened on: {error}") from error
    finally:
        door.close()
        with suppress(DockerFault):
            await api.ask("DELETE", f"/services/lang-{start}")


async def _heard(door: socket.socket, word: bytes) -> None:
    loop = asyncio.get_running_loop()
    while True:
        connection, _ = await loop.sock_accept(door)
        with connection:
            said = b""
            while len(said) < len(word) and (more := await loop.sock_recv(connection, len(word))):
                said += more
            if said == word:
                return
