"""``lang deploy --rehearse``: starts a version without any rights and lists what it tried."""

from __future__ import annotations

import sys
import time
from typing import Any

from platform_api.commands.client import Client, segment
from platform_api.commands.failure import Failure
from platform_api.commands.output import coloured, note, out, plain, show_json, status, table, verbatim
from platform_api.commands.shapes import Maybe, Number

_POLL_SECONDS = 0.4
#: The service ends a rehearsal ten minutes after it was asked for, and knows of that within minutes.
_LONGEST_SECONDS = 900
_TRIED = {
    "capability": str,
    "scope": Maybe(str),
    "file": str,
    "line": Maybe(Number(0, 2**31)),
    "count": Number(0, 2**63),
    "allowed": bool,
    "live": Maybe(bool),
}
_ANSWER = {
    "rehearsal": {
        "id": str,
        "status": str,
        "detail": str,
        "ceiling": str,
        "exit_code": Maybe(Number(-(2**31), 2**31)),
        "output": str,
        "tried": [_TRIED],
        "more": Number(0, 2**31),
    }
}


def rehearse(service: Client, project: str, body: dict[str, Any], *, as_json: bool, wait: bool) -> int:
    """Rehearses a version and returns the exit code: 0 if a deploy of it would be allowed all that it tried, else 1.

    Args:
        body: the version, as the request takes it.
        wait: whether its end is waited for; else the answer is what was asked for.
    """
    path = f"/projects/{segment(project)}/rehearsals"
    answer = service.call("POST", path, body, gives=_ANSWER)
    end = time.monotonic() + _LONGEST_SECONDS
    while wait and answer["rehearsal"]["status"] in ("queued", "running"):
        if time.monotonic() >= end:
            raise Failure(
                f"the rehearsal is still {answer['rehearsal']['status']} after {_LONGEST_SECONDS // 60} minutes. It continues "
                "without this command: the page of the project shows its state"
            )
        time.sleep(_POLL_SECONDS)
        answer = service.call("GET", f"{path}/{segment(answer['rehearsal']['id'])}", gives=_ANSWER)
    rehearsal = answer["rehearsal"]
    if as_json:
        show_json(answer)
    elif wait:
        _show(rehearsal)
    else:
        out(f"Rehearsal {plain(rehearsal['id'])} is {status(rehearsal['status'])}.")
    if rehearsal["status"] == "failed":
        raise Failure(f"the rehearsal failed: {plain(rehearsal['detail'])}")
    return 0 if all(one["allowed"] for one in rehearsal["tried"]) else 1


def _show(rehearsal: dict[str, Any]) -> None:
    for line in rehearsal["output"].splitlines():
        # As `lang logs`: what a program writes acts on a terminal no more than what it logs.
        out(line) if sys.stdout.isatty() else verbatim(line)
    how = {"ended": "ended", "timed_out": "was stopped at its time limit"}.get(rehearsal["status"], rehearsal["status"])
    code = rehearsal["exit_code"]
    note(f"Rehearsed with a ceiling of stdout,time: the program {plain(how)}" + (f", exit code {code}." if code else "."))
    if rehearsal["detail"]:
        note(plain(rehearsal["detail"]))
    if not rehearsal["tried"]:
        out("It tried to use no other capability.")
        return
    rows = [(_what(one), _place(one), one["count"], _word(one["allowed"]), _word(one["live"])) for one in rehearsal["tried"]]
    table(("TRIED", "PLACE", "TIMES", "DEPLOYED", "LIVE"), rows)
    if rehearsal["more"]:
        out(f"and {rehearsal['more']} more attempts")
    if not all(one["allowed"] for one in rehearsal["tried"]):
        note(coloured(f"A deploy would be refused some of these. Its ceiling: {plain(rehearsal['ceiling'])}", "wait"))


def _what(one: dict[str, Any]) -> str:
    return one["capability"] if one["scope"] is None else f"{one['capability']}({one['scope']})"


def _place(one: dict[str, Any]) -> str:
    return f"{one['file']}:{one['line']}" if one["file"] and one["line"] else one["file"] or "-"


def _word(allowed: bool | None) -> str:
    return "-" if allowed is None else "allowed" if allowed else "refused"
