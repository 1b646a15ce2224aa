"""One start of a program: its link, its output, its audit, its gates, until it has ended and nothing is left of it."""

from __future__ import annotations

import asyncio
import secrets
import shutil
from collections.abc import Awaitable, Collection, Mapping
from contextlib import suppress
from typing import Any, Literal, TypeVar
from urllib.parse import urlsplit

from runner.audit import AuditDesk
from runner.context import Context, tell
from runner.engines import EngineError, Exit, Position, Program, Running
from runner.gates import GateDesk, opened_report
from runner.links import Egress, GateAsked, Link, LinkState, StartValues
from runner.logs import Allowance, Printed
from runner.moments import unix_milliseconds
from runner.packages import PackageBroken
from runner.protocol import DeploySpec, GateOpened, ProjectSpec, from_json, to_json
from runner.service import ServiceRefuses
from runner.state import KeptStart
from runner.webhooks import PUBLIC_URL, Webhook, WebhookRefused

#: Seconds that a program has to be ready.
READY_SECONDS = 120.0
#: Seconds between being asked to end and being ended.
GRACE = 10.0
#: Seconds after its end in which the last of its output is read.
LAST_LINES_SECONDS = 5.0
#: Who is believed about where a request came from: whoever connects to the socket that the program was handed.
TRUSTED = ("unix:",)

T = TypeVar("T")


class NotStarted(Exception):
    """A program did not start; the text is the reason, with the last lines that it printed."""

    def __init__(self, reason: str, exit: Exit | None = None) -> None:
        super().__init__(reason)
        self.reason, self.exit = reason, exit


class Started:
    """A start of one version of a project.

    Args:
        spec: what is wanted of the project.
        deploy: the version.
        gates: the project's.
        allowance: the project's.
        run: id and attempt of the run, of a job.
        kept: what is remembered of it from before the runner was started.
    """

    def __init__(
        self,
        context: Context,
        spec: ProjectSpec,
        deploy: DeploySpec,
        gates: GateDesk,
        allowance: Allowance,
        *,
        run: tuple[str, int] | None = None,
        start: str | None = None,
    ) -> None:
        self._context, self._spec, self.deploy = context, spec, deploy
        self._gates = gates
        self.run = run
        self.start = start or secrets.token_hex(8)
        loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[Exit] = loop.create_future()
        self.is_ready = asyncio.Event()
        self.began_at = loop.time()
        self.paused_since: float | None = None
        self._tokens: set[str] = set()
        self.printed = Printed(spec.project, allowance, context.spool.append, self._known_tokens, run[0] if run else None)
        self._audit = AuditDesk(spec.project, deploy.id, context.spool.append)
        self._webhook = Webhook({PUBLIC_URL: spec.url, **deploy.variables, **deploy.secrets}, context.settings.webhook_hosts)
        self._running: Running | None = None
        self._link: Link | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._position: Position | None = None

    # ---- its life -------------------------------------------------------------------------------------------------------

    async def launch(self, listening: Any = None) -> None:
        """Starts it. After a failure nothing is left of it.

        Args:
            listening: the listening socket that a web program gets.

        Errors: ``NotStarted``; ``ServiceAway`` where its package cannot be fetched now.
        """
        context, spec, deploy = self._context, self._spec, self.deploy
        try:
            package, cache = await context.prepared(deploy)
            folder = context.link_folder(self.start)
            folder.mkdir(mode=0o755)
            await self._open_link(listening, None)
            context.state.starts[self.start] = KeptStart(
                project=spec.project,
                deploy=deploy.id,
                generation=spec.generation,
                kind=deploy.kind,
                ceiling=deploy.ceiling,
                private_addresses=spec.limits.private_addresses,
                run=self.run[0] if self.run else None,
                attempt=self.run[1] if self.run else 0,
            )
            context.state.dirty = True
            program = Program(
                project=spec.project,
                deploy=deploy.id,
                start=self.start,
                run=self.run[0] if self.run else None,
                mode="run" if self.run else "serve",
                package=package,
                entry=deploy.entry,
                ceiling=deploy.ceiling,
                link=folder,
                cache=cache,
                memory_mb=spec.limits.memory_mb,
                disk_mb=spec.limits.disk_mb,
            )
            self.began_at = asyncio.get_running_loop().time()
            self._running = await self._whole(context.engine.start(program))
            self._watch()
        except (EngineError, PackageBroken, ServiceRefuses, OSError, ValueError) as error:
            await self.discard()
            raise NotStarted(f"The program could not be started: {error}.") from None
        except BaseException:
            await self.discard()
            raise

    async def adopt(self, running: Running, kept: KeptStart) -> None:
        """Takes up a program that went on while the runner was gone. Errors: ``OSError``."""
        self._running = running
        self._position = None if kept.position is None else Position(*kept.position)
        await self._open_link(None, LinkState.from_json(kept.link))
        assert self._link is not None
        self._tokens.update(self._link.state.gates.values())
        for gate in kept.gates.values():  # a decision may be there before the program is back
            self._gates.opened(from_json(GateOpened, gate), self._link, self.start)
        if self._link.state.ready:
            self.is_ready.set()
        if running.paused:
            self.paused_since = self.began_at
        self._watch()

    async def until_ready(self, seconds: float = READY_SECONDS) -> bool:
        """Waits until it is ready, and says whether it is; ``False`` after so many seconds.

        Errors: ``NotStarted`` when it has ended before.
        """
        ready: asyncio.Future[Any] = asyncio.ensure_future(self.is_ready.wait())
        try:
            waited: set[asyncio.Future[Any]] = {ready, self.ended}
            await asyncio.wait(waited, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ready.cancel()
        if self.ended.done() and not self.is_ready.is_set():
            exit = self.ended.result()
            raise NotStarted(self.reason(exit), exit)
        return self.is_ready.is_set()

    async def stop(self, grace: float = GRACE) -> None:
        """Ends it and removes what is left."""
        if self._link is not None and self._running is not None and not self.ended.done():
            await self._link.stop(grace)
            with suppress(EngineError):
                await self._running.stop(grace)
            await asyncio.wait({self.ended}, timeout=LAST_LINES_SECONDS + 1)
        await self.discard()

    async def hand_over(self, seconds: float) -> None:
        """Lets it finish what is under way, for so many seconds: another program has its listening socket. Then ends it."""
        if self._link is not None and not self.ended.done():
            if self.paused_since is not None and self._running is not None:
                with suppress(EngineError):
                    await self._running.resume()
            await self._link.drain()
            await asyncio.wait({self.ended}, timeout=seconds)
        await self.stop()

    async def pause(self) -> None:
        """Freezes it. Errors: ``EngineError``."""
        assert self._running is not None
        self.paused_since = asyncio.get_running_loop().time()
        try:
            await self._running.pause()
        except EngineError:
            self.paused_since = None
            raise

    async def resume(self) -> None:
        """Lets it go on. Errors: ``EngineError``."""
        assert self._running is not None
        await self._running.resume()
        self.paused_since = None

    async def discard(self) -> None:
        """Removes everything of it, whatever its state. The volume stays."""
        if self._running is not None:
            try:
                await self._running.remove()
            except EngineError as error:
                tell(f"what is left of a program of {self._spec.project} cannot be removed: {error.reason}")
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._link is not None:
            await self._link.close()
        self._finish(Exit(None, "removed"))
        shutil.rmtree(self._context.link_folder(self.start), ignore_errors=True)
        if self._context.state.starts.pop(self.start, None) is not None:
            self._context.state.dirty = True

    async def leave(self) -> None:
        """Lets go of a program that outlives the runner."""
        self._remember()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._link is not None:
            await self._link.close()

    def remember_until(self, seconds: float) -> None:
        """Remembers that its time is up in so many seconds, for a runner that takes it up."""
        kept = self._context.state.starts.get(self.start)
        if kept is not None:
            kept.until = unix_milliseconds() + int(seconds * 1000)
            self._context.state.dirty = True

    def reason(self, exit: Exit) -> str:
        """Why it has ended, for people: a sentence, then the last lines that it printed."""
        said = _REASONS.get(exit.reason)
        if said is None:
            said = "was ended by a signal" if exit.code is None else f"ended with exit code {exit.code}"
            said += f" ({exit.reason})" if exit.reason else ""
        tail = self.printed.tail
        return f"The program {said}." + (f"\n{tail}" if tail else "")

    @property
    def running(self) -> Running | None:
        """The engine's record of it."""
        return self._running

    # ---- what the link tells ---------------------------------------------------------------------------------------------

    def ready(self) -> None:
        """It serves, works, or has begun to run."""
        self._remember(at_once=True)
        self.is_ready.set()

    def audit(self, record: Mapping[str, Any], witness: Literal["program", "runner"]) -> None:
        """A capability was checked."""
        self._audit.take(record, witness)
        self._remember()

    def gate_opened(self, gate: GateAsked) -> None:
        """A person is asked."""
        assert self._link is not None
        self._tokens.add(gate.token)
        report = opened_report(self._spec.project, self.deploy.id, self.run[0] if self.run else None, gate)
        if self._gates.opened(report, self._link, self.start) and self._webhook.is_set:
            self._spawn(self._tell_webhook(gate))
        kept = self._context.state.starts.get(self.start)
        if kept is not None:
            kept.gates[gate.id] = to_json(report)
        self._remember(at_once=True)

    def gate_closed(self, gate: str, outcome: str, channel: str, value: str | None) -> None:
        """A gate has ended."""
        self._gates.closed(gate, outcome, channel, value)  # type: ignore[arg-type]
        kept = self._context.state.starts.get(self.start)
        if kept is not None:
            kept.gates.pop(gate, None)
        self._remember(at_once=True)

    def lost(self) -> None:
        """The link broke; whether the program is gone, the engine says."""

    # ---- parts -----------------------------------------------------------------------------------------------------------

    async def _open_link(self, listening: Any, kept: LinkState | None) -> None:
        spec, deploy = self._spec, self.deploy
        egress = Egress(deploy.ceiling, private_addresses=spec.limits.private_addresses, llm=model_place(deploy))
        values = start_values(spec, deploy)
        self._link = Link(self._context.link_folder(self.start), values, egress, self, listening=listening, kept=kept)
        await self._link.open()

    def _watch(self) -> None:
        assert self._running is not None
        reading = self._spawn(self._read(self._running))
        self._spawn(self._wait(self._running, reading))

    async def _read(self, running: Running) -> None:
        async for position, line in running.lines(self._position):
            self.printed.take(line.at, line.stream, line.text)
            self._position = position
            if self._context.engine.outlives_runner:
                self._remember()

    async def _wait(self, running: Running, reading: asyncio.Task[None]) -> None:
        exit = await running.wait()
        await asyncio.wait({reading}, timeout=LAST_LINES_SECONDS)
        self._finish(exit)

    def _finish(self, exit: Exit) -> None:
        if self.ended.done():
            return
        self.printed.flush()
        self._audit.flush()
        self._gates.ended(self.start)
        self.ended.set_result(exit)

    async def _tell_webhook(self, gate: GateAsked) -> None:
        try:
            await self._webhook.send(gate)
        except WebhookRefused as error:
            self.printed.say(f"The approval webhook could not be delivered ({error}). The gate waits all the same.")

    def _remember(self, *, at_once: bool = False) -> None:
        kept = self._context.state.starts.get(self.start)
        if kept is None or self._link is None:
            return
        kept.link = self._link.state.to_json()
        kept.position = None if self._position is None else [self._position.at, self._position.count]
        self._context.state.dirty = True
        if at_once and self._context.engine.outlives_runner:
            self._context.state.save(onto_disk=False)

    def _known_tokens(self) -> Collection[str]:
        return self._tokens

    def _spawn(self, work: Any) -> asyncio.Task[None]:
        task: asyncio.Task[None] = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _whole(self, work: Awaitable[Running]) -> Running:
        """A start of the engine, to its end even when nobody wants it any more: else nobody could remove what it made."""
        task = asyncio.ensure_future(work)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            with suppress(EngineError):
                self._running = await task
            raise


_REASONS = {
    "memory": "took more memory than it may, and was ended",
    "disk": "has filled its volume, and was ended",
    "stopped": "was stopped",
}


def start_values(spec: ProjectSpec, deploy: DeploySpec) -> StartValues:
    """What a program is given. Settings of the platform come apart from what the program reads itself."""
    settings = {**deploy.variables, **deploy.secrets}
    model = {name: value for name, value in settings.items() if name.startswith("PLATFORM_LLM_")}
    return StartValues(
        env={name: value for name, value in deploy.variables.items() if not name.startswith("PLATFORM_")},
        secrets={name: value for name, value in deploy.secrets.items() if not name.startswith("PLATFORM_")},
        public_url=spec.url,
        trust_proxy=TRUSTED if spec.kind == "web" else (),
        human_timeout=_seconds(settings.get("PLATFORM_HUMAN_TIMEOUT", "")),
        llm=model or None,
    )


def model_place(deploy: DeploySpec) -> tuple[str, int] | None:
    """Host and port of the model provider that a version names by ``PLATFORM_LLM_BASE_URL``."""
    url = {**deploy.variables, **deploy.secrets}.get("PLATFORM_LLM_BASE_URL", "")
    try:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            return None
        return parts.hostname.lower(), parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        return None


def _seconds(text: str) -> float | None:
    try:
        found = float(text)
    except ValueError:
        return None
    return found if 0 < found < 1e10 else None
