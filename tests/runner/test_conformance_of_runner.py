"""``lang platform runner`` with the process engine does what every runner does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from deploying import API, ok
from runner_conformance import CHECKS, Bench
from runner_process import RunnerProcess, short_folder


def start(url: str, token: str, runner_id: str, folder: Path) -> RunnerProcess:
    return RunnerProcess(url, token, runner_id, folder)


@pytest.fixture(scope="module")
def whole_bench() -> Iterator[Bench]:
    with short_folder() as folder, Bench(folder, start) as bench:
        yield bench


@pytest.fixture
def bench(whole_bench: Bench) -> Iterator[Bench]:
    """The one bench, with no project of another check on it."""
    yield whole_bench
    for project in ok(whole_bench.client.get(f"{API}/projects"))["items"]:
        whole_bench.client.delete(f"{API}/projects/{project['id']}")


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_runner(check: Callable[[Bench], None], bench: Bench) -> None:
    check(bench)
