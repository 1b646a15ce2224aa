"""The manual is true: its programs print what stands under them, its generated parts are those of today."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from docs.generate import CAPABILITIES, TARGET, reference, with_table
from stdlib import all_builtins

ROOT = Path(__file__).resolve().parent.parent
TOUR = ROOT / "docs" / "tour.md"
README = ROOT / "README.md"
BLOCK = re.compile(r"^```(\w+)(?: ([^\n]*))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Step(NamedTuple):
    """A program of a page: its language, the text after that on its fence, the modules shown before it, what it must print."""

    line: int
    language: str
    options: str
    modules: tuple[tuple[str, str], ...]
    program: str
    output: str


def steps(page: str) -> list[Step]:
    found: list[Step] = []
    modules: tuple[tuple[str, str], ...] = ()
    waiting: tuple[int, str, str, str] | None = None
    for match in BLOCK.finditer(page):
        language, options, body = match[1], match[2] or "", match[3]
        line = page.count("\n", 0, match.start()) + 1
        if language == "output":
            assert waiting is not None, f"line {line}: an output without a program"
            found.append(Step(*waiting[:3], modules, waiting[3], body))
            waiting, modules = None, ()
            continue
        assert language in ("lang", "python") or options.startswith("file="), f"line {line}: a block of an unknown kind"
        assert waiting is None, f"line {line}: the program above shows no output"
        if options.startswith("file="):
            modules += ((options.removeprefix("file="), body),)
        else:
            waiting = (line, language, options, body)
    assert waiting is None
    assert not modules
    return found


STEPS = steps(TOUR.read_text(encoding="utf-8"))
FIRST_STEPS = steps(README.read_text(encoding="utf-8"))
TEMPLATE_STEPS = steps((ROOT / "docs" / "templates.md").read_text(encoding="utf-8"))
GATE_STEPS = steps((ROOT / "docs" / "gates.md").read_text(encoding="utf-8"))
CAPABILITY_STEPS = steps(CAPABILITIES.read_text(encoding="utf-8"))


def run(step: Step, name: str, folder: Path) -> str:
    for module, text in step.modules:
        (folder / module).write_text(text, encoding="utf-8")
    (folder / name).write_text(step.program, encoding="utf-8")
    command = [] if step.language == "python" else ["-m", "language", "test" if step.options == "test" else "run"]
    options = [] if step.options == "test" else step.options.split()
    return subprocess.run(
        [sys.executable, *command, *options, name],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        encoding="utf-8",
        timeout=60,
    ).stdout


def test_every_code_block_is_run() -> None:
    page = TOUR.read_text(encoding="utf-8")
    assert page.count("```") == 2 * (2 * len(STEPS) + sum(len(step.modules) for step in STEPS))
    assert len(STEPS) > 15
    assert [step.language for step in FIRST_STEPS] == ["lang", "python"]


@pytest.mark.parametrize("step", STEPS, ids=[f"line_{step.line}" for step in STEPS])
def test_the_tour(step: Step, tmp_path: Path) -> None:
    assert run(step, "tour.lang", tmp_path) == step.output


@pytest.mark.parametrize("step", FIRST_STEPS, ids=[step.language for step in FIRST_STEPS])
def test_the_readme(step: Step, tmp_path: Path) -> None:
    assert run(step, "first.lang", tmp_path) == step.output


@pytest.mark.parametrize("step", CAPABILITY_STEPS, ids=[f"line_{step.line}" for step in CAPABILITY_STEPS])
def test_the_page_on_capabilities(step: Step, tmp_path: Path) -> None:
    assert run(step, "page.lang", tmp_path) == step.output


@pytest.mark.parametrize("step", TEMPLATE_STEPS, ids=[f"line_{step.line}" for step in TEMPLATE_STEPS])
def test_the_page_on_templates(step: Step, tmp_path: Path) -> None:
    assert run(step, "page.lang", tmp_path) == step.output


@pytest.mark.parametrize("step", GATE_STEPS, ids=[f"line_{step.line}" for step in GATE_STEPS])
def test_the_page_on_gates(step: Step, tmp_path: Path) -> None:
    assert run(step, "page.lang", tmp_path) == step.output


def test_the_table_of_capabilities_is_up_to_date() -> None:
    page = CAPABILITIES.read_text(encoding="utf-8")
    assert page == with_table(page), "run `make docs`"


def test_what_the_readme_says_about_its_first_program(tmp_path: Path) -> None:
    step = FIRST_STEPS[0]
    refused = "Runtime error: Capability not granted: random"
    assert run(step._replace(program=step.program.removeprefix("require random\n")), "first.lang", tmp_path).startswith(refused)
    assert run(step._replace(options="--sandbox"), "first.lang", tmp_path).startswith(refused)
    assert run(step._replace(options="test"), "first.lang", tmp_path).splitlines()[0] == "✓ a coin has two sides"


def test_the_reference_of_the_builtins_is_up_to_date() -> None:
    assert TARGET.read_text(encoding="utf-8") == reference(), "run `make docs`"


def test_every_builtin_is_documented() -> None:
    assert not [name for name, builtin in all_builtins().items() if not builtin.doc]
