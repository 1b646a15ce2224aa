"""The support desk: people in a browser, a supervisor at the page of a gate, and somebody who means no good."""

from __future__ import annotations

import re
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.examples.browsing import NARROW, WIDE, faults_of, window
from tests.examples.running_services import Service, copied, lang, served

ANA = ("ana@example.test", "correct horse battery")
BO = ("bo@example.test", "staple of the desk")


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = copied("support_desk", tmp_path_factory.mktemp("desk"))
    lang(folder, "run", "seed.lang")
    with served(folder, "desk.lang") as service:
        yield service
        assert "] 500 " not in service.log


def write(folder: Path, statement: str) -> None:
    with closing(sqlite3.connect(folder / "desk.db", timeout=10)) as database, database:
        database.execute(statement)


def code_of(desk: Service, email: str) -> str:
    """The code of the moment, even where a test has used it before."""
    write(desk.folder, "UPDATE accounts SET last_step = 0")
    return lang(desk.folder, "run", "code.lang", email).strip()


def sign_in(page: Page, desk: Service, who: tuple[str, str]) -> None:
    page.goto(desk.url)
    page.get_by_label("Email").fill(who[0])
    page.get_by_label("Password").fill(who[1])
    page.get_by_role("button", name="Continue").click()
    page.get_by_label("Code").fill(code_of(desk, who[0]))
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Tickets")


def hidden_field(page: str) -> str:
    found = re.search(r'name="csrf" value="([^"]+)"', page)
    assert found, page
    return found[1]


def client(desk: Service, who: tuple[str, str]) -> tuple[httpx.Client, str]:
    """A client that is signed in without a browser, and the token of its forms."""
    http = httpx.Client(base_url=desk.url, timeout=30)
    token = hidden_field(http.get("/sign-in").text)
    http.post("/sign-in", data={"email": who[0], "password": who[1], "csrf": token})
    token = hidden_field(http.get("/sign-in/code").text)
    done = http.post("/sign-in/code", data={"code": code_of(desk, who[0]), "csrf": token})
    assert (done.status_code, done.headers["location"]) == (303, "/tickets")
    return http, hidden_field(http.get("/tickets").text)


def decision_address(desk: Service, words: str) -> str:
    line = desk.waits_for(words)
    found = re.search(r'POST (/approvals/\S+) \{"token": "([0-9a-f]{64})"', line)
    assert found, line
    return f"{desk.url}{found[1]}/{found[2]}"


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_signing_in_takes_a_password_and_a_code(desk: Service, browser: Browser, scripts: bool) -> None:
    with window(browser, scripts=scripts) as (context, page, complaints):
        page.goto(f"{desk.url}/tickets/1")
        assert page.url == f"{desk.url}/sign-in"
        page.get_by_label("Email").fill(ANA[0])
        page.get_by_label("Password").fill("wrong horse")
        page.get_by_role("button", name="Continue").click()
        expect(page.get_by_role("alert")).to_have_text("That address and that password do not belong together.")
        expect(page.get_by_label("Email")).to_have_value(ANA[0])
        page.get_by_label("Password").fill(ANA[1])
        before = context.cookies()[0]["value"]
        page.get_by_role("button", name="Continue").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("One more step")

        page.goto(f"{desk.url}/tickets")  # the password alone opens nothing
        assert page.url == f"{desk.url}/sign-in"
        sign_in(page, desk, ANA)
        cookies = context.cookies()
        assert [(c["name"], c["httpOnly"], c["sameSite"], c["path"]) for c in cookies] == [("sid", True, "Lax", "/")]
        assert before != cookies[0]["value"]

        page.get_by_role("button", name="Sign out").click()
        assert (page.url, context.cookies()) != (f"{desk.url}/sign-in", cookies)
        page.goto(f"{desk.url}/tickets")
        assert page.url == f"{desk.url}/sign-in"
        assert [words for words in complaints if "422" not in words] == []


def test_a_code_is_refused_twice_and_a_session_has_five_tries(desk: Service) -> None:
    with httpx.Client(base_url=desk.url) as http:
        token = hidden_field(http.get("/sign-in").text)
        http.post("/sign-in", data={"email": BO[0], "password": BO[1], "csrf": token})
        token = hidden_field(http.get("/sign-in/code").text)
        right = code_of(desk, BO[0])
        write(desk.folder, "UPDATE accounts SET last_step = 9999999999")  # as if used just now
        for _ in range(5):
            assert http.post("/sign-in/code", data={"code": right, "csrf": token}).status_code == 422
        write(desk.folder, "UPDATE accounts SET last_step = 0")
        late = http.post("/sign-in/code", data={"code": right, "csrf": token})
        assert (late.status_code, late.headers["location"]) == (303, "/sign-in")


def test_a_refund_waits_for_a_person_who_says_yes(desk: Service, browser: Browser) -> None:
    with window(browser) as (_, page, complaints), window(browser, NARROW) as (_, phone, on_phone):
        sign_in(page, desk, ANA)
        page.get_by_role("link", name="Wrong length of brake cable").click()
        page.get_by_label("Amount in €").fill("12,60")
        page.get_by_label("Why").fill("the wrong cable was <sent>")
        page.get_by_role("button", name="Ask for the refund").click()
        expect(page.get_by_role("alert")).to_contain_text("no more than 12.50 €")

        page.get_by_label("Amount in €").fill("12,50")
        page.get_by_role("button", name="Ask for the refund").click()
        expect(page.get_by_role("status")).to_contain_text("Waiting for a person to decide")
        expect(page.get_by_role("button", name="Ask for the refund")).to_be_disabled()
        assert faults_of(page) == []
        address = decision_address(desk, "12.50 €")

        phone.goto(address)
        expect(phone.get_by_role("heading", level=1)).to_have_text("Decision needed")
        expect(phone.get_by_text("Refund 12.50 € to Tomasz Zieliński for order SC-20431?")).to_be_visible()
        expect(phone.get_by_text("Ana Moreau asks: the wrong cable was <sent>")).to_be_visible()
        assert faults_of(phone) == []
        phone.get_by_role("button", name="Approve").click()
        expect(phone.get_by_role("heading", level=1)).to_have_text("Approved")

        expect(page.locator(".refunds .state")).to_have_text(["paid"])
        expect(page.get_by_role("heading", name="Refunds")).to_be_focused()
        expect(page.locator(".talk li").last).to_contain_text("12.50 € are on their way back to you.")
        expect(page.get_by_text("Nothing is left to give back.")).to_be_visible()
        phone.goto(address)
        expect(phone.get_by_role("heading", level=1)).to_have_text("Not found")
        assert [words for words in complaints if "422" not in words] == []
        assert [words for words in on_phone if "404" not in words] == []


def test_a_link_decides_and_no_is_no(desk: Service, browser: Browser) -> None:
    with window(browser, scripts=False) as (_, page, _), window(browser) as (_, mailbox, _):
        sign_in(page, desk, ANA)
        page.goto(f"{desk.url}/tickets/4")
        page.get_by_label("Amount in €").fill("119")
        page.get_by_label("Why").fill("it does not fit")
        page.get_by_role("button", name="Ask for the refund").click(no_wait_after=True)
        address = decision_address(desk, "119.00 €")
        mailbox.goto(f"{address}?d=no")
        expect(mailbox.get_by_role("heading", level=1)).to_have_text("Denied")
        page.wait_for_url("**/tickets/4#refunds")
        expect(page.locator(".refunds .state")).to_have_text(["denied"])


def test_two_who_ask_at_once_never_get_more_than_was_paid(desk: Service) -> None:
    http, token = client(desk, ANA)
    answers: list[int] = []

    def ask() -> None:
        with httpx.Client(base_url=desk.url, cookies=http.cookies, timeout=30) as own:
            answers.append(own.post("/tickets/3/refund", data={"amount": "100", "why": "at once", "csrf": token}).status_code)

    asking = [threading.Thread(target=ask) for _ in range(4)]
    for thread in asking:
        thread.start()
    address = decision_address(desk, "100.00 €")
    assert httpx.get(address, params={"d": "yes"}).status_code == 200
    for thread in asking:
        thread.join(30)
    assert sorted(answers) == [303, 422, 422, 422]
    with closing(sqlite3.connect(desk.folder / "desk.db")) as database:
        assert database.execute("SELECT cents, state FROM refunds WHERE ticket = 3").fetchall() == [(10000, "paid")]


def test_people_are_for_admins(desk: Service, browser: Browser) -> None:
    with window(browser) as (_, page, _):
        sign_in(page, desk, ANA)
        expect(page.get_by_role("link", name="People")).to_have_count(0)
        page.goto(f"{desk.url}/people")
        expect(page.get_by_role("heading", level=1)).to_have_text("There is no such page")
    with window(browser) as (_, page, _):
        sign_in(page, desk, BO)
        page.get_by_role("link", name="People").click()
        expect(page.get_by_role("row")).to_have_count(3)


def test_an_answer_and_its_state(desk: Service, browser: Browser) -> None:
    with window(browser) as (_, page, _):
        sign_in(page, desk, ANA)
        page.get_by_role("link", name="Does the dynamo hub fit").click()
        page.get_by_label("Answer Mats Öberg").fill("It does not.\n<script>alert(1)</script>")
        page.get_by_label("Then the ticket is").select_option("solved")
        page.get_by_role("button", name="Send").click()
        expect(page.locator(".talk li").last).to_contain_text("<script>alert(1)</script>")
        expect(page.locator(".head .state")).to_have_text("solved")


@pytest.mark.parametrize("path", ["/sign-out", "/tickets/1/answer", "/tickets/1/refund"])
@pytest.mark.parametrize("token", [None, "", "guessed"])
def test_a_form_from_elsewhere_is_refused(desk: Service, path: str, token: str | None) -> None:
    http, _ = client(desk, ANA)
    data = {"words": "x", "amount": "1", "why": "x", "state": "solved"} | ({} if token is None else {"csrf": token})
    assert http.post(path, data=data).status_code == 403
    assert http.get("/tickets").status_code == 200


def test_pages_say_what_browsers_may_do_with_them(desk: Service) -> None:
    answer = httpx.get(f"{desk.url}/sign-in")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["cache-control"] == "no-store"
    style = httpx.get(f"{desk.url}/static/desk.css")
    assert style.headers["cache-control"] == "public, max-age=3600"
    assert httpx.get(f"{desk.url}/static/desk.css", headers={"If-None-Match": style.headers["etag"]}).status_code == 304


def test_errors_are_pages_for_people_and_json_for_programs(desk: Service) -> None:
    assert httpx.get(f"{desk.url}/nowhere").headers["content-type"] == "text/html; charset=utf-8"
    assert httpx.delete(f"{desk.url}/tickets").headers["allow"] == "GET"
    refused = httpx.get(f"{desk.url}/api/tickets")
    assert (refused.status_code, refused.json()) == (401, {"error": "unauthorized", "status": 401})
    http, _ = client(desk, ANA)
    listed = http.get("/api/tickets?state=solved&limit=1").json()
    assert (listed["count"], listed["items"][0]["state"]) == (1, "solved")
    assert http.get("/tickets/1' OR '1'='1").status_code == 404


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_page_can_be_read_by_everybody(desk: Service, browser: Browser, size: tuple[int, int], dark: bool) -> None:
    with window(browser, size, dark=dark) as (_, page, _):
        found = {}
        for path in ("/sign-in", "/nowhere"):
            page.goto(desk.url + path)
            found[path] = faults_of(page)
        page.goto(desk.url)
        page.get_by_label("Email").fill(BO[0])
        page.get_by_label("Password").fill("wrong")
        with page.expect_navigation():
            page.get_by_role("button").click()
        found["wrong password"] = faults_of(page)
        page.get_by_label("Password").fill(BO[1])
        with page.expect_navigation():
            page.get_by_role("button").click()
        found["code"] = faults_of(page)
        sign_in(page, desk, BO)
        for path in ("/tickets", "/tickets?state=solved", "/tickets/1", "/tickets/2", "/people"):
            page.goto(desk.url + path)
            found[path] = faults_of(page)
        assert {path: faults for path, faults in found.items() if faults} == {}


def test_the_keyboard_reaches_the_content_first(desk: Service, browser: Browser) -> None:
    with window(browser) as (_, page, _):
        sign_in(page, desk, ANA)
        page.keyboard.press("Tab")
        expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile("#main$"))


def test_secure_and_with_what_it_declares_alone(tmp_path: Path) -> None:
    folder = copied("support_desk", tmp_path)
    lang(folder, "run", "seed.lang")
    (folder / "templates" / "people.html").write_text('{ layout "templates/layout.html" }{ missing }', encoding="utf-8")
    with served(folder, "--secure", "desk.lang") as desk:
        http, _ = client(desk, BO)
        broken = http.get("/people")
        assert broken.status_code == 500
        assert "Something broke on our side" in broken.text
        assert "missing" not in broken.text
        assert "people.html:1: field 'missing' is not in the template data" in desk.waits_for("] 500 ")
