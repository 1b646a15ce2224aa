"""Token buckets: each holds ``amount`` tokens, a request takes one, and what was taken comes back evenly over ``window``
seconds."""

from __future__ import annotations

from collections import OrderedDict

from language.locks import Lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

#: Buckets of one limit. Somebody who comes from ever new addresses makes the server forget buckets, not run out of memory.
MOST_BUCKETS = 100_000
LOOK_SECONDS = 30.0

#: What rounding may have taken from a token that has come back whole.
_ROUNDING = 1e-9


def taken(tokens: float, elapsed: float, amount: float, window: float) -> float:
    """What is left in a bucket that held ``tokens`` ``elapsed`` seconds ago once one is taken: below 0 when there was none."""
    if elapsed > 0:  # another thread may have been first
        tokens += elapsed * amount / window
    if tokens > amount:
        tokens = amount
    left = tokens - 1.0
    return 0.0 if -_ROUNDING < left < 0 else left


class MemoryBuckets:
    """The buckets of one limit in memory, least recently used first. ``clock`` is in monotonic seconds."""

    __slots__ = ("_amount", "_buckets", "_clock", "_lock", "_look_at", "_window")

    def __init__(self, amount: float, window: float, clock: Callable[[], float]) -> None:
        self._amount = amount
        self._window = window
        self._clock = clock
        self._lock = Lock()
        #: key → tokens left, and when that was
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._look_at = clock() + LOOK_SECONDS

    def take(self, key: str) -> float:
        now = self._clock()
        buckets = self._buckets
        with self._lock:
            if now >= self._look_at:
                self._forget(now)
            known = buckets.get(key)
            if known is None:
                left = taken(self._amount, 0.0, self._amount, self._window)
                if len(buckets) >= MOST_BUCKETS:
                    # The one unseen for longest is the one nearest to full.
                    buckets.popitem(last=False)
            else:
                left = taken(known[0], now - known[1], self._amount, self._window)
                buckets.move_to_end(key)
            # A refusal takes nothing.
            buckets[key] = (left if left >= 0 else left + 1.0, now)
        return left

    def __len__(self) -> int:
        return len(self._buckets)

    def _forget(self, now: float) -> None:
        """Drops the buckets unseen for two windows: they are full."""
        self._look_at = now + LOOK_SECONDS
        buckets = self._buckets
        while buckets:
            key = next(iter(buckets))
            if now - buckets[key][1] < 2 * self._window:
                return
            del buckets[key]
