"""``lang logs`` and ``lang audit`` of a deployed project."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from datetime import UTC, datetime

from platform_api.commands.arguments import of_project, parser, read
from platform_api.commands.client import client, segment
from platform_api.commands.failure import Failure
from platform_api.commands.folder import project_of
from platform_api.commands.output import coloured, note, out, plain, show_json, table
from platform_api.commands.shapes import MOMENT, Maybe, check

_LONGEST_PAUSE_SECONDS = 30.0
_LINE = {"line": str}
_RECORD = {
    "ts": MOMENT, "capability": str, "scope": Maybe(str), "granted": bool, "origin": Maybe(str), "why": Maybe(str),
}  # fmt: skip


def logs(words: Sequence[str]) -> int:
    """Shows log lines; with ``--follow`` also new ones as they come."""
    made = of_project(parser("logs", "Shows the log of a project."))
    made.add_argument("-f", "--follow", action="store_true", help="also show new lines as they come, until Ctrl-C")
    made.add_argument("--tail", type=int, default=100, metavar="N", help="show the last N lines, at most 500 (default: 100)")
    arguments = read(made, words)
    if not 0 <= arguments.tail <= 500:
        made.error("--tail takes a number from 0 to 500")
    service = client(arguments.url)
    path = f"/projects/{segment(project_of(service, arguments.project))}/logs"
    if not arguments.follow:
        if arguments.tail:
            for item in service.call("GET", f"{path}/tail", gives={"items": [_LINE]}, limit=arguments.tail)["items"]:
                show_json(item) if arguments.json else out(plain(item["line"]))
        return 0
    after: str | None = None
    pause = 0.5
    while True:
        try:
            for identity, name, item in service.events(path, after=after, tail=arguments.tail):
                if name != "log":
                    continue
                check(item, _LINE, service.url)
                after, pause = identity, 0.5
                show_json(item) if arguments.json else out(plain(item["line"]))
        except Failure as failure:
            if failure.answer and failure.answer.get("status", 500) < 500 and failure.answer.get("code") != "rate_limited":
                raise
            note(coloured(f"{failure.message}; trying again", "quiet"))
        time.sleep(pause * random.uniform(0.5, 1))
        pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)


def audit(words: Sequence[str]) -> int:
    """Shows the audit records of a project."""
    made = of_project(parser("audit", "Shows which capabilities a project used and which it was refused, newest first."))
    which = made.add_mutually_exclusive_group()
    which.add_argument("--granted", dest="only", action="store_const", const="granted", help="only what was granted")
    which.add_argument("--denied", dest="only", action="store_const", const="denied", help="only what was refused")
    made.add_argument("-q", metavar="TEXT", help="only records that contain this text")
    arguments = read(made, words)
    service = client(arguments.url)
    project = segment(project_of(service, arguments.project))
    answer = service.call("GET", f"/projects/{project}/audit", gives={"items": [_RECORD]}, only=arguments.only, q=arguments.q)
    if arguments.json:
        show_json(answer)
        return 0
    table(
        ("AT", "CAPABILITY", "SCOPE", "GRANTED", "WITNESS", "ORIGIN", "WHY"),
        [
            (
                datetime.fromtimestamp(item["ts"], UTC).strftime("%Y-%m-%d %H:%M:%S"),
                item["capability"],
                item["scope"] or "",
                "yes" if item["granted"] else "no",
                item.get("witness") or "program",
                item["origin"] or "",
                item["why"] or "",
            )
            for item in answer["items"]
        ],
    )
    return 0
