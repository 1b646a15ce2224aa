"""The protocol of Ollama."""

from __future__ import annotations

from language.models.conversation import TokenUsage
from language.models.event_lines import JsonLines
from language.models.wire import Answer, Malformed, ProviderError, Wire, arguments, closed, count, detail_of, function_tools

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.models.conversation import ChatMessage, ModelRequest
    from language.models.event_lines import ServerSentEvents

#: The requested context window is a power of two, because a server reloads the model for each different size.
_LEAST_WINDOW = 8_192
_GREATEST_WINDOW = 131_072


class Ollama(Wire):
    name = "ollama"
    label = "ollama"
    path = "/api/chat"
    streams = "application/x-ndjson"

    def body(self, request: ModelRequest, model: str, most: int, stream: bool) -> dict[str, Any]:
        from language.models.conversation import estimated_tokens

        window = _LEAST_WINDOW
        while window < min(estimated_tokens(request) + most, _GREATEST_WINDOW):
            window *= 2
        body: dict[str, Any] = {"model": model, "options": {"num_predict": most, "num_ctx": window}, "stream": stream}
        if request.offers and request.choice != "none":  # Ollama has no tool choice
            body["tools"] = function_tools(request.offers)
        first = [{"role": "system", "content": request.system}] if request.system else []
        names = {call.id: call.name for message in request.messages for call in message.calls}
        body["messages"] = first + [_message(message, names) for message in request.messages]
        if request.effort is not None:
            body["think"] = request.effort
        if request.schema is not None:
            body["format"] = closed(request.schema)
        return body

    def answer(self, request: ModelRequest) -> Answer:
        return _OllamaAnswer(len(request.messages))

    def lines(self) -> ServerSentEvents | JsonLines:
        return JsonLines()


def _message(message: ChatMessage, names: dict[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.role == "tool":
        found["tool_name"] = names.get(message.call_id or "", "")
    if message.calls:
        found["tool_calls"] = [{"function": {"name": call.name, "arguments": arguments(call)}} for call in message.calls]
    return found


class _OllamaAnswer(Answer):
    wire = "ollama"

    def __init__(self, first: int) -> None:
        super().__init__(first)
        self._calls: list[tuple[str, str]] = []

    def event(self, data: dict[str, Any]) -> str:
        import json

        detail, code = detail_of(data)
        if detail:
            raise ProviderError(detail, code)
        self.model = str(data.get("model") or self.model)
        message = data.get("message")
        text = ""
        if isinstance(message, dict):
            text = self.add_text(message.get("content"))
            if message.get("thinking"):
                self.began = True
            for call in message.get("tool_calls") or ():
                function = call.get("function") if isinstance(call, dict) else None
                if not isinstance(function, dict):
                    raise Malformed("a call without a function")
                self.began = True
                given = function.get("arguments") or {}
                self._calls.append((str(function.get("name") or ""), given if isinstance(given, str) else json.dumps(given)))
        if data.get("done") is True:
            self.done = True
            self.stop = "length" if data.get("done_reason") == "length" else "end"
            self.usage = TokenUsage(count(data, "prompt_eval_count") or 0, count(data, "eval_count") or 0)
        return text

    def whole(self, data: dict[str, Any]) -> None:
        self.event(data)
        if not isinstance(data.get("message"), dict):
            raise Malformed("no message")
        self.began = self.done = True

    def calls(self) -> list[tuple[str, str, str]]:
        return [("", name, raw) for name, raw in self._calls]
