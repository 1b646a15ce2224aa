"""Every route of the published interface, asked once: its answer has the fields that are published, and no other."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from platform_service import PASSWORD, Service
from shapes import MOMENT, Maybe, faults
from sqlalchemy import insert, select, update
from stored_projects import stored_project

from platform_api.identifiers import new_id
from platform_api.moments import now
from platform_api.records.audit import append_audit
from platform_api.records.logs import append_logs
from platform_api.store.tables import accounts, devices, gates

pytestmark = pytest.mark.once

KIND = {"web", "worker", "job"}
ACCOUNT = {
    "id": str,
    "email": str,
    "name": str,
    "plan": {"free", "pro", "team"},
    "admin": bool,
    "via": {"login", "device", "token"},
}
CEILING = {
    "text": str,
    "items": [{"capability": str, "scope": (str, None), "line": (int, None)}],
    "denied_by_plan": [{"capability": str, "scope": (str, None), "reason": str}],
}
PROJECT = {
    **dict.fromkeys(("id", "name", "slug", "entry", "repo", "ref", "schedule"), str),
    **dict.fromkeys(("status_reason", "url", "current_deploy", "engine"), (str, None)),
    **dict.fromkeys(("created_at", "updated_at"), MOMENT),
    "kind": KIND,
    "status": {"created", "deploying", "running", "ready", "sleeping", "waking", "stopping", "stopped", "failed", "deleting"},
    "recipe": ({"slug": str, "version": str}, None),
    "sleep_after": int,
    "memory_mb": int,
    "last_request_at": (MOMENT, None),
}
DEPLOY = {
    **dict.fromkeys(("id", "project_id", "package_hash", "entry", "created_via"), str),
    **dict.fromkeys(("error", "engine"), (str, None)),
    **dict.fromkeys(("started_at", "finished_at"), (MOMENT, None)),
    "number": int,
    "status": {"needs_review", "queued", "starting", "live", "failed", "superseded", "cancelled"},
    "ceiling": CEILING,
    "created_at": MOMENT,
}
PACKAGE = {"entry": str, "kind": KIND, "package": str}
LISTING = {**PACKAGE, "files": [{"path": str, "encoding": {"utf8", "base64"}, "size": int}]}
PROBLEM = {
    "severity": {"error", "warning"},
    **dict.fromkeys(("path", "code", "message", "help"), str),
    **dict.fromkeys(("line", "column", "end_line", "end_column"), int),
}
CREATED = {"project": PROJECT, "ceiling": CEILING, "package": LISTING, "missing_secrets": [str], "problems": [PROBLEM]}
FILE = {"path": str, "content": str, "encoding": {"utf8", "base64"}}
SECRET = {"name": str, "fingerprint": str, "created_at": MOMENT}
VALUE = {
    "name": str,
    "kind": {"secret", "variable"},
    "value": (str, None),
    "fingerprint": (str, None),
    "created_at": MOMENT,
}
RECIPE = {
    **dict.fromkeys(("slug", "name", "version", "entry", "repo", "ref", "tagline", "tagline_es", "tagline_pt"), str),
    "kind": KIND,
    "secrets": [str],
}
DEVICE = {**dict.fromkeys(("device_code", "user_code", "verify_url"), str), "expires_in": int, "interval": int}
AUDIT = {
    "ts": float,
    "capability": str,
    "scope": (str, None),
    "granted": bool,
    "origin": (str, None),
    "why": (str, None),
    "witness": Maybe({"runner"}),
}
APPROVAL = {
    **dict.fromkeys(("id", "project_id", "project", "gate_id", "message"), str),
    **dict.fromkeys(("expires_at", "received_at"), MOMENT),
    **dict.fromkeys(("expired", "delivered", "undelivered"), Maybe(bool)),
    **dict.fromkeys(("value", "decided_by"), Maybe(str)),
    "type": {"approve", "confirm", "ask"},
    "status": {"pending", "approved", "denied", "answered"},
    "options": Maybe([str]),
    "decided_at": Maybe(MOMENT),
}
RUN = {
    "id": str,
    "status": {"queued", "running", "succeeded", "failed", "timed_out", "cancelled"},
    "trigger": {"manual", "schedule"},
    "exit_code": (int, None),
    "output": str,
    "created_at": MOMENT,
    **dict.fromkeys(("started_at", "finished_at"), (MOMENT, None)),
}
DEPLOYED = {
    "deploy": DEPLOY,
    "ceiling": CEILING,
    "missing_secrets": [str],
    "problems": [PROBLEM],
    "url": (str, None),
    "logs": str,
}
CURSOR = {"next_cursor": Maybe((str, None))}


@dataclass
class World:
    """What the routes are asked about.

    Attributes:
        ids: what stands for the names in braces of a path.
    """

    service: Service
    client: httpx.Client
    ids: dict[str, str] = field(default_factory=dict)


Body = dict[str, Any] | Callable[[World], dict[str, Any]] | None


@dataclass(frozen=True)
class Route:
    """One route and its answer.

    Attributes:
        path: below ``/api/v1``, with names of ``World.ids`` in braces.
        shape: of the answer.
        body: what is sent, or a function of the world that makes it.
        before: what is done first.
    """

    method: str
    path: str
    shape: Any
    body: Body = None
    before: Callable[[World], object] | None = None


SOURCE = 'require secret("KEY")\nrequire net("api.example.com")\nprint(secret("KEY"))\n'


def _put_secret(world: World) -> None:
    world.client.put(f"/api/v1/projects/{world.ids['id']}/secrets/KEY", json={"value": "x"})


def _put_both(world: World) -> None:
    _put_secret(world)
    world.client.put(f"/api/v1/projects/{world.ids['id']}/env/REGION", json={"value": "eu"})


def _sign_in(world: World) -> dict[str, str]:
    return {"email": world.ids["email"], "password": PASSWORD}


def _ask_device(world: World) -> None:
    world.ids["device"] = world.client.post("/api/v1/auth/device", json={"name": "laptop"}).json()["device_code"]


def _allow_device(world: World) -> None:
    _ask_device(world)
    with world.service.platform.store.main.writing() as connection:
        account = connection.execute(select(accounts.c.id).where(accounts.c.email == world.ids["email"])).scalar_one()
        allowed = {"status": "approved", "granted": "read deploy", "account_id": account}
        mine = devices.c.digest == hashlib.sha256(world.ids["device"].encode()).digest()
        assert connection.execute(update(devices).where(mine).values(allowed)).rowcount == 1


def _device(world: World) -> dict[str, str]:
    return {"device_code": world.ids["device"]}


def _deploy(world: World) -> None:
    answer = world.client.post(f"/api/v1/projects/{world.ids['id']}/deploys").json()
    world.ids["did"] = answer["deploy"]["id"]


def _deploy_job(world: World) -> None:
    world.client.post(f"/api/v1/projects/{world.ids['job']}/deploys")


def _run_job(world: World) -> None:
    _deploy_job(world)
    answer = world.client.post(f"/api/v1/projects/{world.ids['job']}/run").json()
    world.ids["rid"] = answer["run"]["id"]


def _log(world: World) -> None:
    with world.service.platform.store.records.writing() as connection:
        append_logs(connection, world.ids["id"], [(now(), "out", "hello", None)])


def _audit(world: World) -> None:
    record = {
        "ts": now() / 1000,
        "capability": "net",
        "scope": "a.example",
        "granted": True,
        "origin": "program",
        "why": "x",
    }
    with world.service.platform.store.records.writing() as connection:
        append_audit(connection, world.ids["id"], None, [record, {"ts": now() // 1000, "capability": "time", "granted": False}])
        append_audit(connection, world.ids["id"], None, [{**record, "witness": "runner"}])


def _gates(world: World) -> None:
    """One that waits, and one of each kind that is decided."""
    moment = now()
    for number, (kind, status) in enumerate((("ask", "pending"), ("approve", "approved"), ("confirm", "denied"))):
        pending = status == "pending"
        values = {
            "id": new_id("apr"),
            "project_id": world.ids["id"],
            "gate_id": f"g{number}",
            "type": kind,
            "message": "Which one?",
            "options": '["a", "b"]' if kind == "ask" else None,
            "status": status,
            "expired": status == "denied",
            "expires_at": moment + 600_000,
            "received_at": moment,
            "decided_at": None if pending else moment,
        }
        with world.service.platform.store.main.writing() as connection:
            connection.execute(insert(gates).values(values))
        if pending:
            world.ids["gate"] = values["id"]


HERE, JOB, WEB = "/projects/{id}", "/projects/{job}", "/projects/{web}"
ENV = {"items": [VALUE], "missing": [str], "needs_redeploy": bool}
STOPPED = {"stopping", "stopped", "created"}
ROUTES = [
    Route("POST", "/auth/login", {"token": str, "user": ACCOUNT}, _sign_in),
    Route("POST", "/auth/device", DEVICE, {"name": "laptop"}),
    Route("POST", "/auth/device/token", {"status": {"pending"}}, _device, _ask_device),
    Route("POST", "/auth/device/token", {"status": {"ok"}, "token": str, "user": ACCOUNT}, _device, _allow_device),
    Route("GET", "/me", ACCOUNT),
    Route("GET", "/recipes", {"items": [RECIPE]}),
    Route("GET", "/projects", {"items": [PROJECT], **CURSOR}),
    Route("POST", "/projects", {**CREATED, "slug_note": str}, {"name": "Another", "source": SOURCE}),
    Route("GET", HERE, {**CREATED, "blocked": str, "deploys": [DEPLOY]}, before=_deploy),
    Route("DELETE", HERE, {"ok": bool, "status": {"deleted", "deleting"}}),
    Route("GET", f"{HERE}/package", {**PACKAGE, "files": [FILE]}),
    Route("POST", f"{HERE}/deploys", DEPLOYED),
    Route("POST", f"{HERE}/deploys", DEPLOYED, {"source": "print(1)"}),
    Route("GET", f"{HERE}/deploys/{{did}}", {"deploy": DEPLOY, "ceiling": CEILING}, before=_deploy),
    Route("POST", f"{HERE}/stop", {"ok": bool, "status": STOPPED}, before=_deploy),
    Route("GET", f"{HERE}/logs/tail", {"items": [{"id": str, "at": MOMENT, "line": str}], "last": str}, before=_log),
    Route("GET", f"{HERE}/audit", {"items": [AUDIT], **CURSOR}, before=_audit),
    Route("GET", f"{HERE}/secrets", {"items": [SECRET], "missing": [str]}, before=_put_secret),
    Route("PUT", f"{HERE}/secrets/KEY", {"ok": bool, "name": str}, {"value": "x"}),
    Route("GET", f"{HERE}/env", ENV, before=_put_both),
    Route("PUT", f"{HERE}/env/REGION", {"ok": bool, "name": str, "kind": {"secret", "variable"}}, {"value": "eu"}),
    Route("DELETE", f"{HERE}/env/KEY", {"ok": bool, "name": str}, before=_put_secret),
    Route("GET", "/approvals", {"items": [APPROVAL], "recent": [APPROVAL], **CURSOR}, before=_gates),
    Route("POST", "/approvals/{gate}", {"ok": bool, "status": {"answered"}, "delivered": Maybe(bool)}, {"value": "a"}, _gates),
    Route("GET", f"{HERE}/approvals", {"items": [APPROVAL], **CURSOR}, before=_gates),
    Route("POST", f"{JOB}/run", {"run": RUN}, before=_deploy_job),
    Route("GET", f"{JOB}/runs", {"items": [RUN], "schedule": str, "means": str, **CURSOR}, before=_run_job),
    Route("GET", f"{JOB}/runs/{{rid}}", {**RUN, "run": RUN}, before=_run_job),
    Route("PUT", f"{JOB}/schedule", {"ok": bool, "schedule": str, "means": str}, {"cron": "@daily"}),
    Route("PUT", f"{JOB}/schedule", {"ok": bool, "schedule": {""}, "means": str}, {"cron": ""}),
    Route("PUT", f"{WEB}/sleep", {"ok": bool, "sleep_after": int, "note": str}, {"after_minutes": 0}),
]
#: The fields of an item of an answer, where there is no list of them without one.
FILLED = {"items", "recent", "deploys", "files"}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, module_database: str | None) -> Iterator[Service]:
    """One service for all routes."""
    catalog = tmp_path_factory.mktemp("catalog")
    (catalog / "catalog.toml").write_text('[[recipe]]\npath = "hello"\n')
    (catalog / "hello").mkdir()
    (catalog / "hello" / "main.lang").write_text('print(secret("KEY"))\n')
    with Service(
        tmp_path_factory.mktemp("shapes"), database=module_database, recipes=str(catalog), rate_limits=False
    ) as service:
        yield service


@pytest.fixture
def world(running: Service) -> World:
    """An account with a worker, a job and a web project."""
    email = f"{new_id('at')}@example.com"
    account = running.account(email)
    store = running.platform.store
    ids = {
        "email": email,
        "id": stored_project(store, account, source=SOURCE),
        "job": stored_project(store, account, source="print(1)\n", kind="job"),
        "web": stored_project(store, account, source="print(1)\n", kind="web"),
    }
    return World(running, running.client(running.token(account)), ids)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_an_answer_has_the_published_fields(world: World, route: Route) -> None:
    if route.before is not None:
        route.before(world)
    body = route.body(world) if callable(route.body) else route.body
    answer = world.client.request(route.method, "/api/v1" + route.path.format_map(world.ids), json=body)
    assert answer.status_code == 200, answer.text
    assert faults(answer.json(), route.shape) == []
    empty = [name for name in FILLED & set(route.shape) if not answer.json()[name]]
    assert empty == [], "a list without items says nothing of their fields"


def test_the_stream_of_a_log_has_the_published_fields(world: World) -> None:
    _log(world)
    with world.client.stream("GET", f"/api/v1/projects/{world.ids['id']}/logs") as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        event: dict[str, str] = {}
        for line in answer.iter_lines():
            if not line and "data" in event:
                break
            name, _, value = line.partition(":")
            event[name] = value.strip()
    assert event["event"] == "log"
    assert faults(json.loads(event["data"]), {"id": str, "at": MOMENT, "line": str, "stream": {"out", "err", "system"}}) == []


def test_a_shape_names_what_is_missing_and_what_is_too_many() -> None:
    assert faults({"items": [{"name": 1}], "more": 1}, {"items": [{"name": str}], "last": str, "next": Maybe(str)}) == [
        "answer.more is one field too many",
        "answer.items[0].name is 1 and not str",
        "answer.last is missing",
    ]
