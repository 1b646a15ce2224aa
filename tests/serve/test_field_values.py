"""Header fields that are not ASCII, over the wire: one rule in each direction (RFC 9110 section 5.5)."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from language.native.server.redirecting import Redirect
from tests.serve.served import Served, header, request
from tests.waiting_gates import wait_for

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = """
require serve(PORT)
require net("127.0.0.1:PORT")
require net("127.0.0.1:1")
task who(token)
    give token
serve on PORT
    auth with who
    route "GET /set/:which"
        let values be {"latin": "café", "other": "日本", "both": "ñ日", "ascii": "plain"}
        give with_header(ok(1), "X-Name", values[params.which])
    route "GET /stream/:which"
        stream
            send 1
    route "GET /type"
        give respond("x", "text/plain; name=ñ")
    route "GET /go"
        give redirect("/grüße/日 x?q=ñ#é", 303)
    route "GET /echo"
        give with_header(ok(request.headers["x-name"]), "X-Name", request.headers["x-name"])
    route "GET /cookie"
        give request.cookies
    route "GET /me" requires auth
        give request.user
    route "GET /through/:which"
        proxy to "http://127.0.0.1:PORT/grüße"
    cors "https://shop.example"
    route "GET /base/*rest"
        give 1
    route "GET /limited"
        rate_limit 5 per minute
        proxy to "http://127.0.0.1:PORT/base"
    route "GET /nowhere"
        rate_limit 5 per minute
        proxy to "http://127.0.0.1:1/"
    route "GET /gr%C3%BC%C3%9Fe/through/:which"
        give with_header(ok(request.headers["x-name"]), "X-Name", "ñ")
"""


class Running:
    def __init__(self, folder: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            self.port = int(taken.getsockname()[1])
        (folder / "app.lang").write_text(PROGRAM.replace("PORT", str(self.port)), encoding="utf-8")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "language", "serve", "--bind", "127.0.0.1", "app.lang"],
            cwd=folder,
            env={"HOME": str(folder), "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        wait_for(self._answers, 30)

    def _answers(self) -> bool:
        assert self.process.poll() is None
        try:
            return bool(self.ask("/set/ascii")[0])
        except OSError:
            return False

    def ask(self, path: str, *fields: bytes) -> tuple[dict[bytes, bytes], bytes]:
        """The header fields of the answer and its body, octet for octet."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as sock:
            lines = [b"GET " + path.encode() + b" HTTP/1.1", b"Host: localhost", b"Connection: close", *fields]
            sock.sendall(b"\r\n".join(lines) + b"\r\n\r\n")
            received = b""
            while data := sock.recv(65536):
                received += data
        head, _, body = received.partition(b"\r\n\r\n")
        pairs = [line.partition(b": ") for line in head.split(b"\r\n")[1:]]
        found = {name.lower(): value for name, _, value in pairs}
        assert len(found) == len(pairs), "a field came twice"
        return found, body


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    running = Running(tmp_path_factory.mktemp("fields"))
    yield running
    running.process.send_signal(signal.SIGTERM)
    assert running.process.wait(20) == 0


@pytest.mark.parametrize(("which", "text"), [("latin", "café"), ("other", "日本"), ("both", "ñ日"), ("ascii", "plain")])
def test_a_program_writes_utf_8(running: Running, which: str, text: str) -> None:
    assert running.ask(f"/set/{which}")[0][b"x-name"] == text.encode()


def test_a_content_type_too(running: Running) -> None:
    assert running.ask("/type")[0][b"content-type"] == "text/plain; name=ñ".encode()


def test_a_location_is_ascii(running: Running) -> None:
    expected = b"/gr%C3%BC%C3%9Fe/%E6%97%A5%20x?q=%C3%B1#%C3%A9"
    assert running.ask("/go")[0][b"location"] == expected


def test_what_a_program_reads_it_can_say(running: Running) -> None:
    fields, body = running.ask("/echo", "X-Name: ñ日".encode())
    assert json.loads(body) == "ñ日" and fields[b"x-name"] == "ñ日".encode()
    # Octets that are no UTF-8 are read as Latin-1, as RFC 9110 tells of the past.
    fields, body = running.ask("/echo", b"X-Name: caf\xe9")
    assert json.loads(body) == "café" and fields[b"x-name"] == "café".encode()


def test_cookies_and_tokens_are_read_alike(running: Running) -> None:
    assert json.loads(running.ask("/cookie", "Cookie: a=ñ; b=日".encode())[1]) == {"a": "ñ", "b": "日"}
    assert json.loads(running.ask("/me", "Authorization: Bearer ñ日".encode())[1]) == "ñ日"


def test_a_proxy_gives_octets_on_as_they_are(running: Running) -> None:
    for octets, text in (("ñ日".encode(), "ñ日"), (b"caf\xe9", "café")):
        fields, body = running.ask("/through/x", b"X-Name: " + octets)
        assert json.loads(body) == text
        assert fields[b"x-name"] == "ñ".encode()


@pytest.mark.parametrize("path", ["/limited", "/nowhere"])
def test_what_a_proxy_brings_back_has_the_fields_of_the_service(running: Running, path: str) -> None:
    fields, _ = running.ask(path)
    assert fields[b"access-control-allow-origin"] == b"https://shop.example"
    assert fields[b"ratelimit-limit"] == b"5" and fields[b"ratelimit-remaining"] == b"4"


@pytest.mark.parametrize("value", ["a\r\nSet-Cookie: x=1", "a\nb", "a\rb", "a\0b", "a\x7fb", "a\x85b", "a\x1bb"])
@pytest.mark.parametrize("call", ["with_header(1, 'X-A', v)", "respond('x', v)", "binary(bytes('x'), v)", "redirect(v)"])
def test_control_characters_are_refused(call: str, value: str) -> None:
    escaped = json.dumps(value)
    code = call.replace("'", '"')
    route = f"        let v be json_decode(request.body)\n        give {code}\n"
    app = Served(f'require serve(8080)\nserve on 8080\n    route "GET /"\n{route}')
    reply = app("GET", "/", escaped)
    assert reply.status == 500 and b"must not contain" in reply.body


def test_the_way_to_tls_is_ascii_too() -> None:
    reply = Redirect(443).respond(request("GET", "/gr\xc3\xbc\xc3\x9fe?q=\xe9", host="shop.test"))
    assert header(reply, "Location") == ["https://shop.test/gr%C3%BC%C3%9Fe?q=%E9"]
