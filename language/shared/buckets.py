"""Token buckets: each holds up to ``amount`` tokens, a request takes one, and tokens are refilled evenly over ``window``
seconds.
"""

from __future__ import annotations

from collections import OrderedDict

from language.locks import Lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

#: The most buckets of one limit. A client that keeps changing its address makes the server drop buckets, but not run out of
#: memory.
MOST_BUCKETS = 100_000
LOOK_SECONDS = 30.0

#: The largest rounding error of a token that is refilled.
_ROUNDING = 1e-9


def taken(tokens: float, elapsed: float, amount: float, window: float) -> float:
    """The tokens left after one is taken from a bucket that held ``tokens`` ``elapsed`` seconds ago; below 0 when there was
    none.
    """
    if elapsed > 0:  # another thread may have taken one after the time was read
        tokens += elapsed * amount / window
    if tokens > amount:
        tokens = amount
    left = tokens - 1.0
    return 0.0 if -_ROUNDING < left < 0 else left


class MemoryBuckets:
    """The buckets of one limit in memory, least recently used first. ``clock`` gives monotonic seconds."""

    __slots__ = ("_amount", "_buckets", "_clock", "_lock", "_look_at", "_window")

    def __init__(self, amount: float, window: float, clock: Callable[[], float]) -> None:
        self._amount = amount
        self._window = window
        self._clock = clock
        self._lock = Lock()
        #: key → tokens left, and the time of that
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
                    # The least recently used bucket is the fullest.
                    buckets.popitem(last=False)
            else:
                left = taken(known[0], now - known[1], self._amount, self._window)
                buckets.move_to_end(key)
            # A refused request takes no token.
            buckets[key] = (left if left >= 0 else left + 1.0, now)
        return left

    def __len__(self) -> int:
        return len(self._buckets)

    def _forget(self, now: float) -> None:
        """Drops the buckets unused for two windows: they are full."""
        self._look_at = now + LOOK_SECONDS
        buckets = self._buckets
        while buckets:
            key = next(iter(buckets))
            if now - buckets[key][1] < 2 * self._window:
                return
            del buckets[key]
