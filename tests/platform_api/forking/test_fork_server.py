"""A fork server: it forks for each request, ends when nobody asks, and is started again when it is gone."""

from __future__ import annotations

import ast
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from platform_api.forking.client import ForkServer
from platform_api.forking.server import STATUS, read_all
from platform_api.packages.analysis import PATIENCE, Request

SERVES = """
import os, signal, socket, sys, time
from platform_api.forking.server import serve
def work(request):
    if request == b"raise":
        raise ValueError("no such thing")
    if request == b"die":
        os.kill(os.getpid(), signal.SIGKILL)
    if request == b"sleep":
        time.sleep(600)
    return repr(sorted(int(each) for each in os.listdir("/proc/self/fd"))).encode()
serve(socket.socket(fileno=int(sys.argv[1])), work, idle=float(sys.argv[2]), patience=int(sys.argv[3]))
"""


@pytest.fixture
def process() -> Iterator[ForkServer]:
    made = ForkServer("platform_api.packages.analysis", PATIENCE)
    yield made
    made.close()


def ceiling(process: ForkServer, host: str) -> str:
    source = f'require net("{host}")\n'.encode()
    code, answer = process.ask(msgspec.msgpack.encode(Request({"main.lang": source}, None, None, None)))
    assert code == 0, answer
    return str(msgspec.json.decode(answer)["inspection"]["ceiling"])


def test_one_process_answers_many_at_once_and_is_started_again(process: ForkServer) -> None:
    hosts = [f"h{number}.example" for number in range(12)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda host: ceiling(process, host), hosts)) == [f"net={host},stdout,time" for host in hosts]
    first = process.pid
    assert first is not None and len(list(Path(f"/proc/{first}/task").iterdir())) == 1  # a fork takes one thread along
    ceiling(process, "a.example")
    assert process.pid == first
    os.kill(first, signal.SIGKILL)
    assert ceiling(process, "b.example") == "net=b.example,stdout,time"
    assert process.pid != first


def forking(idle: float, patience: int = 60) -> tuple[subprocess.Popen[bytes], socket.socket]:
    mine, theirs = socket.socketpair()
    with theirs:
        words = [sys.executable, "-c", SERVES, str(theirs.fileno()), str(idle), str(patience)]
        return subprocess.Popen(words, pass_fds=[theirs.fileno()]), mine


def connected(control: socket.socket) -> socket.socket:
    mine, theirs = socket.socketpair()
    with theirs:
        socket.send_fds(control, [b"\1"], [theirs.fileno()])
    mine.settimeout(60)
    return mine


def asked(connection: socket.socket, request: bytes) -> tuple[int, bytes]:
    with connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        answer = read_all(connection)
    return os.waitstatus_to_exitcode(STATUS.unpack(answer[-4:])[0]), answer[:-4]


def test_a_child_holds_no_connection_of_another_one() -> None:
    process, control = forking(60)
    with control:
        waiting = connected(control)  # its child is there and waits for its request
        code, answer = asked(connected(control), b"x")
        assert code == 0
        # Its streams, its connection, and the folder that is being listed.
        assert len([each for each in ast.literal_eval(answer.decode()) if each > 2]) == 2
        assert asked(waiting, b"x")[0] == 0
        code, answer = asked(connected(control), b"raise")
        assert code == 1 and answer.endswith(b"ValueError: no such thing\n")
        assert asked(connected(control), b"die") == (-signal.SIGKILL, b"")
    assert process.wait(60) == 0  # nobody is left who could ask


def test_a_child_that_takes_too_long_is_ended() -> None:
    process, control = forking(60, patience=1)
    with control:
        assert asked(connected(control), b"sleep") == (-signal.SIGALRM, b"")
        assert asked(connected(control), b"x")[0] == 0
    assert process.wait(60) == 0


def test_a_process_that_nobody_asks_ends() -> None:
    process, control = forking(0.01)
    with control:
        assert process.wait(60) == 0
