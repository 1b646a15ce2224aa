"""A backup of a running service, restored into an empty store of either kind."""

from __future__ import annotations

import io
import json
import logging
import stat
import tarfile
import time
from pathlib import Path
from typing import Any

import psycopg
import pytest
from platform_service import Service

from platform_api.administration.main import command
from platform_api.history.outbox import note
from platform_api.identifiers import new_id
from platform_api.moments import now
from platform_api.records.logs import append_logs
from platform_api.settings import Settings
from platform_api.store.backup import LEFT_OUT, CannotRestore, back_up, restore
from platform_api.store.store import open_store
from platform_api.store.tables import main, records

KEY = "a master key of forty characters, or so!".replace(" ", "-").replace(",", "")
SECRET = "the value of a secret"


def place(kind: str, request: pytest.FixtureRequest) -> str | None:
    """Where a store lies: ``None`` for SQLite, or the URL of an empty PostgreSQL database."""
    if kind == "sqlite":
        return None
    server = f"postgresql://lang:p%40ss%20word@{request.getfixturevalue('postgres_place')}"
    name = new_id("db")
    with psycopg.connect(f"{server}/app", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return f"{server}/{name}"


def events(client: Any, project: str) -> list[str]:
    lines = client.get(f"/api/v1/projects/{project}/history").text.splitlines()
    return [found["event"] for found in map(json.loads, lines) if str(found.get("event", "")).startswith("test_")]


def until_events(client: Any, project: str, wanted: list[str]) -> None:
    deadline = time.monotonic() + 120
    while events(client, project) != wanted:
        assert time.monotonic() < deadline, client.get(f"/api/v1/projects/{project}/history").text
        time.sleep(0.05)


@pytest.mark.parametrize("to", ["sqlite", "postgresql"])
@pytest.mark.parametrize("origin", ["sqlite", "postgresql"])
def test_what_was_there_is_there_again(tmp_path: Path, origin: str, to: str, request: pytest.FixtureRequest) -> None:
    file = tmp_path / "platform.backup"
    with Service(tmp_path / "one", database=place(origin, request), master_key=KEY) as service:
        account = service.account()
        token = service.token(account)
        client = service.client(token)
        created = client.post("/api/v1/projects", json={"name": "Shop é", "source": 'print("hello")\n', "kind": "worker"})
        project = created.json()["project"]["id"]
        assert client.put(f"/api/v1/projects/{project}/secrets/KEY", json={"value": SECRET}).status_code == 200
        assert client.put(f"/api/v1/projects/{project}/env/MODE", json={"value": "fast"}).status_code == 200
        service.client().post("/api/v1/auth/device")
        store = service.platform.store
        with store.records.writing() as connection:
            append_logs(connection, project, [(now(), "out", f"line {n}\n", None) for n in range(1200)])
        for number in range(3):
            with store.main.writing() as connection:
                note(connection, project, {"event": f"test_{number}"})
        until_events(client, project, ["test_0", "test_1", "test_2"])
        paths = ("", "/package", "/env", "/secrets", "/logs/tail?limit=500", "/logs/tail?after=0", "/audit")
        before = {path: client.get(f"/api/v1/projects/{project}{path}").json() for path in paths}
        written = back_up(store, file, service.platform.keys.current)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with tarfile.open(file) as archive:
        whole = b"".join(archive.extractfile(member).read() for member in archive.getmembers())  # type: ignore[union-attr]
    for secret in (KEY, SECRET, token):
        assert secret.encode() not in whole
    assert set(written) == ({*main.tables, *records.tables} - LEFT_OUT)

    settings = Settings(data=tmp_path / "two", database=place(to, request), master_key=KEY)
    fresh = open_store(settings)
    try:
        assert restore(fresh, file).rows == written
        with pytest.raises(CannotRestore, match="not empty"):
            restore(fresh, file)
    finally:
        fresh.close()
    with Service(settings.data, database=settings.database, master_key=KEY) as service:
        client = service.client(token)
        after = {path: client.get(f"/api/v1/projects/{project}{path}").json() for path in paths}
        assert after == before
        with service.platform.store.main.writing() as connection:
            note(connection, project, {"event": "test_later"})
        until_events(client, project, ["test_0", "test_1", "test_2", "test_later"])


def test_a_backup_without_its_master_key_gives_no_secret_away(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "platform.backup"
    with Service(tmp_path / "one", master_key=KEY) as service:
        account = service.account()
        token = service.token(account)
        client = service.client(token)
        project = client.post("/api/v1/projects", json={"name": "x", "source": "print(1)\n"}).json()["project"]["id"]
        client.put(f"/api/v1/projects/{project}/env/MODE", json={"value": SECRET})
        back_up(service.platform.store, file, service.platform.keys.current)
    fresh = open_store(Settings(data=tmp_path / "two"))
    restore(fresh, file)
    fresh.close()
    with Service(tmp_path / "two", master_key=KEY[::-1]) as service, caplog.at_level(logging.CRITICAL):
        answer = service.client(token).get(f"/api/v1/projects/{project}/env")
    assert answer.status_code >= 400 and SECRET not in answer.text


@pytest.mark.parametrize("damage", ["nothing", "no archive", "cut", "another format", "a table is missing"])
def test_what_is_no_whole_backup_changes_nothing(tmp_path: Path, damage: str) -> None:
    file, broken = tmp_path / "platform.backup", tmp_path / "broken"
    with Service(tmp_path / "one") as service:
        for number in range(50):
            service.account(f"{number}@example.com")
        back_up(service.platform.store, file, service.platform.keys.current)
    content = file.read_bytes()
    if damage == "nothing":
        broken.write_bytes(b"")
    elif damage == "no archive":
        broken.write_bytes(b"x" * 1000)
    elif damage == "cut":
        broken.write_bytes(content[: len(content) // 2])
    else:
        with tarfile.open(file) as archive, tarfile.open(broken, "w:gz") as changed:
            for member in archive.getmembers():
                if damage == "a table is missing" and member.name == "log_lines.jsonl":
                    continue
                part = archive.extractfile(member)
                assert part is not None
                if damage == "another format" and member.name == "manifest.json":
                    part = io.BytesIO(part.read().replace(b'"format": 1', b'"format": 9'))
                changed.addfile(member, part)
    store = open_store(Settings(data=tmp_path / "two"))
    try:
        with pytest.raises(CannotRestore):
            restore(store, broken)
        assert restore(store, file).rows["accounts"] == 50, "nothing of the broken one was left behind"
    finally:
        store.close()


def test_the_commands_back_up_and_restore(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two, file = str(tmp_path / "one"), str(tmp_path / "two"), str(tmp_path / "file")
    with Service(tmp_path / "one") as service:
        token = service.token(service.account())
        assert command(["backup", file, "--data", one]) == 0  # while it runs
    assert command(["restore", file, "--data", two]) == 0
    told = capsys.readouterr()
    assert "master.key" in told.err, "the key is another one"
    assert command(["restore", file, "--data", two]) == 1
    assert "not empty" in capsys.readouterr().err
    assert command(["restore", str(tmp_path / "none"), "--data", two]) == 1
    three = tmp_path / "three"
    three.mkdir()
    (three / "master.key").write_bytes((tmp_path / "one" / "master.key").read_bytes())
    (three / "master.key").chmod(0o600)
    capsys.readouterr()
    assert command(["restore", file, "--data", str(three)]) == 0
    assert capsys.readouterr().err == ""
    with Service(three) as service:
        assert service.client(token).get("/api/v1/me").status_code == 200
