"""What the check finds before a program runs, and what it leaves alone because it cannot know."""

from __future__ import annotations

import pytest

import language
from language.analysis.checker import check_program
from language.analysis.problems import Problems, problems_of
from language.runtime.modules import BundledSources


def problems(source: str, **modules: str) -> Problems:
    files = {f"{name}.lang": text for name, text in modules.items()}
    checked = check_program(source, "a.lang", BundledSources(files))
    return problems_of(checked)


def shown(found: tuple[language.Problem, ...]) -> list[str]:
    return [f"{one.line}:{one.column}-{one.end_column} {one.code} {one.message}" for one in found]


def errors(source: str, **modules: str) -> list[str]:
    return shown(problems(source, **modules).errors)


def warnings(source: str, **modules: str) -> list[str]:
    return shown(problems(source, **modules).warnings)


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("print(totl)\n", "1:7-11 E0201 Undefined variable: 'totl'"),
        ("print(x)\nlet x be 1\n", "1:7-8 E0201 Undefined variable: 'x'"),
        ("task f()\n    give `{b} and c`\nf()\n", "2:12-13 E0201 Undefined variable: 'b'"),
        ("print(apply([1], (x) => x + y))\n", "1:29-30 E0201 Undefined variable: 'y'"),
        ("set x to 1\n", "1:5-6 E0202 Cannot set undefined variable: 'x'. Use 'let' first."),
        ("set x.a[0] to 1\n", "1:5-6 E0202 Cannot set undefined variable: 'x'. Use 'let' first."),
        ("task f(a)\n    give a\nf(1, 2)\n", "3:2-8 E0302 task 'f' takes 1 argument, got 2"),
        ("task f(a)\n    give a\nlet g be f\n1 |> g(2)\n", "4:7-10 E0302 task 'f' takes 1 argument, got 2"),
        ("task f(a, b = 1)\n    give a\nf(c = 1, a = 2)\n", "3:2-16 E0206 unknown parameter 'c'"),
        ("task f(a)\n    give a\nf(1, a = 2)\n", "3:2-12 E0306 duplicate argument 'a'"),
        ("let f be (x) => x\nf(1, 2)\n", "2:2-8 E0302 this lambda takes 1 argument, got 2"),
        ("print(length())\n", "1:13-15 E0302 length() needs 1 argument, got 0"),
        ("print([1] |> length(2))\n", "1:20-23 E0302 length() takes at most 1 argument, got 2"),
        (
            "print(sort([1], down = true))\n",
            "1:11-29 E0206 sort() has no argument named 'down' (named arguments it takes: desc)",
        ),
        ("type P\n    x: number\nP()\n", "3:2-4 E0302 Type P expects 1 fields, got 0"),
        ("enum S\n    c(r)\nS.c(1, 2)\n", "3:4-10 E0302 variant S.c expects 1 fields, got 2"),
        ('let m be {"a": 1}\nprint(m.b)\n', "2:8-10 E0401 Map has no key 'b'"),
        ('let m be {"a": 1}\nprint(b of m)\n', "2:9-11 E0401 Map has no key 'b'"),
        ("type P\n    x: number\nlet p be P(1)\nprint(p.y)\n", "4:8-10 E0401 Map has no key 'y'"),
        ("enum S\n    c(r)\nlet s be S.c(1)\nprint(s.q)\n", "4:8-10 E0401 Map has no key 'q'"),
        ("enum S\n    c(r)\nprint(S.d)\n", "3:8-10 E0401 Map has no key 'd'"),
        ("let n be 1\nprint(n.size)\n", "2:8-13 E0305 Cannot access property 'size' of number"),
        ("let n be 5\nn(1)\n", "2:2-5 E0303 Cannot call value of type number"),
    ],
)
def test_what_surely_fails(source: str, error: str) -> None:
    (found,) = errors(source)
    assert found.partition(" — ")[0] == error
    # the program says the same when it comes there
    (ran,) = language.run(source)["errors"]
    assert error.partition(" ")[2].partition(" ")[2] in ran


def test_a_method_of_another_language() -> None:
    (found,) = errors("let xs be [1]\nxs.append(2)\n")
    assert found.startswith("2:3-10 E0305 Cannot access property 'append' of list")
    assert "set xs to append(xs, x)" in found


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("xs.append(3)", "Write `set xs to append(xs, 3)`."),
        ("print(xs.append(3))", "Write `append(xs, 3)`."),
        ("[1].append(3)", "Write `append([1], 3)`."),
        ("print(xs.map((x) => x * 2))", "Write `apply(xs, (x) => x * 2)`."),
        ('print("é, a".split(", "))', 'Write `split("é, a", ", ")`.'),
        ("print(m.items())", "Write `items(m)`."),
        ('print(", ".join(t))', ""),  # of the separator in Python, of the list in JavaScript
        ("print(xs.pop())", ""),
        ("print(xs.length)", ""),
        ("print(t.replace('a',\n    'b'))", ""),
    ],
)
def test_a_method_is_shown_as_it_is_written_here_with_the_names_of_the_program(line: str, told: str) -> None:
    known = 'let xs be [1]\nlet m be {"a": 1}\nlet t be "abc"\n'
    source = f"{known}{line}\nprint(xs, m, t)\n"
    for given in (source, source.replace("\n", "\r\n"), "\ufeff" + source):
        (error,) = problems(given).errors
        assert error.help == told


@pytest.mark.parametrize(
    "source",
    [
        "when random() > 2\n    let x be 1\nprint(x)\n",  # bound on some ways
        "task f()\n    give later\nlet later be 1\nprint(f())\n",
        "task f(a)\n    give a\nwhen now() > 5\n    task f(a, b)\n        give b\nf(1, 2)\n",  # either definition
        "task f(a)\n    give a\nset f to (a, b) => b\nf(1, 2)\n",
        'let m be {"a": 1}\nset m.b to 2\nprint(m.b)\n',
        'let m be {"a": 1}\nset m to {"b": 1}\nprint(m.b)\n',
        "print(apply([1], () => 1))\n",  # callbacks get as many values as they take
        "task none()\n    give 1\nprint(1 |> none)\n",
        "when false\n    print(nope)\n",
        "print(true or nope, when true then 1 otherwise nope)\n",
        "assert_error(() => nope)\n",
        "set length to (x) => 5\nprint(length(1, 2))\n",
        "let length be (x, y) => 5\nprint(length(1, 2))\n",
    ],
)
def test_what_is_not_known_is_no_error(source: str) -> None:
    assert errors(source) == []


def test_what_a_try_catches_is_a_warning() -> None:
    source = "try\n    print(nope)\nrecover e\n    print(e)\n"
    assert errors(source) == []
    assert warnings(source) == ["2:11-15 E0201 Undefined variable: 'nope'"]


def test_names_of_modules() -> None:
    module = "export task f(a)\n    give a + of_the_program + of_nobody\ntask hidden()\n    give 1\nexport let n be hidden()\n"
    entry = 'use "./m.lang" as m\nlet of_the_program be 1\nprint(m.f(1, 2), m.hidden(), m.g, m.n)\n'
    assert [error.partition(" — ")[0] for error in errors(entry, m=module)] == [
        "3:10-16 E0302 task 'f' takes 1 argument, got 2",
        "3:19-26 E0204 the module has no export 'hidden'",
        "3:31-33 E0204 the module 'm' has no export 'g'",
        "2:31-40 E0201 Undefined variable: 'of_nobody'",
    ]


def test_what_a_module_sets_in_the_entry_file_is_not_known() -> None:
    module = "export task change()\n    set f to (a, b) => 1\n    set shape.b to 2\n"
    entry = 'use "./m.lang" as m\ntask f(a)\n    give a\nlet shape be {"a": 1}\nm.change()\nprint(f(1, 2), shape.b)\n'
    assert errors(entry, m=module) == []
    outside = 'use "./m.lang" as m\nset m.f to 1\nset m.s.k to 2\nprint(m.f(1), m.s.k)\n'
    assert errors(outside, m='export let f be (a, b) => 1\nexport let s be {"a": 1}\n') == []


def test_suggestions() -> None:
    def told(source: str, **modules: str) -> str:
        (problem,) = problems(source, **modules).errors
        return problem.help

    assert told("let total be 1\nprint(totl + total)\n") == "Did you mean `total`?"
    assert told("print(lenght([]))\n") == "Did you mean `length`?"
    assert told("print(x)\nlet x be 1\n") == "`x` is made on line 2: move that line up, before this one."
    assert told("print({name: 1})\n").startswith('A key stands in quotes: `"name"`.')
    assert told('let m be {"price": 1}\nprint(m.prise)\n') == "Did you mean `price`?"
    assert told("task f(amount)\n    give amount\nf(amuont = 1)\n").startswith("task 'f' is missing") is False
    assert told('use "./m.lang" as m\nprint(m.totl)\n', m="export let total be 1\n") == "Did you mean `total`?"


@pytest.mark.parametrize(
    ("source", "warning"),
    [
        ("let x be 1\n", "1:5-6 W0101 nothing reads the variable 'x'"),
        ("let x be {}\nset x.a to 1\nset x to 2\n", "1:5-6 W0101 nothing reads the variable 'x'"),
        ("task f()\n    let y be 1\n    give 2\nf()\n", "2:9-10 W0101 nothing reads the variable 'y'"),
        ("task f()\n    give 1\n", "1:6-7 W0102 nothing calls the task 'f'"),
        ('require net("a.b")\nprint(1)\n', '1:1-19 W0104 nothing in the program needs `require net("a.b")`'),
        (
            "task f()\n    give 1\n    print(2)\nf()\n",
            "3:5-13 W0106 this line never runs: `give` on line 2 leaves the block",
        ),
        (
            "each x in [1]\n    when x > 0\n        stop\n    otherwise\n        raise x\n    print(x)\n",
            "6:5-13 W0106 this line never runs: every way through the `when` on line 2 leaves the block",
        ),
        ("exit(0)\nprint(1)\n", "2:1-9 W0106 this line never runs: `exit` on line 1 leaves the block"),
        (
            "print(type_of(1) == number)\n",
            "1:7-27 W0107 this is always false: type_of gives a text, and `number` without quotes is the builtin",
        ),
        ('print("string" != type_of(1))\n', '1:7-29 W0107 this is always true: no type is called "string"'),
    ],
)
def test_what_is_suspicious(source: str, warning: str) -> None:
    assert errors(source) == []
    assert warnings(source) == [warning]


def test_a_route_that_stands_twice() -> None:
    source = (
        'require serve(8080)\nserve on 8080\n    route "GET /x/:a"\n        give 1\n    route "POST /x/:a"\n        give 2\n'
        '    route "GET /x/:b"\n        give 3\n'
    )
    (warning,) = problems(source).warnings
    assert (warning.line, warning.code) == (7, "W0108")
    reply = language.handle(source, {"method": "GET", "path": "/x/1", "headers": {}, "body": ""})
    assert reply["body"] == "1"


@pytest.mark.parametrize(
    "source",
    [
        "let _x be 1\n",
        "export let x be 1\n",
        "export task f()\n    give 1\n",
        "task f()\n    let y be 1\nprint(f())\n",  # its value is the result
        'task job()\n    print(1)\ncron_after(1, "job")\n',  # found by its name
        'require file.read("*")\nlet p be "a" + ".html"\nlet title be 1\nprint(render(p))\n',  # the page reads it
        'require env("A")\nprint(env("A"))\n',
        "require random\nprint(random())\n",
        'require net("a.b")\nserve on 8080\n    route "GET /"\n        proxy to "http://a.b"\n',
        "task f()\n    when now() > 1\n        give 1\n    print(2)\nf()\n",
        'print(type_of(1) == "number")\nlet number be 1\nprint(type_of(1) == number)\n',
    ],
)
def test_what_may_be_used_is_not_warned_of(source: str) -> None:
    assert [line for line in warnings(source) if "W0105" not in line] == []


def test_modules_and_what_they_read() -> None:
    entry = 'use "./m.lang" as m\nlet base be 2\n'
    (warning,) = warnings(entry, m="export let x be base\n")
    assert warning == "1:19-20 W0103 nothing uses the module 'm'"
    assert warnings(entry, m='print("loaded", base)\n') == []


def test_inspection_and_embedding_share_it() -> None:
    source = "print(1)\nwhen now() < 0\n    print(nope)\nlet idle be 2\n"
    manifest = language.inspect(source)
    assert manifest.errors == () and manifest.kind == "worker"
    (fault,) = manifest.faults
    assert (fault.code, fault.line, fault.column, fault.end_column, fault.kind) == ("E0201", 3, 11, 15, "name")
    assert [warning.code for warning in manifest.warnings] == ["W0101"]
    answer = language.check(source, problems=True)
    assert (answer["ok"], answer["errors"]) == (False, ["Runtime error: <embedded>:3:11: Undefined variable: 'nope'"])
    assert [problem["code"] for problem in answer["problems"]] == ["E0201", "W0101"]
    refused = language.inspect("require netz\nprint(nope)\n")
    assert [error.code for error in refused.errors][-1] == "E0201" and len(refused.errors) == 2


def test_embedding_gets_every_problem_with_its_range_and_its_cure() -> None:
    assert language.check("let other be 2\n") == {"ok": True, "errors": []}
    assert language.check("print(1)\n", problems=True) == {"ok": True, "errors": [], "problems": []}
    answer = language.check("let total be 1\nlet other be 2\nprint(totl, total)\n", filename="a.lang", problems=True)
    assert (answer["ok"], len(answer["errors"])) == (False, 1)
    error, warning = answer["problems"]
    assert [error[name] for name in ("severity", "file", "line", "column", "end_line", "end_column", "code")] == [
        *("error", "a.lang", 3, 7, 3, 11, "E0201")
    ]
    assert "total" in error["help"]
    assert (warning["severity"], warning["line"], warning["code"]) == ("warning", 2, "W0101")
    doubtful = language.check("let other be 2\n", problems=True)
    assert (doubtful["ok"], doubtful["errors"], len(doubtful["problems"])) == (True, [], 1)
    unreadable = language.check("let x = 5\n", problems=True)
    assert [problem["code"] for problem in unreadable["problems"]][:1] == ["E0112"]


@pytest.mark.parametrize(
    "use",
    [
        'require exec("cat")\nrun("cat", [], 5, {"stdin": as_secret("x", "K")})',
        'require exec("cat")\nproc_send(proc_spawn("cat"), as_secret("x", "K"))',
        'require file.write("f")\nwrite_file("f", as_secret("x", "K"))',
        'require db(":memory:")\ndb_open(":memory:")\nsql("SELECT ?", [as_secret("x", "K")])',
        'aes_gcm_encrypt(bytes("0123456789abcdef"), nothing, as_secret("x", "K"))',
    ],
)
def test_what_reveals_a_secret_needs_its_require(use):
    assert [warning.message for warning in problems(f'require reveal("K")\n{use}\n').warnings] == []


def test_a_require_of_sign_that_nothing_needs():
    (warning,) = problems('require sign("K")\nprint(1)\n').warnings
    assert warning.message == 'nothing in the program needs `require sign("K")`'
    assert problems('require sign("K")\nprint(ed25519_sign(as_secret("x", "K"), "m"))\n').warnings == ()
