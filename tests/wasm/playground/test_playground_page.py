"""The page of the playground as such: its links, what it keeps, that everybody can use it."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.examples.browsing import NARROW, WIDE, faults_of, window
from tests.wasm.playground.playground_page import SERVING, lend, open_page, run, send


def test_a_link_holds_the_program_and_its_circumstances(browser: Browser, site: str) -> None:
    source = 'print("héllo 😀")\n' * 40
    with window(browser) as (context, page, complaints):
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        open_page(page, site)
        page.locator("#source").fill(source)
        page.locator("#ceiling").select_option("sandbox")
        lend(page, llm="ask", http="real", sleep=False)
        page.get_by_role("button", name="Copy link").click()
        expect(page.get_by_role("button", name="Copied")).to_be_visible()
        link = page.evaluate("() => navigator.clipboard.readText()")
        assert link == page.url and len(link) < 600
        assert not complaints
    with window(browser) as (_, page, complaints):
        open_page(page, link)
        expect(page.locator("#source")).to_have_value(source)
        expect(page.locator("#ceiling")).to_have_value("sandbox")
        expect(page.locator("#hooks [name=llm]")).to_have_value("ask")
        expect(page.locator("#hooks [name=http]")).to_have_value("off")  # nobody gets real requests from a link
        expect(page.locator("#hooks [name=sleep]")).not_to_be_checked()
        page.wait_for_timeout(300)
        expect(page.locator("#lines")).not_to_contain_text("héllo")  # a link runs nothing
        page.locator("#source").press("End")
        page.keyboard.type(" ")
        assert "#" not in page.url
        assert not complaints


def test_a_damaged_link_is_named(browser: Browser, site: str) -> None:
    with window(browser) as (_, page, complaints):
        open_page(page, f"{site}#1.AAAA")
        expect(page.locator("#outcome")).to_contain_text("The link is damaged")
        assert not complaints


def test_what_was_kept_and_cannot_be_read_is_forgotten(browser: Browser, site: str) -> None:
    with window(browser) as (context, page, complaints):
        context.add_init_script("localStorage.setItem('lang-playground', '{oops')")
        open_page(page, site)
        expect(page.locator("#examples")).to_have_value("hello.lang")
        assert not complaints


def test_the_program_is_there_after_a_reload(page: Page, site: str) -> None:
    page.locator("#source").fill("print(7)")
    page.reload()
    expect(page.locator("html[data-ready=true]")).to_be_attached(timeout=60_000)
    expect(page.locator("#source")).to_have_value("print(7)")


@pytest.mark.parametrize("size", [WIDE, NARROW, (320, 640)], ids=str)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_everybody_can_use_it(browser: Browser, site: str, size: tuple[int, int], dark: bool) -> None:
    with window(browser, size, dark=dark) as (_, page, complaints):
        open_page(page, site)
        lend(page, http="ask", llm="ask")
        assert faults_of(page) == []
        source = (
            'require random\nrequire net("a.example")\nprint(1, true, nothing, "a\\n", `b{2}`)\nlog "x"\n'
            "enum E\n    one\ntask f()\n    give -1\nprint({}.a)"
        )
        run(page, source)
        assert faults_of(page) == []
        page.get_by_role("tab", name="Audit").click()
        assert faults_of(page) == []
        page.locator("#source").fill(SERVING)
        send(page, "/plain")
        expect(page.frame_locator("#page").locator("h1")).to_have_text("Plain")
        assert faults_of(page) == []
        page.locator("#source").fill("let x be\nallow")
        expect(page.locator("#checked")).to_have_class("wrong")
        assert faults_of(page) == []
        page.locator("#source").fill("let never_read be 1")
        expect(page.locator("#checked")).to_have_class("doubtful")
        assert faults_of(page) == []
        page.locator("#source").fill('print(reason about "x")')
        page.locator("#run").click()
        expect(page.locator(".question")).to_be_visible()
        assert faults_of(page) == []
        page.get_by_role("button", name="Stop").click()
        assert not complaints


def test_the_theme_can_be_chosen_and_is_kept(page: Page) -> None:
    button = page.get_by_role("button", name="Dark colours")
    expect(button).to_have_attribute("aria-pressed", "false")
    light = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")
    assert page.evaluate("() => getComputedStyle(document.body).backgroundColor") != light
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
