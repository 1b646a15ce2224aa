"""Pages and charts under a ``Content-Security-Policy`` without inline style and script."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256

import pytest
from playwright.sync_api import Browser

from language.serve.approvals import answer
from language.serve.page_style import STYLE_PATH
from language.serve.reply import Reply
from language.serve.request import Request
from tests.examples.browsing import NARROW, WIDE, chromium, window
from tests.serve.served import Served, header
from tests.waiting_gates import Asked, approve
from tests.web_server import WebServer
from tests.web_server import reply as wire

KINDS = {
    "area": "[[0, 1], [1, 3]]", "bar": '{"jan": 2}', "boxplot": '{"a": [1, 2, 3, 4, 100]}', "donut": '{"a": 1, "b": 3}',
    "heatmap": "[[1, 2], [3, 4]]", "histogram": "[1, 2, 2, 3]", "line": "[3, 1, 2]", "pie": '{"a": 1}',
    "scatter": "[[1, 2], [3, 4]]", "waterfall": '{"a": 5, "b": -2}',
}  # fmt: skip
CHARTS = "".join(f'chart("{kind}", {data}, {{"title": "T", "background": "#eeeeff"}}), ' for kind, data in KINDS.items())
PROGRAM = f"""
require serve(8080)
serve on 8080
    describe
        about: "Pens"
    route "GET /charts"
        give with_header(content(page([{CHARTS.rstrip(", ")}])), "Content-Security-Policy", "default-src 'self'")
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


def pages() -> dict[str, Reply]:
    """Every page that the runtime makes itself, and one of charts."""
    app = Served(PROGRAM)
    asked = Asked(app.gates, approve("Ship <it>?"))
    lines = app.host.errors
    token = next(line for line in lines if asked.id in line).split('"token": "')[1][:64]

    def link(query: str, given: str = token) -> Reply:
        found = answer(app.gates, Request("GET", f"/approvals/{asked.id}/{given}", query))
        assert found is not None
        return found

    made = {
        STYLE_PATH[1:]: app("GET", STYLE_PATH),
        "charts": app("GET", "/charts", accept="text/html"),
        "error": app("GET", "/none", accept="text/html"),
        "docs": app("GET", "/docs", accept="text/html"),
        "button": link(""),
        "wrong": link("", "0" * 64),
        "done": link("d=yes"),
    }
    app.gates.close()
    return made


def test_no_page_of_ours_needs_inline_style_that_its_policy_does_not_name() -> None:
    made = pages()
    assert made.pop(STYLE_PATH[1:]).content_type == "text/css; charset=utf-8"
    for name, reply in made.items():
        text = reply.body.decode()
        assert reply.content_type == "text/html; charset=utf-8", name
        (policy,) = header(reply, "Content-Security-Policy")
        assert "unsafe" not in policy
        assert not re.search(r"<[^>]*\s(style|on\w+)=", text), name
        assert not re.search(r"<script(?! type=\"application/ld\+json\"|>)", text), name
        for style in re.findall(r"<(?:style|script)>(.*?)</(?:style|script)>", text, re.S):
            assert f"'sha256-{b64encode(sha256(style.encode()).digest()).decode()}'" in policy, name


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_a_browser_shows_them_whole(browser: Browser, size: tuple[int, int]) -> None:
    made = pages()

    def answer_with(received: object) -> bytes:
        name = received.target.strip("/")  # type: ignore[attr-defined]
        if name not in made:
            return wire("", status="404 Not Found")
        fields = [f"{key}: {value}" for key, value in made[name].headers]
        return wire(made[name].body, f"Content-Type: {made[name].content_type}", *fields)

    with WebServer(answer_with) as server, window(browser, size) as (_, page, complaints):
        for name in made:
            if name == STYLE_PATH[1:]:
                continue
            page.goto(f"{server.url}/{name}")
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
            if name == "charts":
                drawn = page.evaluate(
                    "(shown) => [...document.querySelectorAll(`svg > .${shown} > rect:first-of-type`)].map((e) => ({"
                    "width: e.getBoundingClientRect().width, height: e.getBoundingClientRect().height,"
                    "room: e.closest('svg').getBoundingClientRect().height}))",
                    "narrow" if size == NARROW else "wide",
                )
                room = page.evaluate("document.querySelector('svg').getBoundingClientRect().width")
                assert len(drawn) == len(KINDS)
                for box in drawn:
                    assert box["width"] == pytest.approx(min(640, room), abs=1)
                    assert box["height"] == pytest.approx(box["room"], abs=1)
            assert page.evaluate("document.styleSheets.length") == 1, name
            assert page.evaluate("getComputedStyle(document.body).margin") == "0px", name
        assert not [line for line in complaints if "favicon" not in line and "404" not in line]
