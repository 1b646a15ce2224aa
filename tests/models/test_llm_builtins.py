"""``llm_chat`` and ``llm_stream``: what they give, what they check, and what a failing model does to them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import language

CITY = {"city": {"type": "text"}, "people": {"type": "integer"}}


def run(source: str, tmp_path: Path, script: dict[str, Any] | None = None, **settings: str) -> dict[str, Any]:
    given = dict(settings)
    if script is not None:
        file = tmp_path / "mock.json"
        file.write_text(json.dumps(script))
        given.update(PLATFORM_LLM_PROVIDER="mock", PLATFORM_LLM_MOCK=str(file))
    answer: dict[str, Any] = language.run("require llm\n" + source, host=language.NativeHost(given))
    return answer


def output(source: str, tmp_path: Path, script: dict[str, Any]) -> list[str]:
    answer = run(source, tmp_path, script)
    assert answer["ok"], answer["errors"]
    lines: list[str] = answer["output"]
    return lines


def fault(source: str, tmp_path: Path, script: dict[str, Any] | None = None) -> str:
    answer = run(source, tmp_path, script)
    assert not answer["ok"]
    return str(answer["errors"][0])


def test_an_answer_with_everything_that_belongs_to_it(tmp_path: Path) -> None:
    lines = output('let a be llm_chat("Hello?")\nprint(json_encode(a))', tmp_path, {"responses": {"chat": "Hi."}, "tokens": 9})
    assert json.loads(lines[0]) == {
        "text": "Hi.",
        "data": None,
        "calls": [],
        "messages": [{"role": "user", "content": "Hello?"}, {"role": "assistant", "content": "Hi."}],
        "stop": "end",
        "model": "mock",
        "usage": {"input": 9, "output": 0, "cached": 0, "reasoning": 0},
    }


def test_an_answer_that_does_not_fit_is_asked_for_once_more_and_then_an_error(tmp_path: Path) -> None:
    ask = f'let a be llm_chat("Where?", {{"schema": {json.dumps(CITY)}}})\n'
    ask += 'print(a["data"], length(a["messages"]), a["usage"]["input"])'
    good, bad = '{"city": "Oslo", "people": 700000}', '{"city": "Oslo", "people": "many"}'
    assert output(ask, tmp_path, {"responses": {"chat": good}, "tokens": 5}) == ['{city: "Oslo", people: 700000} 2 5']
    repaired = output(ask, tmp_path, {"responses": {"chat": [bad, good]}, "tokens": 5})
    assert repaired == ['{city: "Oslo", people: 700000} 4 10']
    told = fault(ask, tmp_path, {"responses": {"chat": [bad, "no JSON at all"]}})
    assert "llm_chat: the answer of the model does not fit the schema, twice: the value must be a JSON object" in told


def test_an_answer_that_was_cut_or_refused_is_not_held_against_the_schema(tmp_path: Path) -> None:
    ask = f'let a be llm_chat("Where?", {{"schema": {json.dumps(CITY)}}})\nprint(a["data"], a["stop"])'
    for stop in ("length", "refusal"):
        assert output(ask, tmp_path, {"responses": {"chat": {"text": '{"ci', "stop": stop}}}) == [f"nothing {stop}"]


def test_calls_have_typed_arguments(tmp_path: Path) -> None:
    tools = [{"name": "look", "describe": "Looks", "params": {"n": {"type": "integer"}}}]
    calls = [{"name": "look", "args": {"n": 2}}, {"name": "look", "args": {"n": "two"}}]
    source = f'let a be llm_chat("?", {{"tools": {json.dumps(tools)}}})\nprint(a["stop"])\nprint(json_encode(a["calls"]))'
    stop, shown = output(source, tmp_path, {"responses": {"chat": {"calls": calls}}})
    first, second = json.loads(shown)
    assert stop == "calls" and first["args"] == {"n": 2} and first["id"] != second["id"]
    assert second["args"] == {} and "'n' must be integer" in second["problem"]


def test_fragments_reach_the_task_in_order_and_its_error_ends_the_call(tmp_path: Path) -> None:
    script = {"responses": {"chat": "one\ntwo\nthree", "stream": "one\ntwo\nthree"}}
    task = "task part(text)\n    print(trim(text))\n"
    assert output(task + 'let a be llm_chat("?", {"on_chunk": part})', tmp_path, script) == ["one", "two", "three"]
    assert output(task + 'print(length(llm_stream("?", "more", part)))', tmp_path, script) == ["one", "two", "three", "13"]
    answer = run('llm_stream("?", "", (text) => 1 / 0)', tmp_path, script)
    assert "Division by zero" in answer["errors"][0] or "zero" in answer["errors"][0]


def test_a_model_that_fails_is_an_error_of_chat_and_a_text_of_stream(tmp_path: Path) -> None:
    script = {"responses": {"chat": {"error": "no"}, "stream": {"error": "no"}}}
    assert "mock error: no" in fault('llm_chat("?")', tmp_path, script)
    assert output('print(llm_stream("?", "", (t) => print("part " + t)))', tmp_path, script) == [
        "part [mock error: no]",
        "[mock error: no]",
    ]


def test_without_a_model_chat_is_an_error_and_stream_a_placeholder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "MINIMAX_API_KEY", "DEEPSEEK_API_KEY", "PLATFORM_LLM_PROVIDER"):
        monkeypatch.delenv(name, raising=False)
    assert "no LLM provider is configured" in fault('llm_chat("?")', tmp_path)
    assert run('print(llm_stream("?", "", (t) => print("x")))', tmp_path)["output"] == ["[no llm provider]"]


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ('llm_chat("?", {"modle": "x"})', 'unknown option "modle"'),
        ('llm_chat("?", {"effort": "huge"})', 'option "effort" must be one of low, medium, high'),
        ('llm_chat("?", {"choice": "look"})', 'option "choice" must be auto, none, any or the name of one of the tools'),
        ('llm_chat("?", {"timeout": 0})', 'option "timeout" must be a number of seconds above 0'),
        ('llm_chat("?", {"max_tokens": 0})', 'option "max_tokens" must be an integer from 1'),
        ('llm_chat("?", {"schema": 3})', "llm_chat: the schema must be a map of parameters or a type"),
        ("llm_chat([])", "the list of messages is empty"),
        ('llm_chat([{"role": "boss", "content": "x"}])', "message 1: 'role' must be one of"),
        ('llm_stream("?", "", 3)', "Cannot call value of type number"),
    ],
)
def test_what_is_asked_wrongly_is_told(call: str, told: str, tmp_path: Path) -> None:
    assert told in fault(call, tmp_path, {"responses": {"chat": "x"}})


def test_both_need_their_capability(tmp_path: Path) -> None:
    for call in ('llm_chat("?")', 'llm_stream("?", "", (t) => t)'):
        answer = language.run(call, host=language.NativeHost({"PLATFORM_LLM_PROVIDER": "mock"}), ceiling="stdout")
        assert "Capability not granted: llm" in answer["errors"][0]


def test_an_embedder_answers_a_chat_with_text_or_with_calls() -> None:
    asked: list[Any] = []

    def hook(operation: str, prompt: str) -> object:
        asked.append((operation, json.loads(prompt)))
        return {"content": '{"calls": [{"name": "look", "args": {"n": 1}}]}' if len(asked) == 1 else "done", "tokens": 4}

    source = """require llm
let tools be [{"name": "look", "params": {"n": {"type": "integer"}}}]
let a be llm_chat("?", {"tools": tools, "system": "Be brief."})
print(a["stop"], a["calls"][0]["args"]["n"])
let more be a["messages"] + [{"role": "tool", "call_id": a["calls"][0]["id"], "content": "seen"}]
print(llm_chat(more, {"tools": tools})["text"], llm_usage())
"""
    assert language.run(source, host={"llm": hook})["output"] == ["calls 1", "done 8"]
    assert asked[0][0] == "chat" and asked[0][1]["system"] == "Be brief." and asked[0][1]["tools"][0]["name"] == "look"
    assert asked[1][1]["messages"][-1] == {
        "role": "tool",
        "content": "seen",
        "call_id": asked[1][1]["messages"][1]["calls"][0]["id"],
        "failed": False,
    }
