"""The four protocols against a provider on this machine: what is sent, what is read, and what becomes of everything that can
go wrong between the two.
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from threading import Event, Thread
from typing import Any

import pytest

import language
from language.errors import Cancelled
from language.host.llm import converse
from language.models.conversation import ChatMessage, ModelFault, ModelReply, ModelRequest, Offer
from language.native import outgoing
from language.runtime.context import Context
from language.runtime.threads import raise_in
from tests.models.provider_peer import (
    KEY,
    PATHS,
    WIRES,
    Given,
    Peer,
    Turn,
    chunked,
    error,
    events,
    head,
    ping,
    serving,
)  # fmt: skip

LOOK = Offer(
    "look",
    "Looks a word up",
    {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"], "additionalProperties": False},
)
HELLO = ModelRequest((ChatMessage("user", "Hello?"),))


class Stage:
    """Providers of one test."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack

    def peer(self, wire: str, *given: Given, **settings: str) -> Peer:
        peer = serving(wire, given, **settings)
        self._stack.enter_context(peer.server)
        return peer


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "MINIMAX_API_KEY", "DEEPSEEK_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with ExitStack() as stack:
        yield Stage(stack)


class QuickHost(language.NativeHost):
    """Waits between attempts without waiting, and remembers for how long it was to wait."""

    def __init__(self, settings: dict[str, str]) -> None:
        super().__init__(settings)
        self.pauses: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)


def asked(peer: Peer, request: ModelRequest = HELLO, chunks: list[str] | None = None) -> ModelReply:
    host = QuickHost(peer.settings)
    return converse(Context(host), request, None if chunks is None else chunks.append)


def failed(peer: Peer, request: ModelRequest = HELLO, chunks: list[str] | None = None) -> tuple[ModelFault, list[float]]:
    host = QuickHost(peer.settings)
    with pytest.raises(ModelFault) as caught:
        converse(Context(host), request, None if chunks is None else chunks.append)
    assert KEY not in str(caught.value) + caught.value.help
    return caught.value, host.pauses


# ---- answers -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", ["1", "0"])
@pytest.mark.parametrize("wire", WIRES)
def test_text_arrives_in_its_fragments_and_whole(stage: Stage, wire: str, stream: str) -> None:
    peer = stage.peer(wire, Turn(("Hel", "lo, ", "wörld")), PLATFORM_LLM_HTTP_STREAM=stream)
    chunks: list[str] = []
    reply = asked(peer, chunks=chunks)
    assert (reply.text, reply.stop, reply.model, reply.calls) == ("Hello, wörld", "end", "m-1", ())
    assert chunks == (["Hel", "lo, ", "wörld"] if stream == "1" else ["Hello, wörld"])
    details = (0, 0) if wire == "ollama" else (3, 2)
    assert (reply.usage.input, reply.usage.output, reply.usage.cached, reply.usage.reasoning) == (11, 5, *details)
    request = peer.server.last
    assert (request.method, request.target) == ("POST", PATHS[wire])
    if wire == "anthropic":
        assert (request.headers["x-api-key"], request.headers["anthropic-version"]) == (KEY, "2023-06-01")
    else:
        assert request.headers.get("authorization") == (None if wire == "ollama" else f"Bearer {KEY}")
    assert peer.bodies[0]["model"] == "m-1" and bool(peer.bodies[0].get("stream")) == (stream == "1")


@pytest.mark.parametrize("stream", ["1", "0"])
@pytest.mark.parametrize("wire", WIRES)
def test_every_call_of_an_answer_is_kept_with_its_arguments(stage: Stage, wire: str, stream: str) -> None:
    calls = (("look", {"word": "«tide»", "n": 3}), ("look", {"word": "moon"}), ("stop", {}))
    peer = stage.peer(wire, Turn(("Let me see. ",), calls), PLATFORM_LLM_HTTP_STREAM=stream)
    reply = asked(peer, HELLO.changed(offers=(LOOK,)))
    assert (reply.text, reply.stop) == ("Let me see. ", "calls")
    assert tuple((call.name, call.args) for call in reply.calls) == calls
    assert len({call.id for call in reply.calls}) == 3 and all(call.id for call in reply.calls)


#: Ollama has no word for a refusal.
STOPPED = [("length", wire) for wire in WIRES] + [("refusal", wire) for wire in WIRES if wire != "ollama"]


@pytest.mark.parametrize(("stop", "wire"), STOPPED)
def test_why_an_answer_stopped_is_one_word_for_all_providers(stage: Stage, wire: str, stop: str) -> None:
    peer = stage.peer(wire, Turn(("I ",), stop=stop))
    assert asked(peer).stop == stop
    assert asked(stage.peer(wire, Turn(("I ",), stop=stop), PLATFORM_LLM_HTTP_STREAM="0")).stop == stop


# ---- requests ----------------------------------------------------------------------------------------------------------


def sent(stage: Stage, wire: str, request: ModelRequest, **settings: str) -> dict[str, Any]:
    peer = stage.peer(wire, Turn(("ok",)), **settings)
    asked(peer, request)
    return peer.bodies[0]


def conversation(reply: ModelReply) -> ModelRequest:
    """The next request after an answer with a call: the answer goes back, and the result of each of its calls."""
    results = tuple(ChatMessage("tool", f"result of {call.name}", call_id=call.id, failed=True) for call in reply.calls)
    return ModelRequest((*HELLO.messages, reply.message, *results), system="Be brief.", offers=(LOOK,))


def test_a_conversation_with_calls_as_anthropic_has_it(stage: Stage) -> None:
    peer = stage.peer("anthropic", Turn(("Wait.",), (("look", {"word": "a"}), ("look", {"word": "b"})), thinking="hm"))
    reply = asked(peer, HELLO.changed(offers=(LOOK,)))
    body = sent(stage, "anthropic", conversation(reply).changed(choice="look", effort="low"), PLATFORM_LLM_MAX_TOKENS="77")
    assert body["messages"] == [
        {"role": "user", "content": "Hello?"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "sig=="},
                {"type": "text", "text": "Wait."},
                {"type": "tool_use", "id": "toolu_0", "name": "look", "input": {"word": "a"}},
                {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"word": "b"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "toolu_0", "content": "result of look", "is_error": True},
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": "result of look", "is_error": True},
            ],
        },
    ]
    assert (body["system"], body["max_tokens"], body["output_config"]) == ("Be brief.", 77, {"effort": "low"})
    assert body["tool_choice"] == {"type": "tool", "name": "look"}
    described = {"name": "look", "description": "Looks a word up", "input_schema": LOOK.schema, "strict": True}
    assert body["tools"] == [described]
    assert body["cache_control"] == {"type": "ephemeral"}


def test_a_conversation_with_calls_as_responses_has_it(stage: Stage) -> None:
    peer = stage.peer("responses", Turn((), (("look", {"word": "a"}),), thinking="gAAA"))
    reply = asked(peer, HELLO.changed(offers=(LOOK,)))
    body = sent(stage, "responses", conversation(reply).changed(choice="any", effort="high"), PLATFORM_LLM_MAX_TOKENS="77")
    call = {"type": "function_call", "id": "fc_0", "call_id": "call_0", "name": "look", "arguments": '{"word": "a"}'}
    assert body["input"] == [
        {"role": "user", "content": "Hello?"},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"},
        call,
        {"type": "function_call_output", "call_id": "call_0", "output": "result of look"},
    ]
    assert (body["instructions"], body["store"], body["max_output_tokens"]) == ("Be brief.", False, 77)
    assert body["include"] == ["reasoning.encrypted_content"] and body["reasoning"] == {"effort": "high"}
    assert body["tool_choice"] == "required"
    described = {
        "type": "function",
        "name": "look",
        "description": "Looks a word up",
        "parameters": LOOK.schema,
        "strict": True,
    }
    assert body["tools"] == [described]


def test_a_conversation_with_calls_as_chat_has_it(stage: Stage) -> None:
    reply = asked(stage.peer("chat", Turn(("Wait.",), (("look", {"word": "a"}),))), HELLO.changed(offers=(LOOK,)))
    body = sent(stage, "chat", conversation(reply).changed(choice="look"), PLATFORM_LLM_MAX_TOKENS="77")
    function = {"name": "look", "arguments": '{"word": "a"}'}
    assert body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hello?"},
        {"role": "assistant", "content": "Wait.", "tool_calls": [{"id": "call_0", "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": "call_0", "content": "result of look"},
    ]
    assert body["tool_choice"] == {"type": "function", "function": {"name": "look"}}
    assert body["max_tokens"] == 77 and body["stream_options"] == {"include_usage": True}


def test_a_conversation_with_calls_as_ollama_has_it(stage: Stage) -> None:
    reply = asked(stage.peer("ollama", Turn(("Wait.",), (("look", {"word": "a"}),))), HELLO.changed(offers=(LOOK,)))
    body = sent(stage, "ollama", conversation(reply), PLATFORM_LLM_MAX_TOKENS="77")
    assert body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hello?"},
        {
            "role": "assistant",
            "content": "Wait.",
            "tool_calls": [{"function": {"name": "look", "arguments": {"word": "a"}}}],
        },
        {"role": "tool", "content": "result of look", "tool_name": "look"},
    ]
    assert body["options"] == {"num_predict": 77, "num_ctx": 8192}


def test_a_schema_stands_where_each_protocol_has_it(stage: Stage) -> None:
    request = HELLO.changed(schema=LOOK.schema)
    assert sent(stage, "anthropic", request)["output_config"] == {"format": {"type": "json_schema", "schema": LOOK.schema}}
    form = {"type": "json_schema", "name": "answer", "schema": LOOK.schema, "strict": True}
    assert sent(stage, "responses", request)["text"] == {"format": form}
    nested = {"name": "answer", "schema": LOOK.schema, "strict": True}
    assert sent(stage, "chat", request)["response_format"] == {"type": "json_schema", "json_schema": nested}
    assert sent(stage, "ollama", request)["format"] == LOOK.schema


@pytest.mark.parametrize("wire", WIRES)
def test_a_decide_is_forced_into_its_options(stage: Stage, wire: str) -> None:
    turn = Turn(("BLUE!",)) if wire == "ollama" else Turn((), (("choose", {"option": "Blue"}),))
    peer = stage.peer(wire, turn)
    answer = language.run('print(decide between ["red", "Blue"])', host=language.NativeHost(peer.settings))
    assert answer["output"] == ["Blue"], answer
    if wire == "anthropic":
        assert peer.bodies[0]["tool_choice"] == {"type": "tool", "name": "choose"}
        assert peer.bodies[0]["tools"][0]["input_schema"]["properties"]["option"]["enum"] == ["red", "Blue"]


# ---- what local servers leave out --------------------------------------------------------------------------------------


def test_calls_of_local_servers_without_ids_and_indexes_and_with_repeated_names(stage: Stage) -> None:
    def event(call: dict[str, Any], reason: str | None = None) -> bytes:
        data = {"choices": [{"delta": {"tool_calls": [call]}, "finish_reason": reason}]}
        return chunked(f"data: {json.dumps(data)}\r\n\r\n".encode())

    parts = [
        event({"function": {"name": "look", "arguments": '{"wo'}}),
        event({"function": {"name": "look", "arguments": 'rd": "a"}'}}),
        event({"function": {"name": "stop"}}, "stop"),
    ]
    peer = stage.peer("chat", head("chat") + b"".join(parts) + b"0\r\n\r\n")
    reply = asked(peer, HELLO.changed(offers=(LOOK,)))
    assert [(call.name, call.args) for call in reply.calls] == [("look", {"word": "a"}), ("stop", {})]
    assert reply.stop == "calls" and len({call.id for call in reply.calls}) == 2


def test_unreadable_arguments_keep_their_text(stage: Stage) -> None:
    call = {"index": 0, "id": "c", "function": {"name": "look", "arguments": '{"word": '}}
    data = {"choices": [{"delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]}
    peer = stage.peer("chat", head("chat") + chunked(f"data: {json.dumps(data)}\n\ndata: [DONE]\n\n".encode()) + b"0\r\n\r\n")
    (found,) = asked(peer, HELLO.changed(offers=(LOOK,))).calls
    assert (found.args, found.raw) == (None, '{"word": ')


def test_an_old_server_is_asked_in_the_way_that_it_knows(stage: Stage) -> None:
    refusals = [
        error("chat", "400 Bad Request", "Unrecognized request argument: stream_options"),
        error("chat", "400 Bad Request", "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
    ]
    peer = stage.peer("chat", *refusals, Turn(("ok",)))
    assert asked(peer, HELLO.changed(retries=0)).text == "ok"
    first, second, third = peer.bodies
    assert "stream_options" in first and "stream_options" not in second
    assert "max_tokens" in second and "max_completion_tokens" in third and "max_tokens" not in third


# ---- failures ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wire", WIRES)
def test_a_provider_that_is_overloaded_is_asked_again_twice(stage: Stage, wire: str) -> None:
    for status in ("408 Request Timeout", "409 Conflict", "500 Internal Server Error", "529 Overloaded"):
        peer = stage.peer(wire, *[error(wire, status, "later")] * 2, Turn(("ok",)))
        host = QuickHost(peer.settings)
        assert converse(Context(host), HELLO).text == "ok"
        first, second = host.pauses
        assert 0.25 <= first <= 0.5 and 0.5 <= second <= 1.0
        if wire != "anthropic":
            break
    peer = stage.peer(wire, error(wire, "503 Service Unavailable", "later"))
    fault, pauses = failed(peer)
    label = {"responses": "openai", "chat": "openai"}.get(wire, wire)
    assert (fault.message, fault.kind, len(pauses), len(peer.bodies)) == (f"{label} error: later", "network", 2, 3)
    assert failed(peer, HELLO.changed(retries=0))[1] == []


def test_the_time_that_a_provider_names_is_waited(stage: Stage) -> None:
    busy = "429 Too Many Requests"
    for given, seconds in (("Retry-After: 7", 7.0), ("retry-after-ms: 1500", 1.5)):
        peer = stage.peer("anthropic", error("anthropic", busy, "slow down", given, code="rate_limit_error"), Turn(("ok",)))
        host = QuickHost(peer.settings)
        assert converse(Context(host), HELLO).text == "ok"
        assert host.pauses == [seconds]
    date = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + 40))
    peer = stage.peer("anthropic", error("anthropic", busy, "slow down", f"Retry-After: {date}"), Turn(("ok",)))
    host = QuickHost(peer.settings)
    converse(Context(host), HELLO)
    assert 10 < host.pauses[0] <= 40
    # Longer than the whole call may take: the program is told at once.
    peer = stage.peer("anthropic", error("anthropic", busy, "come back tomorrow", "Retry-After: 86400"))
    fault, pauses = failed(peer)
    assert (fault.message, pauses) == ("anthropic error: come back tomorrow", [])


def test_nothing_is_repeated_that_money_alone_would_mend(stage: Stage) -> None:
    refusals = [
        error("chat", "429 Too Many Requests", "You exceeded your current quota", code="insufficient_quota"),
        error("chat", "429 Too Many Requests", "You have reached your specified API usage limits."),
        error("chat", "429 Too Many Requests", "no", "x-should-retry: false"),
        error("chat", "400 Bad Request", "bad"),
        error("chat", "401 Unauthorized", f"Incorrect API key provided: {KEY}"),
        error("chat", "404 Not Found", "no such model"),
    ]
    helps = []
    for refusal in refusals:
        peer = stage.peer("chat", refusal)
        fault, pauses = failed(peer)
        helps.append(fault.help)
        assert pauses == [] and len(peer.bodies) == 1
    assert "no money or quota" in helps[0] and "OPENAI_API_KEY" in helps[4] and "PLATFORM_LLM_MODEL" in helps[5]


@pytest.mark.parametrize("wire", WIRES)
def test_a_truncated_stream_is_an_error_and_is_not_paid_for_twice(stage: Stage, wire: str) -> None:
    data = head(wire) + b"".join(chunked(event) for event in events(wire, Turn(("a", "b", "c")))[:-3])

    def cut(connection: socket.socket) -> None:
        connection.sendall(data)

    peer = stage.peer(wire, cut)
    chunks: list[str] = []
    fault, pauses = failed(peer, chunks=chunks)
    assert fault.kind == "network" and chunks[:1] == ["a"] and pauses == [] and len(peer.bodies) == 1
    assert fault.spent > 0, "what an answer cost that broke off counts"
    # The same with an end of the transfer, and with the first event alone cut off: then nothing was said, and it is repeated.
    peer = stage.peer(wire, data + b"0\r\n\r\n")
    assert "ended before it was complete" in failed(peer)[0].message
    peer = stage.peer(wire, head(wire) + b"0\r\n\r\n", Turn(("ok",)))
    assert asked(peer).text == "ok"


@pytest.mark.parametrize("wire", WIRES)
def test_malformed_answers_are_errors(stage: Stage, wire: str) -> None:
    broken = b"{]\n" if wire == "ollama" else b"data: {]\n\n"
    no_map = b"[1]\n" if wire == "ollama" else b"data: [1]\n\n"
    for data in (head(wire) + chunked(broken) + b"0\r\n\r\n", head(wire) + chunked(no_map) + b"0\r\n\r\n"):
        assert "malformed answer" in failed(stage.peer(wire, data))[0].message
    for body in (b"<html>", b"[1]", b"{}", b'{"choices": 1, "content": 2, "output": 3, "message": 4}'):
        plain = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
        assert "malformed answer" in failed(stage.peer(wire, plain))[0].message


def test_an_error_in_the_middle_of_a_stream_is_told(stage: Stage) -> None:
    begun = [chunked(event) for event in events("anthropic", Turn(("a",)))[:4]]
    told = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    data = head("anthropic") + b"".join(begun) + chunked(f"event: error\ndata: {json.dumps(told)}\n\n".encode()) + b"0\r\n\r\n"
    fault, pauses = failed(stage.peer("anthropic", data))
    assert (fault.message, pauses) == ("anthropic error: Overloaded", [])
    early = head("anthropic") + chunked(f"event: error\ndata: {json.dumps(told)}\n\n".encode()) + b"0\r\n\r\n"
    assert asked(stage.peer("anthropic", early, Turn(("ok",)))).text == "ok", "before any content it is repeated"


def test_nobody_listens(stage: Stage) -> None:
    peer = stage.peer("chat", Turn())
    peer.server.__exit__()
    fault, pauses = failed(peer)
    assert fault.message.startswith("openai error: cannot connect to 127.0.0.1") and len(pauses) == 2


# ---- clocks ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wire", WIRES)
def test_a_slow_first_byte_and_silence_in_the_middle_end_the_call(stage: Stage, wire: str) -> None:
    over = Event()
    try:
        begun = events(wire, Turn(("a", "b")))[: {"anthropic": 4, "responses": 3, "chat": 2, "ollama": 1}[wire]]
        for sent_before in (b"", head(wire) + b"".join(map(chunked, begun))):

            def stall(connection: socket.socket, data: bytes = sent_before) -> None:
                connection.sendall(data)
                while not over.wait(0.05):  # what keeps the connection is no content
                    if data:
                        connection.sendall(chunked(ping(wire) if wire != "ollama" else b"\n"))

            peer = stage.peer(wire, stall, PLATFORM_LLM_TIMEOUT="0.3")
            fault, pauses = failed(peer)
            assert (fault.kind, pauses) == ("timeout", []) and "no content in 0.3 s" in fault.message
        peer = stage.peer(wire, stall)
        fault, _ = failed(peer, HELLO.changed(timeout=0.3))
        assert "the time for the whole call" in fault.message
    finally:
        over.set()


def test_the_time_that_the_programs_task_takes_is_not_the_providers_silence(stage: Stage) -> None:
    peer = stage.peer("chat", Turn(("a", "b", "c")), PLATFORM_LLM_TIMEOUT="0.2")
    chunks: list[str] = []

    def slow(chunk: str) -> None:
        time.sleep(0.3)
        chunks.append(chunk)

    assert converse(Context(QuickHost(peer.settings)), HELLO, slow).text == "abc" and len(chunks) == 3


def is_closed(connection: socket.socket) -> bool:
    """Whether the other side closes the connection; what it had not read resets it."""
    connection.settimeout(60)
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize("sent_before", [b"", head("chat") + chunked(events("chat", Turn(("a", "b")))[1])])
def test_a_cancelled_call_ends_at_once_and_closes_its_connection(stage: Stage, sent_before: bytes) -> None:
    closed, asked_for = Event(), Event()

    def stall(connection: socket.socket) -> None:
        connection.sendall(sent_before)
        asked_for.set()
        if is_closed(connection):
            closed.set()

    peer = stage.peer("chat", stall)
    ended: list[BaseException] = []

    def call() -> None:
        try:
            converse(Context(QuickHost(peer.settings)), HELLO)
        except BaseException as error:
            ended.append(error)

    thread = Thread(target=call, daemon=True)
    thread.start()
    assert asked_for.wait(60)
    assert thread.ident is not None
    raise_in([thread.ident], Cancelled)
    thread.join(60)
    assert isinstance(ended[0], Cancelled)
    assert closed.wait(60)


def test_a_task_that_fails_ends_the_call_and_closes_its_connection(stage: Stage) -> None:
    closed = Event()

    def stall(connection: socket.socket) -> None:
        connection.sendall(head("chat") + chunked(events("chat", Turn(("a", "b")))[1]))
        if is_closed(connection):
            closed.set()

    peer = stage.peer("chat", stall)

    def fail(chunk: str) -> None:
        raise ValueError(chunk)

    with pytest.raises(ValueError, match="a"):
        converse(Context(QuickHost(peer.settings)), HELLO, fail)
    assert closed.wait(60)


# ---- connections and keys ----------------------------------------------------------------------------------------------


def test_a_connection_is_used_again_and_never_shared_with_the_program(stage: Stage) -> None:
    peer = stage.peer("chat", Turn(("ok",)))
    host = QuickHost(peer.settings)
    context = Context(host)
    for _ in range(3):
        converse(context, HELLO)
    assert peer.server.connections == 1
    source = f'require net("{peer.server.url[7:]}")\nprint(fetch("{peer.server.url}/x", "POST", {{}}, {{"a": 1}})["status"])'
    assert language.run(source, host=host)["output"] == ["200"]
    assert peer.server.connections == 2, "the program's own connection"
    assert "authorization" not in peer.server.last.headers


def test_under_a_runner_the_models_connections_are_asked_for_as_such(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    class Runner:
        """Makes the connections of a program, and remembers under which capability each was asked for."""

        def __init__(self) -> None:
            self.asked: list[str] = []

        def connect(self, host: str, port: int, capability: str, seconds: float) -> socket.socket:
            self.asked.append(capability)
            return socket.create_connection((host, port))

    runner = Runner()
    monkeypatch.setattr(outgoing, "_connectors", [runner])
    peer = stage.peer("chat", Turn(("ok",)))
    source = (
        f'require net("{peer.server.url[7:]}")\nprint(reason about "x")\nfetch("{peer.server.url}/x", "POST", {{}}, {{"a": 1}})'
    )
    assert language.run(source, host=QuickHost(peer.settings))["output"] == ["ok"]
    assert runner.asked == ["llm", "net"]


def test_the_key_shows_nowhere(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    peer = stage.peer("chat", error("chat", "401 Unauthorized", f"bad key {KEY}"))
    host = language.NativeHost(peer.settings)
    answer = language.run('print(reason about "x")\nprint(llm_available())', host=host)
    assert answer["output"] == ["[openai error: bad key [redacted]]", "true"]
    seen = capsys.readouterr()
    assert KEY not in json.dumps(answer) + seen.out + seen.err + repr(host.llm) + repr(vars(host.llm))
