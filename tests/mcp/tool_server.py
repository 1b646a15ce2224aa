"""Tool servers that do as they are told: over HTTP, raw bytes, and as a process, from a script."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

from web_server import Received, WebServer, reply

from language.native.host import NativeHost
from language.native.http import NativeHttp
from language.runtime.context import Context

HELLO = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}


def answer(ident: Any, result: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": ident, "result": result}


def unknown_method(ident: Any) -> dict[str, Any]:
    """The answer of a server of an older version to ``server/discover``."""
    return {"jsonrpc": "2.0", "id": ident, "error": {"code": -32601, "message": "method not found"}}


def said(*texts: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text} for text in texts], **more}


def json_answer(value: Any, *headers: str) -> bytes:
    return reply(json.dumps(value), "Content-Type: application/json", *headers)


def events(*datas: Any, end: str = "\n\n") -> bytes:
    """A finished stream of events, each with JSON."""
    text = "".join(f"event: message\ndata: {data if isinstance(data, str) else json.dumps(data)}{end}" for data in datas)
    return reply(text, "Content-Type: text/event-stream; charset=utf-8")


class ToolServer(WebServer):
    """Greets as a tool server does and hands every other message to ``answered(message, request)``.

    What that gives is the result of the reply, or the bytes of the whole answer. ``session`` is sent with the greeting. It
    refuses ``server/discover``, which ``discoveries`` counts and ``requests`` leaves out.
    """

    def __init__(
        self, answered: Callable[..., Any], *, session: str | None = None, hello: dict[str, Any] | None = None
    ) -> None:
        def respond(request: Received) -> bytes | None:
            if request.method == "DELETE":
                return reply("")
            message = json.loads(request.body)
            if message["method"] == "server/discover":  # it knows the versions with a handshake alone
                self.requests.remove(request)
                self.discoveries += 1
                return json_answer(unknown_method(message["id"]))
            if message["method"] == "initialize":
                headers = [f"Mcp-Session-Id: {session}"] if session else []
                return json_answer(answer(message["id"], HELLO if hello is None else hello), *headers)
            if "id" not in message:
                return reply("", status="202 Accepted")
            result = answered(message, request)
            return result if isinstance(result, bytes) or result is None else json_answer(answer(message["id"], result))

        self.discoveries = 0
        super().__init__(respond)

    @property
    def messages(self) -> list[Any]:
        return [json.loads(request.body) for request in self.requests if request.body]

    @property
    def methods(self) -> list[str]:
        """``DELETE`` and the methods of the messages, in order."""
        return [json.loads(request.body)["method"] if request.body else request.method for request in self.requests]


class LocalHost(NativeHost):
    """A native host whose HTTP door reads as much as a test says."""

    def __init__(self, most: int | None = None) -> None:
        super().__init__()
        self._http = NativeHttp() if most is None else NativeHttp(most=most)


#: Those that the test at hand has made.
CONTEXTS: list[Context] = []


def context(*requires: tuple[str, str], most: int | None = None) -> Context:
    """A running program that may reach everything, or what is named."""
    ctx = Context(LocalHost(most), collect=True)
    for name, scope in requires or (("net", "*"), ("exec", None)):
        ctx.capabilities.require(name, scope)
    CONTEXTS.append(ctx)
    return ctx


#: The frame of a tool server as a process: ``on(message)`` of the script gives a result, or ``...`` when it wrote by itself.
FRAME = """
import json, os, signal, sys, time
def send(message):
    sys.stdout.write(json.dumps(message) + "\\n")
    sys.stdout.flush()
def read():
    line = sys.stdin.readline()
    if not line:
        raise SystemExit
    return json.loads(line)
def main():
    while True:
        message = read()
        if message.get("method") == "initialize":
            send({"jsonrpc": "2.0", "id": message["id"], "result": HELLO})
        elif "id" in message and "method" in message:
            result = on(message)
            if result is not ...:
                send({"jsonrpc": "2.0", "id": message["id"], "result": result})
def text(value):
    return {"content": [{"type": "text", "text": str(value)}]}
"""


def script(body: str) -> dict[str, Any]:
    """The options that start such a server with Python (``COMMAND``)."""
    return {"args": ["-c", f"HELLO = {HELLO!r}\n{FRAME}\n{body}\nmain()"], "timeout": 20}


COMMAND = sys.executable
