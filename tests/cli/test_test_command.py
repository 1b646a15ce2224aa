"""``lang test``: which files, which lines, which exit code (6.8), and what a terminal or a build server gets."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from command_process import SECONDS, Lang, write

PASSING = 'test "one"\n    assert(true)\n'
FAILING = 'test "two"\n    assert_eq(1, 2)\n'
DETAIL = re.compile(r"  (?:at |after |help: |in |\d+ \||\s+\|\s+\^)")
SUMMARY = re.compile(r"\d+ passed, \d+ failed \(\d+ total\)")


def shown(lines: list[str]) -> list[str]:
    """The lines without what a failed test shows below its own."""
    return [line for line in lines if not DETAIL.match(line)]


def test_the_lines(lang: Lang) -> None:
    source = (
        'let base be 40\nprint("setup")\ntest "adds"\n    print("in adds")\n    assert_eq(base + 2, 42)\n'
        'test "breaks"\n    print("in breaks")\n    let x be nope\n'
        'test "message"\n    assert(false, "why")\ntest "raises"\n    raise "boom"\n'
        'test "still runs"\n    assert_error(() => 1 / 0)\n'
    )
    result = lang("test", "a.lang", files={"a.lang": source})
    results = [
        "✓ adds",
        "✗ breaks: a.lang:8:14: Undefined variable: 'nope'",
        "✗ message: a.lang:10:11: why",
        "✗ raises: a.lang:12:5: boom",
        "✓ still runs",
        "2 passed, 3 failed (5 total)",
    ]
    assert (shown(result.lines), result.err, result.code) == (results, "", 1)
    verbose = lang("test", "-v", "a.lang")
    assert verbose.lines[:3] == ["  | setup", "  | in adds", "  | in breaks"]
    assert shown(verbose.lines[3:]) == results
    assert shown(lang("test", "a.lang", "--verbose").lines) == shown(verbose.lines)
    assert shown(lang("--test", "a.lang").lines) == results


def test_log_and_eprint_go_to_the_error_stream(lang: Lang) -> None:
    source = 'log "setup"\ntest "t"\n    log "a"\n    eprint("b")\n    print("hidden")\n'
    result = lang("test", "a.lang", files={"a.lang": source})
    assert result.lines == ["✓ t", "1 passed, 0 failed (1 total)"]
    assert result.err.splitlines() == ["[LOG] setup", "[LOG] a", "b"]


def test_the_top_level_runs_first_wherever_it_stands(lang: Lang) -> None:
    source = 'test "t"\n    assert_eq(later, 2)\nlet later be 2\n'
    assert lang("test", "a.lang", files={"a.lang": source}).lines[0] == "✓ t"


def test_a_setup_that_fails(lang: Lang) -> None:
    result = lang("test", "-v", "a.lang", files={"a.lang": 'print("before")\nraise "no"\n' + PASSING})
    assert shown(result.lines) == ["  | before", "✗ <setup>: a.lang:2:1: no", "0 passed, 1 failed (1 total)"]
    assert (result.err, result.code) == ("", 1)


def test_a_file_that_does_not_parse(lang: Lang) -> None:
    result = lang("test", "bad.lang", "good.lang", files={"bad.lang": "let x be\n", "good.lang": PASSING})
    assert result.lines[0] == "bad.lang:"
    assert result.lines[1].startswith("✗ <parse>: Parse error: bad.lang:1:")
    assert shown(result.lines)[-3:] == ["good.lang:", "✓ one", "1 passed, 1 failed (2 total)"]
    assert (result.err, result.code) == ("", 1)


def test_exit_inside_a_block_fails_it(lang: Lang) -> None:
    result = lang("test", "a.lang", files={"a.lang": 'test "leaves"\n    exit(0)\n' + PASSING})
    assert result.lines[0].startswith("✗ leaves: ")
    assert result.lines[1:] == ["✓ one", "1 passed, 1 failed (2 total)"]
    assert result.code == 1


def test_no_blocks(lang: Lang) -> None:
    result = lang("test", "a.lang", files={"a.lang": "let x be 1\n"})
    assert (result.out, result.code) == ("0 passed, 0 failed (0 total)\n", 0)


def test_each_file_has_an_interpreter_of_its_own(lang: Lang) -> None:
    files: dict[str, str | bytes] = {"a.lang": 'let length be 5\ntest "a"\n    assert_eq(length, 5)\n',
                                     "b.lang": 'test "b"\n    assert_eq(length([1]), 1)\n'}  # fmt: skip
    assert lang("test", "a.lang", "b.lang", files=files).code == 0


def test_modules_are_found_from_any_working_directory(lang: Lang) -> None:
    files: dict[str, str | bytes] = {
        "p/a.lang": 'use "./lib/m.lang" as m\ntest "module"\n    assert_eq(m.two(), 2)\n',
        "p/lib/m.lang": "export task two()\n    give 2\n",
    }
    assert lang("test", "p/a.lang", files=files).code == 0


# ---- which files -------------------------------------------------------------------------------------------------------

TREE: dict[str, str | bytes] = {
    "t/b.lang": PASSING,
    "t/a.lang": PASSING,
    "t/deep/er/c.lang": FAILING,
    "t/readme.txt": "no program",
    "t/d.other": PASSING,
    "e/readme.txt": "",
}


def headings(lang: Lang, *paths: str) -> list[str]:
    result = lang("test", *paths, files=TREE)
    assert SUMMARY.fullmatch(result.lines[-1])
    return [line.removesuffix(":") for line in result.lines if line.endswith(":")]


def test_a_folder_is_all_below_it_sorted(lang: Lang) -> None:
    assert headings(lang, "t") == ["t/a.lang", "t/b.lang", "t/deep/er/c.lang"]
    assert headings(lang, "t/") == ["t/a.lang", "t/b.lang", "t/deep/er/c.lang"]
    assert headings(lang, "./t/deep", "t/a.lang") == ["./t/deep/er/c.lang", "t/a.lang"]


def test_patterns_in_the_last_part(lang: Lang) -> None:
    assert headings(lang, "t/?.lang") == ["t/a.lang", "t/b.lang"]
    assert headings(lang, "t/*") == ["t/a.lang", "t/b.lang", "t/deep/er/c.lang"]
    assert headings(lang, "t/*.other", "t/a*") == ["t/d.other", "t/a.lang"]


def test_a_file_listed_twice_runs_once(lang: Lang, tmp_path: Path) -> None:
    write(tmp_path, TREE)
    (tmp_path / "link.lang").symlink_to("t/a.lang")
    assert headings(lang, "t/a.lang", "t", "./t/b.lang", "link.lang") == ["t/a.lang", "t/b.lang", "t/deep/er/c.lang"]


def test_links_to_folders_are_not_followed(lang: Lang, tmp_path: Path) -> None:
    write(tmp_path, TREE)
    (tmp_path / "t" / "circle").symlink_to("..")
    assert headings(lang, "t") == ["t/a.lang", "t/b.lang", "t/deep/er/c.lang"]


@pytest.mark.parametrize("path", ["e", "t/x*.lang", "gone/*.lang", "e/*"])
def test_nothing_found(lang: Lang, path: str) -> None:
    result = lang("test", "t/a.lang", path, files=TREE)
    assert (result.out, result.err, result.code) == ("", f"lang test: no .lang files in '{path}'\n", 2)


def test_a_file_that_is_not_there_stops_before_anything_runs(lang: Lang) -> None:
    result = lang("test", "t/a.lang", "gone.lang", files=TREE)
    assert (result.out, result.code) == ("", 2)
    assert result.err == "lang test: cannot read 'gone.lang': No such file or directory\n"


# ---- which tests -------------------------------------------------------------------------------------------------------

NAMED = 'print("setup")\n' + "".join(f'test "{name}"\n    print("{name}")\n' for name in ("adds ints", "adds texts", "sorts"))


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("adds", ["adds ints", "adds texts"]),
        ("ADDS and not ints", ["adds texts"]),
        ("ints or sorts", ["adds ints", "sorts"]),
        ("none", []),
    ],
)
def test_the_filter(lang: Lang, expression: str, names: list[str]) -> None:
    result = lang("test", "-k", expression, "-v", "a.lang", files={"a.lang": NAMED})
    count = len(names)
    assert result.lines == [
        *[f"  | {line}" for line in ["setup", *names]],
        *[f"✓ {name}" for name in names],
        f"{count} passed, 0 failed ({count} total)",
    ]
    assert result.code == 0


def test_a_filter_that_fits_no_test_says_so(lang: Lang) -> None:
    files = {"a.lang": NAMED, "b.lang": NAMED}
    result = lang("test", "-k", "zz", "a.lang", "b.lang", files=files)
    assert result.lines[-1] == "0 passed, 0 failed (0 total)"
    assert (result.err, result.code) == ("lang test: no test has a name that fits -k zz\n", 0)
    assert lang("test", "-k", "sorts", "a.lang", "b.lang").err == ""


def test_a_faulty_filter(lang: Lang) -> None:
    result = lang("test", "-k", "adds and", "a.lang", files={"a.lang": NAMED})
    assert (result.out, result.err, result.code) == ("", "lang test: -k: a word is missing at the end\n", 2)


# ---- the ceiling and the environment -----------------------------------------------------------------------------------


def test_the_ceiling_applies(lang: Lang) -> None:
    result = lang("test", "--cap-set", "time", "a.lang", files={"a.lang": 'test "prints"\n    print("x")\n'})
    assert result.lines[0].startswith("✗ prints: ")
    assert "Capability not granted: stdout" in result.lines[0]
    assert result.code == 1


def test_the_env_file(lang: Lang) -> None:
    source = 'require env("K")\ntest "env"\n    assert_eq(env("K", "none"), "v")\n'
    assert lang("test", "a.lang", files={"a.lang": source, ".env": "K=v\n"}).code == 0
    assert lang("test", "--no-env-file", "a.lang").lines[0] == "✗ env: a.lang:3:14: expected v, got none"


# ---- JUnit XML ---------------------------------------------------------------------------------------------------------


def test_junit(lang: Lang, tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "a.lang": 'test "fine"\n    print("out <&>")\n    print("more")\n'
        'test "a \\"<&>\' b"\n    assert(false, "x < y\\nand \\u{0}")\n',
        "bad.lang": "let x be\n",
        "setup.lang": 'raise "no"\n',
    }
    result = lang("test", "a.lang", "bad.lang", "setup.lang", "--junit", "report.xml", files=files)
    assert result.code == 1
    root = ElementTree.parse(tmp_path / "report.xml").getroot()
    assert root.tag == "testsuites"
    assert {name: root.attrib[name] for name in ("tests", "failures", "errors")} == {
        "tests": "4",
        "failures": "1",
        "errors": "2",
    }
    first, parse, setup = root
    assert [suite.attrib["name"] for suite in root] == ["a.lang", "bad.lang", "setup.lang"]
    fine, failed = first
    assert (fine.attrib["name"], fine.attrib["classname"], fine.findtext("system-out")) == ("fine", "a.lang", "out <&>\nmore")
    assert float(fine.attrib["time"]) >= 0
    assert failed.attrib["name"] == "a \"<&>' b"
    failure = failed.find("failure")
    assert failure is not None
    assert failure.text is not None
    assert failure.text.endswith("x < y\nand \ufffd")
    assert failure.attrib["message"] == failure.text
    assert [case.attrib["name"] for case in (parse[0], setup[0])] == ["<parse>", "<setup>"]
    assert parse[0].find("error") is not None
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.lang", "bad.lang", "report.xml", "setup.lang"]


def test_a_report_that_cannot_be_written(lang: Lang) -> None:
    result = lang("test", "a.lang", "--junit", "gone/report.xml", files={"a.lang": PASSING})
    assert result.lines == ["✓ one", "1 passed, 0 failed (1 total)"]
    assert (result.err, result.code) == ("lang test: cannot write 'gone/report.xml': No such file or directory\n", 2)


# ---- watching, terminals -----------------------------------------------------------------------------------------------


@pytest.fixture
def watching(tmp_path: Path, environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    write(tmp_path, {"p/a.lang": 'use "./m.lang" as m\ntest "t"\n    assert_eq(m.x, 1)\n', "p/m.lang": "export let x be 1\n"})
    command = [sys.executable, "-m", "language", "test", "--watch", "p/a.lang"]
    process = subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8"
    )
    yield process
    process.kill()
    process.communicate(timeout=SECONDS)


def test_watching(watching: subprocess.Popen[str], tmp_path: Path) -> None:
    assert watching.stdout is not None
    assert watching.stderr is not None
    module = tmp_path / "p" / "m.lang"
    assert [watching.stdout.readline() for _ in range(2)] == ["✓ t\n", "1 passed, 0 failed (1 total)\n"]
    assert "watching" in watching.stderr.readline()
    module.write_text("export let x be 22\n", encoding="utf-8")
    assert watching.stdout.readline().endswith("expected 1, got 22\n")
    assert "0 passed, 1 failed (1 total)\n" in (watching.stdout.readline() for _ in range(5))
    assert "watching" in watching.stderr.readline()
    module.write_text("export let x be 1 -- again\n", encoding="utf-8")
    assert watching.stdout.readline() == "✓ t\n"
    assert "watching" in watching.stderr.readline()
    watching.send_signal(signal.SIGINT)
    assert watching.wait(SECONDS) == 130
    assert "Traceback" not in watching.stderr.read()


def test_watching_tells_what_a_changed_program_requires(watching: subprocess.Popen[str], tmp_path: Path) -> None:
    assert watching.stderr is not None
    program = tmp_path / "p" / "a.lang"
    text = program.read_text(encoding="utf-8")
    ready = "[lang] watching for changes; Ctrl-C ends\n"
    assert watching.stderr.readline() == ready

    def told(source: str) -> list[str]:
        assert watching.stderr is not None
        program.write_text(source, encoding="utf-8")
        lines = []
        while (line := watching.stderr.readline()) not in (ready, ""):
            lines.append(line.removesuffix("\n"))
        return lines

    start = "[lang] p/a.lang: capability "
    assert told('require net("api.example")\n' + text) == [start + 'added: net("api.example")']
    assert told("this is no program (") == []  # compared with what it declared before, once it is a program again
    assert told('require net("*.example")\n-- the same test\n' + text) == [
        start + 'widened: net("api.example") -> net("*.example")'
    ]
    assert told('require env("A\\u{1b}[2J")\n' + text) == [
        start + 'added: env("A\\u{1b}[2J")',
        start + 'removed: net("*.example")',
    ]
    assert told('require env("A\\u{1b}[2J")\n-- nothing else\n' + text) == []


def test_watching_standard_input(lang: Lang) -> None:
    assert lang("test", "--watch", "-").code == 2


def test_a_terminal_gets_progress_and_time_without_touching_stdout(tmp_path: Path, environment: dict[str, str]) -> None:
    write(tmp_path, {"a.lang": PASSING + 'test "esc\\u{1b}[31m"\n    assert(true)\n'})
    terminal, side = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "language", "test", "a.lang"],
        cwd=tmp_path, env={**environment, "TERM": "xterm"}, stdout=subprocess.PIPE, stderr=side,
    )  # fmt: skip
    os.close(side)
    out, _ = process.communicate(timeout=SECONDS)
    shown = b""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        try:
            piece = os.read(terminal, 4096)
        except OSError:  # how the end of a terminal looks
            break
        if not piece:
            break
        shown += piece
    os.close(terminal)
    assert out.decode().splitlines()[0] == "✓ one"
    assert out.decode().splitlines()[-1] == "2 passed, 0 failed (2 total)"
    text = shown.decode()
    assert "a.lang: one" in text
    assert "\x1b[31m" not in text
    assert re.search(r"in \d+\.\d\d s; slowest: .+ \(\d+\.\d\d s\)\r\n$", text)
