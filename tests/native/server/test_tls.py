"""HTTPS: certificates by name, handshakes that hold nobody up, the same replies."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import trustme
from applications import Paths, decoded, exchange, read_all, read_reply, running, status, wait_for
from test_websockets import HANDSHAKE, TEXT, frame

from language.native.server import Certificate, Server, Settings, bind

pytestmark = pytest.mark.usefixtures("every_selector")

GET = b"GET %b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


class Authority:
    """Certificates for names, and clients that believe in them."""

    def __init__(self, folder: Path) -> None:
        self._ca = trustme.CA()
        self._folder = folder

    def certificate(self, host: str | None, name: str) -> Certificate:
        issued = self._ca.issue_cert(name)
        chain, key = self._folder / f"{name}.pem", self._folder / f"{name}.key"
        issued.cert_chain_pems[0].write_to_path(chain)
        issued.private_key_pem.write_to_path(key)
        return Certificate(host, str(chain), str(key))

    @contextmanager
    def connected(self, port: int, name: str) -> Iterator[ssl.SSLSocket]:
        context = ssl.create_default_context()
        self._ca.configure_trust(context)
        with (
            socket.create_connection(("127.0.0.1", port), timeout=5) as sock,
            context.wrap_socket(sock, server_hostname=name) as wrapped,
        ):
            yield wrapped


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


def test_requests_over_tls(authority: Authority, tmp_path: Path) -> None:
    application = Paths()
    application.folder = tmp_path
    content = bytes(range(256)) * 10_000
    (tmp_path / "file").write_bytes(content)
    with running(application, Settings(tls=(authority.certificate(None, "a.example"),))) as server:
        port = server.listener.port
        with authority.connected(port, "a.example") as sock:
            assert sock.version() in ("TLSv1.2", "TLSv1.3")
            for path in (b"/a", b"/large?3000000", b"/file"):
                sock.sendall((GET % path).replace(b"Connection: close\r\n", b""))
                head, body = read_reply(sock)
                assert head.startswith(b"HTTP/1.1 200")
            assert body == content
            sock.sendall(
                b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 2000000\r\nConnection: close\r\n\r\n" + b"x" * 2_000_000
            )
            seen = decoded(read_all(sock))
            assert (seen["body"], seen["secure"]) == (2_000_000, True)
        with authority.connected(port, "a.example") as sock:
            threading.Timer(0.2, application.gate.set).start()
            sock.sendall(GET % b"/stream")
            assert read_all(sock).endswith(b"data: 2\n\n")


def test_a_websocket_over_tls_reads_and_writes_at_the_same_time(authority: Authority) -> None:
    class Chatty(Paths):
        def _talk(self, channel: Any) -> None:
            for number in range(3000):
                channel.send(f"{number} " + "x" * 500)
            heard = 0
            while heard < 200 and channel.receive(20) is not None:
                heard += 1
            channel.send(f"heard {heard}")

    settings = Settings(tls=(authority.certificate(None, "a.example"),))
    with running(Chatty(), settings) as server, authority.connected(server.listener.port, "a.example") as sock:
        sock.sendall(HANDSHAKE % b"")

        received = b""
        for _ in range(200):
            sock.sendall(frame(TEXT, b"y" * 100))
            received += sock.recv(16384)
        while b"heard 200" not in received[-100:]:
            more = sock.recv(65536)
            assert more, received[-200:]
            received += more
    assert received.count(b"x" * 500) == 3000


def test_each_name_has_its_certificate(authority: Authority) -> None:
    tls = (
        authority.certificate("a.example", "a.example"),
        authority.certificate("*.b.example", "x.b.example"),
        authority.certificate(None, "other.example"),
    )
    with running(Paths(), Settings(tls=tls)) as server:
        for name in ("a.example", "x.b.example", "other.example"):
            with authority.connected(server.listener.port, name) as sock:
                sock.sendall(GET % b"/json")
                assert status(read_all(sock)) == 200
        with pytest.raises(ssl.SSLCertVerificationError), authority.connected(server.listener.port, "c.example"):
            pass


def test_a_handshake_that_never_comes_holds_nobody_up(authority: Authority) -> None:
    settings = Settings(tls=(authority.certificate(None, "a.example"),), head_seconds=8)
    with running(Paths(), settings) as server:
        port = server.listener.port
        silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(20)]
        started = time.monotonic()
        with authority.connected(port, "a.example") as sock:
            sock.sendall(GET % b"/json")
            assert status(read_all(sock)) == 200
        assert time.monotonic() - started < 8
        assert wait_for(lambda: server.engine.connections == 0, 60), "given up"
        for sock_ in silent:
            sock_.close()


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion:DeprecationWarning")
def test_old_versions_and_plain_text_are_refused(authority: Authority) -> None:
    with running(Paths(), Settings(tls=(authority.certificate(None, "a.example"),))) as server:
        assert b"HTTP/1.1" not in exchange(server.listener.port, GET % b"/json")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = ssl.TLSVersion.TLSv1_1
        with socket.create_connection(("127.0.0.1", server.listener.port)) as sock, pytest.raises((ssl.SSLError, OSError)):
            context.wrap_socket(sock)


def test_files_that_are_no_certificate(tmp_path: Path) -> None:
    listener = bind("127.0.0.1", 0)
    with pytest.raises(ValueError, match=r"tls: cannot use certificate '.*nowhere.pem'.*No such file"):
        Server(listener, Paths(), Settings(tls=(Certificate(None, str(tmp_path / "nowhere.pem"), "k"),)))
    listener.close()


def test_plain_clients_are_sent_to_the_encrypted_port(authority: Authority) -> None:
    settings = Settings(tls=(authority.certificate(None, "a.example"),))
    plain = bind("127.0.0.1", 0)
    server = Server(bind("127.0.0.1", 0), Paths(), settings, redirect=plain)
    server.start()
    try:
        received = exchange(plain.port, b"GET /a?b=c HTTP/1.1\r\nHost: a.example:80\r\nConnection: close\r\n\r\n")
        assert status(received) == 301
        assert b"Location: https://a.example:%d/a?b=c\r\n" % server.listener.port in received
    finally:
        server.stop(0)
