"""The tool client with servers of the version without a handshake: what goes out, how versions are agreed on, refusals."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.shared.inbound import encode_header_value, find_invalid_x_mcp_header, mcp_param_headers, x_mcp_header_map
from tool_server import HELLO, answer, context, said
from web_server import Received, WebServer, json_reply, reply

import language
from language.errors import RuntimeFault
from language.mcp.param_headers import BadAnnotation, fields_of, wanted_fields
from language.mcp.protocol import header_text, header_value
from language.runtime.context import Context
from language.values import FALSE, TRUE, Secret
from stdlib.mcp_client import mcp_call, mcp_close, mcp_connect, mcp_tools

NEWEST = "2026-07-28"
DISCOVERED = {
    "resultType": "complete",
    "supportedVersions": [NEWEST, "2025-11-25"],
    "capabilities": {"tools": {}},
    "ttlMs": 0,
    "cacheScope": "private",
}
META = {
    "io.modelcontextprotocol/protocolVersion": NEWEST,
    "io.modelcontextprotocol/clientInfo": {"name": "lang", "version": language.version().removeprefix("v")},
    "io.modelcontextprotocol/clientCapabilities": {},
}
SCHEMA = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "deep": {"type": "object", "properties": {"count": {"type": "integer", "x-mcp-header": "Count"}}},
        "dry": {"type": "boolean", "x-mcp-header": "Dry"},
        "text": {"type": "string"},
    },
}
LISTED = {"resultType": "complete", "tools": [{"name": "t", "description": "T", "inputSchema": SCHEMA}]}


def refusal(ident: Any, code: int, status: str = "400 Bad Request", data: Any = None) -> bytes:
    error = {"code": code, "message": "no", **({} if data is None else {"data": data})}
    return json_reply({"jsonrpc": "2.0", "id": ident, "error": error}, status)


class Stateless(WebServer):
    """Answers ``server/discover`` and the list of tools, and every other message by ``answered(message, request)``."""

    def __init__(self, answered: Callable[[Any, Received], Any], discovered: Any = DISCOVERED) -> None:
        def respond(request: Received) -> bytes:
            message = json.loads(request.body)
            if message["method"] == "server/discover":
                return discovered if type(discovered) is bytes else json_reply(answer(message["id"], discovered))
            if message["method"] == "tools/list":
                return json_reply(answer(message["id"], LISTED))
            if "id" not in message:
                return reply("", status="202 Accepted")
            given = answered(message, request)
            return given if type(given) is bytes else json_reply(answer(message["id"], given))

        super().__init__(respond)

    @property
    def methods(self) -> list[str]:
        return [json.loads(request.body)["method"] for request in self.requests]


def done(message: Any, request: Received) -> Any:
    return HELLO if message["method"] == "initialize" else said("x", resultType="complete")


def error_of(function: Any, *values: Any) -> str:
    with pytest.raises(RuntimeFault) as caught:
        function(*values)
    return caught.value.message


@pytest.fixture
def ctx() -> Context:
    return context()


def params(request: Received) -> dict[str, str]:
    return {name: value for name, value in request.headers.items() if name.startswith("mcp-param-")}


def test_what_goes_out(ctx: Context) -> None:
    with Stateless(done) as server:
        conn = mcp_connect(ctx, server.url + "/mcp")
        assert mcp_call(ctx, conn, "ä t") == "x"
        mcp_close(ctx, conn)
        asked, called = server.requests
        assert json.loads(asked.body) == {"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": META}}
        assert (asked.headers["mcp-protocol-version"], asked.headers["mcp-method"]) == (NEWEST, "server/discover")
        body = json.loads(called.body)
        assert body["params"] == {"_meta": META, "name": "ä t", "arguments": {}}
        assert called.headers["mcp-name"] == "=?base64?w6QgdA==?=" and called.headers["mcp-method"] == "tools/call"
        assert "mcp-session-id" not in called.headers
        assert server.methods == ["server/discover", "tools/call"]


@pytest.mark.parametrize(
    "discovered",
    [
        reply("", status="400 Bad Request"),
        reply("nothing here", "Content-Type: text/plain", status="404 Not Found"),
        reply("", status="405 Method Not Allowed"),
        reply("", status="500 Internal Server Error"),
        reply("<html>", "Content-Type: text/html"),
        refusal(1, -32601, "200 OK"),
        refusal(None, -32600),
        refusal(1, -32000),
        refusal(1, -32022, data={"supported": ["2025-06-18"], "requested": NEWEST}),
        refusal(1, -32022),
        said("x"),
        {**DISCOVERED, "supportedVersions": ["2025-11-25"]},
        {**DISCOVERED, "supportedVersions": NEWEST},
    ],
)
def test_a_server_of_an_older_version_gets_the_handshake(ctx: Context, discovered: Any) -> None:
    with Stateless(done, json_reply(answer(1, discovered)) if type(discovered) is dict else discovered) as server:
        conn = mcp_connect(ctx, server.url)
        assert mcp_call(ctx, conn, "t") == "x"
        assert server.methods == ["server/discover", "initialize", "notifications/initialized", "tools/call"]
        assert not conn.stateless and "mcp-method" not in server.last.headers


@pytest.mark.parametrize(
    ("discovered", "text"),
    [
        (reply("", status="401 Unauthorized"), "127.0.0.1: returned HTTP 401"),
        (reply("", status="403 Forbidden"), "127.0.0.1: returned HTTP 403"),
        (refusal(1, -32020), "127.0.0.1: -32020 no"),
        (
            refusal(1, -32022, data={"supported": ["2027-01-01"]}),
            "127.0.0.1: the server speaks none of the versions 2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05",
        ),
    ],
)
def test_what_is_no_older_version(ctx: Context, discovered: bytes, text: str) -> None:
    with Stateless(done, discovered) as server:
        assert error_of(mcp_connect, ctx, server.url) == f"mcp_connect: {text}"
        assert server.methods == ["server/discover"]


def test_arguments_that_the_schema_wants_in_header_fields(ctx: Context) -> None:
    arguments = {"region": "eu\r\nX-Evil: 1", "deep": {"count": 7}, "dry": TRUE, "text": "t"}
    with Stateless(done) as server:
        conn = mcp_connect(ctx, server.url)
        mcp_call(ctx, conn, "t", arguments)
        assert params(server.last) == {}
        assert [tool["name"] for tool in mcp_tools(ctx, conn)] == ["t"]
        mcp_call(ctx, conn, "t", arguments)
        assert params(server.last) == {
            "mcp-param-region": "=?base64?ZXUNClgtRXZpbDogMQ==?=",
            "mcp-param-count": "7",
            "mcp-param-dry": "true",
        }
        assert "x-evil" not in server.last.headers
        mcp_call(ctx, conn, "t", {"region": Secret("KEY", "swordfish"), "deep": {}, "dry": FALSE})
        assert params(server.last) == {"mcp-param-region": "[redacted]", "mcp-param-dry": "false"}


def test_a_server_that_misses_them_is_asked_for_its_schemas(ctx: Context) -> None:
    def answered(message: Any, request: Received) -> Any:
        return done(message, request) if params(request) else refusal(message["id"], -32020)

    with Stateless(answered) as server:
        conn = mcp_connect(ctx, server.url)
        assert mcp_call(ctx, conn, "t", {"region": "eu"}) == "x"
        assert server.methods == ["server/discover", "tools/call", "tools/list", "tools/call"]
        assert error_of(mcp_call, ctx, conn, "t", {}) == "mcp_call: -32020 no"  # known by now: not asked again
        assert server.methods[4:] == ["tools/call"]


def test_refusals_with_a_status(ctx: Context) -> None:
    answers = [
        lambda ident: refusal(ident, -32602),
        lambda ident: refusal(ident, -32601, "404 Not Found"),
        lambda ident: refusal(None, -32600),
        lambda ident: refusal(ident + 1, -32600),
        lambda ident: reply("{}", "Content-Type: application/json", status="400 Bad Request"),
        lambda ident: reply("no", status="503 Service Unavailable"),
        lambda ident: json_reply(answer(ident, {"resultType": "input_required", "requestState": "s"})),
        lambda ident: json_reply(answer(ident, {"resultType": "other"})),
    ]
    with Stateless(lambda message, request: answers.pop(0)(message["id"])) as server:
        conn = mcp_connect(ctx, server.url)
        assert [error_of(mcp_call, ctx, conn, "t") for _ in range(len(answers))] == [
            "mcp_call: -32602 no",
            "mcp_call: -32601 no",
            "mcp_call: -32600 no",
            "mcp_call: 127.0.0.1 returned HTTP 400",
            "mcp_call: 127.0.0.1 returned HTTP 400",
            "mcp_call: 127.0.0.1 returned HTTP 503",
            "mcp_call: 127.0.0.1: the server asks for input, which this client cannot give",
            "mcp_call: 127.0.0.1: the server asks for input, which this client cannot give",
        ]


@pytest.mark.parametrize("name", ["Mcp-Name", "mcp-method", "MCP-PARAM-Region", "MCP-Protocol-Version"])
def test_a_program_cannot_set_what_the_body_says(ctx: Context, name: str) -> None:
    text = error_of(mcp_connect, ctx, "http://127.0.0.1:9", {"headers": {name: "x"}})
    assert text == f"mcp_connect: the header {name} is set by the language"


BAD = [
    {"properties": {"a": {"type": "number", "x-mcp-header": "A"}}},
    {"properties": {"a": {"type": ["string"], "x-mcp-header": "A"}}},
    {"properties": {"a": {"type": "string", "x-mcp-header": "A: b\r\nX"}}},
    {"properties": {"a": {"type": "string", "x-mcp-header": ""}}},
    {"properties": {"a": {"type": "string", "x-mcp-header": 5}}},
    {"properties": {"a": {"type": "string", "x-mcp-header": "A"}, "b": {"type": "string", "x-mcp-header": "a"}}},
    {"properties": {"a": {"items": {"type": "string", "x-mcp-header": "A"}}}},
    {"anyOf": [{"properties": {"a": {"type": "string", "x-mcp-header": "A"}}}]},
    {"type": "string", "x-mcp-header": "A"},
]


@pytest.mark.parametrize("schema", BAD)
def test_a_tool_whose_annotation_cannot_be_is_left_out(schema: Any) -> None:
    assert find_invalid_x_mcp_header(schema) is not None
    with pytest.raises(BadAnnotation):
        wanted_fields(schema)


def test_too_many_fields() -> None:
    with pytest.raises(BadAnnotation):
        wanted_fields({"properties": {f"p{n}": {"type": "string", "x-mcp-header": f"P{n}"} for n in range(1000)}})
    assert wanted_fields({"default": {"x-mcp-header": "A"}}) == []


VALUES = st.none() | st.text() | st.integers() | st.sampled_from(["=?base64?eA==?=", " x", "x ", "é", "a\nb"])


@given(VALUES, VALUES, st.booleans())
def test_the_fields_are_those_of_the_official_sdk(region: Any, count: Any, dry: bool) -> None:
    found = fields_of(wanted_fields(SCHEMA), {"region": region, "deep": {"count": count}, "dry": TRUE if dry else FALSE})
    wanted = mcp_param_headers(x_mcp_header_map(SCHEMA), {"region": region, "deep": {"count": count}, "dry": dry})
    assert {name: header_text(value) for name, value in found} == {name: header_text(value) for name, value in wanted.items()}


@given(st.text())
def test_a_text_comes_through_a_header_field(text: str) -> None:
    written = header_value(text)
    assert written.isascii() and written.isprintable() and header_text(written) == text
    assert header_text(encode_header_value(text)) == text
