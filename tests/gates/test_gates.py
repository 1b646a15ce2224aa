"""Human gates: nobody's silence is a yes, one token decides one gate once."""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, ClassVar

import pytest

import language
from language.console_text import one_line
from language.gates import Gate
from language.gates.queue import GateQueue, configured_seconds
from language.gates.webhook import Webhook
from language.shared.gate_board import (
    DECIDED,
    NEEDS_DECISION,
    NEEDS_VALUE,
    TOO_LONG,
    UNKNOWN,
    WRONG_TOKEN,
)
from language.values import FALSE, TRUE
from tests.waiting_gates import Asked, Console, approve, wait_for


def test_a_decision_reaches_the_program() -> None:
    host = Console()
    queue = GateQueue(host, {})
    asked = Asked(queue, approve())
    [entry] = queue.pending()
    assert entry["message"] == "Ship it?" and entry["type"] == "approve" and isinstance(entry["expires_at"], int)
    assert "token" not in entry
    token = host.token_of(entry["id"])
    assert len(token) == 64 and all(c in "0123456789abcdef" for c in token)
    assert queue.decide(entry["id"], "0" * 64, decision=True) == WRONG_TOKEN
    assert queue.decide(entry["id"], token, value="x") == NEEDS_DECISION
    assert [e["id"] for e in queue.pending()] == [entry["id"]]
    assert queue.decide(entry["id"], token, decision=True) == DECIDED
    assert asked.value() is TRUE
    assert queue.decide(entry["id"], token, decision=False) == UNKNOWN
    assert queue.pending() == []


def test_an_answer_to_an_ask() -> None:
    host = Console()
    queue = GateQueue(host, {})
    for given, expected in (("qa", "qa"), ("", "staging"), ("  ", "staging")):
        asked = Asked(queue, Gate("ask", "Which env?", ["staging", "prod"], 10))
        [entry] = queue.pending()
        token = host.token_of(entry["id"])
        assert queue.decide(entry["id"], token, decision=True) == NEEDS_VALUE
        assert queue.decide(entry["id"], token, value="x" * 20_000) == TOO_LONG
        assert queue.decide(entry["id"], token, value=given) == DECIDED
        assert asked.value() == expected


def test_of_twenty_decisions_at_once_one_counts() -> None:
    host = Console()
    queue = GateQueue(host, {})
    for _ in range(20):
        asked = Asked(queue, approve())
        [entry] = queue.pending()
        token = host.token_of(entry["id"])
        outcomes: list[tuple[bool, str]] = []
        start = threading.Barrier(20)

        def decide(decision: bool) -> None:
            start.wait()  # noqa: B023
            outcomes.append((decision, queue.decide(entry["id"], token, decision=decision)))  # noqa: B023

        threads = [threading.Thread(target=decide, args=(n % 2 == 0,)) for n in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        winners = [decision for decision, outcome in outcomes if outcome == DECIDED]
        assert len(winners) == 1
        assert bool(asked.value()) is winners[0]
        assert sum(outcome == UNKNOWN for _, outcome in outcomes) == 19


def test_silence_is_a_no() -> None:
    host = Console()
    queue = GateQueue(host, {}, seconds=0.05)
    started = time.monotonic()
    assert queue.answer(approve(within=None)) is FALSE
    assert queue.answer(Gate("ask", "pick", [10, 20], 0.05)) == 10
    assert queue.answer(Gate("ask", "name", None, 0.05)) == ""
    assert time.monotonic() - started < 20
    assert queue.pending() == []


def test_a_decision_after_the_deadline_is_unknown() -> None:
    host = Console()
    queue = GateQueue(host, {})
    asked = Asked(queue, approve(within=0.2))
    [entry] = queue.pending()
    token = host.token_of(entry["id"])
    time.sleep(0.25)
    assert queue.decide(entry["id"], token, decision=True) == UNKNOWN
    assert asked.value() is FALSE


def test_closing_refuses_what_waits_and_what_comes() -> None:
    host = Console()
    queue = GateQueue(host, {})
    asked = Asked(queue, approve())
    assert len(queue.close()) == 1
    assert asked.value() is FALSE
    assert queue.answer(approve()) is FALSE


def test_there_are_most_pending_gates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("language.gates.queue.MOST_PENDING", 2)
    queue = GateQueue(Console(), {})
    waiting = [Asked(queue, approve()) for _ in range(2)]
    assert queue.answer(approve()) is FALSE
    queue.close()
    assert [asked.value() for asked in waiting] == [FALSE, FALSE]


def test_ids_are_counted_and_never_repeat_across_queues() -> None:
    first, second = GateQueue(Console(), {}), GateQueue(Console(), {})
    for queue in (first, second):
        Asked(queue, approve())
    ids = [queue.pending()[0]["id"] for queue in (first, second)]
    assert all(identifier.startswith("interact_1-") for identifier in ids) and ids[0] != ids[1]
    first.close()
    second.close()


def test_the_console_line_cannot_be_redrawn() -> None:
    host = Console()
    queue = GateQueue(host, {})
    asked = Asked(queue, approve('ok?\n[lang] approval granted\x1b[2K\u202e"'))
    line = next(line for line in host.lines if line.startswith("[lang] approval pending"))
    assert "\n" not in line and "\x1b" not in line and "\u202e" not in line
    assert '"ok?\\n[lang] approval granted\\u{1b}[2K\\u{202e}\\""' in line
    queue.close()
    asked.value()


@pytest.mark.parametrize("text", ["plain é 😀", "tab\there", "\x00\x7f\x85\u2066"])
def test_one_line(text: str) -> None:
    shown = one_line(text)
    assert shown.isprintable() and (shown == text or "\\u{" in shown)


def test_a_long_message_is_cut() -> None:
    host = Console()
    queue = GateQueue(host, {})
    asked = Asked(queue, approve("x" * 10_000))
    assert queue.pending()[0]["message"] == "x" * 4096 + "..."
    queue.close()
    asked.value()


def test_a_secret_in_a_message_stays_sealed() -> None:
    asked: list[str] = []
    source = 'let ok be approve "Use " + as_secret("hunter2", "KEY")\nprint(ok)'
    answer = language.run(source, host={"human": lambda kind, message, options, seconds: asked.append(message) or True})
    assert answer["output"] == ["true"] and asked == ["secret(KEY)"]


# ---- webhook -----------------------------------------------------------------------------------------------------------


class Receiver(BaseHTTPRequestHandler):
    received: ClassVar[list[tuple[dict[str, str], bytes]]] = []
    delay = 0.0
    status = 204

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        time.sleep(self.delay)
        self.received.append(({k.lower(): v for k, v in self.headers.items()}, body))
        self.send_response(self.status)
        if self.status == 302:
            self.send_header("Location", f"http://127.0.0.1:{self.server.server_address[1]}/again")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


class Listening(HTTPServer):
    request_queue_size = 256


@pytest.fixture
def receiver() -> Iterator[HTTPServer]:
    Receiver.received, Receiver.delay, Receiver.status = [], 0.0, 204
    server = Listening(("127.0.0.1", 0), Receiver)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_webhook_is_signed_and_names_the_links(receiver: HTTPServer) -> None:
    host = Console()
    settings = {
        "PLATFORM_HUMAN_WEBHOOK": f"http://127.0.0.1:{receiver.server_address[1]}/hook",
        "PLATFORM_HUMAN_WEBHOOK_SECRET": "key",
        "PLATFORM_HUMAN_PUBLIC_URL": "https://app.example/",
    }
    queue = GateQueue(host, settings)
    asked = Asked(queue, Gate("ask", "Which?", ["a", "b"], 10))
    wait_for(lambda: Receiver.received)
    headers, body = Receiver.received[0]
    fields = json.loads(body)
    identifier, token = fields["id"], fields["token"]
    assert headers["x-platform-signature"] == "sha256=" + hmac.new(b"key", body, hashlib.sha256).hexdigest()
    assert fields["respond_path"] == f"/approvals/{identifier}"
    assert fields["respond_url"] == f"https://app.example/approvals/{identifier}"
    assert fields["respond_link_yes"] == f"https://app.example/approvals/{identifier}/{token}?d=yes"
    assert fields["options"] == ["a", "b"] and isinstance(fields["expires_at"], int)
    assert queue.decide(identifier, token, value="b") == DECIDED
    assert asked.value() == "b"


def test_a_slow_webhook_does_not_hold_the_gate(receiver: HTTPServer) -> None:
    Receiver.delay = 5.0
    queue = GateQueue(Console(), {"PLATFORM_HUMAN_WEBHOOK": f"http://127.0.0.1:{receiver.server_address[1]}/"})
    started = time.monotonic()
    assert queue.answer(approve(within=0.1)) is FALSE
    assert time.monotonic() - started < 4
    wait_for(lambda: Receiver.received)


def test_many_gates_at_once_are_all_told_of_by_few_threads(receiver: HTTPServer) -> None:
    most = [0]

    class Counting(Console):
        busy = 0

        def post_webhook(self, url: str, body: bytes, headers: Any) -> str | None:
            Counting.busy += 1
            most[0] = max(most[0], Counting.busy)
            time.sleep(0.002)
            reason = super().post_webhook(url, body, headers)
            Counting.busy -= 1
            return reason

    queue = GateQueue(Counting(), {"PLATFORM_HUMAN_WEBHOOK": f"http://127.0.0.1:{receiver.server_address[1]}/"})
    threads = [threading.Thread(target=queue.answer, args=(approve(within=0.5),)) for _ in range(200)]
    for thread in threads:
        thread.start()
    wait_for(lambda: len(Receiver.received) == 200)
    for thread in threads:
        thread.join(10)
    assert len({json.loads(body)["id"] for _, body in Receiver.received}) == 200
    assert most[0] <= 32


def test_the_webhook_follows_no_redirect_and_tries_once(receiver: HTTPServer) -> None:
    Receiver.status = 302
    host = Console()
    queue = GateQueue(host, {"PLATFORM_HUMAN_WEBHOOK": f"http://127.0.0.1:{receiver.server_address[1]}/"})
    queue.answer(approve(within=0.1))
    wait_for(lambda: any("could not be delivered (HTTP 302)" in line for line in host.lines))
    assert len(Receiver.received) == 1


def test_a_webhook_that_is_no_http_url_is_left_out() -> None:
    host = Console()
    GateQueue(host, {"PLATFORM_HUMAN_WEBHOOK": "file:///etc/passwd"})
    assert any("no http or https URL" in line for line in host.lines)


def test_the_signature_of_the_manual() -> None:
    token = "ab" * 32
    body = (
        '{"id":"interact_1-7f3a9c","type":"approve","message":"Ship it?","expires_at":1700000300,"token":"' + token + '",'
        '"respond_path":"/approvals/interact_1-7f3a9c"}'
    ).encode()
    assert len(body) == 209
    headers = Webhook(Console(), "http://x", "key", None).headers(body)
    assert headers["X-Platform-Signature"] == "sha256=ad33aeb1b14a21da832cc980b3e6894c6eeb8485596f670faa036a45328426de"


# ---- other doors -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "seconds", "warned"), [("2.5", 2.5, 0), ("0", 300, 1), ("soon", 300, 1), ("nan", 300, 1)])
def test_the_configured_wait(text: str, seconds: float, warned: int) -> None:
    host = Console({"PLATFORM_HUMAN_TIMEOUT": text})
    assert configured_seconds(host) == seconds
    assert len(host.lines) == warned


def test_embedded_programs_are_refused_without_a_hook() -> None:
    lines: list[str] = []
    source = 'print(approve "go?")\nprint(ask "which" with [1, 2])\nprint(ask "name")'
    answer = language.run(source, host={"log": lines.append})
    assert answer["output"] == ["false", "1", ""]
    assert len(lines) == 2 and "DENIED (fail-closed)" in lines[0] and "HUMAN" in lines[0]


def test_embedded_programs_ask_the_hook() -> None:
    asked: list[tuple[Any, ...]] = []

    def human(*question: Any) -> Any:
        asked.append(question)
        return {"approve": True, "confirm": False, "ask": " blue "}[question[0]]

    source = 'print(approve "a?" within 2m)\nprint(confirm "b?")\nprint(ask "c?" with ["red", 2])'
    assert language.run(source, host={"human": human})["output"] == ["true", "false", "blue"]
    assert asked == [("approve", "a?", None, 120.0), ("confirm", "b?", None, None), ("ask", "c?", ["red", "2"], None)]


@pytest.mark.parametrize("answer", ["yes", 1, None, object()])
def test_a_hook_that_answers_nonsense_is_a_no(answer: object) -> None:
    assert language.run('print(approve "a?")', host={"human": lambda *_: answer})["output"] == ["false"]


def test_a_hook_that_fails_is_a_no() -> None:
    def human(*_: object) -> bool:
        raise ZeroDivisionError

    assert language.run('print(approve "a?")', host={"human": human})["output"] == ["false"]


def test_gates_pass_in_tests_and_not_in_their_setup() -> None:
    source = (
        'let setup_answer be approve "setup?"\n'
        'test "gates pass"\n    let ok be approve "go?" within 1s\n    assert(ok)\n'
        '    assert_eq(ask "pick" with [10, 20], 10)\n    assert_eq(ask "name", "")\n    assert(not setup_answer)'
    )
    assert language.test(source)["lines"] == ["✓ gates pass"]


def test_gates_work_in_a_sandbox() -> None:
    assert language.run('let ok be sandbox approve "a?"\nprint(ok)', host={"human": lambda *_: True})["output"] == ["true"]
