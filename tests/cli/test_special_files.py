"""Pipes and folders where files are expected: an error with their name, never a wait without end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "pipe.lang")
    os.mkfifo(tmp_path / ".env")
    (tmp_path / "folder.lang").mkdir()
    (tmp_path / "uses_pipe.lang").write_text('use "pipe.lang" as m\nprint(1)\n')
    (tmp_path / "uses_folder.lang").write_text('use "folder.lang" as m\nprint(1)\n')
    (tmp_path / "plain.lang").write_text('test "a"\n    assert(true)\n')
    return tmp_path


def lang(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "language", *words], cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.parametrize("command", ["run", "check", "test", "serve", "caps"])
def test_a_module_that_is_a_pipe(folder: Path, command: str) -> None:
    done = lang(folder, command, "uses_pipe.lang")
    assert done.returncode == 1
    assert "module is not a regular file: pipe.lang" in done.stdout + done.stderr


def test_a_module_that_is_a_folder(folder: Path) -> None:
    assert "module not found: folder.lang" in lang(folder, "run", "uses_folder.lang").stderr


def test_an_env_file_that_is_a_pipe(folder: Path) -> None:
    done = lang(folder, "run", "plain.lang")
    assert done.returncode == 0
    assert "cannot read the env file '.env': it is not a regular file" in done.stderr


@pytest.mark.parametrize("words", [["test", "."], ["fmt", "--check", "."], ["test", "p*.lang"]])
def test_a_folder_with_a_pipe_in_it(folder: Path, words: list[str]) -> None:
    done = lang(folder, *words)
    assert "pipe.lang'" not in done.stderr
    assert "1 passed" in done.stdout or words[0] == "fmt"


def test_a_pipe_is_not_formatted(folder: Path) -> None:
    done = lang(folder, "fmt", "pipe.lang")
    assert done.returncode == 2 and "it is not a regular file" in done.stderr
