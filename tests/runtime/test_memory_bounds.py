"""A program with ``memory_bytes`` never stands far above it, whatever a single operation would build."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

LIMIT = 64_000_000
#: What a process may take beyond what it took before the run: the limit, what is made between two looks, and the interpreter.
MOST = 2 * LIMIT

# Sixteen million characters; a list of eight million places.
TEXT = 'let s be "0123456789abcdef"\neach i in range(20)\n    set s to s + s\n'
LIST = "let xs be [1, 2, 3, 4, 5, 6, 7, 8]\neach i in range(18)\n    set xs to xs + xs\n"
HOLES = "{s}" * 40


def doubled(text: str, times: int) -> str:
    """A program whose ``s`` is the text, doubled so many times."""
    return f'let s be "{text}"\neach i in range({times})\n    set s to s + s\n'


PROGRAMS = {
    "additions in a straight line": 'let s be "0123456789abcdef"\n' + "set s to s + s\n" * 26,
    "additions in one expression": TEXT + "let r be " + " + ".join(["s"] * 60),
    "lists in a straight line": "let xs be [1, 2]\n" + "set xs to xs + xs\n" * 27,
    "lists in one expression": LIST + "let r be " + " + ".join(["xs"] * 60),
    "bytes in one expression": TEXT + "let b be bytes(s)\nlet r be " + " + ".join(["b"] * 60),
    "additions in a worker": 'task grow(n)\n    let s be "0123456789abcdef"\n'
    + "    set s to s + s\n" * 26
    + "    give length(s)\nlet r be parallel_map(grow, [1, 2])",
    "additions in an exported task": "let f be (s) => s + s\n" + TEXT + "let r be f(f(f(f(f(f(s))))))",
    "template": TEXT + f"let r be `{HOLES}`",
    "fmt": TEXT + f'let r be fmt("{HOLES}", {{"s": s}})',
    "join": TEXT + 'let r be join([s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s], "")',
    "join of numbers": TEXT + "let r be join([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19], s)",
    "replace": TEXT + 'let r be replace(slice(s, 0, 200), "a", s)',
    "regex_replace": TEXT + 'let r be regex_replace(slice(s, 0, 2000), "[a-f]", slice(s, 0, 2000000))',
    "regex_replace with groups": TEXT
    + 'let r be regex_replace(s, "(.*)", "\\\\1\\\\1\\\\1\\\\1\\\\1\\\\1\\\\1\\\\1\\\\1\\\\1")',
    "int_to_bytes": "let r be int_to_bytes(1, 2 ** 30)",
    "int_to_bytes_le": "let r be int_to_bytes_le(1, 2 ** 30)",
    "range": "let r be range(2 ** 27)",
    "json_encode": TEXT
    + "let r be json_encode([s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s])",
    "json_encode of maps": TEXT + 'let r be json_encode(apply(range(40), (i) => {"a": s}))',
    "text": TEXT + "let r be text([s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s])",
    "csv": TEXT + 'let r be csv_encode(apply(range(60), (i) => {"a": s, "b": s}))',
    "toml": TEXT + 'let r be toml_encode({"a": apply(range(60), (i) => s)})',
    "print": TEXT + "print(s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s)",
    "repeated keys": TEXT + "let r be " + "{" + ", ".join(f'"{n}": s + "{n}"' for n in range(40)) + "}",
    "upper": doubled("ß", 25) + "let r be upper(s)",
    "lower of one word of capital sigmas": doubled("Σ", 24) + "let r be lower(s)",
    "split": doubled("ab,", 23) + 'let r be split(s, ",")',
    "split into characters": doubled("漢", 23) + 'let r be split(s, "")',
    "a record of CSV with millions of fields": doubled("ab,", 23) + "let r be csv_parse(s)",
    "parallel_map": LIST.replace("18", "19") + "let r be parallel_map((x) => x, xs)",
    "unique": LIST.replace("18", "19") + "let r be unique(xs)",
    "group_by": LIST.replace("18", "19") + "let r be group_by(xs, (x) => x)",
}

CHILD = """
import json, resource, sys
import language
language.run(sys.argv[2], limits={"memory_bytes": 10**9})
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
answer = language.run(sys.stdin.read(), limits={"memory_bytes": int(sys.argv[1])})
grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
print(json.dumps([answer.get("limit"), answer["errors"], grown]))
"""
WARMING = 'let r be json_encode([1.5, "x"])\nlet q be regex_replace("abc", "(b)", "-")\nlet p be csv_encode([{"a": 1}])'


def outcome(source: str) -> tuple[str | None, list[str], int]:
    """The limit that ended the program, its errors, and the bytes that the process grew by."""
    run = subprocess.run(
        [sys.executable, "-c", CHILD, str(LIMIT), WARMING], input=source, capture_output=True, text=True, timeout=600
    )
    assert run.returncode == 0, run.stderr
    limit, errors, grown = json.loads(run.stdout)
    return limit, errors, grown


@pytest.mark.parametrize("name", PROGRAMS)
def test_memory_is_bounded(name: str) -> None:
    limit, errors, grown = outcome(PROGRAMS[name])
    assert limit in ("memory_bytes", "output_bytes") or any("characters, more than" in error for error in errors), errors
    assert grown < MOST, f"{grown // 1_000_000} MB"


def test_a_program_within_its_memory_ends_normally() -> None:
    source = TEXT + 'let t be s + `{s}`\nlet r be join([slice(s, 0, 1000000), slice(s, 0, 1000000)], "")\nprint(length(t))'
    limit, errors, _ = outcome(source)
    assert (limit, errors) == (None, [])


def test_time_ends_a_straight_line_of_large_operations() -> None:
    import language

    source = TEXT.replace("20", "22") + "let r be 0\n" + "set r to length(s + s)\n" * 3000
    answer = language.run(source, limits={"time_ms": 300})
    assert answer.get("limit") == "time_ms"
