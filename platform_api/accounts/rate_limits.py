"""How many requests a key may make a minute, counted for all replicas together.

Each process counts by itself and hands its number to the store once in a while, not at every request: one limit is exceeded by
at most a sixtieth a replica, and a request costs no write of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from platform_api.accounts import throttle
from platform_api.moments import MINUTE, SECOND, now
from platform_api.refusals import Refusal

if TYPE_CHECKING:
    from platform_api.store.database import Database

REQUESTS_OF_A_TOKEN = 6_000
SIGN_INS_OF_AN_ADDRESS = 300
HOOKS_OF_AN_ADDRESS = 300
#: Each fetches a repository and analyses a program.
DEPLOYS_OF_A_HOOK = 10
#: Keys that are held in memory before those whose minute is over are let go.
_KEYS = 10_000


@dataclass
class _Window:
    since: int
    shared: int = 0  # what the store said, at the last exchange
    own: int = 0  # counted here since


class RateLimit:
    """One limit.

    Args:
        main: where the replicas put their numbers together.
        name: what the keys are, for the store.
        limit: requests a minute.
    """

    def __init__(self, main: Database, name: str, limit: int) -> None:
        self._main = main
        self._name = name
        self._limit = limit
        self._batch = max(1, limit // 60)
        self._windows: dict[str, _Window] = {}

    async def count(self, key: str) -> None:
        """Counts a request.

        Errors: ``rate_limited``, with the seconds until the minute is over.
        """
        moment = now()
        window = self._windows.get(key)
        if window is None or moment - window.since > MINUTE:
            self._let_go(moment)
            window = self._windows[key] = _Window(moment)
        if window.shared + window.own >= self._limit:
            seconds = max(1, -(-(window.since + MINUTE - moment) // SECOND))
            raise Refusal(
                "rate_limited", f"At most {self._limit} requests a minute: go on in {seconds} s.", retry_after=seconds
            )
        window.own += 1
        if window.own >= self._batch:
            events, window.own = window.own, 0
            window.shared += events
            shared = await self._main.write(throttle.count, f"{self._name}:{key}", MINUTE, events)
            window.shared = max(window.shared, shared)

    def _let_go(self, moment: int) -> None:
        if len(self._windows) >= _KEYS:
            self._windows = {key: window for key, window in self._windows.items() if moment - window.since <= MINUTE}


class RateLimits:
    """The limits of the service.

    Attributes:
        tokens: requests of a token.
        sign_ins: requests of an address to the routes that give tokens.
        hooks: requests of an address to deploy hooks, and ``deploys`` those to the hook of one project.
    """

    def __init__(self, main: Database) -> None:
        self.tokens = RateLimit(main, "requests", REQUESTS_OF_A_TOKEN)
        self.sign_ins = RateLimit(main, "sign-ins", SIGN_INS_OF_AN_ADDRESS)
        self.hooks = RateLimit(main, "hooks", HOOKS_OF_AN_ADDRESS)
        self.deploys = RateLimit(main, "deploys", DEPLOYS_OF_A_HOOK)
