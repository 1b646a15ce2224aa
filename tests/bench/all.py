"""Runs every benchmark and prints one Markdown report on standard output.

    python tests/bench/all.py [--python PATH]... [--rounds N] [--skip NAME]... [--only NAME]... [--step]

With --python the same is run again under each of these interpreters; each needs the parser's dependencies, the peers are run
where they are installed. --step runs everything once with the smallest load: that each section works, not what it measures.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import agent_figures
import append_scaling
import checking
import compile_speed
import constructs
import effects
import errors
import memory_figures
import models
import platform_load
import runner_figures
import serve
import startup
import stop_figures
import templates
import wasm
import workloads
from engines import ENGINES
from machine import description

SECTIONS: dict[str, tuple[str, Callable[[int], str]]] = {
    "workloads": ("Nine workloads, time relative to hand-written Python", lambda n: nine(n)),
    "records": ("Records: Python with classes and with dicts", workloads.measure_records),
    "startup": ("Whole processes", lambda n: startup.measure(max(n, 15))),
    "compile": ("From text to a runnable program", compile_speed.measure),
    "check": ("Checking, and an editor's diagnostics", checking.measure),
    "append": ("Growing values item by item", append_scaling.measure),
    "errors": ("Raising and catching", errors.measure),
    "constructs": ("Single constructs", constructs.measure),
    "serve": ("Serving", serve.measure),
    "platform": ("The platform service", platform_load.measure),
    "runner": ("The runner", runner_figures.measure),
    "effects": ("Effects, each behind its capability", effects.measure),
    "memory": ("The memory of an agent", memory_figures.measure),
    "models": ("A language model, beside a plain client", models.measure),
    "agents": ("Several agents", agent_figures.measure),
    "stops": ("Stopping a program that waits", stop_figures.measure),
    "templates": ("Pages, beside Jinja2", templates.measure),
    "wasm": ("The web build, beside Pyodide", wasm.measure),
}


def nine(rounds: int) -> str:
    return workloads.measure(workloads.WORKLOADS, list(ENGINES), rounds)


#: The sections with a load of their own beside the rounds, in its smallest form.
STEPS: dict[str, Callable[[], str]] = {
    "models": lambda: models.measure(1, wait=0.1),
    "startup": lambda: startup.measure(1),
    "check": lambda: checking.measure(1, keys=4),
    "serve": lambda: serve.measure(1, seconds=1, count=20),
    "platform": lambda: platform_load.measure(1, seconds=1, streams=20, hostile=1),
    "stops": lambda: stop_figures.measure(1, before=0.1),
    "agents": lambda: agent_figures.measure(1, count=20),
    "memory": lambda: memory_figures.measure(1, entries=200),
    "runner": lambda: runner_figures.measure(1, load_seconds=0.2, together=2, engines=("process",)),
}


def report(rounds: int, chosen: list[str], step: bool) -> None:
    print(f"# Benchmarks: {description()}")
    for name in chosen:
        title, measure = SECTIONS[name]
        table = STEPS[name]() if step and name in STEPS else measure(1 if step else rounds)
        print(f"\n## {title}\n\n{table}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", action="append", default=[], metavar="PATH", help="also run under this interpreter")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--skip", action="append", default=[], choices=list(SECTIONS))
    parser.add_argument("--only", action="append", default=[], choices=list(SECTIONS))
    parser.add_argument("--step", action="store_true", help="each section once, with the smallest load")
    options = parser.parse_args()
    chosen = [name for name in options.only or SECTIONS if name not in options.skip]
    report(options.rounds, chosen, options.step)
    again = [str(Path(__file__).resolve()), "--rounds", str(options.rounds), *(["--step"] if options.step else [])]
    for name in chosen:
        again += ["--only", name]
    failed = 0
    for python in options.python:
        print(flush=True)
        failed |= subprocess.run([python, *again], check=False).returncode
    return failed


if __name__ == "__main__":
    sys.exit(main())
