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
from runner.engines import EngineError, Running, choose
from runner.entrances import Entrances
from runner.figures import measure
from runner.gates import GateDesk
from runner.packages import Packages
from runner.projects import Project
from runner.protocol import PollAnswer, ProjectSpec, RunnerState, RunReport, RunSpec
from runner.runs import LOST
from runner.service import BackOff, Service, ServiceAway, ServiceRefuses
from runner.settings import RunnerSettings
from runner.spool import Numbered, Spool
from runner.started import Started
from runner.state import KeptStart, State

#: Seconds that a poll waits for news.
POLL_SECONDS = 20
#: Items and bytes of one stream in one report.
REPORT_ITEMS, REPORT_BYTES = 500, 256 * 1024
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
        self.service = Service(settings, self.state.instance)
        self.engine = choose(settings.engine, settings.data)
        self.context = Context(
            settings, self.engine, self.spool, self.state, Packages(settings.data / "packages", self.service)
        )
        self.projects: dict[str, Project] = {}
        self._entrances = Entrances(settings)
        self._isolation: Mapping[str, bool] = {}
        self._connected = asyncio.Event()
        self._news = asyncio.Event()
        self._found: dict[str, tuple[Running, KeptStart]] = {}
        self._spoken = ""
        self.spool.on_change.append(self._news.set)

    # ---- for the ingress ---------------------------------------------------------------------------------------------------

    def backends(self) -> Iterator[Backend]:
        """The web projects that are meant to be here."""
        for project in self.projects.values():
            if project.spec.kind == "web":
                yield project

    # ---- its life ------------------------------------------------------------------------------------------------------------

    async def run(self, stop: asyncio.Event) -> None:
        """Keeps the projects until it is told to stop. Errors: ``EngineError``, ``OSError``."""
        self._isolation = await self.engine.isolation()
        tell(_enforced(self.engine.name, self.engine.version, self._isolation))
        await self._entrances.begin()
        await self._take_up()
        tasks = [
            asyncio.create_task(work)
            for work in (
                self._poll(),
                self._report(),
                self._sync(),
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
        await self._entrances.close()
        leave = self.engine.outlives_runner
        await asyncio.gather(*(project.close(leave=leave) for project in self.projects.values()))
        with suppress(TimeoutError):
            await asyncio.wait_for(self._quiet(), FAREWELL_SECONDS)
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
                await running.remove()
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
        del self.state.starts[start]
        self.state.dirty = True

    async def _adopt(self, project: Project, runs: Mapping[str, RunSpec]) -> None:
        """Gives a project what goes on of it."""
        for start, (running, kept) in list(self._found.items()):
            if kept.project != project.id:
                continue
            del self._found[start]
            deploy = project.spec.deploy
            run = runs.get(kept.run) if kept.run is not None else None
            wanted = deploy is not None and deploy.id == kept.deploy and project.spec.desired == "up"
            # Without the secret of its link a program that was just starting cannot come back.
            wanted = wanted and bool(kept.link.get("resume"))
            if deploy is None or not wanted or (kept.run is not None and (run is None or run.cancel)):
                # Another version is wanted: this one ends, and its place is taken as after a fresh start.
                await running.remove()
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
            await started.adopt(running, kept)
            if run is not None:
                project.runs.adopt(started, run, kept, project.spec)
            else:
                await project.adopt(started)

    # ---- what is wanted ---------------------------------------------------------------------------------------------------

    async def _poll(self) -> None:
        cursor, away, first = "", False, True
        back_off = BackOff()
        while True:
            try:
                told = await self.service.poll(self._self(), cursor, POLL_SECONDS if cursor else 0)
            except (ServiceAway, ServiceRefuses) as error:
                self._connected.clear()
                self._speak(f"the service cannot be asked: {error}")
                away = True
                await asyncio.sleep(back_off.next())
                continue
            back_off.reset()
            self._speak("")
            self._connected.set()
            self._news.set()
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
            await self._want(spec, runs)
        for run in told.runs:
            project = self.projects.get(run.project)
            if project is not None:
                project.run(run)
        for decision in told.decisions:
            project = self.projects.get(decision.project)
            if project is not None:
                project.decide_gate(decision)
        if first:
            await self._tidy()

    async def _want(self, spec: ProjectSpec, runs: Mapping[str, RunSpec]) -> None:
        project = self.projects.get(spec.project)
        if project is not None:
            project.update(spec)
            return
        project = self.projects[spec.project] = Project(self.context, spec, self._gone)
        try:
            await self._adopt(project, runs)
        except (EngineError, OSError) as error:
            tell(f"a program of project {spec.project} is not taken up: {error}")
        project.begin()
        if spec.kind == "web":
            self._entrances.open(project)

    async def _gone(self, project: str) -> None:
        await self._entrances.shut(project)
        self.projects.pop(project, None)

    async def _tidy(self) -> None:
        """Ends what belongs to no project, and removes packages that none has. Volumes go when a project is erased."""
        for start, (running, kept) in list(self._found.items()):
            tell(f"a program of project {kept.project}, which is not on this runner, is ended")
            with suppress(EngineError):
                await running.remove()
            del self._found[start]
            self.state.starts.pop(start, None)
        wanted = {project.spec.deploy.package_hash for project in self.projects.values() if project.spec.deploy}
        self.context.keep_packages(wanted)
        for known in set(self.state.projects) - set(self.projects):
            del self.state.projects[known]
        self.state.save()

    # ---- what is seen -----------------------------------------------------------------------------------------------------

    async def _report(self) -> None:
        back_off = BackOff()
        while True:
            await self._connected.wait()
            self._news.clear()
            batches: dict[str, list[Numbered]] = {}
            for stream in self.spool.streams.values():
                items = stream.pending(REPORT_ITEMS, REPORT_BYTES)
                if items or stream.is_unsure:
                    batches[stream.name] = items
            if not batches:
                await self._news.wait()
                continue
            try:
                answer = await self.service.report(batches)
            except (ServiceAway, ServiceRefuses) as error:
                self._speak(f"the service takes no reports: {error}")
                await asyncio.sleep(back_off.next())
                continue
            back_off.reset()
            for refused in answer.refused:
                tell(f"the service does not take item {refused.sequence} of {refused.stream}: {refused.reason}")
            for name, number in answer.acknowledged.items():
                self.spool.acknowledge(name, number)

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
