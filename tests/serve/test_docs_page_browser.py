"""The reference page and a content page in a real browser: requests sent from its forms, on a phone and at a desk."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.axe import axe_script, serious_faults
from tests.examples.browsing import chromium, faults_of, window
from tests.examples.running_services import Service, served
from tests.serve.shown_service import SOURCE

TIMEOUT_MS = 60_000
SIZES = {"phone": (390, 800), "desk": (1280, 800)}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("shown")
    (folder / "pens.lang").write_text(SOURCE, encoding="utf-8")
    with served(folder, "pens.lang") as running:
        yield running


def form(page: Page, method: str, path: str) -> Locator:
    """The form of a route, opened."""
    found = page.locator(f'form[data-method="{method}"][data-path="{path}"]')
    found.locator("xpath=..").locator("summary").first.click()
    return found


def answer(sent: Locator, status: str) -> str:
    """The body of what came back, once it is there. By the keyboard: what came before may still move the button."""
    sent.locator(".send button").first.press("Enter")
    expect(sent.locator(".answer .status")).to_contain_text(status, timeout=TIMEOUT_MS)
    expect(sent.locator("[data-stop]")).to_be_hidden(timeout=TIMEOUT_MS)
    return sent.locator(".answer pre").first.text_content() or ""


@pytest.mark.parametrize("size", SIZES)
def test_each_kind_of_route_is_tried_from_its_form(service: Service, browser: Browser, size: str) -> None:
    with window(browser, SIZES[size], dark=size == "phone") as (context, page, complaints):
        context.set_default_timeout(TIMEOUT_MS)
        page.goto(f"{service.url}/docs")
        pen = form(page, "GET", "/pens/:id")
        pen.locator("[name=id]").fill("7/../x?&é#")
        pen.get_by_label("Query").fill("colour=deep red&colour=blue")
        text = answer(pen, "200 OK")
        assert json.loads(text) == {"pen": "7/../x?&é#", "colour": "blue", "price": 12345678901234567890.5}
        assert "12345678901234567890.50" in text, "a number is shown as it was sent"

        adding = form(page, "POST", "/pens")
        assert "unauthorized" in answer(adding, "401")
        page.get_by_label("Bearer token").fill("s3cret")
        adding.get_by_label("Body").fill('{"name": "Quill"}')
        assert "missing field 'price'" in answer(adding, "400")
        adding.get_by_label("Body").fill('{"name": "Quill", "price": 12.50}')
        assert json.loads(answer(adding, "201 Created")) == {"by": "ann", "name": "Quill"}

        upload = form(page, "POST", "/uploads")
        upload.locator("[name=title]").fill("A & B")
        upload.locator("[name=tags]").fill("one\ntwo")
        upload.locator("[name=file]").set_input_files({"name": "a.txt", "mimeType": "text/plain", "buffer": b"four"})
        assert json.loads(answer(upload, "200")) == {"title": "A & B", "tags": ["one", "two"], "bytes": 4}

        report = form(page, "GET", "/report")
        report.locator("select").select_option("Markdown")
        assert answer(report, "200").startswith("# Sales of the first months\n")

        assert answer(form(page, "GET", "/ticks"), "200").count("event: tick") == 3
        assert "<b>" in answer(form(page, "GET", "/hostile"), "200") and page.locator(".answer b").count() == 0

        echo = form(page, "GET", "/echo")
        echo.get_by_role("button", name="Open the WebSocket").click()
        echo.get_by_label("Message").fill("hello")
        echo.get_by_role("button", name="Send message").click()
        expect(echo.locator("pre")).to_contain_text("← hello")
        echo.get_by_role("button", name="Close").click()
        expect(echo.locator("pre")).to_contain_text("Closed")
        assert [line for line in complaints if "401" not in line and "400" not in line] == []
        assert serious_faults(page, axe_script()) == []
        assert faults_of(page) == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_pages_are_for_every_eye_and_hand(service: Service, browser: Browser, size: str, dark: bool) -> None:
    with window(browser, SIZES[size], dark=dark) as (context, page, _):
        context.set_default_timeout(TIMEOUT_MS)
        for path in ("/report", "/docs", "/nowhere"):
            page.goto(service.url + path)
            assert serious_faults(page, axe_script()) == [], path
            # The colours of a chart are turned over by a filter, which no computed style shows.
            assert [fault for fault in faults_of(page) if not (dark and "<text>" in fault)] == [], path
        if size == "phone" and not dark:
            page.goto(f"{service.url}/report")
            box = page.locator("svg.chart").bounding_box()
            assert box is not None and box["width"] > 350 and box["height"] == pytest.approx(box["width"] * 10 / 9, abs=2)
            page.emulate_media(media="print")
            assert page.locator("body").evaluate("e => getComputedStyle(e).backgroundColor") == "rgb(255, 255, 255)"
            page.emulate_media(media="screen", reduced_motion="reduce")
            assert page.locator("a").first.evaluate("e => getComputedStyle(e).transitionDuration") == "0s"
            page.keyboard.press("Tab")
            assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_without_scripts_the_page_reads_on_and_offers_no_dead_form(service: Service, browser: Browser) -> None:
    with window(browser, scripts=False) as (_, page, _complaints):
        page.goto(f"{service.url}/docs", timeout=TIMEOUT_MS)
        expect(page.get_by_text("curl -X POST").first).to_be_visible()
        assert page.get_by_text("Try it").filter(visible=True).count() == 0
        assert page.get_by_label("Bearer token").is_hidden()
