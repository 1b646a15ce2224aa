"""The processes that the service has work done in end, also when the service is gone that would have ended them."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

STARTING = "import {0} as work\nwork.SECONDS = 1\nprint('begun', flush=True)\nwork.main()"


@pytest.mark.parametrize("module", ["platform_api.repositories.fetching", "platform_api.notices.post"])
def test_a_process_ends_that_nobody_ends(module: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STARTING.format(module)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        try:
            assert child.stdout is not None and child.stdout.readline() == b"begun\n"
            assert child.wait(60) == -signal.SIGALRM
        finally:
            child.kill()
