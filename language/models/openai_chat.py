"""The protocol of OpenAI's Chat Completions, which local servers use too. Those may leave out ids, types and indexes, and
repeat names.
"""

from __future__ import annotations

from language.models.conversation import TokenUsage
from language.models.wire import Answer, Malformed, ProviderError, Wire, closed, count, detail_of, function_tools, is_strict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.models.conversation import ChatMessage, ModelRequest

_STOPS = {"stop": "end", "tool_calls": "calls", "function_call": "calls", "length": "length", "content_filter": "refusal"}


class Chat(Wire):
    name = "chat"
    label = "openai"
    path = "/chat/completions"
    end_mark = "[DONE]"

    def body(self, request: ModelRequest, model: str, most: int, stream: bool) -> dict[str, Any]:
        body: dict[str, Any] = {"model": model, "max_completion_tokens" if self.exact else "max_tokens": most}
        if request.offers:
            body["tools"] = function_tools(request.offers)
            if request.choice is not None:
                words = {"any": "required", "auto": "auto", "none": "none"}
                body["tool_choice"] = words.get(request.choice) or {"type": "function", "function": {"name": request.choice}}
        first = [{"role": "system", "content": request.system}] if request.system else []
        body["messages"] = first + [_message(message) for message in request.messages]
        if request.effort is not None:
            body["reasoning_effort"] = request.effort
        if request.schema is not None:
            schema = closed(request.schema)
            form = {"name": "answer", "schema": schema, "strict": is_strict(schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        if stream:
            body["stream"] = True
            body["stream_options"] = {"include_usage": True}
        return body

    def answer(self, request: ModelRequest) -> Answer:
        return _ChatAnswer(len(request.messages))

    def adapted(self, body: dict[str, Any], detail: str) -> dict[str, Any] | None:
        changed = dict(body)
        if "stream_options" in detail and changed.pop("stream_options", None) is not None:
            return changed
        if "max_completion_tokens" in body and ("max_completion_tokens" in detail or "max_tokens" in detail):
            changed["max_tokens"] = changed.pop("max_completion_tokens")
            return changed
        if "max_tokens" in body and "max_completion_tokens" in detail:
            changed["max_completion_tokens"] = changed.pop("max_tokens")
            return changed
        return None


def _message(message: ChatMessage) -> dict[str, Any]:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.call_id, "content": message.content}
    found: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.calls:
        found["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.raw or "{}"}}
            for call in message.calls
        ]
    return found


class _ChatAnswer(Answer):
    wire = "chat"

    def __init__(self, first: int) -> None:
        super().__init__(first)
        self._calls: list[dict[str, Any]] = []
        self._at: dict[int, int] = {}

    def event(self, data: dict[str, Any]) -> str:
        return self._add(data, "delta")

    def whole(self, data: dict[str, Any]) -> None:
        if not isinstance(data.get("choices"), list) or not data["choices"]:
            raise Malformed("no choices")
        self._add(data, "message")
        self.began = self.done = True

    def _add(self, data: dict[str, Any], part: str) -> str:
        detail, code = detail_of(data)
        if detail:
            raise ProviderError(detail, code)
        self.model = str(data.get("model") or self.model)
        self.id = str(data.get("id") or self.id)
        self._count(data.get("usage"))
        choices = data.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, dict):
            return ""
        given = choice.get(part)
        text = ""
        if isinstance(given, dict):
            text = self.add_text(given.get("content"))
            refusal = self.add_text(given.get("refusal"))
            if refusal:
                self.stop, text = "refusal", text + refusal
            for call in given.get("tool_calls") or ():
                self._add_call(call)
            if given.get("reasoning_content") or given.get("reasoning"):
                self.began = True
        reason = choice.get("finish_reason")
        if isinstance(reason, str):
            self.done = True
            if self.stop != "refusal":
                self.stop = _STOPS.get(reason, "stopped")
        return text

    def _add_call(self, delta: object) -> None:
        if not isinstance(delta, dict):
            raise Malformed("a call that is no object")
        self.began = True
        function = delta.get("function")
        function = function if isinstance(function, dict) else {}
        id, index, name = delta.get("id"), delta.get("index"), function.get("name")
        at = self._at.get(index) if type(index) is int else None
        if at is None and type(index) is not int and self._calls:
            last = self._calls[-1]  # without an index, a part with a new id or a new name begins another call
            if not (id and id != last["id"]) and not (name and name != last["name"]):
                at = len(self._calls) - 1
        if at is None:
            at = len(self._calls)
            self._calls.append({"id": "", "name": "", "arguments": []})
            if type(index) is int:
                self._at[index] = at
        call = self._calls[at]
        call["id"] = call["id"] or (id if isinstance(id, str) else "")
        call["name"] = call["name"] or (name if isinstance(name, str) else "")
        given = function.get("arguments")
        if isinstance(given, dict):
            import json

            given = json.dumps(given)
        if isinstance(given, str):
            call["arguments"].append(given)

    def calls(self) -> list[tuple[str, str, str]]:
        return [(call["id"], call["name"], "".join(call["arguments"])) for call in self._calls]

    def _count(self, usage: object) -> None:
        if isinstance(usage, dict):
            self.usage = TokenUsage(
                count(usage, "prompt_tokens") or 0,
                count(usage, "completion_tokens") or 0,
                count(usage, "prompt_tokens_details", "cached_tokens") or 0,
                count(usage, "completion_tokens_details", "reasoning_tokens") or 0,
            )
