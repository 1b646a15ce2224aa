"""Memories in SQLite files: what is found, what is left of what was erased, and what damaged, foreign and strange files do."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from language.errors import RuntimeFault
from language.host import memory_ranking
from language.host.kv_hook import HookedKv
from language.host.kv_memory import KvMemory
from language.host.memory import MemoryEntry, Query, found
from language.native import memory as sqlite_memory
from language.native.memory import SqliteMemory
from language.native.memory_inspection import contents, problems

ROOT = Path(__file__).resolve().parents[2]
FIRST_LAYOUT = """
CREATE TABLE memory (id TEXT PRIMARY KEY, category TEXT, content TEXT, data TEXT, tags TEXT, source TEXT,
  confidence REAL, active INTEGER, created_at REAL, updated_at REAL);
CREATE TABLE rules (name TEXT PRIMARY KEY, level TEXT, description TEXT, condition TEXT, action TEXT,
  category TEXT, tags TEXT, active INTEGER);
CREATE TABLE progress (task_name TEXT, step_name TEXT, status TEXT, started_at REAL, finished_at REAL,
  result TEXT, error TEXT, metadata TEXT, retries INTEGER, PRIMARY KEY (task_name, step_name));
CREATE TABLE decisions (id TEXT PRIMARY KEY);
INSERT INTO memory VALUES ('mem_2', 'context', 'Second', '{}', '["a"]', 'main', 1.0, 1, 2.0, 2.0);
INSERT INTO memory VALUES ('mem_10', 'rule', 'Straße', '{}', '[]', 'main', 1.0, 1, 3.0, 3.0);
INSERT INTO memory VALUES ('mem_11', 'rule', 'Forgotten', '{}', '[]', 'main', 1.0, 0, 4.0, 4.0);
INSERT INTO rules VALUES ('cap', 'must', 'x < 1', '', 'warn', 'c', '[]', 1);
INSERT INTO progress VALUES ('sync', 'fetch', 'done', 1.0, 2.0, 'r', NULL, '{}', 0);
INSERT INTO progress VALUES ('sync', 'send', 'pending', NULL, NULL, NULL, NULL, '{}', 0);
"""


def entry(content: str, **options: Any) -> MemoryEntry:
    options.setdefault("about", "")
    return MemoryEntry("", options.pop("category", "context"), content, options.pop("tags", []), "main", **options)


def edit(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        connection.executescript(statement)
    connection.close()


def fault(act: Any) -> str:
    with pytest.raises(RuntimeFault) as caught:
        act()
    return str(caught.value).removeprefix("Runtime error: ")


# ---- what is found -----------------------------------------------------------------------------------------------------


class Kv:
    """The store of an embedder."""

    def __init__(self, text: str | None = None) -> None:
        self.texts = {} if text is None else {("memory:m", "memory"): text}

    def get(self, namespace: str, key: str) -> str | None:
        return self.texts.get((namespace, key))

    def set(self, namespace: str, key: str, value: str) -> None:
        self.texts[namespace, key] = value


@pytest.mark.parametrize("many", [3, 2000])  # with 3, every way to search is taken
def test_all_searches_find_what_comparing_each_entry_finds(many: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_memory, "_MANY", many)
    chance = random.Random(7)
    words = [
        "tea",
        "Coffee",
        "STRASSE",
        "straße",
        "naïve",
        "茶を飲む",
        'a "quoted" one',
        "x%_y",
        "be",
        "İstanbul",
        "a\0b",
        "🍵🍵🍵",
    ]
    store = SqliteMemory(str(tmp_path), "m")
    twin = KvMemory(HookedKv(Kv()), "m", print)
    kept: list[MemoryEntry] = []
    for number in range(120):
        made = entry(
            " ".join(chance.choices(words, k=chance.randint(1, 4))),
            category=chance.choice(["context", "rule"]),
            tags=chance.sample(["a", "b", "c'"], chance.randint(0, 3)),
            about=chance.choice(["", "", "ann", "an"]),
            expires=chance.choice([None, None, 5.0, 1e12]),
        )
        now = float(chance.randint(1, 4))
        identifier = store.add(made, now)
        assert identifier == twin.add(made, now) == f"mem_{number + 1}"
        kept.append(
            MemoryEntry(identifier, made.category, made.content, made.tags, "main", now, about=made.about, expires=made.expires)
        )
    for hidden in ("mem_3", "mem_70", "mem_999"):
        store.forget([hidden], False, 4.0)
        twin.forget([hidden], False, 4.0)
    kept = [each for each in kept if each.id not in ("mem_3", "mem_70")]
    assert store.count(1.0) == twin.count(1.0) == len(kept)
    for _ in range(150):
        query = Query(
            category=chance.choice([None, "context", "rule", "none"]),
            tags=chance.choice([[], ["a"], ["a", "b"], ["c'", "z"]]),
            every_tag=chance.random() < 0.5,
            search=chance.choice(
                [None, "", "TEA", "ss", "fee s", "茶を飲", '"quoted"', "%", "i̇st", "x" * 200, "a\0b", "🍵🍵🍵"]
            ),
            source=chance.choice([None, "main", "other"]),
            about=chance.choice(["", "ann", "an", "nobody"]),
            limit=chance.choice([1, 5, 200, 2**70]),
        )
        now = chance.choice([4.0, 6.0])
        expected = [each.id for each in found(kept, query, now)]
        assert [each.id for each in store.search(query, now)] == expected
        assert [each.id for each in twin.search(query, now)] == expected
    for question in ["Tea or coffee?", "Strasse", "quoted be", "be", "İstanbul 茶を飲む", "none at all", "!?"]:
        for about in ("", "ann"):
            asked = memory_ranking.words_of(question)
            best = [each.id for each in store.ranked(asked, about, 7, 4.0)]
            assert best == [each.id for each in twin.ranked(asked, about, 7, 4.0)]
    assert problems(str(tmp_path / "m.db")) == []


def test_a_rare_word_decides_and_short_texts_come_first() -> None:
    kept = [entry(f"the customer number {number} drinks tea") for number in range(50)]
    kept += [entry("the customer drinks espresso" + " and so on" * 50), entry("espresso")]
    words = memory_ranking.words_of("Which customer drinks the ESPRESSO?")
    weights = memory_ranking.useful(memory_ranking.frequencies_in(kept, words), len(kept))
    best = memory_ranking.best(kept, weights, 3)
    assert [each.content[:12] for each in best][:2] == ["espresso", "the customer"]
    assert memory_ranking.words_of("") == [] and len(memory_ranking.words_of("word " * 10**6)) == 1


def test_what_is_kept_under_a_key_is_replaced_and_what_is_over_is_removed(tmp_path: Path) -> None:
    store = SqliteMemory(str(tmp_path), "m")
    first = store.add(entry("old text", key="k"), 1.0)
    assert store.add(entry("new text", key="k"), 2.0) == first != store.add(entry("of ann", key="k", about="ann"), 2.0)
    assert [each.content for each in store.search(Query(search="text"), 3.0)] == ["new text"]
    store.forget([first], False, 3.0)
    assert store.add(entry("again", key="k"), 4.0) != first
    for number in range(30):
        store.add(entry(f"short {number}", expires=10.0), 5.0)
    assert store.count(9.0) == 32 and store.count(10.0) == 2
    store.add(entry("later"), 11.0)
    store.add(entry("later"), 11.0)
    rows = sqlite3.connect(tmp_path / "m.db").execute("SELECT count(*) FROM memory WHERE expires_at IS NOT NULL").fetchone()
    assert rows == (0,)


def test_nothing_is_left_of_what_was_erased(tmp_path: Path) -> None:
    store = SqliteMemory(str(tmp_path), "m")
    text = "the code of the safe is 8237-1199-5521"
    for number in range(40):
        store.add(entry(f"entry {number}"), 1.0)
    secret = [store.add(entry(text + " " * number), 2.0) for number in range(3)]
    store.forget(secret[:1], False, 3.0)
    assert b"8237-1199" in b"".join(path.read_bytes() for path in tmp_path.iterdir())
    store.forget([*secret, "mem_9999", "nonsense"], True, 4.0)
    assert store.search(Query(search="8237-1199"), 5.0) == [] and store.count(5.0) == 40
    files = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"8237" not in files and b"1199" not in files and b"237" not in files
    # The number of the last entry is not used again.
    assert store.add(entry("next"), 6.0) == "mem_44"
    assert problems(str(tmp_path / "m.db")) == []


# ---- damage ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("broken", ["[oops", '{"a": 1}', "5"])
def test_broken_tags_are_an_error_that_names_the_row(broken: str, tmp_path: Path) -> None:
    store = SqliteMemory(str(tmp_path), "m")
    store.add(entry("whole", tags=["a"]), 1.0)
    store.add(entry("broken", tags=["a"]), 2.0)
    path = tmp_path / "m.db"
    edit(path, f"UPDATE memory SET tags = '{broken}' WHERE id = 2")
    said = f'memory "m": the entry mem_2 of {path} is damaged: its tags are not a JSON list'
    assert fault(lambda: store.search(Query(), 3.0)).startswith(said)
    if broken == "[oops":
        assert fault(lambda: store.search(Query(tags=["a"]), 3.0)).startswith(said)
    assert problems(str(path)) == ["mem_2: its tags are not a JSON list"]
    store.forget(["mem_2"], False, 3.0)
    assert [each.content for each in store.search(Query(), 4.0)] == ["whole"]


def test_broken_tags_in_the_store_of_an_embedder_are_an_error_that_names_the_entry() -> None:
    broken_twin = Kv('{"entries": {"mem_1": {"id": "mem_1", "tags": "[oops"}}, "rules": {}}')
    twin = KvMemory(HookedKv(broken_twin), "m", print)
    assert "the entry mem_1 is damaged: its tags are not a JSON list" in fault(lambda: twin.search(Query(), 1.0))


def filled(folder: Path, name: str = "m") -> Path:
    """A memory with many entries, closed in order."""
    store = SqliteMemory(str(folder), name)
    for number in range(60):
        store.add(entry(f"entry number {number} " + "x" * 2000), float(number))
    del store
    return folder / f"{name}.db"


def overwrite(path: Path, at: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(data)


def test_damage_is_told_and_never_taken_for_an_empty_memory(tmp_path: Path) -> None:
    path = filled(tmp_path)
    whole = path.read_bytes()
    # One page in the middle.
    overwrite(path, len(whole) // 2 // 4096 * 4096, os.urandom(4096))
    assert problems(str(path)) != []
    unread: list[str] = []
    saved = [found for found in contents(str(path), unread.append) if found["kind"] == "entry"]
    assert saved and all("entry number" in found["content"] for found in saved)
    # The first page: nothing can be read at all.
    overwrite(path, 0, b"x" * 4096)
    store = SqliteMemory(str(tmp_path), "m")
    for act in (
        lambda: store.count(1.0),
        lambda: store.search(Query(), 1.0),
        lambda: store.add(entry("x"), 1.0),
        lambda: store.forget(["mem_1"], True, 1.0),
        lambda: store.rules(),
        lambda: store.steps("t"),
    ):
        said = fault(act)
        assert str(path) in said and "file is not a database" in said
    assert path.read_bytes()[:4096] == b"x" * 4096
    # Cut off to nothing.
    path.write_bytes(b"")
    said = fault(lambda: SqliteMemory(str(tmp_path), "m").count(1.0))
    assert "the file is empty, so it is not a memory: put a copy back" in said and path.read_bytes() == b""
    # Gone, with its log left behind.
    path.unlink()
    Path(f"{path}-wal").write_bytes(b"y" * 5000)
    assert "the file is missing but its write-ahead log is there" in fault(lambda: SqliteMemory(str(tmp_path), "m").count(1.0))
    assert not path.exists()


def test_after_an_unclean_end_the_file_is_checked(tmp_path: Path) -> None:
    path = filled(tmp_path)
    killed = (
        "import os, sys; from language.native.memory import SqliteMemory; from language.host.memory import MemoryEntry\n"
        "store = SqliteMemory(sys.argv[1], 'm')\n"
        "store.add(MemoryEntry('', 'context', 'the last one', [], 'main'), 100.0)\nos.kill(os.getpid(), 9)"
    )

    def kill() -> None:
        done = subprocess.run([sys.executable, "-c", killed, str(tmp_path)], cwd=ROOT, timeout=60, check=False)
        assert done.returncode == -9 and Path(f"{path}-wal").stat().st_size > 0

    kill()
    store = SqliteMemory(str(tmp_path), "m")
    assert store.search(Query(limit=1), 200.0)[0].content == "the last one"
    del store
    assert not Path(f"{path}-wal").exists()
    # The pages of the content are what a check of the whole file finds and the first query does not.
    page = path.read_bytes().index(b"entry number 30 ") // 4096 * 4096
    kill()
    overwrite(path, page, os.urandom(4096))
    said = fault(lambda: SqliteMemory(str(tmp_path), "m").rules())
    assert str(path) in said and "is damaged" in said and "`lang memory check m`" in said


def test_a_damaged_index_is_told_and_made_anew(tmp_path: Path) -> None:
    store = SqliteMemory(str(tmp_path), "m")
    for number in range(5):
        store.add(entry(f"find me {number}"), 1.0)
    del store
    path = tmp_path / "m.db"
    edit(path, "INSERT INTO memory_text (memory_text, rowid, folded) VALUES ('delete', 3, 'find me 2')")
    assert problems(str(path)) == [
        "the index of the texts does not fit the entries: `lang memory check --reindex` makes it anew"
    ]
    assert problems(str(path), reindex=True) == [] == problems(str(path))
    assert len(SqliteMemory(str(tmp_path), "m").search(Query(search="find me"), 2.0)) == 5


# ---- the layout before this one ----------------------------------------------------------------------------------------


def test_what_the_first_layout_holds_is_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    edit(path, FIRST_LAYOUT)
    exported = [(found["kind"], found.get("id")) for found in contents(str(path), pytest.fail)]
    assert exported == [("entry", "mem_2"), ("entry", "mem_10"), ("rule", None), ("step", None), ("step", None)]
    store = SqliteMemory(str(tmp_path), "m")
    assert [(each.id, each.content, each.tags) for each in store.search(Query(), 9.0)] == [
        ("mem_10", "Straße", []),
        ("mem_2", "Second", ["a"]),
    ]
    assert [each.id for each in store.search(Query(search="STRASSE"), 9.0)] == ["mem_10"]
    assert store.search(Query(search="forgotten"), 9.0) == []
    assert store.add(entry("next"), 9.0) == "mem_12"
    assert [rule.name for rule in store.rules()] == ["cap"]
    steps = store.steps("sync")
    assert steps is not None and [(step.name, step.status) for step in steps] == [("fetch", "done"), ("send", "pending")]
    del store
    assert problems(str(path)) == []


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (FIRST_LAYOUT + "UPDATE memory SET id = 'note' WHERE id = 'mem_2';", "an entry has the id 'note'"),
        ("CREATE TABLE accounts (n INTEGER);", "the file is a database and no memory"),
        ("PRAGMA user_version = 99;", "it was written by a newer version of lang (layout 99, known is 2)"),
    ],
)
def test_what_is_no_memory_stays_as_it_is(script: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    edit(path, script)
    before = sqlite3.connect(path).execute("SELECT type, name, sql FROM sqlite_master").fetchall()
    assert said in fault(lambda: SqliteMemory(str(tmp_path), "m").add(entry("x"), 1.0))
    assert sqlite3.connect(path).execute("SELECT type, name, sql FROM sqlite_master").fetchall() == before


# ---- strange places ----------------------------------------------------------------------------------------------------


def test_a_link_does_not_lead_into_another_memory(tmp_path: Path) -> None:
    other = filled(tmp_path, "other")
    (tmp_path / "m.db").symlink_to(other)
    store = SqliteMemory(str(tmp_path), "m")
    assert "it is a symbolic link: put the file itself there" in fault(lambda: store.search(Query(), 1.0))
    assert not (tmp_path / "m.db-lock").is_symlink() and len(SqliteMemory(str(tmp_path), "other").search(Query(), 1.0)) == 60
    # Nor does a lock, or what is put in the place of a new file.
    victim = tmp_path / "victim"
    victim.write_text("kept")
    for ending in ("-lock", "-open", "-new"):
        (tmp_path / f"n.db{ending}").symlink_to(victim)
    fault(lambda: SqliteMemory(str(tmp_path), "n").add(entry("x"), 1.0))
    (tmp_path / "n.db-lock").unlink()
    fault(lambda: SqliteMemory(str(tmp_path), "n").add(entry("x"), 1.0))
    (tmp_path / "n.db-open").unlink()
    SqliteMemory(str(tmp_path), "n").add(entry("x"), 1.0)
    assert victim.read_text() == "kept"


def test_what_is_no_file_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "m.db")
    assert "it is no regular file" in fault(lambda: SqliteMemory(str(tmp_path), "m").count(1.0))
    (tmp_path / "n.db").mkdir()
    assert "it is no regular file" in fault(lambda: SqliteMemory(str(tmp_path), "n").count(1.0))
    (tmp_path / "file").write_text("")
    said = fault(lambda: SqliteMemory(str(tmp_path / "file" / "state"), "n").count(1.0))
    assert "Not a directory" in said and str(tmp_path / "file") in said


def test_names_in_another_case_are_another_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(tmp_path, "Notes")
    if (tmp_path / "notes.db").exists():  # this file system takes the two names for one
        assert "takes it for Notes.db" in fault(lambda: SqliteMemory(str(tmp_path), "notes").count(1.0))
        return
    assert SqliteMemory(str(tmp_path), "notes").count(1.0) == 0
    # As a file system would that takes the two for one: it finds the file, under another name.
    (tmp_path / "notes.db").unlink()
    (tmp_path / "notes.db").symlink_to(tmp_path / "Notes.db")
    listed = os.listdir
    monkeypatch.setattr(os, "listdir", lambda folder: [name for name in listed(folder) if name != "notes.db"])
    monkeypatch.setattr("language.native.memory_file.S_ISLNK", lambda mode: False)
    monkeypatch.setattr("language.native.memory_file.S_ISREG", lambda mode: True)
    assert "takes it for Notes.db" in fault(lambda: SqliteMemory(str(tmp_path), "notes").count(1.0))


_FULL = """
import resource, signal, sys
from language.errors import RuntimeFault
from language.host.memory import MemoryEntry, Query
from language.native.memory import SqliteMemory
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
store = SqliteMemory(sys.argv[1], "m")
def add(text):
    return store.add(MemoryEntry("", "context", text, [], "main"), 1.0)
add("before")
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
kept, said = 1, ""
for number in range(200):
    try:
        add("x" * 20_000)
        kept += 1
    except RuntimeFault as fault:
        said = str(fault)
        break
assert 'memory "m": cannot write' in said, said
assert store.count(1.0) == kept, (store.count(1.0), kept)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
add("after")
assert store.count(1.0) == kept + 1 and kept > 2
assert [entry.content for entry in store.search(Query(search="after"), 1.0)] == ["after"]
"""


def test_a_full_disk_is_an_error_and_the_store_goes_on_when_there_is_room(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", _FULL, str(tmp_path)], cwd=ROOT, timeout=60, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert problems(str(tmp_path / "m.db")) == []


_READ_ONLY = """
import os, sys
from language.errors import RuntimeFault
from language.host.memory import Query
from language.native.memory import SqliteMemory
from language.native.memory_inspection import contents
if os.getuid() == 0:
    os.setuid(65534)
try:
    SqliteMemory(sys.argv[1], "m").search(Query(), 1.0)
except RuntimeFault as fault:
    print(str(fault).removeprefix("Runtime error: "))
print(len(list(contents(sys.argv[1] + "/m.db", print))))
"""


def test_a_read_only_folder_is_named_and_can_be_exported() -> None:
    with tempfile.TemporaryDirectory() as outer:  # not below a folder of this user alone: root becomes somebody else
        Path(outer).chmod(0o755)
        folder = Path(outer, "state")
        path = filled(folder)
        for left in folder.iterdir():
            left.chmod(0o444)
        folder.chmod(0o555)
        done = subprocess.run(
            [sys.executable, "-c", _READ_ONLY, str(folder)], cwd=ROOT, timeout=60, capture_output=True, text=True, check=False
        )
        folder.chmod(0o755)
    lines = done.stdout.splitlines()
    assert len(lines) == 2, done.stderr
    assert lines[0] == f'memory "m": cannot read {path}: Permission denied' and lines[1] == "60"


# ---- the command -------------------------------------------------------------------------------------------------------


def lang(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PLATFORM_STATE_DIR": str(folder)}
    return subprocess.run(
        [sys.executable, "-m", "language.cli.main", "memory", *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_command_checks_and_exports(tmp_path: Path) -> None:
    store = SqliteMemory(str(tmp_path), "notes")
    store.add(entry("kept \x1b[2J", tags=["a"], about="ann", key="k"), 1.0)
    store.create_progress("sync", ["fetch"], "main", 1.0)
    done = lang(tmp_path, "check", "notes")  # while it is in use
    assert (done.returncode, done.stdout, done.stderr) == (0, "OK\n", "")
    done = lang(tmp_path, "export", str(tmp_path / "notes.db"))
    assert done.returncode == 0 and "\x1b" not in done.stdout
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines[0] == {
        "kind": "entry",
        "id": "mem_1",
        "category": "context",
        "content": "kept \x1b[2J",
        "tags": ["a"],
        "source": "main",
        **dict.fromkeys(("created_at", "updated_at"), 1.0),
        "about": "ann",
        "key": "k",
        "expires_at": None,
    }
    assert (lines[1]["kind"], lines[1]["task_name"], lines[1]["status"]) == ("step", "sync", "pending")
    edit(tmp_path / "notes.db", "UPDATE memory SET tags = '[' WHERE id = 1")
    done = lang(tmp_path, "check", "notes")
    assert done.returncode == 1 and done.stdout.endswith("notes.db: mem_1: its tags are not a JSON list\n")
    done = lang(tmp_path, "export", "notes")
    assert done.returncode == 1 and json.loads(done.stdout.splitlines()[0])["tags"] == "["
    done = lang(tmp_path, "check", "nowhere")
    assert done.returncode == 1 and "there is no file" in done.stderr and not (tmp_path / "nowhere.db").exists()
