"""A backup of the store as one file, and its restoration into an empty store of either kind.

The file is a gzipped tar: ``manifest.json``, then one file of JSON lines a table. It is taken while the service runs, as of one
moment a database, and moves an installation from SQLite to PostgreSQL as well as it restores one. It holds no master key: what
is encrypted in it opens only where the key is given again. Left out is what would be wrong or of no use later: sessions,
sign-in links, devices under way, counts, kept answers.
"""

from __future__ import annotations

import base64
import io
import json
import os
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from sqlalchemy import LargeBinary, func, insert, select, text

from platform_api.moments import now, rfc3339
from platform_api.store import tables
from platform_api.store.migrations.apply import heads

if TYPE_CHECKING:
    from sqlalchemy import Connection, Table

    from platform_api.store.store import Store

FORMAT = 1
LEFT_OUT = frozenset({"sessions", "sign_in_links", "devices", "counts", "open_streams", "idempotency", "notices_due"})
_ROWS = 500
_MANIFEST = "manifest.json"


class CannotRestore(RuntimeError):
    """A file that is no backup of this version, or a store that is not empty."""


@dataclass(frozen=True)
class Restored:
    """What a backup held.

    Attributes:
        rows: the number of rows of each table.
        key_id: of the master key that its secrets are encrypted with.
    """

    rows: dict[str, int]
    key_id: str


def back_up(store: Store, path: Path, key_id: str) -> dict[str, int]:
    """Writes a backup, readable by its owner alone, and gives the number of rows of each table.

    Args:
        path: the file. It appears when it is whole; one that is there is replaced.
        key_id: the id of the current master key, which a restoration asks for.
    """
    rows: dict[str, int] = {}
    descriptor, beside = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            with tarfile.open(fileobj=file, mode="w:gz") as archive:
                manifest = {
                    "format": FORMAT,
                    "made_at": rfc3339(now()),
                    "key_id": key_id,
                    "schema": {which: list(heads(which)) for which in ("main", "records")},
                }
                _add(archive, _MANIFEST, io.BytesIO(json.dumps(manifest).encode()))
                # The first database first: an event that is on its way between the two is then in both rather than in none, and
                # the second one knows which it has taken over.
                for database, metadata in ((store.main, tables.main), (store.records, tables.records)):
                    with database.reading() as connection:
                        for table in metadata.sorted_tables:
                            if table.name not in LEFT_OUT:
                                with tempfile.TemporaryFile(dir=path.parent) as lines:
                                    rows[table.name] = _write(connection, table, lines)
                                    _add(archive, f"{table.name}.jsonl", lines)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise
    return rows


def restore(store: Store, path: Path) -> Restored:
    """Fills an empty store from a backup. All of a database is restored or nothing.

    Args:
        store: its schema must be this version's.

    Errors: ``CannotRestore`` for a file that is no backup, of another version or damaged, and for a store that holds anything.
    """
    rows: dict[str, int] = {}
    try:
        with tarfile.open(path, mode="r:gz") as archive:
            key_id = _check_manifest(archive)
            present = {member.name: member for member in archive.getmembers() if member.isreg()}
            both = ((store.main, tables.main), (store.records, tables.records))
            # All of the archive has been read through by now: what is cut or damaged has been found out.
            for table in (table for _, metadata in both for table in metadata.sorted_tables):
                if table.name not in LEFT_OUT and f"{table.name}.jsonl" not in present:
                    raise CannotRestore(f"{path} is damaged: the table {table.name} is missing")
            for database, metadata in both:
                with database.reading() as connection:
                    _check_empty(connection, list(metadata.sorted_tables))
            for database, metadata in both:
                with database.writing() as connection:
                    for table in metadata.sorted_tables:
                        content = archive.extractfile(present[f"{table.name}.jsonl"]) if table.name not in LEFT_OUT else None
                        if content is not None:
                            rows[table.name] = _read(connection, table, content)
            _continue_outbox(store)
    except (tarfile.TarError, EOFError, OSError, ValueError, KeyError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise CannotRestore(f"{path} is no backup, or it is damaged: {error}") from error
    return Restored(rows, key_id)


def _write(connection: Connection, table: Table, file: IO[bytes]) -> int:
    binary = {column.name for column in table.columns if isinstance(column.type, LargeBinary)}
    written = 0
    found = connection.execution_options(yield_per=_ROWS).execute(select(table))
    for row in found.mappings():
        values = {
            name: base64.b64encode(value).decode() if name in binary and value is not None else value
            for name, value in row.items()
        }
        file.write(json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass") + b"\n")
        written += 1
    return written


def _add(archive: tarfile.TarFile, name: str, file: IO[bytes]) -> None:
    member = tarfile.TarInfo(name)
    member.size = file.seek(0, os.SEEK_END)
    member.mtime, member.mode = now() // 1000, 0o600
    file.seek(0)
    archive.addfile(member, file)


def _check_manifest(archive: tarfile.TarFile) -> str:
    """The id of the master key."""
    first = archive.next()
    content = archive.extractfile(first) if first is not None and first.name == _MANIFEST else None
    if content is None:
        raise CannotRestore(f"{archive.name!r} is no backup: it does not begin with {_MANIFEST}")
    manifest = json.loads(content.read())
    if manifest["format"] != FORMAT:
        raise CannotRestore(f"a backup of the format {manifest['format']}: this version reads {FORMAT}")
    for which in ("main", "records"):
        if manifest["schema"][which] != list(heads(which)):
            made = ", ".join(manifest["schema"][which])
            raise CannotRestore(
                f"the backup's schema ({which}) is {made}: restore it with the version that made it, then migrate"
            )
    return str(manifest["key_id"])


def _check_empty(connection: Connection, wanted: list[Table]) -> None:
    for table in wanted:
        if connection.execute(select(func.count()).select_from(table)).scalar_one():
            raise CannotRestore(f"the store is not empty (there are {table.name}): restore into a new one")


def _read(connection: Connection, table: Table, file: IO[bytes]) -> int:
    binary = {column.name for column in table.columns if isinstance(column.type, LargeBinary)}
    names = {column.name for column in table.columns}
    waiting: list[dict[str, Any]] = []
    read = 0
    for line in file:
        values = json.loads(line)
        if values.keys() != names:
            raise CannotRestore(f"a row of {table.name} has other columns than this version's")
        waiting.append(
            {
                name: base64.b64decode(value, validate=True) if name in binary and value is not None else value
                for name, value in values.items()
            }
        )
        read += 1
        if len(waiting) == _ROWS:
            connection.execute(insert(table), waiting)
            waiting = []
    if waiting:
        connection.execute(insert(table), waiting)
    return read


def _continue_outbox(store: Store) -> None:
    """Lets the events on their way to the history be counted on: a number that was taken over is not taken over again."""
    with store.records.reading() as connection:
        taken_over = connection.execute(select(func.max(tables.counters.c.outbox_id))).scalar_one() or 0
    name = tables.history_outbox.name
    with store.main.writing() as connection:
        waiting = connection.execute(select(func.max(tables.history_outbox.c.id))).scalar_one() or 0
        last = {"name": name, "last": max(waiting, taken_over)}
        if not last["last"]:
            return
        if store.main.is_sqlite:
            connection.execute(text("DELETE FROM sqlite_sequence WHERE name = :name"), last)
            connection.execute(text("INSERT INTO sqlite_sequence (name, seq) VALUES (:name, :last)"), last)
        else:
            connection.execute(text("SELECT setval(pg_get_serial_sequence(:name, 'id'), :last)"), last)
