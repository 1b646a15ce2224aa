"""The dashboard in a real browser: what a person does there, on a phone and at a desk, by day and by night.

axe (https://github.com/dequelabs/axe-core) looks at every page that is passed on the way: it may find nothing that keeps
somebody out.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from browsing_person import Person
from deploying import runner_of, until
from platform_service import PASSWORD, Service
from playwright.sync_api import Browser, Page, expect

from platform_api.accounts.sessions import cookie_name
from platform_api.moments import now
from platform_api.records.logs import append_logs
from tests.axe import axe_script, serious_faults
from tests.examples.browsing import NARROW, chromium, faults_of, window
from tests.wasm.web_build import web_build
from wasm_abi.playground.layout import write

DESK = (1280, 800)
SOURCE = """require secret("STRIPE_KEY")
print(secret("STRIPE_KEY") == "x")
approve "Refund 32.50 EUR to Ana?"
sleep(1)
"""


@pytest.fixture(scope="module")  # while it is open nothing else in this thread can run an event loop
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def axe() -> str:
    return axe_script()


class Look:
    """Looks at the page that is shown."""

    def __init__(self, page: Page, axe: str) -> None:
        self._page, self._axe = page, axe

    def __call__(self) -> None:
        assert serious_faults(self._page, self._axe) == [], self._page.url
        assert faults_of(self._page) == [], self._page.url


@pytest.mark.parametrize(
    ("database", "size", "dark"),
    [
        pytest.param("sqlite", NARROW, False, id="phone-light"),
        pytest.param("sqlite", NARROW, True, id="phone-dark"),
        pytest.param("sqlite", DESK, False, id="desk-light"),
        pytest.param("sqlite", DESK, True, id="desk-dark"),
        pytest.param("postgresql", NARROW, False, id="postgresql"),  # how a page looks does not depend on the database
    ],
    indirect=["database"],
)
def test_a_person_deploys_a_program_and_answers_it(
    service: Service, browser: Browser, axe: str, size: tuple[int, int], dark: bool
) -> None:
    service.account()
    with runner_of(service) as runner, window(browser, size, dark=dark) as (_, page, complaints):
        runner.start()
        look = Look(page, axe)
        page.goto(service.url)
        look()
        page.get_by_label("E-mail address").fill("owner@example.com")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("heading", name="No projects yet")).to_be_visible()
        look()

        page.get_by_role("link", name="New project").click()
        look()
        page.get_by_label("Name").fill("Refunds")
        page.get_by_label("Program").fill(SOURCE)
        page.get_by_role("button", name="Make and deploy").click()
        expect(page.get_by_text("Secrets without a value")).to_be_visible()
        look()

        page.get_by_role("link", name="STRIPE_KEY").click()
        expect(page.get_by_label("Name")).to_have_value("STRIPE_KEY")
        page.get_by_label("Value").fill("sk_live_s3cret")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_text("fingerprint")).to_be_visible()
        assert "sk_live_s3cret" not in page.content()
        look()

        page.get_by_role("link", name="Overview").click()
        page.get_by_role("button", name="Deploy", exact=True).click()
        # The page follows what happens without being loaded again.
        expect(page.locator("#live-head .tag")).to_have_text("running", timeout=60_000)
        expect(page.get_by_role("link", name="A program waits for your answer.")).to_be_visible(timeout=60_000)
        look()
        for tab in ("Deploys", "Log", "Audit", "Settings"):
            page.get_by_role("navigation").get_by_role("link", name=tab, exact=True).click()
            look()
        page.goto(f"{service.url}/account")
        look()
        page.get_by_role("link", name="Choose where").click()
        look()
        page.get_by_label("URL of the place").fill("json://user:hunter2@example.com/notices")
        page.get_by_label("Name").fill("On call")
        page.get_by_role("button", name="Add a place").click()
        expect(page.get_by_role("button", name="Send a test On call")).to_be_visible(timeout=60_000)
        assert "hunter2" not in page.content()
        look()

        page.goto(f"{service.url}/approvals")
        expect(page.get_by_text("Refund 32.50 EUR to Ana?")).to_be_visible()
        look()
        page.get_by_role("button", name="Approve").click()
        expect(page.get_by_role("heading", name="Nothing waits for you")).to_be_visible()
        expect(page.locator("main .tag")).to_have_text("approved")
        look()
        assert not complaints


def test_a_person_allows_a_device_that_shows_its_code(service: Service, browser: Browser, axe: str) -> None:
    account = service.account()
    terminal = service.client()
    asked = terminal.post("/api/v1/auth/device", json={"name": "Ana's laptop"}).json()
    with window(browser, NARROW) as (_, page, complaints):
        look = Look(page, axe)
        page.goto(asked["verify_url"])
        page.get_by_label("E-mail address").fill("owner@example.com")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_label("Code")).to_have_value(asked["user_code"])
        look()
        page.get_by_role("button", name="Next").click()
        expect(page.get_by_text("Ana's laptop")).to_be_visible()
        expect(page.get_by_label("approve")).not_to_be_checked()
        look()
        page.get_by_role("button", name="Allow").click()
        expect(page.get_by_text("is allowed")).to_be_visible()
        assert not complaints
    given = terminal.post("/api/v1/auth/device/token", json={"device_code": asked["device_code"]}).json()
    assert given["user"]["id"] == account


def test_lines_of_a_log_appear_as_they_are_printed(service: Service, browser: Browser) -> None:
    person = Person(service)
    made = person.sends("/new", way="paste", name="S", source="print(1)\n").headers["location"]
    project = made.rpartition("/")[2]
    name = cookie_name(service.platform.settings)
    with window(browser, DESK) as (context, page, complaints):
        context.add_cookies([{"name": name, "value": str(person.client.cookies.get(name)), "url": service.url}])
        page.goto(f"{service.url}{made}/log")
        for number in range(3):
            with service.platform.store.records.writing() as connection:
                append_logs(connection, project, [(now(), "out", f"<b>line {number}</b>", None)])
            expect(page.locator(".log")).to_contain_text(f"<b>line {number}</b>")
        assert page.locator(".log b").count() == 0
        assert not complaints


def test_a_phone_shows_the_link_of_the_page_and_the_whole_table(service: Service, browser: Browser) -> None:
    person = Person(service, service.account(admin=True))
    name = cookie_name(service.platform.settings)
    with window(browser, NARROW) as (context, page, complaints):
        context.add_cookies([{"name": name, "value": str(person.client.cookies.get(name)), "url": service.url}])
        page.goto(f"{service.url}/admin")
        expect(page.get_by_role("link", name="Administration")).to_be_in_viewport(ratio=0.99)
        page.goto(f"{service.url}/usage")
        for bar in page.get_by_role("progressbar").all():
            expect(bar).to_be_in_viewport(ratio=0.99)
        assert not complaints


def test_pages_work_without_scripts(service: Service, browser: Browser) -> None:
    service.account()
    with runner_of(service) as runner, window(browser, NARROW, scripts=False) as (_, page, _complaints):
        runner.start()
        page.goto(service.url)
        page.get_by_label("E-mail address").fill("owner@example.com")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("link", name="New project").click()
        page.get_by_label("Name").fill("Refunds")
        page.get_by_label("Program").fill('approve "Go on?"\nsleep(1)\n')
        page.get_by_role("button", name="Make and deploy").click()

        def asked() -> bool:
            page.goto(f"{service.url}/approvals")
            return page.get_by_role("button", name="Approve").is_visible()

        until(asked)
        page.get_by_role("button", name="Approve").click()
        expect(page.get_by_role("heading", name="Nothing waits for you")).to_be_visible()


def test_the_playground_runs_programs_and_reaches_no_page_of_the_service(tmp_path: Path, browser: Browser) -> None:
    web_build()
    write(tmp_path / "site")
    with Service(tmp_path / "data", playground=tmp_path / "site") as service:
        person = Person(service)
        name = cookie_name(service.platform.settings)
        with window(browser, DESK) as (context, page, complaints):
            context.add_cookies([{"name": name, "value": str(person.client.cookies.get(name)), "url": service.url}])
            page.goto(f"{service.url}/playground")
            page.get_by_role("link", name="Open the playground").click()
            expect(page.locator("html[data-ready=true]")).to_be_attached(timeout=120_000)
            page.locator("#source").fill('print("it runs")\n')
            page.get_by_role("button", name="Run", exact=True).click()
            expect(page.locator("#lines")).to_contain_text("it runs", timeout=120_000)
            assert not complaints
            reached = page.evaluate("fetch('/account').then(() => 'reached', () => 'refused')")
            assert reached == "refused"
