"""Limits of requests a minute for a key, counted over all replicas.

Each process counts by itself and adds its number to the store from time to time, so that a request needs no write. Each replica
can thereby exceed a limit by at most a sixtieth.
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
#: Deploys by hooks: each fetches a repository and analyses a program.
DEPLOYS_OF_A_HOOK = 10
#: With this many keys in memory, those whose minute is over are removed.
_KEYS = 10_000


@dataclass
class _Window:
    since: int
    shared: int = 0  # the number in the store at the last exchange
    own: int = 0  # counted here since then


class RateLimit:
    """One limit.

    Args:
        main: the database that the replicas share.
        name: the kind of the keys, for the store.
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

    def count_here(self, key: str) -> bool:
        """Counts a request where nothing has to be handed to the store for it. ``False``: it is not counted, use ``count``."""
        window = self._windows.get(key)
        if window is None or window.shared + window.own >= self._limit or window.own + 1 >= self._batch:
            return False
        if now() - window.since > MINUTE:
            return False
        window.own += 1
        return True

    def _let_go(self, moment: int) -> None:
        if len(self._windows) >= _KEYS:
            self._windows = {key: window for key, window in self._windows.items() if moment - window.since <= MINUTE}


class RateLimits:
    """The limits of the service.

    Attributes:
        tokens: requests of a token or of a browser session.
        sign_ins: requests of an address to the routes that give tokens.
        hooks: requests of an address to deploy hooks, and ``deploys`` those to the hook of one project.
    """

    def __init__(self, main: Database) -> None:
        self.tokens = RateLimit(main, "requests", REQUESTS_OF_A_TOKEN)
        self.sign_ins = RateLimit(main, "sign-ins", SIGN_INS_OF_AN_ADDRESS)
        self.hooks = RateLimit(main, "hooks", HOOKS_OF_AN_ADDRESS)
        self.deploys = RateLimit(main, "deploys", DEPLOYS_OF_A_HOOK)
