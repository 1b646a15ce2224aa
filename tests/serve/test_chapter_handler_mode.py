"""Handler mode, where paths and fields are texts of the host and nothing is thrown (7.14)."""

from __future__ import annotations

import json
from typing import Any

import pytest

import language

PROGRAM = """
require serve(8080)
let n be 0
task who(token, req)
    when token == "boom"
        raise "who?"
    when token == "k"
        give {"id": req.ip}
task shaped(status, message, req)
    when status == 404
        give html("<p>" + message + "</p>")
    raise "not shaped"
serve on 8080
    auth with who
    rate_limit 1 per hour
    max_body 5
    max_streams 1
    cors "*"
    timeout 1
    errors with shaped
    route "GET /f/:id"
        give {"id": params.id, "path": request.path, "q": query, "x": get(request.headers, "x")}
    route "GET /ü/*rest"
        give params.rest
    route "POST /echo"
        give read_body_bytes()
    route "GET /n"
        set n to n + 1
        print("hi")
        log "lo"
        give {"n": n, "s": state_incr("s")}
    route "GET /me" requires auth
        give request.user
    route "GET /stream" requires auth
        stream
            send 1
    route "GET /loop"
        while true
            set n to n + 1
    route "GET /chatter"
        while true
            print("what nobody wants to read, again and again, until somebody puts an end to it")
    route "GET /exit"
        exit(3)
    route "GET /cookie"
        give set_cookie("x", "a", "b")
"""


@pytest.fixture(scope="module")
def program() -> language.Program:
    return language.Program(PROGRAM, limits={"time_ms": 1000, "output_bytes": 100_000})


def handle(program: language.Program, path: str = "/", **parts: Any) -> dict[str, Any]:
    return program.handle({"path": path, **parts})


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("/f/é", {"id": "é", "path": "/f/é", "q": {}, "x": None}),
        ("/f/日本?q=日+%E6%97%A5", {"id": "日本", "path": "/f/日本", "q": {"q": "日 日"}, "x": None}),
        ("/f/%E6%97%A5é%FF", {"id": "日é\ufffd", "path": "/f/%E6%97%A5é%FF", "q": {}, "x": None}),
        ("/ü/é/日", "é/日"),
        ("f/a", {"id": "a", "path": "/f/a", "q": {}, "x": None}),
        ("http://elsewhere/f/a?b=1#c", {"id": "a", "path": "/f/a", "q": {"b": "1"}, "x": None}),
    ],
)
def test_paths_are_texts(program: language.Program, path: str, answer: object) -> None:
    reply = handle(program, path)
    assert (reply["status"], json.loads(reply["body"])) == (200, answer)


def test_half_a_pair_of_surrogates_is_no_text(program: language.Program) -> None:
    reply = handle(program, "/f/a", headers={"x": "a\ud800b"})
    assert json.loads(reply["body"])["x"] == "a?b"


def test_fields_are_a_mapping_or_pairs(program: language.Program) -> None:
    for headers in ({"X": "é"}, [["x", "first"], ["X", " é\t"]]):
        assert json.loads(handle(program, "/f/a", headers=headers)["body"])["x"] == "é"


@pytest.mark.parametrize(
    ("parts", "error"),
    [
        ({"path": 5}, "request: `path` must be text, not int"),
        ({"headers": 5}, "request: `headers` must be an object or a list of [name, value] pairs of text"),
        ({"headers": [["a"]]}, "request: `headers` must be an object or a list of [name, value] pairs of text"),
        ({"headers": {"a": 1}}, "request: `headers` must be an object or a list of [name, value] pairs of text"),
        ({"body_base64": "*"}, "request: `body_base64` is not Base64"),
    ],
)
def test_requests_that_are_none(program: language.Program, parts: dict[str, Any], error: str) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        program.handle(parts)
    assert str(caught.value) == error
    answer = json.loads(language.call_json(json.dumps({"op": "handle", "source": PROGRAM, "request": parts})))
    assert (answer["status"], answer["errors"]) == (500, [error])


def test_bodies_of_any_size_and_kind(program: language.Program) -> None:
    assert handle(program, "/echo", method="post", body="x" * 5000)["body"] == "x" * 5000
    answer = handle(program, "/echo", method="POST", body_base64="/w==")
    assert answer["body_base64"] == "/w==" and answer["body"] == "" and answer["content_type"] == "application/octet-stream"


def test_nothing_is_left_of_a_request_but_the_shared_state(program: language.Program) -> None:
    first, second = (handle(program, "/n") for _ in range(2))
    assert first["log"] == second["log"] == ["hi", "[LOG] lo"]
    one, two = json.loads(first["body"]), json.loads(second["body"])
    assert (one["n"], two["n"], two["s"] - one["s"]) == (1, 1, 1)


@pytest.mark.parametrize(("path", "limit"), [("/loop", "time_ms"), ("/chatter", "output_bytes")])
def test_a_limit_ends_one_request_and_no_other(program: language.Program, path: str, limit: str) -> None:
    answer = handle(program, path)
    assert (answer["status"], answer["limit"]) == (503, limit)
    assert f"Limit exceeded: {limit}" in answer["body"]
    after = handle(program, "/n")
    assert (after["status"], json.loads(after["body"])["n"], "limit" in after) == (200, 1, False)


def test_people_are_let_in_as_ever(program: language.Program) -> None:
    assert handle(program, "/me", headers={"Authorization": "Bearer k"}, ip="9.9.9.9")["body"] == '{"id": "9.9.9.9"}'
    refused = handle(program, "/me", headers={"Authorization": "boom"})
    assert refused["status"] == 401 and refused["body"] == '{"error": "unauthorized", "status": 401}'
    assert [line.partition(":")[0] for line in refused["log"]] == [
        "[handler] 401 Runtime error",
        "[handler] errors task failed",
    ]


def test_a_stream_is_refused_behind_the_door(program: language.Program) -> None:
    assert handle(program, "/stream")["status"] == 401
    assert handle(program, "/stream", headers={"Authorization": "k"})["status"] == 501


def test_what_only_a_server_has_is_not_there(program: language.Program) -> None:
    for path in ("/robots.txt", "/llms.txt", "/approvals", "/openapi.json", "/docs"):
        assert handle(program, path)["body"] == f"<p>no route for GET {path}</p>"
    answers = [handle(program, "/f/a") for _ in range(3)]
    assert [(answer["status"], answer["headers"]) for answer in answers] == [(200, [])] * 3
    answer = handle(program, "/n", method="OPTIONS")
    assert (answer["status"], answer["headers"]) == (405, [["Allow", "GET"]])


def test_head_is_answered_as_get_without_the_body(program: language.Program) -> None:
    for path in ("/f/a", "/nowhere", "/stream"):
        whole, head = handle(program, path), handle(program, path, method="HEAD")
        assert (head["status"], head["content_type"]) == (whole["status"], whole["content_type"])
        assert ["Content-Length", str(len(whole["body"]))] in head["headers"]
        assert head["body"] == ""
    assert handle(program, "/echo", method="HEAD")["status"] == 405


def test_the_program_cannot_end_its_host(program: language.Program) -> None:
    answer = handle(program, "/exit")
    assert answer["status"] == 500 and "exit()" in answer["log"][0]
    assert handle(program, "/f/a")["status"] == 200


def test_cookies_are_secure_where_nothing_is_known(program: language.Program) -> None:
    assert handle(program, "/cookie")["headers"] == [["Set-Cookie", "a=b; Path=/; Secure; HttpOnly; SameSite=Lax"]]


BLOCK = 'serve on 8080\n    route "GET /x"\n        give 1\n'


@pytest.mark.parametrize(
    ("program", "errors"),
    [
        (f'print("a")\nlog "b"\nraise "no"\n{BLOCK}', ["Runtime error: app.lang:4:1: no", "a", "[LOG] b"]),
        ("let x be\n", ["Parse error: app.lang:2:9: expected a value after `be`, found the end of the line"]),
        ('print("a")\n', ["handle: the program has no `serve` block — nothing to route the request to", "a"]),
    ],
)
def test_why_a_program_cannot_answer(program: str, errors: list[str]) -> None:
    """The cause, and behind it what the top level had printed by then."""
    first, *printed = errors
    prepared = language.Program(f"require serve(8080)\n{program}", filename="app.lang")
    for _ in range(2):
        reply = prepared.handle({"path": "/x"})
        assert reply["status"] == 500 and reply["log"] == []
        assert json.loads(reply["body"]) == {"error": "the program could not be prepared (see errors)", "status": 500}
        assert reply["errors"] == [first, *(f"[top-level output] {line}" for line in printed)]


def test_prints_of_the_top_level_come_with_the_first_reply() -> None:
    program = language.Program(f'require serve(8080)\nprint("a")\n{BLOCK}')
    replies = [program.handle({"path": "/x"}) for _ in range(2)]
    assert [(reply["status"], reply["log"], reply["errors"]) for reply in replies] == [(200, ["a"], []), (200, [], [])]
