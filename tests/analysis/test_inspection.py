"""The manifest of a program: everything that its source says literally, with its place, and nothing that is run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import language
from language import Capability, Ceiling, Comparison, compare, declared_versus_done, inspect

ROOT = Path(__file__).resolve().parent.parent.parent


def test_a_program_without_anything() -> None:
    manifest = inspect("")
    assert (manifest.entry, manifest.kind, manifest.port, manifest.errors) == ("main.lang", "worker", None, ())
    assert str(manifest.ceiling) == "stdout,time" and manifest.files == ("main.lang",)


@pytest.mark.parametrize(
    ("files", "entry", "expected"),
    [
        (["a.lang", "main.lang"], None, "main.lang"),
        (["app.lang", "lib/m.lang", "data.csv"], None, "app.lang"),
        (["program.txt"], None, "program.txt"),
        (["a.lang", "b.lang"], "b.lang", "b.lang"),
    ],
)
def test_which_file_is_the_entry(files: list[str], entry: str | None, expected: str) -> None:
    assert inspect(dict.fromkeys(files, ""), entry=entry).entry == expected


def test_an_entry_that_is_not_known_is_a_mistake_of_the_caller() -> None:
    for files in ({"a.lang": "", "b.lang": ""}, {}):
        with pytest.raises(ValueError, match="entry"):
            inspect(files)
    with pytest.raises(ValueError, match=r"c\.lang"):
        inspect({"a.lang": ""}, entry="c.lang")
    for wrong in (5, {"a.lang": 5}, {5: ""}):
        with pytest.raises(TypeError):
            inspect(wrong)  # type: ignore[arg-type]


def test_faults_stand_with_their_files_and_hide_the_rest() -> None:
    manifest = inspect({"main.lang": 'require net("a.x")\nuse "m.lang" as m', "m.lang": "let x be\n"})
    assert [(e.kind, e.file, e.line) for e in manifest.errors] == [("syntax", "m.lang", 1)]
    assert manifest.requires == () and manifest.ceiling == Ceiling.parse("stdout,time")
    [error] = inspect({"main.lang": b"\xff\xfe"}).errors
    assert (error.kind, error.file, error.line) == ("syntax", "main.lang", 0)
    with pytest.raises(ValueError, match="does not pass"):
        compare(manifest, inspect(""))
    with pytest.raises(ValueError, match="does not pass"):
        declared_versus_done(manifest, [])


SECRETS = """\
require secret("EXACT")
require secret("GIVEN")
require secret("APP_*")
let a be secret("READ")
let b be secret("GIVEN", "none")
let c be "PIPED" |> secret
let d be secret("COMPUTED_" + a)
task env_like(secret)
    give secret("BOUND")
test "t"
    print(secret("TESTED"))
"""


def test_the_secrets_that_are_missing() -> None:
    manifest = inspect(SECRETS.replace("task env_like(secret)\n    give secret", "task other()\n    give length"))
    assert manifest.missing_secrets() == ("EXACT", "PIPED", "READ")
    assert manifest.missing_secrets(stored={"READ"}, listed=["LISTED"]) == ("EXACT", "LISTED", "PIPED")
    assert [(r.name, r.optional, r.line) for r in manifest.secrets] == [
        ("READ", False, 4),
        ("GIVEN", True, 5),
        ("PIPED", False, 6),
    ]
    assert [manifest.declares_secret(name) for name in ("READ", "EXACT", "APP_X", "OTHER")] == [True, True, True, False]


def test_a_name_that_the_file_binds_is_no_builtin() -> None:
    assert inspect(SECRETS).secrets == ()


def test_tasks_of_a_module_count_where_the_program_names_them() -> None:
    module = 'export task used()\n    give env("A")\nexport task unused()\n    give env("B")\n'
    manifest = inspect({"main.lang": 'use "m.lang" as m\nprint(m.used())', "m.lang": module})
    assert [(r.name, r.file, r.line) for r in manifest.env] == [("A", "m.lang", 2)]
    assert manifest.missing_env() == ("A",) and manifest.missing_env(["A"]) == ()


def test_a_module_declares_and_is_not_granted() -> None:
    module = 'export task f()\n    require exec("git")\n    give 1\n'
    manifest = inspect({"main.lang": 'require random\nuse "m.lang" as m\nprint(m.f())', "m.lang": module})
    assert [(str(r.capability), r.module, r.covered, r.imported_by) for r in manifest.requires] == [
        ("random", False, True, None),
        ('exec("git")', True, False, "main.lang"),
    ]
    assert manifest.grants == (Capability("random", None),)


def test_routes_of_hosts_and_groups() -> None:
    program = """\
require serve(80)
use "m.lang" as m
export routes own
    route "GET /own"
        give 1
task who(token)
    give token
serve on 80
    auth with who
    route "POST /a" requires auth
        give 1
    mount m.shop at "/shop/"
    mount own at "/"
    host "b.example"
        route "GET /b"
            give 1
"""
    module = 'export routes shop\n    route "GET /"\n        give 1\n    route "GET /:id"\n        give 1\n'
    manifest = inspect({"main.lang": program, "m.lang": module})
    assert [(r.method, r.path, r.host, r.requires_auth, r.file) for r in manifest.routes] == [
        ("POST", "/a", "", True, "main.lang"),
        ("GET", "/shop", "", False, "m.lang"),
        ("GET", "/shop/:id", "", False, "m.lang"),
        ("GET", "/own", "", False, "main.lang"),
        ("GET", "/b", "b.example", False, "main.lang"),
    ]


def test_gates_and_jobs_with_what_is_computed_left_open() -> None:
    manifest = inspect(
        'task t()\n    give 1\nlet m be "x"\nlet a be ask m\nlet b be confirm `Delete {m}?`\n'
        'cron_every(300, t)\ncron_after(60, "t")\ncron_every(m, t)\n"@daily" |> cron_every(t)\n'
    )
    assert [(g.type, g.message, g.line) for g in manifest.gates] == [("ask", None, 4), ("confirm", None, 5)]
    assert [(j.schedule, j.task, j.line) for j in manifest.cron] == [
        ("every 300s", "t", 6),
        ("after 60s", "t", 7),
        (None, "t", 8),
        ("@daily", "t", 9),
    ]


def test_pages_and_data_are_files_too() -> None:
    files: dict[str, str | bytes] = {"main.lang": 'print(render("page.html", {}))', "page.html": "<p>{{ x", "i.png": b"\xff"}
    [error] = inspect(files).errors
    assert "page.html" in error.message
    files["page.html"] = "<p>hello</p>"
    assert inspect(files).templates == ("page.html",) and inspect(files).errors == ()


@pytest.mark.parametrize("path", sorted((ROOT / "examples").rglob("*.lang")), ids=lambda path: str(path.relative_to(ROOT)))
def test_the_examples(path: Path) -> None:
    """Every example is described without an error, and its ceiling reads back as itself."""
    folder = path.parent
    files = {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    manifest = inspect(files, entry=path.name)
    if any("escapes" in error.message for error in manifest.errors):
        return  # a module of a larger program
    assert manifest.errors == ()
    assert Ceiling.parse(str(manifest.ceiling)) == manifest.ceiling
    assert compare(manifest, manifest) == Comparison((), (), (), (), ())
    assert manifest.kind == ("web" if "\nserve on " in path.read_text(encoding="utf-8") else "worker")


def test_limits_end_an_inspection() -> None:
    large = "".join(f"let v{number} be {number} + 1\n" for number in range(20_000))
    manifest = language.inspect(large, limits={"time_ms": 50})
    assert [(error.message, error.kind) for error in manifest.errors] == [("Limit exceeded: time_ms (50)", "resources")]
    assert language.inspect("print(1)", limits={"time_ms": 60_000, "memory_bytes": 10**9}).errors == ()
    for wrong in ({"steps": 5}, {"time_ms": 0}, {"else": 1}):
        with pytest.raises(ValueError, match=r"^limits: "):
            language.inspect("print(1)", limits=wrong)


TOOLS = """\
require net("api.example.com")
require file.read("notes/*")
use "more.lang" as more
task look(arguments)
    require net("api.example.com")
    require file.read("notes/*")
    give asked(arguments)
task asked(given)
    give http_get("https://api.example.com/" + given["q"])
task never_offered(arguments)
    require net("api.example.com")
    give http_get("https://api.example.com/")
let word be "text"
let tools be {
    "look": {
        "description": "Looks a word up",
        "params": {
            "q": {"type": "text", "description": "a word"},
            "run": {"type": "integer", "required": false, "enum": [1, 2], "description": "how often"},
            "exact": {"type": "bool", "default": true}
        },
        "run": look
    },
    "plain": {"description": "a " + word, "params": {"q": {"type": word}}, "run": (arguments) => 1},
    "wrong": {"description": "", "params": {"q": {"type": "colour"}}, "run": more.reads}
}
print(tool_loop("Hello?", tools))
"""
READS = """\
export task reads(arguments)
    require file.read("notes/*")
    give read_file("notes/a")
"""


def test_the_tools_with_what_is_computed_left_open() -> None:
    manifest = inspect({"main.lang": TOOLS, "more.lang": READS})
    assert not manifest.errors
    look, plain, wrong = manifest.tools
    assert (look.name, look.description, look.task, look.capabilities) == ("look", "Looks a word up", "look", ("net",))
    assert (look.file, look.line, look.column) == ("main.lang", 15, 13)
    assert look.schema == {
        "type": "object",
        "properties": {
            "q": {"type": "string", "description": "a word"},
            "run": {"type": "integer", "description": "how often", "enum": [1, 2]},
            "exact": {"type": "boolean", "default": True},
        },
        "required": ["q"],
    }
    assert (plain.name, plain.description, plain.schema, plain.task, plain.capabilities) == ("plain", None, None, None, ())
    assert (wrong.name, wrong.schema, wrong.task, wrong.capabilities) == ("wrong", None, "reads", ("file.read",))


def test_the_schema_is_the_one_that_a_client_is_shown() -> None:
    params = '{"when": {"type": "date"}, "list": {"type": "list", "items": {"type": "decimal"}}, "n": {"type": "number"}}'
    source = f"""\
let tools be {{"book": {{"description": "Books", "params": {params}, "run": (a) => 1}}}}
let server be {{"name": "s", "version": "1", "tools": tools}}
print(json_encode(mcp_reply({{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}}, server)))
"""
    answer = language.run(source)
    assert answer["ok"], answer["errors"]
    [shown] = json.loads(answer["output"][0])["result"]["tools"]
    [tool] = inspect(source).tools
    assert (tool.name, tool.description, tool.schema) == (shown["name"], shown["description"], shown["inputSchema"])


def test_tools_that_no_call_can_reach_are_none() -> None:
    assert inspect({"main.lang": TOOLS.replace('tool_loop("Hello?", tools)', "tools"), "more.lang": READS}).tools == ()
    unused = 'test "loop"\n    tool_loop("Hello?", {"a": {"description": "", "run": (x) => 1}})\n'
    assert inspect(unused).tools == ()
