"""Handlers that wait or work hold nobody up."""

from __future__ import annotations

import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
from applications import Paths, exchange, read_reply, running, status, wait_for

from language.native.server import Settings

pytestmark = pytest.mark.usefixtures("every_selector")

GET = b"GET %b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


def ask(port: int, path: bytes, seconds: float = 10.0) -> int:
    return status(exchange(port, GET % path, seconds=seconds))


def waiting(port: int, count: int, stack: ExitStack) -> list[socket.socket]:
    sockets = []
    for _ in range(count):
        sock = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=20))
        sock.sendall(GET % b"/gate")
        sockets.append(sock)
    return sockets


def test_two_thousand_blocked_handlers() -> None:
    application = Paths()
    with running(application) as server, ExitStack() as stack:
        port = server.listener.port
        sockets = waiting(port, 2000, stack)
        assert wait_for(lambda: application.in_flight == 2000, 30)
        started = time.monotonic()
        for _ in range(50):
            assert ask(port, b"/json") == 200
        assert time.monotonic() - started < 50
        application.gate.set()
        for sock in sockets:
            assert read_reply(sock)[0].startswith(b"HTTP/1.1 200")
        assert application.in_flight == 0


def test_requests_wait_for_a_thread_when_there_are_no_more_and_reserved_ones_do_not() -> None:
    application = Paths()
    with running(application, Settings(workers=4)) as server, ExitStack() as stack:
        port = server.listener.port
        sockets = waiting(port, 10, stack)
        assert wait_for(lambda: application.in_flight == 4)
        time.sleep(0.1)
        assert application.in_flight == 4
        assert ask(port, b"/approvals") == 200
        application.gate.set()
        for sock in sockets:
            assert read_reply(sock)[0].startswith(b"HTTP/1.1 200")
        assert application.most_running <= 5


def test_a_client_that_leaves_while_it_waits_for_a_thread_is_not_answered() -> None:
    application = Paths()
    with running(application, Settings(workers=1)) as server, ExitStack() as stack:
        port = server.listener.port
        waiting(port, 1, stack)
        assert wait_for(lambda: application.in_flight == 1)
        with socket.create_connection(("127.0.0.1", port)) as sock:
            sock.sendall(GET % b"/never")
            assert wait_for(lambda: server.engine.busy() == 2)
        time.sleep(0.2)
        application.gate.set()
        assert wait_for(lambda: server.engine.busy() == 0)
        assert [r.path for r in application.requests] == ["/gate"]


def test_many_handlers_wait_at_the_same_time(port: int) -> None:
    started = time.monotonic()
    with ThreadPoolExecutor(40) as pool:
        assert list(pool.map(lambda _: ask(port, b"/sleep?0.5"), range(80))) == [200] * 80
    assert time.monotonic() - started < 20


def test_a_handler_that_works_leaves_room_for_others(port: int) -> None:
    worker = threading.Thread(target=ask, args=(port, b"/spin?3"))
    worker.start()
    time.sleep(0.2)
    answered = 0
    until = time.monotonic() + 2
    while time.monotonic() < until:
        assert ask(port, b"/json") == 200
        answered += 1
    worker.join()
    assert answered > 20


def test_threads_that_are_not_needed_any_more_end() -> None:
    application = Paths()
    with running(application) as server:
        with ThreadPoolExecutor(30) as pool:
            list(pool.map(lambda _: ask(server.listener.port, b"/sleep?0.3"), range(30)))
        assert server.engine.threads > 20
        assert wait_for(lambda: server.engine.threads <= 3, 15)
        assert ask(server.listener.port, b"/json") == 200


def test_every_request_is_answered_once_under_a_mixed_load(port: int) -> None:
    paths = [b"/json", b"/sleep?0.01", b"/echo", b"/spin?0.005", b"/large?100000"]

    def client(number: int) -> int:
        good = 0
        with socket.create_connection(("127.0.0.1", port), timeout=20) as sock:
            for turn in range(40):
                sock.sendall(b"GET %b HTTP/1.1\r\nHost: x\r\n\r\n" % paths[(number + turn) % len(paths)])
                good += read_reply(sock)[0].startswith(b"HTTP/1.1 200")
        return good

    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(client, range(32))) == 32 * 40


def test_servers_share_what_they_stand_on() -> None:
    from language.native.server import Server, ServerEngine, bind

    first, second = Paths(), Paths()
    engine = ServerEngine(Settings())
    servers = [Server(bind("127.0.0.1", 0), application, Settings(), engine=engine) for application in (first, second)]
    for server in servers:
        server.start()
    try:
        for server in servers:
            assert ask(server.listener.port, b"/echo") == 200
        assert len(first.requests) == len(second.requests) == 1
    finally:
        servers[0].drain()
        servers[1].stop(0)


def test_a_port_that_is_taken(port: int) -> None:
    import pytest

    from language.native.server import bind, bind_error

    with pytest.raises(OSError) as failure:
        bind("127.0.0.1", port)
    assert bind_error("127.0.0.1", port, failure.value) == (
        f"could not start server on 127.0.0.1:{port}: Address already in use"
    )


def test_ipv6() -> None:
    application = Paths()
    with (
        running(application, address="::1") as server,
        socket.create_connection(("::1", server.listener.port), timeout=5) as sock,
    ):
        sock.sendall(GET % b"/a")
        read_reply(sock)
    assert application.requests[0].address == "::1"
