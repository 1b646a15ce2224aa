"""One start of a program: its link, its output, its audit, its gates, until it has ended and nothing is left of it."""

from __future__ import annotations

import asyncio
import secrets
import shutil
import socket
from collections.abc import Awaitable, Collection, Mapping
from contextlib import suppress
from ipaddress import IPv4Network, IPv6Network
from typing import Any, Literal, TypeVar

from language import Ceiling
from language.host_link import model_place
from runner.audit import AuditDesk
from runner.context import Context, tell
from runner.engines import EngineAway, EngineError, Exit, Network, Position, Program, Running
from runner.gates import GateDesk, kept_gate, opened_report, report_kept
from runner.links import Egress, Forwarding, GateAsked, Link, LinkState, StartValues
from runner.logs import Allowance, Printed, read_to_the_end
from runner.opened_links import SERVICE_PORT, TRUSTED, opened_link
from runner.packages import PackageBroken
from runner.protocol import DeploySpec, LogLine, ProjectSpec
from runner.service import ServiceRefuses
from runner.state import KeptStart
from runner.webhooks import PUBLIC_URL, Webhook, WebhookRefused

#: Seconds that a program has to be ready.
READY_SECONDS = 120.0
#: Seconds between being asked to end and being ended.
GRACE = 10.0
#: Seconds without a line after which no more of the output of a program that has ended is read. An engine may have to pass over
#: megabytes that were told before.
LAST_LINES_SECONDS = 30.0
#: Tokens of gates that are kept out of the log, the newest, and webhooks that wait to be sent.
MOST_TOKENS, MOST_WEBHOOKS = 10_000, 1_000
#: With these in its ceiling, and no others, a program can write nothing that is still there at its next start.
WRITES_NOTHING = frozenset({"net", "file.read", "env", "time", "random", "stdout", "stdin", "llm", "serve", "secret", "reveal"})

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
        start: the id of a start that a runner before this one has made; a new one is made without it.
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
        self._tokens: dict[str, None] = {}
        self.printed = Printed(spec.project, allowance, self._keep, self._known_tokens, run[0] if run else None)
        self._audit = AuditDesk(spec.project, deploy.id, context.spool.append)
        self._names = context.names(spec.project)
        settings = {PUBLIC_URL: spec.url, **deploy.variables, **deploy.secrets}
        self._webhook = Webhook(settings, context.settings.webhook_hosts, self._names)
        self._running: Running | None = None
        self._link: Link | None = None
        self._network: Network | None = None
        self._forwarding: Forwarding | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._webhooks = 0
        self._position: Position | None = None
        context.hold(deploy.package_hash)
        self._holds = True

    # ---- from start to end ----------------------------------------------------------------------------------------------

    async def launch(self, listening: Any = None) -> None:
        """Starts it. After a failure nothing is left of it.

        Args:
            listening: the listening socket that a web program gets.

        Errors: ``NotStarted``; ``ServiceAway`` where its package cannot be fetched now, ``EngineAway`` where its machine is
        away.
        """
        context, spec, deploy = self._context, self._spec, self.deploy
        try:
            engine = await context.engine.engine_for(deploy.engine)
            if deploy.engine not in ("", engine):
                self.printed.say(
                    f"This version went live with version {deploy.engine} of the language, which is not on this runner: "
                    f"it is started with {engine}."
                )
            package, cache = await context.prepared(deploy, engine)
            folder = context.link_folder(self.start)
            folder.mkdir(mode=0o755)
            address = await self._open_link(listening, None)
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
            self._remember()
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
                engine=engine,
                address=address,
                keeps_data=keeps_data(deploy.ceiling),
            )
            self.began_at = asyncio.get_running_loop().time()
            self._running = await self._whole(context.engine.start(program))
            self._watch()
            if listening is not None and self.is_reached_over_tcp:
                self._spawn(self._pass_on_once_ready(listening))
        except EngineAway:
            await self.discard()
            raise
        except (EngineError, PackageBroken, ServiceRefuses, OSError, ValueError) as error:
            await self.discard()
            raise NotStarted(f"The program could not be started: {error}.") from None
        except BaseException:
            await self.discard()
            raise

    async def adopt(self, running: Running, kept: KeptStart) -> None:
        """Takes over a program that kept running while the runner was down.

        Errors: ``EngineError`` and ``OSError`` where that cannot be now.
        """
        self._running = running
        self._gates.taken_up()
        # The lines that are kept may be ahead of the state, which is written less often.
        known = [tuple(kept.position or ()), self._context.spool.streams["logs"].origins.get(self.start, ())]
        self._position = Position(*max(known)) if any(known) else None
        await self._open_link(None, LinkState.from_json(kept.link))
        assert self._link is not None
        self._tokens.update(dict.fromkeys(self._link.state.gates.values()))
        for gate in kept.gates.values():  # a decision may be there before the program is back
            self._gates.opened(report_kept(gate), self._link, self.start)
        if self._link.state.ready:
            self.is_ready.set()
        if running.paused:
            self.paused_since = self.began_at
        self._remember()
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
            clock = asyncio.get_running_loop().time
            await self._link.stop(grace)
            began = clock()
            with suppress(EngineError):
                await self._running.stop(grace)
                if clock() - began >= grace:
                    self.printed.say(f"The program did not end within {grace:g} seconds of being asked to, and was ended.")
            await asyncio.wait({self.ended}, timeout=LAST_LINES_SECONDS + 1)
            if not self.ended.done():
                self.printed.cut()
        await self.discard()

    async def hand_over(self, seconds: float) -> None:
        """Lets it finish what is under way, for so many seconds: another program has its listening socket. Then ends it."""
        if self._link is not None and not self.ended.done():
            if self.paused_since is not None and self._running is not None:
                with suppress(EngineError):
                    await self._running.resume()
            if self._forwarding is not None:
                self._forwarding.stop()
            await self._link.drain()
            await asyncio.wait({self.ended}, timeout=seconds)
            if not self.ended.done():
                self.printed.say(
                    f"The version before did not finish what was under way within {seconds:g} seconds, and is ended."
                )
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
            error = await self._context.leftovers.remove(self._running)
            if error is not None:
                tell(f"what is left of a program of {self._spec.project} cannot be removed yet: {error.reason}")
        await self._let_go()
        self._finish(Exit(None, "removed"))
        self._gates.ended(self.start)  # it may have asked just before it ended
        shutil.rmtree(self._context.link_folder(self.start), ignore_errors=True)
        self._context.state.refresh.pop(self.start, None)
        if self._context.state.starts.pop(self.start, None) is not None:
            self._context.state.dirty = True
        self._release()

    def _release(self) -> None:
        if self._holds:
            self._holds = False
            self._context.release(self.deploy.package_hash)

    async def leave(self) -> None:
        """Lets go of a program that goes on: the runner ends, or another ``Started`` takes it up."""
        self._refresh()
        self._context.state.refresh.pop(self.start, None)
        await self._let_go()
        self._release()

    def remember_until(self, seconds: float) -> None:
        """Remembers that its time is up in so many seconds, for a runner that takes it up."""
        kept = self._context.state.starts.get(self.start)
        if kept is not None:
            kept.end_in(seconds)
            self._remember(soon=True)

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
        self._remember()
        if self._context.engine.outlives_runner:
            self._context.state.save(onto_disk=False)
        self.is_ready.set()

    def audit(self, record: Mapping[str, Any], witness: Literal["program", "runner"]) -> None:
        """A capability was checked."""
        self._audit.take(record, witness)
        self._remember()

    def gate_opened(self, gate: GateAsked) -> None:
        """A person is asked."""
        assert self._link is not None
        self._tokens[gate.token] = None
        while len(self._tokens) > MOST_TOKENS:
            del self._tokens[next(iter(self._tokens))]
        report = opened_report(self._spec.project, self.deploy.id, self.run[0] if self.run else None, gate)
        if self._gates.opened(report, self._link, self.start) and self._webhook.is_set:
            if self._webhooks < MOST_WEBHOOKS:
                self._webhooks += 1
                self._spawn(self._tell_webhook(gate))
            else:
                self.printed.say("The approval webhook is too slow for so many gates. The gate waits all the same.")
        remembered = self._context.state.starts.get(self.start)
        if remembered is not None:  # one that is announced again has the deadline that it had
            remembered.gates.setdefault(gate.id, kept_gate(report))
        self._remember(soon=True)

    def gate_closed(self, gate: str, outcome: str, channel: str, value: str | None) -> None:
        """A gate has ended."""
        self._gates.closed(gate, outcome, channel, value)  # type: ignore[arg-type]
        kept = self._context.state.starts.get(self.start)
        if kept is not None:
            kept.gates.pop(gate, None)
        self._remember(soon=True)

    def lost(self) -> None:
        """The link broke; whether the program is gone, the engine says."""

    # ---- parts -----------------------------------------------------------------------------------------------------------

    @property
    def is_reached_over_tcp(self) -> bool:
        """Whether requests have to be passed on to it: it was handed no listening socket."""
        return self._network is not None

    def pass_on(self, listening: socket.socket) -> None:
        """Forwards the connections of a listening socket to it, until it hands over or ends."""
        network = self._network
        assert network is not None and self._forwarding is None
        self._forwarding = Forwarding(listening, lambda: network.connect(self.start, SERVICE_PORT))

    async def _pass_on_once_ready(self, listening: socket.socket) -> None:
        await self.is_ready.wait()
        self.pass_on(listening)

    async def _open_link(self, listening: Any, kept: LinkState | None) -> str:
        """Opens it; its address, empty where that is its socket."""
        spec, deploy = self._spec, self.deploy
        egress = Egress(
            deploy.ceiling, private_addresses=spec.limits.private_addresses, llm=_model_place(deploy), resolver=self._names
        )
        values = start_values(spec, deploy, self._context.settings.trusted_proxies)
        self._link, address, self._network = await opened_link(
            self._context.engine,
            spec.project,
            self._context.link_folder(self.start),
            values,
            egress,
            self,
            listening=listening,
            kept=kept,
        )
        return address

    async def _let_go(self) -> None:
        """Ends what is done for it here."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._forwarding is not None:
            await self._forwarding.close()
        if self._link is not None:
            await self._link.close()

    def _watch(self) -> None:
        assert self._running is not None
        reading = self._spawn(self._read(self._running))
        self._spawn(self._wait(self._running, reading))

    async def _read(self, running: Running) -> None:
        async for position, line in running.lines(self._position):
            self._position = position
            self.printed.take(line.at, line.stream, line.text)
            if self._context.engine.outlives_runner:
                self._remember()

    def _keep(self, line: LogLine) -> None:
        """Keeps a line, and in the same write up to where the output was read: nothing of it is kept twice or left out."""
        position = self._position if self._context.engine.outlives_runner else None
        origin = None if position is None else (self.start, position.at, position.count)
        self._context.spool.append(line, origin=origin)

    async def _wait(self, running: Running, reading: asyncio.Task[None]) -> None:
        try:
            exit = await running.wait()
        except Exception as error:  # without an end its project would wait for ever
            tell(f"the engine does not know how a program of {self._spec.project} has ended: {error!r}")
            exit = Exit(None, "killed")
        if not await read_to_the_end(reading, lambda: self.printed.count, LAST_LINES_SECONDS):
            self.printed.cut()
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
        finally:
            self._webhooks -= 1

    def _remember(self, *, soon: bool = False) -> None:
        """Has the state written, within a moment or within a second. A program that comes back says again what was lost."""
        state = self._context.state
        if self.start not in state.starts:
            return
        state.refresh[self.start] = self._refresh
        state.dirty = True
        if soon and self._context.engine.outlives_runner:
            state.save_soon()

    def _refresh(self) -> None:
        kept = self._context.state.starts.get(self.start)
        if kept is None or self._link is None:
            return
        kept.link = self._link.state.to_json()
        kept.position = None if self._position is None else [self._position.at, self._position.count]

    def _known_tokens(self) -> Collection[str]:
        return self._tokens

    def _spawn(self, work: Any) -> asyncio.Task[None]:
        task: asyncio.Task[None] = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._over)
        return task

    def _over(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            tell(f"a program of project {self._spec.project} is not followed any more: {task.exception()!r}")

    async def _whole(self, work: Awaitable[Running]) -> Running:
        """Completes a start of the engine even when it is no longer wanted: otherwise what it made could not be removed."""
        task = asyncio.ensure_future(work)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            with suppress(EngineError):
                self._running = await task
            raise


#: It would send what a program holds, the data of its users with it, to the provider of its model.
_NOT_DEPLOYED = "PLATFORM_LLM_CONTEXT"
_REASONS = {
    "memory": "took more memory than it may, and was ended",
    "disk": "has filled its volume, and was ended",
    "stopped": "was stopped",
    "machine": "ran on a machine that is gone",
}


def start_values(spec: ProjectSpec, deploy: DeploySpec, proxies: tuple[IPv4Network | IPv6Network, ...]) -> StartValues:
    """What a program is given. Settings of the platform come apart from what the program reads itself.

    Args:
        proxies: those in front of the ingress, which the program passes over where it looks for who asks.
    """
    settings = {**deploy.variables, **deploy.secrets}
    model = {name: value for name, value in settings.items() if name.startswith("PLATFORM_LLM_") and name != _NOT_DEPLOYED}
    return StartValues(
        env={name: value for name, value in deploy.variables.items() if not name.startswith("PLATFORM_")},
        secrets={name: value for name, value in deploy.secrets.items() if not name.startswith("PLATFORM_")},
        public_url=spec.url,
        approvals_url=spec.approvals,
        trust_proxy=(*TRUSTED, *map(str, proxies)) if spec.kind == "web" else (),
        human_timeout=_seconds(settings.get("PLATFORM_HUMAN_TIMEOUT", "")),
        llm=model or None,
    )


def keeps_data(ceiling: str) -> bool:
    """Whether a ceiling lets a program write what its next start finds. Errors: ``ValueError`` for what is no ceiling."""
    return any(item.name not in WRITES_NOTHING for item in Ceiling.parse(ceiling).items)


def _model_place(deploy: DeploySpec) -> tuple[str, int] | None:
    """Host and port of the model provider of a version, which its ceiling's ``llm`` opens for the model alone."""
    return model_place({**deploy.variables, **deploy.secrets})


def _seconds(text: str) -> float | None:
    try:
        found = float(text)
    except ValueError:
        return None
    return found if 0 < found < 1e10 else None
