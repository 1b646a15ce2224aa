"""The environment of a served program's routes: a server with sockets and files, or handler mode without them."""

from __future__ import annotations

from language.serve.page_style import style_reply, style_url

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol, TypeVar

    from language.serve.exchange import Exchange
    from language.serve.rate_limit import Limiter
    from language.serve.reply import Reply
    from language.serve.request import Request
    from language.serve.routes import Route
    from language.serve.table import HostTable, ServeTable

    Given = TypeVar("Given")

    class Watch(Protocol):
        """Cancels handlers that exceed their time limit, or that still run when the server stops."""

        def __len__(self) -> int:
            """The number of handlers that run."""

        def run(
            self, exchange: Exchange, deadline: float | None, reason: str, work: Callable[..., Given], *arguments: Any
        ) -> Given | None:
            """The result of ``work(*arguments)``; ``None`` if it was cancelled at ``deadline`` (monotonic seconds)."""

        def cancel_streams(self, reason: str) -> None:
            """Cancels the handlers of streams and sockets."""

        def cancel_all(self, reason: str) -> None:
            """Cancels every handler."""

    class Surroundings(Protocol):
        """``sockets`` says whether there is a server: then timeouts hold, streams and WebSockets work, and errors are written
        to standard error. ``max_body`` is in bytes, ``None`` for no limit.
        """

        sockets: bool
        tls: bool
        max_body: int | None

        @property
        def watch(self) -> Watch:
            """The watch that cancels handlers."""

        def close_gates(self) -> None:
            """Denies the pending gates."""

        def is_reserved(self, request: Request) -> bool:
            """Whether the request decides or lists human gates."""

        def early(self, request: Request) -> Reply | None:
            """The reply of the handlers that come before the program's routes: gates, the health check, the stylesheet of
            pages; ``None`` if none of them answers.
            """

        def host(self, request: Request) -> HostTable:
            """The table of the host that the request names."""

        def limiter(self, route: Route) -> Limiter | None:
            """The rate limiter of a route; ``None`` without a limit."""

        def static(self, host: HostTable, request: Request) -> Reply | None:
            """The reply with a file of a static mount; ``None`` without one."""

        def has_static(self, host: HostTable, request: Request) -> bool:
            """Whether a static mount has a file at the path of the request, whatever its method."""

        def fallback(self, host: HostTable, request: Request) -> Reply | None:
            """The reply with the fallback file of a static mount; ``None`` without one."""

        def stylesheet(self, request: Request) -> str:
            """The URL of the stylesheet for a page that the request asks for, which ``early`` answers."""

        def errors(self, reply: Reply, request: Request) -> Reply:
            """The error in the form that the client accepts."""

        def llms_txt(self, host: HostTable) -> Reply | None:
            """The reply to ``/llms.txt``; ``None`` for a service without documents."""

        def discovery(self, host: HostTable, request: Request) -> Reply | None:
            """The reply with a document of the service; ``None`` without one."""

        def compressed(self, reply: Reply, request: Request) -> Reply:
            """The reply, compressed as the client accepts."""


class HandlerSurroundings:
    """Handler mode. The embedding host serves files and limits rates and run time; handlers are never cancelled here."""

    sockets = False
    tls = False
    max_body: int | None = None

    def __init__(self, table: ServeTable) -> None:
        self._table = table
        self.watch = Unwatched()

    def close_gates(self) -> None:
        return

    def is_reserved(self, request: Request) -> bool:
        return False

    def early(self, request: Request) -> Reply | None:
        return style_reply(request)

    def host(self, request: Request) -> HostTable:
        return self._table.default

    def limiter(self, route: Route) -> Limiter | None:
        return None

    def static(self, host: HostTable, request: Request) -> Reply | None:
        return None

    def has_static(self, host: HostTable, request: Request) -> bool:
        return False

    def fallback(self, host: HostTable, request: Request) -> Reply | None:
        return None

    def stylesheet(self, request: Request) -> str:
        return style_url(request)

    def errors(self, reply: Reply, request: Request) -> Reply:
        return reply

    def llms_txt(self, host: HostTable) -> Reply | None:
        return None

    def discovery(self, host: HostTable, request: Request) -> Reply | None:
        return None

    def compressed(self, reply: Reply, request: Request) -> Reply:
        return reply


class Unwatched:
    """Cancels no handler."""

    def __len__(self) -> int:
        return 0

    def run(
        self, exchange: Exchange, deadline: float | None, reason: str, work: Callable[..., Given], *arguments: Any
    ) -> Given | None:
        return work(*arguments)

    def cancel_streams(self, reason: str) -> None:
        return

    def cancel_all(self, reason: str) -> None:
        return
