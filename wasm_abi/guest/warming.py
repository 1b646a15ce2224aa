"""Runs before the snapshot: imports everything and runs it once, so that instances start with warm caches."""

from __future__ import annotations

import gc
import json
from typing import Any

import stdlib
from language import json_call
from wasm_abi.guest import time_zones

_PROGRAM = """
require random
type Point
    x: number
    y: number
enum Shape
    circle(r)
    square(s)
task area(shape)
    match shape
        is Shape.circle(r)
            give 3 * r * r
        is Shape.square(s)
            give s * s
task fib(n)
    when n < 2
        give n
    give fib(n - 1) + fib(n - 2)
let names be ["ana", "bo", "cy"]
let ages be {"ana": 3, "bo": 41}
each name in names
    print("hello, {name}")
    log upper(name)
let i be 0
while i < 20
    set i to i + 1
    set ages[names[i % 3]] to i
print(fib(10), area(Shape.circle(2)), Point(1, 2).x, 1.5d + 2, 10 / 4)
print(join(apply(names, (n) => n + "!"), ", "))
print(sort_by(names, (n) => length(n)), where([1, 2, 3], (n) => n > 1), json_encode(ages), json_decode("[1, null]"))
print(regex_find_all("a1b22", "[0-9]+"), sha256("x"), markdown("# a"), format_time(0, "YYYY"))
try
    let gone be names[9]
recover e
    print(e)
test "area"
    assert(area(Shape.square(2)) == 4)
test "no"
    assert_eq(1, 2)
"""

_SERVED = """
require serve(8080)
let hits be 0
serve on 8080
    route "GET /hello/:name"
        set hits to hits + 1
        print("served " + params.name)
        give {"hi": params.name, "hits": hits}
    route "POST /echo"
        expect body {name: number}
        give {"name": request.json.name}
"""


def warm() -> None:
    """Imports every family and runs a few programs. Their state is dropped."""
    time_zones.provide()
    stdlib.all_builtins()
    stdlib.all_constants()
    runs: list[dict[str, Any]] = [
        {"op": "run", "source": _PROGRAM},
        {"op": "run", "source": _PROGRAM, "ceiling": "stdout,time,random", "limits": {"steps": 100_000}},
        {"op": "test", "source": _PROGRAM},
        {"op": "check", "source": _PROGRAM},
        {"op": "run", "source": "let x be"},
        {"op": "run", "source": "print(nope)"},
    ]
    requests: list[dict[str, Any]] = [
        {"path": "/hello/ana?x=1"},
        {"path": "/echo", "method": "POST", "body": '{"name": 1}'},
        {"path": "/nowhere"},
    ]
    answers = [_answer(request) for request in runs]
    answers += [_answer({"op": "handle", "source": _SERVED, "request": request}) for request in requests]
    found = [answer.get("status", answer.get("passed", answer.get("ok"))) for answer in answers]
    if found != [True, True, 1, True, False, False, 200, 200, 404]:
        raise AssertionError(f"the programs before the snapshot do not do what they should: {answers}")
    json_call.forget()
    gc.collect()
    gc.freeze()


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(json_call.call_json(json.dumps(request)))
    return answer
