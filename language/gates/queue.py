"""The queue of human gates: entries that wait for a decision from outside, each with a one-time token.

A component that a server mounts: it lists, decides and expires; what carries the decision (HTTP routes, a control channel) lies
outside. The gates are kept on a board (``language.shared``), which several processes may share; whoever waits does so here.
Every queued gate prints one console line and, where the host configured it, sends one signed webhook.
"""

from __future__ import annotations

from _thread import allocate_lock, get_ident, start_new_thread

from language.console_text import one_line
from language.errors import RuntimeFault, Uncatchable
from language.gates import Gate, Gates, notice, shortened
from language.locks import Lock
from language.shared.gate_board import DECIDED, GateRecord, MemoryBoard, digest_of, stands
from language.values import to_bool
from language.waits import FIRST_GATE_NAP, GATES_PER_SECOND, LONGEST_GATE_NAP, interruptible_wait

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from language.gates.webhook import Webhook
    from language.host import Host
    from language.shared.store import GateBoard

DEFAULT_SECONDS = 300.0
#: Pending gates of one process.
MOST_PENDING = 5000
#: A wait has no upper bound; beyond this, three centuries, clocks have.
_FOR_EVER = 1e10

#: How often a process asks a shared board for decisions that others took.
_ASK_SECONDS = 0.04
#: After which the thread that asks is taken for lost: an exception for the one that starts it can end it before its first step.
_LOST_SECONDS = 2.0


class _Waiting:
    """A gate of this process and the thread that waits for its answer."""

    __slots__ = ("ended", "ident", "wake")

    def __init__(self) -> None:
        self.ident = get_ident()
        #: the answer is there
        self.ended = False
        #: held while there is nothing new
        self.wake = allocate_lock()
        self.wake.acquire()


class GateQueue(Gates):
    """Gates that wait for somebody outside.

    ``settings`` are the host's own (process environment only): ``PLATFORM_HUMAN_WEBHOOK``, ``PLATFORM_HUMAN_WEBHOOK_SECRET``,
    ``PLATFORM_HUMAN_PUBLIC_URL``; ``seconds`` is the wait of gates without ``within``. ``board`` holds the gates, without one
    the memory of this process. ``program`` is what the pages of the gates call the program.
    """

    def __init__(
        self,
        host: Host,
        settings: Mapping[str, str],
        *,
        seconds: float = DEFAULT_SECONDS,
        board: GateBoard | None = None,
        program: str = "",
    ) -> None:
        super().__init__(host, "too many pending gates")
        self._board: GateBoard = MemoryBoard(host.random_bytes(3).hex()) if board is None else board
        self._seconds = seconds
        self._webhook = _webhook_of(host, settings)
        self.program = program
        self._public_url = (settings.get("PLATFORM_HUMAN_PUBLIC_URL") or "").rstrip("/")
        #: where a browser on this machine reaches the routes of the gates, without a slash at its end; empty where none does
        self.local_url = ""
        self._refusing = False
        self._closed = False
        #: path under which the outside world sees the routes, without a slash at its end
        self.prefix = _path_of(settings.get("PLATFORM_HUMAN_PUBLIC_URL") or "")
        #: the name by which the outside world calls the server, the empty text where nothing says so
        self.public_host = _host_of(settings.get("PLATFORM_HUMAN_PUBLIC_URL") or "")
        self._begin()
        self._board.after_fork(self._begin)

    def _begin(self) -> None:
        """Nothing waits yet in this process."""
        self._lock = Lock()
        self._waiting: dict[str, _Waiting] = {}
        #: when the board was last asked for decisions, in monotonic seconds
        self._asked_at = float("-inf")
        if self._webhook is not None:
            self._webhook.begin()

    # ---- the program's side ---------------------------------------------------------------------------------------------

    def answer(self, gate: Gate) -> Any:
        try:
            return self._queued(gate)
        except RuntimeFault as failure:  # of a shared board
            notice(self._host, "board", f"{failure.message}: gate -> {_outcome(gate)}")
            return gate.refused()

    def _queued(self, gate: Gate) -> Any:
        seconds = min(self._seconds if gate.within is None else gate.within, _FOR_EVER)
        token = self._host.random_bytes(32).hex()
        record = GateRecord(
            gate.kind,
            shortened(gate.message),
            gate.options,
            digest_of(token),
            int((self._host.now() + seconds) // 1),
            self._host.monotonic() + seconds,
        )
        waiting = _Waiting()
        taken = False
        answer: bool | str | None = None
        try:
            if not self._enter(record, waiting):
                return super().answer(gate)
            self._announce(record, token)
            self._wait(record, waiting)
            answer = self._leave(record)
            taken = True
        finally:
            if not taken:
                try:
                    self._withdraw(record)
                except Uncatchable:  # it came between the call and what the call guards; the next one is not due yet
                    self._withdraw(record)
        if isinstance(answer, str):
            return gate.answered(answer)
        if answer is not None:
            return to_bool(answer)
        why = "the end of the service" if self._closed else "nobody in time"
        self._ended(record.id, "expired", "exit" if self._closed else "deadline", None)
        self.decided(record.id, record.kind, False, "deadline", why)
        if not self._closed:
            notice(self._host, "expired", f"gate {record.id} was not answered within {seconds:g} seconds -> {_outcome(gate)}")
        return gate.refused()

    def _enter(self, record: GateRecord, waiting: _Waiting) -> bool:
        board = self._board
        with self._lock:
            if self._refusing or len(self._waiting) >= MOST_PENDING:
                return False
            # Under the lock: a decision can only come once the thread that waits is known.
            self._waiting[board.open(record)] = waiting
        self._keep_asking()
        return True

    def _announce(self, record: GateRecord, token: str) -> None:
        body = '"value": "text"' if record.kind == "ask" else '"decision": true|false'
        left = int(-(-self.seconds_left(record) // 1))  # a begun second counts
        message = one_line(record.message.replace("\\", "\\\\").replace('"', '\\"'))
        base = self._public_url or self.local_url
        link = f" or open {base}/approvals/{record.id}/{token}" if base else ""
        self._host.write_error_line(
            f'[lang] approval pending {record.id} "{message}" (expires in {left}s): '
            f'POST /approvals/{record.id} {{"token": "{token}", {body}}}{link}'
        )
        if self._webhook is not None:
            self._webhook.send(record, token)

    def _ended(self, identifier: str, outcome: str, channel: str, value: str | None) -> None:
        """A gate has ended in this process: ``approved``, ``denied``, ``answered`` or ``expired``; for who carries that on."""

    def _wait(self, record: GateRecord, waiting: _Waiting) -> None:
        longest = max(LONGEST_GATE_NAP, len(self._waiting) / GATES_PER_SECOND)
        nap = max(FIRST_GATE_NAP, longest / 20)
        while not waiting.ended and not self._closed:
            left = record.deadline - self._host.monotonic()
            if left <= 0:
                return
            interruptible_wait(waiting.wake, min(left, nap), nap)
            self._keep_asking()
            longest = max(LONGEST_GATE_NAP, len(self._waiting) / GATES_PER_SECOND)
            nap = min(2 * nap, longest)

    def _leave(self, record: GateRecord) -> bool | str | None:
        answer = self._board.take(record.id)
        with self._lock:
            self._waiting.pop(record.id, None)
        return answer

    def _withdraw(self, record: GateRecord) -> None:
        """Takes back the gate of a thread that is being ended: again, when the next exception hits it here."""
        while True:
            try:
                if record.id and self._leave(record) is None:
                    self._ended(record.id, "expired", "exit", None)
                return
            except Uncatchable:
                continue
            except RuntimeFault:
                return  # the board is gone, and the gate with it or at its deadline

    # ---- the other side -------------------------------------------------------------------------------------------------

    def pending(self) -> list[dict[str, Any]]:
        """What may be listed: id, message, type and expiry of the gates that can still be decided, oldest first. No token."""
        return [
            {"id": record.id, "message": record.message, "type": record.kind, "expires_at": record.expires_at}
            for record in self._board.pending(self._host.monotonic())
        ]

    def look(self, identifier: str, token: str) -> GateRecord | str:
        """The gate that this token decides, or why there is none (``UNKNOWN``, ``WRONG_TOKEN``). Decides nothing."""
        record = self._board.look(identifier)
        found = stands(record, digest_of(token), self._host.monotonic())
        return found if record is None or found is not DECIDED else record

    def seconds_left(self, record: GateRecord) -> float:
        """How long a gate can still be decided."""
        return max(0.0, record.deadline - self._host.monotonic())

    def decide(
        self,
        identifier: str,
        token: str,
        *,
        decision: bool | None = None,
        value: str | None = None,
        channel: str = "api",
        decider: str = "the holder of its token",
    ) -> str:
        """Decides a gate: ``DECIDED``, or why not (``UNKNOWN``, ``WRONG_TOKEN``, ``NEEDS_DECISION``, ``NEEDS_VALUE``,
        ``TOO_LONG``).

        Of several decisions at once exactly one is ``DECIDED``, and the program sees that one; after it, and at the deadline,
        the gate is ``UNKNOWN``. A wrong token leaves the gate waiting; tokens are compared in constant time. The audit of this
        process hears of it, with ``channel`` and ``decider``. Raises ``RuntimeFault`` where a shared board cannot be reached.
        """
        record = self._board.look(identifier)
        outcome = self._board.decide(identifier, digest_of(token), decision, value, self._host.monotonic)
        if outcome == DECIDED:
            asked = record is not None and record.kind == "ask"
            if record is not None and self.audit is not None:
                granted = bool(value and value.strip()) if record.kind == "ask" else decision is True
                self.decided(identifier, record.kind, granted, channel, decider)
            self._tell((identifier,))
            how = "answered" if asked else "approved" if decision else "denied"
            self._ended(identifier, how, channel, value if asked else None)
        return outcome

    def wake(self, ident: int) -> None:
        """Has the thread with this identifier look up if it waits in a gate: after an exception was raised in it."""
        with self._lock:
            for waiting in self._waiting.values():
                if waiting.ident == ident:
                    _rouse(waiting)

    def wake_all(self) -> None:
        """The same for all threads that wait."""
        with self._lock:
            for waiting in self._waiting.values():
                _rouse(waiting)

    def refuse_new(self) -> None:
        """From now on new gates are refused at once; what is pending goes on."""
        self._why = "shutting down"
        self._refusing = True

    def close(self) -> list[str]:
        """Refuses every pending gate of this process and every new one; the ids of those that were pending."""
        self.refuse_new()
        with self._lock:
            self._closed = True
            ids = [identifier for identifier, waiting in self._waiting.items() if not waiting.ended]
            for waiting in self._waiting.values():
                _rouse(waiting)
        if ids:
            notice(self._host, "closed", f"shutting down with pending gates -> DENIED: {', '.join(ids)}")
        return ids

    def _tell(self, identifiers: tuple[str, ...] | list[str]) -> None:
        """Answers have come: wakes the threads that wait for them."""
        with self._lock:
            for identifier in identifiers:
                waiting = self._waiting.get(identifier)
                if waiting is not None:
                    waiting.ended = True
                    _rouse(waiting)

    def _keep_asking(self) -> None:
        """Has a thread ask a shared board for the decisions of other processes; a new one, where the last was lost."""
        if not self._board.shared:
            return
        now = self._host.monotonic()
        with self._lock:
            if now - self._asked_at < _LOST_SECONDS:
                return
            self._asked_at = now
        try:
            start_new_thread(self._ask, ())
        except RuntimeError:
            self._asked_at = float("-inf")  # tried again by whoever looks up next

    def _ask(self) -> None:
        pause = allocate_lock()
        pause.acquire()
        while True:
            with self._lock:
                if not self._waiting:
                    self._asked_at = float("-inf")
                    return
                self._asked_at = self._host.monotonic()
            try:
                self._tell(self._board.answered())
            except RuntimeFault as failure:
                notice(self._host, "asking", f"{failure.message}: decisions may not arrive")
            pause.acquire(timeout=_ASK_SECONDS)


def _rouse(waiting: _Waiting) -> None:
    """Under the lock of the queue, so that of two nobody releases twice."""
    if waiting.wake.locked():
        waiting.wake.release()


def _outcome(gate: Gate) -> str:
    return "automatic fallback" if gate.kind == "ask" else "DENIED (fail-closed)"


def _path_of(url: str) -> str:
    """The path of a URL, without a slash at its end."""
    path = url.partition("://")[2].partition("/")[2].partition("?")[0].strip("/")
    return f"/{path}" if path else ""


def _host_of(url: str) -> str:
    """The host of a URL, without the port."""
    from urllib.parse import urlsplit

    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _webhook_of(host: Host, settings: Mapping[str, str]) -> Webhook | None:
    if not settings.get("PLATFORM_HUMAN_WEBHOOK"):
        return None
    from language.gates.webhook import configured

    return configured(host, settings)


def configured_seconds(host: Host) -> float:
    """The wait of gates without ``within``: ``PLATFORM_HUMAN_TIMEOUT`` in seconds, else 300; a wrong value is a warning."""
    from language.settings import number, read_setting

    name = "PLATFORM_HUMAN_TIMEOUT"
    wanted, default = "a number of seconds above 0", DEFAULT_SECONDS
    return read_setting(name, host.environ(name), number(0, above=True), wanted, default, host.warn, f"{default:g}")
