"""Files: what each builtin gives, its errors word for word, and what it leaves behind."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import ClassVar

import pytest

import language
from language.errors import RuntimeFault
from language.native.host import NativeHost
from language.runtime.context import Context
from language.values import FALSE, TRUE, Secret
from stdlib.files import (
    append_file,
    delete_dir,
    delete_file,
    edit_file,
    file_exists,
    file_info,
    grep,
    list_dir,
    read_file,
    read_file_bytes,
    write_file,
)

NO_FILES = (
    "{}: this host has no filesystem — pass data in through the program's source/env, or run the program with the native "
    "`lang` binary (or the wasip1 build under wasmtime with --dir)"
)


def passes_over_permissions() -> bool:
    """Whether this user reads what nobody may read: the superuser usually does."""
    with tempfile.NamedTemporaryFile() as file:
        os.chmod(file.name, 0)
        return os.access(file.name, os.R_OK)


AS_ROOT = passes_over_permissions()


def context(*requires: tuple[str, str | None]) -> Context:
    ctx = Context(NativeHost(), collect=True)
    for name, scope in requires or (("file", "./*"),):
        ctx.capabilities.require(name, scope)
    return ctx


def error_of(function, *values) -> str:
    with pytest.raises(RuntimeFault) as caught:
        function(*values)
    return caught.value.message


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def ctx() -> Context:
    return context()


class TestReadFile:
    @pytest.mark.parametrize(
        ("data", "text"),
        [
            (b"", ""),
            (b"a\r\nb\n", "a\r\nb\n"),
            ("é𝄞\n".encode(), "é𝄞\n"),
            (b"\xef\xbb\xbfx", "\ufeffx"),
            (b"a\xffb\xe2\x82", "a\ufffdb\ufffd"),
            (b"\xed\xa0\x80", "\ufffd\ufffd\ufffd"),
        ],
    )
    def test_whole(self, ctx, data, text):
        Path("f").write_bytes(data)
        assert read_file(ctx, "f") == text
        assert read_file_bytes(ctx, "f") == data

    @pytest.mark.parametrize("size", [65535, 65536, 1 << 20, (1 << 20) + 1])
    def test_sizes(self, ctx, size):
        data = os.urandom(size)
        Path("f").write_bytes(data)
        assert read_file_bytes(ctx, "./x/../f") == data

    @pytest.mark.parametrize(
        ("offset", "limit", "text"),
        [
            (1, None, "one\ntwo\r\n\nfour"),
            (2, 1, "two\r\n"),
            (2.0, 2, "two\r\n\n"),
            (4, 9, "four"),
            (5, None, ""),
            (10**30, 10**30, None),
            (5, 3, ""),
            (1, 0, ""),
            (None, 1, "one\n"),
        ],
    )
    def test_lines(self, ctx, offset, limit, text):
        Path("f").write_bytes(b"one\ntwo\r\n\nfour")
        if text is None:
            assert error_of(read_file, ctx, "f", offset, limit) == "number too large for an index"
        else:
            assert read_file(ctx, "f", offset, limit) == text

    def test_bad_ranges(self, ctx):
        Path("f").write_text("a")
        assert error_of(read_file, ctx, "f", 0) == "read_file: offset must be >= 1"
        assert error_of(read_file, ctx, "f", -1, 5) == "read_file: offset must be >= 1"
        assert error_of(read_file, ctx, "f", 1, -1) == "read_file: limit must be >= 0"
        assert error_of(read_file, ctx, "f", 1.5).startswith("index must be an integer, got 1.5")
        assert error_of(read_file, ctx, "f", "1") == "an index must be an integer, got text"

    @pytest.mark.parametrize("function", [read_file, read_file_bytes])
    def test_not_found(self, ctx, function):
        Path("folder").mkdir()
        assert error_of(function, ctx, "./none/../missing//x") == "File not found: missing/x"
        assert error_of(function, ctx, "folder") == "File not found: folder"
        Path("f").write_text("a")
        assert error_of(function, ctx, "f/below") == "File not found: f/below"
        assert error_of(read_file, ctx, "missing", 1, 2) == "File not found: missing"

    @pytest.mark.skipif(AS_ROOT, reason="the superuser may read everything")
    def test_no_permission(self, ctx):
        Path("f").write_text("a")
        Path("f").chmod(0)
        assert error_of(read_file, ctx, "f") == "File not found: f"

    def test_a_pipe_is_no_file_and_does_not_block(self, ctx):
        os.mkfifo("pipe")
        assert error_of(read_file, ctx, "pipe") == "File not found: pipe"
        assert error_of(append_file, ctx, "pipe", "x").startswith("Cannot write file pipe: ")
        assert error_of(write_file, ctx, "pipe", "x") == "Cannot write file pipe: it is a named pipe, not a regular file"
        assert stat.S_ISFIFO(os.stat("pipe").st_mode)

    def test_a_device_is_no_file(self):
        ctx = context(("file", None))
        assert error_of(read_file, ctx, "/dev/zero") == "File not found: /dev/zero"
        assert error_of(write_file, ctx, "/dev/null", "x") == "Cannot write file /dev/null: it is a device, not a regular file"
        assert stat.S_ISCHR(os.stat("/dev/null").st_mode)

    @pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc here")
    def test_a_file_that_tells_no_size(self):
        assert "\nPid:" in read_file(context(("file.read", "/proc/*")), "/proc/self/status")

    def test_gate_and_text_of_the_path(self, ctx):
        assert error_of(read_file, ctx, "/etc/hostname").startswith('Capability not granted: file.read("/etc/hostname")')
        assert error_of(read_file, ctx, "a/../../b").startswith('Capability not granted: file.read("../b")')
        assert error_of(read_file, ctx, "a\0b") == "a path cannot contain a NUL character"
        Path("5").write_text("five")
        assert read_file(ctx, 5) == "five"


class TestWriteFile:
    @pytest.mark.parametrize(
        ("content", "data"),
        [("é\n", "é\n".encode()), (b"\xff\0", b"\xff\0"), (1.5, b"1.5"), (TRUE, b"True"), (None, b"None"), ([1], b"[1]")],
    )
    def test_contents(self, ctx, content, data):
        assert write_file(ctx, "new/sub/f", content) is TRUE
        assert Path("new/sub/f").read_bytes() == data
        assert append_file(ctx, "new/sub/f", content) is TRUE
        assert append_file(ctx, "other/f", content) is TRUE
        assert Path("new/sub/f").read_bytes() == data * 2
        assert Path("other/f").read_bytes() == data

    def test_replaces_at_once_and_keeps_the_mode(self, ctx):
        path = Path("f")
        path.write_text("old")
        path.chmod(0o640)
        with path.open() as before:
            write_file(ctx, "f", "new content")
            assert before.read() == "old"
        assert path.read_text() == "new content"
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        assert os.listdir() == ["f"]

    def test_new_files_follow_the_umask(self, ctx):
        before = os.umask(0o027)
        try:
            write_file(ctx, "d/f", "x")
        finally:
            os.umask(before)
        assert stat.S_IMODE(os.stat("d/f").st_mode) == 0o640
        assert stat.S_IMODE(os.stat("d").st_mode) == 0o750

    def test_failures_leave_nothing(self, ctx):
        Path("folder/below").mkdir(parents=True)
        Path("f").write_text("old")
        assert error_of(write_file, ctx, "folder/below", "x") == "Cannot write file folder/below: Is a directory"
        assert error_of(append_file, ctx, "folder", "x") == "Cannot write file folder: Is a directory"
        assert error_of(write_file, ctx, "f/x", "x").startswith("Cannot write file f/x: ")
        assert error_of(write_file, ctx, "x" * 300, "x") == f"Cannot write file {'x' * 300}: File name too long"
        assert sorted(os.listdir()) == ["f", "folder"]
        assert os.listdir("folder") == ["below"]

    def test_a_full_disk_leaves_the_old_file(self, ctx):
        """Through a real limit on the size of files, in a process of its own."""
        Path("p.lang").write_text(
            'require file("./*")\ntry\n    write_file("f", join(range(50000), ""))\n'
            'recover e\n    print(e)\nprint(read_file("f"))\n'
        )
        Path("f").write_text("old")
        limited = (
            "import resource, signal, sys\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))\n"
            "from language.cli.main import main\nsys.exit(main(['run', 'p.lang']))"
        )
        root = str(Path(language.__file__).parents[1])
        done = subprocess.run(
            [sys.executable, "-c", limited],
            capture_output=True,
            text=True,
            check=False,
            env={"PYTHONPATH": root, "HOME": str(Path.cwd() / "home"), "PYTHONDONTWRITEBYTECODE": "1"},
        )
        assert done.stdout == "Cannot write file f: File too large\nold\n", done.stderr
        assert [name for name in os.listdir() if name.endswith(".tmp")] == []

    @pytest.mark.skipif(AS_ROOT, reason="the superuser may write everything")
    def test_no_permission(self, ctx):
        Path("f").write_text("old")
        Path("f").chmod(0o444)
        assert error_of(write_file, ctx, "f", "x") == "Cannot write file f: Permission denied"
        Path("d").mkdir(mode=0o500)
        assert error_of(write_file, ctx, "d/f", "x") == "Cannot write file d/f: Permission denied"

    def test_through_a_link_inside_the_grant(self, ctx):
        Path("real").mkdir()
        Path("real/f").write_text("old")
        Path("link").symlink_to("real/f")
        Path("folder").symlink_to("real")
        write_file(ctx, "link", "one")
        assert Path("link").is_symlink()
        assert Path("real/f").read_text() == "one"
        write_file(ctx, "folder/f", "two")
        assert read_file(ctx, "link") == "two"

    def test_a_secret_needs_reveal(self, monkeypatch, tmp_path):
        monkeypatch.setenv("PLATFORM_AUDIT_DIR", str(tmp_path / "audit"))
        sealed = Secret("hunter2", ("KEY",))
        ctx = context(("file", "./*"))
        for function in (write_file, append_file):
            assert error_of(function, ctx, "f", sealed).startswith(
                'reveal() not permitted: Capability not granted: reveal("KEY")'
            )
        Path("e").write_text("a")
        assert error_of(edit_file, ctx, "e", "a", sealed).startswith("reveal() not permitted: ")
        assert not Path("f").exists()
        write_file(ctx, "listed", [sealed])
        assert Path("listed").read_text() == "[secret(KEY)]"
        ctx.capabilities.require("reveal", "KEY")
        write_file(ctx, "f", sealed)
        assert Path("f").read_text() == "hunter2"
        assert (tmp_path / "audit/reveal.log").read_text().count("result=granted name=KEY") == 1


class TestEditFile:
    def test_once(self, ctx):
        Path("f").write_bytes(b"one\r\ntwo\xff\n")
        assert edit_file(ctx, "f", "two", "2") == {"replaced": 1}
        assert Path("f").read_bytes() == b"one\r\n2\xff\n"

    def test_all(self, ctx):
        Path("f").write_text("a.a.a")
        message = "edit_file: ambiguous, 3 occurrences (use replace_all to replace all)"
        assert error_of(edit_file, ctx, "f", "a", "b") == message
        assert error_of(edit_file, ctx, "f", "a", "b", FALSE) == message
        assert Path("f").read_text() == "a.a.a"
        assert edit_file(ctx, "f", "a", "é", TRUE) == {"replaced": 3}
        assert Path("f").read_text() == "é.é.é"

    def test_errors(self, ctx):
        Path("f").write_text("a")
        assert error_of(edit_file, ctx, "f", "", "x") == "edit_file: empty pattern"
        assert error_of(edit_file, ctx, "f", "z", "x") == "edit_file: pattern not found"
        assert error_of(edit_file, ctx, "./d/../g", "z", "x") == "File not found: g"

    def test_write_permission_suffices(self):
        ctx = context(("file.write", "./*"))
        Path("f").write_text("a")
        assert edit_file(ctx, "f", "a", "b") == {"replaced": 1}
        assert error_of(read_file, ctx, "f").startswith('Capability not granted: file.read("f")')


class TestLooking:
    def test_list_dir(self):
        ctx = context(("file.read", "d"), ("file.read", "d/*"))
        Path("d/sub/deeper").mkdir(parents=True)
        Path("d/b.txt").write_text("12345")
        Path("d/.hidden").write_text("")
        Path("d/É").write_text("1")
        Path("d/to_sub").symlink_to("sub")
        Path("d/nowhere").symlink_to("missing")
        Path("d/out").symlink_to("/etc/passwd")
        assert list_dir(ctx, "./d/") == [
            {"name": ".hidden", "is_dir": FALSE, "size": 0},
            {"name": "b.txt", "is_dir": FALSE, "size": 5},
            {"name": "nowhere", "is_dir": FALSE, "size": 0},
            {"name": "out", "is_dir": FALSE, "size": 0},
            {"name": "sub", "is_dir": TRUE, "size": 0},
            {"name": "to_sub", "is_dir": TRUE, "size": 0},
            {"name": "É", "is_dir": FALSE, "size": 1},
        ]

    def test_the_folder_itself_is_no_part_of_its_pattern(self):
        Path("d").mkdir()
        assert error_of(list_dir, context(("file.read", "d/*")), "d").startswith('Capability not granted: file.read("d")')

    def test_not_a_directory(self, ctx):
        Path("f").write_text("a")
        for path in ("f", "missing", "f/x"):
            assert error_of(list_dir, ctx, path) == f"Not a directory: {path}"

    def test_names_that_are_no_text(self, ctx):
        Path("d").mkdir()
        with open(b"d/\xff.txt", "wb"):
            pass
        assert [entry["name"] for entry in list_dir(ctx, "d")] == ["\ufffd.txt"]

    def test_file_info(self, ctx):
        Path("f").write_text("12345")
        os.utime("f", (0, 1_700_000_000.9))
        assert file_info(ctx, "f") == {"exists": TRUE, "is_dir": FALSE, "size": 5, "modified": 1_700_000_000}
        folder = file_info(ctx, ".")
        assert (folder["exists"], folder["is_dir"], folder["size"]) == (TRUE, TRUE, 0)
        for path in ("missing", "f/x"):
            assert file_info(ctx, path) == {"exists": FALSE, "is_dir": FALSE, "size": 0, "modified": None}

    def test_file_exists(self, ctx):
        Path("f").write_text("")
        Path("nowhere").symlink_to("missing")
        Path("loop").symlink_to("loop")
        found = [file_exists(ctx, path) for path in ("f", ".", "missing", "nowhere", "loop", "f/x")]
        assert found == [TRUE, TRUE, FALSE, FALSE, FALSE, FALSE]


class TestGrep:
    @pytest.fixture(autouse=True)
    def _files(self) -> None:
        Path("d/sub").mkdir(parents=True)
        Path("d/b.txt").write_text("Éa one\nnone\n\nAlone")
        Path("d/a.log").write_text("one one\r\n")
        Path("d/sub/c.txt").write_bytes(b"\xff one")
        Path("d-e.txt").write_text("one")

    @staticmethod
    def found(ctx, target, pattern, opts=None):
        answer = grep(ctx, target, pattern, opts)
        assert set(answer) == {"matches", "truncated"}
        return [tuple(match.values()) for match in answer["matches"]], answer["truncated"]

    def test_a_file(self, ctx):
        matches, truncated = self.found(ctx, "./d/b.txt", "one")
        assert matches == [
            ("d/b.txt", 1, 4, "Éa one"),
            ("d/b.txt", 2, 2, "none"),
            ("d/b.txt", 4, 3, "Alone"),
        ]
        assert truncated is FALSE
        assert list(grep(ctx, "d/b.txt", "none")["matches"][0]) == ["file", "line", "col", "text"]

    def test_a_folder(self, ctx):
        matches, _ = self.found(ctx, "d", "one")
        assert [match[:3] for match in matches] == [
            ("d/a.log", 1, 1),
            ("d/b.txt", 1, 4),
            ("d/b.txt", 2, 2),
            ("d/b.txt", 4, 3),
            ("d/sub/c.txt", 1, 3),
        ]
        assert matches[0][3] == "one one\r"
        assert matches[-1][3] == "\ufffd one"
        assert [match[0] for match in self.found(ctx, ".", "one", {"max_results": 2})[0]] == ["d-e.txt", "d/a.log"]

    def test_options(self, ctx):
        assert [m[1] for m in self.found(ctx, "d/b.txt", "ALONE", {"ignore_case": TRUE})[0]] == [4]
        assert [m[1:3] for m in self.found(ctx, "d/b.txt", "^.one$", {"regex": TRUE})[0]] == [(2, 1)]
        assert self.found(ctx, "d/b.txt", "^.one$")[0] == []
        assert [m[1:3] for m in self.found(ctx, "d/b.txt", "éA", {"regex": TRUE, "ignore_case": TRUE})[0]] == [(1, 1)]
        assert [m[0] for m in self.found(ctx, "d", "one", {"glob": "*.[a-l]og"})[0]] == ["d/a.log"]
        assert self.found(ctx, "d", "one", {"glob": "?.LOG"})[0] == []
        assert self.found(ctx, "d/b.txt", "^$", {"regex": TRUE})[0] == [("d/b.txt", 3, 1, "")]

    def test_truncated(self, ctx):
        assert [self.found(ctx, "d", "one", {"max_results": n})[1] for n in (0, 4, 5, 6)] == [TRUE, TRUE, TRUE, FALSE]
        assert len(self.found(ctx, "d", "one", {"max_results": 3})[0]) == 3

    def test_ignoring_case_takes_the_pattern_as_it_is(self, ctx):
        Path("f").write_text("abc\nA.C\n")
        assert [m[1] for m in self.found(ctx, "f", "a.c", {"ignore_case": TRUE})[0]] == [2]

    def test_a_pattern_over_lines_is_never_found(self, ctx):
        Path("f").write_text("a\nb")
        assert self.found(ctx, "f", "a\nb")[0] == []

    def test_errors(self, ctx):
        assert error_of(grep, ctx, "./none", "x") == "grep: path not found: none"
        assert error_of(grep, ctx, "d", "") == "grep: empty pattern"
        assert error_of(grep, ctx, "d", "(", {"regex": TRUE}).startswith("grep: invalid regex pattern: ")
        assert error_of(grep, ctx, "d", "x", {"max": 1}).startswith('grep: unknown option "max"')
        assert error_of(grep, ctx, "d", "x", {"max_results": -1}).startswith('grep: option "max_results" must be')

    def test_links_are_not_followed_below_the_folder(self, ctx):
        Path("d/link.txt").symlink_to("b.txt")
        Path("d/loop").symlink_to(".")
        Path("d/out").symlink_to("/etc")
        os.mkfifo("d/pipe")
        assert {match[0] for match in self.found(ctx, "d", "one")[0]} == {"d/a.log", "d/b.txt", "d/sub/c.txt"}

    def test_the_folder_alone_is_asked_for(self):
        ctx = context(("file.read", "d"))
        assert len(self.found(ctx, "d", "one")[0]) == 5
        assert [record["scope"] for record in ctx.capabilities.records] == ["d"]

    def test_denied_files_are_passed_over(self):
        ctx = context(("file.read", "d"))
        ctx.capabilities.deny("file.read", "d/sub/*")
        ctx.capabilities.deny("file", "d/a.log")
        assert {match[0] for match in self.found(ctx, "d", "one")[0]} == {"d/b.txt"}

    @pytest.mark.skipif(AS_ROOT, reason="the superuser may read everything")
    def test_unreadable_files_are_passed_over(self, ctx):
        Path("d/b.txt").chmod(0)
        Path("d/sub").chmod(0)
        assert {match[0] for match in self.found(ctx, "d", "one")[0]} == {"d/a.log"}
        Path("d/sub").chmod(0o700)


class TestDeleting:
    def test_delete_file(self, ctx):
        Path("f").write_text("a")
        Path("kept").write_text("a")
        Path("link").symlink_to("kept")
        Path("d").mkdir()
        assert delete_file(ctx, "f") is TRUE
        assert delete_file(ctx, "link") is TRUE
        assert error_of(delete_file, ctx, "./f") == "File not found: f"
        assert error_of(delete_file, ctx, "kept/x") == "File not found: kept/x"
        assert "delete_dir" in error_of(delete_file, ctx, "d")
        assert sorted(os.listdir()) == ["d", "kept"]

    def test_delete_dir(self, ctx):
        Path("empty").mkdir()
        Path("full/a/b").mkdir(parents=True)
        Path("full/a/f").write_text("")
        Path("full/link").symlink_to("a")
        assert delete_dir(ctx, "empty") is TRUE
        assert "recursive" in error_of(delete_dir, ctx, "full")
        assert "recursive" in error_of(delete_dir, ctx, "full", {"recursive": FALSE})
        assert Path("full/a/f").exists()
        assert delete_dir(ctx, "full", {"recursive": TRUE}) is TRUE
        assert os.listdir() == []
        assert error_of(delete_dir, ctx, "full") == "Not a directory: full"
        Path("f").write_text("")
        assert error_of(delete_dir, ctx, "f", {"recursive": TRUE}) == "Not a directory: f"

    def test_every_entry_is_asked_for_before_the_first_goes(self):
        Path("full/a/b").mkdir(parents=True)
        Path("full/f").write_text("")
        ctx = context(("file.write", "full"), ("file.write", "full/a*"))
        assert error_of(delete_dir, ctx, "full", {"recursive": TRUE}).startswith('Capability not granted: file.write("full/f")')
        assert Path("full/a/b").is_dir()


class TestHostsWithoutFiles:
    @pytest.mark.parametrize(
        ("call", "capability"),
        [
            ('read_file("a.txt")', "file.read"),
            ('read_file("a.txt", 1)', "file.read"),
            ('read_file_bytes("a.txt")', "file.read"),
            ('list_dir("a.txt")', "file.read"),
            ('file_info("a.txt")', "file.read"),
            ('file_exists("a.txt")', "file.read"),
            ('grep("a.txt", "x")', "file.read"),
            ('write_file("a.txt", "x")', "file.write"),
            ('append_file("a.txt", "x")', "file.write"),
            ('edit_file("a.txt", "x", "y")', "file.write"),
        ],
    )
    def test_refused_behind_the_gate(self, call, capability):
        Path("a.txt").write_text("on the disk")
        refusal = NO_FILES.format(call.partition("(")[0])
        answer = language.run(call)
        column = call.index("(") + 1
        denial = f'Capability not granted: {capability}("a.txt")'
        assert answer["errors"][0].startswith(f"Runtime error: <embedded>:1:{column}: {denial}")
        assert answer["errors"][0].endswith("; " + refusal)
        assert [(r["capability"], r["scope"], r["granted"]) for r in answer["audit"]] == [(capability, "a.txt", False)]
        granted = language.run(f'require {capability}("a.txt")\n{call}')
        assert granted["errors"] == [f"Runtime error: <embedded>:2:{column}: {refusal}"]
        assert Path("a.txt").read_text() == "on the disk"

    FILES: ClassVar = {"data/a.txt": "one\ntwo\n", "./data/sub/b.bin": {"base64": "/w=="}, "m.lang": "export let X be 5"}

    def given(self, source: str) -> list[str]:
        answer = language.run('require file("./*")\n' + source, files=self.FILES)
        return answer["output"] + answer["errors"]

    def test_what_was_given_is_served(self):
        assert self.given('print(read_file("./data/x/../a.txt"), read_file("data/a.txt", 2, 1))') == ["one\ntwo\n two\n"]
        assert self.given('print(read_file("data/a.txt", 3), read_file("data/a.txt", 1, 9))') == [" one\ntwo\n"]
        assert self.given('print(read_file_bytes("data/sub/b.bin"))') == ["bytes(ff)"]
        assert self.given('print(list_dir("data"))') == [
            '[{name: "a.txt", is_dir: false, size: 8}, {name: "sub", is_dir: true, size: 0}]'
        ]
        assert self.given('print(length(list_dir(".")), file_exists("data"), file_exists("data/none"))') == ["2 true false"]
        assert self.given('print(file_info("data/a.txt"))') == ["{exists: true, is_dir: false, size: 8, modified: nothing}"]
        assert self.given('print(grep("data", "two")["matches"])') == ['[{file: "data/a.txt", line: 2, col: 1, text: "two"}]']
        assert self.given('use "./m.lang" as m\nprint(m.X)') == ["5"]

    @pytest.mark.parametrize("linked", ["data", "data/a.txt", "data/none.txt"])
    def test_what_lies_on_the_disk_changes_nothing(self, linked, tmp_path):
        """A link there would else refuse a file that was given, and tell the program that it exists."""
        source = """
require file("data/*")
task attempt(path)
    try
        give read_file(path)
    recover e
        give e
print(attempt("data/a.txt"), attempt("data/none.txt"), attempt("other.txt"))
"""
        before = language.run(source, files=self.FILES)
        away = tmp_path / "elsewhere"
        away.mkdir()
        (away / "a.txt").write_text("on the disk")
        Path(linked).parent.mkdir(exist_ok=True)
        Path(linked).symlink_to(away if linked == "data" else away / "a.txt")
        after = language.run(source, files=self.FILES)
        assert after["output"] == before["output"] and after["errors"] == []
        assert after["output"][0].startswith("one\ntwo\n ")
        assert [r["why"] for r in after["audit"]] == [r["why"] for r in before["audit"]]

    def test_nothing_else_is(self):
        Path("disk.txt").write_text("on the disk")
        for call in ('read_file("disk.txt")', 'list_dir("none")', 'grep("disk.txt", "x")', 'write_file("data/a.txt", "x")'):
            place = f"<embedded>:2:{call.index('(') + 1}"
            assert self.given(call) == [f"Runtime error: {place}: " + NO_FILES.format(call.partition("(")[0])]
        ungated = language.run('read_file("data/a.txt")', files=self.FILES)
        assert 'Capability not granted: file.read("data/a.txt")' in ungated["errors"][0]
