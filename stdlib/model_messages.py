"""The messages of a conversation with a model as maps of a program, and back."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.models.conversation import ROLES, Call, ChatMessage
from language.values import TRUE, Bool, as_map, type_of
from language.values.display import display, quote
from language.values.json_encoding import encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from language.models.conversation import TokenUsage

_MEMBERS = ("role", "content", "calls", "call_id", "failed", "opaque")


def read_messages(who: str, value: Any) -> list[ChatMessage]:
    """The messages that a program passes. A text is one message of the user. A list contains maps with ``role`` and
    ``content``, and optionally ``calls``, ``call_id``, ``failed`` and ``opaque``.

    Secrets in a text are shown by their names. Raises ``RuntimeFault`` that begins with ``who`` and names the message.
    """
    if type(value) is not list:
        return [ChatMessage("user", display(value))]
    return [_message(f"{who}: message {number}", entry) for number, entry in enumerate(value, 1)]


def check_answered(who: str, messages: Iterable[ChatMessage]) -> None:
    """Raises ``RuntimeFault`` unless each call in the messages has exactly one result."""
    waiting: dict[str, int] = {}
    for number, message in enumerate(messages, 1):
        if message.role == "tool":
            if waiting.pop(message.call_id or "", None) is None:
                raise RuntimeFault(f"{who}: message {number} is the result of a call that no message before it asks for")
            continue
        for asked in waiting.items():
            raise RuntimeFault(f"{who}: message {asked[1]} asks for the call {quote(asked[0])}, which has no result")
        waiting = {call.id: number for call in message.calls}
    for asked in waiting.items():
        raise RuntimeFault(f"{who}: message {asked[1]} asks for the call {quote(asked[0])}, which has no result")


def message_map(message: ChatMessage) -> dict[str, Any]:
    """A message as a map for the program."""
    shown: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.calls:
        shown["calls"] = [call_map(call) for call in message.calls]
    if message.call_id is not None:
        shown["call_id"] = message.call_id
    if message.failed:
        shown["failed"] = TRUE
    if message.opaque is not None:
        shown["opaque"] = message.opaque
    return shown


def call_map(call: Call) -> dict[str, Any]:
    """A call as a map for the program. If its arguments cannot be read, ``args`` is ``nothing`` and ``raw`` has their text."""
    shown: dict[str, Any] = {"id": call.id, "name": call.name, "args": call.args}
    if call.args is None:
        shown["raw"] = call.raw
    return shown


def usage_map(used: TokenUsage) -> dict[str, Any]:
    """The tokens of a call as a map for the program."""
    return {"input": used.input, "output": used.output, "cached": used.cached, "reasoning": used.reasoning}


def _message(who: str, value: Any) -> ChatMessage:
    fields = as_map(value)
    if fields is None:
        raise RuntimeFault(f"{who} must be a map of role and content, got {type_of(value)}", kind="type")
    for name in fields:
        if name not in _MEMBERS:
            raise RuntimeFault(f"{who} has an unknown member {quote(name)} (members: {', '.join(_MEMBERS)})")
    role = fields.get("role")
    if type(role) is not str or role not in ROLES:
        raise RuntimeFault(f"{who}: 'role' must be one of {', '.join(ROLES)}")
    call_id, opaque, failed = fields.get("call_id"), fields.get("opaque"), fields.get("failed")
    for name, given in (("call_id", call_id), ("opaque", opaque)):
        if given is not None and type(given) is not str:
            raise RuntimeFault(f"{who}: '{name}' must be text, got {type_of(given)}")
    if (role == "tool") != (call_id is not None):
        raise RuntimeFault(f"{who}: 'call_id' belongs to a message with the role tool, and to no other")
    calls = fields.get("calls")
    if calls is not None and (type(calls) is not list or role != "assistant"):
        raise RuntimeFault(f"{who}: 'calls' must be a list, in a message with the role assistant")
    content = fields.get("content")
    return ChatMessage(
        role,
        "" if content is None else display(content),
        tuple(_call(f"{who}, call {number}", entry) for number, entry in enumerate(calls or (), 1)),
        call_id,
        type(failed) is Bool and bool(failed),
        opaque,
    )


def _call(who: str, value: Any) -> Call:
    fields = as_map(value)
    if fields is None or type(fields.get("id")) is not str or type(fields.get("name")) is not str:
        raise RuntimeFault(f"{who} must be a map of the texts id and name, and of args", kind="type")
    args, raw = fields.get("args"), fields.get("raw")
    if args is None:
        return Call(fields["id"], fields["name"], None, raw if type(raw) is str else "")
    given = as_map(args)
    if given is None:
        raise RuntimeFault(f"{who}: 'args' must be a map, got {type_of(args)}", kind="type")
    return Call(fields["id"], fields["name"], given, encode(given, who))
