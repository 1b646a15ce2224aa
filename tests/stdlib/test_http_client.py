"""The HTTP client against servers of this machine: what is sent, and what an answer becomes."""

from __future__ import annotations

import pytest
from web_client import error_of
from web_server import WebServer, reply

from language.capabilities.reserved_addresses import LINK_LOCAL, reserved_address
from language.host import EmbeddedHost
from language.runtime.context import Context
from language.values import FALSE, TRUE, Secret
from language.values.decimals import parse
from language.values.display import display
from stdlib.http_client import fetch, http, http_bytes, http_delete, http_get, http_post, http_put

NO_HOST = "the URL has no host (expected scheme://host/…)"


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
