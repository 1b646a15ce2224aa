"""The networks of projects: an internal overlay network each, and on it a container that makes sockets for the runner."""

from __future__ import annotations

import asyncio
import ipaddress
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from runner.engines import LINK, EngineError
from runner.engines.docker_api import DockerApi, DockerFault
from runner.engines.swarm_network import NAME, SOCKET, ProjectNetwork
from runner.engines.swarm_service import NO_NAME_SERVER, PYTHON, script
from runner.engines.volumes import readable

#: Memory of the container that makes sockets, and the size of a file there.
BROKER_MB, BROKER_FILE_MB = 64, 1
#: Times that a network is tried to be removed whose last container is just going, and seconds between two.
TRIES, BETWEEN_SECONDS = 60, 0.5


class Networks:
    """The networks of one runner's projects.

    Args:
        api: of the manager, on the runner's machine.
        runner: tells the networks of two runners apart.
        folder: of the runner; a folder for each project lies below it.
        encrypted: between machines.
        settings: what every container is made with, by its megabytes of memory and of a file.
        address: gives the address of a started program in its network.
        moved: called with a project whose broker came back in another place.
    """

    def __init__(
        self,
        api: DockerApi,
        runner: str,
        folder: Path,
        settings: Callable[[int, int], dict[str, Any]],
        address: Callable[[str], str | None],
        moved: Callable[[str], object],
        *,
        encrypted: bool,
    ) -> None:
        self._api, self._runner, self._encrypted = api, runner, encrypted
        self._folder = folder / "networks"
        self._settings, self._address, self._moved = settings, address, moved
        self._open: dict[str, ProjectNetwork] = {}
        self._ids: dict[str, str] = {}
        self._locks: dict[str, asyncio.Lock] = {}

    async def of(self, project: str) -> ProjectNetwork:
        """A project's network, made where it is missing. Raises ``EngineError``."""
        async with self._locks.setdefault(project, asyncio.Lock()):
            network = self._open.get(project)
            if network is None or not await self._broker_runs(project):
                network = await self._made(project, network)
            return network

    def id(self, project: str) -> str:
        """Of a network that is there."""
        return self._ids[project]

    async def erase(self, project: str) -> None:
        """Removes a project's network, where it has one. Its programs are gone already. Raises ``EngineError``."""
        async with self._locks.setdefault(project, asyncio.Lock()):
            network = self._open.pop(project, None)
            if network is not None:
                network.close()
            await self._removed(project)
            shutil.rmtree(self._folder / project, ignore_errors=True)
        self._locks.pop(project, None)
        self._ids.pop(project, None)

    def close(self) -> None:
        """Lets go of the networks, which stay."""
        for network in self._open.values():
            network.close()
        self._open.clear()

    # ---- parts -----------------------------------------------------------------------------------------------------------

    def _name(self, project: str) -> str:
        return f"lang-{self._runner}-{project}"

    def _broker(self, project: str) -> str:
        return f"{self._name(project)}-broker"

    async def _made(self, project: str, network: ProjectNetwork | None) -> ProjectNetwork:
        folder = self._folder / project
        try:
            folder.mkdir(mode=0o755, parents=True, exist_ok=True)
            self._folder.chmod(0o700)
            await asyncio.to_thread(readable, folder)
        except OSError as error:
            raise EngineError(f"the folder of the project's network cannot be used: {error}") from error
        self._ids[project] = await self._network(project)
        if network is None:
            network = ProjectNetwork(folder, "", self._address, partial(self._moved, project))
            try:
                network.open()
            except OSError as error:
                raise EngineError(f"the socket {folder / SOCKET} cannot be made: {error}") from error
        try:
            network.members = await self._broker_started(project, folder)
        except BaseException:
            if project not in self._open:  # programs that run hold the one that was there: its broker comes back to it
                network.close()
            raise
        self._open[project] = network
        return network

    async def _network(self, project: str) -> str:
        """The id of the network. One that is not encrypted as is wanted now is made anew."""
        name = self._name(project)
        found = await self._there(f"/networks/{name}?scope=swarm")
        if found is not None:
            if ("encrypted" in (found.get("Options") or {})) == self._encrypted:
                return str(found["Id"])
            await self._removed(project)
        made = await self._api.ask(
            "POST",
            "/networks/create",
            body={
                "Name": name,
                "Driver": "overlay",
                "CheckDuplicate": True,
                "Internal": True,
                "Attachable": True,
                "Options": {"encrypted": ""} if self._encrypted else {},
                "Labels": {"lang.runner": self._runner, "lang.project": project},
            },
        )
        return str(made["Id"])

    async def _broker_runs(self, project: str) -> bool:
        found = await self._there(f"/containers/{self._broker(project)}/json")
        return found is not None and bool(found["State"]["Running"])

    async def _there(self, path: str) -> dict[str, Any] | None:
        """What the daemon tells of something; ``None`` where it says that there is no such thing. Raises ``DockerFault``."""
        try:
            found: dict[str, Any] = await self._api.ask("GET", path)
        except DockerFault as fault:
            if fault.status != 404:
                raise
            return None
        return found

    async def _broker_started(self, project: str, folder: Path) -> str:
        """Has the broker run; all addresses of its network."""
        name, broker = self._name(project), self._broker(project)
        settings = self._settings(BROKER_MB, BROKER_FILE_MB)
        found = await self._there(f"/containers/{broker}/json")
        wanted = [*PYTHON, script("socket_broker"), f"{LINK}/{SOCKET}"]
        if found is not None and not (
            found["State"]["Running"]
            and found["Config"]["Cmd"] == wanted
            and found["NetworkSettings"]["Networks"].get(name, {}).get("NetworkID") == self._ids[project]
        ):
            await self._api.ask("DELETE", f"/containers/{broker}", force="1")
            found = None
        if found is None:
            del settings["NetworkDisabled"]
            settings |= {
                "Cmd": wanted,
                "Labels": {"lang.runner": self._runner, "lang.project": project, "lang.broker": "1"},
                "NetworkingConfig": {"EndpointsConfig": {name: {"Aliases": [NAME]}}},
            }
            settings["HostConfig"] |= {
                "NetworkMode": name,
                "Dns": [NO_NAME_SERVER],
                "RestartPolicy": {"Name": "always"},
                "Mounts": [{"Type": "bind", "Source": str(folder.resolve()), "Target": LINK, "ReadOnly": True}],
            }
            await self._api.ask("POST", "/containers/create", body=settings, name=broker)
            await self._api.ask("POST", f"/containers/{broker}/start")
            found = await self._api.ask("GET", f"/containers/{broker}/json")
            assert found is not None
        place = found["NetworkSettings"]["Networks"][name]
        return str(ipaddress.ip_network(f"{place['IPAddress']}/{place['IPPrefixLen']}", strict=False))

    async def _removed(self, project: str) -> None:
        try:
            await self._api.ask("DELETE", f"/containers/{self._broker(project)}", force="1")
        except DockerFault as fault:
            if fault.status not in (404, 409):
                raise
        for left in reversed(range(TRIES)):
            try:
                await self._api.ask("DELETE", f"/networks/{self._name(project)}")
                return
            except DockerFault as fault:
                if fault.status == 404:
                    return
                if not left:
                    raise
            await asyncio.sleep(BETWEEN_SECONDS)
