"""A platform service as a process of its own, with accounts that use it."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from engines import REPOSITORY

API = "/api/v1"


class ServiceStage:
    """A service on SQLite without limits on the rate of requests.

    Args:
        folder: its data.
        accounts: names of accounts that are made.
        surroundings: more variables of its process.

    Attributes:
        clients: of the accounts, each with a token.
        token: of the first account.
        browser: has the cookie of a session of the first account.
        runner_token: of the runner ``bench``.
    """

    def __init__(self, folder: Path, *accounts: str, **surroundings: str) -> None:
        # What the tests of the service and of the runner start. Their libraries are needed here alone.
        sys.path[:0] = [str(REPOSITORY), *(str(REPOSITORY / "tests" / name) for name in ("platform_api", "runner"))]
        import httpx
        from service_process import ServiceProcess

        from platform_api.accounts.principal import SCOPES
        from platform_api.accounts.records import make_account
        from platform_api.accounts.sessions import cookie_name, start_session
        from platform_api.accounts.tokens import make_token
        from platform_api.runners.registry import make_runner_token
        from platform_api.settings import Settings
        from platform_api.store.store import open_store

        self.process = ServiceProcess(folder, **surroundings)
        self.url = self.process.url
        self.port = int(self.url.rpartition(":")[2])
        settings = Settings(data=self.process.data, base_url=self.url)
        store = open_store(settings)
        with store.main.writing() as connection:
            made = [make_account(connection, f"{name}@example.com", plan="team") for name in accounts]
            tokens = [make_token(connection, account, "bench", SCOPES, "token")[1] for account in made]
            cookie = {cookie_name(settings): start_session(connection, made[0], "127.0.0.1")}
            self.runner_token = make_runner_token(connection, "bench")
        store.close()
        self.token = tokens[0]
        bearer = [{"Authorization": f"Bearer {token}"} for token in tokens]
        self.clients = [httpx.Client(base_url=self.url, headers=each, timeout=120) for each in bearer]
        self.browser = httpx.Client(base_url=self.url, cookies=cookie, timeout=120)
        try:
            self.process.start()
        except BaseException:
            self.close()
            raise

    @classmethod
    @contextmanager
    def in_new_folder(cls) -> Iterator[Self]:
        """One that is gone afterwards, with its folder."""
        with tempfile.TemporaryDirectory() as folder:
            made = cls(Path(folder))
            try:
                yield made
            finally:
                made.close()

    def made(self, name: str, source: str, kind: str = "web") -> str:
        """A new project's id, of the first account."""
        body = {"name": name, "files": [{"path": "main.lang", "content": source}], "kind": kind}
        answer = self.clients[0].post(f"{API}/projects", json=body)
        assert answer.status_code == 200, answer.text
        return str(answer.json()["project"]["id"])

    def close(self) -> None:
        for client in (*self.clients, self.browser):
            client.close()
        self.process.close()


@contextmanager
def watchers(port: int, token: str, project: str, count: int) -> Iterator[Iterator[str]]:
    """That many open log streams of a project: gives each line and when the last of them had it (``log_watchers.py``)."""
    words = [sys.executable, str(Path(__file__).with_name("log_watchers.py")), str(port), token, project]
    process = subprocess.Popen([*words, str(count)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None and process.stdout is not None
    try:
        assert process.stdout.readline() == "open\n", "the log streams could not be opened"
        yield iter(process.stdout)
    finally:
        process.stdin.close()
        process.wait(30)
        process.stdout.close()
