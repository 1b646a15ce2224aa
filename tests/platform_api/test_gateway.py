"""What every request passes before its route."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from deploying import until
from platform_service import Service

from platform_api.gateway import LARGEST_BODY, LARGEST_BODY_OF_A_STRANGER

AUTH = "/api/v1/auth"
SECURITY = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


def chunks() -> Iterator[bytes]:
    """A body that announces no length."""
    yield b'{"name": "'
    for _ in range(LARGEST_BODY // 2**20 + 1):
        yield b"x" * 2**20
    yield b'"}'


@pytest.mark.parametrize("headers", [{}, {"Idempotency-Key": "one"}])
@pytest.mark.parametrize("announced", [True, False])
def test_a_body_above_the_limit_is_refused(service: Service, announced: bool, headers: dict[str, str]) -> None:
    content: Any = b"".join(chunks()) if announced else chunks()
    answer = service.signed_in().post("/api/v1/projects", content=content, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (413, "payload_too_large")


@pytest.mark.parametrize("announced", [True, False])
@pytest.mark.parametrize("path", [f"{AUTH}/login", f"{AUTH}/device", f"{AUTH}/device/token", "/sign-in", "/language"])
def test_nobody_has_a_large_body_read_before_the_sign_in(service: Service, path: str, announced: bool) -> None:
    size = LARGEST_BODY_OF_A_STRANGER
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Origin": service.url}

    def sent(length: int) -> httpx.Response:
        start = b'{"email": "a@b", "password": "' if path.startswith("/api/") else b"email=a&password="
        body = start + b"x" * (length - len(start))
        return service.client().post(path, content=body if announced else iter([body]), headers=headers)

    assert sent(size + 1).status_code == 413
    assert sent(size).status_code != 413


@pytest.mark.parametrize("path", ["/api/v1/tokens/%00", "/api/v1/me?q=%00", "/%00", "/api/v1/projects/a%00b/logs"])
def test_no_nul_comes_through(service: Service, path: str) -> None:
    assert service.signed_in().get(path).status_code == 400


@pytest.mark.parametrize("path", ["/metrics", "/ingress/ask"])
def test_what_proxies_keep_inside_has_one_spelling(service: Service, path: str) -> None:
    for spelling in (f"{path}/", f"{path}//", f"/{path}", f"{path}%2F", f"/%2F{path[1:]}"):
        place = httpx.URL(service.url).copy_with(raw_path=f"{spelling}?domain=a.example".encode())
        answer = service.client().get(place)
        assert (answer.status_code, answer.json()["error"]) == (404, "There is nothing at this path."), spelling


def test_an_answer_names_its_request_and_closes_what_browsers_leave_open(service: Service) -> None:
    client = service.signed_in()
    for path, status in (("/api/v1/me", 200), ("/api/v1/nothing", 404), ("/healthz", 200), ("/nothing", 404)):
        answer = client.get(path, headers={"X-Request-Id": "mine-12345"})
        assert (answer.status_code, answer.headers["X-Request-Id"]) == (status, "mine-12345")
        assert {name: answer.headers[name] for name in SECURITY} == SECURITY
        policy = answer.headers["Content-Security-Policy"]
        assert "unsafe-inline" not in policy and "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
        assert "Strict-Transport-Security" not in answer.headers
    for bad in ("short", "x" * 65, "with blank", "a\tb-12345", "ä-1234567"):
        made = client.get("/api/v1/me", headers={b"X-Request-Id": bad.encode("latin-1")}).headers["X-Request-Id"]
        assert made != bad and len(made) >= 8


def test_what_is_wrong_with_a_request_is_a_sentence_that_names_the_field(service: Service) -> None:
    client = service.signed_in()
    project = client.post("/api/v1/projects", json={"name": "x", "source": "print(1)"}).json()["project"]["id"]
    cases: list[tuple[str, str, Any, str, str | None]] = [
        ("POST", "auth/login", b"{", "The body is not JSON: Input data was truncated.", None),
        ("POST", "auth/login", b"[" * LARGEST_BODY_OF_A_STRANGER, "The body is nested too deep.", None),
        ("POST", "auth/login", [], "The body is an object, not a list.", None),
        ("POST", "auth/login", {"email": "a"}, "The field password is missing.", "password"),
        ("POST", "auth/login", {"email": "a", "password": 5}, "password is a text, not a number.", "password"),
        ("POST", "projects", {"name": "", "source": ""}, "name has at least 1 character.", "name"),
        ("POST", "projects", {"name": "a" * 101, "source": ""}, "name has at most 100 characters.", "name"),
        ("POST", "projects", {"name": "a\n", "source": ""}, "name has characters that it cannot have.", "name"),
        ("POST", "projects", {"name": "a", "files": {}}, "files is a list, not an object.", "files"),
        (
            "POST",
            "projects",
            {"name": "a", "files": [{"path": "x"}]},
            "The field files[0].content is missing.",
            "files[0].content",
        ),
        ("GET", "projects?limit=x", None, "limit is a whole number, not a text.", "limit"),
        ("GET", "projects?limit=501", None, "limit is at most 500.", "limit"),
        ("GET", f"projects/{project}/logs?tail=x", None, "tail is a whole number, not a text.", "tail"),
        ("PATCH", f"projects/{project}", {"memory_mb": 1.5}, "memory_mb is a whole number, not a fraction.", "memory_mb"),
        ("PUT", f"projects/{project}/sleep", {"after_minutes": None}, "after_minutes is a number, not null.", "after_minutes"),
        ("POST", "approvals/x", {"decision": "yes"}, "decision is true or false, not a text.", "decision"),
    ]
    for method, path, body, sentence, field in cases:
        sent = {"content": body} if isinstance(body, bytes) else {"json": body} if body is not None else {}
        answer = client.request(method, f"/api/v1/{path}", **sent)
        found = answer.json()
        assert (answer.status_code, found["error"], found.get("field")) == (400, sentence, field), path
    for body, field in (
        ({"source": "let x be\n"}, "source"),
        ({"files": [{"path": "m.lang", "content": "let x be\n"}]}, "files"),
    ):
        for path in (f"projects/{project}/deploys", "projects"):
            assert client.post(f"/api/v1/{path}", json={"name": "x", **body}).json()["field"] == field


def test_a_path_that_takes_another_method_says_which(service: Service) -> None:
    answer = service.signed_in().put("/api/v1/me")
    assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")
    assert "GET" in answer.headers["Allow"].upper()


def test_head_is_answered_as_get_without_a_body(service: Service) -> None:
    owner = service.signed_in()
    for path in ("/healthz", "/readyz", "/metrics", "/sign-in", "/", "/openapi.json", "/api/v1/recipes", "/no-such-page"):
        got, head = service.client().get(path), service.client().head(path)
        assert (head.status_code, head.content) == (got.status_code, b"")
        assert head.headers["content-type"] == got.headers["content-type"]
    assert owner.head("/api/v1/me").status_code == 200
    assert service.client().head("/api/v1/me").status_code == 401
    assert owner.head("/sign-out").status_code == 405
    project = owner.post("/api/v1/projects", json={"name": "x", "source": "print(1)"}).json()["project"]["id"]
    stream = owner.head(f"/api/v1/projects/{project}/logs")  # a stream, which would have no end
    assert stream.status_code == 200 and stream.headers["content-type"].startswith("text/event-stream")
    until(lambda: service.platform.open_streams.open == {})
    assert 'method="HEAD",route="/healthz"' in service.client().get("/metrics").text


@pytest.mark.parametrize("name", ["Host", "Authorization", "Idempotency-Key", "Origin"])
def test_a_header_that_decides_is_there_once(service: Service, name: str) -> None:
    """Of two, a proxy may take the one and this service the other."""
    client = service.signed_in()
    twice = [(name, client.headers.get(name, service.url)), (name, "127.0.0.1")]
    with socket.create_connection(("127.0.0.1", service.port)) as connection:
        others = [("Host", f"127.0.0.1:{service.port}")] if name != "Host" else []
        head = "".join(f"{each}: {value}\r\n" for each, value in [*others, *twice, ("Connection", "close")])
        connection.sendall(f"GET /api/v1/recipes HTTP/1.1\r\n{head}\r\n".encode())
        answer = connection.makefile("rb").read()
    assert answer.startswith(b"HTTP/1.1 400 "), answer[:300]


def test_no_answer_waits_for_an_acknowledgement(service: Service) -> None:
    """The body of an answer is sent behind its head: held back until that is acknowledged, it comes 40 ms later."""
    assert service.signed_in().get("/api/v1/me").status_code == 200
    options = service.connection_options(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    assert options and 0 not in options


def test_the_system_holds_little_of_what_a_client_does_not_read(service: Service) -> None:
    """With megabytes in its queue a client that reads slowly would seem to read nothing for long."""
    assert service.signed_in().get("/api/v1/me").status_code == 200
    options = service.connection_options(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT)
    assert options and set(options) == {64 * 1024}
