"""Which machine of a swarm a program is put on: the one with the data of its project, else the one with the most room."""

from __future__ import annotations

from collections.abc import Sequence

from runner.engines import EngineAway, Program
from runner.engines.docker_api import DockerFault
from runner.engines.swarm_files import VersionFiles
from runner.engines.swarm_machines import Machines
from runner.engines.swarm_nodes import Files, Machine
from runner.engines.volumes import MEGABYTE


class Placement:
    """The places of one runner's programs.

    Args:
        runner: tells the data of two runners apart.
    """

    def __init__(self, machines: Machines, files: VersionFiles, runner: str) -> None:
        self._machines, self._files, self._runner = machines, files, runner
        self._placed: dict[str, tuple[Machine, int]] = {}

    def label(self, project: str) -> str:
        """Of the nodes that have data of a project."""
        return f"lang.data.{self._runner}.{project}"

    def having(self, project: str) -> list[str]:
        """The nodes that have data of a project."""
        return self._machines.labelled(self.label(project))

    def took(self, program: Program, machine: Machine) -> None:
        """A machine has a program."""
        self._placed[program.start] = machine, program.memory_mb

    def gone(self, start: str) -> None:
        """No machine has it any more."""
        self._placed.pop(start, None)

    async def place(self, program: Program, files: Sequence[Files], image: str) -> Machine:
        """The machine that takes a program, and has its files now."""
        fault: DockerFault | None = None
        for machine in self.candidates(program):
            self.took(program, machine)
            try:
                await self._files.hand_out(machine, files, image)
            except DockerFault as refused:  # its disk is full, or it is being started again: another one may do
                fault = refused
                continue
            if program.keeps_data and not program.scratch:
                await self._machines.label(machine.id, self.label(program.project), "data")
            return machine
        assert fault is not None
        raise fault

    def candidates(self, program: Program) -> list[Machine]:
        """The machine with a project's data alone, else all, the one with the most room for the memory it may take first.

        Swarm's own choice would count the containers that make sockets, all of them on the manager's machine.
        """
        usable = self._machines.usable
        having = [] if program.scratch else self.having(program.project)
        if having:
            for machine in usable:
                if machine.id == having[0]:
                    return [machine]
            name = self._machines.name(having[0])
            raise EngineAway(f"the project's data lies on the machine {name}, which is not there: it waits for it")
        if not usable:
            raise EngineAway("no machine of the swarm can be used now: it waits for one")
        return sorted(usable, key=lambda machine: (self._promised(machine), machine.id))

    def _promised(self, machine: Machine) -> float:
        """The part of a machine's memory that programs may take; a project with its data there counts a little, also asleep."""
        running = sum(megabytes for placed, megabytes in self._placed.values() if placed is machine)
        labels = self._machines.nodes[machine.id]["Spec"].get("Labels") or {}
        keeping = sum(1 for label in labels if label.startswith(self.label("")))
        return (running + keeping) * MEGABYTE / max(1, int(machine.info.get("MemTotal", 0)))
