"""Pages under ``serve``: read at start, rendered for requests that share nothing, errors as replies."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from served import Served, header

from language.errors import RuntimeFault

ROUTES = """
require serve(8080)
let visits be 0
task visit()
    set visits to visits + 1
    give visits
serve on 8080
    route "GET /"
        give render("page.html", {"who": query.who})
    route "GET /pages/:name"
        give render("pages/" + params.name + ".html", {})
    route "GET /set"
        set visits to 41
        give with_header(render("visits.html"), "X-Page", "1")
"""


def write(folder: Path, **pages: str) -> None:
    for name, text in pages.items():
        file = folder / (name.replace("__", "/") + ".html")
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")


def body(served: Served, target: str) -> str:
    reply = served("GET", target)
    assert reply.status == 200, reply.body
    return reply.body.decode() if isinstance(reply.body, bytes) else reply.body


def test_a_page(tmp_path: Path) -> None:
    write(tmp_path, page="<p>{ who }</p>", visits="{ visit() } { visits }")
    served = Served(ROUTES, tmp_path)
    assert body(served, "/?who=%3Cb%3E") == "<p>&lt;b&gt;</p>"
    reply = served("GET", "/?who=x")
    assert (reply.status, reply.content_type) == (200, "text/html; charset=utf-8")
    assert header(served("GET", "/set"), "x-page") == ["1"]


def test_each_request_has_variables_of_its_own(tmp_path: Path) -> None:
    write(tmp_path, page="{ visit() } { visit() }", visits="{ visit() } { visits }")
    served = Served(ROUTES, tmp_path)
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda _: body(served, "/?who=x"), range(60))) == {"1 2"}
    assert body(served, "/set") == "42 42"
    assert body(served, "/?who=x") == "1 2"


def test_an_edited_page_needs_no_restart(tmp_path: Path) -> None:
    write(tmp_path, page="one", visits="")
    served = Served(ROUTES, tmp_path)
    assert body(served, "/?who=x") == "one"
    write(tmp_path, page="other")
    assert body(served, "/?who=x") == "other"


@pytest.mark.parametrize("secure", [False, True])
def test_an_error_is_a_reply(tmp_path: Path, secure: bool) -> None:
    write(tmp_path, page="<p>\n{ missing }\n", visits="", pages__bad="{ 1 + }")
    served = Served(ROUTES, tmp_path, secure=secure)
    for target, text in (
        ("/?who=x", "page.html:2: field 'missing' is not in the template data"),
        ("/pages/nope", "template not found: pages/nope.html"),
        ("/pages/bad", "bad.html:1: invalid expression { 1 + }"),
        ("/pages/..%2F..%2Fsecret", "template not found: pages/../../secret.html"),
    ):
        reply = served("GET", target)
        assert reply.status == 500
        answer = json.loads(reply.body)
        if secure:
            assert answer == {"error": "internal server error", "status": 500}
        else:
            assert text in answer["error"]


def start_error(folder: Path, source: str = ROUTES) -> str:
    with pytest.raises(RuntimeFault) as raised:
        Served(source, folder)
    return raised.value.message


def test_a_fault_in_a_page_stops_the_start(tmp_path: Path) -> None:
    write(tmp_path, visits="")
    failed = 'template validation failed for render("page.html"): '
    assert start_error(tmp_path) == failed + "template not found: page.html"
    write(tmp_path, page="{ who ")
    assert start_error(tmp_path) == failed + "page.html:1: unclosed '{' in template"
    write(tmp_path, page='\n{ when false }{ include "part.html" }{ end }')
    assert start_error(tmp_path) == failed + "template not found: part.html"
    write(tmp_path, part='{ layout "base.html" }{ include "page.html" }')
    assert start_error(tmp_path) == failed + "template not found: base.html"
    write(tmp_path, base="\n{ end }")
    assert start_error(tmp_path) == failed + "base.html:2: '{ end }' without a matching block"
    write(tmp_path, base="{ slot }")
    Served(ROUTES, tmp_path)


def test_groups_are_looked_at_too(tmp_path: Path) -> None:
    (tmp_path / "admin.lang").write_text(
        'export routes admin\n    route "GET /"\n        give render("admin.html")\n', encoding="utf-8"
    )
    source = 'require serve(8080)\nuse "./admin.lang" as a\nserve on 8080\n    mount a.admin at "/admin"\n'
    assert (
        start_error(tmp_path, source) == 'template validation failed for render("admin.html"): template not found: admin.html'
    )
    write(tmp_path, admin="ok")
    assert body(Served(source, tmp_path), "/admin") == "ok"


def test_a_name_of_the_program_is_no_page(tmp_path: Path) -> None:
    source = """
require serve(8080)
task render(path)
    give "own " + path
serve on 8080
    route "GET /"
        give text(render("nope.html"))
"""
    assert "own nope.html" in body(Served(source, tmp_path), "/")
