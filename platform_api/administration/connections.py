"""The connections of the service: those of uvicorn, with a short way for answers that are kept."""

from __future__ import annotations

import logging
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from platform_api.gateway import Gateway

logger = logging.getLogger("platform")


class Connection(HttpToolsProtocol):
    """One connection.

    An answer that is kept is written where its request was read: head and body in one piece, without a task of its own. With a
    version of uvicorn that begins requests in another way, all go the long way.
    """

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        data = self._kept(cycle, app)
        if data is None:
            super()._start_asgi_task(cycle, app)
            return
        cycle.response_started = cycle.response_complete = True
        self.transport.write(data)
        self.on_response_complete()

    def _kept(self, cycle: Any, app: Any) -> bytes | None:
        # Requests that wait for this one are begun one inside of the other: only the last of them may be answered here.
        if not isinstance(app, Gateway) or not cycle.keep_alive or self.pipeline or self.flow.write_paused:
            return None
        try:
            found = app.short_way.answer(cycle.scope)
        except Exception as error:  # of the store: the long way says so, or succeeds
            logger.warning("a kept answer could not be looked for", exc_info=error)
            return None
        if found is None:
            return None
        lines, body = found
        own = b"".join(b"%b: %b\r\n" % header for header in cycle.default_headers)
        return b"HTTP/1.1 200 OK\r\n%b%b\r\n%b" % (own, lines, body)
