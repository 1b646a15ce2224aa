"""``lang new``, ``projects``, ``status``, ``env``, ``secrets``, ``delete`` as processes against a running service."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from platform_service import Service
from test_command_account import lang as run

from platform_api.commands.folder import remember

Command = Callable[..., "tuple[int, str, str]"]
SOURCE = (
    'require serve(8080)\nrequire secret("API_KEY")\nserve on 8080\n    route "GET /"\n        give secret("API_KEY") == "x"\n'
)


@pytest.fixture
def lang(service: Service, tmp_path: Path) -> Command:
    home = tmp_path / "home"
    home.mkdir()
    token = service.token(service.account())

    def command(*words: str, stdin: str = "") -> tuple[int, str, str]:
        done = run(home, *words, stdin=stdin, PLATFORM_URL=service.url, PLATFORM_TOKEN=token)
        return done.returncode, done.stdout, done.stderr

    return command


def make(service: Service, tmp_path: Path, name: str = "Shop") -> str:
    """Makes a project of the account of ``lang``, which the folder of the commands remembers."""
    account = service.client(_token(service))
    answer = account.post("/api/v1/projects", json={"name": name, "source": SOURCE})
    assert answer.status_code == 200, answer.text
    project = str(answer.json()["project"]["id"])
    remember(tmp_path / "home", service.url, project)
    return project


def _token(service: Service) -> str:
    from platform_api.accounts.records import find_account

    with service.platform.store.main.reading() as connection:
        found = find_account(connection, "owner@example.com")
    assert found is not None
    return service.token(str(found.id))


def test_projects_are_listed_and_found_by_slug_and_name(service: Service, tmp_path: Path, lang: Command) -> None:
    assert lang("projects") == (0, "No projects yet: `lang new hello`, then `lang deploy hello`.\n", "")
    project = make(service, tmp_path, "My shop")
    code, out, err = lang("projects")
    assert (code, err) == (0, "") and [line.split() for line in out.splitlines()][1][:2] == ["My", "shop"]
    assert json.loads(lang("projects", "--json")[1])["items"][0]["id"] == project
    for given in (project, "my-shop", "My shop"):
        assert json.loads(lang("status", "--project", given, "--json")[1])["project"]["id"] == project
    code, out, _ = lang("status")
    assert code == 0 and "is created" in out and "missing secrets: API_KEY" in out
    code, out, err = lang("status", "--project", "nothing")
    assert (code, out) == (1, "") and "lang projects" in err


def test_secrets_are_read_from_standard_input_and_never_shown(service: Service, tmp_path: Path, lang: Command) -> None:
    make(service, tmp_path)
    code, out, err = lang("secrets", "ls")
    assert (code, out) == (0, "") and "API_KEY has no value" in err
    assert lang("secrets", "set", "API_KEY", stdin="hunter22\n")[0] == 0
    shown = lang("secrets", "ls")[1] + lang("env", "ls")[1] + lang("env", "ls", "--json")[1]
    assert "API_KEY" in shown and "hunter22" not in shown
    assert lang("secrets", "set", "API_KEY=hunter22")[0] == 2
    assert lang("secrets", "set", "API_KEY", stdin="")[0] == 1
    code, _, err = lang("env", "set", "API_KEY=plain")
    assert code == 1 and "lang secrets set API_KEY" in err


def test_variables_are_set_and_removed(service: Service, tmp_path: Path, lang: Command) -> None:
    make(service, tmp_path)
    code, out, err = lang("env", "set", "REGION=eu", "MODE=a=b")
    assert code == 0 and [line.split() for line in out.splitlines()][1:] == [
        ["MODE", "variable", "a=b"],
        ["REGION", "variable", "eu"],
    ]
    assert "lang deploy" in err, "what is stored differs from what runs"
    assert lang("env", "unset", "MODE")[0] == 0
    code, _, err = lang("env", "unset", "MODE")
    assert code == 1 and err.startswith("lang env: ")
    for words in (("set", "REGION"), ("set", "=x"), ("set",), ("ls", "x"), ("unset",)):
        assert lang("env", *words)[0] == 2, words


def test_deleting_asks_for_the_name(service: Service, tmp_path: Path, lang: Command) -> None:
    make(service, tmp_path)
    code, _, err = lang("delete", stdin="Shop\n")
    assert code == 1 and "--yes" in err, "nobody is at a terminal"
    assert lang("status")[0] == 0
    code, out, _ = lang("delete", "--yes", "--json")
    assert code == 0 and json.loads(out) == {"ok": True, "status": "deleted"}
    assert lang("status")[0] == 1


def test_a_new_folder_is_a_program_that_passes_its_test(tmp_path: Path, lang: Command) -> None:
    code, out, _ = lang("new", 'my "shop"')
    folder = tmp_path / "home" / 'my "shop"'
    assert (
        code == 0
        and {path.name for path in folder.iterdir()} == {"main.lang", "lang.toml", ".gitignore"}
        and "lang deploy" in out
    )
    code, out, err = run_in(folder, "test", "main.lang")
    assert code == 0 and "1 passed" in out + err, (out, err)
    assert run_in(folder, "check", "main.lang")[0] == 0
    code, _, err = lang("new", 'my "shop"')
    assert code == 1 and "is there already" in err


def run_in(folder: Path, *words: str) -> tuple[int, str, str]:
    done = run(folder, *words)
    return done.returncode, done.stdout, done.stderr
