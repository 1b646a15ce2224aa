"""Fetches the files of a repository. Runs as a process of its own: what a server sends is not trusted.

    python -m platform_api.repositories.fetching

reads a request from the standard input and writes the result to the standard output (``platform_api.repositories.fetch``).
"""

from __future__ import annotations

import signal
import socket
import stat
import sys
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import urllib3
from dulwich.client import Urllib3HttpGitClient
from dulwich.errors import GitProtocolError, HangupException, NotGitRepository
from dulwich.objects import Blob, Commit, Tag, Tree
from dulwich.repo import MemoryRepo
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from platform_api.packages.files import LARGEST_FILE, LARGEST_PACKAGE, MOST_FILES
from platform_api.repositories.address import AddressRefused, Repository, checked_addresses, parse_repository

#: For everything. Who waits for this process ends it then; where nobody does any more, it ends itself.
SECONDS = 90
PROCESSOR_SECONDS = 20
MEMORY = 512 * 1024 * 1024
#: Bytes that a server may send in all: what is in the history of one commit, compressed, and the names of the branches.
MOST_RECEIVED = 40 * 1024 * 1024
#: Files, folders, links and submodules of a commit, those that are passed over included.
_MOST_ENTRIES = 20_000
_DEEPEST = 60
_TIMEOUT = 20
_CHUNK = 65_536


class Request(msgspec.Struct, array_like=True):
    """What is to be fetched; ``ref`` empty is the default branch."""

    url: str
    ref: str
    hosts: list[str]


class Result(msgspec.Struct, array_like=True):
    """Paths and contents, or why there are none."""

    files: list[tuple[str, bytes]] = []
    error: str = ""


class FetchFailed(Exception):
    """What the person who asked is told."""


class _Client(Urllib3HttpGitClient):
    """Counts what is received."""

    received = 0

    def _http_request(self, *args: Any, **kwargs: Any) -> Any:
        response, read = super()._http_request(*args, **kwargs)

        def counted(size: int = _CHUNK) -> bytes:
            data = read(min(size, _CHUNK) if size and size > 0 else _CHUNK)
            self.received += len(data)
            if self.received > MOST_RECEIVED:
                raise FetchFailed(f"it sends more than {MOST_RECEIVED // 1024 // 1024} MB")
            return data

        return response, counted


def fetch(request: Request) -> list[tuple[str, bytes]]:
    """The files of the commit that a branch or tag stands for.

    Errors: ``FetchFailed`` or ``AddressRefused``.
    """
    repository = parse_repository(request.url, request.hosts)
    client = _Client(repository.url, pool_manager=_manager(repository), timeout=_TIMEOUT)
    target = MemoryRepo()
    wanted: list[Any] = []

    def determine_wants(refs: Any, depth: int | None = None) -> list[Any]:
        wanted.append(_wanted(refs, request.ref))
        return wanted

    try:
        client.fetch(f"/{repository.path}", target, determine_wants=determine_wants, depth=1)
    except NotGitRepository:
        raise FetchFailed("there is no public repository") from None
    except (GitProtocolError, HangupException, urllib3.exceptions.HTTPError) as error:
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, (AddressRefused, FetchFailed)):
                raise cause from None
            cause = cause.__cause__ or cause.__context__
        raise FetchFailed(f"the server does not answer as one for repositories does ({type(error).__name__})") from None
    store = target.object_store
    found = store[wanted[0]]
    for _ in range(5):
        if not isinstance(found, Tag):
            break
        found = store[found.object[1]]
    if not isinstance(found, Commit):
        raise FetchFailed(f"{request.ref!r} stands for no commit")
    return list(_files(store, found.tree))


def _wanted(refs: Any, ref: str) -> Any:
    names = [b"HEAD"] if not ref else [b"refs/heads/" + ref.encode(), b"refs/tags/" + ref.encode()]
    for name in names:
        if name in refs and refs[name] is not None:
            return refs[name]
    raise FetchFailed(f"there is no branch or tag {ref!r}" if ref else "it is empty")


def _files(store: Any, tree_id: bytes) -> Iterator[tuple[str, bytes]]:
    """The regular files. Links and submodules are passed over."""
    entries = files = total = 0
    waiting: list[tuple[str, bytes, int]] = [("", tree_id, 0)]
    while waiting:
        folder, found, depth = waiting.pop()
        tree = store[found]
        if not isinstance(tree, Tree) or depth > _DEEPEST:
            raise FetchFailed("its folders are broken or too deep")
        for name, mode, sha in tree.iteritems():
            entries += 1
            if entries > _MOST_ENTRIES:
                raise FetchFailed(f"it has more than {_MOST_ENTRIES:,} entries")
            try:
                path = folder + name.decode()
            except UnicodeDecodeError:
                raise FetchFailed(f"the name of a file in {folder or 'its top folder'!r} is not UTF-8") from None
            if stat.S_ISDIR(mode):
                waiting.append((f"{path}/", sha, depth + 1))
            elif stat.S_ISREG(mode):
                blob = store[sha]
                if not isinstance(blob, Blob):
                    raise FetchFailed(f"{path!r} is broken")
                content = blob.as_raw_string()
                files, total = files + 1, total + len(content)
                if files > MOST_FILES or len(content) > LARGEST_FILE or total > LARGEST_PACKAGE:
                    raise FetchFailed(
                        f"it is larger than a package may be: {MOST_FILES:,} files, {LARGEST_PACKAGE // 1024 // 1024} MB "
                        f"in all, {LARGEST_FILE // 1024 // 1024} MB a file"
                    )
                yield path, content


def _manager(repository: Repository) -> urllib3.PoolManager:
    """Connections that go to addresses which were checked, and to no other host than that of the repository."""
    connect = _connector(repository)

    class Plain(HTTPConnection):
        def _new_conn(self) -> socket.socket:
            return connect(self.host, self.port)

    class Encrypted(HTTPSConnection):
        def _new_conn(self) -> socket.socket:
            return connect(self.host, self.port)

    class PlainPool(HTTPConnectionPool):
        ConnectionCls = Plain

    class EncryptedPool(HTTPSConnectionPool):
        ConnectionCls = Encrypted

    manager = urllib3.PoolManager(
        headers={"User-Agent": "git/platform"}, retries=urllib3.Retry(connect=0, read=0, redirect=2, status=0, other=0)
    )
    manager.pool_classes_by_scheme = {"https": EncryptedPool}
    if repository.scheme == "http":
        manager.pool_classes_by_scheme["http"] = PlainPool
    return manager


def _connector(repository: Repository) -> Callable[[str, int], socket.socket]:
    def connect(host: str, port: int) -> socket.socket:
        failure: OSError | None = None
        for address in checked_addresses(repository, host.rstrip(".").lower(), port)[:4]:
            try:
                return socket.create_connection((address, port), _TIMEOUT)
            except OSError as error:
                failure = error
        raise FetchFailed(f"{host} does not answer: {failure}")

    return connect


def main() -> None:
    """Fetches what one request asks for."""
    _limit()
    request = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=Request)
    try:
        result = Result(fetch(request))
    except (FetchFailed, AddressRefused) as error:
        result = Result(error=str(error))
    except MemoryError:
        result = Result(error="it takes too much memory to unpack")
    except (KeyError, ValueError, AssertionError, OSError) as error:  # what broken objects and broken pipes raise in dulwich
        result = Result(error=f"what the server sends is broken ({type(error).__name__})")
    sys.stdout.buffer.write(msgspec.msgpack.encode(result))


def _limit() -> None:
    try:
        import resource
    except ImportError:  # pragma: no cover - not on Windows
        return
    resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR_SECONDS, PROCESSOR_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (2 * MOST_RECEIVED, 2 * MOST_RECEIVED))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.alarm(SECONDS)


if __name__ == "__main__":
    main()
