"""The editor's grammar is the one of today's word tables, and it tells words from names."""

from __future__ import annotations

import json
import os
import re
import runpy
import shutil
import subprocess
import tomllib
from pathlib import Path, PurePosixPath
from typing import Any
from xml.etree import ElementTree
from zipfile import ZipFile

import pytest

from language.cli.main import COMMANDS
from language.syntax.tokens import GATE_WORDS, HARD_KEYWORDS, STATEMENT_WORDS

FOLDER = Path(__file__).resolve().parent.parent / "editors" / "vscode"
GRAMMAR = json.loads((FOLDER / "syntaxes" / "lang.tmLanguage.json").read_text(encoding="utf-8"))


def rules(name: str = "all") -> list[dict[str, Any]]:
    found = []
    for pattern in GRAMMAR["repository"][name]["patterns"]:
        found += rules(pattern["include"].removeprefix("#")) if "include" in pattern else [pattern]
    return found


def scopes(line: str) -> dict[str, str]:
    """What a TextMate engine makes of one line: text of each coloured piece and its scope, without the suffix ``.lang``.

    The engine's rule: of all patterns the match that begins first, of those the one listed first.
    """
    found: dict[str, str] = {}
    position = 0
    while position < len(line):
        matches = [(re.compile(r.get("match") or r["begin"]).search(line, position), r) for r in rules()]
        hits = [(match.start(), number, match, rule) for number, (match, rule) in enumerate(matches) if match]
        if not hits:
            break
        _, _, match, rule = min(hits, key=lambda hit: hit[:2])
        end = match.end()
        if "begin" in rule:
            closing = re.compile(rule["end"]).search(line, end)
            end = closing.end() if closing else len(line)
        if "name" in rule:
            found[line[match.start() : end]] = rule["name"].removesuffix(".lang")
        for group, capture in rule.get("captures", {}).items():
            if match[int(group)]:
                found[match[int(group)]] = capture["name"].removesuffix(".lang")
        position = max(end, position + 1)
    return found


def test_the_grammar_is_up_to_date() -> None:
    generated = runpy.run_path(str(FOLDER / "generate.py"))
    assert generated["TARGET"].read_text(encoding="utf-8") == generated["text_of_grammar"](), "run `make docs`"


def test_every_hard_keyword_has_a_scope() -> None:
    for word in HARD_KEYWORDS:
        assert re.match(r"keyword|constant|storage|invalid", scopes(f"x {word} y").get(word, "")), word


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            'let x be 0x1f  -- "note"',
            {"let": "storage.type", "0x1f": "constant.numeric", '-- "note"': "comment.line.double-dash"},
        ),
        ("set tx.to to 1.50d", {"to": "keyword.other", "1.50d": "constant.numeric"}),
        ("give tx.type", {"type": "variable.other.property"}),
        ("task area(w, h)", {"task": "storage.type", "area": "entity.name.function"}),
        ("export enum Shape", {"export": "storage.modifier", "Shape": "entity.name.type"}),
        ('log "x -- y"', {"log": "keyword.control", '"x -- y"': "string.quoted.double"}),
        ('log("x")', {"log": "entity.name.function"}),
        ('    route "GET /x" requires auth', {"route": "keyword.control"}),
        ("print(`a {1}`)", {"`a {1}`": "string.quoted.other.template"}),
        ("let ok be approve message", {"approve": "keyword.control"}),
        ('generate "haiku" given "rain"', {"given": "keyword.other"}),
        ("[first, ...rest]", {"...": "keyword.operator.spread"}),
    ],
)
def test_words(line: str, expected: dict[str, str]) -> None:
    found = scopes(line)
    assert {piece: found.get(piece) for piece in expected} == expected


@pytest.mark.parametrize("word", sorted(STATEMENT_WORDS | GATE_WORDS))
def test_soft_words_are_names_where_the_language_says_so(word: str) -> None:
    for line in (f"{word} - 1", f"let {word} be 1", f"set {word} to {word}", f"f({word} = {word})", f"{word}[0]", word):
        assert not scopes(line).get(word, "").startswith("keyword"), line


def test_the_language_configuration_is_json() -> None:
    configuration = json.loads((FOLDER / "language-configuration.json").read_text(encoding="utf-8"))
    assert configuration["comments"] == {"lineComment": "--"}
    opens = re.compile(configuration["indentationRules"]["increaseIndentPattern"])
    for line in ("task f(x)", "    otherwise", "let v be when a", 'test "x"', "serve on 8080", "is [a, b]", "export enum E"):
        assert opens.search(line), line
    for line in ("print(when a then b)", "test(x)", "let whenever be 1", "let v be sandbox f()", "host", 'log "when"'):
        assert not opens.search(line), line


# ---- the package of Visual Studio Code ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> ZipFile:
    build = runpy.run_path(str(FOLDER / "package.py"))
    if shutil.which("node") is None or not (build["PACKAGES"] / ".ready").is_file():
        message = (
            "Node or the packages of .venvs/editors are not installed (.ci/node editors/vscode .venvs/editors installs them)"
        )
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    return ZipFile(build["build"](tmp_path_factory.mktemp("vsix") / "lang.vsix"))


def test_the_package_has_what_its_manifests_name(package: ZipFile) -> None:
    names = set(package.namelist())
    described = json.loads(package.read("extension/package.json"))
    contributed = described["contributes"]
    paths = [described["main"], *(language["configuration"] for language in contributed["languages"])]
    paths += [grammar["path"] for grammar in contributed["grammars"]]
    assert {f"extension/{path.removeprefix('./')}" for path in paths} <= names
    manifest = ElementTree.fromstring(package.read("extension.vsixmanifest"))
    space = "{http://schemas.microsoft.com/developer/vsx-schema/2011}"
    assert {asset.get("Path") for asset in manifest.iter(f"{space}Asset")} <= names
    identity = next(manifest.iter(f"{space}Identity"))
    assert (identity.get("Id"), identity.get("Version")) == (described["name"], described["version"])
    types = ElementTree.fromstring(package.read("[Content_Types].xml"))
    extensions = {default.get("Extension") for default in types}
    assert {PurePosixPath(name).suffix for name in names if name != "[Content_Types].xml"} <= extensions
    assert "vscode-languageclient" in package.read("extension/THIRD-PARTY.txt").decode()


def test_a_workspace_cannot_name_the_command_that_is_started() -> None:
    described = json.loads((FOLDER / "package.json").read_text(encoding="utf-8"))
    assert described["contributes"]["configuration"]["properties"]["lang.path"]["scope"] == "machine"


def test_the_client_needs_nothing_but_the_editor(package: ZipFile, tmp_path: Path) -> None:
    """Loaded by Node with an editor that offers any class that is asked of it, and no package beside it."""
    package.extract("extension/extension.js", tmp_path)
    script = (
        "const modules = require('module'), load = modules._load;"
        "const editor = new Proxy({}, { get: () => class {} });"
        "modules._load = (name, ...rest) => (name === 'vscode' ? editor : load(name, ...rest));"
        "console.log(Object.keys(require(process.argv[1])).join(' '));"
    )
    client = str(tmp_path / "extension" / "extension.js")
    told = subprocess.run(["node", "-e", script, client], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert told.stdout == "activate deactivate\n"


def test_the_page_of_the_editors_names_the_command_that_starts() -> None:
    """Each editor's section starts the words that the client of Visual Studio Code starts, which are a command of ``lang``."""
    assert "lsp" in COMMANDS and 'args: ["lsp"]' in (FOLDER / "client.js").read_text(encoding="utf-8")
    page = (FOLDER.parent.parent / "docs" / "editors.md").read_text(encoding="utf-8")
    sections = {text.split("\n", 1)[0]: text for text in page.split("\n## ")[1:]}
    assert {"Visual Studio Code", "Neovim", "Helix", "Zed", "Emacs"} <= set(sections)
    toml = re.search(r"```toml\n(.*?)```", sections["Helix"], re.DOTALL)
    assert toml is not None
    helix = tomllib.loads(toml[1])
    assert helix["language-server"]["lang"] == {"command": "lang", "args": ["lsp"]}
    assert helix["language"][0]["language-servers"] == ["lang"] and helix["language"][0]["file-types"] == ["lang"]
    for block in re.findall(r"```toml\n(.*?)```", sections["Zed"], re.DOTALL):
        tomllib.loads(block)
    assert 'args: vec!["lsp".into()]' in sections["Zed"] and 'cmd = { "lang", "lsp" }' in sections["Neovim"]
    assert '("lang" "lsp")' in sections["Emacs"]
