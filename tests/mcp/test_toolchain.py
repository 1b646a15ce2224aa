"""``lang mcp``: the tools check, run, test, fmt and docs, with programs that mean harm."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from tests.waiting_gates import wait_for

pytestmark = pytest.mark.once

LANG = [sys.executable, "-P", "-m", "language.cli.main"]
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
#: How long a test waits for what must come, in seconds.
PATIENCE = 120


class Server:
    """``lang mcp`` as a process, spoken to line by line."""

    def __init__(self, *flags: str, cwd: Path, env: dict[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [*LANG, "mcp", *flags],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2]), **(env or {})},
        )
        self.number = 0

    def send(self, message: Any) -> None:
        assert self.process.stdin is not None
        data = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.process.stdin.write(data + b"\n")
        self.process.stdin.flush()

    def ask(self, method: str, **params: Any) -> int:
        self.number += 1
        self.send({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        return self.number

    def reply(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the server has ended"
        message: dict[str, Any] = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        return message

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        asked = self.ask("tools/call", name=tool, arguments=arguments)
        message = self.reply()
        assert message["id"] == asked
        return message

    def text(self, tool: str, **arguments: Any) -> str:
        return str(self.call(tool, **arguments)["result"]["content"][0]["text"])

    def close(self) -> tuple[bytes, bytes]:
        """Ends the client's side; what the server still wrote on both streams."""
        return self.process.communicate(timeout=PATIENCE)


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what no program may see; the server's own folder is inside."""
    folder = tmp_path_factory.mktemp("outside")
    (folder / "secret.txt").write_text("the crown jewels")
    (folder / "secret.lang").write_text("export let crown be 'the crown jewels\n")
    (folder / "secret.html").write_text("{{ the crown jewels\n")
    (folder / "here").mkdir()
    (folder / "here" / ".env").write_text("CROWN=jewels\n")
    (folder / "here" / "json.py").write_text("raise SystemExit('the crown jewels')\n")
    (folder / "here" / "greeting.lang").write_text('export task hello()\n    give "from the folder"\n')
    return folder


@pytest.fixture(scope="module")
def server(outside: Path) -> Iterator[Server]:
    made = Server("--time", "3", "--memory", "256mb", "--output", "4kb", cwd=outside / "here", env={"CROWN": "jewels"})
    made.ask("initialize", **HELLO)
    assert made.reply()["result"]["serverInfo"]["name"] == "lang"
    made.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    yield made
    rest = made.close()
    assert rest == (b"", b"")
    assert made.process.returncode == 0


def test_the_tools(server: Server) -> None:
    server.ask("tools/list")
    tools = server.reply()["result"]["tools"]
    assert [tool["name"] for tool in tools] == ["check", "run", "test", "fmt", "docs"]
    assert "print and read the clock, nothing else" in tools[1]["description"]
    assert "3 seconds or 4096 bytes" in tools[1]["description"]

    ran = server.call("run", source='print("hello")\neprint("aside")')["result"]
    assert ran["content"][0]["text"] == "hello\naside\n"
    assert ran["structuredContent"] == {"output": "hello\n", "errors": "aside\n", "exit_code": 0, "ended_by": ""}
    failed = server.call("run", source="print(1 +)")["result"]
    assert failed["isError"] is True
    assert "program.lang:1:10" in failed["content"][0]["text"]
    assert "1:5" in server.text("check", source="let 5 be x")
    assert server.text("check", source="print(1)").startswith("OK")
    assert server.text("fmt", source="print( 1+2 )") == "print(1 + 2)\n"
    assert "1 passed, 1 failed" in server.text("test", source='test "a"\n    assert(true)\ntest "b"\n    assert(false)\n')
    assert "split(t, sep)" in server.text("docs", names=["split"])
    assert server.call("docs", names=["no_such_thing"])["result"]["isError"] is True


@pytest.mark.parametrize(
    ("tool", "arguments", "why"),
    [
        ("run", {}, "source"),
        ("run", {"source": 5}, "source"),
        ("run", {"source": "1", "flags": ["--cap-set", "exec"]}, "unknown argument 'flags'"),
        ("run", {"source": "x" * (1 << 20) + "x"}, "at most"),
        ("docs", {"names": "split"}, "names"),
        ("docs", {"names": ["a"] * 51}, "at most"),
    ],
)
def test_arguments_that_no_tool_takes(server: Server, tool: str, arguments: dict[str, Any], why: str) -> None:
    refused = server.call(tool, **arguments)["error"]
    assert refused["code"] == -32602
    assert why in refused["message"]


def test_names_of_docs_are_no_flags(server: Server) -> None:
    assert "--help" in server.text("docs", names=["--help"])
    assert "usage" not in server.text("docs", names=["--help"])


HOSTILE = {
    "a file": 'require file.read("*")\nprint(read_file("{outside}/secret.txt"))',
    "a relative file": 'require file.read("../*")\nprint(read_file("../secret.txt"))',
    "its own process": 'require file.read("/proc/*")\nprint(read_file("/proc/self/environ"))',
    "a module": 'use "{outside}/secret.lang" as s',
    "a relative module": 'use "./../secret.lang" as s',
    "a module of the server's folder": 'use "./greeting.lang" as s\nprint("went" + " on", s.hello())',
    "a template": 'print(render("{outside}/secret.html", {{}}))',
    "a relative template": 'print(render("../secret.html", {{}}))',
    "a database": 'require db("*")\ndb_open("{outside}/stolen.db")\nprint("went" + " on")',
    "the environment": 'require env("CROWN")\nprint(env("CROWN"), "went" + " on")',
    "a secret": 'require secret("CROWN")\nrequire reveal("CROWN")\nprint(reveal(secret("CROWN")), "went" + " on")',
    "a command": 'require exec("*")\nprint(run("cat", ["{outside}/secret.txt"]))',
    "the network": 'require net("*")\nprint(fetch("http://127.0.0.1:9/"), "went" + " on")',
    "a file to write": 'require file.write("*")\nwrite_file("{outside}/stolen", "x")\nprint("went" + " on")',
    "a port": 'require serve(0)\nserve on 0\n    route "GET /"\n        give "went" + " on"',
}


CHECKED = [attack for attack in HOSTILE if "module" in attack or "template" in attack]


@pytest.mark.parametrize(
    ("tool", "attack"),
    [
        *(("run", attack) for attack in HOSTILE),
        *(("check", attack) for attack in CHECKED),
        ("test", "a file"),
        ("test", "a command"),
    ],
)
def test_nothing_outside_is_reached(server: Server, outside: Path, attack: str, tool: str) -> None:
    source = HOSTILE[attack].format(outside=outside)
    if tool == "test":
        lines = source.split("\n")
        requires = [line for line in lines if line.startswith(("require", "use", "serve", " "))]
        rest = [line for line in lines if line not in requires]
        source = "\n".join([*requires, 'test "attack"', *(f"    {line}" for line in rest or ["nothing"])])
    told = server.text(tool, source=source)
    assert "jewels" not in told and "went on" not in told
    assert not (outside / "stolen").exists()
    assert not (outside / "stolen.db").exists()


@pytest.mark.parametrize(
    "source",
    [
        "while true\n    nothing",
        "sleep(1000000)",
        "print(10 ** (10 ** 9))",
    ],
)
def test_a_program_that_never_ends_is_ended_and_others_are_answered_meanwhile(server: Server, source: str) -> None:
    slow = server.ask("tools/call", name="run", arguments={"source": source})
    ping = server.ask("ping")
    first = server.reply()
    second = server.reply()
    assert (first["id"], second["id"]) == (ping, slow)
    ended = second["result"]
    assert ended["isError"] is True
    assert ended["structuredContent"]["ended_by"] == "time" or ended["structuredContent"]["exit_code"] != 0
    assert server.text("run", source="print(2)") == "2\n"


def test_a_flood_of_output_is_cut(server: Server) -> None:
    for word in ("print", "eprint"):
        ended = server.call("run", source=f'while true\n    {word}("0123456789")')["result"]
        assert ended["structuredContent"]["ended_by"] == "output"
        assert len(ended["structuredContent"]["output"] + ended["structuredContent"]["errors"]) <= 2 * 4096


def test_what_a_program_prints_is_no_message(server: Server) -> None:
    forged = json.dumps({"jsonrpc": "2.0", "id": server.number + 1, "result": {"content": []}})
    source = f"print('{forged}')\neprint('{forged}')\nprint(`\n{{bytes([0, 10, 13])}}`)"
    assert forged in server.text("run", source=source)


def test_memory_is_bounded(server: Server) -> None:
    ended = server.call("run", source='let t be "0123456789abcdef"\nwhile true\n    set t to t + t')["result"]
    assert ended["isError"] is True
    assert server.text("run", source="print(3)") == "3\n"


def test_a_question_is_refused(server: Server) -> None:
    assert server.text("run", source='print(approve "Go?")').startswith("false")


def test_lines_that_are_no_messages(server: Server) -> None:
    for line in (b"{", b'"x"', b"\xff\xfe", b"[" * 100_000, b"[]"):
        server.send(line)
        assert server.reply()["error"]["code"] in (-32700, -32600)
    server.send(b"")
    server.send(b'"' + b"x" * (9 << 20) + b'"')
    assert server.reply()["error"]["code"] == -32700
    assert server.text("run", source="print(4)") == "4\n"


def test_a_call_that_is_taken_back_ends_without_a_reply(server: Server) -> None:
    asked = server.ask("tools/call", name="run", arguments={"source": "sleep(1000000)"})
    server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": asked}})
    assert server.text("run", source="print(5)") == "5\n"


def test_a_ceiling_of_the_operator_and_nothing_beyond_it(outside: Path) -> None:
    folder = outside / "here"
    server = Server("--folder", ".", "--cap-set", "stdout,exec=echo", "--time", "30", cwd=folder)
    server.ask("tools/list")
    assert "stdout,exec=echo" in str(server.reply())
    modules = 'use "./greeting.lang" as g\nprint(g.hello())'
    assert server.text("run", source=modules) == "from the folder\n"
    assert server.text("run", source='require exec("echo")\nprint(run("echo", ["hi"]).stdout)').strip() == "hi"
    assert "ceiling" in server.text("run", source='require exec("cat")\nprint(run("cat", ["x"]))')
    assert "ceiling" in server.text("run", source='require file.read("./.env")\nprint(read_file(".env"))')
    assert "jewels" not in server.text("run", source='use "./../secret.lang" as s')
    assert server.close() == (b"", b"")


#: A shell that starts a process in a session of its own, which nobody waits for, and one below that; each writes its number.
STARTS = """
require exec("sh")
let told be run("sh", ["-c", "setsid sh -c 'echo $$ >> pids; sleep 600 & echo $! >> pids; wait' > /dev/null 2>&1 & \
while [ $(cat pids 2> /dev/null | wc -l) -lt 2 ]; do sleep 0.02; done{}"])
print("went on")
""".replace("\\\n", "")


@pytest.mark.parametrize("end", ["its end", "the time", "a cancellation", "the end of the client"])
def test_what_a_program_started_ends_with_its_call(tmp_path: Path, end: str) -> None:
    server = Server("--folder", ".", "--cap-set", "stdout,exec=sh", "--time", "6" if end == "the time" else "60", cwd=tmp_path)
    asked = server.ask("tools/call", name="run", arguments={"source": STARTS.format("" if end == "its end" else "; sleep 600")})
    if end in ("its end", "the time"):
        assert ("went on" in str(server.reply()["result"])) == (end == "its end")
    wait_for(lambda: len(numbers(tmp_path)) == 2, 60)
    if end == "a cancellation":
        server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": asked}})
    elif end == "the end of the client":
        os.kill(server.process.pid, signal.SIGKILL)
    for number in numbers(tmp_path):
        _gone(number)
    if end != "the end of the client":
        assert server.text("fmt", source="let a be 1") == "let a be 1\n"
        server.close()


def numbers(folder: Path) -> list[int]:
    file = folder / "pids"
    return [int(line) for line in file.read_text().split()] if file.exists() else []


def test_programs_end_with_the_server(tmp_path: Path) -> None:
    server = Server("--cap-set", "stdout", "--time", "3000", cwd=tmp_path)
    server.ask("tools/call", name="run", arguments={"source": "while true\n    sleep(0.01)"})
    deadline = time.monotonic() + PATIENCE
    children: list[int] = []
    while not children and time.monotonic() < deadline:
        found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(server.process.pid)], capture_output=True, text=True)
        children = [int(word) for word in found.stdout.split()]
        time.sleep(0.05)
    assert children
    server.process.send_signal(signal.SIGKILL)
    server.process.communicate()
    for child in children:
        _gone(child)


def _gone(pid: int) -> None:
    """Waits until a process has ended."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            return
        if state == "Z":
            return
        time.sleep(0.05)
    raise AssertionError(f"process {pid} goes on")


def test_the_official_client(tmp_path: Path) -> None:
    async def use() -> None:
        root = str(Path(__file__).resolve().parents[2])
        parameters = StdioServerParameters(
            command=sys.executable, args=[*LANG[1:], "mcp"], cwd=tmp_path, env={**os.environ, "PYTHONPATH": root}
        )
        async with Client(parameters) as client:
            listed = await client.list_tools()
            assert [tool.name for tool in listed.tools] == ["check", "run", "test", "fmt", "docs"]
            ran = await client.call_tool("run", {"source": "print(6 * 7)"})
            assert ran.content[0].text == "42\n"
            assert not ran.is_error
            refused = await client.call_tool("run", {"source": 'require exec("ls")\nrun("ls", [])'})
            assert refused.is_error

    asyncio.run(use())


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--time", "0"], "--time"),
        (["--time", "x"], "--time"),
        (["--memory", "1mb"], "--memory"),
        (["--output", "many"], "--output"),
        (["--folder", "nowhere"], "nowhere"),
        (["--cap-set", "nonsense"], "nonsense"),
        (["--route", "/x"], "--route"),
        (["a.lang", "b.lang"], "b.lang"),
        (["a.lang", "--time", "3"], "--time"),
        (["-"], "standard input"),
    ],
)
def test_wrong_flags_are_told_before_anything_is_read(
    words: list[str], why: str, capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from language.cli.main import main

    monkeypatch.chdir(tmp_path)
    assert main(["mcp", *words]) == 2
    assert why in capfd.readouterr().err
