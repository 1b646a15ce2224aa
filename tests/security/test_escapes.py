"""Attacks on the language core: what a hostile program, or hostile data in an honest one, may try against the runtime."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import language

ROOT = Path(__file__).resolve().parents[2]

#: Names that Python gives a meaning of its own, somewhere on the way from text to code object.
PYTHON_NAMES = (
    "None",
    "True",
    "False",
    "__debug__",
    "__class__",
    "__builtins__",
    "__name__",
    "__file__",
    "__annotations__",
    "__import__",
    "__build_class__",
    "__init__",
    "__x",
    "main",
    "unit",
    "self",
    "cls",
    "print_",
    "len",
    "str",
    "int",
    "dict",
    "list",
    "range",
    "type_",
    "object",
    "eval",
    "exec",
    "open",
    "globals",
    "locals",
    "vars",
    "super",
    "class",
    "def",
    "lambda",
    "nonlocal",
    "global",
    "import",
    "yield",
    "await",
    "async",
    "del",
    "raise",
    "as_",
    "except",
    "finally",
    "pass",
    "assert_",
    "T",
    "F",
    "E",
    "UNSET",
    "REQUIRED",
    "MISSING",
    "BREAK",
    "ａ",
    "ſ",
    "ª",
    "Ｎone",
)


def run(source: str, **options: Any) -> dict[str, Any]:
    return language.run(source, **options)


def output(source: str, **options: Any) -> list[str]:
    answer = run(source, **options)
    assert answer["errors"] == [], answer
    lines: list[str] = answer["output"]
    return lines


def error(source: str, **options: Any) -> str:
    answer = run(source, **options)
    assert len(answer["errors"]) == 1, answer
    text: str = answer["errors"][0]
    assert "internal error" not in text
    return text


# ---- names -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PYTHON_NAMES)
@pytest.mark.parametrize("limits", [None, {"steps": 10_000}], ids=["plain", "metered"])
def test_names_of_python_are_names_like_any_other(name: str, limits: dict[str, int] | None) -> None:
    program = f"""\
let {name} be 1
set {name} to {name} + 1
task variable()
    set {name} to {name} + 1
    give {name}
task parameter({name}, other = {name})
    give {name}
task default({name} = 7)
    give {name}
let lambda_ be ({name}) => {name} + 1
let seen be []
each {name} in [10]
    set seen to append(seen, {name})
try
    let broken be 1 / 0
recover {name}
    set seen to append(seen, {name})
match [1, 2]
    is [{name}, ...rest]
        set seen to append(seen, {name})
let made be {{"{name}": 4}}
set made.{name} to made.{name} + 1
print(variable(), {name}, parameter(5), parameter({name} = 6), default(), lambda_(1), seen, made.{name})
"""
    assert output(program, limits=limits) == ['3 3 5 6 7 2 [10, "Division by zero", 1] 5']


@pytest.mark.parametrize("name", PYTHON_NAMES)
def test_names_of_python_for_tasks_types_enums_and_exports(name: str) -> None:
    module = f"export let {name} be 1\nexport task task_()\n    give {name}\n"
    program = f"""\
use "./m.lang" as m
task {name}({name})
    give {name}
print({name}(1), m.{name}, m.task_())
"""
    assert output(program, files={"m.lang": module}) == ["1 1 1"]
    types = f"type {name}\n    {name}: text\nprint({name}(1).{name})"
    assert output(types) == ["1"]
    enums = f"enum {name}\n    {name}\n    other({name})\nprint({name}.{name}, {name}.other(2))"
    tag = f'{{__variant: "{name}.{name}"}}'
    assert output(enums) == [f'{tag} {{__variant: "{name}.other", {name}: 2}}']
    assert output(f'use "./m.lang" as {name}\nprint({name}.task_())', files={"m.lang": module}) == ["1"]


@pytest.mark.parametrize("name", ["·T", "·unit", "·declared", "print·b", "a·1", "·", "x·task", "a\u202eb", "a\u200db", "a\0b"])
def test_names_of_the_runtime_are_no_names(name: str) -> None:
    for source in (f"print({name})", f"let {name} be 1", f"task {name}()\n    give 1", f"let m be {{}}\nprint(m.{name})"):
        assert error(source).startswith("Lexer error: ")


VALUES = ("1", "1.5", "1.5d", '"a"', "[1]", '{"a": 1}', 'bytes("a")', "true", "nothing", "f", "print", "P", "E.b", "s", "m")
ATTRIBUTES = (
    "__class__",
    "__dict__",
    "__globals__",
    "__code__",
    "__closure__",
    "__func__",
    "__self__",
    "__builtins__",
    "__init__",
    "__subclasses__",
    "__mro__",
    "builtin",
    "plaintext",
    "names",
    "plain",
    "cells",
    "hides",
    "gi_frame",
    "tb_frame",
    "append",
    "format",
    "real",
    "value",
)
BEFORE = """\
use "./m.lang" as m
task f()
    give 1
type P
    a: text
enum E
    b(x)
let s be as_secret("sealed-plaintext")
"""


@pytest.mark.parametrize("value", VALUES)
def test_no_attribute_of_python_is_a_field(value: str) -> None:
    files = {"m.lang": "export let x be 1"}
    for name in ATTRIBUTES:
        for read in (f"({value}).{name}", f'({value})["{name}"]', f"{name} of {value}"):
            text = error(f"{BEFORE}print({read})", files=files)
            assert text.startswith("Runtime error: ") and "sealed-plaintext" not in text
        if value not in ('{"a": 1}', "m"):
            assert error(f"{BEFORE}let v be {value}\nset v.{name} to 1", files=files).startswith("Runtime error: ")
            assert error(f'{BEFORE}let v be {value}\nset v["{name}"] to 1', files=files).startswith("Runtime error: ")


def test_the_runtime_is_no_argument() -> None:
    """The context that builtins receive can be given neither by position nor by name."""
    assert "takes at most 0 arguments, got 1" in error("now(1)")
    for call in ("now(ctx = 1)", "print(ctx = 1)", "env(ctx = 1)", 'call(now, {"ctx": 1})', 'call_tool(now, {"ctx": 1})'):
        assert "Runtime error" in error(call)
    assert "takes at most 2 arguments" in error('env("A", "b", "c")')


def test_text_never_becomes_code() -> None:
    hole = "{1 + 1}"
    assert output(f'let t be "{hole}"\nprint(t, `{{t}}`)') == [f"{hole} {hole}"]
    assert output('print("%s {0} {} $x {__import__}")') == ["%s {0} {} $x {__import__}"]
    assert "Undefined variable: '__import__'" in error("print(`{__import__}`)")
    keys = json.dumps({"__class__": 1, "·T": 2, "None": 3, "__variant": 4, "a\0b": 5, "{x}": 6, "": 7})
    assert output(f"let m be json_decode({json.dumps(keys)})\nprint(values(m), m.None, m.__class__)") == [
        "[1, 2, 3, 4, 5, 6, 7] 3 1"
    ]


def test_odd_names_of_tests_and_intents_stay_text() -> None:
    program = 'intent: "None\\n__debug__"\ntest "type:P@1:1"\n    assert(true)\ntest "\'); import os"\n    assert(true)'
    assert language.test(program)["passed"] == 2


@pytest.mark.parametrize(
    "path",
    [
        "../m.lang",
        "/etc/m.lang",
        "..\\m.lang",
        "./a/../../m.lang",
        "C:/m.lang",
        "//host/m.lang",
        "a\0.lang",
        "file:///m.lang",
        "",
    ],
)
def test_a_module_lies_below_the_program(path: str) -> None:
    assert "module" in error(f'use "{path}" as m', files={"m.lang": "export let x be 1"})


# ---- leaving ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        "exit(3)",
        "apply([1], (x) => exit(3))",
        "sort_by([2, 1], (x) => exit(3))",
        "reduce([1, 2], (a, b) => exit(3))",
        "assert_error(() => exit(3))",
        "call(() => exit(3), {})",
        "call_tool(() => exit(3), {})",
        "parallel_map((x) => exit(3), [1, 2])",
    ],
)
def test_an_exit_cannot_be_caught(call: str) -> None:
    answer = run(f'try\n    sandbox\n        {call}\nrecover e\n    print("caught")\nprint("on")')
    assert (answer["exit"], answer["output"], answer["errors"]) == (3, [], [])


FOREVER = "while true\n            let x be 1"


@pytest.mark.parametrize(
    "body",
    [
        "try\n        " + FOREVER + '\n    recover\n        print("caught")',
        "sandbox\n        " + FOREVER,
        "assert_error(() => reduce(range(10 ** 7), (a, b) => a + b))",
        "parallel_map((x) => reduce(range(10 ** 7), (a, b) => a + b), [1, 2])",
        "call(() => sleep(100), {})",
        "sleep(100)",
        "sort_by(range(10 ** 4), (x) => sleep(1))",
        "range(10 ** 8)",
        'matches(join(apply(range(200000), (i) => "a"), ""), "(a+)+(a+)+b")',
    ],
)
def test_a_time_limit_cannot_be_caught_nor_slept_through(body: str) -> None:
    started = time.monotonic()
    answer = run(f"while true\n    {body}", limits={"time_ms": 300}, host={"sleep": True})
    assert answer["limit"] == "time_ms"
    assert answer["output"] == []
    assert time.monotonic() - started < 5


def test_a_limit_inside_a_sandbox_leaves_nothing_to_a_later_run() -> None:
    """The exception of a limit can land in the step that closes the block; the next run begins anew all the same."""
    program = language.Program(
        'require env("A")\nprint(env("A"))\nwhile true\n    sandbox\n        let y be 1', env={"A": "x"}, limits={"time_ms": 4}
    )
    other = language.Program('try\n    print(env("A"))\nrecover e\n    print("denied")', env={"A": "x"})
    for _ in range(40):
        answer = program.run()
        assert answer["limit"] == "time_ms" and answer["output"] in ([], ["x"])
        assert other.run()["output"] == ["denied"]


def test_every_way_out_of_a_sandbox_restores_the_grants() -> None:
    program = """\
require env("A")
task giving()
    sandbox
        give 1
task stopping()
    stop
giving()
print(env("A"))
each i in [1, 2]
    sandbox
        stop
print(env("A"))
try
    sandbox
        let x be 1 / 0
recover
    print(env("A"))
while true
    sandbox
        stopping()
print(env("A"))
each i in [1, 2]
    call_tool(stopping, {})
print(env("A"))
try
    call_tool(() => 1 / 0, {})
recover
    print(env("A"))
sandbox
    try
        env("A")
    recover e
        print("denied")
print(env("A"))
"""
    assert output(program, env={"A": "x"}) == ["x"] * 6 + ["denied", "x"]


# ---- threads ----------------------------------------------------------------------------------------------------------


def test_workers_and_their_sandboxes_do_not_mix() -> None:
    program = """\
require env("A")
task work(n)
    when n % 2 == 0
        sandbox
            try
                give env("A")
            recover e
                give "denied"
    give env("A")
let got be parallel_map(work, range(300), 32)
print(length(where(range(300), (i) => got[i] != ["denied", "x"][i % 2])), env("A"))
"""
    for _ in range(3):
        assert output(program, env={"A": "x"}) == ["0 x"]


def test_workers_never_see_a_write_of_another() -> None:
    """Lists and maps are shared until written; the write copies, also when many write at the same time."""
    program = """\
let shared be range(50)
let deep be {"a": [1, 2, 3], "b": {"c": [0]}}
task work(n)
    let mine be shared
    let tree be deep
    each i in range(300)
        set mine[i % 50] to n
        set tree.a[i % 3] to n
        set tree.b.c[0] to n
        set shared[i % 50] to n
        set deep.b.c[0] to n
        set mine to append(mine, n)
        when mine[i % 50] != n or tree.a[i % 3] != n or tree.b.c[0] != n or shared[i % 50] != n or deep.b.c[0] != n
            give "another's write"
    give sum(mine) == n * 350
print(unique(parallel_map(work, range(1, 25), 12)), sum(shared), deep)
let row be [0, 0, 0]
task count(xs)
    each i in range(999)
        set xs[i % 3] to xs[i % 3] + 1
    give xs
print(unique(parallel_map(count, [row, row, row, row, row, row], 6)), row)
state_set("k", [1, 2, 3])
task stored(n)
    let v be state_get("k")
    set v[0] to n
    set v to append(v, n)
    give state_get("k")
print(unique(parallel_map(stored, range(100), 16)))
"""
    assert output(program) == ["[true] 1225 {a: [1, 2, 3], b: {c: [0]}}", "[[333, 333, 333]] [0, 0, 0]", "[[1, 2, 3]]"]


def test_workers_that_start_workers_use_up_neither_threads_nor_the_process() -> None:
    program = "task f(n)\n    give parallel_map(f, [n, n])\nprint(f(1))"
    code = (
        "import language, threading, _thread, time\n"
        f"answer = language.run({program!r}, limits={{'time_ms': 500}})\n"
        "print(answer['ok'], len(answer['errors']))\n"
        "end = time.monotonic() + 30\n"
        "while _thread._count() and time.monotonic() < end: time.sleep(0.01)\n"
        "print(_thread._count(), language.run('print(1)')['output'])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode, done.stdout.splitlines()) == (0, ["False 1", "0 ['1']"]), done.stderr[-2000:]


def test_nested_maps_share_the_threads() -> None:
    program = (
        "print(sum(parallel_map((x) => sum(parallel_map((y) => sum(parallel_map((z) => 1, range(9))), range(9))), range(9))))"
    )
    assert output(program) == ["729"]


# ---- bombs ------------------------------------------------------------------------------------------------------------

NESTED = "let x be []\neach i in range(100000)\n    set x to [x]\n"
DOUBLED = 'let x be ["lol"]\neach i in range(40)\n    set x to [x, x]\n'


@pytest.mark.parametrize(
    "use",
    [
        "text(x)",
        "x == [x]",
        "json_encode(x)",
        'state_set("a", x)',
        "parallel_map((i) => x, [1, 2])",
        "sort([x, x])",
        "unique([x, [x]])",
        "flatten(x)",
        "approve x",
        "ask x with [x]",
        "{}[text(x)]",
        "show x",
        'toml_encode({"a": x})',
        "`{x}`",
        'call_tool((a) => text(a), {"a": x})',
    ],
)
def test_values_nested_without_end_are_an_error(use: str) -> None:
    answer = run(f"{NESTED}try\n    let r be {use}\nrecover e\n    print(e)\nprint(1)")
    assert answer["errors"] == [] and answer["output"][-1] == "1"


@pytest.mark.parametrize(
    "call",
    [
        "apply([n], f)",
        "sort_by([n, n], f)",
        "reduce([n, n], (a, b) => f(a))",
        'call(f, {"n": n})',
        'call_tool(f, {"n": n})',
        "parallel_map(f, [n])",
        "`{f(n)}`",
        "approve f(n)",
        "where([n], f)",
        "sandbox f(n)",
        'regex_replace("a", "a", f(n))',
    ],
)
def test_recursion_without_end_is_an_error(call: str) -> None:
    text = error(f"task f(n)\n    give {call}\nprint(f(1))")
    assert text.endswith("maximum recursion depth exceeded")


@pytest.mark.parametrize(
    "body",
    [
        'let a be "a"\nwhile true\n    set a to a + a',
        "let a be [1]\nwhile true\n    set a to a + a",
        "let a be {}\neach i in range(10 ** 9)\n    set a[i] to i",
        DOUBLED + "print(length(text(x)))",
        DOUBLED + "print(length(json_encode(x)))",
        "print(7 ** 7 ** 7 ** 7)",
        "print(1e999999999d + 1)",
        "print(text(1e999999999d))",
        "print(1.1d ** 999999999)",
        'print(json_decode("1e999999999"))',
        'print(json_decode(join(apply(range(100000), (i) => "["), "")))',
        'print(matches("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "(a+)+b"))\nprint(1 / 0)',
        'print(matches("a", "((a{1,1000}){1,1000}){1,1000}"))\nprint(1 / 0)',
        "let a be range(10 ** 12)",
    ],
)
def test_a_bomb_ends_in_an_error(body: str) -> None:
    started = time.monotonic()
    answer = run(body, limits={"time_ms": 3000, "memory_bytes": 200_000_000})
    assert not answer["ok"] and "internal error" not in answer["errors"][0]
    assert time.monotonic() - started < 60


def test_output_without_end_is_an_error() -> None:
    answer = run('let a be join(apply(range(100000), (i) => "a"), "")\nwhile true\n    print(a)')
    assert answer["limit"] == "output_bytes"
    answer = run(
        'parallel_map((i) => reduce(range(10 ** 4), (a, b) => print("aaaaaaaaaaaaaaaa")), [1, 2])',
        limits={"output_bytes": 5000, "time_ms": 20000},
    )
    assert answer["limit"] == "output_bytes"


# ---- modules, mandate, records ---------------------------------------------------------------------------------------------


def test_a_module_grants_nothing() -> None:
    module = "export task attack()\n    require random\n    give random()\n"
    assert "Capability not granted: random" in error('use "./m.lang" as m\nm.attack()', files={"m.lang": module})
    assert "must not have a top-level 'require'" in error('use "./m.lang" as m', files={"m.lang": "require random"})
    late = 'print(1)\nrequire random\nuse "./m.lang" as m\nsandbox\n    m.attack()'
    assert "Capability not granted: random" in error(late, files={"m.lang": module})


def test_the_mandate_is_frozen() -> None:
    for late in ('intent: "b"', 'task f()\n    intent: "b"\nf()', 'use "./m.lang" as m'):
        text = error(f'intent: "a"\nprint(1)\n{late}', files={"m.lang": 'intent: "b"'})
        assert "Intent is frozen to prevent prompt injection" in text


def test_a_scope_is_read_off_the_source() -> None:
    for scope in ("name", '"a" + "b"', "`{name}`", "f()"):
        assert "must be a literal" in error(f'let name be "*"\nrequire env({scope})')


def test_records_cannot_be_printed() -> None:
    """What a program prints, also in the shape of a record, is output; the audit has only decisions."""
    fake = json.dumps({"capability": "random", "granted": True})
    answer = run(f"print({json.dumps(fake)})\nlog {json.dumps(fake)}\neprint({json.dumps(fake)})\nrandom()")
    assert [(record["capability"], record["granted"]) for record in answer["audit"]] == [("random", False)]


def test_records_hold_no_value() -> None:
    program = 'require secret("K")\nlet k be secret("K")\ntry\n    reveal(k)\nrecover\n    print(k, [k], `{k}`, json_encode(k))'
    answer = run(program, env={"K": "plain-and-secret"})
    assert "plain-and-secret" not in json.dumps(answer)
    assert answer["ok"]


def test_what_a_gate_shows_cannot_redraw_the_question() -> None:
    asked: list[str] = []
    from language.gates import one_line

    def human(kind: str, message: str, options: list[str] | None, seconds: float | None) -> bool:
        asked.append(one_line(message))
        return False

    message = "Pay 1?\r\x1b[2K[approve] Pay 0?\n\u202e\x9b31m\x07"
    assert output(f"let ok be approve json_decode({json.dumps(json.dumps(message))})\nprint(ok)", host={"human": human}) == [
        "false"
    ]
    assert asked[0].isprintable() and asked[0].isascii()


# ---- the command --------------------------------------------------------------------------------------------------------


def command(
    folder: Path, program: str, *words: str, stdin: str = "", env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    (folder / "p.lang").write_text(program, encoding="utf-8")
    return subprocess.run(
        [sys.executable, "-m", "language", "run", *words, "p.lang"],
        cwd=folder,
        env={
            "HOME": str(folder),
            "PYTHONPATH": str(ROOT),
            "PATH": os.environ.get("PATH", ""),
            "PLATFORM_AUDIT_DIR": str(folder / "log"),
            **(env or {}),
        },
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("grant", ["require file", 'require file("./*")\nrequire file("*")'])
def test_a_program_cannot_touch_what_holds_it(tmp_path: Path, grant: str) -> None:
    """Its compiled form, its settings and its records: denied by real path, whatever was granted."""
    (tmp_path / ".cache" / "lang").mkdir(parents=True, mode=0o700)
    (tmp_path / ".env").write_text("A=1\n", encoding="utf-8")
    (tmp_path / "link").symlink_to(".env")
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "reveal.log").write_text("A\n", encoding="utf-8")
    targets = [
        ".cache/lang/x.program",
        ".cache/lang",
        ".env",
        "log/reveal.log",
        "audit.jsonl",
        ".lang/x",
        "./sub/../.env",
        "link",
    ]
    acts = [
        'write_file(p, "x")',
        'append_file(p, "x")',
        'edit_file(p, "A", "B")',
        "read_file(p)",
        "delete_file(p)",
        'grep(p, "A")',
    ]
    program = f"""\
{grant}
let acts be [{", ".join(f"(p) => {act}" for act in acts)}]
each target in {json.dumps(targets)}
    each act in acts
        try
            print("ACTED", target, act(target))
        recover e
            when contains(e, "explicitly denied by")
                print("denied")
            otherwise
                print("OTHER", target, e)
"""
    done = command(tmp_path, program, "--audit", "audit.jsonl")
    assert done.stdout.splitlines() == ["denied"] * len(targets) * len(acts), done
    assert (tmp_path / ".env").read_text(encoding="utf-8") == "A=1\n"
    assert (tmp_path / "log" / "reveal.log").read_text(encoding="utf-8") == "A\n"
    assert all(json.loads(line) for line in (tmp_path / "audit.jsonl").read_text(encoding="utf-8").splitlines())


@pytest.mark.parametrize("linked", [False, True], ids=["a file", "a link"])
def test_a_program_cannot_touch_its_rotated_audit(tmp_path: Path, linked: bool) -> None:
    """Neither the records of before, nor a name that the chain would be taken up from."""
    (tmp_path / "audit.log.1").write_text("earlier A\n", encoding="utf-8")
    (tmp_path / "audit.log-20260101.gz").write_text("A\n", encoding="utf-8")
    if linked:
        (tmp_path / "audit.log").symlink_to("records")
    targets = [
        "audit.log",
        "audit.log.1",
        "audit.log.2",
        "audit.log-20260101.gz",
        *(["records", "records.1"] if linked else []),
    ]
    acts = ['write_file(p, "x")', 'append_file(p, "x")', "read_file(p)", "delete_file(p)", "db_open(p)"]
    program = f"""\
require file
require db
let acts be [{", ".join(f"(p) => {act}" for act in acts)}]
each target in {json.dumps(targets)}
    each act in acts
        try
            print("ACTED", target, act(target))
        recover e
            print(when contains(e, "explicitly denied by") then "denied" otherwise e)
print(write_file("audit.logs", "mine"), write_file("notes.1", "mine"), unique(collect(grep(".", "A")["matches"], "file")))
"""
    done = command(tmp_path, program, env={"PLATFORM_AUDIT_FILE": "audit.log"})
    assert done.stdout.splitlines() == [*(["denied"] * len(targets) * len(acts)), 'true true ["p.lang"]'], done
    assert (tmp_path / "audit.log.1").read_text(encoding="utf-8") == "earlier A\n"
    assert not (tmp_path / "audit.log.2").exists()


def test_an_audit_that_is_exchanged_while_the_program_runs(tmp_path: Path) -> None:
    (tmp_path / "first").touch()
    (tmp_path / "second").touch()
    (tmp_path / "audit.log").symlink_to("first")
    program = """
require file
require exec("ln")
task attempt(p)
    try
        give write_file(p, "x")
    recover e
        give contains(e, "explicitly denied by")
print(attempt("first"), run("ln", ["-sfn", "second", "audit.log"])["exit_code"])
print(attempt("second"), attempt("audit.log"))
"""
    done = command(tmp_path, program, env={"PLATFORM_AUDIT_FILE": "audit.log"})
    assert done.stdout == "true 0\ntrue true\n", done
    assert (tmp_path / "first").read_text(encoding="utf-8").startswith('{"ts"')
    assert (tmp_path / "second").read_text(encoding="utf-8").startswith('{"ts"')


def test_nobody_answers_yes(tmp_path: Path) -> None:
    """Neither piped input nor what the program itself prints answers a gate."""
    done = command(tmp_path, 'print("y")\nprint(approve "go?", confirm "go?")', stdin="y\nyes\n")
    assert done.stdout == "y\nfalse false\n"
