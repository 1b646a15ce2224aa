"""The processes that the service has work done in end, also when the service is gone that would have ended them."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys

import pytest

STARTING = "import {0} as work\nwork.SECONDS = 1\nprint('begun', flush=True)\nwork.main()"


def test_a_process_ends_that_nobody_ends() -> None:
    module = "platform_api.repositories.fetching"
    with subprocess.Popen(
        [sys.executable, "-c", STARTING.format(module)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        try:
            assert child.stdout is not None and child.stdout.readline() == b"begun\n"
            assert child.wait(60) == -signal.SIGALRM
        finally:
            child.kill()


@pytest.mark.parametrize("module", ["platform_api.notices.post", "platform_api.packages.analysis"])
def test_a_fork_server_ends_with_the_service_that_asks_it(module: str) -> None:
    """Its children end by the time that each of them has."""
    mine, theirs = socket.socketpair()
    with theirs:
        command = [sys.executable, "-I", "-m", module, str(theirs.fileno())]
        child = subprocess.Popen(command, pass_fds=[theirs.fileno()])
    try:
        mine.close()
        assert child.wait(120) == 0
    finally:
        child.kill()
        child.wait()
