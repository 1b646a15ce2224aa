"""A secret inside of any value that can hold one reaches a worker, the shared state and JSON without its plaintext."""

from __future__ import annotations

import json
from typing import Any

import pytest

import language

PLAIN = "sunrise-7391"
PRELUDE = """
require secret("K")
enum Result
    fine(value)
    wrong(value)
type Box
    v: any
let k be secret("K")
"""
#: How a value with the secret is made, and how a program gets at the secret in it.
HOLDERS = {
    "itself": ("k", "x"),
    "list": ("[k]", "x[0]"),
    "map": ('{"a": k}', "x.a"),
    "deep": ('{"a": [{"b": [k]}]}', "x.a[0].b[0]"),
    "variant": ("Result.wrong(k)", "x.value"),
    "record": ("Box(k)", "x.v"),
    "ok": ("ok(k)", "x.value"),
    "created": ("created(k)", "x.value"),
    "reply with a field": ('with_header(ok(k), "a", "b")', "x.value"),
    "reply in a list in a map": ('{"a": [ok({"b": k})]}', "x.a[0].value.b"),
    "lambda": ("() => k", "x()"),
    "lambda in a reply": ("ok(() => k)", "x.value()"),
    "lambda of a lambda": ("() => (() => [k])", "x()()[0]"),
    "joined": ('"a" + k', "x"),
}


def run(source: str) -> dict[str, Any]:
    return language.run(PRELUDE + source, env={"K": PLAIN})


@pytest.mark.parametrize("name", HOLDERS)
def test_the_holder_holds_the_secret(name: str) -> None:
    made, path = HOLDERS[name]
    assert run(f'let x be {made}\nprint(hmac_sha256({path}, "m") != nothing)')["output"] == ["true"]


@pytest.mark.parametrize("name", HOLDERS)
def test_into_a_worker(name: str) -> None:
    made, path = HOLDERS[name]
    answer = run(f'task use_it(x)\n    give hmac_sha256({path}, "m")\nprint(parallel_map(use_it, [{made}]))')
    assert "has no value here" in answer["errors"][0], answer


@pytest.mark.parametrize("name", HOLDERS)
def test_into_a_worker_through_a_variable(name: str) -> None:
    made, path = HOLDERS[name]
    answer = run(f'let x be {made}\ntask use_it(n)\n    give hmac_sha256({path}, "m")\nprint(parallel_map(use_it, [1]))')
    assert "has no value here" in answer["errors"][0], answer


@pytest.mark.parametrize("name", [name for name in HOLDERS if "lambda" not in name])
def test_out_of_a_worker(name: str) -> None:
    made, path = HOLDERS[name]
    source = f"""
task make_it(n)
    let k be secret("K")
    give {made}
let x be parallel_map(make_it, [1])[0]
print(hmac_sha256({path}, "m"))
"""
    answer = run(source)
    assert "has no value here" in answer["errors"][0], answer


@pytest.mark.parametrize("name", HOLDERS)
def test_into_text_json_and_state(name: str) -> None:
    made, _ = HOLDERS[name]
    source = f"""
let x be {made}
print(x)
try
    print(json_encode(x))
recover e
    print(e)
try
    state_set("s", x)
    print(state_get("s"))
    print(json_encode(state_get("s")))
recover e
    print(e)
"""
    assert PLAIN not in json.dumps(run(source))
