"""Timing of competitors side by side.

The machine's speed drifts by more than the differences we look for, so the competitors of a measurement take turns: round by
round each runs once, and a ratio is the median of the ratios within a round. What runs inside this process is measured by the
processor time of the process, which a neighbour on the machine disturbs less than the clock on the wall.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from statistics import median
from time import perf_counter, process_time
from typing import NamedTuple


class Timing(NamedTuple):
    """Seconds of one competitor, one number a round, and what it answered."""

    seconds: list[float]
    result: object

    @property
    def best(self) -> float:
        return min(self.seconds)

    @property
    def median(self) -> float:
        return median(self.seconds)


Clock = Callable[[], float]
PROCESSOR: Clock = process_time
WALL: Clock = perf_counter


def once(run: Callable[[], object], clock: Clock) -> tuple[float, object]:
    """Seconds and result of one call; the garbage of earlier calls is collected before."""
    gc.collect()
    started = clock()
    result = run()
    return clock() - started, result


def interleaved(competitors: dict[str, Callable[[], object]], rounds: int, clock: Clock = PROCESSOR) -> dict[str, Timing]:
    """Runs every competitor once a round, after one round that does not count.

    Whole processes need the ``WALL`` clock. The order turns from round to round, so that nobody always runs behind the same
    neighbour.
    """
    names = list(competitors)
    results = {name: competitors[name]() for name in names}
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for round_ in range(rounds):
        turn = round_ % len(names)
        for name in names[turn:] + names[:turn]:
            elapsed, _ = once(competitors[name], clock)
            seconds[name].append(elapsed)
    return {name: Timing(seconds[name], results[name]) for name in names}


def ratio(timing: Timing, reference: Timing) -> float:
    """How many times the reference's time a competitor took: the median over the rounds."""
    return median(mine / theirs for mine, theirs in zip(timing.seconds, reference.seconds, strict=True))


def table(header: list[str], rows: list[list[str]]) -> str:
    """A Markdown table; the first column is left-aligned, the others right-aligned."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]

    def line(cells: list[str]) -> str:
        padded = [cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(cells, widths, strict=True))]
        return "| " + " | ".join(padded) + " |"

    rule = ["-" * w if i == 0 else "-" * (w - 1) + ":" for i, w in enumerate(widths)]
    return "\n".join([line(header), line(rule), *(line(row) for row in rows)])
