"""A provider of language models on this machine. It speaks the four protocols, streamed and whole.

It is written from the documented protocols and knows nothing of the code that it tests.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.web_server import Received, WebServer, json_reply

WIRES = ("anthropic", "responses", "chat", "ollama")
KEY = "key-4f1c9a"
PATHS = {
    "anthropic": "/v1/messages",
    "responses": "/responses",
    "chat": "/chat/completions",
    "ollama": "/api/chat",
}


@dataclass
class Turn:
    """What the provider answers once. ``calls`` are pairs of a name and arguments."""

    texts: tuple[str, ...] = ()
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    stop: str = "end"
    input: int = 11
    output: int = 5
    thinking: str = ""


@dataclass
class Peer:
    """Settings and requests of a running provider."""

    wire: str
    server: WebServer
    settings: dict[str, str]
    bodies: list[dict[str, Any]] = field(default_factory=list)

    @property
    def heads(self) -> list[dict[str, str]]:
        return [request.headers for request in self.server.requests]


#: An answer: a turn, bytes as they are, or what sends by itself.
Given = Turn | bytes | Callable[[socket.socket], None]


def serving(wire: str, given: Iterable[Given], **settings: str) -> Peer:
    """A provider that gives these answers in order, the last one again and again."""
    answers = list(given)
    bodies: list[dict[str, Any]] = []

    def answer(request: Received, connection: socket.socket) -> bytes | None:
        body = json.loads(request.body)
        bodies.append(body)
        found = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(found, Turn):
            found = streamed(wire, found) if body.get("stream") else whole(wire, found)
        if isinstance(found, bytes):
            return found
        found(connection)
        return None

    server = WebServer(answer)
    name = {"anthropic": "anthropic", "responses": "openai", "chat": "openai", "ollama": "ollama"}[wire]
    given_settings = {"PLATFORM_LLM_PROVIDER": name, "PLATFORM_LLM_BASE_URL": server.url, "PLATFORM_LLM_MODEL": "m-1"}
    if wire == "responses":
        given_settings["PLATFORM_LLM_WIRE"] = "responses"
    if name != "ollama":
        given_settings[f"{name.upper()}_API_KEY"] = KEY
    return Peer(wire, server, {**given_settings, **settings}, bodies)


def error(wire: str, status: str, message: str, *headers: str, code: str = "some_error") -> bytes:
    """A refusal as the provider words it."""
    bodies: dict[str, Any] = {
        "anthropic": {"type": "error", "error": {"type": code, "message": message}},
        "responses": {"error": {"message": message, "type": code, "code": code}},
        "chat": {"error": {"message": message, "type": code, "code": code}},
        "ollama": {"error": message},
    }
    plain = json_reply(bodies[wire], status)
    first, rest = plain.split(b"\r\n", 1)
    return b"\r\n".join([first, *(header.encode() for header in headers), rest])


def head(wire: str) -> bytes:
    """The beginning of a stream that ends when the connection is closed."""
    kind = "application/x-ndjson" if wire == "ollama" else "text/event-stream; charset=utf-8"
    return f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\n\r\n".encode()


def chunked(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def streamed(wire: str, turn: Turn) -> bytes:
    """The whole stream of a turn."""
    return head(wire) + b"".join(chunked(event) for event in events(wire, turn)) + b"0\r\n\r\n"


def events(wire: str, turn: Turn) -> list[bytes]:
    """The events of a turn, each as it stands in the stream."""
    if wire == "ollama":
        return [json.dumps(event).encode() + b"\n" for event in _ollama(turn)]
    made = {"anthropic": _anthropic, "responses": _responses, "chat": _chat}[wire](turn)
    found = []
    for event in made:
        name = f"event: {event['type']}\n" if wire != "chat" else ""
        found.append(f"{name}data: {json.dumps(event)}\n\n".encode())
    return [*found, b"data: [DONE]\n\n"] if wire == "chat" else found


def ping(wire: str) -> bytes:
    """An event that keeps the connection and says nothing."""
    return b'event: ping\ndata: {"type": "ping"}\n\n' if wire == "anthropic" else b": keep-alive\n\n"


def _anthropic(turn: Turn) -> Iterator[dict[str, Any]]:
    usage = {"input_tokens": turn.input - 4, "cache_creation_input_tokens": 1, "cache_read_input_tokens": 3, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m-1", "content": [], "usage": usage}
    yield {"type": "message_start", "message": message}
    at = 0
    if turn.thinking:
        yield {
            "type": "content_block_start",
            "index": at,
            "content_block": {"type": "thinking", "thinking": "", "signature": ""},
        }
        yield {"type": "content_block_delta", "index": at, "delta": {"type": "thinking_delta", "thinking": turn.thinking}}
        yield {"type": "content_block_delta", "index": at, "delta": {"type": "signature_delta", "signature": "sig=="}}
        yield {"type": "content_block_stop", "index": at}
        at += 1
    if turn.texts:
        yield {"type": "content_block_start", "index": at, "content_block": {"type": "text", "text": ""}}
        yield {"type": "ping"}
        for text in turn.texts:
            yield {"type": "content_block_delta", "index": at, "delta": {"type": "text_delta", "text": text}}
        yield {"type": "content_block_stop", "index": at}
        at += 1
    for number, (name, args) in enumerate(turn.calls):
        block = {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": {}}
        yield {"type": "content_block_start", "index": at, "content_block": block}
        written = json.dumps(args)
        for part in ("", written[:3], written[3:]):
            yield {"type": "content_block_delta", "index": at, "delta": {"type": "input_json_delta", "partial_json": part}}
        yield {"type": "content_block_stop", "index": at}
        at += 1
    details = {"output_tokens": turn.output, "output_tokens_details": {"thinking_tokens": 2}}
    yield {"type": "message_delta", "delta": {"stop_reason": _stop("anthropic", turn)}, "usage": details}
    yield {"type": "message_stop"}


def _responses(turn: Turn) -> Iterator[dict[str, Any]]:
    yield {"type": "response.created", "response": {"id": "resp_1", "model": "m-1", "status": "in_progress", "output": []}}
    done = whole_body("responses", turn)
    for at, item in enumerate(done["output"]):
        yield {"type": "response.output_item.added", "output_index": at, "item": {"type": item["type"]}}
        if item["type"] == "message":
            kind = "response.refusal.delta" if turn.stop == "refusal" else "response.output_text.delta"
            for text in turn.texts:
                yield {"type": kind, "output_index": at, "content_index": 0, "delta": text}
        elif item["type"] == "function_call":
            for part in (item["arguments"][:4], item["arguments"][4:]):
                yield {"type": "response.function_call_arguments.delta", "output_index": at, "delta": part}
        yield {"type": "response.output_item.done", "output_index": at, "item": item}
    end = "response.incomplete" if done["status"] == "incomplete" else "response.completed"
    yield {"type": end, "response": done}


def _chat(turn: Turn) -> Iterator[dict[str, Any]]:
    def chunk(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
        return {"id": "c", "model": "m-1", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}

    yield chunk({"role": "assistant", "content": ""})
    for text in turn.texts:
        yield chunk({"content": text})
    for at, (name, args) in enumerate(turn.calls):
        written = json.dumps(args)
        first = {"index": at, "id": f"call_{at}", "type": "function", "function": {"name": name, "arguments": ""}}
        yield chunk({"tool_calls": [first]})
        for part in (written[:2], written[2:]):
            yield chunk({"tool_calls": [{"index": at, "function": {"arguments": part}}]})
    yield chunk({}, _stop("chat", turn))
    yield {"id": "c", "model": "m-1", "choices": [], "usage": whole_body("chat", turn)["usage"]}


def _ollama(turn: Turn) -> Iterator[dict[str, Any]]:
    for text in turn.texts:
        yield {"model": "m-1", "message": {"role": "assistant", "content": text}, "done": False}
    for name, args in turn.calls:
        call = {"function": {"name": name, "arguments": args}}
        yield {"model": "m-1", "message": {"role": "assistant", "content": "", "tool_calls": [call]}, "done": False}
    last = whole_body("ollama", turn)
    yield {**last, "message": {"role": "assistant", "content": ""}}


def _stop(wire: str, turn: Turn) -> str:
    stop = "calls" if turn.calls and turn.stop == "end" else turn.stop
    words = {
        "anthropic": {"end": "end_turn", "calls": "tool_use", "length": "max_tokens", "refusal": "refusal"},
        "chat": {"end": "stop", "calls": "tool_calls", "length": "length", "refusal": "content_filter"},
        "ollama": {"end": "stop", "calls": "stop", "length": "length", "refusal": "stop"},
    }
    return words[wire][stop]


def whole(wire: str, turn: Turn) -> bytes:
    """The answer to a request that asks for no stream."""
    return json_reply(whole_body(wire, turn))


def whole_body(wire: str, turn: Turn) -> dict[str, Any]:
    text = "".join(turn.texts)
    if wire == "anthropic":
        content: list[dict[str, Any]] = []
        if turn.thinking:
            content.append({"type": "thinking", "thinking": turn.thinking, "signature": "sig=="})
        if text:
            content.append({"type": "text", "text": text})
        content += [{"type": "tool_use", "id": f"toolu_{n}", "name": c[0], "input": c[1]} for n, c in enumerate(turn.calls)]
        usage = {
            "input_tokens": turn.input - 4,
            "cache_creation_input_tokens": 1,
            "cache_read_input_tokens": 3,
            "output_tokens": turn.output,
            "output_tokens_details": {"thinking_tokens": 2},
        }
        return {"type": "message", "model": "m-1", "content": content, "stop_reason": _stop(wire, turn), "usage": usage}
    if wire == "responses":
        output: list[dict[str, Any]] = []
        if turn.thinking:
            output.append({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": turn.thinking})
        kind = {"type": "refusal", "refusal": text} if turn.stop == "refusal" else {"type": "output_text", "text": text}
        if text:
            output.append({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [kind]})
        for at, (name, args) in enumerate(turn.calls):
            call = {"type": "function_call", "id": f"fc_{at}", "call_id": f"call_{at}", "name": name}
            output.append({**call, "arguments": json.dumps(args)})
        usage = {
            "input_tokens": turn.input,
            "input_tokens_details": {"cached_tokens": 3},
            "output_tokens": turn.output,
            "output_tokens_details": {"reasoning_tokens": 2},
        }
        short = turn.stop == "length"
        details = {"reason": "max_output_tokens"} if short else None
        status = "incomplete" if short else "completed"
        return {"model": "m-1", "status": status, "incomplete_details": details, "output": output, "usage": usage}
    if wire == "chat":
        message: dict[str, Any] = {"role": "assistant", "content": text}
        if turn.calls:
            message["tool_calls"] = [
                {"id": f"call_{at}", "type": "function", "function": {"name": c[0], "arguments": json.dumps(c[1])}}
                for at, c in enumerate(turn.calls)
            ]
        usage = {
            "prompt_tokens": turn.input,
            "prompt_tokens_details": {"cached_tokens": 3},
            "completion_tokens": turn.output,
            "completion_tokens_details": {"reasoning_tokens": 2},
        }
        choice = {"index": 0, "message": message, "finish_reason": _stop(wire, turn)}
        return {"id": "c", "model": "m-1", "choices": [choice], "usage": usage}
    answer: dict[str, Any] = {"role": "assistant", "content": text}
    if turn.calls:
        answer["tool_calls"] = [{"function": {"name": name, "arguments": args}} for name, args in turn.calls]
    counted = {"prompt_eval_count": turn.input, "eval_count": turn.output}
    return {"model": "m-1", "message": answer, "done": True, "done_reason": _stop(wire, turn), **counted}
