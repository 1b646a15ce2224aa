"""The pending gates of a program, and the rules by which a gate is decided."""

from __future__ import annotations

from language.locks import Lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

LONGEST_VALUE = 16 * 1024
#: Of one hash of a token.
_DIGEST_BYTES = 32

#: Outcomes of a decision. They begin the texts of the HTTP answers.
DECIDED = "decided"
UNKNOWN = "no pending approval with that id"
WRONG_TOKEN = "invalid token for this approval"
NEEDS_DECISION = 'this gate needs "decision"'
NEEDS_VALUE = 'this gate needs "value"'
TOO_LONG = "the value is longer than 16 KiB"


class GateRecord:
    """A pending gate.

    ``message`` and ``options`` are as shown to a person. ``expires_at`` is in whole Unix seconds, ``deadline`` in monotonic
    seconds. Only the SHA-256 hash of the token is stored, so reading the store does not enable anybody to decide a gate.
    ``digest`` is that hash. If the client of a tool was given a link of its own, the hash of that link's token follows
    (:func:`with_client_link`).
    """

    __slots__ = ("answer", "deadline", "digest", "expires_at", "id", "kind", "message", "options")

    def __init__(
        self,
        kind: str,
        message: str,
        options: list[str] | None,
        digest: bytes,
        expires_at: int,
        deadline: float,
        *,
        identifier: str = "",
        answer: bool | str | None = None,
    ) -> None:
        self.id = identifier
        self.kind = kind
        self.message = message
        self.options = options
        self.digest = digest
        self.expires_at = expires_at
        self.deadline = deadline
        self.answer = answer


def digest_of(token: str) -> bytes:
    """The hash in which tokens are stored and compared."""
    from hashlib import sha256

    return sha256(token.encode("utf-8", "replace")).digest()


def with_client_link(digest: bytes, link: bytes) -> bytes:
    """The ``digest`` of a gate that a second token decides too: the one in the link for the client of a tool."""
    return digest + link


def is_client_link(record: GateRecord, token: str) -> bool:
    """Whether this token is the one in the link that the client of a tool was given."""
    from hmac import compare_digest

    return compare_digest(record.digest[_DIGEST_BYTES:], digest_of(token))


def holds(record: GateRecord, token: str) -> bool:
    """Whether this token is one of the gate, pending or not."""
    return _decides(record, digest_of(token))


def _decides(record: GateRecord, digest: bytes) -> bool:
    """Whether a token with this hash decides the gate. Takes the same time whichever it is not."""
    from hmac import compare_digest

    own = compare_digest(record.digest[:_DIGEST_BYTES], digest)
    return compare_digest(record.digest[_DIGEST_BYTES:], digest) or own


def stands(record: GateRecord | None, digest: bytes, now: float) -> str:
    """Whether the holder of this token can still decide the gate: ``DECIDED`` if so, else the outcome that says why not."""
    if record is None or record.answer is not None or now >= record.deadline:
        return UNKNOWN
    return DECIDED if _decides(record, digest) else WRONG_TOKEN


def objection(record: GateRecord | None, digest: bytes, decision: bool | None, value: str | None, now: float) -> str:
    """Whether this decision is valid for the gate: ``DECIDED`` if so, else the first outcome that says why not."""
    found = stands(record, digest, now)
    if found is not DECIDED or record is None:
        return found
    if record.kind != "ask":
        return DECIDED if decision is not None else NEEDS_DECISION
    if value is None:
        return NEEDS_VALUE
    return DECIDED if len(value.encode("utf-8", "replace")) <= LONGEST_VALUE else TOO_LONG


class MemoryBoard:
    """The gates of a program with one process. ``boot`` makes the ids of one run different from those of other runs."""

    shared = False

    def __init__(self, boot: str) -> None:
        self._lock = Lock()
        self._records: dict[str, GateRecord] = {}
        self._count = 0
        self._boot = boot

    def after_fork(self, begin: Callable[[], None]) -> None:
        pass  # a board in memory is not shared with forked processes

    def open(self, record: GateRecord) -> str:
        with self._lock:
            self._count += 1
            record.id = f"interact_{self._count}-{self._boot}"
            self._records[record.id] = record
        return record.id

    def look(self, identifier: str) -> GateRecord | None:
        return self._records.get(identifier)

    def pending(self, now: float) -> list[GateRecord]:
        with self._lock:
            records = list(self._records.values())
        return [record for record in records if record.answer is None and record.deadline > now]

    def decide(self, identifier: str, digest: bytes, decision: bool | None, value: str | None, now: Callable[[], float]) -> str:
        with self._lock:
            record = self._records.get(identifier)
            outcome = objection(record, digest, decision, value, now())
            if outcome is DECIDED and record is not None:
                record.answer = value if record.kind == "ask" else decision
            return outcome

    def take(self, identifier: str) -> bool | str | None:
        with self._lock:
            record = self._records.pop(identifier, None)
        return None if record is None else record.answer

    def answered(self) -> list[str]:
        with self._lock:
            return [record.id for record in self._records.values() if record.answer is not None]
