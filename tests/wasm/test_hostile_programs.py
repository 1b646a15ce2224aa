"""Programs that mean no good, in the web build: what they do ends as data, or the instance is gone; no host hangs for them.

Deep nesting, endless loops under limits, all the memory there is, operations that take long between two steps.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

import pytest

import language
from conformance.wasm_builds import WebModule
from tests.wasm.web_build import web_build

#: The beginning of the error of a limit: where the program was, where that is known.
PLACED = r"Runtime error: (<embedded>:\d+:\d+: )?Limit exceeded: "
TOO_DEEP = "maximum recursion depth exceeded"
GROW = "let x be 0\nlet i be 0\nwhile i < 100000\n    set x to {}\n    set i to i + 1\n"


@pytest.fixture(scope="module")
def module() -> Iterator[WebModule]:
    """One instance for all of them: each leaves it fit for the next."""
    web_build()
    yield WebModule(memory_bytes=1 << 30)


def fit(module: WebModule) -> None:
    assert module.run("print(6 * 7)") == {"ok": True, "output": ["42"], "errors": [], "audit": [], "llm_tokens": 0}


# ---- recursion ----------------------------------------------------------------------------------------------------------

ENDLESS = {
    "a task": "task f(n)\n    give f(n + 1)\nf(0)",
    "two tasks": "task a(n)\n    give b(n)\ntask b(n)\n    give a(n)\na(1)",
    "a lambda": "let f be nothing\nset f to (n) => f(n + 1)\nf(0)",
    "a pipe": "task f(n)\n    give n |> f\nf(0)",
    "a default": "task f(n, m = g(1))\n    give m\ntask g(n)\n    give f(n)\nf(0)",
    "an argument": "task f(n)\n    give f(f(n))\nf(0)",
    "apply": "task f(n)\n    give apply([1], (x) => f(n + 1))\nf(0)",
    "where": "task f(n)\n    give where([1], (x) => f(n + 1))\nf(0)",
    "reduce": "task f(n)\n    give reduce([1, 2], (a, b) => f(n + 1), 0)\nf(0)",
    "sort_by": "task f(n)\n    give sort_by([2, 1], (x) => f(n + 1))\nf(0)",
    "group_by": "task f(n)\n    give group_by([2, 1], (x) => f(n + 1))\nf(0)",
    "parallel_map": "task f(n)\n    give parallel_map((x) => f(n + 1), [1])\nf(0)",
    "a template": "task f(n)\n    give `{f(n)}`\nf(0)",
    "count_by": "task f(n)\n    give count_by([1], (x) => f(n + 1))\nf(0)",
    "match": "task f(n)\n    match f(n)\n        is 1\n            give 1\nf(0)",
    "try": "task f(n)\n    try\n        give f(n)\n    recover e\n        raise e\nf(0)",
    "recover": 'task f(n)\n    try\n        raise "x"\n    recover e\n        give f(n)\nf(0)',
    "sandbox": "task f(n)\n    sandbox\n        give f(n)\nf(0)",
    "each": "task f(n)\n    each x in [1]\n        give f(x)\nf(0)",
    "closures": "let f be (x) => x\neach i in range(20000)\n    let g be f\n    set f to (x) => g(x)\nf(1)",
}


@pytest.mark.parametrize("form", ENDLESS)
def test_endless_recursion(module: WebModule, form: str) -> None:
    answer = module.run(ENDLESS[form])
    assert answer["ok"] is False and TOO_DEEP in answer["errors"][0]
    caught = "try\n" + "".join(f"    {line}\n" for line in ENDLESS[form].split("\n")) + "recover e\n    print(e)"
    assert TOO_DEEP in module.run(caught)["output"][0]
    fit(module)


def test_calls_nest_as_deep_as_everywhere(module: WebModule) -> None:
    deep = "task deep(n)\n    when n == 0\n        give 0\n    give 1 + deep(n - 1)\n"
    assert module.run(deep + "print(deep(2900))")["output"] == ["2900"]
    assert module.run(deep + "print(deep(3500))")["errors"] == [f"Runtime error: <embedded>:4:18: {TOO_DEEP}"]


@pytest.mark.parametrize("levels", [10, 500, 2000])
def test_sorts_inside_of_the_keys_of_sorts(module: WebModule, levels: int) -> None:
    source = (
        "task f(n)\n    when n == 0\n        give 0\n    let sorted be sort_by([2, 1], (x) => f(n - 1))\n    give n\n"
        f"print(f({levels}))"
    )
    answer = module.run(source.replace("[2, 1]", "[1]"))
    assert answer["output"] == [str(levels)] or TOO_DEEP in answer["errors"][0]
    fit(module)


# ---- values -------------------------------------------------------------------------------------------------------------

WRAPS = {"lists": "[x]", "maps": '{"a": x}', "records": "P(x)", "variants": "E.v(x)", "both": '[{"a": x}]'}
READS = [
    "print(length(text(x)))",
    "print(x == y)",
    "print(x != y)",
    "print(json_encode(x))",
    "print(sort([x, y]))",
    "print(unique([x, y]))",
    "print(contains([x], y))",
    "print(x)",
    "print(`{x}`)",
    "print(sha256(text(x)))",
    "assert_eq(x, y)",
    'state_set("a", x)\nprint(1)',
    "print(flatten([x]))",
    "print(to_csv([x]))",
    'print(toml_encode({"a": x}))',
    "raise x",
    "match x\n    is [[[z]]]\n        print(1)\n    otherwise\n        print(2)",
    "print(length([x, x]))",
]


@pytest.mark.parametrize("wrap", WRAPS)
@pytest.mark.parametrize("depth", [300, 3000, 100_000])
def test_deep_values(module: WebModule, wrap: str, depth: int) -> None:
    """Each read gives a value or an error of the language, and the next one finds everything in order."""
    build = (
        "type P\n    v: any\nenum E\n    v(x)\n"
        f"task grown()\n    let x be 1\n    each i in range({depth})\n        set x to {WRAPS[wrap]}\n    give x\n"
        "let x be grown()\nlet y be grown()\n"
    )
    source = build
    for number, read in enumerate(READS):
        body = "".join(f"    {line}\n" for line in read.split("\n"))
        source += f'try\n{body}recover e\n    print(length(e) > 0)\nprint("read {number}")\n'
    answer = module.run(source)
    assert answer["errors"] == []
    assert [line for line in answer["output"] if line.startswith("read ")] == [f"read {n}" for n in range(len(READS))]
    fit(module)


# ---- sources ------------------------------------------------------------------------------------------------------------


def blocks(head: str, count: int, body: str = "print(1)") -> str:
    return "".join("    " * n + head.replace("#", str(n)) + "\n" for n in range(count)) + "    " * count + body


SOURCES = {
    "when": lambda n: blocks("when true", n),
    "each": lambda n: blocks("each x# in [1]", n),
    "sandbox": lambda n: blocks("sandbox", n),
    "task": lambda n: blocks("task t#()", n) + "\nprint(1)",
    "try": lambda n: "".join("    " * i + "try\n" for i in range(n)) + "    " * n + 'raise "x"\n'
    + "".join("    " * i + "recover e\n" + "    " * (i + 1) + ("raise e\n" if i else "print(1)\n") for i in reversed(range(n))),
    "parentheses": lambda n: f"print({'(' * n}1{')' * n})",
    "lists": lambda n: f"print(length({'[' * n}1{']' * n}))",
    "maps": lambda n: f"""print(length({'{"a": ' * n}1{'}' * n}))""",
    "calls": lambda n: f"print({'abs(' * n}1{')' * n})",
    "reads": lambda n: f"let a be [0]\nprint(1 + {'a[' * n}0{']' * n})",
    "lambdas": lambda n: f"let f be {'(x) => ' * n}1\nprint(1)",
    "not": lambda n: f"print({'not ' * n}{'true' if n % 2 == 0 else 'false'})",
    "minus": lambda n: f"print({'- ' * n}{'1' if n % 2 == 0 else '-1'})",
    "and": lambda n: f"let a be true\nprint({'(true and ' * n}a{')' * n})",
}  # fmt: skip


@pytest.mark.parametrize("form", SOURCES)
@pytest.mark.parametrize("depth", [30, 100, 190])
def test_sources_nest_as_deep_as_everywhere(module: WebModule, form: str, depth: int) -> None:
    source = SOURCES[form](depth)
    assert module.run(source) == language.run(source)


@pytest.mark.parametrize("form", SOURCES)
@pytest.mark.parametrize("depth", [250, 3000])
def test_sources_that_nest_deeper(module: WebModule, form: str, depth: int) -> None:
    answer = module.run(SOURCES[form](depth))
    assert answer["ok"] is False and answer["errors"][0].startswith("Parse error: ")
    assert "nested too deeply" in answer["errors"][0] or "a chain of more than 2000 calls" in answer["errors"][0]
    fit(module)


@pytest.mark.parametrize(
    "source",
    [
        "print(" + "1 + " * 20_000 + "1)",
        "print(" + '"a" + ' * 5_000 + '"b")',
        "let a be 1\nprint(a" + " |> text" * 1_900 + ")",
        "let a be 5\nwhen a == 0\n    print(0)\n"
        + "".join(f"otherwise when a == {n}\n    print({n})\n" for n in range(10, 1000))
        + "otherwise\n    print(1)",
        "print(length([" + "1, " * 20_000 + "1]))",
        "\n".join(f"let a{n} be {n}" for n in range(5000)),
        "print(1)" + " " * 1_000_000,
        "-- " + "x" * 1_000_000,
        'print(length("' + "x" * 1_000_000 + '"))',
        "print(" + "9" * 4000 + ")",
        "\x00" * 1000,
        "\x1b[31m",
        "\u202e" * 100,
    ],
    ids=range(13),
)
def test_long_sources(module: WebModule, source: str) -> None:
    assert module.run(source) == language.run(source)


# ---- limits -------------------------------------------------------------------------------------------------------------

LOOPS = {
    "while": "while true\n    let x be 1",
    "an empty each": "while true\n    each x in []\n        print(x)",
    "recursion": "task fib(n)\n    when n < 2\n        give n\n    give fib(n - 1) + fib(n - 2)\nfib(60)",
    "try": "while true\n    try\n        while true\n            raise \"x\"\n    recover e\n        let x be e",
    "apply": "apply(range(100000000), (x) => x)",
    "sort_by": "while true\n    let x be sort_by(range(1000), (x) => 0 - x)",
    "text": 'let s be ""\nwhile true\n    set s to slice(s + "x", 0, 10)',
    "a regex": 'let s be join(apply(range(20000), (x) => "a"), "")\nwhile true\n    let x be regex_find_all(s, "(a|aa)+b")',
    "numbers": "let x be 3\nwhile true\n    set x to x * x % 1000000007",
    "a huge power": "let x be 7 ** 300000\nwhile true\n    let y be x * x",
    "json": "let xs be range(1000)\nwhile true\n    let x be json_decode(json_encode(xs))",
    "handlers of nothing": "while true\n    try\n        let x be [][1]\n    recover e\n        let y be 1",
}  # fmt: skip


@pytest.mark.parametrize("loop", LOOPS)
def test_a_limit_of_time_ends_it(module: WebModule, loop: str) -> None:
    body = "".join(f"    {line}\n" for line in LOOPS[loop].split("\n"))
    started = time.monotonic()
    answer = module.run(f'try\n{body}recover e\n    print("caught")\nprint("after")', limits={"time_ms": 200})
    assert answer["limit"] == "time_ms" and re.fullmatch(PLACED + r"time_ms \(200\)", *answer["errors"])
    assert answer["output"] == []
    assert time.monotonic() - started < 50
    fit(module)


@pytest.mark.parametrize("limit", [{"time_ms": 300}, {"memory_bytes": 16 << 20}, {"steps": 100}])
@pytest.mark.parametrize("operation", ["run", "test", "check", "handle"])
def test_limits_hold_while_a_program_is_compiled(module: WebModule, operation: str, limit: dict[str, int]) -> None:
    source = "".join(f"let v{n} be {n} + 1\n" for n in range(40_000))
    answer = module.call({"op": operation, "source": source, "request": {"path": "/"}, "limits": limit})
    assert [answer["limit"]] == list(limit)
    fit(module)


@pytest.mark.parametrize("operation", ["run", "check"])
def test_a_limit_that_is_passed_at_any_moment_ends_with_its_run(operation: str) -> None:
    """In an instance of its own: memory that other programs have left free there is not counted."""
    web_build()
    module = WebModule(memory_bytes=1 << 30)
    for size in range(24):
        source = "".join(f"let v{n} be {n} + 1\n" for n in range(3000 + 7 * size))
        answer = module.call({"op": operation, "source": source, "limits": {"memory_bytes": (1 << 20) + 30_011 * size}})
        assert answer["limit"] == "memory_bytes"
        fit(module)


@pytest.mark.parametrize("operation", ["test", "handle"])
def test_a_limit_of_time_in_every_operation(module: WebModule, operation: str) -> None:
    source = (
        'require serve(80)\nserve on 80\n    route "GET /"\n        while true\n            let x be 1\n'
        'test "endless"\n    while true\n        let x be 1'
    )
    answer = module.call({"op": operation, "source": source, "request": {"path": "/"}, "limits": {"time_ms": 100}})
    assert answer["limit"] == "time_ms"
    assert answer["status"] == 503 if operation == "handle" else answer["failed"] == 1
    fit(module)


def test_time_spent_in_a_hook_counts() -> None:
    web_build()
    clock = [1e12]

    def hook(kind: str, payload: Any) -> Any:
        clock[0] += 1000
        return {}

    module = WebModule(hook, now_ms=lambda: clock[0])
    source = 'eprint("a")\nprint("after")\neprint("b")\nprint("end")'
    answer = module.run(source, host={"log": True}, limits={"time_ms": 500})
    assert answer["limit"] == "time_ms" and answer["output"] == []
    assert module.run(source, host={"log": True}, limits={"time_ms": 5000})["output"] == ["after", "end"]


def test_the_clock_is_not_read_without_a_limit() -> None:
    web_build()
    reads = [0]

    def now() -> float:
        reads[0] += 1
        return 1e12

    module = WebModule(now_ms=now)
    module.run("print(1)")
    before = reads[0]
    module.run("let i be 0\nwhile i < 100000\n    set i to i + 1")
    assert reads[0] - before < 10
    module.run("let i be 0\nwhile i < 100000\n    set i to i + 1", limits={"time_ms": 1000})
    assert reads[0] - before > 50


MEMORY = {
    "text": 'let s be "x"\nwhile true\n    set s to s + s',
    "a list": "let s be [1]\nwhile true\n    set s to s + s",
    "many small values": "let s be []\nwhile true\n    set s to append(s, {\"a\": [1.5, \"x\"]})",
    "a map": "let m be {}\nlet i be 0\nwhile true\n    set i to i + 1\n    set m[text(i)] to i",
    "one piece": "let s be range(10000000)",
    "closures": "let s be []\nwhile true\n    let n be length(s)\n    set s to append(s, () => n)",
    "numbers": "let x be 3\nwhile true\n    set x to x * x",
    "bytes": 'let s be bytes("x")\nwhile true\n    set s to s + s',
}  # fmt: skip


@pytest.mark.parametrize("kind", MEMORY)
def test_a_limit_of_memory(module: WebModule, kind: str) -> None:
    body = "".join(f"    {line}\n" for line in MEMORY[kind].split("\n"))
    limits = {"memory_bytes": 16 << 20, "time_ms": 200_000}
    answer = module.run(f'try\n{body}recover e\n    print("caught")\nprint("after")', limits=limits)
    assert answer["limit"] == "memory_bytes", answer
    assert re.fullmatch(PLACED + rf"memory_bytes \({16 << 20}\)", *answer["errors"]) and answer["output"] == []
    fit(module)


@pytest.mark.parametrize("kind", MEMORY)
@pytest.mark.parametrize("megabytes", [64, 128])
def test_memory_that_the_host_does_not_give(kind: str, megabytes: int) -> None:
    """The wall is the memory of the instance: the answer says that it is full, and what the program held comes back."""
    web_build()
    module = WebModule(memory_bytes=megabytes << 20)
    limits = {"time_ms": 1_000}
    for _ in range(3):
        answer = module.run(MEMORY[kind], limits=limits)
        assert answer["ok"] is False and answer.get("limit") in (None, "time_ms")
        fit(module)
    assert module.memory_bytes <= megabytes << 20


def test_an_answer_larger_than_memory() -> None:
    web_build()
    module = WebModule(memory_bytes=96 << 20)
    answer = module.run(
        'let s be "x"\neach i in range(23)\n    set s to s + s\neach i in range(20)\n    print(s)',
        limits={"output_bytes": 1 << 30},
    )
    assert answer["ok"] is False and "out of memory" in answer["errors"][0]
    fit(module)


def test_a_request_larger_than_memory() -> None:
    web_build()
    module = WebModule(memory_bytes=96 << 20)
    assert module.export("platform_alloc", 200 << 20) == 0
    fit(module)


@pytest.mark.parametrize("limit", ["steps", "call_depth", "output_bytes", "host_calls"])
def test_the_other_limits(module: WebModule, limit: str) -> None:
    sources = {
        "steps": ("while true\n    let x be 1", "Limit exceeded: steps (1000)"),
        "call_depth": ("task f(n)\n    give f(n + 1)\nf(0)", TOO_DEEP),
        "output_bytes": ('while true\n    print("0123456789")', "Limit exceeded: output_bytes (1000)"),
        "host_calls": ('while true\n    eprint("x")', "Limit exceeded: host_calls (1000)"),
    }
    source, text = sources[limit]
    answer = module.run(source, limits={limit: 1000}, host={"log": True})
    assert answer["ok"] is False and text in answer["errors"][0]
    assert answer.get("limit") == (None if limit == "call_depth" else limit)
    fit(module)


def test_steps_are_the_same_on_every_host(module: WebModule) -> None:
    source = "let n be 0\neach i in range(100)\n    when i % 3 == 0\n        set n to n + length(text(i))\nprint(n)"
    needed = next(n for n in range(1, 2000) if language.run(source, limits={"steps": n})["ok"])
    for steps in (needed - 1, needed):
        assert module.run(source, limits={"steps": steps}) == language.run(source, limits={"steps": steps})


# ---- regular expressions, parsers ------------------------------------------------------------------------------------------

EVIL = {
    "nested repeats": 'matches(repeated("a", 30) + "!", "(a+)+")',
    "alternatives": 'matches(repeated("a", 5000) + "!", "(a|aa)+")',
    "counted": 'matches(repeated("a", 5000), "(a{1,50}){1,50}b")',
    "brackets": 'matches("a", repeated("(", 5000) + "a" + repeated(")", 5000))',
    "markdown quotes": 'length(markdown(repeated(">", 20000) + "a"))',
    "markdown brackets": 'length(markdown(repeated("[", 5000) + "a"))',
    "json": 'json_decode(repeated("[", 100000))',
    "json numbers": 'json_decode(repeated("9", 100000))',
    "toml": 'toml_parse("a = " + repeated("[", 100000))',
    "csv": 'length(csv_parse(repeated("\\"", 100001)))',
    "numbers": 'number(repeated("9", 5000))',
    "decimals": "1e999999d * 1e999999d",
    "huge power": "10 ** 1000000000",
    "huge range": "length(range(100000000000))",
    "time": 'format_time(99999999999999999, "YYYY")',
}


@pytest.mark.parametrize("kind", EVIL)
def test_input_made_to_hurt(module: WebModule, kind: str) -> None:
    source = (
        'task repeated(t, n)\n    give join(apply(range(n), (i) => t), "")\n'
        f'try\n    let found be {EVIL[kind]}\n    print("found")\nrecover e\n    print("error")'
    )
    answer = module.run(source, limits={"time_ms": 10_000})
    assert answer["output"] in (["found"], ["error"]), answer
    assert answer["output"] == language.run(source)["output"]
    fit(module)
