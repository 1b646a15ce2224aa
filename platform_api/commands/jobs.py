"""``lang run --remote`` and ``lang schedule``."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

from platform_api.commands.arguments import of_project, parser, read
from platform_api.commands.client import client, segment
from platform_api.commands.failure import Failure
from platform_api.commands.folder import project_of
from platform_api.commands.output import note, out, plain, show_json, verbatim
from platform_api.commands.shapes import Maybe, Number

_POLL_SECONDS = 0.5
_ANSWER = {"run": {"id": str, "status": str, "output": str, "exit_code": Maybe(Number(-(2**31), 2**31))}}


def run_remote(words: Sequence[str]) -> int:
    """Runs a job, waits, prints its output and ends with its exit code."""
    made = of_project(parser("run --remote", "Runs a job of the platform, prints its output and ends with its exit code."))
    arguments = read(made, words)
    service = client(arguments.url)
    project = f"/projects/{segment(project_of(service, arguments.project))}"
    run = service.call("POST", f"{project}/run", gives=_ANSWER)["run"]
    while run["status"] in ("queued", "running"):
        time.sleep(_POLL_SECONDS)
        run = service.call("GET", f"{project}/runs/{segment(run['id'])}", gives=_ANSWER)["run"]
    if arguments.json:
        show_json(run)
    else:
        # As `lang logs`: what a program writes acts on a terminal no more than what it logs.
        for line in run["output"].splitlines():
            out(line) if sys.stdout.isatty() else verbatim(line)
    if run["status"] == "succeeded":
        return 0
    if run["exit_code"]:
        note(f"the run {plain(run['status'])} with exit code {run['exit_code']}")
        return int(run["exit_code"])
    raise Failure(f"the run {plain(run['status'])}")


def schedule(words: Sequence[str]) -> int:
    """Shows or sets the schedule of a job."""
    made = of_project(parser("schedule", "Shows the schedule of a job, or sets it."))
    made.add_argument(
        "cron", nargs="?", metavar="CRON", help="five fields in UTC, or @hourly, @daily, @weekly, ...; '' clears it"
    )
    arguments = read(made, words)
    service = client(arguments.url)
    project = f"/projects/{segment(project_of(service, arguments.project))}"
    if arguments.cron is None:
        answer = {"schedule": service.call("GET", f"{project}/runs", gives={"schedule": str}, limit=1)["schedule"]}
        show_json(answer) if arguments.json else out(plain(answer["schedule"]) or "It runs only when asked.")
        return 0
    answer = service.call("PUT", f"{project}/schedule", {"cron": arguments.cron}, gives={"means": str})
    show_json(answer) if arguments.json else out(f"It {plain(answer['means'])}.")
    return 0
