"""A tool server made with the official SDK for Python: ``sdk_server.py stdio`` or ``... http PORT [json] [stateless]``."""

from __future__ import annotations

import sys

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


if sys.argv[1] == "stdio":
    server.run("stdio")
else:
    options = {"json_response": "json" in sys.argv, "stateless_http": "stateless" in sys.argv}
    server.run("streamable-http", port=int(sys.argv[2]), **options)
