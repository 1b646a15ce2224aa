"""The protocol of Anthropic's Messages API."""

from __future__ import annotations

from language.models.conversation import TokenUsage
from language.models.wire import (
    Answer,
    Malformed,
    ProviderError,
    Wire,
    arguments,
    closed,
    count,
    detail_of,
    is_strict,
    kept_items,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.models.conversation import ChatMessage, ModelRequest

_STOPS = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
    "pause_turn": "stopped",
}


class Anthropic(Wire):
    name = "anthropic"
    label = "anthropic"
    path = "/v1/messages"

    def headers(self, key: str | None) -> list[tuple[str, bytes]]:
        version = [("anthropic-version", b"2023-06-01")]
        return version if key is None else [("x-api-key", key.encode()), *version]

    def body(self, request: ModelRequest, model: str, most: int, stream: bool) -> dict[str, Any]:
        system = [request.system] if request.system else []
        system += [message.content for message in request.messages if message.role == "system"]
        body: dict[str, Any] = {"model": model, "max_tokens": most}
        if request.offers:
            body["tools"] = [
                {
                    "name": offer.name,
                    "description": offer.describe,
                    "input_schema": closed(offer.schema),
                    **({"strict": True} if self.exact and is_strict(closed(offer.schema)) else {}),
                }
                for offer in request.offers
            ]
            choice = request.choice
            if choice in ("any", "none"):
                body["tool_choice"] = {"type": choice}
            elif choice not in (None, "auto"):
                body["tool_choice"] = {"type": "tool", "name": choice}
        if system:
            body["system"] = "\n\n".join(system)
        body["messages"] = _messages(request.messages)
        output: dict[str, Any] = {}
        if request.effort is not None:
            output["effort"] = request.effort
        if request.schema is not None:
            output["format"] = {"type": "json_schema", "schema": closed(request.schema)}
        if output:
            body["output_config"] = output
        if len(request.messages) > 1:
            body["cache_control"] = {"type": "ephemeral"}  # the next turn begins with the same messages
        if stream:
            body["stream"] = True
        return body

    def answer(self, request: ModelRequest) -> Answer:
        return _AnthropicAnswer(len(request.messages))


def _messages(messages: tuple[ChatMessage, ...]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    results: list[dict[str, Any]] | None = None
    for message in messages:
        if message.role == "system":
            continue
        if message.role == "tool":
            result: dict[str, Any] = {"type": "tool_result", "tool_use_id": message.call_id, "content": message.content}
            if message.failed:
                result["is_error"] = True
            if results is None:  # all tool results of one turn belong in one message
                results = []
                found.append({"role": "user", "content": results})
            results.append(result)
            continue
        results = None
        if message.role == "user":
            found.append({"role": "user", "content": message.content})
            continue
        blocks = kept_items(message, "anthropic")
        if blocks is None:
            blocks = [{"type": "text", "text": message.content}] if message.content else []
            blocks += [{"type": "tool_use", "id": c.id, "name": c.name, "input": arguments(c)} for c in message.calls]
        found.append({"role": "assistant", "content": blocks})
    return found


class _AnthropicAnswer(Answer):
    wire = "anthropic"

    def __init__(self, first: int) -> None:
        super().__init__(first)
        self._blocks: dict[int, dict[str, Any]] = {}
        self._inputs: dict[int, list[str]] = {}
        self._counts: dict[str, int] = {}

    def event(self, data: dict[str, Any]) -> str:
        kind = data.get("type")
        if kind == "message_start":
            message = data.get("message")
            if not isinstance(message, dict):
                raise Malformed("message_start without a message")
            self.model = str(message.get("model") or "")
            self.id = str(message.get("id") or "")
            self._count(message.get("usage"))
        elif kind == "content_block_start":
            block = data.get("content_block")
            if not isinstance(block, dict):
                raise Malformed("content_block_start without a block")
            self.began = True
            self._blocks[_index(data)] = dict(block)
            return self.add_text(block.get("text")) if block.get("type") == "text" else ""
        elif kind == "content_block_delta":
            return self._delta(_index(data), data.get("delta"))
        elif kind == "message_delta":
            delta = data.get("delta")
            self._ended(delta.get("stop_reason") if isinstance(delta, dict) else None)
            self._count(data.get("usage"))
        elif kind == "message_stop":
            self.done = True
        elif kind == "error":
            raise ProviderError(*detail_of(data))
        return ""

    def _delta(self, at: int, delta: object) -> str:
        block = self._blocks.get(at)
        if block is None or not isinstance(delta, dict):
            raise Malformed("a delta without its block")
        self.began = True
        kind = delta.get("type")
        if kind == "text_delta":
            text = self.add_text(delta.get("text"))
            block["text"] = str(block.get("text") or "") + text
            return text
        if kind == "input_json_delta":
            self._inputs.setdefault(at, []).append(str(delta.get("partial_json") or ""))
        elif kind == "thinking_delta":
            block["thinking"] = str(block.get("thinking") or "") + str(delta.get("thinking") or "")
        elif kind == "signature_delta":
            block["signature"] = str(block.get("signature") or "") + str(delta.get("signature") or "")
        return ""

    def whole(self, data: dict[str, Any]) -> None:
        blocks = data.get("content")
        if not isinstance(blocks, list):
            raise Malformed("no content")
        self.began = self.done = True
        self.model = str(data.get("model") or "")
        self.id = str(data.get("id") or "")
        self._blocks = {at: block for at, block in enumerate(blocks) if isinstance(block, dict)}
        for block in self._blocks.values():
            if block.get("type") == "text":
                self.add_text(block.get("text"))
        self._ended(data.get("stop_reason"))
        self._count(data.get("usage"))

    def calls(self) -> list[tuple[str, str, str]]:
        import json

        found = []
        for at, block in sorted(self._blocks.items()):
            if block.get("type") == "tool_use":
                raw = "".join(self._inputs.get(at, ())) or json.dumps(block.get("input") or {})
                found.append((str(block.get("id") or ""), str(block.get("name") or ""), raw))
        return found

    def opaque(self) -> list[Any] | None:
        import json

        if not any(str(block.get("type", "")).endswith("thinking") for block in self._blocks.values()):
            return None
        kept = []
        for at, block in sorted(self._blocks.items()):
            if at in self._inputs:
                try:
                    block = {**block, "input": json.loads("".join(self._inputs[at]) or "{}")}
                except ValueError:
                    return None
            kept.append(block)
        return kept

    def _ended(self, reason: object) -> None:
        if isinstance(reason, str):
            self.stop = _STOPS.get(reason, "stopped")

    def _count(self, usage: object) -> None:
        """Updates the token counts. Of each field the last value counts."""
        for name in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"):
            found = count(usage, name)
            if found is not None:
                self._counts[name] = found
        thought = count(usage, "output_tokens_details", "thinking_tokens")
        counts = self._counts
        cached = counts.get("cache_read_input_tokens", 0)
        self.usage = TokenUsage(
            counts.get("input_tokens", 0) + counts.get("cache_creation_input_tokens", 0) + cached,
            counts.get("output_tokens", 0),
            cached,
            self.usage.reasoning if thought is None else thought,
            counts.get("cache_creation_input_tokens", 0),
        )


def _index(data: dict[str, Any]) -> int:
    at = data.get("index")
    if type(at) is not int:
        raise Malformed("a block without an index")
    return at
