"""What agents cost: starting one, a signal, and the end of waits that nobody can end.

    python tests/bench/agent_figures.py [--rounds N]

Starting and signalling are processor time of the whole process; the end of a mutual wait and a stop are the clock on the wall.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

from command import measured_alone
from timing import PROCESSOR, WALL, Clock, once, table

import language

SPAWNS = """
agent Works
    give 1
each i in range({count})
    spawn Works
    agent_wait("Works_" + text(i))
"""
QUEUED = """
each i in range({count} / 5000)
    each j in range(5000)
        signal "c" with j
    each j in range(5000)
        wait_for "c" timeout 1 as got
"""
HANDED = """
agent Takes
    each i in range({count})
        wait_for "ask" timeout 60 as got
        signal "answer" with got
spawn Takes
each i in range({count})
    signal "ask" with i
    wait_for "answer" timeout 60 as got
"""
MUTUAL = """
agent First
    wait_for "second" timeout 3600
agent Second
    wait_for "first" timeout 3600
spawn First
spawn Second
wait_for "third" timeout 3600
"""
STOPPED = """
agent Sleeps
    signal "begun"
    sleep(3000)
spawn Sleeps
wait_for "begun"
agent_stop("Sleeps_0")
agent_wait("Sleeps_0")
"""


class _Quiet(language.NativeHost):
    def write_error_line(self, line: str) -> None:
        return


def _program(source: str, count: int) -> Callable[[], object]:
    program = language.Program(source.replace("{count}", str(count)), host=_Quiet())

    def run() -> object:
        result = program.run()
        if not result["ok"]:
            raise SystemExit(result["errors"][0])
        return result

    return run


def measure(rounds: int, count: int = 10_000) -> str:
    """The table: milliseconds of each act, less those of an empty program."""
    acts: list[tuple[str, str, int, Clock, str]] = [
        ("an agent from its start to its end", SPAWNS, max(1, count // 20), PROCESSOR, "1"),
        ("a signal sent and taken, queued", QUEUED, max(5000, count), PROCESSOR, "0.01"),
        ("a signal to an agent and one back", HANDED, max(1, count // 10), PROCESSOR, "-"),
        ("three waits that nobody can end", MUTUAL, 1, WALL, "100"),
        ("an agent that sleeps, stopped", STOPPED, 1, WALL, "100"),
    ]
    rows = []
    for name, source, times, clock, goal in acts:
        empty, run = _program("", 0), _program(source, times)
        empty(), run()
        seconds = median(once(run, clock)[0] - once(empty, clock)[0] for _ in range(rounds))
        rows.append([name, f"{seconds * 1000 / times:.4f}", goal])
    return table(["act", "ms", "goal"], rows)


if __name__ == "__main__":
    measured_alone(__doc__, measure)
