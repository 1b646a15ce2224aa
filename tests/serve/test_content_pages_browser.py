"""Content pages in a real browser: charts, every kind of node, texts from right to left, on phones, at desks and on paper."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from stdlib.charts.options import KINDS
from tests.examples.browsing import chromium, window
from tests.examples.running_services import Service, served

TIMEOUT_MS = 60_000
SIZES = {"phone": (390, 844), "window": (620, 800), "desk": (1280, 800)}
ROW = "| Donaudampfschifffahrt " * 8 + "|"
TABLE = "\\n".join([ROW, "| --- " * 8 + "|", ROW])
SOURCE = """require serve(8080)
let words be {"A category with a really long name": 3, "Donaudampfschifffahrtsgesellschaft": 5, "short": 1}
let rows be [{"m": "Jan", "paper": 12, "ink": 8}, {"m": "Feb", "paper": 15, "ink": 9}, {"m": "Mar", "paper": 9, "ink": 12}]
let long be "A title of the usual length for a chart: sales of paper and ink in the first half of 2026"

let table be "TABLE"

task fifty()
    let found be {}
    each n in range(50)
        set found["item number " + text(n)] to (n * 37) % 11
    give found

task charts(more)
    give [
        chart("area", rows, merge(more, {"x": "m", "y": ["paper", "ink"], "stack": true, "title": "T"})),
        chart("bar", words, merge(more, {"title": long, "x_label": long, "y_label": long})),
        chart("bar", fifty(), merge(more, {"title": "T"})),
        chart("boxplot", {"a": [1, 2, 3, 4, 100], "a long name of a group": [2, 3, 50]}, merge(more, {"title": "T"})),
        chart("donut", words, merge(more, {"title": "T"})),
        chart("heatmap", [[1, 2], [3, 4]], merge(more, {"y_labels": ["r1", "a rather long label of a row"], "title": "T"})),
        chart("histogram", range(1000, 3000, 7), merge(more, {"title": "T"})),
        chart("line", [[1990, 3], [2000, 7], [2020, 900000]], merge(more, {"title": "T", "y_label": "EUR"})),
        chart("pie", words, merge(more, {"title": "T"})),
        chart("pie", words, merge(more, {"title": "T", "legend": false})),
        chart("scatter", [[1, 2], [3, 4], [2, 9]], merge(more, {"title": "T"})),
        chart("waterfall", {"Opening balance": 500, "Rent for March": -200}, merge(more, {"title": "T", "total": true}))
    ]

serve on 8080
    route "GET /charts"
        give content(page([heading(1, "Charts"), section(charts({}))], {"title": "Charts"}))
    route "GET /dark"
        give content(page([heading(1, "Charts"), section(charts({"theme": "dark"}))], {"title": "Charts"}))
    route "GET /arabic"
        let nodes be [heading(1, "تقرير"), list(["واحد", "two"]), chart("bar", words), raw(markdown(table))]
        give content(page(nodes, {"title": "T", "lang": "ar"}))
    route "GET /table"
        give content(page([heading(1, "Table"), list([]), raw(markdown(table)), code("CODE")], {"title": "T"}))
    route "GET /ground"
        give content(page([heading(1, "Charts"), section(charts({"background": "#fff4e0"}))], {"title": "Charts"}))
""".replace("TABLE", TABLE).replace("CODE", "word " * 60)
_CHARTS = """() => [...document.querySelectorAll("svg.chart")].map((chart) => {
  const rect = (e) => { const b = e.getBoundingClientRect(); return [b.left, b.right, b.top, b.bottom]; };
  const texts = [...chart.querySelectorAll("text")].filter((e) => e.getBoundingClientRect().width > 0);
  return {
    box: rect(chart), kind: chart.querySelector("desc").textContent, drawn: [...chart.querySelectorAll(":scope > g")].map(
      (e) => e.getBoundingClientRect().width > 0 && e.getAttribute("class")).filter(Boolean),
    ground: getComputedStyle(chart).backgroundColor, filter: getComputedStyle(chart).filter,
    texts: texts.map((e) => ({
      box: rect(e), turned: e.hasAttribute("transform"), shown: e.firstChild.data,
      px: parseFloat(getComputedStyle(e).fontSize) * Math.hypot(e.getScreenCTM().a, e.getScreenCTM().b),
    })),
  };
})"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("shown")
    (folder / "pages.lang").write_text(SOURCE, encoding="utf-8")
    with served(folder, "pages.lang") as running:
        yield running


def charts_of(page: Page, url: str) -> list[dict[str, Any]]:
    page.goto(url, timeout=TIMEOUT_MS)
    found: list[dict[str, Any]] = page.evaluate(_CHARTS)
    assert len(found) > len(KINDS)
    return found


def wider_than_the_window(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth > innerWidth"))


@pytest.mark.parametrize("path", ["charts", "dark", "ground"])
@pytest.mark.parametrize("size", SIZES)
def test_every_text_of_a_chart_has_its_place(service: Service, browser: Browser, size: str, path: str) -> None:
    with window(browser, SIZES[size]) as (_, page, _complaints):
        for chart in charts_of(page, f"{service.url}/{path}"):
            left, right, top, bottom = chart["box"]
            assert chart["drawn"] == ["narrow" if size == "phone" else "wide"]
            for text in chart["texts"]:
                x, end, y, low = text["box"]
                assert left - 1 <= x and end <= right + 1 and top - 1 <= y and low <= bottom + 1, (chart["kind"], text["shown"])
                assert text["px"] >= 10.5 if size == "phone" else text["px"] >= 9.5, (chart["kind"], text["shown"])
            flat = [text for text in chart["texts"] if not text["turned"]]
            for number, one in enumerate(flat):
                for other in flat[number + 1 :]:
                    across = min(one["box"][1], other["box"][1]) - max(one["box"][0], other["box"][0])
                    # A line of text is lower than the box around it.
                    down = min(one["box"][3], other["box"][3]) - max(one["box"][2], other["box"][2])
                    assert across <= 0.5 or down <= 4, (chart["kind"], one["shown"], other["shown"])
        assert not wider_than_the_window(page)


@pytest.mark.parametrize("size", SIZES)
def test_a_chart_begins_where_the_text_begins(service: Service, browser: Browser, size: str) -> None:
    with window(browser, SIZES[size]) as (_, page, _complaints):
        for path in ("charts", "ground"):
            found = charts_of(page, f"{service.url}/{path}")
            edge = page.locator("h1").bounding_box()
            assert edge is not None
            for chart in found:
                begin = chart["texts"][0]["box"][0] if path == "charts" else chart["box"][0]
                assert begin == pytest.approx(edge["x"], abs=1.5), chart["kind"]


def test_a_chart_for_dark_pages_stands_on_its_ground_on_a_light_one_alone(service: Service, browser: Browser) -> None:
    for dark, ground in ((False, "rgb(20, 24, 29)"), (True, "rgba(0, 0, 0, 0)")):
        with window(browser, dark=dark) as (_, page, _complaints):
            assert {chart["ground"] for chart in charts_of(page, f"{service.url}/dark")} == {ground}
            page.emulate_media(media="print")
            found = page.evaluate(_CHARTS)
            assert {chart["ground"] for chart in found} == {"rgba(0, 0, 0, 0)"}
            assert {chart["filter"] for chart in found} == {"invert(0.92) hue-rotate(180deg)"}


def test_a_dark_page_is_printed_as_a_light_one(service: Service, browser: Browser) -> None:
    with window(browser, dark=True) as (_, page, _complaints):
        charts_of(page, f"{service.url}/charts")
        page.emulate_media(media="print")
        assert {chart["filter"] for chart in page.evaluate(_CHARTS)} == {"none"}
        names = ("paper", "card", "ink", "link", "good", "bad", "wait", "accent", "field")
        assert page.evaluate(
            "(names) => names.map((n) => getComputedStyle(document.documentElement).getPropertyValue('--' + n))", names
        ) == ["#fff", "#fff", "#000", "#000", "#17693a", "#a3231f", "#7a4f00", "#1f57c3", "#8a929c"]


@pytest.mark.parametrize("size", SIZES)
def test_a_wide_table_scrolls_on_a_screen_and_is_whole_on_paper(service: Service, browser: Browser, size: str) -> None:
    with window(browser, SIZES[size]) as (_, page, _complaints):
        page.goto(f"{service.url}/table", timeout=TIMEOUT_MS)
        assert not wider_than_the_window(page)
        assert page.locator("ul").is_hidden(), "an empty list takes no room"
        page.emulate_media(media="print")
        # The width of a sheet of A4 without its margins.
        page.set_viewport_size({"width": 718, "height": 1000})
        assert not wider_than_the_window(page)
        room = page.evaluate(
            "[...document.querySelectorAll('table, pre')].map((e) => [e.scrollWidth - e.clientWidth,"
            " e.getBoundingClientRect().right - innerWidth])"
        )
        assert len(room) == 2 and all(inside <= 1 and beyond <= 1 for inside, beyond in room), room


@pytest.mark.parametrize("size", SIZES)
def test_a_page_from_right_to_left_stands_at_the_right_and_nothing_sticks_out(
    service: Service, browser: Browser, size: str
) -> None:
    with window(browser, SIZES[size]) as (_, page, _complaints):
        page.goto(f"{service.url}/arabic", timeout=TIMEOUT_MS)
        assert not wider_than_the_window(page)
        left, right = page.evaluate("""() => {
            const main = document.querySelector("main"), style = getComputedStyle(main), box = main.getBoundingClientRect();
            return [box.left + parseFloat(style.paddingLeft), box.right - parseFloat(style.paddingRight)];
        }""")
        ends = page.evaluate("""() => [...document.querySelectorAll("h1, li")].map((e) => {
            const range = document.createRange(); range.selectNodeContents(e); return range.getBoundingClientRect().right;
        })""")
        assert ends[0] == pytest.approx(right, abs=1)
        assert [right - 40 < end < right for end in ends[1:]] == [True, True], ends
        begin = page.evaluate(_CHARTS)[0]["box"][0]
        assert left - 16 <= begin <= left
