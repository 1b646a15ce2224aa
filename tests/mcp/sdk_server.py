"""A tool server made with the official SDK for Python: ``sdk_server.py stdio`` or ``... http PORT [json] [stateless] [older]``.

``older``: it refuses ``server/discover`` with a plain 400, as servers do that know the versions with a handshake alone.
"""

from __future__ import annotations

import sys
from typing import Any

import uvicorn
from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("sdk", version="1.2.3")


@server.tool(structured_output=False)
def add(a: float, b: float) -> str:
    """Adds two numbers"""
    return str(a + b)


@server.tool()
def twice(x: int) -> dict[str, int]:
    """A result with structure"""
    return {"twice": 2 * x}


@server.tool(structured_output=False)
async def counts(to: int, ctx: Context) -> str:
    """Tells of its progress and writes log messages on the way"""
    for number in range(to):
        await ctx.report_progress(number, to)
    return "é" * to


@server.tool()
def fails() -> str:
    """Fails"""
    raise ValueError("no such pen")


class OlderVersions:
    """The application of the server for clients of older versions."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and (b"mcp-method", b"server/discover") in scope["headers"]:
            await send({"type": "http.response.start", "status": 400, "headers": [(b"content-length", b"0")]})
            await send({"type": "http.response.body", "body": b""})
        else:
            await self._app(scope, receive, send)


if sys.argv[1] == "stdio":
    server.run("stdio")
else:
    options = {"json_response": "json" in sys.argv, "stateless_http": "stateless" in sys.argv}
    app = server.streamable_http_app(**options)
    uvicorn.run(OlderVersions(app) if "older" in sys.argv else app, host="127.0.0.1", port=int(sys.argv[2]))
