"""The log says who asked for what, and holds nothing that lets anybody in."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from deploying import until
from litestar import get
from litestar.params import FromPath
from platform_service import PASSWORD, Service
from service_process import ROOT, ServiceProcess
from sqlalchemy import insert

from platform_api.accounts.principal import SCOPES
from platform_api.accounts.records import make_account
from platform_api.accounts.sessions import start_session
from platform_api.accounts.tokens import make_token
from platform_api.browser import PageRequest, pages
from platform_api.service_log import JsonFormatter, TextFormatter, hidden, set_up_logging
from platform_api.settings import Settings
from platform_api.store import tables
from platform_api.store.store import open_store

SECRET = "s3cret-of-a-link"


@get("/test-of-logs/{value:str}", opt={"open": True})
async def link(request: PageRequest, value: FromPath[str]) -> None:
    with request.platform.store.main.writing() as connection:
        connection.execute(insert(tables.accounts).values(id=value, email=None))


@pytest.fixture
def output(tmp_path: Path) -> Iterator[Path]:
    """Everything that is logged, in both forms, but for what the tests' own client logs."""
    path = tmp_path / "log"
    root = logging.getLogger()
    level, handlers = root.level, [logging.FileHandler(path), logging.FileHandler(path)]
    handlers[0].setFormatter(JsonFormatter())
    handlers[1].setFormatter(TextFormatter())
    for handler in handlers:
        handler.addFilter(lambda record: not record.name.startswith("http"))
        root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield path
    root.setLevel(level)
    for handler in handlers:
        root.removeHandler(handler)
        handler.close()


def test_a_line_a_request_without_anything_secret(tmp_path: Path, database: str | None, output: Path) -> None:
    with Service(tmp_path / "data", database=database, routers=[pages([link])]) as service:
        account = service.account()
        token = service.token(account)
        with service.platform.store.main.writing() as connection:
            cookie = start_session(connection, account, "127.0.0.1")
        client = service.client(token)
        client.get("/api/v1/me", headers={"X-Request-Id": "request-of-mine"})
        client.get(f"/api/v1/{token}")
        client.post("/api/v1/auth/login", json={"email": "owner@example.com", "password": PASSWORD})
        client.post("/api/v1/auth/login", json={"email": PASSWORD, "password": SECRET})
        client.get("/api/v1/me", params={"q": SECRET})
        failed = client.get(f"/test-of-logs/{SECRET}", headers={"Cookie": f"platform-session={cookie}"})
        assert failed.status_code == 500 and SECRET not in failed.text
        logging.getLogger("platform").warning("something with %s in it", token)
    text = output.read_text(encoding="utf-8")
    for secret in (token, PASSWORD, SECRET, cookie):
        assert secret not in text
    lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    [mine] = [line for line in lines if line.get("request_id") == "request-of-mine"]
    assert mine["at"].endswith("Z") and mine["ms"] >= 0
    assert (mine["level"], mine["method"], mine["route"], mine["status"]) == ("info", "GET", "/api/v1/me", 200)
    assert mine["account"] == account
    [fault] = [line for line in lines if "exception" in line]
    assert fault["logger"] == "platform" and "IntegrityError" in fault["exception"]
    assert failed.json()["request_id"] in fault["message"]


def test_the_log_goes_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    try:
        root.handlers[:] = []
        set_up_logging("json")
        logging.getLogger("platform").info("up at %s", "http://127.0.0.1:1")
        line = json.loads(capsys.readouterr().err)
        assert (line["level"], line["logger"], line["message"]) == ("info", "platform", "up at http://127.0.0.1:1")
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)


def test_lines_that_wait_are_written_in_order_and_at_the_end() -> None:
    words = """if True:
        import logging
        import sys
        from platform_api.service_log import log_request, set_up_logging, write_waiting

        set_up_logging("text")
        for number in range(2_500):
            log_request(f"request-{number}", "GET", f"/{number}", 200, 0.0, None, may_wait=True)
        logging.getLogger("platform").info("between")
        log_request("request-at-once", "GET", "/at-once", 200, 0.0, None)
        log_request("request-waits", "GET", "/waits", 200, 0.0, None, may_wait=True)
        write_waiting()
        print("written", file=sys.stderr)
        log_request("request-last", "GET", "/last", 200, 0.0, None, may_wait=True)
    """
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True, cwd=ROOT)
    shown = [line.rpartition(": ")[2].removeprefix("GET ").split()[0] for line in done.stderr.splitlines()]
    assert shown == [*(f"/{number}" for number in range(2_500)), "between", "/at-once", "/waits", "written", "/last"]


def test_a_request_that_was_answered_is_logged_at_once_though_its_line_may_wait(tmp_path: Path) -> None:
    process = ServiceProcess(tmp_path)
    try:
        process.start()
        store = open_store(Settings(data=process.data, base_url=process.url))
        with store.main.writing() as connection:
            account = make_account(connection, "owner@example.com")
            token = make_token(connection, account, "one", SCOPES, "token")[1]
        store.close()
        with httpx.Client(base_url=process.url, headers={"Authorization": f"Bearer {token}"}, timeout=60) as client:
            answered = [client.get("/api/v1/projects") for _ in range(50)]
        assert {answer.status_code for answer in answered} == {200}
        until(lambda: process.log.read_text().count("GET /api/v1/projects 200") == 50)
    finally:
        process.close()


@pytest.mark.parametrize("secret", ["lp_", "lr_", "http://x/sign-in/link/", " /hooks/deploy/"])
def test_what_lets_somebody_in_is_hidden_wherever_it_comes_from(secret: str) -> None:
    value = "A1b2_C3d4-" * 4
    assert value not in hidden(f"failed for {secret}{value}: again")


def test_a_catalog_writes_no_line_of_its_own_into_the_log(tmp_path: Path, database: str | None, output: Path) -> None:
    forged = "2026-01-31T09:30:00.123Z INFO platform.requests: POST /sign-in 200 1.0 ms"
    folder = tmp_path / "recipes"
    folder.mkdir()
    folder.joinpath("catalog.toml").write_text(f'[[recipe]]\npath = "a\\n{forged}\\u001b[2J"\n', encoding="utf-8")
    with Service(tmp_path / "data", database=database, recipes=str(folder)) as service:
        assert service.client().get("/api/v1/recipes").json() == {"items": []}
    logged = output.read_text(encoding="utf-8")
    assert forged in logged, "what the catalog says is told"
    assert forged not in logged.splitlines() and "\x1b" not in logged
