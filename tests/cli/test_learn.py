"""``lang run --learn``: the lines a program needs, what is never learned, and that nothing else gets in."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from language.cli.learn import Lesson
from language.cli.source import Source
from tests.cli.conftest import Lang, Result

PROGRAM = """\
require random
let name be "APP_" + "X"
print(env(name, "1"))
print(env("PLAIN", "2"))
each i in range(2)
    env(name, "2")
random()
"""
LEARNED = [
    'require env("APP_X")  -- env() at p.lang:3, env() at p.lang:6; scope computed from data',
    'require env("PLAIN")  -- env() at p.lang:4; scope stands in the source',
]


def learn(lang: Lang, program: str, *flags: str, **options: object) -> Result:
    return lang("run", "--learn", "--yes", *flags, "p.lang", files={"p.lang": program}, **options)


def test_the_program_runs_and_the_lines_are_printed(lang: Lang, tmp_path: Path) -> None:
    result = learn(lang, PROGRAM, "--write", "manifest.txt")
    assert (result.code, result.lines) == (0, ["1", "2"])
    assert result.err.splitlines() == ["[lang] notice: the program needed these lines:", *LEARNED]
    assert (tmp_path / "manifest.txt").read_text().splitlines() == LEARNED
    assert (tmp_path / "p.lang").read_text() == PROGRAM


def test_what_was_learned_is_enough(lang: Lang, tmp_path: Path) -> None:
    learn(lang, PROGRAM, "--write", "manifest.txt")
    (tmp_path / "q.lang").write_text((tmp_path / "manifest.txt").read_text() + PROGRAM)
    result = lang("run", "q.lang")
    assert (result.code, result.lines, result.err) == (0, ["1", "2"], "")


def test_nothing_to_learn(lang: Lang) -> None:
    result = learn(lang, "print(1)\n")
    assert result.err == "[lang] notice: the program declares all that it needed\n"


def test_secrets_are_refused_and_left_to_a_person(lang: Lang) -> None:
    result = learn(lang, 'try\n    secret("KEY")\nrecover e\n    print("refused")\n', env={"KEY": "v"})
    assert result.lines == ["refused"]
    assert result.err.splitlines()[1:] == [
        "-- decide yourself:",
        '-- require secret("KEY")  -- secret() at p.lang:2; scope stands in the source',
    ]


@pytest.mark.parametrize("scope", ["*", "A*", "A?", "?"])
def test_no_wildcard_is_learned(lang: Lang, scope: str) -> None:
    """A name out of data that is a pattern would grant more than was asked for."""
    result = learn(lang, f'try\n    env("{scope}", "d")\nrecover e\n    print("refused")\nenv("B", "d")\n')
    assert result.lines == ["refused"]
    assert [line.partition("  ")[0] for line in result.err.splitlines()[1:]] == [
        'require env("B")',
        "-- decide yourself:",
        f'-- require env("{scope}")',
    ]


def test_an_explicit_ceiling_stays_a_hard_limit(lang: Lang) -> None:
    result = learn(lang, 'env("A", "x")\nprint("one")\nenv("B", "x")\nprint("two")\n', "--cap-set", "stdout,env=A")
    assert (result.code, result.lines) == (1, ["one"])
    assert 'Capability not granted: env("B")' in result.err
    assert 'require env("A")' in result.err and 'require env("B")  --' not in result.err


def test_bounds_stay_bounds(lang: Lang) -> None:
    program = """\
task tool()
    give env("A", "x")
sandbox
    try
        env("A", "x")
    recover e
        print("sandbox")
try
    call_tool(tool, nothing)
recover e
    print("tool")
"""
    result = learn(lang, program)
    assert result.lines == ["sandbox", "tool"]
    assert "declares all that it needed" in result.err


def test_a_tool_is_learned_with_what_it_declares(lang: Lang) -> None:
    result = learn(lang, 'task tool()\n    require env("A")\n    give env("A", "x")\nprint(call_tool(tool, nothing))\n')
    assert result.lines == ["x"]
    assert 'require env("A")  -- tool-scope at p.lang:4, env() at p.lang:3' in result.err


def test_the_lines_come_also_after_an_error_and_the_exit_code_is_the_programs(lang: Lang) -> None:
    result = learn(lang, 'env("A", "x")\nexit(7)\n')
    assert result.code == 7 and 'require env("A")' in result.err
    result = learn(lang, 'env("A", "x")\nraise "no"\n')
    assert result.code == 1 and 'require env("A")' in result.err


def test_data_does_not_become_lines(lang: Lang, tmp_path: Path) -> None:
    program = 'env("A\\")\\nrequire exec(\\"\\u{1b}[2J\\\\", "x")\n'
    learn(lang, program, "--write", "m.txt")
    lines = (tmp_path / "m.txt").read_text().splitlines()
    assert lines == [
        'require env("A\\")\\u{a}require exec(\\"\\u{1b}[2J\\\\")  -- env() at p.lang:1; scope stands in the source'
    ]
    assert lang("run", "q.lang", files={"q.lang": lines[0] + "\n" + program}).code == 0


def test_modules_and_workers(lang: Lang) -> None:
    files = {"p.lang": 'use "m.lang" as m\nprint(parallel_map((x) => m.get(x), ["A", "B"]))\n',
             "m.lang": 'export task get(x)\n    give env(x, "d") + env("C", "d")\n'}  # fmt: skip
    result = lang("run", "--learn", "--yes", "p.lang", files=files)
    assert result.lines == ['["dd", "dd"]']
    assert [line.partition(";")[0] for line in result.err.splitlines()[1:]] == [
        f'require env("{name}")  -- env() at m.lang:2' for name in "ABC"
    ]


def test_with_an_audit_stream(lang: Lang, tmp_path: Path) -> None:
    learn(lang, PROGRAM, "--audit", "a.log")
    assert (tmp_path / "a.log").read_text().count('"capability": "env"') == 4


@pytest.mark.parametrize(
    "words",
    [
        ["run", "--learn", "p.lang"],
        ["run", "--learn", "--yes", "--format", "json", "p.lang"],
        ["run", "--write", "x", "p.lang"],
        ["run", "--yes", "p.lang"],
        ["run", "--learn", "--yes", "--write", "p.lang", "p.lang"],
        ["run", "--learn", "--yes", "--write", "other.lang", "p.lang"],
        ["--learn", "p.lang"],
        ["test", "--learn", "p.lang"],
        ["run", "--learn", "-"],
    ],
)
def test_wrong_calls_run_nothing(lang: Lang, tmp_path: Path, words: list[str]) -> None:
    files = {"p.lang": 'print("ran")\n', "other.lang": "print(1)\n"}
    result = lang(*words, files=files)
    assert (result.code, result.out) == (2, "")
    assert {name: (tmp_path / name).read_text() for name in files} == files


@pytest.mark.parametrize(("answer", "code", "ran"), [("y", 0, True), ("yes", 0, True), ("n", 1, False), ("", 1, False)])
def test_it_asks_on_a_terminal(tmp_path: Path, environment: dict[str, str], answer: str, code: int, ran: bool) -> None:
    (tmp_path / "p.lang").write_text('print("it " + "ran")\n')
    terminal, end = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "language", "run", "--learn", "p.lang"],
        cwd=tmp_path, env=environment, stdin=end, stdout=end, stderr=end,
    )  # fmt: skip
    os.close(end)
    seen = read_until(terminal, b"[y/N] ")
    assert b"it ran" not in seen
    os.write(terminal, answer.encode() + b"\n")
    assert process.wait(30) == code
    assert (b"it ran" in read_until(terminal, b"\0")) is ran
    os.close(terminal)


def read_until(terminal: int, mark: bytes) -> bytes:
    seen = b""
    end = time.monotonic() + 30
    while mark not in seen and time.monotonic() < end:
        if not select.select([terminal], [], [], 0.2)[0]:
            continue
        try:
            piece = os.read(terminal, 4096)
        except OSError:  # the other end is closed
            break
        seen += piece
    return seen


# ---- what is merged ----------------------------------------------------------------------------------------------------


def needs(*keys: tuple[str, str]) -> list[str]:
    """What is printed for capabilities whose scopes were computed."""
    lesson = Lesson(Source(b"", "p.lang", ".", from_stdin=False), None)
    from language.capabilities import Capability

    for name, scope in keys:
        assert lesson.grants(Capability(name, scope))
    return [line.partition("  --")[0].removeprefix("require ") for line in lesson.report()]


def test_files_are_merged_at_most_to_their_folder() -> None:
    computed = [("file.read", f"data/{n}.txt") for n in range(3)]
    assert needs(*computed) == ['file.read("data/*")']
    assert needs(*computed[:2]) == ['file.read("data/0.txt")', 'file.read("data/1.txt")']
    assert needs(*computed, ("file.write", "data/0.txt")) == ['file.read("data/*")', 'file.write("data/0.txt")']
    for folder in ("", "/", "../", "../../"):
        assert len(needs(*[("file.read", f"{folder}{n}.txt") for n in range(9)])) == 9
    assert len(needs(*[("file.read", f"d{n}/x") for n in range(9)])) == 9


def test_ports_are_merged_to_their_host() -> None:
    assert needs(("net", "a.x:1"), ("net", "a.x:2"), ("net", "b.x:1")) == ['net("a.x")', 'net("b.x:1")']
    assert needs(("net", "[::1]:1"), ("net", "[::1]:2")) == ['net("::1")']
    assert needs(*[("net", f"h{n}.x") for n in range(9)]) == [f'net("h{n}.x")' for n in range(9)]
    assert needs(("net", "2001:db8::1"), ("net", "2001:db8::2")) == ['net("2001:db8::1")', 'net("2001:db8::2")']


def test_names_are_never_merged() -> None:
    assert len(needs(*[("env", f"APP_{n}") for n in range(9)])) == 9
