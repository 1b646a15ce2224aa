"""The official SDK for Python on the other side: as the server of our client, and as the client of a served program."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import httpx2
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitResult
from served_programs import BY_HAND, WITH_GATES, WITH_REPLY
from tool_server import context
from tool_services import free_port, running, served

from language.errors import RuntimeFault
from language.values import FALSE
from stdlib.mcp_client import mcp_call, mcp_close, mcp_connect, mcp_tools

SERVER = Path(__file__).with_name("sdk_server.py")


def error_of(function, *values):
    with pytest.raises(RuntimeFault) as caught:
        function(*values)
    return caught.value.message


@pytest.fixture
def ctx():
    made = context()
    yield made
    made.lifetime.end()


def use(ctx, conn):
    """Everything that a client does."""
    tools = mcp_tools(ctx, conn)
    assert [tool["name"] for tool in tools] == ["add", "twice", "counts", "fails"]
    assert tools[0]["description"] == "Adds two numbers"
    assert tools[0]["inputSchema"]["required"] == ["a", "b"]
    assert mcp_call(ctx, conn, "add", {"a": 2, "b": 0.5}) == "2.5"
    assert mcp_call(ctx, conn, "twice", {"x": 4}) == {"twice": 8}
    assert mcp_call(ctx, conn, "counts", {"to": 50}) == "é" * 50
    assert error_of(mcp_call, ctx, conn, "fails") == "mcp_call: tool 'fails' failed: Error executing tool fails"
    assert error_of(mcp_call, ctx, conn, "nope") == "mcp_call: tool 'nope' failed: Unknown tool: nope"
    assert error_of(mcp_call, ctx, conn, "add", {"a": 2}).startswith("mcp_call: tool 'add' failed: ")
    assert mcp_call(ctx, conn, "add", {"a": 1, "b": 1}) == "2.0"


class TestServer:
    def test_as_a_process(self, ctx):
        conn = mcp_connect(ctx, sys.executable, {"args": [str(SERVER), "stdio"]})
        use(ctx, conn)
        assert mcp_close(ctx, conn) is None
        quiet = mcp_connect(ctx, sys.executable, {"args": [str(SERVER), "stdio"], "raise": FALSE})
        assert mcp_call(ctx, quiet, "fails") == {"error": "Error executing tool fails"}

    @pytest.mark.parametrize("options", [[], ["json"], ["older"], ["older", "json", "stateless"]], ids="-".join)
    def test_over_http(self, ctx, options, tmp_path):
        port = free_port()
        with running([sys.executable, str(SERVER), "http", str(port), *options], port, tmp_path):
            conn = mcp_connect(ctx, f"http://127.0.0.1:{port}/mcp")
            assert conn.stateless == ("older" not in options)
            use(ctx, conn)
            mcp_close(ctx, conn)
        asked = (tmp_path / "log.txt").read_text()
        assert ("DELETE /mcp" in asked) == (options == ["older"])

    def test_a_session_that_it_lost(self, ctx, tmp_path):
        port = free_port()
        words = [sys.executable, str(SERVER), "http", str(port), "older"]
        with running(words, port, tmp_path):
            conn = mcp_connect(ctx, f"http://127.0.0.1:{port}/mcp")
        with running(words, port, tmp_path):
            assert mcp_call(ctx, conn, "add", {"a": 2, "b": 3}) == "5.0"
        log = [line.split('" ')[1] for line in (tmp_path / "log.txt").read_text().splitlines() if '"POST /mcp' in line]
        assert [line.split()[0] for line in log] == ["404", "200", "202", "200"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    program, port = folder / "demo.lang", free_port()
    program.write_text(WITH_REPLY.replace("{port}", "8080"), encoding="utf-8")
    with served(program, port, folder):
        yield f"http://127.0.0.1:{port}/mcp"


def with_client(place, body, mode="auto", token="t-ann", statuses=None):
    """Runs ``body(client)`` over a connection; ``statuses`` collects those of HTTP."""

    async def note(response):
        if statuses is not None:
            statuses.append(response.status_code)

    async def session():
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        async with (
            httpx2.AsyncClient(headers=headers, event_hooks={"response": [note]}) as http,
            Client(streamable_http_client(place, http_client=http), mode=mode) as client,
        ):
            return await body(client)

    return asyncio.run(asyncio.wait_for(session(), 60))


class TestClient:
    @pytest.mark.parametrize("mode", ["auto", "legacy"])
    def test_greets_lists_and_calls(self, place, mode):
        async def body(client):
            tools = (await client.list_tools()).tools
            assert [tool.name for tool in tools] == ["add", "greet", "home", "own_home"]
            assert tools[0].input_schema["properties"]["b"] == {"type": "number", "description": "second"}
            assert client.server_info.name == "demo" and client.server_info.version == "1.0.0"
            assert client.protocol_version == ("2025-11-25" if mode == "legacy" else "2026-07-28")
            sums = await asyncio.gather(*[client.call_tool("add", {"a": n, "b": 1}) for n in range(20)])
            assert [done.content[0].text for done in sums] == [str(n + 1) for n in range(20)]
            greeted = await client.call_tool("greet", {"style": "é"})
            assert greeted.content[0].text == '{"hello": "ann", "style": "\\u00e9"}' and not greeted.is_error
            refused = await client.call_tool("home", {})
            assert refused.is_error and refused.content[0].text.startswith("the tool may not do this on this server")

        with_client(place, body, mode)

    @pytest.mark.parametrize(
        ("tool", "arguments", "text"),
        [
            ("drop", {}, "unknown tool"),
            ("add", {"a": 1}, "missing argument 'b'"),
            ("add", {"a": 1, "b": "x"}, "argument 'b' must be number, got text"),
        ],
    )
    def test_refusals(self, place, tool, arguments, text):
        async def body(client):
            with pytest.raises(MCPError) as caught:
                await client.call_tool(tool, arguments)
            assert (caught.value.error.code, caught.value.error.message) == (-32602, text)

        with_client(place, body)

    def test_what_the_server_does_not_offer(self, place):
        async def body(client):
            with pytest.raises(MCPError) as caught:
                await client.list_resources()
            return caught.value.error

        found = with_client(place, body)
        assert (found.code, found.message) == (-32601, "method not found")

    @pytest.mark.parametrize("token", ["", "wrong"])
    def test_nobody_gets_in_without_a_token(self, place, token):
        async def body(client):
            await client.list_tools()

        statuses = []
        with pytest.raises(ExceptionGroup) as caught:
            with_client(place, body, "legacy", token, statuses)
        assert statuses == [401]
        assert [type(error) for error in flat(caught.value)] == [MCPError]

    def test_a_server_written_by_hand(self, tmp_path):
        program, port = tmp_path / "pens.lang", free_port()
        program.write_text(BY_HAND, encoding="utf-8")

        async def body(client):
            done = await client.call_tool("read_rows", {"resource": "pens"})
            return done.content[0].text

        with served(program, port, tmp_path):
            place = f"http://127.0.0.1:{port}/mcp"
            assert '"owner": "ann"' in with_client(place, body, "legacy")
            assert '"owner": "bob"' in with_client(place, body, "legacy", "t-bob")


@pytest.mark.parametrize(("decision", "deleted"), [("yes", True), ("no", False)])
def test_gates_of_tools_are_shown_to_the_user_of_its_client(tmp_path, decision, deleted):
    program, port = tmp_path / "asks.lang", free_port()
    program.write_text(WITH_GATES, encoding="utf-8")
    asked = []

    async def person(context, params):
        asked.append((params.mode, params.message))
        if params.mode == "url":
            async with httpx2.AsyncClient() as browser:
                assert (await browser.get(f"{params.url}?d={decision}")).status_code == 200
            return ElicitResult(action="accept")
        return ElicitResult(action="accept", content={"answer": "blue"})

    async def session():
        async with Client(f"http://127.0.0.1:{port}/mcp", mode="auto", elicitation_callback=person) as client:
            done = await client.call_tool("delete", {"name": "pens"})
            painted = await client.call_tool("paint", {})
            return done.structured_content, painted.content[0].text

    with served(program, port, tmp_path):
        assert asyncio.run(asyncio.wait_for(session(), 60)) == ({"deleted": deleted}, "painted blue")
    assert asked == [("url", "Delete pens?"), ("form", "Which colour?")]


def flat(error):
    """The errors in a group of groups."""
    if isinstance(error, BaseExceptionGroup):
        return [found for inner in error.exceptions for found in flat(inner)]
    return [error]


def test_both_sides_of_its_own(tmp_path):
    """The check of this test: the SDK's client with the SDK's server."""

    async def session():
        async with Client(StdioServerParameters(command=sys.executable, args=[str(SERVER), "stdio"])) as client:
            return (await client.call_tool("add", {"a": 1, "b": 2})).content[0].text

    assert asyncio.run(asyncio.wait_for(session(), 60)) == "3.0"
