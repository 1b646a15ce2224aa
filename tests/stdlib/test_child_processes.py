"""Processes beside the program: what is read and written, what ends them, and what they cannot be made to do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

import language
from language.errors import RuntimeFault
from language.host import EmbeddedHost
from language.native.host import NativeHost
from language.runtime.context import Context
from language.values import FALSE, TRUE, Secret
from runner.engines.process_tree import children
from stdlib import child_processes
from stdlib.child_processes import (
    MOST_PROCESSES,
    proc_close,
    proc_close_stdin,
    proc_kill,
    proc_recv,
    proc_send,
    proc_spawn,
    proc_stats,
    proc_status,
    proc_wait,
)
from stdlib.processes import run
from tests.open_descriptors import left_open, open_descriptors

ROOT = str(Path(language.__file__).parents[1])
#: Longer than anything here takes on a busy machine.
LONG = 60


def context(*scopes):
    ctx = Context(NativeHost(), collect=True)
    for scope in scopes or (None,):
        ctx.capabilities.require("exec", scope)
    return ctx


@pytest.fixture
def ctx(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = context()
    yield made
    made.lifetime.end()


def shell(ctx, script, **opts):
    return proc_spawn(ctx, "sh", ["-c", script], opts or None)


def rest(ctx, process):
    """All that comes until the process has ended."""
    found = []
    while True:
        event = proc_recv(ctx, process, LONG)
        assert event is not None, found
        found.append((event["type"], event["data"]))
        if event["type"] == "exit":
            return found


def error_of(function, *values):
    with pytest.raises(RuntimeFault) as caught:
        function(*values)
    return caught.value.message


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def until(holds, pause=0.01):
    end = time.monotonic() + LONG
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(pause)
    return False


def gone_soon(pid):
    return until(lambda: not alive(pid))


def with_argument(text):
    """The processes of which an argument is this text."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if text.encode() in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
    return found


def number_in(path):
    """The number that a process writes into a file."""
    assert until(lambda: Path(path).exists() and Path(path).read_text().endswith("\n"))
    return int(Path(path).read_text())


class TestTalk:
    def test_lines_come_as_they_are_written_and_then_the_exit_code(self, ctx):
        process = shell(ctx, "echo one; echo; printf 'two\\nlast'; exit 3")
        lines = [("stdout", "one"), ("stdout", ""), ("stdout", "two"), ("stdout", "last"), ("exit", 3)]
        assert rest(ctx, process) == lines
        assert proc_recv(ctx, process, 0) == {"type": "exit", "data": 3}

    def test_both_outputs_are_told_apart(self, ctx):
        assert sorted(rest(ctx, shell(ctx, "echo out; echo err >&2"))) == [("exit", 0), ("stderr", "err"), ("stdout", "out")]

    def test_a_conversation(self, ctx):
        process = proc_spawn(ctx, "cat")
        for line in ("first", "é漢", "third"):
            assert proc_send(ctx, process, line + "\n") is TRUE
            assert proc_recv(ctx, process, LONG) == {"type": "stdout", "data": line}
        assert proc_close_stdin(ctx, process) is TRUE and proc_close_stdin(ctx, process) is TRUE
        assert rest(ctx, process) == [("exit", 0)]

    def test_bytes_both_ways(self, ctx):
        process = proc_spawn(ctx, "cat", None, {"binary": TRUE})
        proc_send(ctx, process, b"\xff\x00\n")
        assert proc_recv(ctx, process, LONG) == {"type": "stdout", "data": b"\xff\x00\n"}

    def test_nothing_when_nothing_comes(self, ctx):
        process = proc_spawn(ctx, "cat")
        assert proc_recv(ctx, process, 0) is None
        assert proc_recv(ctx, process, 0.05) is None
        proc_send(ctx, process, "half a line")
        assert proc_recv(ctx, process, 0.2) is None
        proc_close_stdin(ctx, process)
        assert rest(ctx, process) == [("stdout", "half a line"), ("exit", 0)]

    def test_what_is_no_utf_8(self, ctx):
        assert rest(ctx, shell(ctx, "printf '\\377\\n'"))[0] == ("stdout", "\ufffd")

    def test_a_signal_that_ends_it(self, ctx):
        process = shell(ctx, "kill -9 $$")
        assert rest(ctx, process) == [("exit", -1)]
        assert proc_status(ctx, process) == "killed" and proc_wait(ctx, process) == -1

    def test_the_error_of_a_reader_that_is_gone(self, ctx):
        process = proc_spawn(ctx, "true")
        assert proc_wait(ctx, process, LONG) == 0
        assert error_of(proc_send, ctx, process, "x") == "proc_send: process(true) does not read its input any more"
        process = proc_spawn(ctx, "cat")
        proc_close_stdin(ctx, process)
        assert "does not read its input any more" in error_of(proc_send, ctx, process, "x")


class TestBounds:
    def test_a_flood_waits_until_it_is_read(self, ctx):
        process = proc_spawn(ctx, "yes", None, {"max_output": 1000})
        assert proc_recv(ctx, process, LONG) == {"type": "stdout", "data": "y"}
        taken = proc_stats(ctx, process)["received"]
        for _ in range(50):
            proc_recv(ctx, process, LONG)
        assert proc_status(ctx, process) == "running"
        # What is kept is counted with what an event takes: empty lines cannot fill the memory either.
        assert taken <= 1000 and proc_stats(ctx, process)["received"] <= 3000

    def test_a_line_without_end_comes_in_parts(self, ctx):
        process = shell(ctx, "head -c 100000 /dev/zero | tr '\\0' 'a'; echo; echo next", max_output=30_000)
        *parts, following, end = rest(ctx, process)
        assert (following, end) == (("stdout", "next"), ("exit", 0))
        assert "".join(data for _, data in parts) == "a" * 100_000 and len(parts) > 2

    def test_waiting_keeps_what_fits_and_drops_the_rest(self, ctx):
        process = shell(ctx, "head -c 3000000 /dev/zero; echo end >&2", max_output=1000)
        assert proc_wait(ctx, process, LONG) == 0
        stats = proc_stats(ctx, process)
        assert stats["dropped"] > 2_500_000 and stats["memory_bytes"] is None
        assert rest(ctx, process)[-1] == ("exit", 0)

    def test_more_than_the_pipes_hold_both_ways(self, ctx):
        data = b"0123456789\n" * 60_000
        process = proc_spawn(ctx, "cat", None, {"binary": TRUE})
        assert proc_send(ctx, process, data) is TRUE
        proc_close_stdin(ctx, process)
        assert b"".join(part for kind, part in rest(ctx, process) if kind == "stdout") == data
        assert proc_stats(ctx, process)["sent"] == len(data)

    def test_two_that_wait_for_each_other_end_with_an_error(self, ctx):
        process = proc_spawn(ctx, "cat", None, {"max_output": 1000})
        message = error_of(proc_send, ctx, process, "x\n" * 500_000, 0.3)
        assert message.startswith("proc_send: process(cat) did not take all of the data within 0.3 s")

    def test_as_many_as_there_can_be(self, ctx, monkeypatch):
        monkeypatch.setattr(child_processes, "MOST_PROCESSES", 2)
        processes = [proc_spawn(ctx, "cat") for _ in range(2)]
        assert "2 processes are open, which is as many as there can be" in error_of(proc_spawn, ctx, "cat")
        proc_close(ctx, processes[0])
        assert proc_status(ctx, proc_spawn(ctx, "cat")) == "running"
        assert MOST_PROCESSES == 64

    def test_arguments_that_are_none(self, ctx):
        process = proc_spawn(ctx, "cat")
        assert error_of(proc_spawn, ctx, "cat", "x") == "proc_spawn: args must be a list"
        assert "unknown option" in error_of(proc_spawn, ctx, "cat", None, {"stdin": "x"})
        assert "must be true or false" in error_of(proc_spawn, ctx, "cat", None, {"binary": 1})
        assert "from 1 to" in error_of(proc_spawn, ctx, "cat", None, {"max_output": 0})
        assert "LD_PRELOAD" in error_of(proc_spawn, ctx, "cat", None, {"env": {"LD_PRELOAD": "x"}})
        assert error_of(proc_recv, ctx, "cat") == "proc_recv expects a process, got text"
        for value in (-1, float("nan"), float("inf")):
            assert error_of(proc_recv, ctx, process, value) == "proc_recv: timeout must be a number of seconds from 0"
        assert error_of(proc_send, ctx, process, 5) == "proc_send: the data must be text or bytes, got number"
        assert error_of(proc_kill, ctx, process, "stop") == "proc_kill: the signal must be one of kill, term, int, hup"


class TestEnd:
    def test_the_group_ends_with_the_process(self, ctx):
        process = shell(ctx, "sleep 600 & echo $! > pid; wait")
        child = number_in("pid")
        assert proc_kill(ctx, process) is TRUE
        assert proc_wait(ctx, process, LONG) == -1 and gone_soon(child)
        assert proc_kill(ctx, process) is FALSE

    def test_closing_takes_along_what_the_process_left_behind(self, ctx):
        process = shell(ctx, "sleep 600 >/dev/null 2>&1 & echo $! > pid")
        child = number_in("pid")
        assert proc_wait(ctx, process, LONG) == 0
        assert alive(child)
        assert proc_close(ctx, process) is TRUE and proc_close(ctx, process) is TRUE
        assert gone_soon(child)
        assert proc_status(ctx, process) == "closed"
        assert error_of(proc_recv, ctx, process) == "proc_recv: process(sh) is closed"

    def test_a_signal_that_it_handles(self, ctx):
        process = shell(ctx, "exec 2>/dev/null; trap 'echo stopping; exit 7' TERM; echo ready; while :; do sleep 0.02; done")
        assert proc_recv(ctx, process, LONG)["data"] == "ready"
        assert proc_kill(ctx, process, "term") is TRUE
        assert rest(ctx, process) == [("stdout", "stopping"), ("exit", 7)]

    def test_the_end_of_the_run_ends_it(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        program = 'require exec("sh")\nlet p be proc_spawn("sh", ["-c", "echo $$ > pid; exec sleep 600"])\nproc_recv(p, {})'
        for index, way in enumerate(("0.5", "0.5)\nraise('x'", "0.5)\nexit(3")):
            Path("pid").unlink(missing_ok=True)
            language.run(program.format(way), host=NativeHost())
            assert gone_soon(number_in("pid")), index

    def test_a_limit_of_time_ends_the_wait_and_the_process(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        for wait in ("proc_recv(p, 600)", "proc_wait(p)", 'proc_send(p, "x" * 1, 600)\nproc_wait(p, 600)'):
            Path("pid").unlink(missing_ok=True)
            act = wait.replace('"x" * 1', '"x"')
            program = f'require exec("sh")\nlet p be proc_spawn("sh", ["-c", "echo $$ > pid; exec sleep 600"])\n{act}'
            answer = language.run(program, host=NativeHost(), limits={"time_ms": 700})
            assert answer["limit"] == "time_ms"
            assert gone_soon(number_in("pid"))

    @pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
    def test_it_ends_where_the_interpreter_is_killed(self, tmp_path, number):
        # It says its number once it is told to, hence after the program has gone on behind proc_spawn.
        source = (
            'require exec("sh")\nlet p be proc_spawn("sh", ["-c", "read go; echo $$ > pid; exec sleep 600"])\n'
            'proc_send(p, "go\\n")\nproc_wait(p)\n'
        )
        (tmp_path / "p.lang").write_text(source)
        process = subprocess.Popen(
            [sys.executable, "-m", "language.cli.main", "run", "p.lang"],
            env={**os.environ, "PYTHONPATH": ROOT, "HOME": str(tmp_path)},
            cwd=tmp_path,
            stderr=subprocess.PIPE,
        )
        try:
            child = number_in(tmp_path / "pid")
        finally:
            process.send_signal(number)
            process.communicate(timeout=LONG)
        assert gone_soon(child)

    @pytest.mark.parametrize("milliseconds", [0, 0, 0, 1, 2, 5, 10, 20, 50, 100])
    def test_it_ends_where_the_interpreter_is_killed_while_it_starts_it(self, tmp_path, milliseconds):
        marker = f"600.{os.getpid()}{time.monotonic_ns()}"
        (tmp_path / "p.lang").write_text(f'require exec("sleep")\nproc_wait(proc_spawn("sleep", ["{marker}"]))\n')
        process = subprocess.Popen(
            [sys.executable, "-m", "language.cli.main", "run", "p.lang"],
            env={**os.environ, "PYTHONPATH": ROOT, "HOME": str(tmp_path)},
            cwd=tmp_path,
            stderr=subprocess.PIPE,
        )
        try:
            # The first is the one that watches over the second: that is killed with the interpreter.
            assert until(lambda: len(children(process.pid)) > 1, 0)
            time.sleep(milliseconds / 1000)
        finally:
            process.kill()
            process.communicate(timeout=LONG)
        assert until(lambda: not with_argument(marker))

    def test_it_is_guarded_also_where_no_other_interpreter_can_be_started(self, ctx, tmp_path, monkeypatch):
        missing = tmp_path / "python-that-ends"
        missing.write_text("#!/bin/sh\nexit 1\n")
        missing.chmod(0o755)
        for found in ("", "/usr/bin/some-program", str(missing)):
            monkeypatch.setattr(sys, "executable", found)
            process = proc_spawn(ctx, "cat")
            guard = process.process._guard
            os.close(guard._held)  # as the system does where the interpreter is killed
            assert proc_wait(ctx, process, LONG) == -1, found
            guard._held = os.dup(0)
            proc_close(ctx, process)

    def test_nothing_stays_open(self, ctx):
        before = open_descriptors()
        for _ in range(3):
            process = proc_spawn(ctx, "cat")
            proc_send(ctx, process, "x\n")
            proc_close(ctx, process)
            error_of(proc_spawn, ctx, "no-such-command")
        assert left_open(before) == []
        assert sum(map(len, child_processes._open.values())) == 0

    def test_processes_that_ended_do_not_stay(self, ctx):
        process = proc_spawn(ctx, "true")
        guard = process.process._guard._process.pid
        assert proc_wait(ctx, process, LONG) == 0
        proc_close(ctx, process)
        assert not Path(f"/proc/{process.process.pid}").exists() and not Path(f"/proc/{guard}").exists()


class TestRights:
    def test_the_command_is_decided_as_for_run(self, ctx):
        assert 'exec("true")' in error_of(proc_spawn, context("cat"), "true")
        assert 'exec("/bin/true")' in error_of(proc_spawn, context("true"), "/bin/true")
        assert error_of(proc_spawn, ctx, "no-such-command").startswith('proc_spawn: cannot start "no-such-command": ')

    def test_each_use_in_a_sandbox_is_refused(self, ctx):
        program = 'require exec("cat")\nlet p be proc_spawn("cat")\nsandbox\n    '
        for act in (
            'proc_send(p, "x")',
            "proc_recv(p, 0)",
            "proc_close_stdin(p)",
            "proc_kill(p)",
            "proc_wait(p, 0)",
            "proc_status(p)",
            "proc_stats(p)",
        ):
            answer = language.run(program + act, host=NativeHost())
            assert 'Capability not granted: exec("cat")' in answer["errors"][0], act

    def test_it_does_not_cross(self, ctx):
        answer = language.run(
            'require exec("cat")\nlet p be proc_spawn("cat")\nparallel_map((n) => proc_recv(p, 0), [1])', host=NativeHost()
        )
        assert "a process does not cross into workers, agents or handlers" in answer["errors"][0]
        process = proc_spawn(ctx, "cat")
        assert "does not cross" in error_of(proc_close, context(), process)
        assert "does not cross" in error_of(proc_recv, context(), process)

    def test_a_secret_is_sent_only_where_it_may_be_revealed(self, ctx, tmp_path, monkeypatch):
        monkeypatch.setenv("PLATFORM_AUDIT_DIR", str(tmp_path / "audit"))
        process = proc_spawn(ctx, "cat")
        secret = Secret("hunter2\n", ("KEY",))
        assert "reveal() not permitted" in error_of(proc_send, ctx, process, secret)
        ctx.capabilities.require("reveal", "KEY")
        proc_send(ctx, process, secret)
        assert proc_recv(ctx, process, LONG)["data"] == "hunter2"
        assert "secret(KEY)" in str(rest(ctx, proc_spawn(ctx, "echo", [secret])))

    def test_variables_of_the_program_are_withheld(self, ctx, monkeypatch):
        monkeypatch.setenv("OPENAI_API_KEY", "key")
        monkeypatch.setenv("PLATFORM_X", "x")
        monkeypatch.setenv("KEPT", "kept")
        lines = [data for _, data in rest(ctx, proc_spawn(ctx, "env"))]
        assert "KEPT=kept" in lines
        assert not [line for line in map(str, lines) if line.startswith(("OPENAI_API_KEY", "PLATFORM_"))]

    def test_a_host_without_processes(self):
        ctx = Context(EmbeddedHost(), collect=True)
        ctx.capabilities.require("exec", None)
        assert error_of(proc_spawn, ctx, "cat").startswith("proc_spawn: ")
        assert error_of(proc_recv, ctx, None).startswith("proc_recv: not available in the wasm profile")

    def test_it_is_started_as_by_the_program_itself(self, ctx, tmp_path, monkeypatch):
        for name in ("LC_ALL", "LC_CTYPE", "LANG", "PWD"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("a name of no shell", "é\n")
        # Of grep, which inherits it: a shell may block all signals itself while it starts a command.
        status = "grep -E '^(SigBlk|SigIgn|SigCgt|Name|Umask)' /proc/self/status"
        state = status + "; tr '\\0' '|' < /proc/$$/cmdline; ulimit -a; ls /proc/$$/fd"
        commands = (
            ("env", ["-0"], {}),
            ("env", ["-0"], {"env": {"LC_CTYPE": "C", "LANG": "de_DE", "PYTHONHOME": "/nowhere", "PYTHONUTF8": "x"}}),
            ("sh", ["-c", state, "é", ""], {"cwd": "/"}),
            ("sh", ["-c", state, "é", ""], {"env": {"LC_ALL": "C"}}),
        )
        for command in commands:
            name, args, opts = command
            lines = [str(data) for kind, data in rest(ctx, proc_spawn(ctx, name, args, opts)) if kind == "stdout"]
            assert sorted(lines) == sorted(run(ctx, name, args, None, opts)["stdout"].rstrip("\n").split("\n")), command

    def test_a_file_that_cannot_be_executed(self, ctx, tmp_path):
        Path("x").write_bytes(b"\x7fELF")
        Path("x").chmod(0o755)
        before = open_descriptors()
        words = 'cannot start "./x": Exec format error'
        assert error_of(proc_spawn, ctx, "./x") == "proc_spawn: " + words
        assert error_of(run, ctx, "./x") == "run: " + words
        assert left_open(before) == []

    def test_no_descriptor_is_inherited_but_the_standard_three(self, ctx):
        proc_spawn(ctx, "cat")
        listed = rest(ctx, proc_spawn(ctx, "ls", ["/proc/self/fd"]))
        assert {data for kind, data in listed if kind == "stdout"} - {"3"} == {"0", "1", "2"}  # 3 is the folder itself
