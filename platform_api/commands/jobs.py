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
#: A run is waited for this long: a week, the longest time limit of a run, and an hour for its start.
_LONGEST_SECONDS = 7 * 86_400 + 3_600
_ANSWER = {"run": {"id": str, "status": str, "output": str, "exit_code": Maybe(Number(-(2**31), 2**31))}}


def run_remote(words: Sequence[str]) -> int:
    """Runs a job, waits for its end, prints its output and returns its exit code."""
    made = of_project(
        parser("run --remote", "Runs a job of the platform, waits for its end, prints its output and ends with its exit code.")
    )
    arguments = read(made, words)
    service = client(arguments.url)
    project = f"/projects/{segment(project_of(service, arguments.project))}"
    answer = service.call("POST", f"{project}/run", gives=_ANSWER)
    end = time.monotonic() + _LONGEST_SECONDS
    while answer["run"]["status"] in ("queued", "running"):
        if time.monotonic() >= end:
            raise Failure(
                f"the run is still {answer['run']['status']} after {_LONGEST_SECONDS // 3600} hours. It continues without this "
                "command: the page of the project shows its state"
            )
        time.sleep(_POLL_SECONDS)
        answer = service.call("GET", f"{project}/runs/{segment(answer['run']['id'])}", gives=_ANSWER)
    run = answer["run"]
    if arguments.json:
        show_json(answer)
    else:
        # As in `lang logs`, control characters of the program are not written to a terminal.
        for line in run["output"].splitlines():
            out(line) if sys.stdout.isatty() else verbatim(line)
    if run["status"] == "succeeded":
        return 0
    if run["exit_code"]:
        note(f"the run {plain(run['status'])} with exit code {run['exit_code']}")
        return int(run["exit_code"])
    raise Failure(f"the run {plain(run['status'])}")


def _sentence(means: str) -> str:
    """What a schedule means, as a sentence. The service answers a sentence, or a predicate without its subject."""
    return f"{means}." if means[:1].isupper() else f"It {means}."


def schedule(words: Sequence[str]) -> int:
    """Shows or sets the schedule of a job."""
    made = of_project(parser("schedule", "Shows, sets or removes the schedule of a job."))
    made.add_argument(
        "cron",
        nargs="?",
        metavar="CRON",
        help="a cron expression in UTC ('0 6 * * 1'), or @hourly, @daily, @weekly, ...; '' removes the schedule",
    )
    arguments = read(made, words)
    service = client(arguments.url)
    project = f"/projects/{segment(project_of(service, arguments.project))}"
    if arguments.cron is None:
        answer = service.call("GET", f"{project}/runs", gives={"schedule": str}, limit=1)
        if arguments.json:
            show_json(answer)
        elif not answer["schedule"]:
            out("It runs only when asked.")
        else:
            out(plain(answer["schedule"]))
            means = answer.get("means")  # a service of an earlier version does not say it
            if isinstance(means, str) and means:
                out(_sentence(plain(means)))
        return 0
    answer = service.call("PUT", f"{project}/schedule", {"cron": arguments.cron}, gives={"means": str})
    show_json(answer) if arguments.json else out(_sentence(plain(answer["means"])))
    return 0
