"""A model is built once, and the calls of all workers together stay inside the budget of tokens."""

from __future__ import annotations

import json
from pathlib import Path
from threading import Barrier, Event, Thread
from typing import Any

import pytest

import language
from language.models.budget import Reservation, Usage
from language.models.conversation import ChatMessage, ModelFault, ModelRequest, Offer, estimated_tokens
from tests.serve.served import Served


def mock(tmp_path: Path, script: dict[str, Any], **settings: str) -> language.NativeHost:
    """A host whose model answers from the script."""
    file = tmp_path / "mock.json"
    file.write_text(json.dumps(script))
    return language.NativeHost({"PLATFORM_LLM_PROVIDER": "mock", "PLATFORM_LLM_MOCK": str(file), **settings})


def test_no_worker_sees_a_model_that_is_not_built_yet() -> None:
    class Slow(language.NativeHost):
        """The first thread that builds the model stays in the middle of it until it is let go."""

        def __init__(self) -> None:
            super().__init__({"PLATFORM_LLM_PROVIDER": "mock"})
            self.inside = Event()
            self.go_on = Event()

        def setting(self, name: str, *, secret: bool = False) -> tuple[str, str] | None:
            if name == "PLATFORM_LLM_MOCK":
                self.inside.set()
                assert self.go_on.wait(60)
            return super().setting(name, secret=secret)

    host = Slow()
    seen: list[object] = []
    first = Thread(target=lambda: seen.append(host.llm), daemon=True)
    first.start()
    assert host.inside.wait(60)
    second = Thread(target=lambda: seen.append(host.llm), daemon=True)
    second.start()
    second.join(0.2)  # a host that shows its model too early answers at once
    host.go_on.set()
    first.join(60)
    second.join(60)
    assert len(seen) == 2 and seen[0] is not None and seen[0] is seen[1]


def test_workers_do_not_pass_the_budget_together(tmp_path: Path) -> None:
    host = mock(tmp_path, {"tokens": 100}, PLATFORM_LLM_BUDGET="300")
    source = """\
task ask(n)
    give reason about n
let answers be parallel_map(ask, range(0, 64), 64)
print(llm_usage())
each answer in answers
    print(answer)
"""
    answer = language.run(source, host=host)
    first, *answers = answer["output"]
    assert first == "300", answer
    assert sorted(set(answers)) == ["[llm budget exceeded: used 300 of 300 tokens]", "[mock:reason]"]
    assert answers.count("[mock:reason]") == 3


def test_calls_at_once_never_hold_more_than_the_budget_has() -> None:
    usage = Usage(10_000)
    start = Barrier(32)
    most: list[int] = []
    refused: list[str] = []

    def call() -> None:
        start.wait(60)
        for _ in range(20):
            held = Reservation()
            try:
                answer = usage.reserve(held, 50, 400, 60)
            except ModelFault as fault:
                refused.append(fault.message)
                continue
            with usage._lock:
                most.append(sum(other.amount for other in usage._held) + usage.used)
            usage.settle(held, 50 + answer)  # as long an answer as is allowed

    threads = [Thread(target=call, daemon=True) for _ in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert usage.used <= 10_000 and 10_000 - usage.used < 51, "and what is left has no room for a question"
    assert refused and max(most) <= 10_000


def test_the_last_answer_may_be_as_long_as_there_are_tokens_left() -> None:
    usage = Usage(1_000)
    held = Reservation()
    assert usage.reserve(held, 100, 4_096, 1) == 900
    usage.settle(held, 300)
    again = Reservation()
    assert usage.reserve(again, 100, 4_096, 1) == 600
    usage.settle(again, 700)
    with pytest.raises(ModelFault, match="llm budget exceeded: used 1000 of 1000 tokens"):
        usage.reserve(Reservation(), 0, 1, 1)


def test_a_call_waits_for_what_others_hold_and_takes_what_they_give_back() -> None:
    usage = Usage(1_000)
    held = Reservation()
    usage.reserve(held, 100, 900, 1)
    given: list[int] = []
    other = Thread(target=lambda: given.append(usage.reserve(Reservation(), 100, 400, 60)), daemon=True)
    other.start()
    other.join(0.1)
    assert given == []
    usage.settle(held, 200)
    other.join(60)
    assert given == [400]


def test_a_call_inside_of_a_call_does_not_wait_for_itself() -> None:
    usage = Usage(1_000)
    usage.reserve(Reservation(), 100, 900, 60)
    with pytest.raises(ModelFault, match="budget exceeded"):
        usage.reserve(Reservation(), 100, 900, 60)


def test_a_cancelled_wait_leaves_nothing_reserved() -> None:
    usage = Usage(1_000)
    held = Reservation()
    usage.reserve(held, 0, 1_000, 1)
    late: list[str] = []

    def wait() -> None:
        try:
            usage.reserve(Reservation(), 0, 1_000, 0.05)
        except ModelFault as fault:
            late.append(fault.message)

    thread = Thread(target=wait, daemon=True)
    thread.start()
    thread.join(60)
    assert late and usage._held == [held]


def test_a_question_is_estimated_rather_too_large_than_too_small() -> None:
    english = "The quick brown fox jumps over the lazy dog. " * 100  # 1,000 tokens
    request = ModelRequest((ChatMessage("user", english),))
    assert 1_000 <= estimated_tokens(request) <= 2_000
    assert estimated_tokens(ModelRequest((ChatMessage("user", "日本語" * 100),))) >= 300
    more = request.changed(offers=(Offer("look", "Looks at a page", {"type": "object"}),), system="Be brief.")
    assert estimated_tokens(more) > estimated_tokens(request)


def test_a_decide_without_an_option_twice_is_an_error(tmp_path: Path) -> None:
    host = mock(tmp_path, {"responses": {"decide": ["perhaps", "none", "no"]}})
    answer = language.run('print(decide between ["yes", "no"])', host=host)
    assert not answer["ok"] and "decide: the model answered none of the 2 options twice, at last 'none'" in answer["errors"][0]


def test_the_mock_matches_by_prompt_and_fails_when_it_is_told_to(tmp_path: Path) -> None:
    script = {
        "match": [{"contains": "weather", "answer": "sun"}, {"contains": "broken", "answer": {"error": "no such model"}}],
        "responses": {"reason": "else"},
    }
    source = 'print(reason about "the weather")\nprint(reason about "time")\nprint(reason about "broken")\nprint(llm_usage())'
    assert language.run(source, host=mock(tmp_path, script))["output"] == ["sun", "else", "[mock error: no such model]", "0"]


def test_the_audit_names_provider_model_and_tokens_and_nothing_that_was_said(tmp_path: Path) -> None:
    host = mock(tmp_path, {"tokens": 7, "responses": {"reason": "the answer"}})
    answer = language.run('require llm\nprint(reason about "the question")', host=host)
    asked, called = (record for record in answer["audit"] if record["capability"] == "llm")
    assert asked["why"] == "Granted by llm"
    assert (called["why"], called["source"]) == ("answered by mock mock: 7 + 0 tokens", "model call")
    assert "the question" not in str(answer["audit"]) and "the answer" not in str(answer["audit"])
    assert answer["declared"] == [{"capability": "llm", "scope": None, "done": 1}], "a call is counted once"


ASKING = """\
require serve(8080)
require llm
task who(token)
    when token != ""
        give {"id": token}
task answer(n)
    try
        give llm_chat("Hello").text
    recover why
        give why
serve on 8080
    auth with who
    route "GET /" requires auth
        give ok(answer(1))
    route "GET /many" requires auth
        give parallel_map(answer, range(0, 4), 4)
    route "GET /all"
        give ok(answer(1))
"""


def test_a_user_of_a_service_has_a_budget_beside_that_of_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "mock.json"
    script.write_text('{"responses": {"chat": "hi"}, "tokens": 100}')
    monkeypatch.setenv("PLATFORM_LLM_PROVIDER", "mock")
    monkeypatch.setenv("PLATFORM_LLM_MOCK", str(script))
    monkeypatch.setenv("PLATFORM_LLM_BUDGET_PER_IDENTITY", "ana=250, ben = 400,carl=many")
    served = Served(ASKING)

    def told(name: str, path: str = "/") -> Any:
        return json.loads(served("GET", path, authorization=f"Bearer {name}").body)

    over = "llm budget exceeded for identity ana: used 200 of 250 tokens"
    assert [told("ana"), told("ana"), told("ana"), told("ana")] == ["hi", "hi", over, over]
    assert told("ben", "/many")["items"] == ["hi"] * 4
    assert told("ben") == "llm budget exceeded for identity ben: used 400 of 400 tokens"
    assert [told("carl"), told("nobody in the list"), told("ana", "/all")] == ["hi"] * 3
    assert served.host.llm_usage.used == 900
    [warned] = [line for line in served.host.errors if "PLATFORM_LLM_BUDGET_PER_IDENTITY" in line]
    assert "got 'carl=many': it is left out" in warned
