"""Clients that reset the connection in the middle, of a body, a reply, a stream, a gate: nothing stays behind (7.13).

``LANG_ABORT_SECONDS`` makes the load last longer than the few seconds of an ordinary run.
"""

from __future__ import annotations

import os
import socket
import struct
import threading
import time
from contextlib import suppress
from pathlib import Path
from random import Random

from tests.examples.running_services import Service, served
from tests.open_descriptors import open_descriptors, open_without_connections
from tests.waiting_gates import wait_for

SECONDS = float(os.environ.get("LANG_ABORT_SECONDS", "5"))
CLIENTS = 16
#: What the memory may grow by under load after it has been under load, in megabytes: that of bodies in flight, held by the
#: allocator. Ten thousand requests that kept a few kilobytes each would be above it.
MOST_GROWTH = 40
PROGRAM = """
require serve(8080)
require exec("echo")
serve on 8080
    max_body "8mb"
    max_streams 1000
    timeout 5
    route "GET /fine"
        give "fine"
    route "POST /bytes"
        give length(read_body_bytes())
    route "GET /stream"
        stream
            each i in range(20000)
                send {"i": i, "pad": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}
    route "GET /workers"
        stream
            task tell(x)
                send x
                sleep(0.01)
                send x
            parallel_map(tell, range(20), 4)
    route "GET /large"
        give respond(join(apply(range(20000), (i) => "0123456789abcdef0123456789abcdef0123456789"), ""))
    route "GET /gate"
        give approve "go?" within 1s
    route "GET /gate-in-stream"
        stream
            send 1
            send approve "go?" within 1s
    route "GET /command"
        give run("echo", ["x"])
    route "GET /socket"
        socket
            ws_recv(socket, 1)
            ws_send(socket, "hello")
    static "/files" from "files"
"""
GET = "GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n"
UPGRADE = (
    "GET /socket HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)
POST = "POST /bytes HTTP/1.1\r\nHost: localhost\r\n"


def _abort(sock: socket.socket, random: Random) -> None:
    """One request that is not waited for."""
    kind = random.choice(("body", "chunks", "answer", "answer", "socket", "head", "gate"))
    if kind == "body":
        sent = b"z" * random.choice((0, 100, 70_000, 1_500_000))
        sock.sendall(POST.encode() + b"Content-Length: 3000000\r\n\r\n" + sent)
    elif kind == "chunks":
        sock.sendall(POST.encode() + b"Transfer-Encoding: chunked\r\n\r\n186a0\r\n" + b"z" * random.choice((10, 100_000)))
    elif kind == "socket":
        sock.sendall(UPGRADE.encode())
        sock.recv(100)
        sock.sendall(b"\x81\xfe\x10\x00abcd" + b"x" * 100)
    elif kind == "head":
        sock.sendall(b"GET /fi"[: random.randint(1, 7)])
    else:
        gates = ("gate", "gate-in-stream") if random.random() < 0.2 else ("fine",)
        answers = ("stream", "workers", "large", "command", "files/file.bin")
        sock.sendall(GET.format(random.choice(gates if kind == "gate" else answers)).encode())
        if kind == "answer":
            sock.recv(random.choice((1, 1000, 50_000)))
        time.sleep(random.random() * 0.02)
    if random.random() < 0.85:  # not closed in order: the peer gets RST
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def _load(service: Service, seconds: float) -> int:
    host, _, port = service.url.removeprefix("http://").partition(":")
    end = time.monotonic() + seconds
    counts = [0] * CLIENTS

    def client(number: int) -> None:
        random = Random(number)
        while time.monotonic() < end:
            with socket.create_connection((host, int(port)), 20) as sock, suppress(ConnectionError):
                _abort(sock, random)
            counts[number] += 1

    threads = [threading.Thread(target=client, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts)


def _held(service: Service) -> tuple[int, int]:
    """Threads, megabytes."""
    folder = Path(f"/proc/{service.process.pid}")
    lines = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
    return int(lines["Threads"]), int(lines["VmRSS"].split()[0]) // 1024


def test_nothing_stays_behind(tmp_path: Path) -> None:
    (tmp_path / "app.lang").write_text(PROGRAM)
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "file.bin").write_bytes(os.urandom(3_000_000))
    spill = tmp_path / "spill"
    spill.mkdir()
    with served(tmp_path, "app.lang", TMPDIR=str(spill), PLATFORM_SERVE_WORKERS="4") as service:
        descriptors = open_without_connections(service, "/bytes")
        _load(service, 2.0)
        _, before = _held(service)
        assert _load(service, SECONDS) > 200

        def is_quiet() -> bool:
            threads, _ = _held(service)
            left = [name for folder in spill.iterdir() for name in os.listdir(folder)]
            return open_descriptors(service.process.pid) == descriptors and threads <= 12 and not left

        wait_for(is_quiet, 30)
        assert _held(service)[1] - before < MOST_GROWTH
        assert "internal error" not in service.log and "Traceback" not in service.log and " 500 " not in service.log
    assert list(spill.iterdir()) == []
