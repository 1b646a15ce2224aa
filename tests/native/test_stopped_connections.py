"""A program is stopped while it waits for a connection: for the name, for the other end, for the handshake of TLS."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

import language

NAME = "slow.example"
#: What the program would wait, and what is far less on a busy machine.
WAITS, SOON = 60, 20.0


@pytest.fixture
def silent() -> Iterator[socket.socket]:
    """Listens, and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


@pytest.fixture
def full() -> Iterator[socket.socket]:
    """Listens, and has no room for another connection: the attempt to connect is not answered."""
    with ExitStack() as kept:
        server = kept.enter_context(socket.socket())
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        for _ in range(4):
            client = kept.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(server.getsockname())
        yield server


def stopped(url: str) -> None:
    """Runs a program that asks there, under a limit of time."""
    place = url.partition("://")[2].strip("/")
    source = f'require net("{place}")\nprint(fetch("{url}", "GET", {{}}, nothing, {WAITS}))'
    begin = time.monotonic()
    answer = language.run(source, host=language.NativeHost({}), limits={"time_ms": 300})
    assert answer["limit"] == "time_ms", answer
    assert time.monotonic() - begin < SOON


def test_while_its_name_is_resolved(monkeypatch: pytest.MonkeyPatch) -> None:
    real, go_on = socket.getaddrinfo, threading.Event()

    def getaddrinfo(host: Any, *rest: Any, **named: Any) -> Any:
        if host == NAME:
            go_on.wait(WAITS)
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return real(host, *rest, **named)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    try:
        stopped(f"http://{NAME}/")
    finally:
        go_on.set()


def test_while_the_other_end_does_not_answer(full: socket.socket) -> None:
    stopped(f"http://127.0.0.1:{full.getsockname()[1]}/")


def test_while_the_handshake_of_tls_is_not_answered(silent: socket.socket) -> None:
    stopped(f"https://127.0.0.1:{silent.getsockname()[1]}/")
