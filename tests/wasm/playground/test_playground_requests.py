"""Requests to a program that serves in the playground: its replies, and pages that mean harm."""

from __future__ import annotations

import json

from playwright.sync_api import Browser, Page, expect

from tests.examples.browsing import window
from tests.wasm.playground.playground_page import SERVING, open_page, run, send


def test_a_reply_as_json(page: Page) -> None:
    page.locator("#source").fill(SERVING)
    page.get_by_role("tab", name="Request").click()
    page.locator("#more").click()
    page.get_by_label("Headers, one a line").fill("Content-Type: application/json\nX-A: b: c")
    page.get_by_label("Body", exact=True).fill('{"a": [1]}')
    expect(page.locator("#more")).to_have_text("Headers and body · 2 headers, 10 characters")
    expect(send(page, "/json", "POST")).to_contain_text("200 · application/json")
    assert json.loads(page.locator("#body").inner_text()) == {"a": [1], "header": "b: c"}
    expect(send(page, "/json")).to_contain_text("405")
    expect(page.locator("#reply-headers")).to_contain_text("Allow")
    expect(send(page, "/nope")).to_contain_text("404")
    expect(send(page, "/bytes")).to_contain_text("image/png")
    expect(page.locator("#body")).to_have_text("2 bytes that are no text")


def test_a_rendered_page_runs_no_script_and_leads_within_the_program(browser: Browser, site: str) -> None:
    with window(browser) as (_, page, complaints):
        open_page(page, site)
        page.locator("#source").fill(SERVING)
        render(page)
        refused = ("Blocked script execution", "violates the following Content Security Policy directive")
        assert [complaint for complaint in complaints if not any(text in complaint for text in refused)] == []


def render(page: Page) -> None:
    expect(send(page, "/")).to_contain_text("200 · text/html")
    shown = page.frame_locator("#page")
    heading = shown.locator("h1")
    expect(heading).to_have_css("color", "rgb(1, 2, 3)")
    expect(heading).to_have_css("margin-top", "7px")
    heading.click()
    expect(page).to_have_title("Playground · lang")
    expect(page.locator("#reply-log")).to_have_text("printed")
    page.get_by_role("button", name="Text", exact=True).click()
    expect(page.locator("#body")).to_contain_text("<script>")
    page.get_by_role("button", name="Rendered").click()
    shown.get_by_text("away").click()
    expect(page.get_by_label("Path")).to_have_value("/")
    shown.get_by_text("pen", exact=True).click()
    expect(heading).to_have_text("Pen 1")
    expect(page.get_by_label("Path")).to_have_value("/pens/1")
    for button, result in (("Find", "Found a b"), ("Buy", "Sold é")):
        send(page, "/")
        shown.get_by_role("button", name=button).click()
        expect(heading).to_have_text(result)
    expect(page.get_by_label("Method")).to_have_value("POST")
    assert page.url.startswith("http://127.0.0.1")


def test_a_redirect_can_be_followed(page: Page) -> None:
    page.locator("#source").fill(SERVING)
    send(page, "/away").get_by_role("button", name="Follow to /pens/2").click()
    expect(page.frame_locator("#page").locator("h1")).to_have_text("Pen 2")


def test_running_a_program_that_serves_says_what_to_do(page: Page) -> None:
    lines = run(page, SERVING)
    expect(lines).to_contain_text("This program answers requests.")
    lines.get_by_role("button", name="Send it a request").click()
    expect(page.locator("#request")).to_be_visible()
