"""What leaves the page of the playground: nothing, unless the user says so. It works without network and without isolation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.examples.browsing import window
from tests.wasm.playground.playground_page import lend, open_page, run, send, serving
from tests.wasm.web_build import web_build
from wasm_abi.playground.serving import server


class Elsewhere(BaseHTTPRequestHandler):
    """A server of somebody else, which lets pages of others read its answers."""

    seen: list[tuple[str, str]]

    def do_GET(self) -> None:
        type(self).seen.append((self.command, self.path))
        self.send_response(302 if self.path == "/away" else 200)
        if self.path == "/away":
            self.send_header("Location", "/there")
        self.send_header("Access-Control-Allow-Origin", "*")
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


@pytest.fixture
def elsewhere() -> Iterator[str]:
    Elsewhere.seen = []
    with serving(HTTPServer(("127.0.0.1", 0), Elsewhere)) as address:
        yield address


def test_nothing_leaves_the_page(browser: Browser, site: str, elsewhere: str) -> None:
    with window(browser) as (context, page, _):
        asked: list[str] = []
        context.on("request", lambda request: asked.append(request.url))
        open_page(page, site)
        fetching = f'require net("127.0.0.1")\nlet r be http_get("{elsewhere}")\nprint(r["ok"])'
        expect(run(page, fetching).locator("li")).to_have_text(["false"])
        refused = page.evaluate("url => fetch(url).then(() => 'sent', () => 'refused')", elsewhere)
        assert refused == "refused"
        page.evaluate("url => document.body.append(Object.assign(new Image(), {src: url}))", elsewhere)
        page.evaluate("url => document.body.append(Object.assign(document.createElement('script'), {src: url}))", elsewhere)
        page.locator("#source").fill(
            f'require serve(1)\nserve on 1\n    route "GET /"\n        give html("<img src={elsewhere}><p>hi")'
        )
        send(page, "/")
        expect(page.frame_locator("#page").locator("p")).to_have_text("hi")
        page.wait_for_timeout(300)
        assert Elsewhere.seen == []
        assert {url for url in asked if not url.startswith((site, "data:", "blob:", elsewhere))} == set()


def test_real_requests_are_switched_on_and_seen(page: Page, elsewhere: str) -> None:
    lend(page, http="real")
    expect(page.locator("#http-note")).to_have_class("warned")
    source = f'require net("127.0.0.1")\nlet r be http_get("{elsewhere}a?b=1")\nprint(r["status"], r["body"])'
    expect(run(page, source).locator("li")).to_have_text(["200 hello"])
    assert Elsewhere.seen == [("GET", "/a?b=1")]
    expect(page.locator("#http-log li")).to_contain_text("200")
    expect(run(page, source.replace("a?b=1", "away"))).not_to_contain_text("hello")
    assert Elsewhere.seen[1:] == [("GET", "/away")]  # no redirect is followed


def test_without_a_network(browser: Browser, site: str) -> None:
    with window(browser) as (context, page, _):
        open_page(page, site)
        page.evaluate("() => navigator.serviceWorker.ready.then(() => undefined)")
        context.set_offline(True)
        open_page(page, site)
        assert page.evaluate("() => crossOriginIsolated")
        expect(run(page, "print(6 * 7)").locator("li")).to_have_text(["42"])
        page.locator("#examples").select_option("shop.lang")
        expect(page.locator("#source")).to_have_value(re.compile("A web program"))
        page.get_by_role("button", name="Send").click()
        expect(page.frame_locator("#page").locator("h1")).to_have_text("Pens")


def test_a_server_that_knows_nothing_of_isolation(browser: Browser) -> None:
    web_build()
    with serving(server(0, isolated=False)) as address, window(browser) as (_, page, complaints):
        page.goto(address)
        expect(page.locator("html[data-isolated=true]")).to_be_attached(timeout=60_000)  # it has loaded itself again
        expect(page.locator("html[data-ready=true]")).to_be_attached(timeout=60_000)
        lend(page, llm="ask")
        page.locator("#source").fill('print(reason about "x")')
        page.get_by_role("button", name="Run").click()
        page.locator(".question").get_by_label("Answer").fill("yes")
        page.keyboard.press("Control+Enter")
        expect(page.locator("#lines li")).to_have_text(["yes"])
        assert not complaints


def test_without_isolation_programs_run_in_the_page(browser: Browser) -> None:
    web_build()
    with serving(server(0, isolated=False)) as address:
        context = browser.new_context(service_workers="block")
        try:
            page = context.new_page()
            open_page(page, address)
            expect(page.locator("#outcome")).to_contain_text("not isolated")
            assert run(page, 'eprint("log")\nprint(state_incr("n"))').locator("li").all_inner_texts() == ["1", "log"]
            expect(run(page, "while true\n    let x be 1")).to_contain_text("Limit exceeded: time_ms (10000)")
            expect(page.locator("#stop")).to_be_disabled()
        finally:
            context.close()
