"""The dashboard: pages that live, sales made at once, more listeners than there is room for, and an orderly end."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.examples.browsing import NARROW, WIDE, faults_of, window
from tests.examples.running_services import Service, copied, served

SECONDS = 20_000


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with served(copied("dashboard", tmp_path_factory.mktemp("board")), "dashboard.lang") as service:
        yield service
        assert "] 500 " not in service.log


def events(answer: httpx.Response) -> Iterator[tuple[str, object]]:
    """The events of a stream: the name and what was sent."""
    name = "message"
    for line in answer.iter_lines():
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield name, json.loads(line.removeprefix("data: "))
            name = "message"


def sold(page: Page, product: str) -> int:
    return int(page.locator(f'[data-product="{product}"]').inner_text())


def test_numbers_and_charts_come_by_themselves(board: Service, browser: Browser) -> None:
    with window(browser) as (_, page, complaints):
        page.goto(board.url)
        expect(page.get_by_role("status")).to_have_text("live", timeout=SECONDS)
        for place in ("[data-chart=oven] svg", "[data-number=oven]", "[data-number=sales]"):
            before = page.locator(place).evaluate("e => e.outerHTML")
            page.wait_for_function(
                "([place, before]) => document.querySelector(place).outerHTML !== before", arg=[place, before], timeout=SECONDS
            )
        chart = page.locator("[data-chart=products] svg")
        assert chart.get_attribute("role") == "img"
        assert "Cardamom" in chart.text_content()  # type: ignore[operator]
        assert complaints == []


def test_what_one_page_sells_all_pages_show(board: Service, browser: Browser) -> None:
    with window(browser) as (_, seller, complaints), window(browser) as (_, watcher, _):
        for page in (seller, watcher):
            page.goto(board.url)
            expect(page.get_by_role("status")).to_have_text("live", timeout=SECONDS)
        before = sold(watcher, "Plum cake")
        for _ in range(12):
            seller.get_by_role("button", name="Sell a Plum cake").click()
        watcher.wait_for_function(
            "before => +document.querySelector('[data-product=\"Plum cake\"]').textContent >= before + 12",
            arg=before,
            timeout=SECONDS,
        )
        assert complaints == []


def test_a_paused_page_stands_still(board: Service, browser: Browser) -> None:
    with window(browser) as (_, page, _):
        page.goto(board.url)
        expect(page.get_by_role("status")).to_have_text("live", timeout=SECONDS)
        page.get_by_role("button", name="Pause").click()
        expect(page.get_by_role("status")).to_have_text("paused")
        still = page.locator("main").inner_html()
        page.wait_for_timeout(2500)
        assert page.locator("main").inner_html() == still
        page.get_by_role("button", name="Go on").click()
        expect(page.get_by_role("status")).to_have_text("live", timeout=SECONDS)


def test_without_scripts_the_page_is_complete(board: Service, browser: Browser) -> None:
    with window(browser, scripts=False) as (_, page, complaints):
        page.goto(board.url)
        expect(page.get_by_role("status")).to_have_text("every 5 seconds")
        expect(page.locator("figure svg")).to_have_count(2)
        expect(page.get_by_role("button", name="Pause")).to_have_count(0)
        before = sold(page, "Rye loaf")
        page.get_by_role("button", name="Sell a Rye loaf").click()
        assert sold(page, "Rye loaf") > before
        assert complaints == []


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_it_can_be_read_by_everybody(board: Service, browser: Browser, size: tuple[int, int], dark: bool) -> None:
    with window(browser, size, dark=dark) as (_, page, _):
        page.goto(board.url)
        expect(page.locator("figure[data-drawn]")).to_have_count(2, timeout=SECONDS)
        assert faults_of(page) == []
        drawn = page.locator("[data-chart=oven] svg").get_attribute("viewBox")
        assert drawn == f"0 0 {1080 if size == WIDE else 400} 220"


def test_the_stream_is_numbers_and_charts(board: Service) -> None:
    with httpx.stream("GET", f"{board.url}/events?theme=dark&size=narrow", timeout=20) as answer:
        assert answer.headers["content-type"] == "text/event-stream"
        assert answer.headers["cache-control"] == "no-cache"
        coming = events(answer)
        names, sent = zip(*(next(coming) for _ in range(4)), strict=True)
        assert names == ("numbers", "charts", "numbers", "charts")
        assert sent[0].keys() == {"sales", "revenue", "minute", "basket", "oven", "products"}
        assert sent[1]["oven"].startswith("<svg")
        assert float(sent[2]["revenue"]) >= float(sent[0]["revenue"])


def test_sales_made_at_once_all_count(board: Service) -> None:
    sell_at_once(board)


def test_sales_made_at_once_in_several_processes_all_count(tmp_path: Path) -> None:
    with served(copied("dashboard", tmp_path), "--secure", "--workers", "3", "dashboard.lang") as board:
        sell_at_once(board)


def sell_at_once(board: Service) -> None:
    seen: list[int] = []

    def sell() -> None:
        with httpx.Client(timeout=30) as http:
            for _ in range(5):
                answer = http.post(f"{board.url}/api/sales", json={"product": "Pretzel", "count": 1})
                assert answer.status_code == 201
                seen.append(answer.json()["sold"])

    selling = [threading.Thread(target=sell) for _ in range(8)]
    for thread in selling:
        thread.start()
    for thread in selling:
        thread.join(60)
    assert len(seen) == len(set(seen)) == 40


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"product": "Pretzel"}, 400),
        ({"product": "Pretzel", "count": "1"}, 400),
        ({"product": "Stone", "count": 1}, 422),
        ({"product": "Pretzel", "count": 0}, 422),
        ({"product": "Pretzel", "count": 1.5}, 422),
        ({"product": "Pretzel", "count": 101}, 422),
    ],
)
def test_what_cannot_be_sold(board: Service, body: dict[str, object], status: int) -> None:
    assert httpx.post(f"{board.url}/api/sales", json=body).status_code == status


def test_forms_of_other_sites_sell_nothing(board: Service) -> None:
    form = {"product": "Pretzel"}
    assert httpx.post(f"{board.url}/sell", data=form, headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert httpx.post(f"{board.url}/sell", data={"product": "Stone"}).status_code == 403
    assert httpx.post(f"{board.url}/sell", data=form).status_code == 303


def test_no_room_for_one_more_listener_and_an_orderly_end(tmp_path: Path, browser: Browser) -> None:
    folder = copied("dashboard", tmp_path)
    program = folder / "dashboard.lang"
    source = program.read_text(encoding="utf-8")
    program.write_text(source.replace("max_streams 50", "max_streams 3"), encoding="utf-8")
    with served(folder, "dashboard.lang") as board, window(browser) as (_, page, _):
        page.goto(board.url)
        expect(page.get_by_role("status")).to_have_text("live", timeout=SECONDS)
        with ExitStack() as open_streams, httpx.Client(timeout=20) as http:
            first, _ = [open_streams.enter_context(http.stream("GET", f"{board.url}/events")) for _ in range(2)]
            refused = http.get(f"{board.url}/events")
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
            board.process.terminate()
            *_, last = events(first)
            assert last == ("error", {"error": "cancelled: server shutting down"})
        expect(page.get_by_role("status")).to_have_text("connecting again", timeout=SECONDS)
        assert board.process.wait(15) == 0
