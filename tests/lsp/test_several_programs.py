"""``lang lsp`` where several programs share a module, and where a name may be looked up by what no analysis sees."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_lsp
from driven_editor import COMMAND, Client, Editor, rename, session_in
from lsprotocol import types
from pytest_lsp import ClientServerConfig

pytestmark = pytest.mark.asyncio(loop_scope="module")

#: More programs of one module than are analysed for each change of it.
USERS = [f"user{number}.lang" for number in range(6)]
FILES = {
    "lib.lang": "export task greet(a)\n    give a\n\nexport task read()\n    give KEYY\n",
    **{name: f'use "./lib.lang" as lib\nlet KEYY be {name[4]}\nprint(lib.greet(1), lib.read())\n' for name in USERS},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("shared")
    for name, text in FILES.items():
        (root / name).write_text(text, encoding="utf-8")
    (root / "page.html").write_text("<b>{title}</b>", encoding="utf-8")
    return root


@pytest_lsp.fixture(config=ClientServerConfig(COMMAND, client_factory=Client), scope="module")
async def session(lsp_client: Client, folder: Path) -> AsyncIterator[None]:
    async for _ in session_in(lsp_client, folder):
        yield


@pytest.fixture(scope="module")
def editor(session: Client, folder: Path) -> Editor:
    shown = Editor(session, folder)
    for name in FILES:
        shown.open(name)
    return shown


async def test_a_rename_reaches_every_program_of_a_changed_file(editor: Editor) -> None:
    for name, piece in (("user0.lang", "lib.gre|et"), ("lib.lang", "task gr|eet")):
        changed = await rename(editor, name, piece, "welcome")
        assert changed == {name: text.replace("greet", "welcome") for name, text in FILES.items()}
    # A variable of each program that the module reads under the same name.
    for name, piece in (("user3.lang", "let K|EYY"), ("lib.lang", "give KE|YY")):
        changed = await rename(editor, name, piece, "key")
        assert changed == {name: text.replace("KEYY", "key") for name, text in FILES.items()}


async def test_references_are_those_of_every_program(editor: Editor) -> None:
    context = types.ReferenceContext(include_declaration=True)
    for name, piece in (("user0.lang", "lib.gre|et"), ("lib.lang", "task gr|eet")):
        found = await editor.client.text_document_references_async(types.ReferenceParams(context, *editor.at(name, piece)))
        assert sorted({place.uri for place in found or ()}) == sorted(editor.uri(name) for name in FILES)


async def test_every_open_program_follows_its_module(editor: Editor) -> None:
    editor.type("lib.lang", "export task greet", "-- é\n\nexport task hello")
    for name in USERS:
        editor.type(name, "let KEYY", "let KEYY")
        assert [problem.code for problem in await editor.problems(name)] == ["E0204"]
    last = editor.client.text_document_definition_async
    found = await last(types.DefinitionParams(*editor.at("user5.lang", "lib.re|ad")))
    assert isinstance(found, types.Location) and found.range.start.line == 5
    editor.type("lib.lang", "-- é\n\nexport task hello", "export task greet")
    for name in USERS:
        editor.type(name, "let KEYY", "let KEYY")
        assert await editor.problems(name) == []


@pytest.mark.parametrize(
    ("source", "piece", "reason"),
    [
        ('task f(one)\n    give one\nprint(call(f, {"one": 3}))\n', "task f(o|ne", 'the text "one"'),
        ('task f(one)\n    give one\nprint(call_tool(f, {"one": 3}))\n', "task f(o|ne", 'the text "one"'),
        ('task f(one)\n    give one\nlet m be {"g": f}\nprint(m.g(one = 3))\n', "task f(o|ne", "the call in line 4"),
        ("task f(one)\n    give one\nprint([f][0](one = 3))\n", "task f(o|ne", "the call in line 3"),
        ("let desk be 1\nagent clerk\n    give desk\nspawn clerk with desk = 6\n", "let de|sk", "`spawn` in odd.lang, line 4"),
        ('let title be "a"\nlet which be "page"\nprint(render(which + ".html"), title)\n', "let ti|tle", "a page may read it"),
        ('require serve(8080)\nserve on 8080\n    route "GET /x/:who"\n        give params.who\n', "give par|ams", "given by"),
    ],
)
async def test_a_name_that_may_be_looked_up_otherwise_stays(editor: Editor, source: str, piece: str, reason: str) -> None:
    editor.open("odd.lang", source)
    changed = await rename(editor, "odd.lang", piece, "fresh")
    assert reason in changed.get("", str(changed))
    editor.close("odd.lang")


@pytest.mark.parametrize(
    ("use", "reason"),
    [
        ('print(lib["read"]())', 'the text "read" in odd.lang'),
        ("let {read} be lib\nprint(read())", "used as a value in odd.lang, line 4"),
        ("task f(m)\n    give m.read()\nprint(f(lib))", "used as a value in odd.lang, line 6"),
    ],
)
async def test_an_export_of_a_module_that_is_used_as_a_value_stays(editor: Editor, use: str, reason: str) -> None:
    editor.open("odd.lang", f'use "./lib.lang" as lib\nlet KEYY be 1\nprint(KEYY)\n{use}\n')
    await editor.problems("odd.lang")
    assert reason in (await rename(editor, "lib.lang", "task re|ad", "fresh")).get("", "")
    editor.close("odd.lang")


async def test_names_that_agents_wait_for_are_names(editor: Editor) -> None:
    begin = 'share 3 as "rows"\nsignal "g" with 1\n'
    source = 'let {0} be 1\nobserve "rows" as {0}\nwait_for "g" timeout 5 as {1}\nprint({0}, {1})\n'
    editor.open("odd.lang", begin + source.format("rows", "word"))
    assert await rename(editor, "odd.lang", "let ro|ws", "fresh") == {"odd.lang": begin + source.format("fresh", "word")}
    assert await rename(editor, "odd.lang", ", wo|rd", "fresh") == {"odd.lang": begin + source.format("rows", "fresh")}
    editor.close("odd.lang")


async def test_a_name_that_a_pattern_binds_is_no_use_of_another_one(editor: Editor) -> None:
    source = (
        "enum Tok\n    atom(text)\ntask written(x)\n    give x\ntask f(tok)\n    match tok\n        is Tok.atom(written)\n"
        '            give written\n    give 0\nprint(written(1), f(Tok.atom("a")))\n'
    )
    editor.open("odd.lang", source)
    changed = await rename(editor, "odd.lang", "task wri|tten", "fresh")
    assert changed == {"odd.lang": source.replace("task written", "task fresh").replace("print(written", "print(fresh")}
    editor.close("odd.lang")


async def test_an_agent_is_found_from_where_it_is_spawned(editor: Editor) -> None:
    editor.open("odd.lang", "agent clerk\n    give 1\nspawn clerk\n")
    found = await editor.client.text_document_definition_async(types.DefinitionParams(*editor.at("odd.lang", "spawn cl|erk")))
    assert isinstance(found, types.Location) and found.range.start == types.Position(0, 6)
    assert [*await editor.completions("odd.lang", "spawn |clerk")] == ["clerk"]
    editor.close("odd.lang")


async def test_behind_the_dot_of_a_value_without_a_name_nothing_is_proposed(editor: Editor) -> None:
    for value in ("f()", "m[0]", '"a"', "(1)", "[1]", "3", ".."):
        editor.open("odd.lang", f"let x be {value}.\n")
        assert await editor.completions("odd.lang", f"{value}.|") == {}
        editor.close("odd.lang")


async def test_a_module_that_is_proposed_replaces_what_is_written(editor: Editor) -> None:
    for written in ("", ".", "./", "./l"):
        editor.open("odd.lang", f'use "{written}" as lib\n')
        item = (await editor.completions("odd.lang", f'use "{written}|"'))["lib.lang" if "/" in written else "./lib.lang"]
        assert isinstance(item.text_edit, types.TextEdit)
        assert editor.edited("odd.lang", [item.text_edit]) == 'use "./lib.lang" as lib\n'
        editor.close("odd.lang")


async def test_what_a_route_takes_is_proposed(editor: Editor) -> None:
    source = (
        'require serve(8080)\nserve on 8080\n    route "GET /shops/:shop/pens/:pen"\n        expect query {page: integer}\n'
        '        give [params.shop, request.params.pen, query.page]\n    route "GET /other/:id"\n        give params.id\n'
    )
    editor.open("odd.lang", source)
    assert [*await editor.completions("odd.lang", "[params.|")] == ["pen", "shop"]
    assert [*await editor.completions("odd.lang", "request.params.|")] == ["pen", "shop"]
    assert [*await editor.completions("odd.lang", "query.|")] == ["page"]
    assert [*await editor.completions("odd.lang", "give params.|")] == ["id"]
    editor.close("odd.lang")


async def test_a_file_that_is_open_under_two_uris_stays_open_under_the_other(editor: Editor, folder: Path) -> None:
    (folder / "ü.lang").write_text("print(1)\n", encoding="utf-8")
    editor.open("ü.lang")
    other = editor.uri("ü.lang").replace("%C3%BC", "%c3%bc")
    assert other != editor.uri("ü.lang")
    item = types.TextDocumentItem(other, "lang", 1, "print(1)\n")
    editor.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
    editor.type("ü.lang", "print(1)", "print(one)")
    editor.client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(other)))
    editor.type("ü.lang", "print(one)", "print(one, two)")
    assert [problem.code for problem in await editor.problems("ü.lang")] == ["E0201", "E0201"]
    editor.close("ü.lang")


async def test_a_missing_require_line_has_the_line_ends_of_its_file(editor: Editor) -> None:
    editor.open("odd.lang", 'print(http_get("https://a.example/"))\r\nprint(1)\r\n')
    edit = (await editor.actions("odd.lang", "http|_get"))['Add `require net("a.example")`'].edit
    assert edit is not None and edit.changes is not None
    (change,) = edit.changes[editor.uri("odd.lang")]
    assert change.new_text == 'require net("a.example")\r\n\r\n'
    editor.close("odd.lang")


async def test_a_removed_folder_is_forgotten(editor: Editor, tmp_path: Path) -> None:
    (tmp_path / "m.lang").write_text("export let qqq be 1\n", encoding="utf-8")
    added = types.WorkspaceFolder(tmp_path.as_uri(), "more")

    async def known() -> list[str]:
        found = await editor.client.workspace_symbol_async(types.WorkspaceSymbolParams("qqq"))
        return [symbol.name for symbol in found or ()]

    change = types.DidChangeWorkspaceFoldersParams
    editor.client.workspace_did_change_workspace_folders(change(types.WorkspaceFoldersChangeEvent([added], [])))
    while await known() != ["qqq"]:
        pass
    editor.client.workspace_did_change_workspace_folders(change(types.WorkspaceFoldersChangeEvent([], [added])))
    while await known():
        pass


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("each item in [1]\n    |", ["item"]),
        ("task f(alpha, beta)\n    |", ["alpha", "beta"]),
        ("try\n    print(1)\nrecover why\n    |", ["why"]),
        ("match [1, 2]\n    is [aa, bb]\n        |", ["aa", "bb"]),
        ("let f be (xx) => |", ["xx"]),
        ('require serve(8080)\nserve on 8080\n    route "GET /"\n        |', ["request"]),
    ],
)
async def test_an_empty_block_has_the_names_of_its_head(editor: Editor, source: str, names: list[str]) -> None:
    editor.open("odd.lang", source.replace("|", "") + "\nprint(2)\n")
    proposed = await editor.completions("odd.lang", source)
    assert set(names) <= set(proposed)
    editor.close("odd.lang")
