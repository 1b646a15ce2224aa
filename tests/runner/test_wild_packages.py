"""Packages that exit at once, print, fork, fill their volume and hear no signal, on a runner with bubblewrap."""

from __future__ import annotations

import sys
from pathlib import Path

from runner_conformance import Bench
from runner_process import RunnerProcess, short_folder
from wild_packages import exits_at_once, plans, wild_packages_harm_nobody_else


def start(url: str, token: str, runner_id: str, folder: Path) -> RunnerProcess:
    return RunnerProcess(url, token, runner_id, folder)


def test_wild_packages_harm_nobody_else() -> None:
    with short_folder() as folder, Bench(folder, start, plans=plans(folder)) as bench:
        wild_packages_harm_nobody_else(bench, sys.executable, exits_at_once(bench))
