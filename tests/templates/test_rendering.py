"""What pages see and do: names, variables of workers, threads, edits of files, errors of tasks."""

from __future__ import annotations

import threading

import pytest
from site_of import Site

import language
from language.templates import page_store


def test_a_page_sees_globals_as_they_are_now(site: Site) -> None:
    site.write("page.html", "{ n } { next() } { n } { length(xs) }")
    source = """
let n be 1
let xs be [1]
task next()
    set n to n + 1
    give n
print(body of render("page.html"))
set n to 10
set xs to append(xs, 2)
print(body of render("page.html"))
task later()
    give body of render("page.html")
set n to 20
print(later())
print(n)
"""
    assert site.run(source) == ["1 2 2 1", "10 11 11 2", "20 21 21 2", "21"]


def test_a_global_that_is_not_bound_yet_is_no_name(site: Site) -> None:
    site.write("page.html", "{ late }")
    source = """
task page()
    give body of render("page.html")
try
    print(page())
recover e
    print(e)
let late be 1
print(page())
"""
    assert site.run(source) == ["page.html:1: field 'late' is not in the template data", "1"]


def test_what_a_page_keeps_is_a_value_of_its_own(site: Site) -> None:
    """A page hands a global to a task that stores it; the program then grows the global in place."""
    site.write("page.html", "{ keep(xs) }")
    source = """
let xs be []
let kept be []
task keep(v)
    set kept to v
    give length(v)
each i in range(3)
    set xs to append(xs, i)
print(body of render("page.html"))
each i in range(3)
    set xs to append(xs, i)
set xs[0] to "changed"
print(kept, length(xs))
"""
    assert site.run(source) == ["3", "[0, 1, 2] 6"]


def test_a_page_in_a_module_sees_the_program(site: Site) -> None:
    site.write("page.html", "{ who() } { m.name } { local }")
    module = 'let local be "module"\nexport let name be "m"\nexport task page()\n    give body of render("page.html")\n'
    site.write("lib/pages.lang", module)
    source = 'use "./lib/pages.lang" as m\nlet local be "program"\ntask who()\n    give "program"\nprint(m.page())'
    assert site.run(source) == ["program m program"]


BUMPING = """
let n be 0
task bump()
    set n to n + 1
    give n
task call(f, x)
    give f(x)
task one(x)
    let first be body of HOW
    let second be body of HOW
    give first + second
print(parallel_map(one, range(6)), n)
"""


def test_workers_have_variables_of_their_own(site: Site) -> None:
    site.write("page.html", "{ bump() }")
    for how in ('render("page.html")', 'render("page" + ".html")', '("page.html" |> render())'):
        assert site.run(BUMPING.replace("HOW", how)) == ['["12", "12", "12", "12", "12", "12"] 0']
    # As a value it belongs to no place in the source: each call begins with the variables of the program.
    assert site.run(BUMPING.replace("HOW", 'call(render, "page.html")')) == ['["11", "11", "11", "11", "11", "11"] 0']


def test_a_lambda_of_a_page_in_a_worker(site: Site) -> None:
    site.write("page.html", '{ join(parallel_map((x) => text(x + base) + tag, xs), ",") }')
    assert site.run('let base be 10\nprint(body of render("page.html", {"xs": [1, 2], "tag": "<"}))') == ["11&lt;,12&lt;"]


def test_a_page_that_renders_pages(site: Site) -> None:
    site.write("outer.html", '[{ raw body of render("inner.html", {"x": x}) }]\n{ raw body of render("bad.html") }')
    site.write("inner.html", "{ x }")
    site.write("bad.html", "\n\n{ nope }")
    assert site.error('print(body of render("outer.html", {"x": "<"}))') == (
        "outer.html:2: bad.html:3: field 'nope' is not in the template data"
    )
    site.write("bad.html", "ok")
    assert site.run('print(body of render("outer.html", {"x": "<"}))') == ["[&lt;]\nok"]


def test_errors_of_tasks_name_the_hole(site: Site) -> None:
    site.write("page.html", "\n{ each x in xs }\n{ deep(x) }{ end }")
    source = """
task deep(n)
    when n == 0
        let m be {{}}
        give {what}
    give deep(n - 1)
print(body of render("page.html", {{"xs": [3]}}))
"""
    for what, message in [
        ("m.gone", "Map has no key 'gone'"),
        ("1 / 0", "Division by zero"),
        ("apply([1], (x) => x / 0)", "Division by zero"),
        ("deep()", "task 'deep' is missing argument 'n' — pass it, or give the parameter a default in the task: n = …"),
        ("upper()", "upper() needs 1 argument, got 0"),
    ]:
        assert site.error(source.format(what=what)) == f"page.html:3: {message}"


def test_endless_recursion_through_a_page(site: Site) -> None:
    site.write("page.html", "{ spin() }")
    source = 'task spin()\n    give spin()\ntry\n    print(body of render("page.html"))\nrecover e\n    print(e)'
    assert site.run(source) == ["page.html:1: maximum recursion depth exceeded"]
    source = source.replace("give spin()", 'give body of render("page.html")')
    (line,) = site.run(source)
    assert line.startswith("page.html:1: page.html:1: ")
    assert line.endswith("maximum recursion depth exceeded")


def test_stop_leaves_the_loop_of_the_page(site: Site) -> None:
    site.write("page.html", "{ each x in xs }{ x }{ check(x) };{ end }")
    source = 'task check(x)\n    when x == 2\n        stop\n    give ""\nprint(body of render("page.html", {"xs": [1, 2, 3]}))'
    assert site.run(source) == ["1;2"]


def test_nothing_is_left_of_a_page_that_fails(site: Site) -> None:
    site.write("page.html", '{ layout "base.html" }{ fill "a" }A{ end }x{ n / d }')
    site.write("base.html", '{ slot "a" }{ slot }')
    source = """
each d in [0, 2]
    try
        print(body of render("page.html", {"n": 4, "d": d}))
    recover e
        print(e)
"""
    assert site.run(source) == ["page.html:1: Division by zero", "Ax2.0"]


def test_an_edited_page_is_used_at_once(site: Site) -> None:
    page = site.write("page.html", '{ include "part.html" } 1')
    site.write("part.html", "a")
    assert site.page("page.html") == "a 1"
    site.write("part.html", "bb")
    assert site.page("page.html") == "bb 1"
    page.write_text('{ include "part.html" } 2', encoding="utf-8")
    assert site.page("page.html") == "bb 2"
    page.write_text("{ broken", encoding="utf-8")
    assert site.error('render("page.html")') == "page.html:1: unclosed '{' in template"
    page.unlink()
    assert site.error('render("page.html")') == "template not found: page.html"


def test_a_page_is_compiled_once(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    original = page_store._parsed

    def counted(files: object, located: page_store.Located, path: str) -> object:
        made.append(path)
        return original(files, located, path)  # type: ignore[arg-type]

    monkeypatch.setattr(page_store, "_parsed", counted)
    site.write("page.html", '{ each x in xs }{ include "part.html" }{ end }')
    site.write("part.html", "{ x }")
    for _ in range(3):
        assert site.page("page.html", '{"xs": [1, 2, 3]}') == "123"
    assert made == ["page.html", "part.html"]
    (site.folder / "again.html").symlink_to("page.html")
    assert site.page("again.html", '{"xs": []}') == ""
    assert made == ["page.html", "part.html"]


def test_threads_share_pages_and_nothing_else(site: Site) -> None:
    site.write("base.html", '{ slot "t" }:{ slot }')
    site.write("page.html", '{ layout "base.html" }{ fill "t" }{ n }{ end }{ each x in xs }{ include "part.html" }{ end }')
    site.write("part.html", "({ x }{ n })")
    found: dict[int, set[str]] = {}

    def render(number: int) -> None:
        data = f'{{"n": "n{number}", "xs": [1, 2]}}'
        source = f'each i in range(40)\n    print(body of render("page.html", {data}))'
        found[number] = set(site.run(source))

    threads = [threading.Thread(target=render, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {n: {f"n{n}:(1n{n})(2n{n})"} for n in range(8)}


def test_only_so_many_pages_are_kept(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_store, "MOST_PAGES", 5)
    for number in range(20):
        site.write(f"p{number}.html", f"{{ x }}{number}")
        assert site.page(f"p{number}.html", '{"x": "x"}') == f"x{number}"
    assert len(page_store._pages) <= 5
    assert site.page("p0.html", '{"x": "y"}') == "y0"


def test_programs_with_the_same_names_for_other_files() -> None:
    for text in ("one", "two", "one"):
        answer = language.run('print(body of render("page.html"))', files={"page.html": text})
        assert answer["output"] == [text]


def test_a_data_key_is_never_a_part_of_the_runtime(site: Site) -> None:
    """Keys out of somebody's JSON that are spelled like names of the compiled page."""
    site.write("page.html", "{ each x in xs }{ x }{ end }{ upper(y) }")
    data = (
        '{"xs": ["<"], "y": "<a>", "·write": 1, "·escaped": 2, "·unit": 3, "·items": 4, "·page": 5, "None": 6, "__class__": 7}'
    )
    assert site.page("page.html", data) == "&lt;&lt;A&gt;"


def test_names_that_mean_something_to_python(site: Site) -> None:
    site.write(
        "page.html", "{ None } { True } { self } { __debug__ } { each None in xs }{ None }{ None + 1 }{ end } { lambda }"
    )
    data = '{"None": 1, "True": 2, "self": 3, "__debug__": 4, "xs": [5], "lambda": 6}'
    assert site.page("page.html", data) == "1 2 3 4 56 6"


def test_steps_of_a_page_count() -> None:
    files = {"page.html": "{ each x in range(100000) }{ x }{ end }"}
    answer = language.run('print(body of render("page.html"))', files=files, limits={"steps": 1000})
    assert answer["limit"] == "steps" and answer["output"] == []
    answer = language.run('print(length(body of render("page.html")))', files=files, limits={"steps": 10_000_000})
    assert answer["output"] == ["488890"]


def test_an_embedded_program_without_files_has_no_pages() -> None:
    answer = language.run('print(body of render("page.html"))')
    assert answer["errors"] == ["Runtime error: <embedded>:1:21: template not found: page.html"]


def test_secrets_stay_sealed(site: Site) -> None:
    site.write("page.html", '{ k }|{ raw k }|{ "Bearer " + k }|{ [k] }|{ {"k": k} }|{ `{k}` }')
    assert site.run('print(body of render("page.html", {"k": as_secret("hush", "KEY")}))') == [
        "secret(KEY)|secret(KEY)|secret(KEY)|[secret(KEY)]|{k: secret(KEY)}|secret(KEY)"
    ]
