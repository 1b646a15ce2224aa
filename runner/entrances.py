"""The listening sockets of the web projects of a runner, opened and closed as projects come and go."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Final

from runner.context import tell
from runner.descriptors import room_for
from runner.ingress import MOST_CONNECTIONS, Ingress
from runner.protocol import LANGUAGE_COOKIE, SESSION_COOKIES

if TYPE_CHECKING:
    from runner.backends import Backend
    from runner.settings import RunnerSettings

#: Seconds until another attempt for a port that another process uses.
AGAIN_SECONDS: Final = 3.0
#: Seconds that requests under way have when the runner ends.
GRACE_SECONDS: Final = 5.0
#: TCP keepalive, which finds clients that are gone: seconds of silence before a probe, number of probes, seconds between them.
SILENT_SECONDS, QUESTIONS, QUESTION_SECONDS = 60, 4, 15


class Entrances:
    """Listens for the web projects of a runner: at one place for all below a domain, else at a port for each."""

    def __init__(self, settings: RunnerSettings) -> None:
        self._settings = settings
        cookies = tuple(name.encode() for name in (*SESSION_COOKIES, LANGUAGE_COOKIE))
        self._ingress = Ingress(
            domain=settings.apps_domain,
            host=settings.apps_host,
            trusted=settings.trusted_proxies,
            kept_back=cookies,
            most=min(MOST_CONNECTIONS, room_for(2)),  # one of the client, one to the program
        )
        self._opening: dict[str, asyncio.Task[None]] = {}

    async def begin(self) -> None:
        """Listens for the projects of the domain. Errors: ``OSError``."""
        if self._settings.apps_domain is None:
            return
        host, port = self._settings.ingress
        await self._ingress.listen(_listening(host, port))
        tell(f"programs below {self._settings.apps_domain} are reached through {_place(host, port)}")

    def open(self, backend: Backend) -> None:
        """Makes a project reachable, now or as soon as its port is free."""
        self._opening[backend.project] = asyncio.get_running_loop().create_task(self._open(backend))

    async def shut(self, project: str) -> None:
        """Makes it unreachable. Requests under way are finished."""
        opening = self._opening.pop(project, None)
        if opening is not None:
            opening.cancel()
            with suppress(asyncio.CancelledError):
                await opening
        await self._ingress.shut(project)

    async def close(self) -> None:
        """Ends all of them."""
        for project in list(self._opening):
            self._opening.pop(project).cancel()
        await self._ingress.stop(GRACE_SECONDS)

    async def _open(self, backend: Backend) -> None:
        if self._settings.apps_domain is not None or backend.port is None:
            await self._ingress.open(backend)
            return
        said = False
        while True:
            try:
                with ExitStack() as made:
                    sock = made.enter_context(_listening(_bind_address(self._settings.apps_host), backend.port))
                    await self._ingress.open(backend, sock)
                    made.pop_all()
                return
            except OSError as error:
                if not said:
                    tell(f"project {backend.project} cannot be reached: port {backend.port}: {error.strerror or error}")
                    said = True
                await asyncio.sleep(AGAIN_SECONDS)


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.create_server((host, port), family=family, backlog=1024)
    sock.setblocking(False)
    # Accepted connections inherit these options. A silent stream shows in no other way that its client is gone.
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, SILENT_SECONDS)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, QUESTIONS)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, QUESTION_SECONDS)
    return sock


def _bind_address(host: str) -> str:
    """Where a port is listened at: an address that is named, this machine alone for its own names, else every address."""
    bare = host.strip("[]")
    try:
        return str(ipaddress.ip_address(bare))
    except ValueError:
        return "127.0.0.1" if bare == "localhost" or bare.endswith(".localhost") else "0.0.0.0"


def _place(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
