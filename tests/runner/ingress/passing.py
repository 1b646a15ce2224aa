"""An ingress on a free port, in front of a program that listens on a Unix socket."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from ipaddress import ip_network
from pathlib import Path
from typing import Any

from runner.backends import StartTimeout
from runner.ingress import Ingress

PROGRAM = """require serve(8080)
serve on 8080
    max_body "8mb"
    route "GET /"
        give ok({"headers": request.headers, "ip": request.ip, "query": request.query})
    route "POST /length"
        give length(read_body_bytes())
    route "POST /echo"
        give ok(request.body)
    route "GET /large"
        give respond(join(apply(range(262144), (n) => "0123456789abcdef"), ""))
    route "GET /ticks"
        stream
            each n in range(3)
                send {"n": n} as "tick"
                sleep(0.05)
    route "GET /endless"
        stream
            while true
                send {"n": 1}
                sleep(0.01)
    route "GET /echo"
        socket
            while true
                let got be ws_recv(socket, 60)
                when got == nothing or got.type == "close"
                    give nothing
                ws_send(socket, got.data)
    route "GET /cookie"
        give set_cookie(set_cookie(ok({"seen": request.cookies}), "a", "1"), "__Host-b", "2")
"""


class Backend:
    """One program that is ready, or comes to be when it is asked for.

    Attributes:
        path: where it listens; ``None`` while it does not.
        wake: what is done when a request waits: gives the path, or raises.
    """

    def __init__(self, slug: str, path: str | None) -> None:
        self.project, self.slug, self.port, self.epoch = f"prj_{slug}", slug, None, 0
        self.path = path
        self.inside = self.entered = 0
        self.ready = asyncio.Event()
        self.failure: Exception | None = None

    def enter_at_once(self) -> str | None:
        if self.path is not None:
            self.inside += 1
            self.entered += 1
        return self.path

    async def enter(self) -> str:
        try:
            await asyncio.wait_for(self.ready.wait(), 20)
        except TimeoutError:
            raise StartTimeout from None
        if self.failure is not None:
            raise self.failure
        self.inside += 1
        self.entered += 1
        assert self.path is not None
        return self.path

    def leave(self) -> None:
        self.inside -= 1
        assert self.inside >= 0


class Front:
    """An ingress in a thread with a loop of its own."""

    def __init__(self, *, domain: str | None = None, trusted: str | None = None) -> None:
        self._domain = domain
        self._trusted = () if trusted is None else (ip_network(trusted),)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self.ports: dict[str, int] = {}

    def __enter__(self) -> Front:
        self._thread.start()
        self.ingress = self.call(self._make)
        if self._domain is not None:
            listening = socket.create_server(("127.0.0.1", 0))
            self.port = listening.getsockname()[1]
            self.wait(self.ingress.listen(listening))
        return self

    def __exit__(self, *_: object) -> None:
        self.wait(self.ingress.stop(0))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _make(self) -> Ingress:
        return Ingress(domain=self._domain, trusted=self._trusted, kept_back=(b"platform-session",))

    def wait(self, what: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(what, self._loop).result(60)

    def call(self, make: Callable[[], Any]) -> Any:
        """Does something in the loop."""

        async def inside() -> Any:
            found = make()
            return await found if asyncio.iscoroutine(found) else found

        return self.wait(inside())

    def open(self, slug: str, path: str | None) -> Backend:
        backend: Backend = self.call(lambda: Backend(slug, path))
        listening = socket.create_server(("127.0.0.1", 0)) if self._domain is None else None
        if listening is not None:
            self.ports[slug] = listening.getsockname()[1]
        self.wait(self.ingress.open(backend, listening))
        return backend

    def wakes(self, backend: Backend, path: str | None, failure: Exception | None = None) -> None:
        """The program of a backend is ready now, or has failed."""

        def ready() -> None:
            backend.path, backend.failure = path, failure
            backend.ready.set()

        self.call(ready)


@contextlib.contextmanager
def program(folder: Path, source: str = PROGRAM, name: str = "web") -> Iterator[str]:
    """A program behind a Unix socket; gives its path."""
    file, place = folder / f"{name}.lang", folder / f"{name}.sock"
    file.write_text(source)
    command = [sys.executable, "-m", "language", "serve", str(file), "--bind", f"unix:{place}", "--trust-proxy", "unix:"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert "Serving" in process.stdout.readline()
        yield str(place)
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()  # type: ignore[union-attr]


class Peer:
    """What listens like a program and says what a test wants: ``answers`` are sent one after the other, each to a request, and
    ``None`` ends the connection.
    """

    def __init__(self, path: Path, *answers: bytes | None, ends: bool = False) -> None:
        self.path = str(path)
        self._answers = list(answers)
        self._ends = ends
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(self.path)
        self._listening.listen()
        self.received: list[bytes] = []
        self.connections = 0
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                self.connections += 1
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            while self._answers:
                data = b""
                while b"\r\n\r\n" not in data:
                    more = connection.recv(65536)
                    if not more:
                        return
                    data += more
                self.received.append(data)
                answer = self._answers.pop(0)
                if answer is None:
                    return
                connection.sendall(answer)
                if self._ends and not self._answers:
                    return
            time.sleep(30)

    def close(self) -> None:
        self._listening.close()


def exchange(port: int, data: bytes, *, until: bytes | None = None, seconds: float = 30) -> bytes:
    """Sends bytes and gives everything that comes back, up to the end or to ``until``."""
    with socket.create_connection(("127.0.0.1", port), timeout=seconds) as client:
        client.sendall(data)
        found = b""
        with contextlib.suppress(ConnectionResetError):
            while until is None or until not in found:
                more = client.recv(65536)
                if not more:
                    break
                found += more
        return found
