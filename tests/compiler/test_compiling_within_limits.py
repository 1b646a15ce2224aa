"""The limits of a program hold while it is read and compiled, and what that takes grows with the program and no faster."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable
from time import process_time
from typing import Any

import pytest

import language
from language.analysis.inspection import inspect
from language.compiler.compilation import compile_source, no_collection
from language.compiler.lifting import WORTH
from language.json_call import call_json

MANY = 150_000
#: Seconds of work to compile, nothing to run.
LONG = "".join(f"let v{n} be {n} + 1\n" for n in range(MANY))


@pytest.mark.parametrize("source", [LONG, f"let x be [{'1 + 2, ' * MANY * 2}3]\n"], ids=["many lines", "one long line"])
@pytest.mark.parametrize("door", ["run", "test", "check"])
def test_time(door: str, source: str) -> None:
    started = process_time()
    answer = getattr(language.Program(source, limits={"time_ms": 100}), door)()
    assert answer["limit"] == "time_ms"
    assert "Limit exceeded: time_ms (100)" in json.dumps(answer, ensure_ascii=False)
    limited = process_time() - started
    assert limited < 2.0  # twenty times the limit: the whole takes far longer


def test_time_in_handler_mode() -> None:
    answer = language.Program(LONG, limits={"time_ms": 100}).handle({"path": "/"})
    assert answer["limit"] == "time_ms"
    assert answer["status"] == 500


def test_memory() -> None:
    assert language.run(LONG, limits={"memory_bytes": 20_000_000})["limit"] == "memory_bytes"


def test_time_in_a_module() -> None:
    source = 'try\n    use "./m.lang" as m\nrecover\n    print("caught")\n'
    answer = language.run(source, files={"m.lang": LONG}, limits={"time_ms": 100})
    assert answer["limit"] == "time_ms"
    assert answer["output"] == []


@pytest.mark.parametrize("door", ["run", "test", "check"])
def test_steps(door: str) -> None:
    def answer(source: str, **files: str) -> Any:
        given = {f"{name}.lang": text for name, text in files.items()}
        return getattr(language.Program(source, files=given, limits={"steps": 1000}), door)()

    blank = " " * (65_536 + 10 * 1000)
    assert "limit" not in answer(blank)
    assert answer(blank + " ")["limit"] == "steps"
    half = "-" * (len(blank) // 2)
    use = 'use "a.lang" as a\n'
    assert answer(use, a=half)["ok"]
    assert answer(use + 'use "b.lang" as b\n', a=half, b=half)["limit"] == "steps"


def test_afterwards_everything_is_as_before() -> None:
    assert gc.isenabled()
    for _ in range(5):
        assert language.run(LONG, limits={"time_ms": 30})["limit"] == "time_ms"
        assert gc.isenabled()
        assert language.run("print(1 + 1)")["output"] == ["2"]


def test_over_json() -> None:
    request = {"op": "check", "source": LONG, "limits": {"time_ms": 100}}
    assert json.loads(call_json(json.dumps(request)))["limit"] == "time_ms"


# ---- what it takes --------------------------------------------------------------------------------------------------------


def lines(line: Callable[[int], str]) -> Callable[[int], str]:
    return lambda count: "".join(line(n) for n in range(count))


SHAPES: dict[str, Callable[[int], str]] = {
    "lets": lines(lambda n: f"let v{n} be {n} + 1\n"),
    "a chain of sets": lambda count: (
        "".join(f"let v{n} be {n}\n" for n in range(count + 1))
        + f"set v{count} to 1.5\n"
        + "".join(f"set v{n} to v{n + 1}\n" for n in range(count))
    ),
    "one variable": lambda count: "let x be 0\n" + "".join(f"set x to x + {n}\n" for n in range(count)),
    "one list": lambda count: "let x be [0]\nlet y be x\n" + "".join(f"set x[0] to {n}\nset y to x\n" for n in range(count)),
    "one parameter": lambda count: "task t(x, y)\n" + "    set x to x + y\n" * count,
    "a set of all": lambda count: (
        "".join(f"let v{n} be {n}\n" for n in range(count))
        + "let s be 0"
        + "".join(f" + v{n}" for n in range(count))
        + "\n"
        + "".join(f"set v{n} to s + v{(n + 1) % count}\n" for n in range(count))
    ),
    "whens": lines(lambda n: f"when {n} > 1\n    let w{n} be 2\notherwise\n    print({n})\n"),
    "otherwise when": lambda count: (
        "let x be 1\nwhen x == 0\n    print(0)\n" + "".join(f"otherwise when x == {n}\n    print({n})\n" for n in range(count))
    ),
    "arms": lambda count: "let x be 1\nmatch x\n" + "".join(f"    is {n}\n        print({n})\n" for n in range(count)),
    "a long list": lambda count: f"let x be [{'1, ' * 10 * count}]\n",
    "a long map": lambda count: "let x be {" + ", ".join(f'"k{n}": {n}' for n in range(5 * count)) + "}\n",
    "a long text": lambda count: 'let x be "' + "abc def " * 100 * count + '"\n',
    "holes": lambda count: f"let a be 1\nlet x be `{'a {a} b' * count}`\n",
    "comments": lines(lambda n: f"-- a comment of the line {n}\n" * 10),
    "requires": lines(lambda n: f'require file.read("./a{n}")\n'),
    "loops": lines(lambda n: f"each x{n} in range(10)\n    let y be x{n} * 2\n    print(y)\n"),
    "tasks": lines(lambda n: f"task t{n}(a)\n    give t{max(0, n - 1)}(a) + {n}\n"),
    "lambdas": lines(lambda n: f"let f{n} be (x) => x + {n}\n"),
    "applied lambdas": lambda count: "let x be [1]\n" + "".join(f"set x to apply(x, (a) => a + {n})\n" for n in range(count)),
    "types": lines(lambda n: f"type T{n}\n    a: number\n"),
    "one type": lambda count: "type T\n" + "".join(f"    f{n}: number\n" for n in range(count)),
    "routes": lambda count: (
        "".join(f"task t{n}(a)\n    give t{max(0, n - 1)}(a)\n" for n in range(count // 4))
        + "serve on 8080\n"
        + "".join(f'    route "GET /r{n}"\n        give t{n}({n})\n' for n in range(count // 4))
    ),
    "imports": lines(lambda n: f'use "./m{n}.lang" as m{n}\n'),
    "links": lambda count: f"let x be 1{' + 2' * count}\nlet y be x{' and x' * count}\nlet z be x{' < x' * count}\n",
}


@pytest.mark.parametrize("shape", SHAPES)
def test_what_compiling_takes_grows_with_the_program(shape: str) -> None:
    def seconds(count: int) -> float:
        source = SHAPES[shape](count)
        with no_collection():
            started = process_time()
            compile_source(source, "long.lang")
            return process_time() - started

    few, times = 400, 16
    seconds(few)
    # What grows with the square takes 256 times as much. Whoever else uses the machine makes single measurements long.
    ratios = (seconds(few * times) / max(min(seconds(few), seconds(few)), 0.002) for _ in range(4))
    assert any(ratio < times * 2.5 for ratio in ratios)


#: What else only a check looks at.
CHECKED: dict[str, Callable[[int], str]] = {
    **SHAPES,
    "requires and uses": lines(lambda n: f'require env("A{n}")\nprint(env("B{n}", ""))\n'),
    "requires and paths": lines(lambda n: f'require file.read("./a{n}")\nprint(read_file("./b{n}"))\n'),
    "unknown names": lines(lambda n: f"let known{n} be {n}\nprint(unknown{n})\n"),
    "names of a module": lambda count: 'use "m.lang" as m\n' + "".join(f"print(m.x{n}, m.y{n})\n" for n in range(count)),
    "lost writes": lines(lambda n: f"each x{n} in [{{}}]\n    set x{n}.a to {n}\n"),
}


@pytest.mark.parametrize("shape", CHECKED)
def test_what_checking_takes_grows_with_the_program(shape: str) -> None:
    def seconds(count: int) -> float:
        source = CHECKED[shape](count)
        module = "".join(f"export let x{n} be {n}\n" for n in range(count)) if shape == "names of a module" else ""
        with no_collection():
            started = process_time()
            inspect({"main.lang": source, "m.lang": module})
            return process_time() - started

    few, times = 400, 8
    seconds(few)
    # What grows with the square takes 64 times as much.
    ratios = (seconds(few * times) / max(min(seconds(few), seconds(few)), 0.002) for _ in range(4))
    assert any(ratio < times * 2.5 for ratio in ratios)


def test_a_program_of_very_many_functions_runs_as_any_other() -> None:
    filler = "".join(f"task filler{n}(a)\n    give a + {n}\n" for n in range(1500))
    source = """
let total be 0
type Point
    x: number
enum Shape
    dot
    circle(r)
task add(n, m = total + 1, k = 5)
    set total to total + n
    task inner(x)
        set total to total + 1
        give x + m + k
    give inner
task down(n)
    give when n == 0 then "end" otherwise down(n - 1)
let makers be []
each i in [1, 2, 3]
    let j be i * 10
    set makers to append(makers, () => [i, j])
    set j to j + 1
print(add(2)(3), total)
print(add(1, 0)(0), total, add(1, k = 100)(0))
print(down(50), filler7(1), Point(4).x, Shape.circle(2).r)
print(apply(makers, (make) => make()))
try
    add()
recover e
    print(e)
print(sort_by([3, 1, 2], (x) => 0 - x), where([1, 2, 3], (x) => x > total - 10))
"""
    answer = language.run(source + filler.replace("filler", "more"), limits={"time_ms": 60_000})
    assert answer["errors"] == ["Runtime error: <embedded>:23:17: Undefined variable: 'filler7'"]
    with_filler = language.run(filler + source)
    without = language.run("task filler7(a)\n    give a + 7\n" + source)
    assert without["ok"]
    assert with_filler["output"] == without["output"]
    assert len(without["output"]) == 6
    assert filler.count("task") ** 2 > WORTH
