"""The settings of a server, and the interface of the application that it serves."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple, Protocol

from language.native.server.addresses import Trust, networks, split_list
from language.native.server.listening import UNIX
from language.settings import number, read_setting, size

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from language.serve.reply import Reply
    from language.serve.request import Request

DEFAULT_WORKERS = 4096
DEFAULT_GRACE = 10.0
DEFAULT_KEEPALIVE = 15.0
MOST_CONNECTIONS = 16384


class RequestHandler(Protocol):
    """The application that answers requests; in the product ``language.serve.application``."""

    @property
    def in_flight(self) -> int:
        """How many requests are being answered."""

    def body_limit(self, request: Request) -> int | None:
        """The largest accepted body of this request in bytes; ``None`` for no limit. The body is not read yet."""

    def is_reserved(self, request: Request) -> bool:
        """Whether the request is answered even while all handlers are busy."""

    def respond(self, request: Request) -> Reply:
        """The reply, made in the calling thread. Does not raise."""

    def too_large(self, request: Request) -> Reply:
        """The reply to a body beyond the limit."""

    def stopping(self, request: Request) -> Reply:
        """The reply to a request that arrives while the server is stopping."""

    def begin_shutdown(self) -> None:
        """Called when the server begins to stop. Requests in flight may still finish."""

    def close_gates(self) -> None:
        """Called when the grace period is nearly over: closes the gates that handlers wait for."""

    def cancel_all(self) -> None:
        """Called at the end of the grace period: cancels running handlers."""


class Certificate(NamedTuple):
    """PEM files of a certificate chain and its key, for one host name, or for every host without one."""

    host: str | None
    certificate: str
    key: str


class Settings(NamedTuple):
    """The settings of a server.

    ``workers`` is the number of concurrent handlers; ``grace`` the seconds that requests in flight have when it stops;
    ``keepalive`` the seconds without data after which a stream sends a comment, 0 for never; ``ping`` the seconds between
    pings of a WebSocket; ``most_message`` the largest WebSocket message in bytes. The timeouts of clients are in seconds.
    """

    trust: tuple[str, ...] = ()
    tls: tuple[Certificate, ...] = ()
    redirect_https: bool = False
    workers: int = DEFAULT_WORKERS
    most_connections: int = MOST_CONNECTIONS
    keepalive: float = DEFAULT_KEEPALIVE
    ping: float = 30.0
    most_message: int = 16 * 1024 * 1024
    most_sockets: int = 4096
    subprotocols: tuple[str, ...] = ()
    head_seconds: float = 10.0
    body_seconds: float = 30.0
    idle_seconds: float = 75.0
    write_seconds: float = 30.0
    health: str | None = None


class Site:
    """State that the connections of one listener share.

    ``draining``: the server stops, and further requests are refused. ``succeeded``: another process accepts on this socket now;
    accepted connections are answered once more and then closed. Raises ``ValueError`` for trusted proxies that are not
    addresses.
    """

    __slots__ = ("application", "draining", "settings", "succeeded", "trust")

    def __init__(self, application: RequestHandler, settings: Settings) -> None:
        self.application = application
        self.settings = settings
        self.trust = Trust(networks(settings.trust), unix=UNIX in settings.trust)
        self.draining = False
        self.succeeded = False


def from_environment(environ: Mapping[str, str], warn: Callable[[str], None]) -> Settings:
    """The settings of the ``PLATFORM_...`` variables. An invalid one gives a warning and its default."""

    def number_of(name: str, default: float, least: float) -> float:
        wanted = f"a number of at least {least:g}"
        return read_setting(name, environ.get(name), number(least), wanted, default, warn, f"{default:g}")

    def size_of(name: str, default: int) -> int:
        return read_setting(name, environ.get(name), size, "a size such as 16MB", default, warn)

    return Settings(
        trust=tuple(split_list(environ.get("PLATFORM_TRUST_PROXY", ""))),
        workers=int(number_of("PLATFORM_SERVE_WORKERS", DEFAULT_WORKERS, 1)),
        keepalive=number_of("PLATFORM_SSE_KEEPALIVE", DEFAULT_KEEPALIVE, 0),
        ping=number_of("PLATFORM_WS_SERVER_PING", 30, 0),
        most_message=size_of("PLATFORM_WS_MAX_MESSAGE", 16 * 1024 * 1024),
        most_sockets=int(number_of("PLATFORM_WS_MAX_CONNS", 4096, 1)),
        subprotocols=tuple(split_list(environ.get("PLATFORM_WS_SUBPROTOCOLS", ""))),
        health=environ.get("PLATFORM_HEALTH_PATH") or None,
    )


def grace_from_environment(warn: Callable[[str], None]) -> float:
    """``PLATFORM_SHUTDOWN_GRACE`` in seconds."""
    name = "PLATFORM_SHUTDOWN_GRACE"
    return read_setting(name, os.environ.get(name), number(), "a number of seconds", DEFAULT_GRACE, warn, f"{DEFAULT_GRACE:g}")
