"""Signing in by password, and what a request without a token that holds is answered."""

from __future__ import annotations

from pathlib import Path

import pytest
from platform_service import PASSWORD, Service

from platform_api.accounts.sign_in import FAILURES_OF_AN_ADDRESS, WINDOW
from platform_api.accounts.throttle import count
from platform_api.accounts.tokens import revoke_token


def test_a_password_gives_a_token_with_every_scope(service: Service) -> None:
    account = service.account("Ada@Example.com")
    answer = service.client().post("/api/v1/auth/login", json={"email": "ada@example.COM", "password": PASSWORD})
    assert answer.status_code == 200
    body = answer.json()
    assert set(body) == {"token", "user"} and body["token"].startswith("lp_") and len(body["token"]) == 46
    me = service.client(body["token"]).get("/api/v1/me").json()
    assert me == body["user"] == {
        "id": account, "email": "Ada@Example.com", "name": "Ada", "plan": "team", "admin": False, "via": "login",
    }  # fmt: skip
    [token] = service.client(body["token"]).get("/api/v1/tokens").json()["items"]
    assert token["scopes"] == ["read", "deploy", "secrets", "approve"] and "token" not in token


def test_wrong_passwords_and_unknown_addresses_look_alike_and_are_counted(service: Service) -> None:
    service.account()
    client = service.client()
    answers = [
        client.post("/api/v1/auth/login", json={"email": email, "password": "wrong"})
        for email in ("owner@example.com", "nobody@example.com")
    ]
    assert {answer.status_code for answer in answers} == {401}
    assert answers[0].json() == answers[1].json()
    for _ in range(9):
        client.post("/api/v1/auth/login", json={"email": "owner@example.com", "password": "wrong"})
    refused = client.post("/api/v1/auth/login", json={"email": "owner@example.com", "password": PASSWORD})
    assert (refused.status_code, refused.json()["code"]) == (429, "rate_limited")
    assert 0 < int(refused.headers["Retry-After"]) <= 900


def test_an_address_with_a_nul_is_an_unknown_one(tmp_path: Path, database: str | None) -> None:
    with Service(tmp_path, database=database) as service:
        service.account()
        body = {"email": "owner@example.com\0", "password": PASSWORD}
        answer = service.client().post("/api/v1/auth/login", json=body)
        assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized")


@pytest.mark.parametrize("path", ["/api/v1/me", "/api/v1/projects", "/api/v1/no-such-thing", "/api/v1"])
def test_without_a_token_every_path_answers_401(service: Service, path: str) -> None:
    for header in (None, "Bearer", "Bearer lp_unknown", "Basic YTpi", "Bearer a b"):
        answer = service.client().get(path, headers={} if header is None else {"Authorization": header})
        assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized")
        assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_a_revoked_token_is_refused_at_once(service: Service) -> None:
    client = service.signed_in()
    [token] = client.get("/api/v1/tokens").json()["items"]
    assert client.delete(f"/api/v1/tokens/{token['id']}").json() == {"ok": True}
    assert client.get("/api/v1/me").status_code == 401


def test_a_token_is_refused_at_once_beside_requests_that_are_refused(service: Service) -> None:
    owner, account = service.signed_in(), service.account("other@example.com")
    for _ in range(8):
        client = service.client(service.token(account))
        assert client.get("/api/v1/projects/prj_x").status_code == 404
        [token] = client.get("/api/v1/tokens").json()["items"]
        with service.platform.store.main.writing() as connection:
            revoke_token(connection, account, token["id"])
        assert owner.get("/api/v1/projects/prj_x").status_code == 404
        assert client.get("/api/v1/me").status_code == 401


def test_who_signs_in_is_no_failure_of_an_address(service: Service) -> None:
    service.account()
    client, right = service.client(), {"email": "owner@example.com", "password": PASSWORD}
    with service.platform.store.main.writing() as connection:
        count(connection, "sign-in:127.0.0.1", WINDOW, FAILURES_OF_AN_ADDRESS - 1)
    for _ in range(2):
        assert client.post("/api/v1/auth/login", json=right).status_code == 200
    assert client.post("/api/v1/auth/login", json=right | {"password": "wrong"}).status_code == 401
    assert client.post("/api/v1/auth/login", json=right).status_code == 429


def test_a_token_that_one_replica_revokes_is_refused_by_the_other(tmp_path: Path, postgres_url: str) -> None:
    with (
        Service(tmp_path / "one", database=postgres_url) as one,
        Service(tmp_path / "two", database=postgres_url) as two,
    ):
        token = one.token(one.account())
        assert two.client(token).get("/api/v1/me").status_code == 200
        [listed] = one.client(token).get("/api/v1/tokens").json()["items"]
        assert one.client(token).delete(f"/api/v1/tokens/{listed['id']}").status_code == 200
        assert two.client(token).get("/api/v1/me").status_code == 401


def test_a_host_that_is_not_ours_is_misdirected(service: Service) -> None:
    answer = service.client().get("/api/v1/me", headers={"Host": "evil.example"})
    assert answer.status_code == 421


@pytest.mark.parametrize(
    ("body", "code", "field"),
    [(b"", "validation", "email"), (b'{"email": 1, "password": ""}', "validation", "email"), (b"{", "bad_request", None)],
)
def test_a_body_that_does_not_fit_names_its_field(service: Service, body: bytes, code: str, field: str | None) -> None:
    answer = service.client().post("/api/v1/auth/login", content=body, headers={"Content-Type": "text/plain"})
    assert answer.status_code == 400
    assert (answer.json()["code"], answer.json().get("field")) == (code, field)
    assert answer.json()["status"] == 400 and len(answer.headers["X-Request-Id"]) >= 8


@pytest.mark.parametrize(("path", "body", "field"), [
    ("projects", {"name": "x", "files": [{"path": 5, "content": ""}]}, "files[0].path"),
    ("projects", {"name": True, "source": ""}, "name"),
    ("approvals/apr_x", {"decision": "true"}, "decision"),
    ("approvals/apr_x", {"decision": 1}, "decision"),
    ("projects/prj_x/sleep", {"after_minutes": "10"}, "after_minutes"),
    ("projects/prj_x/deploys", {"apply": "yes"}, "apply"),
    ("projects/prj_x/deploys", ["apply"], None),
])  # fmt: skip
def test_a_field_of_the_wrong_type_is_not_read_as_another(service: Service, path: str, body: object, field: str | None) -> None:
    method = "PUT" if path.endswith("sleep") else "POST"
    answer = service.signed_in().request(method, f"/api/v1/{path}", json=body)
    assert answer.status_code == 400, answer.text
    assert (answer.json()["code"], answer.json().get("field")) == ("validation", field)
