"""The tool client over pipes: a process for each connection, started, talked to and ended."""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from tool_server import COMMAND, context, script

from language.compiler.compilation import compile_source
from language.errors import RuntimeFault
from language.native.host import NativeHost
from language.runtime.context import Context
from language.runtime.instance import Instance
from language.values import FALSE, Secret
from stdlib.mcp_client import mcp_call, mcp_close, mcp_connect, mcp_tools

ECHO = 'def on(message): return text(message["params"]["name"])'


def error_of(function, *values):
    with pytest.raises(RuntimeFault) as caught:
        function(*values)
    return caught.value.message


def connected(ctx, body, **options):
    return mcp_connect(ctx, COMMAND, {**script(body), **options})


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def gone_soon(pid: int) -> bool:
    for _ in range(100):
        if not alive(pid):
            return True
        time.sleep(0.02)
    return False


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def ctx():
    running = context()
    yield running
    running.lifetime.end()


class TestCalls:
    def test_one_after_the_other(self, ctx):
        conn = connected(ctx, ECHO)
        assert [mcp_call(ctx, conn, name) for name in ("a", "é\n", "c")] == ["a", "é\n", "c"]

    def test_messages_are_lines(self, ctx):
        body = """
def read():
    line = sys.stdin.readline()
    open("lines", "a").write(line)
    return json.loads(line)
def on(message): return text(1)
"""
        conn = connected(ctx, body)
        mcp_call(ctx, conn, "a\nb", {"x": "\n\u2028"})
        lines = Path("lines").read_text().splitlines()
        assert len(lines) == 3 and '"arguments": {"x": "\\n\\u2028"}' in lines[2]

    def test_what_else_a_server_writes(self, ctx):
        body = """
def ask(method, **more):
    send({"jsonrpc": "2.0", "method": method, **more})
    return read()
def on(message):
    send({"jsonrpc": "2.0", "method": "notifications/message"})
    print("no json"); print(); print("[" * 300)
    send({"jsonrpc": "2.0", "id": 99, "result": {}})
    send([{"jsonrpc": "2.0", "id": 98, "result": {}}])
    send({"jsonrpc": "2.0", "id": [1], "method": "ping"})
    got = [ask("ping", id="p"), ask("sampling/createMessage", id=7), ask("roots/list", id=None)]
    return text(json.dumps(got))
"""
        refused = {"code": -32601, "message": "method not found"}
        wanted = [
            {"jsonrpc": "2.0", "id": "p", "result": {}},
            {"jsonrpc": "2.0", "id": 7, "error": refused},
            {"jsonrpc": "2.0", "id": None, "error": refused},
        ]
        from json import loads

        assert loads(mcp_call(ctx, connected(ctx, body), "t")) == wanted

    def test_large_messages_both_ways(self, ctx):
        conn = connected(ctx, 'def on(message): return text(message["params"]["arguments"]["x"] * 2)')
        large = "é" * 300_000
        assert mcp_call(ctx, conn, "t", {"x": large}) == large * 2

    def test_tools_and_failures(self, ctx):
        body = """
def on(message):
    if message["method"] == "tools/list":
        return {"tools": [{"name": "a"}]}
    if message["params"]["name"] == "refused":
        send({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32602, "message": "unknown tool"}})
        return ...
    return {**text("no"), "isError": True}
"""
        conn = connected(ctx, body)
        assert mcp_tools(ctx, conn) == [{"name": "a", "description": "", "inputSchema": {}}]
        assert error_of(mcp_call, ctx, conn, "x") == "mcp_call: tool 'x' failed: no"
        assert error_of(mcp_call, ctx, conn, "refused") == "mcp_call: -32602 unknown tool"
        assert mcp_call(ctx, connected(ctx, body, **{"raise": FALSE}), "x") == {"error": "no"}


class TestStart:
    def test_errors(self, ctx):
        start = "cannot start: no such command in PATH"
        assert error_of(mcp_connect, ctx, "no-such-command") == f"mcp_connect: no-such-command: {start}"
        assert error_of(mcp_connect, ctx, "true") == "mcp_connect: true: the process has ended the conversation"
        assert error_of(mcp_connect, ctx, "true", {"args": "x"}) == 'mcp_connect: option "args" must be a list, got text'
        text = error_of(mcp_connect, ctx, "true", {"cwd": "nowhere"})
        assert text == 'mcp_connect: true: cannot start: the working directory "nowhere" is no folder'
        text = error_of(mcp_connect, ctx, "true", {"env": {"LD_PRELOAD": "x"}})
        assert text == "mcp_connect: LD_PRELOAD cannot be set: it would make the command run other code"
        assert error_of(mcp_connect, ctx, "true", {"env": 5}) == 'mcp_connect: option "env" must be a map, got number'

    def test_arguments_are_not_shown(self, ctx):
        text = error_of(mcp_connect, ctx, COMMAND, {"args": ["-c", "pass", "hunter2"]})
        assert text == f"mcp_connect: {COMMAND}: the process has ended the conversation"

    def test_the_gate_comes_first_and_with_every_call(self, ctx):
        bare = context(("exec", "other"))
        options = {"args": ["-c", "open('made', 'w')"]}
        assert error_of(mcp_connect, bare, COMMAND, options).startswith(f'Capability not granted: exec("{COMMAND}")')
        assert not Path("made").exists()
        conn = connected(ctx, ECHO)
        ctx.capabilities.enter(())
        for call in (lambda: mcp_tools(ctx, conn), lambda: mcp_call(ctx, conn, "t")):
            assert error_of(call).startswith(f'Capability not granted: exec("{COMMAND}")')
        ctx.capabilities.leave()
        assert mcp_call(ctx, conn, "t") == "t"
        asked = [(r["capability"], r["granted"]) for r in ctx.capabilities.records if r["capability"] == "exec"]
        assert asked == [("exec", True), ("exec", False), ("exec", False), ("exec", True)]

    def test_no_shell_and_secrets_redacted(self, ctx):
        body = "def on(message): return text(json.dumps(sys.argv[1:]))"
        options = script(body)
        options["args"] += ["$HOME; x", Secret("hunter2", ("K",)), 5]
        assert mcp_call(ctx, mcp_connect(ctx, COMMAND, options), "t") == '["$HOME; x", "secret(K)", "5"]'

    def test_environment_and_folder(self, ctx, monkeypatch, tmp_path):
        monkeypatch.setenv("PLATFORM_SECRET", "1")
        monkeypatch.setenv("OPENAI_API_KEY", "1")
        monkeypatch.setenv("NAMED_SECRET", "1")
        monkeypatch.setenv("PLAIN", "1")
        ctx.capabilities.require("secret", "NAMED_*")
        (tmp_path / "below").mkdir()
        body = """
def on(message):
    return text([name in os.environ for name in ("PLATFORM_SECRET", "OPENAI_API_KEY", "NAMED_SECRET", "PLAIN")]
        + [os.environ["ADDED"], os.path.basename(os.getcwd()), sorted(map(int, os.listdir("/proc/self/fd")))[:3]])
"""
        conn = connected(ctx, body, env={"ADDED": 5}, cwd="below")
        assert mcp_call(ctx, conn, "t") == "[False, False, False, True, '5', 'below', [0, 1, 2]]"

    def test_it_inherits_no_other_descriptor(self, ctx):
        with open("held", "w") as held:
            os.set_inheritable(held.fileno(), True)
            body = """
def on(message):
    return text([os.readlink("/proc/self/fd/" + n) for n in os.listdir("/proc/self/fd") if n != "3"])
"""
            assert "held" not in mcp_call(ctx, connected(ctx, body), "t")

    def test_a_secret_for_it_needs_reveal(self, ctx, monkeypatch, tmp_path):
        monkeypatch.setenv("PLATFORM_AUDIT_DIR", str(tmp_path / "audit"))
        added = {"TOKEN": Secret("hunter2", ("K",))}
        body = 'def on(message): return text(os.environ["TOKEN"])'
        options = {**script(body), "env": added}
        assert error_of(mcp_connect, ctx, COMMAND, options).startswith("reveal() not permitted: ")
        ctx.capabilities.require("reveal", "K")
        assert mcp_call(ctx, mcp_connect(ctx, COMMAND, options), "t") == "hunter2"

    def test_its_errors_go_to_the_error_stream(self, ctx, capfd):
        connected(ctx, 'sys.stderr.write("from the server\\n"); sys.stderr.flush()')
        out, err = capfd.readouterr()
        assert (out, err) == ("", "from the server\n")


class TestEnd:
    NOTES = """
def note(text):
    open("notes", "a").write(text + "\\n")
note(str(os.getpid()))
"""

    def notes(self) -> list[str]:
        return Path("notes").read_text().split()

    def test_the_input_is_closed_and_the_process_has_time(self, ctx):
        body = self.NOTES + ECHO + "\ntry: main()\nfinally:\n    time.sleep(0.3); note('tidied')\n"
        conn = connected(ctx, body)
        started = time.monotonic()
        assert mcp_close(ctx, conn) is None
        assert 0.3 <= time.monotonic() - started < 30
        pid, tidied = self.notes()
        assert tidied == "tidied" and not alive(int(pid))
        assert mcp_close(ctx, conn) is None
        assert error_of(mcp_call, ctx, conn, "t") == "mcp_call: the connection is closed"

    def test_one_that_stays_is_killed_with_what_it_started(self, ctx):
        body = (
            self.NOTES
            + """
import subprocess
signal.signal(signal.SIGTERM, signal.SIG_IGN)
note(str(subprocess.Popen(["sleep", "600"]).pid))
def on(message): pass
try: main()
except SystemExit: time.sleep(600)
"""
        )
        conn = connected(ctx, body)
        started = time.monotonic()
        mcp_close(ctx, conn)
        assert 1.9 <= time.monotonic() - started < 30
        assert all(gone_soon(int(pid)) for pid in self.notes())

    def test_what_it_leaves_behind_goes_too(self, ctx):
        body = self.NOTES + 'import subprocess\nnote(str(subprocess.Popen(["sleep", "600"]).pid))\n' + ECHO
        mcp_close(ctx, connected(ctx, body))
        assert all(gone_soon(int(pid)) for pid in self.notes())

    def test_the_end_of_the_run_ends_all_at_once(self, ctx):
        stays = self.NOTES + "def on(message): pass\ntry: main()\nexcept SystemExit: time.sleep(600)"
        for _ in range(12):
            connected(ctx, stays)
        started = time.monotonic()
        ctx.lifetime.end()
        assert time.monotonic() - started < 20  # one after the other: 24
        assert len(self.notes()) == 12 and all(gone_soon(int(pid)) for pid in self.notes())

    def test_a_run_that_fails(self):
        options = script(self.NOTES + ECHO)
        code = options["args"][1].replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        source = f'require exec("{COMMAND}")\nlet c be mcp_connect("{COMMAND}", {{"args": ["-c", "{code}"]}})\nraise "over"\n'
        context = Context(NativeHost(), collect=True)
        with pytest.raises(RuntimeFault, match="over"):
            Instance(compile_source(source, "p.lang").named("p.lang"), context.host, context=context).run()
        (pid,) = self.notes()
        assert gone_soon(int(pid))

    def test_a_greeting_that_fails(self, ctx):
        body = self.NOTES + 'send({"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "not you"}})'
        assert error_of(connected, ctx, body) == f"mcp_connect: {COMMAND}: 1 not you"
        (pid,) = self.notes()
        assert gone_soon(int(pid))

    def test_one_that_dies_in_a_call(self, ctx):
        body = self.NOTES + "def on(message): os.kill(os.getpid(), 9)"
        conn = connected(ctx, body)
        assert error_of(mcp_call, ctx, conn, "t") == f"mcp_call: {COMMAND}: the process has ended the conversation"
        assert error_of(mcp_call, ctx, conn, "t") == "mcp_call: the connection is closed"
        assert gone_soon(int(self.notes()[0]))

    def test_one_that_died_between_calls(self, ctx):
        conn = connected(ctx, self.NOTES + ECHO)
        os.kill(int(self.notes()[0]), signal.SIGKILL)
        assert error_of(mcp_call, ctx, conn, "t") == f"mcp_call: {COMMAND}: the process has ended the conversation"


def pipes() -> int:
    """The open ends of pipes of this process."""
    count = 0
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # the one that lists them
            count += os.readlink(entry).startswith("pipe:")
    return count


@pytest.mark.skipif(sys.platform != "linux", reason="counts descriptors in /proc")
def test_nothing_is_left_of_many(ctx):
    before = pipes()
    for _ in range(10):
        mcp_close(ctx, connected(ctx, 'open("pids", "a").write(str(os.getpid()) + "\\n")\n' + ECHO))
    assert pipes() == before
    pids = Path("pids").read_text().split()
    assert len(pids) == 10 and not [pid for pid in pids if Path("/proc", pid).exists()]  # zombies neither
