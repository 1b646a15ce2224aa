"""Human gates inside a tool, asked by the client of the tool (elicitation).

The call is answered with ``input_required``: the question and a ``requestState``. Meanwhile the tool is suspended in a thread
of its own and waits for its gate as usual. The client sends the call again with that ``requestState`` and gets the result of
the tool. A ``requestState`` is valid for one request of the same caller, with the same tool and arguments, in the process that
made it, so nothing runs twice.

A client never decides an ``approve`` or ``confirm``: it only shows the page of the gate to its user. It may answer an ``ask``
itself.
"""

from __future__ import annotations

from _thread import allocate_lock

from language.errors import Uncatchable
from language.gates import Gates
from language.gates.queue import GateQueue
from language.locks import Lock
from language.mcp.protocol import FORM_MODE, URL_MODE
from language.runtime.isolation import isolate
from language.runtime.threads import Background
from language.values import as_map
from language.waits import interruptible_wait

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from language.gates import Gate
    from language.mcp.exchange import ToolCall
    from language.runtime.context import Context
    from language.shared.gate_board import GateRecord

    #: Runs the copy of a task in a context, with its arguments and user: the result of the tool.
    Run = Callable[[Context, Any, dict[str, Any], Any], dict[str, Any]]

#: The most suspended calls of one process. The gates of further calls are not shown through the client.
MOST_SUSPENDED = 256
#: Seconds that a request for a suspended call waits before the client is told to send the call again.
PATIENCE = 20.0
#: Seconds that a ``requestState`` stays valid after the deadline of its gate.
GRACE = 600
#: The error for an unusable ``requestState``, whatever the reason.
REFUSED = "invalid or expired requestState"


def carry_out(ctx: Context, call: ToolCall, user: Any, task: Any, arguments: dict[str, Any], run: Run) -> None:
    """Runs a tool whose client can ask a person, or continues a suspended call. Sets the answer of the call.

    Args:
        ctx: that of the handler.
        call: the call of the client, with its modes of elicitation.
        user: the user for whom the tool works.
        task: the task that the tool runs.
        arguments: the checked arguments.
        run: calls the task.
    """
    queue = ctx.gates
    if not isinstance(queue, GateQueue):  # no gate waits for an answer, so no call is suspended
        if call.state is None:
            call.give(run(ctx, task, arguments, user))
        else:
            call.refuse(REFUSED)
        return
    calls = queue.beside(lambda: SuspendedCalls(ctx))
    bound = _digest(ctx, call, user)
    if call.state is not None:
        joined = calls.join(call.state, bound)
        if joined is None:
            call.refuse(REFUSED)
        else:
            _go_on(calls, joined, call)
        return
    begun = calls.begin(bound)
    if begun is None:
        call.give(run(ctx, task, arguments, user))
        return
    begun.modes = call.modes
    begun.start(ctx, queue, [task, arguments, user], run)
    _reply(calls, begun, call, None)


def _go_on(calls: SuspendedCalls, joined: SuspendedCall, call: ToolCall) -> None:
    joined.modes = call.modes
    question = joined.question
    if question is not None and not joined.ended:
        if not question.hear(call.responses):
            call.ask({question.key: question.request}, calls.state(joined))
            return
        joined.settle(question.key)
    _reply(calls, joined, call, PATIENCE)


def _reply(calls: SuspendedCalls, suspended: SuspendedCall, call: ToolCall, seconds: float | None) -> None:
    """Answers with the tool's result or its next question, or after ``seconds`` with a request to send the call again."""
    heard = False
    try:
        suspended.wait(seconds)
        heard = True
    finally:
        if not heard:  # this request was cancelled, and no other one can continue the call
            calls.close(suspended)
    if not suspended.ended:
        question = suspended.question
        call.ask({} if question is None else {question.key: question.request}, calls.state(suspended))
        return
    calls.close(suspended)
    if suspended.failure is not None:
        raise suspended.failure
    call.give(suspended.outcome)


class Question:
    """A pending gate and the request by which a client shows it; ``key`` is the key of that request."""

    __slots__ = ("_queue", "_token", "deadline", "key", "record", "request")

    def __init__(self, queue: GateQueue, record: GateRecord, token: str, request: dict[str, Any]) -> None:
        self._queue = queue
        self._token = token
        self.record = record
        self.key = record.id
        self.deadline = record.deadline
        self.request = request

    def hear(self, responses: dict[str, Any]) -> bool:
        """Processes the responses of a client. Returns whether one of them belongs to the question.

        A response can answer only an ``ask``. For an ``approve`` or ``confirm`` it only confirms that the page was shown;
        whoever opens the page decides.
        """
        response = as_map(responses.get(self.key))
        if response is None or response.get("action") not in ("accept", "decline", "cancel"):
            return False
        if self.request["params"]["mode"] == URL_MODE:
            return True
        value: Any = ""
        if response["action"] == "accept":
            value = (as_map(response.get("content")) or {}).get("answer")
            if type(value) is not str or (self.record.options is not None and value not in self.record.options):
                return False
        self._queue.decide(self.key, self._token, value=value, channel="elicitation", decider="the client of the tool")
        return True


class SuspendedCall:
    """One call of a tool, which runs in a thread of its own. Two threads never wait for it at the same time.

    Attributes:
        identifier: its id within ``requestState``.
        bound: the digest of the data that a request must repeat to continue it.
        leg: the number of requests that were answered for it.
        awaited: whether a request is being answered for it.
        expires: the time until which it can be continued, in monotonic seconds of the host.
        modes: the modes of elicitation of the client, as its last request declares them.
        question: the gate that it waits for, until the client has responded to it.
        ended: whether the tool has ended; then ``outcome`` or ``failure`` is set.
    """

    __slots__ = (
        "_background", "_lock", "_news", "awaited", "bound", "ended", "expires", "failure", "identifier", "leg", "modes",
        "outcome", "question",
    )  # fmt: skip

    def __init__(self, identifier: str, bound: str) -> None:
        self.identifier = identifier
        self.bound = bound
        self.leg = 0
        self.awaited = True
        self.expires = float("inf")
        self.modes: frozenset[str] = frozenset()
        self.question: Question | None = None
        self.ended = False
        self.outcome: dict[str, Any] = {}
        self.failure: BaseException | None = None
        self._background: Background | None = None
        self._lock = Lock()
        #: released to wake the waiting request
        self._news = allocate_lock()
        self._news.acquire()

    def start(self, ctx: Context, queue: GateQueue, values: list[Any], run: Run) -> None:
        """Starts the tool. ``values`` are its task, arguments and user; it gets copies of them, as workers do."""
        child = ctx.fork_request(ctx.capabilities.fork(), ctx.prefix)
        child.gates = _ShownGates(ctx, queue, self)
        task, arguments, user = isolate(values, child)

        def work() -> None:
            try:
                self.outcome = run(child, task, arguments, user)
            except (Exception, Uncatchable) as failure:
                self.failure = failure  # raised again in the handler
            finally:
                child.lifetime.end()
                self.ended = True
                self._tell()

        self._background = Background(work)
        self._background.start()

    def wait(self, seconds: float | None) -> None:
        """Waits until the tool has ended or asks a question, at most ``seconds``."""
        if not self.ended:
            interruptible_wait(self._news, seconds)

    def show(self, queue: GateQueue, record: GateRecord, token: str, page: str) -> None:
        """Passes the question of a gate to the client, if the client can show it."""
        request = _request(record, page, self.modes)
        if request is not None:
            self.expires = record.deadline + GRACE
            self.question = Question(queue, record, token, request)
            self._tell()

    def settle(self, key: str) -> None:
        """Marks the question with this key as settled: it needs no response any more."""
        with self._lock:
            if self.question is not None and self.question.key == key:
                self.question = None

    def end(self) -> None:
        """Cancels the tool if it still runs. Idempotent."""
        background, self._background = self._background, None
        if background is not None:
            background.end()

    def _tell(self) -> None:
        with self._lock:
            if self._news.locked():
                self._news.release()


class _ShownGates(Gates):
    """The gates of one call: those of the service, shown to the client as well."""

    def __init__(self, ctx: Context, queue: GateQueue, call: SuspendedCall) -> None:
        super().__init__(ctx.host, "the call has ended")
        self._queue = queue
        self._call = call

    def answer(self, gate: Gate) -> Any:
        queue, call = self._queue, self._call
        shown: list[str] = []

        def show(record: GateRecord, token: str, page: str) -> None:
            shown.append(record.id)
            call.show(queue, record, token, page)

        try:
            return queue.answer_shown(gate, show)
        finally:
            if shown:
                call.settle(shown[0])


class SuspendedCalls:
    """The suspended calls of one process, and the key that signs each ``requestState``."""

    def __init__(self, ctx: Context) -> None:
        self._now = ctx.host.monotonic
        self._random = ctx.host.random_bytes
        self._key = ctx.host.random_bytes(32)
        self._calls: dict[str, SuspendedCall] = {}
        self._lock = Lock()

    def begin(self, bound: str) -> SuspendedCall | None:
        """A new call that may be suspended; ``None`` if there are too many."""
        self._sweep()
        with self._lock:
            if len(self._calls) >= MOST_SUSPENDED:
                return None
            call = SuspendedCall(self._random(16).hex(), bound)
            self._calls[call.identifier] = call
        return call

    def state(self, call: SuspendedCall) -> str:
        """The ``requestState`` for the next request of a call, which is accepted from now on."""
        if call.question is None:
            call.expires = max(call.expires if call.expires < float("inf") else 0.0, self._now() + GRACE)
        with self._lock:
            call.leg += 1
            call.awaited = False
        head = f"{call.identifier}.{call.leg}.{int(call.expires)}"
        return f"{head}.{self._signed(head, call.bound)}"

    def join(self, state: str, bound: str) -> SuspendedCall | None:
        """The suspended call that a request continues. Only the first request with a ``requestState`` gets it; ``None`` for all
        others.
        """
        from hmac import compare_digest

        head, _, mac = state.rpartition(".")
        if not compare_digest(mac.encode("utf-8", "replace"), self._signed(head, bound).encode()):
            return None
        identifier, leg, expires = head.split(".")  # signed by this process, so of this form
        with self._lock:
            call = self._calls.get(identifier)
            if call is None or call.awaited or str(call.leg) != leg or self._now() >= int(expires):
                return None
            call.awaited = True
        return call

    def close(self, call: SuspendedCall) -> None:
        """Removes a call, and ends it if it still runs."""
        with self._lock:
            self._calls.pop(call.identifier, None)
        call.end()

    def _sweep(self) -> None:
        """Removes the calls that have ended and can no longer be continued."""
        now = self._now()
        with self._lock:
            over = [call for call in self._calls.values() if call.ended and not call.awaited and call.expires <= now]
        for call in over:
            self.close(call)

    def _signed(self, head: str, bound: str) -> str:
        import hmac
        from hashlib import sha256

        return hmac.new(self._key, f"{head}.{bound}".encode("utf-8", "replace"), sha256).hexdigest()


def _request(record: GateRecord, page: str, modes: frozenset[str]) -> dict[str, Any] | None:
    """The request by which a client asks its user; ``None`` if the client supports no suitable mode."""
    params: dict[str, Any] = {"mode": FORM_MODE, "message": record.message}
    if record.kind == "ask" and FORM_MODE in modes:
        answer: dict[str, Any] = {"type": "string", "title": "Answer"}
        if record.options is not None:
            answer["enum"] = record.options
        params["requestedSchema"] = {"type": "object", "properties": {"answer": answer}, "required": ["answer"]}
    elif page and URL_MODE in modes:
        params["mode"] = URL_MODE
        params["url"] = page
    else:
        return None
    return {"method": "elicitation/create", "params": params}


def _digest(ctx: Context, call: ToolCall, user: Any) -> str:
    """The digest of the data that a request must repeat to continue a call: the caller, the route, the tool and its
    arguments.
    """
    from hashlib import sha256

    from language.values.json_encoding import encode

    path = "" if ctx.exchange is None else ctx.exchange.request.path
    known = [user, None if ctx.exchange is None else ctx.exchange.user]
    token = None
    if ctx.exchange is not None and known == [None, None]:
        token = ctx.exchange.request.combined_field("authorization")
    parts = (path, call.name, encode(call.arguments), *map(_caller, known), token or "")
    return sha256("\0".join(sha256(part.encode("utf-8", "replace")).hexdigest() for part in parts).encode()).hexdigest()


def _caller(user: Any) -> str:
    from language.errors import RuntimeFault
    from language.values.display import display
    from language.values.json_encoding import encode

    try:
        return encode(user)
    except RuntimeFault:
        return display(user)
