"""Opens databases: SQLite files and, over their drivers, PostgreSQL, MySQL and Redis."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.host.databases import DatabaseEngine, Databases

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from language.capabilities.scopes import DbTarget, GrantedPath
    from language.host.databases import AddressCheck


class NativeDatabases(Databases):
    """Connects to the databases that this machine can reach."""

    def connect(
        self,
        target: DbTarget,
        place: GrantedPath | None,
        mode: str,
        from_json: Callable[[str], Any],
        check: AddressCheck,
    ) -> DatabaseEngine:
        scheme = target.scheme
        if scheme is None:
            from language.native.sqlite import SQLiteEngine

            return SQLiteEngine(None if mode == "memory" else place, readonly=mode == "readonly")
        if scheme == "postgres":
            from language.native.postgres import PostgresEngine

            return PostgresEngine(target, from_json, check)
        if scheme == "mysql":
            from language.native.mysql import MySQLEngine

            return MySQLEngine(target, from_json, check)
        if scheme in ("redis", "rediss"):
            from language.native.redis_server import RedisEngine

            return RedisEngine(target, check)
        if scheme == "mongodb":
            raise RuntimeFault("db_open: MongoDB is not supported by this version", kind="unsupported")
        known = "postgres://, mysql://, redis://, rediss://, or the path of an SQLite file"
        raise RuntimeFault(f"db_open: unknown kind of database '{scheme}://' (known: {known})")
