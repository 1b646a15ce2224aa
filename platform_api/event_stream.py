"""Server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html) as bytes, and how many may be open."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from platform_api.refusals import Refusal

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Seconds between two comments that keep a connection open; whether the token still holds is looked at as often.
HEARTBEAT = 15.0
#: Seconds that a client may take to accept what was sent, before its connection is given up.
PATIENCE = 30.0
COMMENT = b":\n\n"
OPEN_AN_ACCOUNT = 100


def event_bytes(name: str, data: Mapping[str, Any], number: str) -> bytes:
    """One event.

    Args:
        name: what kind of event it is.
        number: what a client sends as ``Last-Event-ID`` when it comes back.
    """
    # JSON has no line ends outside of texts and escapes those inside: the data is one line.
    return f"id: {number}\nevent: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


class OpenStreams:
    """The streams that are open in this process, by account. For the event loop.

    Args:
        limited: whether there is a limit.

    Attributes:
        open: how many each account has open, for those that have any.
    """

    def __init__(self, *, limited: bool) -> None:
        self._limited = limited
        self.open: dict[str, int] = {}

    @contextmanager
    def one(self, account_id: str) -> Iterator[None]:
        """The place of one stream.

        Errors: ``rate_limited`` when the account has 100 open.
        """
        count = self.open.get(account_id, 0)
        if self._limited and count >= OPEN_AN_ACCOUNT:
            raise Refusal("rate_limited", f"This account has {OPEN_AN_ACCOUNT} streams open: close one.", retry_after=15)
        self.open[account_id] = count + 1
        try:
            yield
        finally:
            self.open[account_id] -= 1
            if not self.open[account_id]:
                del self.open[account_id]
