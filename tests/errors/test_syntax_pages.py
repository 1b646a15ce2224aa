"""The pages of the mistakes of syntax: the first program of each makes its mistake, the second one is without."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from language.diagnostics.codes import CODES
from language.errors import LanguageError
from language.syntax.parser import parse
from tests.errors.corpus import command_shows
from tests.manual import DOCS

pytestmark = pytest.mark.once

SYNTAX = [code for code in CODES if code.startswith("E01")]
_BLOCK = re.compile(r"^```(lang|output)( check)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("code", SYNTAX)
def test_a_page_shows_its_mistake_and_the_cure(code: str, tmp_path: Path) -> None:
    page = (DOCS / "errors" / f"{code}.md").read_text(encoding="utf-8")
    assert page.startswith(f"# {code}: {CODES[code]}\n")
    (_, _, mistake), (_, _, message), (_, check, cure), *output = _BLOCK.findall(page)
    with pytest.raises(LanguageError) as caught:
        parse(mistake, f"{code}.lang")
    assert caught.value.code == code
    assert f"{caught.value}\n" == message
    (tmp_path / f"{code}.lang").write_text(cure, encoding="utf-8")
    shown = command_shows(["check" if check else "run", f"{code}.lang"], tmp_path)
    assert shown.endswith("exit code: 0\n")
    assert check or shown == output[0][2] + "exit code: 0\n"


def test_every_page_of_syntax_has_a_code() -> None:
    assert {path.stem for path in (DOCS / "errors").glob("E01*.md")} == set(SYNTAX)
