"""The tool client over HTTP: what goes out, what comes back, every error word for word."""

from __future__ import annotations

import json

import pytest
from tool_server import HELLO, LocalHost, ToolServer, answer, context, events, json_answer, said
from web_server import WebServer, reply

import language
from language.compiler.compilation import compile_source
from language.errors import RuntimeFault
from language.native.host import NativeHost
from language.runtime.context import Context
from language.runtime.instance import Instance
from language.values import FALSE, TRUE, Secret, type_of
from language.values.display import display
from stdlib.mcp_client import mcp_call, mcp_close, mcp_connect, mcp_tools


def error_of(function, *values):
    with pytest.raises(RuntimeFault) as caught:
        function(*values)
    return caught.value.message


@pytest.fixture
def ctx():
    running = context()
    yield running
    running.lifetime.end()


def serve(answered=lambda message, request: said("x"), **options):
    return ToolServer(answered, **options)


class TestGreeting:
    def test_what_goes_out(self, ctx):
        with serve(session="abc-1") as server:
            conn = mcp_connect(ctx, server.url + "/mcp?key=k#part")
            hello, done = server.requests
            assert json.loads(hello.body) == {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "initialize",
                "params": {
                    "protocolVersion": "2025-11-25",
                    "capabilities": {},
                    "clientInfo": {"name": "lang", "version": language.version().removeprefix("v")},
                },
            }
            assert (hello.method, hello.target) == ("POST", "/mcp?key=k")
            assert hello.headers["content-type"] == "application/json"
            assert hello.headers["accept"] == "application/json, text/event-stream"
            assert "mcp-session-id" not in hello.headers and "mcp-protocol-version" not in hello.headers
            assert json.loads(done.body) == {"jsonrpc": "2.0", "method": "notifications/initialized"}
            assert (done.headers["mcp-session-id"], done.headers["mcp-protocol-version"]) == ("abc-1", "2025-06-18")
            mcp_call(ctx, conn, "t")
            assert server.last.headers["mcp-session-id"] == "abc-1"

    def test_the_connection_is_a_handle(self, ctx):
        with serve() as server:
            conn = mcp_connect(ctx, server.url)
            assert (type_of(conn), display(conn)) == ("connection", "connection(127.0.0.1)")
            assert bool(conn) and conn == conn and conn != mcp_connect(ctx, server.url)

    @pytest.mark.parametrize("version", ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"])
    def test_the_agreed_version_is_sent(self, ctx, version):
        with serve(hello={**HELLO, "protocolVersion": version}) as server:
            mcp_connect(ctx, server.url)
            assert server.last.headers["mcp-protocol-version"] == version

    @pytest.mark.parametrize("version", ["1999-01-01", "2025-06-18\r\nX: y", 5, None])
    def test_no_version_in_common(self, ctx, version):
        with serve(hello={**HELLO, "protocolVersion": version}) as server:
            text = error_of(mcp_connect, ctx, server.url)
            wanted = (
                "mcp_connect: 127.0.0.1: the server speaks none of the versions 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05"
            )
            assert text == wanted
            assert server.methods == ["initialize"]

    def test_nobody_there(self, ctx):
        text = "mcp_connect: 127.0.0.1: cannot connect to 127.0.0.1:1: Connection refused"
        assert error_of(mcp_connect, ctx, "http://u:hunter2@127.0.0.1:1/x?key=hunter2") == text

    @pytest.mark.parametrize("status", ["401 Unauthorized", "404 Not Found", "500 Oops", "302 Found", "307 Temporary Redirect"])
    def test_a_status(self, ctx, status):
        with (
            serve() as elsewhere,
            WebServer(lambda request: reply("no", f"Location: {elsewhere.url}", status=status)) as server,
        ):
            assert error_of(mcp_connect, ctx, server.url) == f"mcp_connect: 127.0.0.1: returned HTTP {status[:3]}"
            assert not elsewhere.requests

    def test_a_refusal(self, ctx):
        refusal = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "no\nway"}}
        with WebServer(lambda request: json_answer(refusal)) as server:
            assert error_of(mcp_connect, ctx, server.url) == "mcp_connect: 127.0.0.1: -32602 no way"

    @pytest.mark.parametrize("session", ["a b", "é", "x" * 1025])
    def test_a_session_id_that_is_none(self, ctx, session):
        with serve(session=session) as server:
            assert error_of(mcp_connect, ctx, server.url) == "mcp_connect: 127.0.0.1: the reply has a session id that is none"


class TestCalls:
    @pytest.mark.parametrize(
        ("result", "value"),
        [
            (said("5"), "5"),
            (said("a", "b\n"), "a\nb\n"),
            (said(), ""),
            ({}, ""),
            ({"content": [{"type": "image", "data": "x"}, {"type": "text", "text": "t"}, {"type": "text"}, 5]}, "t"),
            ({"content": "x"}, ""),
            (said("x", structuredContent={"a": [1, True]}), {"a": [1, TRUE]}),
            (said("x", structuredContent={}), {}),
            (said("x", structuredContent=[1]), [1]),
            (said("x", structuredContent=False), FALSE),
            (said("x", structuredContent=0), 0),
            (said("x", structuredContent=""), ""),
            (said("x", structuredContent=None), "x"),
            (said("x", isError=False), "x"),
        ],
    )
    def test_results(self, ctx, result, value):
        with serve(lambda message, request: result) as server:
            got = mcp_call(ctx, mcp_connect(ctx, server.url), "t")
            assert got == value and type(got) is type(value)

    def test_what_goes_out(self, ctx):
        with serve() as server:
            conn = mcp_connect(ctx, server.url)
            mcp_call(ctx, conn, "t")
            mcp_call(ctx, conn, "t", {"b": TRUE, "a": [1.5, None, "é"]})
            first, second = server.messages[2:]
            assert first == {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "t", "arguments": {}}}
            assert second["params"] == {"name": "t", "arguments": {"b": True, "a": [1.5, None, "é"]}}
            assert [message["id"] for message in server.messages if "id" in message] == [1, 2, 3]

    def test_a_failed_tool(self, ctx):
        with serve(lambda message, request: said("no such", "pen", isError=True)) as server:
            assert error_of(mcp_call, ctx, mcp_connect(ctx, server.url), "x") == "mcp_call: tool 'x' failed: no such\npen"
            quiet = mcp_connect(ctx, server.url, {"raise": FALSE})
            assert mcp_call(ctx, quiet, "x") == {"error": "no such\npen"}

    def test_a_refusal_is_raised_in_any_case(self, ctx):
        refusal = {"jsonrpc": "2.0", "id": 2, "error": {"code": -32602, "message": "unknown tool"}}
        with serve(lambda message, request: json_answer(refusal)) as server:
            quiet = mcp_connect(ctx, server.url, {"raise": FALSE})
            assert error_of(mcp_call, ctx, quiet, "x") == "mcp_call: -32602 unknown tool"

    @pytest.mark.parametrize("error", ["text", 5, {}, [], {"code": [1], "message": {"a": 1}}])
    def test_odd_refusals(self, ctx, error):
        with serve(lambda message, request: json_answer({"jsonrpc": "2.0", "id": 2, "error": error})) as server:
            assert error_of(mcp_call, ctx, mcp_connect(ctx, server.url), "x").startswith("mcp_call: ")

    def test_a_status(self, ctx):
        with serve(lambda message, request: reply("secret stuff", status="500 Oops")) as server:
            conn = mcp_connect(ctx, server.url)
            assert error_of(mcp_call, ctx, conn, "x") == "mcp_call: 127.0.0.1 returned HTTP 500"
            assert error_of(mcp_tools, ctx, conn) == "mcp_tools: 127.0.0.1 returned HTTP 500"

    def test_arguments(self, ctx):
        with serve() as server:
            conn = mcp_connect(ctx, server.url)
            assert error_of(mcp_call, ctx, conn, "x", [1]) == "mcp_call: the arguments must be a map, got list"
            text = error_of(mcp_call, ctx, conn, "x", {"f": {"g": mcp_call}})
            assert text == 'mcp_call: arguments["f"]["g"] is a task, not data'
            assert server.methods == ["initialize", "notifications/initialized"]

    def test_what_is_no_connection(self, ctx):
        for function, name in ((mcp_tools, "mcp_tools"), (mcp_call, "mcp_call"), (mcp_close, "mcp_close")):
            values = (ctx, "http://x") + (("t",) if function is mcp_call else ())
            assert error_of(function, *values) == f"{name} expects a connection of mcp_connect, got text"


class TestReplies:
    def test_an_event_stream(self, ctx):
        def answered(message, request):
            ident = message["id"]
            others = (
                {"jsonrpc": "2.0", "method": "notifications/progress"},
                "no json",
                answer(99, said("other")),
                answer("2", {}),
            )
            ask = {"jsonrpc": "2.0", "id": ident, "method": "sampling/createMessage"}
            return events(*others, ask, answer(ident, said("mine")), answer(ident, said("late")))

        with serve(answered) as server:
            assert mcp_call(ctx, mcp_connect(ctx, server.url), "t") == "mine"

    @pytest.mark.parametrize("end", ["\n\n", "\r\n\r\n", "\r\r", "\n: comment\nid: 5\n\n", ""])
    def test_line_ends(self, ctx, end):
        with serve(lambda message, request: events(answer(message["id"], said("x")), end=end)) as server:
            assert mcp_call(ctx, mcp_connect(ctx, server.url), "t") == "x"

    def test_data_over_several_lines_with_a_mark_before(self, ctx):
        def answered(message, request):
            text = json.dumps(answer(message["id"], said("x")), indent=1)
            lines = "".join(f"data:{line}\n" for line in text.splitlines())
            return reply("\ufeff" + lines + "\n", "content-type: TEXT/Event-Stream")

        with serve(answered) as server:
            assert mcp_call(ctx, mcp_connect(ctx, server.url), "t") == "x"

    def test_in_any_pieces(self):
        from stdlib.mcp_events import EventReader

        message = json.dumps(answer(7, said("é\n")), ensure_ascii=False)
        stream = f": hi\r\ndata: {{}}\r\n\r\ndata: [\r\ndata: {message}\r\ndata: ]\r\n\r\ndata: later\r\n\r\n".encode()
        for size in range(1, len(stream) + 1):
            reader = EventReader(7)
            done = [reader.feed(stream[at : at + size]) for at in range(0, len(stream), size)]
            assert done[-1] and reader.found == answer(7, said("é\n")), size

    def test_a_batch_of_replies(self, ctx):
        with serve(lambda message, request: json_answer([answer(99, {}), answer(message["id"], said("x"))])) as server:
            assert mcp_call(ctx, mcp_connect(ctx, server.url), "t") == "x"

    @pytest.mark.parametrize(
        ("body", "kind", "text"),
        [
            ("{", "application/json", "the reply is no valid JSON"),
            ("[" * 200, "application/json", "the reply is no valid JSON"),
            ("hello", "text/html", "the reply is neither JSON nor an event stream"),
            ("", "application/json", "the reply is no valid JSON"),
            ('{"jsonrpc": "2.0", "id": 3, "result": {}}', "application/json", "there was no reply with the id of the request"),
            (
                '{"jsonrpc": "2.0", "id": "2", "result": {}}',
                "application/json",
                "there was no reply with the id of the request",
            ),
            (
                '{"jsonrpc": "2.0", "id": true, "result": {}}',
                "application/json",
                "there was no reply with the id of the request",
            ),
            ('{"jsonrpc": "2.0", "result": {}}', "application/json", "there was no reply with the id of the request"),
            ('{"jsonrpc": "2.0", "id": 2}', "application/json", "there was no reply with the id of the request"),
            ("5", "application/json", "there was no reply with the id of the request"),
            ("data: {}\n\n", "text/event-stream", "there was no reply with the id of the request"),
            ('{"jsonrpc": "2.0", "id": 2, "result": [1]}', "application/json", "the reply has no result"),
            ('{"jsonrpc": "2.0", "id": 2, "result": null}', "application/json", "the reply has no result"),
        ],
    )
    def test_what_is_no_reply(self, ctx, body, kind, text):
        with serve(lambda message, request: reply(body, f"Content-Type: {kind}")) as server:
            conn = mcp_connect(ctx, server.url)
            assert error_of(mcp_call, ctx, conn, "t") == f"mcp_call: 127.0.0.1: {text}"

    def test_no_reply_at_all(self, ctx):
        with serve(lambda message, request: reply("", status="202 Accepted")) as server:
            conn = mcp_connect(ctx, server.url)
            text = "mcp_call: 127.0.0.1: the reply is neither JSON nor an event stream"
            assert error_of(mcp_call, ctx, conn, "t") == text


class TestTools:
    def test_all_pages(self, ctx):
        pages = [
            {
                "tools": [{"name": "a", "description": "A", "inputSchema": {"type": "object"}, "title": "x"}],
                "nextCursor": "two",
            },
            {"tools": [{"name": "b"}, {"name": "c", "inputSchema": 5}], "nextCursor": "three"},
            {"tools": [], "nextCursor": ""},
        ]
        with serve(lambda message, request: pages[len(server.requests) - 3]) as server:
            assert mcp_tools(ctx, mcp_connect(ctx, server.url)) == [
                {"name": "a", "description": "A", "inputSchema": {"type": "object"}},
                {"name": "b", "description": "", "inputSchema": {}},
                {"name": "c", "description": "", "inputSchema": {}},
            ]
            assert [message["params"] for message in server.messages[2:]] == [{}, {"cursor": "two"}, {"cursor": "three"}]

    @pytest.mark.parametrize("page", [{}, {"tools": {}}, {"tools": [5]}, {"tools": [{"name": 5}]}])
    def test_odd_pages(self, ctx, page):
        with serve(lambda message, request: page) as server:
            assert error_of(mcp_tools, ctx, mcp_connect(ctx, server.url)).startswith("mcp_tools: 127.0.0.1: the reply ")


class TestSessions:
    def test_one_that_is_over_begins_anew_once(self, ctx):
        forgotten = [True, True]

        def answered(message, request):
            return reply("", status="404 Not Found") if forgotten and forgotten.pop() else said("x")

        with serve(answered, session="s") as server:
            conn = mcp_connect(ctx, server.url)
            server.requests.clear()
            forgotten.pop()
            assert mcp_call(ctx, conn, "t") == "x"
            assert server.methods == ["tools/call", "initialize", "notifications/initialized", "tools/call"]
            assert "mcp-session-id" not in server.requests[1].headers
            forgotten.extend([True, True])
            assert error_of(mcp_call, ctx, conn, "t") == "mcp_call: 127.0.0.1 returned HTTP 404"

    def test_without_a_session_404_is_an_answer(self, ctx):
        with serve(lambda message, request: reply("", status="404 Not Found")) as server:
            conn = mcp_connect(ctx, server.url)
            assert error_of(mcp_call, ctx, conn, "t") == "mcp_call: 127.0.0.1 returned HTTP 404"
            assert server.methods.count("initialize") == 1


class TestClosing:
    def test_ends_the_session_once(self, ctx):
        with serve(session="s") as server:
            conn = mcp_connect(ctx, server.url)
            assert mcp_close(ctx, conn) is None and mcp_close(ctx, conn) is None
            assert server.methods == ["initialize", "notifications/initialized", "DELETE"]
            assert server.last.headers["mcp-session-id"] == "s"
            assert error_of(mcp_call, ctx, conn, "t") == "mcp_call: the connection is closed"
            assert error_of(mcp_tools, ctx, conn) == "mcp_tools: the connection is closed"
            ctx.lifetime.end()
            assert server.methods.count("DELETE") == 1

    def test_without_a_session_nothing_is_sent(self, ctx):
        with serve() as server:
            mcp_close(ctx, mcp_connect(ctx, server.url))
            assert server.methods == ["initialize", "notifications/initialized"]

    def test_asks_for_nothing_and_ignores_the_answer(self, ctx):
        with serve(session="s") as server:
            conn = mcp_connect(ctx, server.url)
            before = len(ctx.capabilities.records)
            server.__exit__()
            ctx.capabilities.enter(())
            assert mcp_close(ctx, conn) is None
            assert len(ctx.capabilities.records) == before

    def test_at_the_end_of_the_run(self):
        with serve(session="s") as server:
            source = f'require net("127.0.0.1")\nlet c be mcp_connect("{server.url}")\nprint(mcp_call(c, "t"))\nraise "over"\n'
            context = Context(NativeHost(), collect=True)
            with pytest.raises(RuntimeFault, match="over"):
                Instance(compile_source(source, "p.lang").named("p.lang"), context.host, context=context).run()
            assert context.collected == ["x"]
            assert server.methods[-1] == "DELETE"

    def test_as_many_as_there_can_be(self, ctx):
        with serve() as server:
            conns = [mcp_connect(ctx, server.url) for _ in range(64)]
            text = "mcp_connect: 64 connections are open, which is as many as there can be: close some"
            other = context()
            assert error_of(mcp_connect, other, server.url) == text
            mcp_close(ctx, conns[5])
            mcp_close(other, mcp_connect(other, server.url))
            mcp_connect(ctx, server.url)
            ctx.lifetime.end()
            mcp_connect(other, server.url)
            other.lifetime.end()

    def test_one_that_was_not_made_does_not_count(self, ctx):
        with WebServer(lambda request: reply("", status="500 Oops")) as server:
            for _ in range(70):
                assert error_of(mcp_connect, ctx, server.url).endswith("returned HTTP 500")


class TestGate:
    def test_every_call_asks(self):
        with serve() as server:
            ctx = context(("net", f"127.0.0.1:{server.port}"))
            conn = mcp_connect(ctx, server.url)
            mcp_tools_error = error_of(mcp_tools, ctx, conn)  # the server lists none
            assert mcp_tools_error.startswith("mcp_tools: ")
            mcp_call(ctx, conn, "t")
            asked = [(r["capability"], r["scope"], r["granted"]) for r in ctx.capabilities.records if r["capability"] == "net"]
            assert asked == [("net", f"127.0.0.1:{server.port}", True)] * 3
            ctx.capabilities.enter(())
            assert error_of(mcp_call, ctx, conn, "t").startswith("Capability not granted: net(")

    def test_no_host(self, ctx):
        assert error_of(mcp_connect, ctx, "http://") == "mcp_connect(): the URL has no host (expected scheme://host/…)"

    def test_another_spelling_of_the_scheme_is_a_command(self):
        assert error_of(mcp_connect, context(("net", "*")), "HTTP://x").startswith('Capability not granted: exec("HTTP://x")')

    def test_it_does_not_cross(self, ctx):
        with serve(session="s") as server:
            conn = mcp_connect(ctx, server.url)
            worker = ctx.fork()
            crossing = "a connection does not cross into workers, agents or handlers: open one there"
            assert error_of(mcp_call, worker, conn, "t") == f"mcp_call: {crossing}"
            assert error_of(mcp_tools, worker, conn) == f"mcp_tools: {crossing}"
            assert error_of(mcp_close, worker, conn) == f"mcp_close: {crossing}"
            assert mcp_call(ctx, conn, "t") == "x"


class TestOptions:
    def test_unknown(self, ctx):
        valid = "(valid options: headers, args, env, cwd, timeout, raise)"
        assert error_of(mcp_connect, ctx, "http://x", {"header": {}}) == f'mcp_connect: unknown option "header" {valid}'
        assert error_of(mcp_connect, ctx, "http://x", [1]) == "mcp_connect: the options must be a map, got list"

    @pytest.mark.parametrize("name", ["args", "env", "cwd"])
    def test_of_the_other_kind(self, ctx, name):
        text = f'mcp_connect: option "{name}" is for a command, not for a URL'
        assert error_of(mcp_connect, ctx, "http://x", {name: []}) == text
        assert (
            error_of(mcp_connect, ctx, "x", {"headers": {}}) == 'mcp_connect: option "headers" is for a URL, not for a command'
        )

    @pytest.mark.parametrize("value", [0, 3601, 1.5, "60", -1, TRUE])
    def test_timeout(self, ctx, value):
        text = error_of(mcp_connect, ctx, "http://x", {"timeout": value})
        assert text.startswith('mcp_connect: option "timeout" must be an integer from 1 to 3600')

    def test_raise(self, ctx):
        assert error_of(mcp_connect, ctx, "http://x", {"raise": 1}) == 'mcp_connect: option "raise" must be a bool, got number'

    def test_nothing_is_the_default(self, ctx):
        with serve() as server:
            options = {"headers": None, "args": None, "timeout": None, "raise": None}
            assert mcp_call(ctx, mcp_connect(ctx, server.url, options), "t") == "x"


class TestHeaders:
    def test_with_every_request_secrets_in_clear(self, ctx):
        with serve(session="s") as server:
            given = {"Authorization": "Bearer " + Secret("hunter2", ("K",)), "X-Kind": 5}
            conn = mcp_connect(ctx, server.url, {"headers": given})
            mcp_call(ctx, conn, "t")
            mcp_close(ctx, conn)
            assert server.methods[-1] == "DELETE"
            for request in server.requests:
                assert (request.headers["authorization"], request.headers["x-kind"]) == ("Bearer hunter2", "5")

    def test_user_and_password_of_the_url(self, ctx):
        with serve() as server:
            mcp_connect(ctx, server.url.replace("//", "//ann:pw@"))
            assert {request.headers["authorization"] for request in server.requests} == {"Basic YW5uOnB3"}

    @pytest.mark.parametrize("name", ["Accept", "content-type", "MCP-Protocol-Version", "mcp-session-id"])
    def test_those_of_the_protocol(self, ctx, name):
        text = f"mcp_connect: the header {name} is set by the language"
        assert error_of(mcp_connect, ctx, "http://x", {"headers": {name: "hunter2"}}) == text

    @pytest.mark.parametrize(
        "headers", [{"hunter2 x": "a"}, {"A": "hunter2\r\nX: y"}, {"A": Secret("hunter2\n", ("K",))}, {"Host": "hunter2"}]
    )
    def test_those_that_cannot_be_sent_are_not_shown(self, ctx, headers):
        text = error_of(mcp_connect, ctx, "http://x", {"headers": headers})
        assert text.startswith('mcp_connect: option "headers" has ') and "hunter2" not in text

    def test_no_map(self, ctx):
        assert error_of(mcp_connect, ctx, "http://x", {"headers": "A: b"}) == 'mcp_connect: option "headers" must be a map'


class TestSecrets:
    def test_arguments_are_sent_redacted(self, ctx, capfd):
        with serve() as server:
            mcp_call(ctx, mcp_connect(ctx, server.url), "t", {"a": [Secret("hunter2", ("K",))]})
            assert server.messages[-1]["params"]["arguments"] == {"a": ["[redacted]"]}
        assert capfd.readouterr().err == 'lang: warning: mcp_call: the secret K was written as "[redacted]"\n'

    def test_a_server_that_repeats_them(self, ctx):
        """No error shows a header or the query, whoever wrote it."""

        def answered(message, request):
            shown = f"{request.target} {request.headers['authorization']} and {request.headers['authorization'][7:]}"
            if message["params"]["name"] == "fails":
                return said(shown, isError=True)
            return json_answer({"jsonrpc": "2.0", "id": message["id"], "error": {"code": 1, "message": shown}})

        with serve(answered) as server:
            given = {"Authorization": "Bearer " + Secret("hunter2hunter2", ("K",))}
            conn = mcp_connect(ctx, server.url + "/?key=swordfish", {"headers": given})
            for tool in ("fails", "refuses"):
                text = error_of(mcp_call, ctx, conn, tool)
                assert "hunter2" not in text and "swordfish" not in text and "[redacted]" in text


class TestHook:
    """In an embedder's program the requests go through its ``http`` hook."""

    SOURCE = """
require net("tools.example")
let c be mcp_connect("https://tools.example/mcp", {"timeout": 7})
print(mcp_call(c, "add", {"a": 2}))
print(mcp_call(c, "stream"))
"""

    def test_through_the_hook(self):
        seen = []

        def http(request):
            seen.append(request)
            message = json.loads(request["body"])
            if message["method"] == "server/discover":
                return {"status": 400}
            if message["method"] == "initialize":
                return {"status": 200, "headers": {"content-type": "application/json"}, "body": json.dumps(answer(1, HELLO))}
            if "id" not in message:
                return {"status": 202}
            reply = json.dumps(answer(message["id"], said(message["params"]["name"])))
            if message["params"]["name"] == "stream":
                return {"status": 200, "headers": [["Content-Type", "text/event-stream"]], "body": f"data: {reply}\n\n"}
            return {"status": 200, "headers": [["Content-Type", "application/json"]], "body": reply}

        done = language.Program(self.SOURCE, host={"http": http}).run()
        assert (done["errors"], done["output"]) == ([], ["add", "stream"])
        assert {(request["method"], request["url"]) for request in seen} == {("POST", "https://tools.example/mcp")}
        assert all(1 <= request["timeout"] <= 7 for request in seen)

    def test_its_failure_is_told_without_the_query(self):
        def http(request):
            raise ValueError(f"cannot fetch {request['url']}")

        source = self.SOURCE.replace("/mcp", "/mcp?key=swordfish")
        (error,) = language.Program(source, host={"http": http}).run()["errors"]
        assert error.startswith("Runtime error: <embedded>:3:21: mcp_connect: tools.example: ValueError: cannot fetch ")
        assert "swordfish" not in error

    def test_without_one(self):
        (error,) = language.Program(self.SOURCE).run()["errors"]
        assert error.startswith(
            "Runtime error: <embedded>:3:21: mcp_connect: not available in the wasm profile — this host provides no http "
        )
        (denied,) = language.Program(self.SOURCE.replace("require", "-- require")).run()["errors"]
        assert "Capability not granted: net(" in denied

    def test_a_command(self):
        done = language.Program('mcp_connect("server")').run()
        assert done["errors"] == [
            "Runtime error: <embedded>:1:12: mcp_connect: not available in the wasm profile — this build has no child "
            "processes (run the program with the native `lang` binary)"
        ]
        assert not [record for record in done["audit"] if record["capability"] == "exec"]


def test_a_program_of_a_worker_and_a_list(ctx):
    """The handle is a value like others: in lists, as a key's display, not as JSON."""
    with serve() as server:
        source = f"""
require net("127.0.0.1")
let c be mcp_connect("{server.url}")
let kept be [c, {{"c": c}}]
print(kept[0] == c, kept, [c] == [c], c == 1, c in kept)
task refuses(f)
    try
        f()
    recover e
        print(e)
refuses(() => json_encode(kept))
refuses(() => parallel_map((n) => mcp_call(c, "t"), [1, 2]))
refuses(() => c + 1)
refuses(() => c.x)
refuses(() => c[0])
refuses(() => length(c))
refuses(() => c < c)
print(c + "!", mcp_call(c, "t"))
"""
        context = Context(LocalHost(), collect=True)
        Instance(compile_source(source, "p.lang").named("p.lang"), context.host, context=context).run()
        assert context.collected == [
            "true [connection(127.0.0.1), {c: connection(127.0.0.1)}] true false true",
            "json_encode: the value[0] is a connection, not data",
            "mcp_call: a connection does not cross into workers, agents or handlers: open one there",
            "Unsupported operation: connection + number",
            "Cannot access property 'x' of connection",
            "Cannot index into connection",
            "Cannot get length of connection",
            "Unsupported operation: connection < connection",
            "connection(127.0.0.1)! x",
        ]
