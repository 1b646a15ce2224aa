"""The pages of the errors of a running program: the first program of each makes its mistake, the second one is without."""

from __future__ import annotations

import re
import socket
from pathlib import Path

import pytest

from language.cli.docs import command
from language.diagnostics.codes import CODES
from tests.errors.corpus import command_shows
from tests.manual import DOCS, Block, blocks

pytestmark = pytest.mark.once

PAGES = DOCS / "errors"
#: What needs an embedding program: the page shows Python, which nothing here runs.
EMBEDDED = "E0903"
_COLUMN = re.compile(r"(\.lang:\d+):\d+(?=: )")
RUNTIME = [code for code in CODES if code[:3] not in ("E01", "W01") and code != EMBEDDED]


def shown(program: Block, files: list[Block], name: str, folder: Path) -> str:
    """What the command shows of a program, which stands in an empty folder with the files before it."""
    folder.mkdir()
    for file in (*files, program._replace(words=(f"file={name}",))):
        assert file.file is not None
        (folder / file.file).write_text(file.text, encoding="utf-8")
    words = [word for word in program.words if not word.startswith("taken=")]
    taken = [int(word.removeprefix("taken=")) for word in program.words if word.startswith("taken=")]
    command = words.pop(0) if words[:1] in (["serve"], ["check"]) else "run"
    with socket.socket() as listener:
        for port in taken:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(("127.0.0.1", port))
            listener.listen()
        return command_shows([command, *words, name], folder)


@pytest.mark.parametrize("code", RUNTIME)
def test_a_page_shows_its_mistake_and_the_cure(code: str, tmp_path: Path) -> None:
    path = PAGES / f"{code}.md"
    assert path.read_text(encoding="utf-8").startswith(f"# {code}: {CODES[code]}\n")
    found: list[tuple[Block, list[Block], str | None]] = []
    files: list[Block] = []
    for block in blocks(path):
        if block.file is not None:
            files.append(block)
        elif block.language == "output":
            found[-1] = (*found[-1][:2], block.text)
        else:
            found.append((block, files, None))
            files = []
    (mistake, beside, message), (cure, beside_cure, output) = found
    text = shown(mistake, beside, f"{code}.lang", tmp_path / "mistake")
    # Where the check finds the mistake too, the page shows its column, which may be that of a name inside of the statement.
    assert message is not None and _COLUMN.sub(r"\1", text).startswith(_COLUMN.sub(r"\1", message))
    assert f"\nmore: lang docs {code}\n" in text
    text = shown(cure, beside_cure, f"{code}.lang", tmp_path / "cure")
    assert text.endswith("exit code: 0\n")
    assert "check" in cure.words or text == f"{output or ''}exit code: 0\n"


def test_every_code_has_a_page_and_every_page_a_code() -> None:
    pages = {path.stem for path in PAGES.glob("*.md")}
    assert pages <= set(CODES) and pages >= {*RUNTIME, EMBEDDED}


def test_the_command_prints_the_page_of_a_code(capfd: pytest.CaptureFixture[str]) -> None:
    assert command(["e0405"]) == 0
    assert capfd.readouterr().out == (PAGES / "E0405.md").read_text(encoding="utf-8")
    assert command(["E9999"]) == 1
    out, err = capfd.readouterr()
    assert out == "" and "E9999" in err
