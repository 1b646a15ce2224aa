"""What one request can see of another: nothing. And what of a stream is said before it begins (7.4, 7.10, 7.13)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import language
from language.errors import RuntimeFault
from language.serve.reply import Reply, StreamReply
from tests.serve.served import Served, header, streamed

COUNTER = """
let n be 0
export let shared be {"k": [1]}
let hidden be []
export task bump()
    set n to n + 1
    set hidden to append(hidden, n)
    give n
export task seen()
    give {"n": n, "hidden": hidden, "shared": shared}
export task poke()
    set shared.k[0] to 77
"""
MODULES = """
require serve(8080)
use "counter.lang" as c
task who(token)
    c.bump()
    give c.seen()
serve on 8080
    auth with who
    route "GET /mod"
        c.bump()
        c.bump()
        c.poke()
        give {"seen": c.seen(), "alias": c.shared}
    route "GET /use"
        use "counter.lang" as again
        again.bump()
        give again.seen().n
    route "GET /in" requires auth
        give {"auth": request.user.n, "here": c.seen().n}
"""


def body(reply: Reply) -> object:
    return json.loads(reply.body)


def test_a_module_is_as_new_in_every_request_and_one_within_it(tmp_path: Path) -> None:
    (tmp_path / "counter.lang").write_text(COUNTER)
    app = Served(MODULES, tmp_path)
    for _ in range(3):
        assert body(app("GET", "/mod")) == {
            "seen": {"n": 2, "hidden": [1, 2], "shared": {"k": [77]}},
            "alias": {"k": [77]},
        }
        assert body(app("GET", "/use")) == 1
        assert body(app("GET", "/in")) == {"auth": 1, "here": 0}


STREAMS = """
require serve(8080)
serve on 8080
    max_streams 1
    route "POST /checked"
        expect body {n: number}
        stream
            send request.json.n
    route "POST /late"
        stream
            send 1
            expect body {n: number}
    route "GET /nested"
        when true
            stream
                send 1
        give 2
    route "GET /names"
        stream
            send 1 as query.name
    route "GET /headers"
        stream
            send 1
        give set_cookie("x", "a", "b")
    route "GET /around"
        print("before")
        stream
            send [1, 2, 3]
        print("after")
    route "GET /given"
        stream
            send 1
            give 2
        send 3
"""


def test_a_body_that_a_stream_does_not_expect_is_a_400() -> None:
    app = Served(STREAMS)
    refused = app("POST", "/checked", '{"n": "x"}')
    assert refused.status == 400
    assert body(refused) == {"error": "field 'n' must be number, got text", "status": 400, "field": "n"}
    assert streamed(app("POST", "/checked", '{"n": 5}')) == "data: 5\n\n"


def test_a_body_that_is_looked_at_too_late_is_the_error_of_the_stream() -> None:
    assert streamed(Served(STREAMS)("POST", "/late", "{}")) == (
        'data: 1\n\nevent: error\ndata: {"error": "missing field \'n\'"}\n\n'
    )


def test_a_stream_below_the_top_level_is_a_block_like_any_other() -> None:
    reply = Served(STREAMS)("GET", "/nested")
    assert not isinstance(reply, StreamReply) and reply.status == 500
    assert "send can only be used inside a stream route handler" in str(body(reply))


@pytest.mark.parametrize("name", ["a%0Ab", "a%0Db"])
def test_the_name_of_an_event_cannot_begin_another_field(name: str) -> None:
    text = streamed(Served(STREAMS)("GET", f"/names?name={name}"))
    assert text.startswith('event: error\ndata: {"error": ') and text.count("\n") == 3 and "must not contain CR or LF" in text


def test_a_stream_that_has_begun_has_no_headers_any_more() -> None:
    text = streamed(Served(STREAMS)("GET", "/headers"))
    assert text.startswith("data: 1\n\nevent: error\n") and "with_header" in text


def test_statements_around_a_stream_run_in_order() -> None:
    app = Served(STREAMS)
    assert streamed(app("GET", "/around")) == "data: [1, 2, 3]\n\n"
    assert app.host.lines == ["[serve] before", "[serve] after"]
    assert streamed(app("GET", "/given")) == "data: 1\n\n"


def test_head_of_a_stream_opens_none() -> None:
    app = Served(STREAMS)
    for _ in range(3):
        reply = app("HEAD", "/around")
        assert not isinstance(reply, StreamReply)
        assert (reply.status, reply.content_type, reply.body) == (200, "text/event-stream", b"")
        assert header(reply, "Cache-Control") == ["no-cache"]
    assert app.host.lines == []


def test_a_program_that_serves_is_tested_without_a_port() -> None:
    program = language.Program(
        'require serve(8080)\nserve on 8080\n    route "GET /"\n        give 1\ntest "adds"\n    assert_eq(1 + 1, 2)\n'
    )
    assert program.test()["passed"] == 1
    assert "`serve` works only under `lang serve`" in str(program.run()["errors"])


def test_what_is_wrong_in_the_block_is_said_under_test_too() -> None:
    program = language.Program(
        'task who(a, b, c)\n    give 1\nserve on 8080\n    auth with who\n    private\ntest "x"\n    assert(true)\n'
    )
    assert "auth task must take 1 (token) or 2 (token, request) parameters, got 3" in str(program.test())


def test_one_line_tells_of_secrets_in_a_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONE_KEY", "hunter2")
    app = Served(
        'require serve(8080)\nrequire secret("ONE_KEY")\nserve on 8080\n    route "GET /"\n'
        '        let k be secret("ONE_KEY")\n        give {"a": k, "b": [k, "x" + k]}\n'
    )
    assert body(app("GET", "/")) == {"a": "[redacted]", "b": ["[redacted]", "[redacted]"]}
    assert app.host.errors == ["[serve:8080] warning: a secret in a reply was written as [redacted]"]


@pytest.mark.parametrize(
    ("clause", "message"),
    [
        ("max_streams 1.5", "max_streams must be a whole number, got 1.5"),
        ('cors "a\\nb"', "cors must be one origin"),
        ("rate_limit 0 per minute", "rate_limit must be a number of requests of at least 1, got 0"),
        ("timeout -1", "timeout must be a positive number of seconds (or `none`), got -1"),
        ("errors with 5", "errors task must be a task, got number"),
        ("errors with two", "errors task must take 3 parameters (status, message, request), got 2"),
        ('route "GET /x"\n        proxy to "https://h"', "proxy to: only http:// targets, got 'https://h' (route \"GET /x\")"),
    ],
)
def test_what_is_wrong_in_the_table_stops_the_start(clause: str, message: str) -> None:
    with pytest.raises(RuntimeFault) as caught:
        Served(f"require serve(8080)\ntask two(a, b)\n    give 1\nserve on 8080\n    {clause}\n")
    assert message in caught.value.message


def test_soft_words_stay_names() -> None:
    app = Served(
        "require serve(8080)\nlet route be 1\nlet static be 2\nlet per be 3\nlet stream be 4\nlet expect be 5\n"
        "task auth(x)\n    give x + route\nserve on 8080\n"
        '    route "GET /"\n        let timeout be 6\n        let proxy be 7\n'
        "        give auth(static) + per + stream + expect + timeout + proxy\n"
    )
    assert body(app("GET", "/")) == 28
