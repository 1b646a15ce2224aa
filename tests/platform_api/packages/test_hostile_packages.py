"""Packages that mean harm, or are as large as they may be, over HTTP: each is taken or refused, and the service goes on."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from platform_service import Service

pytestmark = pytest.mark.once
MEBIBYTE = 1024 * 1024


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, module_database: str | None) -> Iterator[Service]:
    """One service for all of them: what one package does must not harm the next."""
    with Service(tmp_path_factory.mktemp("hostile"), database=module_database, rate_limits=False) as running:
        running.account()
        yield running


@pytest.fixture
def client(service: Service) -> httpx.Client:
    """A client of an account of its own."""
    return service.signed_in(f"{os.urandom(6).hex()}@example.com")


def create(client: httpx.Client, files: dict[str, str | bytes], **more: Any) -> httpx.Response:
    sent = [
        {"path": path, "content": base64.b64encode(content).decode(), "encoding": "base64"}
        if isinstance(content, bytes)
        else {"path": path, "content": content}
        for path, content in files.items()
    ]
    return client.post("/api/v1/projects", json={"name": "Test", "files": sent, **more}, timeout=300)


@pytest.mark.parametrize(
    ("files", "text"),
    [
        ({"main.lang": "print(" + "(" * 100_000 + ")" * 100_000 + ")"}, ""),
        ({"main.lang": "[" * 250_000}, ""),
        ({"main.lang": "let x be " + "-" * 200_000 + "1\n"}, ""),
        ({"main.lang": "".join(" " * depth + "when true\n" for depth in range(700))}, ""),
        ({"main.lang": 'print("' + "{" * 50_000}, ""),
        ({"main.lang": b"\xff\xfeprint(1)"}, "main.lang"),
        ({"main.lang": "print(1)\n" + 'require net("a.example")\n' * 1_001}, "at most 1,000 require lines"),
        ({"main.lang": 'use "lib.lang" as lib\n', "lib.lang": b"\xff"}, "lib.lang"),
        ({"main.lang": 'use "../../etc/passwd" as lib\n'}, ""),
        ({"main.lang": 'use "main.lang" as lib\n'}, ""),
        ({"main.lang": "", "lang.toml": 'entry = "../main.lang"'}, "no file '../main.lang'"),
        ({"main.lang": "", "lang.toml": 'kind = "cron"'}, "kind must be web, worker or job"),
        ({"main.lang": "", "lang.toml": "[secrets]\nA = 1"}, "secrets.A must be text"),
        ({"main.lang": "", "lang.toml": "secrets = []"}, "secrets must be a table"),
        ({"main.lang": "", "lang.toml": "[resources]\nmemory_mb = 1e9"}, "memory_mb must be a whole number"),
        ({"main.lang": "", "lang.toml": "[resources]\nmemory_mb = true"}, "memory_mb must be a whole number"),
        ({"main.lang": "", "lang.toml": "[resources]\ntimeout_minutes = 0"}, "timeout_minutes must be a whole number"),
        ({"main.lang": "", "lang.toml": "x = 1" + "0" * 100_000}, "no TOML"),
        ({"main.lang": "", "lang.toml": "x = 1979-99-99"}, "no TOML"),
        ({"main.lang": "", "lang.toml": "a." * 20_000 + "b = 1"}, ""),
        ({"main.lang": "", "lang.toml": "x = " + "{a=" * 10_000}, "nested too deep"),
        ({"main.lang": "", "lang.toml": b"\xff"}, "not UTF-8"),
        ({"main.lang": "", "lang.toml": "[env]\nA = '" + "x" * 70_000 + "'"}, "65,536 bytes"),
        ({"main.lang": "", "lang.toml": 'name = "' + "x" * 1_001 + '"'}, "more than 1,000 characters"),
        ({"data.bin": bytes(600 * 1024)}, "source file has at most 524,288"),
    ],
    ids=range(25),
)
def test_what_is_refused(client: httpx.Client, files: dict[str, str | bytes], text: str) -> None:
    answer = create(client, files)
    assert (answer.status_code, answer.json()["code"]) == (400, "validation"), answer.text[:500]
    assert text in answer.json()["error"], answer.json()["error"][:500]
    assert len(answer.content) < 100_000
    assert client.get("/api/v1/projects").json()["items"] == []


def test_a_package_of_the_largest_size_comes_back_whole(client: httpx.Client) -> None:
    files: dict[str, str | bytes] = {f"data/{number}.bin": os.urandom(5 * MEBIBYTE - 8) for number in range(4)}
    made = create(client, {"main.lang": "print(1)\n", **files})
    assert made.status_code == 200, made.text[:500]
    found = client.get(f"/api/v1/projects/{made.json()['project']['id']}/package", timeout=300).json()["files"]
    assert {file["path"]: base64.b64decode(file["content"]) for file in found if file["encoding"] == "base64"} == files


def test_a_body_above_the_limit_is_refused_before_it_is_read(client: httpx.Client) -> None:
    answer = create(client, {"main.lang": "x" * (33 * MEBIBYTE)})
    assert (answer.status_code, answer.json()["code"]) == (413, "payload_too_large")


def test_two_thousand_files(client: httpx.Client) -> None:
    files: dict[str, str | bytes] = {f"{number}.txt": "x" for number in range(1_999)}
    made = create(client, {"main.lang": "print(1)\n", **files})
    assert len(made.json()["package"]["files"]) == 2_000
    assert create(client, {"main.lang": "", "more": "", **files}).status_code == 400


def test_analyses_of_one_account_wait_for_each_other_and_not_for_ever(service: Service) -> None:
    token = service.token(service.account("many@example.com"))

    def one(number: int) -> tuple[int, bool]:
        answer = service.client(token).post("/api/v1/projects", json={"name": "x", "source": f"print({number})"}, timeout=300)
        return answer.status_code, "Retry-After" in answer.headers

    with ThreadPoolExecutor(16) as pool:
        answers = set(pool.map(one, range(16)))
    assert (200, False) in answers and answers <= {(200, False), (429, True)}
