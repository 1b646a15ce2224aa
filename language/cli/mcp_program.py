"""``lang mcp FILE``: an MCP server on standard input and output for the tools that a program offers at a route.

Each message is passed to the route that gives ``mcp_reply``, as a request in handler mode. The same rules hold as over HTTP.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from language.cli.arguments import Arguments, UsageError, clean
from language.cli.error_detail import with_detail
from language.cli.mcp_stream import MessageStream
from language.cli.message_turns import MessageTurns, cancelled_id
from language.cli.run import env_file
from language.cli.source import not_utf8, read_source
from language.cli.streams import CommandHost, err
from language.errors import LanguageError
from language.mcp.protocol import INTERNAL_ERROR, PARSE_ERROR, error

if TYPE_CHECKING:
    from language.program import Program

#: Seconds for what is still being answered when the client closes its end. Then it is cancelled.
GRACE = 10.0


def serve_program(arguments: Arguments, path: str) -> int:
    """Answers until the client closes its end."""
    from language.program import Program
    from language.syntax.lexer import decode_source

    if path == "-":
        raise UsageError("mcp", "standard input carries the messages of the client: name a file", usage=False)
    arguments.ceiling()
    source = read_source(path, "mcp")
    try:
        text = decode_source(source.data)
    except UnicodeDecodeError:
        raise not_utf8(source.name, "mcp") from None
    try:
        route = arguments.values.get("--route") or _route(text, source.name)
    except LanguageError as wrong:
        err(str(wrong))
        return 1
    if not route:
        err(
            f"lang mcp: {source.name} has no single route that gives mcp_reply: write one such as "
            'route "POST /mcp" (docs/mcp.md), or say which with --route PATH'
        )
        return 1
    headers = {"content-type": "application/json", **_authorization(arguments)}
    ceiling = "sandbox" if arguments.given("--sandbox") else arguments.values.get("--cap-set")
    stream = MessageStream()
    host = CommandHost(env_file(arguments), stdin_taken=True)

    def started() -> Program:
        return Program(text, filename=source.name, ceiling=ceiling, host=host, error_detail=with_detail())

    _Server(stream, started, route, headers).serve()
    return 0


class _Server:
    """Passes the messages of a stream to a route of a program, one after another."""

    def __init__(self, stream: MessageStream, started: Callable[[], Program], route: str, headers: dict[str, str]) -> None:
        self._stream = stream
        self._started = started
        self._program = started()
        self._request = {"method": "POST", "path": route, "headers": headers}

    def serve(self) -> None:
        """Answers until the client closes its end, and then those requests that came before."""
        turns = MessageTurns(self._answer)
        try:
            for message in self._stream.messages():
                ident = cancelled_id(message)
                if ident is not None:
                    turns.cancel(ident)
                elif message is None:
                    self._stream.send(error(None, PARSE_ERROR, "parse error"))
                elif turns.busy and _is_ping(message):
                    self._stream.send({"jsonrpc": "2.0", "id": message["id"], "result": {}})
                else:
                    turns.take(message)
        except OSError:  # the client has stopped reading
            turns.finish(0)
        turns.finish(GRACE)

    def _answer(self, message: Any) -> None:
        request = {**self._request, "body": json.dumps(message)}
        try:
            try:
                answer = self._program.handle(request)
            except RuntimeError:  # the call before was cancelled, and the program has not noticed its end
                self._program = self._started()
                answer = self._program.handle(request)
            for line in (*answer["log"], *answer["errors"]):
                err(line)
            _send(self._stream, message, answer)
        except OSError:
            return  # the client has stopped reading


def _is_ping(message: Any) -> bool:
    return isinstance(message, dict) and message.get("method") == "ping" and isinstance(message.get("id"), (str, int))


def _send(stream: MessageStream, message: Any, answer: dict[str, Any]) -> None:
    body = answer["body"]
    try:
        reply = json.loads(body) if body else None
    except ValueError:
        reply = None
    if isinstance(reply, list) or (isinstance(reply, dict) and reply.get("jsonrpc") == "2.0"):
        stream.send(reply)
    elif answer["status"] != 202 and isinstance(message, dict) and "id" in message:
        why = f"the program answered with status {answer['status']}"
        if answer["status"] == 401:
            why += ": it wants a token; name the variable that holds one with --token-env"
        stream.send(error(message["id"], INTERNAL_ERROR, why))


def _route(text: str, name: str) -> str:
    """The path of the only route of a program that gives ``mcp_reply``; empty if there is none or more than one."""
    from language.syntax import nodes
    from language.syntax.parser import parse
    from language.syntax.walk import descend

    found = [
        route.path
        for route in descend(parse(text, name))
        if isinstance(route, nodes.Route)
        and route.method == "POST"
        and any(isinstance(node, nodes.Name) and node.id == "mcp_reply" for node in descend(route.body))
    ]
    return found[0] if len(found) == 1 else ""


def _authorization(arguments: Arguments) -> dict[str, str]:
    name = arguments.values.get("--token-env")
    if name is None:
        return {}
    token = os.environ.get(name, "")
    if not token or not token.isprintable():
        raise UsageError("mcp", f"--token-env: the variable '{clean(name)}' holds no token", usage=False)
    return {"authorization": f"Bearer {token}"}
