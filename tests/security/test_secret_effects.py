"""Secrets and the world outside: files, processes, requests and databases see the name, or nothing; headers see the plaintext.

Each program runs twice in a folder of its own, with two plaintexts, without a grant to reveal. What it left behind must be the
same: its lines, the files, what a server received.
"""

from __future__ import annotations

import http.server
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from stdlib import all_builtins

ROOT = Path(__file__).resolve().parent.parent.parent
PLAINTEXTS = ("zq9-hunter2", "aé🔑 {'n': 1} correct horse battery staple")

FILES = [
    'write_file("a.txt", k)',
    'write_file("a.txt", "x" + k)',
    'write_file("a.txt", `x{k}`)',
    'write_file("a.txt", join(["a", k], "-"))',
    'write_file("a.txt", bearer(k))',
    'write_file("a.txt", [k])',
    'write_file("a.txt", {"a": {"b": k}})',
    'write_file("a.txt", json_encode(k))',
    'write_file("a.txt", text(k))',
    'write_file(k, "x")',
    'write_file("sub/" + k, "x")',
    'append_file("e.txt", k)',
    'append_file("e.txt", [k])',
    'append_file(k, "x")',
    'edit_file("e.txt", "old", k)',
    'edit_file("e.txt", k, "new")',
    'edit_file("e.txt", "old", [k])',
    "print(read_file(k))",
    "print(read_file_bytes(k))",
    "print(list_dir(k))",
    "print(file_info(k))",
    "print(file_exists(k))",
    'print(grep(".", k))',
    'print(grep(k, "o"))',
    'print(grep(".", "o", {"glob": k}))',
    "delete_file(k)",
    "delete_dir(k)",
    'print(read_file("e.txt", k))',
]
PROCESSES = [
    'print(run("echo", [k]))',
    'print(run("echo", ["a" + k, [k]]))',
    'print(run("echo", k))',
    "print(run(k))",
    'print(run("cat", [], 20, {"stdin": k}))',
    'print(run("cat", [], 20, {"stdin": [k]}))',
    'print(run("sh", ["-c", "printenv A"], 20, {"env": {"A": k}}))',
    'print(run("sh", ["-c", "pwd -P | grep -c secret"], 20, {"cwd": k}))',
    'print(run("printenv", ["K"]))',
    'print(run("echo", [], k))',
]
REQUESTS = [
    'print(fetch("http://PLACE/" + k).status)',
    "print(fetch(`http://PLACE/a?k={k}`).status)",
    'print(http("GET", "http://PLACE/", {}, {"k": k}).status)',
    'print(http_get("http://PLACE/", {}, {"a": [k]}).status)',
    'print(http_post("http://PLACE/", k).status)',
    'print(http_post("http://PLACE/", {"a": k}).status)',
    'print(http_post("http://PLACE/", "a" + k).status)',
    'print(http_put("http://PLACE/", [k]).status)',
    'print(http(k, "http://PLACE/").status)',
    'print(fetch("http://PLACE/", {"method": "POST", "body": k}).status)',
    'print(http_bytes("POST", "http://PLACE/", {}, {}, k).status)',
    "print(fetch(k))",
    'print(fetch("http://" + k + "@PLACE/"))',
    'print(fetch("http://PLACE/", "GET", {}, nothing, k))',
]
DATABASES = [
    'sql_exec("INSERT INTO t VALUES (?)", [k])\nprint(sql("SELECT a FROM t"))',
    'sql_exec("INSERT INTO t VALUES (?)", ["x" + k])\nprint(sql("SELECT a FROM t"))',
    'sql_exec("INSERT INTO t VALUES (?)", [[k]])\nprint(sql("SELECT a FROM t"))',
    'sql_batch("INSERT INTO t VALUES (?)", [["a"], [k]])\nprint(sql("SELECT a FROM t"))',
    'print(sql("SELECT ? AS a", [k]))',
    'print(sql("SELECT 1 AS a WHERE ? = ?", [k, k]))',
    'print(sql("SELECT \'" + k + "\' AS a"))',
    "print(sql(k))",
    "sql_exec(k)",
    "db_open(k)",
]
NEEDED = {"write_file": FILES, "run": PROCESSES, "fetch": REQUESTS, "sql": DATABASES}
PROGRAMS = [program for builtin, programs in NEEDED.items() if builtin in all_builtins() for program in programs]

PREAMBLE = """\
require file
require exec
require net
require db
require secret("K")
let k be secret("K")
"""


class Server(http.server.ThreadingHTTPServer):
    """A server on this machine that keeps what reaches it."""

    daemon_threads = True

    def __init__(self) -> None:
        self.received: list[tuple[str, str, bytes]] = []
        self.headers: list[dict[str, str]] = []
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.received.append((self.command, self.path, body))
        self.server.headers.append({name.lower(): value for name, value in self.headers.items()})
        self.send_response_only(200)  # Without the date, which two answers need not share.
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    do_GET = do_POST = do_PUT = do_DELETE = answer

    def log_message(self, format: str, *arguments: object) -> None:
        pass


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.shutdown()
    running.server_close()


def run(program: str, plaintext: str, folder: Path, server: Server) -> tuple[str, str, dict[str, bytes]]:
    """Output, errors and the files left behind."""
    folder.mkdir()
    (folder / "e.txt").write_text("old text\n", encoding="utf-8")
    source = PREAMBLE
    if program in DATABASES and "db_open" not in program:
        source += 'db_open("./a.db")\nsql_exec("CREATE TABLE t (a)")\n'
    source += program.replace("PLACE", f"127.0.0.1:{server.server_port}") + "\n"
    (folder / "prog.lang").write_text(source, encoding="utf-8")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PLATFORM_")}
    done = subprocess.run(
        [sys.executable, "-m", "language", "run", "prog.lang"],
        cwd=folder,
        env={
            **kept,
            "K": plaintext,
            "PYTHONPATH": str(ROOT),
            "PLATFORM_AUDIT_DIR": str(folder / "audit"),
        },
        capture_output=True,
        timeout=120,
    )
    left = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "reveal.log"
    }
    log = folder / "audit" / "reveal.log"
    if log.exists():
        left["reveal.log"] = b"".join(line[20:] for line in log.read_bytes().splitlines())
    return done.stdout.decode(), done.stderr.decode(), left


@pytest.mark.parametrize("program", PROGRAMS)
def test_no_effect_carries_the_plaintext(program: str, tmp_path: Path, server: Server) -> None:
    told = []
    for number, plaintext in enumerate(PLAINTEXTS):
        server.received.clear()
        server.headers.clear()
        out, errors, left = run(program, plaintext, tmp_path / str(number), server)
        # The folder's own name stands in some errors.
        errors = errors.replace(str(tmp_path / str(number)), "FOLDER")
        told.append((out, errors, left, list(server.received), list(server.headers)))
        assert "Parse error" not in errors
        assert "internal error" not in errors
        for octets in (plaintext.encode(), plaintext.encode("utf-16-le"), plaintext.encode().hex().encode()):
            assert octets not in b"".join(left.values())
        assert plaintext not in repr(told[-1])
    assert told[0] == told[1]


needs_requests = pytest.mark.skipif("fetch" not in all_builtins(), reason="no HTTP client in this version")


@needs_requests
@pytest.mark.parametrize("header", ["bearer(k)", "k", "`Bearer {k}`", '"Bearer " + k'])
def test_a_header_carries_it_and_shows_the_name(header: str, tmp_path: Path, server: Server) -> None:
    server.headers.clear()
    program = f'let h be {{"Authorization": {header}}}\nprint(fetch("http://PLACE/", {{"headers": h}}).status, h)'
    out, errors, _ = run(program, "hunter2", tmp_path / "a", server)
    assert (out, errors) == ("200 {Authorization: secret(K)}\n", "")
    assert [sent["authorization"].removeprefix("Bearer ") for sent in server.headers] == ["hunter2"]


@needs_requests
@pytest.mark.parametrize("header", ['{"X": [k]}', '{"X": text(k)}', '{"X": {"a": k}}'])
def test_a_header_made_of_its_display_form_does_not(header: str, tmp_path: Path, server: Server) -> None:
    server.headers.clear()
    run(f'fetch("http://PLACE/", {{"headers": {header}}})', "hunter2", tmp_path / "a", server)
    assert "hunter2" not in repr(server.headers)


@needs_requests
@pytest.mark.parametrize("plaintext", ["hunter2\r\nX-Evil: 1", "hunter2\nb", "hunter2\x7fb"])
def test_a_header_with_a_line_break_is_refused_by_its_name(plaintext: str, tmp_path: Path, server: Server) -> None:
    server.headers.clear()
    out, errors, _ = run('fetch("http://PLACE/", {"headers": {"X-Key": k}})', plaintext, tmp_path / "a", server)
    assert server.headers == []
    assert out == ""
    assert "X-Key" in errors
    assert plaintext not in errors
    assert "hunter2" not in errors


REVEALED = {
    "write_file": ('write_file("a.txt", k)\nprint(read_file("a.txt"))', "hunter2\n"),
    "append_file": ('append_file("a.txt", "x" + k)\nprint(read_file("a.txt"))', "xhunter2\n"),
    "run": ('print(run("cat", [], 20, {"stdin": k}).stdout)', "hunter2\n"),
    "sql": ('print(sql("SELECT ? AS a", [k])[0].a)', "hunter2\n"),
}


@pytest.mark.parametrize("name", [name for name in REVEALED if name in all_builtins()])
def test_these_doors_open_by_name_and_are_noted(name: str, tmp_path: Path, server: Server) -> None:
    program, expected = REVEALED[name]
    opened = 'db_open("./a.db")\n' if name == "sql" else ""
    out, errors, left = run(f'require reveal("K")\n{opened}{program}', "hunter2", tmp_path / "a", server)
    assert (out, errors) == (expected, "")
    assert b"result=granted name=K" in left["reveal.log"]
    out, errors, left = run(f'require reveal("OTHER")\n{opened}{program}', "hunter2", tmp_path / "b", server)
    assert out == ""
    assert 'reveal("K")' in errors
    assert b"result=denied name=K" in left["reveal.log"]
    assert "hunter2" not in repr(left)
