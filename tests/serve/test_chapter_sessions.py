"""Who is let in: tokens, cookies, sessions as the manual writes them (5.9 to 5.11, 7.8)."""

from __future__ import annotations

import json
import re

import pytest

from language.serve.reply import Reply
from tests.serve.served import Served, header, request, streamed

SESSIONS = """
require serve(8080)
require random
require db(":memory:")
db_open(":memory:")
sql_exec("CREATE TABLE IF NOT EXISTS sessions (sid TEXT PRIMARY KEY, user TEXT)")
task check(bearer_token, req)
    when "sid" not in req.cookies
        give nothing
    let rows be sql("SELECT user FROM sessions WHERE sid = ?", [req.cookies.sid])
    when length(rows) == 0
        give nothing
    give {"name": rows[0].user}
serve on 8080
    auth with check
    route "POST /login"
        expect body {user: text}
        let sid be token()
        sql_exec("INSERT INTO sessions VALUES (?, ?)", [sid, request.json.user])
        give set_cookie(ok({"ok": true}), "sid", sid, {"max_age": 3600, "secure": false})
    route "GET /me" requires auth
        give {"name": request.user.name}
    route "POST /logout"
        give clear_cookie(ok({"ok": true}), "sid")
"""


def body(reply: Reply) -> object:
    return json.loads(reply.body)


def test_the_sessions_of_the_manual() -> None:
    app = Served(SESSIONS)
    login = app("POST", "/login", '{"user": "ana"}')
    assert (login.status, body(login)) == (200, {"ok": True})
    (cookie,) = header(login, "Set-Cookie")
    found = re.fullmatch(r"sid=([A-Za-z0-9_-]{43}); Max-Age=3600; Path=/; HttpOnly; SameSite=Lax", cookie)
    assert found is not None
    assert app("GET", "/me").status == 401
    assert body(app("GET", "/me", cookie=f"sid={found[1]}")) == {"name": "ana"}
    # What another host of the domain tosses in stands behind the cookie of the longest path.
    assert body(app("GET", "/me", cookie=f"sid={found[1]}; sid=evil")) == {"name": "ana"}
    for wrong in (f"sid={found[1]}x", "sid=", "sid", f"SID={found[1]}", f"sid='{found[1]}'", f"sid={found[1]} OR 1=1"):
        assert app("GET", "/me", cookie=wrong).status == 401
    assert header(app("POST", "/logout"), "Set-Cookie") == ["sid=; Max-Age=0; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Path=/"]


TOKENS = """
require serve(8080)
task who(token)
    when token == "nothing"
        give nothing
    when token == "false"
        give false
    when token == "map"
        give {}
    when token == "zero"
        give 0
    when token == "empty"
        give ""
    when token != "none"
        give "<" + token + ">"
serve on 8080
    auth with who
    route "GET /" requires auth
        give [request.user]
"""


@pytest.mark.parametrize(
    ("authorization", "user"),
    [
        ("Bearer false", False),
        ("Bearer map", {}),
        ("Bearer zero", 0),
        ("Bearer empty", ""),
        ("BEARER   a b ", "<a b>"),
        ("bearer", "<>"),
        ("Bearer\ta", "<Bearer\ta>"),
        ("Basic YTpi", "<Basic YTpi>"),
        ("token", "<token>"),
        ("", "<>"),
        (None, "<>"),
    ],
)
def test_tokens_and_users(authorization: str | None, user: object) -> None:
    fields = {} if authorization is None else {"authorization": authorization}
    assert body(Served(TOKENS)("GET", "/", **fields)) == {"items": [user], "count": 1, "total": 1, "cursor": None}


@pytest.mark.parametrize("token", ["nothing", "none"])
def test_who_is_nothing_is_nobody(token: str) -> None:
    reply = Served(TOKENS)("GET", "/", authorization=f"Bearer {token}")
    assert (reply.status, body(reply)) == (401, {"error": "unauthorized", "status": 401})


ORDER = """
require serve(8080)
task who(token, req)
    state_incr("asked")
    when token == "k"
        give {"sub": "ann", "saw": req.user, "keys": length(keys(req))}
serve on 8080
    auth with who
    rate_limit 3 per hour
    route "POST /a" requires auth
        expect body {n: number}
        give request.user
    route "POST /asked"
        rate_limit none
        give state_get("asked", 0)
    route "GET /open"
        rate_limit none
        give request.user
"""


def test_the_limit_comes_first_then_the_json_then_the_door_then_the_body() -> None:
    app = Served(ORDER)
    malformed = app("POST", "/a", "{", content_type="application/json")
    assert (malformed.status, body(app("POST", "/asked"))) == (400, 0)
    assert (app("POST", "/a", '{"n": "x"}').status, body(app("POST", "/asked"))) == (401, 1)
    refused = app("POST", "/a", '{"n": "x"}', authorization="Bearer k")
    assert (refused.status, body(refused)) == (
        400,
        {"error": "field 'n' must be number, got text", "status": 400, "field": "n"},
    )
    limited = app("POST", "/a", "{", content_type="application/json", authorization="Bearer k")
    assert (limited.status, body(app("POST", "/asked"))) == (429, 2)
    elsewhere = request("POST", "/a", '{"n": 1}', address="10.1.1.1", authorization="Bearer k")
    assert body(app.application.respond(elsewhere)) == {"sub": "ann", "saw": None, "keys": 12}
    assert body(app("GET", "/open")) is None


SCHEME = """
require serve(8080)
serve on 8080
    route "GET /"
        give set_cookie("x", "a", "b")
    route "GET /none"
        give set_cookie("x", "a", "b", {"same_site": "none"})
"""


def test_a_cookie_is_secure_where_the_client_is() -> None:
    app = Served(SCHEME)
    plain = request("GET", "/")
    safe = request("GET", "/")
    safe.secure = True
    assert header(app.application.respond(plain), "Set-Cookie") == ["a=b; Path=/; HttpOnly; SameSite=Lax"]
    assert header(app.application.respond(safe), "Set-Cookie") == ["a=b; Path=/; Secure; HttpOnly; SameSite=Lax"]
    assert header(app("GET", "/none"), "Set-Cookie") == ["a=b; Path=/; Secure; HttpOnly; SameSite=None"]
    # Nobody but a trusted proxy says so, and that is decided before the application.
    assert header(app("GET", "/", x_forwarded_proto="https"), "Set-Cookie") == ["a=b; Path=/; HttpOnly; SameSite=Lax"]


SECURE = """
require serve(8080)
task shaped(status, message, req)
    when status == 500
        give {"seen": message}
    give nothing
serve on 8080
    errors with shaped
    route "GET /boom"
        raise "the password is tiger"
    route "GET /stream"
        stream
            send 1
            raise "the password is tiger"
    route "GET /give"
        give fail(150, "the password is tiger")
"""


def test_a_secure_server_tells_nobody_but_the_log() -> None:
    app = Served(SECURE, secure=True)
    assert body(app("GET", "/boom")) == {"seen": "internal server error"}
    assert streamed(app("GET", "/stream")) == 'data: 1\n\nevent: error\ndata: {"error": "internal server error"}\n\n'
    assert body(app("GET", "/give")) == {"seen": "internal server error"}
    assert len(app.host.errors) == 3 and sum("the password is tiger" in line for line in app.host.errors) == 2
