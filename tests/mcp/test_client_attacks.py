"""Tool servers that mean no good: they cost the client a bounded time and memory, and an error."""

from __future__ import annotations

import json
import socket
import time
from contextlib import suppress
from pathlib import Path

import pytest
from test_client_stdio import connected, error_of, gone_soon
from tool_server import COMMAND, HELLO, ToolServer, answer, context, json_answer, said, unknown_method
from web_server import WebServer, reply

from language.errors import LimitExceeded
from language.runtime.limits import Limits, run_within
from stdlib.mcp_client import MOST_TOOLS, mcp_call, mcp_close, mcp_connect, mcp_tools

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def ctx():
    running = context()
    yield running
    running.lifetime.end()


class Raw:
    """Greets, then gives the socket of every other request to ``act`` until that returns."""

    def __init__(self, act):
        def respond(request, connection):
            if request.method == "DELETE":
                return reply("")
            message = json.loads(request.body)
            if message["method"] == "server/discover":
                return json_answer(unknown_method(message["id"]))
            if message["method"] == "initialize":
                return json_answer(answer(message["id"], HELLO))
            if "id" not in message:
                return reply("", status="202 Accepted")
            with suppress(OSError):
                act(connection, message)
            return None

        self._server = WebServer(respond)

    def __enter__(self):
        return self._server.__enter__()

    def __exit__(self, *error):
        self._server.__exit__(*error)


def taking(function, *values):
    """The error and the seconds that it took."""
    started = time.monotonic()
    return error_of(function, *values), time.monotonic() - started


class TestTime:
    """The option ``timeout`` is for the whole call, whatever trickles in meanwhile."""

    def drip(self, head, piece):
        def act(connection, message):
            connection.sendall(head)
            while True:
                connection.sendall(piece)
                time.sleep(0.1)

        return act

    @pytest.mark.parametrize(
        ("head", "piece"),
        [
            (HEAD, b": keep waiting\n\n"),
            (HEAD, b'data: {"jsonrpc": "2.0", "method": "notifications/progress"}\n\n'),
            (HEAD, b"data: x"),
            (b"HTTP/1.1 200 OK\r\n", b"X-More: y\r\n"),
            (b"", b"H"),
            (b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n", b" "),
            (b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
            (b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 100 Continue\r\n\r\n"),
        ],
        ids=["comments", "notifications", "one line", "headers", "status line", "length", "chunks", "informational"],
    )
    def test_a_trickle(self, ctx, head, piece):
        with Raw(self.drip(head, piece)) as server:
            conn = mcp_connect(ctx, server.url, {"timeout": 1})
            text, seconds = taking(mcp_call, ctx, conn, "t")
            assert seconds < 30
            # A line or field that never ends may be refused before the time is over.
            assert text == "mcp_call: timed out after 1s" or text.startswith("mcp_call: 127.0.0.1: malformed response")

    def test_silence_and_the_connection_stays(self, ctx):
        def act(connection, message):
            if message["params"]["name"] == "slow":
                time.sleep(2)
            connection.sendall(json_answer(answer(message["id"], said("x"))))

        with Raw(act) as server:
            conn = mcp_connect(ctx, server.url, {"timeout": 1})
            text, seconds = taking(mcp_call, ctx, conn, "slow")
            assert text == "mcp_call: timed out after 1s" and seconds < 20
            assert mcp_call(ctx, conn, "t") == "x"

    def test_a_server_that_does_not_read(self, ctx):
        listener = socket.create_server(("127.0.0.1", 0))
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        with listener:
            url = f"http://127.0.0.1:{listener.getsockname()[1]}"
            text, seconds = taking(mcp_connect, ctx, url, {"timeout": 1})
            assert text == "mcp_connect: 127.0.0.1: timed out after 1s" and seconds < 30

    def test_a_large_message_to_one_that_stops_reading(self, ctx):
        def respond(request, connection):
            return json_answer(answer(1, HELLO)) if b"initialize" in request.body else reply("", status="202 Accepted")

        with WebServer(respond) as server:
            conn = mcp_connect(ctx, server.url, {"timeout": 1})
            server.drop_connections()
            server.__exit__()
            stuck = socket.create_server(("127.0.0.1", server.port))
            with stuck:
                text, seconds = taking(mcp_call, ctx, conn, "t", {"x": "x" * 50_000_000})
                assert text == "mcp_call: timed out after 1s" and seconds < 50

    def test_pages_without_end(self, ctx):
        with ToolServer(lambda message, request: {"tools": [], "nextCursor": "again"}) as server:
            started = time.monotonic()
            assert mcp_tools(ctx, mcp_connect(ctx, server.url)) == []
            assert len(server.requests) == 1002 and time.monotonic() - started < 200

    def test_tools_without_end(self, ctx, capfd):
        page = {"tools": [{"name": "x" * 100}] * 300, "nextCursor": "more"}
        with ToolServer(lambda message, request: page) as server:
            assert len(mcp_tools(ctx, mcp_connect(ctx, server.url))) == MOST_TOOLS
        assert "127.0.0.1 has more than 1000 tools" in capfd.readouterr().err

    def test_slow_pages_share_the_time(self, ctx):
        def answered(message, request):
            time.sleep(0.3)
            return {"tools": [], "nextCursor": "more"}

        with ToolServer(answered) as server:
            text, seconds = taking(mcp_tools, ctx, mcp_connect(ctx, server.url, {"timeout": 1}))
            assert text == "mcp_tools: timed out after 1s" and seconds < 20

    def test_a_session_that_is_lost_again_and_again(self, ctx):
        with ToolServer(lambda message, request: reply("", status="404 Not Found"), session="s") as server:
            conn = mcp_connect(ctx, server.url)
            for _ in range(3):
                assert error_of(mcp_call, ctx, conn, "t") == "mcp_call: 127.0.0.1 returned HTTP 404"
            assert server.methods.count("tools/call") == 6

    def test_closing_waits_no_longer_than_it_says(self, ctx):
        def respond(request, connection):
            if request.method == "DELETE":
                time.sleep(30)
            message = json.loads(request.body or b'{"id": 0}')
            return json_answer(answer(message.get("id"), HELLO), "Mcp-Session-Id: s")

        with WebServer(respond) as server:
            for _ in range(3):
                conn = mcp_connect(ctx, server.url)
            started = time.monotonic()
            mcp_close(ctx, conn)
            ctx.lifetime.end()
            assert time.monotonic() - started < 50


class TestSize:
    def test_json_and_events(self):
        ctx = context(most=100_000)
        large = "x" * 100_001

        def answered(message, request):
            kind = "text/event-stream" if message["params"]["name"] == "events" else "application/json"
            return reply(("data: " if "event" in kind else "") + json.dumps(large), f"Content-Type: {kind}")

        with ToolServer(answered) as server:
            conn = mcp_connect(ctx, server.url)
            for name in ("events", "json"):
                text = error_of(mcp_call, ctx, conn, name)
                assert text == "mcp_call: 127.0.0.1: the response body is larger than 100000 bytes"

    @pytest.mark.parametrize("line", [b"data: " + b"x" * 5000 + b"\n\n", b"x" * 5000, b"\n" * 5000])
    def test_a_stream_without_end(self, line):
        def act(connection, message):
            connection.sendall(HEAD)
            while True:
                connection.sendall(line)

        with Raw(act) as server:
            ctx = context(most=1_000_000)
            text, seconds = taking(mcp_call, ctx, mcp_connect(ctx, server.url), "t")
            assert text == "mcp_call: 127.0.0.1: the response body is larger than 1000000 bytes" and seconds < 100

    @pytest.mark.parametrize(
        "bomb",
        ["[" * 1_000_000, '{"a":' * 1_000_000, "[" * 500 + "]" * 500, "9" * 1_000_000, "1e999", "[NaN]", '"\\ud800"'],
        ids=["lists", "maps", "closed", "digits", "overflow", "nan", "surrogate"],
    )
    @pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
    def test_json_bombs(self, ctx, bomb, kind):
        def answered(message, request):
            text = '{"jsonrpc": "2.0", "id": %d, "result": {"content": [{"type": "text", "text": "t"}], "x": %s}}'
            body = text % (message["id"], bomb)
            return reply(f"data: {body}\n\n" if "event" in kind else body, f"Content-Type: {kind}")

        with ToolServer(answered) as server:
            conn = mcp_connect(ctx, server.url)
            if "ud800" in bomb:
                assert mcp_call(ctx, conn, "t") == "t"
                return
            text, seconds = taking(mcp_call, ctx, conn, "t")
            assert text.startswith("mcp_call: 127.0.0.1: the") and seconds < 50

    def test_a_long_refusal_is_cut(self, ctx):
        refusal = {"jsonrpc": "2.0", "id": 2, "error": {"code": 1, "message": "\x1b[2J\n" + "x" * 1_000_000}}
        with ToolServer(lambda message, request: json_answer(refusal)) as server:
            assert len(error_of(mcp_call, ctx, mcp_connect(ctx, server.url), "t")) < 1100

    def test_many_small_events_cost_no_square(self):
        from stdlib.mcp_events import EventReader

        reader = EventReader(1)
        piece = b"d" * 64
        started = time.monotonic()
        for _ in range(100_000):
            reader.feed(piece)  # one line that does not end
        for _ in range(100_000):
            reader.feed(b"\ndata: []\n\n")
        assert time.monotonic() - started < 100


class TestProcesses:
    def test_one_that_never_answers(self, ctx):
        body = "open('pid', 'w').write(str(os.getpid()))\ndef on(message): time.sleep(600)"
        conn = connected(ctx, body, timeout=5)
        text, seconds = taking(mcp_call, ctx, conn, "t")
        assert text == "mcp_call: timed out after 5s" and seconds < 50
        assert error_of(mcp_call, ctx, conn, "t") == "mcp_call: the connection is closed"
        assert gone_soon(int(Path("pid").read_text()))

    def test_one_that_never_greets(self, ctx):
        text, seconds = taking(mcp_connect, ctx, "sleep", {"args": ["600"], "timeout": 1})
        assert text == "mcp_connect: sleep: timed out after 1s" and seconds < 25

    @pytest.mark.parametrize(
        "flood",
        [
            'while True: send({"jsonrpc": "2.0", "method": "notifications/message"})',
            'while True: send({"jsonrpc": "2.0", "id": 99, "result": {}})',
            'while True: print("x" * 1000)',
            "while True: print()",
        ],
    )
    def test_a_flood_of_what_is_no_reply(self, ctx, flood):
        conn = connected(ctx, f"def on(message):\n    {flood}", timeout=5)
        text, seconds = taking(mcp_call, ctx, conn, "t")
        assert text == "mcp_call: timed out after 5s" and seconds < 60

    def test_questions_without_reading_the_answers(self, ctx):
        body = """
def on(message):
    while True: send({"jsonrpc": "2.0", "id": "x" * 1000, "method": "ping"})
"""
        text, seconds = taking(mcp_call, ctx, connected(ctx, body), "t")
        assert text == f"mcp_call: {COMMAND}: the process has ended the conversation" and seconds < 150

    def test_a_line_without_end(self, ctx, monkeypatch):
        monkeypatch.setenv("PLATFORM_HTTP_MAX_BYTES", "1000000")
        conn = connected(ctx, 'def on(message):\n    while True: sys.stdout.write("x" * 10000)')
        text, seconds = taking(mcp_call, ctx, conn, "t")
        assert text == f"mcp_call: {COMMAND}: a line of the process is longer than 1000000 bytes" and seconds < 100
        assert error_of(mcp_call, ctx, conn, "t") == "mcp_call: the connection is closed"

    def test_one_that_does_not_read(self, ctx):
        body = """
def read():
    open("reads", "a").write("x")
    if os.path.getsize("reads") > 1: time.sleep(600)
    return json.loads(sys.stdin.readline())
"""
        conn = connected(ctx, body, timeout=2)
        text, seconds = taking(mcp_call, ctx, conn, "t", {"x": "x" * 1_000_000})
        assert text == "mcp_call: timed out after 2s" and seconds < 40

    def test_one_that_closes_its_output_and_stays(self, ctx):
        body = "open('pid', 'w').write(str(os.getpid()))\ndef on(message):\n    os.close(1); time.sleep(600)"
        text, seconds = taking(mcp_call, ctx, connected(ctx, body), "t")
        assert text == f"mcp_call: {COMMAND}: the process has ended the conversation" and seconds < 50
        assert gone_soon(int(Path("pid").read_text()))

    def test_one_that_leaves_a_writer_behind(self, ctx):
        """A grandchild that holds the pipe does not keep the client waiting when the connection is closed."""
        body = "import subprocess\nsubprocess.Popen(['sleep', '600'])\ndef on(message): return text(1)"
        conn = connected(ctx, body)
        started = time.monotonic()
        mcp_close(ctx, conn)
        assert time.monotonic() - started < 20


class TestEnding:
    """What ends a program or a request ends a call that waits, at once."""

    def ended(self, ctx, call):
        started = time.monotonic()
        with pytest.raises(LimitExceeded):
            run_within(Limits({"time_ms": 500}), call)
        return time.monotonic() - started

    def test_over_http(self, ctx):
        with Raw(lambda connection, message: time.sleep(8)) as server:
            conn = mcp_connect(ctx, server.url)
            assert self.ended(ctx, lambda: mcp_call(ctx, conn, "t")) < 2

    def test_to_a_process(self, ctx):
        body = "open('pid', 'w').write(str(os.getpid()))\ndef on(message): time.sleep(600)"
        conn = connected(ctx, body)
        assert self.ended(ctx, lambda: mcp_call(ctx, conn, "t")) < 2
        assert gone_soon(int(Path("pid").read_text()))

    def test_a_fetch_too(self, ctx):
        from stdlib.http_client import http_get

        with WebServer(lambda request: time.sleep(8)) as server:
            assert self.ended(ctx, lambda: http_get(ctx, server.url)) < 2
