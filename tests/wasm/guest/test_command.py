"""The wasip1 build as a command: under wasmtime, under Node's WASI, and where a runtime lacks what wazero and others lack."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import pytest

from conformance.wasm_builds import Done, run_command
from tests.wasm.sections import read
from tests.wasm.test_builds_agree import HERE
from tests.wasm.test_manual_cases import DEEP, LOOP, PRINT_AND_LOG, SORTS, TOO_DEEP
from tests.wasm.web_build import node, wasip1_build

#: What the host module of wazero defines (``imports/wasi_snapshot_preview1``): all of preview 1 ...
OF_WAZERO = {
    "args_get", "args_sizes_get", "clock_res_get", "clock_time_get", "environ_get", "environ_sizes_get", "fd_advise",
    "fd_allocate", "fd_close", "fd_datasync", "fd_fdstat_get", "fd_fdstat_set_flags", "fd_fdstat_set_rights",
    "fd_filestat_get", "fd_filestat_set_size", "fd_filestat_set_times", "fd_pread", "fd_prestat_dir_name",
    "fd_prestat_get", "fd_pwrite", "fd_read", "fd_readdir", "fd_renumber", "fd_seek", "fd_sync", "fd_tell",
    "fd_write", "path_create_directory", "path_filestat_get", "path_filestat_set_times", "path_link", "path_open",
    "path_readlink", "path_remove_directory", "path_rename", "path_symlink", "path_unlink_file", "poll_oneoff",
    "proc_exit", "proc_raise", "random_get", "sched_yield", "sock_accept", "sock_recv", "sock_send", "sock_shutdown",
}  # fmt: skip
#: ... of which these answer ENOSYS there or in another runtime: no program may need them.
REFUSED = (
    "fd_advise", "fd_allocate", "fd_fdstat_set_rights", "fd_renumber", "poll_oneoff", "proc_raise", "sched_yield",
    "sock_accept", "sock_recv", "sock_send", "sock_shutdown",
)  # fmt: skip


class Runtime(Protocol):
    """Runs the command line, ``folder`` being the only one that it may open."""

    def __call__(
        self, words: Sequence[str], *, folder: Path | None = None, env: Mapping[str, str] | None = None, stdin: bytes = b""
    ) -> Done: ...


def _in_node(refused: Sequence[str] = (), broken: Sequence[str] = ()) -> Runtime:
    def run(
        words: Sequence[str], *, folder: Path | None = None, env: Mapping[str, str] | None = None, stdin: bytes = b""
    ) -> Done:
        asked = {
            "module": str(wasip1_build()),
            "words": list(words),
            "env": dict(env or {}),
            "folder": folder and str(folder),
            "refused": refused,
            "broken": broken,
        }
        done = subprocess.run(
            [node(), "--no-warnings", str(HERE / "js" / "wasi.js"), json.dumps(asked)],
            input=stdin,
            capture_output=True,
            timeout=60,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    return run


RUNTIMES: dict[str, Callable[[], Runtime]] = {
    "wasmtime": lambda: run_command,
    "Node": lambda: _in_node(),
    "Node without what may lack": lambda: _in_node(REFUSED),
}


@pytest.fixture(params=RUNTIMES)
def command(request: pytest.FixtureRequest) -> Runtime:
    wasip1_build()
    return RUNTIMES[request.param]()


def program(command: Runtime, source: str, *words: str, stdin: bytes | None = None, **more: object) -> Done:
    """A program from standard input."""
    return command([*words, "-"], stdin=source.encode(), **more)  # type: ignore[arg-type]


def test_every_import_is_one_that_wazero_has() -> None:
    imports = read(wasip1_build().read_bytes()).imports
    assert {name for _, name, _ in imports} <= OF_WAZERO
    assert not any(name.startswith("sock_") for _, name, _ in imports)


# ---- usage and exit codes -------------------------------------------------------------------------------------------------


def test_case_12(command: Runtime) -> None:
    misspelt = command(["--sandboxx", "-"], stdin=b"print(1)")
    assert (misspelt.code, misspelt.stdout) == (2, "") and "unknown flag '--sandboxx'" in misspelt.stderr
    assert "usage: lang-wasip1.wasm" in misspelt.stderr
    failing = command(["-"], stdin=b'print(1)\nraise("x")')
    assert (failing.code, failing.stdout) == (1, "1\n")
    assert command(["missing.lang"]).code == 2


def test_case_13(command: Runtime) -> None:
    done = program(command, PRINT_AND_LOG)
    assert (done.code, done.stdout, done.stderr) == (3, "a\nc\n", "[LOG] b\n")


def test_case_14(command: Runtime) -> None:
    assert program(command, LOOP).stdout == "2000000\n"
    assert program(command, f"{DEEP}print(deep(2900))").stdout == "2900\n"
    deeper = program(command, f"{DEEP}print(deep(3500))")
    assert deeper.code == 1 and TOO_DEEP in deeper.stderr
    sorts = program(command, SORTS)
    assert sorts.stdout == "1\n" or (sorts.code == 1 and TOO_DEEP in sorts.stderr)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "no program given"),
        (("-x",), "unknown flag '-x'"),
        (("--Sandbox", "-"), "unknown flag '--Sandbox'"),
        (("--cap-set",), "--cap-set"),
        (("--cap-set", "teleport=x", "-"), "teleport"),
        (("--sandbox", "--cap-set", "stdout", "-"), "--cap-set"),
        (("nowhere/missing.lang",), "missing.lang"),
    ],
)
def test_usage(command: Runtime, words: tuple[str, ...], said: str) -> None:
    done = command(words, stdin=b"print(1)")
    assert (done.code, done.stdout) == (2, "") and said in done.stderr


@pytest.mark.parametrize("flag", ["--help", "-h", "--version"])
def test_help_and_version(command: Runtime, flag: str) -> None:
    done = command([flag])
    assert (done.code, done.stderr) == (0, "")
    assert done.stdout.startswith("lang " if flag == "--version" else "usage: lang-wasip1.wasm")


@pytest.mark.parametrize("flag", ["--help", "-h", "--version"])
def test_nothing_is_passed_over_beside_them(command: Runtime, flag: str) -> None:
    for other in ("--bogus", "--test", "extra", "--"):
        done = command([flag, other])
        assert (done.code, done.stdout) == (2, "") and f"'{other}'" in done.stderr
    done = command(["--bogus", flag])
    assert (done.code, done.stdout) == (2, "") and "'--bogus'" in done.stderr


def test_an_error_shows_its_line_of_source(command: Runtime) -> None:
    done = program(command, "let total be 1\nprint(totl)\n")
    assert done.stderr.splitlines() == [
        "Runtime error: <stdin>:2:7: Undefined variable: 'totl'",
        "2 | print(totl)",
        "  |       ^^^^",
        "help: did you mean `total`?",
        "more: lang docs E0201",
    ]


@pytest.mark.parametrize("source", ['print("a', "let x be", "raise 1", 'raise("x")'])
def test_errors_end_with_1(command: Runtime, source: str) -> None:
    assert program(command, source).code == 1


def test_tests(command: Runtime) -> None:
    done = program(command, 'print("dropped")\ntest "sum"\n    assert(1 + 1 == 2)\ntest "bad"\n    assert(1 == 2)', "--test")
    good, bad, *shown, total = done.stdout.splitlines()
    assert (done.code, good, total) == (1, "✓ sum", "1 passed, 1 failed (2 total)")
    assert bad.startswith("✗ bad: ") and bad.endswith(":5:11: assertion failed")
    assert [line.strip() for line in shown][1:3] == ["5 |     assert(1 == 2)", "|     ^^^^^^^^^^^^^^"]
    assert program(command, 'test "sum"\n    assert(true)', "--test").code == 0


def test_ceilings(command: Runtime) -> None:
    source = 'require env("A")\nprint("b")\nprint(env("A"))'
    done = program(command, source, "--sandbox", env={"A": "x"})
    assert (done.code, done.stdout) == (1, "b\n") and "above the host ceiling" in done.stderr
    for words in (("--cap-set", "stdout,env=A"), ("--cap-set=stdout,env=A",)):
        assert program(command, source, *words, env={"A": "x"}).stdout == "b\nx\n"
    silent = program(command, "print(1)", "--cap-set", "time")
    assert silent.stdout == "" and "Capability not granted: stdout" in silent.stderr


# ---- what WASI lends ------------------------------------------------------------------------------------------------------


def test_arguments_variables_and_input(command: Runtime, tmp_path: Path) -> None:
    (tmp_path / "a.lang").write_text(
        'require env("A")\nrequire env("FROM_FILE")\nrequire secret("K")\n'
        'print(args(), env("A"), env("FROM_FILE"), secret("K"))\nprint(read_line())\nprint(read_line())\nprint(read_line())\n'
    )
    (tmp_path / ".env").write_text("FROM_FILE=f\nA=other\n")
    env = {"A": "é", "K": "sealed"}
    done = command(["a.lang", "--", "one", "--two"], folder=tmp_path, env=env, stdin="ä\nlast".encode())
    assert (done.code, done.stderr) == (0, "")
    assert done.stdout == '["one", "--two"] é f secret(K)\nä\nlast\nnothing\n'
    bare = command(["--no-env-file", "a.lang"], folder=tmp_path, env=env)
    assert bare.code == 1 and "FROM_FILE" in bare.stderr
    (tmp_path / "other.env").write_text("FROM_FILE=o\n")
    assert " o " in command(["--env-file", "other.env", "a.lang"], folder=tmp_path, env=env).stdout


def test_files_are_those_of_the_folder(command: Runtime, tmp_path: Path) -> None:
    folder = tmp_path / "lent"
    (folder / "sub").mkdir(parents=True)
    (tmp_path / "outside.txt").write_text("out")
    (folder / "a.txt").write_text("é")
    (folder / "lib.lang").write_text("export let X be 5")
    (folder / "page.txt").write_text("Hello {name}")
    (folder / "p.lang").write_text(
        'require file.read("*")\nrequire file.write("*")\nuse "./lib.lang" as lib\n'
        'print(lib.X, read_file("a.txt"), body of render("page.txt", {"name": "Ana"}))\n'
        'write_file("sub/b.txt", "one\\n")\nappend_file("sub/b.txt", "two\\n")\nprint(read_file("sub/b.txt"))\n'
        'print(apply(list_dir("."), (f) => f.name), file_exists("sub/b.txt"), file_exists("none"))\n'
        'print(file_info("sub/b.txt")["size"], length(grep("sub/b.txt", "tw")["matches"]))\n'
        'try\n    read_file("../outside.txt")\nrecover e\n    print("outside")\n'
        'try\n    read_file("/etc/passwd")\nrecover e\n    print("nor there")\n'
    )
    done = command(["p.lang"], folder=folder)
    assert (done.code, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "5 é Hello Ana" and lines[1:4] == ["one", "two", ""]
    assert "a.txt" in lines[4] and lines[4].endswith("true false")
    assert lines[5] == "8 1" and lines[-2:] == ["outside", "nor there"]
    assert (folder / "sub" / "b.txt").read_text() == "one\ntwo\n"
    assert (tmp_path / "outside.txt").read_text() == "out"


def test_files_need_their_capability(command: Runtime, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "p.lang").write_text('print(read_file("a.txt"))')
    assert "Capability not granted: file.read" in command(["p.lang"], folder=tmp_path).stderr
    (tmp_path / "p.lang").write_text('require file.read("a.txt")\nprint(read_file("a.txt"))')
    assert command(["p.lang"], folder=tmp_path).stdout == "a\n"
    assert "above the host ceiling" in command(["--sandbox", "p.lang"], folder=tmp_path).stderr


def test_no_folder_is_an_ordinary_error(command: Runtime) -> None:
    done = program(
        command, 'require file.read("*")\ntry\n    read_file("a.txt")\nrecover e\n    print("caught")\nread_file("a.txt")'
    )
    assert (done.code, done.stdout) == (1, "caught\n") and "a.txt" in done.stderr


def test_sleep_takes_its_time(command: Runtime) -> None:
    started = time.monotonic()
    done = program(command, "let a be now()\nsleep(0.4)\nprint(now() - a >= 0.4, now() - a < 5)")
    assert (done.stdout, done.stderr) == ("true true\n", "")
    assert 0.4 <= time.monotonic() - started < 20


def test_what_there_is_instead_of_hooks(command: Runtime) -> None:
    source = """require net("api.example")
require llm
require random
let r be http_get("https://api.example/")
print(r["ok"], r["error"])
print(reason about "rain", llm_available())
state_set("a", 1)
print(state_get("a"), state_all())
print(parallel_map((x) => x + 1, [1, 2]))
let go be approve "go?"
let sure be confirm "sure?"
let who be ask "who?" with ["me", "you"]
print(go, sure, who)
print(length(random_bytes(32)), random_bytes(32) == random_bytes(32))
eprint("aside")
"""
    done = program(command, source)
    assert done.code == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("false http_get: not available in the wasm profile — this host provides no http transport")
    assert lines[1].endswith(" false")
    assert lines[2:] == ["1 {a: 1}", "[2, 3]", "false false me", "32 false"]
    assert "aside" in done.stderr


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ('require memory("n")\nremember("context", "a")', 'memory "n" is declared but this host provides no durable storage'),
        (
            'require serve(80)\nserve on 80\n    route "GET /"\n        give 1',
            "`serve` works only under `lang serve` — not available in the wasm profile",
        ),
    ],
)
def test_what_there_is_not(command: Runtime, source: str, said: str) -> None:
    done = program(command, source)
    assert (done.code, done.stdout) == (1, "") and said in done.stderr


def test_lines_are_written_one_by_one() -> None:
    done = _in_node(broken=["clock_time_get"])(["-"], stdin=b'print("a")\nlog "b"\nprint("c")\nnow()\nprint("d")')
    assert done.code != 0 and done.stdout == "a\nc\n" and done.stderr.startswith("[LOG] b\n")
