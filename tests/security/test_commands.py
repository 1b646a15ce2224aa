"""Which commands a scope of ``exec`` lets a program start, at every door that starts one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from language.capabilities import Capability, Ceiling, declared
from language.capabilities.commands import AskedCommand
from language.errors import RuntimeFault
from language.native.host import NativeHost
from language.runtime.context import Context
from stdlib.child_processes import proc_spawn, proc_wait
from stdlib.mcp_client import mcp_connect
from stdlib.processes import run

SHELL = os.path.realpath("/bin/sh")
SCRIPT = "#!/bin/sh\necho ours $0\n"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A working directory with ``tools/ours``, and beside it a folder that no scope of the tests names."""
    work = tmp_path / "work"
    for place in (work / "tools" / "below", tmp_path / "elsewhere"):
        place.mkdir(parents=True)
    for file in (work / "tools" / "ours", work / "tools" / "below" / "deep", tmp_path / "elsewhere" / "theirs"):
        file.write_text(SCRIPT)
        file.chmod(0o755)
    monkeypatch.chdir(work)
    yield


def context(scope: str | None, ceiling: str | None = None) -> Context:
    ctx = Context(NativeHost(), ceiling=None if ceiling is None else Ceiling.parse(ceiling), collect=True)
    ctx.capabilities.require("exec", scope)
    return ctx


def refused(ctx: Context, command: str, *, by: str = "Capability not granted") -> bool:
    """Whether every door refuses the command; nothing has been started then."""
    answers = []
    for start in (
        lambda: run(ctx, command, ["-c", "touch made"]),
        lambda: mcp_connect(ctx, command, {"args": ["-c", "touch made"]}),
        lambda: proc_wait(ctx, proc_spawn(ctx, command, ["-c", "touch made"])),
    ):
        try:
            start()
        except RuntimeFault as fault:
            answers.append(fault.message.startswith(by))
        else:
            answers.append(False)
    assert not Path("made").exists() or not any(answers)
    return all(answers)


OUTSIDE = [
    "./tools/../../../../../../../../../../../../bin/sh",
    "./tools//..//../elsewhere/theirs",
    "tools/../../elsewhere/theirs",
    "./tools/below/../../../elsewhere/theirs",
    "/bin/sh",
    "sh",
    "./tools/below/deep",
    "./tools",
    "./tools/.",
    "./tools/..",
]


@pytest.mark.parametrize("command", OUTSIDE)
@pytest.mark.parametrize("scope", ["./tools/*", "tools/*", "./tools/../tools/*", "./tools/?*"])
def test_a_pattern_for_files_of_a_folder_holds_for_no_other_file(command: str, scope: str) -> None:
    assert refused(context(scope), command)
    assert refused(context(None, f"stdout,exec={scope}"), command)


@pytest.mark.parametrize("command", ["./tools/ours", "tools/ours", "./tools/below/../ours", "tools//./ours"])
def test_every_spelling_of_a_file_is_that_file(command: str) -> None:
    for scope in ("./tools/*", "tools/o?rs", "./tools/ours", str(Path("tools/ours").resolve()), "../work/tools/*"):
        for ctx in (context(scope), context(scope, f"exec={scope}"), context(scope, "exec")):
            assert run(ctx, command)["stdout"] == f"ours {Path('tools/ours').resolve()}\n"


def test_a_link_is_the_file_it_leads_to() -> None:
    os.symlink("/bin/sh", "tools/shell")
    os.symlink("../elsewhere", "outside")
    os.symlink("tools", "inside")
    assert refused(context("./tools/*"), "./tools/shell")
    assert refused(context("./tools/shell"), "/bin/cat")
    assert run(context("./tools/shell"), "/bin/sh", ["-c", "echo x"])["stdout"] == "x\n"
    assert refused(context("./*/ours"), "./outside/theirs")
    assert run(context("./tools/*"), "./inside/ours")["exit_code"] == 0
    assert run(context("./inside/*"), "./tools/ours")["exit_code"] == 0


def test_a_folder_exchanged_after_the_grant_widens_nothing() -> None:
    for ctx in (context("./tools/*"), context("./fresh/*"), context("./tools/*", "exec=./tools/*")):
        for name in ("tools", "fresh"):
            if os.path.isdir(name) and not os.path.islink(name):
                os.rename(name, "kept")
            os.symlink("../elsewhere", name)
            assert refused(ctx, f"./{name}/theirs")
            os.unlink(name)
        os.rename("kept", "tools")


@pytest.mark.parametrize("scope", ["git*", "git?bin?sh", "*", "?*", "*sh"])
def test_a_pattern_for_names_holds_for_no_path(scope: str) -> None:
    Path("gitbin").mkdir()
    os.symlink("/bin/sh", "gitbin/sh")
    for command in (
        "gitbin/sh",
        "./gitbin/sh",
        "gitbin/../../../../../../../../../../bin/sh",
        "git/bin/sh",
        "/bin/sh",
        "./tools/ours",
    ):
        assert refused(context(scope), command)
        assert refused(context(None, f"exec={scope}"), command)


def test_names_are_looked_up_and_compared_as_names() -> None:
    for scope in ("sh", "s?", "s*", "*"):
        assert run(context(scope), "sh", ["-c", "echo $0"])["stdout"] == "sh\n"
    assert refused(context("sh"), "bash")
    assert refused(context("sh"), "./sh")


def test_a_scope_with_a_path_holds_for_the_name_that_leads_there() -> None:
    assert run(context("/bin/sh"), "sh", ["-c", "echo x"])["stdout"] == "x\n"
    assert refused(context("/bin/sh"), "cat")
    assert run(context("sh", "exec=/bin/*,exec=/usr/bin/*"), "sh", ["-c", "echo x"])["stdout"] == "x\n"
    assert refused(context("cat", "exec=./tools/*"), "cat")


def test_a_denial_holds_for_every_way_to_the_file() -> None:
    os.symlink("/bin/sh", "tools/shell")
    ctx = context(None)
    ctx.capabilities.deny("exec", "/bin/sh")
    for command in ("sh", "/bin/sh", SHELL, "./tools/shell", "./tools/../../../../../../../../../../../bin/sh"):
        assert refused(ctx, command)
    assert run(ctx, "./tools/ours")["exit_code"] == 0


def test_what_is_started_is_the_file_that_was_checked(tmp_path: Path) -> None:
    os.symlink("ours", "tools/alias")
    command = AskedCommand("./tools/alias")
    assert command.located == str(Path("tools/ours").resolve())
    ctx = context("./tools/ours")
    ctx.capabilities.check_command(command)
    os.unlink("tools/alias")
    os.symlink(str(tmp_path / "elsewhere" / "theirs"), "tools/alias")
    asked = [record["scope"] for record in ctx.capabilities.records]
    assert asked == [command.located]
    assert refused(ctx, "./tools/alias")


def test_the_name_under_which_a_file_is_started_stays() -> None:
    os.symlink(SHELL, "tools/called")
    assert run(context(SHELL), "./tools/called", ["-c", "cat /proc/$$/cmdline"])["stdout"].split("\0")[0] == "./tools/called"


def test_the_refusal_says_what_was_written_and_the_audit_where_it_leads() -> None:
    ctx = context("./tools/*")
    with pytest.raises(RuntimeFault) as caught:
        run(ctx, "./tools/../../elsewhere/theirs")
    assert caught.value.message == (
        'Capability not granted: exec("./tools/../../elsewhere/theirs") — add `require '
        'exec("./tools/../../elsewhere/theirs")` at the top of the program (the file that is started, for code in a module)'
    )
    assert ctx.capabilities.records[-1]["scope"] == str(Path("../elsewhere/theirs").resolve())


def test_wildcards_in_the_name_of_a_file_are_no_pattern() -> None:
    Path("tools/o*rs").write_text(SCRIPT)
    Path("tools/o*rs").chmod(0o755)
    assert run(context("./tools/*"), "./tools/o*rs")["exit_code"] == 0
    assert refused(context("./tools/ours"), "./tools/o*rs")


def test_a_nul_is_refused_before_anything_is_compared() -> None:
    assert refused(context("./tools/*"), "./tools/ours\0/../../../bin/sh", by="a path cannot contain a NUL")
    with pytest.raises(ValueError, match="the scope of exec cannot contain a NUL character"):
        declared("exec", "./tools/\0*")


@pytest.mark.parametrize(
    ("grant", "wanted", "covered"),
    [
        ("./tools/*", "./tools/*", True),
        ("./tools/*", "./tools/o*", True),
        ("./tools/*", "./tools/*/x", False),
        ("./tools/*", "./*", False),
        ("./tools/*", "/*", False),
        ("./tools/*", "*", False),
        ("*", "./tools/*", False),
        ("*", "git", True),
        ("git*", "git/x", False),
        ("/*", "/bin", False),
    ],
)
def test_a_declaration_under_a_ceiling(grant: str, wanted: str, covered: bool) -> None:
    assert declared("exec", grant).covers(Capability("exec", wanted)) is (
        covered if wanted != "/bin" else not os.path.islink("/bin")
    )


def test_the_command_line_refuses_it_too() -> None:
    Path("p.lang").write_text(
        'require exec\nrequire exec("./tools/*")\nprint(run("./tools/../../../../../../../../../../bin/sh", ["-c", "id"]))\n'
    )
    done = subprocess.run(
        [sys.executable, "-m", "language", "run", "--cap-set", "stdout,exec=./tools/*", "--audit", "json", "p.lang"],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
        check=False,
    )
    assert done.returncode == 1
    assert "uid=" not in done.stdout
    assert "declared but above the host ceiling" in done.stderr
    records = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    assert [r["scope"] for r in records if r.get("capability") == "exec" and r["source"] == "run()"] == [SHELL]
