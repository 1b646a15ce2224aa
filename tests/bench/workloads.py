"""Runs nine programs in our language, in Python and in other embeddable languages, and prints how their times compare.

    python tests/bench/workloads.py [--rounds N] [--only NAME]... [--no-peers]

Every cell is time relative to the same algorithm hand-written in Python, run in turns in one process. All must give the same
result, else the run fails. Records are maps in our language and dicts in the Python beside it; a second table puts the two
programs with records beside Python's slotted classes as well.
"""

from __future__ import annotations

import argparse
from math import exp, log

from engines import ENGINES, Run, load
from machine import description
from timing import Timing, interleaved, ratio, table

WORKLOADS = ["fib", "loops", "text", "lists", "maps", "higher_order", "sieve", "n_body", "records"]
# Programs with records, and the same in Python with slotted classes.
WITH_CLASSES = {"n_body": "n_body_classes", "records": "records_classes"}


def canonical(result: object) -> str:
    """The result as text; a whole number is the same whether an engine calls it an integer or a double."""
    text = str(result)
    try:
        value = float(text)
    except ValueError:
        return text
    return repr(int(value)) if value.is_integer() else repr(value)


def check_agreement(name: str, timings: dict[str, Timing]) -> None:
    results = {engine: canonical(timing.result) for engine, timing in timings.items()}
    if len(set(results.values())) > 1:
        raise SystemExit(f"{name}: the results differ: {results}")


def cell(loaded: Run | str, timing: Timing | None, reference: Timing) -> str:
    if timing is None:
        return str(loaded)
    return f"{ratio(timing, reference):.2f}"


def geometric_mean(ratios: list[float]) -> float:
    return exp(sum(map(log, ratios)) / len(ratios))


def measure(names: list[str], engines: list[str], rounds: int) -> str:
    """The table of the given workloads, one row each, and a row of geometric means."""
    rows: list[list[str]] = []
    ratios: dict[str, list[float]] = {engine: [] for engine in engines}
    for name in names:
        loaded = {engine: load(engine, name) for engine in engines}
        timings = interleaved({engine: run for engine, run in loaded.items() if not isinstance(run, str)}, rounds)
        check_agreement(name, timings)
        reference = timings["python"]
        for engine, timing in timings.items():
            ratios[engine].append(ratio(timing, reference))
        others = [engine for engine in engines if engine != "python"]
        cells = [cell(loaded[engine], timings.get(engine), reference) for engine in others]
        rows.append([name, f"{reference.median * 1000:.0f}", *cells])
    means = []
    for engine in engines:
        if engine == "python":
            continue
        of = "" if len(ratios[engine]) == len(names) else f" (of {len(ratios[engine])})"
        means.append(f"{geometric_mean(ratios[engine]):.2f}{of}" if ratios[engine] else "-")
    rows.append(["geometric mean", "", *means])
    return table(["workload", "Python ms", *(f"{engine} / Python" for engine in engines if engine != "python")], rows)


def measure_records(rounds: int) -> str:
    """The table of the programs with records: how much of their ratio is the record, how much the compiler."""
    rows = []
    for name, twin in WITH_CLASSES.items():
        runs = {"ours": load("ours", name), "dicts": load("python", name), "classes": load("python", twin)}
        missing = [run for run in runs.values() if isinstance(run, str)]
        if missing:
            rows.append([name, *missing[:1], "", ""])
            continue
        timings = interleaved({engine: run for engine, run in runs.items() if not isinstance(run, str)}, rounds)
        check_agreement(name, timings)
        pairs = [("ours", "dicts"), ("ours", "classes"), ("dicts", "classes")]
        rows.append([name, *(f"{ratio(timings[a], timings[b]):.2f}" for a, b in pairs)])
    return table(["workload", "ours / dicts", "ours / classes", "dicts / classes"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7, help="timed rounds for each workload")
    parser.add_argument("--only", action="append", choices=WORKLOADS, help="only this workload; may be repeated")
    parser.add_argument("--no-peers", action="store_true", help="only our language and Python")
    options = parser.parse_args()
    engines = ["ours", "python"] if options.no_peers else list(ENGINES)
    print(description())
    print()
    print(measure(options.only or WORKLOADS, engines, options.rounds))
    if not options.only:
        print()
        print(measure_records(options.rounds))


if __name__ == "__main__":
    main()
