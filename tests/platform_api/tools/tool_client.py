"""Clients of the tools: the official SDK for Python, and one that sends whatever it is told."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from platform_service import Service

#: The eras of the protocol as the SDK names them, and the version that it then speaks.
ERAS = {"auto": "2026-07-28", "legacy": "2025-11-25"}


def with_client(service: Service, token: str, body: Callable[[Client], Awaitable[Any]], era: str = "auto") -> Any:
    """Runs ``body(client)`` over a connection of the SDK."""

    async def connected() -> Any:
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60) as http,
            Client(streamable_http_client(f"{service.url}/mcp", http_client=http), mode=era) as client,
        ):
            return await body(client)

    return asyncio.run(asyncio.wait_for(connected(), 300))


class Plain:
    """A client of JSON-RPC without any manners."""

    def __init__(self, service: Service, token: str | None) -> None:
        self._client = service.client(token)

    def post(self, content: Any, **headers: str) -> httpx.Response:
        """Sends a body: a text or bytes as they are, else as JSON."""
        raw = content if isinstance(content, (str, bytes)) else json.dumps(content)
        sent = {"Content-Type": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}}
        return self._client.post("/mcp", content=raw, headers=sent)

    def request(self, method: str, params: Any = None) -> Any:
        """The reply to a request."""
        message = {"jsonrpc": "2.0", "id": 1, "method": method}
        return self.post(message if params is None else {**message, "params": params}).json()

    def tools(self) -> list[str]:
        """The names of the listed tools."""
        return [tool["name"] for tool in self.request("tools/list")["result"]["tools"]]

    def call(self, tool: str, /, **arguments: Any) -> Any:
        """The result of a call, or its error."""
        reply = self.request("tools/call", {"name": tool, "arguments": arguments})
        return reply.get("result", reply.get("error"))

    def given(self, tool: str, /, **arguments: Any) -> Any:
        """The structured content of a call that succeeds."""
        result = self.call(tool, **arguments)
        assert not result.get("isError") and "structuredContent" in result, result
        assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
        return result["structuredContent"]

    def refused(self, tool: str, /, **arguments: Any) -> str:
        """What a call is refused with, as the assistant reads it."""
        result = self.call(tool, **arguments)
        assert result.get("isError") is True, result
        assert "structuredContent" not in result
        return str(result["content"][0]["text"])
