"""The Python side of the wasip1 build, run by the Python of the tests: it shows errors as the native command does."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.wasm.web_build import ROOT

pytestmark = pytest.mark.once

#: The time zones are in a module that the build makes; nothing here asks for one.
GUEST = """
import sys, types
sys.modules["_lang_time_zones"] = types.SimpleNamespace(ZONES={})
from wasm_abi.guest.command import answer
sys.exit(answer(sys.argv[1:], []))
"""
WRONG = "let total be 1\ntask shown(n)\n    print(totl)\nshown(total)\n"
UNREADABLE = 'let x = 5\ntest "a"\n    assert(true)\n'
TESTS = 'test "adds"\n    assert_eq([1, 2], [1, 3])\ntest "works"\n    assert(true)\n'


def run(folder: Path, *command: str) -> tuple[int, str, str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PLATFORM_CACHE": "off"}
    done = subprocess.run(
        [sys.executable, *command], cwd=folder, capture_output=True, text=True, env=environment, check=False, timeout=120
    )
    return done.returncode, re.sub(r"after [0-9.]+ s", "after a moment", done.stdout), done.stderr


@pytest.mark.parametrize(
    ("native", "guest", "source"),
    [
        (["run"], [], WRONG),
        (["run"], [], UNREADABLE),
        (["test"], ["--test"], UNREADABLE),
        (["test"], ["--test"], TESTS),
    ],
    ids=["running", "reading", "reading tests", "testing"],
)
def test_it_shows_what_the_native_command_shows(tmp_path: Path, native: list[str], guest: list[str], source: str) -> None:
    (tmp_path / "a.lang").write_text(source)
    shown = run(tmp_path, "-c", GUEST, *guest, "a.lang")
    assert shown == run(tmp_path, "-m", "language", *native, "a.lang")
    assert shown[0] == 1 and " |" in shown[1] + shown[2]
