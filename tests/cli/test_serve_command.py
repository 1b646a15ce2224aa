"""``lang serve`` as a user starts it: what it says, what its flags do, how it ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

PROGRAM = """
require serve({port})
serve on {port}
    route "GET /json"
        give {{"id": 1}}
    route "GET /sleep"
        sleep(number(request.query.s))
        give "slept"
    route "GET /gate"
        give approve "go?"
    route "GET /pid"
        give state_incr("requests")
    route "GET /fail"
        give 1 / 0
    route "GET /who"
        give request.ip
    route "GET /stream"
        stream
            send {{"n": 1}}
            while true
                sleep(0.05)
print("top level done")
"""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


WITHOUT = """
import os, select, sys
for name in [name for name in dir(select) if "epoll" in name.lower()]:
    delattr(select, name)
del os.pipe2
{more}
from language.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def test_a_system_without_epoll_serves(tmp_path: Path) -> None:
    """As on macOS and BSD."""
    program = tmp_path / "a.lang"
    program.write_text(
        'require serve(8080)\nserve on 8080\n    route "POST /a"\n        give {"length": length(request.body)}\n'
    )
    for processes in ("1", "2"):
        port = free_port()
        words = [
            sys.executable,
            "-c",
            WITHOUT.format(more=""),
            "serve",
            str(program),
            "--bind",
            "127.0.0.1",
            "--port",
            str(port),
        ]
        environment = {**os.environ, "PLATFORM_SERVE_PROCESSES": processes, "TMPDIR": str(tmp_path)}
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        try:
            assert process.stdout is not None and process.stderr is not None
            assert process.stdout.readline().startswith("Serving HTTP on port")
            for size in (5, 900_000):
                reply = httpx.post(f"http://127.0.0.1:{port}/a", content=b"x" * size, timeout=20)
                assert reply.json() == {"length": size}
            process.terminate()
            assert process.wait(20) == 0
            assert process.stderr.read().endswith("[serve] stopped\n")
        finally:
            process.kill()
            process.communicate()


def test_a_system_without_poll_is_named() -> None:
    """As on Windows."""
    words = [sys.executable, "-c", WITHOUT.format(more="del select.poll"), "serve", "a.lang"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "lang serve: the server needs a system with poll(2), such as Linux, macOS or BSD\n"


class Service:
    """A running ``lang serve``."""

    def __init__(self, process: subprocess.Popen[str], port: int, folder: Path) -> None:
        self.process = process
        self.port = port
        self._folder = folder
        self.urls: list[str] = []
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=20)

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self.client.get(path, **options)

    def line(self) -> str:
        """The next line on standard output, addresses that a browser opens left out."""
        assert self.process.stdout is not None
        while (line := self.process.stdout.readline().rstrip("\n")).startswith(("http://", "https://")):
            self.urls.append(line)
        return line

    @property
    def err(self) -> str:
        return (self._folder / "stderr").read_text()

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def ends(self, seconds: float = 20) -> int:
        return self.process.wait(seconds)

    def wait_for(self, condition: Callable[[], bool], seconds: float = 10) -> bool:
        until = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > until:
                return False
            time.sleep(0.05)
        return True


Start = Callable[..., Service]


@pytest.fixture
def serve(tmp_path: Path, environment: dict[str, str]) -> Iterator[Start]:
    """Starts a program (by default the one above) and waits until it listens."""
    started: list[Service] = []

    def start(
        *words: str,
        source: str = PROGRAM,
        env: dict[str, str] | None = None,
        listens: bool = True,
        bind: tuple[str, ...] = ("--bind", "127.0.0.1"),
    ) -> Service:
        port = free_port()
        (tmp_path / "app.lang").write_text(source.format(port=port), encoding="utf-8")
        with (tmp_path / "stderr").open("w") as errors:
            process = subprocess.Popen(
                [sys.executable, "-m", "language", "serve", "app.lang", *bind, *words],
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                cwd=tmp_path,
                env={**environment, **(env or {})},
            )
        service = Service(process, port, tmp_path)
        started.append(service)
        if listens:
            line = service.line()
            assert line == f"Serving HTTP on port {port} (7 route(s))", service.err
        return service

    yield start
    for service in started:
        service.client.close()
        if service.process.poll() is None:
            service.process.kill()
            service.process.wait(10)
        assert service.process.stdout is not None
        service.process.stdout.close()


def test_it_says_where_it_serves_and_the_top_level_goes_on(serve: Start) -> None:
    service = serve()
    assert service.line() == "top level done"
    assert service.get("/json").json() == {"id": 1}
    service.signal(signal.SIGTERM)
    assert service.ends() == 0
    assert service.err == (
        "[serve] shutting down: draining 0 in-flight request(s), grace 10s (PLATFORM_SHUTDOWN_GRACE)\n[serve] stopped\n"
    )


def begun(service: Service, path: str, seconds: float = 10) -> socket.socket:
    sock = socket.create_connection(("127.0.0.1", service.port), timeout=seconds)
    sock.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    return sock


def rest(sock: socket.socket) -> bytes:
    received = b""
    try:
        while more := sock.recv(65536):
            received += more
    except ConnectionResetError:
        received += b"<reset>"
    return received


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_requests_in_flight_may_finish_and_new_ones_are_told(serve: Start, number: int) -> None:
    service = serve()
    with begun(service, "/sleep?s=1.5") as busy, begun(service, "/json") as idle:
        idle.recv(1000)
        time.sleep(0.3)
        service.signal(number)
        assert service.wait_for(lambda: "shutting down" in service.err)
        idle.sendall(b"GET /json HTTP/1.1\r\nHost: localhost\r\n\r\n")
        refused = rest(idle)
        assert refused.startswith(b"HTTP/1.1 503 ") and b"Retry-After: 2\r\n" in refused
        assert b'"error": "server shutting down"' in refused
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", service.port), timeout=5)
        assert rest(busy).endswith(b'"slept"')
    assert service.ends() == 0
    assert "draining 1 in-flight request(s)" in service.err


def test_after_the_grace_what_still_runs_is_cancelled(serve: Start) -> None:
    service = serve(env={"PLATFORM_SHUTDOWN_GRACE": "0.5"})
    with begun(service, "/sleep?s=60") as busy, begun(service, "/stream") as stream:
        stream.recv(1000)
        service.wait_for(lambda: False, 0.3)
        service.signal(signal.SIGTERM)
        started = time.monotonic()
        assert rest(busy).startswith(b"HTTP/1.1 503 ")
        assert rest(stream).endswith(b'event: error\ndata: {"error": "cancelled: server shutting down"}\n\n')
        assert service.ends() == 0
        assert time.monotonic() - started < 30
    assert "grace 0.5s" in service.err and service.err.endswith("[serve] stopped\n")


def test_a_gate_is_denied_before_the_grace_is_over(serve: Start) -> None:
    service = serve(env={"PLATFORM_SHUTDOWN_GRACE": "1"})
    with begun(service, "/gate") as waiting:
        assert service.wait_for(lambda: "approval pending" in service.err)
        service.signal(signal.SIGTERM)
        assert rest(waiting).endswith(b"false")
    assert service.ends() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_it_at_once(serve: Start, number: int) -> None:
    service = serve()
    with begun(service, "/sleep?s=60"):
        time.sleep(0.3)
        service.signal(number)
        assert service.wait_for(lambda: "shutting down" in service.err)
        service.signal(number)
        assert service.ends(5) == 130


def test_a_signal_while_the_top_level_runs(serve: Start) -> None:
    service = serve(source=PROGRAM + "\nwhile true\n    sleep(0.1)\n")
    assert service.get("/json").status_code == 200
    service.signal(signal.SIGTERM)
    assert service.ends() == 0
    assert service.err.endswith("[serve] stopped\n")


def test_flags_go_before_clauses(serve: Start) -> None:
    port = free_port()
    service = serve("--port", str(port), "--health", "/up", source=PROGRAM.replace("require serve({port})", ""), listens=False)
    assert service.line() == f"Serving HTTP on port {port} (7 route(s))"
    assert httpx.get(f"http://127.0.0.1:{port}/json").json() == {"id": 1}
    assert httpx.get(f"http://127.0.0.1:{port}/up").status_code == 200


def test_errors_are_told_or_not(serve: Start) -> None:
    hidden: list[tuple[tuple[str, ...], dict[str, str]]] = [
        ((), {}),
        ((), {"PLATFORM_DEV": "0"}),
        (("--secure",), {"PLATFORM_DEV": "1"}),
        ((), {"PLATFORM_ERROR_DETAIL": "off", "PLATFORM_DEV": "1"}),
    ]
    for env in ({"PLATFORM_DEV": "1"}, {"PLATFORM_ERROR_DETAIL": "on"}):
        assert "app.lang:" in serve(env=env).get("/fail").json()["error"]
    for words, env in hidden:
        service = serve(*words, env=env)
        assert service.get("/fail").json() == {"error": "internal server error", "status": 500}
        assert "app.lang:" in service.err
    service = serve(env={"PLATFORM_ERROR_DETAIL": "never"})
    assert service.get("/fail").json()["error"] == "internal server error"
    assert "lang: warning: PLATFORM_ERROR_DETAIL must be on or off, got 'never': using off\n" in service.err


def test_trusted_proxies(serve: Start) -> None:
    headers = {"X-Forwarded-For": "203.0.113.9"}
    assert serve().get("/who", headers=headers).json() == "127.0.0.1"
    assert serve("--trust-proxy", "127.0.0.0/8").get("/who", headers=headers).json() == "203.0.113.9"
    assert serve(env={"PLATFORM_TRUST_PROXY": "127.0.0.1"}).get("/who", headers=headers).json() == "203.0.113.9"


def test_a_ceiling_holds_for_everything(serve: Start) -> None:
    service = serve("--sandbox", source=PROGRAM + 'require file.read("/*")\nprint(read_file("/etc/hostname"))\n')
    assert service.ends() == 1
    assert "Capability not granted" in service.err
    service = serve("--cap-set", "stdout", listens=False)
    assert service.ends() == 1
    assert f'Capability not granted: serve("{service.port}")' in service.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--port", "0"], "--port must be a number from 1 to 65535, got '0'"),
        (["--port", "x"], "--port must be a number from 1 to 65535, got 'x'"),
        (["--workers", "none"], "--workers must be a number from 1 to 256"),
        (["--trust-proxy", "here"], "--trust-proxy: 'here' is neither an address nor a network"),
        (["--learn"], "unknown flag '--learn'"),
        (["--gates", "queue"], "unknown flag '--gates'"),
        (["--tls-cert", "c"], "--tls-cert and --tls-key come together"),
        (["other.lang"], "one program only, got 'other.lang' too"),
        (["--sandbox", "--cap-set", "stdout"], "--sandbox and --cap-set are mutually exclusive"),
    ],
)
def test_wrong_calls(serve: Start, words: list[str], said: str) -> None:
    service = serve(*words, listens=False)
    assert service.ends() == 2
    assert service.err.startswith(f"lang serve: {said}"), service.err


def test_a_port_that_is_taken(serve: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        service = serve("--port", str(port), listens=False)
        assert service.ends() == 1
        assert f"could not start server on 127.0.0.1:{port}: Address already in use" in service.err


def test_an_address_that_the_machine_has_not(serve: Start) -> None:
    service = serve(bind=("--bind", "203.0.113.5"), listens=False)
    assert service.ends() == 1
    assert "help: this machine has no address `203.0.113.5`: " in service.err
    assert "stop the program" not in service.err


def test_two_blocks(serve: Start) -> None:
    held = socket.create_server(("127.0.0.1", 0))  # else the other port may be the same
    second = int(held.getsockname()[1])
    source = PROGRAM + f'require serve({second})\nserve on {second}\n    route "GET /b"\n        give "b"\n'
    service = serve(
        source="sleep(0.5)\n" + source.replace("\n    route", '\n    bind "127.0.0.1"\n    route', 1), listens=False, bind=()
    )
    held.close()
    assert service.line() == f"Serving HTTP on port {service.port} (7 route(s))"
    assert service.line() == "top level done"
    assert service.line() == f"Serving HTTP on port {second} (1 route(s))"
    assert httpx.get(f"http://127.0.0.1:{second}/b").json() == "b"
    assert service.get("/json").json() == {"id": 1}
    service.signal(signal.SIGTERM)
    assert service.ends() == 0
    service = serve("--port", str(free_port()), source=source, listens=False)
    assert service.ends() == 1
    assert "single serve block" in service.err


def test_without_a_block_it_runs_and_ends(serve: Start) -> None:
    service = serve(source='print("only this")\n', listens=False)
    assert service.line() == "only this"
    assert service.ends() == 0


def test_without_a_block_it_stays_while_there_are_jobs(serve: Start) -> None:
    source = 'task tick()\n    print("tick")\ncron_every(0.2, tick)\n'
    service = serve(source=source, listens=False)
    assert service.line() == "Serving 1 cron job(s). Press Ctrl+C to stop."
    assert "tick" in service.line()
    service.signal(signal.SIGINT)
    assert service.ends() == 0


def test_an_error_after_the_block_ends_the_service(serve: Start) -> None:
    service = serve(source=PROGRAM + 'raise "boom"\n')
    assert service.ends() == 1
    assert "boom" in service.err


# ---- several processes -------------------------------------------------------------------------------------------------


def children(process: int) -> list[int]:
    path = Path(f"/proc/{process}/task/{process}/children")
    return [int(word) for word in path.read_text().split()] if path.exists() else []


def test_processes_share_the_port_and_the_state(serve: Start) -> None:
    service = serve("--workers", "2")
    assert service.line() == "top level done"
    seen = []
    for _ in range(20):
        with httpx.Client() as client:
            seen.append(client.get(f"http://127.0.0.1:{service.port}/pid").json())
    assert seen == list(range(1, 21))
    [keeper] = children(service.process.pid)
    assert len(children(keeper)) == 2
    with begun(service, "/sleep?s=1") as busy:
        time.sleep(0.3)
        service.signal(signal.SIGTERM)
        assert rest(busy).endswith(b'"slept"')
    assert service.ends() == 0
    assert service.err == (
        "[serve] shutting down: draining 1 in-flight request(s), grace 10s (PLATFORM_SHUTDOWN_GRACE)\n[serve] stopped\n"
    )


def test_a_process_that_dies_is_replaced(serve: Start) -> None:
    service = serve(env={"PLATFORM_SERVE_PROCESSES": "2"})
    [keeper] = children(service.process.pid)
    assert service.wait_for(lambda: len(children(keeper)) == 2)
    first = children(keeper)[0]
    os.kill(first, signal.SIGKILL)
    assert service.wait_for(lambda: len(children(keeper)) == 2 and first not in children(keeper))
    assert httpx.get(f"http://127.0.0.1:{service.port}/json").status_code == 200
    assert f"[serve] worker process {first} ended (signal 9): starting another one" in service.err
    service.signal(signal.SIGINT)
    assert service.ends() == 0


def test_no_process_outlives_the_program(serve: Start) -> None:
    service = serve("--workers", "2")
    [keeper] = children(service.process.pid)
    assert service.wait_for(lambda: len(children(keeper)) == 2)
    all_of_them = [keeper, *children(keeper)]
    service.process.kill()
    service.ends()
    assert service.wait_for(lambda: not any(alive(process) for process in all_of_them))


def test_no_process_outlives_who_watches_the_program(serve: Start) -> None:
    service = serve("--watch", "--workers", "2")
    [program] = children(service.process.pid)
    [keeper] = children(program)
    assert service.wait_for(lambda: len(children(keeper)) == 2)
    all_of_them = [program, keeper, *children(keeper)]
    service.process.kill()
    service.ends()
    assert service.wait_for(lambda: not any(alive(process) for process in all_of_them), 60)
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"http://127.0.0.1:{service.port}/json")


def test_neither_the_workers_nor_the_program_outlive_who_starts_workers_again(serve: Start) -> None:
    service = serve("--workers", "2")
    [keeper] = children(service.process.pid)
    assert service.wait_for(lambda: len(children(keeper)) == 2)
    workers = children(keeper)
    os.kill(keeper, signal.SIGKILL)
    assert service.ends(60) == 1
    assert "\nRuntime error: the process that starts the worker processes has ended\n" in service.err
    assert service.wait_for(lambda: not any(alive(process) for process in workers), 60)


def alive(process: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{process}/stat").read_text()
    except FileNotFoundError:
        return False


# ---- restarting --------------------------------------------------------------------------------------------------------


def test_it_starts_again_after_a_change(serve: Start, tmp_path: Path) -> None:
    service = serve("--watch")
    assert service.line() == "top level done"
    assert "app.lang:" in service.get("/fail").json()["error"]  # whoever watches a program writes it
    program = tmp_path / "app.lang"
    program.write_text(program.read_text().replace('{"id": 1}', '{"id": 2}'))
    assert service.line() == f"Serving HTTP on port {service.port} (7 route(s))"
    assert service.get("/json").json() == {"id": 2}
    program.write_text("this is no program (")
    assert service.wait_for(lambda: "waiting for a change" in service.err)
    assert "app.lang:1" in service.err  # the errors are shown, and the program that worked goes on
    assert service.get("/json").json() == {"id": 2}
    program.write_text(PROGRAM.format(port=service.port))
    assert service.line() == "top level done"
    assert service.line() == f"Serving HTTP on port {service.port} (7 route(s))"
    service.client.close()
    assert json.loads(httpx.get(f"http://127.0.0.1:{service.port}/json").text) == {"id": 1}
    service.signal(signal.SIGINT)
    assert service.ends() == 0


def test_what_a_changed_program_requires_is_told_before_it_starts_again(serve: Start, tmp_path: Path) -> None:
    service = serve("--watch")
    assert service.line() == "top level done"
    program = tmp_path / "app.lang"
    program.write_text('require file.write("./*")\n' + program.read_text())
    assert service.line() == f"Serving HTTP on port {service.port} (7 route(s))"
    told = [line for line in service.err.splitlines() if line.startswith("[lang]")]
    assert told[-2:] == [
        "[lang] a file has changed: starting again",
        '[lang] app.lang: capability added: file.write("./*")',
    ]


DATABASE = """
require serve({port})
require db("app.db")
db_open("app.db")
sql_exec("CREATE TABLE t (n INTEGER)")
serve on {port}
    route "POST /add"
        give sql_exec("INSERT INTO t VALUES (1)")
    route "GET /count"
        give {{"n": length(sql("SELECT n FROM t"))}}
"""


def test_each_process_has_its_own_connection_to_a_database(serve: Start) -> None:
    service = serve("--workers", "3", source=DATABASE, listens=False)
    assert service.line() == f"Serving HTTP on port {service.port} (2 route(s))"

    def add(_: int) -> int:
        return httpx.post(f"http://127.0.0.1:{service.port}/add", timeout=20).status_code

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(add, range(60))) == [200] * 60
    assert service.get("/count").json() == {"n": 60}
    service.signal(signal.SIGTERM)
    assert service.ends() == 0
    assert "Error" not in service.err
