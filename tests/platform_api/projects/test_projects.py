"""Projects over HTTP: what they are made of, who reaches them, what becomes of them."""

from __future__ import annotations

import base64
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from platform_service import Service
from sqlalchemy import func, select, update

from platform_api.plans.plans import load_plans
from platform_api.store.tables import packages, projects, runners

WEB = """\
require serve(8080)
require secret("STRIPE_KEY")
serve on 8080
    route "GET /"
        give "hello"
"""


def create(client: httpx.Client, **body: Any) -> httpx.Response:
    return client.post("/api/v1/projects", json={"name": "Test", **body})


def made(client: httpx.Client, **body: Any) -> dict[str, Any]:
    answer = create(client, **(body or {"source": 'print("hi")'}))
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def files(**contents: str) -> list[dict[str, str]]:
    return [{"path": path.replace("__", "/").replace("_", "."), "content": content} for path, content in contents.items()]


def test_one_source_becomes_a_package_of_one_file(service: Service) -> None:
    client = service.signed_in()
    found = made(client, source=WEB)
    project = found["project"]
    assert (project["kind"], project["entry"], project["status"], project["slug"]) == ("web", "main.lang", "created", "test")
    assert project["url"].startswith("http://127.0.0.1:88")
    assert found["ceiling"]["text"] == "serve=8080,secret=STRIPE_KEY,stdout,time"
    assert found["missing_secrets"] == ["STRIPE_KEY"]
    package = client.get(f"/api/v1/projects/{project['id']}/package").json()
    assert package["files"] == [{"path": "main.lang", "content": WEB, "encoding": "utf8"}]
    assert package["package"] == found["package"]["package"]
    detail = client.get(f"/api/v1/projects/{project['id']}").json()
    assert (detail["blocked"], detail["deploys"]) == ("", [])


def test_files_come_back_sorted_and_as_they_were_sent(service: Service) -> None:
    client = service.signed_in()
    sent = [
        {"path": "main.lang", "content": base64.b64encode(b'print("hi")').decode(), "encoding": "base64"},
        {"path": "data/x.bin", "content": base64.b64encode(bytes(range(256))).decode(), "encoding": "base64"},
        {"path": "README.md", "content": "é\r\n", "encoding": "utf8"},
    ]
    project = made(client, files=sent)["project"]
    got = client.get(f"/api/v1/projects/{project['id']}/package").json()["files"]
    assert got == sorted(sent, key=lambda file: file["path"])


BAD_BODIES: list[tuple[dict[str, Any], str | None, str]] = [
    ({}, None, "Exactly one of files, recipe, repo and source"),
    ({"source": "", "recipe": "x"}, None, "not recipe and source"),
    ({"source": "", "kind": "cron"}, "kind", "web, worker or job"),
    ({"source": "", "entry": "../main.lang"}, "entry", "plain names"),
    ({"source": "", "name": ""}, "name", "at least 1 character"),
    ({"source": "", "name": "x" * 101}, "name", "at most 100 characters"),
    ({"source": "", "name": "a\x00"}, "name", "characters that it cannot have"),
    ({"source": 1}, "source", "a text, not a number"),
    ({"files": [{"path": "main.lang"}]}, "files[0].content", "missing"),
    ({"files": []}, "files", "at least one file"),
    ({"files": [{"path": "../x", "content": ""}]}, "files", "'../x'"),
    ({"files": [{"path": "x", "content": "é", "encoding": "base64"}]}, "files", "'x' is not base64"),
    ({"files": files(a_lang="", b_lang="")}, "entry", "name one in the field `entry`"),
    ({"files": files(main_lang=""), "entry": "b.lang"}, "entry", "no file 'b.lang'"),
    ({"files": files(main_lang="", lang_toml="x")}, "files", "lang.toml: no TOML"),
    ({"files": files(main_lang="", lang_toml="name = 3")}, "files", "name must be text"),
]


def test_a_body_that_cannot_be_names_its_field(service: Service) -> None:
    client = service.signed_in()
    for body, field, text in BAD_BODIES:
        answer = create(client, **body)
        found = answer.json()
        assert (answer.status_code, found["code"]) == (400, "validation"), (body, found)
        assert text in found["error"], (body, found)
        assert field is None or found["field"] == field, (body, found)


def test_faults_of_the_program_are_told_with_their_places_and_nothing_is_stored(service: Service) -> None:
    client = service.signed_in()
    answer = create(client, files=files(main_lang='use "lib.lang" as lib\nlib.f()\n', lib_lang="let x be\n"))
    assert answer.status_code == 400
    [error] = answer.json()["details"]["errors"]
    assert (error["path"], error["line"]) == ("lib.lang", 1) and error["column"] > 0 and error["message"]
    assert client.get("/api/v1/projects").json()["items"] == []
    with service.platform.store.main.reading() as connection:
        assert connection.execute(select(func.count()).select_from(packages)).scalar_one() == 0


def test_an_error_of_the_program_says_how_to_put_it_right(service: Service) -> None:
    answer = create(service.signed_in(), files=files(main_lang="let x = 5\n"))
    [error] = answer.json()["details"]["errors"]
    assert (error["severity"], error["code"][:3], error["end_line"]) == ("error", "E01", 1)
    assert "be" in error["help"]


def test_what_the_check_finds_in_a_program_that_can_be_started_is_told(service: Service) -> None:
    client = service.signed_in()
    source = 'let total be 1\nlet unused be 2\nwhen total > 1\n    print(totl)\nprint(upper("a", "b", "c"))\n'
    made = create(client, files=files(main_lang=source)).json()
    severities = [(found["severity"], found["line"], found["column"], found["code"][:3]) for found in made["problems"]]
    assert severities == [("error", 4, 11, "E02"), ("error", 5, 12, "E03"), ("warning", 2, 5, "W01")]
    assert "total" in made["problems"][0]["help"] and (made["problems"][0]["end_line"], made["problems"][0]["end_column"]) == (
        4,
        15,
    )
    project = f"/api/v1/projects/{made['project']['id']}"
    assert client.get(project).json()["problems"] == made["problems"]
    asked = client.post(f"{project}/deploys", json={"source": "let other be 1\n"}).json()
    [warning] = asked["problems"]
    assert "other" in warning["message"]


def test_the_problems_of_an_answer_have_a_bound(service: Service) -> None:
    name = "x" * 2_000
    source = "".join(f"print({name}{number})\n" for number in range(150))
    problems = create(service.signed_in(), files=files(main_lang=source)).json()["problems"]
    assert len(problems) == 100
    assert max(len(found[text]) for found in problems for text in ("message", "help")) <= 500


def test_a_manifest_that_cannot_be_names_its_place(service: Service) -> None:
    client = service.signed_in()
    for content, line in (
        ("name = ", 1),
        ("a = " + "[" * 20_000, 0),
        ('[secrets]\nlower = "x"', 0),
        ("[env]\nPLATFORM_X = '1'", 0),
        ("\n\0", 2),
    ):
        answer = create(client, files=files(main_lang="", lang_toml=content))
        assert answer.status_code == 400, answer.text
        [error] = answer.json()["details"]["errors"]
        assert (error["path"], error["line"]) == ("lang.toml", line)


def test_a_field_that_a_manifest_does_not_have_is_told(service: Service) -> None:
    client = service.signed_in()
    manifest = 'kind = "job"\nshedule = "@daily"\n[resources]\nmemory = 64\n[env]\nANY = "1"\n[schedule]\ncron = "0 6 * * *"\n'
    answer = made(client, files=files(main_lang="", lang_toml=manifest))
    told = [(found["severity"], found["path"], found["line"], found["message"]) for found in answer["problems"]]
    assert told == [
        ("warning", "lang.toml", 2, "lang.toml has no field 'shedule': it is ignored"),
        ("warning", "lang.toml", 4, "lang.toml has no field 'resources.memory': it is ignored"),
        ("warning", "lang.toml", 7, "lang.toml has no field 'schedule': it is ignored"),
    ]
    assert "`lang schedule`" in answer["problems"][2]["help"]


def test_a_program_that_takes_too_long_to_analyse_is_refused(service: Service) -> None:
    client = service.signed_in()
    source = "let x be [" + "f(1)(2)," * 65_000 + "1]\n"
    assert 500_000 < len(source) < 512 * 1024
    answer = client.post("/api/v1/projects", json={"name": "Test", "source": source}, timeout=300)
    assert answer.status_code == 400
    assert "seconds of processor time" in answer.json()["error"]
    assert client.get("/api/v1/projects").json()["items"] == []


def test_the_manifest_decides_where_the_request_does_not(service: Service) -> None:
    client = service.signed_in()
    manifest = 'kind = "job"\nentry = "app.lang"\n[secrets]\nAPI_KEY = "of the shop"\n[resources]\nmemory_mb = 64\n'
    sent = files(main_lang="", app_lang='print("job")', lang_toml=manifest)
    found = made(client, files=sent)
    project = found["project"]
    assert (project["kind"], project["entry"], project["memory_mb"], project["url"]) == ("job", "app.lang", 64, None)
    assert found["missing_secrets"] == ["API_KEY"]
    other = made(client, files=sent, kind="worker", entry="main.lang")["project"]
    assert (other["kind"], other["entry"]) == ("worker", "main.lang")


def test_names_repeat_and_slugs_do_not(service: Service) -> None:
    client = service.signed_in()
    slugs = [
        made(client, name=name, source="")["project"]["slug"] for name in ("Ünï cödé!", "uni code", "uni-code", "日本", "www")
    ]
    assert slugs == ["uni-code", "uni-code-2", "uni-code-3", "project", "www-2"]
    notes = [made(client, name=name, source="")["slug_note"] for name in ("Uni code", "API", "Café 2")]
    assert notes == [
        "Its slug is uni-code-4, because uni-code is taken by another project.",
        "Its slug is api-2, because the platform keeps api for itself.",
        "",
    ]


def test_projects_made_at_once_get_different_slugs_and_ports(service: Service) -> None:
    token = service.token(service.account())
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda _: made(service.client(token), source=WEB)["project"], range(6)))
    assert len({project["slug"] for project in found}) == len({project["url"] for project in found}) == 6


def test_equal_packages_are_stored_once_and_go_with_the_last_project(service: Service) -> None:
    one, other = service.signed_in(), service.signed_in("other@example.com")
    first, second = made(one, source=WEB)["project"], made(other, source=WEB)["project"]

    def stored() -> int:
        with service.platform.store.main.reading() as connection:
            return int(connection.execute(select(func.count()).select_from(packages)).scalar_one())

    assert stored() == 1
    assert one.delete(f"/api/v1/projects/{first['id']}").json() == {"ok": True, "status": "deleted"}
    assert stored() == 1
    assert other.get(f"/api/v1/projects/{second['id']}/package").status_code == 200
    other.delete(f"/api/v1/projects/{second['id']}")
    assert stored() == 0


def test_the_projects_of_others_are_not_there(service: Service) -> None:
    owner, other = service.signed_in(), service.signed_in("other@example.com", admin=True)
    project = made(owner)["project"]["id"]
    for method, path, body in (
        ("GET", "", None),
        ("DELETE", "", None),
        ("PATCH", "", {"name": "mine"}),
        ("GET", "/package", None),
        ("GET", "/env", None),
        ("GET", "/secrets", None),
        ("PUT", "/env/A", {"value": "x"}),
        ("PUT", "/secrets/A", {"value": "x"}),
        ("DELETE", "/env/A", None),
    ):
        answer = other.request(method, f"/api/v1/projects/{project}{path}", json=body)
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found"), (method, path)
    assert other.get("/api/v1/projects").json()["items"] == []
    assert owner.get(f"/api/v1/projects/{project}").json()["project"]["name"] == "Test"


def test_a_token_of_one_project_reaches_that_one_alone(service: Service) -> None:
    account = service.account()
    client = service.client(service.token(account))
    one, other = made(client)["project"]["id"], made(client)["project"]["id"]
    bound = service.client(service.token(account, project_id=one))
    assert [project["id"] for project in bound.get("/api/v1/projects").json()["items"]] == [one]
    assert bound.get(f"/api/v1/projects/{one}").status_code == 200
    assert bound.get(f"/api/v1/projects/{other}").status_code == 404
    assert create(bound, source="").status_code == 403


@pytest.mark.parametrize(
    ("scope", "allowed"),
    [("read", {"list", "package", "env"}), ("deploy", {"create", "patch", "delete"}), ("secrets", {"put"}), ("approve", set())],
)
def test_each_scope_allows_its_routes(service: Service, scope: str, allowed: set[str]) -> None:
    account = service.account()
    project = made(service.client(service.token(account)))["project"]["id"]
    client = service.client(service.token(account, scope))
    here = f"/api/v1/projects/{project}"
    answers = {
        "list": client.get("/api/v1/projects"),
        "package": client.get(f"{here}/package"),
        "env": client.get(f"{here}/env"),
        "create": create(client, source=""),
        "patch": client.patch(here, json={"name": "x"}),
        "put": client.put(f"{here}/env/A", json={"value": "x"}),
        "delete": client.delete(here),
    }
    assert {name for name, answer in answers.items() if answer.status_code == 200} == allowed
    assert {answer.status_code for name, answer in answers.items() if name not in allowed} == {403}


def test_lists_are_cut_into_pages(service: Service) -> None:
    client = service.signed_in()
    ids = [made(client)["project"]["id"] for _ in range(5)]
    assert [project["id"] for project in client.get("/api/v1/projects").json()["items"]] == ids[::-1]
    assert "next_cursor" not in client.get("/api/v1/projects").json()
    found, cursor = [], None
    for _ in range(3):
        page = client.get("/api/v1/projects", params={"limit": 2, **({"cursor": cursor} if cursor else {})}).json()
        found += [project["id"] for project in page["items"]]
        cursor = page["next_cursor"]
    assert (found, cursor) == (ids[::-1], None)
    for bad in ({"limit": 0}, {"limit": 501}, {"limit": "x"}, {"cursor": "é"}, {"cursor": "a"}):
        assert client.get("/api/v1/projects", params=bad).status_code == 400, bad


def test_a_change_of_name_and_memory(service: Service) -> None:
    client = service.signed_in("free@example.com", plan="free")
    project = made(client)["project"]
    here = f"/api/v1/projects/{project['id']}"
    changed = client.patch(here, json={"name": "Other", "memory_mb": 128}).json()["project"]
    assert (changed["name"], changed["memory_mb"], changed["slug"]) == ("Other", 128, project["slug"])
    assert client.patch(here, json={}).json()["project"]["name"] == "Other"
    above = client.patch(here, json={"memory_mb": 257})
    assert (above.status_code, above.json()["code"]) == (409, "plan_limit")
    for bad in ({"memory_mb": 0}, {"memory_mb": 1.5}, {"memory_mb": -(10**30)}, {"name": ""}):
        assert client.patch(here, json=bad).status_code == 400, bad


def test_a_project_that_a_runner_knows_is_erased_first(service: Service) -> None:
    client = service.signed_in()
    project = made(client)["project"]["id"]
    with service.platform.store.main.writing() as connection:
        connection.execute(runners.insert().values(id="r1", digest=b"x", created_at=0))
        connection.execute(update(projects).where(projects.c.id == project).values(home_runner="r1", desired="up"))
    for _ in range(2):
        assert client.delete(f"/api/v1/projects/{project}").json() == {"ok": True, "status": "deleting"}
    assert client.get(f"/api/v1/projects/{project}").json()["project"]["status"] == "deleting"
    for answer in (
        client.patch(f"/api/v1/projects/{project}", json={"name": "x"}),
        client.put(f"/api/v1/projects/{project}/env/A", json={"value": "x"}),
    ):
        assert (answer.status_code, answer.json()["code"]) == (409, "conflict")
    with service.platform.store.main.reading() as connection:
        row = connection.execute(select(projects).where(projects.c.id == project)).one()
    assert (row.desired, row.generation) == ("erased", 1) and row.change > 0


def test_a_plan_bounds_the_stored_projects_and_packages(service: Service) -> None:
    client = service.signed_in("free@example.com", plan="free")
    for _ in range(load_plans()["free"].projects):
        made(client)
    refused = create(client, source="")
    assert (refused.status_code, refused.json()["code"]) == (409, "plan_limit")
    first = client.get("/api/v1/projects").json()["items"][0]["id"]
    client.delete(f"/api/v1/projects/{first}")
    assert create(client, source="").status_code == 200
