"""The connections of the service: those of uvicorn, with a short way for answers that are kept."""

from __future__ import annotations

import logging
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from platform_api.gateway import Gateway
from platform_api.short_way import Asked, ShortWay

logger = logging.getLogger("platform")


class Connection(HttpToolsProtocol):
    """One connection.

    An answer that is kept is written where its request was read: head and body in one piece, without a task of its own. With a
    version of uvicorn that begins requests in another way, all go the long way.

    A request whose bytes were answered so before is not parsed again. That needs a parser between two requests, bytes that are
    one whole request, and one without a body.
    """

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        #: Whether the parser is between two requests, and how many have begun in what is being read.
        self._between, self._begun = True, 0
        #: What the last request asked that was answered from what is kept.
        self._asked: Asked | None = None
        #: When a request was answered without having been parsed, in seconds of the event loop.
        self._answered_at = 0.0

    def data_received(self, data: bytes) -> None:
        """Something has arrived."""
        app = self.app
        whole = self._between and isinstance(app, Gateway) and (self.cycle is None or self.cycle.response_complete)
        if whole and self._answer_again(app.short_way, data):
            return
        self._begun, self._asked = 0, None
        super().data_received(data)
        if whole and self._begun == 1 and self._between and self._asked is not None:
            app.short_way.remember(data, self._asked)

    def on_message_begin(self) -> None:
        """A request begins."""
        self._between = False
        self._begun += 1
        super().on_message_begin()

    def on_message_complete(self) -> None:
        """A request has been read, with its body."""
        super().on_message_complete()
        self._between = self.cycle.keep_alive and not self.parser.should_upgrade()

    def timeout_keep_alive_handler(self) -> None:
        """Ends a connection on which nothing was asked for a while."""
        left = self._answered_at + self.timeout_keep_alive - self.loop.time()
        if left > 0:
            self.timeout_keep_alive_task = self.loop.call_later(left, self.timeout_keep_alive_handler)
        else:
            super().timeout_keep_alive_handler()

    def _answer_again(self, short_way: ShortWay, data: bytes) -> bool:
        if self.limit_concurrency is not None or self.flow.write_paused or (asked := short_way.recall(data)) is None:
            return False
        # What is one request had begun to arrive when the event loop was told of it, which is before its turn.
        answer = self._kept(short_way, asked, begun_before_this_turn=True)
        if answer is None:
            return False
        self.transport.write(answer)
        self.server_state.total_requests += 1
        self._answered_at = self.loop.time()
        if self.timeout_keep_alive_task is None:
            self.timeout_keep_alive_handler()
        return True

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        # Requests that wait for this one are begun one inside of the other: only the last of them may be answered here.
        short_way = app.short_way if isinstance(app, Gateway) else None
        if short_way is None or not cycle.keep_alive or self.pipeline or self.flow.write_paused:
            self._begin(cycle, app)
            return
        asked = short_way.read(cycle.scope)
        answer = None if asked is None else self._kept(short_way, asked)
        if answer is None:
            self._begin(cycle, app)
            return
        self._asked = asked
        cycle.response_started = cycle.response_complete = True
        self.transport.write(answer)
        self.on_response_complete()

    def _begin(self, cycle: Any, app: Any) -> None:
        async def run(*given: Any) -> None:
            try:
                await app(*given)
            finally:
                if cycle.response_started and not cycle.response_complete and self.flow.write_paused:
                    # An answer that was given up because nobody reads it. To close the connection would wait until somebody has
                    # read what is written to it.
                    cycle.disconnected = True
                    self.transport.abort()

        super()._start_asgi_task(cycle, run)

    def _kept(self, short_way: ShortWay, asked: Asked, *, begun_before_this_turn: bool = False) -> bytes | None:
        try:
            found = short_way.answer(asked, begun_before_this_turn=begun_before_this_turn)
        except Exception as error:  # of the store: the long way says so, or succeeds
            logger.warning("a kept answer could not be looked for", exc_info=error)
            return None
        if found is None:
            return None
        lines, body = found
        own = b"".join([b"%b: %b\r\n" % header for header in self.server_state.default_headers])
        return b"HTTP/1.1 200 OK\r\n%b%b\r\n%b" % (own, lines, body)
