"""The catalog of recipes: mirrored from a folder or a repository, listed, and what a project made of one has."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import httpx
import pytest
from git_server import GitServer
from platform_service import Service

from platform_api.recipes.mirror import list_recipes

CATALOG = {
    "catalog.toml": '[[recipe]]\npath = "web-hello"\n\n[[recipe]]\npath = "jobs/daily-report"\n',
    "README.md": "of the catalog",
    "web-hello/main.lang": 'require serve(8080)\nserve on 8080\n    route "GET /"\n        give env("GREETING")\n',
    "web-hello/lang.toml": (
        'name = "Hello"\nversion = "1.2"\ntagline = "Says hello"\ntagline_es = "Saluda"\n[env]\nGREETING = "hello"\n'
        '[secrets]\nADMIN_KEY = "opens the admin page"\n'
    ),
    "jobs/daily-report/main.lang": 'require secret("MAIL_KEY")\nprint(secret("MAIL_KEY"))\n',
    "jobs/daily-report/lang.toml": 'kind = "job"\n[source]\nrepo = "https://github.com/acme/report"\nref = "v2"\n',
}


def written(folder: Path, files: dict[str, str]) -> Path:
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content, encoding="utf-8")
    return folder


def read_again(service: Service) -> None:
    """What an hour later does."""
    asyncio.run(service.platform.recipes.refresh())


def slugs(service: Service) -> list[str]:
    with service.platform.store.main.reading() as connection:
        return [recipe.slug for recipe in list_recipes(connection)]


def test_the_catalog_is_open_and_in_its_own_order(tmp_path: Path, database: str | None) -> None:
    with Service(tmp_path / "data", database=database, recipes=str(written(tmp_path / "catalog", CATALOG))) as service:
        answer = service.client().get("/api/v1/recipes")
        assert answer.status_code == 200
        assert answer.json() == {
            "items": [
                {
                    "slug": "web-hello",
                    "name": "Hello",
                    "version": "1.2",
                    "kind": "web",
                    "entry": "main.lang",
                    "repo": "",
                    "ref": "",
                    "secrets": ["ADMIN_KEY"],
                    "tagline": "Says hello",
                    "tagline_es": "Saluda",
                    "tagline_pt": "Says hello",
                },
                {
                    "slug": "daily-report",
                    "name": "daily-report",
                    "version": "",
                    "kind": "job",
                    "entry": "main.lang",
                    "repo": "https://github.com/acme/report",
                    "ref": "v2",
                    "secrets": ["MAIL_KEY"],
                    "tagline": "",
                    "tagline_es": "",
                    "tagline_pt": "",
                },
            ]
        }


def test_a_project_of_a_recipe_has_its_files_and_its_secrets(tmp_path: Path, database: str | None) -> None:
    with Service(tmp_path / "data", database=database, recipes=str(written(tmp_path / "catalog", CATALOG))) as service:
        client = service.signed_in()
        made = client.post("/api/v1/projects", json={"name": "Mine", "recipe": "web-hello"})
        assert made.status_code == 200, made.text
        found = made.json()
        assert found["project"]["recipe"] == {"slug": "web-hello", "version": "1.2"}
        assert [file["path"] for file in found["package"]["files"]] == ["lang.toml", "main.lang"]
        assert found["missing_secrets"] == ["ADMIN_KEY"]
        here = f"/api/v1/projects/{found['project']['id']}"
        assert client.put(f"{here}/env/ADMIN_KEY", json={"value": "x"}).json()["kind"] == "secret"
        assert client.put(f"{here}/env/GREETING", json={"value": "x"}).json()["kind"] == "variable"
        other = client.post("/api/v1/projects", json={"name": "Mine", "recipe": "web-hello", "kind": "worker"})
        assert other.json()["project"]["kind"] == "worker"
        unknown = client.post("/api/v1/projects", json={"name": "Mine", "recipe": "no-such-recipe"})
        assert (unknown.status_code, unknown.json()["field"]) == (400, "recipe")


def test_the_last_good_copy_of_a_recipe_stays(tmp_path: Path, database: str | None) -> None:
    catalog = written(tmp_path / "catalog", CATALOG)
    with Service(tmp_path / "data", database=database, recipes=str(catalog)) as service:
        read_again(service)
        assert slugs(service) == ["web-hello", "daily-report"]
        written(catalog, {"web-hello/main.lang": "let x be", "jobs/daily-report/lang.toml": 'name = "Report"\n'})
        read_again(service)
        items = service.client().get("/api/v1/recipes").json()["items"]
        assert [(item["slug"], item["name"]) for item in items] == [("web-hello", "Hello"), ("daily-report", "Report")]
        made = service.signed_in().post("/api/v1/projects", json={"name": "Mine", "recipe": "web-hello"})
        assert made.status_code == 200
        (catalog / "catalog.toml").write_text("[[recipe")
        read_again(service)
        assert slugs(service) == ["web-hello", "daily-report"]
        (catalog / "catalog.toml").write_text('[[recipe]]\npath = "jobs/daily-report"\n')
        read_again(service)
        assert slugs(service) == ["daily-report"]


@pytest.mark.parametrize(
    "hostile",
    [
        f"recipe = {'[' * 50_000}",
        f"recipe = {'{a=' * 50_000}",
        f"x = {'[' * 450}\n{'[' * 450}\n{'[' * 450}",
        f"{'a.' * 1_000}a = 1",  # with a hundred times as many parts it takes hours
        "[x]\n" * 20_000,
        '[[recipe]]\npath = "web-hello"\n' * 501,
    ],
)
def test_a_hostile_catalog_leaves_the_last_copy(tmp_path: Path, database: str | None, hostile: str) -> None:
    catalog = written(tmp_path / "catalog", CATALOG)
    with Service(tmp_path / "data", database=database, recipes=str(catalog)) as service:
        read_again(service)
        written(catalog, {"catalog.toml": f'[[recipe]]\npath = "web-hello"\n{hostile}\n'})
        read_again(service)
        assert slugs(service) == ["web-hello", "daily-report"]


@pytest.mark.parametrize("path", ["Web", "a_b", "..", "", "a/../web-hello", "missing", "-x"])
def test_a_recipe_that_cannot_be_is_left_out(tmp_path: Path, database: str | None, path: str) -> None:
    files = {**CATALOG, "catalog.toml": f'[[recipe]]\npath = "{path}"\n[[recipe]]\npath = "web-hello"\n'}
    with Service(tmp_path / "data", database=database, recipes=str(written(tmp_path / "catalog", files))) as service:
        read_again(service)
        assert slugs(service) == ["web-hello"]


def test_without_a_catalog_the_list_is_empty(tmp_path: Path, database: str | None) -> None:
    with Service(tmp_path / "data", database=database, recipes=str(tmp_path / "nowhere")) as service:
        assert service.client().get("/api/v1/recipes").json() == {"items": []}


def test_a_catalog_in_a_repository(tmp_path: Path, database: str | None) -> None:
    with GitServer() as git:
        git.repository("acme/recipes", {path: content.encode() for path, content in CATALOG.items()})
        with Service(
            tmp_path / "data", database=database, recipes=git.url("acme/recipes"), repo_hosts=(git.address,)
        ) as service:
            read_again(service)
            assert slugs(service) == ["web-hello", "daily-report"]
            git.instead = lambda _path: ("503 No", [("Content-Type", "text/plain")], [b""])
            read_again(service)
            assert slugs(service) == ["web-hello", "daily-report"]


def test_many_who_ask_at_once_have_it_read_once(tmp_path: Path, database: str | None) -> None:
    with GitServer() as git:
        git.repository("acme/recipes", {path: content.encode() for path, content in CATALOG.items()})
        with Service(
            tmp_path / "data", database=database, recipes=git.url("acme/recipes"), repo_hosts=(git.address,)
        ) as service:
            answers: list[httpx.Response] = []
            clients = [service.client() for _ in range(6)]
            threads = [
                threading.Thread(target=lambda client=client: answers.append(client.get("/api/v1/recipes", timeout=120)))
                for client in clients
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert [len(answer.json()["items"]) for answer in answers] == [2] * 6
            assert git.asked.count("/acme/recipes/info/refs") == 1


def test_every_bundled_recipe_makes_a_project_that_can_be_deployed(tmp_path: Path, database: str | None) -> None:
    with Service(tmp_path / "data", database=database) as service:
        listed = [path.name for path in (Path(__file__).parents[3] / "examples" / "recipes").iterdir() if path.is_dir()]
        items = service.client().get("/api/v1/recipes", timeout=300).json()["items"]
        assert sorted(item["slug"] for item in items) == sorted(listed) != []
        client = service.signed_in(plan="pro")
        for item in items:
            assert item["version"] and item["tagline"] and item["tagline_es"] and item["tagline_pt"]
            made = client.post("/api/v1/projects", json={"name": item["name"], "recipe": item["slug"]}, timeout=60)
            assert made.status_code == 200, made.text
            found = client.get(f"/api/v1/projects/{made.json()['project']['id']}").json()
            assert (found["blocked"], found["missing_secrets"]) == ("", item["secrets"]), item["slug"]


def test_the_files_of_a_recipe_are_given_to_who_has_a_token(tmp_path: Path, database: str | None) -> None:
    with Service(tmp_path / "data", database=database, recipes=str(written(tmp_path / "catalog", CATALOG))) as service:
        client = service.signed_in()
        found = client.get("/api/v1/recipes/web-hello/package").json()
        assert (found["entry"], found["kind"], [file["path"] for file in found["files"]]) == (
            "main.lang",
            "web",
            ["lang.toml", "main.lang"],
        )
        assert found["files"][1]["content"] == CATALOG["web-hello/main.lang"]
        assert client.get("/api/v1/recipes/other/package").status_code == 404
        assert service.client().get("/api/v1/recipes/web-hello/package").status_code == 401
