"""A platform as it stands on one machine: a service, a runner on a real engine, programs that answer at their addresses."""

from __future__ import annotations

import os
import random
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from http_load import environment
from service_stage import API, ServiceStage

if TYPE_CHECKING:
    from runner_process import RunnerProcess

SECONDS = 300
#: Deploys that are asked for side by side: clients wait for each other no longer than the service takes for an answer.
AT_ONCE = 10

Found = TypeVar("Found")


def until(condition: Callable[[], Found], pause: float = 0.05) -> Found:
    """Asks again and again, and gives the first answer that is true."""
    end = time.monotonic() + SECONDS
    while not (found := condition()):
        if time.monotonic() > end:
            raise SystemExit("this never came to be")
        time.sleep(pause)
    return found


class RunnerStage(ServiceStage):
    """See the module.

    Args:
        folder: with a short path.
        engine: ``process`` or ``docker``.
        docker: ``DOCKER_HOST`` of the daemon.
    """

    def __init__(self, folder: Path, engine: str, docker: str = "") -> None:
        # No other platform of this machine has programs at this address.
        self.host = f"127.{random.randint(1, 254)}.{random.randint(0, 255)}.{random.randint(1, 254)}"
        super().__init__(folder, "owner", PLATFORM_APPS_HOST=self.host)
        self.engine, self.docker = engine, docker
        self.folder = folder / "r"
        self.folder.mkdir()
        self.client = self.clients[0]
        self._runner: RunnerProcess | None = None

    @contextmanager
    def runner(self, **surroundings: str) -> Iterator[int]:
        """A runner with these variables, until it is ended in order; gives its process."""
        from runner_process import RunnerProcess

        variables = {"PLATFORM_APPS_HOST": self.host, "PLATFORM_BASE_URL": self.url, **surroundings}
        if self.docker:
            variables["DOCKER_HOST"] = self.docker
        self._runner = RunnerProcess(self.url, self.runner_token, "bench", self.folder, variables, engine=self.engine)
        try:
            yield self._runner.process.pid
        finally:
            self._runner.stop()

    @property
    def enforced(self) -> str:
        """What the runner says of its engine."""
        assert self._runner is not None
        return next(line for line in self._runner.said.splitlines() if "; enforced: " in line).partition(": ")[2]

    def detail(self, project: str) -> Any:
        """The project as the service shows it."""
        return self.ok(self.client.get(f"{API}/projects/{project}"))["project"]

    def ok(self, answer: Any) -> Any:
        """The body of an answer that is a success."""
        assert answer.status_code == 200, answer.text
        return answer.json()

    def ask(self, project: str) -> tuple[str, float]:
        """Asks for a deploy: its id, and the moment before in seconds since 1970."""
        asked = time.time()
        return str(self.ok(self.client.post(f"{API}/projects/{project}/deploys"))["deploy"]["id"]), asked

    def live(self, project: str, deploy: str) -> float:
        """Waits until a deploy is live: the moment of that in seconds since 1970."""

        def settled() -> Any:
            shown = self.ok(self.client.get(f"{API}/projects/{project}/deploys/{deploy}"))["deploy"]
            return shown if shown["status"] in ("live", "failed") else None

        found = until(settled)
        if found["status"] != "live":
            raise SystemExit(f"a deploy has failed: {found['error']}")
        return datetime.fromisoformat(found["finished_at"]).timestamp()

    def up(self, name: str, source: str, kind: str = "web", *, sleeps: bool = False) -> tuple[str, float]:
        """Makes a project and deploys it: its id, and the seconds from the request to live."""
        project = self.made(name, source, kind)
        if kind == "web" and not sleeps:
            self.ok(self.client.put(f"{API}/projects/{project}/sleep", json={"after_minutes": 0}))
        deploy, asked = self.ask(project)
        return project, self.live(project, deploy) - asked

    def up_together(self, sources: list[str]) -> tuple[list[str], float]:
        """Deploys many projects at once: their ids, and the seconds from the first request until the last is live."""
        projects = [self.made(f"Together {number}", source) for number, source in enumerate(sources)]
        for project in projects:
            self.ok(self.client.put(f"{API}/projects/{project}/sleep", json={"after_minutes": 0}))
        with ThreadPoolExecutor(AT_ONCE) as pool:
            asked = list(pool.map(self.ask, projects))
        moments = [self.live(project, deploy) for project, (deploy, _) in zip(projects, asked)]
        return projects, max(moments) - min(moment for _, moment in asked)

    def stop(self, *projects: str) -> None:
        """Stops projects and waits until they are."""
        for project in projects:
            self.ok(self.client.post(f"{API}/projects/{project}/stop"))
        for project in projects:
            until(lambda: self.detail(project)["status"] == "stopped")  # noqa: B023

    def listening(self, project: str) -> str:
        """The path of the socket that a program listens at."""
        return str(self.folder / "sockets" / f"{project}.sock")

    @property
    def links(self) -> list[str]:
        """The starts that there are, up or on their way to an end."""
        return os.listdir(self.folder / "links")

    def processes(self, runner: int) -> list[int]:
        """The processes of all programs that are up, with those that exist for them alone."""
        from runner.engines.process_tree import children, descendants

        if not self.docker:
            return [found for child in children(runner) for found in descendants(child)]
        variables = environment(DOCKER_HOST=self.docker)

        def told(*words: str) -> list[str]:
            return subprocess.run(["docker", *words], env=variables, capture_output=True, text=True, check=True).stdout.split()

        firsts = map(int, told("inspect", "-f", "{{.State.Pid}}", *told("ps", "-q")))
        return [found for first in firsts for found in descendants(_parent(first))]  # the parent is the shim of containerd


def _parent(process: int) -> int:
    """The process that started one."""
    return int(Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])
