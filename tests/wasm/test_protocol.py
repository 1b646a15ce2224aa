"""The web build by its binary interface alone: the cases of the manual, hooks, clock and randomness, what an instance keeps."""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Iterator
from typing import Any

import pytest

import language
from conformance.wasm_builds import WebModule
from tests.wasm.programs import HELLO
from tests.wasm.web_build import web_build

PRINT_AND_LOG = 'print("a")\nlog "b"\nprint("c")\nexit(3)\nprint("d")'
DEEP = "task deep(n)\n    when n == 0\n        give 0\n    give 1 + deep(n - 1)\n"


class Store:
    """A host with the hook ``kv``."""

    def __init__(self) -> None:
        self.values: dict[tuple[str, str], str] = {}

    def __call__(self, kind: str, payload: Any) -> Any:
        key = payload.get("ns"), payload.get("key")
        if kind == "kv_get":
            return {"value": self.values.get(key)}
        if kind == "kv_set":
            self.values[key] = payload["value"]
            return {}
        if kind == "kv_delete":
            self.values.pop(key, None)
            return {}
        if kind == "kv_list":
            return {"keys": [name for space, name in self.values if space == payload["ns"]]}
        return None


@pytest.fixture(scope="module")
def module() -> Iterator[WebModule]:
    web_build()
    yield WebModule()


def handled(module: WebModule, path: str, **fields: Any) -> dict[str, Any]:
    request = {"path": path, **fields.pop("request", {})}
    return module.call({"op": "handle", "source": HELLO, "request": request, **fields})


# ---- the same answers as in this process --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "request_text",
    [
        '{"op": "run", "source": "print(1 + 2)\\nprint(\\"é\\")"}',
        '{"op": "run", "source": "let x be"}',
        '{"op": "check", "source": "let x be"}',
        '{"op": "test", "source": "test \\"sum\\"\\n    assert(1 + 1 == 2)\\ntest \\"bad\\"\\n    assert(1 == 2)"}',
        '{"op": "run", "source": "sql(\\"select 1\\")"}',
        '{"op": "run", "source": "serve on 80\\n    route \\"GET /\\"\\n        give 1"}',
        json.dumps({"op": "run", "source": PRINT_AND_LOG}),
        json.dumps({"op": "run", "source": PRINT_AND_LOG.replace("exit(3)", "exit()")}),
        json.dumps({"op": "run", "source": "let i be 0\nwhile true\n    set i to i + 1", "limits": {"steps": 1000}}),
        json.dumps({"op": "run", "source": "print(1)", "limits": {"stepz": 1}}),
        json.dumps({"op": "run", "source": "print(1)", "ceiling": "teleport=x"}),
        json.dumps({"op": "handle", "source": "print(1)", "request": {}}),
        json.dumps({"op": "handle", "source": HELLO.replace("8080)", "81)"), "request": {"path": "/hello/x"}}),
        json.dumps({"op": "handle", "source": HELLO}),
        json.dumps({"op": "run", "source": "print(1)", "files": {"a": 5}}),
        json.dumps({"op": "run", "source": 'print("\ud83d\ude00", length("\udc00"))'}),
        json.dumps({"op": "run", "source": DEEP + "print(deep(2900))"}),
        json.dumps({"op": "run", "source": DEEP + "print(deep(3500))"}),
        json.dumps({"op": "run", "source": "let i be 0\nwhile i < 2000000\n    set i to i + 1\nprint(i)"}),
        '{"op": "fly", "source": ""}',
        '{"op": "run"}',
        "[]",
        "nonsense",
        "",
        "null",
        '{"source": 5}',
        "[" * 5000,
    ],
)
def test_answers_are_those_of_this_process(module: WebModule, request_text: str) -> None:
    assert without_times(module.call(request_text)) == without_times(json.loads(language.call_json(request_text)))


def without_times(answer: dict[str, Any]) -> dict[str, Any]:
    return {**answer, "audit": [{**record, "ts": 0} for record in answer.get("audit", [])]}


def test_a_request_that_is_not_utf8(module: WebModule) -> None:
    assert module.call(b'{"source": "print(\\"\xff\\")"}')["output"] == ["\ufffd"]


def test_denials_are_in_the_audit(module: WebModule) -> None:
    answer = module.run('print("before")\nrequire random\nprint(random())', ceiling="sandbox")
    assert answer["ok"] is False and answer["output"] == ["before"]
    assert "Capability not granted: random" in answer["errors"][0]
    assert any(record["capability"] == "random" and record["granted"] is False for record in answer["audit"])
    assert {"ts", "capability", "scope", "granted", "origin", "why"} <= set(answer["audit"][0])


def test_there_are_no_files(module: WebModule) -> None:
    answer = module.run('read_file("a.txt")')
    assert 'Capability not granted: file.read("a.txt")' in answer["errors"][0]
    assert "read_file: this host has no filesystem" in answer["errors"][0] and answer["audit"][0]["granted"] is False
    answer = module.run('require file.read("a.txt")\nread_file("a.txt")')
    assert "read_file: this host has no filesystem" in answer["errors"][0] and "Capability" not in answer["errors"][0]


# ---- hooks --------------------------------------------------------------------------------------------------------------


def test_handling_over_a_store() -> None:
    web_build()
    module = WebModule(Store())
    for total in (1, 2):
        answer = handled(module, "/hello/ana?x=1", host={"kv": True})
        assert answer["status"] == 200 and answer["content_type"] == "application/json" and answer["log"] == ["served ana"]
        assert answer["body"] == f'{{"hi": "ana", "hits": 1, "total": {total}}}'
    key = {"ns": "state", "key": "total"}
    assert module.calls == [
        ("kv_get", key),
        ("kv_set", {**key, "value": "1"}),
        ("kv_get", key),
        ("kv_set", {**key, "value": "2"}),
    ]
    answer = handled(module, "/hello/ana", host={"kv": True}, request={"method": "POST"})
    assert (answer["status"], answer["headers"]) == (405, [["Allow", "GET"]])
    assert answer["body"] == '{"error": "method not allowed", "status": 405}'
    answer = handled(module, "/nope", host={"kv": True})
    assert (answer["status"], answer["body"]) == (404, '{"error": "no route for GET /nope", "status": 404}')


def test_hooks_that_are_not_lent_are_not_called() -> None:
    web_build()
    module = WebModule(lambda kind, payload: {})
    source = (
        'require net\neprint("x")\nstate_set("a", 1)\nprint(state_get("a"), llm_available())\n'
        'print(http_get("https://a.example")["ok"])'
    )
    answer = module.run(source, host={"kv": False, "log": 1})
    assert answer["output"] == ["1 false", "false"] and module.calls == []


def test_every_kind_of_hook() -> None:
    web_build()
    answers: dict[str, Any] = {
        "http": {"status": 200, "headers": [["x-a", "1"], ["x-a", "2"]], "body_base64": "aGk="},
        "llm": {"content": "Blue.", "tokens": 9},
        "log": {},
        "sleep": {},
    }
    module = WebModule(lambda kind, payload: answers.get(kind))
    source = """require net("api.example")
require llm
let r be http_get("https://api.example/v")
print(text(r["status"]) + r["body"])
print(decide between ["RED", "BLUE"] given "sky")
print(reason about "rain" with where = "Oslo")
print(llm_usage())
eprint("to the log")
sleep(0.5)
"""
    lent = dict.fromkeys(answers, True)
    answer = module.run(source, host=lent)
    assert answer["output"] == ["200hi", "BLUE", "Blue.", "18"] and answer["llm_tokens"] == 18
    kinds = dict(module.calls)
    assert kinds["http"]["method"] == "GET" and kinds["http"]["url"] == "https://api.example/v"
    assert isinstance(kinds["http"]["headers"], list) and isinstance(kinds["http"]["timeout"], (int, float))
    prompts = [payload for kind, payload in module.calls if kind == "llm"]
    assert prompts == [
        {"op": "decide", "prompt": 'Decide between ["RED", "BLUE"] given sky'},
        {"op": "reason", "prompt": "Reason about: rain (context: where=Oslo)"},
    ]
    assert kinds["log"] == {"line": "to the log"} and kinds["sleep"] == {"secs": 0.5}
    module.calls.clear()
    answer = module.run(source, host=lent, ceiling="stdout")
    assert "Capability not granted: net" in answer["errors"][0] and module.calls == []
    assert answer["llm_tokens"] == 18, "the sum of the instance"


def test_memory_over_the_store() -> None:
    web_build()
    module = WebModule(Store())
    source = 'require memory("notes")\nremember("context", "a")\nprint(length(recall()))'
    assert [module.run(source, host={"kv": True})["output"] for _ in range(2)] == [["1"], ["2"]]
    assert {payload["ns"] for _, payload in module.calls} == {"memory:notes"}
    module.calls.clear()
    answer = module.run(source)
    assert 'memory "notes" is declared but this host provides no durable storage (wasm profile)' in answer["errors"][0]
    assert module.calls == []


GARBAGE = [
    b"",
    b"nonsense",
    b"[1, 2",
    b"5",
    b"[]",
    b'"text"',
    b"{}",
    b'{"value": 5}',
    b'{"error": "broken"}',
    b"\xff\xfe",
    b"[" * 3000,
]
HOOKED = """require net
try
    print(state_get("a"))
recover e
    print(e)
try
    state_set("a", 1)
recover e
    print(e)
print(http_get("https://a.example/")["ok"])
print(type_of(reason about "x"))
sleep(0.1)
eprint("x")
print("end")
"""


@pytest.mark.parametrize("garbage", GARBAGE)
def test_a_host_that_answers_garbage(garbage: bytes) -> None:
    web_build()
    module = WebModule(lambda kind, payload: garbage)
    lent = dict.fromkeys(("http", "kv", "llm", "log", "sleep"), True)
    answer = module.run(HOOKED, host=lent)
    assert answer["ok"] is True and answer["output"][-3:] == ["false", "text", "end"]
    assert module.run("print(1)")["output"] == ["1"]


def test_a_store_that_fails_is_not_an_empty_one() -> None:
    web_build()
    module = WebModule(lambda kind, payload: None)  # lent, and offered nothing
    answer = module.run('print(state_get("a", "none"))', host={"kv": True})
    assert answer["ok"] is False and answer["errors"][0].startswith("Runtime error: ")
    assert "state: the host store failed" in answer["errors"][0]


def test_an_answer_that_lies_outside_of_memory() -> None:
    """What the host names is looked at before it is read."""
    web_build()

    class Wild(WebModule):
        place = 0

        def _host_call(self, kind_place: int, kind_length: int, place: int, length: int) -> int:
            return self.place

    module = Wild()
    for place in (0, 1, -1, -5, 0x7FFFFFFF, module.memory_bytes - 2):
        module.place = place - (1 << 32) if place >= 1 << 31 else place
        answer = module.run('print(state_get("a"))', host={"kv": True})
        assert answer["ok"] is False and "state: the host store failed" in answer["errors"][0]


# ---- one call at a time -------------------------------------------------------------------------------------------------


def test_a_call_from_inside_a_hook_is_refused() -> None:
    web_build()
    inner: list[dict[str, Any]] = []

    def hook(kind: str, payload: Any) -> Any:
        inner.append(module.run("print(1)"))
        return {}

    module = WebModule(hook)
    answer = module.run('eprint("x")\nprint("outer")', host={"log": True})
    assert answer["output"] == ["outer"]
    assert inner[0]["ok"] is False and inner[0]["errors"][0].startswith("one call at a time")
    assert module.run("print(2)")["output"] == ["2"]


def test_a_hook_that_throws_leaves_an_instance_that_refuses() -> None:
    web_build()

    def hook(kind: str, payload: Any) -> Any:
        raise ValueError("thrown by the host")

    module = WebModule(hook)
    with pytest.raises(Exception, match="thrown by the host"):
        module.run('eprint("x")', host={"log": True})
    answer = module.run("print(1)")
    assert answer["ok"] is False and answer["errors"][0].startswith("one call at a time")


# ---- clock and randomness -----------------------------------------------------------------------------------------------


def test_the_clock_is_the_host_s() -> None:
    web_build()
    times = iter(range(1_000_000_000_000, 2_000_000_000_000, 60_000))
    module = WebModule(now_ms=lambda: float(next(times)))
    first, second = (float(text) for text in module.run("print(now())\nprint(now())")["output"])
    assert 1e9 <= first < second < 1e9 + 3600 * 24


@pytest.mark.parametrize("now", [float("nan"), float("inf"), -1.0, 1e300])
def test_a_clock_that_tells_no_time(now: float) -> None:
    web_build()
    module = WebModule(now_ms=lambda: now)
    assert module.run("print(now() >= 0)")["output"] == ["true"]
    assert module.run("print(1)", limits={"time_ms": 1000})["output"] == ["1"]


def test_randomness_is_the_host_s() -> None:
    web_build()
    source = 'require random\nprint(random(), token(), sha256(random_bytes(16)))\nprint(password_hash("x"))'

    def outputs(seed: int) -> list[str]:
        output: list[str] = WebModule(fill=random.Random(seed).randbytes).run(source)["output"]
        assert len(output) == 2
        return output

    assert outputs(1) == outputs(1)
    assert outputs(1)[0] != outputs(2)[0] and outputs(1)[1] != outputs(2)[1]


def test_instances_do_not_share_their_randomness() -> None:
    web_build()
    source = "require random\nprint(random())"
    assert len({WebModule().run(source)["output"][0] for _ in range(3)}) == 3


@pytest.mark.parametrize("builtin", ["random()", "random_bytes(4)", "token()", 'password_hash("x")', "uuid()"])
def test_without_entropy(builtin: str) -> None:
    web_build()
    module = WebModule(fill=None)
    answer = module.run(f"require random\ntry\n    print({builtin})\nrecover e\n    print(e)")
    assert answer["output"] == ["random: the host provides no entropy"]
    assert module.run("print(1)")["output"] == ["1"]


# ---- what an instance keeps ---------------------------------------------------------------------------------------------


def test_nothing_of_a_run_is_kept(module: WebModule) -> None:
    module.run('let secret_of_mine be 5\nstate_set("k", 1)\nrequire random', env={"KEY": "v"})
    answer = module.run('require env("KEY")\nprint(state_get("k"), env("KEY", "none"))\nprint(secret_of_mine)')
    assert answer["output"] == ["nothing none"]
    assert "Undefined variable: 'secret_of_mine'" in answer["errors"][0]
    answer = module.run("print(random())")
    assert "Capability not granted: random" in answer["errors"][0]


def test_a_handler_starts_from_the_state_of_the_top_level(module: WebModule) -> None:
    assert [json.loads(handled(module, "/hello/a")["body"])["hits"] for _ in range(3)] == [1, 1, 1]
    assert json.loads(handled(module, "/hello/a", env={"A": "b"})["body"])["total"] == 1, "another environment: prepared anew"


def test_memory_stays_flat() -> None:
    """Over programs that differ, in their names too, and that end in every way."""
    web_build()
    module = WebModule()

    def call(number: int) -> None:
        name = f"name{number}"
        requests: list[dict[str, Any]] = [
            {
                "op": "run",
                "source": f'let {name} be [{number}]\ntask t{name}(a)\n    give a\nprint(t{name}({name}), "{number}")',
            },
            {"op": "run", "source": f'raise "{name}"'},
            {"op": "run", "source": f"let {name} be"},
            {"op": "test", "source": f'test "{name}"\n    assert(false)'},
            {"op": "handle", "source": HELLO, "request": {"path": f"/hello/{name}"}},
            {"op": "run", "source": f"while true\n    print({number})", "limits": {"steps": 50}},
        ]
        module.call(requests[number % len(requests)])

    for number in range(10_000):
        call(number)
    before = module.memory_bytes
    for number in range(10_000, 20_000):
        call(number)
    # Steps of an allocator that finds its shape; a leak of a hundred bytes a call would show.
    assert module.memory_bytes - before <= 1 << 20


def test_buffers_are_the_caller_s(module: WebModule) -> None:
    places = [module.export("platform_alloc", length) for length in (0, 1, 7, 100_000)]
    assert all(places) and len(set(places)) == 4
    for place in places:
        module.export("platform_free", place, 0)
    module.export("platform_free", 0, 0)
    assert module.export("platform_alloc", 0xFFFFFFF0 - (1 << 32)) == 0, "more than there can be"
    assert module.run("print(1)")["output"] == ["1"]


def test_a_packed_answer_says_its_length(module: WebModule) -> None:
    request = b'{"op": "version"}'
    place = module.export("platform_alloc", len(request))
    module._write(place, request)
    packed = module.export("platform_call", place, len(request))
    (length,) = struct.unpack("<I", module._read(packed, 4))
    assert json.loads(module._read(packed + 4, length)) == {"version": language.version()}
