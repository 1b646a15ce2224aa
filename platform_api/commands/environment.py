"""``lang env`` and ``lang secrets``."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Sequence
from fnmatch import fnmatchcase

from platform_api.commands.arguments import of_project, parser, read
from platform_api.commands.client import client, segment
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
    made.add_argument("action", choices=["ls", "set", "unset"], help="list them, set some or remove some")
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
        held = service.call("GET", project, gives=_CEILING)["ceiling"]["items"]
        declared = [item["scope"] for item in held if item["capability"] == "secret" and item["scope"]]
        for name, _, _ in pairs:
            if name in secrets or any(fnmatchcase(name, scope) for scope in declared):
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


def secrets(words: Sequence[str]) -> int:
    """Lists and sets secrets."""
    made = of_project(
        parser(
            "secrets", "Lists the secrets of a project, or sets one. The value is read from a prompt or from standard input."
        )
    )
    made.add_argument("action", choices=["ls", "set"], help="list them, or set one")
    made.add_argument("name", nargs="?", metavar="NAME", help="name of the secret to set")
    arguments = read(made, words)
    if (arguments.action == "set") != (arguments.name is not None):
        made.error("set needs a name" if arguments.action == "set" else "ls takes no name")
    service = client(arguments.url)
    path = f"/projects/{segment(project_of(service, arguments.project))}/secrets"
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
