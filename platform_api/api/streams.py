"""Answers that do not end: server-sent events, sent while somebody reads them."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager, aclosing
from typing import TYPE_CHECKING, Any

from litestar import Response
from litestar.response.base import ASGIResponse

from platform_api.event_stream import COMMENT, PATIENCE
from platform_api.refusals import Refusal

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from litestar.types import Receive, Scope, Send

    from platform_api.accounts.principal import Principal
    from platform_api.platform import Platform
    from platform_api.records.feed import Source

#: The highest number that a row can have.
LAST_NUMBER = 2**63 - 1
_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),  # nginx passes on what it gets at once
]


class EventStream(Response[None]):
    """A stream of events.

    Args:
        place: entered before anything is sent; what it raises is the answer. Left when the stream is over.
        events: makes the events as bytes. It is closed when the client goes away or accepts nothing for ``PATIENCE`` seconds.
    """

    def __init__(self, place: AbstractAsyncContextManager[None], events: Callable[[], AsyncGenerator[bytes, None]]) -> None:
        super().__init__(None, media_type="text/event-stream")
        self._place = place
        self._events = events

    def to_asgi_response(self, *_: Any, **__: Any) -> ASGIResponse:
        """What Litestar sends."""
        return _Sending(self._place, self._events)


class _Sending(ASGIResponse):
    __slots__ = ("_events", "_place")

    def __init__(self, place: AbstractAsyncContextManager[None], events: Callable[[], AsyncGenerator[bytes, None]]) -> None:
        super().__init__()
        self._place = place
        self._events = events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends until there are no more events, or nobody reads them."""
        async with self._place:
            await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
            sending = asyncio.ensure_future(self._send(send))
            gone = asyncio.ensure_future(client_gone(receive))
            try:
                await asyncio.wait({sending, gone}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                sending.cancel()
                gone.cancel()
                await asyncio.gather(sending, gone, return_exceptions=True)
            if not sending.cancelled() and (error := sending.exception()) is not None:
                raise error

    async def _send(self, send: Send) -> None:
        async with aclosing(self._events()) as events:
            try:
                await _chunk(send, COMMENT)  # the headers pass proxies with it
                async for event in events:
                    await _chunk(send, event)
            except TimeoutError:
                return
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _chunk(send: Send, body: bytes) -> None:
    await send_patiently(send, {"type": "http.response.body", "body": body, "more_body": True})


async def send_patiently(send: Send, message: Any) -> None:
    """Sends a message of an answer.

    Errors: ``TimeoutError`` for a client that accepts nothing for ``PATIENCE`` seconds.
    """
    # Not `wait_for`: in Python 3.11 a cancellation is lost there that comes in the moment in which what it waits for is done.
    async with asyncio.timeout(PATIENCE):
        await send(message)


async def client_gone(receive: Receive) -> None:
    """Returns when the client has gone away, or its answer is complete."""
    while (await receive())["type"] != "http.disconnect":
        pass


def watched(platform: Platform, principal: Principal, source: Source, after: int, project_id: str | None = None) -> EventStream:
    """The events of a source, as long as the account, its token and the project hold.

    Args:
        after: the number behind which they begin.
        project_id: the project that they are of; ``None`` for the account.
    """

    async def may_go_on() -> bool:
        return await platform.watching.may_go_on(principal, project_id)

    place = platform.open_streams.one(principal.account_id)
    return EventStream(place, lambda: platform.feeds.follow(source, after, may_go_on))


def number(text: str, field: str) -> int:
    """The number that stands in a query or header.

    Errors: ``validation`` for another text.
    """
    if not (text.isascii() and text.isdigit() and len(text) <= 19 and int(text) <= LAST_NUMBER):
        raise Refusal("validation", f"{field} is a number that an answer has given: digits, not {text[:40]!r}.", field=field)
    return int(text)
