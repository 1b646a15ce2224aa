"""Programs that run in the playground: their output, their ceiling and audit, and the host that the user lends them."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.wasm.playground.playground_page import EXAMPLES, lend, run
from wasm_abi.playground.layout import HERE


def test_tests(page: Page) -> None:
    lines = run(page, 'test "sum"\n    assert(1 + 1 == 2)\ntest "bad"\n    assert(1 == 2)', "Test")
    expect(lines.locator("li")).to_have_text(["✓ sum", re.compile(r"^✗ bad: .*:4:11: assertion failed$")])
    expect(page.locator("#outcome")).to_contain_text("1 passed, 1 failed")
    expect(run(page, "print(1)", "Test")).to_contain_text("No tests.")


def test_stop(page: Page) -> None:
    page.locator("#source").fill("while true\n    let x be 1")
    page.get_by_role("button", name="Run").click()
    expect(page.locator("#stop")).to_be_enabled()
    expect(page.locator("#run")).to_be_disabled()
    page.wait_for_timeout(200)
    page.get_by_role("button", name="Stop").click()
    expect(page.locator("#outcome")).to_have_text("Stopped")
    expect(page.locator("#stop")).to_be_disabled()
    expect(run(page, "print(1)").locator("li")).to_have_text(["1"])


def test_a_ceiling_and_the_audit(page: Page) -> None:
    source = (
        'require random\nrequire net("*.example")\nrequire env "A"\nprint(random() < 1)\n'
        'try\n    http_get("https://a.example/")\nrecover e\n    print("no")'
    )
    expect(run(page, source).locator("li")).to_have_text(["true"])
    page.locator("#ceiling").select_option("custom")
    page.locator("#capabilities").fill("stdout,random")
    expect(run(page, source).locator("li")).to_have_text(["true", "no"])
    page.get_by_role("tab", name="Audit").click()
    rows = {row[0]: row[1:4] for row in (line.locator("th, td").all_inner_texts() for line in page.locator("#rows tr").all())}
    assert rows["random"] == ["random", "1", "0"]
    assert rows["net a.example"] == ['net("*.example")', "0", "1"]
    assert rows["env A"] == ['env("A")', "0", "1"]
    assert rows["stdout"][0] == "by default"
    expect(page.get_by_role("tab", name="Audit").locator(".badge")).to_be_visible()
    page.locator("#ceiling").select_option("sandbox")
    expect(run(page, "require random\nprint(random())")).to_contain_text("Capability not granted: random")
    page.locator("#ceiling").select_option("custom")
    page.locator("#capabilities").fill("bogus")
    expect(run(page, "print(1)")).to_contain_text("ceiling: ")


def test_a_declared_capability_that_nobody_used(page: Page) -> None:
    run(page, 'require random\nrequire file.read("a.txt")\nprint(1)')
    page.get_by_role("tab", name="Audit").click()
    expect(page.locator("#rows tr.unused")).to_have_count(2)
    expect(page.locator("#rows")).to_contain_text("declared, not used")


@pytest.mark.parametrize(("file", "title"), EXAMPLES, ids=[file for file, _ in EXAMPLES])
def test_examples(page: Page, file: str, title: str) -> None:
    page.locator("#examples").select_option(label=title)
    expect(page.locator("#source")).to_have_value((HERE / "examples" / file).read_text(encoding="utf-8"))
    expect(page.locator("#checked")).to_have_text("No errors found")
    if "serve on" in page.locator("#source").input_value():
        page.get_by_role("button", name="Send").click()
        expect(page.locator("#reply-status")).to_contain_text("200", timeout=60_000)
        expect(page.frame_locator("#page").locator("h1")).to_be_visible()
        return
    page.get_by_role("button", name="Run").click()
    questions = page.locator(".question")
    while page.locator("#stop").is_enabled():
        if questions.count():
            questions.get_by_label("Answer").or_(questions.get_by_label("Body")).fill('{"refunds": 1}')
            questions.get_by_role("button", name="Answer").click()
        page.wait_for_timeout(50)
    expect(page.locator("#outcome")).to_contain_text("Done")


def test_the_user_is_the_model(page: Page) -> None:
    source = 'require llm\nprint(llm_available())\nprint(reason about "rain")\nprint(llm_usage() > 0)'
    expect(run(page, source)).to_contain_text("false")
    lend(page, llm="ask")
    page.get_by_role("button", name="Run").click()
    question = page.locator(".question")
    expect(question).to_contain_text("rain")
    expect(question.get_by_label("Answer")).to_be_focused()
    page.keyboard.type("Bring an umbrella.")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#lines li")).to_have_text(["true", "Bring an umbrella.", "true"])
    expect(question).to_have_count(0)


def test_stop_while_a_question_waits(page: Page) -> None:
    lend(page, llm="ask")
    page.locator("#source").fill('print(reason about "x")')
    page.get_by_role("button", name="Run").click()
    expect(page.locator(".question")).to_be_visible()
    page.get_by_role("button", name="Stop").click()
    expect(page.locator("#outcome")).to_have_text("Stopped")
    expect(page.locator(".question")).to_have_count(0)


def test_requests_answered_by_hand(page: Page) -> None:
    source = (
        'require net("a.example")\nlet r be http_post("https://a.example/x", {"b": 1})\nprint(r["status"], r["ok"], r["body"])'
    )
    lend(page, http="ask")
    page.locator("#source").fill(source)
    for status, outcome in (("404", '404 false {"c": 2}'), (None, "0 false ")):
        page.get_by_role("button", name="Run").click()
        question = page.locator(".question")
        expect(question).to_contain_text("POST https://a.example/x")
        expect(question).to_contain_text('{"b": 1}')
        if status is None:
            question.get_by_role("button", name="No network").click()
        else:
            question.get_by_label("Status").fill(status)
            question.get_by_label("Body").fill('{"c": 2}')
            question.get_by_role("button", name="Answer").click()
        expect(page.locator("#lines li")).to_have_text([outcome])
    lend(page)
    log = page.locator("#http-log li")
    expect(log).to_have_count(2)
    expect(log.last).to_contain_text("POST https://a.example/x 404")
    expect(log.first).to_contain_text("no network")


def test_the_store_outlives_runs_and_can_be_cleared(page: Page) -> None:
    source = 'print(state_incr("n"))'
    assert [run(page, source).inner_text() for _ in range(3)] == ["1", "2", "3"]
    lend(page)
    expect(page.locator("#entries")).to_contain_text("n state")
    page.get_by_role("button", name="Clear").click()
    expect(page.locator("#no-entries")).to_be_visible()
    assert run(page, source).inner_text() == "1"
    lend(page, kv=False)
    assert [run(page, source).inner_text() for _ in range(2)] == ["1", "1"]


def test_environment_log_and_sleep(page: Page) -> None:
    page.get_by_role("tab", name="Host").click()
    page.locator("#hooks [name=env]").fill("A = 1\n# nothing\nB=x=y")
    source = 'require env("*")\nprint(env("A"), env("B"))\neprint("to the log")\nsleep(0.4)'
    expect(run(page, source).locator("li")).to_have_text(["1 x=y", "to the log"])
    expect(page.locator("#outcome")).to_have_text(re.compile(r"Done · [4-9]\d\d ms|Done · \d\.\d s"))
    lend(page, log=False, sleep=False)
    expect(run(page, source.replace("0.4", "30")).locator("li")).to_have_text(["1 x=y"])
