"""What the span of a call of a model says of its answer: its name, its first content, its tokens, also where it broke off."""

from __future__ import annotations

import socket
from contextlib import suppress
from typing import Any

import pytest

from language.host.llm import converse
from language.models.conversation import ChatMessage, ModelFault, ModelRequest
from language.native.host import NativeHost
from language.runtime.context import Context
from language.runtime.spans import Recorder, Span, Spans
from tests.models.provider_peer import WIRES, Peer, Turn, chunked, events, head, serving

HELLO = ModelRequest((ChatMessage("user", "Hello?"),), retries=0)
TEXTS = ("Good ", "morning, ", "reader.")
#: The provider's names for its answers; that of Ollama gives none.
IDS = {"anthropic": "msg_1", "responses": "resp_1", "chat": "c", "ollama": None}


def span_of(peer: Peer) -> Span:
    """The span of one call, whether it is answered or not."""
    context = Context(NativeHost(peer.settings), recorded=False)
    recorder = Recorder(context.host)
    context.spans = Spans(recorder)
    with peer.server, suppress(ModelFault):
        converse(context, HELLO)
    [span] = recorder.spans
    shown = str([span.name, span.attributes, span.events, span.failed])
    assert not any(text.strip() in shown for text in (*TEXTS, "Hello?")), "nothing of what was said"
    return span


def told(span: Span, *names: str) -> list[Any]:
    return [span.attributes.get(f"gen_ai.{name}") for name in names]


@pytest.mark.parametrize("wire", WIRES)
def test_an_answer_is_told_with_its_id_its_first_chunk_and_its_tokens(wire: str) -> None:
    span = span_of(serving(wire, [Turn(TEXTS, input=31, output=7)]))
    assert span.name == "chat m-1" and not span.failed
    assert told(span, "response.id", "usage.input_tokens", "usage.output_tokens") == [IDS[wire], 31, 7]
    assert told(span, "response.finish_reasons") == [["end"]]
    took = span.attributes["gen_ai.response.time_to_first_chunk"]
    assert 0 < took <= span.ended - span.began
    written, read = told(span, "usage.cache_creation.input_tokens", "usage.cache_read.input_tokens")
    assert (written, read) == {"anthropic": (1, 3), "ollama": (None, None)}.get(wire, (None, 3))


def test_an_answer_that_comes_whole_has_no_first_chunk() -> None:
    span = span_of(serving("anthropic", [Turn(TEXTS)], PLATFORM_LLM_HTTP_STREAM="0"))
    assert told(span, "response.time_to_first_chunk", "usage.input_tokens") == [None, 11]


@pytest.mark.parametrize("wire", WIRES)
def test_a_call_that_fails_after_tokens_came_is_told_with_them(wire: str) -> None:
    data = head(wire) + b"".join(chunked(event) for event in events(wire, Turn(TEXTS))[:-3])

    def cut(connection: socket.socket) -> None:
        connection.sendall(data)

    span = span_of(serving(wire, [cut]))
    assert span.failed == "network"
    assert told(span, "provider.name", "request.model") == [{"chat": "openai", "responses": "openai"}.get(wire, wire), "m-1"]
    assert told(span, "response.id") == [IDS[wire]]
    used, answered, took = told(span, "usage.input_tokens", "usage.output_tokens", "response.time_to_first_chunk")
    assert used > 0 and answered > 0 and took > 0


def test_a_refusal_before_any_token_is_told_without_tokens() -> None:
    span = span_of(serving("chat", [b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n"]))
    assert span.failed == "network"
    assert told(span, "response.id", "usage.input_tokens", "usage.output_tokens") == [None, None, None]
