"""What all projects of a runner share: its settings, engine, spool, state, packages, and the folders of its data."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import sys
from contextlib import suppress
from pathlib import Path

from language import version
from runner.engines import Engine
from runner.packages import Packages
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
        for name in ("sockets", "links", "caches"):
            (settings.data / name).mkdir(mode=0o700, exist_ok=True)

    @property
    def version(self) -> str:
        """The version of the interpreter that programs run with."""
        return version().removeprefix("v")

    def link_folder(self, start: str) -> Path:
        """Where the link of a started program lies. Its user, which is another one, comes in by this folder alone."""
        return self.settings.data / "links" / start

    def socket_path(self, project: str) -> Path:
        """Where the ingress reaches the program of a web project. Nobody but the runner enters this folder."""
        return self.settings.data / "sockets" / f"{project}.sock"

    def listen(self, project: str) -> socket.socket:
        """A new listening socket for a web project, in the place of one that is there."""
        path = self.socket_path(project)
        made = path.with_suffix(".new")
        with suppress(FileNotFoundError):
            made.unlink()
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        try:
            listening.bind(os.fspath(made))
            listening.listen(1024)
            listening.setblocking(False)  # every program has it so: the mode belongs to the socket, whoever holds it
            os.replace(made, path)
        except OSError:
            listening.close()
            raise
        return listening

    async def prepared(self, deploy: DeploySpec) -> tuple[Path, Path]:
        """The folders of a version's package and of its compiled files.

        Errors: ``PackageBroken``, ``EngineError``, and what the service raises.
        """
        package = await self.packages.folder(deploy.package_hash, deploy.entry, deploy.kind)
        cache = self.settings.data / "caches" / package.name
        async with self._prepared.setdefault(package.name, asyncio.Lock()):
            if package.name not in self._ready:
                await self.engine.prepare(package, deploy.entry, cache)
                self._ready.add(package.name)
        return package, cache

    def keep_packages(self, wanted: set[str]) -> None:
        """Removes the packages and compiled files that no project has any more."""
        self.packages.keep(wanted)
        names = {each.removeprefix("sha256:") for each in wanted}
        for cache in (self.settings.data / "caches").iterdir():
            if cache.name not in names:
                self._ready.discard(cache.name)
                shutil.rmtree(cache, ignore_errors=True)


def tell(text: str) -> None:
    """A line for the operator."""
    print(f"lang platform runner: {text}", file=sys.stderr, flush=True)
