"""Clients that take their time, or never go on, hold no thread and not for ever."""

from __future__ import annotations

import resource
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import applications
import pytest
from applications import Paths, exchange, read_all, running, serving, status, wait_for

from language.native.server import Settings

pytestmark = pytest.mark.usefixtures("every_selector")

GET = b"GET /json HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
IMPATIENT = Settings(head_seconds=0.5, body_seconds=0.5, idle_seconds=0.5, write_seconds=0.5)


def begun(port: int, data: bytes) -> socket.socket:
    sock = socket.create_connection(("127.0.0.1", port), timeout=5)
    sock.sendall(data)
    return sock


def test_a_head_that_never_ends() -> None:
    with serving(Paths(), IMPATIENT) as port, begun(port, b"GET / HTTP/1.1\r\nHost: x\r\n") as sock:
        started = time.monotonic()
        for _ in range(20):  # further bytes buy no time
            try:
                sock.sendall(b"A: b\r\n")
            except OSError:
                break
            time.sleep(0.1)
        received = read_all(sock)
        assert status(received) == 408
        assert time.monotonic() - started < 200
    assert b"Connection: close" in received


@pytest.mark.parametrize("data", [b"", b"G"])
def test_a_connection_that_says_nothing(data: bytes) -> None:
    with serving(Paths(), IMPATIENT) as port, begun(port, data) as sock:
        received = read_all(sock)
    assert received == b"" if not data else status(received) == 408


def test_a_body_that_stops() -> None:
    head = b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n"
    with serving(Paths(), IMPATIENT) as port, begun(port, head + b"abc") as sock:
        assert status(read_all(sock)) == 408


def test_a_slow_body_arrives() -> None:
    head = b"POST /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 8\r\n\r\n"
    with serving(Paths(), Settings(body_seconds=1.5)) as port, begun(port, head) as sock:
        for _ in range(8):
            sock.sendall(b"x")
            time.sleep(0.3)
        assert b'"body": "xxxxxxxx"' in read_all(sock)


def test_a_body_that_comes_too_slowly_is_given_up() -> None:
    """A byte now and then does not keep a connection for ever."""
    head = b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n"
    application = Paths()
    with running(application, Settings(body_seconds=0.4)) as server, begun(server.listener.port, head) as sock:
        sent = 0
        try:
            while sent < 400:
                sock.sendall(b"x")
                sent += 1
                time.sleep(0.1)
        except OSError:
            pass
        assert sent < 400, "still read after ten times as long as it may take"
        assert wait_for(lambda: server.engine.connections == 0, 20)
    assert not application.requests


def test_the_beginning_of_a_head_behind_a_request_buys_no_idle_time() -> None:
    settings = Settings(head_seconds=0.5, idle_seconds=600)
    with serving(Paths(), settings) as port, begun(port, GET.replace(b"Connection: close\r\n", b"") + b"GET /b HT") as sock:
        sock.settimeout(60)
        received = read_all(sock)
    assert received.count(b"HTTP/1.1 ") == 2 and b"HTTP/1.1 408" in received


def test_an_idle_connection_is_closed_in_silence() -> None:
    with serving(Paths(), IMPATIENT) as port, begun(port, GET.replace(b"Connection: close\r\n", b"")) as sock:
        received = read_all(sock)
    assert received.count(b"HTTP/1.1") == 1 and received.endswith(b"}")


def test_a_client_that_does_not_read() -> None:
    application = Paths()
    with (
        running(application, IMPATIENT) as server,
        begun(server.listener.port, b"GET /large?50000000 HTTP/1.1\r\nHost: x\r\n\r\n") as sock,
    ):
        assert wait_for(lambda: server.engine.busy() == 1)
        assert wait_for(lambda: server.engine.busy() == 0), "given up"
        assert len(read_all(sock)) < 50_000_000


def test_slow_clients_take_no_threads_and_hold_nobody_up() -> None:
    with running(Paths(), Settings()) as server, ExitStack() as stack:
        port = server.listener.port
        head = b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabc"
        for n in range(300):
            stack.enter_context(begun(port, head if n % 2 else head[:30]))
        assert wait_for(lambda: server.engine.connections == 300)
        assert server.engine.threads <= 3
        started = time.monotonic()
        for _ in range(20):
            assert status(exchange(port, GET)) == 200
        assert time.monotonic() - started < 20


def test_no_more_connections_than_allowed() -> None:
    with running(Paths(), Settings(most_connections=10)) as server, ExitStack() as stack:
        port = server.listener.port
        held = [stack.enter_context(begun(port, b"")) for _ in range(15)]
        assert wait_for(lambda: server.engine.connections == 10)
        with begun(port, GET) as late:
            late.settimeout(0.3)
            with pytest.raises(TimeoutError):
                late.recv(1)
            for sock in held:
                sock.close()
            late.settimeout(5)
            assert status(read_all(late)) == 200, "served once there is room"


MANY = """
import selectors, sys, time
sys.path[:0] = {paths!r}
import applications
from applications import Paths, running
from language.native.server import Settings
applications.selector = {selector}
with running(Paths(), Settings(head_seconds=120, idle_seconds=120)) as server:
    print(server.listener.port, flush=True)
    for line in sys.stdin:
        for _ in range(100):
            if server.engine.connections == {wanted}:
                break
            time.sleep(0.1)
        print(server.engine.connections, server.engine.threads, flush=True)
"""


def test_ten_thousand_idle_connections() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 10_000
    if hard < wanted + 500 and hard != resource.RLIM_INFINITY:
        pytest.skip(f"this system allows {hard} open files at most")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted + 500), hard))
    here = Path(__file__).resolve()
    selector = "None" if applications.selector is None else f"selectors.{applications.selector.__name__}"
    code = MANY.format(paths=[str(here.parent), str(here.parents[3])], wanted=wanted, selector=selector)
    server = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert server.stdin is not None and server.stdout is not None
    held = []
    try:
        port = int(server.stdout.readline())
        for _ in range(wanted):
            sock = socket.socket()
            sock.connect(("127.0.0.1", port))
            held.append(sock)
        for sock in held[::100]:
            sock.sendall(GET.replace(b"Connection: close\r\n", b""))
        for sock in held[::100]:
            sock.settimeout(10)
            assert sock.recv(1000).startswith(b"HTTP/1.1 200")
        server.stdin.write("\n")
        server.stdin.flush()
        connections, threads = map(int, server.stdout.readline().split())
        assert connections == wanted
        assert threads <= 3
    finally:
        for sock in held:
            sock.close()
        server.stdin.close()
        server.wait(10)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_reply_goes_on_when_there_is_room_at_once(tmp_path: Path) -> None:
    """The leader hears of the room while the thread that sent the first part still has the connection in hand. The interest in
    writing must not get lost then: the reply would stop until the deadline of the connection.
    """
    size = 3_000_000
    place = tmp_path / "s"
    with running(Paths(), Settings(), f"unix:{place}"):
        for _ in range(30):
            with socket.socket(socket.AF_UNIX) as sock:
                sock.settimeout(20)
                sock.connect(str(place))
                sock.sendall(f"GET /large?late{size} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
                assert len(read_all(sock)) > size
