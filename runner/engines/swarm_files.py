"""The files of versions on the machines of a swarm: read once here, handed out, removed when the runner has them no more."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from runner.engines import CACHE, EngineError
from runner.engines.docker_api import DockerFault
from runner.engines.swarm_nodes import Files, Machine, files_of


class VersionFiles:
    """The files of one runner's versions.

    Args:
        runner: tells the volumes of two runners apart.
        tell: takes a line for the operator.
    """

    def __init__(self, runner: str, tell: Callable[[str], None]) -> None:
        self._runner, self._tell = runner, tell
        self._read: dict[Path, Files] = {}

    async def of(self, package: Path, cache: Path | None) -> list[Files]:
        """What a program finds of a version: the package, and the compiled files. Raises ``EngineError``."""
        found = [await self._files(package, "")]
        if cache is not None:
            found.append(await self._files(cache, Path(CACHE).name))
        return found

    def changed(self, folder: Path) -> None:
        """A folder was made anew."""
        self._read.pop(folder, None)

    async def hand_out(self, machine: Machine, files: Sequence[Files], image: str) -> None:
        """Has a machine keep them. Raises ``DockerFault``."""
        for each in files:
            await machine.take_files(each, image, {"lang.runner": self._runner})

    async def hand_out_to_all(self, machines: Sequence[Machine], files: Sequence[Files], image: str) -> None:
        """The same for several machines at once; one that does not take them now gets them when a program starts there.

        Raises ``DockerFault`` where none takes them.
        """
        work = (self.hand_out(machine, files, image) for machine in machines)
        faults = []
        for machine, end in zip(machines, await asyncio.gather(*work, return_exceptions=True)):
            if isinstance(end, DockerFault):
                self._tell(f"the machine {machine.name} does not take the files of a version: {end}")
                faults.append(end)
            elif end is not None:
                raise end
        if faults and len(faults) == len(machines):
            raise faults[0]

    async def drop(self, machines: Iterable[Machine]) -> None:
        """Removes from machines what the runner has no more, except what a program still uses. Raises ``DockerFault``."""
        label = f"lang.runner={self._runner}"
        ends = await asyncio.gather(*(machine.drop_old_files(label) for machine in machines), return_exceptions=True)
        for end in ends:
            if end is not None:
                raise end

    async def _files(self, folder: Path, own: str) -> Files:
        """A folder of a version, which does not change once it is prepared."""
        if folder not in self._read:
            try:
                made = await asyncio.to_thread(files_of, folder, f"lang-{self._runner}-files", own=own)
            except OSError as error:
                raise EngineError(f"the version's files cannot be read: {error}") from error
            self._read = {each: kept for each, kept in self._read.items() if each.exists()}
            self._read[folder] = made
        return self._read[folder]
