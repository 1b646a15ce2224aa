"""Messages made to mislead a proxy before a served program, or to break the program: none runs a tool, each has a reply."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import pytest

from language.mcp.protocol import CAPABILITIES_KEY, VERSION_KEY
from language.serve.request import Request
from tests.serve.served import Served

NEWEST = "2026-07-28"
PROGRAM = """
require serve(8080)
task drop(args)
    state_set("dropped", true)
    give "dropped"
task look(args)
    give "seen"
serve on 8080
    route "POST /mcp"
        give mcp_reply(request.json, {"name": "demo", "version": "1", "tools": {
            "drop": {"description": "Drops", "run": drop},
            "look": {"description": "Looks", "run": look, "params": {"a": {"type": "list", "required": false}}}}})
    route "GET /dropped"
        give {"dropped": state_get("dropped")}
"""


@pytest.fixture(scope="module")
def served() -> Served:
    return Served(PROGRAM)


def call(name: str = "drop", version: str | None = NEWEST, **members: Any) -> dict[str, Any]:
    params: dict[str, Any] = {"name": name}
    if version is not None:
        params["_meta"] = {VERSION_KEY: version, CAPABILITIES_KEY: {}}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params, **members}


def sent(served: Served, body: Any, *fields: tuple[str, str]) -> tuple[int, Any]:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = Request("POST", "/mcp", "", [("content-type", "application/json"), *fields], data, address="127.0.0.1")
    reply = served.application.respond(request)
    return reply.status, json.loads(reply.body) if reply.body else None


def encoded(text: str) -> str:
    return f"=?base64?{b64encode(text.encode()).decode()}?="


VERSION, METHOD = ("mcp-protocol-version", NEWEST), ("mcp-method", "tools/call")


@pytest.mark.parametrize(
    "fields",
    [
        [VERSION, METHOD, ("mcp-name", "look")],
        [VERSION, METHOD, ("mcp-name", "look"), ("mcp-name", "drop")],
        [VERSION, METHOD, ("mcp-name", "drop"), ("mcp-name", "look")],
        [VERSION, METHOD, ("mcp-name", "drop"), ("mcp-name", "drop")],
        [VERSION, METHOD, ("mcp-name", "look, drop")],
        [VERSION, ("mcp-method", "tools/list"), METHOD, ("mcp-name", "drop")],
        [("mcp-protocol-version", "2025-06-18"), VERSION, METHOD, ("mcp-name", "drop")],
        [("mcp-protocol-version", "2025-06-18"), METHOD, ("mcp-name", "drop")],
        [METHOD, ("mcp-name", "drop")],
        [VERSION, METHOD, ("mcp-name", "DROP")],
        [VERSION, METHOD, ("mcp-name", "dro\xb0")],
        [VERSION, METHOD, ("mcp-name", encoded("look"))],
        [VERSION, METHOD, ("mcp-name", encoded(encoded("drop")))],
        [VERSION, METHOD, ("mcp-name", encoded("drop").replace("base64", "BASE64"))],
        [VERSION, METHOD, ("mcp-name", encoded("drop").replace("?=", "==?="))],
        [VERSION, METHOD, ("mcp-name", encoded("drop\x00"))],
        [VERSION, METHOD, ("mcp-name", "=?base64??=")],
        [VERSION, METHOD],
    ],
)
def test_fields_that_do_not_say_what_the_body_says(served: Served, fields: list[tuple[str, str]]) -> None:
    status, body = sent(served, call(), *fields)
    assert (status, body["error"]["code"]) == (400, -32020)


@pytest.mark.parametrize(
    "fields",
    [
        [("mcp-name", "look")],
        [("mcp-name", "look"), ("mcp-name", "drop")],
        [("mcp-method", "tools/list")],
        [("mcp-method", "tools/list"), METHOD],
        [("mcp-protocol-version", "2025-06-18"), ("mcp-name", "look")],
    ],
)
def test_fields_count_in_older_versions_as_well(served: Served, fields: list[tuple[str, str]]) -> None:
    status, body = sent(served, call(version=None), *fields)
    assert (status, body["error"]["code"]) == (400, -32020)


def test_two_versions_in_the_field_are_none(served: Served) -> None:
    status, body = sent(served, call(version=None), ("mcp-protocol-version", "2025-06-18"), VERSION)
    assert (status, body["error"]["code"]) == (400, -32600)


@pytest.mark.parametrize("capabilities", [None, [], "elicitation", 5])
def test_capabilities_that_are_no_map(served: Served, capabilities: Any) -> None:
    message = call()
    message["params"]["_meta"][CAPABILITIES_KEY] = capabilities
    status, body = sent(served, message, VERSION, METHOD, ("mcp-name", "drop"))
    assert (status, body["error"]["code"]) == (400, -32602)


def test_deep_json(served: Served) -> None:
    for depth in (500, 5_000, 100_000):
        nested = b"[" * depth + b"]" * depth
        text = (
            json.dumps(call("look", arguments=None))
            .encode()
            .replace(b'"name": "look"', b'"arguments": {"a": %s}, "name": "look"')
        )
        status, body = sent(served, text % nested, VERSION, METHOD, ("mcp-name", "look"))
        assert status == 400 or body["result"]["content"][0]["text"] == "seen"
        status, body = sent(served, nested)
        assert status in (200, 400) and "error" in body


@pytest.mark.parametrize(
    "ident", ["9" * 4000, "9" * 100_000, "1e999", "-1e999", "[1]", "{}", "true", '"' + "x" * 100_000 + '"']
)
@pytest.mark.parametrize("version", [NEWEST, None])
def test_ids(served: Served, ident: str, version: str | None) -> None:
    """An id comes back as it was, or the message is refused."""
    text = json.dumps(call("look", version)).replace('"id": 1', f'"id": {ident}').encode()
    fields = [VERSION, METHOD, ("mcp-name", "look")] if version else []
    request = Request("POST", "/mcp", "", [("content-type", "application/json"), *fields], text, address="127.0.0.1")
    reply = served.application.respond(request)
    if b'"result"' in reply.body:
        assert f'"id": {ident}'.encode() in reply.body
    else:
        told = (b"-32600", b"malformed JSON body", b"out of range")
        assert reply.status in (200, 400) and any(text in reply.body for text in told)


def test_none_of_them_ran_the_tool(served: Served) -> None:
    """The last test of this file: the others share its program."""
    assert json.loads(served("GET", "/dropped").body) == {"dropped": None}
    assert sent(served, call(), VERSION, METHOD, ("mcp-name", "drop"))[0] == 200
    assert json.loads(served("GET", "/dropped").body) == {"dropped": True}
