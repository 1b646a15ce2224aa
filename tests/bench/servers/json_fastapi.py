"""FastAPI on uvicorn with one JSON route. Prints its port."""

from __future__ import annotations

import socket
from typing import Any

import uvicorn
from fastapi import FastAPI

app = FastAPI()


@app.get("/json")
async def json() -> dict[str, Any]:
    return {"id": 1, "name": "a", "tags": ["x", "y"]}


if __name__ == "__main__":
    # Named as TCP, or asyncio does not turn Nagle's algorithm off for the connections.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(2048)
        print(listener.getsockname()[1], flush=True)
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False))
        server.run([listener])
