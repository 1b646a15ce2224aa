"""Frames of a WebSocket that RFC 6455 forbids, and such as are there to use up the server."""

from __future__ import annotations

import os
import socket
import struct
import threading
from contextlib import suppress

import pytest
from applications import Paths, read_all, running, serving, wait_for
from test_websockets import BINARY, CLOSE, HANDSHAKE, KEY, PING, PONG, TEXT, Client, frame

from language.native.server import ServerEngine, Settings
from language.native.server.connection import Connection
from language.native.server.websockets import WebSocketChannel

FIN = 0x80


def raw(first: int, length: bytes, payload: bytes = b"", *, mask: bytes = b"\0\0\0\0") -> bytes:
    """A frame with this first byte and length as they are given; the mask bit is set."""
    return bytes([first, length[0] | 0x80]) + length[1:] + mask + payload


def closed_with(code: int) -> bytes:
    return struct.pack("!H", code)


#: What is sent → the code that the server closes with.
REFUSED = {
    "a reserved bit": (raw(FIN | 0x40 | TEXT, b"\x01", b"a"), 1002),
    "the second reserved bit": (raw(FIN | 0x20 | TEXT, b"\x01", b"a"), 1002),
    "the third reserved bit": (raw(FIN | 0x10 | TEXT, b"\x01", b"a"), 1002),
    "a reserved bit on a ping": (raw(FIN | 0x40 | PING, b"\x00"), 1002),
    **{f"the opcode {opcode}": (raw(FIN | opcode, b"\x00"), 1002) for opcode in (3, 7, 11, 15)},
    "a fragmented close": (raw(CLOSE, b"\x00"), 1002),
    "a fragmented pong": (raw(PONG, b"\x00"), 1002),
    "a close of 126 bytes": (frame(CLOSE, closed_with(1000) + b"x" * 124), 1002),
    "a length of 7 bits in 16": (raw(FIN | TEXT, b"\x7e\x00\x05", b"hello"), 1002),
    "a length of 16 bits in 64": (raw(FIN | TEXT, b"\x7f" + struct.pack("!Q", 5), b"hello"), 1002),
    "a length of 64 bits": (raw(FIN | BINARY, b"\x7f" + struct.pack("!Q", 1 << 63)), 1002),
    "a new message inside of another one": (frame(TEXT, b"a", final=False) + frame(TEXT, b"b"), 1002),
    "a continuation behind the end of a message": (frame(BINARY, b"a") + frame(0, b"b"), 1002),
    "a frame without a mask behind one with": (frame(BINARY, b"a", final=False) + frame(0, b"b", masked=False), 1002),
    "half a character at the end": (frame(TEXT, "ü".encode()[:1]), 1007),
    "half a character at the end of the last fragment": (frame(TEXT, b"a", final=False) + frame(0, "ü".encode()[:1]), 1007),
    "half a character between two messages": (frame(TEXT, "€".encode()[:2], final=False) + frame(0, b"a"), 1007),
    "a surrogate": (frame(TEXT, b"\xed\xa0\x80"), 1007),
    "an overlong character": (frame(TEXT, b"\xc0\xaf"), 1007),
    "a character beyond Unicode": (frame(TEXT, b"\xf4\x90\x80\x80"), 1007),
    "a close of one byte": (frame(CLOSE, b"\x03"), 1002),
    "a close with a reason that is no UTF-8": (frame(CLOSE, closed_with(1000) + b"\xff"), 1007),
    **{
        f"a close with {code}": (frame(CLOSE, closed_with(code)), 1002)
        for code in (0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000)
    },
}


def messages_then_close(client: Client) -> bytes:
    """The payload of the closing frame, behind whatever was answered before."""
    while True:
        opcode, payload = client.receive()
        if opcode == CLOSE:
            return payload


@pytest.mark.parametrize("step", [1, 1000])
@pytest.mark.parametrize(("data", "code"), REFUSED.values(), ids=REFUSED.keys())
def test_what_the_protocol_forbids_closes_with_its_code(data: bytes, code: int, step: int) -> None:
    application = Paths()
    with running(application) as server, Client(server.listener.port) as client:
        client.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # A server that has heard enough may have closed before the rest is sent.
        with suppress(BrokenPipeError, ConnectionResetError):
            for at in range(0, len(data), step):
                client.sock.sendall(data[at : at + step])
        closed = messages_then_close(client)
        assert closed[:2] == closed_with(code)
        # no text of the library that reads the frames
        assert closed[2:].decode() in ("", "message too big", "the frames break the protocol", "a text that is not UTF-8")
        with pytest.raises((EOFError, ConnectionResetError)):
            client.receive()
        assert wait_for(lambda: server.engine.connections == 0 and server.engine.busy() == 0)


def test_what_comes_as_a_conversation_ends_is_no_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes that were received while the thread that talks let go of its channel were read as a request, and answered."""
    received, looked = threading.Event(), threading.Event()
    receive, wait_for_close, release = Connection.receive, WebSocketChannel.wait_for_close, ServerEngine._release

    def received_late(connection: Connection) -> bytes:
        data = receive(connection)
        if b"GET /json" in data:
            received.set()
            assert wait_for(lambda: connection.channel is None)
        return data

    def closed_late(channel: WebSocketChannel) -> None:
        received.wait(5)
        wait_for_close(channel)

    def released_late(engine: ServerEngine, connection: Connection) -> None:
        if connection.leaving:
            looked.wait(5)
        release(engine, connection)

    with running(Paths()) as server:
        monkeypatch.setattr(Connection, "receive", received_late)
        monkeypatch.setattr(WebSocketChannel, "wait_for_close", closed_late)
        monkeypatch.setattr(ServerEngine, "_release", released_late)
        with Client(server.listener.port) as client:
            client.send(CLOSE, closed_with(1000))
            assert client.receive() == (CLOSE, closed_with(1000))
            client.sock.sendall(b"GET /json HTTP/1.1\r\nHost: x\r\n\r\n")
            client.sock.settimeout(1)
            with pytest.raises((EOFError, ConnectionResetError, TimeoutError)):
                client.receive()
            looked.set()


@pytest.mark.parametrize("code", [1000, 1001, 1003, 1007, 1011, 3000, 4999])
def test_a_close_is_answered_with_its_code(code: int, port: int) -> None:
    with Client(port) as client:
        client.send(CLOSE, closed_with(code) + b"bye")
        assert client.receive() == (CLOSE, closed_with(code) + b"bye")


def test_a_close_without_a_code(port: int) -> None:
    with Client(port) as client:
        client.send(CLOSE, b"")
        opcode, payload = client.receive()
        assert opcode == CLOSE and payload in (b"", closed_with(1000))


def test_what_comes_behind_a_close_is_not_heard(port: int) -> None:
    with Client(port) as client:
        client.sock.sendall(frame(CLOSE, closed_with(1000)) + frame(TEXT, b"a") + frame(PING, b"b") + frame(3, b"c"))
        assert client.receive() == (CLOSE, closed_with(1000))
        with pytest.raises((EOFError, ConnectionResetError)):
            client.receive()


def test_a_character_in_several_fragments(port: int) -> None:
    with Client(port) as client:
        pieces = [bytes([byte]) for byte in "€ü𝄞".encode()]
        for number, piece in enumerate(pieces):
            client.send(TEXT if number == 0 else 0, piece, final=number == len(pieces) - 1)
            if number < len(pieces) - 1:
                client.send(PING, piece)
                assert client.receive() == (PONG, piece)
        assert client.receive() == (TEXT, "€Ü𝄞".encode())


def test_compression_is_not_taken_up(port: int) -> None:
    """A few bytes that are a gigabyte cannot be sent where nothing is inflated."""
    with Client(port, b"Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n") as client:
        assert client.head.startswith(b"HTTP/1.1 101") and b"sec-websocket-extensions" not in client.head.lower()
        client.sock.sendall(raw(FIN | 0x40 | TEXT, b"\x02", b"\x4b\x04"))
        assert client.receive()[1][:2] == closed_with(1002)


@pytest.mark.parametrize("announced", [1001, 1 << 40])
def test_a_frame_beyond_the_limit_is_refused_while_it_comes(announced: int) -> None:
    """Nobody waits for a terabyte to arrive."""
    with serving(Paths(), Settings(most_message=1000)) as port, Client(port) as client:
        length = b"\x7e" + struct.pack("!H", announced) if announced < 65536 else b"\x7f" + struct.pack("!Q", announced)
        client.sock.sendall(raw(FIN | BINARY, length, b"x" * 1001))
        assert client.receive()[1][:2] == closed_with(1009)


def test_the_limit_counts_bytes() -> None:
    with serving(Paths(), Settings(most_message=1000)) as port:
        with Client(port) as client:
            client.send(TEXT, "€".encode() * 333)
            assert client.receive() == (TEXT, "€".encode() * 333)
            client.send(TEXT, "€".encode() * 334)
            assert client.receive()[1][:2] == closed_with(1009)
        with Client(port) as client:
            client.send(TEXT, "€".encode() * 200, final=False)
            client.send(0, "€".encode() * 200)
            assert client.receive()[1][:2] == closed_with(1009)


@pytest.mark.parametrize("payload", [b"", b"a"])
def test_a_message_in_very_many_fragments(payload: bytes) -> None:
    """What is kept of a message is its bytes, however many frames it came in."""
    count = 100_000
    application = Paths()
    with running(application) as server, Client(server.listener.port) as client:
        client.sock.settimeout(60)
        client.send(BINARY, b"", final=False)
        many = frame(0, payload, final=False) * 1000
        for _ in range(count // 1000):
            client.sock.sendall(many)
        client.send(PING, b"")
        assert client.receive() == (PONG, b"")
        (channel,) = server.engine.channels
        assert channel.kept_bytes() == len(payload) * count  # type: ignore[attr-defined]
        client.send(0, b"")
        opcode, answer = client.receive()
        assert (opcode, answer) == (BINARY, payload.upper() * count)


def test_a_flood_of_pings_holds_nobody_up() -> None:
    """Frames are read in small portions: another client waits for a few of them, not for all that have come."""
    with serving(Paths()) as port, Client(port) as flood, Client(port) as other:
        pings = frame(PING, b"") * 20_000
        flood.sock.setblocking(False)
        other.sock.settimeout(60)
        sent = received = 0
        for _ in range(200):
            try:
                sent += flood.sock.send(pings[sent % 6 :])
                received += len(flood.sock.recv(1 << 20))
            except BlockingIOError:
                pass
            other.send(TEXT, b"a")
            assert other.receive() == (TEXT, b"A")
        assert received > 0


def test_messages_that_nobody_receives_make_the_client_wait() -> None:
    application = Paths()

    def idle(channel: object) -> None:
        application.gate.wait(30)

    application._talk = idle  # type: ignore[method-assign,assignment]
    with running(application, Settings(most_message=100_000)) as server, Client(server.listener.port) as client:
        client.sock.settimeout(1)
        message = frame(BINARY, os.urandom(10_000))
        sent = 0
        with pytest.raises(TimeoutError):
            while sent < 100_000_000:
                client.sock.sendall(message)
                sent += len(message)
        (channel,) = server.engine.channels
        assert channel.kept_bytes() < 300_000  # type: ignore[attr-defined]
        application.gate.set()


def test_a_client_that_never_ends_its_frame_is_pinged_and_given_up() -> None:
    application = Paths()
    with running(application, Settings(ping=0.3)) as server, Client(server.listener.port) as client:
        client.sock.sendall(raw(FIN | TEXT, b"\x05", b"hel"))
        assert client.receive()[0] == PING
        assert wait_for(lambda: server.engine.connections == 0, 20)


def test_a_handshake_that_is_none_leaves_nothing_behind() -> None:
    application = Paths()
    with running(application) as server:
        for key in (b"short", b"dGhlIHNhbXBsZSBub25jZ===", b"dGhlIHNhbXBsZSBub25jZQ", b"dGhl*HNhbXBsZSBub25jZQ==", b"a" * 1000):
            with socket.create_connection(("127.0.0.1", server.listener.port), timeout=5) as sock:
                sock.sendall((HANDSHAKE % b"").replace(KEY, key))
                assert read_all(sock).startswith(b"HTTP/1.1 400")
        assert wait_for(lambda: server.engine.connections == 0)
        assert not server.engine.channels and not server.engine.watchers


def test_a_storm_of_clients_that_vanish() -> None:
    application = Paths()
    with running(application) as server:
        for number in range(200):
            sock = socket.create_connection(("127.0.0.1", server.listener.port), timeout=5)
            sock.sendall(HANDSHAKE % b"" + frame(TEXT, b"a" * number, final=False))
            if number % 2:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            sock.close()
        # A handler lets go of its channel after the connection is gone.
        assert wait_for(lambda: not (server.engine.connections or server.engine.busy() or server.engine.channels), 30)
