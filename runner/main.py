"""The runner: asks the service what is wanted, has each project made so, and reports what is seen."""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import socket
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from language import version
from runner.backends import Backend
from runner.context import Context, tell
from runner.engines import Engine, EngineError, Running, choose
from runner.entrances import Entrances
from runner.figures import measure
from runner.gates import GateDesk
from runner.packages import Packages
from runner.projects import Project
from runner.protocol import PollAnswer, ProjectSpec, RunnerState, RunReport, RunSpec
from runner.rehearsals import Rehearsals
from runner.reports import Reports
from runner.runs import LOST
from runner.service import BackOff, Service, ServiceAway, ServiceRefuses
from runner.settings import EngineName, RunnerSettings
from runner.spool import Spool
from runner.started import Started
from runner.state import KeptStart, State

#: Seconds that a poll waits for news.
POLL_SECONDS = 20
#: Seconds between two times that state and spool are brought onto the disk.
SYNC_SECONDS = 1.0
#: Seconds that the last reports have at the end.
FAREWELL_SECONDS = 3.0


class Runner:
    """A runner.

    Args:
        settings: their folder is there, and locked.
    """

    def __init__(self, settings: RunnerSettings) -> None:
        self.settings = settings
        self.state = State(settings.data / "state.json")
        self.spool = Spool(settings.data / "spool")
        self.spool.streams["logs"].before_removal = lambda: self.state.save(onto_disk=False)
        self.service = Service(settings, self.state.instance)
        self.engine = self._chosen()
        self.context = Context(
            settings, self.engine, self.spool, self.state, Packages(settings.data / "packages", self.service)
        )
        self.projects: dict[str, Project] = {}
        self._rehearsals = Rehearsals(self.context)
        self._entrances = Entrances(settings)
        self._isolation: Mapping[str, bool] = {}
        self._connected = asyncio.Event()
        self._complete = asyncio.Event()
        self._found: dict[str, tuple[Running, KeptStart]] = {}
        #: by project: the runs that it is told of once it has been given its programs that kept running
        self._taking: dict[str, dict[str, RunSpec]] = {}
        self._takings: set[asyncio.Task[None]] = set()
        self._spoken = ""
        self._reports = Reports(self.service, self.spool, self._connected, self._speak)

    def _chosen(self) -> Engine:
        """The engine of the settings. ``auto`` stays with the one that has the programs and volumes of this folder: where its
        daemon is not up yet, another engine would show every project an empty volume.
        """
        wanted, before = self.settings.engine, self.state.engine
        name: EngineName = wanted if wanted != "auto" else "docker" if before == "docker" else "process" if before else "auto"
        try:
            engine = choose(name, self.settings.data)
        except EngineError as error:
            if name == wanted:
                raise
            told = f"{error}. The volumes of {self.settings.data} are in the engine {before}; --engine takes another one"
            raise EngineError(told) from error
        self.state.engine = engine.name
        self.state.save()
        return engine

    # ---- for the ingress ---------------------------------------------------------------------------------------------------

    def backends(self) -> Iterator[Backend]:
        """The web projects that are meant to be here."""
        for project in self.projects.values():
            if project.spec.kind == "web":
                yield project

    # ---- from start to end ---------------------------------------------------------------------------------------------------

    async def run(self, stop: asyncio.Event) -> None:
        """Keeps the projects until it is told to stop. Errors: ``EngineError``, ``OSError``."""
        self._isolation = await self.engine.isolation()
        tell(_enforced(self.engine.name, self.engine.version, self._isolation))
        for remark in self.engine.remarks:
            tell(remark)
        await self._entrances.begin()
        await self._take_up()
        tasks = [
            asyncio.create_task(work)
            for work in (
                self._poll(),
                self._reports.run(),
                self._sync(),
                self._clear(),
                measure(lambda: self.projects.values(), self.spool.append),
            )
        ]
        stopped: asyncio.Task[Any] = asyncio.create_task(stop.wait())
        waited: set[asyncio.Task[Any]] = {stopped, *tasks}
        done, _ = await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        for task in (tasks[0], *tasks[2:]):
            task.cancel()
        await asyncio.gather(tasks[0], *tasks[2:], return_exceptions=True)
        for taking in list(self._takings):
            taking.cancel()
        await asyncio.gather(*self._takings, return_exceptions=True)
        await self._entrances.close()
        await self._rehearsals.close()
        leave = self.engine.outlives_runner
        await asyncio.gather(*(project.close(leave=leave) for project in self.projects.values()))
        await self.context.leftovers.close()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._quiet(), FAREWELL_SECONDS)
        if self.spool.waiting:
            tell("the service has not taken over all reports: the rest is kept for the next start of the runner")
        tasks[1].cancel()
        await asyncio.gather(tasks[1], return_exceptions=True)
        self.state.save()
        self.spool.sync()
        self.spool.close()
        await self.engine.close()
        await self.service.close()
        for task in done - {stopped}:
            task.result()  # what broke it

    async def _quiet(self) -> None:
        while self.spool.waiting and self._connected.is_set():
            await asyncio.sleep(0.02)

    # ---- what goes on from before --------------------------------------------------------------------------------------------

    async def _take_up(self) -> None:
        """Finds what outlived the runner before; closes what did not."""
        for running in await self.engine.adopt():
            kept = self.state.starts.get(running.program.start)
            if kept is None:
                tell(f"a program of project {running.program.project} is not one of this runner: it is ended")
                await self._end(running)
            else:
                self._found[running.program.start] = (running, kept)
        for start, kept in list(self.state.starts.items()):
            if start not in self._found:
                self._forget(start, kept)

    def _forget(self, start: str, kept: KeptStart) -> None:
        """A program that ended while no runner was there."""
        desk = GateDesk(kept.project, self.spool.append)
        for gate in kept.gates:
            desk.lost(gate)
        if kept.run is not None:
            self.spool.append(RunReport(project=kept.project, run=kept.run, attempt=kept.attempt, status="failed", output=LOST))
        self.state.starts.pop(start, None)
        self.state.dirty = True

    async def _adopt(self, project: Project, runs: Mapping[str, RunSpec]) -> str:
        """Gives a project its programs that kept running. Returns why some of them have to wait, or the empty text."""
        waits = ""
        for start, (running, kept) in list(self._found.items()):
            if kept.project != project.id:
                continue
            del self._found[start]
            deploy = project.spec.deploy
            run = runs.get(kept.run) if kept.run is not None else None
            wanted = deploy is not None and deploy.id == kept.deploy and project.spec.desired == "up"
            # Without the secret of its link a program that was just starting cannot come back.
            wanted = wanted and bool(kept.link.get("resume"))
            # One that was to end beside another one ends.
            wanted = wanted and (project.up is None if kept.run is None else not project.runs.is_busy)
            if deploy is None or not wanted or (kept.run is not None and (run is None or run.cancel)):
                # Another version is wanted: this one ends, and its place is taken as after a fresh start.
                await self._end(running)
                self._forget(start, kept)
                continue
            started = Started(
                self.context,
                project.spec,
                deploy,
                project.gates,
                project.allowance,
                run=None if kept.run is None else (kept.run, kept.attempt),
                start=start,
            )
            try:
                await started.adopt(running, kept)
                if run is not None:
                    project.runs.adopt(started, run, kept, project.spec)
                else:
                    await project.adopt(started)
            except (FileNotFoundError, NotADirectoryError, ValueError, KeyError, TypeError) as error:
                tell(f"a program of project {project.id} cannot be taken up, and is ended: {error!r}")
                self._forget(start, kept)
                await started.discard()
            except (EngineError, OSError) as error:  # its daemon is away, or the disk is full: it goes on meanwhile
                self._found[start] = running, kept
                await started.leave()
                waits = str(error)
        return waits

    async def _adopt_later(self, project: Project, waits: str) -> None:
        """Tries again until the project has its programs that kept running, and only then begins it: nothing starts twice."""
        pause = BackOff()
        said = ""
        while waits:
            if waits != said:
                tell(f"a program of project {project.id} goes on, and cannot be taken up yet: {waits}")
                said = waits
            await asyncio.sleep(pause.next())
            waits = await self._adopt(project, self._taking[project.id])
        project.begin()
        for run in self._taking.pop(project.id).values():
            project.run(run)

    # ---- what is wanted ---------------------------------------------------------------------------------------------------

    async def _poll(self) -> None:
        cursor, away, first = "", False, True
        back_off = BackOff()
        while True:
            # One that was away is only asked whether it is back: what waits for it must not wait for news as well.
            wait = POLL_SECONDS if cursor and not away else 0
            try:
                told = await self.service.poll(self._self(), cursor, wait)
            except (ServiceAway, ServiceRefuses) as error:
                self._connected.clear()
                self._speak(f"the service cannot be asked: {error}")
                away = True
                await asyncio.sleep(back_off.next())
                continue
            back_off.reset()
            self._speak("")
            if not self._connected.is_set():
                self._connected.set()
                self._reports.answers()
            self._reports.news.set()
            if first and self.spool.streams["state"].waiting:
                # What was seen before the last end may change what is wanted: the service takes it over first.
                while self.spool.streams["state"].waiting and self._connected.is_set():
                    await asyncio.sleep(0.02)
                first = False
                continue
            if away:
                away = False
                for project in self.projects.values():
                    project.gates.announce()
            await self._take(told, first=not cursor)
            first, cursor = False, told.cursor

    def _self(self) -> RunnerState:
        promised = sum(project.spec.limits.memory_mb for project in self.projects.values() if project.spec.desired == "up")
        return RunnerState(
            id=self.settings.id,
            instance=self.state.instance,
            host=socket.gethostname(),
            version=version().removeprefix("v"),
            engines=(self.engine.name,),
            isolation=dict(self._isolation),
            capacity_mb=self.settings.capacity_mb,
            free_mb=max(0, self.settings.capacity_mb - promised),
        )

    async def _take(self, told: PollAnswer, *, first: bool) -> None:
        runs = {run.id: run for run in told.runs}
        for spec in told.projects:
            try:
                await self._want(spec, runs)
            except Exception as error:  # of whatever kind: the other projects go on
                tell(f"project {spec.project} cannot be kept as it is wanted: {error!r}")
        for run in told.runs:
            project = self.projects.get(run.project)
            if run.project in self._taking:
                self._taking[run.project][run.id] = run
            elif project is not None:
                project.run(run)
        for decision in told.decisions:
            project = self.projects.get(decision.project)
            if project is not None:
                project.decide_gate(decision)
        for rehearsal in told.rehearsals:
            project = self.projects.get(rehearsal.project)
            if project is None or project.spec.desired != "erased":
                self._rehearsals.take(rehearsal)
        if first:
            await self._tidy()

    async def _want(self, spec: ProjectSpec, runs: Mapping[str, RunSpec]) -> None:
        project = self.projects.get(spec.project)
        if project is not None:
            project.update(spec)
            return
        project = self.projects[spec.project] = Project(self.context, spec, self._gone)
        waits = await self._adopt(project, runs)
        if waits:
            self._taking[project.id] = {key: run for key, run in runs.items() if run.project == project.id}
            taking = asyncio.create_task(self._adopt_later(project, waits))
            self._takings.add(taking)
            taking.add_done_callback(self._takings.discard)
        else:
            project.begin()
        if spec.kind == "web":
            self._entrances.open(project)

    async def _gone(self, project: str) -> None:
        await self._entrances.shut(project)
        self.projects.pop(project, None)
        self.context.released.set()

    async def _tidy(self) -> None:
        """Ends what belongs to no project, and has packages removed that none has. Volumes go when a project is erased."""
        for start, (running, kept) in list(self._found.items()):
            if kept.project in self._taking:
                continue
            tell(f"a program of project {kept.project}, which is not on this runner, is ended")
            await self._end(running)
            del self._found[start]
            self.state.starts.pop(start, None)
        self.context.released.set()
        self._complete.set()
        for known in set(self.state.projects) - set(self.projects):
            del self.state.projects[known]
        self.state.save()

    async def _clear(self) -> None:
        """Removes packages and compiled files when they have lost their last use, once it is known what is wanted."""
        await self._complete.wait()
        while True:
            await self.context.released.wait()
            self.context.released.clear()
            try:
                await self.context.keep_packages(set().union(*(project.packages for project in self.projects.values())))
            except (EngineError, OSError) as error:
                tell(f"packages that nothing uses any more cannot be removed: {error}")

    async def _end(self, running: Running) -> None:
        """Removes a program that nobody wants."""
        error = await self.context.leftovers.remove(running)
        if error is not None:
            tell(f"what is left of a program of {running.program.project} cannot be removed yet: {error.reason}")

    # ---- what is seen -----------------------------------------------------------------------------------------------------

    async def _sync(self) -> None:
        while True:
            await asyncio.sleep(SYNC_SECONDS)
            if self.state.dirty:
                self.state.save()
            try:
                await asyncio.to_thread(self.spool.sync)
            except OSError as error:
                self._speak(f"the spool cannot be brought onto the disk: {error}")

    def _speak(self, text: str) -> None:
        """A line for the operator, once: not with every try."""
        if text != self._spoken:
            self._spoken = text
            tell(text or "the service answers")


class FolderInUse(Exception):
    """Another runner has this folder."""


def lock(settings: RunnerSettings) -> int:
    """Makes the data folder and takes it for this process. The system gives it back when the process ends in any way.

    Errors: ``FolderInUse``, ``OSError``.
    """
    settings.data.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.chmod(settings.data, 0o700)
    descriptor = os.open(settings.data / "runner.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise FolderInUse(f"a runner works in {settings.data} already: stop it, or name another folder with --data") from None
    return descriptor


async def serve(settings: RunnerSettings) -> None:
    """Runs until SIGINT or SIGTERM."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    await Runner(settings).run(stop)


def _enforced(name: str, engine_version: str, isolation: Mapping[str, bool]) -> str:
    enforced = ", ".join(each for each, holds in isolation.items() if holds) or "nothing"
    absent = ", ".join(each for each, holds in isolation.items() if not holds)
    line = f"engine {name} {engine_version}; enforced: {enforced}" + (f"; not enforced: {absent}" if absent else "")
    if not isolation.get("sandbox", True):
        line += ". Programs are not kept apart from this machine: only administrators can deploy here"
    return line
