"""Texts that a store cannot hold or a reader cannot end: whatever field they stand in, they are refused, and nothing fails."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest
from browsing_person import Person
from litestar.routes import HTTPRoute
from platform_service import Service

from platform_api.gateway import LARGEST_BODY_OF_A_STRANGER

pytestmark = pytest.mark.once
NUL, LONE = "a\0b", "a\ud800b"
API = "/api/v1"


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """PostgreSQL takes no NUL in a text."""
    place = None
    if request.param == "postgresql":
        import psycopg

        server = f"postgresql://lang:p%40ss%20word@{request.getfixturevalue('postgres_place')}"
        with psycopg.connect(f"{server}/app", autocommit=True) as connection:
            connection.execute("CREATE DATABASE hostile_texts")
        place = f"{server}/hostile_texts"
    with Service(tmp_path_factory.mktemp("texts"), database=place, rate_limits=False) as running:
        yield running


@pytest.fixture(scope="module")
def person(service: Service) -> Person:
    return Person(service, admin=True)


def fields_of(schema: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    schema = schemas.get(schema.get("$ref", "").rpartition("/")[2], schema)
    return dict(schema.get("properties", {}))


def test_no_field_of_the_interface_fails(service: Service, person: Person) -> None:
    client = service.client(service.token(person.account))
    document = client.get("/openapi.json").json()
    schemas, tried = document["components"]["schemas"], 0
    project = client.post(f"{API}/projects", json={"name": "x", "source": "print(1)", "kind": "job"}).json()["project"]["id"]
    for path, item in document["paths"].items():
        place = path.replace("{project_id}", project)
        place = place.partition("{")[0] + "x" * ("{" in place) + place.partition("}")[2].replace("{", "").replace("}", "")
        for method, operation in item.items():
            if method == "delete" and path.endswith("{project_id}"):
                continue
            body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
            texts = fields_of(body, schemas) if body else {}
            for name in texts:
                for text in (NUL, LONE, [NUL], [LONE], [{"path": NUL, "content": LONE}]):
                    filled = {"name": "x", "email": "x", "password": "x", "value": "x", "url": "json://x", "device_code": "x"}
                    sent = {**{key: filled[key] for key in texts if key in filled}, name: text}
                    content = json.dumps(sent)
                    answer = client.request(method, place, content=content)
                    assert answer.status_code < 500, (method, place, sent, answer.text)
                    tried += 1
    assert tried > 100


@pytest.mark.parametrize("cursor", [base64.urlsafe_b64encode(text).decode() for text in (b"\0", b"prj_\0", b"' OR 1")])
def test_no_cursor_fails(service: Service, person: Person, cursor: str) -> None:
    client = service.client(service.token(person.account))
    for path in ("/projects", "/approvals", "/tokens"):
        assert client.get(f"{API}{path}", params={"cursor": cursor}).status_code == 400
    assert person.get("/", cursor=cursor).status_code == 400


def test_no_field_of_a_form_fails(service: Service, person: Person) -> None:
    tried = 0
    names = """email name plan what id code secret token scopes project decision option value back source recipe repo ref entry
        kind way cron after_minutes memory_mb ceiling password again current language user_code"""
    for route in service.gateway.application.routes:  # type: ignore[attr-defined]
        if (
            isinstance(route, HTTPRoute)
            and "POST" in route.methods
            and not route.path.startswith(("/api", "/runner", "/hooks"))
        ):
            path = route.path_format.replace("{project_id}", "prj_x").replace("{", "").replace("}", "")
            if path == "/sign-out":
                continue
            for text in (NUL, "\ufffd"):
                answer = person.sends(path, **dict.fromkeys(names.split(), text))
                assert answer.status_code < 500, (path, answer.text)
                tried += 1
    assert tried > 40


@pytest.mark.parametrize("body", [b"[" * 200_000, b'{"a":' * 200_000, b'{"name":' + b"[" * 200_000 + b"]" * 200_000 + b"}"])
def test_nothing_is_nested_too_deep(service: Service, person: Person, body: bytes) -> None:
    client = service.client(service.token(person.account))
    assert client.post(f"{API}/projects", content=body).status_code == 400
    assert service.client().post(f"{API}/auth/login", content=body[:LARGEST_BODY_OF_A_STRANGER]).status_code == 400


def test_no_number_fails(service: Service, person: Person) -> None:
    """Larger than any column, and larger than any float."""
    client, numbers = service.client(service.token(person.account)), [10**30, -(10**30), 10**400, -(10**400)]
    document, tried = client.get("/openapi.json").json(), 0
    schemas = document["components"]["schemas"]
    ids = {
        kind: client.post(f"{API}/projects", json={"name": kind, "source": "print(1)", "kind": kind}).json()["project"]["id"]
        for kind in ("web", "job")
    }
    for path, item in document["paths"].items():
        for method, operation in item.items():
            body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
            about = fields_of(body, schemas) if body else {}
            fields = [name for name in about if "integer" in json.dumps(about[name])]
            queries = [taken["name"] for taken in operation.get("parameters", []) if taken["in"] == "query"]
            for kind in ids if fields or queries else ():
                place = path.replace("{project_id}", ids[kind]).replace("{", "").replace("}", "")
                for number in numbers:
                    for name in fields:
                        answer = client.request(method, place, content=json.dumps({name: number}))
                        assert answer.status_code < 500, (method, place, name, answer.text)
                        tried += 1
                    for name in queries:
                        answer = client.request(method, place, params={name: str(number)})
                        assert answer.status_code < 500, (method, place, name, answer.text)
                        tried += 1
    for path, name in (("deploys", "before"), ("audit", "cursor"), ("approvals", "cursor"), ("log/live", "after")):
        assert person.get(f"/projects/{ids['job']}/{path}", **{name: str(10**30)}).status_code == 400, path
    assert tried > 50
