"""Pages of another site, in a real browser, against a service on the reader's own machine: nothing they send makes it act.

The names ``evil.example`` and ``rebound.example`` are resolved to this machine, as the names of an attacker can be.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page

from tests.examples.browsing import chromium, window
from tests.examples.running_services import Service, served
from tests.web_server import WebServer, reply

PROGRAM = """
require serve(8080)
serve on 8080
    static "files"
    route "GET /acts"
        give state_get("acts", 0)
    route "POST /act"
        give state_incr("acts")
    route "PUT /act"
        give state_incr("acts")
    route "DELETE /act"
        give state_incr("acts")
    route "POST /json"
        expect body {sure: bool}
        give state_incr("acts")
    route "GET /socket"
        socket
            ws_send(socket, state_incr("acts"))
    route "GET /stream"
        stream
            send "a secret of the service"
    route "GET /gate"
        let sent be approve "Send 500 EUR to Eve?" within 60s
        give {"approved": sent}
    route "GET /form"
        give html("<form method=post action=/act><button>Pay Eve</button></form>")
    route "GET /content"
        give content(page([heading(1, "Pay Eve")]))
    route "GET /widget"
        give with_header(html("<button>Pay Eve</button>"), "Content-Security-Policy", "frame-ancestors *")
    route "GET /inner"
        give html("<iframe src=/form></iframe>")
"""
TIMEOUT_MS = 60_000
_FORM = """async ([action, type, fields]) => {
  const frame = Object.assign(document.createElement("iframe"), {name: "f" + Math.random()});
  document.body.append(frame);
  const form = Object.assign(document.createElement("form"), {action, method: "post", enctype: type, target: frame.name});
  for (const [name, value] of Object.entries(fields))
    form.append(Object.assign(document.createElement("input"), {type: "hidden", name, value}));
  document.body.append(form);
  const loaded = new Promise((resolve) => { frame.onload = resolve; });
  form.submit();
  await loaded;
}"""
_FETCH = """async ([url, options]) => {
  try {
    const answer = await fetch(url, options);
    return [answer.type, answer.status, await answer.text()];
  } catch (error) { return ["refused", 0, String(error)]; }
}"""
_LOAD = """([tag, url]) => new Promise((resolve) => {
  const one = document.createElement(tag);
  one.onload = () => resolve("loaded");
  one.onerror = () => resolve("failed");
  if (tag === "link") Object.assign(one, {rel: "stylesheet", href: url}); else one.src = url;
  document.body.append(one);
})"""
_SOCKET = """(url) => new Promise((resolve) => {
  const socket = new WebSocket(url);
  socket.onmessage = ({data}) => resolve("got " + data);
  socket.onerror = () => resolve("refused");
})"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium("--host-resolver-rules=MAP evil.example 127.0.0.1,MAP rebound.example 127.0.0.1") as running:
        yield running


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("service")
    (folder / "service.lang").write_text(PROGRAM, encoding="utf-8")
    (folder / "files").mkdir()
    (folder / "files" / "file.html").write_text("<button>Pay Eve</button>", encoding="utf-8")
    (folder / "files" / "picture.svg").write_text(
        '<svg xmlns="http://www.w3.org/2000/svg"><a href="/act"><text y="20">Pay Eve</text></a></svg>', encoding="utf-8"
    )
    with served(folder, "service.lang", bound=False, PLATFORM_SERVE_WORKERS="8") as running:
        yield running


@pytest.fixture(params=["http://evil.example", "http://127.0.0.1"])
def page(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A page of another site, and one of another port of the address that the service has."""
    evil = WebServer(lambda _: reply("<!doctype html><title>evil</title>", "Content-Type: text/html"))
    with evil, window(browser) as (context, shown, _):
        context.set_default_timeout(TIMEOUT_MS)
        shown.goto(f"{request.param}:{evil.port}/")
        assert shown.title() == "evil"
        yield shown


def acts(service: Service) -> int:
    return int(httpx.get(f"{service.url}/acts", timeout=60).json())


class Gate:
    """A gate that waits in the service."""

    def __init__(self, service: Service, pool: ThreadPoolExecutor) -> None:
        self.answer = pool.submit(httpx.get, f"{service.url}/gate", timeout=90)
        known = service.log
        line = ""
        while not line:
            pending = httpx.get(f"{service.url}/approvals", timeout=60).json()["pending"]
            line = service.waits_for(f"approval pending {pending[0]['id']} ", 60) if pending else ""
            assert not self.answer.done(), known
        self.id = pending[0]["id"]
        (self.token,) = re.findall(r'\{"token": "([0-9a-f]{64})"', line)
        self.url = f"{service.url}/approvals/{self.id}"
        self._service = service

    def is_open(self) -> bool:
        pending = httpx.get(f"{self._service.url}/approvals", timeout=60).json()["pending"]
        return [gate["id"] for gate in pending] == [self.id]

    def deny(self) -> None:
        assert httpx.post(self.url, json={"token": self.token, "decision": False}, timeout=60).status_code == 200
        assert self.answer.result(60).json() == {"approved": False}


@pytest.fixture
def gate(service: Service) -> Iterator[Gate]:
    with ThreadPoolExecutor(1) as pool:
        waiting = Gate(service, pool)
        yield waiting
        waiting.deny()


def test_no_request_of_its_makes_the_service_act_or_tells_it_anything(page: Page, service: Service) -> None:
    before = acts(service)
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        page.evaluate(_FORM, [f"{service.url}/act", kind, {"a": "1"}])
    page.evaluate(_FORM, [f"{service.url}/json", "text/plain", {'{"sure": true, "x": "': '"}'}])
    simple: dict[str, Any] = {"method": "POST", "mode": "no-cors", "body": '{"sure": true}'}
    for kind in ("text/plain", "application/x-www-form-urlencoded"):
        for path in ("/act", "/json"):
            page.evaluate(_FETCH, [service.url + path, {**simple, "headers": {"Content-Type": kind}}])
    page.evaluate(_FETCH, [f"{service.url}/act", {**simple, "referrerPolicy": "no-referrer", "keepalive": True}])
    page.evaluate(_FETCH, [f"{service.url}/act", {**simple, "credentials": "include"}])
    page.evaluate("url => { navigator.sendBeacon(url, 'x') }", f"{service.url}/act")
    for method in ("POST", "PUT", "DELETE"):
        for fields in ({}, {"Content-Type": "application/json"}):
            outcome = page.evaluate(_FETCH, [f"{service.url}/act", {"method": method, "headers": fields}])
            assert outcome[0] == "refused"
    for tag in ("img", "script", "link"):
        assert page.evaluate(_LOAD, [tag, f"{service.url}/act"]) == "failed"
    assert page.evaluate(_SOCKET, f"{service.url.replace('http', 'ws')}/socket") == "refused"
    for path in ("/acts", "/stream", "/approvals", "/openapi.json", "/docs"):
        outcome = page.evaluate(_FETCH, [service.url + path, {}])
        assert outcome[0] == "refused", path
    assert acts(service) == before


def test_it_decides_no_gate(page: Page, service: Service, gate: Gate) -> None:
    guess = "0" * 64
    for token in (guess, gate.token):  # the second one it could only have been given
        json_in_a_form = {f'{{"token": "{token}", "decision": true, "x": "': '"}'}
        page.evaluate(_FORM, [gate.url, "text/plain", json_in_a_form])
        body = json.dumps({"token": token, "decision": True})
        for options in ({"mode": "no-cors"}, {}):
            page.evaluate(_FETCH, [gate.url, {"method": "POST", "body": body, **options}])
        page.evaluate(_FORM, [gate.url, "multipart/form-data", {"token": token, "decision": "true"}])
    page.evaluate(_FORM, [gate.url, "application/x-www-form-urlencoded", {"token": guess, "decision": "true"}])
    for tag in ("img", "script", "link"):
        page.evaluate(_LOAD, [tag, f"{gate.url}/{guess}?d=yes"])
    assert gate.is_open()


def test_no_page_of_the_service_on_which_one_acts_is_shown_in_a_frame(page: Page, service: Service, gate: Gate) -> None:
    for path in (f"/approvals/{gate.id}/{gate.token}", "/docs", "/none"):
        with page.expect_event("framenavigated", lambda frame: frame.parent_frame is not None):
            page.evaluate("url => { document.body.append(Object.assign(document.createElement('iframe'), {src: url})) }",
                          service.url + path)  # fmt: skip
        frame = page.frames[-1]
        frame.wait_for_load_state()
        assert not re.search("Decision needed|Try it|nothing here", frame.content()), path
    assert gate.is_open()


def framed(page: Page, url: str) -> str:
    """What a frame of the page shows of the address."""
    with page.expect_event("framenavigated", lambda frame: frame.parent_frame is not None):
        page.evaluate("url => { document.body.append(Object.assign(document.createElement('iframe'), {src: url})) }", url)
    frame = page.frames[-1]
    frame.wait_for_load_state()
    return frame.content()


def test_no_page_of_a_program_is_shown_in_a_frame_where_a_click_would_act(page: Page, service: Service) -> None:
    for path in ("/form", "/content", "/file.html", "/picture.svg"):
        assert httpx.get(service.url + path, timeout=60).text.count("Pay Eve") == 1
        assert "Pay Eve" not in framed(page, service.url + path), path


def test_a_page_that_names_who_may_frame_it_is_shown_there(page: Page, service: Service) -> None:
    assert "Pay Eve" in framed(page, f"{service.url}/widget")


def test_a_page_is_shown_in_a_frame_of_its_own_service(browser: Browser, service: Service) -> None:
    with window(browser) as (_, page, _complaints):
        page.set_default_timeout(TIMEOUT_MS)
        page.goto(f"{service.url}/inner")
        frame = page.frames[-1]
        frame.wait_for_load_state()
        assert "Pay Eve" in frame.content()


def test_a_name_of_its_own_for_this_machine_gets_it_nowhere(browser: Browser, service: Service) -> None:
    port = service.url.rpartition(":")[2]
    before = acts(service)
    # The attacker's own page would have no policy; the refusal, which stands for it here, has one.
    with browser.new_context(bypass_csp=True) as context:
        context.set_default_timeout(TIMEOUT_MS)
        page = context.new_page()
        answer = page.goto(f"http://rebound.example:{port}/acts")
        assert answer is not None and answer.status == 421
        for method, path in (("GET", "/acts"), ("GET", "/approvals"), ("POST", "/act"), ("PUT", "/act"), ("DELETE", "/act")):
            # The browser takes it for a request of the service's own page.
            kind, status, text = page.evaluate(_FETCH, [path, {"method": method}])
            assert (kind, status) == ("basic", 421), text
        assert page.evaluate(_SOCKET, f"ws://rebound.example:{port}/socket") == "refused"
        text = page.evaluate(_FETCH, ["/docs", {"headers": {"Accept": "text/html"}}])[2]
        assert "Unknown host name" in text or "does not answer for the host" in text
    assert acts(service) == before


def test_what_is_refused_to_others_is_done_for_a_page_of_the_service_itself(browser: Browser, service: Service) -> None:
    """The same requests from the own origin act: so it is the origin that they were refused for."""
    before = acts(service)
    with window(browser) as (_, page, _complaints):
        page.set_default_timeout(TIMEOUT_MS)
        page.goto(f"{service.url}/acts")
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
            page.evaluate(_FORM, [f"{service.url}/act", kind, {"a": "1"}])
        page.evaluate(_FORM, [f"{service.url}/json", "text/plain", {'{"sure": true, "x": "': '"}'}])
        for method in ("POST", "PUT", "DELETE"):
            assert page.evaluate(_FETCH, [f"{service.url}/act", {"method": method}])[:2] == ["basic", 200]
        assert page.evaluate(_SOCKET, f"{service.url.replace('http', 'ws')}/socket").startswith("got ")
    assert acts(service) == before + 8
