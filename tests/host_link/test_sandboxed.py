"""A program without a network: it serves, connects and asks over its link, and neither it nor what it starts gets past that."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from runner.links import Egress, StartValues
from tests.host_link.linked_program import addresses, records, started
from tests.host_link.test_linked_program import web

#: What a command of the program tries as the same user, with Python: each line is what came of it.
INTRUDER = r"""
import ctypes, json, os, signal, socket, sys
parent = os.getppid()
libc = ctypes.CDLL(None, use_errno=True)
def tried(name, act):
    try:
        found[name] = "got " + str(act())[:200]
    except OSError as error:
        found[name] = type(error).__name__
def called(number, *rest):
    result = libc.syscall(number, *rest)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
def dialled():
    with socket.socket(socket.AF_UNIX) as link:
        link.connect(sys.argv[1])
        link.sendall(b'{"type":"hello","protocol":1,"version":"1","mode":"run","resume":""}\n')
        return link.recv(1000) or called(-1)
def reached(family, *place):
    with socket.socket(family) as found:
        found.settimeout(20)
        found.connect(place)
        return "there"
def pidfd():
    return [called(438, called(434, parent, 0), number, 0) for number in range(3, 12)]
found = {}
numbers = [f"/proc/self/fd/{n}" for n in os.listdir("/proc/self/fd") if int(n) > 2]
# ctypes may hold its library open (libffi maps its own file for closures).
found["descriptors"] = [n for n in numbers if os.path.exists(n) and "/libffi.so" not in os.readlink(n)]
tried("the link", dialled)
tried("its environment", lambda: open(f"/proc/{parent}/environ", "rb").read())
tried("its memory", lambda: open(f"/proc/{parent}/mem", "rb").read(1))
tried("its maps", lambda: open(f"/proc/{parent}/maps").read())
tried("its descriptors", lambda: [os.readlink(f"/proc/{parent}/fd/{n}") for n in os.listdir(f"/proc/{parent}/fd")])
tried("a descriptor", lambda: os.open(f"/proc/{parent}/fd/3", os.O_RDWR))
tried("a descriptor by pidfd", pidfd)
tried("ptrace", lambda: called(101, 16, parent, 0, 0))
class Span(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]
def memory():
    here = ctypes.create_string_buffer(8)
    spans = Span(ctypes.addressof(here), 8), Span(ctypes.addressof(libc.getpid), 8)
    return called(310, parent, ctypes.byref(spans[0]), 1, ctypes.byref(spans[1]), 1, 0)
tried("memory by process_vm_readv", memory)
tried("the network", lambda: reached(socket.AF_INET, "127.0.0.1", int(sys.argv[2])))
tried("the outside", lambda: reached(socket.AF_INET, "93.184.216.34", 80))
found["secrets"] = [name for name, value in os.environ.items() if "in-no-list" in value]
def through(line):
    host, _, port = os.environ["HTTPS_PROXY"].removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port))) as proxy:
        proxy.sendall(line.encode())
        data = b""
        while chunk := proxy.recv(4096):
            data += chunk
        return data.decode()
get = "GET / HTTP/1.1\r\nHost: web.example\r\n\r\n"
tried("allowed by proxy", lambda: through(f"CONNECT web.example:{sys.argv[2]} HTTP/1.1\r\n\r\n" + get))
tried("refused by proxy", lambda: through("CONNECT other.example:443 HTTP/1.1\r\n\r\n" + get))
tried("named address by proxy", lambda: through("CONNECT 169.254.169.254:80 HTTP/1.1\r\n\r\n" + get))
print(json.dumps(found))
"""

PROGRAM = """
require serve(8080)
require net("web.example")
require exec
require secret("KEY")
serve on 8080
    route "GET /intrude"
        let found be run("INTERPRETER", ["-c", request.query["script"], "LINK", "PORT"])
        give found.stdout + found.stderr
    route "GET /fetch"
        try
            give text(fetch("http://" + request.query["to"]))
        recover why
            give why
    route "GET /gate"
        give {"approved": approve "Ship it?"}
"""


@pytest.fixture(scope="module")
def bubblewrap() -> str:
    found = shutil.which("bwrap")
    if found is None or subprocess.run([found, "--unshare-all", "--ro-bind", "/", "/", "true"], check=False).returncode:
        if os.environ.get("CI") == "true" and found is None:
            pytest.fail("bubblewrap is not installed (Debian: apt-get install -y bubblewrap)")
        pytest.skip("bubblewrap is not installed, or may make no namespaces here")
    return found


def test_a_program_without_a_network_reaches_its_ceiling_and_nobody_gets_past_it(bubblewrap: str, tmp_path: Path) -> None:
    from urllib.parse import quote

    sandbox = (
        bubblewrap, "--unshare-all", "--unshare-user", "--uid", "10001", "--gid", "10001", "--cap-drop", "ALL", "--new-session",
        "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
    )  # fmt: skip

    async def body() -> None:
        server = await asyncio.start_server(web, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        link_path = str(tmp_path / "link" / "host.sock")
        source = PROGRAM.replace("INTERPRETER", sys.executable).replace("LINK", link_path).replace("PORT", str(port))
        ceiling = "serve,net=web.example,net=127.0.0.1,exec,secret,stdout,time"
        values = StartValues(secrets={"KEY": "in-no-list"})
        # The name leads to this machine, which the ceiling names.
        way_out = Egress(ceiling, private_addresses=True, resolver=addresses)
        async with (
            server,
            started(tmp_path, source, "serve", ceiling=ceiling, values=values, way_out=way_out, command=sandbox) as program,
        ):
            told = program.told
            await told.until("ready")
            assert "served" in (await program.get(f"/fetch?to=web.example:{port}/"))[1]
            assert "not granted" in (await program.get("/fetch?to=other.example/"))[1]

            status, text = await program.get(f"/intrude?script={quote(INTRUDER)}")
            assert status == 200 and text.startswith('"{'), (text, program.lines)
            found = json.loads(json.loads(text))
            got = {name for name, what in found.items() if isinstance(what, str) and what.startswith("got")}
            assert got == {"allowed by proxy", "refused by proxy", "named address by proxy"}, found
            assert found["descriptors"] == [] and found["secrets"] == []
            assert "200 Connection established" in found["allowed by proxy"] and "served" in found["allowed by proxy"]
            assert "403" in found["refused by proxy"] and "403" in found["named address by proxy"]
            assert found["the link"] in ("FileNotFoundError", "ConnectionRefusedError")
            assert found["the outside"] == "OSError" and found["the network"] == "ConnectionRefusedError"

            waiting = asyncio.ensure_future(program.get("/gate"))
            [gate] = await told.until("gate")
            assert await program.link.decide(gate.id, decision=True, value=None, seconds=60)
            assert json.loads((await waiting)[1]) == {"approved": True}

            # Both have seen it, each by itself.
            runners = [(r["capability"], r["scope"], r["granted"]) for r in told.of("audit of runner")]
            place = f"web.example:{port}"
            assert runners[:2] == [("net", place, True)] * 2
            assert ("net", "169.254.169.254:80", False) in runners and ("net", "other.example:443", False) in runners
            own = [(r["capability"], r["scope"], r["granted"]) for r in records(told)]
            assert ("net", place, True) in own and ("net", "other.example", False) in own
            await program.link.stop(5)
            code, lines = await program.ended()
            assert code == 0 and not any("in-no-list" in line or gate.token in line for line in lines)

    asyncio.run(body())
