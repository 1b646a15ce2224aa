"""Where a program may connect to: its ceiling, asked in another process than the program's, and the addresses behind a name.

A name is resolved once, every address that it has is looked at, and one of those addresses is what is connected to.
"""

from __future__ import annotations

import asyncio
import os
import re
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, ip_address

from language import Ceiling, is_public_address
from language.host_link import CAPABILITIES
from runner.links.names import Names

#: From a host name and a port to its addresses, the best first. Raises ``OSError``.
Resolver = Callable[[str, int], Awaitable[list[str]]]

RESOLVE_SECONDS = 10.0
CONNECT_SECONDS = 10.0
#: Questions for names that one program has open at a time; the others wait.
_MOST_QUESTIONS = 4
#: Canonical hosts have no other characters.
_NAME = re.compile(r"(?=.{1,253}\Z)[a-z0-9_-]+(\.[a-z0-9_-]+)*|[0-9a-f:.]{2,45}")


class EgressRefused(Exception):
    """There is no connection; the text says why. ``denied``: it was not allowed, else it was not reached."""

    def __init__(self, reason: str, *, denied: bool) -> None:
        super().__init__(reason)
        self.reason = reason
        self.denied = denied


class Egress:
    """The ways out of one program.

    Args:
        ceiling: the text of its ceiling, as ``--cap-set`` takes it.
        private_addresses: whether its plan lets a ceiling item that names a private address literally open it.
        llm: host and port of the configured model provider, which ``llm`` in the ceiling opens. Who owns the program may have
            configured it: a private address takes the plan, and must stand there itself.
        resolver: that of its project, ``Names``.

    Errors: ``ValueError`` for a text that is no ceiling.
    """

    def __init__(
        self,
        ceiling: str,
        *,
        private_addresses: bool,
        llm: tuple[str, int] | None = None,
        resolver: Resolver | None = None,
    ) -> None:
        self._ceiling = Ceiling.parse(ceiling)
        self._private_addresses = private_addresses
        self._llm = llm
        self._resolver = resolver or Names()
        self._questions = asyncio.Semaphore(_MOST_QUESTIONS)

    async def connect(self, host: str, port: int, capability: str) -> socket.socket:
        """A connected socket, not blocking, to a checked address of the host.

        Args:
            host: a name or an address without brackets, in the form that the interpreter gives it: ASCII in lower case.
            capability: ``net``, ``db`` or ``llm``: what of the ceiling must cover it.

        Errors: ``EgressRefused``.
        """
        self._check(host, port, capability)
        try:
            async with self._questions:
                addresses = await asyncio.wait_for(self._resolver(host, port), RESOLVE_SECONDS)
        except (OSError, UnicodeError) as error:  # a limit of time is an OSError without a text
            reason = getattr(error, "strerror", None) or "no answer in time"
            raise EgressRefused(f"cannot resolve the host {host}: {reason}", denied=False) from None
        if not addresses:
            raise EgressRefused(f"cannot resolve the host {host}: it has no address", denied=False)
        found = [self._checked(host, port, capability, address) for address in dict.fromkeys(addresses)]
        return await _connected(host, port, found)

    def _check(self, host: str, port: int, capability: str) -> None:
        if capability not in CAPABILITIES:
            raise EgressRefused("no capability covers a connection of that kind", denied=True)
        if not _NAME.fullmatch(host) or not 0 < port < 65536:
            raise EgressRefused("no host and port", denied=True)
        if capability == "llm":
            allowed = self._llm == (host, port) and any(item.name == "llm" for item in self._ceiling.items)
        else:
            allowed = self._covering(host, port, capability).items != ()
        if not allowed:
            raise EgressRefused(f"the ceiling has no {capability} item for {_place(host, port)}", denied=True)

    def _covering(self, host: str, port: int, capability: str) -> Ceiling:
        return Ceiling(
            tuple(
                item
                for item in self._ceiling.items
                if item.name == capability and Ceiling((item,)).covers_connection(host, port)
            )
        )

    def _checked(self, host: str, port: int, capability: str, text: str) -> IPv4Address | IPv6Address:
        """The address, where it may be connected to: one that is not public only if it is named, and the plan allows that."""
        try:
            address = ip_address(text)
        except ValueError:  # with a zone, or no address at all
            raise EgressRefused(f"the host {host} leads to no public address", denied=True) from None
        if is_public_address(text):
            return address
        shown = f"the host {host} leads to an address that is not public" if host != text else f"{host} is no public address"
        if not self._private_addresses:
            raise EgressRefused(f"{shown}: the plan allows none", denied=True)
        named = [host] if capability == "llm" else [item.host for item in self._covering(text, port, capability).items]
        for place in named:
            with suppress(ValueError):
                if place is not None and ip_address(place) == address:
                    return address
        raise EgressRefused(f"{shown}: a ceiling item must name the address itself", denied=True)


async def _connected(host: str, port: int, addresses: list[IPv4Address | IPv6Address]) -> socket.socket:
    loop = asyncio.get_running_loop()
    end = loop.time() + CONNECT_SECONDS
    reason = "no answer in time"
    for tried, address in enumerate(addresses):
        share = (end - loop.time()) / (len(addresses) - tried)
        family = socket.AF_INET if isinstance(address, IPv4Address) else socket.AF_INET6
        try:
            connection = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
        except OSError as error:  # no descriptors left, or no such family here
            reason = error.strerror or "no socket"
            continue
        done = False
        try:
            await asyncio.wait_for(loop.sock_connect(connection, (str(address), port)), share)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            done = True
            return connection
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else "no answer in time"
        finally:
            if not done:
                connection.close()
    raise EgressRefused(f"cannot connect to {_place(host, port)}: {reason}", denied=False)


def _place(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
