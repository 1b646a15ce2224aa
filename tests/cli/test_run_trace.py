"""What a run tells of itself: records, lines on the error stream, a trace as a file and as a tree."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from language.cli.main import main
from language.host import EmbeddedHost
from language.runtime.context import Context
from language.tracing.records import MOST_RECORDS

SOURCE = """
agent Helper
    trace "inside"
        give 1
let key be secret("KEY")
trace "outer"
    let kept be 5
    spawn Helper
    agent_wait("Helper_0")
measure "timed"
    each i in range(3)
        when i == 1
            stop
checkpoint "after " + text(key)
print(kept)
trace "failing"
    raise "the text of an error"
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KEY", "hunter2")
    path = tmp_path / "p.lang"
    path.write_text('require secret("KEY")' + SOURCE, encoding="utf-8")
    return path


def values(attributes: list[dict[str, Any]]) -> dict[str, Any]:
    return {item["key"]: next(iter(item["value"].values())) for item in attributes}


def test_a_trace_is_written_as_otlp(program: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "trace.json"
    assert main(["run", "--trace", str(target), str(program)]) == 1
    assert capfd.readouterr().out == "5\n"
    text = target.read_text(encoding="utf-8")
    (resource,) = json.loads(text)["resourceSpans"]
    spans = {span["name"]: span for span in resource["scopeSpans"][0]["spans"]}
    names = {span["spanId"]: name for name, span in spans.items()}
    assert {name: names.get(span.get("parentSpanId")) for name, span in spans.items()} == {
        "run p.lang": None,
        "outer": "run p.lang",
        "invoke_agent Helper": "outer",
        "inside": "invoke_agent Helper",
        "timed": "run p.lang",
        "failing": "run p.lang",
    }
    assert values(spans["invoke_agent Helper"]["attributes"]) == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "Helper",
        "gen_ai.agent.id": "Helper_0",
    }
    assert values(spans["failing"]["attributes"])["error.type"] == "raised"
    assert [name for name, span in spans.items() if "status" in span] == ["run p.lang", "failing"]
    assert len({span["traceId"] for span in spans.values()}) == 1
    assert all(len(span["spanId"]) == 16 and span["startTimeUnixNano"] <= span["endTimeUnixNano"] for span in spans.values())
    # Nothing of the program's data: neither what a checkpoint says nor the text of an error.
    assert "after" not in text and "the text of an error" not in text and "hunter2" not in text


def test_content_is_in_a_trace_when_it_is_asked_for(program: Path, tmp_path: Path) -> None:
    target = tmp_path / "trace.json"
    main(["run", "--trace", str(target), "--trace-content", str(program)])
    text = target.read_text(encoding="utf-8")
    assert "after secret(KEY)" in text and "hunter2" not in text


def test_a_trace_is_shown_as_a_tree(program: Path, capfd: pytest.CaptureFixture[str]) -> None:
    main(["run", "--trace", "-", str(program)])
    lines = [line.partition(" ms  ")[2] for line in capfd.readouterr().err.splitlines() if " ms  " in line]
    assert lines == [
        "run p.lang (failed: raised)",
        "  outer",
        "    invoke_agent Helper (id Helper_0)",
        "      inside",
        "  timed",
        "  failing (failed: raised)",
    ]


def test_a_trace_that_cannot_be_written_is_told_before_the_program_runs(
    program: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "--trace", str(tmp_path / "missing" / "t.json"), str(program)]) == 2
    told = capfd.readouterr()
    assert told.out == "" and "--trace" in told.err


def test_records_are_lines_on_the_error_stream_when_that_is_asked_for(
    program: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PLATFORM_TRACE", "1")
    main(["run", "--explain", str(program)])
    told = capfd.readouterr()
    assert told.out == "5\n"
    shown = [line.partition(":")[0] for line in told.err.splitlines() if line.startswith("[")]
    assert shown == ["[trace] inside", "[trace] outer", "[measure] timed", "[checkpoint] after secret(KEY)", "[trace] failing"]
    assert "  trace: failing\n  checkpoint: after secret(KEY)\n" in told.err


def test_the_newest_records_are_kept() -> None:
    context = Context(EmbeddedHost())
    records = context.records
    for number in range(MOST_RECORDS + 5):
        records.end(context, records.begin(context, "trace", str(number), "p.lang", 1))
    records.checkpoint(context, "x" * 5000, "p.lang", 2)
    assert len(records.kept) == MOST_RECORDS
    assert records.kept[0].name == "6" and records.kept[0].milliseconds is not None
    assert records.last_checkpoint == "x" * 1000 + "…"
    assert context.fork().records is records
