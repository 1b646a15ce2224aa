"""The service as a process of its own would run it: uvicorn with a socket, in a thread of the tests."""

from __future__ import annotations

import asyncio
import atexit
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import httpx
from litestar import Litestar, Router

from platform_api.accounts.passwords import hash_password
from platform_api.accounts.principal import SCOPES
from platform_api.accounts.records import make_account
from platform_api.accounts.tokens import make_token
from platform_api.administration.serve import Server, server_config
from platform_api.application import application
from platform_api.platform import Platform
from platform_api.settings import Settings
from platform_api.store.store import open_store

PASSWORD = "correct horse battery"
#: Argon2 takes its time: one hash serves every account of the tests.
_hash: list[str] = []
#: The routes of services that have ended: to make them takes longer than everything else of a start.
_routes: list[Litestar] = []


@cache
def _migrated() -> Path:
    """A folder with SQLite files that hold the schema and nothing else."""
    folder = tempfile.TemporaryDirectory(prefix="lang-store-")
    atexit.register(folder.cleanup)
    open_store(Settings(data=Path(folder.name))).close()
    return Path(folder.name)


def new_files(data: Path) -> None:
    """Empty SQLite files where a store is to be, unless there are some."""
    data.mkdir(parents=True, exist_ok=True, mode=0o700)
    for name in ("platform.db", "records.db"):
        if not (data / name).exists():
            shutil.copyfile(_migrated() / name, data / name)
            (data / name).chmod(0o600)


class Service:
    """A service and clients of it. Use it in a ``with`` statement.

    Args:
        data: its folder.
        routers: pages beside those of the service.
        settings: more settings, as of ``Settings``.
    """

    def __init__(self, data: Path, *, routers: Sequence[Router] = (), **settings: Any) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        if settings.get("database") is None:
            new_files(data)
        self.platform = Platform(Settings(data=data, base_url=self.url, **settings))
        self._own_routes = bool(routers)
        self.gateway = application(self.platform, *routers, routes=_routes.pop() if _routes and not routers else None)
        self._server = Server(server_config(self.gateway, grace_seconds=2), self.platform)
        self._thread = threading.Thread(target=lambda: asyncio.run(self._server.serve([self._socket])), daemon=True)
        self._clients: list[httpx.Client] = []

    def __enter__(self) -> Service:
        self._thread.start()
        with self.client() as client:
            client.get("/healthz")  # answers as soon as the service does: connections wait in the listening socket
        return self

    def __exit__(self, *_: object) -> None:
        for client in self._clients:
            client.close()
        self._server.should_exit = True
        self._thread.join()
        self.platform.close()
        if not self._own_routes:
            assert isinstance(self.gateway.application, Litestar)
            _routes.append(self.gateway.application)

    def client(self, token: str | None = None) -> httpx.Client:
        """A client of this service, which is closed with it."""
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        # No certificates are looked at here, and to load them takes 0.02 seconds.
        client = httpx.Client(base_url=self.url, headers=headers, timeout=30, verify=False)
        self._clients.append(client)
        return client

    def account(self, email: str = "owner@example.com", *, plan: str = "team", admin: bool = False) -> str:
        """Makes an account with ``PASSWORD`` and gives its id."""
        if not _hash:
            _hash.append(hash_password(PASSWORD))
        with self.platform.store.main.writing() as connection:
            return make_account(connection, email, plan=plan, admin=admin, password_hash=_hash[0])

    def signed_in(self, email: str = "owner@example.com", *, plan: str = "team", admin: bool = False) -> httpx.Client:
        """A client with a token of every scope, of an account that is made for it."""
        return self.client(self.token(self.account(email, plan=plan, admin=admin)))

    def operations(self) -> list[tuple[str, str, dict[str, Any]]]:
        """Method, path template and description of every operation in the OpenAPI document."""
        document = self.client().get("/openapi.json").json()
        return [
            (method.upper(), path, operation) for path, item in document["paths"].items() for method, operation in item.items()
        ]

    def connection_options(self, level: int, option: int) -> list[int]:
        """An option of the sockets of all open connections."""
        transports = [connection.transport for connection in list(self._server.server_state.connections)]
        return [transport.get_extra_info("socket").getsockopt(level, option) for transport in transports]

    def open_connections(self) -> int:
        """How many connections there are, those included that are about to be closed."""
        return len(self._server.server_state.connections)

    def longest_turn(self, work: Callable[[], object]) -> float:
        """The seconds of processor time of the longest turn of the event loop while ``work`` goes on in this thread."""
        over = threading.Event()

        async def watch() -> float:
            longest, last = 0.0, time.thread_time()
            while not over.is_set():
                await asyncio.sleep(0)
                this = time.thread_time()
                longest, last = max(longest, this - last), this
            return longest

        [server] = self._server.servers
        watching = asyncio.run_coroutine_threadsafe(watch(), server.get_loop())
        try:
            work()
        finally:
            over.set()
        return watching.result(60)

    def end_idle_connections(self, seconds: int) -> None:
        """New connections end when nothing has been asked for that long."""
        self._server.config.timeout_keep_alive = seconds

    def token(self, account_id: str, *scopes: str, project_id: str | None = None) -> str:
        """A token of an account, with every scope unless some are named."""
        with self.platform.store.main.writing() as connection:
            return make_token(connection, account_id, "test", scopes or SCOPES, "token", project_id)[1]
