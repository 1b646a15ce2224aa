"""``lang lsp`` driven by a real client over standard streams: one server for all checks of this file."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_lsp
from driven_editor import COMMAND, Client, Editor, rename, session_in
from lsprotocol import types
from pytest_lsp import ClientServerConfig

pytestmark = pytest.mark.asyncio(loop_scope="module")

LIBRARY = """\
-- The area of a rectangle.
export task area(width, height = 1)
    give width * height

export enum Shape
    dot(at)
    empty

task _hidden()
    give area(2)
"""
MAIN = """\
use "./lib/shapes.lang" as shapes
require net("api.example.com")

-- What is measured.
let side be 3
let note be "😀" + text(side)
print(shapes.area(side, height = 2), note)
print(shapes.Shape.empty)
"""
SERVICE = """\
require serve(8080)

task who(token)
    give {"id": token}

serve on 8080
    auth with who
    route "POST /pens" requires auth
        expect body {name: text, price: number}
        give {"by": request.user.id, "name": request.json.name}
"""
FILES = {"main.lang": MAIN, "lib/shapes.lang": LIBRARY, "service.lang": SERVICE}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("workspace")
    for name, text in FILES.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    (root / "latin.lang").write_bytes('let name be "caf\xe9"\n'.encode("latin-1"))
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


async def test_errors_and_warnings_while_typing(editor: Editor) -> None:
    name = "typing.lang"
    editor.open(name, "let _x be 1\nprint(_x)\n")
    assert await editor.problems(name) == []
    editor.type(name, "print(_x)", 'print("😀", _x')
    (fault,) = await editor.problems(name)
    assert fault.severity == types.DiagnosticSeverity.Error and fault.source == "lang" and fault.range.start.line >= 1
    editor.type(name, 'print("😀", _x', 'http_get("https://api.example.com/a")')
    (warning,) = await editor.problems(name)
    assert warning.severity == types.DiagnosticSeverity.Warning
    assert 'net("api.example.com")' in warning.message and editor.text_at(name, warning.range).startswith("http_get")
    editor.type(name, "let _x", 'require net("api.example.com")\nlet _x')
    assert await editor.problems(name) == []
    editor.close(name)


async def test_a_module_is_judged_as_part_of_the_programs_that_use_it(editor: Editor) -> None:
    """Its calls need what the entry file declares; a change of it changes what is said of the entry file."""
    editor.type("lib/shapes.lang", "give width * height", 'give http_get("https://api.example.com/")')
    assert await editor.problems("lib/shapes.lang") == []
    editor.type("lib/shapes.lang", "api.example.com", "other.example.com")
    (warning,) = await editor.problems("lib/shapes.lang")
    assert 'net("other.example.com")' in warning.message
    actions = await editor.actions("lib/shapes.lang", 'http_get("https://other|')
    edit = actions['Add `require net("other.example.com")`'].edit
    assert edit is not None and edit.changes is not None
    added = editor.edited("main.lang", edit.changes[editor.uri("main.lang")])
    assert added.startswith(
        'use "./lib/shapes.lang" as shapes\nrequire net("api.example.com")\nrequire net("other.example.com")\n\n'
    )
    editor.type("lib/shapes.lang", 'give http_get("https://other.example.com/")', "give width * height")
    assert await editor.problems("lib/shapes.lang") == []


async def test_hover_shows_declarations_and_the_manual(editor: Editor) -> None:
    assert await editor.hover("main.lang", "shapes.ar|ea") == (
        "```lang\narea(width, height = 1)\n```\n\nThe area of a rectangle."
    )
    assert "let side be 3" in await editor.hover("main.lang", "text(si|de)")
    assert "What is measured." in await editor.hover("main.lang", "text(si|de)")
    shown = await editor.hover("main.lang", "pri|nt(shapes.Shape")
    assert shown.startswith("```lang\nprint(v...)\n```") and "joined by one space" in shown
    assert "Makes a variable" in await editor.hover("main.lang", "le|t side")
    assert "Connect to a host" in await editor.hover("main.lang", "require n|et")
    assert "The body read as JSON" in await editor.hover("service.lang", "request.js|on")
    assert await editor.hover("main.lang", 'let note be "|😀"') == ""
    assert await editor.hover("main.lang", "-- What is mea|sured") == ""


async def test_completion(editor: Editor) -> None:
    name = "completion.lang"
    editor.open(
        name,
        'use "./lib/shapes.lang" as shapes\ntype Point\n    x: number\n    y: number\nlet spot be Point(1, 2)\n'
        'task double(amount)\n    let twice be amount * 2\n    give twice\n\nlet a be spot.x\nlet b be 1\n',
    )  # fmt: skip
    names = await editor.completions(name, "let b be |1")
    assert {"spot", "double", "shapes", "print", "pi", "when"} <= set(names) and "twice" not in names
    assert names["double"].detail == "double(amount)" and names["double"].kind == types.CompletionItemKind.Function
    resolved = await editor.client.completion_item_resolve_async(names["print"])
    assert isinstance(resolved.documentation, types.MarkupContent) and "joined by one space" in resolved.documentation.value
    assert {"amount", "twice"} <= set(await editor.completions(name, "    give |twice"))
    assert set(await editor.completions(name, "let a be spot.|x")) == {"x", "y"}
    editor.type(name, "let b be 1", "let b be shapes.")
    assert set(await editor.completions(name, "let b be shapes.|")) == {"area", "Shape"}
    editor.type(name, "let b be shapes.", "let b be double(")
    assert "amount =" in await editor.completions(name, "double(|")
    editor.type(name, "let b be double(", "require ")
    assert {"net", "file.read", "db"} <= set(await editor.completions(name, "require |"))
    editor.type(name, "require ", "let ")
    assert await editor.completions(name, "let |\n") == {}
    editor.type(name, "let \n", 'use "./')
    assert {"main.lang", "lib/"} <= set(await editor.completions(name, 'use "./|'))
    editor.close(name)


async def test_completion_in_a_handler(editor: Editor) -> None:
    fields = await editor.completions("service.lang", "request.|user")
    assert {"method", "path", "json", "user", "params"} <= set(fields)
    assert set(await editor.completions("service.lang", "request.json.|name")) == {"name", "price"}
    assert {"request", "query", "params"} <= set(await editor.completions("service.lang", 'give {"by": |request'))


async def test_signature_help(editor: Editor) -> None:
    async def shown(piece: str) -> tuple[str, int | None]:
        found = await editor.client.text_document_signature_help_async(types.SignatureHelpParams(*editor.at(name, piece)))
        assert found is not None
        return found.signatures[0].label, found.active_parameter

    name = "signatures.lang"
    editor.open(
        name, "task area(width, height = 1)\n    give width * height\n\narea(1, 2)\n[1] |> slice(0, 1)\nmerge({}, {})\n"
    )
    assert await shown("area(1, |2)") == ("area(width, height = 1)", 1)
    assert await shown("slice(|0, 1)") == ("slice(c, start?, end?)", 1)
    assert (await shown("merge({}, |{})"))[1] == 1
    nothing = await editor.client.text_document_signature_help_async(types.SignatureHelpParams(*editor.at(name, "[|1]")))
    assert nothing is None
    editor.close(name)


async def test_definition_and_references_over_modules(editor: Editor) -> None:
    client = editor.client
    found = await client.text_document_definition_async(types.DefinitionParams(*editor.at("main.lang", "shapes.ar|ea")))
    assert isinstance(found, types.Location) and found.uri == editor.uri("lib/shapes.lang")
    assert editor.text_at("lib/shapes.lang", found.range) == "area"
    module = await client.text_document_definition_async(types.DefinitionParams(*editor.at("main.lang", '"./lib/sh|apes')))
    assert isinstance(module, types.Location) and module.uri == editor.uri("lib/shapes.lang")
    context = types.ReferenceContext(include_declaration=True)
    places = await client.text_document_references_async(
        types.ReferenceParams(
            context=context, text_document=editor.document("main.lang"), position=editor.at("main.lang", "shapes.ar|ea")[1]
        )
    )
    assert [(Path(place.uri).name, place.range.start.line) for place in places or ()] == [
        ("shapes.lang", 1),
        ("shapes.lang", 9),
        ("main.lang", 6),
    ]
    lit = await client.text_document_document_highlight_async(
        types.DocumentHighlightParams(*editor.at("main.lang", "text(si|de)"))
    )
    assert [editor.text_at("main.lang", one.range) for one in lit or ()] == ["side"] * 3


async def test_rename_over_modules(editor: Editor) -> None:
    changed = await rename(editor, "main.lang", "shapes.ar|ea", "surface")
    assert changed == {
        "main.lang": MAIN.replace("area", "surface"),
        "lib/shapes.lang": LIBRARY.replace("task area", "task surface").replace("area(2)", "surface(2)"),
    }
    assert await rename(editor, "main.lang", "text(si|de)", "edge") == {"main.lang": MAIN.replace("side", "edge")}
    changed = await rename(editor, "lib/shapes.lang", "area(wi|dth", "breadth")
    assert changed == {"lib/shapes.lang": LIBRARY.replace("width", "breadth")}
    span = await editor.client.text_document_prepare_rename_async(
        types.PrepareRenameParams(*editor.at("main.lang", "si|de be"))
    )
    assert isinstance(span, types.Range) and editor.text_at("main.lang", span) == "side"


@pytest.mark.parametrize(
    ("source", "piece", "new", "reason"),
    [
        ("let a be 1\nprint(a)\n", "print(|a)", "set", "cannot be a name"),
        ("let a be 1\nprint(a)\n", "print(|a)", "a b", "cannot be a name"),
        ("let a be 1\nprint(a)\n", "print(|a)", "print", "word of the language"),
        ("let a be 1\nprint(a)\n", "|print(a)", "say", "is a builtin"),
        ("let a be 1\nlet b be 2\nprint(a, b)\n", "print(|a", "b", "already means something"),
        ("let a be 1\ntask f(b)\n    give a + b\n\nprint(f(2))\n", "give |a", "b", "already means something"),
        ("let a be 1\nprint(a, other)\n", "print(|a", "other", "already means something"),
        ("task f()\n    give 1\n\nprint(call(\"f\"))\n", "task |f", "g", "may mean it"),
        ("match {\"a\": 1}\n    is {a}\n        print(a)\n", "print(|a)", "b", "takes the key"),
        ("let a be 1\nprint(a)\nlet b be\n", "print(|a)", "c", "correct it first"),
        ("let m be {\"a\": 1}\nprint(m.a)\n", "m.|a", "b", "only names that a program defines"),
    ],
)  # fmt: skip
async def test_rename_refuses_what_it_cannot_do_safely(editor: Editor, source: str, piece: str, new: str, reason: str) -> None:
    editor.open("refused.lang", source)
    changed = await rename(editor, "refused.lang", piece, new)
    assert reason in changed.get("", str(changed))
    editor.close("refused.lang")


async def test_corrections(editor: Editor) -> None:
    editor.open("wrong.lang", "let colour be 1\nprnt(colour)\nprint(color)\n")
    for piece, title, corrected in (
        ("pr|nt(colour)", "Change to `print`", "print(colour)\nprint(color)"),
        ("print(co|lor)", "Change to `colour`", "prnt(colour)\nprint(colour)"),
    ):
        edit = (await editor.actions("wrong.lang", piece))[title].edit
        assert edit is not None and edit.changes is not None
        assert corrected in editor.edited("wrong.lang", edit.changes[editor.uri("wrong.lang")])
    editor.close("wrong.lang")


async def test_lines_of_another_language_can_be_rewritten(editor: Editor) -> None:
    wrong = (
        'let total = 5  -- "all"\nfor i in range(3):\n    total += i\nif total == 8:\n    print(total)\n'
        "for i, x in a:\n    print(1)\n"
    )
    editor.open("foreign.lang", wrong)
    for piece, title, line in (
        ("let to|tal", "Change to `let total be 5`", 'let total be 5  -- "all"'),
        ("for i in ran|ge", "Change to `each i in range(3)`", "each i in range(3)"),
        ("|total +=", "Change to `set total to total + i`", "    set total to total + i"),
        ("if total =|= 8", "Change to `when total == 8`", "when total == 8"),
    ):
        edit = (await editor.actions("foreign.lang", piece))[title].edit
        assert edit is not None and edit.changes is not None
        changed = editor.edited("foreign.lang", edit.changes[editor.uri("foreign.lang")])
        at = wrong.count("\n", 0, wrong.index(piece.replace("|", "")))
        assert changed.split("\n") == [*wrong.split("\n")[:at], line, *wrong.split("\n")[at + 1 :]]
    assert not await editor.actions("foreign.lang", "for i, x| in a")
    editor.close("foreign.lang")
    editor.open("method.lang", "let xs be [1]\nxs.append(2)  -- one more\nprint(xs.reverse())\n")
    edit = (await editor.actions("method.lang", "xs.app|end"))["Change to `set xs to append(xs, 2)`"].edit
    assert edit is not None and edit.changes is not None
    changed = editor.edited("method.lang", edit.changes[editor.uri("method.lang")])
    assert changed == "let xs be [1]\nset xs to append(xs, 2)  -- one more\nprint(xs.reverse())\n"
    assert not await editor.actions("method.lang", "xs.rev|erse")
    editor.close("method.lang")


async def test_lines_of_no_use_can_be_removed(editor: Editor) -> None:
    editor.open("idle.lang", 'use "./lib/shapes.lang" as shapes\nrequire net("a.example.com")\nprint(1)\n')
    problems = await editor.problems("idle.lang")
    assert {problem.code for problem in problems} == {"W0103", "W0104"}
    assert all(problem.tags == (types.DiagnosticTag.Unnecessary,) for problem in problems)
    for piece, title, left in (
        ("|use", 'Remove `use "./lib/shapes.lang" as shapes`', 'require net("a.example.com")\nprint(1)\n'),
        ("req|uire", 'Remove `require net("a.example.com")`', 'use "./lib/shapes.lang" as shapes\nprint(1)\n'),
    ):
        edit = (await editor.actions("idle.lang", piece))[title].edit
        assert edit is not None and edit.changes is not None
        assert editor.edited("idle.lang", edit.changes[editor.uri("idle.lang")]) == left
    editor.close("idle.lang")


async def test_inlay_hints_tell_what_each_call_needs(editor: Editor) -> None:
    editor.open(
        "needs.lang", 'require env("HOME")\nlet u be "x"\nprint(env("HOME"))\nhttp_get("https://a.example.com")\nhttp_get(u)\n'
    )
    whole = types.Range(types.Position(0, 0), types.Position(10, 0))
    hints = await editor.client.text_document_inlay_hint_async(types.InlayHintParams(editor.document("needs.lang"), whole))
    assert [(hint.position.line, hint.label) for hint in hints or ()] == [
        (2, 'needs env("HOME")'),
        (3, 'needs net("a.example.com")'),
        (4, "needs net(...)"),
    ]
    editor.close("needs.lang")


async def test_formatting_keeps_line_ends(editor: Editor) -> None:
    editor.open("layout.lang", "let  x be 1\r\nwhen x>0\r\n  print( x )\r\n")
    options = types.FormattingOptions(4, True)
    edits = await editor.client.text_document_formatting_async(
        types.DocumentFormattingParams(editor.document("layout.lang"), options)
    )
    assert editor.edited("layout.lang", edits) == "let x be 1\r\nwhen x > 0\r\n    print(x)\r\n"
    editor.type("layout.lang", "x be 1", "x be (")
    assert not await editor.client.text_document_formatting_async(
        types.DocumentFormattingParams(editor.document("layout.lang"), options)
    )
    editor.close("layout.lang")


async def test_outline_folding_and_names_of_the_workspace(editor: Editor) -> None:
    client = editor.client
    found = await client.text_document_document_symbol_async(types.DocumentSymbolParams(editor.document("service.lang")))
    symbols = [symbol for symbol in found or () if isinstance(symbol, types.DocumentSymbol)]
    assert [symbol.name for symbol in symbols] == ["who", "serve"]
    assert [route.name for route in symbols[1].children or ()] == ["POST /pens"]
    folds = await client.text_document_folding_range_async(types.FoldingRangeParams(editor.document("service.lang")))
    assert [(fold.start_line, fold.end_line) for fold in folds or ()] == [(2, 3), (5, 9), (7, 9)]
    names = await client.workspace_symbol_async(types.WorkspaceSymbolParams("are"))
    assert [(symbol.name, Path(symbol.location.uri).name) for symbol in names or ()] == [("area", "shapes.lang")]


async def test_semantic_tokens_tell_tasks_from_variables(editor: Editor) -> None:
    found = await editor.client.text_document_semantic_tokens_full_async(
        types.SemanticTokensParams(editor.document("main.lang"))
    )
    assert found is not None and len(found.data) % 5 == 0
    kinds, line, column = {}, 0, 0
    for delta_line, delta, length, kind, _ in zip(*[iter(found.data)] * 5):
        line, column = line + delta_line, delta if delta_line else column + delta
        span = types.Range(types.Position(line, column), types.Position(line, column + length))
        kinds[editor.text_at("main.lang", span)] = kind
    assert kinds["area"] == kinds["print"] == 8 and kinds["side"] == 6 and kinds["shapes"] == 0 and kinds["Shape"] == 2


async def test_a_document_without_a_file(editor: Editor) -> None:
    name = "untitled:Untitled-1"
    editor.open(name, 'use "./lib/shapes.lang" as s\nlet x be 1\n')
    (fault,) = await editor.problems(name)
    assert "module not found" in fault.message
    editor.type(name, 'use "./lib/shapes.lang" as s\n', "")
    assert not [p for p in await editor.problems(name) if p.severity == types.DiagnosticSeverity.Error]
    editor.close(name)


async def test_a_file_outside_utf_8_is_an_error_of_the_line_that_uses_it(editor: Editor) -> None:
    editor.open("uses.lang", 'use "./latin.lang" as latin\nprint(latin)\n')
    problems = await editor.problems("uses.lang")
    assert [p.message for p in problems if p.severity == types.DiagnosticSeverity.Error] == [
        "module is not UTF-8: ./latin.lang"
    ]
    editor.close("uses.lang")


async def test_messages_for_documents_that_were_never_opened(editor: Editor) -> None:
    client, document, start = editor.client, editor.document("never.lang"), types.Position(7, 7)
    assert await client.text_document_hover_async(types.HoverParams(document, start)) is None
    assert not await client.text_document_folding_range_async(types.FoldingRangeParams(document))
    change = types.TextDocumentContentChangePartial(types.Range(types.Position(9, 9), start), "let x be 1")
    identifier = types.VersionedTextDocumentIdentifier(uri=document.uri, version=3)
    client.text_document_did_change(types.DidChangeTextDocumentParams(identifier, [change]))
    shown = await client.text_document_hover_async(types.HoverParams(document, types.Position(0, 5)))
    assert shown is not None
    editor.close("never.lang")


async def test_a_file_that_changes_beside_the_editor(editor: Editor) -> None:
    editor.open("beside.lang", 'use "./later.lang" as later\nprint(later.one)\n')
    problems = await editor.problems("beside.lang")
    assert any("module not found" in problem.message for problem in problems)
    (editor.folder / "later.lang").write_text("export let one be 1\n", encoding="utf-8")
    event = types.FileEvent(editor.uri("later.lang"), types.FileChangeType.Created)
    editor.client.seen.clear()
    editor.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))
    assert await editor.problems("beside.lang") == []
    editor.close("beside.lang")
