"""Requests a second of `lang serve` against Go's net/http, Node's http and FastAPI on uvicorn; what pending human gates cost;
how soon a program answers.

python tests/bench/serve.py [--rounds N] [--seconds S] [--gates N]

Needs `wrk`. Servers are measured where their language is installed; Go's is the reference. Client and server share the machine:
compare the ratios of one run, which are taken in turns.
"""

from __future__ import annotations

import argparse
import http.client
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import NamedTuple

from engines import REPOSITORY
from machine import description
from timing import table

SERVERS = Path(__file__).resolve().parent / "servers"
CONNECTIONS = 50
#: At least this part of Go's requests a second.
THROUGHPUT_GOAL = 0.7
#: At least this part of the short requests while gates wait, at most this many kilobytes each.
KEPT_GOAL = 0.85
GATE_KILOBYTES_GOAL = 60
#: Milliseconds from the start of the process to the first answer.
START_GOAL = 150


class Load(NamedTuple):
    """What wrk saw."""

    per_second: float
    p99_ms: float
    errors: int


def lang(*words: str, port: int) -> list[str]:
    command = [sys.executable, "-m", "language", "serve", str(SERVERS / "routes.lang")]
    return [*command, "--bind", "127.0.0.1", "--port", str(port), *words]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
        return port


def competitors(folder: Path) -> dict[str, Callable[[], tuple[list[str], int | None]]]:
    """What can be measured here: name → its command, and its port where it does not print it."""
    found: dict[str, Callable[[], tuple[list[str], int | None]]] = {}

    def ours(*words: str) -> Callable[[], tuple[list[str], int | None]]:
        def command() -> tuple[list[str], int | None]:
            port = free_port()
            return lang(*words, port=port), port

        return command

    if shutil.which("go"):
        binary = folder / "json-go"
        environment = {**os.environ, "GO111MODULE": "off", "GOCACHE": str(folder / "go-cache"), "GOFLAGS": ""}
        subprocess.run(["go", "build", "-o", str(binary), str(SERVERS / "json.go")], check=True, env=environment)
        found["Go net/http"] = lambda: ([str(binary)], None)
    found["lang serve"] = ours()
    found["lang serve --workers 2"] = ours("--workers", "2")
    if shutil.which("node"):
        found["Node http"] = lambda: (["node", str(SERVERS / "json.js")], None)
    if subprocess.run([sys.executable, "-c", "import fastapi, uvicorn"], capture_output=True, check=False).returncode == 0:
        found["FastAPI on uvicorn"] = lambda: ([sys.executable, str(SERVERS / "json_fastapi.py")], None)
    return found


@contextmanager
def running(command: list[str], port: int | None, environment: dict[str, str] | None = None) -> Iterator[tuple[int, int]]:
    """A server that answers: its port and process."""
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env={**os.environ, "PYTHONPATH": str(REPOSITORY), **(environment or {})},
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
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
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


def throughput(rounds: int, seconds: float) -> str:
    with tempfile.TemporaryDirectory() as folder:
        commands = competitors(Path(folder))
        names = list(commands)
        loads: dict[str, list[Load]] = {name: [] for name in names}
        for round_ in range(rounds):
            turn = round_ % len(names)
            for name in names[turn:] + names[:turn]:
                with running(*commands[name]()) as (port, _):
                    load(port, 1)
                    loads[name].append(load(port, seconds))
    reference = loads.get("Go net/http")
    rows = []
    for name, taken in loads.items():
        ratio = "-" if reference is None else f"{median(m.per_second / g.per_second for m, g in zip(taken, reference)):.2f}"
        rates, latencies = [one.per_second for one in taken], [one.p99_ms for one in taken]
        errors = sum(one.errors for one in taken)
        rows.append([name, f"{median(rates):,.0f}", f"{max(rates):,.0f}", f"{median(latencies):.1f}", ratio, str(errors)])
    header = ["server", "median requests/s", "best", "median p99 ms", "/ Go", "errors"]
    return table(header, rows) + f"\n\nGoal: at least {THROUGHPUT_GOAL} of Go with one process."


def gates(count: int, rounds: int, seconds: float) -> str:
    """Short requests while ``count`` human gates wait, each holding a thread."""
    port = free_port()
    kept: list[float] = []
    with running(lang(port=port), port, {"PLATFORM_HUMAN_TIMEOUT": "600", "PLATFORM_SHUTDOWN_GRACE": "0"}) as (_, process):
        load(port, 1)
        with ExitStack() as stack:
            alone = [load(port, seconds).per_second for _ in range(rounds)]
            before = resident(process)
            for _ in range(count):
                sock = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
                sock.sendall(b"GET /gate HTTP/1.1\r\nHost: x\r\n\r\n")
            until = time.monotonic() + 60
            while pending(port) < count:
                if time.monotonic() > until:
                    raise SystemExit(f"only {pending(port)} gates wait")
                time.sleep(0.1)
            kilobytes = (resident(process) - before) / count
            kept = [load(port, seconds).per_second for _ in range(rounds)]
        share = median(kept) / median(alone)
    header = ["pending gates", "requests/s alone", "with them", "kept", "KB each"]
    row = [str(count), f"{median(alone):,.0f}", f"{median(kept):,.0f}", f"{share:.2f}", f"{kilobytes:.0f}"]
    goal = f"\n\nGoal: at least {KEPT_GOAL} kept, at most {GATE_KILOBYTES_GOAL} KB each."
    return table(header, [row]) + goal


def pending(port: int) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", "/approvals")
    body = connection.getresponse().read()
    connection.close()
    return body.count(b'"id"')


def resident(process: int) -> int:
    """Kilobytes of memory that a process really has."""
    for line in Path(f"/proc/{process}/status").read_text(encoding="ascii", errors="replace").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise SystemExit("no VmRSS here")


def starting(rounds: int) -> str:
    """From the start of the process to the first answer, the program compiled before."""
    times = []
    for round_ in range(rounds + 1):
        port = free_port()
        command = lang(port=port)
        started = time.perf_counter()
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": str(REPOSITORY)}
        )
        try:
            wait_for_answer(port)
            if round_:
                times.append((time.perf_counter() - started) * 1000)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(15)
    row = ["lang serve", f"{min(times):.0f}", f"{median(times):.0f}"]
    return table(["to the first answer", "best ms", "median ms"], [row]) + f"\n\nGoal: at most {START_GOAL} ms."


def measure(rounds: int, seconds: float = 3.0, count: int = 2000) -> str:
    """All three tables."""
    if shutil.which("wrk") is None:
        return "wrk is not installed: nothing measured (Debian: apt-get install wrk)."
    parts = [
        throughput(rounds, seconds),
        gates(count, min(rounds, 3), seconds),
        starting(rounds if rounds == 1 else max(rounds, 5)),
    ]
    return "\n\n".join(parts)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--gates", type=int, default=2000)
    options = parser.parse_args()
    print(f"{description()}\n\n{measure(options.rounds, options.seconds, options.gates)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
