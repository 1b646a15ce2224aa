"""Requests and replies on their way through the ingress, with real programs behind it."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from passing import Backend, Front, Peer, exchange, program
from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, CloseConnection, Request, TextMessage

from runner.backends import StartFailed, StartTimeout, Unavailable

pytestmark = pytest.mark.once

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with program(tmp_path_factory.mktemp("program")) as path:
        yield path


@pytest.fixture(scope="module")
def front() -> Iterator[Front]:
    """In front of projects with ports."""
    with Front() as running:
        yield running


@pytest.fixture(scope="module")
def url(front: Front, place: str) -> str:
    front.open("web", place)
    return f"http://127.0.0.1:{front.ports['web']}"


def settled(backend: Backend) -> bool:
    """Whether everybody who entered has left, within a while."""
    for _ in range(500):
        if backend.inside == 0:
            return True
        threading.Event().wait(0.02)
    return False


# ---- what passes -----------------------------------------------------------------------------------------------------------


def test_a_program_hears_who_asks(url: str) -> None:
    answer = httpx.get(
        url + "/?a=b", headers={"X-Forwarded-For": "1.2.3.4", "X_Forwarded_For": "1.2.3.4", "X-Real-IP": "1.2.3.4"}
    )
    found = answer.json()
    assert found["ip"] == "127.0.0.1"
    assert found["query"] == {"a": "b"}
    assert "1.2.3.4" not in json.dumps(found)


def test_a_trusted_proxy_says_who_asks(place: str) -> None:
    with Front(trusted="127.0.0.0/8") as front:
        front.open("web", place)
        address = f"http://127.0.0.1:{front.ports['web']}/"
        said = {"X-Forwarded-For": "203.0.113.9", "X-Forwarded-Proto": "https"}
        found = httpx.get(address, headers=said).json()
    assert found["ip"] == "127.0.0.1" or found["headers"]["x-forwarded-for"] == "203.0.113.9, 127.0.0.1"
    assert found["headers"]["x-forwarded-proto"] == "https"


def test_bodies_of_every_size_and_framing(url: str) -> None:
    with httpx.Client(base_url=url) as client:
        for size in (0, 1, 70_000, 3_000_000):
            assert client.post("/length", content=b"x" * size, headers={"content-type": "text/plain"}).text == str(size)

        def pieces() -> Iterator[bytes]:
            for _ in range(50):
                yield b"y" * 10_000

        assert client.post("/length", content=pieces(), headers={"content-type": "text/plain"}).text == "500000"
        assert client.get("/large").text == "0123456789abcdef" * 262144
        assert client.head("/large").status_code in (200, 405)


def test_a_client_that_waits_for_100_continue_gets_it(front: Front, url: str) -> None:
    fields = b"Host: localhost\r\nContent-Type: text/plain\r\nContent-Length: 5\r\nExpect: 100-continue\r\n"
    head = b"POST /length HTTP/1.1\r\n" + fields + b"\r\n"
    with socket.create_connection(("127.0.0.1", front.ports["web"]), timeout=30) as client:
        client.sendall(head)
        assert client.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.sendall(b"hello")
        assert client.recv(10_000).endswith(b"\r\n\r\n5")


@pytest.mark.parametrize("protocol", [b"foo", b"h2c", b"websocket"])
@pytest.mark.parametrize("chunked", [False, True])
def test_the_body_behind_an_announced_upgrade_is_a_body(front: Front, url: str, protocol: bytes, chunked: bool) -> None:
    hidden = b"GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n"
    fields = b"Host: localhost\r\nContent-Type: text/plain\r\nConnection: Upgrade\r\nUpgrade: " + protocol + b"\r\n"
    sized = b"Content-Length: %d\r\n\r\n%b" % (len(hidden), hidden)
    pieces = b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(hidden), hidden)
    last = b"POST /length HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nConnection: close\r\n"
    sent = b"POST /length HTTP/1.1\r\n" + fields + (pieces if chunked else sized) + last + b"Content-Length: 2\r\n\r\nok"
    found = exchange(front.ports["web"], sent)
    assert [reply.rpartition(b"\r\n\r\n")[2] for reply in found.split(b"HTTP/1.1 200")[1:]] == [b"%d" % len(hidden), b"2"]
    assert found.count(b"HTTP/1.1 ") == 2


def test_server_sent_events_come_as_they_are_sent(url: str) -> None:
    with httpx.stream("GET", url + "/ticks") as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert [line for line in answer.iter_lines() if line.startswith("data")] == [f'data: {{"n": {n}}}' for n in range(3)]


def test_an_old_client_gets_a_stream_until_the_connection_ends(front: Front, url: str) -> None:
    answer = exchange(front.ports["web"], b"GET /ticks HTTP/1.0\r\nHost: localhost\r\n\r\n")
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"transfer-encoding" not in head.lower() and b"connection: close" in head.lower()
    assert body.count(b"event: tick") == 3


def test_a_websocket_passes_both_ways(front: Front, url: str) -> None:
    protocol = WSConnection(ConnectionType.CLIENT)
    with socket.create_connection(("127.0.0.1", front.ports["web"]), timeout=30) as client:
        client.sendall(protocol.send(Request(host="localhost", target="/echo")))
        seen: list[object] = []
        while not any(isinstance(event, AcceptConnection) for event in seen):
            protocol.receive_data(client.recv(65536))
            seen += protocol.events()
        for text in ("one", "two" * 40_000):
            client.sendall(protocol.send(TextMessage(text)))
            found = ""
            while len(found) < len(text):
                protocol.receive_data(client.recv(65536))
                found += "".join(event.data for event in protocol.events() if isinstance(event, TextMessage))
            assert found == text
        client.sendall(protocol.send(CloseConnection(1000)))


def test_requests_in_one_piece_are_answered_in_order(front: Front, url: str) -> None:
    request = b"GET /?n=%d HTTP/1.1\r\nHost: localhost\r\n%b\r\n"
    data = b"".join(request % (n, b"Connection: close\r\n" if n == 19 else b"") for n in range(20))
    answers = exchange(front.ports["web"], data)
    places = [answers.index(b'"n": "%d"' % n) for n in range(20)]
    assert places == sorted(places) and answers.count(b"HTTP/1.1 200") == 20


def test_cookies_have_names_of_their_own_where_a_host_is_shared(url: str) -> None:
    answer = httpx.get(url + "/cookie", headers={"Cookie": "a=0; p-web_a=1; p-other_a=2; platform-session=3"})
    assert answer.json()["seen"] == {"a": "1"}
    assert [each.partition("=")[0] for each in answer.headers.get_list("set-cookie")] == ["p-web_a", "__Host-p-web_b"]


# ---- hosts -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "169.254.169.254", "[::ffff:127.0.0.1]", "local host"]
)
def test_a_host_that_is_not_ours_is_refused(front: Front, url: str, host: str) -> None:
    """A page of another site could else have its own name lead here and read what programs give."""
    answer = exchange(front.ports["web"], f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    assert answer.split(b" ", 2)[1] in (b"421", b"400")


def test_hosts_below_the_domain(place: str, tmp_path: Path) -> None:
    peer = Peer(tmp_path / "two.sock", OK, OK)
    with Front(domain="apps.test") as front:
        front.open("one", place)
        front.open("two", peer.path)

        def status(host: str) -> int:
            request = f"GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
            return int(exchange(front.port, request.encode()).split(b" ", 2)[1])

        assert status("one.apps.test") == status("ONE.apps.test.:443") == status("two.apps.test:8080") == 200
        for other in (
            "apps.test",
            "three.apps.test",
            "a.one.apps.test",
            "one.apps.test.evil",
            "oneapps.test",
            "127.0.0.1",
            "one",
        ):
            assert status(other) == 421
    peer.close()


# ---- waiting ---------------------------------------------------------------------------------------------------------------


def test_a_request_is_held_until_the_program_is_there(front: Front, place: str) -> None:
    backend = front.open("asleep", None)
    found: list[httpx.Response] = []
    address = f"http://127.0.0.1:{front.ports['asleep']}"
    waiting = [threading.Thread(target=lambda: found.append(httpx.get(address, timeout=60))) for _ in range(20)]
    waiting.append(
        threading.Thread(target=lambda: found.append(httpx.post(address + "/length", content=b"z" * 200_000, timeout=60)))
    )
    for thread in waiting:
        thread.start()
    for _ in range(500):
        if front.call(lambda: sum(route.held for route in front.ingress._by_project.values())) == 21:
            break
        threading.Event().wait(0.02)
    assert not found
    front.wakes(backend, place)
    for thread in waiting:
        thread.join(60)
    assert [answer.status_code for answer in found] == [200] * 21
    assert settled(backend)


@pytest.mark.parametrize(
    ("failure", "status"), [(StartFailed("Traceback: secret"), 502), (StartTimeout(), 504), (Unavailable(), 503)]
)
def test_what_keeps_a_program_from_answering_is_said_on_a_page(front: Front, failure: Exception, status: int) -> None:
    slug = f"fails{status}"
    backend = front.open(slug, None)
    front.wakes(backend, None, failure)
    address = f"http://127.0.0.1:{front.ports[slug]}/"
    page = httpx.get(address, headers={"Accept": "text/html,*/*", "Accept-Language": "es;q=0.9, pt"})
    assert page.status_code == status and page.headers["content-type"].startswith("text/html") and 'lang="pt"' in page.text
    assert "secret" not in page.text
    plain = httpx.get(address)
    assert plain.status_code == status and plain.json()["status"] == status
    assert httpx.head(address).status_code == status


def test_a_client_that_leaves_while_it_waits_is_forgotten(front: Front, place: str) -> None:
    backend = front.open("left", None)
    client = socket.create_connection(("127.0.0.1", front.ports["left"]))
    client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    route = front.ingress._by_project[backend.project]
    while not front.call(lambda: route.held):
        threading.Event().wait(0.02)
    client.close()
    while front.call(lambda: route.held):
        threading.Event().wait(0.02)
    front.wakes(backend, place)
    assert backend.entered == 0


def test_a_client_that_leaves_a_stream_has_left_the_program(front: Front, place: str) -> None:
    backend = front.open("stream", place)
    client = socket.create_connection(("127.0.0.1", front.ports["stream"]))
    client.sendall(b"GET /endless HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert client.recv(1000).startswith(b"HTTP/1.1 200")
    assert backend.inside == 1
    client.close()
    assert settled(backend)


# ---- programs that do not behave -------------------------------------------------------------------------------------------


def asked(
    front: Front, tmp_path: Path, slug: str, *answers: bytes | None, data: bytes | None = None, ends: bool = False
) -> bytes:
    peer = Peer(tmp_path / f"{slug}.sock", *answers, ends=ends)
    backend = front.open(slug, peer.path)
    found = exchange(front.ports[slug], data or b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert settled(backend)
    peer.close()
    return found


@pytest.mark.parametrize(
    "answer",
    [
        None,
        b"nonsense\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\nok",
        b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"a" * 300_000,
    ],
)
def test_an_answer_that_is_none_is_a_bad_gateway(front: Front, tmp_path: Path, answer: bytes | None) -> None:
    found = asked(front, tmp_path, f"bad{hash(answer) % 10_000}", answer, ends=True)
    assert found.startswith(b"HTTP/1.1 502")


def test_an_answer_that_breaks_off_is_not_taken_for_the_whole(front: Front, tmp_path: Path) -> None:
    found = asked(front, tmp_path, "short", b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort", ends=True)
    assert not found.endswith(b"0\r\n\r\n") and len(found.partition(b"\r\n\r\n")[2]) < 10
    found = asked(front, tmp_path, "cut", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", ends=True)
    assert not found.endswith(b"0\r\n\r\n")


def test_what_a_program_says_behind_its_answer_is_no_answer_to_the_next_request(front: Front, tmp_path: Path) -> None:
    """A second reply in the first one's wake would else be read by another client."""
    peer = Peer(tmp_path / "wake.sock", OK + b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged", OK)
    backend = front.open("wake", peer.path)
    one = b"GET /1 HTTP/1.1\r\nHost: localhost\r\n\r\n"
    two = b"GET /2 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    found = exchange(front.ports["wake"], one + two)
    assert found.count(b"HTTP/1.1 200") == 2 and b"forged" not in found
    assert peer.connections == 2 and settled(backend)
    peer.close()


def test_fields_for_one_hop_stay_behind(front: Front, tmp_path: Path) -> None:
    peer = Peer(
        tmp_path / "hop.sock",
        b"HTTP/1.1 200 OK\r\nConnection: X-Inner\r\nX-Inner: a\r\nKeep-Alive: timeout=9\r\nClear-Site-Data: *\r\n"
        b"Strict-Transport-Security: max-age=9\r\nX-Outer: b\r\nContent-Length: 2\r\n\r\nok",
    )
    front.open("hop", peer.path)
    found = exchange(
        front.ports["hop"],
        b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close, X-Mine\r\nX-Mine: c\r\nTE: trailers\r\nX-Yours: d\r\n"
        b"Proxy-Authorization: e\r\nUpgrade: h2c\r\nForwarded: for=1.2.3.4\r\n\r\n",
    ).lower()
    assert b"x-outer" in found
    assert not [name for name in (b"x-inner", b"keep-alive", b"clear-site-data", b"strict-transport") if name in found]
    sent = peer.received[0].lower()
    assert b"x-yours" in sent
    assert not [name for name in (b"x-mine", b"\r\nte:", b"proxy-auth", b"h2c", b"1.2.3.4", b"connection") if name in sent]
    peer.close()


def test_a_kept_connection_that_has_ended_is_no_fault_of_the_request(front: Front, tmp_path: Path) -> None:
    """A program that is restarted ends connections that the ingress keeps."""
    peer = Peer(tmp_path / "kept.sock", OK, None, OK)
    front.open("kept", peer.path)
    one = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
    found = exchange(front.ports["kept"], one + b"GET /2 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert found.count(b"HTTP/1.1 200") == 2
    assert peer.connections == 2
    peer.close()


def test_a_request_that_may_have_been_done_is_not_sent_again(front: Front, tmp_path: Path) -> None:
    peer = Peer(tmp_path / "once.sock", OK, None, OK)
    front.open("once", peer.path)
    one = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
    found = exchange(front.ports["once"], one + b"POST /2 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert re.findall(rb"HTTP/1.1 (\d+) ", found) == [b"200", b"502"]
    assert len(peer.received) == 2
    peer.close()


def test_a_newer_program_gets_no_request_over_an_older_connection(front: Front, tmp_path: Path) -> None:
    old, new = Peer(tmp_path / "old.sock", OK, OK), Peer(tmp_path / "new.sock", OK)
    backend = front.open("newer", old.path)
    with httpx.Client(base_url=f"http://127.0.0.1:{front.ports['newer']}") as client:
        assert client.get("/").status_code == 200

        def exchanged() -> None:
            backend.path, backend.epoch = new.path, 1

        front.call(exchanged)
        assert client.get("/").status_code == 200
    assert (len(old.received), len(new.received)) == (1, 1)
    old.close()
    new.close()


# ---- clients that do not behave --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 40_000 + b"\r\n\r\n", b"431"),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 40_000, b"431"),
        (b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", b"400"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", b"400"),
    ],
)
def test_what_cannot_be_read_ends_the_connection(front: Front, url: str, data: bytes, status: bytes) -> None:
    found = exchange(front.ports["web"], data + b"GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert found.split(b" ", 2)[1] == status and found.count(b"HTTP/1.1 ") == 1


def test_a_client_that_does_not_read_takes_no_memory(front: Front, place: str) -> None:
    """Whoever asks on and on without reading is answered no further than what fits into the buffers."""
    backend = front.open("unread", place)
    client = socket.create_connection(("127.0.0.1", front.ports["unread"]))
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.settimeout(0.5)
    request = b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n"
    try:
        for _ in range(2_000):
            client.sendall(request * 100)
    except TimeoutError:
        pass
    [connection] = front.call(lambda: list(front.ingress.connections))
    assert front.call(connection.transport.get_write_buffer_size) < 2_000_000
    assert len(connection._buffer) < 2_000_000
    assert backend.entered < 10
    client.close()
    assert settled(backend)


def test_an_ingress_that_stops_lets_what_is_under_way_end(place: str) -> None:
    with Front() as front:
        front.open("web", place)
        address = f"http://127.0.0.1:{front.ports['web']}/ticks"
        with httpx.stream("GET", address) as answer:
            lines = answer.iter_lines()
            next(lines)
            stopping = asyncio.run_coroutine_threadsafe(front.ingress.stop(20), front._loop)
            assert len([line for line in lines if line.startswith("data")]) == 3
        stopping.result(30)
        with pytest.raises(httpx.TransportError):
            httpx.get(address)
