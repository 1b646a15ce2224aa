"""The official SDKs for TypeScript on the other side: as the server of our client, and as the client of a served program.

``@modelcontextprotocol/sdk`` speaks the versions with a handshake, ``client`` and ``server`` also the one without.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from served_programs import WITH_GATES, WITH_REPLY
from tool_server import context
from tool_services import REPOSITORY, free_port, running, served

from language.errors import RuntimeFault
from stdlib.mcp_client import mcp_call, mcp_close, mcp_connect, mcp_tools

SCRIPTS = Path(__file__).parent / "typescript"
PACKAGES = REPOSITORY / ".venvs" / "node"


@pytest.fixture(scope="module")
def node():
    found = shutil.which("node")
    if found is None or not (PACKAGES / "node_modules" / "@modelcontextprotocol").is_dir():
        message = "Node or the packages of .venvs/node are not installed (.ci/node installs them)"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    return found


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
    assert tools[0]["description"] == "Adds two numbers" and tools[0]["inputSchema"]["required"] == ["a", "b"]
    assert mcp_call(ctx, conn, "add", {"a": 2, "b": 0.5}) == "2.5"
    assert mcp_call(ctx, conn, "twice", {"x": 4}) == {"twice": 8}
    assert mcp_call(ctx, conn, "counts", {"to": 50}) == "é" * 50
    assert error_of(mcp_call, ctx, conn, "fails") == "mcp_call: tool 'fails' failed: no such pen"
    assert "nope not found" in error_of(mcp_call, ctx, conn, "nope")
    assert error_of(mcp_call, ctx, conn, "add", {"a": 2}).startswith("mcp_call: ")
    assert mcp_call(ctx, conn, "add", {"a": 1, "b": 1}) == "2"


class TestServer:
    def test_as_a_process(self, ctx, node):
        conn = mcp_connect(ctx, node, {"args": [str(SCRIPTS / "server.cjs"), str(PACKAGES), "stdio"]})
        use(ctx, conn)
        assert mcp_close(ctx, conn) is None

    @pytest.mark.parametrize("form", ["events", "json"])
    def test_over_http(self, ctx, node, form, tmp_path):
        port = free_port()
        words = [node, str(SCRIPTS / "server.cjs"), str(PACKAGES), "http", str(port), form]
        with running(words, port, tmp_path):
            conn = mcp_connect(ctx, f"http://127.0.0.1:{port}/mcp")
            use(ctx, conn)
            mcp_close(ctx, conn)
        assert (tmp_path / "log.txt").read_text() == "closed\n"

    def test_a_session_that_it_lost(self, ctx, node, tmp_path):
        port = free_port()
        words = [node, str(SCRIPTS / "server.cjs"), str(PACKAGES), "http", str(port)]
        with running(words, port, tmp_path):
            conn = mcp_connect(ctx, f"http://127.0.0.1:{port}/mcp")
        with running(words, port, tmp_path):
            assert mcp_call(ctx, conn, "add", {"a": 2, "b": 3}) == "5"


def test_a_server_without_a_handshake(ctx, node, tmp_path):
    port = free_port()
    with running([node, str(SCRIPTS / "stateless_server.cjs"), str(PACKAGES), str(port)], port, tmp_path):
        conn = mcp_connect(ctx, f"http://127.0.0.1:{port}/mcp")
        assert conn.stateless
        assert mcp_call(ctx, conn, "add", {"a": 2, "b": 0.5}) == "2.5"
        assert mcp_call(ctx, conn, "where", {"region": "eu"}) == "eu eu"  # refused first, then with the field
        assert [tool["name"] for tool in mcp_tools(ctx, conn)] == ["add", "where", "list", "fails"]
        assert mcp_call(ctx, conn, "where", {"region": "é"}) == "é =?base64?w6k=?="
        assert mcp_call(ctx, conn, "list") == [1, 2]
        assert error_of(mcp_call, ctx, conn, "fails") == "mcp_call: tool 'fails' failed: no such pen"
        assert "nope" in error_of(mcp_call, ctx, conn, "nope")
        mcp_close(ctx, conn)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("typescript")
    program, port = folder / "demo.lang", free_port()
    program.write_text(WITH_REPLY.replace("{port}", "8080"), encoding="utf-8")
    with served(program, port, folder):
        yield f"http://127.0.0.1:{port}/mcp"


class TestClient:
    def seen(self, node, place, *token, script="client.cjs"):
        words = [node, str(SCRIPTS / script), str(PACKAGES), place, *token]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def test_greets_lists_and_calls(self, node, place):
        seen = self.seen(node, place, "t-ann")
        assert seen["server"] == {"name": "demo", "version": "1.0.0"}
        assert [tool["name"] for tool in seen["tools"]] == ["add", "greet", "home", "own_home"]
        assert seen["tools"][0]["inputSchema"]["properties"]["b"] == {"type": "number", "description": "second"}
        assert seen["sum"] == {"content": [{"type": "text", "text": "5"}]}
        assert seen["sums"] == [str(n + 1) for n in range(20)]
        assert seen["greeting"]["content"][0]["text"] == '{"hello": "ann", "style": "\\u00e9"}'
        assert seen["failed"]["isError"] is True
        assert seen["failed"]["content"][0]["text"].startswith("the tool may not do this on this server")
        assert seen["unknown"] == {"code": -32602, "message": "MCP error -32602: unknown tool"}
        assert seen["missing"] == {"code": -32602, "message": "MCP error -32602: missing argument 'b'"}
        assert seen["ping"] == {}
        # Its own check before asking: the server declares no resources.
        assert seen["resources"]["code"] in (-32601, None)

    @pytest.mark.parametrize("token", ["", "wrong"])
    def test_nobody_gets_in_without_a_token(self, node, place, token):
        refused = self.seen(node, place, token)["refused"]
        assert "401" in str(refused["code"]) or "unauthorized" in refused["message"].lower()

    def test_without_a_handshake(self, node, place):
        seen = self.seen(node, place, "t-ann", script="stateless_client.cjs")
        assert (seen["era"], seen["server"]) == ("modern", {"name": "demo", "version": "1.0.0"})
        assert [tool["name"] for tool in seen["tools"]] == ["add", "greet", "home", "own_home"]
        assert seen["sum"]["content"] == [{"type": "text", "text": "5"}]
        assert seen["sums"] == [str(n + 1) for n in range(20)]
        assert seen["greeting"]["structuredContent"] == {"hello": "ann", "style": "é"}
        assert seen["failed"]["isError"] is True
        assert seen["unknown"]["code"] == -32602

    def test_gates_of_tools_are_shown_to_its_user(self, node, tmp_path):
        program, port = tmp_path / "asks.lang", free_port()
        program.write_text(WITH_GATES, encoding="utf-8")
        with served(program, port, tmp_path):
            seen = self.seen(node, f"http://127.0.0.1:{port}/mcp", script="stateless_client.cjs")
        assert seen["deleted"]["structuredContent"] == {"deleted": True}
        assert seen["painted"]["content"][0]["text"] == "painted blue"
        assert [(asked["mode"], asked["message"]) for asked in seen["asked"]] == [
            ("url", "Delete pens?"),
            ("form", "Which colour?"),
        ]
