"""Workers of ``parallel_map`` inside a handler work for the request of the handler (7.4, 7.5, 7.10)."""

from __future__ import annotations

import json
import re

from language.serve.reply import Reply
from tests.serve.served import Served, header, request, streamed

APP = """
require serve(8080)
serve on 8080
    route "GET /cookie"
        let made be parallel_map((x) => set_cookie(ok(x), "sid", "v"), [1, 2])
        give made[1]
    route "POST /facts"
        give parallel_map((x) => [request.ip, read_body(), query.q], [1, 2])
    route "POST /expected"
        task expected(x)
            expect body {qty: number}
            give request.json.qty
        give parallel_map(expected, [1, 2])
    route "GET /send"
        task tell(x)
            send x
            give x
        give parallel_map(tell, [1])
    route "GET /stream"
        stream
            task tell(x)
                send {"n": x} as "step"
                give x
            send parallel_map(tell, range(50), 8)
    route "GET /broken"
        stream
            task tell(x)
                when x == 2
                    raise("boom")
                send x
            parallel_map(tell, [1, 2, 3], 1)
"""


def body(reply: Reply) -> object:
    return json.loads(reply.body)


def test_a_worker_knows_how_the_client_came() -> None:
    app = Served(APP)
    assert header(app("GET", "/cookie"), "Set-Cookie") == ["sid=v; Path=/; HttpOnly; SameSite=Lax"]
    safe = Served(APP, tls=True)
    over_tls = request("GET", "/cookie")
    over_tls.secure = True
    assert header(safe.application.respond(over_tls), "Set-Cookie") == ["sid=v; Path=/; Secure; HttpOnly; SameSite=Lax"]
    # The next request on the same copy of the program is another one.
    assert header(app("GET", "/cookie"), "Set-Cookie") == ["sid=v; Path=/; HttpOnly; SameSite=Lax"]


def test_a_worker_sees_the_request() -> None:
    app = Served(APP)
    for text in ("one", "two"):
        answer = body(app("POST", f"/facts?q={text}", text))
        assert isinstance(answer, dict)
        assert answer["items"] == [["127.0.0.1", text, text]] * 2


def test_a_body_that_a_worker_expects() -> None:
    app = Served(APP)
    fine = body(app("POST", "/expected", '{"qty": 3}'))
    assert isinstance(fine, dict)
    assert fine["items"] == [3, 3]
    refused = app("POST", "/expected", '{"qty": "3"}')
    assert refused.status == 400
    assert body(refused) == {"error": "field 'qty' must be number, got text", "status": 400, "field": "qty"}


def test_workers_send_whole_frames_into_the_stream() -> None:
    text = streamed(Served(APP)("GET", "/stream"))
    frames = text.split("\n\n")
    steps = frames[:50]
    assert all(re.fullmatch(r'event: step\ndata: \{"n": \d+\}', frame) for frame in steps)
    assert sorted(json.loads(frame.partition("data: ")[2])["n"] for frame in steps) == list(range(50))
    assert frames[50:] == [f"data: {json.dumps(list(range(50)))}", ""]


def test_an_error_of_a_worker_ends_the_stream_as_one_of_the_handler_does() -> None:
    text = streamed(Served(APP)("GET", "/broken"))
    assert text.startswith("data: 1\n\nevent: error\ndata: ")
    assert "boom" in text
    assert text.count("data: ") == 2


def test_send_outside_of_a_stream_says_the_same_in_a_worker() -> None:
    reply = Served(APP)("GET", "/send")
    assert reply.status == 500
    assert "send can only be used inside a stream route handler" in str(body(reply))
