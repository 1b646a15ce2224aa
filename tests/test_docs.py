"""The manual is true: its programs print what stands under them, its generated parts are those of today."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from docs.generate import TARGET, reference
from stdlib import all_builtins

ROOT = Path(__file__).resolve().parent.parent
TOUR = ROOT / "docs" / "tour.md"
BLOCK = re.compile(r"^```(\w+)(?: ([^\n]*))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Step(NamedTuple):
    """A program of the page: the text after ``lang`` on its fence, the modules shown before it, what it must print."""

    line: int
    options: str
    modules: tuple[tuple[str, str], ...]
    program: str
    output: str


def steps(page: str) -> list[Step]:
    found: list[Step] = []
    modules: tuple[tuple[str, str], ...] = ()
    waiting: tuple[int, str, str] | None = None
    for match in BLOCK.finditer(page):
        language, options, body = match[1], match[2] or "", match[3]
        line = page.count("\n", 0, match.start()) + 1
        if language == "output":
            assert waiting is not None, f"line {line}: an output without a program"
            found.append(Step(waiting[0], waiting[1], modules, waiting[2], body))
            waiting, modules = None, ()
            continue
        assert language == "lang", f"line {line}: a block of an unknown kind"
        assert waiting is None, f"line {line}: the program above shows no output"
        if options.startswith("file="):
            modules += ((options.removeprefix("file="), body),)
        else:
            waiting = (line, options, body)
    assert waiting is None
    assert not modules
    return found


STEPS = steps(TOUR.read_text(encoding="utf-8"))


def test_every_code_block_of_the_tour_is_run() -> None:
    page = TOUR.read_text(encoding="utf-8")
    assert page.count("```") == 2 * (2 * len(STEPS) + sum(len(step.modules) for step in STEPS))
    assert len(STEPS) > 15


@pytest.mark.parametrize("step", STEPS, ids=[f"line_{step.line}" for step in STEPS])
def test_the_tour(step: Step, tmp_path: Path) -> None:
    for name, text in step.modules:
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "tour.lang").write_text(step.program, encoding="utf-8")
    words = step.options.split()
    command = ["test"] if words == ["test"] else ["run", *words]
    result = subprocess.run(
        [sys.executable, "-m", "language", *command, "tour.lang"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=tmp_path,
        encoding="utf-8",
        timeout=60,
    )
    assert result.stdout == step.output


def test_the_reference_of_the_builtins_is_up_to_date() -> None:
    assert TARGET.read_text(encoding="utf-8") == reference(), "run `make docs`"


def test_every_builtin_is_documented() -> None:
    assert not [name for name, builtin in all_builtins().items() if not builtin.doc]
