"""The command as a user starts it: a process of its own, in a folder of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
SECONDS = 60

Lang = Callable[..., "Result"]


class Result:
    """What came out of a process."""

    def __init__(self, done: subprocess.CompletedProcess[bytes]) -> None:
        self.out = done.stdout.decode("utf-8")
        self.err = done.stderr.decode("utf-8")
        self.code = done.returncode

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    def __repr__(self) -> str:
        return f"exit {self.code}\nstdout:\n{self.out}\nstderr:\n{self.err}"


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


def write(folder: Path, files: dict[str, str | bytes]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
