"""What the tools of a loop can come to use, and the warning where one set of them can do too much."""

from __future__ import annotations

import pytest

import language

TASKS = {
    "page": ('require net("a.test")', 'give fetch("http://a.test/")'),
    "letter": ('require file.read("in/*")', 'give read_file("in/a")'),
    "write": ('require file.write("out/*")', 'write_file("out/a", "x")'),
    "row": ('require db("a.db")', 'give sql("select 1")'),
    "start": ('require exec("ls")', 'give run("ls", [])'),
    "clock": ("require time", "give now()"),
    "idle": ('require net("a.test")', "give 1"),
    "helped": ('require net("a.test")', "give helper()"),
    "borrowed": ('require net("a.test")', "give borrower()"),
    "bare": ("", 'give fetch("http://a.test/")'),
}
HEAD = """\
require net("a.test")
require file("*")
require db("a.db")
require exec("ls")
task helper()
    give fetch("http://a.test/")
let borrower be helper
"""


def told(*tools, call=None, more=""):
    source = HEAD
    for name in tools:
        lines = [line for line in TASKS[name] if line]
        source += f"task {name}(args)\n" + "".join(f"    {line}\n" for line in lines)
    entries = ", ".join(f'"{name}": {{"description": "d", "run": {name}{more}}}' for name in tools)
    source += (call or 'print(tool_loop("go", {TOOLS}))').replace("TOOLS", entries) + "\n"
    manifest = language.inspect(source)
    assert not manifest.errors
    return [warning.message.partition("together ")[2] for warning in manifest.warnings if warning.code == "W0113"]


@pytest.mark.parametrize(
    ("tools", "expected"),
    [
        (["page", "letter"], ["read text from outside (page), read private data (letter), act outside (page)"]),
        (["start"], ["read text from outside (start), read private data (start), act outside (start)"]),
        (["page", "row"], ["read text from outside (page), read private data (row), act outside (page, row)"]),
        (["letter", "helped"], ["read text from outside (helped), read private data (letter), act outside (helped)"]),
        (["letter", "borrowed"], ["read text from outside (borrowed), read private data (letter), act outside (borrowed)"]),
        (["page", "write", "clock"], []),
        (["letter", "write"], []),
        (["letter", "idle"], []),
        (["letter", "bare"], []),
    ],
)
def test_a_set_that_holds_all_three_is_told(tools, expected):
    assert told(*tools) == expected


def test_the_set_may_be_a_variable_or_be_put_together():
    call = """let some be {TOOLS}
let all be merge(some, {})
print(tool_loop("go", all))"""
    assert len(told("page", "letter", call=call)) == 1


def test_tools_of_another_server_count():
    call = """let conn be mcp_connect("http://a.test/")
print(tool_loop("go", merge(mcp_toolset(conn, ["x"]), {TOOLS})))"""
    assert told("letter", call=call) == [
        "read text from outside (mcp_toolset), read private data (letter), act outside (mcp_toolset)"
    ]


def test_what_an_entry_says_of_itself_counts():
    assert told("page", "letter", more=', "acts": false') == []
    assert told("letter", "write", more=', "outside": true') != []


def test_a_task_of_a_module_is_looked_through():
    files = {
        "main.lang": 'require net("a.test")\nrequire file.read("in/*")\nuse "./m.lang" as m\n'
        'print(tool_loop("go", {"a": {"description": "d", "run": m.page}, "b": {"description": "d", "run": m.letter}}))\n',
        "m.lang": 'export task page(args)\n    require net("a.test")\n    give fetch("http://a.test/")\n'
        'export task letter(args)\n    require file.read("in/*")\n    give read_file("in/a")\n',
    }
    assert [warning.code for warning in language.inspect(files).warnings] == ["W0113"]
