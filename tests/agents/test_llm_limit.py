"""``llm_limit``: the tokens of a task, its workers and agents, within the limits around it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import language
from language.cli.main import main


@pytest.fixture(autouse=True)
def mocked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model whose every answer costs ten tokens."""
    script = tmp_path / "mock.json"
    script.write_text(json.dumps({"responses": {"reason": "yes"}, "tokens": 10}), encoding="utf-8")
    monkeypatch.setenv("PLATFORM_LLM_PROVIDER", "mock")
    monkeypatch.setenv("PLATFORM_LLM_MOCK", str(script))


def output(source: str) -> list[str]:
    result = language.run(source, host=language.NativeHost())
    assert result["errors"] == []
    lines: list[str] = result["output"]
    return lines


ASK = """
task ask()
    give reason "x"
"""


def test_calls_beyond_the_limit_of_a_task_are_not_made() -> None:
    source = ASK + "print(llm_limit(25, () => [ask(), ask(), ask()]))\nprint(ask())\nprint(llm_usage())\n"
    assert output(source) == ['["yes", "yes", "[llm budget exceeded: used 20 of 25 tokens]"]', "yes", "30"]


def test_limits_nest_and_the_least_decides() -> None:
    source = ASK + "print(llm_limit(25, () => [ask(), llm_limit(1000, () => [ask(), ask()]), ask()]))\n"
    refused = '"[llm budget exceeded: used 20 of 25 tokens]"'
    assert output(source) == [f'["yes", ["yes", {refused}], {refused}]']
    source = ASK + "print(llm_limit(1000, () => [ask(), llm_limit(10, () => [ask(), ask()]), ask()]))\n"
    assert output(source) == ['["yes", ["yes", "[llm budget exceeded: used 10 of 10 tokens]"], "yes"]']


def test_workers_and_agents_of_the_task_count() -> None:
    source = (
        ASK
        + """
agent Asks
    give ask()
task work()
    let workers be parallel_map((x) => ask(), range(8))
    spawn Asks
    give append(workers, agent_wait("Asks_0").result)
let answers be llm_limit(50, work)
print(count_where(answers, (a) => a == "yes"))
print(llm_usage())
print(ask())
"""
    )
    assert output(source) == ["5", "50", "yes"]


def test_a_limit_ends_with_its_task_also_by_an_error() -> None:
    source = (
        ASK
        + """
try
    llm_limit(0, () => raise("out"))
recover why
    print(why)
print(ask())
try
    llm_limit(-1, ask)
recover why
    print(why)
"""
    )
    told = "llm_limit expects a whole number of tokens from 0 to 1000000000000000"
    assert output(source) == ["out", "yes", told]


def test_a_call_of_a_model_is_a_span_without_what_was_said(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    program, target = tmp_path / "p.lang", tmp_path / "trace.json"
    program.write_text(ASK + 'agent Asks\n    ask()\nspawn Asks\nagent_wait("Asks_0")\n', encoding="utf-8")
    assert main(["run", "--trace", str(target), str(program)]) == 0
    text = target.read_text(encoding="utf-8")
    spans = json.loads(text)["resourceSpans"][0]["scopeSpans"][0]["spans"]
    names = {span["spanId"]: span["name"] for span in spans}
    (chat,) = [span for span in spans if span["name"].startswith("chat")]
    assert names[chat["parentSpanId"]] == "invoke_agent Asks" and chat["kind"] == 3
    told = {item["key"]: item["value"] for item in chat["attributes"]}
    assert told["gen_ai.operation.name"] == {"stringValue": "chat"}
    assert told["gen_ai.provider.name"] == {"stringValue": "mock"}
    tokens = sum(int(told[f"gen_ai.usage.{kind}_tokens"]["intValue"]) for kind in ("input", "output"))
    assert tokens == 10
    assert "yes" not in text
