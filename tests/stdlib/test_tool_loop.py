"""``tool_loop`` and ``llm_step``, through whole programs with a model that follows a script."""

from __future__ import annotations

import json
import threading

import pytest

import language
from language.models.conversation import Call, ChatMessage, Model, ModelReply, TokenUsage, arguments_of
from tests.models.provider_peer import Turn, serving


class Scripted(Model):
    """Gives the replies of a list in order: a text, or a list of ``(id, name, arguments)``. Keeps what it was asked."""

    provider = "scripted"
    name = "scripted-1"

    def __init__(self, *replies, tokens=0):
        self.replies = list(replies)
        self.asked = []
        self.tokens = tokens

    def converse(self, request, on_chunk, ctx):
        self.asked.append(request)
        reply = self.replies.pop(0)
        if callable(reply):
            reply = reply(request)
        calls = ()
        if isinstance(reply, list):
            calls = tuple(
                Call(ident, name, arguments_of(raw := args if isinstance(args, str) else json.dumps(args)), raw)
                for ident, name, args in reply
            )
            reply = ""
        message = ChatMessage("assistant", reply, calls, opaque="signed" if calls else None)
        return ModelReply(message, "calls" if calls else "end", self.name, TokenUsage(input=self.tokens))

    def most_tokens(self, request):
        return 0, 0


class Place(language.NativeHost):
    def __init__(self, model):
        super().__init__()
        self.model = model

    @property
    def llm(self):
        return self.model


def ran(source, model):
    """What a program prints."""
    answer = language.run(source, host=Place(model))
    assert answer["ok"], answer["errors"]
    return answer["output"]


def results_with(human, source, replies):
    """The results that the model is asked with last, where the function ``human`` answers gates and ``llm`` is a hook."""
    asked = []
    replies = list(replies)

    def llm(operation, prompt):
        asked.append(json.loads(prompt)["messages"])
        reply = replies.pop(0)
        if isinstance(reply, str):
            return reply
        return json.dumps({"calls": [{"id": ident, "name": name, "args": args} for ident, name, args in reply]})

    answer = language.run(source, host={"llm": llm, "human": human, "sleep": True})
    assert answer["ok"], answer["errors"]
    return {m["call_id"]: (m["content"], m["failed"]) for m in asked[-1] if m["role"] == "tool"}


def failed(source, model):
    answer = language.run(source, host=Place(model))
    assert not answer["ok"]
    return answer["errors"][0]


def results(request):
    return {m.call_id: (m.content, m.failed) for m in request.messages if m.role == "tool"}


TOOLS = """\
let numbers be {"a": {"type": "integer"}, "b": {"type": "integer", "default": 10}}
task add(args)
    give args.a + args.b
task fails(args)
    raise "it is broken"
task listed(args)
    give {"rows": [1, 2d]}
let tools be {"add": {"description": "Adds", "params": numbers, "run": add},
    "fails": {"description": "Fails", "run": fails}, "listed": {"description": "Lists", "run": listed}}
"""


def test_the_model_gets_results_until_it_answers():
    model = Scripted([("1", "add", {"a": 2, "b": 3})], [("2", "listed", {})], "It is 5.")
    assert ran(
        TOOLS + 'let r be tool_loop("2 + 3?", tools)\nprint(r.text, r.stop, r.steps, length(r.messages), r.data)', model
    ) == ["It is 5. end 3 6 nothing"]
    assert results(model.asked[2]) == {"1": ("5", False), "2": ('{"rows": [1, 2]}', False)}
    assert [offer.name for offer in model.asked[0].offers] == ["add", "fails", "listed"]
    assert model.asked[0].offers[0].schema["required"] == ["a"]
    assert model.asked[1].messages[1].opaque == "signed"


def test_arguments_are_typed_and_a_wrong_one_is_a_result():
    model = Scripted(
        [
            ("1", "add", {"a": 2}), ("2", "add", {"a": "2"}), ("3", "add", {}), ("4", "add", "no json"), ("5", "add", "[1]"),
            ("6", "nope", {}), ("7", "fails", {}), ("8", "add", {"a": 3.0, "b": None, "more": 1}),
        ],
        "done",
    )  # fmt: skip
    ran(TOOLS + 'tool_loop("go", tools)', model)
    assert results(model.asked[1]) == {
        "1": ("12", False),
        "2": ("not run: argument 'a' must be integer, got text", True),
        "3": ("not run: missing argument 'a'", True),
        "4": ("not run: the arguments are not a JSON object", True),
        "5": ("not run: the arguments are not a JSON object", True),
        "6": ("not run: there is no tool 'nope' (tools: add, fails, listed)", True),
        "7": ("it is broken", True),
        "8": ("13", False),
    }


def test_decimals_are_the_digits_that_the_model_wrote():
    source = """\
task pay(args)
    give text(args.sum) + " " + type_of(args.sum)
tool_loop("go", {"pay": {"description": "Pays", "params": {"sum": {"type": "decimal"}}, "run": pay}})
"""
    model = Scripted([("1", "pay", '{"sum": 0.10000000000000000001}')], "done")
    ran(source, model)
    assert results(model.asked[1]) == {"1": ("0.10000000000000000001 decimal", False)}


@pytest.mark.parametrize(
    ("options", "stop"), [('{"max_steps": 1}', "max_steps"), ('{"max_tokens": 5}', "max_tokens"), ('{"max_steps": 2}', "end")]
)
def test_a_limit_keeps_messages_in_which_every_call_has_one_result(options, stop):
    model = Scripted([("1", "add", {"a": 1}), ("2", "add", {"a": 2})], "done", tokens=5)
    (line,) = ran(TOOLS + f'let r be tool_loop("go", tools, {options})\nprint(json_encode([r.stop, r.messages]))', model)
    found, messages = json.loads(line)
    assert found == stop
    assert [m["call_id"] for m in messages if m["role"] == "tool"] == ["1", "2"]


def test_the_messages_of_a_loop_begin_the_next_one():
    source = (
        TOOLS
        + """\
let first be tool_loop("go", tools, {"max_steps": 1})
print(tool_loop(first.messages, tools).text)
"""
    )
    model = Scripted([("1", "add", {"a": 1})], "again")
    assert ran(source, model) == ["again"]
    assert model.asked[1].messages[1].opaque == "signed"


def test_ids_that_a_server_gives_twice_or_not_at_all_become_different():
    model = Scripted([("", "add", {"a": 1}), ("x", "add", {"a": 2}), ("x", "add", {"a": 3})], [("x", "add", {"a": 4})], "done")
    ran(TOOLS + 'tool_loop("go", tools)', model)
    assert len(results(model.asked[2])) == 4
    asked = [call.id for message in model.asked[2].messages for call in message.calls]
    assert sorted(results(model.asked[2])) == sorted(asked)


def test_the_time_of_a_loop_stops_the_tool_that_runs():
    source = """\
task waits(args)
    require time
    sleep(3600)
let tools be {"waits": {"description": "Waits", "run": waits}}
let r be tool_loop("go", tools, {"timeout": 0.3, "parallel": 2})
print(json_encode([r.stop, r.messages]))
"""
    model = Scripted([("1", "waits", {}), ("2", "waits", {}), ("3", "nope", {})])
    stop, messages = json.loads(ran(source, model)[0])
    assert stop == "timeout"
    assert [(m["call_id"], m["content"].partition(":")[0]) for m in messages[2:]] == [
        ("1", "stopped"), ("2", "stopped"), ("3", "not run"),
    ]  # fmt: skip


def test_what_the_model_writes_in_each_step_reaches_the_task_as_it_arrives():
    turns = [Turn(("I look ", "it up. "), calls=(("find", {"word": "heron"}),)), Turn(("A grey ", "bird."))]
    peer = serving("anthropic", turns)
    source = """require llm
task find(given)
    give "a grey bird"
let tools be {"find": {"description": "Looks up", "params": {"word": {"type": "text"}}, "run": find}}
let found be tool_loop("What is a heron?", tools, {"on_chunk": (part) => print("<" + part + ">")})
print(found.text)
"""
    with peer.server:
        answer = language.run(source, host=language.NativeHost(peer.settings))
    assert answer["output"] == ["<I look >", "<it up. >", "<A grey >", "<bird.>", "A grey bird."], answer["errors"]
    refused = language.run(source.replace('(part) => print("<" + part + ">")', "5"), host=language.NativeHost(peer.settings))
    assert "Cannot call value of type number" in str(refused["errors"][0])


def test_a_budget_around_a_loop_ends_it_with_its_messages():
    model = Scripted([("a", "none", {})], [("b", "none", {})], [("c", "none", {})], tokens=10)
    source = """require llm
task work()
    give tool_loop("Work", {})
let found be llm_limit({limit}, work)
print(found.stop, found.steps, length(found.messages), found.usage.input)
"""
    assert ran(source.replace("{limit}", "20"), model) == ["max_tokens 2 5 20"]
    answer = language.run(source.replace("{limit}", "0"), host=Place(Scripted()))
    assert "llm budget exceeded" in str(answer["errors"][0]), "without a step there is nothing to keep"


def test_calls_of_one_step_run_at_the_same_time_where_that_is_asked_for():
    source = """\
task meets(args)
    state_incr("come")
    while state_get("come") < 3
        let wait be 0
    print("met")
    give "met"
let tools be {"meets": {"description": "Meets", "run": meets}}
tool_loop("go", tools, {"parallel": 3, "timeout": 60})
"""
    model = Scripted([("1", "meets", {}), ("2", "meets", {}), ("3", "meets", {})], "done")
    assert ran(source, model) == ["met"] * 3
    assert set(results(model.asked[1]).values()) == {("met", False)}


def test_one_after_the_other_a_tool_sets_variables_of_the_program():
    source = """\
let seen be []
task note(args)
    set seen to append(seen, args.n)
let tools be {"note": {"description": "Notes", "params": {"n": {"type": "integer"}}, "run": note, "limit": 2}}
tool_loop("go", tools)
print(seen)
"""
    model = Scripted([("1", "note", {"n": 1}), ("2", "note", {"n": 2}), ("3", "note", {"n": 3})], "done")
    assert ran(source, model) == ["[1, 2]"]
    assert results(model.asked[1])["3"] == ("not run: the tool may be called at most 2 times", True)


def test_an_answer_is_held_against_the_schema_once_more_and_then_it_is_an_error():
    schema = '{"n": {"type": "integer"}, "s": {"type": "text", "default": "x"}}'
    source = f'let r be tool_loop("go", {{}}, {{"schema": {schema}}})\nprint(r.data)'
    assert ran(source, Scripted('```json\n{"n": 2.0, "more": 1}\n```')) == ['{n: 2, s: "x"}']
    model = Scripted("two", '{"n": 2}')
    assert ran(source, model) == ['{n: 2, s: "x"}']
    assert "must be a JSON object" in model.asked[1].messages[-1].content
    assert model.asked[0].schema["properties"]["n"] == {"type": "integer"}
    assert "does not fit the schema, twice: field 'n' must be integer, got text" in failed(
        source, Scripted("two", '{"n": "2"}')
    )


def test_a_tool_runs_with_what_its_own_lines_declare(tmp_path):
    (tmp_path / "a.txt").write_text("inside")
    source = f"""\
require file.read("{tmp_path}/*")
task reads(args)
    require file.read("{tmp_path}/*")
    give read_file("{tmp_path}/a.txt")
task sneaks(args)
    give read_file("{tmp_path}/a.txt")
let tools be {{"reads": {{"description": "d", "run": reads}}, "sneaks": {{"description": "d", "run": sneaks}}}}
tool_loop("go", tools)
"""
    model = Scripted([("1", "reads", {}), ("2", "sneaks", {})], "done")
    ran(source, model)
    found = results(model.asked[1])
    assert found["1"] == ("inside", False)
    assert found["2"][1] and found["2"][0].startswith("Capability not granted: file.read")


REFUSED = "not run: a person was asked and did not agree"
GATED = """\
task mail(args)
    when approve `send {args.to}?`
        give "sent"
    give "kept"
let tools be {"mail": {"description": "d", "run": mail, "params": {"to": {"type": "text"}}CONFIRM}}
tool_loop("go", tools)
"""


@pytest.mark.parametrize(
    ("confirm", "answer", "asked", "result"),
    [
        ("", True, ["[tool mail] send Ada?"], ("sent", False)),
        (', "confirm": "send this"', True, ['[tool mail] send this: {"to": "Ada"}', "[tool mail] send Ada?"], ("sent", False)),
        (', "confirm": true', False, ['[tool mail] run it: {"to": "Ada"}'], (REFUSED, True)),
    ],
)  # fmt: skip
def test_what_a_person_is_asked_names_the_tool(confirm, answer, asked, result):
    questions = []

    def human(kind, message, options, within):
        questions.append(message)
        return answer

    found = results_with(human, GATED.replace("CONFIRM", confirm), [[("1", "mail", {"to": "Ada"})], "done"])
    assert (questions, found["1"]) == (asked, result)


def test_arguments_that_nobody_could_read_are_refused_before_anybody_is_asked():
    questions = []
    source = GATED.replace("CONFIRM", ', "confirm": true')
    found = results_with(lambda *asked: questions.append(asked), source, [[("1", "mail", {"to": "x" * 5000})], "done"])
    assert questions == [] and "too long" in found["1"][0]


def test_messages_with_a_call_that_has_no_result_are_refused():
    messages = '[{"role": "assistant", "content": "", "calls": [{"id": "7", "name": "add", "args": {"a": 1}}]}]'
    assert 'message 1 asks for the call "7", which has no result' in failed(TOOLS + f"tool_loop({messages}, tools)", Scripted())
    answer = '[{"role": "tool", "content": "", "call_id": "7"}]'
    assert "message 1 is the result of a call that no message before it asks for" in failed(
        TOOLS + f"tool_loop({answer}, tools)", Scripted()
    )


def test_a_stop_from_outside_ends_a_tool_that_waits():
    source = """\
task waits(args)
    require time
    sleep(3600)
tool_loop("go", {"waits": {"description": "Waits", "run": waits}}, {"parallel": 4})
"""
    model = Scripted([("1", "waits", {}), ("2", "waits", {})])
    assert language.run(source, host=Place(model), limits={"time_ms": 200})["limit"] == "time_ms"
    assert threading.active_count() < 50


STEP = 'let catalog be [{"name": "add", "describe": "Adds", "params": %s}]\n'


def test_a_step_with_a_text_gives_texts():
    source = STEP % '["a", "b"]' + 'print(llm_step("2 + 3?", catalog, "so far"))'
    model = Scripted([("1", "add", {"a": 2, "b": [1, "x"], "c": "t"}), ("2", "add", {})], tokens=3)
    assert ran(source, model) == ['{kind: "tool", name: "add", args: {a: "2", b: "[1, \\"x\\"]", c: "t"}, tokens: 3}']
    assert model.asked[0].messages[0].content == "2 + 3?\nso far"
    assert ran(source, Scripted("five")) == ['{kind: "final", text: "five", tokens: 0}']


def test_a_step_with_described_arguments_gives_them_typed():
    source = (
        STEP % '{"a": {"type": "integer"}, "b": {"type": "integer", "default": 1}}' + 'print(llm_step("2 + 3?", catalog, ""))'
    )
    assert ran(source, Scripted([("1", "add", {"a": 2})])) == ['{kind: "tool", name: "add", args: {a: 2, b: 1}, tokens: 0}']
    assert ran(source, Scripted([("1", "add", {"a": "2"})])) == [
        '{kind: "tool", name: "add", args: {}, problem: "argument \'a\' must be integer, got text", tokens: 0}'
    ]


def test_a_step_with_messages_gives_all_calls_and_the_messages():
    source = (
        STEP % '{"a": {"type": "integer"}}'
        + """\
let s be llm_step("go", catalog, [])
print(s.kind, s.name, s.calls, s.stop)
let said be s.messages
each call in s.calls
    set said to append(said, {"role": "tool", "call_id": call.id, "content": text(call.args.a)})
print(llm_step("", catalog, said).text)
try
    llm_step("", catalog, s.messages)
recover e
    print(e)
"""
    )
    model = Scripted([("1", "add", {"a": 2}), ("2", "add", {"a": 3})], "done")
    assert ran(source, model) == [
        'tool add [{id: "1", name: "add", args: {a: 2}}, {id: "2", name: "add", args: {a: 3}}] calls',
        "done",
        'llm_step: message 2 asks for the call "1", which has no result',
    ]
    assert results(model.asked[1]) == {"1": ("2", False), "2": ("3", False)}


def test_a_step_from_the_hook_of_an_embedder_is_a_json_text():
    asked = []

    def hook(operation, prompt):
        asked.append((operation, json.loads(prompt)))
        return '{"kind": "tool", "name": "add", "args": {"a": 2}}'

    source = STEP % '["a"]' + 'print(llm_step("go", catalog, "c"))'
    assert language.run(source, host={"llm": hook})["output"] == ['{kind: "tool", name: "add", args: {a: "2"}, tokens: 0}']
    assert asked == [
        ("step", {"prompt": "go", "tools": [{"name": "add", "describe": "Adds", "params": ["a"]}], "context": "c"})
    ]


def test_without_a_model_a_step_is_a_placeholder_and_a_loop_an_error():
    assert ran('print(llm_step("go", [], ""))', None) == ['{kind: "final", text: "[no llm provider]", tokens: 0}']
    assert "no LLM provider is configured" in failed('tool_loop("go", {})', None)
