"""The cases of embedding, word for word, through every door: this process, the binary interface, both wrappers, a worker.

Those of the command are in ``test_command.py``.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import pytest

import language
from conformance.wasm_builds import WebModule
from language import json_call
from language.wasm import WebBuild
from tests.wasm.test_builds_agree import HERE, SERVING, Call, comparable, hooks_of, run
from tests.wasm.web_build import node, web_build

Answers = list[dict[str, Any]]
HookCalls = list[list[Any]]

PRINT_AND_LOG = 'print("a")\nlog "b"\nprint("c")\nexit(3)\nprint("d")'
MEMORY = 'require memory("notes")\nremember("context", "a")\nprint(length(recall()))'
LLM = """require llm
print(decide between ["RED", "BLUE"] given "sky")
print(reason about "rain" with where = "Oslo")
print(llm_usage())"""
HTTP = 'require net("api.example")\nlet r be http_get("https://api.example/v")\n'
HTTP_REPLY = {"status": 200, "headers": [["x-a", "1"], ["x-a", "2"]], "body_base64": "aGk="}
CAUGHT = 'let i be 0\ntry\n    while true\n        set i to i + 1\nrecover e\n    print("caught")'
DEEP = "task deep(n)\n    when n == 0\n        give 0\n    give 1 + deep(n - 1)\n"
LOOP = "let i be 0\nwhile i < 2000000\n    set i to i + 1\nprint(i)"
SORTS = (
    "task key(n)\n    when n == 0\n        give 0\n    let x be sort_by([1], (i) => key(n - 1))\n    give 1\nprint(key(2000))"
)
TOO_DEEP = "maximum recursion depth exceeded"


class Stated(NamedTuple):
    """A case: what one instance is asked in order, what its host lends, what must hold of its answers and of the hook calls."""

    number: str
    requests: list[Any]
    hooks: dict[str, Any]
    holds: Callable[[Answers, HookCalls], None]


def served(path: str, method: str = "GET", source: str = SERVING) -> dict[str, Any]:
    return {"op": "handle", "source": source, "request": {"method": method, "path": path}}


def case_1(answers: Answers, calls: HookCalls) -> None:
    assert answers == [{"ok": True, "output": ["3", "é"], "errors": [], "audit": [], "llm_tokens": 0}]


def case_2(answers: Answers, calls: HookCalls) -> None:
    (answer,) = answers
    assert (answer["ok"], answer["output"]) == (False, ["before"])
    assert "Capability not granted: random" in answer["errors"][0]
    assert any(record["capability"] == "random" and record["granted"] is False for record in answer["audit"])


def case_3(answers: Answers, calls: HookCalls) -> None:
    ran, checked = answers
    assert (ran["ok"], ran["output"]) == (False, []) and ran["errors"][0].startswith("Parse error: ")
    assert checked == {"ok": False, "errors": ran["errors"]}


def case_4(answers: Answers, calls: HookCalls) -> None:
    (answer,) = answers
    assert (answer["passed"], answer["failed"], answer["ok"]) == (1, 1, False)
    assert answer["lines"] == ["✓ sum", "✗ bad: <embedded>:4:11: assertion failed"]


def case_5(answers: Answers, calls: HookCalls) -> None:
    *hello, wrong_method, nowhere, undeclared = answers
    assert [(reply["status"], reply["content_type"], reply["log"]) for reply in hello] == [
        (200, "application/json", ["served ana"])
    ] * 2
    assert [reply["body"] for reply in hello] == [
        '{"hi": "ana", "hits": 1, "total": 1}',
        '{"hi": "ana", "hits": 1, "total": 2}',
    ]
    assert calls == [
        ["get", "state", "total"],
        ["set", "state", "total", "1"],
        ["get", "state", "total"],
        ["set", "state", "total", "2"],
    ]
    assert (wrong_method["status"], wrong_method["headers"]) == (405, [["Allow", "GET"]])
    assert wrong_method["body"] == '{"error": "method not allowed", "status": 405}'
    assert (nowhere["status"], nowhere["body"]) == (404, '{"error": "no route for GET /nope", "status": 404}')
    assert undeclared["status"] == 500 and "missing capability serve(8080)" in undeclared["errors"][0]


def case_6(answers: Answers, calls: HookCalls) -> None:
    assert [answer["output"] for answer in answers] == [["1"], ["2"]]
    assert {space for _, space, *_ in calls} == {"memory:notes"}
    assert {key for _, _, key, *_ in calls} <= {"memory", "progress"}


def case_6_unlent(answers: Answers, calls: HookCalls) -> None:
    (answer,) = answers
    assert answer["ok"] is False and calls == []
    assert 'memory "notes" is declared but this host provides no durable storage (wasm profile)' in answer["errors"][0]


def case_7(answers: Answers, calls: HookCalls) -> None:
    ran, above = answers
    assert (ran["output"], ran["llm_tokens"]) == (["BLUE", "Blue.", "18"], 18)
    assert calls == [
        ["llm", "decide", 'Decide between ["RED", "BLUE"] given sky'],
        ["llm", "reason", "Reason about: rain (context: where=Oslo)"],
    ]
    assert "Capability not granted: llm" in above["errors"][0]


def case_8(answers: Answers, calls: HookCalls) -> None:
    sql, undeclared, declared = answers
    why = "this build has no database drivers (run the program with the native `lang` binary)"
    assert f"sql: not available in the wasm profile — {why}" in sql["errors"][0] and sql["audit"] == []
    assert 'Capability not granted: file.read("a.txt")' in undeclared["errors"][0]
    assert "read_file: this host has no filesystem" in undeclared["errors"][0]
    assert [(record["capability"], record["granted"]) for record in undeclared["audit"]] == [("file.read", False)]
    assert "read_file: this host has no filesystem" in declared["errors"][0]
    assert "Capability not granted" not in declared["errors"][0]


def case_9(answers: Answers, calls: HookCalls) -> None:
    lent, undeclared, above = answers
    assert lent["output"] == ["200hi"]
    ((name, payload),) = calls
    assert (name, payload["method"], payload["url"]) == ("http", "GET", "https://api.example/v")
    assert isinstance(payload["headers"], list) and isinstance(payload["timeout"], int | float)
    assert all("Capability not granted: net" in answer["errors"][0] for answer in (undeclared, above))


def case_9_unlent(answers: Answers, calls: HookCalls) -> None:
    (answer,) = answers
    assert answer["ok"] is True and answer["output"][:2] == ["false", "true"]
    assert answer["output"][2] == (
        "http_get: not available in the wasm profile — this host provides no http transport (the embedder can offer it through "
        "the `http` host hook, or run the program with the native `lang` binary)"
    )


def case_10(answers: Answers, calls: HookCalls) -> None:
    (answer,) = answers
    assert (answer["ok"], answer["output"], answer["limit"]) == (False, [], "steps")
    assert "Limit exceeded: steps (1000)" in answer["errors"][0]


def case_11(answers: Answers, calls: HookCalls) -> None:
    assert [answer["errors"][0] for answer in answers] == [
        "the request must be a JSON object",
        'unknown op "fly" (expected run|test|check|handle|version)',
        "missing `source` (the program text)",
    ]


def case_13(answers: Answers, calls: HookCalls) -> None:
    assert answers[0] == {"ok": False, "output": ["a", "[LOG] b", "c"], "errors": [], "audit": [], "llm_tokens": 0, "exit": 3}
    assert answers[1] == {**answers[0], "ok": True, "exit": 0}


def case_14(answers: Answers, calls: HookCalls) -> None:
    loop, deep, deeper, sorts = answers
    assert (loop["output"], deep["output"]) == (["2000000"], ["2900"])
    assert TOO_DEEP in deeper["errors"][0]
    assert sorts["output"] == ["1"] or TOO_DEEP in sorts["errors"][0]


CASES = [
    Stated("11-1", [run('print(1 + 2)\nprint("é")')], {}, case_1),
    Stated("11-2", [run('print("before")\nrequire random\nprint(random())', ceiling="sandbox")], {}, case_2),
    Stated("11-3", [run("let x be"), {"op": "check", "source": "let x be"}], {}, case_3),
    Stated(
        "11-4",
        [{"op": "test", "source": 'test "sum"\n    assert(1 + 1 == 2)\ntest "bad"\n    assert(1 == 2)'}],
        {},
        case_4,
    ),
    Stated(
        "11-5",
        [
            *[served("/hello/ana?x=1")] * 2,
            served("/hello/ana", "POST"),
            served("/nope"),
            served("/hello/ana", source=SERVING.replace("require serve(8080)\n", "")),
        ],
        {"kv": {}},
        case_5,
    ),
    Stated("11-6", [run(MEMORY)] * 2, {"kv": {}}, case_6),
    Stated("11-6, nothing lent", [run(MEMORY)], {}, case_6_unlent),
    Stated("11-7", [run(LLM), run(LLM, ceiling="stdout")], {"llm": {"content": "Blue.", "tokens": 9}}, case_7),
    Stated(
        "11-8",
        [run('sql("select 1")'), run('read_file("a.txt")'), run('require file.read("a.txt")\nread_file("a.txt")')],
        {},
        case_8,
    ),
    Stated(
        "11-9",
        [
            run(HTTP + 'print(text(r["status"]) + r["body"])'),
            run('http_get("https://api.example/v")'),
            run(HTTP, ceiling="stdout"),
        ],
        {"http": HTTP_REPLY},
        case_9,
    ),
    Stated("11-9, nothing lent", [run(HTTP + 'print(r["ok"])\nprint("error" in r)\nprint(r["error"])')], {}, case_9_unlent),
    Stated("11-10", [run(CAUGHT, limits={"steps": 1000})], {}, case_10),
    Stated("11-11", [[], {"op": "fly", "source": ""}, {"op": "run"}], {}, case_11),
    Stated("11-13", [run(PRINT_AND_LOG), run(PRINT_AND_LOG.replace("exit(3)", "exit()"))], {}, case_13),
    Stated("11-14", [run(LOOP), run(DEEP + "print(deep(2900))"), run(DEEP + "print(deep(3500))"), run(SORTS)], {}, case_14),
]


# ---- the doors ------------------------------------------------------------------------------------------------------------


def with_hooks(request: Any, stated: Stated) -> Any:
    return {**request, "host": dict.fromkeys(stated.hooks, True)} if isinstance(request, dict) else request


def in_process() -> list[tuple[Answers, HookCalls]]:
    found = []
    for stated in CASES:
        json_call.forget()  # as a new instance has it
        calls: HookCalls = []
        host = hooks_of(Call(*stated[:3]), calls)
        requests = [json.dumps(with_hooks(request, stated)) for request in stated.requests]
        found.append((comparable([json.loads(language.call_json(request, host)) for request in requests]), calls))
    return found


def by_methods_in_process() -> list[tuple[Answers, HookCalls]]:
    return [_by_methods(language, stated) for stated in CASES]


def over_the_binary_interface() -> list[tuple[Answers, HookCalls]]:
    web_build()
    found = []
    for stated in CASES:
        calls: HookCalls = []
        hooks = hooks_of(Call(*stated[:3]), calls)

        def ask(kind: str, payload: Any, hooks: dict[str, Any] = hooks) -> Any:
            family, _, operation = kind.partition("_")
            if family not in hooks:
                return None
            if family == "kv":
                given = getattr(hooks["kv"], operation)(*payload.values())
                return {"get": {"value": given}, "list": {"keys": given}}.get(operation, {})
            return hooks[kind](payload) if kind == "http" else hooks[kind](*payload.values())

        module = WebModule(ask)
        found.append((comparable([module.call(with_hooks(request, stated)) for request in stated.requests]), calls))
    return found


def through_wasmtime() -> list[tuple[Answers, HookCalls]]:
    found = []
    for stated in CASES:
        with WebBuild(web_build()) as build:
            found.append(_by_methods(build, stated))
    return found


def _by_methods(door: Any, stated: Stated) -> tuple[Answers, HookCalls]:
    """Through ``run``, ``test``, ``check`` and ``handle`` of a door; what they cannot ask, as text."""
    calls: HookCalls = []
    host = hooks_of(Call(*stated[:3]), calls)
    if "handle" in (op for request in stated.requests if isinstance(request, dict) for op in [request.get("op")]):
        prepared = {request["source"]: language.Program(request["source"], host=host) for request in stated.requests}
    answers = []
    for request in stated.requests:
        options = dict(request) if isinstance(request, dict) else {}
        op, source = options.pop("op", "run"), options.pop("source", None)
        if source is None or not hasattr(door, op):
            answers.append(json.loads(door.call_json(json.dumps(request))))
        elif op != "handle":
            answers.append(getattr(door, op)(source, **options, host=host))
        elif door is language:
            answers.append(prepared[source].handle(options["request"]))
        else:
            answers.append(door.handle(source, options["request"], host=host))
    return comparable(answers), calls


def _in_node(*words: str) -> list[tuple[Answers, HookCalls]]:
    done = subprocess.run(
        [node(), "answer.js", *words],
        cwd=HERE / "js",
        env={**os.environ, "LANG_WEB_BUILD": str(web_build())},
        input=json.dumps([{"requests": stated.requests, "hooks": stated.hooks} for stated in CASES]),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return [(comparable(answers), calls) for answers, calls in json.loads(done.stdout)]


DOORS: dict[str, Callable[[], list[tuple[Answers, HookCalls]]]] = {
    "call_json": in_process,
    "the Python API": by_methods_in_process,
    "the binary interface": over_the_binary_interface,
    "language.wasm": through_wasmtime,
    "JavaScript": lambda: _in_node(),
    "JavaScript in a worker": lambda: _in_node("behind"),
}


@cache
def answers_through(door: str) -> list[tuple[Answers, HookCalls]]:
    return DOORS[door]()


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("number", [stated.number for stated in CASES])
def test_case(number: str, door: str) -> None:
    position = next(at for at, stated in enumerate(CASES) if stated.number == number)
    CASES[position].holds(*answers_through(door)[position])
