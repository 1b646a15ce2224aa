"""The way in: HTTP from outside to the programs of web projects, which are woken and waited for.

Projects are told apart by the label in front of a domain, or, without one, each by a port of its own. No path leads to a
project: programs under one origin would share it. The ingress reads every head and writes it anew (``heads``, ``rewriting``),
keeps cookies apart (``cookies``), and passes bodies on as they come, WebSockets included.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from typing import TYPE_CHECKING, Final

from runner.ingress.connections import ClientConnection, Route
from runner.ingress.cookies import CookieRules
from runner.ingress.hosts import canonical_host, own_hosts, slug_of
from runner.ingress.programs import ProgramConnections
from runner.ingress.rewriting import Client, is_trusted

if TYPE_CHECKING:
    from ipaddress import IPv4Network, IPv6Network

    from runner.backends import Backend

#: Connections of clients in all.
MOST_CONNECTIONS: Final = 8192
_CHECK_SECONDS: Final = 2.0


class Ingress:
    """Listens for the web projects of a runner.

    Args:
        domain: what project hosts end in, as ``apps.example.com``; ``None`` for a port for each project.
        host: the host of the addresses with ports.
        trusted: proxies that may say who the client is.
        kept_back: names of the dashboard's cookies.
    """

    def __init__(
        self,
        *,
        domain: str | None = None,
        host: str = "127.0.0.1",
        trusted: tuple[IPv4Network | IPv6Network, ...] = (),
        kept_back: tuple[bytes, ...] = (),
    ) -> None:
        found = None if domain is None else canonical_host(domain)
        if domain is not None and found is None:
            raise ValueError(f"{domain!r} is no domain")
        self._domain = found
        self._hosts = own_hosts(host)
        self._trusted = trusted
        self._kept_back = kept_back
        self.connections: set[ClientConnection] = set()
        self._by_slug: dict[str, Route] = {}
        self._by_project: dict[str, Route] = {}
        self._listeners: dict[str, asyncio.Server] = {}
        self._servers: list[asyncio.Server] = []
        self._checking: asyncio.Task[None] | None = None

    async def listen(self, sock: socket.socket, *, secure: bool = False) -> None:
        """Serves the projects of the domain over a listening socket."""
        self._begin()
        site = _DomainSite(self, secure)
        loop = asyncio.get_running_loop()
        self._servers.append(await loop.create_server(lambda: ClientConnection(site), sock=sock, backlog=1024))

    async def open(self, backend: Backend, sock: socket.socket | None = None) -> None:
        """Makes a project reachable.

        Args:
            sock: where projects have ports, the listening socket of this one.
        """
        self._begin()
        await self.shut(backend.project)
        shared = self._domain is None
        prefix = b"p-" + backend.slug.encode() + b"-" if shared else b""
        route = Route(backend, ProgramConnections(), CookieRules(self._kept_back, prefix), shared)
        self._by_project[backend.project] = route
        self._by_slug[backend.slug] = route
        if sock is not None:
            site = _PortSite(self, route)
            loop = asyncio.get_running_loop()
            self._listeners[backend.project] = await loop.create_server(lambda: ClientConnection(site), sock=sock, backlog=1024)

    async def shut(self, project: str) -> None:
        """Makes a project unreachable. What is under way goes on."""
        route = self._by_project.pop(project, None)
        if route is None:
            return
        self._by_slug.pop(route.backend.slug, None)
        route.programs.close()
        listener = self._listeners.pop(project, None)
        if listener is not None:
            listener.close()

    async def stop(self, grace: float) -> None:
        """Takes no more connections, and ends those there are: what is under way has ``grace`` seconds."""
        if self._checking is not None:
            self._checking.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._checking
        for server in (*self._servers, *self._listeners.values()):
            server.close()
        until = time.monotonic() + grace
        while self.connections and time.monotonic() < until:
            for connection in list(self.connections):
                connection.drain()
            await asyncio.sleep(0.02)
        for connection in list(self.connections):
            connection.transport.abort()
        for route in self._by_project.values():
            route.programs.close()

    # ---- what the sites ask ---------------------------------------------------------------------------------------------

    def client(self, address: str, *, secure: bool) -> Client | None:
        """Who comes from an address; ``None`` where there are too many connections."""
        if len(self.connections) >= MOST_CONNECTIONS:
            return None
        return Client(address, is_trusted(address, self._trusted), secure)

    def route_of_slug(self, host: bytes) -> Route | None:
        """The project of a host below the domain."""
        slug = None if self._domain is None else slug_of(host, self._domain)
        return None if slug is None else self._by_slug.get(slug)

    def is_own_host(self, host: bytes) -> bool:
        """Whether projects with ports are reached under a host: one that somebody else made lead here is not."""
        return canonical_host(host.decode("latin-1")) in self._hosts

    # ---- time -----------------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        if self._checking is None:
            self._checking = asyncio.get_running_loop().create_task(self._check())

    async def _check(self) -> None:
        while True:
            await asyncio.sleep(_CHECK_SECONDS)
            now = time.monotonic()
            for connection in list(self.connections):
                connection.check_time(now)
            for route in self._by_project.values():
                route.programs.close_old()


class _DomainSite:
    """All projects below the domain."""

    def __init__(self, ingress: Ingress, secure: bool) -> None:
        self._ingress = ingress
        self._secure = secure
        self.connections = ingress.connections

    def client(self, address: str) -> Client | None:
        return self._ingress.client(address, secure=self._secure)

    def route(self, host: bytes) -> Route | None:
        return self._ingress.route_of_slug(host)


class _PortSite:
    """The one project of a port."""

    def __init__(self, ingress: Ingress, route: Route) -> None:
        self._ingress = ingress
        self._route = route
        self.connections = ingress.connections

    def client(self, address: str) -> Client | None:
        return self._ingress.client(address, secure=False)

    def route(self, host: bytes) -> Route | None:
        return self._route if self._ingress.is_own_host(host) else None
