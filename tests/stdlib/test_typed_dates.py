"""Dates, datetimes and durations on their ways out of a program and back: as types of arguments and answers, through stores."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import language
from language.models.conversation import Call, ChatMessage, Model, ModelReply, TokenUsage, arguments_of
from language.native.host import NativeHost
from language.runtime.context import Context
from language.shared.value_form import from_text, to_text
from language.values import type_of
from language.values.dates import FIRST_DATE, LAST_DATE, Date
from language.values.datetimes import DateTime, restored
from language.values.durations import DAY, MOST, Duration
from language.values.json_decoding import decode
from language.values.json_encoding import encode
from language.values.schemas import object_schema, schema_of
from stdlib.mcp_client import mcp_call, mcp_close, mcp_connect, mcp_tools
from stdlib.validation import validate

ROOT = Path(__file__).resolve().parents[2]
KINDS = ("date", "datetime", "duration")

dates = st.builds(Date, st.integers(FIRST_DATE, LAST_DATE))
clocks = st.builds(DateTime, st.integers(FIRST_DATE * DAY, LAST_DATE * DAY))
moments = st.builds(
    restored, st.integers((FIRST_DATE + 1) * DAY, (LAST_DATE - 1) * DAY), st.sampled_from(["UTC", "+05:30", "-11:00"])
)
durations = st.builds(Duration, st.integers(-MOST, MOST))
times = st.one_of(dates, clocks, moments, durations)


class Scripted(Model):
    """Gives texts, or lists of ``(name, arguments)`` that it calls, in their order. Keeps what it was asked."""

    provider = "scripted"
    name = "scripted-1"

    def __init__(self, *replies: Any) -> None:
        self.replies = list(replies)
        self.asked: list[Any] = []

    def converse(self, request, on_chunk, ctx):
        self.asked.append(request)
        reply, calls = self.replies.pop(0), ()
        if isinstance(reply, list):
            calls = tuple(Call(name, name, arguments_of(json.dumps(args)), json.dumps(args)) for name, args in reply)
            reply = ""
        return ModelReply(ChatMessage("assistant", reply, calls), "calls" if calls else "end", self.name, TokenUsage())

    def most_tokens(self, request):
        return 0, 0


class Place(language.NativeHost):
    def __init__(self, model: Model) -> None:
        super().__init__()
        self.model = model

    @property
    def llm(self) -> Any:
        return self.model


def ran(source: str, model: Model) -> list[str]:
    answer = language.run(source, host=Place(model))
    assert answer["ok"], answer["errors"]
    return answer["output"]


@given(times)
def test_what_is_written_as_json_is_read_as_its_type_again(value):
    kind = type_of(value)
    found = validate(decode(encode({"v": value})), {"v": {"type": kind}})["v"]
    assert (found, type_of(found), found.display()) == (value, kind, value.display())
    assert validate({"v": value}, {"v": {"type": kind}})["v"] is value


@given(st.text(alphabet="0123456789-+:.TZPDHMSW ", max_size=30))
def test_a_text_is_a_value_or_refused(text):
    for kind in KINDS:
        try:
            found = validate({"v": text}, {"v": {"type": kind}})["v"]
        except language.RuntimeFault as refused:
            assert f"field 'v' must be {kind}, got a text in another form" in refused.message
        else:
            assert type_of(found) == kind


@given(st.lists(times))
def test_state_that_processes_share_keeps_them(values):
    found = from_text(to_text({"v": values}))["v"]
    assert found == values
    assert [value.display() for value in found] == [value.display() for value in values]


def test_the_schema_is_plain_json():
    described = {"days": {"type": "list", "enum": [[Date(0)]]}, "m": {"type": "map", "default": {"d": Duration(1)}}}
    schema = object_schema(schema_of("test", described))
    assert json.loads(json.dumps(schema["properties"])) == {
        "days": {"type": "array", "enum": [["1970-01-01"]]},
        "m": {"type": "object", "default": {"d": "PT0.000001S"}},
    }


SCHEMA = '{"day": {"type": "date"}, "at": {"type": "datetime"}, "long": {"type": "duration", "default": "P1D"}}'
ANSWER = '{"day": "2026-02-28", "at": "2026-02-28T10:00:00Z"}'


@pytest.mark.parametrize("asks", ['llm_chat([{"role": "user", "content": "go"}], ', 'tool_loop("go", {}, '])
def test_the_answer_of_a_model_has_dates(asks):
    source = f'let d be {asks}{{"schema": {SCHEMA}}}).data\nprint(d.day + d.long, type_of(d.at), d.at)'
    model = Scripted('{"day": "28 February", "at": "2026-02-28T10:00:00Z"}', ANSWER)
    assert ran(source, model) == ["2026-03-01 datetime 2026-02-28T10:00:00Z"]
    assert model.asked[0].schema["properties"]["at"] == {"type": "string", "format": "date-time"}
    assert "field 'day' must be date, got a text in another form (YYYY-MM-DD)" in model.asked[1].messages[-1].content


def test_a_tool_of_a_model_gets_dates_and_gives_texts():
    source = f"""\
task stay(args)
    give [type_of(args.day), args.day + args.long, args.at]
tool_loop("go", {{"stay": {{"description": "d", "run": stay, "params": {SCHEMA}}}}})
"""
    model = Scripted([("stay", json.loads(ANSWER))], "done")
    ran(source, model)
    assert model.asked[1].messages[-1].content == '["date", "2026-03-01", "2026-02-28T10:00:00Z"]'


@pytest.mark.once
def test_memory_keeps_their_texts():
    store: dict[str, str] = {}

    class Kv:
        def get(self, namespace, key):
            return store.get(namespace + key)

        def set(self, namespace, key, value):
            store[namespace + key] = value

        def delete(self, namespace, key):
            store.pop(namespace + key, None)

        def list(self, namespace):
            return [key.removeprefix(namespace) for key in store]

    source = """
require memory("notes")
let long be duration(days = 1, hours = 2)
remember("learning", date(2026, 2, 28), [date(2026, 2, 1)])
remember("decision", datetime("2026-02-28T10:00", "Europe/Berlin"))
remember("rule", long)
remember("context", json_encode({"day": date(2026, 2, 28), "long": long}))
print(parse_date(recall("learning")[0].content) == date(2026, 2, 28), recall(tags = [date(2026, 2, 1)])[0].content)
print(parse_datetime(recall("decision")[0].content) == datetime("2026-02-28T10:00", "Europe/Berlin"))
print(duration(recall("rule")[0].content) == long)
print(validate(json_decode(recall("context")[0].content), {"day": {"type": "date"}, "long": {"type": "duration"}}))
"""
    answer = language.run(source, host={"kv": Kv()})
    assert answer["ok"], answer["errors"]
    assert answer["output"] == ["true 2026-02-28", "true", "true", "{day: 2026-02-28, long: P1DT2H}"]


SERVER = f"""
require serve(8080)
task stay(args)
    give {{"end": args.day + args.long, "kinds": [type_of(args.day), type_of(args.at), type_of(args.long)], "at": args.at}}
let day be {{"description": "d", "run": (args) => date(2026, 2, 1)}}
let tools be {{"stay": {{"description": "d", "run": stay, "params": {SCHEMA}}}, "day": day}}
serve on 8080
    route "POST /mcp"
        give mcp_reply(request.json, {{"name": "n", "version": "1", "tools": tools}})
"""


@pytest.mark.once
def test_a_program_calls_the_tools_of_another_with_dates(tmp_path):
    (tmp_path / "server.lang").write_text(SERVER)
    ctx = Context(NativeHost(), collect=True)
    ctx.capabilities.require("exec", None)
    try:
        args = ["-m", "language.cli.main", "mcp", str(tmp_path / "server.lang")]
        conn = mcp_connect(ctx, sys.executable, {"args": args, "env": {"PYTHONPATH": str(ROOT)}})
        properties = next(tool for tool in mcp_tools(ctx, conn) if tool["name"] == "stay")["inputSchema"]["properties"]
        assert properties["day"] == {"type": "string", "format": "date"}
        found = decode(mcp_call(ctx, conn, "stay", {"day": Date(0), "at": DateTime(0), "long": Duration(2 * DAY)}))
        assert found == {"end": "1970-01-03", "kinds": list(KINDS), "at": "1970-01-01T00:00:00"}
        assert mcp_call(ctx, conn, "day") == "2026-02-01"
        mcp_close(ctx, conn)
    finally:
        ctx.lifetime.end()
