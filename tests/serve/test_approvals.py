"""The reserved routes of the gates, against the queue itself: who may decide, when, and what is told to whom."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator
from html import unescape
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language.gates import Gate
from language.gates.queue import GateQueue
from language.serve.approvals import BODY_LIMIT, answer, is_reserved, too_large
from language.serve.control import ControlApplication
from language.serve.reply import Reply
from language.serve.request import Request
from language.values import FALSE, TRUE
from tests.serve.served import Served
from tests.serve.served import request as made
from tests.waiting_gates import Asked, Console, approve

WRONG = "0" * 64


class Room:
    """A queue, its console, and its routes."""

    def __init__(self, **settings: str) -> None:
        self.console = Console()
        self.queue = GateQueue(self.console, settings)

    def ask(self, gate: Gate) -> tuple[Asked, str]:
        asked = Asked(self.queue, gate)
        return asked, self.console.token_of(asked.id)

    def get(self, path: str, query: str = "", *fields: tuple[str, str], method: str = "GET") -> Reply:
        reply = answer(self.queue, Request(method, path, query, fields))
        assert reply is not None
        return reply

    def post(self, identifier: str, body: Any) -> Reply:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        reply = answer(self.queue, Request("POST", f"/approvals/{identifier}", body=data))
        assert reply is not None
        return reply

    def pending(self) -> list[dict[str, Any]]:
        listing: list[dict[str, Any]] = json.loads(self.get("/approvals").body)["pending"]
        return listing


@pytest.fixture
def room() -> Iterator[Room]:
    room = Room()
    yield room
    room.queue.close()


def error_of(reply: Reply) -> str:
    fields = json.loads(reply.body)
    assert set(fields) == {"error", "status"} and fields["status"] == reply.status
    text: str = fields["error"]
    return text


def title_of(reply: Reply) -> str:
    assert reply.content_type == "text/html; charset=utf-8"
    found = re.findall(r"<h1>(.*?)</h1>", reply.body.decode())
    assert len(found) == 1 and f"<title>{found[0]}</title>" in reply.body.decode()
    return unescape(found[0])


def field(reply: Reply, name: str) -> str | None:
    return next((value for key, value in reply.headers if key == name), None)


# ---- which requests are meant ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "path", "reserved"),
    [
        ("GET", "/approvals", True),
        ("HEAD", "/approvals", True),
        ("GET", "/approvals/", True),
        ("GET", "//approvals", True),
        ("POST", "/approvals", False),
        ("OPTIONS", "/approvals", False),
        ("POST", "/approvals/x", True),
        ("GET", "/approvals/x", False),
        ("PUT", "/approvals/x", False),
        ("DELETE", "/approvals/x", False),
        ("GET", "/approvals/x/y", True),
        ("HEAD", "/approvals/x/y", True),
        ("POST", "/approvals/x/y", False),
        ("GET", "/approvals/x/y/z", False),
        ("GET", "/approvalsx", False),
        ("GET", "/x/approvals", False),
        ("GET", "/Approvals", False),
        ("GET", "/", False),
    ],
)
def test_exactly_three_forms_are_reserved(room: Room, method: str, path: str, reserved: bool) -> None:
    assert is_reserved(method, path) is reserved
    assert (answer(room.queue, Request(method, path)) is not None) is reserved


# ---- the listing -------------------------------------------------------------------------------------------------------


def test_the_listing_is_as_the_manual_writes_it(room: Room) -> None:
    reply = room.get("/approvals")
    assert (reply.status, reply.content_type, reply.body) == (200, "application/json", b'{"pending": []}')
    assert field(reply, "Cache-Control") == "no-store"
    before = time.time()
    first, token = room.ask(approve("Ship «it»?"))
    second, _ = room.ask(Gate("ask", "Which?", ["a"], 20))
    body = room.get("/approvals").body
    entries = json.loads(body)["pending"]
    assert [list(entry) for entry in entries] == [["id", "message", "type", "expires_at"]] * 2
    assert [entry["id"] for entry in entries] == [first.id, second.id]
    assert entries[0]["message"] == "Ship «it»?" and [entry["type"] for entry in entries] == ["approve", "ask"]
    assert int(before) + 10 <= entries[0]["expires_at"] <= int(time.time()) + 10
    assert token.encode() not in body


def test_an_expired_gate_is_listed_no_more(room: Room) -> None:
    asked, token = room.ask(approve(within=0.05))
    time.sleep(0.06)
    assert room.pending() == []
    assert room.post(asked.id, {"token": token, "decision": True}).status == 404
    assert asked.value() is FALSE


# ---- the decision ------------------------------------------------------------------------------------------------------

STEPS: list[tuple[Any, int, str]] = [
    (b"not json", 400, "malformed body — expected JSON"),
    (b"", 400, "malformed body"),
    (b"[1]", 400, "malformed body"),
    (b'"token"', 400, "malformed body"),
    (b"\xff\xfe", 400, "malformed body"),
    (b"[" * 60_000, 400, "malformed body"),
    (b'{"a":' * 10_000, 400, "malformed body"),
    ({}, 400, 'missing "token"'),
    ({"token": ""}, 400, 'missing "token"'),
    ({"token": 5, "decision": True}, 400, 'missing "token"'),
    ({"token": None, "decision": True}, 400, 'missing "token"'),
    ({"token": "T"}, 400, 'missing "decision" (true|false, for approve/confirm) or "value" (text, for ask)'),
    ({"token": "T", "decision": "yes"}, 400, 'missing "decision"'),
    ({"token": "T", "decision": 1}, 400, 'missing "decision"'),
    ({"token": "T", "decision": None, "value": 5}, 400, 'missing "decision"'),
    ({"token": WRONG, "decision": True}, 403, "invalid token for this approval"),
    ({"token": WRONG, "value": "x"}, 403, "invalid token for this approval"),
    ({"token": "\ud800", "decision": True}, 403, "invalid token for this approval"),
    ({"token": "T", "value": "x"}, 400, 'this gate needs "decision"'),
    ({"token": "T", "value": "x" * 20_000}, 400, 'this gate needs "decision"'),
    (b"x" * (BODY_LIMIT + 1), 413, "payload too large"),
]


@pytest.mark.parametrize(("body", "status", "text"), STEPS, ids=lambda value: str(value)[:40])
def test_what_is_no_decision_leaves_the_gate_waiting(room: Room, body: Any, status: int, text: str) -> None:
    asked, token = room.ask(approve())
    if isinstance(body, dict) and body.get("token") == "T":
        body = {**body, "token": token}
    reply = room.post(asked.id, body)
    assert reply.status == status and error_of(reply).startswith(text)
    assert field(reply, "Cache-Control") == "no-store"
    assert token.encode() not in reply.body
    assert [entry["id"] for entry in room.pending()] == [asked.id]


def test_the_steps_come_in_their_order(room: Room) -> None:
    # Each body has this fault and all that come after it.
    assert room.post("none", b"x" * 70_000).status == 413
    assert error_of(room.post("none", b"[]")).startswith("malformed body")
    assert error_of(room.post("none", {"decision": "yes"})).startswith('missing "token"')
    assert error_of(room.post("none", {"token": "x", "decision": "yes"})).startswith('missing "decision"')
    assert room.post("none", {"token": "x", "decision": True}).status == 404
    asked, _ = room.ask(Gate("ask", "?", None, 10))
    assert room.post(asked.id, {"token": WRONG, "decision": True}).status == 403


def test_a_decision_ends_the_wait_and_counts_once(room: Room) -> None:
    for decision in (True, False):
        asked, token = room.ask(approve())
        reply = room.post(asked.id, {"token": token, "decision": decision, "value": "ignored", "more": [1]})
        assert (reply.status, reply.content_type, reply.body) == (200, "application/json", b'{"ok": true}')
        assert asked.value() is (TRUE if decision else FALSE)
        again = room.post(asked.id, {"token": token, "decision": decision})
        assert again.status == 404 and error_of(again).startswith("no pending approval with that id")
        assert title_of(room.get(f"/approvals/{asked.id}/{token}", "d=no")) == "Not found"


@pytest.mark.parametrize(
    ("value", "given"),
    [("qa", "qa"), ("", "staging"), ("  \n", "staging"), (" a b ", "a b"), ("é" * 8192, "é" * 8192), ("\ud800x", "\ufffdx")],
    ids=lambda value: value[:8].encode("unicode_escape").decode(),
)
def test_an_answer_in_words(room: Room, value: str, given: str) -> None:
    asked, token = room.ask(Gate("ask", "Which env?", ["staging", "prod"], 10))
    assert error_of(room.post(asked.id, {"token": token, "decision": True})).startswith('this gate needs "value"')
    long = room.post(asked.id, {"token": token, "value": "é" * 8193})
    assert long.status == 400 and "16 KiB" in error_of(long)
    assert room.post(asked.id, {"token": token, "value": value, "decision": False}).status == 200
    assert asked.value() == given


def test_a_byte_order_mark_is_ignored(room: Room) -> None:
    asked, token = room.ask(approve())
    assert room.post(asked.id, b"\xef\xbb\xbf" + json.dumps({"token": token, "decision": True}).encode()).status == 200
    assert asked.value() is TRUE


def test_a_spilled_body_is_too_large(room: Room) -> None:
    reply = answer(room.queue, Request("POST", "/approvals/x", body_file="/nowhere"))
    assert reply is not None and reply.status == 413 and reply.closes
    assert too_large().body == b'{"error": "payload too large", "status": 413}'


def test_of_twenty_decisions_at_once_one_counts(room: Room) -> None:
    for _ in range(10):
        asked, token = room.ask(approve())
        start = threading.Barrier(20)
        outcomes: list[tuple[bool, int]] = []

        def decide(decision: bool, asked: Asked, token: str, start: Any, outcomes: Any) -> None:
            start.wait()
            outcomes.append((decision, room.post(asked.id, {"token": token, "decision": decision}).status))

        threads = [threading.Thread(target=decide, args=(n % 2 == 0, asked, token, start, outcomes)) for n in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        winners = [decision for decision, status in outcomes if status == 200]
        assert len(winners) == 1 and sorted(status for _, status in outcomes) == [200] + [404] * 19
        assert bool(asked.value()) is winners[0]


# ---- the link ----------------------------------------------------------------------------------------------------------


def safe_page(reply: Reply) -> str:
    """The text of a page after its header fields and its content were found to be what they must."""
    assert field(reply, "Cache-Control") == "no-store" and field(reply, "Referrer-Policy") == "no-referrer"
    assert field(reply, "X-Robots-Tag") == "noindex" and field(reply, "X-Frame-Options") == "DENY"
    policy = field(reply, "Content-Security-Policy") or ""
    assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
    page = reply.body.decode()
    assert "<script" not in page and "http:" not in page and "https:" not in page and " style=" not in page
    return page


def test_the_policy_lets_the_style_through(room: Room) -> None:
    from base64 import b64encode
    from hashlib import sha256

    reply = room.get("/approvals/x/y", "d=maybe")
    [style] = re.findall(r"<style>(.*?)</style>", reply.body.decode(), re.DOTALL)
    digest = b64encode(sha256(style.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in (field(reply, "Content-Security-Policy") or "")


@pytest.mark.parametrize(("query", "title", "value"), [("d=yes", "Approved", TRUE), ("d=no", "Denied", FALSE)])
def test_following_a_link_decides(room: Room, query: str, title: str, value: object) -> None:
    asked, token = room.ask(approve("Pay 5 EUR?"))
    reply = room.get(f"/approvals/{asked.id}/{token}", query)
    assert reply.status == 200 and title_of(reply) == title
    page = safe_page(reply)
    assert token not in page and "Pay 5 EUR?" not in page and "HUMAN" in page
    assert asked.value() is value
    for again in ("d=yes", "d=no", ""):
        reply = room.get(f"/approvals/{asked.id}/{token}", again)
        assert reply.status == 404 and title_of(reply) == "Not found"


@pytest.mark.parametrize("query", ["d=maybe", "d=", "d", "d=YES", "d=yes&d=x", "x=1&d=1", "d=yes%20", "d=no&d=yes"])
def test_a_link_without_yes_or_no(room: Room, query: str) -> None:
    asked, token = room.ask(approve())
    for path in (f"/approvals/{asked.id}/{token}", "/approvals/none/none"):
        reply = room.get(path, query)
        assert reply.status == 400 and title_of(reply) == "Missing decision"
        safe_page(reply)
    assert len(room.pending()) == 1


def test_a_wrong_link_leaves_the_gate_waiting(room: Room) -> None:
    asked, token = room.ask(approve())
    for query in ("", "d=yes", "d=no"):
        reply = room.get(f"/approvals/{asked.id}/{WRONG}", query)
        assert reply.status == 403 and title_of(reply) == "Invalid link"
        assert token not in safe_page(reply)
    reply = room.get(f"/approvals/none/{token}", "d=yes")
    assert reply.status == 404 and title_of(reply) == "Not found"
    assert len(room.pending()) == 1


def test_head_never_decides(room: Room) -> None:
    asked, token = room.ask(approve())
    reply = room.get(f"/approvals/{asked.id}/{token}", "d=yes", method="HEAD")
    assert reply.status == 405 and field(reply, "Allow") == "GET" and field(reply, "Cache-Control") == "no-store"
    assert len(room.pending()) == 1


@pytest.mark.parametrize(
    "mark",
    [("sec-purpose", "prefetch"), ("sec-purpose", "prefetch;prerender"), ("purpose", "Prefetch"), ("x-moz", "prefetch")],
)
def test_a_prefetch_decides_nothing(room: Room, mark: tuple[str, str]) -> None:
    asked, token = room.ask(approve())
    reply = room.get(f"/approvals/{asked.id}/{token}", "d=yes", mark)
    assert reply.status == 200 and title_of(reply) == "Decision needed"
    assert len(room.pending()) == 1
    assert room.get(f"/approvals/{asked.id}/{token}", "d=yes", ("purpose", "reading")).status == 200
    assert asked.value() is TRUE


def test_a_question_in_words_is_not_decided_by_a_link(room: Room) -> None:
    asked, token = room.ask(Gate("ask", "Which?", None, 10))
    for marks in ((), (("purpose", "prefetch"),)):
        reply = room.get(f"/approvals/{asked.id}/{token}", "d=yes", *marks)
        assert reply.status == 400 and title_of(reply) == "Answer needed"
        page = safe_page(reply)
        assert token not in page and "Which?" not in page and 'href="?"' in page
    assert len(room.pending()) == 1


# ---- the button page ---------------------------------------------------------------------------------------------------


def buttons(page: str) -> tuple[str, list[dict[str, str]]]:
    """Where the one form of a page goes, and what each of its buttons sends."""
    [(attributes, content)] = re.findall(r"<form (.*?)>(.*?)</form>", page, re.DOTALL)
    assert 'method="post"' in attributes
    [action] = re.findall(r'action="(.*?)"', attributes)
    hidden = dict(re.findall(r'<input type="hidden" name="(.*?)" value="(.*?)">', content))
    sent = re.findall(r'<button[^>]* name="(.*?)" value="(.*?)"', content)
    return unescape(action), [{**hidden, name: unescape(value)} for name, value in sent]


def test_the_button_page_decides_as_a_plain_form(room: Room) -> None:
    for index, (title, value) in enumerate((("Approved", TRUE), ("Denied", FALSE))):
        asked, token = room.ask(approve("Pay <b>5</b> EUR?\nNow\u202e!"))
        reply = room.get(f"/approvals/{asked.id}/{token}")
        page = safe_page(reply)
        assert title_of(reply) == "Decision needed" and len(room.pending()) == 1
        assert "Pay &lt;b&gt;5&lt;/b&gt; EUR?\nNow\\u{202e}!" in page
        action, choices = buttons(page)
        assert action == f"/approvals/{asked.id}" and len(choices) == 2
        reply = room.post(asked.id, urlencode(choices[index]).encode())
        assert reply.status == 200 and title_of(reply) == title
        assert token not in safe_page(reply)
        assert asked.value() is value


def test_the_button_page_of_a_question(room: Room) -> None:
    asked, token = room.ask(Gate("ask", "Your name?", None, 10))
    page = safe_page(room.get(f"/approvals/{asked.id}/{token}"))
    assert re.search(r'<textarea name="value"', page)
    reply = room.post(asked.id, urlencode({"token": token, "value": " Zoë & co\r\nBerlin "}).encode())
    assert reply.status == 200 and title_of(reply) == "Answered"
    assert asked.value() == "Zoë & co\nBerlin"


def test_the_button_page_of_a_choice(room: Room) -> None:
    asked, token = room.ask(Gate("ask", "Which?", ["a & b", '"c"', 3], 10))
    action, choices = buttons(safe_page(room.get(f"/approvals/{asked.id}/{token}")))
    assert [choice["value"] for choice in choices] == ["a & b", '"c"', "3"]
    room.post(asked.id, urlencode(choices[1]).encode())
    assert asked.value() == '"c"' and action.endswith(asked.id)


def test_the_form_goes_to_where_the_outside_world_sees_the_server() -> None:
    room = Room(PLATFORM_HUMAN_PUBLIC_URL="https://example.com/apps/one/")
    asked, token = room.ask(approve())
    action, _ = buttons(safe_page_text(room, asked, token))
    assert action == f"/apps/one/approvals/{asked.id}"
    room.queue.close()


def safe_page_text(room: Room, asked: Asked, token: str) -> str:
    return room.get(f"/approvals/{asked.id}/{token}").body.decode()


@pytest.mark.parametrize(
    ("fields", "status", "title"),
    [
        ({"token": ""}, 400, "Invalid link"),
        ({"token": WRONG, "decision": "true"}, 403, "Invalid link"),
        ({"token": "T"}, 400, "Missing decision"),
        ({"token": "T", "decision": "yes"}, 400, "Missing decision"),
        ({"token": "T", "decision": "True"}, 400, "Missing decision"),
        ({"token": "T", "value": "x"}, 400, "Missing decision"),
    ],
)
def test_a_form_is_answered_with_pages(room: Room, fields: dict[str, str], status: int, title: str) -> None:
    asked, token = room.ask(approve())
    given = {name: token if value == "T" else value for name, value in fields.items()}
    reply = room.post(asked.id, urlencode(given).encode())
    assert reply.status == status and title_of(reply) == title
    assert token not in safe_page(reply)
    assert len(room.pending()) == 1
    assert title_of(room.post("none", urlencode({"token": "x", "decision": "true"}).encode())) == "Not found"


@pytest.mark.parametrize("body", [b"decision=true", b"token", b"a=b&c", b"x" * 100])
def test_a_form_without_a_token_is_malformed(room: Room, body: bytes) -> None:
    reply = room.post("none", body)
    if body == b"token":  # a field without a value is an empty one
        assert title_of(reply) == "Invalid link"
    else:
        assert error_of(reply).startswith("malformed body")


# ---- whatever comes ----------------------------------------------------------------------------------------------------


@given(st.binary(max_size=300) | st.text(max_size=100).map(str.encode))
def test_no_body_decides_without_the_token(body: bytes) -> None:
    room = Room()
    asked, token = room.ask(approve())
    try:
        reply = room.post(asked.id, body)
        assert reply.status in (400, 403) and token.encode() not in reply.body
        assert len(room.pending()) == 1
    finally:
        room.queue.close()
        assert asked.value() is FALSE


@given(st.text(alphabet="/apovls%2-F.x", max_size=30), st.sampled_from(["GET", "HEAD", "POST", "OPTIONS", "X"]))
def test_reserved_is_what_is_answered(path: str, method: str) -> None:
    queue = GateQueue(Console(), {})
    assert (answer(queue, Request(method, "/" + path)) is not None) is is_reserved(method, "/" + path)


# ---- what falls through ------------------------------------------------------------------------------------------------

TOKEN = "d" * 64
FALLING_THROUGH = [
    (method, target)
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH", "GET", "HEAD")
    for target in (
        f"/approvals/apr_1/{TOKEN}/",
        f"/approvals/apr_1/{TOKEN}/more",
        f"/approvals/apr_1/more/{TOKEN}",
        f"/approvals/apr_1/{TOKEN}",
        f"/approvals/{TOKEN}",
        f"//approvals//apr_1//{TOKEN}",
        f"/%61pprovals/apr_1/{TOKEN}",
        f"/Approvals/apr_1/{TOKEN}.json",
        f"/approvals%20/apr_1/{TOKEN}",
        f"/shop/approvals/apr_1/{TOKEN}",
        f"http://elsewhere/approvals/apr_1/{TOKEN}?d=yes",
        f"/approvals/apr_1?token={TOKEN}",
    )
]


@pytest.mark.parametrize("clauses", ["", "    errors with shaped\n"])
@pytest.mark.parametrize("routes", ["GET /", "GET /approvals/:id/:token/:more"])
def test_no_answer_repeats_the_token_of_a_link(clauses: str, routes: str) -> None:
    source = "task shaped(status, message, req)\n    log message\n    give {'m': message}\n".replace("'", '"')
    app = Served(f'require serve(8080)\n{source}serve on 8080\n{clauses}    route "{routes}"\n        give 1\n')
    for method, target in FALLING_THROUGH:
        reply = app(method, target, json.dumps({"token": TOKEN}))
        assert TOKEN not in reply.body.decode() and TOKEN not in repr(reply.headers), (method, target)
    assert not any(TOKEN in line for line in app.host.lines + app.host.errors)
    assert json.loads(app("POST", "/x/y").body)["m" if clauses else "error"] == "no route for POST /x/y"
    if not clauses:
        assert json.loads(app("POST", f"/approvals/apr_1/{TOKEN}").body)["error"] in (
            "no route for POST /approvals/…",
            "method not allowed",
        )


@pytest.mark.parametrize("secret", [None, "s"])
def test_nor_does_that_of_a_runner(room: Room, secret: str | None) -> None:
    control = ControlApplication(room.queue, secret)
    for method, target in FALLING_THROUGH:
        reply = control.respond(made(method, target, json.dumps({"token": TOKEN})))
        assert TOKEN not in reply.body.decode() and TOKEN not in repr(reply.headers)


@pytest.mark.parametrize(("query", "how"), [("d=yes", "approved"), ("d=no", "denied")])
def test_who_comes_late_with_the_right_link_reads_how_it_was_decided(room: Room, query: str, how: str) -> None:
    asked, token = room.ask(approve("Pay 5 EUR?"))
    path = f"/approvals/{asked.id}/{token}"
    assert room.get(path, query).status == 200
    asked.value()
    form = urlencode({"token": token, "decision": "true"}).encode()
    for late in (room.get(path, ""), room.get(path, "d=yes"), room.get(path, "d=no"), room.post(asked.id, form)):
        page = safe_page(late)
        assert late.status == 404 and title_of(late) == "Not found"
        assert f"already {how} on <time" in page and "Pay 5 EUR?" not in page and token not in page


def test_a_stranger_does_not_learn_that_it_was_decided(room: Room) -> None:
    asked, token = room.ask(approve())
    room.get(f"/approvals/{asked.id}/{token}", "d=yes")
    asked.value()
    for other in (WRONG, token[:-1], token + "0", "x"):
        form = urlencode({"token": other, "decision": "true"}).encode()
        for late in (room.get(f"/approvals/{asked.id}/{other}", ""), room.post(asked.id, form)):
            assert late.status == 404 and "was already" not in safe_page(late)
    assert "was already" not in safe_page(room.get(f"/approvals/interact_9-x/{token}", ""))
