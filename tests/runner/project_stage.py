"""One project on a real engine, without a service: what is wanted is said here, what is reported is read here."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from runner.context import Context
from runner.engines import choose
from runner.packages import Packages
from runner.projects import Project
from runner.protocol import DeploySpec, FileContent, Limits, PackageAnswer, ProjectSpec, package_hash
from runner.settings import settings_from
from runner.spool import Spool
from runner.state import State

SECONDS = 120
WEB = 'require serve(8080)\nprint("up")\nserve on 8080\n    route "GET /"\n        give ok("{}")\n'


class Stage:
    """A runner's folder and its engine.

    Args:
        folder: with a short path.
    """

    def __init__(self, folder: Path) -> None:
        self.settings = settings_from({"PLATFORM_RUNNER_TOKEN": "lr_x"}, data=folder)
        self._packages: dict[str, bytes] = {}
        self.spool = Spool(folder / "spool")
        self.state = State(folder / "state.json")
        self.engine = choose("process", folder)
        packages = Packages(folder / "packages", self)
        self.context = Context(self.settings, self.engine, self.spool, self.state, packages)
        self.projects: list[Project] = []
        self.gone: list[str] = []
        self._number = 0

    async def package(self, package_hash: str) -> PackageAnswer:
        content = base64.b64encode(self._packages[package_hash]).decode()
        return PackageAnswer(hash=package_hash, files=(FileContent(path="main.lang", content=content),))

    def deploy(self, source: str, kind: Any = "web", **changes: Any) -> DeploySpec:
        """A version of which this is the text."""
        self._number += 1
        digest = package_hash([("main.lang", "utf8", source.encode())], "main.lang", kind)
        self._packages[digest] = source.encode()
        values = {"ceiling": "stdout,time,serve,file", **changes}
        return DeploySpec(
            id=f"dep_{self._number}", number=self._number, package_hash=digest, entry="main.lang", kind=kind, **values
        )

    def project(self, deploy: DeploySpec, **changes: Any) -> Project:
        """A project of which this version is wanted."""
        spec = ProjectSpec(
            project=f"prj_{self._number}",
            generation=1,
            desired="up",
            slug="shop",
            name="Shop",
            kind=deploy.kind,
            limits=Limits(sleep_after=0),
            deploy=deploy,
        )
        project = Project(self.context, replace(spec, **changes), self._gone)
        self.projects.append(project)
        project.begin()
        return project

    async def _gone(self, project: str) -> None:
        self.gone.append(project)

    def want(self, project: Project, **changes: Any) -> None:
        """Wants something else of it: a new generation."""
        project.update(replace(project.spec, generation=project.spec.generation + 1, **changes))

    def reports(self, kind: str) -> list[dict[str, Any]]:
        """Everything that was reported of a kind, in order."""
        items = [item for stream in self.spool.streams.values() for _, item in stream.pending(10**6, 10**9)]
        return [dict(item) for item in items if item["type"] == kind]

    def phases(self, generation: int | None = None) -> list[str]:
        """The phases that were reported."""
        return [each["phase"] for each in self.reports("phase") if generation in (None, each["generation"])]


@asynccontextmanager
async def stage(folder: Path) -> AsyncIterator[Stage]:
    """A stage, which leaves nothing running."""
    made = Stage(folder)
    try:
        yield made
    finally:
        await asyncio.gather(*(project.close(leave=False) for project in made.projects))
        made.spool.close()
        await made.engine.close()


async def until(condition: Callable[[], Any]) -> Any:
    """Waits until a condition holds, and gives what it gave."""
    async with asyncio.timeout(SECONDS):
        while not (found := condition()):
            await asyncio.sleep(0.01)
        return found


async def ask(path: str, route: str = "/") -> str:
    """The text that a program answers a ``GET`` with, over the path of its listening socket."""
    reader, writer = await asyncio.open_unix_connection(path)
    try:
        writer.write(f"GET {route} HTTP/1.1\r\nHost: shop\r\nConnection: close\r\n\r\n".encode())
        head, _, body = (await asyncio.wait_for(reader.read(), SECONDS)).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200"), head
        return str(json.loads(body))
    finally:
        writer.close()
