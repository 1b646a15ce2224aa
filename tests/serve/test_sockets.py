"""The WebSocket builtins of a program under ``lang serve``, with a client of its own library."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, BytesMessage, CloseConnection, Event, Ping, Request, TextMessage

from tests.waiting_gates import wait_for

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = """
require serve(PORT)
require secret("K")
serve on PORT
    route "GET /echo"
        socket
            while ws_status(socket) == "open"
                let got be ws_recv(socket, 0.2)
                match got
                    is nothing
                        ws_send(socket, "nobody says anything")
                    otherwise
                        when got.type == "close"
                            state_set("left", got)
                            stop
                        ws_send(socket, got.data)
    route "GET /kinds"
        socket
            print(ws_send(socket, "text"), ws_send(socket, bytes([0, 255])), ws_send(socket, {"a": [1, nothing]}))
            print(ws_broadcast([socket, socket], "to all"), ws_broadcast([], "to nobody"))
            ws_recv(socket, 5)
    route "GET /close"
        socket
            print(ws_close(socket, 3001, "enough"), ws_status(socket), ws_close(socket))
    route "GET /wrong"
        socket
            each call in [
                () => ws_send(socket, secret("K")), () => ws_broadcast([socket], secret("K")), () => ws_broadcast(socket, "x"),
                () => ws_send(1, "x"), () => ws_recv(socket, 0 - 1), () => ws_recv(socket, "x"), () => ws_close(socket, 1005),
                () => ws_close(socket, 4000, join(apply(range(124), (i) => "x"), "")), () => ws_status("x")
            ]
                try
                    call()
                recover e
                    ws_send(socket, e)
    route "GET /left"
        give state_get("left")
    route "GET /again"
        give ws_send("x", "y")
"""


class Client:
    """One WebSocket from the client's side."""

    def __init__(self, port: int, path: str) -> None:
        self.sock = socket.create_connection(("127.0.0.1", port), 10)
        self._state = WSConnection(ConnectionType.CLIENT)
        self._events: list[Event] = []
        self.send(Request(host="localhost", target=path))
        assert isinstance(self.receive(), AcceptConnection)

    def send(self, event: Event) -> None:
        self.sock.sendall(self._state.send(event))

    def receive(self) -> Event:
        while not self._events:
            data = self.sock.recv(65536)
            self._state.receive_data(data or None)
            for event in self._state.events():
                if isinstance(event, Ping):
                    self.send(event.response())
                else:
                    self._events.append(event)
        return self._events.pop(0)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.sock.close()


class Running:
    def __init__(self, folder: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            self.port = int(taken.getsockname()[1])
        (folder / "app.lang").write_text(PROGRAM.replace("PORT", str(self.port)), encoding="utf-8")
        self.output = folder / "output.txt"
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "language", "serve", "--bind", "127.0.0.1", "app.lang"],
                cwd=folder,
                env={
                    "HOME": str(folder),
                    "PATH": os.environ["PATH"],
                    "PYTHONPATH": str(ROOT),
                    "K": "hunter2",
                    "PLATFORM_ERROR_DETAIL": "on",
                },
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        wait_for(lambda: "Serving HTTP" in self.output.read_text(), 30)

    def get(self, path: str) -> tuple[int, str]:
        with socket.create_connection(("127.0.0.1", self.port), 10) as sock:
            sock.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
            received = b""
            while data := sock.recv(65536):
                received += data
        head, _, body = received.decode().partition("\r\n\r\n")
        return int(head.split()[1]), body


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    running = Running(tmp_path_factory.mktemp("sockets"))
    yield running
    running.process.send_signal(signal.SIGTERM)
    assert running.process.wait(20) == 0
    output = running.output.read_text()
    assert "Traceback" not in output and "hunter2" not in output


def test_what_is_said_comes_back_and_leaving_is_seen(running: Running) -> None:
    with Client(running.port, "/echo") as client:
        client.send(TextMessage("ñ"))
        assert client.receive() == TextMessage("ñ")
        client.send(BytesMessage(b"\0\xff"))
        assert client.receive() == BytesMessage(b"\0\xff")
        assert client.receive() == TextMessage("nobody says anything")
        client.send(CloseConnection(1000))
        while not isinstance(client.receive(), CloseConnection):
            pass
    wait_for(lambda: running.get("/left")[1] != "null")
    assert json.loads(running.get("/left")[1]) == {"type": "close", "data": None}


def test_each_kind_of_value_and_several_sockets(running: Running) -> None:
    with Client(running.port, "/kinds") as client:
        assert client.receive() == TextMessage("text")
        assert client.receive() == BytesMessage(b"\0\xff")
        assert json.loads(client.receive().data) == {"a": [1, None]}
        assert [client.receive(), client.receive()] == [TextMessage("to all")] * 2
        client.send(TextMessage("done"))
        assert client.receive() == CloseConnection(1000, "")
    wait_for(lambda: "true true true\n" in running.output.read_text() and "2 0\n" in running.output.read_text())


def test_closing_with_a_code_of_ones_own(running: Running) -> None:
    with Client(running.port, "/close") as client:
        assert client.receive() == CloseConnection(3001, "enough")
    wait_for(lambda: "true closed true\n" in running.output.read_text())


def test_what_cannot_be_sent_is_an_error_that_says_why(running: Running) -> None:
    with Client(running.port, "/wrong") as client:
        said = []
        while isinstance(event := client.receive(), TextMessage):
            said.append(event.data)
    assert said == [
        "ws_send: a secret is not sent: reveal it by name first",
        "ws_broadcast: a secret is not sent: reveal it by name first",
        "ws_broadcast: the first argument is a list of sockets, got socket",
        "ws_send: expected the socket of a socket route, got number",
        "ws_recv: seconds must be a number of at least 0, got -1",
        "ws_recv: seconds must be a number of at least 0, got x",
        "ws_close: the code must be 1000 or from 3000 to 4999, got 1005",
        "ws_close: the reason must have at most 123 bytes",
        "ws_status: expected the socket of a socket route, got text",
    ]
    assert event == CloseConnection(1000, "")


def test_a_route_without_a_socket_has_none(running: Running) -> None:
    status, body = running.get("/again")
    assert status == 500 and "ws_send: expected the socket of a socket route, got text" in body


def test_a_request_that_is_no_handshake(running: Running) -> None:
    assert running.get("/echo")[0] in (400, 426)
