"""Which machines of a swarm programs are started on: those that are up, whose Docker API answers, and that passed a check."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from runner.engines import EngineAway, EngineError
from runner.engines.docker_api import AwaitedApi, DockerApi, DockerFault, limits
from runner.engines.swarm_nodes import Machine, machine_at

#: Seconds between two looks at the swarm, and until a machine that could not be used is tried again.
LOOK_SECONDS, AGAIN_SECONDS = 1.0, 30.0
#: A label of nodes; ``off``: no program is started there.
PROGRAMS = "lang.programs"


class Machines:
    """The machines of a swarm.

    Args:
        manager: the API of the manager, on the runner's machine.
        here, others: where the Docker APIs of that machine and of others are.
        set_up: makes a machine ready for programs, and checks that it is. Raises ``EngineError``.
        tell: takes a line for the operator.
        least: the limits that are said to be enforced, as ``limits`` gives them; a machine without one of them is not used.
    """

    def __init__(
        self,
        manager: DockerApi,
        here: str,
        others: Iterable[str],
        set_up: Callable[[Machine], Awaitable[None]],
        tell: Callable[[str], None],
        least: Mapping[str, bool],
    ) -> None:
        self._manager, self._here, self._hosts = manager, here, (here, *others)
        self._set_up, self._tell, self._least = set_up, tell, least
        #: what the swarm says of each of its nodes
        self.nodes: dict[str, Mapping[str, Any]] = {}
        #: those that passed, by their nodes
        self.known: dict[str, Machine] = {}
        self._joining: dict[str, asyncio.Task[None]] = {}
        self._not_before: dict[str, float] = {}
        #: why those behind a Docker API are not used
        self.told: dict[str, str] = {}
        #: those that programs are known to be on, and whose Docker API has not answered yet, by their nodes
        self._awaited: dict[str, Machine] = {}
        #: those that were lost: programs that were there still ask of them
        self._gone: list[Machine] = []
        self._watching: asyncio.Task[None] | None = None
        self._begun = asyncio.Lock()

    async def begin(self) -> None:
        """Looks for machines, waits until each has passed or not, and goes on looking. Raises ``EngineError``."""
        async with self._begun:
            if self._watching is not None:
                return
            await self._look()
            await asyncio.gather(*self._joining.values())
            self._watching = asyncio.create_task(self._watch())

    @property
    def usable(self) -> list[Machine]:
        """Those that may be given a program now."""
        found = [(machine, self.nodes.get(node)) for node, machine in self.known.items()]
        return [machine for machine, told in found if _is_up(told) and _is_active(told)]

    def of(self, node: str) -> Machine | None:
        """The machine of a node that a program was started on; ``None`` where it is lost.

        Where its Docker API has not answered yet, what is asked of it has to wait: that the program is gone, nobody has said.
        """
        known = self.known.get(node) or self._awaited.get(node)
        if known is None and not _is_gone(self.nodes.get(node)):
            name = self.name(node)
            self._tell(f"the Docker API of the machine {name} does not answer: its programs go on, and are waited for")
            known = self._awaited[node] = Machine(node, name, "", AwaitedApi(), {}, False)
        return known

    def name(self, node: str) -> str:
        """Of a node, for people."""
        told = self.nodes.get(node)
        return node if told is None else f"{told['Description']['Hostname']} ({node})"

    async def label(self, node: str, key: str, value: str | None) -> None:
        """Sets a label of a node, or takes it away. Raises ``DockerFault``."""
        for left in reversed(range(10)):
            told = await self._manager.ask("GET", f"/nodes/{node}")
            spec = told["Spec"]
            labels = dict(spec.get("Labels") or {})
            if labels.get(key) == value:
                break
            if value is None:
                del labels[key]
            else:
                labels[key] = value
            version = str(told["Version"]["Index"])
            try:
                await self._manager.ask("POST", f"/nodes/{node}/update", body={**spec, "Labels": labels}, version=version)
            except DockerFault as fault:
                if not left or "out of sequence" not in fault.reason:  # somebody else has changed it in this moment
                    raise
        self.nodes[node] = await self._manager.ask("GET", f"/nodes/{node}")

    def labelled(self, key: str) -> list[str]:
        """The nodes with a label."""
        return [node for node, told in self.nodes.items() if key in (told["Spec"].get("Labels") or {})]

    async def close(self) -> None:
        """Lets go of all of them."""
        tasks = [*self._joining.values(), *([] if self._watching is None else [self._watching])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for machine in [*self.known.values(), *self._gone]:
            await machine.api.close()

    # ---- parts -----------------------------------------------------------------------------------------------------------

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                await self._look()
            except DockerFault:
                continue  # the manager is being started again
            except Exception as error:  # of whatever kind: a machine that is lost later is still noticed
                self._tell(f"the machines of the swarm cannot be looked at: {error!r}")

    async def _look(self) -> None:
        told = await self._manager.ask("GET", "/nodes")
        self.nodes = {node["ID"]: node for node in told}
        for machines in (self.known, self._awaited):
            for node, machine in list(machines.items()):
                if _is_gone(self.nodes.get(node)):
                    del machines[node]
                    self._tell(f"the machine {machine.name} ({node}) is lost")
                    machine.lost.set()
                    self._gone.append(machine)
        reached = {machine.host for machine in self.known.values()}
        for host in self._hosts:
            if host not in reached and host not in self._joining and self._not_before.get(host, 0) <= time.monotonic():
                self._joining[host] = asyncio.create_task(self._join(host))

    async def _join(self, host: str) -> None:
        try:
            machine = await machine_at(host, here=host == self._here)
            try:
                await self._taken(machine)
            except BaseException:
                await machine.api.close()
                raise
            if self.told.get(host, ""):
                self._tell(f"the machine at {host} is used")
            self.told[host] = ""
        except Exception as error:  # of whatever kind: the other machines are used
            away = isinstance(error, (DockerFault, EngineAway))
            self._not_before[host] = time.monotonic() + (LOOK_SECONDS if away else AGAIN_SECONDS)
            said = str(error) if isinstance(error, EngineError) else repr(error)
            if self.told.get(host) != said:
                self.told[host] = said
                self._tell(f"the machine at {host} is not used: {said}")
        finally:
            self._joining.pop(host, None)

    async def _taken(self, machine: Machine) -> None:
        if not _is_up(self.nodes.get(machine.id)):
            raise EngineAway("it is not up in this swarm")
        absent = [name for name, holds in limits(machine.info).items() if self._least.get(name) and not holds]
        if absent:
            raise EngineError(f"its daemon does not enforce what that of the manager does: {', '.join(absent)}")
        await self._set_up(machine)
        self.known[machine.id] = machine
        awaited = self._awaited.pop(machine.id, None)
        if awaited is not None:
            assert isinstance(awaited.api, AwaitedApi)
            awaited.api.found, machine.lost = machine.api, awaited.lost


def _is_gone(told: Mapping[str, Any] | None) -> bool:
    return told is None or told["Status"]["State"] == "down"


def _is_up(told: Mapping[str, Any] | None) -> bool:
    return told is not None and told["Status"]["State"] == "ready"


def _is_active(told: Mapping[str, Any] | None) -> bool:
    """Whether the operator wants programs there."""
    if told is None or told["Spec"]["Availability"] != "active":
        return False
    return (told["Spec"].get("Labels") or {}).get(PROGRAMS) != "off"
