"""The proxy for commands of a program: ``CONNECT`` and nothing else, one tunnel for one request."""

from __future__ import annotations

import errno
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from language.host_link.connect_proxy import ConnectProxy
from tests.runner.links.dialling import SECONDS


class Outside:
    """What the proxy connects through: each connection is one end of a pair, the other one stands in ``ends``."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []
        self.ends: list[socket.socket] = []

    def connect(self, host: str, port: int) -> socket.socket:
        self.asked.append((host, port))
        if host == "refused.example":
            raise OSError(errno.EACCES, "the ceiling has no net item for it")
        if host == "away.example":
            raise OSError(errno.EHOSTUNREACH, "no answer in time")
        ours, theirs = socket.socketpair()
        theirs.settimeout(SECONDS)
        self.ends.append(theirs)
        return ours


@pytest.fixture(scope="module")
def proxy() -> Iterator[tuple[int, Outside]]:
    outside = Outside()
    made = ConnectProxy(outside.connect)
    assert made.variables()["https_proxy"] == f"http://127.0.0.1:{made.port}" == made.variables()["ALL_PROXY"]
    yield made.port, outside
    for end in outside.ends:
        end.close()


EXHAUSTED = """
import os, resource, socket
from language.host_link.relay import LoopbackPort

def serve(connection):
    connection.sendall(b"served")
    connection.recv(1)

port = LoopbackPort(serve).port
callers = [socket.socket() for _ in range(3)]
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
highest = max(map(int, os.listdir("/proc/self/fd")))
held = [os.dup(0) for _ in range(highest + 1 - len(os.listdir("/proc/self/fd")))]
resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 1, hard))
for caller in callers:
    caller.connect(("127.0.0.1", port))
callers[2].settimeout(0.3)
try:
    print(callers[2].recv(6))
except TimeoutError:
    print("waits")
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
callers[2].settimeout(60)
print(callers[2].recv(6))
"""


def test_a_port_goes_on_after_the_system_had_no_descriptor_left() -> None:
    said = subprocess.run([sys.executable, "-c", EXHAUSTED], capture_output=True, text=True, timeout=2 * SECONDS, check=False)
    assert said.stdout.splitlines() == ["waits", "b'served'"], said.stderr


SHORT_OF_ONE = """
import os, resource, socket
from language.host_link.client import LinkLost, _Reader

ours, theirs = socket.socketpair(socket.AF_UNIX)
ends = socket.socketpair()
first, second = (end.fileno() for end in ends)
reader = _Reader(ours)
socket.send_fds(theirs, [b'{"type":"connected","id":1,'], [first])
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (second + 10, hard))
held = []
while len(held) < 100:
    try:
        held.append(os.dup(0))
    except OSError:
        break
try:
    reader._receive()
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    theirs.sendall(b'"descriptors":1}\\n')
    socket.send_fds(theirs, [b'{"type":"connected","id":2,"descriptors":1}\\n'], [second])
    message = reader.message()
    print("took", message, os.path.samestat(os.fstat(reader.given().fileno()), os.fstat(second)))
except LinkLost as lost:
    print(lost.strerror)
"""


def test_a_descriptor_that_was_lost_is_not_taken_for_the_next_one() -> None:
    """What was meant for one server would go to another one."""
    said = subprocess.run([sys.executable, "-c", SHORT_OF_ONE], capture_output=True, text=True, timeout=SECONDS, check=False)
    assert said.stdout == "this process has no room for a descriptor of the runner\n", said.stderr


def asked(port: int, data: bytes) -> tuple[int, bytes]:
    """Status and body of what is answered to this, all of it."""
    with socket.create_connection(("127.0.0.1", port), SECONDS) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while chunk := connection.recv(65536):
            answer += chunk
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split(b" ", 2)[1]), body


@pytest.mark.parametrize(
    ("request_line", "status"),
    [
        (b"GET http://a.example/ HTTP/1.1", 405),
        (b"POST http://a.example/ HTTP/1.1", 405),
        (b"connect a.example:443 HTTP/1.1", 405),
        (b" CONNECT a.example:443 HTTP/1.1", 405),
        (b"CONNECT a.example HTTP/1.1", 400),
        (b"CONNECT a.example: HTTP/1.1", 400),
        (b"CONNECT a.example:0 HTTP/1.1", 400),
        (b"CONNECT a.example:65536 HTTP/1.1", 400),
        (b"CONNECT a.example:+443 HTTP/1.1", 400),
        (b"CONNECT u:p@a.example:443 HTTP/1.1", 400),
        (b"CONNECT a.example:443/x HTTP/1.1", 400),
        (b"CONNECT a.example:443?x HTTP/1.1", 400),
        (b"CONNECT http://a.example:443 HTTP/1.1", 400),
        (b"CONNECT 127.1:443 HTTP/1.1", 400),
        (b"CONNECT 2130706433:443 HTTP/1.1", 400),
        (b"CONNECT ::1:443 HTTP/1.1", 400),
        (b"CONNECT [::1%lo]:443 HTTP/1.1", 400),
        (b"CONNECT a.example:443 b.example:443 HTTP/1.1", 400),
        (b"CONNECT a.example:443", 400),
        (b"CONNECT a.example:443 HTTP/2", 400),
        (b"CONNECT a\texample:443 HTTP/1.1", 400),
        ("CONNECT \u0430.example:443 HTTP/1.1".encode(), 400),
        (b"CONNECT refused.example:443 HTTP/1.1", 403),
        (b"CONNECT away.example:443 HTTP/1.1", 502),
        (b"", 405),
    ],
)
def test_what_is_refused(proxy: tuple[int, Outside], request_line: bytes, status: int) -> None:
    port, outside = proxy
    before = len(outside.ends)
    assert asked(port, request_line + b"\r\nHost: a.example:443\r\n\r\n")[0] == status
    assert len(outside.ends) == before


def test_a_head_without_an_end(proxy: tuple[int, Outside]) -> None:
    assert asked(proxy[0], b"CONNECT a.example:443 HTTP/1.1\r\nX: " + b"x" * 9_000)[0] == 431


@pytest.mark.parametrize("place", [b"A.Example:443", b"a.example.:443"])
def test_the_host_is_asked_for_in_its_canonical_form(proxy: tuple[int, Outside], place: bytes) -> None:
    port, outside = proxy
    with socket.create_connection(("127.0.0.1", port), SECONDS) as connection:
        connection.sendall(b"CONNECT " + place + b" HTTP/1.1\r\n\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.1 200 ")
        assert outside.asked[-1] == ("a.example", 443)
        outside.ends.pop().close()


def test_a_second_request_in_a_tunnel_reaches_the_same_place(proxy: tuple[int, Outside]) -> None:
    """What follows the head belongs to the other side, whatever it looks like, and the ``Host`` field decides nothing."""
    port, outside = proxy
    second = b"CONNECT refused.example:443 HTTP/1.1\r\n\r\n"
    count = len(outside.asked)
    with socket.create_connection(("127.0.0.1", port), SECONDS) as connection:
        connection.sendall(b"CONNECT [2001:db8::1]:443 HTTP/1.1\r\nHost: refused.example\r\n\r\n" + second)
        assert connection.recv(100) == b"HTTP/1.1 200 Connection established\r\n\r\n"
        end = outside.ends.pop()
        assert end.recv(100) == second
        assert outside.asked[count:] == [("2001:db8::1", 443)]
        # Half of it ends first, the other half goes on.
        connection.shutdown(socket.SHUT_WR)
        assert end.recv(1) == b""
        end.sendall(b"answer")
        end.close()
        assert connection.recv(100) == b"answer" and connection.recv(1) == b""
