"""The HTTP client against servers of this machine."""

from __future__ import annotations

import json
import socket
import ssl
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Thread

import pytest
import trustme
from web_server import WebServer, reply

import language
from language.capabilities.reserved_addresses import LINK_LOCAL, reserved_address
from language.compiler.compilation import compile_source
from language.errors import RuntimeFault
from language.host import EmbeddedHost
from language.native.host import NativeHost
from language.native.http import NativeHttp
from language.runtime.context import Context
from language.runtime.instance import Instance
from language.values import FALSE, TRUE, Secret
from language.values.decimals import parse
from language.values.display import display, quote
from language.values.operators import is_decimal
from stdlib.http_client import fetch, http, http_bytes, http_delete, http_get, http_post, http_put

NO_HOST = "the URL has no host (expected scheme://host/…)"


class LocalHost(NativeHost):
    """A native host whose HTTP door has roots or a resolver of a test."""

    def __init__(self, door):
        super().__init__()
        self._http = door


def context(*scopes, door=None):
    ctx = Context(LocalHost(door or NativeHttp()), collect=True)
    for scope in scopes or ("*",):
        ctx.capabilities.require("net", scope)
    return ctx


def error_of(function, *values):
    with pytest.raises(RuntimeFault) as caught:
        function(*values)
    return caught.value.message


@pytest.fixture
def server():
    with WebServer(lambda request: reply("hello", "X-Kind: Test")) as running:
        yield running


@pytest.fixture
def ctx():
    return context()


class TestResults:
    def test_the_map_and_its_order(self, ctx, server):
        got = http_get(ctx, server.url + "/a?b=1#part")
        assert list(got) == ["status", "ok", "body", "json", "headers"]
        assert got == {
            "status": 200, "ok": TRUE, "body": "hello", "json": None, "headers": {"X-Kind": "Test", "Content-Length": "5"},
        }  # fmt: skip
        assert got["ok"] is TRUE
        assert server.last.target == "/a?b=1"

    def test_no_answer_is_data(self, ctx):
        got = http_get(ctx, "http://u:p@127.0.0.1:1/x?y=1")
        assert list(got) == ["status", "ok", "body", "json", "error"]
        assert (got["status"], got["ok"], got["body"], got["json"]) == (0, FALSE, "", None)
        assert got["error"] == "cannot connect to 127.0.0.1:1: Connection refused"

    @pytest.mark.parametrize(
        ("status", "ok"), [("204 No Content", TRUE), ("299 Odd", TRUE), ("404 No", FALSE), ("503 No", FALSE)]
    )
    def test_error_statuses_are_data(self, ctx, status, ok):
        with WebServer(lambda request: f"HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n".encode()) as server:
            got = http_get(ctx, server.url)
        assert (got["status"], got["ok"]) == (int(status[:3]), ok)
        assert "error" not in got

    def test_json(self, ctx):
        bodies = {
            "/good": ("application/json", '{"a": [1, 2.0]}', {"a": [1, 2.0]}),
            "/problem": ("Application/Problem+JSON; charset=utf-8", "true", TRUE),
            "/text": ("text/plain", "1", None),
            "/broken": ("application/json", "{", None),
        }

        def answer(request):
            kind, body, _ = bodies[request.target]
            return reply(body, "content-TYPE: " + kind)

        with WebServer(answer) as server:
            for path, (_, body, expected) in bodies.items():
                got = http_get(ctx, server.url + path)
                assert got["json"] == expected
                assert got["body"] == body

    def test_text_is_utf8_and_what_is_not_is_replaced(self, ctx):
        with WebServer(lambda request: reply(b"h\xc3\xa9\xff", "Content-Type: text/plain; charset=latin-1")) as server:
            assert http_get(ctx, server.url)["body"] == "hé\ufffd"

    def test_headers_as_sent_and_the_last_of_a_repeated_name(self, ctx):
        with WebServer(
            lambda request: reply("", "X-One: 1", "set-cookie: a", "Set-Cookie: b", "X-Ü: ü"[:2] + "U: ü")
        ) as server:
            got = http_get(ctx, server.url)["headers"]
        assert got == {"X-One": "1", "Set-Cookie": "b", "X-U": "ü", "Content-Length": "0"}

    def test_no_headers_at_all(self, ctx):
        with WebServer(lambda request, connection: connection.sendall(b"HTTP/1.1 200 OK\r\n\r\nrest")) as server:
            got = http_get(ctx, server.url)
        assert got == {"status": 200, "ok": TRUE, "body": "rest", "json": None}

    def test_bytes(self, ctx):
        with WebServer(lambda request: reply(b"\x00\xff", "X-A: 1")) as server:
            got = http_bytes(ctx, "get", server.url)
        assert list(got) == ["status", "ok", "bytes", "headers"]
        assert got["bytes"] == b"\x00\xff"
        assert list(http_bytes(ctx, "GET", "http://127.0.0.1:1/")) == ["status", "ok", "bytes", "error"]

    @pytest.mark.parametrize(
        "raw",
        [b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort", b"HTTP/1.1 999999 X\r\n\r\n", b"",
         b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
         b"HTTP/1.1 200 OK\r\nX: " + b"y" * 200_000 + b"\r\n\r\n"],
    )  # fmt: skip
    def test_malformed_answers(self, ctx, raw):
        with WebServer(lambda request, connection: connection.sendall(raw)) as server:
            got = http_get(ctx, server.url)
        assert got["status"] == 0
        assert got["error"]
        assert "body" in got and got["body"] == ""

    def test_other_schemes(self, ctx):
        expected = "unsupported scheme 'ftp': only http and https are supported"
        assert fetch(ctx, "FTP://127.0.0.1/")["error"] == expected
        assert fetch(ctx, "file://127.0.0.1/etc/passwd")["error"].startswith("unsupported scheme 'file'")


class TestRequests:
    def test_automatic_headers(self, ctx, server):
        http_get(ctx, server.url)
        assert server.last.lines == [f"Host: 127.0.0.1:{server.port}"]
        http_post(ctx, server.url, "hé")
        assert server.last.lines == [f"Host: 127.0.0.1:{server.port}", "Content-Length: 3"]
        assert server.last.body == "hé".encode()
        http_post(ctx, server.url, None)
        assert server.last.headers["content-length"] == "0"
        http_delete(ctx, server.url)
        assert "content-length" not in server.last.headers

    def test_methods(self, ctx, server):
        fetch(ctx, server.url)
        http(ctx, "patch", server.url)
        http_put(ctx, server.url, "x")
        http_delete(ctx, server.url)
        fetch(ctx, server.url, "options")
        assert [r.method for r in server.requests] == ["GET", "PATCH", "PUT", "DELETE", "OPTIONS"]
        assert error_of(http, ctx, "GET / HTTP/1.1\r\nX: 1", server.url).endswith("is not a method")
        assert len(server.requests) == 5

    def test_head(self, ctx, server):
        with WebServer(lambda request: b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n") as server:
            got = http(ctx, "HEAD", server.url)
        assert (got["status"], got["body"]) == (200, "")

    @pytest.mark.parametrize(
        ("body", "sent", "kind"),
        [
            ("text", b"text", None),
            (b"\x00\xff", b"\x00\xff", None),
            ({"a": [1, None, TRUE, 1.5]}, b'{"a": [1, null, true, 1.5]}', "application/json"),
            ([], b"[]", "application/json"),
            (5, b"5", None),
            (TRUE, b"True", None),
            (parse("1.50"), b"1.50", None),
            ("a secret (KEY) of secret() is secret(no name)", b"a secret (KEY) of secret() is secret(no name)", None),
            ({"k": Secret("plain", ("KEY",))}, b'{"k": "[redacted]"}', "application/json"),
        ],
    )
    def test_bodies(self, ctx, server, body, sent, kind):
        http_post(ctx, server.url, body)
        assert server.last.body == sent
        assert server.last.headers.get("content-type") == kind

    def test_a_content_type_of_the_program_stays(self, ctx, server):
        http_post(ctx, server.url, {"a": 1}, {"content-type": "application/ld+json"})
        assert [line for line in server.last.lines if "type" in line] == ["content-type: application/ld+json"]

    def test_large_bodies_arrive_whole(self, ctx, server):
        body = bytes(range(256)) * 20_000
        assert http_post(ctx, server.url, body)["status"] == 200
        assert server.last.body == body

    def test_header_values(self, ctx, server):
        headers = {
            "X-Text": " ü ",
            "X-Number": 1.5,
            "X-Flag": TRUE,
            "X-Key": Secret("top", ("KEY",)),
            "X-B": Secret(b"\xfe", ("B",)),
        }
        http_get(ctx, server.url, headers)
        assert server.last.headers["x-text"].encode("latin-1") == "ü".encode()
        assert server.last.headers["x-number"] == "1.5"
        assert server.last.headers["x-flag"] == "true"
        assert server.last.headers["x-key"] == "top"
        assert server.last.headers["x-b"] == "\xfe"
        assert "X-Key: top" in server.last.lines

    @pytest.mark.parametrize(
        "value", ["a\r\nX-Evil: 1", "a\nX-Evil: 1", "a\rb", "a\0b", "a\x7fb", Secret("s\r\nX-Evil: 1", ("KEY",))]
    )
    def test_no_header_injection(self, ctx, server, value):
        text = error_of(http_get, ctx, server.url, {"X-Name": value})
        assert text == "http_get(): the value of the header X-Name has a line break or control character"
        assert not server.requests

    @pytest.mark.parametrize("name", ["", "X Y", "X:", "X\r\nEvil", "Ü", "a\0"])
    def test_header_names(self, ctx, server, name):
        assert error_of(http_get, ctx, server.url, {name: "1"}).endswith("is not the name of a header")
        assert not server.requests

    @pytest.mark.parametrize(
        "headers", [{"Host": "other.example"}, {"HOST": "x"}, {"Content-Length": "3"}, {"Transfer-Encoding": "chunked"}]
    )
    def test_where_a_request_goes_and_ends_is_not_for_the_program(self, ctx, server, headers):
        assert error_of(http_post, ctx, server.url, "body", headers).endswith("is set by the language")
        assert not server.requests

    def test_naming_what_is_sent_anyway(self, ctx, server):
        http_post(ctx, server.url, "body", {"host": f"127.0.0.1:{server.port}", "content-length": 4})
        assert server.last.lines == [f"Host: 127.0.0.1:{server.port}", "Content-Length: 4"]

    def test_query(self, ctx, server):
        query = {"q": "a b&c=ü", "n": 1, "+": "/"}
        http_get(ctx, server.url + "/s", {}, query)
        assert server.last.target == "/s?q=a+b%26c%3D%C3%BC&n=1&%2B=%2F"
        http(ctx, "GET", server.url + "/s?a=1#frag", None, {"b": "2"})
        assert server.last.target == "/s?a=1&b=2"
        http(ctx, "GET", server.url + "?", None, {"b": "2"})
        assert server.last.target == "/?b=2"
        http(ctx, "GET", server.url, None, {})
        assert server.last.target == "/"

    def test_paths_are_sent_as_they_stand_where_they_can(self, ctx, server):
        http_get(ctx, server.url + "/a%2Fb/../c;d=1/~x?y=[1]")
        assert server.last.target == "/a%2Fb/../c;d=1/~x?y=[1]"
        http_get(ctx, server.url + "/ü x\r\nX-Evil: 1\t|<>")
        assert server.last.target == "/%C3%BC%20x%0D%0AX-Evil:%201%09%7C%3C%3E"
        assert "x-evil" not in server.last.headers

    def test_userinfo(self, ctx, server):
        url = server.url.replace("http://", "http://us%40er:p%C3%BC@")
        http_get(ctx, url)
        assert server.last.headers["authorization"] == "Basic dXNAZXI6cMO8"
        assert "@" not in server.last.headers["host"]
        http_get(ctx, url, {"authorization": "Bearer x"})
        assert [line for line in server.last.lines if line.lower().startswith("auth")] == ["authorization: Bearer x"]

    @pytest.mark.parametrize("send", [fetch, http_get, http_post, http_put, http_delete])
    def test_a_secret_is_refused_by_name_where_it_is_not_sealed(self, ctx, server, send):
        key = Secret("plain", ("KEY",))
        rest = ["body"] if send in (http_post, http_put) else []
        unsent = "cannot be the secret KEY: send it as the value of a header, or write reveal(...)"
        for url in (Secret(server.url, ("KEY",)), server.url + "/?k=" + key):
            assert f"{send.__name__}: the URL {unsent}" in error_of(send, ctx, url, *rest)
        named = "holds the text secret(KEY), the name of a secret in place of its value"
        assert f"{send.__name__}: the URL {named}" == error_of(send, ctx, f"{server.url}/?k={display(key)}", *rest)
        headers = {"X-Key": f"Bearer {display(key)}"}
        given = [{"headers": headers}] if send is fetch else [*rest, headers]
        assert error_of(send, ctx, server.url, *given) == f"{send.__name__}: the header X-Key {named}"
        assert not server.requests

    def test_a_secret_is_no_body_and_no_query_field(self, ctx, server):
        key = Secret("plain", ("KEY",))
        assert "http_post: the body cannot be the secret KEY" in error_of(http_post, ctx, server.url, key)
        assert "http_post: the body cannot be the secret KEY" in error_of(http_post, ctx, server.url, "k=" + key)
        assert "http_post: the body holds the text secret(KEY)" in error_of(http_post, ctx, server.url, f"k={display(key)}&a=1")
        assert "http_get: the query field k cannot be the secret KEY" in error_of(http_get, ctx, server.url, None, {"k": key})
        assert "the query field k holds the text secret(KEY)" in error_of(http_get, ctx, server.url, None, {"k": display(key)})
        assert not server.requests

    def test_wrong_types(self, ctx, server):
        assert error_of(http_get, ctx, server.url, "X: 1") == "http_get() expects the headers as a map, got text"
        assert error_of(http_get, ctx, server.url, None, [1]) == "http_get() expects the query as a map, got list"
        assert error_of(http_get, ctx, 5) == "http_get(): " + NO_HOST

    def test_fetch_with_a_map(self, ctx, server):
        fetch(ctx, server.url, {"method": "put", "headers": {"X-A": "1"}, "body": [1], "timeout": 5})
        assert (server.last.method, server.last.body, server.last.headers["x-a"]) == ("PUT", b"[1]", "1")
        fetch(ctx, server.url, {})
        assert server.last.method == "GET"
        assert error_of(fetch, ctx, server.url, {"methd": "PUT"}) == (
            'fetch(): unknown option "methd" (valid: method, headers, body, timeout)'
        )
        assert error_of(fetch, ctx, server.url, {}, {"X-A": "1"}) == "fetch(): no argument may follow a map of options"
        assert len(server.requests) == 2


class TestRedirects:
    @pytest.mark.parametrize("status", ["301 Moved", "302 Found", "307 Temporary", "308 Permanent"])
    def test_are_not_followed(self, ctx, server, status):
        with WebServer(lambda request: reply("", f"Location: {server.url}/secret", status=status)) as first:
            got = http_get(ctx, first.url)
        assert (got["status"], got["ok"]) == (int(status[:3]), FALSE)
        assert got["headers"]["Location"] == server.url + "/secret"
        assert not server.requests


class TestTimeouts:
    def test_silence(self, ctx):
        with WebServer(lambda request, connection: time.sleep(5)) as server:
            started = time.monotonic()
            got = http_get(ctx, server.url, None, None, 1)
        assert got["error"] == "no answer in 1 s"
        assert time.monotonic() - started > 0.9

    def test_a_slow_drip_is_no_silence(self, ctx):
        def drip(request, connection):
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n")
            for _ in range(8):
                time.sleep(0.2)
                connection.sendall(b"x")
            return b""

        with WebServer(drip) as server:
            assert http_get(ctx, server.url, None, None, 1)["body"] == "x" * 8

    def test_a_drip_that_stops(self, ctx):
        def stop(request, connection):
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nxx")
            time.sleep(4)

        with WebServer(stop) as server:
            assert http_get(ctx, server.url, None, None, 1)["error"] == "no answer in 1 s"

    def test_a_place_that_takes_no_connection(self, ctx):
        # A queue of one that nobody empties: the system answers no further attempt.
        with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
            port = full.getsockname()[1]
            fillers = []
            for _ in range(8):
                filler = socket.socket()
                filler.setblocking(False)
                filler.connect_ex(("127.0.0.1", port))
                fillers.append(filler)
            got = http_get(ctx, f"http://127.0.0.1:{port}/", None, None, 1)
            for filler in fillers:
                filler.close()
        assert got["error"] == f"cannot connect to 127.0.0.1:{port}: no answer in 1 s"

    @pytest.mark.parametrize(
        ("timeout", "seconds"),
        [(None, 30), (1, 1), (2.9, 2), (0.2, 1), (0, 30), (-1, 30), ("5", 30), (float("nan"), 30), (float("inf"), 30),
         (10**30, 86400),
         (parse("3.7"), 3), (TRUE, 30)],
    )  # fmt: skip
    def test_seconds(self, timeout, seconds):
        asked = []

        def hook(request):
            asked.append(request["timeout"])
            return {"status": 200}

        literal = quote(timeout) if isinstance(timeout, str) else display(timeout) + ("d" if is_decimal(timeout) else "")
        source = f'require net("h")\nlet r be fetch("http://h/", "GET", nothing, nothing, {literal})\nprint(r["status"])'
        answer = language.run(source, host={"http": hook})
        assert answer["output"] == ["200"], answer
        assert asked == [seconds]


class TestSize:
    def test_the_cap(self):
        ctx = context(door=NativeHttp(most=1000))
        with WebServer(lambda request: reply(b"x" * int(request.target[1:]))) as server:
            assert len(http_get(ctx, server.url + "/1000")["body"]) == 1000
            got = http_get(ctx, server.url + "/1001")
            assert (got["status"], got["error"]) == (0, "the response body is larger than 1000 bytes")
            assert len(http_get(ctx, server.url + "/5")["body"]) == 5

    def test_the_cap_without_a_length(self):
        sent = []

        def endless(request, connection):
            connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            for _ in range(100_000):
                connection.sendall(b"400\r\n" + b"x" * 1024 + b"\r\n")
                sent.append(1024)

        with WebServer(endless) as server:
            got = http_get(context(door=NativeHttp(most=100_000)), server.url)
        assert got["error"] == "the response body is larger than 100000 bytes"
        assert sum(sent) < 50_000_000

    def test_the_cap_of_the_environment(self, monkeypatch, server):
        monkeypatch.setenv("PLATFORM_HTTP_MAX_BYTES", "4")
        assert http_get(context(door=NativeHost().http), server.url)["error"] == "the response body is larger than 4 bytes"
        monkeypatch.setenv("PLATFORM_HTTP_MAX_BYTES", "nonsense")
        host = NativeHost()
        lines = []
        host.write_error_line = lines.append
        assert http_get(context(door=host.http), server.url)["status"] == 200
        assert host.processes is not None
        said = "lang: warning: PLATFORM_HTTP_MAX_BYTES must be a positive integer, got 'nonsense': using 67108864"
        assert lines == [said]


class TestConnections:
    def test_are_kept(self, ctx, server):
        for _ in range(20):
            assert http_get(ctx, server.url)["status"] == 200
        assert len(server.requests) == 20
        assert server.connections == 1

    def test_are_not_kept_after_a_whole_answer_that_ends_them(self, ctx):
        with WebServer(lambda request: reply("x", "Connection: close")) as server:
            for _ in range(3):
                http_get(ctx, server.url)
            assert server.connections == 3

    def test_are_not_kept_after_a_failure(self, ctx):
        def answer(request):
            return reply("slow" * 100)[:-5] if request.target == "/part" else reply("whole")

        with WebServer(answer) as server:
            assert "error" in http_get(ctx, server.url + "/part", None, None, 1)
            assert http_get(ctx, server.url)["body"] == "whole"
            assert server.connections == 2

    def test_an_idle_connection_that_the_server_closed(self, ctx, server):
        for send in (lambda: http_get(ctx, server.url), lambda: http_post(ctx, server.url, "once")):
            assert send()["status"] == 200
            server.drop_connections()
            time.sleep(0.05)
            assert send()["status"] == 200
        assert len(server.requests) == 4

    def test_a_connection_closed_while_the_request_is_on_its_way(self, ctx):
        """The server reads the second request of a connection and closes without an answer."""
        seen = {}

        def answer(request):
            seen[request.connection] = seen.get(request.connection, 0) + 1
            return reply("ok") if seen[request.connection] == 1 else None

        with WebServer(answer) as server:
            assert http_get(ctx, server.url)["status"] == 200
            assert http_get(ctx, server.url)["status"] == 200  # sent a second time on a new connection
            assert http_post(ctx, server.url, "x")["error"] == "the server closed the connection without an answer"
            assert [r.method for r in server.requests] == ["GET", "GET", "GET", "POST"]

    def test_a_server_that_never_answers_is_not_asked_for_ever(self, ctx):
        with WebServer(lambda request: None) as server:
            assert http_get(ctx, server.url)["error"] == "the server closed the connection without an answer"
            assert len(server.requests) == 1

    def test_threads_do_not_mix_answers(self):
        ctx = context()
        with WebServer(lambda request: reply(request.target)) as server:
            with ThreadPoolExecutor(8) as pool:
                got = list(pool.map(lambda n: http_get(ctx, f"{server.url}/{n}")["body"], range(200)))
            assert got == [f"/{n}" for n in range(200)]
            assert server.connections <= 8

    def test_workers_of_a_program(self):
        with WebServer(lambda request: reply(request.target)) as server:
            source = (
                f'require net("127.0.0.1:{server.port}")\n'
                f'let got be parallel_map((n) => http_get("{server.url}/" + n)["body"], range(40), 4)\n'
                'print(got == apply(range(40), (n) => "/" + n))'
            )
            ctx = Context(NativeHost(), collect=True)
            Instance(compile_source(source, "t.lang"), ctx.host, context=ctx).run()
            assert ctx.collected == ["true"]
            assert len(server.requests) == 40
            assert server.connections <= 4

    def test_many_places(self):
        door = NativeHttp()
        ctx = context(door=door)
        servers = [WebServer(lambda request: reply("x")) for _ in range(70)]
        try:
            for server in servers:
                assert http_get(ctx, server.url)["status"] == 200
            assert sum(len(connections) for connections in door._idle.values()) <= 64
        finally:
            door.close()
            for server in servers:
                server.__exit__()

    def test_no_proxy_of_the_environment(self, ctx, server, monkeypatch):
        with WebServer(lambda request: reply("proxy")) as proxy:
            for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY", "https_proxy"):
                monkeypatch.setenv(name, proxy.url)
            monkeypatch.delenv("no_proxy", raising=False)
            assert http_get(context(), server.url)["body"] == "hello"
            assert not proxy.requests


def tls_server(authority, *names):
    settings = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*names).configure_cert(settings)
    return WebServer(lambda request: reply("sealed"), tls=settings)


@pytest.fixture(scope="module")
def authority():
    return trustme.CA()


@pytest.fixture
def trusting(authority):
    roots = authority.cert_pem.bytes().decode()
    return context(door=NativeHttp(roots=roots, resolver=lambda host, port: ["127.0.0.1"]))


class TestTls:
    def test_verified(self, authority, trusting):
        with tls_server(authority, "good.example") as server:
            got = http_get(trusting, f"https://good.example:{server.port}/")
            assert got["body"] == "sealed"
            assert http_get(trusting, f"https://good.example:{server.port}/")["body"] == "sealed"
            assert server.connections == 1
            assert server.last.headers["host"] == f"good.example:{server.port}"

    def test_an_address_in_the_certificate(self, authority, trusting):
        with tls_server(authority, "127.0.0.1") as server:
            assert http_get(trusting, server.url)["body"] == "sealed"

    def test_the_wrong_host(self, authority, trusting):
        with tls_server(authority, "other.example") as server:
            got = http_get(trusting, f"https://good.example:{server.port}/", {"X-Key": Secret("plain", ("KEY",))})
            assert got["status"] == 0
            assert got["error"].startswith("TLS with good.example: the certificate does not verify: Hostname mismatch")
            assert not server.requests

    def test_an_unknown_authority(self, trusting):
        with tls_server(trustme.CA(), "good.example") as server:
            got = http_get(trusting, f"https://good.example:{server.port}/")
            assert got["error"].startswith("TLS with good.example: the certificate does not verify: ")
            assert not server.requests

    def test_the_roots_of_the_system_do_not_know_it(self, authority):
        ctx = context(door=NativeHttp(resolver=lambda host, port: ["127.0.0.1"]))
        with tls_server(authority, "good.example") as server:
            assert "does not verify" in http_get(ctx, f"https://good.example:{server.port}/")["error"]
            assert not server.requests

    def test_old_protocols_are_refused(self, authority, trusting):
        settings = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        settings.set_ciphers("ALL:@SECLEVEL=0")
        with pytest.warns(DeprecationWarning):
            settings.minimum_version = ssl.TLSVersion.TLSv1
            settings.maximum_version = ssl.TLSVersion.TLSv1_1
        authority.issue_cert("good.example").configure_cert(settings)
        with WebServer(lambda request: reply("old"), tls=settings) as server:
            assert http_get(trusting, f"https://good.example:{server.port}/")["error"].startswith("TLS with good.example: ")
            assert not server.requests

    def test_no_tls_at_all(self, trusting, server):
        got = http_get(trusting, f"https://good.example:{server.port}/", None, None, 1)
        assert got["error"] == "TLS with good.example: no answer in 1 s"
        with socket.create_server(("127.0.0.1", 0)) as plain:

            def greet():
                connection, _ = plain.accept()
                connection.sendall(b"220 mail.example ready\r\n")
                connection.recv(1)
                connection.close()

            Thread(target=greet, daemon=True).start()
            got = http_get(trusting, f"https://good.example:{plain.getsockname()[1]}/", None, None, 5)
        assert got["error"] == "TLS with good.example: wrong version number"

    def test_an_expired_certificate(self, authority, trusting):
        from datetime import UTC, datetime, timedelta

        settings = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("good.example", not_after=datetime.now(UTC) - timedelta(days=1)).configure_cert(settings)
        with WebServer(lambda request: reply("old"), tls=settings) as server:
            assert "certificate has expired" in http_get(trusting, f"https://good.example:{server.port}/")["error"]


class TestEmbedded:
    """11 section 4: the hook ``http``."""

    SOURCE = 'require net("api.example")\nlet r be http_get("https://api.example/v")\nprint(text(r["status"]) + r["body"])'

    def test_case_11_9(self):
        asked = []

        def hook(request):
            asked.append(request)
            return {"status": 200, "headers": [["x-a", "1"], ["x-a", "2"]], "body_base64": "aGk="}

        answer = language.run(self.SOURCE + '\nprint(r["headers"])', host={"http": hook})
        assert answer["output"] == ["200hi", '{x-a: "2"}']
        assert asked == [{"method": "GET", "url": "https://api.example/v", "headers": [], "timeout": 30, "body": None}]
        assert json.loads(json.dumps(asked)) == asked

    @pytest.mark.parametrize("options", [{"ceiling": "stdout"}, {}])
    def test_the_gate_comes_before_the_hook(self, options):
        asked = []
        source = self.SOURCE if options else self.SOURCE.partition("\n")[2]
        answer = language.run(source, host={"http": asked.append}, **options)
        assert answer["errors"][0].startswith(
            f'Runtime error: <embedded>:{2 if options else 1}:18: Capability not granted: net("api.example")'
        )
        assert not asked

    def test_without_the_hook(self):
        answer = language.run(self.SOURCE + '\nprint(r["ok"])\nprint(contains(r, "error"))\nprint(r["error"])')
        assert answer["output"] == [
            "0", "false", "true",
            "http_get: not available in the wasm profile — this host provides no http transport (the embedder can offer it "
            "through the `http` host hook, or run the program with the native `lang` binary)",
        ]  # fmt: skip

    def test_what_the_hook_gets(self):
        asked = []

        def hook(request):
            asked.append(request)
            return {"status": 201, "headers": {"Content-Type": "application/json"}, "body": '{"a": 1}'}

        source = (
            'require net("api.example:8443")\nrequire secret("K")\n'
            'let r be http("post", "https://u:p@API.example.:8443/p?a=1#f", {"X-K": secret("K")}, '
            '{"b": "c d"}, {"n": 1}, 2.5)\n'
            'print(r["json"]["a"])\nhttp_post("https://api.example:8443", bytes([255]), {"X-B": "1"})\n'
        )
        answer = language.run(source, env={"K": "top"}, host={"http": hook})
        assert answer["output"] == ["1"], answer
        assert asked == [
            {
                "method": "POST", "url": "https://api.example:8443/p?a=1&b=c+d", "timeout": 2, "body": '{"n": 1}',
                "headers": [["X-K", "top"], ["Content-Type", "application/json"], ["Authorization", "Basic dTpw"]],
            },
            {
                "method": "POST", "url": "https://api.example:8443/", "timeout": 30, "body_base64": "/w==",
                "headers": [["X-B", "1"]],
            },
        ]  # fmt: skip

    @pytest.mark.parametrize(
        ("answer", "error"),
        [
            ({"error": "down"}, "down"),
            (None, "the http hook gave no answer"),
            ("text", "the http hook gave no answer"),
            ({}, "the http hook gave no status"),
            ({"status": True}, "the http hook gave no status"),
            ({"status": 99}, "the http hook gave no status"),
            ({"status": 200, "headers": 5}, "the http hook gave headers that are neither pairs nor a map"),
            ({"status": 200, "headers": [1]}, "the http hook gave headers that are neither pairs nor a map"),
            ({"status": 200, "body_base64": "a"}, "the http hook gave a body that is no base64"),
        ],
    )
    def test_bad_answers_are_data(self, answer, error):
        got = language.run(self.SOURCE + '\nprint(r["error"])', host={"http": lambda request: answer})
        assert got["output"] == ["0", error], got

    def test_an_exception_in_the_hook_is_data(self):
        def hook(request):
            raise ConnectionError("no line")

        got = language.run(self.SOURCE + '\nprint(r["error"])', host={"http": hook})
        assert got["output"] == ["0", "ConnectionError: no line"]

    def test_a_coroutine_is_refused(self):
        async def hook(request):
            return {"status": 200}

        got = language.run(self.SOURCE + '\nprint(r["error"])', host={"http": hook})
        assert "asyncio.to_thread" in got["output"][1]

    @pytest.mark.parametrize("encoded", ["aGnDqT8-", "aGnDqT8_", "a G\nn!DqT8-", "aGnDqT8+"])
    def test_base64_of_both_alphabets(self, encoded):
        got = language.run(self.SOURCE, host={"http": lambda request: {"status": 200, "body_base64": encoded}})
        assert got["output"][0].startswith("200hié?"), got

    def test_a_link_local_address_is_refused_before_the_hook(self):
        asked = []
        source = 'require net("*")\nhttp_get("http://169.254.169.254/latest")'
        got = language.run(source, host={"http": asked.append})
        assert "a link-local address must be granted literally" in got["errors"][0]
        assert not asked


def test_link_local():
    inside = ["169.254.0.0", "169.254.169.254", "fe80::1", "fe80::1%eth0", "febf::", "::ffff:169.254.1.1", "::ffff:a9fe:1",
              "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1", "::169.254.1.1"]  # fmt: skip
    outside = ["169.253.255.255", "127.0.0.1", "::1", "fec0::1", "::", "10.0.0.1", "169.254.example", "fe80", "a.example", "",
               "64:ff9b::808:808", "::ffff:8.8.8.8"]  # fmt: skip
    assert [a for a in inside if reserved_address(a) != LINK_LOCAL] == []
    assert [a for a in outside if reserved_address(a)] == []


def test_a_host_without_a_way_out():
    ctx = Context(EmbeddedHost(), collect=True)
    ctx.capabilities.require("net", None)
    assert http_bytes(ctx, "GET", "http://h/")["error"].startswith("http_bytes: not available in the wasm profile")
