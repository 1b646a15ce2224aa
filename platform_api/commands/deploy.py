"""``lang deploy``: sends a folder or a file and follows it until it is live."""

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
from platform_api.commands.shapes import PROJECT, Maybe, Number

#: Seconds between two looks at a deploy that is on its way.
_POLL_SECONDS = 0.4
_DEPLOY = {"id": str, "number": Number(0, 2**63), "status": str, "error": Maybe(str)}
_ANSWER = {
    "deploy": _DEPLOY,
    "ceiling": {"text": str, "denied_by_plan": [{"capability": str, "reason": str}]},
    "missing_secrets": [str],
    "url": Maybe(str),
}
_ENDED = {"live", "failed", "superseded", "cancelled"}


def deploy(words: Sequence[str]) -> int:
    """Deploys the folder or file; makes the project at the first time."""
    made = parser(
        "deploy", "Sends a folder or one program file, makes the project at the first time, and waits until it is live."
    )
    made.add_argument("place", nargs="?", default=".", metavar="FOLDER|FILE", help="what to deploy (default: this folder)")
    made.add_argument("--project", metavar="ID", help="deploy to this project instead of the one of the folder")
    made.add_argument("--name", help="name of the project that is made at the first time")
    made.add_argument("--kind", choices=["web", "worker", "job"], help="kind of the project that is made at the first time")
    made.add_argument("--no-wait", action="store_true", help="do not wait until it is live")
    arguments = read(made, words)
    service = client(arguments.url)
    place = Path(arguments.place)
    files = packed(place)
    folder = place if place.is_dir() else place.parent
    project = project_of(service, arguments.project) if arguments.project else _known(service, folder)
    body: dict[str, Any] = {"files": files} | ({"entry": place.name} if place.is_file() else {})
    if project is None:
        created = _create(service, arguments, place, body)
        project, body = str(created["project"]["id"]), {}
        remember(folder, service.url, project)
        if not arguments.json:
            out(f"Project {plain(created['project']['name'])} ({plain(created['project']['slug'])}) is made.")
    answer = service.call("POST", f"/projects/{segment(project)}/deploys", body, gives=_ANSWER)
    remember(folder, service.url, project)
    if arguments.json:
        show_json(answer)
    else:
        _announce(answer)
    if arguments.no_wait:
        return 0
    return _follow(service, project, answer, arguments.json)


def _known(service: Client, folder: Path) -> str | None:
    """The project of this folder, unless it has been deleted since."""
    project = remembered(folder, service.url)
    if project is None:
        return None
    try:
        service.call("GET", f"/projects/{segment(project)}")
    except Failure as failure:
        if failure.answer.get("code") != "not_found":
            raise
        remember(folder, service.url, None)
        return None
    return project


def _create(service: Client, arguments: argparse.Namespace, place: Path, body: dict[str, Any]) -> dict[str, Any]:
    name = arguments.name or _name(place)
    body = body | {"name": name} | ({"kind": arguments.kind} if arguments.kind else {})
    return service.call("POST", "/projects", body, gives={"project": PROJECT})


def _name(place: Path) -> str:
    if place.is_file():
        return place.resolve().stem
    try:
        with (place / "lang.toml").open("rb") as file:
            name = tomllib.load(file).get("name")
    except (OSError, tomllib.TOMLDecodeError):
        name = None  # the service says what is wrong with it
    return name if isinstance(name, str) and name else place.resolve().name or "project"


def _announce(answer: dict[str, Any]) -> None:
    deploy = answer["deploy"]
    out(f"Deploy {deploy['number']} is {status(deploy['status'])}. Its ceiling: {plain(answer['ceiling']['text'])}")
    for denied in answer["ceiling"]["denied_by_plan"]:
        note(coloured(f"Above the plan: {plain(denied['capability'])}: {plain(denied['reason'])}", "wait"))
    if missing := answer["missing_secrets"]:
        names = ", ".join(map(plain, missing))
        note(coloured(f"Secrets without a value: {names}. Set one with `lang secrets set {plain(missing[0])}`.", "wait"))


def _follow(service: Client, project: str, answer: dict[str, Any], as_json: bool) -> int:
    deploy = answer["deploy"]
    seen = deploy["status"]
    while deploy["status"] not in _ENDED:
        if deploy["status"] == "needs_review":
            if not as_json:
                out("It can do more than the live version: a person confirms it in the dashboard.")
            return 0
        time.sleep(_POLL_SECONDS)
        path = f"/projects/{segment(project)}/deploys/{segment(deploy['id'])}"
        found = service.call("GET", path, gives={"deploy": _DEPLOY})
        deploy = found["deploy"]
        if deploy["status"] != seen:
            seen = deploy["status"]
            show_json(found) if as_json else out(f"Deploy {deploy['number']} is {status(seen)}.")
    if deploy["status"] != "live":
        reason = deploy["error"] or {"superseded": "a newer deploy took its place", "cancelled": "it was stopped"}.get(
            seen, seen
        )
        raise Failure(f"deploy {deploy['number']} {seen}: {plain(reason)}")
    if answer["url"] and not as_json:
        out(f"It answers at {coloured(plain(answer['url']), 'bold')}")
    return 0
