"""``static "/" from "."`` beside everything that is nobody's business (7.9, 3.4)."""

from __future__ import annotations

import os
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest

from language.cli.protected_paths import touching
from tests.folders import paths_below
from tests.serve.served import Served
from tests.waiting_gates import wait_for

ROOT = Path(__file__).resolve().parent.parent.parent
SECRET = "hunter2-in-a-file"
PROGRAM = f"""
-- {SECRET}
require serve(PORT)
require db("app.db")
require db("later.db")
require file.read("log/audit.jsonl")
require memory("notes")
require file("*")
use "./inner.lang" as inner
db_open("app.db")
sql("PRAGMA journal_mode = WAL")
sql_exec("CREATE TABLE IF NOT EXISTS t (a TEXT)")
sql_exec("INSERT INTO t VALUES (?)", ["{SECRET}"])
remember("decision", "{SECRET}", ["t"])
serve on PORT
    static "/" from "." fallback "app.lang"
    static "/again" from "../site"
    route "GET /here"
        give inner.here()
"""


class Site:
    """A service of ``lang serve`` in a folder that holds all its files, with a shared store of two processes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "site"
        self.folder.mkdir()
        with socket.create_server(("127.0.0.1", 0)) as taken:
            self.port = int(taken.getsockname()[1])
        files = {
            "app.lang": PROGRAM.replace("PORT", str(self.port)),
            "inner.lang": f"-- {SECRET}\nexport task here()\n    give 1\n",
            ".env": f"K={SECRET}\n",
            "settings.env": f"K={SECRET}\n",
            ".git/config": SECRET,
            ".hidden/page.html": SECRET,
            "d/.env": SECRET,
            "later.db": SECRET,
            "log/audit.jsonl.1": SECRET,
            "log/audit.jsonl-20260101.gz": SECRET,
            "public.txt": "public",
            ".well-known/security.txt": "public",
        }
        for name, text in files.items():
            (self.folder / name).parent.mkdir(exist_ok=True, parents=True)
            (self.folder / name).write_text(text, encoding="utf-8")
        (folder / "outside.txt").write_text(SECRET)
        for name, target in {
            "env-link.txt": "settings.env",
            "audit-link.txt": "log/audit.jsonl",
            "source-link.txt": "app.lang",
            "db-link.txt": "app.db",
            "out-link.txt": "../outside.txt",
            "out-folder": "..",
            "public-link.txt": "public.txt",
        }.items():
            (self.folder / name).symlink_to(target)
        for name in ("state", "tmp"):
            (self.folder / name).mkdir(mode=0o700)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "language", "serve", "--bind", "127.0.0.1", "--env-file", "settings.env", "app.lang"],
            cwd=self.folder,
            env={
                "HOME": str(self.folder),
                "PATH": os.environ["PATH"],
                "PYTHONPATH": str(ROOT),
                "PLATFORM_AUDIT_FILE": str(self.folder / "log" / "audit.jsonl"),
                "PLATFORM_STATE_DIR": str(self.folder / "state"),
                "PLATFORM_SERVE_PROCESSES": "2",
                "PLATFORM_SHUTDOWN_GRACE": "2",
                "TMPDIR": str(self.folder / "tmp"),
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        wait_for(self._answers, 30)
        os.link(self.folder / "app.db", self.folder / "hard.txt")

    def _answers(self) -> bool:
        assert self.process.poll() is None
        try:
            return self.get("/public.txt") == (200, b"public")
        except OSError:
            return False

    def get(self, path: str, method: str = "GET") -> tuple[int, bytes]:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.putrequest(method, path, skip_accept_encoding=True)
        connection.endheaders()
        reply = connection.getresponse()
        body = reply.read()
        connection.close()
        return reply.status, body


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    site = Site(tmp_path_factory.mktemp("withheld"))
    yield site
    site.process.send_signal(signal.SIGTERM)
    assert site.process.wait(20) == 0


PATHS = [
    "/.env", "/%2eenv", "/%2Eenv", "/.%65nv", "/.ENV", "/.Env", "/./.env", "//.env", "/d/../.env", "/d/.env", "/d/%2eenv",
    "/.env/", "/.env%00", "/.env%20", "/.env.", "/%252eenv", "/.git/config", "/%2egit/config", "/.git", "/.GIT/config",
    "/.hidden/page.html", "/.well-known/../.env", "/.well-known/../.git/config", "/settings.env", "/settings%2eenv",
    "/Settings.env", "/env-link.txt", "/log/audit.jsonl", "/log/audit.jsonl.1", "/log/audit.jsonl-20260101.gz",
    "/log/%61udit.jsonl", "/audit-link.txt", "/app.lang", "/%61pp.lang", "/APP.LANG", "/inner.lang", "/source-link.txt",
    "/app.db", "/app.db-wal", "/app.db-shm", "/db-link.txt", "/hard.txt", "/later.db", "/state/notes.db", "/state/notes.db-wal",
    "/out-link.txt", "/out-folder/outside.txt", "/out-folder/site/.env", "/../outside.txt", "/..%2foutside.txt", "/.lang/cache",
    "/.%2e/outside.txt", "/..%5coutside.txt", "/d/..%2f.env", "/ .env", "/\\.env", "/d\\.env",
]  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
def test_nobody_gets_it(site: Site, path: str) -> None:
    for prefix in ("", "/again", "/out-folder/site"):
        for method in ("GET", "HEAD"):
            status, body = site.get((prefix + path).replace(" ", "%20"), method)
            assert status in (404, 400), (prefix, path)
            assert SECRET.encode() not in body and b"SQLite format" not in body


def test_every_file_there_is(site: Site) -> None:
    """Whatever else the runtime has put there: what can be had is public."""
    found = set()
    for folder, _, names in os.walk(site.folder):
        for name in names:
            path = "/" + str((Path(folder) / name).relative_to(site.folder))
            if site.get(path)[0] == 200:
                found.add(path)
    assert found == {"/public.txt", "/public-link.txt", "/.well-known/security.txt"}
    assert paths_below(site.folder / "tmp"), "the shared store is there"
    assert list((site.folder / "state").glob("*.db"))


def test_the_rest_is_served(site: Site) -> None:
    assert site.get("/public-link.txt") == (200, b"public")
    assert site.get("/.well-known/security.txt") == (200, b"public")
    assert site.get("/again/public.txt") == (200, b"public")
    assert site.get("/here") == (200, b"1")


def test_what_becomes_of_the_program_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "late.lang").write_text("export task f()\n    give 1\n")
    app = Served(
        'require serve(8080)\nrequire db("*")\nserve on 8080\n    static "/" from "."\n    route "GET /z"\n'
        '        db_open("some.db")\n        sql_exec("CREATE TABLE IF NOT EXISTS t (a)")\n        give 1\n',
        tmp_path,
    )
    with sqlite3.connect(tmp_path / "other.db") as other:
        other.execute("CREATE TABLE t (a)")
    assert app("GET", "/other.db").status == 200  # not one of the program
    assert app("GET", "/z").status == 200
    assert app("GET", "/some.db").status == 404
    os.replace(tmp_path / "app.lang", tmp_path / "saved.lang")
    (tmp_path / "app.lang").write_text("edited while it runs")
    assert app("GET", "/app.lang").status == 404
    app.context.capabilities.protected_path = touching([str(tmp_path / "other.db")])
    assert app("GET", "/other.db").status == 404
    app.host.databases.close_all()  # type: ignore[union-attr]
