"""The processes below one of this machine, as ``/proc`` shows them."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


def descendants(root: int) -> list[int]:
    """A process and all below it, those above first; empty when it is gone."""
    found: list[int] = []
    pending = [root]
    while pending:
        process = pending.pop()
        if not os.path.exists(f"/proc/{process}"):
            continue
        found.append(process)
        pending += children(process)
    return found


def children(process: int) -> list[int]:
    """The children of all threads of a process."""
    found: list[int] = []
    with suppress(OSError):
        for task in os.listdir(f"/proc/{process}/task"):
            with suppress(OSError), open(f"/proc/{process}/task/{task}/children", encoding="ascii") as listed:
                found += map(int, listed.read().split())
    return found


def second_of_namespace(first: int) -> int | None:
    """The process that has the id 2 in the process namespace of ``first``, which has the id 1 there."""
    for process in children(first):
        with suppress(OSError), open(f"/proc/{process}/status", encoding="utf-8", errors="replace") as status:
            for line in status:
                if line.startswith("NSpid:") and line.split()[-1] == "2":
                    return process
    return None


def memory(processes: list[int]) -> int:
    """Bytes that processes hold in memory; what several of them share is divided among them."""
    total = 0
    for process in processes:
        try:
            with open(f"/proc/{process}/smaps_rollup", encoding="ascii", errors="replace") as rollup:
                total += sum(int(line.split()[1]) * 1024 for line in rollup if line.startswith(("Pss:", "SwapPss:")))
        except OSError:  # another user's; the resident size counts shared pages for each
            with suppress(OSError, IndexError), open(f"/proc/{process}/statm", encoding="ascii") as sizes:
                total += int(sizes.read().split()[1]) * _PAGE
    return total


def cpu_seconds(processes: list[int]) -> float:
    """Processor time of processes, and of their children that have ended."""
    ticks = 0
    for process in processes:
        with suppress(OSError, IndexError), open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as stat:
            ticks += sum(map(int, stat.read().rpartition(")")[2].split()[11:15]))
    return ticks / _TICKS


def send(process: int, number: signal.Signals) -> None:
    """A signal; a process that is gone gets none."""
    with suppress(ProcessLookupError):
        os.kill(process, number)
