"""Where a repository lies: which URLs are taken, and which addresses are connected to."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from language import is_public_address

_PART = re.compile(r"[A-Za-z0-9._-]{1,100}")
_REF = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._/@+#=-]{0,199}")


class AddressRefused(Exception):
    """A repository that is not fetched from there."""


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository on one of the hosts that are allowed.

    Attributes:
        host: a name, or the literal address of a ``host:port`` that the operator has allowed.
        literal: whether it is the latter, which may be a private one.
    """

    scheme: str
    host: str
    port: int
    path: str
    literal: bool

    @property
    def url(self) -> str:
        """Its address in full."""
        place = self.host if self.port == 443 and not self.literal else f"{self.host}:{self.port}"
        return f"{self.scheme}://{place}/{self.path}"


def parse_repository(url: str, allowed: Iterable[str]) -> Repository:
    """The repository of a URL ``https://<host>/<owner>/<repo>``.

    Args:
        allowed: names of hosts, and ``address:port`` with a literal IPv4 address, which may be reached by ``http`` too.

    Errors: ``AddressRefused``.
    """
    allowed = tuple(allowed)
    if any(not "!" <= character <= "~" for character in url) or "\\" in url:
        raise AddressRefused("a repository is given as https://<host>/<owner>/<repo>")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise AddressRefused("a repository is given as https://<host>/<owner>/<repo>") from None
    host = (parts.hostname or "").rstrip(".")
    literal = port is not None and f"{host}:{port}" in allowed and is_address(host)
    if not literal and (parts.scheme != "https" or port not in (None, 443)):
        raise AddressRefused("a repository is given as https://<host>/<owner>/<repo>, without a port")
    if parts.scheme not in ("http", "https"):
        raise AddressRefused("a repository is given as https://<host>/<owner>/<repo>")
    if not literal and host not in allowed:
        names = ", ".join(name for name in allowed if ":" not in name)
        raise AddressRefused(f"repositories are fetched from {names or 'no host at all'}, not from {host or 'nowhere'}")
    if parts.username is not None or parts.password is not None or "@" in parts.netloc:
        raise AddressRefused("a repository is public: its address has no user and no password")
    if parts.query or parts.fragment:
        raise AddressRefused("the address of a repository has no ? and no #; a branch or tag goes into the field `ref`")
    path = parts.path.removesuffix("/").split("/")
    if len(path) != 3 or path[0] or any(not _PART.fullmatch(part) or part in (".", "..") for part in path[1:]):
        raise AddressRefused("a repository is given as https://<host>/<owner>/<repo>")
    return Repository(parts.scheme, host, port or 443, "/".join(path[1:]), literal)


def ref_problem(ref: str) -> str:
    """Why a text cannot be the name of a branch or a tag; the empty text where it can."""
    parts = ref.split("/")
    if (
        not _REF.fullmatch(ref)
        or ".." in ref
        or any(not part or part.startswith(".") or part.endswith(".lock") for part in parts)
    ):
        return "it is no name of a branch or a tag"
    return ""


def is_address(host: str) -> bool:
    """Whether a host is written as an IPv4 address."""
    try:
        socket.inet_pton(socket.AF_INET, host)
    except OSError:
        return False
    return True


Resolve = Callable[[str, int], list[str]]


def checked_addresses(repository: Repository, host: str, port: int, resolve: Resolve | None = None) -> list[str]:
    """The addresses that a connection of a fetch may go to, in the order of preference.

    Whoever connects goes to one of these and does not resolve the name again: an answer that changes in between is of no use.

    Args:
        host: of the connection; a redirect may name another than that of the repository.
        resolve: gives the addresses of a name.

    Errors: ``AddressRefused`` for another host, and where any address of the host is not of the public network.
    """
    if (host, port) != (repository.host, repository.port):
        raise AddressRefused(f"it redirects to {host}:{port}")
    if repository.literal:
        return [host]
    try:
        addresses = (resolve or _resolve)(host, port)
    except OSError as error:
        raise AddressRefused(f"{host} is not known: {error}") from None
    if not addresses:
        raise AddressRefused(f"{host} has no address")
    for address in addresses:
        if not is_public_address(address):
            raise AddressRefused(f"{host} has the address {address}, which is not of the public network")
    return addresses


def _resolve(host: str, port: int) -> list[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(place[0]) for *_, place in found))
