"""The queue of human gates: pending gates that are decided from outside, each with a one-time token.

It lists, decides and expires gates. The transport of decisions (HTTP routes, a control channel) is implemented elsewhere. The
gates are stored on a board (``language.shared``), which several processes may share. The program's thread waits in this module.
Every queued gate writes one line on the console and, where the host configured it, sends one signed webhook.
"""

from __future__ import annotations

from _thread import allocate_lock, get_ident, start_new_thread

from language.console_text import one_line
from language.errors import RuntimeFault, Uncatchable
from language.gates import Gate, Gates, notice, shortened
from language.locks import Lock
from language.shared.gate_board import (
    DECIDED,
    GateRecord,
    MemoryBoard,
    digest_of,
    holds,
    is_client_link,
    stands,
    with_client_link,
)
from language.values import to_bool
from language.waits import FIRST_GATE_INTERVAL, GATE_POLLS_PER_SECOND, LONGEST_GATE_INTERVAL, interruptible_wait

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypeVar

    from language.audit.records import Place
    from language.gates.webhook import Webhook
    from language.host import Host
    from language.shared.store import GateBoard

    Kept = TypeVar("Kept")

DEFAULT_SECONDS = 300.0
#: The most pending gates of one process.
MOST_PENDING = 5000
#: The number of decided gates whose outcome a process remembers.
MOST_REMEMBERED = 1000
#: Programs may give any timeout, but clocks have a range: a longer timeout is reduced to this many seconds, three centuries.
_LONGEST_TIMEOUT = 1e10

#: Polling interval, in seconds, at which a process reads decisions of other processes from a shared board.
_POLLING_INTERVAL = 0.04
#: After this many seconds without a poll the polling thread counts as lost. A cancellation of the thread that starts it can end
#: it before its first statement.
_LOST_SECONDS = 2.0


class _Waiting:
    """A gate of this process and the thread that waits for its answer."""

    __slots__ = ("ended", "ident", "place", "wake")

    def __init__(self, place: Place | None) -> None:
        self.ident = get_ident()
        #: the place in the program that asks
        self.place = place
        #: whether the answer has arrived
        self.ended = False
        #: released to wake the thread
        self.wake = allocate_lock()
        self.wake.acquire()


class GateEnd:
    """A gate that somebody decided: how (``approved``, ``denied``, ``answered``) and when, in Unix seconds."""

    __slots__ = ("how", "record", "when")

    def __init__(self, record: GateRecord, how: str, when: float) -> None:
        self.record = record
        self.how = how
        self.when = when


class GateQueue(Gates):
    """Gates that wait for a decision from outside.

    ``settings`` are the host's own (process environment only): ``PLATFORM_HUMAN_WEBHOOK``,
    ``PLATFORM_HUMAN_WEBHOOK_SECRET``, ``PLATFORM_HUMAN_PUBLIC_URL``, ``PLATFORM_HUMAN_ELICITATION``. ``seconds`` is the
    timeout of gates without ``within``.
    ``board`` stores the gates; without one they are in the memory of this process. ``program`` is the name of the program on
    the pages of its gates.
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
        self._elicits = _elicits(host, settings)
        self._public_url = (settings.get("PLATFORM_HUMAN_PUBLIC_URL") or "").rstrip("/")
        #: the URL of the gate routes for a browser on this machine, without a trailing slash; empty where there is none
        self.local_url = ""
        self._refusing = False
        self._closed = False
        #: the path of the gate routes as seen from outside, without a trailing slash
        self.prefix = _path_of(settings.get("PLATFORM_HUMAN_PUBLIC_URL") or "")
        #: the host name of the server as seen from outside; empty where it is not configured
        self.public_host = _host_of(settings.get("PLATFORM_HUMAN_PUBLIC_URL") or "")
        self._begin()
        self._board.after_fork(self._begin)

    def _begin(self) -> None:
        """Marks this process as having no pending gates."""
        self._lock = Lock()
        self._waiting: dict[str, _Waiting] = {}
        #: the last gates that were decided in this process, the oldest first
        self._recent: dict[str, GateEnd] = {}
        #: when the board was last polled, in monotonic seconds
        self._polled_at = float("-inf")
        if self._webhook is not None:
            self._webhook.begin()
        self._beside: Any = None

    def beside(self, make: Callable[[], Kept]) -> Kept:
        """An object that this process keeps beside its pending gates. The first call makes it; after a fork the child makes its
        own.
        """
        if self._beside is None:
            with self._lock:
                if self._beside is None:
                    self._beside = make()
        kept: Kept = self._beside
        return kept

    # ---- the program's side ---------------------------------------------------------------------------------------------

    def answer(self, gate: Gate) -> Any:
        return self.answer_shown(gate, None)

    def answer_shown(self, gate: Gate, show: Callable[[GateRecord, str, str], None] | None) -> Any:
        """Waits for the answer, as :meth:`answer` does, and also shows the question through ``show``.

        Args:
            gate: the question.
            show: called once it can be decided, with the pending gate, a token of its own for this way, and the :meth:`page`
                with that token. Who decides with it is recorded as the one that was shown the question here. Not called where
                the operator keeps such links from clients (``PLATFORM_HUMAN_ELICITATION=off``).
        """
        if not self._elicits:
            show = None
        try:
            return self._queued(gate, show)
        except RuntimeFault as failure:  # raised by a shared board
            notice(self._host, "board", f"{failure.message}: gate -> {_outcome(gate)}")
            return gate.refused()

    def _queued(self, gate: Gate, show: Callable[[GateRecord, str, str], None] | None) -> Any:
        seconds = min(self._seconds if gate.within is None else gate.within, _LONGEST_TIMEOUT)
        token = self._host.random_bytes(32).hex()
        shown = "" if show is None else self._host.random_bytes(32).hex()
        digest = digest_of(token)
        record = GateRecord(
            gate.kind,
            shortened(gate.message),
            gate.options,
            with_client_link(digest, digest_of(shown)) if shown else digest,
            int((self._host.now() + seconds) // 1),
            self._host.monotonic() + seconds,
        )
        audit = self.audit
        waiting = _Waiting(None if audit is None or audit.place is None else audit.place())
        taken = False
        answer: bool | str | None = None
        try:
            if not self._enter(record, waiting):
                return super().answer(gate)
            self._announce(record, token)
            if show is not None:
                show(record, shown, self.page(record, shown))
            self._wait(record, waiting)
            answer = self._leave(record)
            taken = True
        finally:
            if not taken:
                try:
                    self._withdraw(record)
                except Uncatchable:  # a cancellation before the call had its effect; another one follows
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
            # Under the lock: a decision must find the waiting thread registered.
            self._waiting[board.open(record)] = waiting
        self._ensure_polling()
        return True

    def page(self, record: GateRecord, token: str) -> str:
        """The URL of the page where a person decides a gate; empty if no public or local URL is known."""
        base = self._public_url or self.local_url
        return f"{base}/approvals/{record.id}/{token}" if base else ""

    def _announce(self, record: GateRecord, token: str) -> None:
        body = '"value": "text"' if record.kind == "ask" else '"decision": true|false'
        left = int(-(-self.seconds_left(record) // 1))  # a started second counts as a whole one
        message = one_line(record.message.replace("\\", "\\\\").replace('"', '\\"'))
        page = self.page(record, token)
        link = f" or open {page}" if page else ""
        self._host.write_error_line(
            f'[lang] approval pending {record.id} "{message}" (expires in {left}s): '
            f'POST /approvals/{record.id} {{"token": "{token}", {body}}}{link}'
        )
        if self._webhook is not None:
            self._webhook.send(record, token)

    def _ended(self, identifier: str, outcome: str, channel: str, value: str | None) -> None:
        """Called when a gate of this process has ended as ``approved``, ``denied``, ``answered`` or ``expired``. Overridden to
        report it.
        """

    def _wait(self, record: GateRecord, waiting: _Waiting) -> None:
        longest = max(LONGEST_GATE_INTERVAL, len(self._waiting) / GATE_POLLS_PER_SECOND)
        interval = max(FIRST_GATE_INTERVAL, longest / 20)
        while not waiting.ended and not self._closed:
            left = record.deadline - self._host.monotonic()
            if left <= 0:
                return
            interruptible_wait(waiting.wake, min(left, interval), interval)
            self._ensure_polling()
            longest = max(LONGEST_GATE_INTERVAL, len(self._waiting) / GATE_POLLS_PER_SECOND)
            interval = min(2 * interval, longest)

    def _leave(self, record: GateRecord) -> bool | str | None:
        answer = self._board.take(record.id)
        with self._lock:
            self._waiting.pop(record.id, None)
        return answer

    def _withdraw(self, record: GateRecord) -> None:
        """Removes the gate of a thread that is being cancelled. Called again when a further cancellation interrupts it."""
        while True:
            try:
                if record.id and self._leave(record) is None:
                    self._ended(record.id, "expired", "exit", None)
                return
            except Uncatchable:
                continue
            except RuntimeFault:
                return  # the board cannot be reached; a gate that it still has ends at its deadline

    # ---- the other side -------------------------------------------------------------------------------------------------

    def pending(self) -> list[dict[str, Any]]:
        """Id, message, type and expiry of the gates that can still be decided, oldest first. Never includes a token."""
        return [
            {"id": record.id, "message": record.message, "type": record.kind, "expires_at": record.expires_at}
            for record in self._board.pending(self._host.monotonic())
        ]

    def look(self, identifier: str, token: str) -> GateRecord | str:
        """The gate that this token decides, or why there is none (``UNKNOWN``, ``WRONG_TOKEN``). Does not decide it."""
        record = self._board.look(identifier)
        found = stands(record, digest_of(token), self._host.monotonic())
        return found if record is None or found is not DECIDED else record

    def seconds_left(self, record: GateRecord) -> float:
        """The seconds that are left to decide a gate."""
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
        """Decides a gate. Returns ``DECIDED``, or why not (``UNKNOWN``, ``WRONG_TOKEN``, ``NEEDS_DECISION``, ``NEEDS_VALUE``,
        ``TOO_LONG``).

        Of several concurrent decisions exactly one is ``DECIDED``, and the program gets that one. After it, and after the
        deadline, the gate is ``UNKNOWN``. A wrong token leaves the gate pending; tokens are compared in constant time. The
        audit of this process records ``channel`` and ``decider``. A token that was handed to the client of a tool is told apart
        whatever the channel: whoever has it may be that client. Raises ``RuntimeFault`` where a shared board cannot be
        reached.
        """
        record = self._board.look(identifier)
        outcome = self._board.decide(identifier, digest_of(token), decision, value, self._host.monotonic)
        if outcome == DECIDED:
            asked = record is not None and record.kind == "ask"
            how = "answered" if asked else "approved" if decision else "denied"
            if record is not None:
                if channel != "elicitation" and is_client_link(record, token):
                    channel, decider = "elicitation", f"{decider}, whose link was given to the client of the tool"
                if self.audit is not None:
                    granted = bool(value and value.strip()) if record.kind == "ask" else decision is True
                    with self._lock:
                        waiting = self._waiting.get(identifier)
                    place = None if waiting is None else waiting.place
                    self.decided(identifier, record.kind, granted, channel, decider, place)
                self._remember(GateEnd(record, how, self._host.now()))
            self._tell((identifier,))
            self._ended(identifier, how, channel, value if asked else None)
        return outcome

    def _remember(self, decided: GateEnd) -> None:
        with self._lock:
            self._recent[decided.record.id] = decided
            if len(self._recent) > MOST_REMEMBERED:
                del self._recent[next(iter(self._recent))]

    def recent(self, identifier: str, token: str) -> GateEnd | None:
        """How a gate was decided in this process, for who has a token of it; ``None`` for everybody else, and once as many
        others were decided as are remembered.
        """
        with self._lock:
            found = self._recent.get(identifier)
        return found if found is not None and holds(found.record, token) else None

    def wake(self, ident: int) -> None:
        """Wakes the thread with this identifier if it waits for a gate. Called after an exception was raised in that thread."""
        with self._lock:
            for waiting in self._waiting.values():
                if waiting.ident == ident:
                    _wake(waiting)

    def wake_all(self) -> None:
        """Wakes all threads that wait for a gate."""
        with self._lock:
            for waiting in self._waiting.values():
                _wake(waiting)

    def refuse_new(self) -> None:
        """Refuses new gates from now on. Pending ones stay pending."""
        self._why = "shutting down"
        self._refusing = True

    def close(self) -> list[str]:
        """Refuses every pending gate of this process and every new one. Returns the ids of the gates that were pending."""
        self.refuse_new()
        with self._lock:
            self._closed = True
            ids = [identifier for identifier, waiting in self._waiting.items() if not waiting.ended]
            for waiting in self._waiting.values():
                _wake(waiting)
        if ids:
            notice(self._host, "closed", f"shutting down with pending gates -> DENIED: {', '.join(ids)}")
        return ids

    def _tell(self, identifiers: tuple[str, ...] | list[str]) -> None:
        """Wakes the threads that wait for these gates, which have been answered."""
        with self._lock:
            for identifier in identifiers:
                waiting = self._waiting.get(identifier)
                if waiting is not None:
                    waiting.ended = True
                    _wake(waiting)

    def _ensure_polling(self) -> None:
        """Ensures that a thread polls a shared board for the decisions of other processes. Starts a new one when the last was
        lost.
        """
        if not self._board.shared:
            return
        now = self._host.monotonic()
        with self._lock:
            if now - self._polled_at < _LOST_SECONDS:
                return
            self._polled_at = now
        try:
            start_new_thread(self._poll, ())
        except RuntimeError:
            self._polled_at = float("-inf")  # the next poll of a waiting thread tries again

    def _poll(self) -> None:
        pause = allocate_lock()
        pause.acquire()
        while True:
            with self._lock:
                if not self._waiting:
                    self._polled_at = float("-inf")
                    return
                self._polled_at = self._host.monotonic()
            try:
                self._tell(self._board.answered())
            except RuntimeFault as failure:
                notice(self._host, "asking", f"{failure.message}: decisions may not arrive")
            pause.acquire(timeout=_POLLING_INTERVAL)


def _wake(waiting: _Waiting) -> None:
    """Wakes the waiting thread. The caller holds the lock of the queue, so that the signal is not released twice."""
    if waiting.wake.locked():
        waiting.wake.release()


def _outcome(gate: Gate) -> str:
    return "automatic fallback" if gate.kind == "ask" else "DENIED (fail-closed)"


def _path_of(url: str) -> str:
    """The path of a URL without a trailing slash."""
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


def _elicits(host: Host, settings: Mapping[str, str]) -> bool:
    """Whether the clients of tools are given gates to show to their users: ``PLATFORM_HUMAN_ELICITATION``."""
    from language.settings import read_setting

    name = "PLATFORM_HUMAN_ELICITATION"
    told = {"on": True, "off": False}
    wanted = settings.get(name)
    if not wanted:
        return True
    # What cannot be read keeps the links here: whoever wrote it wanted something else than the default.
    return read_setting(name, wanted, lambda text: told.get(text.strip().lower()), "on or off", False, host.warn, "off")


def configured_seconds(host: Host) -> float:
    """The timeout of gates without ``within``: ``PLATFORM_HUMAN_TIMEOUT`` in seconds, else 300. An invalid value gives a
    warning.
    """
    from language.settings import number, read_setting

    name = "PLATFORM_HUMAN_TIMEOUT"
    wanted, default = "a number of seconds above 0", DEFAULT_SECONDS
    return read_setting(name, host.environ(name), number(0, above=True), wanted, default, host.warn, f"{default:g}")
