"""WebSockets as RFC 6455 has them, with a client of its own library and with raw frames."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import time

import pytest
from applications import Paths, exchange, read_all, running, serving, status, wait_for

from language.native.server import Settings

pytestmark = pytest.mark.usefixtures("every_selector")

KEY = b"dGhlIHNhbXBsZSBub25jZQ=="
HANDSHAKE = (
    b"GET /socket HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: " + KEY + b"\r\n"
    b"Sec-WebSocket-Version: 13\r\n%b\r\n"
)
TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


def frame(opcode: int, payload: bytes, *, final: bool = True, masked: bool = True) -> bytes:
    head = bytes([opcode | (0x80 if final else 0)])
    bit = 0x80 if masked else 0
    if len(payload) < 126:
        head += bytes([len(payload) | bit])
    elif len(payload) < 65536:
        head += bytes([126 | bit]) + struct.pack("!H", len(payload))
    else:
        head += bytes([127 | bit]) + struct.pack("!Q", len(payload))
    if not masked:
        return head + payload
    mask = os.urandom(4)
    return head + mask + bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload))


class Client:
    """The other end, frame by frame."""

    def __init__(self, port: int, extra: bytes = b"") -> None:
        self.sock = socket.create_connection(("127.0.0.1", port), timeout=5)
        self.sock.sendall(HANDSHAKE % extra)
        self.head = b""
        while b"\r\n\r\n" not in self.head:
            more = self.sock.recv(1)
            if not more:
                raise EOFError(self.head)
            self.head += more

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.sock.close()

    def send(self, opcode: int, payload: bytes, **options: bool) -> None:
        self.sock.sendall(frame(opcode, payload, **options))

    def _exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            more = self.sock.recv(count - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    def receive(self) -> tuple[int, bytes]:
        first, second = self._exactly(2)
        assert not second & 0x80, "a server masks nothing"
        length = second & 0x7F
        if length == 126:
            length = struct.unpack("!H", self._exactly(2))[0]
        elif length == 127:
            length = struct.unpack("!Q", self._exactly(8))[0]
        return first & 0x0F, self._exactly(length)


def test_the_handshake_and_messages(port: int) -> None:
    with Client(port) as client:
        assert client.head.startswith(b"HTTP/1.1 101")
        assert b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in client.head  # of RFC 6455 section 1.3
        client.send(TEXT, "grüß".encode())
        assert client.receive() == (TEXT, "GRÜSS".encode())
        client.send(BINARY, b"ab\xff")
        assert client.receive() == (BINARY, b"AB\xff")
        client.send(TEXT, b"a", final=False)
        client.send(PING, b"between")
        client.send(0, b"b")
        assert client.receive() == (PONG, b"between")
        assert client.receive() == (TEXT, b"AB")
        client.send(TEXT, b"x" * 300_000)
        assert client.receive() == (TEXT, b"X" * 300_000)
        client.send(CLOSE, struct.pack("!H", 1000))
        assert client.receive() == (CLOSE, struct.pack("!H", 1000))
        with pytest.raises(EOFError):
            client.receive()


def test_a_socket_outlives_the_times_that_requests_have() -> None:
    with serving(Paths(), Settings(head_seconds=0.5, body_seconds=0.5, idle_seconds=0.5)) as port, Client(port) as client:
        for _ in range(3):
            time.sleep(1.2)  # the server looks at its deadlines once a second
            client.send(TEXT, b"a")
            assert client.receive() == (TEXT, b"A")


def test_frames_sent_along_with_the_handshake(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=5) as sock:
        sock.sendall(HANDSHAKE % b"" + frame(TEXT, b"early") + frame(TEXT, b"end"))
        assert b"\r\n\r\n\x81\x05EARLY\x88" in read_all(sock)


@pytest.mark.parametrize(("said", "code"), [(b"close", 4001), (b"end", 1000)])
def test_the_program_closes(said: bytes, code: int, port: int) -> None:
    with Client(port) as client:
        client.send(TEXT, said)
        opcode, payload = client.receive()
        assert (opcode, struct.unpack("!H", payload[:2])[0]) == (CLOSE, code)
        client.send(CLOSE, payload)
        with pytest.raises(EOFError):
            client.receive()


BROKEN = {
    "a frame that is not masked": (frame(TEXT, b"a", masked=False), 1002),
    "text that is no UTF-8": (frame(TEXT, b"\xff\xfe"), 1007),
    "an opcode that nobody knows": (frame(3, b"a"), 1002),
    "a fragmented ping": (frame(PING, b"a", final=False), 1002),
    "a long ping": (frame(PING, b"a" * 126), 1002),
    "a continuation of nothing": (frame(0, b"a"), 1002),
}


@pytest.mark.parametrize(("data", "code"), BROKEN.values(), ids=BROKEN.keys())
def test_frames_against_the_protocol(data: bytes, code: int, port: int) -> None:
    with Client(port) as client:
        client.sock.sendall(data)
        opcode, payload = client.receive()
        assert (opcode, struct.unpack("!H", payload[:2])[0]) == (CLOSE, code)
        client.sock.settimeout(5)
        with pytest.raises((EOFError, ConnectionResetError)):
            client.receive()


def test_a_message_that_is_too_big() -> None:
    with serving(Paths(), Settings(most_message=1000)) as port, Client(port) as client:
        client.send(TEXT, b"x" * 1000)
        assert client.receive() == (TEXT, b"X" * 1000)
        client.send(TEXT, b"x" * 600, final=False)
        client.send(0, b"x" * 600)
        opcode, payload = client.receive()
        assert (opcode, struct.unpack("!H", payload[:2])[0]) == (CLOSE, 1009)


def test_a_client_that_answers_no_ping_is_given_up() -> None:
    application = Paths()
    with running(application, Settings(ping=0.5)) as server, Client(server.listener.port) as client:
        assert client.receive()[0] == PING
        client.send(PONG, b"")
        assert client.receive()[0] == PING
        assert wait_for(lambda: server.engine.connections == 0, 10)


def test_a_client_that_asks_and_never_reads_is_given_up() -> None:
    application = Paths()
    with running(application) as server, Client(server.listener.port) as client:
        pings = frame(PING, b"x" * 125) * 1000
        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            for _ in range(1000):
                client.sock.sendall(pings)
        assert wait_for(lambda: server.engine.connections == 0)


def test_subprotocols() -> None:
    with serving(Paths(), Settings(subprotocols=("chat", "other"))) as port:
        with Client(port, b"Sec-WebSocket-Protocol: nope, chat\r\n") as client:
            assert b"sec-websocket-protocol: chat\r\n" in client.head.lower()
        with Client(port, b"Sec-WebSocket-Protocol: nope\r\n") as client:
            assert client.head.startswith(b"HTTP/1.1 101") and b"sec-websocket-protocol" not in client.head.lower()


def test_no_more_sockets_than_allowed() -> None:
    with serving(Paths(), Settings(most_sockets=1)) as port, Client(port) as first:
        first.send(TEXT, b"a")
        assert first.receive() == (TEXT, b"A")
        assert status(exchange(port, HANDSHAKE % b"")) == 503


BAD_HANDSHAKES = [
    (HANDSHAKE % b"").replace(b"Connection: Upgrade\r\n", b""),
    (HANDSHAKE % b"").replace(b"Sec-WebSocket-Key: " + KEY + b"\r\n", b""),
    (HANDSHAKE % b"").replace(b"GET", b"POST"),
    (HANDSHAKE % b"").replace(b"HTTP/1.1", b"HTTP/1.0"),
]


@pytest.mark.parametrize("data", BAD_HANDSHAKES)
def test_handshakes_that_are_none(data: bytes, port: int) -> None:
    assert status(exchange(port, data)) == 400


def test_another_version_is_told_the_right_one(port: int) -> None:
    received = exchange(port, (HANDSHAKE % b"").replace(b"Version: 13", b"Version: 8"))
    assert status(received) == 426
    assert b"Sec-WebSocket-Version: 13\r\n" in received


def test_a_client_that_vanishes_ends_the_handler() -> None:
    application = Paths()
    with running(application) as server:
        with Client(server.listener.port) as client:
            client.send(TEXT, b"a")
            client.receive()
        assert wait_for(lambda: server.engine.connections == 0)
        assert wait_for(lambda: server.engine.busy() == 0)


def test_idle_sockets_cost_no_time() -> None:
    with serving(Paths()) as port:
        clients = [Client(port) for _ in range(100)]
        try:
            before = time.process_time()
            time.sleep(1)
            assert time.process_time() - before < 0.5
            for client in clients:
                client.send(TEXT, b"a")
            for client in clients:
                assert client.receive() == (TEXT, b"A")
        finally:
            for client in clients:
                client.sock.close()


def test_the_client_of_node(port: int) -> None:
    script = (
        "const s = new WebSocket(process.argv[1]); s.onopen = () => s.send('hi');"
        "s.onmessage = (m) => { console.log(m.data); s.close(1000); }; s.onclose = (c) => { console.log(c.code, c.wasClean); };"
    )
    try:
        has = subprocess.run(["node", "-e", "process.exit(typeof WebSocket === 'function' ? 0 : 3)"], check=False).returncode
    except FileNotFoundError:
        has = 3
    if has:
        pytest.skip("no Node.js with a WebSocket client")
    done = subprocess.run(["node", "-e", script, f"ws://127.0.0.1:{port}/socket"], capture_output=True, text=True, timeout=20)
    assert done.stdout == "HI\n1000 true\n"
