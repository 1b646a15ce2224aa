"""The ingress: HTTP from outside to the programs of web projects. A program that sleeps is started, and its requests wait.

Projects are told apart by the label in front of a domain, or, without one, each by a port of its own. No path leads to a
project: programs under one origin would share it. The ingress reads every head and writes it anew (``heads``, ``rewriting``),
keeps cookies apart (``cookies``), and passes bodies on as they come, WebSockets included.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections import Counter
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

from runner.domains import canonical_host
from runner.ingress.connections import ClientConnection
from runner.ingress.cookies import CookieRules, prefix_of
from runner.ingress.hosts import own_hosts, slug_of
from runner.ingress.programs import ProgramConnections
from runner.ingress.rewriting import Client, is_trusted
from runner.ingress.routes import Route

if TYPE_CHECKING:
    from ipaddress import IPv4Network, IPv6Network

    from runner.backends import Backend

#: Connections of clients in all, and of one address: a visitor alone does not keep all others out.
MOST_CONNECTIONS: Final = 8192
MOST_OF_AN_ADDRESS: Final = 1024
_CHECK_SECONDS: Final = 2.0
#: Bytes that are received at a time, in one place for all connections: to make a new one of this size for every piece would
#: cost the system more than the piece.
_RECEIVED_BYTES: Final = 256 * 1024


class Ingress:
    """Listens for the web projects of a runner.

    Args:
        domain: what project hosts end in, as ``apps.example.com``; ``None`` for a port for each project.
        host: the host of the addresses with ports.
        trusted: proxies that may say who the client is.
        kept_back: names of the dashboard's cookies.
        most: connections of clients in all.
    """

    def __init__(
        self,
        *,
        domain: str | None = None,
        host: str = "127.0.0.1",
        trusted: tuple[IPv4Network | IPv6Network, ...] = (),
        kept_back: tuple[bytes, ...] = (),
        most: int = MOST_CONNECTIONS,
    ) -> None:
        found = None if domain is None else canonical_host(domain)
        if domain is not None and found is None:
            raise ValueError(f"{domain!r} is no domain")
        self._domain = found
        self._hosts = own_hosts(host)
        self._trusted = trusted
        self._kept_back = kept_back
        self._most = most
        #: the connections of clients, each with the address that it counts for
        self.connections: dict[ClientConnection, str] = {}
        self._of_address: Counter[str] = Counter()
        self.received = memoryview(bytearray(_RECEIVED_BYTES))
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
        prefix = prefix_of(backend.slug) if shared else b""
        route = Route(backend, ProgramConnections(self.received), CookieRules(self._kept_back, prefix), shared)
        self._by_project[backend.project] = route
        self._by_slug[backend.slug] = route
        if sock is not None:
            site = _PortSite(self, route)
            loop = asyncio.get_running_loop()
            self._listeners[backend.project] = await loop.create_server(lambda: ClientConnection(site), sock=sock, backlog=1024)

    async def shut(self, project: str) -> None:
        """Makes a project unreachable. Requests under way are finished."""
        route = self._by_project.pop(project, None)
        if route is None:
            return
        for slug in [slug for slug, found in self._by_slug.items() if found is route]:
            del self._by_slug[slug]
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

    def came(self, connection: ClientConnection, address: str, *, secure: bool) -> Client | None:
        """Counts a connection from an address and returns its client; ``None`` where there are too many, which is not
        counted.
        """
        trusted = is_trusted(address, self._trusted)
        place = _counted_as(address)
        many = not trusted and self._of_address[place] >= min(MOST_OF_AN_ADDRESS, self._most // 2)
        if many or len(self.connections) >= self._most:
            return None
        self.connections[connection] = place
        self._of_address[place] += 1
        return Client(address, trusted, secure)

    def left(self, connection: ClientConnection) -> None:
        """A connection has ended, or was not taken."""
        place = self.connections.pop(connection, None)
        if place is not None:
            self._of_address[place] -= 1
            if not self._of_address[place]:
                del self._of_address[place]

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
        self.received = ingress.received

    def came(self, connection: ClientConnection, address: str) -> Client | None:
        return self._ingress.came(connection, address, secure=self._secure)

    def left(self, connection: ClientConnection) -> None:
        self._ingress.left(connection)

    def route(self, host: bytes) -> Route | None:
        return self._ingress.route_of_slug(host)


class _PortSite:
    """The one project of a port."""

    def __init__(self, ingress: Ingress, route: Route) -> None:
        self._ingress = ingress
        self._route = route
        self.received = ingress.received

    def came(self, connection: ClientConnection, address: str) -> Client | None:
        return self._ingress.came(connection, address, secure=False)

    def left(self, connection: ClientConnection) -> None:
        self._ingress.left(connection)

    def route(self, host: bytes) -> Route | None:
        return self._route if self._ingress.is_own_host(host) else None


def _counted_as(address: str) -> str:
    """The unit in which addresses are counted: with IPv6 the network of 64 bits, which belongs to one client."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    return address if parsed.version == 4 else parsed.exploded[:19]
