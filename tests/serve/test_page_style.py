"""The stylesheet of the pages that the runtime makes, and errors as pages."""

from __future__ import annotations

import itertools
import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

import language
from language.serve.page_style import STYLE, STYLE_PATH, beside, source_hash
from language.values import FALSE
from stdlib.charts import chart_svg
from stdlib.charts.canvas import MOST_STEPS
from stdlib.charts.palette import DARK, LIGHT, channels, luminance
from tests.serve.served import Served, header
from tests.stdlib.charts.test_chart_scales import SIGHTS, perceived

PROGRAM = """
require serve(8080)
serve on 8080
    PRIVATE
    route "GET /page"
        give content(page([heading(1, "Pens")], {"title": "Pens"}))
    route "GET /deep/er/:name"
        give ok(with_header(content(page([])), "X-Made", "here"))
    route "GET /own"
        give content(page([], {"stylesheet": "/a.css"}))
    route "GET /bare"
        give content(page([], {"stylesheet": ""}))
    route "GET /value"
        give {"a": 1}
    route "GET /fails"
        give 1 / 0
    route "GET /said"
        give fail(409, "taken")
    route "GET /asks"
        expect query {n: integer}
        give query.n
    route "GET /*rest"
        give fail(404, "the last route")
"""
LINK = r'<link rel="stylesheet" href="(.*?)">'
#: What browsers send for an address that somebody opens.
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"
DASHBOARD = Path(__file__).parents[2] / "platform_api" / "dashboard" / "static" / "style.css"


def served(private: str = "", *, catch_all: bool = True, local: bool = False) -> Served:
    source = PROGRAM if catch_all else PROGRAM[: PROGRAM.index('    route "GET /*rest"')]
    return Served(source.replace("PRIVATE", private or "max_streams 9"), local=local)


def links(app: Served, path: str) -> list[str]:
    return re.findall(LINK, app("GET", path, accept=BROWSER).body.decode())


class TestStylesheet:
    def test_a_page_that_names_none_has_the_one_of_the_runtime(self) -> None:
        app = served()
        assert links(app, "/page") == [STYLE_PATH[1:]]
        assert links(app, "/deep/er/x") == ["../.." + STYLE_PATH]
        assert links(served(catch_all=False), "/page.html") == [STYLE_PATH[1:]]

    def test_a_page_replaces_it_or_goes_without(self) -> None:
        app = served()
        assert links(app, "/own") == ["/a.css"]
        assert links(app, "/bare") == []

    def test_markdown_and_json_say_nothing_of_it(self) -> None:
        app = served()
        for suffix in (".md", ".json"):
            assert b".css" not in app("GET", "/page" + suffix).body

    def test_handler_mode_names_it_and_answers_it(self) -> None:
        program = language.Program(PROGRAM.replace("PRIVATE", "max_streams 9"))

        def handled(path: str, method: str = "GET") -> dict[str, Any]:
            return dict(program.handle({"method": method, "path": path, "headers": {"Accept": "text/html"}}))

        assert re.findall(LINK, handled("/page")["body"]) == [STYLE_PATH[1:]]
        assert re.findall(LINK, handled("/own")["body"]) == ["/a.css"] and re.findall(LINK, handled("/bare")["body"]) == []
        reply = handled(STYLE_PATH)
        assert (reply["status"], reply["content_type"], reply["body"]) == (200, "text/css; charset=utf-8", STYLE)
        assert ["Cache-Control", "public, max-age=31536000, immutable"] in reply["headers"]
        assert handled(STYLE_PATH, "HEAD")["body"] == ""
        assert handled(STYLE_PATH, "POST")["content_type"] != reply["content_type"]

    @pytest.mark.parametrize("private", ["", "private"])
    def test_it_is_answered_before_the_routes_and_may_be_kept_for_good(self, private: str) -> None:
        app = served(private)
        reply = app("GET", STYLE_PATH)
        assert (reply.status, reply.content_type, reply.body) == (200, "text/css; charset=utf-8", STYLE.encode())
        assert header(reply, "Cache-Control") == ["public, max-age=31536000, immutable"]
        assert app("HEAD", STYLE_PATH).status == 200
        assert len(app("GET", STYLE_PATH, accept_encoding="gzip").body) < len(STYLE) / 2
        # Only that path is the runtime's own.
        assert json.loads(app("GET", "/lang-00000000.css").body)["error"] == "the last route"

    def test_it_loads_nothing_and_gives_way_to_every_rule_of_a_program(self) -> None:
        assert "url(" not in STYLE and "@import" not in STYLE and "</style" not in STYLE
        assert STYLE.startswith("@layer lang {\n") and STYLE.endswith("}\n}\n") and STYLE.count("{") == STYLE.count("}")
        assert "!important" not in STYLE.replace("[hidden] { display: none !important }", "")

    def test_its_colours_are_those_of_the_dashboard(self) -> None:
        def colours(text: str) -> dict[str, set[str]]:
            found: dict[str, set[str]] = {}
            for name, value in re.findall(r"--([a-z-]+): (#[0-9a-f]+);", text.partition("@media print")[0]):
                found.setdefault(name, set()).add(value)
            return found

        own, theirs = colours(STYLE), colours(DASHBOARD.read_text(encoding="utf-8"))
        assert len(own) > 10
        assert {name: theirs.get(name) for name in own} == own

    @pytest.mark.parametrize(("path", "name"), [("/", "a"), ("/x", "a"), ("/x/", "../a"), ("/x/y", "../a"), ("//x", "../a")])
    def test_its_url_is_relative_to_the_root_of_the_service(self, path: str, name: str) -> None:
        assert beside(path, "a") == name


class TestChartsInTheDark:
    """A chart for a light page is turned over by ``invert(.92) hue-rotate(180deg)`` (CSS Filter Effects, section 9)."""

    @staticmethod
    def shown(color: str) -> str:
        inverted = [0.92 - part / 255 * 0.84 for part in channels(color)]
        rows = ((-0.574, 1.43, 0.144), (0.426, 0.43, 0.144), (0.426, 1.43, -0.856))
        rotated = [min(1.0, max(0.0, sum(a * b for a, b in zip(row, inverted)))) for row in rows]
        return "#" + "".join(f"{round(part * 255):02x}" for part in rotated)

    def test_it_is_as_legible_as_by_day(self) -> None:
        assert "svg.adaptive { filter: invert(.92) hue-rotate(180deg) }" in STYLE
        paper = luminance("#14171a")
        for color, least in (*((color, 3.0) for color in LIGHT.series), (LIGHT.text, 4.5), (LIGHT.muted, 4.5)):
            assert (luminance(self.shown(color)) + 0.05) / (paper + 0.05) >= least, color
        for sight in SIGHTS:
            for one, other in itertools.combinations(LIGHT.series, 2):
                apart = math.dist(perceived(self.shown(one), sight), perceived(self.shown(other), sight))
                assert apart > 0.05, (sight, one, other)

    def test_only_what_was_drawn_for_no_ground_of_its_own(self) -> None:
        narrow = {"width": 300}
        assert 'class="chart adaptive"' in chart_svg("pie", {"a": 1}, narrow)
        assert 'class="chart dark"' in chart_svg("pie", {"a": 1}, {**narrow, "theme": "dark"})
        for theme in ("light", "dark"):
            assert 'class="chart"' in chart_svg("pie", {"a": 1}, {**narrow, "theme": theme, "background": "#eeeeee"})

    def test_a_chart_for_dark_pages_has_their_ground_on_a_light_one_and_is_turned_over_on_paper(self) -> None:
        day, ground = "@media print, (prefers-color-scheme: light) { svg.dark {", f"background: {DARK.surface};"
        assert ground in STYLE.partition(day)[2].partition("}")[0]
        paper = STYLE.partition("@media print {")[2]
        assert "svg.dark { background: none; filter: invert(.92) hue-rotate(180deg) }" in paper
        for color in (DARK.text, DARK.muted):
            assert 1.05 / (luminance(self.shown(color)) + 0.05) >= 4.5, color

    def test_nothing_of_the_dark_scheme_is_printed(self) -> None:
        assert "(prefers-color-scheme: dark)" not in STYLE.replace("@media screen and (prefers-color-scheme: dark) {", "")


class TestChartsOnPhones:
    def test_each_height_that_a_drawing_can_have_is_known(self) -> None:
        narrow = STYLE.partition("@media (max-width: 36rem) {\n")[2].partition("\n}")[0]
        known = {(int(one), int(other)) for one, other in re.findall(r"\.reflows-(\d+) { aspect-ratio: 9/(\d+) }", narrow)}
        least = chart_svg("pie", {"a": 1}, {"width": 4000, "height": 100, "legend": FALSE})
        (steps,) = re.findall(r'class="[^"]*reflows-(\d+)', least)
        assert known == {(count, count) for count in range(int(steps), MOST_STEPS + 1)}


class TestErrors:
    def test_a_browser_gets_a_page_and_everybody_else_json(self) -> None:
        app = served(catch_all=False)
        for path, status in (("/none", 404), ("/fails", 500), ("/asks?n=x", 400)):
            page = app("GET", path, accept=BROWSER)
            assert (page.status, page.content_type) == (status, "text/html; charset=utf-8")
            assert "Accept" in header(page, "Vary")
            (policy,) = header(page, "Content-Security-Policy")
            assert policy.startswith("default-src 'none'") and source_hash(STYLE) in policy
            for accept in ("*/*", "text/*", "application/json", "text/html;q=0.1, application/json", "text/html;q=0"):
                reply = app("GET", path, accept=accept)
                assert (reply.status, reply.content_type) == (status, "application/json"), accept
                assert json.loads(reply.body)["status"] == status
                assert header(reply, "Vary") == ["Accept"]
            assert app("GET", path).content_type == "application/json"
        page = app("POST", "/value", accept=BROWSER)
        assert (page.status, page.content_type, header(page, "Allow")) == (405, "text/html; charset=utf-8", ["GET"])

    def test_what_a_program_gives_is_its_own(self) -> None:
        app = served()
        assert app("GET", "/said", accept=BROWSER).content_type == "application/json"
        assert app("GET", "/value", accept=BROWSER).content_type == "application/json"

    def test_a_page_that_is_not_there_leads_to_those_that_are(self) -> None:
        app = served(catch_all=False)
        text = app("GET", "/no/where", accept=BROWSER).body.decode()
        assert '<a href="../page">/page</a>' in text and '<a href="../docs">' in text
        assert "/deep" not in text and "/value" not in text
        assert "This service has no start page" in app("GET", "/", accept=BROWSER).body.decode()
        assert "<a " not in served("private", catch_all=False)("GET", "/no/where", accept=BROWSER).body.decode()

    @pytest.mark.parametrize("taken", ['route "GET /docs"\n        give 1', 'route "GET /:name"\n        give 1', "docs off"])
    def test_it_leads_to_no_reference_page_that_is_not_there(self, taken: str) -> None:
        text = served(taken, catch_all=False)("GET", "/no/where", accept=BROWSER).body.decode()
        assert '<a href="../llms.txt">' in text and '<a href="../docs">' not in text.replace('<a href="../docs">/docs</a>', "")

    def test_nothing_of_the_request_becomes_markup(self) -> None:
        app = served(catch_all=False)
        text = app("GET", "/<script>alert(1)</script>\"'&", accept=BROWSER).body.decode()
        assert "<script" not in text and "&lt;script&gt;alert(1)" in text

    def test_a_name_that_is_not_served_is_told_so_on_a_page_that_leads_nowhere(self) -> None:
        reply = served(catch_all=False, local=True)("GET", "/page", host="evil.example:8080", accept=BROWSER)
        assert (reply.status, reply.content_type) == (421, "text/html; charset=utf-8")
        assert "<a " not in reply.body.decode() and "Pens" not in reply.body.decode()

    def test_handler_mode_answers_json(self) -> None:
        reply = language.Program(PROGRAM.replace("PRIVATE", "max_streams 9")).handle(
            {"method": "GET", "path": "/fails", "headers": {"Accept": BROWSER}}
        )
        assert (reply["status"], reply["content_type"]) == (500, "application/json")
