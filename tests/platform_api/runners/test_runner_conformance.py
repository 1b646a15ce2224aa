"""The runner that tests use does what every runner does. A runner with an engine is held to the same checks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from fake_runner import FakeRunner
from runner_conformance import CHECKS, Bench


def start(url: str, token: str, runner_id: str, folder: Path) -> FakeRunner:
    runner = FakeRunner(url, token, runner_id, folder)
    runner.start()
    return runner


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_runner_without_an_engine(check: Callable[[Bench], None], tmp_path: Path, database: str | None) -> None:
    with Bench(tmp_path, start, database=database) as bench:
        check(bench)
