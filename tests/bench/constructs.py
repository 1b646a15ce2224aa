"""What single constructs cost: nanoseconds each, beside the same thing in Python.

    python tests/bench/constructs.py [--rounds N] [--only TEXT]

Each construct runs in a loop inside a task; the cost of the empty loop is subtracted on both sides. Values come in through
parameters, so that neither side knows their types beforehand. Good for finding what a slow program is slow at; small
differences mean nothing.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, NamedTuple

from engines import load_program
from machine import description
from timing import interleaved, table

COUNT = 20_000


class Construct(NamedTuple):
    """One thing said in both languages. ``values`` are the arguments, as both languages write them."""

    name: str
    ours: str
    python: str
    parameters: str = ""
    ours_values: str = ""
    python_values: str = ""
    ours_before: str = ""
    python_before: str = ""


def both(name: str, ours: str, python: str, parameters: str = "", values: str = "") -> Construct:
    """A construct whose arguments are written the same in both languages."""
    return Construct(name, ours, python, parameters, values, values)


SHAPES_OURS = """enum Shape
    dot
    circle(r)
    rect(w, h)
task area(s)
    match s
        is Shape.dot
            give 0
        is Shape.circle(r)
            give r * 3
        is Shape.rect(w, h)
            give w * h
"""
SHAPES_PYTHON = """class Dot:
    __slots__ = ()
class Circle:
    __slots__ = ("r",)
    __match_args__ = ("r",)
    def __init__(self, r): self.r = r
class Rect:
    __slots__ = ("w", "h")
    __match_args__ = ("w", "h")
    def __init__(self, w, h): self.w = w; self.h = h
def area(s):
    match s:
        case Dot():
            return 0
        case Circle(r):
            return r * 3
        case Rect(w, h):
            return w * h
"""
POINT_OURS = """type Point
    x: number
    y: number
"""
POINT_PYTHON = """class Point:
    __slots__ = ("x", "y")
    def __init__(self, x, y): self.x = x; self.y = y
"""
WORDS_OURS = """task kind(v)
    match v
        is "red"
            give 1
        is "green"
            give 2
        is "blue"
            give 3
        otherwise
            give 0
"""
WORDS_PYTHON = """def kind(v):
    match v:
        case "red":
            return 1
        case "green":
            return 2
        case "blue":
            return 3
        case _:
            return 0
"""

CONSTRUCTS = [
    both("number + number", "let z be x + y", "z = x + y", "x, y", "3, 4"),
    both("number * number", "let z be x * y", "z = x * y", "x, y", "3, 4"),
    both("float * float", "let z be x * y", "z = x * y", "x, y", "3.5, 4.5"),
    both("number % number", "let z be x % y", "z = x % y", "x, y", "17, 5"),
    both("number ** 2", "let z be x ** 2", "z = x ** 2", "x", "17"),
    both("number < number", "let z be x < y", "z = x < y", "x, y", "3, 4"),
    both("text == text", "let z be x == y", "z = x == y", "x, y", '"left", "leaf"'),
    both("list == list", "let z be x == y", "z = x == y", "x, y", "[1, 2, 3], [1, 2, 4]"),
    Construct("when a and not b", "when x and not y\n            let z be 1", "if x and not y:\n            z = 1",
              "x, y", "true, false", "True, False"),
    both("text + text", "let z be x + y", "z = x + y", "x, y", '"left", "right"'),
    Construct("text + number", "let z be x + y", "z = x + str(y)", "x, y", '"n", 7', '"n", 7'),
    Construct("template of text and number", "let z be `{x}: {y}`", 'z = f"{x}: {y}"', "x, y", '"n", 7', '"n", 7'),
    both("list index", "let z be xs[y]", "z = xs[y]", "xs, y", "[1, 2, 3], 1"),
    both("list index from the end", "let z be xs[-1]", "z = xs[-1]", "xs", "[1, 2, 3]"),
    both("list write", "set xs[y] to i", "xs[y] = i", "xs, y", "[1, 2, 3], 1"),
    both("nested list write", "set xs[y][y] to i", "xs[y][y] = i", "xs, y", "[[1, 2], [3, 4]], 1"),
    Construct("append", "set xs to append(xs, i)", "xs.append(i)", "xs", "[]", "[]"),
    Construct("field read", "let z be p.x", "z = p.x", "p", "Point(1, 2)", "Point(1, 2)", POINT_OURS, POINT_PYTHON),
    Construct("field write", "set p.x to i", "p.x = i", "p", "Point(1, 2)", "Point(1, 2)", POINT_OURS, POINT_PYTHON),
    Construct("field update", "set p.x to p.x + 1", "p.x += 1", "p", "Point(1, 2)", "Point(1, 2)", POINT_OURS, POINT_PYTHON),
    Construct("field of an item, update", "set ps[y].x to ps[y].x + 1", "ps[y].x += 1", "ps, y", "[Point(1, 2)], 0", "[Point(1, 2)], 0",
              POINT_OURS, POINT_PYTHON),
    Construct("constructor", "let z be Point(x, i)", "z = Point(x, i)", "x", "1", "1", POINT_OURS, POINT_PYTHON),
    both("map read by key", "let z be m[k]", "z = m[k]", "m, k", '{"a": 1, "b": 2}, "b"'),
    both("map write by key", "set m[k] to i", "m[k] = i", "m, k", '{"a": 1}, "b"'),
    Construct("map write by number", "set m[i] to i", "m[str(i)] = i", "m", "{}", "{}"),
    Construct("get with default", "let z be get(m, k, 0)", "z = m.get(k, 0)", "m, k", '{"a": 1}, "b"', '{"a": 1}, "b"'),
    both("key in map", "let z be k in m", "z = k in m", "m, k", '{"a": 1, "b": 2}, "b"'),
    both("item in list", "let z be x in xs", "z = x in xs", "xs, x", "[1, 2, 3], 3"),
    both("list literal", "let z be [x, i, x]", "z = [x, i, x]", "x", "1"),
    both("map literal", 'let z be {"a": x, "b": i}', 'z = {"a": x, "b": i}', "x", "1"),
    Construct("each over a list of 10", "each x in xs\n            let z be x", "for x in xs:\n            z = x",
              "xs", "range(10)", "list(range(10))"),
    Construct("each over a text of 10", "each x in t\n            let z be x", "for x in t:\n            z = x",
              "t", '"abcdefghij"', '"abcdefghij"'),
    Construct("while of 10 rounds", "let n be 0\n        while n < 10\n            set n to n + 1",
              "n = 0\n        while n < 10:\n            n += 1"),
    Construct("call, one argument", "let z be f(i)", "z = f(i)", ours_before="task f(x)\n    give x\n",
              python_before="def f(x):\n    return x\n"),
    Construct("call, default argument", "let z be f(i)", "z = f(i)", ours_before="task f(x, y = 2)\n    give y\n",
              python_before="def f(x, y=2):\n    return y\n"),
    Construct("call, named argument", "let z be f(i, y = 3)", "z = f(i, y=3)", ours_before="task f(x, y = 2)\n    give y\n",
              python_before="def f(x, y=2):\n    return y\n"),
    Construct("call of a parameter", "let z be f(i)", "z = f(i)", "f", "(x) => x", "lambda x: x"),
    Construct("call through a map", "let z be m.f(i)", 'z = m["f"](i)', "m", '{"f": (x) => x}', '{"f": lambda x: x}'),
    Construct("pipe", "let z be i |> f", "z = f(i)", ours_before="task f(x)\n    give x\n",
              python_before="def f(x):\n    return x\n"),
    Construct("lambda made and called", "let z be ((x) => x + i)(1)", "z = (lambda x: x + i)(1)"),
    Construct("variable of an enclosing task", "let z be next()", "z = next_()",
              ours_before="let n be 0\ntask next()\n    set n to n + 1\n    give n\n",
              python_before="n = 0\ndef next_():\n    global n\n    n += 1\n    return n\n"),
    Construct("match on a variant", "let z be area(s)", "z = area(s)", "s", "Shape.rect(2, 3)", "Rect(2, 3)", SHAPES_OURS, SHAPES_PYTHON),
    Construct("variant made", "let z be Shape.rect(i, 3)", "z = Rect(i, 3)", "", "", "", SHAPES_OURS, SHAPES_PYTHON),
    Construct("match on texts", "let z be kind(v)", "z = kind(v)", "v", '"blue"', '"blue"', WORDS_OURS, WORDS_PYTHON),
    Construct("match on a list", "match xs\n            is [a, ...rest]\n                let z be a",
              "match xs:\n            case [a, *rest]:\n                z = a", "xs", "[1, 2, 3]", "[1, 2, 3]"),
    Construct("parameter written", "let z be touch(m)", "z = touch(m)", "m", '{"a": 1, "b": 2}', '{"a": 1, "b": 2}',
              "task touch(m)\n    set m.a to 2\n    give m\n", "def touch(m):\n    m = dict(m)\n    m['a'] = 2\n    return m\n"),
    Construct("decimal + decimal", "let z be x + y", "z = x + y", "x, y", "1.50d, 2.25d", 'D("1.50"), D("2.25")', "",
              "from decimal import Decimal as D\n"),
    Construct("decimal * number", "let z be x * y", "z = x * y", "x, y", "1.50d, 3", 'D("1.50"), 3', "", "from decimal import Decimal as D\n"),
    Construct("try that succeeds", "try\n            let z be i\n        recover\n            let z be 0",
              "try:\n            z = i\n        except ValueError:\n            z = 0"),
    Construct("length(list)", "let z be length(xs)", "z = len(xs)", "xs", "[1, 2, 3]", "[1, 2, 3]"),
    Construct("upper(text)", "let z be upper(t)", "z = t.upper()", "t", '"word"', '"word"'),
    Construct("starts_with", 'when starts_with(t, "w")\n            let z be 1', 'if t.startswith("w"):\n            z = 1', "t", '"word"', '"word"'),
    Construct("split of 5 words", 'let z be split(t, " ")', 'z = t.split(" ")', "t", '"a bb ccc dddd eeeee"', '"a bb ccc dddd eeeee"'),
    Construct("join of 5 words", 'let z be join(xs, ",")', 'z = ",".join(xs)', "xs", '["a", "b", "c", "d", "e"]', '["a", "b", "c", "d", "e"]'),
    Construct("slice of a list", "let z be slice(xs, 1, 3)", "z = xs[1:3]", "xs", "[1, 2, 3, 4]", "[1, 2, 3, 4]"),
    Construct("text(number)", "let z be text(i)", "z = str(i)"),
    Construct("int(text)", "let z be int(t)", "z = int(t)", "t", '"1234"', '"1234"'),
    Construct("round", "let z be round(x)", "z = round(x)", "x", "2.7", "2.7"),
    Construct("sqrt", "let z be sqrt(x)", "z = sqrt(x)", "x", "2.7", "2.7", "", "from math import sqrt\n"),
    Construct("max of two", "let z be max(x, i)", "z = max(x, i)", "x", "7", "7"),
    Construct("apply over 10", "let z be apply(xs, (x) => x + 1)", "z = [x + 1 for x in xs]", "xs", "range(10)", "list(range(10))"),
    Construct("where over 10", "let z be where(xs, (x) => x > 4)", "z = [x for x in xs if x > 4]", "xs", "range(10)", "list(range(10))"),
    Construct("reduce over 10", "let z be reduce(xs, (a, x) => a + x, 0)", "z = reduce(lambda a, x: a + x, xs, 0)", "xs", "range(10)",
              "list(range(10))", "", "from functools import reduce\n"),
    Construct("sort_by over 10", "let z be sort_by(xs, (x) => 0 - x)", "z = sorted(xs, key=lambda x: 0 - x)", "xs", "range(10)", "list(range(10))"),
    Construct("sort of 10", "let z be sort(xs)", "z = sorted(xs)", "xs", "range(10)", "list(range(10))"),
    Construct("regex_capture", 'let z be regex_capture(t, "([a-z]+)=([0-9]+)")', 'z = re.search("([a-z]+)=([0-9]+)", t).groups()', "t",
              '"key=42"', '"key=42"', "", "import re\n"),
    Construct("json_encode", "let z be json_encode(m)", "z = json.dumps(m)", "m", '{"a": [1, 2], "b": "x"}', '{"a": [1, 2], "b": "x"}', "", "import json\n"),
    Construct("json_decode", "let z be json_decode(t)", "z = json.loads(t)", "t", "'{\"a\": [1, 2], \"b\": \"x\"}'", "'{\"a\": [1, 2], \"b\": \"x\"}'", "",
              "import json\n"),
]  # fmt: skip
TOP_LEVEL = "top level: set total to total + i"


def our_program(construct: Construct, body: str) -> str:
    return f"""{construct.ours_before}
task main({construct.parameters})
    each i in range({COUNT})
        {body}
    give 0
print(main({construct.ours_values}))
"""


def python_program(construct: Construct, body: str) -> Callable[[], object]:
    source = f"""{construct.python_before}
def main({construct.parameters}):
    for i in range({COUNT}):
        {body}
    return 0
def run():
    return main({construct.python_values})
"""
    namespace: dict[str, Any] = {}
    exec(compile(source, construct.name, "exec"), namespace)
    return namespace["run"]


def nanoseconds(construct: Construct, rounds: int) -> tuple[float, float]:
    """What the construct costs once: in our language, in Python."""
    timings = interleaved(
        {
            "ours": load_program(our_program(construct, construct.ours), "construct.lang"),
            "python": python_program(construct, construct.python),
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
    """The table: nanoseconds of each construct in both languages, the difference."""
    rows = []
    for construct in CONSTRUCTS:
        if only in construct.name:
            ours, python = nanoseconds(construct, rounds)
            rows.append([construct.name, f"{ours:.0f}", f"{python:.0f}", f"{ours - python:+.0f}"])
    if only in TOP_LEVEL:
        ours, python = top_level(rounds)
        rows.append([TOP_LEVEL, f"{ours:.0f}", f"{python:.0f}", f"{ours - python:+.0f}"])
    return table(["construct", "ours ns", "Python ns", "difference"], rows)


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
