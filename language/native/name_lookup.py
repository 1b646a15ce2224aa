"""From the name of a host to the addresses that a connection may go to.

Whoever connects anywhere looks the name up here, once, and connects to an address of the answer: a name looked up a second time
could lead elsewhere.
"""

from __future__ import annotations

import socket
from collections.abc import Callable

from language.host.exchange import is_link_local

#: From a host name and a port to the addresses to try, the best first. Raises ``OSError``.
Resolver = Callable[[str, int], list[str]]


def resolve(host: str, port: int) -> list[str]:
    """All addresses of a host, by the system's resolver. Raises ``OSError``."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def checked_addresses(
    host: str, port: int, check_address: Callable[[str, int], None], *, resolver: Resolver = resolve
) -> list[str]:
    """The addresses of a host, after ``check_address`` was asked about each that is link-local.

    A name that leads to such an address among others is as suspect as one that leads there alone. Raises ``OSError`` for a name
    that cannot be resolved, and what ``check_address`` raises.
    """
    addresses = resolver(host, port)
    for address in addresses:
        if is_link_local(address):
            check_address(address.partition("%")[0], port)
    return addresses
