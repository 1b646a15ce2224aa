"""The playground in a real browser: what a user does there, and that nothing leaves the page."""

from __future__ import annotations

import json
import re
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.examples.browsing import NARROW, WIDE, faults_of, window
from tests.wasm.web_build import ROOT, node, web_build
from wasm_abi.playground import generate
from wasm_abi.playground.layout import HERE, files, write
from wasm_abi.playground.serving import server

EXAMPLES = re.findall(r'file: "(\S+)", title: "([^"]+)"', (HERE / "examples.js").read_text(encoding="utf-8"))


@contextmanager
def serving(running: ThreadingHTTPServer | HTTPServer) -> Iterator[str]:
    """The address of a server while it answers."""
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{running.server_port}/"
    finally:
        running.shutdown()
        thread.join()
        running.server_close()


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    web_build()
    with serving(server(0)) as address:
        yield address


@pytest.fixture
def page(browser: Browser, site: str) -> Iterator[Page]:
    """The page, ready, with the first example. It may complain about nothing."""
    with window(browser) as (_, page, complaints):
        open_page(page, site)
        yield page
        assert not complaints


def open_page(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.locator("html[data-ready=true]")).to_be_attached(timeout=60_000)


def run(page: Page, source: str, button: str = "Run") -> Locator:
    """Runs a program; answers where its lines stand."""
    page.locator("#source").fill(source)
    page.get_by_role("button", name=button, exact=True).click()
    expect(page.locator("#outcome")).not_to_have_text(re.compile("…$"), timeout=60_000)
    return page.locator("#lines")


def lend(page: Page, **hooks: str | bool) -> None:
    page.get_by_role("tab", name="Host").click()
    for name, value in hooks.items():
        control = page.locator(f"#hooks [name={name}]")
        if isinstance(value, bool):
            control.set_checked(value)
        else:
            control.select_option(value)


# ---- the editor --------------------------------------------------------------------------------------------------------------


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


# ---- running -----------------------------------------------------------------------------------------------------------------


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


# ---- hooks -------------------------------------------------------------------------------------------------------------------


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


# ---- one request -------------------------------------------------------------------------------------------------------------

#: Whatever a page may try: none of it may run, load or go anywhere.
HOSTILE = """<!doctype html><title>T</title><style>h1 \\{color: rgb(1, 2, 3)}</style>
<h1 style="margin: 7px" onclick="parent.document.title = 'clicked'">Hi</h1>
<script>parent.document.title = "taken"</script><img src="x" onerror="parent.document.title = 'taken'">
<base href="https://elsewhere.example/"><meta http-equiv="refresh" content="0; url=https://elsewhere.example/">
<link rel="stylesheet" href="https://elsewhere.example/"><iframe src="https://elsewhere.example/"></iframe>
<a href="pens/1">pen</a> <a href="https://elsewhere.example/">away</a>
<form action="/found"><input name="q" value="a b"><button>Find</button></form>
<form method="post" action="/sold"><input type="hidden" name="pen" value="é"><button>Buy</button></form>"""
SERVING = f"""require serve(8080)
let PAGE be `{HOSTILE}`

serve on 8080
    route "GET /"
        print("printed")
        give html(PAGE)
    route "GET /plain"
        give html("<h1>Plain</h1>")
    route "GET /pens/:id"
        give html(`<h1>Pen {{params.id}}</h1>`)
    route "GET /found"
        give html(`<h1>Found {{query.q}}</h1>`)
    route "POST /sold"
        give html(`<h1>Sold {{request.form.pen}}</h1>`)
    route "POST /json"
        give {{"a": request.json.a, "header": request.headers["x-a"]}}
    route "GET /away"
        give redirect("/pens/2")
    route "GET /bytes"
        give binary(bytes([255, 0]), "image/png")
"""


def send(page: Page, path: str, method: str = "GET") -> Locator:
    page.get_by_role("tab", name="Request").click()
    page.get_by_label("Method").select_option(method)
    page.get_by_label("Path").fill(path)
    page.get_by_role("button", name="Send").click()
    status = page.locator("#reply-status")
    expect(status).not_to_have_text("Waiting…", timeout=60_000)
    return status


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


# ---- links and memory of the page --------------------------------------------------------------------------------------------


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


# ---- what leaves the page ----------------------------------------------------------------------------------------------------


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


# ---- everybody ---------------------------------------------------------------------------------------------------------------


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


# ---- the files ---------------------------------------------------------------------------------------------------------------


def test_the_word_tables_are_those_of_today() -> None:
    assert generate.TARGET.read_text(encoding="utf-8") == generate.text_of_tables(), "run `make docs`"


def test_the_service_worker_knows_every_file() -> None:
    listed = json.loads(
        re.search(r"FILES = (\[.*?\]);", (HERE / "sw.js").read_text(encoding="utf-8"), re.DOTALL)[1].replace(",\n]", "]")
    )  # type: ignore[index]
    assert sorted(listed) == sorted({"./", *files()} - {"sw.js"})


def test_the_menu_has_every_example() -> None:
    assert sorted(file for file, _ in EXAMPLES) == sorted(path.name for path in (HERE / "examples").iterdir())


def test_the_page_names_nothing_outside() -> None:
    for name, path in files().items():
        if path.suffix in (".html", ".js", ".css", ".svg"):
            text = (
                path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "").replace("http://program.invalid", "")
            )
            assert not re.findall(r"https?://[\w.]+", text), name


def test_the_site_as_a_folder(tmp_path: Path) -> None:
    web_build()
    write(tmp_path)
    assert {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()} == set(files())


def test_the_server(site: str) -> None:
    def ask(path: str, method: str = "GET", **headers: str) -> tuple[Any, bytes]:
        connection = HTTPConnection("127.0.0.1", int(site.split(":")[2].rstrip("/")), timeout=20)
        connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        reply = connection.getresponse()
        return reply, reply.read()

    reply, body = ask("/lang-web.wasm")
    assert (reply.status, reply.headers["Content-Type"], body[:4]) == (200, "application/wasm", b"\0asm")
    assert reply.headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert ask("/lang-web.wasm", If_None_Match=reply.headers["ETag"])[0].status == 304
    assert ask("/", "HEAD")[1] == b""
    for path in ("/generate.py", "/../pyproject.toml", "/%2e%2e/%2e%2e/pyproject.toml", "/js/lang.d.ts", "/nope"):
        assert ask(path)[0].status == 404


def test_the_highlighter_loses_nothing() -> None:
    """Every program of the repository, line by line, and hostile lines."""
    script = """
        import { readFileSync } from "node:fs";
        import { tokensOf } from "./highlight.js";
        const texts = readFileSync(0, "utf8").split("\\0").filter(Boolean).map((path) => readFileSync(path, "utf8"));
        texts.push("`{`{`{", "}}}}`", "\\\\", '"\\\\', "`\\\\", "\\u{10ffff}\\ud800", "a\\u2028b \\t--", "0x 1_ 1e 1.d .5");
        for (const text of texts) {
            let state = "";
            for (const line of text.split("\\n")) {
                const [tokens, after] = tokensOf(line, state);
                if (tokens.map(([, piece]) => piece).join("") !== line) throw new Error(line);
                state = after;
            }
        }
        console.log(texts.length);
    """
    programs = subprocess.run(["git", "ls-files", "-z", "*.lang"], cwd=ROOT, capture_output=True, check=True).stdout
    paths = b"\0".join(str(ROOT / name).encode() for name in programs.decode().split("\0") if name and (ROOT / name).is_file())
    done = subprocess.run(
        [node(), "--input-type=module", "--eval", script], cwd=HERE, input=paths, capture_output=True, timeout=60
    )
    assert done.returncode == 0, done.stderr.decode()
    assert int(done.stdout) > 100
