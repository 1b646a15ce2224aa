"""The documentation site: for people in a browser, for programs in Markdown and JSON."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator

import httpx
import pytest
from openapi_spec_validator import validate
from playwright.sync_api import Browser, expect

from tests.examples.browsing import NARROW, WIDE, faults_of, window
from tests.examples.running_services import EXAMPLES, Service, copied, served

PAGES = ["first-firing", "schedules", "costs", "interface", "trouble", "safety"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with served(copied("docs_site", tmp_path_factory.mktemp("site")), "site.lang") as service:
        yield service
        assert "] 500 " not in service.log


def test_a_reader_finds_her_way(site: Service, browser: Browser) -> None:
    with window(browser) as (_, page, complaints):
        page.goto(site.url)
        expect(page).to_have_title("Kiln: the documentation")
        page.get_by_role("main").get_by_role("link", name="Schedules").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Schedules")
        expect(page.get_by_role("navigation", name="Pages").locator("[aria-current]")).to_have_text("Schedules")
        expect(page.get_by_role("cell", name="1240 °C")).to_be_visible()
        chart = page.get_by_role("img", name="Two schedules")
        expect(chart).to_be_visible()

        page.get_by_role("link", name="the interface", exact=True).click()
        assert page.url == f"{site.url}/guide/interface"
        page.get_by_label("Search the documentation").fill("RELAY, welded")
        page.keyboard.press("Enter")
        found = page.get_by_role("list", name="What was found")
        expect(found.get_by_role("listitem")).to_have_count(2)
        found.get_by_role("link", name="It shows RELAY").click()
        assert page.url == f"{site.url}/guide/trouble#it-shows-relay"
        expect(page.get_by_role("heading", name="It shows RELAY")).to_be_in_viewport()
        assert complaints == []


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_page_can_be_read_by_everybody(site: Service, browser: Browser, size: tuple[int, int], dark: bool) -> None:
    with window(browser, size, dark=dark, scripts=True) as (_, page, _):
        found = {}
        for path in ("/", "/search", "/search?q=kiln", "/search?q=nowhere", "/nowhere", *(f"/guide/{p}" for p in PAGES)):
            page.goto(site.url + path)
            found[path] = faults_of(page)
        assert {path: faults for path, faults in found.items() if faults} == {}


@pytest.mark.parametrize("name", PAGES)
def test_every_page_has_three_forms(site: Service, name: str) -> None:
    address = f"{site.url}/guide/{name}"
    html, markdown, data = (httpx.get(address + suffix) for suffix in ("", ".md", ".json"))
    assert [answer.headers["content-type"].split(";")[0] for answer in (html, markdown, data)] == [
        "text/html",
        "text/markdown",
        "application/json",
    ]
    for accept, same in (("text/markdown", markdown), ("application/json", data), ("text/html, text/markdown", html)):
        answer = httpx.get(address, headers={"Accept": accept})
        assert (answer.text, answer.headers["vary"].split(",")[0]) == (same.text, "Accept")

    # What the author wrote arrives as it was written, but for the charts, which become their numbers.
    (source,) = (EXAMPLES / "docs_site" / "pages").glob(f"*-{name}.md")
    for line in source.read_text(encoding="utf-8").splitlines():
        if line.startswith(("#", "|", "- ", "1. ", "curl")):
            assert line in markdown.text.splitlines()
    assert "<p" not in markdown.text
    page = data.json()
    assert page["meta"].keys() == {"title", "description"}
    charts = source.read_text(encoding="utf-8").count("```chart")
    assert [node["type"] for node in page["nodes"]].count("chart") == charts
    assert html.text.count("<svg ") == charts + 1  # and the glass of the search
    assert markdown.text.count("\n**") >= charts


def test_every_link_leads_somewhere(site: Service) -> None:
    seen: dict[str, str] = {}
    waiting = ["/"]
    while waiting:
        path = waiting.pop()
        answer = httpx.get(site.url + path, headers={"Accept": "text/html"})
        assert answer.status_code == 200, path
        seen[path] = answer.text
        if answer.headers["content-type"].startswith("text/html"):
            for href in re.findall(r'(?:href|src)="(/[^"#]*)', answer.text):
                if href not in seen and href not in waiting:
                    waiting.append(href)
    assert {f"/guide/{name}" for name in PAGES} <= seen.keys()
    for text in list(seen.values()):
        for path, anchor in re.findall(r'href="(/guide/[^"#]*)#([^"]+)"', text):
            assert f'id="{anchor}"' in seen[path]


def test_what_is_published_for_programs(site: Service) -> None:
    guide = httpx.get(f"{site.url}/llms.txt").text
    for path in re.findall(r"^- GET (/\S+\.md) --", guide, re.MULTILINE):
        assert httpx.get(site.url + path).text.startswith("# ")
    assert guide.count(".md -- ") == len(PAGES)
    locations = [e.text for e in ET.fromstring(httpx.get(f"{site.url}/sitemap.xml").content).iter() if e.tag.endswith("loc")]
    assert locations == [f"{site.url}/", *(f"{site.url}/guide/{name}" for name in PAGES)]
    described = httpx.get(f"{site.url}/openapi.json").json()
    validate(described)
    assert described["paths"]["/guide/{slug}"]["get"]["responses"]["200"]["content"].keys() == {
        "text/html",
        "text/markdown",
        "application/json",
    }


def test_the_search_answers_programs(site: Service) -> None:
    found = httpx.get(f"{site.url}/search.json", params={"q": "thermocouple green"}).json()
    first = found["nodes"][1]
    assert first["type"] == "section"
    assert first["nodes"][0]["href"].startswith("/guide/first-firing")
    assert "Nothing was found." in httpx.get(f"{site.url}/search.md?q=zebra").text


@pytest.mark.parametrize("asked", ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "{ raw 1 }", "]]>", "%"])
def test_what_is_searched_is_text(site: Service, browser: Browser, asked: str) -> None:
    with window(browser) as (_, page, complaints):
        page.goto(site.url)
        page.get_by_label("Search the documentation").fill(asked)
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_have_text(f"Search: {asked}")
        expect(page.get_by_label("Search the documentation")).to_have_value(asked)
        assert page.locator("script:not([type='application/ld+json']), main img").count() == 0
        assert complaints == []


@pytest.mark.parametrize(
    "path", ["/guide/nope", "/guide/../site.lang", "/guide/..%2f..%2fsite.lang", "/pages/01-first-firing.md"]
)
def test_what_is_not_there(site: Service, path: str) -> None:
    assert httpx.get(site.url + path).status_code == 404
    answer = httpx.get(site.url + path, headers={"Accept": "text/markdown"})
    assert (answer.status_code, answer.text.splitlines()[0]) == (404, "# Not here")
