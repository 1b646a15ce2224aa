"""Offering tools to agents: one route of a program as a server of the Model Context Protocol (JSON-RPC 2.0 over HTTP).

Nothing here holds state or serves by itself: a message comes in, the value that a route gives goes out.
"""

from __future__ import annotations

from language.capabilities.grants import declared_set
from language.mcp.exchange import ToolExchange, ToolOffer
from language.mcp.protocol import INVALID_REQUEST, error
from language.registry import Family
from language.runtime.calls import callback
from language.runtime.intrinsics import caught
from language.values import TRUE, as_map, type_of
from language.values.display import display
from stdlib.mcp_tools import Tool, server_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.mcp.exchange import ToolCall
    from language.runtime.context import Context
    from language.serve.exchange import Exchange
    from language.serve.response_values import ResponseValue

family = Family("mcp_server", "Tool server (MCP)")


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

    Versions with `initialize` (`2025-11-25` to `2024-11-05`) and `2026-07-28`, which has none, are answered side by side.

    As the protocol asks of its servers, a request with an `Origin` of another host is answered 403, unless `cors` in the serve
    block allows that origin. One with an `MCP-Protocol-Version` that is not known is answered 400, and so is one whose fields
    `Mcp-Method` and `Mcp-Name` do not say what its body says: the tool does not run.

    A fault in `server` is an error of the program, at every call.
    """
    from language.serve.response_values import text_response

    offered = server_of(server)
    if ctx.exchange is not None:
        refused = _refused(ctx.exchange)
        if refused is not None:
            return refused
    offer = ToolOffer(
        offered.name, offered.version, [tool.listed() for tool in offered.tools.values()], instructions=offered.instructions
    )
    exchange = ToolExchange(message, offer, None if ctx.exchange is None else ctx.exchange.request.field)
    for call in exchange.calls:
        _answer(ctx, call, offered.tools[call.name], user)
    status, body = exchange.reply()
    if body is None:
        return text_response("", "application/json", status)
    if status == 200 and type(body) is dict:
        return body
    from language.values.json_encoding import encode

    return text_response(encode(body, "mcp_reply"), "application/json", status)


def _refused(exchange: Exchange) -> ResponseValue | None:
    """The reply to a request that its origin forbids to answer, whatever the message."""
    from language.serve.origins import foreign_origin
    from language.serve.response_values import text_response
    from language.values.json_encoding import encode

    why = foreign_origin(exchange.request, exchange.cors)
    if why is None:
        return None
    return text_response(encode(error(None, INVALID_REQUEST, why), "mcp_reply"), "application/json", 403)


def _answer(ctx: Context, call: ToolCall, tool: Tool, user: Any) -> None:
    """Runs a tool, unless its arguments are not what it takes."""
    arguments: dict[str, Any] = {}
    for param in tool.params:
        value = call.arguments.get(param.name)
        if value is None and not param.required:
            continue
        if param.name not in call.arguments:
            call.refuse(f"missing argument '{param.name}'")
            return
        if not param.takes(value):
            call.refuse(f"argument '{param.name}' must be {param.type}, got {type_of(value)}")
            return
        arguments[param.name] = value
    call.give(_outcome(ctx, tool, arguments, user))


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
