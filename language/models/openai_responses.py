"""The protocol of OpenAI's Responses API."""

from __future__ import annotations

from language.models.conversation import TokenUsage
from language.models.wire import Answer, Malformed, ProviderError, Wire, closed, count, detail_of, is_strict, kept_items

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.models.conversation import ChatMessage, ModelRequest


class Responses(Wire):
    name = "responses"
    label = "openai"
    path = "/responses"

    def body(self, request: ModelRequest, model: str, most: int, stream: bool) -> dict[str, Any]:
        body: dict[str, Any] = {"model": model, "max_output_tokens": most, "store": False}
        body["include"] = ["reasoning.encrypted_content"]
        if request.system:
            body["instructions"] = request.system
        if request.offers:
            body["tools"] = [
                {
                    "type": "function",
                    "name": offer.name,
                    "description": offer.describe,
                    "parameters": closed(offer.schema),
                    "strict": is_strict(closed(offer.schema)),
                }
                for offer in request.offers
            ]
            if request.choice is not None:
                words = {"any": "required", "auto": "auto", "none": "none"}
                body["tool_choice"] = words.get(request.choice) or {"type": "function", "name": request.choice}
        body["input"] = [item for message in request.messages for item in _items(message)]
        if request.effort is not None:
            body["reasoning"] = {"effort": request.effort}
        if request.schema is not None:
            schema = closed(request.schema)
            form = {"type": "json_schema", "name": "answer", "schema": schema, "strict": is_strict(schema)}
            body["text"] = {"format": form}
        if stream:
            body["stream"] = True
        return body

    def answer(self, request: ModelRequest) -> Answer:
        return _ResponsesAnswer(len(request.messages))


def _items(message: ChatMessage) -> list[dict[str, Any]]:
    if message.role == "tool":
        return [{"type": "function_call_output", "call_id": message.call_id, "output": message.content}]
    if message.role != "assistant":
        return [{"role": message.role, "content": message.content}]
    kept = kept_items(message, "responses")
    if kept is not None:
        return kept
    items: list[dict[str, Any]] = [{"role": "assistant", "content": message.content}] if message.content else []
    items += [
        {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.raw or "{}"}
        for call in message.calls
    ]
    return items


class _ResponsesAnswer(Answer):
    wire = "responses"

    def __init__(self, first: int) -> None:
        super().__init__(first)
        self._items: dict[int, dict[str, Any]] = {}

    def event(self, data: dict[str, Any]) -> str:
        kind = data.get("type")
        if kind == "response.created" and isinstance(data.get("response"), dict):
            self.model = str(data["response"].get("model") or "")
            self.id = str(data["response"].get("id") or "")
        elif kind == "response.output_text.delta":
            return self.add_text(data.get("delta"))
        elif kind == "response.refusal.delta":
            self.stop = "refusal"
            return self.add_text(data.get("delta"))
        elif kind == "response.output_item.done":
            at, item = data.get("output_index"), data.get("item")
            if not isinstance(item, dict):
                raise Malformed("output_item.done without an item")
            self.began = True
            self._items[at if type(at) is int else len(self._items)] = item
        elif kind in ("response.completed", "response.incomplete", "response.failed"):
            response = data.get("response")
            if not isinstance(response, dict):
                raise Malformed(f"{kind} without a response")
            self._end(response)
        elif kind == "error":
            detail, code = detail_of(data)
            raise ProviderError(detail or str(data.get("message") or "unknown error"), code or str(data.get("code") or ""))
        elif isinstance(kind, str) and kind.endswith(".delta"):
            self.began = True
        return ""

    def whole(self, data: dict[str, Any]) -> None:
        self.began = True
        if not isinstance(data.get("output"), list):
            raise Malformed("no output")
        self._end(data)

    def _end(self, response: dict[str, Any]) -> None:
        self.model = str(response.get("model") or self.model)
        self.id = str(response.get("id") or self.id)
        usage = response.get("usage")
        self.usage = TokenUsage(
            count(usage, "input_tokens") or 0,
            count(usage, "output_tokens") or 0,
            count(usage, "input_tokens_details", "cached_tokens") or 0,
            count(usage, "output_tokens_details", "reasoning_tokens") or 0,
        )
        status = response.get("status")
        if status == "failed":
            raise ProviderError(*detail_of(response))
        if not self._items:
            self._items = {at: item for at, item in enumerate(response.get("output") or ()) if isinstance(item, dict)}
        if not self.texts:
            self._read_texts()
        if status == "incomplete":
            details = response.get("incomplete_details")
            reason = details.get("reason") if isinstance(details, dict) else None
            self.stop = {"max_output_tokens": "length", "content_filter": "refusal"}.get(str(reason), "stopped")
        self.done = True

    def _read_texts(self) -> None:
        for _, item in sorted(self._items.items()):
            for part in (item.get("content") or ()) if item.get("type") == "message" else ():
                if isinstance(part, dict) and part.get("type") == "output_text":
                    self.add_text(part.get("text"))
                elif isinstance(part, dict) and part.get("type") == "refusal":
                    self.stop = "refusal"
                    self.add_text(part.get("refusal"))

    def calls(self) -> list[tuple[str, str, str]]:
        items = (item for _, item in sorted(self._items.items()) if item.get("type") == "function_call")
        return [(str(i.get("call_id") or ""), str(i.get("name") or ""), str(i.get("arguments") or "")) for i in items]

    def opaque(self) -> list[Any] | None:
        if not any(item.get("type") == "reasoning" for item in self._items.values()):
            return None
        return [item for _, item in sorted(self._items.items())]
