"""What single constructs cost: nanoseconds each, beside the same thing in Python.

    python tests/bench/constructs.py [--rounds N] [--only TEXT]

Each construct of constructs.toml runs in a loop inside a task; the cost of the empty loop is subtracted on both sides. Values
come in through parameters, so that neither side knows their types beforehand. Good for finding what a slow program is slow
at; small differences mean nothing.
"""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Callable
from pathlib import Path
from textwrap import indent
from typing import Any

from engines import load_program
from machine import description
from timing import interleaved, table

COUNT = 20_000
TOP_LEVEL = "top level: set total to total + i"

Construct = dict[str, str]


def constructs() -> list[Construct]:
    """The entries of constructs.toml; see the head of that file."""
    with Path(__file__).with_name("constructs.toml").open("rb") as file:
        entries: list[Construct] = tomllib.load(file)["construct"]
    return entries


def our_program(construct: Construct, body: str, count: int = COUNT) -> str:
    values = construct.get("our_values", construct.get("values", ""))
    return f"""{construct.get("before", "")}
task main({construct.get("parameters", "")})
    each i in range({count})
{indent(body, " " * 8)}
    give 0
print(main({values}))
"""


def python_program(construct: Construct, body: str, count: int = COUNT) -> Callable[[], object]:
    source = f"""{construct.get("python_before", "")}
def main({construct.get("parameters", "")}):
    for i in range({count}):
{indent(body, " " * 8)}
    return 0
def run():
    return main({construct.get("python_values", construct.get("values", ""))})
"""
    namespace: dict[str, Any] = {}
    exec(compile(source, construct["name"], "exec"), namespace)
    run: Callable[[], object] = namespace["run"]
    return run


def nanoseconds(construct: Construct, rounds: int) -> tuple[float, float]:
    """What the construct costs once: in our language, in Python."""
    timings = interleaved(
        {
            "ours": load_program(our_program(construct, construct["ours"]), "construct.lang"),
            "python": python_program(construct, construct["python"]),
            "our loop": load_program(our_program(construct, "let z be i"), "construct.lang"),
            "python loop": python_program(construct, "z = i"),
        },
        rounds,
    )
    each = {name: timing.best / COUNT * 1e9 for name, timing in timings.items()}
    return each["ours"] - each["our loop"], each["python"] - each["python loop"]


def top_level(rounds: int) -> tuple[float, float]:
    """A loop at the top level of a program, where the variables are global."""
    source = f"let total be 0\neach i in range({COUNT})\n    set total to total + i\nprint(total)\n"
    code = compile(f"total = 0\nfor i in range({COUNT}):\n    total += i\n", "top", "exec")
    timings = interleaved({"ours": load_program(source, "top.lang"), "python": lambda: exec(code, {})}, rounds)
    return timings["ours"].best / COUNT * 1e9, timings["python"].best / COUNT * 1e9


def measure(rounds: int, only: str = "") -> str:
    """The table: nanoseconds of each construct in both languages, and the difference."""
    rows = []
    for construct in constructs():
        if only in construct["name"]:
            rows.append([construct["name"], *nanoseconds(construct, rounds)])
    if only in TOP_LEVEL:
        rows.append([TOP_LEVEL, *top_level(rounds)])
    cells = [[str(name), f"{ours:.0f}", f"{python:.0f}", f"{ours - python:+.0f}"] for name, ours, python in rows]
    return table(["construct", "ours ns", "Python ns", "difference"], cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="only constructs whose name contains this")
    options = parser.parse_args()
    print(description())
    print()
    print(measure(options.rounds, options.only))


if __name__ == "__main__":
    main()
