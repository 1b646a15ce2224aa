"""Rehearsals: a version is started once, may print and read the clock and nothing else, and what it tried is reported.

It has no variables, no secrets, no listening socket, and an empty volume of its own that is thrown away afterwards. Every gate
is denied. Its lines, gates and records stay apart from those of its project, whose programs go on undisturbed.
"""

from __future__ import annotations

import asyncio
import secrets
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, Literal

from runner.audit import AMBIENT
from runner.context import Context, tell
from runner.engines import APP, EngineError, Exit, Program, Running
from runner.links import Egress, GateAsked, Link, StartValues
from runner.logs import Allowance, Printed, read_to_the_end
from runner.opened_links import opened_link
from runner.packages import PackageBroken
from runner.protocol import DeploySpec, RehearsalReport, RehearsalSpec, Tried
from runner.service import BackOff, ServiceAway, ServiceRefuses
from runner.started import MOST_TOKENS

#: All that a rehearsed program may hold.
CEILING = "stdout,time"
#: Rehearsals at a time; the others wait.
AT_ONCE = 4
#: Different attempts that are reported; those beyond them are counted.
MOST_TRIED = 200
#: Seconds between being asked to end and being ended, and without a line after which no more of the output is read.
GRACE, LAST_LINES_SECONDS = 2.0, 30.0
#: Ended rehearsals that are remembered: the service may ask for one again before it has the report.
_MOST_OVER = 1_000
_DENY_SECONDS = 10.0
_LONGEST_TEXT = 500
_REASONS = {
    "memory": "The program took more memory than it may, and was ended.",
    "disk": "The program has filled its volume, and was ended.",
}


class Rehearsals:
    """The rehearsals of a runner."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._over: dict[str, None] = {}
        self._projects: dict[str, str] = {}
        self._slots = asyncio.Semaphore(AT_ONCE)
        context.before_erasure.append(self._end_of)

    def take(self, spec: RehearsalSpec) -> None:
        """A rehearsal is wanted. One that was begun is not begun again."""
        if spec.id in self._tasks or spec.id in self._over:
            return
        task = asyncio.get_running_loop().create_task(self._rehearse(spec))
        self._tasks[spec.id], self._projects[spec.id] = task, spec.project
        task.add_done_callback(lambda task: self._ended(spec.id, task))

    async def close(self) -> None:
        """Ends what is under way, without a report: the next process of the runner begins it anew."""
        await self._cancelled(list(self._tasks.values()))

    async def _end_of(self, project: str) -> None:
        """Ends the rehearsals of a project that is erased, the one that waits too: nothing of it is started any more."""
        await self._cancelled([task for rehearsal, task in self._tasks.items() if self._projects[rehearsal] == project])

    async def _cancelled(self, tasks: list[asyncio.Task[None]]) -> None:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _ended(self, rehearsal: str, task: asyncio.Task[None]) -> None:
        del self._tasks[rehearsal], self._projects[rehearsal]
        if task.cancelled():
            return
        if task.exception() is not None:
            tell(f"the rehearsal {rehearsal} broke off: {task.exception()!r}")
        self._over[rehearsal] = None
        while len(self._over) > _MOST_OVER:
            del self._over[next(iter(self._over))]

    async def _rehearse(self, spec: RehearsalSpec) -> None:
        keep = self._context.spool.append
        with self._context.holding(spec.package_hash):
            async with self._slots:
                keep(_report(spec, "running"))
                try:
                    keep(await _Rehearsed(self._context, spec).play())
                except (EngineError, PackageBroken, ServiceRefuses, OSError, ValueError) as error:
                    keep(_report(spec, "failed", detail=f"The program could not be rehearsed: {error}."))
                except Exception:
                    keep(_report(spec, "failed", detail="The runner has failed."))
                    raise


class _Rehearsed:
    """One rehearsal: the program, and what its link tells."""

    def __init__(self, context: Context, spec: RehearsalSpec) -> None:
        self._context, self._spec = context, spec
        self._start = secrets.token_hex(8)
        self._tokens: dict[str, None] = {}
        allowance = Allowance(asyncio.get_running_loop().time)
        self._printed = Printed(spec.project, allowance, lambda line: None, lambda: self._tokens, spec.id)
        self._tried: dict[tuple[str, str | None], Tried] = {}
        self._more = 0
        self._link: Link | None = None
        self._denying: set[asyncio.Task[bool]] = set()

    async def play(self) -> RehearsalReport:
        """Starts the program, waits for its end, leaves nothing of it, and says what was seen."""
        context, spec = self._context, self._spec
        package = await self._package()
        folder = context.link_folder(self._start)
        folder.mkdir(mode=0o755)
        running: Running | None = None
        try:
            egress = Egress(CEILING, private_addresses=False)
            self._link, address, _ = await opened_link(context.engine, spec.project, folder, StartValues(), egress, self)
            program = Program(
                project=spec.project,
                deploy=spec.id,
                start=self._start,
                run=spec.id,
                mode="run" if spec.kind == "job" else "serve",
                package=package,
                entry=spec.entry,
                ceiling=CEILING,
                link=folder,
                cache=None,  # that of a running version is its own
                memory_mb=spec.memory_mb,
                disk_mb=spec.disk_mb,
                scratch=True,
                address=address,
            )
            starting = asyncio.ensure_future(context.engine.start(program))
            try:
                running = await asyncio.shield(starting)
            except asyncio.CancelledError:  # it is started to its end: else nobody could remove what that made
                with suppress(EngineError):
                    running = await starting
                raise
            exit = await self._until_the_end(running)
        finally:
            if running is not None:
                await context.leftovers.remove(running)
            for task in list(self._denying):
                task.cancel()
            await asyncio.gather(*self._denying, return_exceptions=True)
            if self._link is not None:
                await self._link.close()
            shutil.rmtree(folder, ignore_errors=True)
        return self._seen(exit)

    async def _package(self) -> Any:
        spec, pause = self._spec, BackOff(0.5, 30.0)
        deploy = DeploySpec(
            id=spec.id, number=0, package_hash=spec.package_hash, entry=spec.entry, kind=spec.kind, ceiling=CEILING
        )
        while True:
            try:
                package, _ = await self._context.prepared(deploy)
                return package
            except ServiceAway:
                await asyncio.sleep(pause.next())

    async def _until_the_end(self, running: Running) -> Exit | None:
        """How the program has ended; ``None`` where its time was up."""
        reading = asyncio.ensure_future(self._read(running))
        try:
            try:
                async with asyncio.timeout(self._spec.seconds):
                    exit: Exit | None = await running.wait()
            except TimeoutError:
                await running.stop(GRACE)
                exit = None
            if not await read_to_the_end(reading, lambda: self._printed.count, LAST_LINES_SECONDS):
                self._printed.cut()
            return exit
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)

    async def _read(self, running: Running) -> None:
        async for _, line in running.lines(None):
            self._printed.take(line.at, line.stream, line.text)

    def _seen(self, exit: Exit | None) -> RehearsalReport:
        return replace(
            _report(self._spec, "timed_out" if exit is None else "ended"),
            detail="" if exit is None else _REASONS.get(exit.reason, ""),
            output=self._printed.output,
            exit_code=None if exit is None or exit.reason else exit.code,
            tried=tuple(self._tried.values()),
            more=self._more,
        )

    # ---- what the link tells ---------------------------------------------------------------------------------------------

    def ready(self) -> None:
        """It serves, works, or has begun to run: nobody asks anything of it."""

    def audit(self, record: Mapping[str, Any], witness: Literal["program", "runner"]) -> None:
        """A capability was checked. What is only declared was not tried, what comes with every program does not count, and a
        gate is counted when it opens."""
        if record.get("granted") is not False or record.get("source") in ("ceiling", AMBIENT):
            return
        if record.get("capability") == "human":
            return
        line = record.get("line")
        file = _text(record.get("file")).removeprefix(f"{APP}/")
        self._take(
            Tried(
                capability=_text(record.get("capability")) or "?",
                scope=_text(record.get("scope")) or None,
                file=file,
                line=line if isinstance(line, int) and 0 < line < 2**31 else None,
                source=_text(record.get("source")) if witness == "program" else "",
            )
        )

    def gate_opened(self, gate: GateAsked) -> None:
        """A person is asked: nobody agrees, and an ``ask`` gets the empty answer."""
        assert self._link is not None
        if gate.token in self._tokens:
            return
        self._tokens[gate.token] = None
        while len(self._tokens) > MOST_TOKENS:
            del self._tokens[next(iter(self._tokens))]
        self._take(Tried(capability=gate.kind, scope=gate.message[:_LONGEST_TEXT]))
        decision, value = (None, "") if gate.kind == "ask" else (False, None)
        work = self._link.decide(gate.id, decision=decision, value=value, seconds=_DENY_SECONDS)
        task = asyncio.get_running_loop().create_task(work)
        self._denying.add(task)
        task.add_done_callback(self._denying.discard)

    def gate_closed(self, gate: str, outcome: str, channel: str, value: str | None) -> None:
        """A gate has ended."""

    def lost(self) -> None:
        """The link broke; whether the program is gone, the engine says."""

    def _take(self, tried: Tried) -> None:
        key = tried.capability, tried.scope
        known = self._tried.get(key)
        if known is not None:
            self._tried[key] = replace(known, count=known.count + 1)
        elif len(self._tried) < MOST_TRIED:
            self._tried[key] = tried
        else:
            self._more += 1


def _report(spec: RehearsalSpec, status: Any, *, detail: str = "") -> RehearsalReport:
    return RehearsalReport(project=spec.project, rehearsal=spec.id, status=status, detail=detail)


def _text(value: object) -> str:
    return value[:_LONGEST_TEXT] if isinstance(value, str) else ""
