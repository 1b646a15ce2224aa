"""``lang check``: what is found without running anything (6.8)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_process import Lang

Files = dict[str, str | bytes]


def report(lang: Lang, files: Files, name: str = "a.lang") -> dict[str, Any]:
    result = lang("check", "--format", "json", name, files=files)
    assert result.err == ""
    assert result.out.count("\n") == 1
    answer: dict[str, Any] = json.loads(result.out)
    assert answer["ok"] == (result.code == 0) == (answer["errors"] == [])
    return answer


#: What nothing uses is no matter of most programs here; they have tests of their own.
UNUSED = ("W0101", "W0102", "W0103")


def warnings(lang: Lang, source: str, **more: str) -> list[str]:
    answer = report(lang, {"a.lang": source, **{f"{name}.lang": text for name, text in more.items()}})
    assert answer["ok"], answer
    return [warning["message"] for warning in answer["warnings"] if warning["code"] not in UNUSED]


def first_lines(shown: str) -> list[str]:
    """The first line of each problem: what stands below it is the source and the help."""
    return [line for line in shown.splitlines() if line.startswith(("warning: ", "Error: "))]


def error(lang: Lang, files: Files) -> tuple[str, int, str]:
    answer = report(lang, files)
    (found,) = answer["errors"]
    return found["file"], found["line"], found["message"]


def test_nothing_runs(lang: Lang) -> None:
    result = lang("check", "a.lang", files={"a.lang": 'print("ran")\nlog "ran"\nexit(3)\n'})
    assert (result.out, result.err, result.code) == ("OK: 3 statements parsed.\n", "", 0)


def test_standard_input(lang: Lang) -> None:
    assert lang("check", "-", stdin="let x be 1\n").out == "OK: 1 statements parsed.\n"
    assert lang("check", "-", stdin="let x be").err.startswith("Error: <stdin>:1:")


def test_a_program_that_does_not_parse(lang: Lang) -> None:
    for source in ("let x be 1\nlet y be\n", 'let x be 1\nprint("a\n'):
        result = lang("check", "d/a.lang", files={"d/a.lang": source})
        assert (result.out, result.code) == ("", 1)
        assert result.err.startswith("Error: d/a.lang:2:")
        assert len(first_lines(result.err)) == 1


MODULES: Files = {
    "a.lang": 'use "./lib/one.lang" as one\ntask f()\n    use "./lib/two.lang" as two\n    give two.x\nprint(one.x, f())\n',
    "lib/one.lang": 'use "./two.lang" as two\nexport let x be two.x\n',
    "lib/two.lang": "export let x be 2\n",
}


def test_modules_are_followed(lang: Lang) -> None:
    result = lang("check", "a.lang", files=MODULES)
    assert (result.out, result.err) == ("OK: 3 statements parsed. 2 module(s) validated.\n", "")


def test_compiling_keeps_the_program_and_its_modules(lang: Lang, tmp_path: Path) -> None:
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    assert lang("check", "a.lang", files=MODULES, env=env).code == 0
    assert not (tmp_path / "cache").exists()
    result = lang("check", "--compile", "a.lang", env=env)
    assert (result.out, result.err) == ("OK: 3 statements parsed. 2 module(s) validated.\n", "")
    kept = sorted((tmp_path / "cache" / "lang").iterdir())
    assert len(kept) == 3
    result = lang("run", "a.lang", env=env)
    assert result.out == "2 2\n" and sorted((tmp_path / "cache" / "lang").iterdir()) == kept


def test_compiling_says_when_nothing_can_be_kept(lang: Lang, tmp_path: Path) -> None:
    result = lang("check", "--compile", "a.lang", files=MODULES, env={"PLATFORM_CACHE": "off"})
    assert result.code == 1 and "the cache is off" in result.err
    (tmp_path / "cache" / "lang").mkdir(parents=True)
    (tmp_path / "cache" / "lang").chmod(0o755)
    result = lang("check", "--compile", "a.lang", env={"XDG_CACHE_HOME": str(tmp_path / "cache")})
    assert result.code == 1 and f"{tmp_path}/cache/lang cannot be written, or other users can access it" in result.err


def test_compiling_keeps_what_can_be_started(lang: Lang, tmp_path: Path) -> None:
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    result = lang("check", "--compile", "a.lang", files={"a.lang": "print(1)\nwhen false_one()\n    print(2)\n"}, env=env)
    assert result.code == 0 and "E0201" in result.err
    assert len(list((tmp_path / "cache" / "lang").iterdir())) == 1


def test_compiling_keeps_nothing_of_a_program_with_faults(lang: Lang, tmp_path: Path) -> None:
    result = lang("check", "--compile", "a.lang", files={"a.lang": "let be\n"}, env={"XDG_CACHE_HOME": str(tmp_path / "cache")})
    assert result.code == 1 and not (tmp_path / "cache").exists()


def test_a_module_that_does_not_parse(lang: Lang) -> None:
    files: Files = {**MODULES, "lib/two.lang": "export let x be 1\nlet y be\n"}
    result = lang("check", "a.lang", files=files)
    assert result.err.startswith("Error: lib/two.lang:2:")
    assert (result.out, result.code) == ("", 1)
    assert lang("run", "a.lang").code == 1


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/etc/x.lang", "module path must be relative to the importing file: '/etc/x.lang'"),
        ("./x.txt", "module path must end in '.lang': './x.txt'"),
        ("../x.lang", "module path escapes the importing directory: '../x.lang'"),
        ("./gone.lang", "module not found: ./gone.lang"),
        ("./latin.lang", "module is not UTF-8: ./latin.lang"),
        ("./serve.lang", "module './serve.lang' must not contain a 'serve' block"),
        ("./require.lang", "module './require.lang' must not have a top-level 'require'"),
        ("./a.lang", "circular import: module './a.lang' is already being loaded"),
        ("./circle.lang", "circular import: module './a.lang' is already being loaded"),
        ("./lib/up.lang", "module path escapes the project root: '../../x.lang'"),
    ],
)
def test_modules_that_cannot_be_imported(lang: Lang, path: str, message: str) -> None:
    files: Files = {
        "d/a.lang": f'let y be 1\nuse "{path}" as m\n',
        "x.lang": "let x be 1\n",
        "d/latin.lang": b"-- \xff\n",
        "d/serve.lang": 'serve on 8080\n    route "GET /"\n        give 1\n',
        "d/require.lang": "require time\n",
        "d/circle.lang": '\nuse "./a.lang" as a\n',
        "d/lib/up.lang": '\nuse "../../x.lang" as x\n',
    }
    result = lang("check", "d/a.lang", files=files)
    inside = {"./circle.lang": "d/circle.lang", "./lib/up.lang": "d/lib/up.lang"}.get(path, "d/a.lang")
    assert f"Error: {inside}:2:1: {message}" in first_lines(result.err)
    assert result.code == 1


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("require netz", "Unknown capability type: 'netz'. Known: [net, file, file.read, "),
        ("require memory", "require memory needs a name"),
        ('require memory("a b")', "Invalid memory name: "),
        ('require memory("")', "Invalid memory name: "),
        (
            'require memory("a")\nrequire memory("b")',
            'Multiple memory declarations: require memory("a") and require memory("b")',
        ),
        ('let h be "x"\nrequire net(h)', "literal"),
    ],
)
def test_faulty_declarations(lang: Lang, line: str, message: str) -> None:
    file, number, text = error(lang, {"a.lang": line + "\n"})
    assert (file, number) == ("a.lang", line.count("\n") + 1)
    assert message in text
    result = lang("run", "a.lang")
    assert result.code == 1
    assert message in result.err


def test_clauses_that_name_tasks(lang: Lang) -> None:
    source = (
        "task check(request)\n    give nothing\ntask shaped(status, message, request)\n    give message\n"
        'serve on 8080\n    auth with {}\n    errors with {}\n    route "GET /"\n        give 1\n'
    )
    assert report(lang, {"a.lang": source.format("check", "shaped")})["ok"]
    assert error(lang, {"a.lang": source.format("chekc", "shaped")}) == ("a.lang", 6, "Undefined variable: 'chekc'")
    assert error(lang, {"a.lang": source.format("check", "oops")}) == ("a.lang", 7, "Undefined variable: 'oops'")
    unguarded = 'serve on 8080\n    route "GET /" requires auth\n        give 1\n'
    assert "'requires auth'" in error(lang, {"a.lang": unguarded})[2]


def test_the_manifest(lang: Lang) -> None:
    source = (
        'require net("api.x")\nrequire net "b.y"\nrequire file_read("d/*")\nrequire serve(8080)\nrequire random\n'
        'task f()\n    require env("K")\nrequire judge\nrequire memory("a")\nrequire memory("a")\n'
    )
    assert report(lang, {"a.lang": source})["requires"] == [
        {"capability": "net", "scope": "api.x", "line": 1},
        {"capability": "net", "scope": "b.y", "line": 2},
        {"capability": "file.read", "scope": "d/*", "line": 3},
        {"capability": "serve", "scope": "8080", "line": 4},
        {"capability": "random", "scope": None, "line": 5},
        {"capability": "env", "scope": "K", "line": 7},
        {"capability": "judge", "scope": None, "line": 8},
        {"capability": "memory", "scope": "a", "line": 9},
        {"capability": "memory", "scope": "a", "line": 10},
    ]


def test_warnings_leave_the_exit_code(lang: Lang) -> None:
    result = lang("check", "a.lang", files={"a.lang": '\ntask key()\n    give env("KEY")\nprint(random())\n'})
    assert first_lines(result.err) == [
        "warning: a.lang:2:6: nothing calls the task 'key'",
        'warning: a.lang:3:10: the task `key` uses the capability `env("KEY")`, and no `require` line grants it',
        "warning: a.lang:4:7: the program uses the capability `random`, and no `require` line grants it",
    ]
    assert (result.out, result.code) == ("OK: 2 statements parsed.\n", 0)


def test_covered_operations_do_not_warn(lang: Lang) -> None:
    source = 'require env("K*")\nrequire random\nprint(env("KEY"), random(), now())\nlet n be "X"\nprint(env(n))\n'
    assert warnings(lang, source) == []


def test_names_of_the_program_are_no_builtins(lang: Lang) -> None:
    assert warnings(lang, "task random()\n    give 4\nprint(random())\n") == []


def test_the_entry_file_grants_for_its_modules(lang: Lang) -> None:
    module = 'export task k()\n    give secret("K")\n'
    entry = 'use "./m.lang" as m\nm.k()\n'
    assert warnings(lang, entry, m=module) == [
        'the task `k` uses the capability `secret("K")`, and no `require` line grants it'
    ]
    assert warnings(lang, 'require secret("K")\n' + entry, m=module) == []


MODULE = """
use "./deep.lang" as deep
task inner()
    give env("INNER")
export task used(token = nothing)
    give inner()
export task unused()
    give [env("UNUSED"), deep.also()]
export task onward()
    give deep.task_of()
export let made be () => env("LAMBDA")
export routes group
    route "GET /g"
        give env("GROUP")
"""
DEEP = """
export task task_of()
    give env("DEEP")
export task also()
    give env("ALSO")
"""


@pytest.mark.parametrize(
    ("use", "asked"),
    [
        ("print(m.made)", ["LAMBDA"]),
        ("m.used()", ["INNER", "LAMBDA"]),
        ("print(used of m)", ["INNER", "LAMBDA"]),
        ("let f be m.used", ["INNER", "LAMBDA"]),
        ("[1] |> m.used", ["INNER", "LAMBDA"]),
        ("m.onward()", ["DEEP", "LAMBDA"]),
        ("m.unused()", ["ALSO", "LAMBDA", "UNUSED"]),
        ("task never()\n    give m.used()", ["INNER", "LAMBDA"]),
        ("print(`{m.used()}`)", ["INNER", "LAMBDA"]),
        # A module that is a value like others can be asked for anything.
        ("let other be m\nprint(other)", ["ALSO", "DEEP", "GROUP", "INNER", "LAMBDA", "UNUSED"]),
        ('print(m["used"]())', ["ALSO", "DEEP", "GROUP", "INNER", "LAMBDA", "UNUSED"]),
        ("print(keys(m))", ["ALSO", "DEEP", "GROUP", "INNER", "LAMBDA", "UNUSED"]),
        ("require serve(8080)\nserve on 8080\n    mount m.group", ["GROUP", "LAMBDA"]),
        ('require serve(8080)\nserve on 8080\n    auth with m.used\n    route "GET /"\n        give 1', ["INNER", "LAMBDA"]),
    ],
)
def test_tasks_of_modules_that_nothing_reaches_need_nothing(lang: Lang, use: str, asked: list[str]) -> None:
    found = [
        warning
        for warning in warnings(lang, f'use "./m.lang" as m\n{use}\n', m=MODULE, deep=DEEP)
        if warning.endswith("no `require` line grants it")
    ]
    assert sorted(warning.split('"')[1] for warning in found) == asked


def test_a_module_reaches_what_the_entry_file_imports(lang: Lang) -> None:
    entry = 'use "./deep.lang" as deep\nuse "./m.lang" as m\nm.f()\n'
    module = "export task f()\n    give deep.also()\n"
    assert len(warnings(lang, entry, m=module, deep=DEEP)) == 1


def test_an_alias_that_is_bound_twice_may_be_anything(lang: Lang) -> None:
    entry = 'use "./deep.lang" as deep\ntask f(deep)\n    give 1\nprint(deep.also())\n'
    found = [warning for warning in warnings(lang, entry, deep=DEEP) if "no `require` line" in warning]
    assert len(found) == 2


def test_old_names_are_told_wherever_they_stand(lang: Lang) -> None:
    (warning,) = warnings(lang, 'use "./m.lang" as m\n', m='export task f()\n    give replace_text("a", "a", "b")\n')
    assert "replace_text" in warning


def test_the_tests_of_a_module_require_what_they_need_themselves(lang: Lang) -> None:
    module = 'export let N be 1\ntest "t"\n    require db(":memory:")\n    db_open(":memory:")\n'
    assert warnings(lang, 'use "./m.lang" as m\nprint(m.N)\n', m=module) == []
    assert warnings(lang, 'test "t"\n    db_open(":memory:")\n') == [
        'the program uses the capability `db(":memory:")`, and no `require` line grants it'
    ]


def test_a_scope_on_a_name_without(lang: Lang) -> None:
    (warning,) = warnings(lang, 'require time("x")\n')
    assert 'require time("x")' in warning


def test_old_names(lang: Lang) -> None:
    (warning,) = warnings(lang, 'print(replace_text("a", "a", "b"))\n')
    assert "replace_text" in warning


def test_module_aliases(lang: Lang) -> None:
    module = "export let x be 1\nlet hidden be 2\n"
    assert warnings(lang, 'use "./m.lang" as m\nprint(m.x)\n', m=module) == []
    hidden = error(lang, {"a.lang": 'use "./m.lang" as m\nprint(m.hidden)\n', "m.lang": module})
    assert hidden[:2] == ("a.lang", 2) and "the module has no export 'hidden'" in hidden[2]
    (warning,) = warnings(lang, 'use "./m.lang" as m\ntask f(m)\n    give m.other\nprint(f({"other": 1}), m.x)\n', m=module)
    assert "'m'" in warning


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("task f(m)\n    set m.k to 1\nf({})\n", 1),
        ("task f(m)\n    set m[0].k to 1\n    set m[1] to 2\nf([])\n", 1),
        ("task f(m)\n    set m.k to 1\n    give m\nf({})\n", 0),
        ("task f(m)\n    set m.k to 1\n    print(m.k)\nf({})\n", 0),
        ("task f(m)\n    set m to 1\nf({})\n", 0),
        ("each m in [{}]\n    set m.k to 1\n", 1),
        ("each m in [{}]\n    set m.k to 1\n    print(m)\n", 0),
        ("let m be {}\neach i in range(3)\n    set m.k to i\n", 0),
    ],
)
def test_writes_that_nobody_reads(lang: Lang, source: str, count: int) -> None:
    assert len(warnings(lang, source)) == count


def test_several_errors_at_once(lang: Lang) -> None:
    answer = report(lang, {"a.lang": 'use "./x.lang" as x\nuse "./y.lang" as y\nrequire netz\n'})
    assert [found["line"] for found in answer["errors"]] == [1, 2, 3]


def test_literal_urls_paths_and_databases_that_nothing_declares(lang: Lang) -> None:
    program = """\
require net("api.x:443")
require file.read("./data/*")
task fetch_it()
    give fetch("https://user:password@API.x/v1?k=1")
http_get("https://api.x:443/")
http("GET", "http://b.test:8/")
read_file("data/../data/x")
read_file("secrets.txt")
write_file("data/x", "1")
let p be "data" + "/y"
read_file("z" + p)
fetch("nohost")
db_open("mysql://u:p@H/app")
"""
    result = lang("check", "w.lang", files={"w.lang": program})
    assert result.code == 0
    told = [line.removeprefix("warning: w.lang:").partition(": ")[2] for line in first_lines(result.err)]
    assert told == [
        "nothing calls the task 'fetch_it'",
        'the task `fetch_it` uses the capability `net("api.x")`, and no `require` line grants it',
        'the program uses the capability `net("b.test:8")`, and no `require` line grants it',
        'the program uses the capability `file.read("secrets.txt")`, and no `require` line grants it',
        'the program uses the capability `file.write("data/x")`, and no `require` line grants it',
        'the program uses the capability `db("mysql://h/app")`, and no `require` line grants it',
    ]


def test_ports_and_proxies_that_nothing_declares(lang: Lang) -> None:
    block = 'serve on {}\n    route "GET /x"\n        proxy to "http://API.x/base"\n'
    assert warnings(lang, "require serve(9090)\n" + block.format(8080)) == [
        'the program uses the capability `serve("8080")`, and no `require` line grants it',
        'the program uses the capability `net("api.x")`, and no `require` line grants it',
    ]
    declared = 'require serve(8080)\nrequire net("api.x")\nlet port be 8081\n'
    for port in ("8080", '"8080"', "port"):
        assert warnings(lang, declared + block.format(port)) == []


PAGES: Files = {
    "a.lang": 'use "./lib/one.lang" as one\nrender("page.html")\nrender("page.html", {})\nlet p be "no" + ".html"\nrender(p)\n',
    "lib/one.lang": 'export task page()\n    give "other.html" |> render({})\n',
    "page.html": '{ layout "base.html" }{ include "part.html" }',
    "part.html": "{ nope }",
    "base.html": "{ slot }",
    "other.html": "",
}


def test_pages_named_by_a_literal_are_read(lang: Lang) -> None:
    result = lang("check", "a.lang", files=PAGES)
    assert (result.out, result.err) == ("OK: 5 statements parsed. 1 module(s) + 4 template(s) validated.\n", "")
    alone: Files = {"d/a.lang": 'print(body of render("page.html"))', "d/page.html": "x"}
    assert lang("check", "d/a.lang", files=alone).out == "OK: 1 statements parsed. 1 template(s) validated.\n"


def test_a_fault_in_a_page_is_one_at_its_call(lang: Lang) -> None:
    failed = 'template validation failed for render("page.html"): '
    assert error(lang, {**PAGES, "part.html": "\n{ 1 + }"})[:2] == ("a.lang", 2)
    assert error(lang, {**PAGES, "base.html": "{ end }"})[2] == failed + "base.html:1: '{ end }' without a matching block"


def test_a_page_that_is_not_there(lang: Lang) -> None:
    missing = {name: text for name, text in PAGES.items() if name != "other.html"}
    fault = 'template validation failed for render("other.html"): template not found: other.html'
    assert error(lang, missing) == ("lib/one.lang", 2, fault)


def test_a_name_that_the_program_defines_renders_nothing(lang: Lang) -> None:
    assert lang("check", "a.lang", files={"a.lang": 'task render(p)\n    give p\nprint(render("nope.html"))\n'}).code == 0


FOLDER: Files = {
    "p/one.lang": 'use "./lib/m.lang" as m\nprint(m.twice(nope))\n',
    "p/two.lang": 'use "./lib/m.lang" as m\nlet idle be 1\nprint(m.twice(1, 2))\n',
    "p/lib/m.lang": "export task twice(x)\n    give x * 2 + y\n",
    "p/good.lang": "print(1)\n",
}


def test_a_folder_is_checked_in_one_run(lang: Lang) -> None:
    result = lang("check", "p", files=FOLDER)
    assert (result.out, result.code) == ("", 1)
    assert first_lines(result.err) == [
        "warning: p/two.lang:2:5: nothing reads the variable 'idle'",
        "Error: p/lib/m.lang:2:18: Undefined variable: 'y'",
        "Error: p/one.lang:2:15: Undefined variable: 'nope'",
        "Error: p/two.lang:3:14: task 'twice' takes 1 argument, got 2",
    ]
    assert result.err.splitlines()[-1] == "3 errors and 1 warning in 3 programs"
    several = lang("check", "p/good.lang", "p/one.lang")
    assert first_lines(several.err)[-1].startswith("Error: p/one.lang:2:15")
    assert lang("check", "p/good.lang", "p/good.lang").out == "OK: 1 statements parsed.\n"


def test_a_folder_without_a_mistake(lang: Lang) -> None:
    result = lang("check", "q", files={"q/a.lang": "print(1)\n", "q/b.lang": "print(2)\n"})
    assert (result.out, result.err, result.code) == ("OK: 2 programs checked.\n", "", 0)
    assert lang("check", "q", files={"q/c.lang": "let x be\n"}).code == 1


def test_files_that_use_each_other_in_a_circle_are_told(lang: Lang) -> None:
    circle: Files = {"c/a.lang": 'use "./b.lang" as b\nprint(b.x)\n', "c/b.lang": 'use "./a.lang" as a\nexport let x be 1\n'}
    result = lang("check", "c", files=circle)
    assert result.code == 1 and "circular import" in result.err


def test_the_report_has_ranges_codes_and_help(lang: Lang) -> None:
    (found,) = report(lang, {"a.lang": "let total be 1\nprint(totl)\n"})["errors"]
    assert found == {
        "file": "a.lang",
        "line": 2,
        "column": 7,
        "end_line": 2,
        "end_column": 11,
        "code": "E0201",
        "message": "Undefined variable: 'totl'",
        "help": "Did you mean `total`?",
    }
    answer = json.loads(lang("check", "--format", "json", "p", files=FOLDER).out)
    assert [one["code"] for one in answer["errors"]] == ["E0201", "E0201", "E0302"]
    assert [one["code"] for one in answer["warnings"]] == ["W0101"]
