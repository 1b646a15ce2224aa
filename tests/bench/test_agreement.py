"""The benchmark programs compute the same in every language they are written in. Nothing here is timed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import append_scaling
import compile_speed
import constructs
import effects
import errors
import templates
import workloads
from engines import ENGINES, Run, load, load_program


def result_of(engine: str, name: str) -> str:
    run: Run | str = load(engine, name)
    if isinstance(run, str):
        pytest.skip(f"{engine}: {run}")
    return workloads.canonical(run())


@pytest.mark.parametrize("engine", [engine for engine in ENGINES if engine != "python"])
@pytest.mark.parametrize("name", workloads.WORKLOADS)
def test_workloads_agree(name: str, engine: str) -> None:
    assert result_of(engine, name) == result_of("python", name)


@pytest.mark.parametrize("name", workloads.WITH_CLASSES)
def test_the_programs_with_classes_agree(name: str) -> None:
    assert result_of("python", workloads.WITH_CLASSES[name]) == result_of("python", name)


@pytest.mark.parametrize("name", append_scaling.PROGRAMS)
def test_growing_programs_count_what_they_grow(name: str) -> None:
    assert load_program(append_scaling.PROGRAMS[name].replace("{count}", "500"), "grow.lang")() == "500"


@pytest.mark.parametrize("name", errors.PROGRAMS)
def test_every_error_is_caught(name: str) -> None:
    assert load_program(errors.PROGRAMS[name].replace(str(errors.COUNT), "50"), "errors.lang")() == "50"


def test_requests_agree() -> None:
    assert len(effects.requesting_rows(1, 5)) == 1


def test_pages_agree() -> None:
    pytest.importorskip("jinja2", reason="a dependency of the benchmarks alone")
    assert len(templates.rows(1)) == len(templates.PAGES)


@pytest.mark.parametrize("construct", constructs.constructs(), ids=lambda construct: construct["name"])
def test_every_construct_runs_in_both_languages(construct: constructs.Construct) -> None:
    assert load_program(constructs.our_program(construct, construct["ours"], 2), "construct.lang")() == "0"
    assert constructs.python_program(construct, construct["python"], 2)() == 0


def test_the_generated_program_passes_its_own_tests() -> None:
    import language

    answer = language.Program(compile_speed.generated_program(), filename="program.lang").test()
    assert answer["failed"] == 0, answer["lines"]
    assert answer["passed"] == compile_speed.generated_program().count('\ntest "')
