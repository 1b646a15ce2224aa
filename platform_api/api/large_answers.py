"""Answers of many megabytes: an account has few at a time, and a client that does not take one is given up."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager
from itertools import chain
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from litestar import Response
from litestar.response.base import ASGIResponse

from platform_api.api.streams import client_gone, send_patiently
from platform_api.history.export import exported

if TYPE_CHECKING:
    from litestar.types import Receive, Scope, Send

    from platform_api.accounts.principal import Principal
    from platform_api.platform import Platform

T = TypeVar("T")
logger = logging.getLogger("platform")
#: What makes the whole content, or the parts of it.
Content: TypeAlias = "Callable[[], Awaitable[bytes]] | Iterator[bytes]"
#: Bytes that are handed to a connection at a time. What it has not taken of an answer is not copied into its buffer.
_PIECE = 64 * 1024
#: Threads of their own: packing and unpacking takes none from reports of runners, and leaves a processor to others.
_THREADS = ThreadPoolExecutor(2, thread_name_prefix="large-answer")
_END = {"type": "http.response.body", "body": b"", "more_body": False}


async def in_a_thread(step: Callable[..., T], *args: Any) -> T:
    """The result of a step that packs or unpacks many megabytes."""
    return await asyncio.get_running_loop().run_in_executor(_THREADS, step, *args)


class LargeAnswer(Response[Any], Generic[T]):
    """An answer whose content is made when its account has a place for it. ``T`` is what the content describes.

    Args:
        place: entered before anything is made or sent; what it raises is the answer. Left when the answer has been sent, or
            its client accepts nothing for ``PATIENCE`` seconds.
        content: makes the whole content, whose length is then told. Or makes parts of it: each in a thread, when the client has
            accepted those before, and no more of them when it has gone away.
        headers: besides the type and the length.
    """

    def __init__(
        self,
        place: AbstractAsyncContextManager[None],
        content: Content,
        media_type: str = "application/json",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(None, media_type=media_type)
        named = {"content-type": media_type, **(headers or {})}
        self._parts = (place, content, [(name.lower().encode(), value.encode()) for name, value in named.items()])

    def to_asgi_response(self, *_: Any, **__: Any) -> ASGIResponse:
        """What Litestar sends."""
        return _Sending(*self._parts)


class _Sending(ASGIResponse):
    __slots__ = ("_content", "_own_headers", "_place")

    def __init__(self, place: AbstractAsyncContextManager[None], content: Content, headers: list[tuple[bytes, bytes]]) -> None:
        super().__init__()
        self._place = place
        self._content = content
        self._own_headers = headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends all of it, or until nobody takes it."""
        async with self._place:
            try:
                if isinstance(self._content, Iterator):
                    await self._in_parts(self._content, receive, send)
                else:
                    content = await self._content()
                    start = self._start((b"content-length", str(len(content)).encode()))
                    await _send_all(send, chain([start], _pieces(content), [_END]))
            except _NotAccepted:
                logger.info("request %s was ended: its client accepts nothing", scope["state"].get("request_id", ""))

    async def _in_parts(self, parts: Iterator[bytes], receive: Receive, send: Send) -> None:
        gone = asyncio.ensure_future(client_gone(receive))
        try:
            await _send_all(send, [self._start()])
            while (part := await in_a_thread(next, parts, None)) is not None:
                if gone.done():
                    return
                await _send_all(send, _pieces(part))
            await _send_all(send, [_END])
        finally:
            gone.cancel()
            await asyncio.gather(gone, return_exceptions=True)

    def _start(self, *more: tuple[bytes, bytes]) -> dict[str, Any]:
        return {"type": "http.response.start", "status": 200, "headers": [*self._own_headers, *more]}


def _pieces(content: bytes) -> Iterator[dict[str, Any]]:
    for start in range(0, len(content), _PIECE):
        yield {"type": "http.response.body", "body": content[start : start + _PIECE], "more_body": True}


class _NotAccepted(Exception):
    """The client accepts nothing."""


async def _send_all(send: Send, messages: Iterable[Any]) -> None:
    for message in messages:
        try:
            await send_patiently(send, message)
        except TimeoutError:
            raise _NotAccepted from None
        await asyncio.sleep(0)  # to send waits for nothing while the client reads as fast


def history_file(platform: Platform, principal: Principal, project_id: str) -> LargeAnswer[Any]:
    """Everything a project went through, as a file. Whether the caller may read it is looked at before."""
    name = f'attachment; filename="{project_id}.history.jsonl"'
    return LargeAnswer(
        platform.downloads.one(principal.account_id),
        exported(platform.store.records, project_id),
        "application/x-ndjson",
        {"Content-Disposition": name, "Cache-Control": "no-store"},
    )
