"""A start as a service of Docker Swarm, and its one task while it runs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from runner.engines import (
    APP,
    CACHE,
    DATA,
    MOST_PROCESSES,
    TMP_MB,
    Exit,
    Program,
)
from runner.engines.docker import LOG_FILES, LOG_SIZE, ONE_PROCESSOR, USER
from runner.engines.docker_api import DockerFault
from runner.engines.docker_container import AGAIN_SECONDS, Container
from runner.engines.swarm_nodes import Machine
from runner.engines.volumes import MEGABYTE

#: An address without a name server: names of the network itself are resolved without one.
NO_NAME_SERVER = "127.0.0.1"
#: In the environment of the image: python with nothing of the environment or the working folder.
PYTHON = ("python3", "-IB", "-c")


@lru_cache
def script(name: str) -> str:
    """The text of a script that runs inside of a container."""
    return (Path(__file__).parent / f"{name}.py").read_text(encoding="utf-8")


def volume_mount(name: str, target: str, *, writable: bool = False) -> dict[str, Any]:
    """A volume of the machine that a task comes to; without a name a new one, which goes with its container."""
    return {
        "Type": "volume",
        "Target": target,
        "ReadOnly": not writable,
        "VolumeOptions": {"NoCopy": not writable},
        **({"Source": name} if name else {}),
    }


def memory_mount(target: str, megabytes: int) -> dict[str, Any]:
    """A folder in memory that everybody in the task may write."""
    return {"Type": "tmpfs", "Target": target, "TmpfsOptions": {"SizeBytes": megabytes * MEGABYTE, "Mode": 0o1777}}


def service_settings(
    program: Program,
    words: Sequence[str],
    *,
    image: str,
    variables: dict[str, str],
    labels: dict[str, str],
    told: str,
    network: str,
    files: dict[str, str],
    volume: str | None,
    machine: str,
    secret: dict[str, Any] | None,
) -> dict[str, Any]:
    """What a service is made with. Most of these lines are a protection.

    Args:
        words: the command inside.
        labels: of the service and its container; ``told``: of the service alone, what it was started for.
        network: id of the project's network.
        files: volumes by the folder where the program finds them read-only.
        volume: the project's, or empty for one of its own; ``None``: it finds the empty folder of the image there, which is
            read-only.
        machine: the node that takes it.
        secret: the reference to the secret of its link.
    """
    mounts = [volume_mount(name, target) for target, name in files.items()]
    mounts += [memory_mount("/tmp", TMP_MB), memory_mount("/dev/shm", TMP_MB)]
    if volume is not None:
        mounts.append(volume_mount(volume, DATA, writable=True))
    file_bytes = program.disk_mb * MEGABYTE
    return {
        "Name": f"lang-{program.start}",
        "Labels": {**labels, "lang.deploy": program.deploy, "lang.start": program.start, "lang.program": told},
        "TaskTemplate": {
            "ContainerSpec": {
                "Image": image,
                "Command": [*PYTHON, script("swarm_entry"), *words],
                "Labels": {**labels, "lang.start": program.start},
                "Hostname": "lang",
                "Env": [f"{name}={value}" for name, value in variables.items()],
                "Dir": DATA,
                "User": USER,
                "ReadOnly": True,
                "Init": True,
                "OpenStdin": False,
                "TTY": False,
                "StopGracePeriod": 1_000_000_000,
                "Healthcheck": {"Test": ["NONE"]},
                "CapabilityDrop": ["ALL"],
                "Privileges": {"NoNewPrivileges": True},
                "Ulimits": [
                    {"Name": "core", "Soft": 0, "Hard": 0},
                    {"Name": "fsize", "Soft": file_bytes, "Hard": file_bytes},
                ],
                "DNSConfig": {"Nameservers": [NO_NAME_SERVER]},
                "Mounts": mounts,
                "Secrets": [] if secret is None else [secret],
            },
            "Resources": {
                "Limits": {
                    "NanoCPUs": ONE_PROCESSOR,
                    "MemoryBytes": program.memory_mb * MEGABYTE,
                    "Pids": MOST_PROCESSES,
                },
                "Reservations": {"MemoryBytes": program.memory_mb * MEGABYTE},
            },
            "RestartPolicy": {"Condition": "none"},
            "Placement": {"Constraints": [f"node.id=={machine}"]},
            "Networks": [{"Target": network}],
            "LogDriver": {"Name": "local", "Options": {"max-size": LOG_SIZE, "max-file": LOG_FILES}},
        },
        "Mode": {"Replicated": {"Replicas": 1}},
        "EndpointSpec": {"Mode": "dnsrr"},
    }


class Task(Container):
    """A start of the engine ``swarm``: a container that Swarm has made, on the machine that Swarm has chosen.

    Args:
        machine: where it runs.
        paused: ``None`` where nobody could be asked: it is let go on, as soon as that can be.
        address: its own in the project's network.
        remove: removes the service and what was made for it.

    The others are those of ``Container``.
    """

    def __init__(
        self,
        machine: Machine,
        program: Program,
        container: str,
        volume: Path | None,
        forget: Callable[[], object],
        *,
        paused: bool | None,
        address: str,
        remove: Callable[[], Awaitable[None]],
    ) -> None:
        self.machine = machine
        self.address = address
        self._remove = remove
        super().__init__(machine.api, program, container, volume, forget, paused=bool(paused))
        self._settling = asyncio.create_task(self._let_go_on()) if paused is None else None

    async def _end(self) -> Exit:
        """Its end, or that of its machine."""
        ended = asyncio.create_task(super()._end())
        lost = asyncio.create_task(self.machine.lost.wait())
        try:
            await asyncio.wait({ended, lost}, return_when=asyncio.FIRST_COMPLETED)
            if ended.done():
                return ended.result()
            self._watching.cancel()
            return Exit(None, self._reason or "machine")
        finally:
            for task in (ended, lost):
                task.cancel()

    async def _let_go_on(self) -> None:
        while not self._ended.done():
            try:
                await self.resume()
                return
            except DockerFault:
                await asyncio.sleep(AGAIN_SECONDS)

    async def _signal(self, name: str) -> None:
        if not self.machine.lost.is_set():
            await super()._signal(name)

    async def remove(self) -> None:
        self._reason, self._unwanted = self._reason or "killed", True
        await self._remove()
        try:
            if not self.machine.lost.is_set():
                await self._api.ask("DELETE", self._path, force="1", v="1")
        except DockerFault as fault:
            if fault.status not in (404, 409) and not self.machine.lost.is_set():  # else it is gone, or going
                raise
        await self.wait()
        await self.leave()

    async def leave(self) -> None:
        if self._settling is not None:
            self._settling.cancel()
            await asyncio.gather(self._settling, return_exceptions=True)
        await super().leave()


def files_by_target(package: str, cache: str | None) -> dict[str, str]:
    """Where a program finds its volumes of files."""
    return {APP: package, **({} if cache is None else {str(Path(CACHE).parent): cache})}
