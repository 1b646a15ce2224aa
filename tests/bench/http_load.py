"""Servers as processes of their own, and what clients get out of them in a second."""

from __future__ import annotations

import argparse
import http.client
import os
import re
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import NamedTuple

from engines import REPOSITORY
from timing import table

SERVERS = Path(__file__).resolve().parent / "servers"
CONNECTIONS = 50
NO_WRK = "wrk is not installed: nothing measured (Debian: apt-get install wrk)."


class Load(NamedTuple):
    """What the clients saw."""

    per_second: float
    p99_ms: float
    errors: int


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
        return port


def environment(**more: str) -> dict[str, str]:
    """The variables of a process that imports the packages of this checkout."""
    return {**os.environ, "PYTHONPATH": str(REPOSITORY), **more}


def stop(process: subprocess.Popen[str]) -> None:
    """Ends a process in order, or at once if that takes long."""
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(15)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextmanager
def running(command: list[str], port: int | None, variables: Mapping[str, str] | None = None) -> Iterator[tuple[int, int]]:
    """A server that answers: its port and process.

    Args:
        port: ``None`` where it prints its port.
        variables: more of them.
    """
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment(**(variables or {}))
        )
        assert process.stdout is not None
        try:
            first = process.stdout.readline()
            if not first:
                errors.seek(0)
                raise SystemExit(f"{command}: {errors.read()}")
            number = port or int(first)
            wait_for_answer(number)
            yield number, process.pid
        finally:
            stop(process)
            process.stdout.close()


def wait_for_answer(port: int, seconds: float = 20.0) -> None:
    """Returns with the first answer to ``GET /json``."""
    until = time.monotonic() + seconds
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("GET", "/json")
            if connection.getresponse().status == 200:
                return
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.001)
        finally:
            connection.close()


def load(port: int, seconds: float, path: str = "/json", headers: Sequence[str] = (), connections: int = CONNECTIONS) -> Load:
    """wrk for whole seconds.

    Args:
        headers: lines that each request has beside its own.
    """
    command = ["wrk", "-t2", f"-c{connections}", f"-d{max(1, round(seconds))}s", "--latency"]
    for header in headers:
        command += ["-H", header]
    done = subprocess.run([*command, f"http://127.0.0.1:{port}{path}"], capture_output=True, text=True, check=True).stdout
    rate = re.search(r"Requests/sec:\s+([\d.]+)", done)
    latency = re.search(r"99%\s+([\d.]+)(us|ms|s)", done)
    wrong = re.search(r"Non-2xx or 3xx responses: (\d+)", done)
    broken = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", done)
    if rate is None or latency is None:
        raise SystemExit(f"wrk said {done!r}")
    factor = {"us": 0.001, "ms": 1.0, "s": 1000.0}[latency[2]]
    errors = (int(wrong[1]) if wrong else 0) + (sum(map(int, broken.groups())) if broken else 0)
    return Load(float(rate[1]), float(latency[1]) * factor, errors)


def loads_table(heading: str, taken: Mapping[str, Sequence[Load]], reference: str, shown: str) -> str:
    """A row for each server.

    Args:
        heading: of the column with their names.
        taken: what was measured, round by round; the rounds of all are taken in turns with those of the reference.
        reference: the name of the one that the others are divided by. It may be missing.
        shown: what the reference is called in the heading of its column.
    """
    beside = taken.get(reference)
    rows = []
    for name, loads in taken.items():
        ratio = "-" if beside is None else f"{median(mine.per_second / its.per_second for mine, its in zip(loads, beside)):.2f}"
        rates, latencies = [one.per_second for one in loads], [one.p99_ms for one in loads]
        errors = str(sum(one.errors for one in loads))
        rows.append([name, f"{median(rates):,.0f}", f"{max(rates):,.0f}", f"{median(latencies):.1f}", ratio, errors])
    return table([heading, "median requests/s", "best", "median p99 ms", f"/ {shown}", "errors"], rows)


def processor_seconds(process: int) -> float:
    """What a process has worked so far, in its own code and in the system's."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident(process: int) -> int:
    """Kilobytes of memory that a process really has."""
    for line in Path(f"/proc/{process}/status").read_text(encoding="ascii", errors="replace").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise SystemExit("no VmRSS here")


def rounds_and_seconds(description: str | None, rounds: int = 5) -> argparse.ArgumentParser:
    """The options that every measurement under load has."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--seconds", type=float, default=3.0)
    return parser
