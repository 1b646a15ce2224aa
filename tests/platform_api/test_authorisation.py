"""Who may do what, at every route that the application has: a route that is added is tried here without a word."""

from __future__ import annotations

import http.client
import json
import re
from typing import Any

import httpx
import pytest
from litestar.routes import HTTPRoute
from platform_service import Service
from sqlalchemy import insert, update
from stored_projects import stored_project

from platform_api.accounts.principal import SCOPES
from platform_api.accounts.sessions import start_session
from platform_api.browser import checked
from platform_api.identifiers import new_id
from platform_api.moments import DAY, now
from platform_api.store import tables

API = "/api/v1"
OPEN = {
    ("POST", f"{API}/auth/login"),
    ("POST", f"{API}/auth/device"),
    ("POST", f"{API}/auth/device/token"),
    ("GET", f"{API}/recipes"),
}
#: What lies outside of ``/api/v1`` and is meant for everybody.
PUBLIC = {
    "/healthz", "/readyz", "/metrics", "/openapi.json", "/openapi.json/openapi.json", "/openapi.json/{path}",
    "/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp",
    "/ingress/ask",
}  # fmt: skip
#: What a token of one project may use outside of its project.
FOR_BOUND_TOKENS = {
    ("GET", "/events"), ("GET", "/me"), ("GET", "/projects"), ("GET", "/approvals"), ("POST", "/approvals/{}"),
    ("DELETE", "/tokens/current"),
}  # fmt: skip


def needed(method: str, path: str) -> str | None:
    """The scope of a route: reading, deploying, secrets, answering for a person, or the tokens of the account."""
    path = re.sub(r"\{\w+\}", "{}", path.removeprefix(API))
    if path in ("/me", "/tokens/current"):
        return None
    if path.startswith("/tokens"):
        return "account"
    if method == "GET":
        return "read"
    if re.search(r"/projects/\{\}/(env|notices|secrets)\b", path) or path.startswith("/notices"):
        return "secrets"
    if path.startswith("/approvals/") or path.endswith(("/confirm", "/reviewed")):
        return "approve"
    return "deploy"


def example(schema: dict[str, Any], schemas: dict[str, Any]) -> Any:
    """The smallest value of a schema."""
    if "$ref" in schema:
        return example(schemas[schema["$ref"].rpartition("/")[2]], schemas)
    for choices in ("anyOf", "oneOf"):
        if choices in schema:
            return example(schema[choices][0], schemas)
    if "enum" in schema or "const" in schema:
        return schema.get("const", schema.get("enum", [None])[0])
    kind = schema.get("type", "object")
    if isinstance(kind, list):
        kind = kind[0]
    if kind == "object":
        return {name: example(schema["properties"][name], schemas) for name in schema.get("required", ())}
    simple: dict[str, Any] = {"string": "x", "integer": 1, "number": 1, "boolean": True, "array": [], "null": None}
    return simple[kind]


class Caller:
    """Sends the smallest request that each operation takes.

    Args:
        project_id: what stands for a project in a path.
    """

    def __init__(self, service: Service, project_id: str) -> None:
        self._service = service
        self._project_id = project_id
        self._schemas = service.client().get("/openapi.json").json()["components"]["schemas"]

    def __call__(self, method: str, path: str, operation: dict[str, Any], token: str | None) -> httpx.Response:
        filled = re.sub(r"/projects/\{\w+\}", f"/projects/{self._project_id}", path)
        content = operation.get("requestBody", {}).get("content", {}).get("application/json")
        body = None if content is None else example(content["schema"], self._schemas)
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        with (
            httpx.Client(base_url=self._service.url, timeout=30) as client,
            client.stream(method, re.sub(r"\{\w+\}", "X", filled), json=body, headers=headers) as answer,
        ):
            if answer.status_code != 200:  # a stream of events has no end
                answer.read()
            return answer


@pytest.fixture
def owner(service: Service) -> str:
    return service.account()


@pytest.fixture
def project(service: Service, owner: str) -> str:
    return stored_project(service.platform.store, owner)


def protected(service: Service) -> list[tuple[str, str, dict[str, Any]]]:
    found = [found for found in service.operations() if found[1].startswith(API) and found[:2] not in OPEN]
    assert len(found) >= 3
    return found


def wrong(answers: list[tuple[str, str, httpx.Response]], status: int) -> list[tuple[str, str, int]]:
    assert answers
    return [(method, path, answer.status_code) for method, path, answer in answers if answer.status_code != status]


def test_only_what_is_meant_to_be_open_is_open(service: Service) -> None:
    described = {(method, path) for method, path, operation in service.operations() if operation.get("security") == []}
    assert described == {found[:2] for found in service.operations()} & OPEN
    for route in service.gateway.application.routes:
        path = route.path_format
        if not isinstance(route, HTTPRoute) or path.startswith((f"{API}/", "/runner/", "/hooks/")) or path in PUBLIC:
            continue
        if path == "/mcp":
            assert service.client().post(path, json={}).status_code == 401
            continue
        for handler in route.route_handlers:
            assert checked in handler.resolve_guards() or handler.http_methods == {"OPTIONS"}, f"{path} is open"


def test_machines_have_credentials_of_their_own(service: Service, owner: str) -> None:
    """Neither the token nor the session of a person opens what runners and hooks use."""
    with service.platform.store.main.writing() as connection:
        cookie = start_session(connection, owner, "127.0.0.1")
    client = service.client(service.token(owner))
    client.cookies.set("platform-session", cookie)
    tried = 0
    for route in service.gateway.application.routes:
        if isinstance(route, HTTPRoute) and route.path_format.startswith(("/runner/", "/hooks/")):
            for method in route.methods - {"OPTIONS"}:
                tried += 1
                expected = 401 if route.path_format.startswith("/runner/") else 404
                path = re.sub(r"\{\w+\}", "X", route.path_format)
                for answer in (client.request(method, path, json={}), service.client().request(method, path, json={})):
                    assert answer.status_code == expected, f"{method} {path}"
    assert tried >= 2


def test_every_route_of_the_interface_is_described(service: Service) -> None:
    described = {found[:2] for found in service.operations()}
    routes = {
        (method, route.path_format)
        for route in service.gateway.application.routes
        if isinstance(route, HTTPRoute) and route.path_format.startswith(API)
        for method in route.methods - {"OPTIONS", "HEAD"}
    }
    assert routes - described == {("GET", f"{API}/openapi.json")}


def test_a_token_that_does_not_hold_opens_nothing(service: Service, owner: str, project: str) -> None:
    call = Caller(service, project)
    disabled = service.account("disabled@example.com")
    revoked, expired, off = service.token(owner), service.token(owner), service.token(disabled)
    client = service.client(revoked)
    [newest, oldest] = client.get(f"{API}/tokens").json()["items"]
    with service.platform.store.main.writing() as connection:
        connection.execute(
            update(tables.tokens).where(tables.tokens.c.id == newest["id"]).values(last_used_at=now() - 91 * DAY)
        )
        connection.execute(update(tables.accounts).where(tables.accounts.c.id == disabled).values(disabled=True))
    assert client.delete(f"{API}/tokens/{oldest['id']}").status_code == 200
    for token in (None, "lp_" + "x" * 43, revoked, expired, off):
        answers = [(method, path, call(method, path, about, token)) for method, path, about in protected(service)]
        assert wrong(answers, 401) == []


@pytest.mark.parametrize("spelling", ["/{}", "//{}", "/{}/", "///{}//"])
def test_no_spelling_of_a_path_opens_the_interface_to_a_cookie(service: Service, owner: str, spelling: str) -> None:
    """The check of tokens and the choice of a route see one path."""
    with service.platform.store.main.writing() as connection:
        cookie = start_session(connection, owner, "127.0.0.1")
    paths = ["api/v1/me", "api//v1/me", "api/v1//me", "%61pi/v1/me", "api%2Fv1/me", "%2Fapi/v1/me", "api/v1/tokens", "api/v1"]
    for path in paths:
        for headers in ({}, {"Cookie": f"platform-session={cookie}"}):
            plain = http.client.HTTPConnection("127.0.0.1", service.port)  # it sends a path as it is written
            plain.request("GET", spelling.format(path), headers=headers)
            answer = plain.getresponse()
            assert (answer.status, json.loads(answer.read())["code"]) == (401, "unauthorized"), spelling.format(path)
            plain.close()


def test_each_route_needs_its_scope(service: Service, owner: str, project: str) -> None:
    call = Caller(service, project)
    without = {scope: service.token(owner, *(other for other in SCOPES if other != scope)) for scope in SCOPES}
    for method, path, about in protected(service):
        scope = needed(method, path)
        if scope is None:
            continue
        answer = call(method, path, about, without["approve" if scope == "account" else scope])
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden"), f"{method} {path} does without {scope}"
        assert answer.json()["details"] == {"scope": scope}
        assert about["security"] == [{"token": [scope]}]


def test_a_project_is_there_for_its_owner_alone(service: Service, owner: str, project: str) -> None:
    call = Caller(service, project)
    other, admin = service.account("other@example.com"), service.account("admin@example.com", admin=True)
    strangers = {
        "another account": service.token(other),
        "an administrator": service.token(admin),
        "a token of another project": service.token(owner, project_id=stored_project(service.platform.store, owner)),
        "a token of another account that names this project": service.token(other, project_id=project),
    }
    for method, path, about in protected(service):
        if f"{API}/projects/{{" in path:
            for who, token in strangers.items():
                answer = call(method, path, about, token)
                assert (answer.status_code, answer.json()["code"]) == (404, "not_found"), f"{method} {path} for {who}"


def test_an_owner_and_a_token_of_the_project_reach_it(service: Service, owner: str) -> None:
    for method, path, about in protected(service):
        if f"{API}/projects/{{" not in path or path.count("{") > 1:
            continue
        for bound in (False, True):
            project = stored_project(service.platform.store, owner)
            token = service.token(owner, project_id=project if bound else None)
            status = Caller(service, project)(method, path, about, token).status_code
            assert status not in (401, 403, 404) and status < 500, f"{method} {path} answers {status}"


def test_a_token_of_one_project_does_nothing_to_the_account(service: Service, owner: str, project: str) -> None:
    call = Caller(service, project)
    for method, path, about in protected(service):
        plain = (method, re.sub(r"\{\w+\}", "{}", path.removeprefix(API)))
        if plain[1].startswith("/projects/{}"):
            continue
        status = call(method, path, about, service.token(owner, project_id=project)).status_code
        assert (status == 403) != (plain in FOR_BOUND_TOKENS), f"{method} {path} answers {status}"


def test_lists_leave_other_projects_out_for_a_token_of_one(service: Service, owner: str, project: str) -> None:
    another = stored_project(service.platform.store, owner)
    gates = {}
    with service.platform.store.main.writing() as connection:
        for of in (project, another):
            gates[of] = new_id("apr")
            connection.execute(
                insert(tables.gates).values(
                    id=gates[of], project_id=of, gate_id="1", type="approve", message="?", status="pending",
                    expires_at=now() + DAY, received_at=now(),
                )
            )  # fmt: skip
    for bound, seen in ((None, {project, another}), (project, {project})):
        client = service.client(service.token(owner, project_id=bound))
        assert {item["id"] for item in client.get(f"{API}/projects").json()["items"]} == seen
        assert {item["project_id"] for item in client.get(f"{API}/approvals").json()["items"]} == seen
    bound_client = service.client(service.token(owner, project_id=project))
    assert bound_client.post(f"{API}/approvals/{gates[another]}", json={"decision": True}).status_code == 404
    assert bound_client.post(f"{API}/approvals/{gates[project]}", json={"decision": True}).status_code == 200
    stranger = service.signed_in("stranger@example.com", admin=True)
    assert stranger.post(f"{API}/approvals/{gates[another]}", json={"decision": True}).status_code == 404
    assert stranger.get(f"{API}/approvals").json()["items"] == stranger.get(f"{API}/projects").json()["items"] == []
