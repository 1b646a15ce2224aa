"""Streams of events: each piece at once, kept alive, ended with their client or by it."""

from __future__ import annotations

import socket
import threading
import time

import pytest
from applications import Paths, exchange, read_all, running, serving, status, wait_for

from language.native.server import Settings
from language.serve.reply import ClientGone

pytestmark = pytest.mark.usefixtures("every_selector")

STREAM = b"GET /stream HTTP/1.1\r\nHost: x\r\n\r\n"
EVENTS = b"data: 0\n\ndata: 1\n\ndata: 2\n\n"


def read_until(sock: socket.socket, end: bytes) -> bytes:
    received = b""
    while not received.endswith(end):
        more = sock.recv(65536)
        assert more, received
        received += more
    return received


def test_a_stream_ends_with_its_connection(application: Paths, port: int) -> None:
    threading.Timer(0.2, application.gate.set).start()
    head, _, body = exchange(port, STREAM + STREAM).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert head.split(b"\r\n")[2:] == [b"Content-Type: text/event-stream", b"Cache-Control: no-cache", b"Connection: close"]
    assert body == EVENTS


def test_what_is_sent_arrives_at_once(application: Paths, port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=5) as sock:
        sock.sendall(STREAM)
        assert read_until(sock, EVENTS)
        assert not application.stream_ended.is_set()
        assert status(exchange(port, b"GET /json HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")) == 200


def test_comments_while_nothing_is_sent() -> None:
    application = Paths()
    with (
        serving(application, Settings(keepalive=0.5)) as port,
        socket.create_connection(("127.0.0.1", port), timeout=5) as sock,
    ):
        sock.sendall(STREAM)
        read_until(sock, EVENTS)
        started = time.monotonic()
        assert read_until(sock, b": keepalive\n\n: keepalive\n\n") == b": keepalive\n\n: keepalive\n\n"
        assert time.monotonic() - started > 0.5
        application.gate.set()
        assert not read_all(sock).replace(b": keepalive\n\n", b"")


def test_no_comments_when_they_are_off() -> None:
    application = Paths()
    with serving(application, Settings(keepalive=0)) as port:
        threading.Timer(1.5, application.gate.set).start()
        assert exchange(port, STREAM).partition(b"\r\n\r\n")[2] == EVENTS


def test_a_client_that_leaves_ends_the_producer_at_its_next_send(application: Paths, port: int) -> None:
    application._stream = application.stream_forever  # type: ignore[method-assign]
    ended: list[BaseException] = []

    def produce(sink: object) -> None:
        try:
            Paths.stream_forever(application, sink)  # type: ignore[arg-type]
        except BaseException as error:
            ended.append(error)
            raise

    application._stream = produce  # type: ignore[method-assign]
    with socket.create_connection(("127.0.0.1", port), timeout=5) as sock:
        sock.sendall(STREAM)
        sock.recv(1000)
    assert wait_for(lambda: bool(ended))
    assert isinstance(ended[0], ClientGone)


def test_a_client_that_does_not_read_a_stream_is_given_up() -> None:
    application = Paths()
    ended = threading.Event()

    def produce(sink: object) -> None:
        try:
            while True:
                sink.send(b"x" * 100_000)  # type: ignore[attr-defined]
        finally:
            ended.set()

    application._stream = produce  # type: ignore[method-assign, assignment]
    with (
        running(application, Settings(write_seconds=0.5)) as server,
        socket.create_connection(("127.0.0.1", server.listener.port), timeout=5) as sock,
    ):
        sock.sendall(STREAM)
        assert ended.wait(10)
        assert wait_for(lambda: server.engine.connections == 0)


def test_many_streams_at_once(application: Paths, port: int) -> None:
    sockets = [socket.create_connection(("127.0.0.1", port), timeout=10) for _ in range(200)]
    try:
        for sock in sockets:
            sock.sendall(STREAM)
        for sock in sockets:
            read_until(sock, EVENTS)
        application.gate.set()
        for sock in sockets:
            assert read_all(sock) == b""
    finally:
        for sock in sockets:
            sock.close()


@pytest.mark.parametrize("version", [b"1.0", b"1.1"])
def test_a_defect_of_a_producer_closes_the_connection(
    version: bytes, application: Paths, port: int, capfd: pytest.CaptureFixture[str]
) -> None:
    def produce(sink: object) -> None:
        raise RuntimeError("a defect")

    application._stream = produce  # type: ignore[method-assign, assignment]
    received = exchange(port, STREAM.replace(b"1.1", version))
    assert received.startswith(b"HTTP/1.1 200") and received.endswith(b"\r\n\r\n")
    assert "a defect" in capfd.readouterr().err
