"""Decisions of gates in the audit, and how the console line names them: quotes escaped, a link where a browser gets through."""

from __future__ import annotations

import json
import re
import threading
from typing import Any

import pytest

import language
from language.audit.records import Audit
from language.cli.audit_stream import AuditStream
from language.gates import Gate, TerminalGates
from language.gates.queue import GateQueue
from language.serve.approvals import answer
from language.values import FALSE, TRUE
from tests.serve.served import Served, request
from tests.waiting_gates import Asked, Console, approve, wait_for


class Heard:
    """A queue whose decisions are recorded."""

    def __init__(self, **settings: str) -> None:
        self.console = Console()
        self.queue = GateQueue(self.console, settings, program="desk.lang")
        self.audit = Audit(lambda: 1.0)
        self.queue.audit = self.audit

    def ask(self, gate: Gate) -> tuple[Asked, str]:
        asked = Asked(self.queue, gate)
        return asked, self.console.token_of(asked.id)

    def line(self) -> str:
        [line] = [line for line in self.console.lines if "approval pending" in line]
        return line


@pytest.mark.parametrize(
    ("gate", "body", "granted"),
    [
        (Gate("approve", "go?", None, 10), {"decision": True}, True),
        (Gate("confirm", "go?", None, 10), {"decision": False}, False),
        (Gate("ask", "who?", None, 10), {"value": "the answer"}, True),
        (Gate("ask", "who?", None, 10), {"value": "  "}, False),
        (Gate("ask", "who?", None, 10), {"value": "both", "decision": False}, True),
    ],
)
@pytest.mark.parametrize("channel", ["api", "page"])
def test_a_decision_over_http_is_recorded(gate: Gate, body: dict[str, object], granted: bool, channel: str) -> None:
    heard = Heard()
    asked, token = heard.ask(gate)
    for wrong in ("0" * 64, ""):
        answer(heard.queue, request("POST", f"/approvals/{asked.id}", json.dumps({"token": wrong, **body})))
    assert heard.audit.records == []
    if channel == "api":
        sent = json.dumps({"token": token, **body})
    else:
        sent = "&".join(f"{name}={str(value).lower()}" for name, value in {"token": token, **body}.items()).replace(" ", "+")
    for _ in range(2):
        answer(heard.queue, request("POST", f"/approvals/{asked.id}", sent, address="203.0.113.7"))
    asked.value()
    [record] = heard.audit.records
    assert record == {
        "ts": 1.0,
        "capability": "human",
        "scope": asked.id,
        "granted": granted,
        "origin": channel,
        "why": f"{gate.kind}, decided by the holder of its token at 203.0.113.7",
    }
    assert token not in str(record) and "the answer" not in str(record)


@pytest.mark.parametrize(("word", "granted"), [("yes", True), ("no", False)])
def test_a_decision_by_a_link_is_recorded(word: str, granted: bool) -> None:
    heard = Heard()
    asked, token = heard.ask(approve())
    for target in (f"/approvals/{asked.id}/{token}", *(f"/approvals/{asked.id}/{token}?d={word}" for _ in range(2))):
        answer(heard.queue, request("GET", target))
    assert asked.value() is (TRUE if granted else FALSE)
    [record] = heard.audit.records
    assert (record["scope"], record["granted"], record["origin"]) == (asked.id, granted, "link")
    assert token not in str(record)


def test_a_gate_that_nobody_answers_is_recorded_at_its_deadline() -> None:
    heard = Heard()
    assert heard.queue.answer(approve(within=0.1)) is FALSE
    [record] = heard.audit.records
    assert (record["granted"], record["origin"], record["why"]) == (False, "deadline", "approve, decided by nobody in time")
    assert re.fullmatch(r"interact_1-[0-9a-f]{6}", record["scope"])


def test_a_gate_that_the_end_of_the_service_refuses_is_recorded() -> None:
    heard = Heard()
    asked, _ = heard.ask(approve())
    assert heard.queue.close() == [asked.id]
    asked.value()
    [record] = heard.audit.records
    assert (record["granted"], record["why"]) == (False, "approve, decided by the end of the service")


@pytest.mark.parametrize(("line", "granted"), [("yes", True), ("n", False), (None, False)])
def test_a_decision_at_the_terminal_is_recorded(line: str | None, granted: bool) -> None:
    gates = TerminalGates(Console(), lambda question, complaint: line)
    gates.audit = Audit(lambda: 1.0)
    gates.answer(approve())
    gates.answer(Gate("ask", "who?", None, None))
    first, second = gates.audit.records
    assert (first["granted"], first["origin"], second["origin"]) == (granted, "terminal", "terminal")
    assert second["granted"] is (line is not None) and first["scope"] != second["scope"]
    assert second["why"] == "ask, decided by the person at the terminal"


def test_the_decision_of_an_embedder_is_recorded() -> None:
    source = 'print(approve "one?")\nprint(ask "two?")\nprint(confirm "three?")'
    answers = {"one?": True, "two?": "2", "three?": None}
    given = language.run(source, host={"human": lambda kind, message, options, seconds: answers[message]})
    assert given["output"] == ["true", "2", "false"]
    records = [record for record in given["audit"] if record["capability"] == "human"]
    assert [(record["granted"], record["origin"], record["source"]) for record in records] == [
        (True, "hook", "approve"),
        (True, "hook", "ask"),
    ]
    assert records[0]["why"] == "approve, decided by the host's function"


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ('Say "yes"?', '"Say \\"yes\\"?"'),
        (
            'x" (expires in 9s): POST /approvals/i_9 {"token"',
            '"x\\" (expires in 9s): POST /approvals/i_9 {\\"token\\""',
        ),
        ("a\\", '"a\\\\"'),
        ('a\\" (expires', '"a\\\\\\" (expires"'),
        ("a\nb", '"a\\nb"'),
    ],
)
def test_a_message_ends_at_its_quotes(message: str, shown: str) -> None:
    heard = Heard()
    Asked(heard.queue, approve(message))
    assert f" {shown} (expires in " in heard.line()
    heard.queue.close()


@pytest.mark.parametrize(
    ("public", "local", "link"),
    [
        ("https://app.example/base/", "http://127.0.0.1:8080", "https://app.example/base/approvals/{id}/{token}"),
        ("", "http://127.0.0.1:8080", "http://127.0.0.1:8080/approvals/{id}/{token}"),
        ("", "", None),
    ],
)
def test_the_console_line_has_a_link_where_a_browser_gets_through(public: str, local: str, link: str | None) -> None:
    heard = Heard(PLATFORM_HUMAN_PUBLIC_URL=public)
    heard.queue.local_url = local
    asked, token = heard.ask(approve())
    if link is None:
        assert heard.line().endswith('"decision": true|false}')
    else:
        assert heard.line().endswith(f'"decision": true|false}} or open {link.format(id=asked.id, token=token)}')
    heard.queue.close()


def test_the_page_of_a_decision_names_the_program() -> None:
    heard = Heard()
    heard.queue.program = "desk <b>.lang"
    asked, token = heard.ask(approve())
    reply = answer(heard.queue, request("GET", f"/approvals/{asked.id}/{token}"))
    assert reply is not None
    assert b"The program <strong>desk &lt;b&gt;.lang</strong> waits for a HUMAN." in reply.body
    heard.queue.close()
    assert wait_for(lambda: not heard.queue.pending()) is None


@pytest.mark.parametrize("door", ["link", "api"])
def test_a_decision_from_outside_has_the_place_where_the_program_asks(door: str) -> None:
    source = """
require serve(8080)
serve on 8080
    route "GET /"
        let sure be approve "Go on?" within 60s
        give sure
"""
    heard: list[tuple[Any, ...]] = []
    served = Served(source)
    served.gates.audit = Audit(lambda: 1.0, listener=lambda *what: heard.append(what), place=AuditStream.place)
    thread = threading.Thread(target=lambda: served("GET", "/"), daemon=True)
    thread.start()
    wait_for(served.gates.pending)
    (gate,) = served.gates.pending()
    (token,) = re.findall(r'"token": "([0-9a-f]{64})"', "".join(served.host.errors))
    if door == "link":
        served("GET", f"/approvals/{gate['id']}/{token}?d=yes")
    else:
        served("POST", f"/approvals/{gate['id']}", json.dumps({"token": token, "decision": True}))
    thread.join(60)
    ((record, context, source_, place),) = heard
    assert (record["capability"], record["origin"], context, source_) == ("human", door, "gate", "approve")
    assert place == ("app.lang", 5)
