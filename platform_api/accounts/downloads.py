"""The large answers that are being sent to each account: few at a time, because each is held in memory until it is read."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from platform_api.refusals import Refusal

DOWNLOADS_AN_ACCOUNT = 4
#: All accounts together have so many. Once half of them are under way, an account that has one gets no further one, so that a
#: few accounts do not keep out the others.
DOWNLOADS_IN_ALL = 24


class Downloads:
    """The downloads from this process, whose memory they take: each replica counts its own. For the event loop.

    Args:
        limited: whether there is a limit.

    Attributes:
        open: how many each account has here, for those that have any.
    """

    def __init__(self, *, limited: bool) -> None:
        self._limited = limited
        self.open: dict[str, int] = {}

    @asynccontextmanager
    async def one(self, account_id: str) -> AsyncIterator[None]:
        """Counts one download while the context is open.

        Errors: ``rate_limited`` if the account has 4 already, or all accounts together have too many.
        """
        number, in_all = self.open.get(account_id, 0), sum(self.open.values())
        if self._limited and number >= DOWNLOADS_AN_ACCOUNT:
            message = f"This account has {DOWNLOADS_AN_ACCOUNT} downloads under way: wait until one has ended."
            raise Refusal("rate_limited", message, retry_after=15)
        if self._limited and in_all >= (DOWNLOADS_IN_ALL // 2 if number else DOWNLOADS_IN_ALL):
            raise Refusal("rate_limited", "Too many downloads are under way: wait until some have ended.", retry_after=15)
        self.open[account_id] = number + 1
        try:
            yield
        finally:
            self.open[account_id] -= 1
            if not self.open[account_id]:
                del self.open[account_id]
