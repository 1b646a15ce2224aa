"""Messages of both eras of the protocol and their replies, without a transport."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language import ToolExchange, ToolOffer
from language.mcp.protocol import CAPABILITIES_KEY, SERVER_KEY, STATUSES, VERSION_KEY, header_text

pytestmark = pytest.mark.once

NEWEST = "2026-07-28"
KNOWN = [NEWEST, "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]
ENTRY = {"name": "add", "description": "Adds", "inputSchema": {"type": "object"}}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.sampled_from(["method", "id", "params", "_meta"]), inner),
    max_leaves=8,
)


def offer(**options: Any) -> ToolOffer:
    return ToolOffer("demo", "1.0.0", [ENTRY], **options)


def request(method: str, params: dict[str, Any] | None = None, *, version: Any = NEWEST, **members: Any) -> dict[str, Any]:
    """A request of a stateless version."""
    meta = {VERSION_KEY: version, CAPABILITIES_KEY: {}}
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**(params or {}), "_meta": meta}, **members}


def fields(method: str, name: str | None = None, version: str = NEWEST) -> dict[str, str]:
    given = {"mcp-protocol-version": version, "mcp-method": method}
    return given if name is None else {**given, "mcp-name": name}


def replied(message: Any, given: dict[str, str] | None = None, **options: Any) -> tuple[int, Any]:
    """The reply, where every tool answers ``ran``."""
    exchange = ToolExchange(message, offer(**options), None if given is None else given.get)
    for call in exchange.calls:
        call.give({"content": [{"type": "text", "text": "ran"}]})
    return exchange.reply()


def refusal(message: Any, given: dict[str, str] | None = None, **options: Any) -> tuple[int, int]:
    exchange = ToolExchange(message, offer(**options), None if given is None else given.get)
    assert exchange.calls == [], "a tool ran"
    status, body = exchange.reply()
    return status, body["error"]["code"]


def test_a_stateless_client_discovers_lists_and_calls() -> None:
    uncached = {"ttlMs": 0, "cacheScope": "private"}
    status, body = replied(request("server/discover"), fields("server/discover"), instructions="Ask first")
    assert (status, body["id"]) == (200, 1)
    assert body["result"] == {
        "resultType": "complete",
        "supportedVersions": KNOWN,
        "capabilities": {"tools": {}},
        "instructions": "Ask first",
        "_meta": {SERVER_KEY: {"name": "demo", "version": "1.0.0"}},
        **uncached,
    }
    status, body = replied(request("tools/list"), fields("tools/list"))
    assert (status, body["result"]) == (200, {"resultType": "complete", "tools": [ENTRY], **uncached})
    for name in ("add", "=?base64?" + b64encode(b"add").decode() + "?="):
        status, body = replied(request("tools/call", {"name": "add"}), fields("tools/call", name))
        assert (status, body["result"]) == (200, {"resultType": "complete", "content": [{"type": "text", "text": "ran"}]})
    assert replied({"jsonrpc": "2.0", "method": "notifications/cancelled"}, fields("x")) == (202, None)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mcp-name", "drop"),
        ("mcp-name", None),
        ("mcp-name", ""),
        ("mcp-name", "=?base64?YWRk"),
        ("mcp-name", "=?base64?YWR?="),
        ("mcp-name", "=?base64?/w==?="),
        ("mcp-method", "tools/list"),
        ("mcp-method", None),
        ("mcp-protocol-version", "2025-06-18"),
        ("mcp-protocol-version", None),
    ],
)
def test_no_tool_runs_whose_header_fields_say_something_else(name: str, value: str | None) -> None:
    given = {key: text for key, text in {**fields("tools/call", "add"), name: value}.items() if text is not None}
    assert refusal(request("tools/call", {"name": "add"}), given) == (400, -32020)


def test_header_fields_are_checked_in_older_versions_where_they_are_sent() -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "add"}}
    assert replied(call, {})[0] == replied(call, {"mcp-name": "add", "mcp-method": "tools/call"})[0] == 200
    assert refusal(call, {"mcp-name": "list"}) == refusal(call, {"mcp-method": "tools/list"}) == (400, -32020)
    assert refusal([call], {"mcp-name": "add"}) == (400, -32020)
    assert replied(call)[0] == 200  # not over HTTP


@pytest.mark.parametrize(
    ("message", "given", "wanted"),
    [
        (request("tools/call", {"name": "drop"}), fields("tools/call", "drop"), (400, -32602)),
        (request("tools/call"), fields("tools/call"), (400, -32602)),
        (request("tools/call", {"name": "add", "arguments": [1]}), fields("tools/call", "add"), (400, -32602)),
        (request("initialize"), fields("initialize"), (404, -32601)),
        (request("ping"), fields("ping"), (404, -32601)),
        (request("tools/list", version="2027-01-01"), fields("tools/list", version="2027-01-01"), (400, -32022)),
        (request("tools/list", version="2025-06-18"), fields("tools/list", version="2025-06-18"), (400, -32022)),
        (request("tools/list", version=5), None, (400, -32602)),
        (request("tools/list", id=[1]), fields("tools/list"), (400, -32600)),
        (request("tools/list", jsonrpc="1.0"), fields("tools/list"), (400, -32600)),
        ({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, fields("tools/list"), (400, -32602)),
        ([request("tools/list")], fields("tools/list"), (400, -32600)),
        (None, fields("tools/list"), (400, -32600)),
        ({"jsonrpc": "2.0", "id": 1, "method": "ping"}, {"mcp-protocol-version": "1999-01-01"}, (400, -32600)),
    ],
)
def test_what_stateless_clients_are_refused(message: Any, given: dict[str, str] | None, wanted: tuple[int, int]) -> None:
    assert refusal(message, given) == wanted


def test_a_version_that_is_not_spoken_is_told_which_are() -> None:
    _, body = replied(request("tools/list", version="2027-01-01"), fields("tools/list", version="2027-01-01"))
    assert body["error"]["data"] == {"supported": KNOWN, "requested": "2027-01-01"}


def test_a_server_without_lists_of_messages() -> None:
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    assert replied([ping, ping])[0] == 200
    assert refusal([ping, ping], batches=False) == refusal([], batches=False) == (400, -32600)


def test_a_tool_that_is_not_listed_may_be_called_by_name() -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "other"}}
    assert refusal(call) == (200, -32602)
    assert replied(call, callable_tools=("other",))[0] == 200


@given(JSON, st.dictionaries(st.sampled_from(sorted(fields("", ""))), st.sampled_from(["", "x", "add", *KNOWN])), st.booleans())
def test_every_message_has_one_reply_of_the_right_form(message: Any, given: dict[str, str], wrapped: bool) -> None:
    sent = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": message} if wrapped else message
    status, body = replied(sent, given)
    assert status in (200, 202, *STATUSES.values()) and (status == 202) == (body is None)
    for one in body if isinstance(body, list) else [body] if body is not None else []:
        assert one["jsonrpc"] == "2.0" and "id" in one and ("result" in one) != ("error" in one)


@given(st.text())
def test_a_header_field_carries_any_text(text: str) -> None:
    assert header_text(f"=?base64?{b64encode(text.encode()).decode()}?=") == text
