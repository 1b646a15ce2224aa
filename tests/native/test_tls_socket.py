"""An error of one TLS connection is not told to another one of the same thread."""

from __future__ import annotations

import socket
import ssl
import struct
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest
import trustme

from language.native.tls_socket import TlsSocket

SECONDS = 60.0
HOST = "localhost"


class Peer:
    """Accepts TLS connections, which a test goes on with by hand."""

    def __init__(self) -> None:
        authority = trustme.CA()
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert(HOST).configure_cert(self._context)
        self.client = ssl.create_default_context()
        self.client.sslsocket_class = TlsSocket
        authority.configure_trust(self.client)
        self._listening = socket.create_server(("127.0.0.1", 0))

    def pair(self, kept: ExitStack) -> tuple[ssl.SSLSocket, ssl.SSLSocket]:
        """Both ends of a connection: the client's, and the peer's."""
        accepted: list[ssl.SSLSocket] = []

        def accept() -> None:
            plain, _ = self._listening.accept()
            accepted.append(self._context.wrap_socket(plain, server_side=True))

        thread = threading.Thread(target=accept)
        thread.start()
        plain = socket.create_connection(self._listening.getsockname())
        client = kept.enter_context(self.client.wrap_socket(plain, server_hostname=HOST))
        thread.join()
        client.settimeout(SECONDS)
        its_peer = kept.enter_context(accepted[0])
        # A first exchange: what a server sends behind its handshake has been read then.
        its_peer.sendall(b"hello")
        assert client.recv(100) == b"hello"
        return client, its_peer

    def close(self) -> None:
        self._listening.close()


@pytest.fixture
def peer() -> Iterator[Peer]:
    peer = Peer()
    yield peer
    peer.close()


def reset(end: socket.socket) -> None:
    """Closes so that the other end is told of a reset."""
    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    end.close()


def send_until_it_fails(client: ssl.SSLSocket) -> None:
    with pytest.raises(OSError, match=r"reset|Broken pipe|EOF"):
        while True:
            client.sendall(bytes(65536))


@pytest.mark.parametrize("closed", [True, False], ids=["closed", "kept"])
def test_a_connection_is_read_after_another_one_was_reset_while_it_sent(peer: Peer, closed: bool) -> None:
    with ExitStack() as kept:
        sound, its_peer = peer.pair(kept)
        broken, breaking = peer.pair(kept)
        reset(breaking)
        send_until_it_fails(broken)
        if closed:
            broken.close()
        sound.sendall(b"question")
        # The read has to wait: only then does OpenSSL look whether there is an error.
        threading.Timer(0.2, its_peer.sendall, (b"answer",)).start()
        assert sound.recv(100) == b"answer"


def test_a_connection_is_read_after_another_one_was_reset_while_it_read(peer: Peer) -> None:
    with ExitStack() as kept:
        sound, its_peer = peer.pair(kept)
        broken, breaking = peer.pair(kept)
        reset(breaking)
        with suppress(OSError):  # older versions of OpenSSL tell a reset as an end
            broken.recv(100)
        threading.Timer(0.2, its_peer.sendall, (b"answer",)).start()
        assert sound.recv(100) == b"answer"


def test_a_handshake_is_made_after_another_one_was_reset(peer: Peer) -> None:
    with ExitStack() as kept:
        with socket.create_server(("127.0.0.1", 0)) as rude:
            plain = socket.create_connection(rude.getsockname())
            reset(rude.accept()[0])
            with pytest.raises(OSError, match=r"reset|EOF|Broken pipe"):
                peer.client.wrap_socket(plain, server_hostname=HOST)
        client, its_peer = peer.pair(kept)
        threading.Timer(0.2, its_peer.sendall, (b"answer",)).start()
        assert client.recv(100) == b"answer"
