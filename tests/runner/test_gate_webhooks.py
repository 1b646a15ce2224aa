"""A project's own webhook for gates, sent by the runner: signed, to the public network alone, without redirects."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from language import verify_signature
from language.host_link import GateAsked
from runner.links import Names
from runner.webhooks import PUBLIC_URL, SECRET, URL, Webhook, WebhookRefused

GATE = GateAsked("g1", "ask", "Which?", 1_900_000_000, "ab" * 32, ("a", "b"))


class Receiver(ThreadingHTTPServer):
    """Keeps what is posted, and answers with a status."""

    def __init__(self) -> None:
        self.got: list[tuple[str, dict[str, str], bytes]] = []
        self.status = 200
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append((self.path, dict(self.headers), body))
        self.send_response(self.server.status)
        if self.server.status == 302:
            self.send_header("Location", f"http://{self.server.place}/elsewhere")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def send(settings: dict[str, str], *allowed: str, addresses: list[str] | None = None) -> None:
    async def resolve(host: str, port: int) -> list[str]:
        assert addresses is not None
        return addresses

    async def once() -> None:
        await Webhook(settings, allowed, Names() if addresses is None else resolve).send(GATE)

    asyncio.run(once())


def test_it_is_what_the_interpreter_sends_signed_with_the_users_secret(receiver: Receiver) -> None:
    settings = {URL: f"http://{receiver.place}/hook?a=1", SECRET: "s3", PUBLIC_URL: "https://shop.example/"}
    send(settings, receiver.place)
    [(path, headers, body)] = receiver.got
    assert path == "/hook?a=1" and headers["Host"] == receiver.place
    assert verify_signature("s3", body, headers["X-Platform-Signature"])
    page = f"https://shop.example/approvals/g1/{GATE.token}"
    assert json.loads(body) == {
        "id": "g1",
        "type": "ask",
        "message": "Which?",
        "expires_at": 1_900_000_000,
        "token": GATE.token,
        "respond_path": "/approvals/g1",
        "options": ["a", "b"],
        "respond_url": "https://shop.example/approvals/g1",
        "respond_page": page,
        "respond_link_yes": page + "?d=yes",
        "respond_link_no": page + "?d=no",
    }


def test_without_a_secret_there_is_no_signature(receiver: Receiver) -> None:
    send({URL: f"http://{receiver.place}/"}, receiver.place)
    assert "X-Platform-Signature" not in receiver.got[0][1]


@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "::ffff:127.0.0.1", "fe80::1%eth0"])
def test_no_name_leads_to_an_address_inside(receiver: Receiver, address: str) -> None:
    port = receiver.place.rpartition(":")[2]
    with pytest.raises(WebhookRefused, match="not of the public network"):
        send({URL: f"http://hook.example:{port}/"}, receiver.place, addresses=[address])
    with pytest.raises(WebhookRefused, match="not of the public network"):
        send({URL: f"http://hook.example:{port}/"}, addresses=["93.184.216.34", address])
    assert receiver.got == []


def test_a_literal_address_inside_is_for_the_operator_to_open(receiver: Receiver) -> None:
    with pytest.raises(WebhookRefused, match="not of the public network"):
        send({URL: f"http://{receiver.place}/"})
    assert receiver.got == []


def test_a_name_of_other_letters_is_sent_as_the_wire_takes_it(receiver: Receiver) -> None:
    port = receiver.place.rpartition(":")[2]
    with pytest.raises(WebhookRefused, match=r"xn--mller-kva\.example is not of the public network"):
        send({URL: f"http://Müller.example:{port}/"}, receiver.place, addresses=["127.0.0.1"])


def test_the_answer_that_was_looked_at_is_where_it_goes(receiver: Receiver) -> None:
    """Whoever answers the second question otherwise gets no second question."""
    asked: list[str] = []

    async def rebinding(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["10.0.0.1"] if len(asked) > 1 else [receiver.place.rpartition(":")[0]]

    url = {URL: f"http://{receiver.place}/"}
    asyncio.run(Webhook(url, (receiver.place,), rebinding).send(GATE))
    assert asked == ["127.0.0.1"] and len(receiver.got) == 1


def test_a_redirect_is_not_followed(receiver: Receiver) -> None:
    receiver.status = 302
    with pytest.raises(WebhookRefused, match="302"):
        send({URL: f"http://{receiver.place}/"}, receiver.place)
    assert [path for path, _, _ in receiver.got] == ["/"]


@pytest.mark.parametrize(
    "url",
    [
        "ftp://x.example", "http://", "x", "http://user:pass@93.184.216.34/", "http://[::1", "http://x:y/", "http://a b/",
        f"http://{'a' * 70}.example/", "http://a..example/", "http://\ud800.example/", "http://x:99999/", "http://\x7f/",
    ],
)  # fmt: skip
def test_what_is_no_url_is_refused_without_being_shown(url: str) -> None:
    with pytest.raises(WebhookRefused) as refused:
        send({URL: url})
    assert url not in str(refused.value)
