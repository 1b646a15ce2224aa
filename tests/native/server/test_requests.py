"""What the application is given: method, target, fields, body, and who asks."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from applications import BODY_LIMIT, Paths, decoded, exchange, read_reply, running, serving, status, wait_for

from language.native.server import Settings
from language.native.shared_sqlite import create, remove

MEBIBYTE = 1024 * 1024


def ask(port: int, head: bytes, body: bytes = b"") -> bytes:
    return exchange(port, head + b"\r\nHost: x\r\nConnection: close\r\n\r\n" + body)


def test_target_and_fields_are_as_sent(application: Paths, port: int) -> None:
    head = b"GET //a/%2e%2e/b+c?x=%20&y#z HTTP/1.1\r\nAccept:  text/html \r\nX-Caf\x45: caf\xe9\r\nX-A: 1\r\nx-a: 2"
    seen = decoded(ask(port, head))
    assert (seen["method"], seen["path"], seen["query"]) == ("GET", "//a/%2e%2e/b+c", "x=%20&y")
    assert seen["fields"][:4] == [["accept", "text/html"], ["x-cafe", "caf\u00e9"], ["x-a", "1"], ["x-a", "2"]]
    assert seen["address"] == "127.0.0.1"
    assert seen["secure"] is False


@pytest.mark.parametrize(
    "method", ["GET", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "M-SEARCH", "SOURCE", "DESCRIBE", "TRACE", "get", "X!y"]
)
def test_any_token_is_a_method(method: str, application: Paths, port: int) -> None:
    seen = decoded(ask(port, f"{method} /a HTTP/1.1".encode()))
    assert seen["method"] == method


def test_a_whole_target_of_the_host_itself(application: Paths, port: int) -> None:
    seen = decoded(ask(port, b"GET http://X/a?b HTTP/1.1"))
    assert (seen["path"], seen["query"]) == ("/a", "b")
    assert decoded(ask(port, b"OPTIONS * HTTP/1.1"))["path"] == "*"


def test_a_body_with_a_length_and_in_chunks(port: int) -> None:
    seen = decoded(ask(port, b"POST /a HTTP/1.1\r\nContent-Length: 5", b"ab\0\xff\n"))
    assert seen["body"] == "ab\0\xff\n"
    seen = decoded(ask(port, b"POST /a HTTP/1.1\r\nTransfer-Encoding: Chunked", b"2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n"))
    assert seen["body"] == "abcde"
    seen = decoded(ask(port, b"GET /a HTTP/1.1\r\nContent-Length: 0"))
    assert seen["body"] == ""


@pytest.mark.parametrize("chunked", [False, True])
def test_a_large_body_lies_in_a_private_file_that_is_removed(chunked: bool, application: Paths, port: int) -> None:
    for size, spilled in ((MEBIBYTE, False), (MEBIBYTE + 1, True), (BODY_LIMIT, True)):
        body = os.urandom(size)
        if chunked:
            pieces = b"".join(b"%x\r\n%b\r\n" % (len(p), p) for p in (body[i : i + 99999] for i in range(0, size, 99999)))
            received = ask(port, b"POST /a HTTP/1.1\r\nTransfer-Encoding: chunked", pieces + b"0\r\n\r\n")
        else:
            received = ask(port, b"POST /a HTTP/1.1\r\nContent-Length: %d" % size, body)
        seen = decoded(received)
        assert seen["body"] == size
        file = application.requests[-1].body_file
        assert (file is not None) == spilled
        if file is None:
            assert application.requests[-1].body == body
        else:
            assert application.requests[-1].body == b""
            assert wait_for(lambda file=file: not os.path.exists(file))
            assert os.stat(os.path.dirname(file)).st_mode & 0o777 == 0o700


def test_the_file_of_a_body_goes_with_its_client(application: Paths, tmp_path: Path) -> None:
    with running(application) as server:
        with socket.create_connection(("127.0.0.1", server.listener.port)) as sock:
            sock.sendall(b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000\r\n\r\n" + b"x" * 2_500_000)
            assert wait_for(lambda: server.engine.spilled() == 1)
        assert wait_for(lambda: server.engine.spilled() == 0)
        received = exchange(
            server.listener.port,
            b"POST /boom HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 2000000\r\n\r\n" + b"x" * 2_000_000,
        )
        assert status(received) == 500
        assert wait_for(lambda: server.engine.spilled() == 0)


def test_other_services_leave_the_files_of_bodies_alone(
    application: Paths, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Services that start look for what killed ones have left behind."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    large = b"POST /a HTTP/1.1\r\nContent-Length: 2000000"
    with running(application) as server, running(Paths()) as other:
        port = server.listener.port
        assert decoded(ask(port, large, b"x" * 2_000_000))["body"] == 2_000_000
        remove(create())  # as a service with several processes begins
        assert decoded(ask(other.listener.port, large, b"x" * 2_000_000))["body"] == 2_000_000
        assert decoded(ask(port, large, b"x" * 2_000_000))["body"] == 2_000_000
        assert len(list(tmp_path.glob("lang-bodies-*"))) == 2
    assert not list(tmp_path.iterdir())


def test_files_of_bodies_are_removed_after_a_killed_service(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    left = tmp_path / "lang-bodies-abc"
    left.mkdir()
    (left / "body-1").write_bytes(b"x")
    kept = tmp_path / "lang-bodies-def"
    kept.mkdir()
    (kept / "mine").write_bytes(b"x")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with serving(Paths()) as port:
        ask(port, b"POST /a HTTP/1.1\r\nContent-Length: 2000000", b"x" * 2_000_000)
    assert list(tmp_path.iterdir()) == [kept]


def test_a_folder_of_bodies_that_was_cleared_away_is_made_anew(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What cleans temporary folders does so while a service runs."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with serving(Paths()) as port:
        for _ in range(2):
            assert status(ask(port, b"POST /a HTTP/1.1\r\nContent-Length: 2000000", b"x" * 2_000_000)) == 200
            (folder,) = tmp_path.iterdir()
            assert wait_for(lambda folder=folder: not list(folder.iterdir()))
            folder.rmdir()


def test_a_body_that_cannot_be_kept_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with serving(Paths()) as port, monkeypatch.context() as patch:
        patch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
        received = ask(port, b"POST /a HTTP/1.1\r\nContent-Length: 2000000", b"x" * 2_000_000)
        assert status(received) == 507 and decoded(received)["error"] == "no room to keep the body"
        assert status(ask(port, b"POST /a HTTP/1.1\r\nContent-Length: 3", b"abc")) == 200
    assert capfd.readouterr().err == "[serve] cannot keep the body of a request: No such file or directory\n"


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_over_the_limit(chunked: bool, tmp_path: Path) -> None:
    application = Paths(limit=1000)
    with serving(application) as port:
        for size, wanted in ((1000, 200), (1001, 413), (5_000_000, 413)):
            if chunked:
                data = b"Transfer-Encoding: chunked\r\n\r\n" + b"%x\r\n" % size + b"x" * size + b"\r\n0\r\n\r\n"
            else:
                data = b"Content-Length: %d\r\n\r\n" % size + b"x" * size
            received = exchange(port, b"POST /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + data)
            assert status(received) == wanted
            assert b"Connection: close" in received
            assert not received.endswith((b"<reset>", b"<still open>"))
        assert len(application.requests) == 1


def test_no_limit() -> None:
    with serving(Paths(limit=None)) as port:
        received = ask(port, b"POST /a HTTP/1.1\r\nContent-Length: 9000000", b"x" * 9_000_000)
        assert decoded(received)["body"] == 9_000_000


def test_expect_continue(application: Paths, port: int) -> None:
    head = b"POST /a HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=5) as sock:
        sock.sendall(head % 3)
        assert sock.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
        sock.sendall(b"abc")
        assert b'"body": "abc"' in read_reply(sock)[1]
        sock.sendall(head % 3 + b"abc")  # a client that does not wait
        assert read_reply(sock)[0].startswith(b"HTTP/1.1 200")
        sock.sendall(head % (BODY_LIMIT + 1))
        assert read_reply(sock)[0].startswith(b"HTTP/1.1 413")


def test_other_expectations_are_refused(port: int) -> None:
    assert status(ask(port, b"GET /a HTTP/1.1\r\nExpect: 200-ok")) == 417


def test_a_head_that_is_too_large(application: Paths, port: int) -> None:
    assert status(ask(port, b"GET /a HTTP/1.1\r\nA: " + b"x" * 30_000)) == 200
    assert status(ask(port, b"GET /a HTTP/1.1\r\nA: " + b"x" * 33_000)) == 431
    assert status(ask(port, b"GET /" + b"x" * 40_000 + b" HTTP/1.1")) == 431
    assert status(exchange(port, b"GET /a HTTP/1.1\r\nHost: x\r\n" + b"A: bcdefgh\r\n" * 100_000)) == 431
    assert len(application.requests) == 1


def test_a_trailer_without_end_is_refused(port: int) -> None:
    head = b"POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"
    assert status(exchange(port, head + b"A: bcdefgh\r\n" * 100_000)) == 400
    head = b"POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert status(exchange(port, head + b"1;" + b"x" * 1_000_000)) == 400


def test_chunks_of_one_byte_are_fine(port: int) -> None:
    received = ask(port, b"POST /a HTTP/1.1\r\nTransfer-Encoding: chunked", b"1\r\nx\r\n" * 200_000 + b"0\r\n\r\n")
    assert decoded(received)["body"] == 200_000


# ---- who asks ----------------------------------------------------------------------------------------------------------

FORWARDED = [
    ("127.0.0.1", "203.0.113.7", "203.0.113.7"),
    ("127.0.0.0/8", "1.1.1.1, 203.0.113.7", "203.0.113.7"),
    ("127.0.0.1,10.0.0.0/8", "1.1.1.1, 203.0.113.7, 10.1.2.3", "203.0.113.7"),
    ("127.0.0.1,10.0.0.0/8", "10.1.2.3, 10.9.9.9", "10.1.2.3"),
    ("127.0.0.1", "nonsense", "127.0.0.1"),
    ("127.0.0.1", "1.1.1.1, nonsense", "127.0.0.1"),
    ("127.0.0.1", "203.0.113.7:4711", "203.0.113.7"),
    ("127.0.0.1", "[2001:db8::1]:4711", "2001:db8::1"),
    ("127.0.0.1", "2001:DB8::1", "2001:db8::1"),
    ("10.0.0.0/8", "203.0.113.7", "127.0.0.1"),
    ("", "203.0.113.7", "127.0.0.1"),
]


@pytest.mark.parametrize(("trusted", "forwarded", "wanted"), FORWARDED)
def test_the_address_of_the_client(trusted: str, forwarded: str, wanted: str) -> None:
    trust = tuple(item for item in trusted.split(",") if item)
    with serving(Paths(), Settings(trust=trust)) as port:
        head = f"GET /a HTTP/1.1\r\nX-Forwarded-For: {forwarded}\r\nX-Forwarded-Proto: https".encode()
        seen = decoded(ask(port, head))
    assert seen["address"] == wanted
    assert seen["secure"] == ("127" in trusted)


def test_several_forwarded_fields_are_one_list() -> None:
    with serving(Paths(), Settings(trust=("127.0.0.1",))) as port:
        seen = decoded(ask(port, b"GET /a HTTP/1.1\r\nX-Forwarded-For: 1.1.1.1\r\nX-Forwarded-For: 2.2.2.2"))
    assert seen["address"] == "2.2.2.2"


def test_a_trusted_proxy_that_is_no_address() -> None:
    with (
        pytest.raises(ValueError, match="'nowhere' is neither an address nor a network"),
        serving(Paths(), Settings(trust=("nowhere",))),
    ):
        pass
