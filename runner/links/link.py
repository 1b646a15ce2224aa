"""The runner's end of the link of one started program."""

from __future__ import annotations

import asyncio
import hmac
import os
import secrets
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, Protocol

from language import MOST_GATE_OPTIONS
from language.host_link import (
    PROTOCOL,
    Audited,
    AuditSent,
    Connected,
    ConnectRefused,
    ConnectWanted,
    Decide,
    Decided,
    Drain,
    GateAsked,
    GateEnded,
    Health,
    Hello,
    Listen,
    Message,
    Ping,
    Ready,
    Resumed,
    Start,
    Stop,
)
from runner.links.connection import LinkConnection, Pace
from runner.links.egress import Egress, EgressRefused
from runner.links.values import LinkState, StartValues

SOCKET = "host.sock"
#: Connections that are being made for one program at a time. Nothing more is read from a program that has as many.
_MOST_CONNECTS = 64
#: The most connections that are waiting to identify themselves; each has a few seconds for that.
_MOST_CALLERS = 8
_HELLO_SECONDS = 10.0
_REST_SECONDS = 0.5
_MOST_GATES = 5000
_LONGEST_TEXT = 64 * 1024
#: Characters of all gates that wait.
_MOST_TEXT = 24 * 1024 * 1024
#: What a gate that is new or over counts for in the pace of its program: each is kept, told to people and stored.
_GATE_COST = 4 * 1024
_LONGEST_ID = 128
_TOKEN_DIGITS = 64
_KINDS = ("approve", "confirm", "ask")
_OUTCOMES = ("approved", "denied", "answered", "expired")


class LinkEvents(Protocol):
    """What a link tells of its program. Called on the loop, in order; must not block."""

    def ready(self) -> None:
        """The program serves, works, or has begun to run. Once a start."""

    def audit(self, record: Mapping[str, Any], witness: Literal["program", "runner"]) -> None:
        """A record of the program, which is kept when this returns; or of a connection that was made or refused here."""

    def gate_opened(self, gate: GateAsked) -> None:
        """A person is asked. Called again with the same id after the connection was lost."""

    def gate_closed(self, gate: str, outcome: str, channel: str, value: str | None) -> None:
        """A gate has ended: ``approved``, ``denied``, ``answered`` or ``expired``."""

    def lost(self) -> None:
        """The connection has ended; the program may come back."""


class Link:
    """The link of one started program.

    Args:
        folder: where ``host.sock`` is made: only this program sees it, and it cannot write there.
        values: what the program is given.
        listening: the listening socket that a service is given; it stays open here.
        kept: the state of the link that the program had with an earlier process of the runner.
    """

    def __init__(
        self,
        folder: Path,
        values: StartValues,
        egress: Egress,
        events: LinkEvents,
        *,
        listening: socket.socket | None,
        kept: LinkState | None = None,
    ) -> None:
        #: changes with every event. The stored copy may be a little older: a program that comes back reports again what waits
        self.state = kept if kept is not None else LinkState(resume=secrets.token_hex(32))
        #: whether a program has got its start values: from then on it has to prove that it is the same one
        self._given = kept is not None
        #: whether records may have been acknowledged that ``kept`` does not know of: each is on the disk before that
        self._behind = kept is not None
        self._path = folder / SOCKET
        self._values = values
        self._egress = egress
        self._events = events
        self._listening = listening
        self._door: socket.socket | None = None
        self._connection: LinkConnection | None = None
        self._callers: dict[LinkConnection, asyncio.TimerHandle] = {}
        self._connects: set[asyncio.Task[None]] = set()
        self._slots = asyncio.Semaphore(_MOST_CONNECTS)
        self._numbers = 0
        self._waiting: dict[int, asyncio.Future[bool]] = {}
        self._deciding: dict[int, Decide] = {}
        self._acknowledging = False
        self._pace = Pace()
        #: characters of the gates that wait, by their ids and in all
        self._texts: dict[str, int] = {}
        self._text = 0
        self._closed = False

    # ---- for the keeper of the program ----------------------------------------------------------------------------------

    async def open(self) -> None:
        """Makes ``host.sock`` and waits there for the program. Errors: ``OSError``."""
        self._open_door()

    @property
    def connected(self) -> bool:
        """Whether the program is there now."""
        return self._connection is not None

    async def decide(self, gate: str, *, decision: bool | None, value: str | None, seconds: float) -> bool:
        """Tells the program a decision; whether it has taken it, within this many seconds.

        A decision is sent again to a program that comes back, and not to one that has ended the gate.
        """
        token = self.state.gates.get(gate)
        if token is None or self._closed:
            return False
        number, answer = self._expect()
        message = self._deciding[number] = Decide(number, gate, token, decision, value)
        self._send(message)
        try:
            return await asyncio.wait_for(answer, seconds)
        except TimeoutError:
            return False
        finally:
            self._waiting.pop(number, None)
            self._deciding.pop(number, None)

    async def ping(self, seconds: float) -> bool:
        """Whether the program answers within this many seconds."""
        number, answer = self._expect()
        self._send(Ping(number))
        try:
            return await asyncio.wait_for(answer, seconds)
        except TimeoutError:
            return False
        finally:
            self._waiting.pop(number, None)

    async def drain(self) -> None:
        """Has the program accept nothing more and finish what is under way: another one has its listening socket."""
        self._send(Drain())

    async def stop(self, grace: float) -> None:
        """Has the program end in order, within ``grace`` seconds. The signal that ends it is the engine's."""
        self._send(Stop(grace))

    async def close(self) -> None:
        """Ends the link for good and removes ``host.sock``."""
        self._closed = True
        self._close_door()
        for caller in list(self._callers):
            caller.close()
        if self._connection is not None:
            self._connection.close()
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_result(False)
        tasks = list(self._connects)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # ---- who dials ------------------------------------------------------------------------------------------------------

    def _open_door(self) -> None:
        self._door = self._make_door()
        asyncio.get_running_loop().add_reader(self._door, self._somebody)

    def _close_door(self) -> None:
        """Closes the listening socket with its queue and removes its path: nobody else can connect."""
        if self._door is None:
            return
        asyncio.get_running_loop().remove_reader(self._door)
        self._door.close()
        self._door = None
        self._remove_door()

    def _make_door(self) -> socket.socket:
        """The listening socket that the program dials. Errors: ``OSError``."""
        self._remove_door()
        door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
        try:
            _bind(door, self._path)
            os.chmod(self._path, 0o666)  # the program's user is not the runner's; the mode of the folder restricts access
            door.listen(_MOST_CALLERS)
        except OSError:
            door.close()
            raise
        return door

    def _remove_door(self) -> None:
        with suppress(FileNotFoundError):
            self._path.unlink()

    @property
    def _first_is_the_program(self) -> bool:
        """Whether nobody but the program can dial before it has."""
        return True

    def _knows_the_secret(self, hello: Hello) -> bool:
        return True  # the socket is the identity

    def _host_settings(self) -> dict[str, Any]:
        return self._values.host()

    def _hand_listening(self, caller: LinkConnection) -> None:
        if self._listening is not None:
            caller.send(Listen(), self._listening, keep=True)

    def _somebody(self) -> None:
        if self._door is None:
            return
        try:
            connection, _ = self._door.accept()
        except BlockingIOError:
            return
        except OSError:  # no descriptors left, most likely: whoever dialled waits
            self._rest(self._door)
            return
        if self._first_is_the_program and not self._given:
            # The program dials before it runs code of its own, so the first connection is the program's. No other is accepted.
            self._close_door()
        elif len(self._callers) >= _MOST_CALLERS:
            next(iter(self._callers)).close()
        caller: LinkConnection

        def on_message(message: Message) -> None:
            if caller in self._callers:
                self._introduced(caller, message)
            elif self._connection is caller:
                self._take(message)

        caller = LinkConnection(connection, on_message, lambda why: self._gone(caller), self._pace)
        self._callers[caller] = asyncio.get_running_loop().call_later(_HELLO_SECONDS, caller.close)

    def _rest(self, door: socket.socket) -> None:
        """Stops watching a listening socket for a moment: it stays readable, and the loop would do nothing else."""
        loop = asyncio.get_running_loop()
        loop.remove_reader(door)

        def look_again() -> None:
            if self._door is door:
                loop.add_reader(door, self._somebody)

        loop.call_later(_REST_SECONDS, look_again)

    def _introduced(self, caller: LinkConnection, message: Message) -> None:
        """The first message of a caller: it says who it is, or that is the end of it."""
        known = self.state.resume if self._given else ""
        if (
            not isinstance(message, Hello)
            or message.protocol != PROTOCOL
            or not hmac.compare_digest(message.resume.encode(), known.encode())
            or not self._knows_the_secret(message)
        ):
            caller.close()
            return
        self._callers.pop(caller).cancel()
        self._connection = caller
        self._close_door()
        for other in list(self._callers):
            other.close()
        if self._given:
            caller.send(Resumed(self.state.audited))
            for decision in self._deciding.values():
                caller.send(decision)
            return
        self._given = True
        values = self._values
        caller.send(Start(self.state.resume, dict(values.env), dict(values.secrets), self._host_settings()))
        self._hand_listening(caller)

    def _gone(self, caller: LinkConnection) -> None:
        timer = self._callers.pop(caller, None)
        if timer is not None:
            timer.cancel()
        was_ours = self._connection is caller
        if was_ours:
            self._connection = None
        if self._closed or self._connection is not None:
            return
        if self._door is None:
            with suppress(OSError):  # the folder is gone, and with it the program: nobody comes back
                self._open_door()
        if was_ours:
            self._events.lost()

    # ---- what the program says ------------------------------------------------------------------------------------------

    def _take(self, message: Message) -> None:
        handler = self._HANDLERS.get(type(message))
        if handler is None:
            self._broken(f"a {message.type} message from the program")
        else:
            handler(self, message)

    def _broken(self, why: str) -> None:
        if self._connection is not None:
            self._connection.close(f"the program broke the protocol: {why}")

    def _ready(self, message: Ready) -> None:
        if not self.state.ready:
            self.state.ready = True
            self._events.ready()

    def _answered(self, message: Health | Decided) -> None:
        answer = self._waiting.get(message.id)
        if answer is not None and not answer.done():
            answer.set_result(message.delivered if isinstance(message, Decided) else True)

    def _audit(self, message: AuditSent) -> None:
        expected = self.state.audited + 1
        if self._behind:
            expected = max(expected, message.seq)
        if message.seq > expected or message.seq < 1:
            self._broken("an audit record out of its order")
            return
        if message.seq == expected:  # else it was taken before, and is acknowledged again
            self._events.audit(message.record, "program")
            self.state.audited = expected
        self._behind = False
        if not self._acknowledging:
            self._acknowledging = True
            asyncio.get_running_loop().call_soon(self._acknowledge)

    def _acknowledge(self) -> None:
        self._acknowledging = False
        self._send(Audited(self.state.audited))

    def _gate(self, gate: GateAsked) -> None:
        known = self.state.gates.get(gate.id)
        texts = sum(map(len, (gate.message, *(gate.options or ()))))
        if (
            not 0 < len(gate.id) <= _LONGEST_ID
            or gate.kind not in _KINDS
            or texts > _LONGEST_TEXT
            or len(gate.options or ()) > MOST_GATE_OPTIONS
            or len(gate.token) != _TOKEN_DIGITS
            or (known is None and len(self.state.gates) >= _MOST_GATES)
            or self._text + texts - self._texts.get(gate.id, 0) > _MOST_TEXT
            or (known is not None and not hmac.compare_digest(known.encode(), gate.token.encode()))
        ):
            self._broken("a gate that cannot be")
            return
        if known is None:
            self._pace.spend(_GATE_COST)
        self._text += texts - self._texts.get(gate.id, 0)
        self._texts[gate.id] = texts
        self.state.gates[gate.id] = gate.token
        self._events.gate_opened(gate)

    def _gate_ended(self, gate: GateEnded) -> None:
        if gate.outcome not in _OUTCOMES:
            self._broken("an outcome that no gate has")
            return
        if self.state.gates.pop(gate.id, None) is None:
            return  # reported again after the connection was lost
        self._pace.spend(_GATE_COST)
        self._text -= self._texts.pop(gate.id, 0)
        for number, decision in self._deciding.items():
            if decision.gate == gate.id and _is_outcome_of(decision, gate):
                answer = self._waiting.get(number)
                if answer is not None and not answer.done():
                    answer.set_result(True)
        value = None if gate.value is None else gate.value[:_LONGEST_TEXT]
        self._events.gate_closed(gate.id, gate.outcome, gate.channel[:_LONGEST_ID], value)

    def _connect(self, wanted: ConnectWanted) -> None:
        task = asyncio.get_running_loop().create_task(self._connecting(wanted, self._connection))
        self._connects.add(task)
        task.add_done_callback(self._connect_over)
        self._hold()

    def _connect_over(self, task: asyncio.Task[None]) -> None:
        self._connects.discard(task)
        self._hold()

    def _hold(self) -> None:
        if self._connection is not None:
            self._connection.hold(len(self._connects) >= _MOST_CONNECTS)

    async def _connecting(self, wanted: ConnectWanted, connection: LinkConnection | None) -> None:
        made: socket.socket | None = None
        refused: EgressRefused | None = None
        async with self._slots:
            try:
                made = await self._egress.connect(wanted.host, wanted.port, wanted.capability)
            except EgressRefused as why:
                refused = why
            except Exception:
                if connection is not None:
                    connection.send(ConnectRefused(wanted.id, "the runner has failed"))
                raise  # reported by the loop
        try:
            self._events.audit(record_of(wanted, refused), "runner")
        except BaseException:
            if made is not None:
                made.close()
            raise
        if connection is None:
            if made is not None:
                made.close()
        elif refused is not None:
            connection.send(ConnectRefused(wanted.id, refused.reason, refused.denied))
        else:
            connection.send(Connected(wanted.id), made)

    # ---- parts ----------------------------------------------------------------------------------------------------------

    def _expect(self) -> tuple[int, asyncio.Future[bool]]:
        self._numbers += 1
        answer = self._waiting[self._numbers] = asyncio.get_running_loop().create_future()
        return self._numbers, answer

    def _send(self, message: Message) -> None:
        if self._connection is not None:
            self._connection.send(message)

    _HANDLERS: Mapping[type[Message], Callable[[Link, Any], None]] = {
        Ready: _ready,
        Health: _answered,
        Decided: _answered,
        AuditSent: _audit,
        GateAsked: _gate,
        GateEnded: _gate_ended,
        ConnectWanted: _connect,
    }


def _bind(door: socket.socket, path: Path) -> None:
    """Binds also where the path is longer than an address of a socket may be."""
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        door.bind(f"/proc/self/fd/{folder}/{path.name}")
    finally:
        os.close(folder)


def _is_outcome_of(decision: Decide, gate: GateEnded) -> bool:
    if decision.decision is not None and gate.outcome in ("approved", "denied"):
        return gate.channel == "api" and decision.decision is (gate.outcome == "approved")
    return gate.channel == "api" and gate.outcome == "answered" and decision.value == gate.value


def record_of(wanted: ConnectWanted, refused: EgressRefused | None) -> dict[str, Any]:
    """The runner's own record: what was asked for, and what came of it. What could not be reached was granted all the same."""
    host = wanted.host[: _LONGEST_ID * 2]
    capability = wanted.capability if wanted.capability in ("net", "db", "llm") else "net"
    return {
        "ts": time.time(),
        "capability": capability,
        "scope": f"[{host}]:{wanted.port}" if ":" in host else f"{host}:{wanted.port}",
        "granted": refused is None or not refused.denied,
        "origin": "runner",
        "why": "connected" if refused is None else refused.reason,
    }
