"""What arrives at a TLS port without being an orderly handshake, and certificates that are renewed."""

from __future__ import annotations

import os
import shutil
import socket
import ssl
import struct
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest
from applications import Paths, exchange, read_all, read_reply, running, status, wait_for
from test_tls import GET, Authority

from language.native.server import Settings

HELLO = bytes.fromhex("16030100c8010000c40303") + bytes(32)
JUNK = {
    "HTTP": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "random bytes": os.urandom(1000),
    "a record that is too long": b"\x16\x03\x01\xff\xff" + b"x" * 70_000,
    "an alert": b"\x15\x03\x01\x00\x02\x02\x28",
    "SSL 2": b"\x80\x2e\x01\x00\x02\x00\x15\x00\x00\x00\x10" + bytes(40),
    "data before a handshake": b"\x17\x03\x03\x00\x05hello",
    "a hello of zeros": HELLO + bytes(200),
    "nothing": b"",
}


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.mark.parametrize("junk", JUNK.values(), ids=JUNK.keys())
def test_what_is_no_handshake_ends_its_connection_alone(
    junk: bytes, authority: Authority, capfd: pytest.CaptureFixture[str]
) -> None:
    application = Paths()
    with running(application, Settings(tls=(authority.certificate(None, "a.example"),))) as server:
        for half_close in (False, True):
            assert b"HTTP/1.1" not in exchange(server.listener.port, junk, seconds=0.5, half_close=half_close)
        with authority.connected(server.listener.port, "a.example") as sock:
            sock.sendall(GET % b"/json")
            assert status(read_all(sock)) == 200
        assert wait_for(lambda: server.engine.connections == 0, 60)
    assert "internal error" not in capfd.readouterr().err


def test_handshakes_that_stop_in_the_middle_are_given_up_and_hold_nobody_up(authority: Authority) -> None:
    settings = Settings(tls=(authority.certificate(None, "a.example"),), head_seconds=10)
    with running(Paths(), settings) as server, ExitStack() as stack:
        for number in range(300):
            sock = stack.enter_context(socket.create_connection(("127.0.0.1", server.listener.port)))
            sock.sendall(HELLO[: number % len(HELLO)])
        with authority.connected(server.listener.port, "a.example") as good:
            good.sendall(GET % b"/json")
            assert status(read_all(good)) == 200
        assert server.engine.threads <= 3
        assert wait_for(lambda: server.engine.connections == 0, 100)


def test_clients_that_reset_while_they_are_answered_harm_no_other_connection(authority: Authority, tmp_path: Path) -> None:
    application = Paths()
    application.folder = tmp_path
    (tmp_path / "file").write_bytes(bytes(20_000_000))
    again = b"GET /json HTTP/1.1\r\nHost: x\r\n\r\n"
    with running(application, Settings(tls=(authority.certificate(None, "a.example"),))) as server, ExitStack() as kept:
        good = [kept.enter_context(authority.connected(server.listener.port, "a.example")) for _ in range(4)]
        for _ in range(3):
            for sock in good:
                with authority.connected(server.listener.port, "a.example") as rude:
                    rude.sendall(GET % b"/file")
                    rude.recv(1000)
                    rude.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                sock.sendall(again)
                head, _ = read_reply(sock)
                assert status(head) == 200


def test_a_client_renegotiates_nothing(authority: Authority) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("no openssl")
    with running(Paths(), Settings(tls=(authority.certificate(None, "a.example"),))) as server:
        words = ["openssl", "s_client", "-tls1_2", "-connect", f"127.0.0.1:{server.listener.port}"]
        done = subprocess.run(words, input=b"R\nGET /json HTTP/1.1\n", capture_output=True, timeout=60, check=False)
    assert b"RENEGOTIATING" in done.stdout + done.stderr
    assert b"no renegotiation" in done.stderr and b"HTTP/1.1 200" not in done.stdout


def test_a_certificate_that_was_renewed_is_taken_up(authority: Authority, capfd: pytest.CaptureFixture[str]) -> None:
    certificate = authority.certificate(None, "a.example")
    with running(Paths(), Settings(tls=(certificate,))) as server:

        def serial() -> bytes:
            with authority.connected(server.listener.port, "a.example") as sock:
                found = sock.getpeercert(binary_form=True)
                assert found is not None
                return found

        first = serial()
        key = Path(certificate.key).read_bytes()
        Path(certificate.key).write_bytes(b"half of a")
        assert wait_for(lambda: "tls: cannot use certificate" in capfd.readouterr().err or not serial(), 30)
        assert serial() == first, "the old one goes on while the new one cannot be used"
        Path(certificate.key).write_bytes(key)
        authority.certificate(None, "a.example")
        assert wait_for(lambda: serial() != first, 30)
        second = serial()
        assert serial() == second


def test_a_name_that_nobody_has_and_one_that_is_none(authority: Authority) -> None:
    tls = (authority.certificate("a.example", "a.example"), authority.certificate("b.example", "b.example"))
    with running(Paths(), Settings(tls=tls)) as server:
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        for name in ("nobody.example", "x" * 63 + ".example", "a.b.c.d.e.f.g.h", "A.EXAMPLE", None):
            with (
                socket.create_connection(("127.0.0.1", server.listener.port), timeout=20) as sock,
                context.wrap_socket(sock, server_hostname=name) as wrapped,
            ):
                wrapped.sendall(GET % b"/json")
                assert status(read_all(wrapped)) == 200
