"""Every route of the published interface, asked once: its answer has the fields that are published, and no other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from platform_service import PASSWORD, Service
from shapes import MOMENT, Maybe, faults
from stored_projects import stored_project

from platform_api.identifiers import new_id

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
CREATED = {"project": PROJECT, "ceiling": CEILING, "package": LISTING, "missing_secrets": [str]}
FILE = {"path": str, "content": str, "encoding": {"utf8", "base64"}}
SECRET = {"name": str, "fingerprint": str, "created_at": MOMENT}
VALUE = {
    "name": str,
    "kind": {"secret", "variable"},
    "value": (str, None),
    "fingerprint": (str, None),
    "created_at": MOMENT,
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


ROUTES = [
    Route("POST", "/auth/login", {"token": str, "user": ACCOUNT}, _sign_in),
    Route("GET", "/me", ACCOUNT),
    Route("GET", "/projects", {"items": [PROJECT], **CURSOR}),
    Route("POST", "/projects", CREATED, {"name": "Another", "source": SOURCE}),
    Route("GET", "/projects/{id}", {**CREATED, "blocked": str, "deploys": [DEPLOY]}),
    Route("DELETE", "/projects/{id}", {"ok": bool, "status": {"deleted", "deleting"}}),
    Route("GET", "/projects/{id}/package", {**PACKAGE, "files": [FILE]}),
    Route("GET", "/projects/{id}/logs/tail", {"items": [{"id": str, "at": MOMENT, "line": str}], "last": str}),
    Route("GET", "/projects/{id}/secrets", {"items": [SECRET], "missing": [str]}, before=_put_secret),
    Route("PUT", "/projects/{id}/secrets/KEY", {"ok": bool, "name": str}, {"value": "x"}),
    Route("GET", "/projects/{id}/env", {"items": [VALUE], "missing": [str], "needs_redeploy": bool}, before=_put_both),
    Route("PUT", "/projects/{id}/env/REGION", {"ok": bool, "name": str, "kind": {"secret", "variable"}}, {"value": "eu"}),
    Route("DELETE", "/projects/{id}/env/KEY", {"ok": bool, "name": str}, before=_put_secret),
]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """One service for all routes."""
    with Service(tmp_path_factory.mktemp("shapes")) as service:
        yield service


@pytest.fixture
def world(running: Service) -> World:
    """An account with one project."""
    email = f"{new_id('at')}@example.com"
    account = running.account(email)
    project = stored_project(running.platform.store, account, source=SOURCE)
    return World(running, running.client(running.token(account)), {"id": project, "email": email})


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_an_answer_has_the_published_fields(world: World, route: Route) -> None:
    if route.before is not None:
        route.before(world)
    body = route.body(world) if callable(route.body) else route.body
    answer = world.client.request(route.method, "/api/v1" + route.path.format_map(world.ids), json=body)
    assert answer.status_code == 200, answer.text
    assert faults(answer.json(), route.shape) == []


def test_a_shape_names_what_is_missing_and_what_is_too_many() -> None:
    assert faults({"items": [{"name": 1}], "more": 1}, {"items": [{"name": str}], "last": str, "next": Maybe(str)}) == [
        "answer.more is one field too many",
        "answer.items[0].name is 1 and not str",
        "answer.last is missing",
    ]
