"""Gates at a real terminal, and ``--gates``."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """let ok be approve "Delete everything?"
print(ok)
let sure be confirm "Sure?"
print(sure)
let target be ask "Which env?" with ["staging", "prod"]
print(target)
print("[" + (ask "Your name?" within 5m) + "]")
"""


def run(folder: Path, answers: str, *flags: str) -> str:
    """What a person at a terminal sees: both streams of the command on a pseudo-terminal."""
    path = folder / "gates.lang"
    path.write_text(PROGRAM, encoding="utf-8")
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "language", "run", *flags, str(path)], stdin=follower, stdout=follower, stderr=follower
    )
    os.close(follower)
    os.write(leader, answers.encode())
    seen = b""
    while True:
        try:
            data = os.read(leader, 4096)
        except OSError:
            break
        if not data:
            break
        seen += data
    os.close(leader)
    assert process.wait(30) == 0
    return seen.decode().replace("\r\n", "\n")


def test_a_person_answers(tmp_path: Path) -> None:
    seen = run(tmp_path, "Y\nmaybe\nno\n  prod \nAna\n")
    assert "[approve] Delete everything? (y/n): " in seen
    assert "please answer 'y' or 'n'" in seen
    assert "[ask] Which env? (staging / prod): " in seen
    lines = [line.rpartition(": ")[2] for line in seen.splitlines()]
    assert [line for line in lines if line in ("true", "false", "prod", "[Ana]")] == ["true", "false", "prod", "[Ana]"]


@pytest.mark.parametrize("word", ["s", "si", "sí", "yes", "YES"])
def test_words_for_yes(tmp_path: Path, word: str) -> None:
    seen = [line.rpartition(": ")[2] for line in run(tmp_path, f"{word}\nn\n\n\n").splitlines()]  # echoes may come in between
    assert [line for line in seen if line in ("true", "false")] == ["true", "false"]


def test_end_of_input_is_a_no(tmp_path: Path) -> None:
    seen = run(tmp_path, "\x04\x04\x04\x04")
    assert "true" not in seen and "staging" in seen and "[]" in seen


def test_deny_asks_nobody(tmp_path: Path) -> None:
    seen = run(tmp_path, "y\ny\nprod\nAna\n", "--gates", "deny")
    assert ("(y/n)" not in seen and "false\nfalse" in seen.replace("\n\n", "\n")) or "DENIED" in seen


def test_the_queue_waits_and_then_denies(tmp_path: Path) -> None:
    path = tmp_path / "one.lang"
    path.write_text('print(approve "Go?" within 1s)', encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "language", "run", "--gates=queue", str(path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == "false\n" and done.returncode == 0
    assert "[lang] approval pending interact_1-" in done.stderr and "POST /approvals/interact_1-" in done.stderr


def test_an_unknown_way_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "one.lang"
    path.write_text("print(1)", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "language", "run", "--gates", "always", str(path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2 and "--gates must be auto or deny or queue" in done.stderr
