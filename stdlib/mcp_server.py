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
from language.values.schemas import Misfit, holds_exact, read
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
    result becomes the text of the answer, a list or map as JSON. What it raises becomes the text of an answer with `isError`,
    which the agent can read. Other errors inside, such as a missing file, may contain details of the service: under
    `lang serve` the agent only reads that the tool failed, and the cause and its place are written to standard error, as for a
    500. With `PLATFORM_DEV=1`, with `--watch` and without a server the agent reads the cause too. Decide access rights by
    `user` alone, which no argument can replace.

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
    unless the body of the request contains exactly one such call.
    """
    if ctx.exchange is None:
        return None
    sent = ctx.exchange.exact_json()
    found = []
    for message in sent if type(sent) is list else [sent]:
        try:
            if message["id"] == call.ident and message["params"]["name"] == call.name:
                found.append(message["params"]["arguments"])
        except (KeyError, TypeError):
            pass
    return found[0] if len(found) == 1 else None


def _answer(ctx: Context, call: ToolCall, tool: Tool, user: Any) -> None:
    """Runs a tool if its arguments are valid."""
    exact = _exact(ctx, call) if any(map(holds_exact, tool.params.values())) else None
    try:
        arguments = read(tool.params, call.arguments, exact)
    except Misfit as misfit:
        call.refuse(misfit.told("argument"))
        return
    if call.state is None and not call.modes:
        call.give(_outcome(ctx, call.stateless, tool, arguments, user))
        return
    from stdlib.mcp_gates import carry_out

    begun = ctx.exchange

    def later(child: Context, run: Any, given: dict[str, Any], who: Any) -> dict[str, Any]:
        return _outcome(child, True, tool, given, who, run, begun)

    carry_out(ctx, call, user, tool.run, arguments, later)


def _outcome(
    ctx: Context,
    structured: bool,
    tool: Tool,
    arguments: dict[str, Any],
    user: Any,
    run: Any = None,
    exchange: Exchange | None = None,
) -> dict[str, Any]:
    """Runs the tool, or the copy ``run`` of its task, with the least privilege, as ``call_tool`` does.

    Errors of the program become the tool's result; a cancellation of the handler (limits, the end of a request) is raised. With
    ``structured`` the result also contains a list or map as structured content. ``exchange`` is the request of the call, if it
    is not that of the context.
    """
    capabilities = ctx.capabilities
    capabilities.enter(capabilities.held(declared_set(tool.run)), tool.run)
    try:
        value = callback(tool.run if run is None else run, 2)(arguments, user)
        text = _text(ctx, value)
        outcome: dict[str, Any] = {"content": [{"type": "text", "text": text}]}
        if structured and (type(value) is list or as_map(value) is not None):
            from language.values.json_decoding import decode_exact

            # decoded from the text, to the digit, so that it has no secrets and only JSON types
            outcome["structuredContent"] = decode_exact(text, "mcp_reply: the result", "result")
        return outcome
    except Exception as failure:
        if ctx.exchange is not None:  # the client reads the result, and nobody else
            tell_refused(ctx, tool.name, failure)
        told = _told(ctx.exchange if exchange is None else exchange, tool, failure)
        return {"content": [{"type": "text", "text": told}], "isError": TRUE}
    finally:
        capabilities.leave()


def _told(exchange: Exchange | None, tool: Tool, failure: Exception) -> str:
    """What the client reads of an error inside of a tool: what the program raised, and the cause of any other one only where
    the bodies of replies name causes. The operator always reads that one.
    """
    from language.runtime.python_errors import located

    fault = located(failure)
    if exchange is not None and fault.kind != "raised":
        if exchange.report is not None:
            exchange.report(f"tool '{tool.name}' failed: {fault}", exchange)
        if not exchange.detailed:
            return _FAILED.get(fault.kind, _FAILED_INSIDE)
    return caught(failure)


#: What a client is told of an error of the runtime, by its kind: enough to act on, and nothing of the service.
_FAILED_INSIDE = "the tool failed inside; the operator of this server finds the cause in its log"
_FAILED: dict[str, str] = {
    "capability": "the tool may not do this on this server; the operator finds the cause in its log",
    "network": "the tool could not use another service; try again later",
    "timeout": "the tool took too long; try again later",
}


def _text(ctx: Context, value: Any) -> str:
    if type(value) is not list and as_map(value) is None:
        return display(value)
    from language.values.json_encoding import encode
    from stdlib.json_format import warn_of_secret

    return encode(value, "mcp_reply", warn_of_secret(ctx, "mcp_reply"))
