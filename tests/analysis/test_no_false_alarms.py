"""The check says nothing wrong of any program of the repository: examples, cases of the conformance tests, pages."""

from __future__ import annotations

import os
from pathlib import Path

import manual
import pytest

from conformance import cases
from language.analysis.checker import check_program
from language.analysis.problems import Problems, problems_of
from language.runtime.modules import BundledSources, Sources

pytestmark = pytest.mark.once

ROOT = Path(__file__).resolve().parents[2]

#: Programs whose last line is to fail, and pages that show lines alone: what is told of them is true.
MEANT = {
    "capabilities.md": {"W0104"},
}


def found(source: str, name: str, sources: Sources) -> Problems:
    return problems_of(check_program(source, name, sources))


def shown(problems: Problems) -> list[str]:
    return [f"{at} ({at.code})" for at in (*problems.errors, *problems.warnings)]


def test_examples_have_no_problem_at_all() -> None:
    paths = sorted((ROOT / "examples").rglob("*.lang"))
    assert len(paths) > 20
    told = {}
    modules: set[str] = set()
    for path in paths:
        checked = check_program(path.read_text(encoding="utf-8"), str(path), Sources(str(path.parent)))
        modules.update(checked.units)
        told[os.path.realpath(path)] = shown(problems_of(checked))
    assert {path: alarms for path, alarms in told.items() if alarms and path not in modules} == {}


def test_cases_that_run_well_have_no_error() -> None:
    told = {}
    walked = 0
    for path in cases.find():
        case = cases.load(path)
        if case.error is not None or case.expected_exit or case.needs or b"\r" in case.data:
            continue
        files = {name: data.decode("utf-8", "replace") for name, data in case.files.items()}
        source = case.data.decode("utf-8", "replace")
        problems = found(source, path.name, BundledSources(files))
        walked += 1
        if problems.faults:
            told[case.name] = shown(problems)
    assert walked > 250
    assert told == {}


def test_programs_on_pages_have_no_problem() -> None:
    told = {}
    walked = 0
    for page in manual.pages():
        for step in manual.steps(page):
            if step.program is None or step.program.block.language != "lang" or "error: " in (step.output or ""):
                continue
            files = {str(block.file): block.text for block in step.program.files}
            problems = found(step.program.block.text, "page.lang", BundledSources(files))
            codes = {problem.code for problem in (*problems.faults, *problems.warnings)} - {"W0105"}
            walked += 1
            if codes - MEANT.get(page.name, set()):
                told[step.place] = shown(problems)
    assert walked > 25
    assert told == {}
