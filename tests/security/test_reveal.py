"""``reveal``: the gate for every name, the line in the log before the plaintext, and nothing without that line."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import language
from language.capabilities import Ceiling
from language.errors import RuntimeFault
from language.host import EmbeddedHost
from language.native.host import NativeHost
from language.runtime.context import Context
from language.values import Secret
from stdlib.environment import bearer
from stdlib.sealing import reveal

ROOT = Path(__file__).resolve().parent.parent.parent
LINE = re.compile(
    r"(?P<when>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ) reveal result=(?P<result>granted|denied) name=(?P<name>\S+) "
    r"at=(?P<at>\S*:\d+) program=(?P<program>\S*)"
)


class Journal(EmbeddedHost):
    """A host whose log is a list."""

    def __init__(self):
        super().__init__({})
        self.lines = []

    def now(self):
        return 1_700_000_000.9

    def append_audit_line(self, log, line):
        assert log == "reveal.log"
        self.lines += line.split("\n")


def context(*names, host=None, ceiling=None):
    ctx = Context(host or Journal(), collect=True, ceiling=ceiling)
    ctx.program = "folder/prog ram.lang"
    for name in names:
        ctx.capabilities.require("reveal", name)
    return ctx


def refused(ctx, value):
    with pytest.raises(RuntimeFault) as caught:
        reveal(ctx, value)
    return caught.value.message


def run(program, folder, *options, **environment):
    """The program as the command runs it, its home and working directory in ``folder``."""
    (folder / "prog.lang").write_text(program, encoding="utf-8")
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PLATFORM_")}
    return subprocess.run(
        [sys.executable, "-m", "language", "run", *options, "prog.lang"],
        cwd=folder,
        env={**kept, "PYTHONPATH": str(ROOT), "HOME": str(folder / "home"), **environment},
        capture_output=True,
        encoding="utf-8",
        timeout=60,
    )


class TestTheGate:
    def test_granted(self):
        ctx = context("K")
        assert reveal(ctx, Secret("hunter2", ("K",))) == "hunter2"
        assert reveal(ctx, Secret(b"\x00\xff", ("K",))) == b"\x00\xff"
        assert [LINE.fullmatch(line)["result"] for line in ctx.host.lines] == ["granted", "granted"]

    @pytest.mark.parametrize(("value", "kind"), [("text", "text"), (None, "nothing"), (b"x", "bytes"), ([], "list")])
    def test_what_is_no_secret(self, value, kind):
        ctx = context("K")
        assert refused(ctx, value) == f"reveal() expects a secret, got {kind}"
        assert ctx.host.lines == []

    def test_denied(self):
        ctx = context("OTHER")
        assert refused(ctx, Secret("hunter2", ("K",))) == (
            'reveal() not permitted: Capability not granted: reveal("K") — add `require reveal("K")` (every reveal is audited)'
        )
        assert ctx.host.lines == ["2023-11-14T22:13:20Z reveal result=denied name=K at=:0 program=prog\\u0020ram"]

    def test_every_name_that_a_secret_keeps(self):
        both = Secret("a", ("A",)) + "-" + Secret("b", ("B",))
        for granted, missing in (((), "A"), (("A",), "B"), (("B",), "A")):
            ctx = context(*granted)
            assert f'Capability not granted: reveal("{missing}")' in refused(ctx, both)
            assert [(LINE.fullmatch(line)["result"], LINE.fullmatch(line)["name"]) for line in ctx.host.lines] == [
                ("denied", missing)
            ]
        ctx = context("A", "B")
        assert reveal(ctx, both) == "a-b"
        assert [LINE.fullmatch(line)["name"] for line in ctx.host.lines] == ["A", "B"]

    def test_a_new_label_does_not_rename(self):
        ctx = context("mine", "bearer")
        for value in (bearer(Secret("x", ("K",))), Secret("x", ("K",)) + Secret("", ("mine",))):
            assert 'reveal("K")' in refused(ctx, value)

    def test_above_the_ceiling(self):
        ctx = context("K", ceiling=Ceiling.parse("stdout,reveal=OTHER"))
        assert refused(ctx, Secret("x", ("K",))) == (
            'Capability not granted: reveal("K") — declared but above the host ceiling (--sandbox/--cap-set); '
            "the host must widen the ceiling"
        )
        assert [LINE.fullmatch(line)["result"] for line in ctx.host.lines] == ["denied"]

    def test_a_pattern_covers_names(self):
        ctx = context("DB_*")
        assert reveal(ctx, Secret("x", ("DB_PASSWORD",))) == "x"
        assert "not permitted" in refused(ctx, Secret("x", ("API_KEY",)))

    def test_a_name_that_looks_like_a_pattern_is_only_a_name(self):
        assert 'reveal("*")' in refused(context("K"), Secret("x", ("*",)))

    def test_the_capability_stream(self):
        ctx = context("K")
        reveal(ctx, Secret("hunter2", ("K",)))
        refused(ctx, Secret("hunter2", ("L",)))
        records = [(r["capability"], r["scope"], r["granted"]) for r in ctx.capabilities.records]
        assert records[-2:] == [("reveal", "K", True), ("reveal", "L", False)]
        assert "hunter2" not in str(ctx.capabilities.records)


class TestTheLine:
    @pytest.mark.parametrize(
        ("name", "shown"),
        [
            ("API_KEY", "API_KEY"),
            ("clé", "clé"),
            ("a b", "a\\u0020b"),
            ("a\tb\nresult=granted", "a\\u0009b\\u000aresult=granted"),
            ("a\u2028b", "a\\u2028b"),
            ("a\u00a0b\u0085", "a\\u00a0b\\u0085"),
            ("a\u202eb", "a\\u202eb"),
            ("a\\u0020b", "a\\u005cu0020b"),
            ("\U000e0001", "\\udb40\\udc01"),
            ("", ""),
        ],
    )
    def test_a_name_is_one_word(self, name, shown):
        ctx = context(name)
        reveal(ctx, Secret("x", (name,)))
        assert ctx.host.lines == [f"2023-11-14T22:13:20Z reveal result=granted name={shown} at=:0 program=prog\\u0020ram"]

    def test_the_place(self, tmp_path):
        (tmp_path / "parts").mkdir()
        (tmp_path / "parts" / "mod.lang").write_text("export task open(s)\n    give reveal(s)\n", encoding="utf-8")
        program = (
            'require reveal("K")\n'
            'use "parts/mod.lang" as mod\n'
            'let s be as_secret("hunter2", "K")\n'
            "print(length(reveal(s)))\n"
            "print(length(mod.open(s)))\n"
            "task inner()\n"
            "    try\n"
            '        reveal(as_secret("x", "L"))\n'
            "    recover e\n"
            '        give "refused"\n'
            "print(inner())\n"
            "print(apply([s, s], reveal) == [s, s])\n"
        )
        done = run(program, tmp_path, PLATFORM_AUDIT_DIR=str(tmp_path / "audit"))
        assert (done.stdout, done.stderr) == ("7\n7\nrefused\ntrue\n", "")
        found = [LINE.fullmatch(line) for line in (tmp_path / "audit" / "reveal.log").read_text().splitlines()]
        assert [(m["result"], m["name"], m["at"], m["program"]) for m in found] == [
            ("granted", "K", "prog.lang:4", "prog"),
            ("granted", "K", "parts/mod.lang:2", "prog"),
            ("denied", "L", "prog.lang:8", "prog"),
            ("granted", "K", "prog.lang:12", "prog"),
            ("granted", "K", "prog.lang:12", "prog"),
        ]


class TestTheFile:
    PROGRAM = 'require reveal("K")\nprint(reveal(as_secret("hunter2", "K")))\n'

    def test_made_for_its_owner_alone(self, tmp_path):
        done = run(self.PROGRAM, tmp_path)
        assert done.stdout == "hunter2\n"
        folder = tmp_path / "home" / ".lang" / "audit"
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert stat.S_IMODE((folder / "reveal.log").stat().st_mode) == 0o600
        run(self.PROGRAM, tmp_path)
        text = (folder / "reveal.log").read_text()
        assert len(text.splitlines()) == 2
        assert "hunter2" not in text

    def test_nothing_is_revealed_without_it(self, tmp_path):
        (tmp_path / "taken").write_text("a file, not a folder")
        done = run(self.PROGRAM, tmp_path, PLATFORM_AUDIT_DIR=str(tmp_path / "taken"))
        assert done.returncode == 1
        assert done.stdout == ""
        assert done.stderr.splitlines()[0] == (
            'Runtime error: prog.lang:2:13: reveal("K") failed: cannot write the audit log (File exists). '
            "Refusing to reveal without an audit trail."
        )

    @pytest.mark.parametrize("kind", ["folder", "link", "dangling link", "pipe", "device"])
    def test_what_is_no_file_of_its_own(self, tmp_path, kind):
        folder = tmp_path / "audit"
        folder.mkdir()
        log = folder / "reveal.log"
        if kind == "folder":
            log.mkdir()
        elif kind == "link":
            (tmp_path / "elsewhere").write_text("")
            log.symlink_to(tmp_path / "elsewhere")
        elif kind == "dangling link":
            log.symlink_to(tmp_path / "elsewhere")
        elif kind == "pipe":
            os.mkfifo(log)
        else:
            log.symlink_to("/dev/full")
        done = run(self.PROGRAM, tmp_path, PLATFORM_AUDIT_DIR=str(folder))
        assert done.stdout == ""
        assert 'reveal("K") failed: cannot write the audit log (' in done.stderr
        assert not (tmp_path / "elsewhere").exists() or (tmp_path / "elsewhere").read_text() == ""

    def test_a_full_disk(self, tmp_path):
        """A limit on the size of files stands in for it: a part of a line is not a line."""
        script = (
            "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (20, 20));"
            "from language.native.host import NativeHost\n"
            "try:\n    NativeHost().append_audit_line('reveal.log', 'x' * 50)\n"
            "except OSError as error:\n    print('refused', error)"
        )
        done = subprocess.run(
            [sys.executable, "-B", "-c", script],
            env={"PYTHONPATH": str(ROOT), "PLATFORM_AUDIT_DIR": str(tmp_path)},
            capture_output=True,
            encoding="utf-8",
            timeout=60,
        )
        assert done.stdout.startswith("refused"), done.stderr

    def test_a_refusal_stands_without_its_line(self, tmp_path):
        (tmp_path / "taken").write_text("")
        done = run('reveal(as_secret("x", "K"))\n', tmp_path, PLATFORM_AUDIT_DIR=str(tmp_path / "taken"))
        assert done.stderr.startswith("Runtime error: prog.lang:1:7: reveal() not permitted: Capability not granted")

    def test_the_env_file_does_not_move_it(self, tmp_path):
        (tmp_path / ".env").write_text(f"PLATFORM_AUDIT_DIR={tmp_path / 'mine'}\n")
        assert run(self.PROGRAM, tmp_path).stdout == "hunter2\n"
        assert not (tmp_path / "mine").exists()
        assert (tmp_path / "home" / ".lang" / "audit" / "reveal.log").exists()

    def test_the_manual(self, tmp_path):
        """Case A of the chapter, as far as it concerns the log."""
        program = (
            'require secret("DEMO_KEY")\nlet k be secret("DEMO_KEY")\n'
            "try\n    reveal(k)\nrecover e\n"
            '    when contains(e, "reveal() not permitted: Capability not granted: reveal(\\"DEMO_KEY\\")")\n'
            '        print("sealed")\n'
        )
        done = run(program, tmp_path, DEMO_KEY="hunter2", PLATFORM_AUDIT_DIR=str(tmp_path / "audit"))
        assert (done.stdout, done.stderr) == ("sealed\n", "")
        (line,) = (tmp_path / "audit" / "reveal.log").read_text().splitlines()
        assert " result=denied name=DEMO_KEY " in line
        assert "hunter2" not in line


class TestWithoutAFileSystem:
    PROGRAM = 'require reveal("K")\nprint(reveal(as_secret("hunter2", "K")))\n'

    def test_without_the_hook_nothing_is_revealed(self):
        answer = language.Program(self.PROGRAM).run()
        assert answer["output"] == []
        assert answer["errors"] == [
            'Runtime error: <embedded>:2:13: reveal("K") failed: cannot write the audit log (the host lends no kv hook). '
            "Refusing to reveal without an audit trail."
        ]

    def test_the_kv_hook_keeps_the_line(self):
        kept = {}

        class Store:
            def set(self, namespace, key, value):
                kept[namespace, key] = value

        for kv in ({"set": Store().set}, Store()):
            kept.clear()
            answer = language.Program(self.PROGRAM * 2, filename="p.lang", host={"kv": kv}).run()
            assert answer["output"] == ["hunter2", "hunter2"]
            assert {namespace for namespace, _ in kept} == {"audit"}
            lines = [LINE.fullmatch(json.loads(value)) for value in kept.values()]
            assert [(m["result"], m["name"], m["program"]) for m in lines] == [("granted", "K", "p")] * 2
            assert {m["at"] for m in lines} == {"p.lang:2", "p.lang:4"}

    @pytest.mark.parametrize("failure", ["raises", "answers"])
    def test_a_failing_hook_reveals_nothing(self, failure):
        def put(namespace, key, value):
            if failure == "raises":
                raise KeyError("gone")
            return {"error": "quota"}

        answer = language.Program(self.PROGRAM, host={"kv": {"set": put}}).run()
        assert answer["output"] == []
        assert "cannot write the audit log" in answer["errors"][0]
        assert "hunter2" not in str(answer)


def test_two_processes_write_whole_lines(tmp_path):
    script = (
        "from language.native.host import NativeHost\nhost = NativeHost()\n"
        "for number in range(300):\n    host.append_audit_line('reveal.log', 'x' * 200)\n"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PLATFORM_AUDIT_DIR": str(tmp_path)}
    for process in [subprocess.Popen([sys.executable, "-c", script], env=env) for _ in range(4)]:
        assert process.wait(60) == 0
    assert (tmp_path / "reveal.log").read_text().splitlines() == ["x" * 200] * 1200


def test_the_base_host_keeps_no_log():
    with pytest.raises(OSError, match="no audit log"):
        EmbeddedHost({}).append_audit_line("reveal.log", "line")
    assert NativeHost.append_audit_line is not EmbeddedHost.append_audit_line
