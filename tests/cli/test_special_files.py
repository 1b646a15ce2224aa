"""What is no regular file, where a file is named: an error that says what it is, and never a wait without end."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PLAIN = 'test "a"\n    assert(true)\n'
#: Each door that opens a file by its path, by the words of its command line; ``{}`` is that path.
DOORS = {
    "bare": "{}",
    "bare test": "--test {}",
    "run": "run {}",
    "run learn": "run --learn {}",
    "serve": "serve {}",
    "check": "check {}",
    "check json": "check --format json {}",
    "test": "test {}",
    "fmt": "fmt {}",
    "fmt check": "fmt --check {}",
    "caps": "caps {}",
    "caps old": "caps --diff {} plain.lang",
    "caps new": "caps --diff plain.lang {}",
    "caps audit": "caps plain.lang --audit {}",
    "audit verify": "audit verify {}",
}
KINDS = {"pipe.lang": "it is a named pipe, not a regular file", "socket.lang": "it is a socket", "/dev/zero": "it is a device"}


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    os.mkfifo(tmp_path / "pipe.lang")
    os.mkfifo(tmp_path / ".env")
    (tmp_path / "folder.lang").mkdir()
    (tmp_path / "uses_pipe.lang").write_text('use "pipe.lang" as m\nprint(1)\n')
    (tmp_path / "uses_socket.lang").write_text('use "socket.lang" as m\nprint(1)\n')
    (tmp_path / "uses_folder.lang").write_text('use "folder.lang" as m\nprint(1)\n')
    (tmp_path / "plain.lang").write_text(PLAIN)
    with socket.socket(socket.AF_UNIX) as listening:
        here = os.open(tmp_path, os.O_RDONLY)
        listening.bind(f"/proc/self/fd/{here}/socket.lang")  # the path itself may be longer than an address can be
        os.close(here)
        yield tmp_path


def lang(folder: Path, *words: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "language", *words],
        cwd=folder, capture_output=True, text=True, timeout=120, check=False, **options,  # type: ignore[call-overload]
    )  # fmt: skip


@pytest.mark.parametrize("named", KINDS)
@pytest.mark.parametrize("door", DOORS)
def test_what_is_no_regular_file_is_refused_at_every_door(folder: Path, door: str, named: str) -> None:
    done = lang(folder, *(word.format(named) for word in DOORS[door].split()))
    assert done.returncode == 2
    assert f"cannot read '{named}': {KINDS[named]}" in done.stderr
    if named == "pipe.lang":
        assert (folder / named).is_fifo()


@pytest.mark.parametrize("door", [door for door in DOORS if door not in ("bare", "bare test", "test", "fmt", "fmt check")])
def test_a_folder_is_refused_where_one_file_is_named(folder: Path, door: str) -> None:
    done = lang(folder, *(word.format("folder.lang") for word in DOORS[door].split()))
    assert done.returncode == 2
    assert "'folder.lang'" in done.stderr and any(
        why in done.stderr for why in ("it is a folder", "no .lang files", "Is a directory")
    )


@pytest.mark.parametrize("command", ["run", "check", "test", "serve", "caps"])
@pytest.mark.parametrize("kind", ["pipe", "socket"])
def test_a_module_that_is_none(folder: Path, command: str, kind: str) -> None:
    done = lang(folder, command, f"uses_{kind}.lang")
    assert done.returncode == 1
    assert f"module is not a regular file: {kind}.lang" in done.stdout + done.stderr


def test_a_module_that_is_a_folder(folder: Path) -> None:
    assert "module not found: folder.lang" in lang(folder, "run", "uses_folder.lang").stderr


@pytest.mark.parametrize("words", [(), ("--env-file", "pipe.lang"), ("--env-file", "socket.lang"), ("--env-file", "/dev/zero")])
def test_an_env_file_that_is_none(folder: Path, words: tuple[str, ...]) -> None:
    named = words[-1] if words else ".env"
    done = lang(folder, "run", *words, "plain.lang")
    assert done.returncode == 0
    assert f"cannot read the env file '{named}': it is a" in done.stderr and "not a regular file" in done.stderr


def test_answers_of_a_model_that_are_in_a_pipe(folder: Path) -> None:
    (folder / "asks.lang").write_text('require llm\nprint(reason about "x")\n')
    environment = {**os.environ, "PLATFORM_LLM_PROVIDER": "mock", "PLATFORM_LLM_MOCK": "pipe.lang"}
    done = lang(folder, "run", "--no-env-file", "asks.lang", env=environment)
    assert done.returncode == 1 and "it is a named pipe, not a regular file" in done.stderr


@pytest.mark.parametrize("words", [["test", "."], ["fmt", "--check", "."], ["test", "p*.lang"]])
def test_a_folder_with_a_pipe_in_it(folder: Path, words: list[str]) -> None:
    done = lang(folder, *words)
    assert "pipe.lang'" not in done.stderr
    assert "1 passed" in done.stdout or words[0] == "fmt"


def shell(folder: Path, line: str) -> subprocess.CompletedProcess[str]:
    command = f'lang() {{ "{sys.executable}" -m language "$@"; }}; {line}'
    return subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize(
    ("line", "printed"),
    [
        ("lang run --no-env-file <(echo 'print(1)')", "1\n"),
        ("lang run --no-env-file <(sleep 1; echo 'print(1)')", "1\n"),
        ("echo 'print(1)' | lang run --no-env-file /dev/stdin", "1\n"),
        ("echo 'print(2)' > two.lang; lang run --no-env-file /dev/fd/0 < two.lang", "2\n"),
        ("echo 'print(1)' | lang --no-env-file /dev/fd/0", "1\n"),
        ("lang check <(echo 'print(1)')", "OK: 1 statements parsed.\n"),
        ('lang run --env-file <(echo A=b) <(printf \'require env("A")\\nprint(env("A"))\')', "b\n"),
    ],
)
def test_descriptors_that_the_caller_opened_may_be_pipes(folder: Path, line: str, printed: str) -> None:
    done = shell(folder, line)
    assert (done.stdout, done.returncode) == (printed, 0), done.stderr


def test_a_descriptor_that_is_not_there(folder: Path) -> None:
    done = lang(folder, "run", "/dev/fd/93")
    assert done.returncode == 2 and "cannot read '/dev/fd/93': Bad file descriptor" in done.stderr
