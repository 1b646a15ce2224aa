"""Numbers on their way into a tool and out of it: what the text says counts, not the float beside it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.serve.served import Served

PROGRAM = """
require serve(8080)
task same(args)
    give args
task exact(args)
    give {"a": 12345678901234567.89d, "b": 3.50d, "c": 1e16, "d": 0.1, "e": 2 ** 70, "f": [true, nothing, 7.00d], "g": "3.50"}
task beyond(args)
    give {"rows": [1, {"rate": inf - args.add}]}
task unknown(args)
    give [nan]
let server be {"name": "s", "version": "1", "tools": {
    "same": {"description": "d", "run": same, "params": {"n": {"type": "integer"}}},
    "rows": {"description": "d", "run": same, "params": {"ns": {"type": "list", "items": {"type": "integer"}}}},
    "exact": {"description": "d", "run": exact},
    "beyond": {"description": "d", "run": beyond, "params": {"add": {"type": "number"}}},
    "unknown": {"description": "d", "run": unknown}}}
serve on 8080
    route "POST /mcp"
        give mcp_reply(request.json, server)
"""
NEWEST = "2026-07-28"
META = json.dumps({"io.modelcontextprotocol/protocolVersion": NEWEST, "io.modelcontextprotocol/clientCapabilities": {}})


def sent(name: str, arguments: str, *, era: bool = False, listed: bool = False) -> str:
    """The text of the reply to a call whose arguments are this text."""
    meta = f', "_meta": {META}' if era else ""
    body = (
        f'{{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {{"name": "{name}", "arguments": {arguments}{meta}}}}}'
    )
    fields = {"mcp_protocol_version": NEWEST, "mcp_method": "tools/call", "mcp_name": name} if era else {}
    reply = Served(PROGRAM)("POST", "/mcp", f"[{body}]" if listed else body, content_type="application/json", **fields)
    return reply.body.decode()


@pytest.mark.parametrize("how", [{}, {"era": True}, {"listed": True}])
def test_an_integer_is_what_the_text_writes(how: dict[str, bool]) -> None:
    for text, number in (("1e16", 10**16), ("9007199254740993.0", 9007199254740993), ("3.0", 3)):
        assert f'{{\\"n\\": {number}}}' in sent("same", f'{{"n": {text}}}', **how)
        assert f'{{\\"ns\\": [{number}]}}' in sent("rows", f'{{"ns": [{text}]}}', **how)
    for text in ("1.00000000000000001", "9007199254740992.5"):
        assert "argument 'n' must be integer, got a number that is not whole" in sent("same", f'{{"n": {text}}}', **how)


def test_what_is_structured_says_what_the_text_says() -> None:
    body = sent("exact", "{}", era=True)
    text = json.loads(body)["result"]["content"][0]["text"]
    assert "12345678901234567.89" in text and "3.50" in text and "1e+16" in text and "7.00" in text
    assert body.partition('"structuredContent": ')[2].startswith(text)


@pytest.mark.parametrize(
    ("name", "arguments", "value"),
    [
        ("beyond", '{"add": 1}', 'Infinity at result["rows"][1]["rate"]'),
        ("unknown", "{}", "NaN at result[0]"),
    ],
)
def test_what_json_cannot_hold_is_named(name: str, arguments: str, value: str) -> None:
    result: Any = json.loads(sent(name, arguments, era=True))["result"]
    assert result["isError"] is True and "structuredContent" not in result
    assert result["content"][0]["text"] == f"mcp_reply: the result holds {value}, and JSON has no such number"


def test_an_older_client_gets_the_text_as_before() -> None:
    assert json.loads(sent("unknown", "{}"))["result"] == {"content": [{"type": "text", "text": "[NaN]"}]}
