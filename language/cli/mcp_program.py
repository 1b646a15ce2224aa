"""``lang mcp FILE``: the tools of a program, which it offers at a route, on standard input and output.

Each message is handed to the route that gives ``mcp_reply``, as a request without a server: what holds over HTTP holds here.
"""

from __future__ import annotations

import json
import os
from typing import Any

from language.cli.arguments import Arguments, UsageError, clean
from language.cli.error_detail import with_detail
from language.cli.mcp_stream import MessageStream
from language.cli.run import env_file
from language.cli.source import not_utf8, read_source
from language.cli.streams import CommandHost, err
from language.errors import LanguageError
from language.mcp.protocol import INTERNAL_ERROR, PARSE_ERROR, error


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
    program = Program(text, filename=source.name, ceiling=ceiling, host=host, error_detail=with_detail())
    for message in stream.messages():
        if message is None:
            stream.send(error(None, PARSE_ERROR, "parse error"))
            continue
        answer = program.handle({"method": "POST", "path": route, "headers": headers, "body": json.dumps(message)})
        for line in (*answer["log"], *answer["errors"]):
            err(line)
        _send(stream, message, answer)
    return 0


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
    """The path of the one route of a program that gives ``mcp_reply``; empty where there is none or more than one."""
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
