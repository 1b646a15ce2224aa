"""Offers tools to agents: one route of a program as a server of the Model Context Protocol (JSON-RPC 2.0 over HTTP).

This module holds no state and no connection: it takes a message and returns the value of the route's ``give``.
"""

from __future__ import annotations

from language.capabilities.grants import declared_set
from language.mcp.exchange import ToolExchange, ToolOffer
from language.mcp.protocol import INVALID_REQUEST, error
from language.registry import Family
from language.runtime.calls import callback
from language.runtime.intrinsics import caught
from language.values import TRUE, as_map
from language.values.display import display
from language.values.schemas import Misfit, holds_decimals, read
from stdlib.mcp_tools import Tool, server_of
from stdlib.tools import tell_refused

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
    """The reply of a route to one message of a tool client: `give mcp_reply(request.json, server, request.user)`.

    `server` is a map of `name`, `version` (texts), `tools` and perhaps `instructions` (text). `tools` is a map of tool name
    (letters, digits, `_`, `-`) → `{description, params, run, annotations}`. `params` is a map of argument name →
    `{type, description, required, enum, default, items, params}`: the type is `text`, `number`, `integer`, `decimal`, `bool`,
    `list`, `map`, `date`, `datetime` or `duration`; `enum` lists the values that it may have; `items` describes each element
    of a list in the same way, `params` the values of a map. An argument is required unless `"required": false` or a `default`
    says otherwise. A `decimal` is a JSON number taken exactly, a `date`, `datetime` or `duration` a text in ISO 8601. A tool
    without arguments has no `params`. `annotations`, a map, is passed on as it is.

    `run` is a task or lambda. It is called as `run(arguments)`, or as `run(arguments, user)` when it has two parameters, with
    exactly those capabilities that its own leading `require` lines declare and the program holds, as with `call_tool`. Its
    result becomes the text of the answer, a list or map as JSON; an error inside becomes an answer with `isError`, which the
    agent can read. Decide access rights by `user` alone, which no argument can replace.

    Both kinds of protocol versions are supported: those with `initialize` (`2025-11-25` to `2024-11-05`), and `2026-07-28`
    without it. A client of `2026-07-28` gets a list or map as `structuredContent` too, and shows the gates of a tool to its
    user if it declares `elicitation`; it never decides an `approve` or `confirm` itself.

    As the protocol requires, a request with an `Origin` of another host is answered 403, unless `cors` in the serve block
    allows that origin. A request with an unknown `MCP-Protocol-Version` is answered 400, and so is one whose fields
    `Mcp-Method` and `Mcp-Name` contradict its body; the tool does not run.

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
    exchange = ToolExchange(message, offer, None if ctx.exchange is None else ctx.exchange.request.combined_field)
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
    """The reply to any request whose origin is not allowed."""
    from language.serve.origins import foreign_origin
    from language.serve.response_values import text_response
    from language.values.json_encoding import encode

    why = foreign_origin(exchange.request, exchange.cors)
    if why is None:
        return None
    return text_response(encode(error(None, INVALID_REQUEST, why), "mcp_reply"), "application/json", 403)


def _exact(ctx: Context, call: ToolCall) -> Any:
    """The arguments of a call with each number that has a point or an exponent as the text that the client sent; ``None``
    unless the message is the whole body of the request.
    """
    if ctx.exchange is None:
        return None
    try:
        params = ctx.exchange.exact_json()["params"]
        return params["arguments"] if params["name"] == call.name else None
    except (KeyError, TypeError, ValueError):
        return None


def _answer(ctx: Context, call: ToolCall, tool: Tool, user: Any) -> None:
    """Runs a tool if its arguments are valid."""
    exact = _exact(ctx, call) if any(map(holds_decimals, tool.params.values())) else None
    try:
        arguments = read(tool.params, call.arguments, exact)
    except Misfit as misfit:
        call.refuse(misfit.told("argument"))
        return
    if call.state is None and not call.modes:
        call.give(_outcome(ctx, call.stateless, tool, arguments, user))
        return
    from stdlib.mcp_gates import carry_out

    carry_out(ctx, call, user, tool.run, arguments, lambda child, run, given, who: _outcome(child, True, tool, given, who, run))


def _outcome(
    ctx: Context, structured: bool, tool: Tool, arguments: dict[str, Any], user: Any, run: Any = None
) -> dict[str, Any]:
    """Runs the tool, or the copy ``run`` of its task, with the least privilege, as ``call_tool`` does.

    Errors of the program become the tool's result; a cancellation of the handler (limits, the end of a request) is raised. With
    ``structured`` the result also contains a list or map as structured content.
    """
    capabilities = ctx.capabilities
    capabilities.enter(capabilities.held(declared_set(tool.run)), tool.run)
    try:
        value = callback(tool.run if run is None else run, 2)(arguments, user)
        text = _text(ctx, value)
        outcome: dict[str, Any] = {"content": [{"type": "text", "text": text}]}
        if structured and (type(value) is list or as_map(value) is not None):
            from language.values.json_decoding import decode

            outcome["structuredContent"] = decode(text)  # decoded from the text, so that it has no secrets and only JSON types
        return outcome
    except Exception as failure:
        if ctx.exchange is not None:  # a client reads the result, and nobody else
            tell_refused(ctx, tool.name, failure)
        return {"content": [{"type": "text", "text": caught(failure)}], "isError": TRUE}
    finally:
        capabilities.leave()


def _text(ctx: Context, value: Any) -> str:
    if type(value) is not list and as_map(value) is None:
        return display(value)
    from language.values.json_encoding import encode
    from stdlib.json_format import warn_of_secret

    return encode(value, "mcp_reply", warn_of_secret(ctx, "mcp_reply"))
