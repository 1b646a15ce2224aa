"""The servers that tests start end with the tests."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = """
import os, sys
from pathlib import Path
from tests import servers
number = Path(sys.argv[1])
for _ in servers.started(["sh", "-c", f"echo $$ > {number}; exec sleep 3600"], number.with_suffix(".log"), number.exists):
    os._exit(3)
"""


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="setpriv (util-linux) is not installed")
def test_a_server_ends_with_tests_that_have_no_chance_to_end_it(tmp_path: Path) -> None:
    """As a limit of time for one test does it."""
    number = tmp_path / "number"
    done = subprocess.run([sys.executable, "-c", SCRIPT, str(number)], cwd=ROOT, timeout=60, check=False)
    assert done.returncode == 3
    process = Path("/proc") / number.read_text(encoding="ascii").strip()
    end = time.monotonic() + 60
    while process.exists():
        assert time.monotonic() < end, "it goes on"
        time.sleep(0.02)
