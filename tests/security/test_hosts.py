"""No request leaves for a host that was not granted, however its URL is written and wherever its name leads."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest
from web_server import WebServer, reply

from language.capabilities import Ceiling
from language.compiler.compilation import compile_source
from language.errors import LanguageError, RuntimeFault
from language.native.host import NativeHost
from language.native.http import NativeHttp
from language.runtime.context import Context
from language.runtime.instance import Instance
from stdlib.http_client import fetch, http_get

ROOT = Path(__file__).resolve().parent.parent.parent
NO_HOST = "fetch(): the URL has no host (expected scheme://host/…)"
DENIED = "Capability not granted: net("


class ResolvingHost(NativeHost):
    """A native host that finds every name where a test says; it remembers what was asked."""

    def __init__(self, *addresses):
        super().__init__()
        self.asked = []
        self.addresses = list(addresses) or ["127.0.0.1"]
        self._http = NativeHttp(resolver=self.resolve)

    def resolve(self, host, port):
        self.asked.append(host)
        if not host.isascii():
            raise AssertionError("a name reaches DNS in ASCII")
        return self.addresses


class UnknownNames(ResolvingHost):
    """A native host for which no name leads anywhere."""

    def resolve(self, host, port):
        super().resolve(host, port)
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")


def context(*scopes, host=None, ceiling=None):
    ctx = Context(host or ResolvingHost(), collect=True, ceiling=ceiling)
    for scope in scopes:
        ctx.capabilities.require("net", scope)
    return ctx


def refusal(ctx, url):
    with pytest.raises(RuntimeFault) as caught:
        fetch(ctx, url)
    return caught.value.message


@pytest.fixture
def server():
    with WebServer(lambda request: reply("reached")) as running:
        yield running


# The granted host stands somewhere in each of them; each leads to another one.
ELSEWHERE = [
    ("http://good.example@evil.example{p}/", "evil.example"),
    ("http://good.example:80@evil.example{p}/", "evil.example"),
    ("http://good.example%2f@evil.example{p}/", "evil.example"),
    ("http://good.example@x@evil.example{p}/", "evil.example"),
    ("http://evil.example{p}/@good.example/", "evil.example"),
    ("http://evil.example{p}?@good.example/", "evil.example"),
    ("http://evil.example{p}#@good.example/", "evil.example"),
    ("http://good.example.evil.example{p}/", "good.example.evil.example"),
    ("http://evilgood.example{p}/", "evilgood.example"),
    ("http://GOOD.example.EVIL.example.{p}/", "good.example.evil.example"),
    ("http://xn--good-example{p}/", "xn--good-example"),
    ("http://gооd.example{p}/", "xn--gd-fmca.example"),  # Cyrillic
    ("http://127.0.0.1{p}/", "127.0.0.1"),
    ("http://[::1]{p}/", "::1"),
    ("http://[0:0:0:0:0:0:0:1]{p}/", "::1"),
    ("http://[::ffff:127.0.0.1]{p}/", "::ffff:7f00:1"),
    ("http://localhost{p}/", "localhost"),
    ("//http://good.example/", None),
]

# What different clients read differently names no host at all.
NOWHERE = [
    "http://good.example\\@evil.example{p}/",
    "http://evil.example{p}\\@good.example/",
    "http://evil.example{p}\\.good.example/",
    "http://good.example\t.evil.example{p}/",
    "http://good.example\r\n.evil.example{p}/",
    "http://good.example .evil.example{p}/",
    "http://good.example%00.evil.example{p}/",
    "http://good%2eexample{p}/",
    "http://%67ood.example{p}/",
    "http://good.example\0.evil.example{p}/",
    "http://good.example\u2100evil.example{p}/",  # becomes a/c
    "http://evil.example\uff0fgood.example{p}/",  # a wide slash
    "http://evil.example\uff20good.example{p}/",  # a wide @
    "http://evil.example\uff03good.example{p}/",  # a wide #
    "http://evil.example\u2028.good.example{p}/",
    "http://127.1{p}/", "http://0x7f000001{p}/", "http://2130706433{p}/", "http://0177.0.0.1{p}/", "http://127.0.0.01{p}/",
    "http://0x7f.1{p}/", "http://1２7.1{p}/", "http://127.0.0.1.1{p}/", "http://127.0.0.1..{p}/",
    "http://[::1%lo]{p}/", "http://[::1%25lo]{p}/", "http://[good.example]{p}/", "http://[::1{p}/", "http://::1{p}/",
    "http://good.example:80:80/", "http://good.example:x/", "http://good.example:99999/", "http://good.example:-1/",
    "http:///path", "http://", "http://:80/", "http://.{p}/", "http://..{p}/", "http://@{p}/", "http:good.example/", "/path",
    "good.example", "http:/good.example/", "http:\\\\good.example/", "://good.example/", " http://good.example/", "",
]  # fmt: skip


class TestDeniedHosts:
    @pytest.mark.parametrize(("url", "host"), ELSEWHERE)
    def test_another_host(self, server, url, host):
        ctx = context("good.example")
        written = url.replace("{p}", f":{server.port}")
        shown = f"[{host}]" if host and ":" in host else host
        message = refusal(ctx, written)
        assert message.startswith(f'{DENIED}"{shown}:{server.port}")' if host else NO_HOST)
        assert not server.requests
        assert not ctx.host.asked
        assert "good.example@" not in message

    @pytest.mark.parametrize("url", NOWHERE)
    def test_no_host(self, server, url):
        ctx = context("*")
        assert refusal(ctx, url.replace("{p}", f":{server.port}")) == NO_HOST
        assert not server.requests
        assert not server.connections
        assert not ctx.host.asked
        assert not ctx.capabilities.records  # nothing was asked of the gate

    @pytest.mark.parametrize(
        ("url", "host"),
        [
            ("http://GOOD.Example.{p}/", "good.example"),
            ("http://bücher.example{p}/", "xn--bcher-kva.example"),
            ("http://BÜCHER.example{p}/", "xn--bcher-kva.example"),
            ("http://ｇood。example{p}/", "good.example"),
            ("http://user:pa@ss@good.example{p}/", "good.example"),
        ],
    )
    def test_the_host_that_was_checked_is_asked_for(self, server, url, host):
        ctx = context(host)
        assert fetch(ctx, url.replace("{p}", f":{server.port}"))["body"] == "reached"
        assert server.last.headers["host"] == f"{host}:{server.port}"
        assert ctx.host.asked == [host]
        record = ctx.capabilities.records[-1]
        assert (record["capability"], record["scope"], record["granted"]) == ("net", f"{host}:{server.port}", True)

    def test_six(self):
        try:
            six = WebServer(lambda request: reply("six"), host="::1")
        except OSError:
            pytest.skip("this machine has no IPv6")
        with six:
            ctx = context("::1", host=NativeHost())
            assert fetch(ctx, f"http://[0:0::0:1]:{six.port}/")["body"] == "six"
            assert six.last.headers["host"] == f"[::1]:{six.port}"
            assert refusal(context("127.0.0.1"), six.url).startswith(f'{DENIED}"[::1]:{six.port}")')

    @pytest.mark.parametrize("builtin", ["fetch(U)", 'http("GET", U)', "http_get(U)", "http_post(U, 1)", "http_put(U, 1)",
                                         "http_delete(U)", 'http_bytes("GET", U)', 'fetch(U, {"method": "POST"})'])  # fmt: skip
    def test_every_builtin(self, server, builtin):
        for requires, scope in (("", "net"), ('require net("other.example")\n', "net")):
            code = compile_source(requires + builtin.replace("U", f'"{server.url}/x?key=1"'), "t.lang")
            with pytest.raises(LanguageError) as caught:
                Instance(code, ResolvingHost()).run()
            assert f'Capability not granted: {scope}("127.0.0.1:{server.port}")' in str(caught.value)
            assert "key" not in str(caught.value)
        assert not server.requests

    def test_ports(self):
        """Case G: a grant with a port covers only what writes that port, one without every port."""
        granted = ["http://h.test:8545/"]
        denied = ["http://h.test/", "https://h.test:443/", "http://a@other.test:8545/"]
        for url in granted:
            ctx = context("h.test:8545", host=UnknownNames())
            assert fetch(ctx, url)["status"] == 0
            assert ctx.host.asked == ["h.test"]
        for url in denied:
            ctx = context("h.test:8545")
            assert refusal(ctx, url).startswith(DENIED)
            assert not ctx.host.asked
        for url in [*granted, *denied[:2]]:
            ctx = context("h.test", host=UnknownNames())
            assert fetch(ctx, url)["status"] == 0
            assert ctx.host.asked == ["h.test"]

    def test_a_redirect_reaches_nobody(self, server):
        with WebServer(lambda request: reply("", f"Location: {server.url}/", status="302 Found")) as first:
            ctx = context(f"127.0.0.1:{first.port}")
            assert fetch(ctx, first.url)["status"] == 302
        assert not server.requests
        assert len(ctx.capabilities.records) == 1


class TestCeiling:
    def test_case_c(self, tmp_path):
        program = tmp_path / "c.lang"
        program.write_text('require net("*")\nprint("start")\nfetch("http://evil.test:81/x?k=1")\n', encoding="utf-8")
        command = [sys.executable, "-m", "language", "run", "--cap-set", "stdout,net=api.mock.test", str(program)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
        assert (done.stdout, done.returncode) == ("start\n", 1)
        assert done.stderr.splitlines()[0] == (
            f'Runtime error: {program}:3:6: Capability not granted: net("evil.test:81") — declared but above the host ceiling '
            "(--sandbox/--cap-set); the host must widen the ceiling"
        )

    def test_the_audit_of_case_c(self):
        source = 'require net("*")\nprint("start")\nfetch("http://evil.test:81/x?k=1")\n'
        ctx = Context(ResolvingHost(), ceiling=Ceiling.parse("stdout,net=api.mock.test"), collect=True)
        with pytest.raises(LanguageError):
            Instance(compile_source(source, "c.lang"), ctx.host, context=ctx).run()
        above = "above host ceiling (--sandbox/--cap-set)"
        records = [tuple(r[f] for f in ("capability", "scope", "granted", "origin", "why")) for r in ctx.capabilities.records]
        assert records == [
            ("stdout", None, True, "runtime", "auto-granted by the runtime"),
            ("time", None, False, "runtime", above),
            ("llm", None, False, "runtime", above),
            ("net", "*", False, "program", above),
            ("stdout", None, True, "program", "Granted by stdout"),
            ("net", "evil.test:81", False, "program", above),
        ]
        assert not ctx.host.asked


class TestLinkLocal:
    """17.9: the addresses where cloud machines keep their credentials."""

    @pytest.mark.parametrize(
        "addresses",
        [("169.254.169.254",), ("127.0.0.1", "169.254.169.254"), ("fe80::1",), ("fe80::1%lo",), ("::ffff:169.254.169.254",),
         ("64:ff9b::a9fe:a9fe",), ("169.254.169.254", "127.0.0.1")],
    )  # fmt: skip
    @pytest.mark.parametrize("grant", ["name.example", "*", None])
    def test_a_name_that_leads_there(self, server, addresses, grant):
        ctx = context(grant, host=ResolvingHost(*addresses))
        message = refusal(ctx, f"http://name.example:{server.port}/")
        inside = next(a for a in addresses if a != "127.0.0.1").partition("%")[0]
        assert message == (
            f'Capability not granted: net("{inside}") — a link-local address must be granted literally: '
            f'add `require net("{inside}")`'
        )
        assert not server.connections
        granted, refused = ctx.capabilities.records[-2:]
        assert (granted["scope"], granted["granted"]) == (f"name.example:{server.port}", True)
        assert (refused["scope"], refused["granted"]) == (inside, False)

    @pytest.mark.parametrize(
        "url", ["http://169.254.169.254/latest/meta-data", "http://[fe80::1]/", "http://[::ffff:169.254.0.1]/"]
    )
    def test_the_address_itself_is_not_covered_by_a_pattern(self, url):
        for grant in ("*", None, "169.254.*", "[fe80::*"):
            ctx = context(grant, host=NativeHost())
            with pytest.raises(RuntimeFault) as caught:
                http_get(ctx, url, None, None, 1)
            assert caught.value.message.startswith(DENIED)

    @pytest.mark.parametrize("grant", ["169.254.77.77", "http://169.254.77.77/x", "169.254.77.77:{port}"])
    def test_granted_literally(self, server, grant):
        # The first address answers, so that no test reaches for the second.
        host = ResolvingHost("127.0.0.1", "169.254.77.77")
        ctx = context("name.example", grant.replace("{port}", str(server.port)), host=host)
        assert fetch(ctx, f"http://name.example:{server.port}/")["body"] == "reached"
        if grant.endswith("{port}"):
            assert refusal(ctx, "http://name.example/").startswith(f'{DENIED}"169.254.77.77")')

    def test_a_resting_connection_is_no_way_around_the_gate(self):
        """Opened under a literal grant, it is not there for a context that only holds the name."""
        with WebServer(lambda request: reply("metadata")) as server:
            host = ResolvingHost("127.0.0.1")
            holder = context("name.example", "127.0.0.1", host=host)
            url = f"http://name.example:{server.port}/"
            assert fetch(holder, url)["status"] == 200
            # No address of this machine is link-local: the connection that rests is said to lead to one.
            [[resting]] = host.http._idle.values()
            resting.reserved, resting.address = True, "169.254.169.254"
            assert refusal(context("name.example", host=host), url).startswith(f'{DENIED}"169.254.169.254")')
            assert len(server.requests) == 1

    def test_the_name_is_resolved_once_for_a_connection(self, server):
        """A name that leads elsewhere the second time it is asked for finds no second time."""

        class Rebinding(ResolvingHost):
            def resolve(self, host, port):
                super().resolve(host, port)
                return ["127.0.0.1"] if len(self.asked) == 1 else ["169.254.169.254"]

        host = Rebinding()
        ctx = context("name.example", host=host)
        url = f"http://name.example:{server.port}/"
        assert fetch(ctx, url)["body"] == "reached"
        assert host.asked == ["name.example"]
        assert fetch(ctx, url)["body"] == "reached"  # over the same connection
        assert host.asked == ["name.example"]
        host.http.close()
        assert refusal(ctx, url).startswith(f'{DENIED}"169.254.169.254")')

    def test_the_next_address_is_tried(self, server):
        ctx = context("name.example", host=ResolvingHost("127.0.0.3", "127.0.0.1"))
        assert fetch(ctx, f"http://name.example:{server.port}/")["body"] == "reached"

    def test_a_name_of_this_machine(self, server):
        ctx = context("localhost", host=NativeHost())
        assert fetch(ctx, f"http://localhost:{server.port}/")["body"] == "reached"
        assert server.last.headers["host"] == f"localhost:{server.port}"

    def test_no_such_name(self):
        got = fetch(context("name.example", host=UnknownNames()), "http://name.example/")
        assert got["error"] == "cannot resolve the host name.example: Name or service not known"
