"""Running commands: results, errors word for word, what a child receives and what is left of it."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

import language
from language.capabilities import Ceiling
from language.compiler.compilation import compile_source
from language.errors import RuntimeFault
from language.native.host import NativeHost
from language.runtime.context import Context
from language.runtime.instance import Instance
from language.values import FALSE, TRUE, Secret
from language.values.decimals import parse
from stdlib.processes import run
from tests.open_descriptors import left_open, open_descriptors

PYTHON = sys.executable


def context(*scopes: str, env_file: dict[str, str] | None = None) -> Context:
    ctx = Context(NativeHost(env_file), collect=True)
    for scope in scopes or (None,):
        ctx.capabilities.require("exec", scope)
    return ctx


def python(ctx: Context, program: str, *arguments, timeout=None, **opts):
    return run(ctx, PYTHON, ["-c", program, *arguments], timeout, opts or None)


def error_of(function, *values, **named) -> str:
    with pytest.raises(RuntimeFault) as caught:
        function(*values, **named)
    return caught.value.message


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
def ctx() -> Context:
    return context()


class TestResults:
    def test_shape(self, ctx):
        answer = python(ctx, "import sys; print('out'); sys.stderr.write('err'); sys.exit(3)")
        assert list(answer.items()) == [
            ("exit_code", 3),
            ("stdout", "out\n"),
            ("stderr", "err"),
            ("stdout_truncated", FALSE),
            ("stderr_truncated", FALSE),
        ]

    def test_without_arguments(self, ctx):
        assert run(ctx, "true")["exit_code"] == 0
        assert run(ctx, "false", None, None, None)["exit_code"] == 1

    def test_a_signal(self, ctx):
        assert python(ctx, "import os; os.kill(os.getpid(), 9)")["exit_code"] == -1

    def test_arguments_reach_the_command_as_they_are(self, ctx):
        given = ["$HOME; echo x", "*", "", "é", 1.5, TRUE, None, ["a"], Secret("hunter2", ("K",))]
        answer = python(ctx, "import sys; print(sys.argv[1:])", *given)
        expected = ["$HOME; echo x", "*", "", "é", "1.5", "True", "None", '["a"]', "secret(K)"]
        assert answer["stdout"] == f"{expected}\n"

    def test_output_is_decoded_lossily(self, ctx):
        answer = python(ctx, r"import os; os.write(1, b'a\xffb'); os.write(2, b'\xe2\x82')")
        assert (answer["stdout"], answer["stderr"]) == ("a\ufffdb", "\ufffd")


class TestStandardInput:
    ECHO = "import sys; sys.stdout.write(repr(sys.stdin.buffer.read()))"

    def test_empty_without(self, ctx):
        assert python(ctx, self.ECHO, timeout=20)["stdout"] == "b''"

    @pytest.mark.parametrize(("given", "expected"), [("é", "é".encode()), (b"\xff", b"\xff"), ("", b"")])
    def test_text_and_bytes(self, ctx, given, expected):
        assert python(ctx, self.ECHO, stdin=given)["stdout"] == repr(expected)

    def test_more_than_a_pipe_holds_both_ways(self, ctx):
        data = os.urandom(1 << 20).hex()
        assert run(ctx, "cat", None, 60, {"stdin": data})["stdout"] == data

    def test_a_command_that_does_not_read(self, ctx):
        assert run(ctx, "true", None, 60, {"stdin": "x" * (1 << 22)})["exit_code"] == 0

    def test_other_types(self, ctx):
        assert error_of(run, ctx, "cat", None, None, {"stdin": 5}) == 'run: option "stdin" must be text or bytes, got number'

    def test_a_secret_needs_reveal(self, ctx, monkeypatch, tmp_path):
        monkeypatch.setenv("PLATFORM_AUDIT_DIR", str(tmp_path / "audit"))
        sealed = Secret("hunter2", ("KEY",))
        for opts in ({"stdin": sealed}, {"env": {"A": sealed}}):
            assert error_of(run, ctx, "cat", None, None, opts).startswith("reveal() not permitted: ")
        ctx.capabilities.require("reveal", "KEY")
        assert run(ctx, "cat", None, None, {"stdin": sealed})["stdout"] == "hunter2"
        assert run(ctx, "printenv", ["A"], None, {"env": {"A": sealed}})["stdout"] == "hunter2\n"


class TestOutputLimit:
    def test_the_rest_is_drained_and_flagged(self, ctx):
        answer = python(ctx, "import os; os.write(1, b'x' * 10); os.write(2, b'y' * 11)", max_output=10)
        assert (answer["stdout"], answer["stdout_truncated"]) == ("x" * 10, FALSE)
        assert (answer["stderr"], answer["stderr_truncated"]) == ("y" * 10, TRUE)

    def test_a_flood(self, ctx):
        answer = python(ctx, "import sys; sys.stdout.write('x' * (1 << 25)); print('end', file=sys.stderr)")
        assert len(answer["stdout"]) == 10 * 1024 * 1024
        assert (answer["stdout_truncated"], answer["stderr"], answer["exit_code"]) == (TRUE, "end\n", 0)

    def test_nothing_kept(self, ctx):
        answer = python(ctx, "print('x')", max_output=0)
        assert (answer["stdout"], answer["stdout_truncated"]) == ("", TRUE)

    @pytest.mark.parametrize("value", [-1, 1.5, "x"])
    def test_bad(self, ctx, value):
        assert error_of(run, ctx, "true", None, None, {"max_output": value}).startswith('run: option "max_output" must be')


class TestTimeout:
    def test_the_whole_group_is_killed(self, ctx):
        program = (
            "import os, subprocess, sys, time\n"
            "child = subprocess.Popen(['sleep', '600'])\n"
            "open('pids', 'w').write(f'{os.getpid()} {child.pid}')\n"
            "time.sleep(600)"
        )
        started = time.monotonic()
        assert error_of(python, ctx, program, timeout=1.5) == f'run: "{PYTHON}" timed out after 1.5s'
        assert time.monotonic() - started < 20
        pids = [int(pid) for pid in Path("pids").read_text().split()]
        assert len(pids) == 2
        assert all(gone_soon(pid) for pid in pids)

    def test_a_child_that_keeps_the_streams_open(self, ctx):
        program = "import os, subprocess\nchild = subprocess.Popen(['sleep', '600'])\nopen('pid', 'w').write(str(child.pid))"
        assert error_of(python, ctx, program, timeout=2) == f'run: "{PYTHON}" timed out after 2s'
        assert gone_soon(int(Path("pid").read_text()))

    def test_a_command_that_closes_its_streams_and_goes_on(self, ctx):
        program = "import os, time\nos.close(1); os.close(2)\nopen('pid', 'w').write(str(os.getpid()))\ntime.sleep(600)"
        assert error_of(python, ctx, program, timeout=1) == f'run: "{PYTHON}" timed out after 1s'
        assert gone_soon(int(Path("pid").read_text()))

    @pytest.mark.parametrize("value", [0, 0.0])
    def test_none_left(self, ctx, value):
        assert error_of(run, ctx, "sleep", ["5"], value) == 'run: "sleep" timed out after 0s'

    @pytest.mark.parametrize("value", [60, 60.5, parse("60.5"), 10**9])
    def test_numbers(self, ctx, value):
        assert run(ctx, "true", None, value)["exit_code"] == 0

    def test_bad(self, ctx):
        assert error_of(run, ctx, "true", None, "5") == "run: timeout must be a number of seconds, got text"
        for value in (-1, float("nan"), float("inf"), 10**400):
            assert error_of(run, ctx, "true", None, value) == "run: timeout must be a number of seconds from 0"


class TestGate:
    def test_the_name_as_it_is_passed(self):
        ctx = context("true")
        assert run(ctx, "true")["exit_code"] == 0
        assert error_of(run, ctx, "/bin/true").startswith('Capability not granted: exec("/bin/true")')
        assert error_of(run, ctx, "touch", ["made"]).startswith('Capability not granted: exec("touch")')
        assert not Path("made").exists()

    def test_errors(self, ctx):
        assert error_of(run, ctx, "true", "x") == "run: args must be a list"
        assert error_of(run, ctx, "no-such-command") == 'run: cannot start "no-such-command": no such command in PATH'
        assert error_of(run, ctx, "") == 'run: cannot start "": no such command in PATH'
        assert error_of(run, ctx, "/no/such") == 'run: cannot start "/no/such": No such file or directory'
        Path("plain").write_text("x")
        assert error_of(run, ctx, "./plain") == 'run: cannot start "./plain": Permission denied'
        assert error_of(run, ctx, "true", ["a\0b"]).startswith('run: cannot start "true": ')
        assert error_of(run, ctx, "a\0b").startswith('run: cannot start "a\0b": ')
        assert error_of(run, ctx, "true", None, None, {"cwd": "none"}).startswith('run: cannot start "true": ')
        assert error_of(run, ctx, "true", None, None, {"shell": TRUE}).startswith('run: unknown option "shell"')
        assert error_of(run, ctx, "true", None, None, "x") == "run: the options must be a map, got text"

    def test_a_host_without_processes(self):
        refusal = (
            "run: this host has no filesystem — pass data in through the program's source/env, or run the program with the "
            "native `lang` binary (or the wasip1 build under wasmtime with --dir)"
        )
        answer = language.run('run("touch", ["made"])')
        assert answer["errors"][0].startswith('Runtime error: <embedded>:1:4: Capability not granted: exec("touch")')
        assert answer["errors"][0].endswith("; " + refusal)
        assert answer["audit"][-1]["granted"] is False
        assert language.run('require exec\nrun("touch", ["made"])')["errors"] == [f"Runtime error: <embedded>:2:4: {refusal}"]
        assert not Path("made").exists()


class TestLookup:
    @pytest.fixture
    def tool(self, tmp_path: Path) -> Path:
        tool = tmp_path / "bin" / "tool"
        tool.parent.mkdir()
        tool.write_text("#!/bin/sh\necho ours\n")
        tool.chmod(0o755)
        return tool

    def test_empty_and_relative_entries_of_the_path_are_passed_over(self, ctx, tool, monkeypatch):
        monkeypatch.setenv("PATH", "bin:")
        monkeypatch.chdir(tool.parent.parent)
        assert "no such command" in error_of(run, ctx, "tool")
        monkeypatch.chdir(tool.parent)
        assert "no such command" in error_of(run, ctx, "tool")
        monkeypatch.setenv("PATH", f"bin::{tool.parent}")
        assert run(ctx, "tool")["stdout"] == "ours\n"

    def test_never_the_path_of_the_options(self, ctx, tool):
        opts = {"env": {"PATH": str(tool.parent)}}
        assert "no such command" in error_of(run, ctx, "tool", None, None, opts)
        assert run(ctx, "printenv", ["PATH"], None, opts)["stdout"] == f"{tool.parent}\n"

    def test_a_path_is_taken_from_the_folder_of_the_program(self, ctx, tool):
        other = Path("other/bin")
        other.mkdir(parents=True)
        (other / "tool").write_text("#!/bin/sh\necho theirs\n")
        (other / "tool").chmod(0o755)
        assert run(ctx, "./bin/tool", None, None, {"cwd": "other"})["stdout"] == "ours\n"

    def test_cwd(self, ctx):
        Path("d").mkdir()
        assert python(ctx, "import os; print(os.path.basename(os.getcwd()))", cwd="d")["stdout"] == "d\n"


class TestEnvironment:
    @staticmethod
    def of(ctx: Context, **opts) -> dict[str, str]:
        listed = run(ctx, "env", ["-0"], None, opts or None)["stdout"]
        return dict(entry.split("=", 1) for entry in listed.split("\0") if entry)

    def test_what_is_left_out(self, monkeypatch):
        for name in (
            "KEPT",
            "FROM_FILE",
            "OPENAI_API_KEY",
            "ANTHROPIC_API_KEY",
            "PLATFORM_AUDIT_DIR",
            "NAMED",
            "PRE_A",
            "ABOVE",
        ):
            monkeypatch.setenv(name, "value")
        ctx = Context(
            NativeHost({"FROM_FILE": "x", "ONLY_FILE": "y"}), ceiling=Ceiling.parse("exec,secret=PRE_*"), collect=True
        )
        for name, scope in (("exec", None), ("secret", "NAMED"), ("secret", "PRE_*"), ("secret", "ABOVE")):
            ctx.capabilities.require(name, scope)
        names = self.of(ctx)
        assert names["KEPT"] == "value"
        left_out = {
            "FROM_FILE",
            "ONLY_FILE",
            "OPENAI_API_KEY",
            "ANTHROPIC_API_KEY",
            "PLATFORM_AUDIT_DIR",
            "NAMED",
            "PRE_A",
            "ABOVE",
        }
        assert not left_out & set(names)

    def test_a_secret_of_any_name_leaves_out_none(self, monkeypatch):
        monkeypatch.setenv("KEPT", "value")
        ctx = context()
        ctx.capabilities.require("secret", None)
        ctx.capabilities.require("secret", "*")
        assert self.of(ctx)["KEPT"] == "value"

    @pytest.mark.parametrize(
        "declaring",
        [
            'task later()\n    require secret("HIDDEN")\n    give 1',
            "when false\n    require secret('HIDDEN')",
            'try\n    raise "x"\n    require secret("HIDDEN")\nrecover\n    nothing',
            'sandbox\n    require secret "HIDDEN"',
            'task tool()\n    require secret("HID*")\ncall_tool(tool, nothing)',
            'use "./m.lang" as m',
            'test "x"\n    require secret("OTHER")\nrequire secret("HIDDEN")',
        ],
    )
    def test_a_line_that_is_not_reached_names_its_secret_too(self, monkeypatch, tmp_path, declaring):
        """What is a secret does not depend on how far the program has come (3.4)."""
        monkeypatch.setenv("HIDDEN", "hunter2")
        monkeypatch.setenv("KEPT", "value")
        (tmp_path / "m.lang").write_text('export task f()\n    require secret("HIDDEN")\n    give 1')
        seen = 'run("sh", ["-c", "echo $HIDDEN,$KEPT"])["stdout"]'
        source = f'{declaring}\nrequire exec("sh")\nprint({seen}, parallel_map((n) => {seen}, [1]))'
        instance = Instance(compile_source(source, "p.lang").named("p.lang"), NativeHost(), root=str(tmp_path), collect=True)
        instance.run()
        assert instance.context.collected == [',value\n [",value\\n"]']

    def test_what_is_added(self, ctx, monkeypatch):
        monkeypatch.setenv("KEPT", "value")
        names = self.of(ctx, env={"KEPT": "other", "ADDED": 1.5, "OPENAI_API_KEY": "given", "PLATFORM_X": "given"})
        assert (names["KEPT"], names["ADDED"]) == ("other", "1.5")
        assert (names["OPENAI_API_KEY"], names["PLATFORM_X"]) == ("given", "given")

    @pytest.mark.parametrize("name", ["LD_PRELOAD", "LD_LIBRARY_PATH", "DYLD_INSERT_LIBRARIES"])
    def test_the_loader_is_left_alone(self, ctx, name):
        assert error_of(run, ctx, "true", None, None, {"env": {name: "x"}}).startswith(f"run: {name} cannot be set")

    def test_bad_names(self, ctx):
        assert error_of(run, ctx, "true", None, None, {"env": {"A=B": "x"}}) == 'run: "A=B" is no name of a variable'
        assert error_of(run, ctx, "true", None, None, {"env": {"": "x"}}) == 'run: "" is no name of a variable'
        assert error_of(run, ctx, "true", None, None, {"env": ["A"]}) == 'run: option "env" must be a map, got list'
        assert error_of(run, ctx, "true", None, None, {"env": {"A\0": "x"}}).startswith('run: cannot start "true": ')


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="no /proc here")
def test_no_descriptor_is_inherited_but_the_standard_three(ctx):
    with open("open", "w") as file:
        os.set_inheritable(file.fileno(), True)
        listed = python(ctx, "import os; print(sorted(map(int, os.listdir('/proc/self/fd')))[:-1])")["stdout"]
    assert listed == "[0, 1, 2]\n"


def test_nothing_stays_open(ctx):
    before = open_descriptors()
    for _ in range(3):
        run(ctx, "cat", None, None, {"stdin": "x"})
        error_of(run, ctx, "sleep", ["5"], 0)
        error_of(run, ctx, "none")
    assert left_open(before) == []


def test_an_interrupt_takes_the_command_along(tmp_path):
    """Ctrl-C while a command runs: the program ends, the command as well."""
    import signal
    import subprocess

    Path("p.lang").write_text('require exec("sh")\nrun("sh", ["-c", "echo $$ > pid; sleep 600"])\n')
    root = str(Path(language.__file__).parents[1])
    process = subprocess.Popen(
        [PYTHON, "-m", "language.cli.main", "run", "p.lang"],
        env={**os.environ, "PYTHONPATH": root, "HOME": str(tmp_path)},
        stderr=subprocess.PIPE,
    )
    for _ in range(500):
        if Path("pid").exists() and Path("pid").read_text().strip():
            break
        time.sleep(0.02)
    pid = int(Path("pid").read_text())
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert process.returncode == 130
    assert gone_soon(pid)
