"""The tasks of services: waited for when a service was made, found again after a restart of the runner, removed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from runner.engines import DATA, EngineAway, EngineError, Program
from runner.engines.docker_api import DaemonAway, DockerApi, DockerFault, filters
from runner.engines.swarm_machines import Machines
from runner.engines.swarm_nodes import Machine
from runner.engines.swarm_placement import Placement
from runner.engines.swarm_service import Task
from runner.engines.volumes import MEGABYTE

#: Seconds for a service until its container is there; until a service that no machine takes is given up.
ASSIGN_SECONDS, REFUSED_SECONDS = 60.0, 5.0
LOOK_SECONDS = 0.05
#: States of a task whose container may not be there yet.
_COMING = ("new", "pending", "assigned", "accepted", "ready", "preparing", "starting")


class Tasks:
    """The tasks of one runner.

    Args:
        api: of the manager.
        volume: gives the name of a project's volume.

    Attributes:
        running: those that are known, by their starts.
    """

    def __init__(self, api: DockerApi, machines: Machines, placement: Placement, volume: Callable[[str], str]) -> None:
        self._api, self._machines, self._placement, self._volume = api, machines, placement, volume
        self.running: dict[str, Task] = {}
        #: by project: starts that may have left something which could not be removed
        self._left: dict[str, set[str]] = {}

    async def undo(self, program: Program) -> None:
        """Removes what a start has left, now or before the next start of its project."""
        self._left.setdefault(program.project, set()).add(program.start)
        with suppress(DockerFault):
            await self.clear(program.project)

    def erased(self, project: str) -> None:
        """Nothing of a project is left."""
        self._left.pop(project, None)

    async def taken(self, program: Program) -> Task:
        """The task, once its container has been started."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        while True:
            told = await self._task(program.start)
            state, said = "new", ""
            if told is not None:
                status = told["Status"]
                state, said = status["State"], str(status.get("Err") or status.get("Message") or "")
                machine = self._machines.known.get(told.get("NodeID", ""))
                if told.get("NodeID") and machine is None:
                    raise EngineAway(f"the machine {self._machines.name(told['NodeID'])} is lost, it was to be started there")
                container = (status.get("ContainerStatus") or {}).get("ContainerID", "")
                if state not in _COMING:
                    if not container or machine is None:
                        raise EngineError(f"the swarm could not start it: {said or state}")
                    await self._limited(program, machine, container)
                    found = await machine.api.ask("GET", f"/containers/{container}/json")
                    return await self._kept(program, told, machine, container, found)
            if state == "pending" and said and loop.time() - began > REFUSED_SECONDS:
                raise EngineAway(f"no machine takes it: {said}")
            if loop.time() - began > ASSIGN_SECONDS:
                raise EngineError(f"the swarm did not start it within {ASSIGN_SECONDS:.0f} seconds: {said or state}")
            await asyncio.sleep(LOOK_SECONDS)

    async def _task(self, start: str) -> dict[str, Any] | None:
        tasks = await self._api.ask("GET", "/tasks", filters=filters(service=[f"lang-{start}"]))
        return tasks[0] if tasks else None

    async def _limited(self, program: Program, machine: Machine, container: str) -> None:
        """Takes swap from a container, which services have no setting for. Raises ``DockerFault``."""
        memory = program.memory_mb * MEGABYTE
        try:
            await machine.api.ask("POST", f"/containers/{container}/update", body={"Memory": memory, "MemorySwap": memory})
        except DaemonAway:
            raise
        except DockerFault:
            pass  # it has ended already

    async def _kept(
        self,
        program: Program,
        told: Mapping[str, Any],
        machine: Machine,
        container: str,
        found: Mapping[str, Any] | None,
    ) -> Task:
        """Args: found: what the machine's daemon tells of the container; ``None`` where it does not answer."""
        attached = [each["Addresses"][0] for each in told.get("NetworksAttachments") or () if each.get("Addresses")]
        task = self.running[program.start] = Task(
            machine,
            program,
            container,
            self._volume_name(program, machine) if found is None else _volume_in(found, machine),
            partial(self._forget, program.start),
            paused=None if found is None else bool(found["State"]["Paused"]),
            address=attached[0].partition("/")[0] if attached else "",
            remove=partial(self.removed, program.start),
        )
        self._placement.took(program, machine)
        return task

    def _forget(self, start: str) -> None:
        self.running.pop(start, None)
        self._placement.gone(start)

    def _volume_name(self, program: Program, machine: Machine) -> Path | None:
        """Where the volume of a program lies that runs on a machine already, as far as its name is known."""
        labelled = machine.id in self._placement.having(program.project)
        return _of_another_machine(self._volume(program.project)) if labelled and not program.scratch else None

    def volume_for(self, program: Program) -> str | None:
        """The volume that a start gets: the project's, a new one without a name (empty), or none."""
        if program.scratch:
            return ""
        return self._volume(program.project) if self._placement.having(program.project) else None

    async def removed(self, start: str) -> None:
        """Removes what a start was made of; that it is not there is fine. Raises ``DockerFault``."""
        for path in (f"/services/lang-{start}", f"/secrets/lang-{start}"):
            try:
                await self._api.ask("DELETE", path)
            except DockerFault as fault:
                if fault.status != 404:
                    raise

    async def clear(self, project: str) -> None:
        """Removes what earlier starts of a project have left: it may run. Raises ``DockerFault``."""
        for start in list(self._left.get(project, ())):
            await self.removed(start)
            self._left[project].discard(start)
        self._left.pop(project, None)

    async def found(self, program: Program) -> Task | None:
        """The task of a program; ``None`` where it never ran, or its machine is lost: nothing of it is there to go on.

        Raises ``DockerFault`` where the manager cannot say.
        """
        told = await self._task(program.start)
        if told is None:
            return None
        machine = self._machines.of(told["NodeID"]) if told.get("NodeID") else None
        container = (told["Status"].get("ContainerStatus") or {}).get("ContainerID", "")
        if machine is None or not container:
            return None
        found = None
        try:
            found = await machine.api.ask("GET", f"/containers/{container}/json")
        except DockerFault as fault:
            if fault.status == 404:
                return None
        return await self._kept(program, told, machine, container, found)


def _volume_in(found: Mapping[str, Any], machine: Machine) -> Path | None:
    """Where the files of a container's volume lie; of another machine only its name is known here: its daemon measures it."""
    for mount in found["Mounts"]:
        if mount["Destination"] == DATA and mount["Type"] == "volume":
            return Path(mount["Source"]) if machine.here else _of_another_machine(mount["Name"])
    return None


def _of_another_machine(volume: str) -> Path:
    return Path("/of-another-machine", volume, "_data")
