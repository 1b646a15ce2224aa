"""The queue of human gates: entries that wait for a decision from outside, each with a one-time token.

A component that a server mounts: it lists, decides and expires; what carries the decision (HTTP routes, a control channel) lies
outside. Every queued gate prints one console line and, where the host configured it, sends one signed webhook.
"""

from __future__ import annotations

from language.console_text import one_line
from language.gates import Gate, Gates, notice
from language.values import to_bool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from language.host import Host

DEFAULT_SECONDS = 300.0
MOST_PENDING = 1000
LONGEST_MESSAGE = 4096
LONGEST_VALUE = 16 * 1024

#: Outcomes of a decision.
DECIDED = "decided"
UNKNOWN = "no pending approval with that id"
WRONG_TOKEN = "invalid token for this approval"
NEEDS_DECISION = 'this gate needs "decision"'
NEEDS_VALUE = 'this gate needs "value"'


class Entry:
    """A pending gate. ``expires_at`` is whole Unix seconds; ``deadline`` is on the monotonic clock, which decides."""

    __slots__ = ("answer", "deadline", "expires_at", "gate", "id", "shown", "token")

    def __init__(self, identifier: str, gate: Gate, token: str, expires_at: int, deadline: float) -> None:
        self.id = identifier
        self.gate = gate
        self.token = token
        self.expires_at = expires_at
        self.deadline = deadline
        self.answer: bool | str | None = None
        self.shown = shortened(gate.message)


class GateQueue(Gates):
    """Gates that wait for somebody outside.

    ``settings`` are the host's own (process environment only): ``PLATFORM_HUMAN_WEBHOOK``, ``PLATFORM_HUMAN_WEBHOOK_SECRET``,
    ``PLATFORM_HUMAN_PUBLIC_URL``; ``seconds`` is the wait of gates without ``within``.
    """

    def __init__(self, host: Host, settings: Mapping[str, str], *, seconds: float = DEFAULT_SECONDS) -> None:
        from threading import Condition

        super().__init__(host, "too many pending gates")
        self._condition = Condition()
        self._entries: dict[str, Entry] = {}
        self._count = 0
        self._boot = host.random_bytes(3).hex()
        self._seconds = seconds
        self._webhook = _webhook_of(host, settings)
        self._closed = False

    # ---- the program's side ---------------------------------------------------------------------------------------------

    def answer(self, gate: Gate) -> Any:
        entry = self._open(gate)
        if entry is None:
            return super().answer(gate)
        self._announce(entry)
        return self._wait(entry)

    def _open(self, gate: Gate) -> Entry | None:
        seconds = self._seconds if gate.within is None else gate.within
        token = self._host.random_bytes(32).hex()
        with self._condition:
            if self._closed or len(self._entries) >= MOST_PENDING:
                return None
            self._count += 1
            identifier = f"interact_{self._count}-{self._boot}"
            expires_at = int((self._host.now() + seconds) // 1)
            entry = self._entries[identifier] = Entry(identifier, gate, token, expires_at, self._host.monotonic() + seconds)
        return entry

    def _announce(self, entry: Entry) -> None:
        body = '"value": "text"' if entry.gate.kind == "ask" else '"decision": true|false'
        left = max(0, round(entry.expires_at - self._host.now()))
        self._host.write_error_line(
            f'[lang] approval pending {entry.id} "{one_line(entry.shown)}" (expires in {left}s): '
            f'POST /approvals/{entry.id} {{"token": "{entry.token}", {body}}}'
        )
        if self._webhook is not None:
            self._webhook.send(entry)

    def _wait(self, entry: Entry) -> Any:
        with self._condition:
            while entry.answer is None and not self._closed:
                left = entry.deadline - self._host.monotonic()
                if left <= 0:
                    break
                # Short waits: an exception raised in this thread from outside lands between them.
                self._condition.wait(min(left, 0.25))
            self._entries.pop(entry.id, None)
            answer = entry.answer
        if isinstance(answer, str):
            return entry.gate.answered(answer)
        if answer is not None:
            return to_bool(answer)
        notice(self._host, "expired", f"gate {entry.id} was not answered in time -> {_outcome(entry.gate)}")
        return entry.gate.refused()

    # ---- the other side -------------------------------------------------------------------------------------------------

    def pending(self) -> list[dict[str, Any]]:
        """What may be listed: id, message, type and expiry of the gates that can still be decided, oldest first. No token."""
        with self._condition:
            now = self._host.monotonic()
            return [
                {"id": e.id, "message": e.shown, "type": e.gate.kind, "expires_at": e.expires_at}
                for e in self._entries.values()
                if e.answer is None and e.deadline > now
            ]

    def decide(self, identifier: str, token: str, *, decision: bool | None = None, value: str | None = None) -> str:
        """Decides a gate: ``DECIDED``, or why not (``UNKNOWN``, ``WRONG_TOKEN``, ``NEEDS_DECISION``, ``NEEDS_VALUE``).

        Of several decisions at once exactly one is ``DECIDED``, and the program sees that one; after it, and at the deadline,
        the gate is ``UNKNOWN``. A wrong token leaves the gate waiting; tokens are compared in constant time.
        """
        from hmac import compare_digest

        with self._condition:
            entry = self._entries.get(identifier)
            if entry is None or entry.answer is not None or self._host.monotonic() >= entry.deadline:
                return UNKNOWN
            if not compare_digest(entry.token.encode(), token.encode("utf-8", "replace")):
                return WRONG_TOKEN
            if entry.gate.kind == "ask":
                if value is None or len(value.encode("utf-8", "replace")) > LONGEST_VALUE:
                    return NEEDS_VALUE
                entry.answer = value
            else:
                if decision is None:
                    return NEEDS_DECISION
                entry.answer = decision
            self._condition.notify_all()
            return DECIDED

    def close(self) -> list[str]:
        """Refuses every pending gate and every new one; the ids of those that were pending."""
        with self._condition:
            self._closed = True
            waiting = [e.id for e in self._entries.values() if e.answer is None]
            self._condition.notify_all()
        if waiting:
            notice(self._host, "closed", f"shutting down with pending gates -> DENIED: {', '.join(waiting)}")
        return waiting


def _outcome(gate: Gate) -> str:
    return "automatic fallback" if gate.kind == "ask" else "DENIED (fail-closed)"


def shortened(message: str) -> str:
    """A message as the console, the webhook and the listing show it."""
    return message if len(message) <= LONGEST_MESSAGE else message[:LONGEST_MESSAGE] + "..."


# ---- webhook -----------------------------------------------------------------------------------------------------------


class Webhook:
    """One signed ``POST`` for every queued gate, from a thread of its own; the gate never notices how it went."""

    def __init__(self, host: Host, url: str, secret: str | None, public_url: str | None) -> None:
        self._host = host
        self._url = url
        self._secret = secret
        self._public_url = public_url

    def body(self, entry: Entry) -> bytes:
        """The JSON that is sent."""
        import json

        fields: dict[str, Any] = {
            "id": entry.id,
            "type": entry.gate.kind,
            "message": entry.shown,
            "expires_at": entry.expires_at,
            "token": entry.token,
            "respond_path": f"/approvals/{entry.id}",
        }
        if entry.gate.options is not None:
            fields["options"] = entry.gate.options
        if self._public_url is not None:
            address = f"{self._public_url.rstrip('/')}/approvals/{entry.id}"
            page = f"{address}/{entry.token}"
            fields.update(
                respond_url=address, respond_page=page, respond_link_yes=page + "?d=yes", respond_link_no=page + "?d=no"
            )
        return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")

    def headers(self, body: bytes) -> dict[str, str]:
        """Its headers; with a secret, the HMAC-SHA256 (RFC 2104) of the exact body."""
        headers = {"Content-Type": "application/json"}
        if self._secret is not None:
            import hashlib
            import hmac

            digest = hmac.new(self._secret.encode(), body, hashlib.sha256).hexdigest()
            headers["X-Platform-Signature"] = f"sha256={digest}"
        return headers

    def send(self, entry: Entry) -> None:
        """Starts the one attempt and returns."""
        from threading import Thread

        Thread(target=self._deliver, args=(self.body(entry),), daemon=True, name="lang-webhook").start()

    def _deliver(self, body: bytes) -> None:
        reason = self._host.post_webhook(self._url, body, self.headers(body))
        if reason is not None:
            notice(
                self._host,
                "webhook",
                f"the approval webhook could not be delivered ({reason}). The gate waits all the same: decide it by the "
                "console line.",
            )


def _webhook_of(host: Host, settings: Mapping[str, str]) -> Webhook | None:
    url = settings.get("PLATFORM_HUMAN_WEBHOOK")
    if not url:
        return None
    if not url.startswith(("http://", "https://")):
        host.write_error_line("lang: warning: PLATFORM_HUMAN_WEBHOOK is no http or https URL: no webhook is sent")
        return None
    return Webhook(host, url, settings.get("PLATFORM_HUMAN_WEBHOOK_SECRET") or None, settings.get("PLATFORM_HUMAN_PUBLIC_URL"))


def configured_seconds(host: Host) -> float:
    """The wait of gates without ``within``: ``PLATFORM_HUMAN_TIMEOUT`` in seconds, else 300; a wrong value is a warning."""
    text = host.environ("PLATFORM_HUMAN_TIMEOUT")
    if text is None:
        return DEFAULT_SECONDS
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if 0 < seconds < float("inf"):
        return seconds
    host.write_error_line("lang: warning: PLATFORM_HUMAN_TIMEOUT must be a number of seconds above 0: using 300")
    return DEFAULT_SECONDS
