"""How long a program takes from text to something that can run, in milliseconds, with nothing cached.

    python tests/bench/compile_speed.py [--rounds N] [--print-program]

The programs are a generated one of 1,000 lines, in which every construct of ordinary programs comes back at an ordinary rate,
and the real examples.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from engines import REPOSITORY
from machine import description
from timing import interleaved, table

EXAMPLES = REPOSITORY / "examples"
LINES = 1000

# One unit of the generated program; {n} is its number.
UNIT = """\
-- Orders of region {n}: what came in, what went out, what is owed.
type Order{n}
    id: number
    customer: text
    items: list
    paid: bool

enum State{n}
    fresh
    packed(weight)
    sent(carrier, tracking)
    failed(why)

let RATE_{n} be 0.{n}1d
let limits{n} be {{"low": {n}, "high": {n} * 100 + 7, "names": ["north", "south", 'region {n}']}}

task total{n}(order, discount = 0d)
    let sum be 0.00d
    each item in order.items
        when item.count <= 0 or not is_integer(item.count)
            raise `order {{order.id}}: count {{item.count}} of {{item.name}} makes no sense`
        otherwise when item.name in limits{n}
            set sum to sum + item.price * item.count * (1 - RATE_{n})
        otherwise
            set sum to sum + item.price * item.count
    give round_to(sum * (1 - discount), 2)

task describe{n}(state)
    match state
        is State{n}.fresh
            give "waiting"
        is State{n}.packed(weight) when weight > {n} * 2.5
            give "heavy parcel of " + weight + " kg"
        is State{n}.sent(carrier, _)
            give `with {{upper(carrier)}}`
        is {{why}}
            give "failed: " + why
        otherwise
            give "unknown"

task summary{n}(orders)
    let by_customer be {{}}
    let failed be 0
    each order in orders
        try
            let amount be total{n}(order, discount = when order.paid then 0.02d otherwise 0d)
            set by_customer[order.customer] to get(by_customer, order.customer, 0d) + amount
        recover problem
            set failed to failed + 1
            log problem
    let rows be apply(keys(by_customer), (name) => {{"name": name, "amount": by_customer[name]}})
        -- the best customers first
    let top be sort_by(rows, (row) => row.amount, desc = true) |> slice(0, 3)
    let i be 0
    while i < length(top) and top[i].amount > limits{n}.low
        set top[i].rank to i + 1
        set i to i + 1
    let mean be when rows == [] then nothing otherwise sum(collect(rows, "amount")) / length(rows)
    give {{"top": top, "failed": failed, "mean": mean}}

test "region {n}"
    let order be Order{n}({n}, "Ana", [{{"name": "cup", "price": 2.50d, "count": 4}}], true)
    assert_eq(text(total{n}(order)), "10.00")
    assert_eq(describe{n}(State{n}.packed({n} * 3)), `heavy parcel of {{{n} * 3}} kg`)
    assert_error(() => total{n}(merge(order, {{"items": [{{"name": "x", "price": 1d, "count": -1}}]}})))

"""


def generated_program(lines: int = LINES) -> str:
    """A program of about so many lines, the same every time."""
    text = ""
    number = 0
    while text.count("\n") < lines:
        number += 1
        text += UNIT.format(n=number)
    return "".join(line + "\n" for line in text.split("\n")[:-1])


def compiler() -> dict[str, Callable[[str], object]]:
    """The stages of the front end, each from the source text."""
    if str(REPOSITORY) not in sys.path:
        sys.path.insert(0, str(REPOSITORY))
    from language.compiler.compilation import compile_source
    from language.syntax.parser import parse

    return {
        "parse": lambda source: parse(source, "program.lang"),
        "whole": lambda source: compile_source(source, "program.lang"),
    }


def programs() -> dict[str, str]:
    sources = {f"generated, {LINES:,} lines": generated_program()}
    for path in sorted(EXAMPLES.rglob("*.lang"), key=lambda path: -path.stat().st_size)[:4]:
        source = path.read_text(encoding="utf-8")
        sources[f"{path.relative_to(EXAMPLES).as_posix()}, {source.count(chr(10))} lines"] = source
    return sources


def measure(rounds: int) -> str:
    """The table: milliseconds to parse, and to parse and compile."""
    stages = compiler()
    rows = []
    for name, source in programs().items():
        count = source.count("\n")
        timings = interleaved(
            {stage: lambda run=run, source=source: run(source) for stage, run in stages.items()},  # type: ignore[misc]
            rounds,
        )
        parse, whole = timings["parse"].median * 1000, timings["whole"].median * 1000
        rows.append([name, f"{parse:.1f}", f"{whole:.1f}", f"{whole * 1000 / count:.1f}"])
    return table(["program", "parse ms", "parse + compile ms", "ms per 1,000 lines"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--print-program", type=Path, help="write the generated program to this file and stop")
    options = parser.parse_args()
    if options.print_program:
        options.print_program.write_text(generated_program(), encoding="utf-8")
        return
    print(description())
    print()
    print(measure(options.rounds))


if __name__ == "__main__":
    main()
