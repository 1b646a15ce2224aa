"""What happens before the snapshot: everything is loaded and has run once, so that an instance starts warm."""

from __future__ import annotations

import gc
import json

import stdlib
from language import json_call
from wasm_abi.guest import time_zones

_PROGRAM = """
require random
type Point
    x
    y
enum Shape
    circle(r)
    square(s)
task area(shape)
    match shape
        when Shape.circle(r)
            give 3 * r * r
        when Shape.square(s)
            give s * s
task fib(n)
    if n < 2
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
print(names |> map(n => n + "!") |> join(", "))
print(sort_by(names, n => length(n)), filter([1, 2, 3], n => n > 1), to_json(ages), from_json("[1, {\\"a\\": null}]"))
print(regex_find_all("a1b22", "[0-9]+"), format_time(0, "YYYY-MM-DD"), sha256("x"))
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
        expect name
        give json(request.json)
"""


def warm() -> None:
    """Loads every family and runs a few programs. Nothing of them stays."""
    time_zones.provide()
    stdlib.all_builtins()
    stdlib.all_constants()
    for request in (
        {"op": "run", "source": _PROGRAM},
        {"op": "run", "source": _PROGRAM, "ceiling": "sandbox", "limits": {"steps": 100000, "time_ms": 100000}},
        {"op": "test", "source": _PROGRAM},
        {"op": "check", "source": "let x be"},
        {"op": "run", "source": "print(nope)"},
        {"op": "handle", "source": _SERVED, "request": {"path": "/hello/ana?x=1"}},
        {"op": "handle", "source": _SERVED, "request": {"path": "/echo", "method": "POST", "body": '{"name": 1}'}},
        {"op": "handle", "source": _SERVED, "request": {"path": "/nowhere"}},
    ):
        json_call.call_json(json.dumps(request))
    json_call.forget()
    gc.collect()
    gc.freeze()
