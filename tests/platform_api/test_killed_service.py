"""The service is killed while it works, again and again: what it has acknowledged is there afterwards, and nothing by halves.

``SOAK_KILLS`` says how often; `make soak` does it fifty times.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from deploying import API, ok
from fake_runner import FakeRunner
from service_process import ServiceProcess

from platform_api.accounts.principal import SCOPES
from platform_api.accounts.records import make_account
from platform_api.accounts.tokens import make_token
from platform_api.runners.registry import make_runner_token
from platform_api.settings import Settings
from platform_api.store.store import open_store
from runner.protocol import LogLine

KILLS = int(os.environ.get("SOAK_KILLS", "3"))
#: What ends a request when the service is killed.
Lost = httpx.TransportError


class Work:
    """Clients that write until the service is gone, and what it has acknowledged to them.

    Each has one request under way at a time. That one may have been carried out or not when the service is killed.

    Attributes:
        acknowledged: how many writes of each kind.
    """

    def __init__(self, url: str, token: str, runner_token: str, folder: Path) -> None:
        self.acknowledged = dict.fromkeys(("projects", "deploys", "values", "schedules", "lines"), 0)
        self._url, self._folder = url, folder
        self._headers = {"Authorization": f"Bearer {token}"}
        self._runner_token = runner_token
        self._attempts = 0
        self._sources: dict[str, str] = {}  # of each project that was asked for, by its name
        self._made: dict[str, str] = {}  # acknowledged: name to id
        self._checked: set[str] = set()
        self._deploys: list[str] = []  # acknowledged since the last check
        self._values: list[str] = [""]  # the last acknowledged one, and the one under way
        self._schedules: list[str] = [""]
        self._spooled = self._seen = 0
        self._position = "0"
        with self._client() as client, self._runner() as runner:
            runner.poll()
            worker = {"name": "Worker", "source": "sleep(100)\n", "kind": "worker"}
            self.project = self._create(client, worker)
            self.job = self._create(client, {"name": "Job", "source": 'print("x")\n', "kind": "job"})
            for each in (self.project, self.job):
                ok(client.post(f"{API}/projects/{each}/deploys"))
            runner.converge()

    def _client(self) -> httpx.Client:
        return httpx.Client(base_url=self._url, headers=self._headers, timeout=120)

    def _runner(self) -> Any:
        made = FakeRunner(self._url, self._runner_token, "one", self._folder)
        return _Closing(made)

    def _create(self, client: httpx.Client, body: dict[str, Any]) -> str:
        self._sources[body["name"]] = body["source"]
        self._made[body["name"]] = found = str(ok(client.post(f"{API}/projects", json=body))["project"]["id"])
        self.acknowledged["projects"] += 1
        return found

    # What the clients do

    def create(self, client: httpx.Client) -> None:
        self._attempts += 1
        name = f"Project {self._attempts}"
        self._create(client, {"name": name, "source": f'print("{name}")\n', "kind": "web"})

    def deploy(self, client: httpx.Client) -> None:
        self._deploys.append(ok(client.post(f"{API}/projects/{self.project}/deploys"))["deploy"]["id"])
        self.acknowledged["deploys"] += 1

    def write_value(self, client: httpx.Client) -> None:
        self._attempts += 1
        self._values.append(str(self._attempts))
        ok(client.put(f"{API}/projects/{self.project}/env/NUMBER", json={"value": self._values[-1]}))
        del self._values[:-1]
        self.acknowledged["values"] += 1

    def set_schedule(self, client: httpx.Client) -> None:
        self._attempts += 1
        self._schedules.append(f"{self._attempts % 60} {self._attempts // 60 % 24} 1 1 *")
        ok(client.put(f"{API}/projects/{self.job}/schedule", json={"cron": self._schedules[-1]}))
        del self._schedules[:-1]
        self.acknowledged["schedules"] += 1

    def report(self, runner: FakeRunner) -> None:
        self._spooled += 1
        at = time.time_ns() // 1_000_000
        runner.spool(LogLine(project=self.project, at=at, line=f"line {self._spooled}"))
        runner.converge()
        self.acknowledged["lines"] = self._spooled

    def until_killed(self, kill: Callable[[], None]) -> None:
        """Lets all of them work, kills the service once each has had an answer, and waits for their ends."""
        over = threading.Event()
        progress = {name: threading.Event() for name in self.acknowledged}
        failures: list[BaseException] = []

        def repeat(name: str, step: Callable[[Any], None], opened: Any) -> None:
            try:
                with opened as client:
                    while not over.is_set():
                        step(client)
                        progress[name].set()
            except Lost:
                return
            except BaseException as error:
                failures.append(error)
                progress[name].set()

        steps = {"projects": self.create, "deploys": self.deploy, "values": self.write_value, "schedules": self.set_schedule}
        threads = [threading.Thread(target=repeat, args=(name, step, self._client())) for name, step in steps.items()]
        threads.append(threading.Thread(target=repeat, args=("lines", self.report, self._runner())))
        for thread in threads:
            thread.start()
        try:
            for each in progress.values():
                assert each.wait(120), "the clients do not get on"
            kill()
        finally:
            over.set()
        for thread in threads:
            thread.join()
        assert failures == []

    # What the service says afterwards

    def check(self) -> None:
        """Compares what was acknowledged with what the service tells."""
        with self._client() as client:
            self._check_projects(client)
            for deploy in self._deploys:
                ok(client.get(f"{API}/projects/{self.project}/deploys/{deploy}"))
            self._deploys.clear()
            deploys = ok(client.get(f"{API}/projects/{self.project}"))["deploys"]
            numbers = [deploy["number"] for deploy in deploys]
            assert numbers == list(range(numbers[0], numbers[0] - len(numbers), -1))
            found = {item["name"]: item["value"] for item in ok(client.get(f"{API}/projects/{self.project}/env"))["items"]}
            assert found.get("NUMBER", "") in self._values
            self._values = [found.get("NUMBER", "")]
            schedule = ok(client.get(f"{API}/projects/{self.job}/runs"))["schedule"]
            assert schedule in self._schedules
            self._schedules = [schedule]
            self._check_lines(client)

    def _check_projects(self, client: httpx.Client) -> None:
        listed: dict[str, dict[str, Any]] = {}
        query: dict[str, Any] = {"limit": 500}
        while True:
            page = ok(client.get(f"{API}/projects", params=query))
            listed |= {project["id"]: project for project in page["items"]}
            if not page.get("next_cursor"):
                break
            query["cursor"] = page["next_cursor"]
        assert set(self._made.values()) <= set(listed), "an acknowledged project is gone"
        names = [project["name"] for project in listed.values()]
        assert len(set(names)) == len(names) and set(names) <= set(self._sources), "a project was made twice, or by nobody"
        slugs = [project["slug"] for project in listed.values()]
        assert len(set(slugs)) == len(slugs)
        for project in (listed[each] for each in listed.keys() - self._checked):
            package = ok(client.get(f"{API}/projects/{project['id']}/package"))
            assert [file["content"] for file in package["files"]] == [self._sources[project["name"]]]
            detail = ok(client.get(f"{API}/projects/{project['id']}"))
            assert detail["package"]["package"] == package["package"] and detail["ceiling"]["text"] == "stdout,time"
        self._checked = set(listed)

    def _check_lines(self, client: httpx.Client) -> None:
        while True:
            tail = ok(client.get(f"{API}/projects/{self.project}/logs/tail", params={"after": self._position, "limit": 500}))
            for item in tail["items"]:
                if item["line"].startswith("line "):
                    self._seen += 1
                    assert item["line"] == f"line {self._seen}", "a line is lost, or there twice"
            self._position = tail["last"]
            if not tail["items"]:
                break
        assert self.acknowledged["lines"] <= self._seen <= self._spooled


class _Closing:
    """A runner for a ``with`` statement."""

    def __init__(self, runner: FakeRunner) -> None:
        self._runner = runner

    def __enter__(self) -> FakeRunner:
        return self._runner

    def __exit__(self, *_: object) -> None:
        self._runner.kill()


@pytest.fixture
def service(tmp_path: Path) -> Iterator[ServiceProcess]:
    made = ServiceProcess(tmp_path)
    yield made
    made.close()


def test_what_a_killed_service_has_acknowledged_is_kept(service: ServiceProcess, tmp_path: Path) -> None:
    store = open_store(Settings(data=service.data))
    with store.main.writing() as connection:
        account = make_account(connection, "owner@example.com", plan="team")
        token = make_token(connection, account, "test", SCOPES, "token")[1]
        runner = make_runner_token(connection, "one")
    store.close()
    service.start()
    work = Work(service.url, token, runner, tmp_path)
    chance = random.Random(KILLS)

    def kill() -> None:
        time.sleep(chance.random() * 0.5)  # at any point of what is under way
        service.kill()
        service.start()

    for turn in range(KILLS):
        work.until_killed(kill)
        work.check()
        print(f"killed {turn + 1} times, acknowledged {work.acknowledged}")
    assert min(work.acknowledged.values()) >= KILLS
