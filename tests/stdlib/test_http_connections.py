"""The connections of the HTTP client: how long and how much it takes, which are kept, TLS."""

from __future__ import annotations

import socket
import ssl
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Thread

import pytest
import trustme
from web_client import context
from web_server import WebServer, reply

import language
from language.compiler.compilation import compile_source
from language.native.host import NativeHost
from language.native.http import NativeHttp
from language.runtime.context import Context
from language.runtime.instance import Instance
from language.values import TRUE, Secret
from language.values.decimals import parse
from language.values.display import display, quote
from language.values.operators import is_decimal
from stdlib.http_client import http_get, http_post


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
