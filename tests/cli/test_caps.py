"""``lang caps``: the manifest of a program, what of it was used, and what another version holds more."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from language.capabilities import Ceiling, declared
from language.capabilities.widening import surely_covers
from tests.cli.conftest import Lang

PROGRAM = """\
intent: "Report"
require net("https://u:secret@API.x/v1")
require file.read("./data/*")
use "lib/m.lang" as m
task tool()
    require env("A,B")
    require time
    give 1
test "t"
    require random
"""
MODULE = """\
use "n.lang" as n
export task f()
    require file.read("data/x")
    require exec("git")
"""
FILES = {"p.lang": PROGRAM, "lib/m.lang": MODULE, "lib/n.lang": "export task g()\n    require llm\n"}
NOTHING = ["(module:", "the", "program", "does", "not", "declare", "it,", "so", "it", "grants", "nothing)"]


def test_every_line_with_its_place(lang: Lang) -> None:
    result = lang("caps", "p.lang", files=FILES)
    assert result.code == 0
    assert [line.split() for line in result.lines] == [
        ["net(\"api.x\")", "p.lang:2"],
        ["file.read(\"data/*\")", "p.lang:3"],
        ["env(\"A,B\")", "p.lang:6"],
        ["time", "p.lang:7"],
        ["random", "p.lang:10"],
        ["file.read(\"data/x\")", "lib/m.lang:3", "(module)"],
        ["exec(\"git\")", "lib/m.lang:4", *NOTHING],
        ["llm", "lib/n.lang:2", *NOTHING],
        ["ceiling:", "net=api.x,file.read=data/*,env=A\\,B,random,stdout,time"],
    ]  # fmt: skip
    assert "secret" not in result.out


def test_as_json(lang: Lang) -> None:
    report = json.loads(lang("caps", "--json", "p.lang", files=FILES).out)
    assert list(report) == ["program", "requires", "ceiling"]
    assert report["requires"][0] == {
        "capability": "net", "scope": "api.x", "file": "p.lang", "line": 2, "module": None, "imported_by": None,
        "covered": True,
    }  # fmt: skip
    assert report["requires"][-1] == {
        "capability": "llm", "scope": None, "file": "lib/n.lang", "line": 2, "module": "lib/n.lang",
        "imported_by": "lib/m.lang", "covered": False,
    }  # fmt: skip
    Ceiling.parse(report["ceiling"])


def test_the_ceiling_is_what_the_program_needs(lang: Lang) -> None:
    program = 'require env("A,B")\nrequire random\nprint(env("A,B", "x"))\nrandom()\n'
    ceiling = json.loads(lang("caps", "--json", "p.lang", files={"p.lang": program}).out)["ceiling"]
    assert lang("run", "--cap-set", ceiling, "p.lang").lines == ["x"]


def test_a_program_that_does_not_pass_the_check(lang: Lang) -> None:
    result = lang("caps", "p.lang", files={"p.lang": "require netz\n"})
    assert result.code == 1 and result.err.startswith("Error: p.lang:1:1: Unknown capability type: 'netz'")
    assert lang("caps", "none.lang").code == 2
    assert lang("caps").code == 2
    assert lang("caps", "a.lang", "b.lang").code == 2


def test_declared_against_done(lang: Lang) -> None:
    program = """\
require env("USED_*")
require env("IDLE")
require random
env("USED_A", "x")
each i in range(3)
    try
        env("OTHER", "x")
    recover e
        log "no"
"""
    lang("run", "--audit", "json", "p.lang", files={"p.lang": program})
    stream = lang("run", "--audit", "a.log", "p.lang")
    assert stream.code == 0
    result = lang("caps", "--audit", "a.log", "p.lang")
    assert result.lines[-3:] == [
        'never used: env("IDLE")  p.lang:2',
        "never used: random  p.lang:3",
        'refused: env("OTHER")  No matching grant found (3 x: p.lang:7)',
    ]
    report = json.loads(lang("caps", "--json", "--audit", "a.log", "p.lang").out)
    assert [entry["require"] for entry in report["unused"]] == ['env("IDLE")', "random"]
    assert report["refused"] == [
        {
            "require": 'env("OTHER")', "capability": "env", "scope": "OTHER", "why": "No matching grant found", "count": 3,
            "places": ["p.lang:7"],
        }
    ]  # fmt: skip


def test_a_log_that_is_none(lang: Lang) -> None:
    files = {"p.lang": "require random\n", "a.log": '{"capability": 3}\nnoise\n[]\n{"summary": {}}\n', "b.log": b"\xff\n"}
    assert "never used: random" in lang("caps", "--audit", "a.log", "p.lang", files=files).out
    assert lang("caps", "--audit", "b.log", "p.lang").code == 2
    assert lang("caps", "--audit", "none.log", "p.lang").code == 2


# ---- two versions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "lines", "code"),
    [
        (["net a.x"], ["net a.x"], [], 0),
        ([], ["net a.x"], ['added: net("a.x")'], 1),
        (["net a.x"], [], ['removed: net("a.x")'], 0),
        (["net a.x"], ["net *.x"], ['widened: net("a.x") -> net("*.x")'], 1),
        (["net *.x"], ["net a.x"], ['narrowed: net("*.x") -> net("a.x")'], 0),
        (["net a.x"], ["net b.x"], ['added: net("b.x")', 'removed: net("a.x")'], 1),
        (["net a.x"], ["net"], ['widened: net("a.x") -> net'], 1),
        (["net"], ["net", "net a.x"], ['added: net("a.x") (held already)'], 0),
        (["net a.x:443"], ["net a.x"], ['widened: net("a.x:443") -> net("a.x")'], 1),
        (["net HTTPS://A.X/v1"], ["net a.x"], [], 0),
        (["file d/*"], ["file.read d/*", "file.write d/x"], [
            'narrowed: file("d/*") -> file.read("d/*")', 'narrowed: file("d/*") -> file.write("d/x")'], 0),
        (["file.read d/*"], ["file d/*"], ['widened: file.read("d/*") -> file("d/*")'], 1),
        (["file.read ./*"], ["file.read *"], ['widened: file.read("./*") -> file.read("*")'], 1),
        (["file.read ./*"], ["file.read ../x"], ['added: file.read("../x")', 'removed: file.read("./*")'], 1),
        (["net ?.x"], ["net *.x"], ['widened: net("?.x") -> net("*.x")'], 1),
        (["env A_*"], ["env A_?*"], ['narrowed: env("A_*") -> env("A_?*")'], 0),
        (["env A_?*"], ["env A_*"], ['widened: env("A_?*") -> env("A_*")'], 1),
    ],
)  # fmt: skip
def test_differences(lang: Lang, old: list[str], new: list[str], lines: list[str], code: int) -> None:
    def program(requires: list[str]) -> str:
        pairs = [(line.partition(" ")[0], line.partition(" ")[2]) for line in requires]
        return "".join(f'require {name}("{scope}")\n' if scope else f"require {name}\n" for name, scope in pairs)

    result = lang("caps", "--diff", "old.lang", "new.lang", files={"old.lang": program(old), "new.lang": program(new)})
    assert (result.lines, result.code) == (lines, code)


@pytest.mark.parametrize(
    ("outer", "inner", "covered"),
    [
        ("a*", "a*", True), ("a*", "ab*", True), ("a?", "a*", False), ("?", "*", False), ("??", "*", False), ("?*", "*", False),
        ("*", "*", True), ("a*b", "a*c*b", True), ("a*b*", "a*b", True), ("*a*", "a", True), ("a?b", "a?b", True),
        ("a?b", "a*b", False), ("a*", "?*", False), ("*ab*", "*a*b*", False), ("*?*", "*", False),
    ],
)  # fmt: skip
def test_patterns_cover_patterns_only_when_surely_so(outer: str, inner: str, covered: bool) -> None:
    """Unlike the covering of a request: `?` must not cover `*`, one character among many."""
    assert surely_covers(declared("env", outer), declared("env", inner)) is covered


def test_modules_add_nothing(lang: Lang) -> None:
    files = {
        "old.lang": 'use "m.lang" as m\nrequire env("A")\n', "new.lang": 'use "n.lang" as m\nrequire env("A")\n',
        "m.lang": "export let a be 1\n", "n.lang": "export task f()\n    require exec\n",
    }  # fmt: skip
    assert lang("caps", "--diff", "old.lang", "new.lang", files=files).code == 0


def test_folders_program_by_program(lang: Lang) -> None:
    files = {
        "old/a.lang": 'require env("A")\n', "old/b.lang": "require random\n", "old/gone.lang": "require exec\n",
        "new/a.lang": 'require env("A")\nrequire random\nuse "m.lang" as m\n', "new/b.lang": "require random\n",
        "new/m.lang": "export task f()\n    require exec\n", "new/sub/fresh.lang": "print(1)\n",
    }  # fmt: skip
    result = lang("caps", "--diff", "old", "new", files=files)
    assert (result.lines, result.code) == (["a.lang: added: random", "gone.lang: removed: exec"], 1)
    report = json.loads(lang("caps", "--diff", "--json", "old", "new").out)
    assert report["more"] is True
    assert [entry["program"] for entry in report["programs"]] == ["a.lang", "b.lang", "gone.lang", "sub/fresh.lang"]
    assert report["programs"][0]["added"] == [{"require": "random", "capability": "random", "scope": None}]


def git(folder: Path, *words: str) -> None:
    identity = ["-c", "user.name=n", "-c", "user.email=e@example.com", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


def test_revisions(lang: Lang, tmp_path: Path) -> None:
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent" / "p.lang").write_text('use "m.lang" as m\nrequire env("A")\n')
    (tmp_path / "agent" / "m.lang").write_text("export let a be 1\n")
    (tmp_path / "agent" / "link.lang").symlink_to("/etc/passwd")
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "one")
    (tmp_path / "agent" / "p.lang").write_text('use "m.lang" as m\nrequire env("*")\n')
    result = lang("caps", "--diff", "main:agent/p.lang", "agent/p.lang")
    assert (result.lines, result.code) == (['widened: env("A") -> env("*")'], 1), result
    assert lang("caps", "--diff", "agent/p.lang", "HEAD:./agent/p.lang").lines == ['narrowed: env("*") -> env("A")']
    git(tmp_path, "commit", "-q", "-a", "-m", "two")
    (tmp_path / "agent" / "link.lang").unlink()
    assert lang("caps", "--diff", "HEAD~1:agent", "HEAD:agent").lines == ['p.lang: widened: env("A") -> env("*")']
    assert lang("caps", "--diff", "HEAD~1:", "HEAD:").code == 1


@pytest.mark.parametrize(
    "named", ["nope:p.lang", "main:none.lang", "main:../p.lang", "--output=x:p.lang", "missing.lang", ":p.lang"]
)
def test_bad_arguments(lang: Lang, tmp_path: Path, named: str) -> None:
    (tmp_path / "p.lang").write_text("print(1)\n")
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "one")
    result = lang("caps", "--diff", named, "p.lang")
    assert result.code == 2 and result.out == "" and result.err, result
    assert sorted(path.name for path in tmp_path.iterdir()) == [".git", "p.lang"]


def test_a_version_that_does_not_pass_the_check_is_not_compared(lang: Lang) -> None:
    result = lang("caps", "--diff", "a.lang", "b.lang", files={"a.lang": "print(1)\n", "b.lang": "let be be\n"})
    assert result.code == 2 and "its capabilities are not known" in result.err
    assert lang("caps", "--diff", "a.lang").code == 2
    assert lang("caps", "--diff", "--audit", "x", "a.lang", "a.lang").code == 2
