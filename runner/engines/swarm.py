"""The engine ``swarm``: programs on several machines, each start a service of Docker Swarm with one task.

A project has an overlay network of its own, which leads nowhere else: its programs are on it, and a small container that makes
sockets there for the runner (``swarm_network.py``). The link is TCP, descriptors do not cross machines. A program that cannot
write is put on any machine, and on another one when that is lost. One that can keeps its data in a volume of one machine, and
waits for that machine.
"""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from runner.engines import GID, UID, EngineAway, EngineError, Network, Program, Running
from runner.engines.docker import IN_IMAGE, PROGRAM, DockerEngine, program_of, told_of
from runner.engines.docker_api import DockerFault, docker_host, filters, limits
from runner.engines.image import image_name, own_version
from runner.engines.interpreter import environment, program_words
from runner.engines.swarm_check import reaches
from runner.engines.swarm_files import VersionFiles
from runner.engines.swarm_machines import Machines
from runner.engines.swarm_networks import Networks
from runner.engines.swarm_nodes import Files, Machine
from runner.engines.swarm_placement import Placement
from runner.engines.swarm_service import Task, files_by_target, service_settings
from runner.engines.swarm_settings import ENCRYPTION, NODES, daemons, encrypted_by, remarks
from runner.engines.swarm_tasks import Tasks

SECRET_FILE = "secret"


class SwarmEngine:
    """See the module.

    Args:
        folder: of the runner; two runners of one swarm keep apart by it.
        host: the daemon of the runner's machine, a manager of the swarm, as in ``DOCKER_HOST``, which decides where it is not
            given.
        others: the daemons of the other machines that programs may run on, in the same form; ``PLATFORM_SWARM_NODES`` decides
            where they are not given.
        encrypted: whether networks are encrypted between machines; ``PLATFORM_SWARM_ENCRYPTION`` decides where it is not given.
        words: the command inside, where it is not to be the language's.

    Errors: ``EngineError`` where no daemon answers, or it is no manager of a swarm.
    """

    name = "swarm"
    outlives_runner = True

    def __init__(
        self,
        folder: Path,
        *,
        host: str | None = None,
        others: Sequence[str] | None = None,
        encrypted: bool | None = None,
        words: Callable[[Program], Sequence[str]] | None = None,
    ) -> None:
        self._host = host or docker_host()
        self._others = daemons(os.environ.get(NODES, "")) if others is None else tuple(others)
        self.encrypted = encrypted_by(os.environ.get(ENCRYPTION, "")) if encrypted is None else encrypted
        self._words = words
        self._docker = DockerEngine(folder, host=self._host)
        if not (self._docker.info.get("Swarm") or {}).get("ControlAvailable"):
            raise EngineError(f"the daemon at {self._host} is no manager of a swarm: `docker swarm init` makes it one")
        self.api = self._docker.api
        self.version = f"swarm on {self._docker.version}"
        self.remarks = remarks(self.encrypted, len(self._others))
        self._folder = folder
        self._runner = self._docker.runner
        self._image = ""
        self._files = VersionFiles(self._runner, self._tell)
        self._listening: set[asyncio.Task[None]] = set()
        self._machines = Machines(self.api, self._host, self._others, self._set_up, self._tell, limits(self._docker.info))
        self._placement = Placement(self._machines, self._files, self._runner)
        self._tasks = Tasks(self.api, self._machines, self._placement, self.volume)
        self._networks: Networks | None = None

    @property
    def refused(self) -> Mapping[str, str]:
        """Why machines are not used, by their Docker APIs; empty texts for those that are."""
        return self._machines.told

    def ensure_image(self) -> str:
        """Makes the image where it is missing. Blocks. Raises ``EngineError``."""
        return self._docker.ensure_image()

    @property
    def networks(self) -> Networks:
        """The networks of projects; made on the loop."""
        if self._networks is None:
            self._networks = Networks(
                self.api,
                self._runner,
                self._folder,
                self._docker.container_settings,
                self._address,
                self._moved,
                encrypted=self.encrypted,
            )
        return self._networks

    async def isolation(self) -> Mapping[str, bool]:
        await self._begin()
        return {**await self._docker.isolation(), "encryption": self.encrypted}

    async def engine_for(self, version: str) -> str:
        return own_version()  # the one image that is copied to the machines

    async def prepare(self, package: Path, entry: str, cache: Path, engine: str = "") -> None:
        await self._begin()
        await self._docker.prepare(package, entry, cache)
        self._files.changed(cache)
        usable = self._machines.usable
        await self._files.hand_out_to_all(usable, await self._files.of(package, cache), self._image)

    async def drop_files(self) -> None:
        await self._files.drop(self._machines.usable)

    async def network(self, project: str) -> Network:
        """The network of a project, which it is reached over."""
        await self._begin()
        return await self.networks.of(project)

    # ---- starting --------------------------------------------------------------------------------------------------------

    async def start(self, program: Program) -> Running:
        await self._begin()
        await self._tasks.clear(program.project)
        await self.networks.of(program.project)
        files = await self._files.of(program.package, program.cache)
        try:
            machine = await self._placement.place(program, files, self._image)
            return await self._begun(program, machine, files)
        except BaseException:
            self._placement.gone(program.start)
            raise

    async def _begun(self, program: Program, machine: Machine, files: Sequence[Files]) -> Task:
        labels = {"lang.runner": self._runner, "lang.project": program.project}
        try:
            secret = await self._secret(program, labels)
            settings = service_settings(
                program,
                program_words(IN_IMAGE, program) if self._words is None else list(self._words(program)),
                image=self._image,
                variables=environment(program.cache is not None),
                labels=labels,
                told=told_of(program),
                network=self.networks.id(program.project),
                files=files_by_target(files[0].name, files[1].name if len(files) > 1 else None),
                volume=self._tasks.volume_for(program),
                machine=machine.id,
                secret=secret,
            )
            await self.api.ask("POST", "/services/create", body=settings)
            return await self._tasks.taken(program)
        except BaseException:
            await self._tasks.undo(program)
            raise

    async def _secret(self, program: Program, labels: Mapping[str, str]) -> dict[str, Any] | None:
        """The secret of its link, kept by the swarm and shown to its task alone."""
        if not program.address:
            return None
        try:
            value = await asyncio.to_thread((program.link / SECRET_FILE).read_bytes)
        except OSError as error:
            raise EngineError(f"the secret of the link cannot be read: {error}") from error
        name = f"lang-{program.start}"
        body = {"Name": name, "Labels": dict(labels), "Data": base64.b64encode(value).decode("ascii")}
        made = await self.api.ask("POST", "/secrets/create", body=body)
        file = {"Name": "link", "UID": str(UID), "GID": str(GID), "Mode": 0o400}
        return {"SecretID": made["ID"], "SecretName": name, "File": file}

    # ---- machines --------------------------------------------------------------------------------------------------------

    async def _begin(self) -> None:
        await self._machines.begin()

    async def _set_up(self, machine: Machine) -> None:
        """Has a machine ready for programs: the image, and a way from there to the runner."""
        name = image_name()
        found = await self.api.ask("GET", f"/images/{name}/json")
        self._image = str(found["Id"])
        await machine.take_image(name, self._image, self.api)
        if not machine.here:
            await reaches(self.api, self.networks, machine, self._runner, self._image, encrypted=self.encrypted)
        listening = asyncio.create_task(self._listen(machine))
        self._listening.add(listening)
        listening.add_done_callback(self._listening.discard)

    async def _listen(self, machine: Machine) -> None:
        """Listens for containers that are out of memory: the kernel ends one process of them, and the others would go on."""
        wanted = filters(label=[f"lang.runner={self._runner}"], event=["oom"], type=["container"])
        while not machine.lost.is_set():
            with suppress(DockerFault):
                async with machine.api.stream("/events", filters=wanted) as pieces:
                    rest = b""
                    async for piece in pieces:
                        *lines, rest = (rest + piece).split(b"\n")
                        for line in filter(None, lines):
                            start = json.loads(line)["Actor"]["Attributes"].get("lang.start", "")
                            if start in self._tasks.running:
                                await self._tasks.running[start].end("memory")
            await asyncio.sleep(1)  # the daemon is being started again

    def _address(self, start: str) -> str | None:
        task = self._tasks.running.get(start)
        return task.address if task is not None and task.address else None

    def _moved(self, project: str) -> None:
        """The links of a project's programs lead nowhere any more: they are ended, and started again."""
        for task in self._tasks.running.values():
            if task.program.project == project:
                ending = asyncio.get_running_loop().create_task(_ended(task))
                self._listening.add(ending)
                ending.add_done_callback(self._listening.discard)

    def _tell(self, text: str) -> None:
        logging.getLogger(__name__).warning("%s", text)

    # ---- what is there from before ----------------------------------------------------------------------------------------

    async def adopt(self) -> list[Running]:
        await self._begin()
        found: list[Running] = []
        services = await self.api.ask("GET", "/services", filters=filters(label=[f"lang.runner={self._runner}"]))
        for service in services:
            told = service["Spec"]["Labels"].get(PROGRAM)
            if told is None:
                continue
            try:
                program = program_of(told)
            except (ValueError, KeyError, TypeError):  # of a version that told it in another way
                await self._tasks.removed(service["Spec"]["Name"].removeprefix("lang-"))
                continue
            if program.start in self._tasks.running:
                continue
            there = await self._tasks.found(program)
            if there is None:
                await self._tasks.removed(program.start)
            else:
                found.append(there)
        return found

    def volume(self, project: str) -> str:
        """The name of a project's volume."""
        return self._docker.volume(project)

    async def erase(self, project: str) -> None:
        await self._begin()
        labels = (f"lang.runner={self._runner}", f"lang.project={project}")
        for service in await self.api.ask("GET", "/services", filters=filters(label=list(labels))):
            await self._tasks.removed(service["Spec"]["Labels"]["lang.start"])
        for secret in await self.api.ask("GET", "/secrets", filters=filters(label=list(labels))):
            await self._tasks.removed(secret["Spec"]["Name"].removeprefix("lang-"))
        self._tasks.erased(project)
        for task in [task for task in self._tasks.running.values() if task.program.project == project]:
            await task.remove()
        for node in self._placement.having(project):
            if node not in self._machines.known:
                raise EngineAway(f"data of the project lies on the machine {self._machines.name(node)}, which is not there")
        for machine in list(self._machines.known.values()):
            await self._erased_on(machine, project, labels)
        await self.networks.erase(project)
        for node in self._placement.having(project):
            await self._machines.label(node, self._placement.label(project), None)

    async def _erased_on(self, machine: Machine, project: str, labels: Sequence[str]) -> None:
        for listed in await machine.containers(*labels):
            if "lang.broker" not in listed["Labels"]:
                with suppress(DockerFault):  # it is going
                    await machine.api.ask("DELETE", f"/containers/{listed['Id']}", force="1")
        name = self.volume(project)
        for left in reversed(range(60)):
            try:
                await machine.api.ask("DELETE", f"/volumes/{name}")
                break
            except DockerFault as fault:
                if fault.status == 404:
                    break
                if not left:
                    raise
            await asyncio.sleep(0.5)  # its last container is going
        remaining = [each for each in await machine.containers(*labels) if "lang.broker" not in each["Labels"]]
        if [each for each in remaining if each["State"] not in ("removing", "dead")]:
            raise EngineError(f"a container of {project} is still there on the machine {machine.name}")

    async def close(self) -> None:
        for task in list(self._tasks.running.values()):
            await task.leave()
        for listening in list(self._listening):
            listening.cancel()
        await asyncio.gather(*self._listening, return_exceptions=True)
        if self._networks is not None:
            self._networks.close()
        await self._machines.close()
        await self._docker.close()


async def _ended(task: Task) -> None:
    with suppress(DockerFault):
        await task.end("killed")
