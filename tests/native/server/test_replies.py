"""What goes out: heads, lengths, order, files, and when a connection is kept."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import time
from pathlib import Path

import httpx
import pytest
from applications import Paths, exchange, read_all, read_reply, status

from tests import servers

GET = b"GET %b HTTP/1.1\r\nHost: x\r\n\r\n"
CLOSING = b"GET %b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


def fields(received: bytes) -> list[bytes]:
    return received.partition(b"\r\n\r\n")[0].split(b"\r\n")[1:]


def test_the_head_of_a_reply(port: int) -> None:
    received = exchange(port, CLOSING % b"/json")
    assert received.startswith(b"HTTP/1.1 200 OK\r\n")
    date, *rest = fields(received)
    assert re.fullmatch(rb"Date: (Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT", date)
    assert rest == [b"Content-Type: application/json", b"Content-Length: 42", b"Connection: close"]


def test_the_date_goes_on(port: int) -> None:
    first = fields(exchange(port, CLOSING % b"/json"))[0]
    time.sleep(1.1)
    assert fields(exchange(port, CLOSING % b"/json"))[0] != first


def test_head_has_the_length_and_no_body(application: Paths, port: int) -> None:
    (application.folder / "file").write_bytes(b"0123456789" * 10)
    with socket.create_connection(("127.0.0.1", port), timeout=5) as sock:
        sock.sendall(b"HEAD /json HTTP/1.1\r\nHost: x\r\n\r\nHEAD /file HTTP/1.1\r\nHost: x\r\n\r\n" + CLOSING % b"/json")
        parts = read_all(sock).split(b"HTTP/1.1 ")[1:]
    assert b"Content-Length: 42" in parts[0] and parts[0].endswith(b"\r\n\r\n")
    assert b"Content-Length: 100" in parts[1] and parts[1].endswith(b"\r\n\r\n")
    assert parts[2].endswith(b'["x", "y"]}')


def test_replies_without_a_body(port: int) -> None:
    received = exchange(port, CLOSING % b"/nothing")
    assert received.startswith(b"HTTP/1.1 204 No Content\r\n")
    assert b"Content-Length: 0\r\n" in received and b"Content-Type" not in received
    received = exchange(port, CLOSING % b"/unchanged")
    assert received.startswith(b"HTTP/1.1 304 Not Modified\r\n")
    assert b"Content-Length" not in received and b'ETag: "1"' in received


def test_files_and_parts_of_them(application: Paths, port: int) -> None:
    content = bytes(range(256)) * 20_000
    (application.folder / "file").write_bytes(content)
    received = exchange(port, CLOSING % b"/file")
    assert received.partition(b"\r\n\r\n")[2] == content
    assert b'ETag: "1"' in received
    received = exchange(port, CLOSING % b"/part")
    assert status(received) == 206
    assert received.partition(b"\r\n\r\n")[2] == content[10:30]


def test_a_large_reply_to_a_client_that_takes_its_time(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=50) as sock:
        sock.sendall(GET % b"/large?30000000" + GET % b"/json")
        time.sleep(0.3)
        assert status(exchange(port, CLOSING % b"/json")) == 200, "others wait for it"
        head, _, body = sock.recv(1000).partition(b"\r\n\r\n")
        assert b"Content-Length: 30000000" in head
        left = 30_000_000 - len(body)
        while left:
            left -= len(sock.recv(min(left, 1 << 20)))
        assert read_reply(sock)[1].startswith(b'{"id"')


def test_a_field_with_a_line_end_never_goes_out(port: int) -> None:
    received = exchange(port, CLOSING % b"/inject")
    assert status(received) == 500
    assert b"evil" not in received


def test_a_defect_of_the_application(port: int, capfd: pytest.CaptureFixture[str]) -> None:
    received = exchange(port, CLOSING % b"/boom")
    assert status(received) == 500
    assert received.endswith(b'{"error": "internal server error", "status": 500}')
    assert "a defect" not in received.decode()
    assert "[serve] internal error: RuntimeError: a defect" in capfd.readouterr().err


# ---- connections -------------------------------------------------------------------------------------------------------


def test_a_connection_is_kept(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=5) as sock:
        for _ in range(3):
            sock.sendall(GET % b"/json")
            head, body = read_reply(sock)
            assert b"Connection" not in head and len(body) == 42


@pytest.mark.parametrize(
    ("request_", "closed"),
    [
        (CLOSING % b"/json", True),
        (GET % b"/close", True),
        (b"GET /json HTTP/1.0\r\n\r\n", True),
        (b"GET /json HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", False),
        (b"GET /json HTTP/1.1\r\nHost: x\r\nConnection: foo, close\r\n\r\n", True),
    ],
)
def test_when_a_connection_is_closed(request_: bytes, closed: bool, port: int) -> None:
    received = exchange(port, request_, seconds=0.5)
    assert received.endswith(b"<still open>") != closed
    assert (b"Connection: close\r\n" in received) == closed
    if not closed:
        assert b"Connection: keep-alive\r\n" in received


def test_requests_in_one_go_are_answered_in_order(port: int) -> None:
    data = b"".join(GET % b"/sleep?0.1" if n == 3 else GET % b"/echo%d" % n for n in range(50))
    received = exchange(port, data + CLOSING % b"/last")
    paths = [path.decode() for path in re.findall(rb'"path": "(/[a-z0-9]+)"|"slept"', received)]
    assert paths == [f"/echo{n}" if n != 3 else "" for n in range(50)] + ["/last"]


def test_a_client_that_half_closes_gets_its_reply(port: int) -> None:
    assert status(exchange(port, GET % b"/sleep?0.2", half_close=True)) == 200


def test_blank_lines_before_a_request_are_skipped(port: int) -> None:
    assert status(exchange(port, b"\r\n\r\n" + CLOSING % b"/json")) == 200


# ---- other people's clients --------------------------------------------------------------------------------------------


def test_httpx(port: int) -> None:
    with httpx.Client(base_url=f"http://127.0.0.1:{port}") as client:
        for _ in range(20):
            assert client.get("/json").json()["id"] == 1
        assert client.post("/a", content=b"x" * 3_000_000).json()["body"] == 3_000_000
        assert client.post("/a", content=iter([b"a", b"bc"])).json()["body"] == "abc"
        assert client.head("/json").headers["content-length"] == "42"


def test_curl(port: int, tmp_path: Path) -> None:
    if shutil.which("curl") is None:
        servers.missing("curl", "curl")
    (tmp_path / "body").write_bytes(b"x" * 2_000_000)
    url = f"http://127.0.0.1:{port}/a"

    def curl(*words: str) -> str:
        return subprocess.run(["curl", "-sS", "-m", "10", *words, url], capture_output=True, text=True, check=True).stdout

    assert '"method": "GET"' in curl()
    assert '"body": 2000000' in curl("-T", str(tmp_path / "body"))
    assert '"body": 2000000' in curl("-H", "Transfer-Encoding: chunked", "-T", str(tmp_path / "body"))
    assert '"method": "GET"' in curl("--http2")  # an upgrade that is not made
    assert '"method": "GET"' in curl("--http1.0")
