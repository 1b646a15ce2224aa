"""The pages of what ``lang check`` finds: the first program has that problem and no other, the second has none."""

from __future__ import annotations

from pathlib import Path

import manual
import pytest

from language.analysis.checker import check_program
from language.analysis.problems import Problems, problems_of
from language.diagnostics.codes import CODES
from language.runtime.modules import BundledSources

PAGES = manual.DOCS / "errors"
#: Codes of errors that the check finds too.
FOUND = (
    *("E0201", "E0202", "E0203", "E0204", "E0205", "E0206", "E0302", "E0303", "E0305", "E0306", "E0401", "E0402"),
    "E0803",
)
CHECKED = sorted((*FOUND, *(code for code in CODES if code.startswith("W"))))


def programs(page: Path) -> list[tuple[str, dict[str, str]]]:
    """The programs of a page in order, each with the modules that stand before it."""
    found: list[tuple[str, dict[str, str]]] = []
    files: dict[str, str] = {}
    for block in manual.blocks(page):
        if block.file is not None:
            files[block.file] = block.text
        elif block.language == "lang":
            found.append((block.text, files))
            files = {}
    return found


def problems(code: str, number: int) -> Problems:
    source, files = programs(PAGES / f"{code}.md")[number]
    return problems_of(check_program(source, f"{code}.lang", BundledSources(files)))


@pytest.mark.parametrize("code", CHECKED)
def test_the_example_has_the_problem_and_the_cure_has_none(code: str) -> None:
    found = problems(code, 0)
    (problem,) = (*found.errors, *found.warnings)
    assert problem.code == code
    shown = next(block.text for block in manual.blocks(PAGES / f"{code}.md") if block.language == "output").strip()
    assert str(problem).partition(": ")[2] == shown.partition(": ")[2]
    cured = problems(code, -1)
    assert (*cured.errors, *cured.warnings) == ()
    assert (PAGES / f"{code}.md").read_text(encoding="utf-8").startswith(f"# {code}: {CODES[code]}\n")
