"""One step of a model with tools: ``llm_step``. The program runs the tool itself."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.registry import Family
from language.values import as_map, type_of
from language.values.display import display

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.models.conversation import Call, ChatMessage, ModelRequest, Offer
    from language.runtime.context import Context
    from language.values.schemas import Schema

family = Family("llm_steps", "Model steps")

NO_PROVIDER = "[no llm provider]"
_MEMBERS = ("name", "describe", "params")
#: The most parameters of one tool, more than any provider accepts.
_MOST_PARAMS = 1_000


@family.builtin("llm_step(prompt, catalog, context)", capability="llm", context=True)
def llm_step(ctx: Context, prompt: Any, catalog: Any, context: Any) -> dict[str, Any]:
    """Asks the model once which tool to call: `{"kind": "tool", "name", "args", "tokens"}`, or
    `{"kind": "final", "text", "tokens"}`. The program runs the tool and asks again; `tool_loop` does both.

    `catalog` is a list of `{"name", "describe", "params"}`. With a list of names as `params` each argument is text. With a map
    as for `mcp_reply` (`{"count": {"type": "integer"}}`) the arguments are typed; if they are not valid, `args` is empty and
    `problem` says why.

    `context` is a text, `""` for none: what happened so far. Or it is a list of messages, `{role, content}`: then the result
    has also `calls` (all of them, each `{id, name, args}`), `messages` (with the model's own at the end) and `stop`. Before
    the next step the program adds the result of each call: `{"role": "tool", "call_id": id, "content": text}`.

    If the model fails, the result with a text as context is a `final` with the error in brackets; with messages it is an error.

    `llm_step("How warm is it?", [{"name": "weather", "describe": "the weather", "params": ["city"]}], "")`
    """
    ctx.check("llm", None)
    offered = offered_tools("llm_step", catalog)
    offers = tuple(offer for offer, _ in offered.values())
    schemas = {name: schema for name, (_, schema) in offered.items()}
    if type(context) is list:
        return _with_messages(ctx, display(prompt), offers, schemas, context)
    return _with_text(ctx, display(prompt), offers, schemas, display(context))


def _with_text(
    ctx: Context, prompt: str, offers: tuple[Offer, ...], schemas: dict[str, Schema | None], context: str
) -> dict[str, Any]:
    from language.host.llm import converse, notice_no_model
    from language.models.conversation import ChatMessage, ModelFault

    if ctx.host.llm is None:
        notice_no_model(ctx)
        return {"kind": "final", "text": NO_PROVIDER, "tokens": 0}
    asked = f"{prompt}\n{context}" if context else prompt
    try:
        reply = converse(ctx, _request([ChatMessage("user", asked)], offers, prompt, context))
    except ModelFault as fault:
        return {"kind": "final", "text": fault.marker, "tokens": 0}
    tokens = reply.usage.total
    told = None if ctx.host.llm.provider or reply.calls else _told(reply.text)
    text = reply.text if told is None else told.content
    calls = reply.calls if told is None else told.calls
    if not calls or not offers:
        return {"kind": "final", "text": text, "tokens": tokens}
    first = calls[0]
    if schemas.get(first.name) is None:
        texts = {name: _as_text(value) for name, value in (first.args or {}).items()}
        return {"kind": "tool", "name": first.name, "args": texts, "tokens": tokens}
    return {"kind": "tool", **typed_call(first, schemas), "tokens": tokens}


def _with_messages(
    ctx: Context, prompt: str, offers: tuple[Offer, ...], schemas: dict[str, Schema | None], context: list[Any]
) -> dict[str, Any]:
    from language.host.llm import converse
    from language.models.conversation import ChatMessage
    from stdlib.model_messages import check_answered, message_map, read_messages

    messages = read_messages("llm_step", context)
    if prompt:
        messages.append(ChatMessage("user", prompt))
    check_answered("llm_step", messages)
    reply = converse(ctx, _request(messages, offers, prompt, [message_map(message) for message in messages]))
    given: dict[str, Any] = {"kind": "final", "text": reply.text, "tokens": reply.usage.total}
    calls = [{"id": call.id, **typed_call(call, schemas)} for call in reply.calls]
    if calls:
        given.update(kind="tool", name=calls[0]["name"], args=calls[0]["args"])
    return {
        **given,
        "calls": calls,
        "messages": [message_map(message) for message in [*messages, reply.message]],
        "stop": reply.stop,
    }


def _request(messages: list[ChatMessage], offers: tuple[Offer, ...], prompt: str, context: Any) -> ModelRequest:
    """The request; an embedder's hook gets it as a JSON text."""
    from language.models.conversation import ModelRequest
    from language.values.json_encoding import encode

    tools = [{"name": offer.name, "describe": offer.describe, "params": list(offer.schema["properties"])} for offer in offers]
    said = encode({"prompt": prompt, "tools": tools, "context": context}, "llm_step")
    return ModelRequest(tuple(messages), offers=offers, operation="step", said=said)


def offered_tools(who: str, value: Any) -> dict[str, tuple[Offer, Schema | None]]:
    """The offers by name. The schema is ``None`` for a tool whose arguments are texts. Error messages begin with ``who``."""
    from language.models.conversation import Offer
    from language.values.schemas import Param, members, object_schema, params_of, text_member

    if type(value) is not list:
        raise RuntimeFault(f"{who}: the catalog must be a list of tools, got {type_of(value)}", kind="type")
    found: dict[str, tuple[Offer, Schema | None]] = {}
    for number, entry in enumerate(value, 1):
        place = f"{who}: tool {number}"
        fields = members(place, entry, ("name",), ("describe", "params"))
        name = text_member(place, "name", fields["name"])
        describe = text_member(place, "describe", fields.get("describe", ""))
        params = fields.get("params", [])
        if name in found:
            raise RuntimeFault(f"{place}: the name '{name}' occurs twice in the catalog")
        if type(params) in (list, dict) and len(params) > _MOST_PARAMS:
            raise RuntimeFault(f"{place}: at most {_MOST_PARAMS:,} parameters, got {len(params):,}")
        if type(params) is list:
            if not all(type(param) is str for param in params):
                raise RuntimeFault(f"{place}: member 'params' must be a list of names, or a map of name to type")
            found[name] = Offer(name, describe, object_schema({param: Param("text") for param in params})), None
        else:
            schema = params_of(place, params)
            found[name] = Offer(name, describe, object_schema(schema)), schema
    return found


def typed_call(call: Call, schemas: dict[str, Schema | None]) -> dict[str, Any]:
    """Name and arguments of a call; the arguments are typed if the tool has a schema."""
    from language.values.schemas import Misfit, read
    from stdlib.loop_tools import exact_arguments

    schema = schemas.get(call.name)
    if call.args is None:
        return {"name": call.name, "args": {}, "problem": "the arguments are not a JSON object"}
    if schema is None:
        return {"name": call.name, "args": call.args}
    try:
        return {"name": call.name, "args": read(schema, call.args, exact_arguments(call))}
    except Misfit as misfit:
        return {"name": call.name, "args": {}, "problem": misfit.told("argument")}


def _told(text: str) -> ChatMessage | None:
    """The step in a JSON text that an embedder's hook returned; ``None`` if the text is the final answer."""
    from language.models.conversation import Call, ChatMessage
    from language.values.json_decoding import parse
    from language.values.json_encoding import encode

    if not text.lstrip().startswith("{"):
        return None
    try:
        step = as_map(parse(text))
    except ValueError:
        return None
    if step is None:
        return None
    if step.get("kind") == "final":
        return ChatMessage("assistant", display(step.get("text", "")))
    if step.get("kind") != "tool" or type(step.get("name")) is not str:
        return None
    args = as_map(step.get("args", {}))
    return ChatMessage("assistant", "", (Call("call_1", step["name"], args, "" if args is None else encode(args)),))


def _as_text(value: Any) -> str:
    from language.values.json_encoding import encode

    return value if type(value) is str else encode(value, "llm_step")
