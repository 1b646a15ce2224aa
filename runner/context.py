"""What all projects of a runner share: its settings, engine, spool, state, packages, and the folders of its data."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from weakref import WeakValueDictionary

from language import version
from runner.engines import Engine
from runner.leftovers import Leftovers
from runner.links import Names
from runner.packages import Packages, remove_all, set_aside
from runner.protocol import DeploySpec
from runner.settings import RunnerSettings
from runner.spool import Spool
from runner.state import State


class Context:
    """The surroundings of every project.

    Args:
        settings: their folder is there.
    """

    def __init__(self, settings: RunnerSettings, engine: Engine, spool: Spool, state: State, packages: Packages) -> None:
        self.settings, self.engine, self.spool, self.state, self.packages = settings, engine, spool, state, packages
        self._prepared: dict[str, asyncio.Lock] = {}
        self._ready: set[str] = set()
        self._names: WeakValueDictionary[str, Names] = WeakValueDictionary()
        self._held: Counter[str] = Counter()
        #: set when a package may have lost its last use
        self.released = asyncio.Event()
        self.leftovers = Leftovers()
        #: are called with a project before its programs and its volume are erased
        self.before_erasure: list[Callable[[str], Awaitable[None]]] = []
        for name in ("sockets", "links", "caches"):
            (settings.data / name).mkdir(mode=0o700, exist_ok=True)
        remove_all((settings.data / "caches").glob("old-*"))  # what a runner was removing when it ended

    @property
    def version(self) -> str:
        """The version of the interpreter that programs run with."""
        return version().removeprefix("v")

    def names(self, project: str) -> Names:
        """The resolver of a project: one for all its starts, so that none begins with free slots."""
        return self._names.setdefault(project, Names())

    def link_folder(self, start: str) -> Path:
        """The folder of the link of a started program: the only one of the runner that the program's own user can enter."""
        return self.settings.data / "links" / start

    def socket_path(self, project: str) -> Path:
        """Where the ingress reaches the program of a web project. Nobody but the runner enters this folder."""
        return self.settings.data / "sockets" / f"{project}.sock"

    def listen(self, project: str) -> socket.socket:
        """A new listening socket for a web project. Nobody reaches it before ``show``."""
        path = self._hidden_path(project)
        path.unlink(missing_ok=True)
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        try:
            listening.bind(os.fspath(path))
            listening.listen(1024)
            # as every program expects: the mode belongs to the socket, which several processes share
            listening.setblocking(False)
        except OSError:
            listening.close()
            raise
        return listening

    def show(self, project: str) -> None:
        """Replaces the previous socket by that of ``listen``, once a program is ready to accept from it.

        A program that a runner before this one has started listens at a socket that only its path leads to: as long as no
        other program is ready, that path is its own.
        """
        with suppress(FileNotFoundError):  # it is shown already
            os.replace(self._hidden_path(project), self.socket_path(project))

    def hide(self, project: str) -> None:
        """Removes the paths of a project's sockets."""
        for path in (self._hidden_path(project), self.socket_path(project)):
            path.unlink(missing_ok=True)

    def _hidden_path(self, project: str) -> Path:
        return self.socket_path(project).with_suffix(".new")

    async def prepared(self, deploy: DeploySpec, engine: str = "") -> tuple[Path, Path]:
        """The folders of a version's package and of its compiled files.

        Args:
            engine: the version of the language that it runs with; ``""`` is the runner's own.

        Errors: ``PackageBroken``, ``EngineError``, and what the service raises.
        """
        package = await self.packages.folder(deploy.package_hash, deploy.entry, deploy.kind)
        name = f"{package.name}.{engine}" if engine not in ("", self.version) else package.name
        cache = self.settings.data / "caches" / name
        async with self._prepared.setdefault(name, asyncio.Lock()):
            if name not in self._ready:
                await self.engine.prepare(package, deploy.entry, cache, engine)
                self._ready.add(name)
        return package, cache

    def hold(self, package_hash: str) -> None:
        """Keeps a package and its compiled files while something of it is started or runs."""
        self._held[package_hash] += 1

    def release(self, package_hash: str) -> None:
        """Takes back a ``hold``."""
        self._held[package_hash] -= 1
        if self._held[package_hash] <= 0:
            del self._held[package_hash]
        self.released.set()

    @contextmanager
    def holding(self, package_hash: str) -> Iterator[None]:
        """Holds a package meanwhile."""
        self.hold(package_hash)
        try:
            yield
        finally:
            self.release(package_hash)

    async def keep_packages(self, wanted: Iterable[str]) -> None:
        """Removes the packages and compiled files that are neither wanted nor held. Errors: ``EngineError``, ``OSError``."""
        kept = {each.removeprefix("sha256:") for each in (*wanted, *self._held)}
        gone = [*set_aside(self.settings.data / "caches", kept), *self.packages.set_aside(kept)]
        for place in gone:
            self._ready.discard(place.name.partition(".")[2])
        await asyncio.to_thread(remove_all, gone)
        if gone:
            await self.engine.drop_files()


def tell(text: str) -> None:
    """A line for the operator."""
    print(f"lang platform runner: {text}", file=sys.stderr, flush=True)
