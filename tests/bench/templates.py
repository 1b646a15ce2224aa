"""Pages rendered, beside Jinja2's compiled templates with autoescape.

python tests/bench/templates.py [--rounds N]

Jinja2 holds its template object; ``render`` looks at the file each time, as it always does. Both work on the same data.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from engines import REPOSITORY
from machine import description
from timing import interleaved, ratio, table

sys.path.insert(0, str(REPOSITORY))

TIMES = 50
ROWS = 100
#: At most this many times Jinja2.
GOAL = 1.5

FIELDS = ("id", "name", "mail", "city", "note")


class Page(NamedTuple):
    """The files of a page in both languages; each begins at ``page.html``."""

    ours: dict[str, str]
    jinja: dict[str, str]


def _table(cell: str, each: str, end: str) -> str:
    cells = "".join(f"<td>{cell.replace('FIELD', field)}</td>" for field in FIELDS)
    return f"<table>\n{each}<tr>{cells}</tr>\n{end}</table>\n"


PAGES = {
    f"table, {ROWS} rows of {len(FIELDS)} cells": Page(
        {"page.html": _table("{ r.FIELD }", "{ each r in rows }", "{ end }")},
        {"page.html": _table("{{ r.FIELD }}", "{% for r in rows %}", "{% endfor %}")},
    ),
    "the same with conditions and calls": Page(
        {
            "page.html": "<h1>{ title }</h1>{ each r in rows }<tr>{ when r.id % 2 == 0 }<td class=even>"
            "{ otherwise }<td>{ end }{ upper(r.name) } { site }</tr>{ end }"
        },
        {
            "page.html": "<h1>{{ title }}</h1>{% for r in rows %}<tr>{% if r.id % 2 == 0 %}<td class=even>"
            "{% else %}<td>{% endif %}{{ r.name|upper }} {{ site }}</tr>{% endfor %}"
        },
    ),
    "layout, a part for each row": Page(
        {
            "base.html": '<title>{ slot "title" }</title>{ slot }',
            "row.html": "<li>{ r.name }, { r.city }</li>",
            "page.html": '{ layout "base.html" }{ fill "title" }{ title }{ end }'
            '<ul>{ each r in rows }{ include "row.html" }{ end }</ul>',
        },
        {
            "base.html": "<title>{% block title %}{% endblock %}</title>{% block body %}{% endblock %}",
            "row.html": "<li>{{ r.name }}, {{ r.city }}</li>",
            "page.html": '{% extends "base.html" %}{% block title %}{{ title }}{% endblock %}'
            '{% block body %}<ul>{% for r in rows %}{% include "row.html" %}{% endfor %}</ul>{% endblock %}',
        },
    ),
}

PROGRAM = f"""
let rows be []
each i in range({ROWS})
    let row be {{"id": i, "name": "Ada Lovelace " + i, "mail": "ada@x.org", "city": "London", "note": "<b>fast</b> & light"}}
    set rows to append(rows, row)
let data be {{"rows": rows, "title": "Pens & ink", "site": "example.com"}}
task main()
    let page be ""
    each i in range({TIMES})
        set page to body of render("page.html", data)
    give page
print(main())
"""


def data() -> dict[str, object]:
    rows = [
        {"id": i, "name": f"Ada Lovelace {i}", "mail": "ada@x.org", "city": "London", "note": "<b>fast</b> & light"}
        for i in range(ROWS)
    ]
    return {"rows": rows, "title": "Pens & ink", "site": "example.com"}


def ours(folder: Path) -> Callable[[], object]:
    """A program on this machine's host that renders the page of the folder; its code is compiled once."""
    from language.compiler.compilation import compile_source
    from language.native.host import NativeHost
    from language.runtime.context import Context
    from language.runtime.instance import Instance

    file = str(folder / "main.lang")
    code = compile_source(PROGRAM, file).named(file)
    host = NativeHost()

    def run() -> object:
        context = Context(host, collect=True, recorded=False)
        Instance(code, host, context=context).run()
        return "\n".join(context.collected).replace("&#x27;", "&#39;").replace("&quot;", "&#34;")

    return run


def jinja(folder: Path) -> Callable[[], object]:
    jinja2 = importlib.import_module("jinja2")
    environment = jinja2.Environment(autoescape=True, loader=jinja2.FileSystemLoader(folder))
    page = environment.get_template("page.html")
    given = data()

    def run() -> object:
        text = ""
        for _ in range(TIMES):
            text = page.render(given)
        return text

    return run


def rows(rounds: int) -> list[list[str]]:
    """One row for each page: both render the same text."""
    found = []
    for name, page in PAGES.items():
        with tempfile.TemporaryDirectory() as folder:
            sides = {}
            for side, files, make in (("jinja", page.jinja, jinja), ("ours", page.ours, ours)):
                place = Path(folder, side)
                place.mkdir()
                for file, text in files.items():
                    Path(place, file).write_text(text, encoding="utf-8")
                sides[side] = make(place)
            timings = interleaved(sides, rounds)
        assert len({str(timing.result).strip() for timing in timings.values()}) == 1, name
        other, own = timings["jinja"], timings["ours"]
        micro = [f"{timing.median / TIMES * 1e6:.0f}" for timing in (other, own)]
        found.append([name, *micro, f"{ratio(own, other):.2f}", f"{GOAL}"])
    return found


def measure(rounds: int) -> str:
    """A table of microseconds for one page, or why there is none."""
    try:
        importlib.import_module("jinja2")
    except ImportError:
        return "Jinja2 is not installed: `pip install .[bench]`."
    return table(["page", "Jinja2, µs", "render, µs", "ratio", "goal"], rows(rounds))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    print(description())
    print(measure(parser.parse_args().rounds))
