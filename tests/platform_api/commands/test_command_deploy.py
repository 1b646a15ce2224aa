"""``lang deploy`` and what looks after what was deployed, as processes, with a service and a runner."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from deploying import JOB, WEB, runner_of, until
from fake_runner import FakeRunner
from platform_service import Service
from test_command_account import environment
from test_command_account import lang as run

Command = Callable[..., "subprocess.CompletedProcess[str]"]
GATE = WEB + '    route "GET /gate"\n        give ok(approve "Ship it?" within 1h)\n'


@pytest.fixture
def runner(service: Service) -> Iterator[FakeRunner]:
    """A runner that works by itself."""
    with runner_of(service) as made:
        made.start()
        yield made


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def surroundings(service: Service) -> dict[str, str]:
    return {"PLATFORM_URL": service.url, "PLATFORM_TOKEN": service.token(service.account())}


@pytest.fixture
def lang(home: Path, surroundings: dict[str, str]) -> Command:
    def command(*words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return run(home, *words, stdin=stdin, **surroundings)

    return command


def test_a_new_folder_is_all_that_a_first_deploy_needs(
    home: Path, lang: Command, runner: FakeRunner, surroundings: dict[str, str]
) -> None:
    assert lang("new", "hello").returncode == 0
    deployed = lang("deploy", "hello")
    assert deployed.returncode == 0 and "Project hello (hello) is created." in deployed.stdout, deployed.stderr
    package = json.loads(run(home / "hello", "status", "--json", **surroundings).stdout)["package"]
    assert [file["path"] for file in package["files"]] == [".gitignore", "AGENTS.md", "lang.toml", "main.lang"]


def test_a_file_is_deployed_until_it_is_live(home: Path, lang: Command, runner: FakeRunner) -> None:
    (home / "shop.lang").write_text(WEB)
    first = lang("deploy", "shop.lang")
    assert first.returncode == 0, first.stderr
    assert "Project shop (shop) is created." in first.stdout and "Deploy 1 is live." in first.stdout
    assert "serve=8080" in first.stdout and "It runs at http" in first.stdout
    second = lang("deploy", "shop.lang", "--json")
    answers = [json.loads(line) for line in second.stdout.splitlines()]
    assert second.returncode == 0 and answers[0]["deploy"]["number"] == 2 and answers[-1]["deploy"]["status"] == "live"
    assert len(json.loads(lang("projects", "--json").stdout)["items"]) == 1, "the folder remembers its project"
    assert "is running" in lang("status").stdout
    stopped = lang("stop")
    assert stopped.returncode == 0 and "stopping" in stopped.stdout


def test_what_goes_wrong_is_told_with_its_place(home: Path, lang: Command, runner: FakeRunner) -> None:
    (home / "app.lang").write_text("let x be\n")
    wrong = lang("deploy", "app.lang")
    assert (wrong.returncode, wrong.stdout) == (1, "") and "app.lang:1" in wrong.stderr
    (home / "app.lang").write_text(WEB + 'raise "no"\n')
    crashed = lang("deploy", "app.lang")
    assert crashed.returncode == 1
    assert crashed.stderr == "lang deploy: deploy 1 failed: The program ended with exit code 1.\n  Runtime error: boom\n"
    status = lang("status").stdout
    assert "  reason: The program ended with exit code 1.\n    Runtime error: boom\n" in status and "\\n" not in status


def test_a_slug_that_is_not_the_name_has_its_reason(home: Path, lang: Command, runner: FakeRunner) -> None:
    (home / "app.lang").write_text(WEB)
    made = lang("deploy", "app.lang").stdout.splitlines()
    assert made[:2] == [
        "Project app (app-2) is created.", "Its slug is app-2, because the platform keeps app for itself.",
    ]  # fmt: skip


def test_another_file_of_a_folder_is_another_project(home: Path, lang: Command, runner: FakeRunner) -> None:
    (home / "shop.lang").write_text(WEB)
    (home / "count.lang").write_text(JOB)
    assert "Project shop (shop) is created." in lang("deploy", "shop.lang").stdout
    other = lang("deploy", "count.lang", "--kind", "job")
    assert other.returncode == 0 and "Project count (count) is created." in other.stdout, other.stderr
    assert "Deploy 2 is live." in lang("deploy", "shop.lang").stdout
    assert "Deploy 2 is live." in lang("deploy", "count.lang").stdout
    both = lang("status")
    assert (both.returncode, both.stdout) == (1, "")
    assert (
        both.stderr == "lang status: count.lang, shop.lang of this folder are projects of their own: name one with --project\n"
    )
    assert "shop (shop, web) is" in lang("status", "--project", "shop").stdout


def test_a_file_whose_project_an_older_version_stored_keeps_it(home: Path, lang: Command, runner: FakeRunner) -> None:
    (home / "shop.lang").write_text(WEB)
    (home / "other.lang").write_text(WEB)
    assert lang("deploy", "shop.lang").returncode == 0
    stored = home / ".lang" / "project.json"
    stored.write_text(stored.read_text().replace("#shop.lang", ""))
    assert "Deploy 2 is live." in lang("deploy", "shop.lang").stdout
    assert "Project other (other) is created." in lang("deploy", "other.lang").stdout


def test_flags_of_a_new_project_are_not_ignored_for_an_old_one(home: Path, lang: Command, runner: FakeRunner) -> None:
    folder = home / "shop"
    folder.mkdir()
    (folder / "main.lang").write_text(WEB)
    assert lang("deploy", "shop", "--kind", "web", "--name", "Shop").returncode == 0
    assert lang("deploy", "shop", "--kind", "web", "--name", "Shop").returncode == 0
    kind = lang("deploy", "shop", "--kind", "job")
    assert kind.returncode == 1 and "'Shop' is a web project, not a job project: a project keeps its kind." in kind.stderr
    name = lang("deploy", "shop", "--name", "Other")
    assert name.returncode == 1 and "this was deployed as 'Shop', and --name is for a new project" in name.stderr
    (folder / "lang.toml").write_text('kind = "job"\n')
    declared = lang("deploy", "shop")
    assert declared.returncode == 0 and "lang.toml says job, 'Shop' is a web project" in declared.stderr


def test_logs_are_shown_and_followed(home: Path, lang: Command, runner: FakeRunner, surroundings: dict[str, str]) -> None:
    (home / "app.lang").write_text(WEB + 'print("started")\n')
    assert lang("deploy", "app.lang").returncode == 0
    until(lambda: "started" in lang("logs").stdout)
    command = [sys.executable, "-m", "language", "logs", "-f"]
    following = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=home, env=environment(home, **surroundings)
    )
    assert following.stdout is not None
    watchdog = threading.Timer(60, following.kill)
    watchdog.start()
    try:
        assert any("started" in line for line in following.stdout)
        following.send_signal(signal.SIGINT)
        assert following.wait(30) == 130
    finally:
        watchdog.cancel()
        following.kill()
        following.communicate()


def test_gates_are_listed_and_decided(home: Path, lang: Command, runner: FakeRunner) -> None:
    (home / "app.lang").write_text(GATE)
    assert lang("deploy", "app.lang").returncode == 0
    [gate] = until(lambda: json.loads(lang("approvals", "--json").stdout)["items"])
    shown = lang("approvals").stdout
    assert gate["id"] in shown and "Ship it?" in shown
    assert lang("approvals", "answer", gate["id"], "yes").returncode == 1
    decided = lang("approvals", "approve", gate["id"])
    assert (decided.returncode, decided.stdout) == (0, "It is approved.\n")
    late = lang("approvals", "deny", gate["id"])
    assert late.returncode == 1 and late.stderr.startswith("lang approvals: ")
    assert "Nothing waits" in lang("approvals").stdout


def test_a_job_runs_and_its_exit_code_is_the_commands(home: Path, lang: Command, runner: FakeRunner) -> None:
    (home / "job.lang").write_text(JOB)
    made = lang("deploy", "job.lang", "--kind", "job")
    assert made.returncode == 0 and made.stdout.splitlines()[-1] == (
        "Run it with `lang run --remote --project job`, or set times at which it runs with `lang schedule --project job CRON`."
    )
    ran = lang("run", "--remote", "--project", "job")
    assert ran.returncode == 0 and "counting" in ran.stdout
    (home / "job.lang").write_text(JOB + "exit(3)\n")
    assert lang("deploy", "job.lang").returncode == 0
    failed = lang("run", "--remote")
    assert failed.returncode == 3 and "exit code 3" in failed.stderr
    again = lang("run", "--remote", "--json")
    shown = json.loads(again.stdout)
    assert again.returncode == shown["exit_code"] == 3 and shown["run"].items() <= shown.items()
    assert lang("schedule").stdout == "It runs only when asked.\n"
    every = lang("schedule", "30 6 * * *")
    assert every.returncode == 0 and every.stdout.startswith("At 06:30 UTC; next ")
    listed = json.loads(lang("schedule", "--json").stdout)
    assert listed["schedule"] == "30 6 * * *" and listed["items"], "what the service answers"
    assert lang("schedule").stdout == f"30 6 * * *\n{every.stdout}", "with what it means and the next time, as when it was set"
    wrong = lang("schedule", "61 * * * *")
    assert wrong.returncode == 1 and "61" in wrong.stderr
    cleared = lang("schedule", "")
    assert (cleared.returncode, cleared.stdout) == (0, "It runs only when asked.\n")


def test_a_deleted_project_is_made_anew(home: Path, lang: Command, runner: FakeRunner) -> None:
    (home / "app.lang").write_text(WEB)
    assert lang("deploy", "app.lang").returncode == 0
    deleted = json.loads(lang("delete", "--yes", "--json").stdout)
    assert deleted == {"ok": True, "status": "deleting"}
    until(lambda: not json.loads(lang("projects", "--json").stdout)["items"])
    again = lang("deploy", "app.lang")
    assert again.returncode == 0 and "is created." in again.stdout
