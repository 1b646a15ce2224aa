"""The command as a user starts it: a process of its own, in a folder of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_process import ROOT, SECONDS, Lang, Result, write


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home folder shared by all tests, so that they share the compiled programs."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def environment(home: Path) -> dict[str, str]:
    """The environment of a started process: nothing of the machine's settings."""
    names = ("PATH", "COVERAGE_PROCESS_START", "SYSTEMROOT")
    return {"HOME": str(home), "PYTHONPATH": str(ROOT), **{name: os.environ[name] for name in names if name in os.environ}}


@pytest.fixture
def lang(tmp_path: Path, environment: dict[str, str]) -> Lang:
    """Runs ``lang`` with these words in the test's folder. ``files`` are written there first."""

    def run(
        *words: str,
        stdin: str | bytes = b"",
        env: dict[str, str] | None = None,
        files: dict[str, str | bytes] | None = None,
        python: tuple[str, ...] = (),
    ) -> Result:
        write(tmp_path, files or {})
        return Result(
            subprocess.run(
                [sys.executable, *python, "-m", "language", *words],
                cwd=tmp_path,
                env={**environment, **(env or {})},
                input=stdin.encode() if isinstance(stdin, str) else stdin,
                capture_output=True,
                timeout=SECONDS,
                check=False,
            )
        )

    return run
