"""A service with a runner beside it, for tests of what is deployed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from fake_runner import FakeRunner
from platform_service import Service

from platform_api.runners.registry import make_runner_token

WEB = 'require serve(8080)\nserve on 8080\n    route "GET /"\n        give ok("hello")\n'
JOB = 'print("counting")\n'
API = "/api/v1"


def runner_token(service: Service, runner_id: str = "one") -> str:
    with service.platform.store.main.writing() as connection:
        return make_runner_token(connection, runner_id)


@contextmanager
def runner_of(service: Service, runner_id: str = "one", folder: Path | None = None, **options: Any) -> Iterator[FakeRunner]:
    """A runner that does nothing until it is told to. It has polled once: projects are placed on it."""
    runner = FakeRunner(service.url, runner_token(service, runner_id), runner_id, folder, **options)
    runner.poll()
    try:
        yield runner
    finally:
        runner.kill()


def ok(answer: httpx.Response) -> Any:
    assert answer.status_code == 200, answer.text
    return answer.json()


def refused(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


def made(client: httpx.Client, kind: str = "web", *, source: str | None = None, name: str = "Shop") -> str:
    """Makes a project and gives its id."""
    body = {"name": name, "source": source or (JOB if kind == "job" else WEB), "kind": kind}
    return str(ok(client.post(f"{API}/projects", json=body))["project"]["id"])


def deployed(client: httpx.Client, runner: FakeRunner, kind: str = "web", **options: Any) -> str:
    """Makes a project, deploys it, brings it up, and gives its id."""
    project = made(client, kind, **options)
    ok(client.post(f"{API}/projects/{project}/deploys"))
    runner.converge()
    return project


def detail(client: httpx.Client, project: str) -> Any:
    return ok(client.get(f"{API}/projects/{project}"))


def status(client: httpx.Client, project: str) -> str:
    return str(detail(client, project)["project"]["status"])


def until(condition: Callable[[], Any], seconds: float = 60) -> Any:
    """Polls a condition until it holds, and gives what it gave."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "this never came to be"
        time.sleep(0.02)
    return found
