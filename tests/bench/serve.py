"""Requests a second of `lang serve` against Go's net/http, Node's http and FastAPI on uvicorn; what pending human gates cost;
how soon a program answers.

python tests/bench/serve.py [--rounds N] [--seconds S] [--gates N]

Needs `wrk`. Servers are measured where their language is installed; Go's is the reference. Client and server share the machine:
compare the ratios of one run, which are taken in turns.
"""

from __future__ import annotations

import http.client
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from http_load import (
    NO_WRK,
    SERVERS,
    Load,
    environment,
    free_port,
    load,
    loads_table,
    resident,
    rounds_and_seconds,
    running,
    stop,
    wait_for_answer,
)
from machine import description
from timing import table

#: At least this part of Go's requests a second.
THROUGHPUT_GOAL = 0.7
#: At least this part of the short requests while gates wait, at most this many kilobytes each.
KEPT_GOAL = 0.85
GATE_KILOBYTES_GOAL = 60
#: Milliseconds from the start of the process to the first answer.
START_GOAL = 150


def lang(*words: str, port: int) -> list[str]:
    command = [sys.executable, "-m", "language", "serve", str(SERVERS / "routes.lang")]
    return [*command, "--bind", "127.0.0.1", "--port", str(port), *words]


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
        variables = environment(GO111MODULE="off", GOCACHE=str(folder / "go-cache"), GOFLAGS="")
        subprocess.run(["go", "build", "-o", str(binary), str(SERVERS / "json.go")], check=True, env=variables)
        found["Go net/http"] = lambda: ([str(binary)], None)
    found["lang serve"] = ours()
    found["lang serve --workers 2"] = ours("--workers", "2")
    if shutil.which("node"):
        found["Node http"] = lambda: (["node", str(SERVERS / "json.js")], None)
    if subprocess.run([sys.executable, "-c", "import fastapi, uvicorn"], capture_output=True, check=False).returncode == 0:
        found["FastAPI on uvicorn"] = lambda: ([sys.executable, str(SERVERS / "json_fastapi.py")], None)
    return found


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
    goal = f"Goal: at least {THROUGHPUT_GOAL} of Go with one process."
    return f"{loads_table('server', loads, 'Go net/http', 'Go')}\n\n{goal}"


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
                sock.sendall(b"GET /gate HTTP/1.1\r\nHost: localhost\r\n\r\n")
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


def starting(rounds: int) -> str:
    """From the start of the process to the first answer, the program compiled before."""
    times = []
    for round_ in range(rounds + 1):
        port = free_port()
        command = lang(port=port)
        started = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment(), text=True)
        try:
            wait_for_answer(port)
            if round_:
                times.append((time.perf_counter() - started) * 1000)
        finally:
            stop(process)
    row = ["lang serve", f"{min(times):.0f}", f"{median(times):.0f}"]
    return table(["to the first answer", "best ms", "median ms"], [row]) + f"\n\nGoal: at most {START_GOAL} ms."


def measure(rounds: int, seconds: float = 3.0, count: int = 2000) -> str:
    """All three tables."""
    if shutil.which("wrk") is None:
        return NO_WRK
    parts = [
        throughput(rounds, seconds),
        gates(count, min(rounds, 3), seconds),
        starting(rounds if rounds == 1 else max(rounds, 5)),
    ]
    return "\n\n".join(parts)


def main() -> int:
    parser = rounds_and_seconds(__doc__)
    parser.add_argument("--gates", type=int, default=2000)
    options = parser.parse_args()
    print(f"{description()}\n\n{measure(options.rounds, options.seconds, options.gates)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
