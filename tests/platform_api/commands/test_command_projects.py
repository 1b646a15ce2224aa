"""``lang new``, ``projects``, ``status``, ``env``, ``secrets``, ``delete`` as processes against a running service."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from platform_service import Service
from test_command_account import lang as run

from platform_api.commands.folder import remember
from platform_api.commands.main import command

Command = Callable[..., "tuple[int, str, str]"]
SOURCE = (
    'require serve(8080)\nrequire secret("API_KEY")\nrequire secret("STRIPE_*")\nserve on 8080\n'
    '    route "GET /"\n        give secret("API_KEY") == "x"\n'
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


@contextmanager
def answering(body: bytes, status: int = 200) -> Iterator[str]:
    """The address of a service that answers everything alike."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


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
    assert lang("projects") == (0, "There are no projects yet. Create one: `lang new hello`, then `lang deploy hello`.\n", "")
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
    assert lang("secrets")[1] == lang("secrets", "ls")[1]
    assert lang("secrets", "unset", "API_KEY") == (0, "API_KEY is removed. It takes effect at the next deploy.\n", "")
    code, out, err = lang("secrets")
    assert (code, out) == (0, "") and "API_KEY has no value" in err
    code, _, err = lang("secrets", "unset", "API_KEY")
    assert (code, err) == (1, "lang secrets: there is no secret 'API_KEY': `lang secrets ls` lists them\n")
    assert (lang("secrets", "unset")[0], lang("secrets", "set")[0], lang("secrets", "ls", "X")[0]) == (2, 2, 2)


def test_a_variable_is_not_removed_as_a_secret_and_a_secret_is_not_read_as_one(
    service: Service, tmp_path: Path, lang: Command
) -> None:
    project = make(service, tmp_path)
    assert lang("env", "set", "REGION=eu")[0] == 0
    assert lang("secrets", "unset", "REGION")[0] == 1 and "REGION" in lang("env")[1]
    client = service.client(_token(service))
    source = 'require env("TOKEN")\nprint(env("TOKEN"))\n'
    assert client.post(f"/api/v1/projects/{project}/deploys", json={"source": source}).status_code == 200
    code, _, err = lang("secrets", "set", "TOKEN", stdin="x\n")
    assert code == 0 and 'The program declares env("TOKEN"), which finds no secret' in err
    assert lang("secrets", "set", "OTHER", stdin="x\n")[2] == ""


def test_variables_are_set_and_removed(service: Service, tmp_path: Path, lang: Command) -> None:
    make(service, tmp_path)
    code, out, err = lang("env", "set", "REGION=eu", "MODE=a=b")
    assert code == 0 and [line.split() for line in out.splitlines()][1:] == [
        ["MODE", "variable", "a=b"],
        ["REGION", "variable", "eu"],
    ]
    assert "lang deploy" in err, "what is stored differs from what runs"
    code, _, err = lang("env", "set", "STRIPE_KEY=sk")
    assert code == 1 and "lang secrets set STRIPE_KEY" in err, "a line of the program says that it is a secret"
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
        and {path.name for path in folder.iterdir()} == {"main.lang", "lang.toml", "AGENTS.md", ".gitignore"}
        and """`lang test 'my "shop"'` tests it, `lang deploy 'my "shop"'` deploys it.""" in out
    )
    code, out, err = run_in(folder, "test", "main.lang")
    assert code == 0 and "1 passed" in out + err, (out, err)
    assert run_in(folder, "check", "main.lang")[0] == 0
    code, _, err = lang("new", 'my "shop"')
    assert code == 1 and "exists already" in err


def test_a_new_folder_begins_with_a_recipe(tmp_path: Path, lang: Command) -> None:
    code, out, err = lang("new", "page", "--recipe", "status-page")
    assert code == 0 and "main.lang" in out, err
    assert run_in(tmp_path / "home" / "page", "check", "main.lang")[0] == 0
    code, _, err = lang("new", "other", "--recipe", "no-such")
    first, *listed = err.splitlines()
    assert (code, first) == (1, "lang new: there is no recipe 'no-such'; these are there:")
    assert any(line.startswith("  daily-report: Reads your sales") for line in listed) and len(listed) > 10


@pytest.mark.parametrize(
    "path", ["../x", "/x", "a\\x", "C:x", ".git/config", "a/.GIT/hooks/x", "git~1/config", ".git\u200c/x", ".git ./x"]
)
def test_a_recipe_writes_into_its_folder_and_nothing_that_git_obeys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """A service is a stranger too: a repository in a folder starts what its configuration names."""
    answer = {
        "files": [{"path": "main.lang", "content": "", "encoding": "utf8"}, {"path": path, "content": "x", "encoding": "utf8"}]
    }
    with answering(json.dumps(answer).encode()) as url:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("PLATFORM_TOKEN", "lp_x")
        assert command("new", ["folder", "--recipe", "shop", "--url", url]) == 1
    assert list(tmp_path.iterdir()) == []


def test_nothing_that_a_service_says_acts_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In any field, in errors, and with --json: CSI as ESC [ and as one byte, and what turns the direction of writing."""
    evil = "\x1b]0;title\x07\x9b2J\u202e\u2066\x7f"
    deploys = [{"number": 1, "status": evil, "created_at": evil, "error": evil}]
    facts = {
        "id": evil,
        "name": evil,
        "slug": evil,
        "kind": evil,
        "status": evil,
        "status_reason": evil,
        "url": evil,
        "schedule": evil,
    }
    project = {"project": facts, "ceiling": {"text": evil}, "blocked": evil, "missing_secrets": [evil], "deploys": deploys}
    refusal = {
        "error": evil,
        "status": 500,
        "code": "internal",
        "details": {"errors": [dict.fromkeys(("path", "line", "column", "message", "help"), evil)]},
    }
    monkeypatch.setenv("PLATFORM_TOKEN", "lp_x")
    for answer, status in ((project, 200), (refusal, 500)):
        with answering(json.dumps(answer).encode(), status) as url:
            for more in ([], ["--json"]):
                assert command("status", ["--project", "prj_1", "--url", url, *more]) == (0 if status == 200 else 1)
                shown = capsys.readouterr()
                assert "title" in shown.out + shown.err
                assert not set(evil) - set("]0;title2J") & set(shown.out + shown.err)
                if more:
                    assert json.loads(shown.out) == answer


def run_in(folder: Path, *words: str) -> tuple[int, str, str]:
    done = run(folder, *words)
    return done.returncode, done.stdout, done.stderr
