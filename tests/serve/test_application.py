"""A served program from request to reply: dispatch, limits, isolation, cancellation, streams (chapter 7)."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from urllib.parse import quote

import pytest

from language.errors import LanguageError, RuntimeFault
from language.serve.reply import ProxyReply, SocketReply, StreamReply
from tests.serve.served import Served, header, request, streamed

PROGRAM = """
require serve(8080)
let hits be 0
let xs be [1, 2]
task who(token)
    when token == "k1"
        give {"id": "ann"}
    when token == "boom"
        raise "no"
    give nothing
serve on 8080
    auth with who
    cors "https://app.example"
    max_body 100
    route "GET /n"
        set hits to hits + 1
        set xs to append(xs, hits)
        give {"hits": hits, "xs": text(xs)}
    route "GET /me" requires auth
        give request.user
    route "GET /boom"
        give 1 / 0
    route "GET /stop"
        stop
    route "GET /exit"
        exit(3)
    route "GET /print"
        print("seen")
        log "noted"
        give nothing
    route "GET /method"
        give {"method": request.method}
    route "POST /form"
        give request.form
    route "GET /send"
        send 1
"""


def body(reply: object) -> object:
    return json.loads(reply.body)  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def app() -> Served:
    return Served(PROGRAM)


def test_head_runs_the_get_route_and_options_never_does(app: Served) -> None:
    assert app("HEAD", "/method").body == b'{"method": "HEAD"}'  # the server leaves the body out and keeps its length
    options = app("OPTIONS", "/n")
    assert (options.status, options.body) == (204, b"")
    assert header(options, "Allow") == ["GET, HEAD, OPTIONS"]
    assert header(options, "Access-Control-Allow-Methods") == ["GET, HEAD, OPTIONS"]
    assert header(options, "Access-Control-Allow-Headers") == ["Content-Type, Authorization"]
    assert header(options, "Access-Control-Max-Age") == ["86400"]
    missing = app("OPTIONS", "/nowhere")
    assert (missing.status, body(missing)) == (404, {"error": "no route for /nowhere", "status": 404})


@pytest.mark.parametrize("target", ["/n", "/nowhere", "/boom", "/me"])
def test_every_reply_carries_the_cors_header(app: Served, target: str) -> None:
    assert header(app("GET", target), "Access-Control-Allow-Origin") == ["https://app.example"]
    assert header(app.application.too_large(request("POST", target)), "Access-Control-Allow-Origin") == ["https://app.example"]


def test_a_client_cannot_forge_lines_of_the_console() -> None:
    app = Served(
        """
require serve(8080)
task who(token)
    raise token
task shaped(status, message, request)
    raise get(request.query, "m", message)
serve on 8080
    auth with who
    errors with shaped
    route "GET /raise"
        raise query.m
    route "GET /in" requires auth
        give 1
"""
    )
    forged = "x\n[lang] approval pending interact_9\r\x1b[2K\u202e"
    app("GET", f"/raise?m={quote(forged)}")
    app("GET", "/in", authorization=f"Bearer {forged}")
    app("GET", f"/none?m={quote(forged)}")
    assert len(app.host.errors) >= 4
    for line in app.host.errors:
        assert line.startswith("[serve")
        assert line.isprintable()


def test_over_tls_every_reply_asks_to_be_kept_to_it() -> None:
    source = """
require serve(8080)
serve on 8080
    route "GET /"
        give "here"
"""
    app, plain = Served(source, tls=True), Served(source)
    requests = [("GET", "/"), ("GET", "/none"), ("OPTIONS", "/"), ("GET", "/approvals"), ("POST", "/approvals/x")]
    for method, path in requests:
        assert header(app(method, path), "Strict-Transport-Security") == ["max-age=31536000; includeSubDomains"]
        assert header(plain(method, path), "Strict-Transport-Security") == []
    reply = app.application.too_large(request("POST", "/approvals/x"))
    assert header(reply, "Strict-Transport-Security") == ["max-age=31536000; includeSubDomains"]


def test_a_request_leaves_nothing_behind(app: Served) -> None:
    for _ in range(3):
        assert body(app("GET", "/n")) == {"hits": 1, "xs": "[1, 2, 1]"}


def test_requests_at_the_same_time_do_not_see_each_other() -> None:
    app = Served(
        'require serve(8080)\nlet n be 0\nserve on 8080\n    route "GET /:k"\n        set n to params.k\n'
        "        sleep(0.01)\n        give n\n"
    )
    wrong: list[object] = []

    def ask(key: str) -> None:
        for _ in range(20):
            answer = body(app("GET", f"/{key}"))
            if answer != key:
                wrong.append(answer)

    threads = [threading.Thread(target=ask, args=(str(n),)) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_authentication(app: Served) -> None:
    assert body(app("GET", "/me", authorization="Bearer k1")) == {"id": "ann"}
    assert body(app("GET", "/me", authorization="bEARER  k1 ")) == {"id": "ann"}
    assert body(app("GET", "/me", authorization="k1")) == {"id": "ann"}
    for token in ("Bearer k2", "Basic k1", ""):
        assert app("GET", "/me", authorization=token).status == 401
    assert body(app("GET", "/me")) == {"error": "unauthorized", "status": 401}
    before = len(app.host.errors)
    assert app("GET", "/me", authorization="Bearer boom").status == 401
    assert "no" in app.host.errors[before]


def test_an_auth_task_defined_after_the_block_lets_nobody_in() -> None:
    app = Served(
        'require serve(8080)\nserve on 8080\n    auth with who\n    route "GET /" requires auth\n        give 1\n'
        "task who(t)\n    give true\n"
    )
    assert app("GET", "/", authorization="Bearer x").status == 401


def test_errors_of_handlers(app: Served) -> None:
    reply = app("GET", "/boom")
    assert (reply.status, reply.content_type) == (500, "application/json")
    assert "Division by zero" in str(body(reply)) and "app.lang:22" in str(body(reply))
    assert "'give'/'stop' used outside of a task or loop" in str(body(app("GET", "/stop")))
    assert "exit" in str(body(app("GET", "/exit")))
    assert "send can only be used inside a stream route handler" in str(body(app("GET", "/send")))
    assert any(line.startswith("[serve:8080] 500 Runtime error: app.lang:22") for line in app.host.errors)


PROXIED = """
require serve(8080)
require net("127.0.0.1")
serve on 8080
    route "GET /"
        proxy to "http://127.0.0.1:9"
"""


def test_a_secure_server_does_not_tell_why() -> None:
    app = Served(PROGRAM, secure=True)
    assert body(app("GET", "/boom")) == {"error": "internal server error", "status": 500}
    assert any("Division by zero" in line for line in app.host.errors)


def test_a_secure_server_does_not_tell_what_the_server_behind_it_is() -> None:
    app = Served(PROXIED, secure=True)
    reply = app("GET", "/")
    assert isinstance(reply, ProxyReply)
    assert body(reply.failed("cannot connect to 10.1.2.3:9")) == {"error": "bad gateway", "status": 502}
    assert app.host.errors == ["[serve:8080] 502 cannot connect to 10.1.2.3:9"]


def test_lines_of_handlers_are_told_apart(app: Served) -> None:
    assert app("GET", "/print").body == b"null"
    assert app.host.lines[-1] == "[serve] seen"
    assert app.host.errors[-1] == "[serve] [LOG] noted"


def test_a_form_that_is_none_is_the_clients_fault(app: Served) -> None:
    reply = app("POST", "/form", b"--x\r\nbroken", content_type="multipart/form-data; boundary=x")
    assert reply.status == 400


def test_bounds_of_bodies(app: Served) -> None:
    assert app.application.body_limit(request("POST", "/form")) == 100
    assert app.application.body_limit(request("POST", "/approvals/x")) == 65536
    reply = app.application.too_large(request("POST", "/form"))
    assert (reply.status, reply.closes, body(reply)) == (413, True, {"error": "payload too large", "status": 413})


# ---- limits ------------------------------------------------------------------------------------------------------------


LIMITED = """
require serve(8080)
task who(token)
    give token
serve on 8080
    auth with who
    rate_limit 3 per hour
    route "GET /a"
        give 1
    route "GET /b"
        give 2
    route "GET /own"
        rate_limit 1 per minute
        give 3
    route "GET /free"
        rate_limit none
        give 4
    route "GET /me" requires auth
        give request.user
"""


def test_one_bucket_an_address_for_the_routes_that_inherit_it() -> None:
    app = Served(LIMITED)
    first = app("GET", "/a")
    assert header(first, "RateLimit-Limit") == ["3"] and header(first, "RateLimit-Remaining") == ["2"]
    assert [app("GET", path).status for path in ("/b", "/a", "/b", "/a")] == [200, 200, 429, 429]
    refused = app("GET", "/a")
    assert body(refused) == {"error": "rate limit exceeded", "status": 429}
    assert header(refused, "RateLimit-Remaining") == ["0"] and int(header(refused, "Retry-After")[0]) > 1000
    assert [app("GET", "/own").status for _ in range(2)] == [200, 429]
    free = app("GET", "/free")
    assert free.status == 200 and not header(free, "RateLimit-Limit")
    other = app.application.respond(request("GET", "/a", address="10.0.0.9"))
    assert other.status == 200


def test_an_identity_is_limited_wherever_it_comes_from() -> None:
    app = Served(LIMITED)
    statuses = [
        app.application.respond(request("GET", "/me", address=f"10.0.0.{n}", authorization="Bearer ann")).status
        for n in range(5)
    ]
    assert statuses == [200, 200, 200, 429, 429]


# ---- cancellation ------------------------------------------------------------------------------------------------------


SLOW = """
require serve(8080)
serve on 8080
    timeout 0.3
    route "GET /loop"
        while true
            try
                let x be 1
            recover e
                let x be 2
    route "GET /sleep"
        sleep(30)
        give 1
    route "GET /gate"
        let ok be approve "Go?" within 60s
        give ok
    route "GET /long"
        timeout none
        sleep(0.6)
        give "done"
    route "GET /quick"
        give 1
"""


@pytest.mark.parametrize("path", ["/loop", "/sleep", "/gate"])
def test_a_handler_over_its_time_is_cancelled_whatever_it_does(path: str) -> None:
    app = Served(SLOW)
    began = time.monotonic()
    reply = app("GET", path)
    assert time.monotonic() - began < 3
    assert (reply.status, reply.closes) == (504, True)
    assert body(reply) == {"error": "gateway timeout: the handler exceeded 0.3s", "status": 504}
    assert app.gates.pending() == []
    assert app("GET", "/quick").status == 200


def test_a_route_may_take_its_time() -> None:
    assert Served(SLOW)("GET", "/long").body == b'"done"'


def test_stopping_cancels_what_still_runs() -> None:
    app = Served(SLOW.replace("timeout 0.3", "timeout none"))
    replies: list[int] = []
    thread = threading.Thread(target=lambda: replies.append(app("GET", "/sleep").status))
    thread.start()
    while app.application.in_flight == 0:
        time.sleep(0.01)
    app.application.begin_shutdown()
    app.application.cancel_all()
    thread.join(5)
    assert replies == [503]


# ---- streams, sockets, proxies -----------------------------------------------------------------------------------------


STREAMS = """
require serve(8080)
require net("127.0.0.1:9")
serve on 8080
    max_streams 1
    route "GET /s"
        let n be 1
        stream
            send {"n": n}
            send [1, 2] as "pair"
            raise "boom"
    route "GET /endless"
        stream
            while true
                send "tick"
    route "GET /fine"
        stream
            send 1
            give 5
    route "GET /socket"
        socket
            give 1
    route "GET /p"
        proxy to "http://127.0.0.1:9/base/"
    route "GET /late"
        when true
            proxy to "http://127.0.0.1:9/"
"""


def test_events() -> None:
    app = Served(STREAMS)
    reply = app("GET", "/s")
    assert isinstance(reply, StreamReply) and (reply.status, reply.content_type) == (200, "text/event-stream")
    assert header(reply, "Cache-Control") == ["no-cache"] and header(reply, "X-Accel-Buffering") == ["no"]
    text = streamed(reply)
    assert text.startswith('data: {"n": 1}\n\nevent: pair\ndata: [1, 2]\n\nevent: error\ndata: {"error": "')
    assert "boom" in text and text.endswith('"}\n\n')
    assert streamed(app("GET", "/fine")) == "data: 1\n\n"


def test_a_client_that_left_ends_the_handler_in_silence() -> None:
    app = Served(STREAMS)
    assert streamed(app("GET", "/endless"), limit=3) == 'data: "tick"\n\n' * 3
    assert app.host.errors == [] and app.application.in_flight == 0


def test_only_so_many_streams_at_once() -> None:
    app = Served(STREAMS)
    open_one = app("GET", "/fine")
    refused = app("GET", "/fine")
    assert (refused.status, header(refused, "Retry-After")) == (503, ["5"])
    assert body(refused) == {"error": "too many concurrent streams", "status": 503}
    streamed(open_one)
    assert isinstance(app("GET", "/fine"), StreamReply)


def test_stopping_tells_streams() -> None:
    app = Served(STREAMS)
    texts: list[str] = []
    reply = app("GET", "/endless")
    thread = threading.Thread(target=lambda: texts.append(streamed(reply)))
    thread.start()
    while app.application.in_flight == 0:
        time.sleep(0.01)
    app.application.begin_shutdown()
    thread.join(5)
    assert texts[0].endswith('event: error\ndata: {"error": "cancelled: server shutting down"}\n\n')


def test_sockets_want_an_upgrade() -> None:
    app = Served(STREAMS)
    reply = app("GET", "/socket")
    assert (reply.status, header(reply, "Upgrade")) == (426, ["websocket"])
    assert isinstance(app("GET", "/socket", upgrade="websocket", connection="Upgrade"), SocketReply)


def test_proxies() -> None:
    app = Served(STREAMS)
    reply = app("GET", "/p")
    assert isinstance(reply, ProxyReply) and (reply.host, reply.port, reply.base) == ("127.0.0.1", 9, "/base")
    assert body(reply.failed("no")) == {"error": "proxy error: no", "status": 502}
    reply.ended()
    late = app("GET", "/late")
    assert isinstance(late, ProxyReply) and (late.host, late.port, late.base) == ("127.0.0.1", 9, "")


SENT_ON = """
require serve(8080)
require net("*.internal")
task send_away()
    proxy to "http://a.internal/"
serve on 8080
    route "GET /users/:id"
        when params.id == "0"
            give not_found("nobody")
        each region in ["eu", "us"]
            when starts_with(params.id, region)
                proxy to "http://" + region + ".internal:81/users/"
        let path be "/other/" + params.id
        proxy to `http://b.internal{path}`
    route "GET /only/:name"
        proxy to "http://" + params.name + ".internal/x"
    route "GET /wrong"
        let target be "ftp://a.internal/"
        proxy to target
    route "GET /forbidden"
        print("before")
        proxy to "http://elsewhere.example/"
    route "GET /task"
        send_away()
    route "OPTIONS /own"
        give {"mine": true}
    route "GET /own"
        give 1
    route "GET /automatic"
        give 1
"""


def test_a_route_sends_on_after_what_it_computed() -> None:
    app = Served(SENT_ON)

    def target(path: str) -> tuple[str, int, str]:
        reply = app("GET", path)
        assert isinstance(reply, ProxyReply), body(reply)
        return reply.host, reply.port, reply.base

    assert app("GET", "/users/0").status == 404
    assert target("/users/us7") == ("us.internal", 81, "/users")
    assert target("/users/7") == ("b.internal", 80, "/other/7")
    assert target("/only/eu") == ("eu.internal", 80, "/x")


def test_what_a_route_cannot_send_on_is_an_error_of_the_request() -> None:
    app = Served(SENT_ON)
    for path, why in (
        ("/wrong", "proxy to: only http:// targets, got 'ftp://a.internal/'"),
        ("/forbidden", "Capability not granted: net"),
        ("/task", "proxy is only available inside a serve route"),
        ("/only/a%20b", "proxy to: the target must not hold blanks or control characters"),
    ):
        reply = app("GET", path)
        assert reply.status == 500
        assert why in str(body(reply))
    assert app("GET", "/own").status == 200


def test_a_websocket_of_another_site_is_not_sent_on() -> None:
    app = Served(SENT_ON)
    upgrade = {"upgrade": "websocket", "host": "front.example"}
    assert app("GET", "/users/7", **upgrade, origin="http://evil.example").status == 403
    assert isinstance(app("GET", "/users/7", **upgrade, origin="http://front.example"), ProxyReply)


def test_a_declared_options_route_answers_in_the_place_of_the_automatic_one() -> None:
    app = Served(SENT_ON)
    own = app("OPTIONS", "/own")
    assert (own.status, body(own)) == (200, {"mine": True})
    automatic = app("OPTIONS", "/automatic")
    assert (automatic.status, header(automatic, "Allow")) == (204, ["GET, HEAD, OPTIONS"])


# ---- capabilities ------------------------------------------------------------------------------------------------------


def test_a_grant_of_a_handler_ends_with_the_request() -> None:
    app = Served(
        'require serve(8080)\nserve on 8080\n    route "GET /with"\n        require env("HOME")\n'
        '        give length(env("HOME")) > 0\n    route "GET /without"\n        give env("HOME")\n'
    )
    assert app("GET", "/without").status == 500
    assert app("GET", "/with").body == b"true"
    assert app("GET", "/without").status == 500


@pytest.mark.parametrize(
    ("clauses", "message"),
    [
        ('route "GET /"\n        give 1', "Capability not granted: serve"),
        ('bind "x"\n    route "GET /"\n        proxy to "http://h/"', "Capability not granted: net"),
    ],
)
def test_the_port_and_the_targets_are_asked_for(clauses: str, message: str) -> None:
    requires = "require serve(8080)\n" if "proxy" in clauses else ""
    with pytest.raises(RuntimeFault, match=message):
        Served(f"{requires}serve on 8080\n    {clauses}\n")


# ---- hosts, groups, health ---------------------------------------------------------------------------------------------


def test_hosts_are_apart() -> None:
    app = Served(
        'require serve(8080)\nserve on 8080\n    route "GET /"\n        give "default"\n'
        '    host "api.x.com"\n        route "GET /"\n            give "exact"\n'
        '    host "*.x.com"\n        route "GET /"\n            give "wild"\n'
    )
    answers = {host: body(app("GET", "/", host=host)) for host in ("API.x.com:80", "x.com", "a.b.x.com", "yx.com", "")}
    assert answers == {"API.x.com:80": "exact", "x.com": "wild", "a.b.x.com": "wild", "yx.com": "default", "": "default"}


GROUP = """
let secret_of be 7
task hidden()
    give secret_of
export routes shop
    route "GET /"
        give hidden()
    route "GET /:id"
        rate_limit 1 per hour
        set secret_of to secret_of + 1
        give {"id": params.id, "n": secret_of}
"""


def test_groups_of_routes(tmp_path: Path) -> None:
    (tmp_path / "shop.lang").write_text(GROUP)
    app = Served(
        'require serve(8080)\nuse "shop.lang" as shop\nserve on 8080\n'
        '    mount shop.shop at "/p/"\n    mount shop.shop at "/q"\n',
        tmp_path,
    )
    assert app.block.routes == 4
    assert body(app("GET", "/p")) == 7
    assert body(app("GET", "/q/x")) == {"id": "x", "n": 8}
    assert app("GET", "/q/x").status == 429
    assert body(app("GET", "/p/x")) == {"id": "x", "n": 8}


@pytest.mark.parametrize(
    ("mount", "message"),
    [
        ("mount [1]", "mount expects a routes group (a module's `export routes ...`), got list"),
        ("mount shop", "mount expects a routes group (a module's `export routes ...`), the value has no routes"),
        ('mount shop.shop at "v2"', "mount prefix must start with '/', got 'v2'"),
    ],
)
def test_what_cannot_be_mounted(tmp_path: Path, mount: str, message: str) -> None:
    (tmp_path / "shop.lang").write_text(GROUP)
    with pytest.raises(LanguageError) as caught:
        Served(f'require serve(8080)\nuse "shop.lang" as shop\nserve on 8080\n    {mount}\n', tmp_path)
    assert caught.value.message == message


def test_the_health_check_comes_first() -> None:
    app = Served(PROGRAM, health="/n")
    assert app("GET", "/n").status == 200 and app("GET", "/n").body != b'{"hits": 1, "xs": "[1, 2, 1]"}'


@pytest.mark.parametrize(("port", "message"), [('"x"', "got x"), ("nothing", "got nothing"), ("99999", "got 99999")])
def test_ports(port: str, message: str) -> None:
    with pytest.raises(RuntimeFault, match=f"serve port must be a number.*{message}"):
        Served(f"serve on {port}\n    private\n")
    assert Served('require serve(8080)\nserve on "8080"\n    private\n').block.port == 8080


def test_a_paged_query_that_a_route_gives_reads_one_page() -> None:
    app = Served(
        'require serve(8080)\nrequire db(":memory:")\ndb_open(":memory:")\nsql_exec("create table t (n)")\n'
        'sql_batch("insert into t values (?)", [[1], [2], [3]])\nserve on 8080\n'
        '    route "GET /p"\n        give paged("select n from t where n > ?", [1])\n'
        '    route "GET /m"\n        give {"all": paged("select n from t")}\n'
    )
    assert body(app("GET", "/p?limit=1")) == {"items": [{"n": 2}], "count": 1, "total": 2, "cursor": 1}
    assert body(app("GET", "/m")) == {"all": [{"n": 1}, {"n": 2}, {"n": 3}]}


def test_agents_are_told_what_each_route_may_use() -> None:
    app = Served(
        'intent: "Sells pens"\nrequire serve(8080)\nrequire net("api.x.com")\ntask ask_shop()\n    give http_get("https://api.x.com/")\n'
        'serve on 8080\n    describe\n        about: "Pen shop"\n        api: ["GET /pens -- all pens"]\n'
        '    route "POST /buy"\n        give ask_shop()\n    route "GET /pens"\n        give now()\n'
        '    route "GET /think"\n        give reason about "pens"\n'
    )
    assert app("GET", "/llms.txt").body.decode() == (
        "# Pen shop\n\n> Sells pens\n\n## Endpoints\n- POST /buy  [net:api.x.com]\n- GET /pens\n- GET /think  [llm]\n\n"
        "## API\n- GET /pens -- all pens\n\n## Machine-readable\n- /openapi.json\n- /sitemap.xml\n"
    )


@pytest.mark.parametrize("target", ["169.254.169.254", "[fe80::1]", "[::ffff:169.254.169.254]", "[64:ff9b::a9fe:a9fe]"])
def test_a_link_local_target_of_a_proxy_needs_a_grant_that_names_it(target: str) -> None:
    source = (
        'require serve(8080)\nrequire net("{grant}")\nserve on 8080\n    route "GET /"\n        proxy to "http://{target}/"\n'
    )
    with pytest.raises(LanguageError, match="a link-local address must be granted literally"):
        Served(source.format(grant="*", target=target))
    granted = Served(source.format(grant=target.strip("[]"), target=target))
    assert isinstance(granted("GET", "/"), ProxyReply)


def test_a_proxied_route_asks_for_the_link_local_address_that_a_name_leads_to() -> None:
    app = Served(
        'require serve(8080)\nrequire net("*")\nserve on 8080\n    route "GET /"\n        proxy to "http://name.example/"\n'
    )
    reply = app("GET", "/")
    assert isinstance(reply, ProxyReply)
    with pytest.raises(RuntimeFault, match=r'require net\("169.254.169.254"\)'):
        reply.check_address("169.254.169.254", 80)
    refused = app.context.capabilities.records[-1]
    assert (refused["capability"], refused["scope"], refused["granted"]) == ("net", "169.254.169.254", False)


def test_an_auth_task_that_is_defined_later_lets_nobody_in_and_one_that_is_not_stops_the_start() -> None:
    block = 'require serve(8080)\nserve on 8080\n    auth with who\n    route "GET /" requires auth\n        give 1\n'
    assert Served(block + "task later(token)\n    give 1\nlet who be later\n")("GET", "/").status == 401
    with pytest.raises(LanguageError, match="Undefined variable: 'who'"):
        Served(block)
