"""Rate limits: how many requests one client may make, and the header fields that report it
(draft-ietf-httpapi-ratelimit-headers-03, RFC 9110 section 10.2.3).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from language.shared.store import SharedStore

# Times are computed with floats; a time that is below a whole second by a rounding error counts as that second.
_ROUNDING = 1e-9


class Verdict:
    """Whether a request is allowed. ``limit`` and ``remaining`` are in requests, ``reset`` (until the bucket is full) and
    ``retry_after`` (until there is a token; 0 when allowed) in whole seconds.
    """

    __slots__ = ("_amount", "_left", "_window", "allowed")

    def __init__(self, left: float, amount: float, window: float) -> None:
        self._left = left
        self._amount = amount
        self._window = window
        self.allowed = left >= 0

    @property
    def limit(self) -> int:
        return int(self._amount)

    @property
    def remaining(self) -> int:
        return int(self._left + _ROUNDING) if self._left > 0 else 0

    @property
    def reset(self) -> int:
        tokens = self._left if self._left >= 0 else self._left + 1
        return self._seconds(self._amount - tokens)

    @property
    def retry_after(self) -> int:
        return 0 if self.allowed else self._seconds(-self._left)

    def _seconds(self, tokens: float) -> int:
        """Whole seconds until that many tokens are refilled, plus 1."""
        if self._amount <= 0:
            return int(self._window) + 1
        return int(tokens * self._window / self._amount + _ROUNDING) + 1

    def headers(self) -> list[tuple[str, str]]:
        """The header fields of a reply, also of a refusal."""
        fields = [
            ("RateLimit-Limit", str(self.limit)),
            ("RateLimit-Remaining", str(self.remaining)),
            ("RateLimit-Reset", str(self.reset)),
        ]
        if not self.allowed:
            fields.append(("Retry-After", str(self.retry_after)))
        return fields


class Limiter:
    """One limit: ``amount`` requests per ``window`` seconds for each key (an address, an identity), as a token bucket that
    refills evenly.

    ``name`` distinguishes the limits of one program. Thread-safe.
    """

    __slots__ = ("_amount", "_take", "_window")

    def __init__(self, store: SharedStore, amount: float, window: float, name: str = "") -> None:
        self._amount = amount
        self._window = window
        self._take = store.buckets(name, amount, window).take

    def take(self, key: str) -> Verdict:
        """Counts one request. Raises ``RuntimeFault`` if the store that several processes share cannot be reached."""
        return Verdict(self._take(key), self._amount, self._window)
