"""``lang projects``, ``status``, ``stop``, ``delete``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from platform_api.commands.arguments import of_project, parser, read
from platform_api.commands.client import client, segment
from platform_api.commands.failure import Failure
from platform_api.commands.folder import project_of
from platform_api.commands.output import coloured, out, plain, show_json, status, table
from platform_api.commands.shapes import PROJECT, Maybe, Number


def projects(words: Sequence[str]) -> int:
    """Lists the projects of the account."""
    arguments = read(parser("projects", "Lists the projects of the account."), words)
    answer = client(arguments.url).call("GET", "/projects", gives={"items": [PROJECT | {"url": Maybe(str)}]}, limit=500)
    if arguments.json:
        show_json(answer)
    elif answer["items"]:
        table(
            ("NAME", "SLUG", "KIND", "STATUS", "URL"),
            [(item["name"], item["slug"], item["kind"], item["status"], item["url"] or "") for item in answer["items"]],
        )
    else:
        out("There are no projects yet. Create one: `lang new hello`, then `lang deploy hello`.")
    return 0


def project_status(words: Sequence[str]) -> int:
    """Shows a project, its deploys and its missing secrets."""
    arguments = read(
        of_project(parser("status", "Shows a project: its status, its deploys, and secrets without a value.")), words
    )
    service = client(arguments.url)
    gives = {
        "project": PROJECT | {"status_reason": Maybe(str), "url": Maybe(str), "schedule": str},
        "ceiling": {"text": str},
        "blocked": str,
        "missing_secrets": [str],
        "deploys": [{"number": Number(0, 2**63), "status": str, "created_at": Maybe(str), "error": Maybe(str)}],
    }
    answer = service.call("GET", f"/projects/{segment(project_of(service, arguments.project))}", gives=gives)
    if arguments.json:
        show_json(answer)
        return 0
    project = answer["project"]
    what = f"({plain(project['slug'])}, {plain(project['kind'])})"
    out(f"{coloured(plain(project['name']), 'bold')} {what} is {status(project['status'])}")
    facts = [
        ("reason", project["status_reason"]),
        ("url", project["url"]),
        ("schedule", project["schedule"]),
        ("ceiling", answer["ceiling"]["text"]),
        ("blocked", answer["blocked"]),
        ("missing secrets", ", ".join(answer["missing_secrets"])),
    ]
    for name, value in facts:
        if value:
            first, *more = value.split("\n")
            out(f"  {name}: {plain(first)}")
            for line in more:
                out(f"    {plain(line)}".rstrip())
    if answer["deploys"]:
        out()
        table(
            ("DEPLOY", "STATUS", "ASKED FOR", "ERROR"),
            [
                (item["number"], item["status"], item["created_at"], (item["error"] or "").partition("\n")[0])
                for item in answer["deploys"]
            ],
        )
    return 0


def stop(words: Sequence[str]) -> int:
    """Stops a project. Its files, volume and secrets are kept."""
    made = of_project(parser("stop", "Stops a project. Its files, volume and secrets are kept; `lang deploy` starts it again."))
    arguments = read(made, words)
    service = client(arguments.url)
    answer = service.call("POST", f"/projects/{segment(project_of(service, arguments.project))}/stop", gives={"status": str})
    show_json(answer) if arguments.json else out(f"It is {status(answer['status'])}.")
    return 0


def delete(words: Sequence[str]) -> int:
    """Deletes a project with its volume, after its name was typed as a confirmation."""
    made = of_project(parser("delete", "Deletes a project with its volume, its secrets and its logs."))
    made.add_argument("--yes", action="store_true", help="delete without asking for confirmation")
    arguments = read(made, words)
    service = client(arguments.url)
    place = f"/projects/{segment(project_of(service, arguments.project))}"
    project = service.call("GET", place, gives={"project": PROJECT})["project"]
    if not arguments.yes:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise Failure("without a terminal `lang delete` needs --yes")
        sys.stderr.write(
            f"This deletes {plain(project['name'])} with its volume, its secrets and its logs. Type its name to confirm: "
        )
        sys.stderr.flush()
        if sys.stdin.readline().rstrip("\n") != project["name"]:
            raise Failure("that is not the name of the project: nothing was deleted")
    answer = service.call("DELETE", f"/projects/{segment(project['id'])}", gives={"status": str})
    show_json(answer) if arguments.json else out(f"{plain(project['name'])} is {status(answer['status'])}.")
    return 0
