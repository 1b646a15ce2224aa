"""Offering tools to agents: one route of a program as a server of the Model Context Protocol (JSON-RPC 2.0 over HTTP).

Nothing here holds state or serves by itself: a message comes in, the value that a route gives goes out.
"""

from __future__ import annotations

from language.capabilities.grants import declared_set
from language.registry import Family
from language.runtime.calls import callback
from language.runtime.intrinsics import caught
from language.values import TRUE, as_map, type_of
from language.values.display import display
from stdlib.mcp_protocol import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    VERSIONS,
    error,
    is_id,
    is_response,
    result,
)
from stdlib.mcp_tools import Tool, ToolServer, server_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.runtime.context import Context
    from language.serve.exchange import Exchange
    from language.serve.response_values import ResponseValue

family = Family("mcp_server", "Tool server (MCP)")

_MOST_IN_BATCH = 100


@family.builtin("mcp_reply(message, server, user?)", context=True)
def mcp_reply(ctx: Context, message: Any, server: Any, user: Any = None) -> dict[str, Any] | ResponseValue:
    """What a route gives for one message of a tool client: `give mcp_reply(request.json, server, request.user)`.

    `server` is a map of `name`, `version` (texts), `tools` and perhaps `instructions` (text). `tools` is a map of tool name
    (letters, digits, `_`, `-`) → `{description, params, run}`. `params` is a map of argument name → `{type, description,
    required}`: the type is `text`, `number`, `bool`, `list` or `map`, and an argument is required unless `"required": false`;
    a tool without arguments has no `params`.

    `run` is a task or lambda. It is called as `run(arguments)`, or as `run(arguments, user)` when it has two parameters, with
    exactly those capabilities that its own leading `require` lines declare and the program holds, as with `call_tool`. What it
    gives becomes the text of the answer, a list or map as JSON; an error inside becomes an answer with `isError`, which the
    agent can read. Rows and rights follow from `user` alone: nothing in the arguments can replace it.

    As the protocol asks of its servers, a request with an `Origin` of another host is answered 403, unless `cors` in the serve
    block allows that origin, and one with an `MCP-Protocol-Version` that is not known 400.

    A fault in `server` is an error of the program, at every call.
    """
    from language.serve.response_values import text_response

    offered = server_of(server)
    if ctx.exchange is not None:
        refused = _refused(ctx.exchange)
        if refused is not None:
            return refused
    if type(message) is list:
        if not 0 < len(message) <= _MOST_IN_BATCH:
            return error(None, INVALID_REQUEST, "invalid request")
        replies = [reply for item in message if (reply := _answer(ctx, item, offered, user)) is not None]
        if replies:
            from language.values.json_encoding import encode

            return text_response(encode(replies, "mcp_reply"), "application/json")
    elif message is None:
        return error(None, PARSE_ERROR, "parse error")
    else:
        reply = _answer(ctx, message, offered, user)
        if reply is not None:
            return reply
    return text_response("", "application/json", 202)


def _refused(exchange: Exchange) -> ResponseValue | None:
    """The reply to a request that its header fields forbid to answer, whatever the message."""
    from language.serve.origins import foreign_origin
    from language.serve.response_values import text_response
    from language.values.json_encoding import encode

    status, why = 403, foreign_origin(exchange.request, exchange.cors)
    version = exchange.request.field("mcp-protocol-version")
    if why is None and version is not None and version not in VERSIONS:
        status, why = 400, f"unsupported protocol version: this server speaks {', '.join(VERSIONS)}"
    if why is None:
        return None
    return text_response(encode(error(None, INVALID_REQUEST, why), "mcp_reply"), "application/json", status)


def _answer(ctx: Context, message: Any, server: ToolServer, user: Any) -> dict[str, Any] | None:
    """The reply to one message; ``None`` to a notification or a response."""
    fields = as_map(message)
    if fields is None:
        return error(None, INVALID_REQUEST, "invalid request")
    ident = fields.get("id")
    if not is_id(ident):
        return error(None, INVALID_REQUEST, "invalid request")
    responds = is_response(fields)
    method = fields.get("method")
    if fields.get("jsonrpc") != "2.0" or not (responds or type(method) is str):
        return error(ident, INVALID_REQUEST, "invalid request")
    if responds or "id" not in fields:
        return None
    if method not in ("initialize", "ping", "tools/list", "tools/call"):
        return error(ident, METHOD_NOT_FOUND, "method not found")
    params = as_map(fields.get("params", {}))
    if params is None:
        return error(ident, INVALID_PARAMS, "params must be a map")
    if method == "ping":
        return result(ident, {})
    if method == "initialize":
        return result(ident, _introduction(server, params.get("protocolVersion")))
    if method == "tools/list":
        return result(ident, {"tools": [tool.listed() for tool in server.tools.values()]})
    return _call(ctx, ident, params, server, user)


def _introduction(server: ToolServer, asked: Any) -> dict[str, Any]:
    introduction = {
        "protocolVersion": asked if type(asked) is str and asked in VERSIONS else VERSIONS[0],
        "capabilities": {"tools": {}},
        "serverInfo": {"name": server.name, "version": server.version},
    }
    if server.instructions is not None:
        introduction["instructions"] = server.instructions
    return introduction


def _call(ctx: Context, ident: Any, params: dict[str, Any], server: ToolServer, user: Any) -> dict[str, Any]:
    name = params.get("name")
    tool = server.tools.get(name) if type(name) is str else None
    if tool is None:
        return error(ident, INVALID_PARAMS, "unknown tool")
    given = params.get("arguments")
    given = {} if given is None else as_map(given)
    if given is None:
        return error(ident, INVALID_PARAMS, "arguments must be a map")
    arguments: dict[str, Any] = {}
    for param in tool.params:
        value = given.get(param.name)
        if value is None and not param.required:
            continue
        if param.name not in given:
            return error(ident, INVALID_PARAMS, f"missing argument '{param.name}'")
        if not param.takes(value):
            wrong = f"argument '{param.name}' must be {param.type}, got {type_of(value)}"
            return error(ident, INVALID_PARAMS, wrong)
        arguments[param.name] = value
    return result(ident, _outcome(ctx, tool, arguments, user))


def _outcome(ctx: Context, tool: Tool, arguments: dict[str, Any], user: Any) -> dict[str, Any]:
    """Runs the tool under the least privilege of ``call_tool``. Errors of the program are its answer; whatever ends the
    handler (limits, the end of a request) passes.
    """
    capabilities = ctx.capabilities
    capabilities.enter(capabilities.held(declared_set(tool.run)))
    try:
        value = callback(tool.run, 2)(arguments, user)
        return {"content": [{"type": "text", "text": _text(ctx, value)}]}
    except Exception as failure:
        return {"content": [{"type": "text", "text": caught(failure)}], "isError": TRUE}
    finally:
        capabilities.leave()


def _text(ctx: Context, value: Any) -> str:
    if type(value) is not list and as_map(value) is None:
        return display(value)
    from language.values.json_encoding import encode
    from stdlib.json_format import warn_of_secret

    return encode(value, "mcp_reply", warn_of_secret(ctx, "mcp_reply"))
