"""What raising and catching an error costs, in microseconds an error, beside Python's own.

python tests/bench/errors.py [--rounds N]
"""

from __future__ import annotations

from collections.abc import Callable

from command import measured_alone
from engines import load_program
from timing import interleaved, table

COUNT = 20_000


def loop(body: str, before: str = "") -> str:
    """A program that runs the indented `body` COUNT times within try, and counts what it caught."""
    return f"""{before}
task main()
    let caught be 0
    each i in range({COUNT})
        try
{body}
        recover problem
            set caught to caught + 1
    give caught
print(main())
"""


DEEP = """
task deepest(n)
    raise "no " + n
task deeper(n)
    give deepest(n) + 1
task deep(n)
    give deeper(n) + 1
"""

PROGRAMS = {
    "try that succeeds": loop("            set caught to caught + 1"),
    "raise": loop('            raise "no"'),
    "raise three calls down": loop("            deep(i)", DEEP),
    "index out of bounds": loop("            xs[9]", "let xs be [1]"),
    "missing key": loop("            m.b", 'let m be {"a": 1}'),
    "number + bool": loop("            i + true"),
    "division by zero": loop("            i / 0"),
    "an error of a builtin": loop('            int("x")'),
    "undefined variable": loop("            nope"),
    "wrong number of arguments": loop("            deep(i, i)", DEEP),
}


class Trouble(Exception):
    """Stands for a program's own error class."""


def python_raise() -> object:
    caught = 0
    for _ in range(COUNT):
        try:
            raise Trouble("no")
        except Trouble:
            caught += 1
    return caught


def python_deep() -> object:
    def deepest(n: int) -> int:
        raise Trouble(f"no {n}")

    def deeper(n: int) -> int:
        return deepest(n) + 1

    def deep(n: int) -> int:
        return deeper(n) + 1

    caught = 0
    for i in range(COUNT):
        try:
            deep(i)
        except Trouble:
            caught += 1
    return caught


def python_index() -> object:
    caught = 0
    xs = [1]
    for _ in range(COUNT):
        try:
            xs[9]
        except IndexError:
            caught += 1
    return caught


PYTHON: dict[str, Callable[[], object]] = {
    "raise": python_raise,
    "raise three calls down": python_deep,
    "index out of bounds": python_index,
}


def measure(rounds: int) -> str:
    """The table: microseconds an error in our language and, where the same can be said, in Python."""
    rows = []
    for name, source in PROGRAMS.items():
        competitors: dict[str, Callable[[], object]] = {"ours": load_program(source, "errors.lang")}
        if name in PYTHON:
            competitors["python"] = PYTHON[name]
        timings = interleaved(competitors, rounds)
        for engine, timing in timings.items():
            if str(timing.result) != str(COUNT):
                raise SystemExit(f"{name}: {engine} caught {timing.result} of {COUNT}")
        micro = {engine: timing.median / COUNT * 1e6 for engine, timing in timings.items()}
        rows.append([name, f"{micro['ours']:.2f}", f"{micro['python']:.2f}" if "python" in micro else "-"])
    return table(["raised and caught", "ours us", "Python us"], rows)


if __name__ == "__main__":
    measured_alone(__doc__, measure)
