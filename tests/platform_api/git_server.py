"""A server of git repositories over HTTP, on a free port of 127.0.0.1."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from dulwich.object_store import BucketBasedObjectStore
from dulwich.objects import Blob, Commit, Tag, Tree
from dulwich.repo import MemoryRepo
from dulwich.server import DictBackend
from dulwich.web import make_wsgi_chain

AUTHOR = b"Somebody <somebody@example.com>"


class GitServer:
    """Serves repositories. Use it in a ``with`` statement.

    Attributes:
        address: ``127.0.0.1:port``.
        instead: answers a path in place of the repositories, when it gives an answer: the status line, headers, body.
        asked: the paths that were asked for.
    """

    def __init__(self) -> None:
        self._repositories: dict[str, Any] = {}
        self.asked: list[str] = []
        self.instead: Callable[[str], tuple[str, list[tuple[str, str]], Iterable[bytes]] | None] = lambda _path: None
        chain = make_wsgi_chain(DictBackend(self._repositories))

        def application(environment: dict[str, Any], start: Any) -> Iterable[bytes]:
            path = environment["PATH_INFO"]
            self.asked.append(path)
            other = self.instead(path)
            if other is None:
                return chain(environment, start)  # type: ignore[no-any-return]
            status, headers, body = other
            start(status, headers)
            return body

        self._server = make_server("127.0.0.1", 0, application, server_class=WSGIServer, handler_class=_Quiet)
        self.address = f"127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    def __enter__(self) -> GitServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def repository(self, path: str, files: Mapping[str, bytes] | None = None) -> MemoryRepo:
        """Makes a repository, with a first commit on the branch ``main`` where files are given."""
        repo = MemoryRepo()
        repo.refs.set_symbolic_ref(b"HEAD", b"refs/heads/main")
        self._repositories[f"/{path}"] = repo
        if files is not None:
            commit(repo, tree_of(repo.object_store, files))
        return repo

    def url(self, path: str) -> str:
        """The address of a repository."""
        return f"http://{self.address}/{path}"


def tree_of(store: BucketBasedObjectStore, files: Mapping[str, bytes]) -> bytes:
    """Stores files with their folders and gives the id of the tree."""
    tree, folders = Tree(), {}
    for path, content in files.items():
        name, _, rest = path.partition("/")
        if rest:
            folders.setdefault(name, {})[rest] = content
            continue
        blob = Blob.from_string(content)
        store.add_object(blob)
        tree.add(name.encode(), 0o100644, blob.id)
    for name, inside in folders.items():
        tree.add(name.encode(), 0o040000, tree_of(store, inside))
    store.add_object(tree)
    return tree.id


def commit(repo: MemoryRepo, tree: bytes, ref: bytes = b"refs/heads/main") -> bytes:
    """Commits a tree to a branch and gives the id of the commit."""
    made = Commit()
    made.tree = tree
    made.author = made.committer = AUTHOR
    made.author_time = made.commit_time = 1_700_000_000
    made.author_timezone = made.commit_timezone = 0
    made.encoding = b"UTF-8"
    made.message = b"A commit"
    repo.object_store.add_object(made)
    repo.refs[ref] = made.id
    return made.id


def annotate(repo: MemoryRepo, name: str, commit_id: bytes) -> None:
    """Makes an annotated tag."""
    tag = Tag()
    tag.name, tag.message, tag.tagger = name.encode(), b"A tag", AUTHOR
    tag.tag_time, tag.tag_timezone = 1_700_000_000, 0
    tag.object = (Commit, commit_id)
    repo.object_store.add_object(tag)
    repo.refs[b"refs/tags/" + name.encode()] = tag.id


class _Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""
