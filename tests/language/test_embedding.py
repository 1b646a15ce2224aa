"""The embedding API and the JSON call: the shapes of the manual, errors as data, misuse as exceptions."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from typing import Any

import pytest

import language
import language.models.budget


def call(request: Any, **options: Any) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(language.call_json(json.dumps(request), **options))
    return answer


def test_run() -> None:
    assert call({"op": "run", "source": 'print(1 + 2)\nprint("é")'}) == {
        "ok": True,
        "output": ["3", "é"],
        "errors": [],
        "audit": [],
        "llm_tokens": 0,
    }


def test_ceiling() -> None:
    answer = call({"op": "run", "source": 'print("before")\nrequire random\nprint(random())', "ceiling": "sandbox"})
    assert not answer["ok"]
    assert answer["output"] == ["before"]
    assert "Capability not granted: random" in answer["errors"][0]
    assert any(r["capability"] == "random" and r["granted"] is False for r in answer["audit"])


def test_records_say_which_operation_asked() -> None:
    source = """require random
require time
require env("A")
print(now())
env("A", "x")
print(apply([1], (x) => now()))
task tool(x)
    require time
    give now()
call_tool(tool, {"x": 1})
print(reason about "x")
use "more.lang" as more
print(more.stored())
"""
    files = {"more.lang": 'export task stored()\n    give env("A", "y")\n'}
    answer = call({"source": source, "files": files, "ceiling": "stdout,time,llm,env=A"})
    assert answer["errors"] == []
    told = [(record["capability"], record["source"]) for record in answer["audit"]]
    assert told == [
        ("stdout", "ambient"),
        ("time", "ambient"),
        ("llm", "ambient"),
        ("random", "ceiling"),
        ("time", "now()"),
        ("stdout", "print()"),
        ("env", "env()"),
        ("time", "now()"),
        ("time", "tool-scope"),
        ("time", "now()"),
        ("llm", "llm operation"),
        ("env", "env()"),
    ]
    assert all(record["reason"] == record["why"] for record in answer["audit"])
    serving = 'require serve(80)\nserve on 80\n    route "GET /"\n        give now()'
    first, second = ([record["source"] for record in language.handle(serving, {})["audit"]] for _ in range(2))
    assert first == second == ["serve()", "now()"]
    test = call({"op": "test", "source": 'test "a"\n    assert(now() > 0)'})
    assert [record["source"] for record in test["audit"]] == ["now()"]


def test_parse_errors_are_data() -> None:
    answer = call({"op": "run", "source": "let x be"})
    assert answer["ok"] is False and answer["output"] == []
    assert answer["errors"][0].startswith("Parse error: ")
    assert call({"op": "check", "source": "let x be"})["ok"] is False


def test_test() -> None:
    source = 'test "sum"\n    assert(1 + 1 == 2)\ntest "bad"\n    assert(1 == 2)'
    answer = call({"op": "test", "source": source})
    assert (answer["passed"], answer["failed"], answer["ok"]) == (1, 1, False)
    assert answer["lines"] == ["✓ sum", "✗ bad: <embedded>:4:11: assertion failed"]


def test_exit() -> None:
    answer = call({"source": 'print("a")\nlog "b"\nprint("c")\nexit(3)\nprint("d")'})
    assert answer["ok"] is False and answer["exit"] == 3 and answer["errors"] == []
    assert answer["output"] == ["a", "[LOG] b", "c"]
    assert call({"source": "exit()"})["ok"] is True


@pytest.mark.parametrize(
    ("request_text", "expected"),
    [
        ("[]", "the request must be a JSON object"),
        ('{"op": "fly", "source": ""}', 'unknown op "fly" (expected run|test|check|handle|version)'),
        ('{"op": "run"}', "missing `source` (the program text)"),
        ("{oops", "invalid request JSON: "),
        ('{"source": "", "ceiling": "bogus"}', "ceiling: "),
        ('{"source": "", "limits": {"nope": 1}}', "limits: "),
    ],
)
def test_a_request_that_cannot_be_served(request_text: str, expected: str) -> None:
    answer = json.loads(language.call_json(request_text))
    assert answer["ok"] is False and answer["output"] == [] and answer["audit"] == []
    assert answer["errors"][0].startswith(expected)


@pytest.mark.parametrize("encoded", ["+/8=", "-_8="])
def test_base64_in_either_alphabet(encoded: str) -> None:
    source = 'require file.read("b")\nprint(read_file_bytes("b"))'
    assert language.run(source, files={"b": {"base64": encoded}})["output"] == ["bytes(fbff)"]
    echo = 'require serve(1)\nserve on 1\n    route "POST /"\n        give binary(read_body_bytes(), "a/b")'
    assert language.handle(echo, {"method": "POST", "body_base64": encoded})["body_base64"] == "+/8="
    assert call({"source": "", "files": {"b": {"base64": "*"}}})["errors"] == ["files: 'b' is not Base64"]


@pytest.mark.parametrize(
    "reply",
    [
        {"status": 200, "body": {"a": 1}},
        {"status": 200, "body": 5},
        {"status": 200, "headers": {"a": None}},
        {"status": 200, "headers": {"a": ["1", "2"]}},
        {"status": 200, "headers": [["a"]]},
    ],
)
def test_what_no_http_hook_may_answer_is_an_error(reply: Any) -> None:
    source = 'require net("a.example")\nlet r be http_get("https://a.example/")\nprint(r["ok"], r["status"], r["error"] == "")'
    assert language.run(source, host={"http": lambda request: reply})["output"] == ["false 0 false"]


def test_version() -> None:
    assert call({"op": "version"}) == {"version": language.version()}
    assert language.version().startswith("v")


def test_env_replaces_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUTER", "seen")
    source = 'require env("*")\nprint(env("INNER"), env("NUMBER"), env("EMPTY") == "")\nprint(env("OUTER", "hidden"))'
    answer = call({"source": source, "env": {"INNER": "a", "NUMBER": 5, "EMPTY": None}})
    assert answer["output"] == ["a 5 true", "hidden"]


def test_modules_come_from_files_only() -> None:
    files = {"lib/a.lang": "export let X be 5", "b.lang": {"base64": "ZXhwb3J0IGxldCBZIGJlIDY="}}
    source = 'use "./lib/a.lang" as a\nuse "./b.lang" as b\nprint(a.X, b.Y)'
    assert call({"source": source, "files": files})["output"] == ["5 6"]
    answer = call({"source": 'use "../etc/passwd.lang" as p', "files": files})
    assert "escapes the importing directory" in answer["errors"][0]


def test_two_modules_that_use_each_other() -> None:
    files = {"a.lang": 'use "./b.lang" as b', "b.lang": 'use "./a.lang" as a'}
    answer = language.run('use "./a.lang" as a', files=files)
    assert "circular import: module './a.lang' is already being loaded" in answer["errors"][0]


def test_a_program_is_entered_once_at_a_time() -> None:
    started = threading.Event()
    go_on = threading.Event()

    def log(line: str) -> None:
        started.set()
        go_on.wait(10)

    program = language.Program('eprint("here")', host={"log": log})
    thread = threading.Thread(target=program.run)
    thread.start()
    assert started.wait(10)
    with pytest.raises(RuntimeError, match="one call at a time"):
        program.run()
    go_on.set()
    thread.join()
    assert program.run()["ok"]


def test_programs_run_in_threads_side_by_side() -> None:
    answers: dict[int, list[str]] = {}

    def work(number: int) -> None:
        source = f"let n be 0\neach i in range(20000)\n    set n to n + {number}\nprint(n)"
        answers[number] = language.run(source)["output"]

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {n: [str(20000 * n)] for n in range(8)}


def test_runs_of_one_program_share_nothing() -> None:
    program = language.Program('let xs be []\nset xs to append(xs, 1)\nprint(xs, state_incr("n"))')
    assert [program.run()["output"] for _ in range(3)] == [["[1] 1"]] * 3


def test_wrong_arguments_raise() -> None:
    with pytest.raises(TypeError):
        language.Program(5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="unknown capability 'bogus'"):
        language.Program("", ceiling="bogus")


def test_the_recursion_limit_is_as_before() -> None:
    import sys

    before = sys.getrecursionlimit()
    language.run("task f()\n    give f()\nf()")
    assert sys.getrecursionlimit() == before


def test_no_python_is_reachable_from_a_program() -> None:
    for name in ("__builtins__", "__import__", "eval", "exec", "open", "globals", "object"):
        answer = language.run(f"print({name})")
        assert not answer["ok"] and f"Undefined variable: '{name}'" in answer["errors"][0]
    for path in ("x.__class__", 'x["__class__"]', "__globals__ of x", "print.__self__", "f.__code__", "f.__globals__"):
        answer = language.run(f"let x be {{}}\ntask f()\n    give 1\nprint({path})")
        assert not answer["ok"], path


def test_tokens_of_all_json_calls_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("language.json_call._usage", language.models.budget.Usage())
    host = {"llm": lambda operation, prompt: {"content": "x", "tokens": 5}}
    asked = {"source": 'print(reason about "x")\nprint(llm_usage())', "host": {"llm": True}}
    assert [call(asked, host=host)["llm_tokens"] for _ in range(2)] == [5, 10]
    assert call({"source": "print(1)"})["llm_tokens"] == 10


def test_a_model_that_does_not_answer() -> None:
    answer = language.run('print(reason about "x")', host={"llm": lambda operation, prompt: None})
    assert answer["output"] == ["[llm: the host returned no answer for reason]"]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"host": ["log"]}, "`host` must be an object"),
        ({"env": "K=V"}, "`env` must be an object"),
        ({"files": []}, "`files` must be an object"),
        ({"files": [1]}, "`files` must be an object"),
        ({"files": {"a": 1}}, "files: 'a' must be text"),
        ({"limits": 5}, "limits: must be an object"),
        ({"limits": {"steps": True}}, "limits: steps must be an integer"),
        ({"filename": 5}, "`filename` must be text"),
        ({"ceiling": 5}, "ceiling"),
        ({"op": ["run"]}, "unknown op"),
    ],
)
@pytest.mark.parametrize("op", ["run", "handle"])
def test_a_wrong_field_is_an_answer(op: str, fields: dict[str, Any], expected: str) -> None:
    answer = call({"op": op, "source": "print(1)", "request": {}, **fields})
    assert answer["ok"] is False and answer["errors"][0].startswith(expected)


@pytest.mark.parametrize("opening", ["[", '{"a":'])
@pytest.mark.parametrize("depth", [129, 2000, 100_000])
def test_a_request_that_nests_too_deep_is_an_answer(opening: str, depth: int) -> None:
    closing = "]" if opening == "[" else "}"
    text = '{"source": "print(1)", "env": {"A": ' + opening * depth + "1" + closing * depth + "}}"
    answer = json.loads(language.call_json(text))
    assert answer["ok"] is False and answer["errors"] == ["invalid request JSON: nested more than 128 levels deep"]


@pytest.mark.parametrize("text", ["[" * 5000, '{"a":' * 129, '"\\"[" [' + "[" * 128, "[" * 129 + "]" * 129])
def test_what_is_no_json_and_nests_too_deep_is_the_same_answer_on_every_version(text: str) -> None:
    assert json.loads(language.call_json(text))["errors"] == ["invalid request JSON: nested more than 128 levels deep"]


def test_brackets_in_texts_do_not_nest() -> None:
    answer = json.loads(language.call_json(json.dumps({"source": 'print("' + "[{" * 500 + '\\"' + "[" * 500 + '")'})))
    assert answer["ok"] is True and answer["output"] == ["[{" * 500 + '"' + "[" * 500]


def test_half_a_surrogate_pair_in_a_request() -> None:
    answer = json.loads(
        language.call_json(
            '{"source": "require env(\\"*\\")\\nprint(env(\\"A\\"), length(\\"\\ud800\\"))", "env": {"A": "\\uDC00"}}'
        )
    )
    assert answer["output"] == ["\ufffd 1"]


def test_the_limit_of_hook_calls() -> None:
    seen: list[float] = []
    source = "require time\neach i in range(10)\n    try\n        sleep(0.001)\n    recover e\n        print(e)"
    program = language.Program(source, host={"sleep": seen.append}, limits={"host_calls": 3})
    for _ in range(2):
        answer = program.run()
        assert answer["limit"] == "host_calls" and answer["errors"] == [
            "Runtime error: <embedded>:4:14: Limit exceeded: host_calls (3)"
        ]
        assert answer["output"] == [] and len(seen) == 3
        seen.clear()


def test_the_limit_of_calls_of_a_store() -> None:
    store: dict[str, str] = {}

    class Store:
        def get(self, namespace: str, key: str) -> str | None:
            return store.get(key)

        def set(self, namespace: str, key: str, value: str) -> None:
            store[key] = value

    source = 'each i in range(10)\n    state_incr("n")'
    answer = language.run(source, host={"kv": Store()}, limits={"host_calls": 6})
    assert answer["limit"] == "host_calls" and store == {"n": "3"}


FIELDS = {
    "run": {"ok", "output", "errors", "audit", "llm_tokens"},
    "test": {"ok", "passed", "failed", "lines", "audit"},
    "check": {"ok", "errors"},
    "handle": {"status", "content_type", "headers", "body", "log", "errors", "audit"},
}
WRONG = [
    {"ceiling": "bogus"},
    {"limits": {"nope": 1}},
    {"limits": {"steps": -1}},
    {"env": 5},
    {"files": {"a": 5}},
    {"source": 5},
]


@pytest.mark.parametrize("wrong", [{}, {"source": "let"}, {"source": "raise(1)"}, {"source": "exit(2)"}, *WRONG])
@pytest.mark.parametrize("op", FIELDS)
def test_an_answer_has_its_fields_whatever_went_wrong(op: str, wrong: dict[str, Any]) -> None:
    request = {"op": op, "source": "print(1)", "request": {"path": "/"}, **wrong}
    answer = json.loads(language.call_json(json.dumps(request)))
    assert set(answer) >= FIELDS[op]
    if wrong in WRONG and op == "test":
        assert (answer["passed"], answer["failed"], answer["lines"]) == (0, 1, answer["errors"])


def test_what_is_declared_stands_beside_what_was_done() -> None:
    source = 'require env("A_*")\nrequire net("api.example")\nrequire random\n'
    use = 'apply(parallel_map((n) => env("A_" + n, ""), ["B", "C", "B"]), (x) => random())\n'
    expected = [
        {"capability": "env", "scope": "A_*", "done": 3},
        {"capability": "net", "scope": "api.example", "done": 0},
        {"capability": "random", "scope": None, "done": 3},
    ]
    assert language.run(source + use, env={})["declared"] == expected
    tested = language.test(source + 'test "t"\n    ' + use, env={})
    assert (tested["ok"], tested["declared"]) == (True, expected)
    ended = language.run(source + use + "raise(1)\n", env={}, ceiling="stdout,env")
    assert not ended["ok"] and [use["done"] for use in ended["declared"]] == [3, 0, 0]
    assert "declared" not in language.run("print(1)")


HANDLED = """require serve(80)
require env("A_*")
require net("api.example")
env("A_TOP", "")
serve on 80
    route "GET /plain"
        give 1
    route "GET /uses/:name"
        give env("A_" + params.name, "") + env("A_B", "")
    route "GET /more"
        require random
        give random() + random()
"""


def uses(answer: dict[str, Any]) -> dict[str, int]:
    return {use["capability"]: use["done"] for use in answer["declared"]}


def test_a_handled_request_tells_of_itself_what_is_declared_and_done() -> None:
    program = language.Program(HANDLED, env={})
    get = [program.handle({"path": path}) for path in ("/plain", "/plain", "/uses/A", "/more", "/nowhere", "/plain")]
    assert [answer["status"] for answer in get] == [200, 200, 200, 200, 404, 200]
    plain = {"serve": 0, "env": 0, "net": 0}
    first = {"serve": 1, "env": 1, "net": 0}  # the top level counts with the first one
    assert [uses(answer) for answer in get] == [first, plain, {**plain, "env": 2}, {**plain, "random": 2}, plain, plain]
    assert get[0]["declared"][1] == {"capability": "env", "scope": "A_*", "done": 1}
    for answer in get:
        granted = [record for record in answer["audit"] if record["granted"]]
        assert len(granted) == sum(use["done"] for use in answer["declared"])
    assert "declared" not in language.handle('serve on 80\n    route "GET /"\n        give 1', {}, ceiling="stdout")


def test_a_program_that_cannot_be_prepared_tells_what_it_declared() -> None:
    program = language.Program('require serve(80)\nrequire env("A")\nenv("A", "")\nraise "no"\n', env={})
    for done in (1, 0):
        answer = program.handle({})
        assert (answer["status"], uses(answer)) == (500, {"serve": 0, "env": done})


def test_uses_beyond_what_is_kept_are_counted() -> None:
    source = 'require env("A")\nrequire random\neach i in range(20000)\n    random()\nenv("A", "")\n'
    assert [use["done"] for use in language.run(source, env={})["declared"]] == [1, 20000]


def test_what_was_written_before_memory_ran_out_is_kept() -> None:
    child = """
import json, resource, sys
import language
language.run("print(1)")
limit = 400 << 20
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
print(language.call_json(sys.stdin.read()))
"""
    source = 'print("before")\nprint(now() > 0)\nlet xs be []\nwhile true\n    set xs to append(xs, [1, 2, 3])\n'
    for op, extra in (("run", ""), ("test", 'test "a"\n    assert(true)\n')):
        request = json.dumps({"op": op, "source": source + extra})
        done = subprocess.run([sys.executable, "-c", child], input=request, capture_output=True, text=True, timeout=300)
        answer = json.loads(done.stdout)
        assert not answer["ok"] and any(record["capability"] == "time" for record in answer["audit"])
        if op == "run":
            assert answer["output"] == ["before", "true"] and answer["errors"] == ["Runtime error: out of memory"]


@pytest.mark.parametrize("op", ["run", "test", "check"])
@pytest.mark.parametrize(("path", "error"), [("a\0b", "holds a NUL character"), ("a\0b.lang", "holds a NUL character")])
def test_a_path_of_files_that_is_none(op: str, path: str, error: str) -> None:
    answer = call({"op": op, "source": "print(1)", "files": {path: "x"}})
    assert error in answer["errors"][0]
    with pytest.raises(ValueError, match=error):
        language.Program("print(1)", files={path: "x"})


def test_a_path_of_files_is_text() -> None:
    with pytest.raises(TypeError, match="a path must be text"):
        language.Program("print(1)", files={5: "x"})  # type: ignore[dict-item]


FAILING = """
require serve(80)
task told(status, message, request)
    give {"told": message}
task signed_in(request)
    raise "hunter2 at /srv"
serve on 80
    auth with signed_in
    route "GET /fails"
        raise "hunter2 at /srv"
    route "GET /closed" requires auth
        give 1
"""


@pytest.mark.parametrize("more", ["", "    errors with told\n"])
def test_a_client_need_not_read_the_cause_that_the_embedder_reads(more: str) -> None:
    source = FAILING.replace("    auth with signed_in\n", f"    auth with signed_in\n{more}")
    for detail in (True, False):
        program = language.Program(source, error_detail=detail)
        called = [
            program.handle({"path": "/fails"}),
            json.loads(
                language.call_json(
                    json.dumps({"op": "handle", "source": source, "error_detail": detail, "request": {"path": "/fails"}})
                )
            ),
        ]
        for answer in called:
            assert answer["status"] == 500
            assert ("hunter2" in answer["body"]) is detail
            assert ("internal server error" in answer["body"]) is not detail
            assert "hunter2 at /srv" in answer["log"][-1] and answer["log"][-1].startswith("[handler] 500 ")
        closed = program.handle({"path": "/closed"})
        assert closed["status"] == 401 and "hunter2" not in closed["body"]
    assert "hunter2" in language.handle(source, {"path": "/fails"})["body"]


@pytest.mark.parametrize("wrong", [0, 1, "no", []])
def test_a_wrong_error_detail(wrong: object) -> None:
    with pytest.raises(TypeError, match="error_detail must be bool"):
        language.Program("print(1)", error_detail=wrong)
    answer = json.loads(language.call_json(json.dumps({"source": "print(1)", "error_detail": wrong})))
    assert answer["errors"] == ["`error_detail` must be true or false"]
