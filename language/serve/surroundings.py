"""What stands around the routes of a served program: a server with sockets and files, or handler mode without."""

from __future__ import annotations

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
        """Who ends handlers that take too long, or that a server which stops waits for."""

        def __len__(self) -> int:
            """How many handlers run."""

        def run(
            self, exchange: Exchange, deadline: float | None, reason: str, work: Callable[..., Given], *arguments: Any
        ) -> Given | None:
            """What ``work(*arguments)`` gives, ``None`` where it was ended at ``deadline`` (monotonic seconds)."""

        def cancel_streams(self, reason: str) -> None:
            """Ends the handlers that go on for ever."""

        def cancel_all(self, reason: str) -> None:
            """Ends every handler."""

    class Surroundings(Protocol):
        """``sockets`` says whether a server answers: then ``HEAD`` runs the ``GET`` route, timeouts count, streams and sockets
        are there, and errors go to the console. ``max_body`` is in bytes, ``None`` for any number.
        """

        sockets: bool
        tls: bool
        max_body: int | None

        @property
        def watch(self) -> Watch:
            """Who ends handlers."""

        def close_gates(self) -> None:
            """Denies the gates that still wait."""

        def is_reserved(self, request: Request) -> bool:
            """Whether the request decides or lists human gates."""

        def early(self, request: Request) -> Reply | None:
            """The answer of what comes before the program's routes: gates, the health check."""

        def host(self, request: Request) -> HostTable:
            """The table of the host that the request names."""

        def limiter(self, route: Route) -> Limiter | None:
            """Who counts the requests of a route; ``None`` where nobody does."""

        def static(self, host: HostTable, request: Request) -> Reply | None:
            """The file of a static mount."""

        def fallback(self, host: HostTable, request: Request) -> Reply | None:
            """The file that a mount gives for whatever it does not have."""

        def llms_txt(self, host: HostTable) -> Reply | None:
            """``/llms.txt``; ``None`` where the service says nothing of itself."""

        def discovery(self, host: HostTable, request: Request) -> Reply | None:
            """What the service says of itself."""

        def compressed(self, reply: Reply, request: Request) -> Reply:
            """The reply as the client takes it."""


class HandlerSurroundings:
    """Handler mode: the host serves files, counts requests and bounds the call; nobody ends a handler before it is done."""

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
        return None

    def host(self, request: Request) -> HostTable:
        return self._table.default

    def limiter(self, route: Route) -> Limiter | None:
        return None

    def static(self, host: HostTable, request: Request) -> Reply | None:
        return None

    def fallback(self, host: HostTable, request: Request) -> Reply | None:
        return None

    def llms_txt(self, host: HostTable) -> Reply | None:
        return None

    def discovery(self, host: HostTable, request: Request) -> Reply | None:
        return None

    def compressed(self, reply: Reply, request: Request) -> Reply:
        return reply


class Unwatched:
    """Nobody ends a handler."""

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
