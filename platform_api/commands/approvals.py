"""``lang approvals``: lists the questions of running programs (their gates) and answers them."""

from __future__ import annotations

from collections.abc import Sequence

from platform_api.commands.arguments import parser, read
from platform_api.commands.client import client, segment
from platform_api.commands.output import coloured, out, plain, show_json, status
from platform_api.commands.shapes import Maybe


def approvals(words: Sequence[str]) -> int:
    """Lists pending gates, or answers one."""
    made = parser("approvals", "Lists the questions of running programs (gates) that wait for an answer, or answers one.")
    made.add_argument(
        "action",
        nargs="?",
        choices=["approve", "deny", "answer"],
        help="how to answer: approve or deny an approval, answer a question with TEXT",
    )
    made.add_argument("gate", nargs="?", metavar="ID", help="id of the gate, as the list shows it")
    made.add_argument("text", nargs="?", metavar="TEXT", help="the answer to a question")
    arguments = read(made, words)
    if arguments.action and not arguments.gate:
        made.error(f"{arguments.action} needs the id of a gate: `lang approvals` lists them")
    if (arguments.action == "answer") != (arguments.text is not None):
        made.error("answer needs a text" if arguments.action == "answer" else f"nothing may follow the id: {arguments.text!r}")
    service = client(arguments.url)
    if arguments.action:
        body = {"value": arguments.text} if arguments.action == "answer" else {"decision": arguments.action == "approve"}
        answer = service.call("POST", f"/approvals/{segment(arguments.gate)}", body, gives={"status": str})
        show_json(answer) if arguments.json else out(f"It is {status(answer['status'])}.")
        return 0
    gate = {"id": str, "project": str, "type": str, "message": str, "expires_at": Maybe(str)}
    answer = service.call("GET", "/approvals", gives={"items": [gate]})
    if arguments.json:
        show_json(answer)
        return 0
    if not answer["items"]:
        out("Nothing waits for an answer.")
    for item in answer["items"]:
        where = f"{plain(item['type'])} in {plain(item['project'])}, until {plain(item['expires_at'])}"
        out(f"{coloured(plain(item['id']), 'bold')}  {where}")
        for line in str(item["message"]).splitlines():
            out(f"    {plain(line)}")
        if isinstance(options := item.get("options"), list) and options:
            out(f"    suggested: {', '.join(map(plain, options))}")
    return 0
