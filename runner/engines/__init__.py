"""What runs programs: one interface, and the engines behind it.

An engine starts a version of a project in a sandbox of its own, tells how it ends, hands on what it writes, and measures it. It
knows nothing of the service, of requests, or of what a program may reach: that is held by the ceiling and the host link.

Engines: ``docker`` (a container each, over the Docker API), ``process`` (bubblewrap, no daemon) and ``swarm`` (Docker Swarm, on
several machines). ``choose`` gives one.

All functions run on one asyncio loop, in its thread; what blocks is done in threads by the engine itself.
"""

from __future__ import annotations

import logging
import re
import socket
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

#: Where a program finds its package, its volume (the working directory), the folder of its link, and its compile cache.
APP, DATA, LINK, CACHE = "/app", "/data", "/run/lang", "/var/cache/lang"
#: Who a program is inside of its sandbox.
UID = GID = 10001
#: Processes and threads of a start; megabytes of its ``/tmp``.
MOST_PROCESSES, TMP_MB = 256, 64
#: Seconds between SIGTERM and SIGKILL.
GRACE = 10.0
#: A line of output longer than this many bytes is cut into several.
LONGEST_LINE = 64 * 1024
#: What is said where a program has ended and its output is not known to have been read to its end.
END_UNKNOWN = "The last lines of the program may be missing here: its output could not be read to the end."

_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,99}")
_START = re.compile(r"[a-z0-9]{1,64}")


class EngineError(Exception):
    """An engine could not do what was asked. ``reason`` is for the log of the project: it names the cause, and no secret."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class EngineAway(EngineError):
    """What was asked has to wait for a machine that is not there now. It is asked again; nothing of it has failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """One start of one version of a project.

    Attributes:
        project: the project's id. Its volume belongs to it and outlives every start.
        deploy: the version's id.
        start: unique among all starts of this runner; lower-case letters and digits.
        run: the id of a job's run; ``None`` for a program that is kept running.
        mode: the command inside: ``lang serve`` or ``lang run``.
        package: the folder of the package, read-only at ``/app``.
        entry: the program's file, relative to the package.
        ceiling: the text of ``--cap-set``.
        link: the folder that holds ``host.sock``, read-only at ``/run/lang``.
        cache: the folder that ``Engine.prepare`` has filled, read-only; ``None``: the program is compiled at each start.
        memory_mb: at this much in all its processes it ends with the reason ``memory``.
        disk_mb: at this much in its volume it ends with the reason ``disk``.
        engine: the version of the language that it is to run with, one that ``engine_for`` gave; ``""``: the runner's own.
        scratch: its volume is an empty one of its own that goes with it; that of the project is not touched.
        address: ``tcp://host:port`` of its link, where that is no socket in the folder; the secret of the link lies in the
            folder then, in the file ``secret``.
        keeps_data: whether its ceiling lets it write its volume. One that cannot may be started on another machine each time.
    """

    project: str
    deploy: str
    start: str
    run: str | None
    mode: Literal["serve", "run"]
    package: Path
    entry: str
    ceiling: str
    link: Path
    cache: Path | None
    memory_mb: int
    disk_mb: int
    engine: str = ""
    scratch: bool = False
    address: str = ""
    keeps_data: bool = True

    def __post_init__(self) -> None:
        """These become names of folders, containers and labels. Raises ``ValueError``."""
        for name in (self.project, self.deploy):
            if _ID.fullmatch(name) is None:
                raise ValueError(f"not an id of a project or version: {name!r}")
        if _START.fullmatch(self.start) is None:
            raise ValueError(f"not an id of a start: {self.start!r}")
        if self.entry.startswith(("/", "-")) or ".." in self.entry.split("/") or "\0" in self.entry:
            raise ValueError(f"not a file of the package: {self.entry!r}")


@dataclass(frozen=True, slots=True)
class Exit:
    """How a program has ended.

    Attributes:
        code: its exit code; ``None`` where a signal ended it.
        reason: ``""`` where it ended by itself, ``"memory"`` and ``"disk"`` at those limits, ``"stopped"`` after ``stop``,
            ``"killed"`` by a signal that the engine did not send, ``"machine"`` where the machine that it ran on is gone.
    """

    code: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class Line:
    """A line of output, without its line end. ``at``: milliseconds since 1970-01-01 in UTC.

    ``system``: the engine says it about the output at this place.
    """

    at: int
    stream: Literal["out", "err", "system"]
    text: str


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a program's output: a nanosecond, and how many pieces of output from that one on stand before the place."""

    at: int
    count: int


@dataclass(frozen=True, slots=True)
class Usage:
    """Memory of all processes now, processor time of all until now, size of the volume when it was last measured."""

    memory_mb: int
    cpu_seconds: float
    disk_mb: int


class Running(Protocol):
    """A started program; it may have ended since."""

    program: Program
    paused: bool

    async def wait(self) -> Exit:
        """Until it has ended. Every call gives the same answer."""

    async def stop(self, grace: float) -> Exit:
        """SIGTERM to the program, and after ``grace`` seconds SIGKILL to everything in it. Ends a paused one too."""

    async def pause(self) -> None:
        """Freezes everything in it. Raises ``EngineError``."""

    async def resume(self) -> None:
        """Lets it go on. Raises ``EngineError``."""

    def lines(self, after: Position | None) -> AsyncIterator[tuple[Position, Line]]:
        """Its output in order, those after a position, until it has ended and all is read. One reader at a time."""

    async def usage(self) -> Usage:
        """What it takes. Zeros for memory once it has ended."""

    async def remove(self) -> None:
        """Ends it, where it still runs, and forgets it with its output. The volume stays."""


class Network(Protocol):
    """The network of one project, which its programs, and nobody else's, are on.

    Attributes:
        name: by which programs reach the runner there.
        members: all addresses of the network, as ``10.0.1.0/24``.
    """

    name: str
    members: str

    async def listen(self, port: int) -> socket.socket:
        """A socket that listens in the network, at a port or any port (0). Raises ``OSError``."""

    async def connect(self, start: str, port: int) -> socket.socket:
        """A connection to a program there. Raises ``OSError``."""


class Engine(Protocol):
    """Where programs run.

    Attributes:
        name: ``docker``, ``process`` or ``swarm``.
        version: of the engine and of what runs inside of it.
        outlives_runner: its programs go on when the runner is gone, and ``adopt`` finds them.
        remarks: what else the operator is told at the start.
    """

    name: str
    version: str
    outlives_runner: bool
    remarks: tuple[str, ...]

    async def isolation(self) -> Mapping[str, bool]:
        """Each protection by name, and whether it is enforced.

        ``sandbox`` false: programs are not kept apart from the machine.
        """

    async def engine_for(self, version: str) -> str:
        """The version of the language that a program runs with for which this one is asked.

        That version where it is here, else the runner's own. Raises ``EngineError``.
        """

    async def prepare(self, package: Path, entry: str, cache: Path, engine: str = "") -> None:
        """Makes what the starts of a version share: the image, and its compiled files in ``cache`` (made anew).

        Arguments:
            engine: as of ``Program``.

        Raises:
            EngineError: no image can be had, the disk is nearly full.
        """

    async def network(self, project: str) -> Network | None:
        """The network that a project's links go over; ``None`` where descriptors reach its programs. Raises ``EngineError``."""

    async def start(self, program: Program) -> Running:
        """Starts it. Raises ``EngineError``; ``EngineAway`` where the machine that has its data is away."""

    async def adopt(self) -> list[Running]:
        """What was started before this runner and still exists, ended ones too."""

    async def drop_files(self) -> None:
        """Removes what it has copied of versions whose folders are gone. Raises ``EngineError``."""

    async def erase(self, project: str) -> None:
        """Removes everything of a project, its volume too, and looks that nothing is left. Raises ``EngineError``."""

    async def close(self) -> None:
        """Gives up what the engine itself holds; programs that outlive the runner go on, others end."""


def choose(name: Literal["auto", "docker", "process", "swarm"], folder: Path) -> Engine:
    """The engine of that name, or the best one there is.

    Arguments:
        name: ``auto``: ``docker`` where a daemon answers and an image can be had, else ``process``; never ``swarm``.
        folder: of the runner's state; the engine keeps volumes and what else it needs below it.

    Raises:
        EngineError: it cannot be used here; the reason says what is missing.
    """
    if name == "swarm":
        from runner.engines.swarm import SwarmEngine

        swarm = SwarmEngine(folder)
        swarm.ensure_image()
        return swarm
    if name != "process":
        try:
            from runner.engines.docker import DockerEngine

            engine = DockerEngine(folder)
            engine.ensure_image()
            return engine
        except EngineError as error:
            if name == "docker":
                raise
            logging.getLogger(__name__).info("the engine process is taken: %s", error)
    from runner.engines.process import ProcessEngine

    chosen = ProcessEngine(folder)
    if chosen.unprotected:
        logging.getLogger(__name__).warning("programs run without a sandbox: %s", chosen.unprotected)
    return chosen
