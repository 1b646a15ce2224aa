"""The public names of ``language``: each is shown in the manual by a program that runs, and each loads when it is asked for."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys

import pytest

import language
from tests.manual import DOCS, blocks, pages

#: Every program in Python on a page of the manual; ``tests/test_docs.py`` runs them.
SHOWN = "\n".join(block.text for page in pages() for block in blocks(page) if block.language == "python")


@pytest.mark.parametrize("name", language.__all__)
def test_a_program_of_the_manual_uses_the_name(name: str) -> None:
    assert re.search(rf"\blanguage\.{name}\b", SHOWN)


@pytest.mark.parametrize("name", language.__all__)
def test_the_name_is_there_and_says_what_it_is(name: str) -> None:
    value = getattr(language, name)
    assert getattr(value, "__name__", name) == name
    if callable(value):
        assert inspect.getdoc(value)


@pytest.mark.parametrize("name", language.__all__)
def test_what_a_record_offers_is_described(name: str) -> None:
    """Public methods and properties of a public class have a docstring, of their own or of the class that declares them."""
    value = getattr(language, name)
    if isinstance(value, type):
        members = [member for member in vars(value) if not member.startswith("_")]
        functions = [m for m in members if isinstance(inspect.getattr_static(value, m), (property, classmethod)) or
                     inspect.isfunction(inspect.getattr_static(value, m))]  # fmt: skip
        assert [m for m in functions if not inspect.getdoc(getattr(value, m))] == []


def test_importing_the_package_loads_nothing_of_it() -> None:
    program = (
        "import sys; before = set(sys.modules); import language; print(sorted(set(sys.modules) - before - {'__future__'}));"
        "print(language.Ceiling.parse('stdout')); print('language.program' in sys.modules, 'language.syntax' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout == "['language']\nstdout\nFalse False\n"


def test_the_manual_lists_the_kinds_of_errors() -> None:
    rows = re.findall(r"^\| `([a-z]+)` \|", (DOCS / "services.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert tuple(rows) == language.ERROR_KINDS
