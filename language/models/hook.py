"""The model of an embedder: a hook function."""

from __future__ import annotations

from language.models.conversation import Call, ChatMessage, Model, ModelFault, ModelReply, TokenUsage, arguments_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from language.models.conversation import ModelRequest, OnChunk
    from language.runtime.context import Context


class HookedModel(Model):
    """A model that calls an embedder's function: ``llm(op, prompt)`` returns text, ``{"content", "tokens"}`` or ``{"error"}``.

    For ``chat`` the prompt is the JSON text of ``system``, ``messages``, ``tools`` and ``schema``. Content that is a JSON
    object with ``calls``, a list of ``{"name", "args"}``, asks for tools; any other content is the text of the answer.
    """

    asks_again = False

    def __init__(self, hook: Callable[[str, str], object]) -> None:
        self._hook = hook

    def most_tokens(self, request: ModelRequest) -> tuple[int, int]:
        return 0, 0  # only the embedder knows

    def converse(self, request: ModelRequest, on_chunk: OnChunk | None, ctx: Context) -> ModelReply:
        operation = request.operation
        prompt = _conversation(request) if operation == "chat" else request.prompt
        try:
            given = self._hook(operation, prompt)
        except Exception as error:
            raise ModelFault(f"llm error: {type(error).__name__}: {error}") from error
        content, tokens = _answer(operation, given)
        calls = _calls(content) if operation == "chat" else ()
        text = "" if calls else content
        if on_chunk is not None and text:
            on_chunk(text)
        return ModelReply(
            ChatMessage("assistant", text, calls), "calls" if calls else "end", self.name, TokenUsage(output=tokens)
        )


def _answer(operation: str, given: object) -> tuple[str, int]:
    """Content and tokens of what the function returned. Raises ``ModelFault``."""
    if given is None:
        raise ModelFault(f"llm: the host returned no answer for {operation}")
    if isinstance(given, str):
        return given, 0
    if isinstance(given, dict):
        if given.get("error") is not None:
            raise ModelFault(f"llm error: {given['error']}")
        content, tokens = given.get("content"), given.get("tokens", 0)
        if isinstance(content, str):
            counted = type(tokens) is int or (type(tokens) is float and tokens.is_integer())
            return content, int(tokens) if counted and tokens > 0 else 0
    raise ModelFault(f"llm error: the llm hook answered {type(given).__name__}, not text")


def _conversation(request: ModelRequest) -> str:
    import json

    messages: list[dict[str, Any]] = []
    for message in request.messages:
        entry: dict[str, Any] = {"role": message.role, "content": message.content}
        if message.calls:
            entry["calls"] = [{"id": call.id, "name": call.name, "args": call.raw} for call in message.calls]
        if message.call_id is not None:
            entry.update(call_id=message.call_id, failed=message.failed)
        messages.append(entry)
    tools = [{"name": offer.name, "describe": offer.describe, "schema": offer.schema} for offer in request.offers]
    return json.dumps({"system": request.system, "messages": messages, "tools": tools, "schema": request.schema})


def _calls(content: str) -> tuple[Call, ...]:
    import json

    if not content.lstrip().startswith("{"):
        return ()
    try:
        found = json.loads(content)
    except ValueError:
        return ()
    return calls_of(found.get("calls")) if isinstance(found, dict) else ()


def calls_of(given: object, first: int = 1) -> tuple[Call, ...]:
    """The calls in a list of ``{"name", "args", "id"}``, given as JSON data. Items without a name are left out. Calls without
    an id are numbered from ``first``.
    """
    import json

    calls: list[Call] = []
    for entry in given if isinstance(given, list) else []:
        if isinstance(entry, dict) and isinstance(entry.get("name"), str):
            args = entry.get("args", {})
            raw = args if isinstance(args, str) else json.dumps(args)
            id = entry.get("id")
            calls.append(
                Call(id if isinstance(id, str) else f"call_{first + len(calls)}", entry["name"], arguments_of(raw), raw)
            )
    return tuple(calls)
