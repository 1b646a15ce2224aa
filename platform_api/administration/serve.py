"""Runs the service with uvicorn until a signal, or until the process that started it has ended."""

from __future__ import annotations

import asyncio
import logging
import socket
from typing import TYPE_CHECKING

import uvicorn

from language.lifeline import follow_parent
from platform_api.administration.connections import Connection
from platform_api.application import application
from platform_api.platform import Platform
from platform_api.service_log import set_up_logging

if TYPE_CHECKING:
    from platform_api.gateway import Gateway
    from platform_api.settings import Settings

#: Bytes that the system holds for a connection beyond those that are on their way: a client that reads slowly is seen to read
#: after each of these pieces, and one that reads nothing takes no megabytes of the system's memory.
NOT_YET_SENT = 64 * 1024
#: Seconds that requests in progress get at the end. Log streams are ended at once.
GRACE_SECONDS = 5


def serve(settings: Settings, host: str, port: int, descriptor: int | None = None) -> int:
    """Serves until SIGINT or SIGTERM.

    Args:
        descriptor: an open listening socket; ``host`` and ``port`` are then not used.

    Errors: ``OSError`` for an address that cannot be listened on, ``RuntimeError`` for a store of another version.
    """
    if descriptor is None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.create_server((host, port), family=family, backlog=1024)
    else:
        listening = socket.socket(fileno=descriptor)
    set_up_logging(settings.log_format)
    logging.getLogger("alembic").setLevel(logging.WARNING)
    platform = Platform(settings)
    try:
        server = Server(server_config(application(platform)), platform)
        follow_parent()
        asyncio.run(server.serve([listening]))
    finally:
        platform.close()
    return 0


class Server(uvicorn.Server):
    """Serves until it is told to stop. Streams are then ended at once; their clients reconnect, perhaps to another replica."""

    def __init__(self, config: uvicorn.Config, platform: Platform) -> None:
        super().__init__(config)
        self._changes = platform.changes

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Starts to accept connections, with ``TCP_NODELAY`` and a short queue of what is not yet sent.

        asyncio sets that option only for sockets whose protocol is named, which these are not. Without it the body of an answer
        waits for the acknowledgement of its head, which systems delay by 40 ms. Connections inherit both options from the
        listening socket.
        """
        for listening in sockets or ():
            listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, NOT_YET_SENT)
        await super().startup(sockets)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Ends the streams, then the other requests."""
        await self._changes.close()
        await super().shutdown(sockets)


def server_config(application: Gateway, grace_seconds: int = GRACE_SECONDS) -> uvicorn.Config:
    """How uvicorn runs the service.

    Args:
        grace_seconds: the time that requests in progress get at the end.
    """
    return uvicorn.Config(
        application,
        http=Connection,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,  # paths contain ids, and those of sign-in links contain secrets
        proxy_headers=False,  # uvicorn would trust every process of this machine; the trusted proxies are a setting of ours
        server_header=False,
        timeout_graceful_shutdown=grace_seconds,
    )
