"""The access log of a served program: one line for each request, in a format that tools read, without what lets anybody in."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from language.serve.access_log import access_line
from language.serve.reply import FileReply, ProxyReply, SocketReply, StreamReply
from language.serve.request import Request
from tests.serve.served import Collected, Served, request

PROGRAM = """
require serve(8080)
require net("127.0.0.1")
serve on 8080
    max_body 10
    static "."
    route "GET /json"
        give {"id": 1}
    route "GET /reset/:token"
        give 1 / 0
    route "GET /events"
        stream
            send 1
    route "GET /socket"
        socket
            ws_send(socket, "x")
    route "GET /proxy"
        proxy to "http://127.0.0.1:9"
"""
#: Combined log format, as log analysers write it.
COMBINED = re.compile(
    r"^(?P<host>\S+) \S+ \S+ \[(?P<time>\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4})\] "
    r'"(?P<request>(?:[^"\\]|\\.)*)" (?P<status>\d{3}) (?P<size>\d+|-) '
    r'"(?P<referer>(?:[^"\\]|\\.)*)" "(?P<agent>(?:[^"\\]|\\.)*)"$'
)


@pytest.fixture
def app(tmp_path: Path) -> Served:
    (tmp_path / "a.txt").write_text("hello", encoding="utf-8")
    return Served(PROGRAM, tmp_path, access_log=True)


def logged(app: Served) -> list[re.Match[str]]:
    """The lines of the log so far; they are forgotten."""
    lines = [line for line in app.host.errors if not line.startswith("[serve")]
    app.host.errors.clear()
    found = [COMBINED.match(line) for line in lines]
    assert None not in found, lines
    return [match for match in found if match is not None]


def test_a_line(app: Served) -> None:
    reply = app(
        "GET", "/json?access_token=SECRET", user_agent="curl/8", referer="https://user:SECRET@a.example/p?t=SECRET#SECRET"
    )
    [line] = logged(app)
    assert line["host"] == "127.0.0.1" and line["request"] == "GET /json HTTP/1.1" and line["agent"] == "curl/8"
    assert (line["status"], line["size"], line["referer"]) == ("200", str(len(reply.body)), "https://a.example/p")
    assert "SECRET" not in line.string


@pytest.mark.parametrize(
    ("method", "target", "status", "size"),
    [
        ("GET", "/none", "404", None),
        ("POST", "/json", "405", None),
        ("HEAD", "/json", "200", "0"),
        ("OPTIONS", "/json", "204", "0"),
        ("GET", "/a.txt", "200", "5"),
        ("GET", "/reset/x", "500", None),
        ("GET", "/approvals", "200", "15"),
        ("GET", "/llms.txt", "200", None),
    ],
)
def test_whatever_answers(app: Served, method: str, target: str, status: str, size: str | None) -> None:
    reply = app(method, target)
    if isinstance(reply, FileReply):
        import os

        os.close(reply.descriptor)
    [line] = logged(app)
    assert line["status"] == status and line["request"] == f"{method} {target} HTTP/1.1"
    assert line["size"] == (str(len(reply.body)) if size is None else size)


def test_refusals_before_the_program_are_logged(app: Served) -> None:
    app.application.too_large(request("POST", "/json"))
    app.application.stopping(request("GET", "/json"))
    app("POST", "/json", host="x", origin="https://evil.example")
    assert [line["status"] for line in logged(app)] == ["413", "503", "403"]


def test_the_token_of_a_gate_is_in_no_line(app: Served) -> None:
    token = "0123456789abcdef" * 4
    targets = [f"/approvals/interact_1/{token}?d=yes", f"/base/approvals/interact_1/{token}", f"/APPROVALS//x/{token}"]
    for target in [*targets, f"/%61pprovals/x/{token}"]:
        app("GET", target, referer=f"https://a.example{target}")
        [line] = logged(app)
        assert token not in line.string


def test_replies_that_go_on_are_logged_at_their_end(app: Served) -> None:
    stream = app("GET", "/events")
    assert isinstance(stream, StreamReply) and logged(app) == []
    stream.produce(Collected())
    assert [(line["status"], line["size"]) for line in logged(app)] == [("200", "-")]
    proxied = app("GET", "/proxy")
    assert isinstance(proxied, ProxyReply) and logged(app) == []
    proxied.failed("nobody there")
    proxied.ended()
    assert [line["status"] for line in logged(app)] == ["502"]
    socket = app("GET", "/socket", upgrade="websocket")
    assert isinstance(socket, SocketReply) and logged(app) == []


def test_nobody_can_forge_a_line() -> None:
    forged = '" 200 1 "-" "x"\n127.0.0.1 - - [01/Jan/2026:00:00:00 +0000] "GET / HTTP/1.1\x1b[2J\\" ü'
    made = Request("GET", f"/{forged}", "", [("user-agent", forged), ("referer", forged)], address="::1")
    line = access_line(made, 200, None, 1_780_000_000.5)
    match = COMBINED.match(line)
    assert match is not None and line.isascii() and line.isprintable()
    assert match["time"] == "28/May/2026:20:26:40 +0000" and match["host"] == "::1"
    assert match["agent"].endswith('\\x1b[2J\\\\\\" \\xfc')


def test_without_the_flag_there_is_no_line(tmp_path: Path) -> None:
    app = Served(PROGRAM, tmp_path)
    app("GET", "/json")
    assert logged(app) == []
