"""The commands for a platform, by the first word of a command line."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from platform_api.commands.failure import Failure
from platform_api.commands.output import note, plain, show_json
from platform_api.commands.problem_lines import problem_lines

#: Command → its module in this package and its function.
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
    """Runs a command and returns its exit code: 0, 1 after a refusal or a failure, 2 for a wrong call.

    Args:
        name: a key of ``COMMANDS``.
        words: the words after it.
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
        for line in failure.more:
            note(f"  {plain(line)}".rstrip())
        details = failure.answer.get("details")
        for line in problem_lines(details.get("errors") if isinstance(details, dict) else None):
            note(line)
        return 1
    except SystemExit as end:  # argparse raises it: 2 after a wrong call, 0 after --help
        return int(end.code or 0)
    return code
