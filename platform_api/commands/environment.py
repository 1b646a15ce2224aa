"""``lang env`` and ``lang secrets``."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Sequence
from fnmatch import fnmatchcase

from platform_api.commands.arguments import of_project, parser, read
from platform_api.commands.client import Client, client, segment
from platform_api.commands.failure import Failure
from platform_api.commands.folder import project_of
from platform_api.commands.output import coloured, note, out, plain, show_json, table
from platform_api.commands.shapes import Maybe

_ENV = {
    "items": [{"name": str, "kind": str, "value": Maybe(str), "fingerprint": Maybe(str)}],
    "missing": [str],
    "needs_redeploy": bool,
}
_CEILING = {"ceiling": {"items": [{"capability": str, "scope": Maybe(str)}]}}
_SECRETS = {"items": [{"name": str, "fingerprint": Maybe(str), "created_at": Maybe(str)}], "missing": [str]}


def env(words: Sequence[str]) -> int:
    """Lists, sets and removes variables."""
    made = of_project(
        parser("env", "Lists, sets and removes the variables of a project. Changes take effect at the next deploy.")
    )
    made.add_argument(
        "action",
        nargs="?",
        default="ls",
        choices=["ls", "set", "unset"],
        help="list them (the default), set some or remove some",
    )
    made.add_argument("items", nargs="*", metavar="NAME[=VALUE]", help="NAME=VALUE for set, NAME for unset")
    arguments = read(made, words)
    if (arguments.action == "ls") == bool(arguments.items):
        made.error("ls takes no names" if arguments.items else f"{arguments.action} needs a name")
    pairs = [item.partition("=") for item in arguments.items]
    if arguments.action == "set" and (bad := [name for name, equals, _ in pairs if not equals or not name]):
        made.error(f"set takes NAME=VALUE, not {bad[0]!r}")
    service = client(arguments.url)
    project = f"/projects/{segment(project_of(service, arguments.project))}"
    path = f"{project}/env"
    if arguments.action == "set":
        stored = service.call("GET", path, gives=_ENV)
        secrets = {item["name"] for item in stored["items"] if item["kind"] == "secret"} | set(stored["missing"])
        declared = _declared(service, project)
        for name, _, _ in pairs:
            if name in secrets or "secret" in _read_by(declared, name):
                raise Failure(f"{name} is a secret: `lang secrets set {name}` reads its value without showing it")
        for name, _, value in pairs:
            service.call("PUT", f"{path}/{segment(name)}", {"value": value, "kind": "variable"})
    elif arguments.action == "unset":
        for name in arguments.items:
            service.call("DELETE", f"{path}/{segment(name)}")
    answer = service.call("GET", path, gives=_ENV)
    if arguments.json:
        show_json(answer)
        return 0
    rows = [
        (item["name"], item["kind"], item["value"] if item["kind"] == "variable" else f"({item['fingerprint']})")
        for item in answer["items"]
    ]
    if rows:
        table(("NAME", "KIND", "VALUE"), rows)
    else:
        note("Nothing is stored.")
    if answer["needs_redeploy"]:
        note(coloured("The running project still has former values: `lang deploy` applies these.", "wait"))
    return 0


def _declared(service: Client, project: str) -> list[tuple[str, str]]:
    """The names that the program of a project declares to read: ``env`` or ``secret``, and a name or a pattern."""
    held = service.call("GET", project, gives=_CEILING)["ceiling"]["items"]
    return [(item["capability"], item["scope"]) for item in held if item["capability"] in ("env", "secret") and item["scope"]]


def _read_by(declared: list[tuple[str, str]], name: str) -> set[str]:
    return {capability for capability, scope in declared if fnmatchcase(name, scope)}


def secrets(words: Sequence[str]) -> int:
    """Lists and sets secrets."""
    made = of_project(
        parser(
            "secrets",
            "Lists the secrets of a project, sets one or removes one. The value is read from a prompt or from standard input.",
        )
    )
    made.add_argument(
        "action", nargs="?", default="ls", choices=["ls", "set", "unset"], help="list them (the default), set one or remove one"
    )
    made.add_argument("name", nargs="?", metavar="NAME", help="name of the secret to set or to remove")
    arguments = read(made, words)
    if (arguments.action == "ls") == (arguments.name is not None):
        made.error("ls takes no name" if arguments.action == "ls" else f"{arguments.action} needs a name")
    service = client(arguments.url)
    project = f"/projects/{segment(project_of(service, arguments.project))}"
    path = f"{project}/secrets"
    if arguments.action == "set":
        if "=" in arguments.name:
            made.error(
                "do not give the value as an argument, which others on the machine can see: `lang secrets set NAME` asks for it"
            )
        if sys.stdin.isatty():
            value = getpass.getpass(f"{arguments.name}: ")
        else:
            value = sys.stdin.read().removesuffix("\n")
        if not value:
            raise Failure("the value is empty: nothing was stored")
        answer = service.call("PUT", f"{path}/{segment(arguments.name)}", {"value": value}, gives={"name": str})
        show_json(answer) if arguments.json else out(f"{plain(answer['name'])} is stored. It takes effect at the next deploy.")
        if not arguments.json and _read_by(_declared(service, project), arguments.name) == {"env"}:
            note(
                coloured(
                    f'The program declares env("{arguments.name}"), which finds no secret: it must declare and read'
                    f' secret("{arguments.name}"), or the value must be a variable (`lang env set`)',
                    "wait",
                )
            )
        return 0
    if arguments.action == "unset":
        items = service.call("GET", f"{project}/env", gives=_ENV)["items"]
        if not any(item["name"] == arguments.name and item["kind"] == "secret" for item in items):
            raise Failure(f"there is no secret {arguments.name!r}: `lang secrets ls` lists them")
        answer = service.call("DELETE", f"{project}/env/{segment(arguments.name)}")
        show_json(answer) if arguments.json else out(f"{plain(arguments.name)} is removed. It takes effect at the next deploy.")
        return 0
    answer = service.call("GET", path, gives=_SECRETS)
    if arguments.json:
        show_json(answer)
        return 0
    if answer["items"]:
        table(
            ("NAME", "FINGERPRINT", "SET"),
            [(item["name"], item["fingerprint"], item["created_at"]) for item in answer["items"]],
        )
    else:
        note("Nothing is stored.")
    for name in answer["missing"]:
        note(coloured(f"{plain(name)} has no value: `lang secrets set {plain(name)}`", "wait"))
    return 0
