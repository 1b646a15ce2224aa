"""Whether growing a list item by item stays linear: 100,000 against 200,000 times `set xs to append(xs, i)`.

    python tests/bench/append_scaling.py [--rounds N]

A list that is copied at each append would make the second four times the first, not twice.
"""

from __future__ import annotations

from collections.abc import Callable

from command import measured_alone
from engines import load_program
from timing import interleaved, ratio, table

COUNT = 100_000

# How a program may hold what it grows. `{count}` is the number of rounds.
PROGRAMS = {
    "list in a local": """
task grow(count)
    let xs be []
    each i in range(count)
        set xs to append(xs, i)
    give length(xs)
print(grow({count}))
""",
    "list in a global": """
let xs be []
each i in range({count})
    set xs to append(xs, i)
print(length(xs))
""",
    "list in a parameter": """
task grow(xs, count)
    each i in range(count)
        set xs to append(xs, i)
    give xs
print(length(grow([], {count})))
""",
    "list in a field": """
task grow(count)
    let box be {"xs": []}
    each i in range(count)
        set box.xs to append(box.xs, i)
    give length(box.xs)
print(grow({count}))
""",
    "list in an enclosing task": """
task grower()
    let xs be []
    task add(x)
        set xs to append(xs, x)
    give {"add": add, "size": () => length(xs)}
let g be grower()
each i in range({count})
    g.add(i)
print(g.size())
""",
    "list with +": """
task grow(count)
    let xs be []
    each i in range(count)
        set xs to xs + [i]
    give length(xs)
print(grow({count}))
""",
    "list with insert": """
task grow(count)
    let xs be []
    each i in range(count)
        set xs to insert(xs, i, i)
    give length(xs)
print(grow({count}))
""",
    "text in a local": """
task grow(count)
    let t be ""
    each i in range(count)
        set t to t + "x"
    give length(t)
print(grow({count}))
""",
    "text, three pieces": """
task grow(count)
    let t be ""
    let word be "yz"
    each i in range(count)
        set t to t + word + " "
    give length(t) // 3
print(grow({count}))
""",
    "map in a local": """
task grow(count)
    let m be {}
    each i in range(count)
        set m[i] to i
    give length(m)
print(grow({count}))
""",
    "map with merge": """
task grow(count)
    let m be {}
    each i in range(count)
        set m to merge(m, {text(i): i})
    give length(m)
print(grow({count}))
""",
}


def python_appends(count: int) -> Callable[[], object]:
    def grow() -> int:
        xs = []
        for i in range(count):
            xs.append(i)
        return len(xs)

    return grow


def measure(rounds: int) -> str:
    """The table: milliseconds of both sizes and what doubling costs."""
    competitors: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "Python, list.append": (python_appends(COUNT), python_appends(2 * COUNT))
    }
    for name, source in PROGRAMS.items():
        one, two = (load_program(source.replace("{count}", str(n)), "grow.lang") for n in (COUNT, 2 * COUNT))
        competitors[name] = (one, two)
    rows = []
    for name, (one, two) in competitors.items():
        timings = interleaved({"one": one, "two": two}, rounds)
        for size, count in (("one", COUNT), ("two", 2 * COUNT)):
            if str(timings[size].result) != str(count):
                raise SystemExit(f"{name}: {timings[size].result} items, expected {count}")
        milliseconds = [f"{timings[size].median * 1000:.1f}" for size in ("one", "two")]
        rows.append([name, *milliseconds, f"{ratio(timings['two'], timings['one']):.2f}"])
    return table(["what grows", f"{COUNT:,} ms", f"{2 * COUNT:,} ms", "ratio"], rows)


if __name__ == "__main__":
    measured_alone(__doc__, measure)
