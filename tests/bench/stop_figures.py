"""How soon a program is over that is stopped while it waits: for a model, a signal, an agent, workers, a process, a request, a
database.

    python tests/bench/stop_figures.py [--rounds N]

The clock on the wall, from the moment in which the time of the task is over until the program goes on.
"""

from __future__ import annotations

import argparse
import sys
from statistics import median

from engines import REPOSITORY
from machine import description
from timing import table

sys.path.insert(0, str(REPOSITORY))

GOAL = 100


def measure(rounds: int, before: float = 0.5) -> str:
    """The table: milliseconds of each stop, which comes ``before`` seconds after the task began."""
    from tests.agents.stopped_waits import WAITS, stopped

    rows = []
    for name in WAITS:
        found = []
        with stopped(name, before) as program:
            for _ in range(rounds + 1):
                answer = program.run()
                if not answer["ok"]:
                    raise SystemExit(answer["errors"][0])
                found.append((float(answer["output"][-1]) - before) * 1000)
        late = found[1:]  # the first run loads what it uses
        rows.append([name, f"{median(late):.0f}", f"{max(late):.0f}", str(GOAL)])
    return table(["waits for", "median ms", "longest ms", "goal"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    print(description())
    print()
    print(measure(options.rounds))


if __name__ == "__main__":
    main()
