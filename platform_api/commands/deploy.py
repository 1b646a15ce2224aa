"""``lang deploy``: uploads a folder or a file and waits until the deploy is live."""

from __future__ import annotations

import argparse
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from platform_api.commands.arguments import parser, read
from platform_api.commands.client import Client, client, segment
from platform_api.commands.failure import Failure
from platform_api.commands.folder import packed, project_of, remember, remembered
from platform_api.commands.output import coloured, note, out, plain, show_json, status
from platform_api.commands.problem_lines import problem_lines
from platform_api.commands.rehearsal import rehearse
from platform_api.commands.shapes import PROJECT, Maybe, Number

#: Seconds between two looks at a deploy that is on its way.
_POLL_SECONDS = 0.4
#: A deploy that is on its way for longer goes on without the command: its runner is away, or its queue is long.
_LONGEST_SECONDS = 30 * 60
_DEPLOY = {"id": str, "number": Number(0, 2**63), "status": str, "error": Maybe(str)}
_ANSWER = {
    "deploy": _DEPLOY,
    "ceiling": {"text": str, "denied_by_plan": [{"capability": str, "reason": str}]},
    "missing_secrets": [str],
    "url": Maybe(str),
}
_KINDS = ("web", "worker", "job")
_ENDED = {"live", "failed", "superseded", "cancelled"}
_ON_ITS_WAY = {"queued", "starting"}


def deploy(words: Sequence[str]) -> int:
    """Deploys a folder or a file. The first deploy creates the project."""
    made = parser(
        "deploy", "Deploys a folder or one program file and waits until it is live. The first deploy creates the project."
    )
    made.add_argument(
        "place", nargs="?", default=".", metavar="FOLDER|FILE", help="what to deploy (default: the current folder)"
    )
    made.add_argument(
        "--project", metavar="ID", help="id, slug or name of the project (default: the one to which this folder was deployed)"
    )
    made.add_argument("--name", help="name of a new project (default: that of lang.toml, else that of the folder)")
    made.add_argument("--kind", choices=_KINDS, help="kind of a new project (default: that of lang.toml)")
    made.add_argument("--no-wait", action="store_true", help="return without waiting until it is live")
    made.add_argument(
        "--rehearse",
        action="store_true",
        help="do not deploy: start the program once without capabilities, and list those it tries to use",
    )
    arguments = read(made, words)
    service = client(arguments.url)
    place = Path(arguments.place)
    files = packed(place)
    folder, file = (place, None) if place.is_dir() else (place.parent, place.name)
    project = project_of(service, arguments.project) if arguments.project else _known(service, folder, file)
    body: dict[str, Any] = {"files": files} | ({"entry": place.name} if place.is_file() else {})
    if project is None:
        created = _create(service, arguments, place, body)
        project, body = str(created["project"]["id"]), {}
        remember(folder, service.url, project, file)
        if not arguments.json:
            out(f"Project {plain(created['project']['name'])} ({plain(created['project']['slug'])}) is created.")
            why = created.get("slug_note")  # a service of an earlier version does not say it
            if isinstance(why, str) and why:
                out(plain(why))
    else:
        _agrees(service, arguments, place, project)
    if arguments.rehearse:
        remember(folder, service.url, project, file)
        return rehearse(service, project, body, as_json=arguments.json, wait=not arguments.no_wait)
    answer = service.call("POST", f"/projects/{segment(project)}/deploys", body, gives=_ANSWER)
    remember(folder, service.url, project, file)
    if arguments.json:
        show_json(answer)
    else:
        _announce(answer)
    if arguments.no_wait:
        return 0
    return _follow(service, project, answer, arguments.json)


def _known(service: Client, folder: Path, file: str | None) -> str | None:
    """The project to which this folder or this file was deployed, unless that was deleted.

    A file whose project is not stored belongs to the project of its folder if that one begins with it: another file must not
    replace it.
    """
    if found := _kept(service, folder, file):
        return str(found["id"])
    if file is not None and (found := _kept(service, folder, None)) and found.get("entry") == file:
        return str(found["id"])
    return None


def _kept(service: Client, folder: Path, file: str | None) -> dict[str, Any] | None:
    """The stored project of a folder or a file as the service has it. One that was deleted is forgotten."""
    project = remembered(folder, service.url, file)
    if project is None:
        return None
    try:
        found: dict[str, Any] = service.call("GET", f"/projects/{segment(project)}", gives={"project": PROJECT})["project"]
    except Failure as failure:
        if failure.answer.get("code") != "not_found":
            raise
        remember(folder, service.url, None, file)
        return None
    return found


def _agrees(service: Client, arguments: argparse.Namespace, place: Path, project: str) -> None:
    """Refuses flags that are for a new project and say something else than the one that is there."""
    declared = _manifest(place).get("kind")
    if not (arguments.name or arguments.kind or declared):
        return
    found = service.call("GET", f"/projects/{segment(project)}", gives={"project": PROJECT})["project"]
    name, kind = plain(found["name"]), plain(found["kind"])
    if arguments.name and arguments.name not in (found["name"], found["slug"]):
        raise Failure(f"this was deployed as {name!r}, and --name is for a new project: leave it out to deploy to {name!r}")
    anew = f"a project keeps its kind. `lang delete --project {plain(found['slug'])}`, then `lang deploy` creates it anew"
    if arguments.kind and arguments.kind != found["kind"]:
        raise Failure(f"{name!r} is a {kind} project, not a {arguments.kind} project: {anew}")
    if not arguments.kind and isinstance(declared, str) and declared in _KINDS and declared != found["kind"]:
        note(coloured(f"lang.toml says {declared}, {name!r} is a {kind} project: {anew}.", "wait"))


def _create(service: Client, arguments: argparse.Namespace, place: Path, body: dict[str, Any]) -> dict[str, Any]:
    name = arguments.name or _name(place)
    body = body | {"name": name} | ({"kind": arguments.kind} if arguments.kind else {})
    return service.call("POST", "/projects", body, gives={"project": PROJECT})


def _name(place: Path) -> str:
    if place.is_file():
        return place.resolve().stem
    name = _manifest(place).get("name")
    return name if isinstance(name, str) and name else place.resolve().name or "project"


def _manifest(place: Path) -> dict[str, Any]:
    """What the lang.toml of a folder says; nothing if it cannot be read, because the service says what is wrong with it."""
    try:
        with (place / "lang.toml").open("rb") as file:
            return tomllib.load(file)
    except (OSError, ValueError):
        return {}


def _announce(answer: dict[str, Any]) -> None:
    deploy = answer["deploy"]
    out(f"Deploy {deploy['number']} is {status(deploy['status'])}. Its ceiling: {plain(answer['ceiling']['text'])}")
    for denied in answer["ceiling"]["denied_by_plan"]:
        note(coloured(f"The plan does not allow {plain(denied['capability'])}: {plain(denied['reason'])}", "wait"))
    if missing := answer["missing_secrets"]:
        names = ", ".join(map(plain, missing))
        note(coloured(f"Secrets without a value: {names}. Set one with `lang secrets set {plain(missing[0])}`.", "wait"))
    for line in problem_lines(answer.get("problems")):  # an older service has none
        note(line)


def _follow(service: Client, project: str, answer: dict[str, Any], as_json: bool) -> int:
    deploy = answer["deploy"]
    seen = deploy["status"]
    end = time.monotonic() + _LONGEST_SECONDS
    while deploy["status"] not in _ENDED:
        if deploy["status"] == "needs_review":
            if not as_json:
                out("It has more capabilities than the live version: a person must confirm it in the dashboard.")
            return 0
        if deploy["status"] not in _ON_ITS_WAY:
            raise Failure(
                f"deploy {deploy['number']} is {plain(deploy['status'])}, a status that this version of lang does not know: "
                f"look at it in the dashboard of {service.url}, and install a newer lang"
            )
        if time.monotonic() > end:
            raise Failure(
                f"deploy {deploy['number']} is still {deploy['status']} after {_LONGEST_SECONDS // 60} minutes. It continues "
                "without this command: `lang status` shows its state"
            )
        time.sleep(_POLL_SECONDS)
        path = f"/projects/{segment(project)}/deploys/{segment(deploy['id'])}"
        found = service.call("GET", path, gives={"deploy": _DEPLOY})
        deploy = found["deploy"]
        if deploy["status"] != seen:
            seen = deploy["status"]
            show_json(found) if as_json else out(f"Deploy {deploy['number']} is {status(seen)}.")
    if deploy["status"] != "live":
        reason = deploy["error"] or {"superseded": "a newer deploy replaced it", "cancelled": "it was stopped"}.get(seen, seen)
        first, *more = reason.split("\n")
        raise Failure(f"deploy {deploy['number']} {seen}: {first}", more=more)
    if as_json:
        return 0
    if answer["url"]:
        out(f"It runs at {coloured(plain(answer['url']), 'bold')}")
        return 0
    found = service.call("GET", f"/projects/{segment(project)}", gives={"project": PROJECT})["project"]
    if found["kind"] == "job":
        on = f"--project {plain(found['slug'])}"
        out(f"Run it with `lang run --remote {on}`, or set times at which it runs with `lang schedule {on} CRON`.")
    return 0
