"""The editor of the playground in a real browser: what it marks, colours and does with keys."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.wasm.playground.playground_page import run


def test_the_first_look(page: Page) -> None:
    expect(page.locator("#examples")).to_have_value("hello.lang")
    expect(page.locator("#checked")).to_have_text("No errors found")
    page.get_by_role("button", name="Run").click()
    expect(page.locator("#outcome")).to_contain_text("Done", timeout=60_000)
    expect(page.locator("#lines")).to_contain_text("Hello, Chidi!")


def test_errors_show_while_one_writes(page: Page) -> None:
    page.locator("#source").fill('let é be "😀"\nprint(é, 1 +)\n')
    status = page.locator("#checked")
    expect(status).to_have_text(re.compile(r"^2:13: "))
    mark = page.locator(".lines .mark")
    expect(mark).to_have_text(")")
    expect(page.locator(".numbers .wrong")).to_have_text("2")
    status.get_by_role("button").click()
    page.keyboard.type("2")
    expect(page.locator("#source")).to_have_value('let é be "😀"\nprint(é, 1 +2)\n')
    expect(status).to_have_text("No errors found")
    expect(mark).to_have_count(0)


def test_what_the_check_finds_shows_with_its_range_its_code_and_its_cure(page: Page) -> None:
    page.locator("#source").fill("let total be 1\nlet other be 2\nwhen total > 1\n    print(totl, total)\n")
    status = page.locator("#checked")
    expect(status.locator("li")).to_have_count(2)
    expect(status.locator("li").nth(0)).to_contain_text("4:11: ")
    expect(status.locator("li").nth(0).locator("small")).to_have_text(re.compile("^E02"))
    expect(status.locator("li").nth(0).locator(".cure")).to_contain_text("total")
    expect(status.locator("li").nth(1)).to_contain_text("2:5: warning: ")
    expect(status).to_have_class("wrong")
    expect(page.locator(".lines .mark.wrong")).to_have_text("totl")
    expect(page.locator(".lines .mark.doubtful")).to_have_text("other")
    expect(page.locator(".numbers .wrong")).to_have_text("4")
    expect(page.locator(".numbers .doubtful")).to_have_text("2")
    page.locator("#source").fill("let other be 2\n")
    expect(status).to_have_class("doubtful")
    status.get_by_role("button").click()
    assert page.locator("#source").evaluate("e => e.selectionStart") == 4


def test_an_error_at_the_end_of_a_line_is_marked_too(page: Page) -> None:
    page.locator("#source").fill("let x be")
    expect(page.locator(".lines .mark")).to_have_count(1)


def test_runtime_errors_lead_to_their_place(page: Page) -> None:
    lines = run(page, "let x be {}\nprint(x.name)")
    expect(page.locator("#outcome")).to_have_class("wrong")
    expect(page.locator(".lines .mark")).to_have_text([".", "name"])
    lines.get_by_role("button").click()
    assert page.locator("#source").evaluate("e => e.selectionStart") == len("let x be {}\nprint(x")


def test_the_colours_lie_over_the_text(page: Page) -> None:
    source = 'task f(n = 1)  -- é\n    give `a {n + {"k": 1}["k"]} b`\n\nenum E\n    one\n\nlet t be f(0x1F) |> text()\n'
    page.locator("#source").fill(source)
    assert page.locator(".lines").evaluate("e => e.textContent") == source + "\n"
    for kind, word in (
        ("keyword", "task"),
        ("function", "f"),
        ("comment", "-- é"),
        ("number", "0x1F"),
        ("type", "E"),
        ("builtin", "text"),
    ):
        expect(page.locator(f".lines .{kind}", has_text=re.compile(f"^{re.escape(word)}$")).first).to_be_visible()
    # Both at one moment: the pane grows and shrinks with what the check says below it.
    of_each = '[".lines", "#source"].map(name => document.querySelector(name).getBoundingClientRect().toJSON())'
    lines, text = page.evaluate(of_each)
    assert lines == text


def test_keys(page: Page) -> None:
    source = page.locator("#source")
    source.fill("")
    source.press_sequentially("when true\nprint(1)\n")
    page.keyboard.press("Shift+Tab")
    page.keyboard.type("print(2)")
    expect(source).to_have_value("when true\n    print(1)\nprint(2)")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#lines")).to_have_text("12")
    source.press("Control+a")
    page.keyboard.press("Control+/")
    expect(source).to_have_value("-- when true\n    -- print(1)\n-- print(2)")
    page.keyboard.press("Control+z")
    expect(source).to_have_value("when true\n    print(1)\nprint(2)")
    page.keyboard.press("Control+a")
    page.keyboard.press("Tab")
    expect(source).to_have_value("    when true\n        print(1)\n    print(2)")
    source.fill('test "a"\n    assert(true)')
    page.keyboard.press("Control+Shift+Enter")
    expect(page.locator("#lines")).to_have_text("✓ a")
    source.focus()
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    expect(source).not_to_be_focused()
    page.get_by_role("tab", name="Output").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Request")).to_be_focused()
    expect(page.locator("#request")).to_be_visible()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#host")).to_be_visible()


def test_a_long_program_stays_in_its_editor(page: Page) -> None:
    source = page.locator("#source")
    fill = "(e, text) => { e.value = text; e.dispatchEvent(new Event('input')); }"
    long = "\n".join(f"print({number})" for number in range(2000))

    def milliseconds() -> float:
        started = float(page.evaluate("() => performance.now()"))
        page.keyboard.type("0" * 20)
        return float(page.evaluate("() => performance.now()")) - started

    source.evaluate(fill, "print(1)")
    source.press("Control+End")
    short = milliseconds()
    source.evaluate(fill, long)
    expect(page.locator(".numbers > div")).to_have_count(2000)
    source.press("Control+End")
    page.keyboard.type("0")
    view = page.locator(".editor").evaluate("e => [e.scrollTop > 20000, e.scrollHeight > e.clientHeight]")
    assert view == [True, True]
    # Beside a program of one line in the same moment: a machine with other work is slow for both.
    assert milliseconds() < 20 * short + 1000
