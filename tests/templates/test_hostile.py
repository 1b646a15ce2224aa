"""Pages that are huge, deep or broken: an answer in time that grows with the page, or one of the errors."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

import language
from language.syntax.tokens import MAX_DEPTH
from language.templates.holes import TemplateFault
from language.templates.parser import parse

DEEP = f"nested too deeply: more than {MAX_DEPTH} blocks"


def render(text: str, data: str = '{"a": 1, "xs": [1]}', **options: Any) -> dict[str, Any]:
    source = f'print(length(body of render("page.html", {data})))'
    return language.run(source, filename="main.lang", files={"page.html": text}, **options)


def seconds(act: Callable[[], object]) -> float:
    start = time.process_time()
    act()
    return time.process_time() - start


def parsed(text: str) -> None:
    try:
        parse(text, "page.html")
    except TemplateFault:
        return


@pytest.mark.parametrize(
    "unit",
    [
        "{",
        "}",
        '"',
        '{ "',
        "{}",
        "{ raw }",
        "{ -- ",
        '{ \\" ',
        "{ a } { ",
        "{a}\n",
        "{ raw }{ en }",
        '{ "a\\',
        "{ end",
        "{ each x in ",
    ],
)
def test_time_grows_with_the_page_alone(unit: str) -> None:
    """Whatever is repeated: four times the text takes about four times as long, and not sixteen times."""
    small, large = unit * 4_000, unit * 16_000
    parsed(small)
    short = min(seconds(lambda: parsed(small)) for _ in range(3))
    long = min(seconds(lambda: parsed(large)) for _ in range(3))
    assert long < 10 * short + 0.05


def test_large_pages() -> None:
    assert render("x" * 8_000_000)["output"] == ["8000000"]
    assert render("{ a }" * 5_000)["output"] == ["5000"]
    assert render("{ raw }" + "{" * 100_000 + "{ end }")["output"] == ["100000"]


def test_blocks_nest_as_deep_as_in_the_language() -> None:
    for opening in ("{ when a }", "{ each x in xs }", "{ each x in xs }{ when x }{ a }"):
        blocks = opening.count("{ when") + opening.count("{ each")
        levels = MAX_DEPTH // blocks
        ends = "{ end }" * blocks * levels
        assert render(opening * levels + ends)["ok"]
        assert DEEP in render(opening * (levels + 1) + ends)["errors"][0]


def test_an_error_in_the_deepest_loop_has_its_line() -> None:
    text = "{ each x in xs }\n" * MAX_DEPTH + "{ x / 0 }" + "{ end }" * MAX_DEPTH
    assert render(text)["errors"] == [f"Runtime error: main.lang:1:28: page.html:{MAX_DEPTH + 1}: Division by zero"]


def test_long_chains() -> None:
    arms = "".join(f"{{ otherwise when a == {number} }}{number}" for number in range(3_000))
    assert render("{ when a == -1 }" + arms + "{ end }")["output"] == ["1"]
    assert render("{ " + " + ".join(["a"] * 3_000) + " }")["output"] == ["4"]


def test_deep_expressions() -> None:
    for opening, closing in (("[", "]"), ("(", ")"), ("upper(", ")"), ("- ", ""), ("not ", "")):
        deep = "{ " + opening * 5_000 + "a" + closing * 5_000 + " }"
        (error,) = render(deep)["errors"]
        assert "nested too deeply" in error or "a chain of more than" in error
        assert len(error) < 600
        fine = "{ " + opening * 150 + "a" + closing * 150 + " }"
        assert render(fine)["ok"]


def test_output_without_end_meets_the_limits() -> None:
    text = "{ each x in range(10000000) }xxxxxxxxxxxxxxxx{ end }"
    assert render(text, limits={"time_ms": 300})["limit"] == "time_ms"
    assert render(text, limits={"steps": 10_000})["limit"] == "steps"


def test_parts_that_include_themselves_by_the_thousand() -> None:
    files = {"page.html": '{ each x in xs }{ include "page.html" }{ end }'}
    source = 'try\n    render("page.html", {"xs": [1, 2, 3]})\nrecover e\n    print(e)'
    assert language.run(source, files=files)["output"] == ["page.html: template include nesting too deep"]
