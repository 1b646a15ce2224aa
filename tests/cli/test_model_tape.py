"""``lang test --record`` and ``--replay``: a model is asked once, and its answers serve the next time."""

from __future__ import annotations

import json

import pytest

PROGRAM = """\
let n be {"n": {"type": "integer"}}
let tools be {"twice": {"description": "Doubles", "params": n, "run": (args) => args.n * 2}}
test "loop"
    let found be tool_loop("Double 4", tools)
    assert_eq(found.text, "It is 8.")
    assert_eq(found.usage.input, 10)
test "the same question again"
    assert_eq(reason "tides", "first")
    assert_eq(reason "tides", "second")
test "alone"
    assert_eq(reason "tides", "first")
test "at the same time"
    let said be parallel_map((i) => reason `wave {i}`, range(20), 10)
    assert_eq(length(unique(said)), 1)
"""
MOCK = {
    "match": [
        {"contains": "Double 4", "answer": {"calls": [{"name": "twice", "args": {"n": 4}}]}},
        {"contains": "wave", "answer": "w"},
    ],
    "responses": {"chat": "It is 8.", "reason": ["first", "second", "third"]},
    "tokens": 5,
}
MODEL = {"PLATFORM_LLM_PROVIDER": "mock", "PLATFORM_LLM_MOCK": "mock.json"}
FILES = {"a.lang": PROGRAM, "mock.json": json.dumps(MOCK)}


def test_what_was_recorded_is_given_again_without_a_model(lang, tmp_path) -> None:
    recorded = lang("test", "a.lang", "--record", "tape", files=FILES, env=MODEL)
    assert recorded.out.splitlines()[-1] == "4 passed, 0 failed (4 total)", recorded.out
    entries = sorted((tmp_path / "tape").iterdir())
    assert len(entries) == 2 + 2 + 20
    assert all("PLATFORM" not in entry.read_text() for entry in entries)
    for words in ([], ["-k", "alone"], ["-k", "again"]):
        played = lang("test", "a.lang", "--replay", "tape", *words, files=FILES, env={"PLATFORM_LLM_PROVIDER": ""})
        assert played.code == 0, played.out
    assert sorted((tmp_path / "tape").iterdir()) == entries


def test_what_was_not_recorded_is_an_error_and_no_call(lang, tmp_path) -> None:
    (tmp_path / "tape").mkdir()
    played = lang("test", "a.lang", "--replay", "tape", files=FILES, env=MODEL)
    assert played.code == 1
    assert "0 passed, 4 failed" in played.out
    assert "--replay: no answer is recorded for this request (chat, entry" in played.out
    assert list((tmp_path / "tape").iterdir()) == []


def test_a_failure_of_the_model_is_recorded_too(lang, tmp_path) -> None:
    program = 'test "t"\n    try\n        tool_loop("x", {})\n    recover e\n        assert_eq(e, "mock error: overloaded")\n'
    mock = json.dumps({"responses": {"chat": {"error": "overloaded"}}})
    files = {"a.lang": program, "mock.json": mock}
    for words in (["--record", "tape"], ["--replay", "tape"]):
        assert lang("test", "a.lang", *words, files=files, env=MODEL).code == 0


@pytest.mark.parametrize("content", ["", "[]", "{}"])
def test_a_broken_entry_is_named(lang, tmp_path, content) -> None:
    lang("test", "a.lang", "-k", "alone", "--record", "tape", files=FILES, env=MODEL)
    (entry,) = (tmp_path / "tape").iterdir()
    entry.write_text(content)
    played = lang("test", "a.lang", "-k", "alone", "--replay", "tape", files=FILES)
    assert played.code == 1 and entry.name in played.out


def test_wrong_flags(lang) -> None:
    both = lang("test", "a.lang", "--record", "a", "--replay", "b", files=FILES)
    assert both.code == 2 and "mutually exclusive" in both.err
    gone = lang("test", "a.lang", "--replay", "gone", files=FILES)
    assert gone.code == 2 and "--replay: cannot read the folder 'gone'" in gone.err
