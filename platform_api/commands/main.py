"""From the first word of a command line to its command."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

from platform_api.commands.failure import Failure
from platform_api.commands.output import note, plain, show_json

#: Command → the module here and its function.
COMMANDS = {
    "login": ("account", "login"),
    "logout": ("account", "logout"),
    "whoami": ("account", "whoami"),
    "new": ("new", "new"),
    "deploy": ("deploy", "deploy"),
    "projects": ("projects", "projects"),
    "status": ("projects", "project_status"),
    "stop": ("projects", "stop"),
    "delete": ("projects", "delete"),
    "logs": ("logs", "logs"),
    "audit": ("logs", "audit"),
    "approvals": ("approvals", "approvals"),
    "env": ("environment", "env"),
    "secrets": ("environment", "secrets"),
    "run": ("jobs", "run_remote"),
    "schedule": ("jobs", "schedule"),
}


def command(name: str, words: Sequence[str]) -> int:
    """Runs a command and gives its exit code: 0, 1 for what was refused, 2 for a wrong call.

    Args:
        name: a key of ``COMMANDS``.
        words: what follows it.
    """
    module, function = COMMANDS[name]
    if name == "run":
        words = [word for word in words if word != "--remote"]
    try:
        code: int = getattr(import_module(f"platform_api.commands.{module}"), function)(words)
    except Failure as failure:
        if "--json" in words and failure.answer:
            show_json(failure.answer)
        note(f"lang {name}: {plain(failure.message)}")
        for line in _faults(failure.answer):
            note(line)
        return 1
    except SystemExit as end:  # of argparse: 2 after a wrong call, 0 after --help
        return int(end.code or 0)
    return code


def _faults(answer: dict[str, Any]) -> Iterator[str]:
    """The places of a program that a refusal names, as far as it names them."""
    details = answer.get("details")
    faults = details.get("errors") if isinstance(details, dict) else None
    for fault in faults if isinstance(faults, list) else ():
        if isinstance(fault, dict):
            place = ":".join(plain(fault.get(name, "?")) for name in ("path", "line", "column"))
            yield f"  {place}: {plain(fault.get('message', ''))}"
