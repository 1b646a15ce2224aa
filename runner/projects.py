"""A project on this runner: a task that makes what is wanted of it so, and says how far that is."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any

from runner.backends import StartFailed, Unavailable
from runner.beside import Endings, while_wanted
from runner.context import Context, tell
from runner.engines import EngineAway, EngineError, Exit, Usage
from runner.gates import GateDesk
from runner.held_requests import ANSWER_SECONDS, HeldRequests
from runner.logs import Allowance
from runner.moments import unix_milliseconds
from runner.protocol import DecisionSpec, DeploySpec, LogLine, Phase, PhaseReport, ProjectSpec, RunSpec
from runner.runs import Runs
from runner.service import BackOff, ServiceAway
from runner.started import READY_SECONDS, NotStarted, Started
from runner.wanted import (
    Ended,
    Erase,
    Pause,
    Prepare,
    Rest,
    Resume,
    Seen,
    Start,
    Stop,
    Tell,
    Up,
    after_exit,
    decide,
    is_exclusive,
)

#: A worker that has run for so many seconds counts as working, ready or not.
WORKER_SECONDS = 3.0
#: Seconds that the program before gets to finish what is under way, beside the new one.
HAND_OVER_SECONDS = 30.0
#: Seconds until a machine that is away is asked for again.
AWAY_SECONDS = 2.0
#: Seconds that programs get to end when the runner itself ends.
LAST_GRACE = 5.0
#: Characters of a reason.
LONGEST_DETAIL = 4_000


class Project:
    """What the runner does for one project.

    Args:
        spec: what is wanted at first.
        gone: called when nothing is left of it.
    """

    def __init__(self, context: Context, spec: ProjectSpec, gone: Callable[[str], Awaitable[None]]) -> None:
        self._context, self.spec, self._gone = context, spec, gone
        self.id = spec.project
        loop = asyncio.get_running_loop()
        self._clock = loop.time
        self.gates = GateDesk(spec.project, context.spool.append)
        self.allowance = Allowance(loop.time)
        self.runs = Runs(context, spec.project, self.gates, self.allowance, self._version_for_runs)
        self._changed = asyncio.Event()
        self._up: Started | None = None
        self._endings = Endings(spec.project, self._changed.set)
        self._good: DeploySpec | None = None
        self._prepared: str | None = None
        self._erased = False
        self._told: tuple[int, str] | None = None
        self._crashes: Ended | None = None
        self._not_before = 0.0
        self._pause = BackOff(0.5, 60.0)
        #: what was last said to wait for
        self._waits = ""
        self._listening: socket.socket | None = None
        self._place = str(context.socket_path(spec.project))
        self._held = HeldRequests(loop.time)
        #: grows with every exchange of the program that listens
        self.epoch = 0
        self._task: asyncio.Task[None] | None = None

    # ---- what it is told --------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Begins to make it so."""
        self._task = asyncio.get_running_loop().create_task(self._converge())

    def update(self, spec: ProjectSpec) -> None:
        """Something else is wanted. What is older than what is known changes nothing."""
        if spec.generation < self.spec.generation:
            return
        before = self.spec.deploy.id if self.spec.deploy else None
        if spec.generation > self.spec.generation:
            self._erased = False
            if spec.deploy is not None and spec.deploy.id != before:
                self._crashes, self._not_before = None, 0.0
                self._pause.reset()
        self.spec = spec
        if self._good is not None and spec.deploy is not None and spec.deploy.id == self._good.id:
            self._good = spec.deploy  # with the version of the language that it went live with
        self._changed.set()
        self.runs.kick()

    def run(self, run: RunSpec) -> None:
        """A run is wanted, or not any more."""
        self.runs.update(run)

    def decide_gate(self, decision: DecisionSpec) -> None:
        """A gate was decided."""
        self.gates.decide(decision)

    async def adopt(self, started: Started) -> None:
        """Takes over a program that kept running while the runner was down. Errors: ``OSError``; nothing has changed then."""
        if self.spec.kind == "web" and started.is_reached_over_tcp:
            started.pass_on(self._socket())
        self._up = started
        self._good = started.deploy
        self._follow(started)

    async def close(self, *, leave: bool) -> None:
        """Ends the task, and the programs unless they are left to go on."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self._held.fail(Unavailable("the runner is ending"))
        await self.runs.close(leave=leave)
        if self._up is not None:
            await (self._up.leave() if leave else self._up.stop(LAST_GRACE))
        if leave:
            self._endings.cancel()
        await self._endings.wait()
        await self.gates.close()
        if self._listening is not None:
            self._listening.close()

    @property
    def up(self) -> Started | None:
        """The program that is up."""
        return self._up

    @property
    def packages(self) -> set[str]:
        """The hashes of what may be started next: the version that is wanted, and the one to fall back to."""
        wanted = self.spec.deploy
        if wanted is None:
            return set()
        return {wanted.package_hash} | ({self._good.package_hash} if self._good is not None else set())

    async def usage(self) -> Usage | None:
        """What the program takes; ``None`` where none is up. Errors: ``EngineError``."""
        up = self._up
        if up is None or up.running is None or up.ended.done():
            return None
        return await up.running.usage()

    @property
    def requests(self) -> int:
        """Those since the program was started."""
        return self._held.count

    @property
    def last_request_at(self) -> int | None:
        """When the last one came, in Unix milliseconds; ``None`` before the first."""
        return self._held.last_at

    @property
    def project(self) -> str:
        """Its id."""
        return self.id

    @property
    def slug(self) -> str:
        """Its name in addresses."""
        return self.spec.slug

    @property
    def port(self) -> int | None:
        """The port where it is reached, where projects are distinguished by ports."""
        return self.spec.port

    @property
    def public_url(self) -> str:
        """Where it is reached from outside."""
        return self.spec.url

    # ---- requests ---------------------------------------------------------------------------------------------------------

    def enter_at_once(self) -> str | None:
        """The path of the listening socket, where the program is up and not paused."""
        up = self._up
        if up is None or up.paused_since is not None or not up.is_ready.is_set() or up.ended.done():
            return None
        self._held.used()
        return self._place

    async def enter(self) -> str:
        """The same, after waiting for the program. Errors: ``StartFailed``, ``StartTimeout``, ``Unavailable``."""
        path = self.enter_at_once()
        if path is not None:
            return path
        if self.spec.desired != "up" or self.spec.kind != "web":
            raise Unavailable("the project is not up")
        if self._is_settled and self._fallback() is None:
            raise StartFailed("the program has failed")
        return await self._held.held(self.enter_at_once, self._changed.set)

    def leave(self) -> None:
        """A request has ended."""
        self._held.leave()

    # ---- making it so ------------------------------------------------------------------------------------------------------

    async def _converge(self) -> None:
        while True:
            self._changed.clear()
            try:
                if not await self._step():
                    return
            except ServiceAway as error:
                # Packages are fetched from the service: it is back some time.
                await self._rest(self._clock() + self._pause.next())
                tell(f"project {self.id} waits for the service: {error}")
            except EngineAway as error:
                # Nothing has failed: the machine is back some time.
                if self._waits != error.reason:
                    self._waits = error.reason
                    self._say(f"The program is not started now: {error.reason}.")
                    tell(f"project {self.id}: {error}")
                await self._rest(self._clock() + AWAY_SECONDS)
            except Exception as error:  # of whatever kind: what is wanted of the project is tried again
                tell(f"project {self.id}: {error if isinstance(error, (EngineError, OSError)) else repr(error)}")
                await self._rest(self._clock() + self._pause.next())

    async def _step(self) -> bool:
        self._note_end()
        action = decide(self.spec, self._seen(), self._clock(), self._context.settings.patience)
        match action:
            case Rest(until):
                if self._erased and self.spec.desired == "erased":
                    self._context.state.projects.pop(self.id, None)
                    self._context.state.dirty = True
                    self._context.spool.turn()
                    await self._gone(self.id)
                    return False
                await self._rest(until)
            case Tell(phase):
                self._report(phase)
            case Start(fallback):
                await self._start(fallback=fallback)
            case Prepare():
                await self._prepare()
            case Stop(why):
                await self._stop(why)
            case Pause():
                if self._up is not None:
                    await self._up.pause()
            case Resume():
                if self._up is not None:
                    await self._up.resume()
                    self._held.resumed()
                    self._held.let_in()
            case Erase():
                await self._erase()
        return True

    def _seen(self) -> Seen:
        kept = self._context.state.project(self.id)
        up = self._up
        return Seen(
            up=None if up is None else Up(up.deploy.id, up.paused_since, up.deploy.has_cron or up.deploy.has_agents),
            exclusive=up is not None and (self.spec.kind != "web" or is_exclusive(up.deploy)),
            remains=bool(self._endings) or (self.runs.is_busy and self.spec.desired != "up"),
            sleeps=kept.sleeps,
            fallback=self._fallback(),
            prepared=self._prepared,
            erased=self._erased,
            settled=kept.settled,
            told=self._told,
            asked=self._held.is_asked,
            idle_since=None if self.gates.pending else self._held.idle_since,
            not_before=self._not_before,
        )

    @property
    def _is_settled(self) -> bool:
        return self._context.state.project(self.id).settled == self.spec.generation

    def _fallback(self) -> str | None:
        wanted = self.spec.deploy
        if not self._is_settled or self._good is None or wanted is None or self._good.id == wanted.id:
            return None
        return self._good.id

    async def _rest(self, until: float | None) -> None:
        timeout = None if until is None else max(0.0, until - self._clock())
        with suppress(TimeoutError):
            await asyncio.wait_for(self._changed.wait(), timeout)

    def _report(self, phase: Phase, detail: str = "") -> None:
        self._told = (self.spec.generation, phase)
        self._context.spool.append(
            PhaseReport(
                project=self.id,
                generation=self.spec.generation,
                phase=phase,
                detail=detail[:LONGEST_DETAIL],
                engine=self._context.version,
            )
        )

    async def _while_wanted(self, work: Coroutine[Any, Any, None], *deploys: str) -> bool:
        """Does something, to its end or until none of these versions is wanted any more; says whether it came to its end."""

        def is_wanted() -> bool:
            wanted = self.spec.deploy.id if self.spec.desired == "up" and self.spec.deploy else None
            return wanted in deploys

        return await while_wanted(work, self._changed, is_wanted)

    async def _prepare(self) -> None:
        deploy = self.spec.deploy
        assert deploy is not None

        async def prepare() -> None:
            await self._context.prepared(deploy)

        try:
            if await self._while_wanted(prepare(), deploy.id):
                self._prepared = deploy.id
                self._pause.reset()
                self._context.released.set()
                self.runs.kick()
        except (ServiceAway, EngineAway):
            raise
        except Exception as error:
            self._settle("failed", f"The version cannot be prepared: {error}")
            if not isinstance(error, (EngineError, OSError, ValueError)):
                tell(f"project {self.id}: {error!r}")

    async def _start(self, *, fallback: bool) -> None:
        spec = self.spec
        deploy = self._good if fallback else spec.deploy
        assert deploy is not None and spec.deploy is not None
        kept = self._context.state.project(self.id)
        good = kept.good == deploy.id
        started = Started(self._context, spec, deploy, self.gates, self.allowance)
        try:
            if not await self._while_wanted(self._come_up(started, spec.kind), spec.deploy.id, deploy.id):
                return
        except NotStarted as failure:
            self._not_started(deploy, failure, good=good, fallback=fallback)
            return
        self._pause.reset()
        self._context.show(self.id)
        self._waits = ""
        before, self._up = self._up, started
        self._good = deploy
        self.epoch += 1
        self._held.begun()
        kept.good, kept.sleeps = deploy.id, None
        if not fallback:
            kept.settled = None
        self._context.state.dirty = True
        self._follow(started)
        if before is not None:
            self._endings.add(before.hand_over(HAND_OVER_SECONDS))
        self._context.released.set()
        self._held.let_in()

    async def _come_up(self, started: Started, kind: str) -> None:
        try:
            await started.launch(self._socket() if kind == "web" else None)
            if kind == "web":
                if not await started.until_ready(READY_SECONDS):
                    raise NotStarted(f"The program was not ready within {READY_SECONDS:.0f} seconds.\n{started.printed.tail}")
            else:
                await started.until_ready(WORKER_SECONDS)
        except BaseException:
            await started.discard()
            raise

    def _socket(self) -> socket.socket:
        if self._listening is None:
            self._listening = self._context.listen(self.id)
        return self._listening

    def _not_started(self, deploy: DeploySpec, failure: NotStarted, *, good: bool, fallback: bool) -> None:
        exit = failure.exit or Exit(None, "")
        self._end_of(deploy, exit, failure.reason, good=good, up_seconds=0.0, fallback=fallback)
        if fallback or self._fallback() is None:  # else the version before is started again, and answers what waits
            self._held.fail(StartFailed(failure.reason))

    def _note_end(self) -> None:
        """The program that was up has ended."""
        up = self._up
        if up is None or not up.ended.done():
            return
        self._up = None
        self.epoch += 1
        exit = up.ended.result()
        self._endings.add(up.discard())
        wanted = self.spec.deploy
        if self.spec.desired != "up" or wanted is None:
            return
        seconds = self._clock() - up.began_at
        fallback = up.deploy.id != wanted.id
        self._end_of(up.deploy, exit, up.reason(exit), good=True, up_seconds=seconds, fallback=fallback)

    def _end_of(self, deploy: DeploySpec, exit: Exit, reason: str, *, good: bool, up_seconds: float, fallback: bool) -> None:
        code = None if exit.reason else exit.code
        ended = after_exit(deploy.kind, code, good=good, up_seconds=up_seconds, before=self._crashes, now=self._clock())
        self._crashes = ended
        self._not_before = ended.not_before
        if ended.outcome == "again":
            self._say(f"{reason.partition(chr(10))[0]} It is started again.")
        elif fallback:
            self._good = None
        else:
            self._settle(ended.outcome, "" if ended.outcome == "done" else reason)

    def _settle(self, phase: Phase, detail: str) -> None:
        """The wanted generation has come to its end: it is not tried again."""
        kept = self._context.state.project(self.id)
        kept.settled = self.spec.generation
        if self.spec.deploy is not None and kept.good == self.spec.deploy.id:
            kept.good = None
        self._not_before = 0.0
        self._report(phase, detail)
        self._context.state.save()

    def _say(self, text: str) -> None:
        self._context.spool.append(LogLine(project=self.id, at=unix_milliseconds(), line=text, stream="system"))

    async def _stop(self, why: str) -> None:
        up, self._up = self._up, None
        kept = self._context.state.project(self.id)
        self.epoch += 1
        if why == "down":
            self._prepared = None
            self._held.fail(Unavailable("the project was stopped"))
            await self.runs.end_all()
        if up is not None:
            if why != "down" and not await self._held.answered(up.ended):
                self._say(f"The program is ended with requests that it did not answer within {ANSWER_SECONDS:g} seconds.")
            await up.stop()
        if why == "sleep" and up is not None:
            kept.sleeps = up.deploy.id
            self._context.state.dirty = True
        if why == "down":
            self._close_socket()
            kept.sleeps = None
        await self._endings.wait()

    async def _erase(self) -> None:
        await self._stop("down")
        self._prepared = None
        for told in self._context.before_erasure:
            await told(self.id)
        await self._context.engine.erase(self.id)
        self._close_socket()
        self._erased = True
        self._good = None

    def _close_socket(self) -> None:
        if self._listening is not None:
            self._listening.close()
            self._listening = None
        self._context.hide(self.id)

    def _follow(self, started: Started) -> None:
        started.ended.add_done_callback(lambda _: self._changed.set())

    def _version_for_runs(self, deploy: str) -> tuple[ProjectSpec, DeploySpec] | None:
        spec = self.spec
        if spec.desired != "up" or spec.deploy is None or spec.deploy.id != deploy or self._prepared != deploy:
            return None
        return spec, spec.deploy
