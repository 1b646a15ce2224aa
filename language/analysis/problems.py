"""All that is wrong with a checked program: the one analysis behind ``lang check``, embedding, the service and editors."""

from __future__ import annotations

from dataclasses import dataclass

from language.analysis.checker import Checked
from language.analysis.dead_code import dead_code_of
from language.analysis.dropped_values import dropped_values_of
from language.analysis.faults import faults_of
from language.analysis.hidden_names import made_on_one_way
from language.analysis.manifest import Problem
from language.analysis.meanings import Meanings
from language.analysis.pattern_faults import pattern_warnings
from language.analysis.repeated import repeated_of
from language.analysis.service_faults import service_warnings
from language.analysis.shown_texts import shown_texts_of
from language.analysis.unused import unused_of
from language.analysis.warnings import warnings_of
from language.diagnostics.fields import help_of
from language.errors import LanguageError


@dataclass(frozen=True, slots=True)
class Problems:
    """What was found.

    ``refusals`` stop the program before its first statement. ``faults`` surely fail where they are reached, which may be
    never. ``warnings`` are suspicious. Each is in the order of the files and of their lines.
    """

    refusals: tuple[Problem, ...]
    faults: tuple[Problem, ...]
    warnings: tuple[Problem, ...]

    @property
    def errors(self) -> tuple[Problem, ...]:
        """What ``lang check`` calls errors: the refusals and the faults."""
        return tuple(sorted((*self.refusals, *self.faults), key=_place)) if self.faults else self.refusals


def problems_of(checked: Checked, *, deployed: bool = False) -> Problems:
    """Everything that is found without running the program.

    ``deployed``: it is to run under a ceiling that is made of its ``require`` lines, as on the platform.
    """
    refusals = tuple(problem_of(error) for error in checked.errors)
    meanings = Meanings(checked)
    found = faults_of(checked, meanings)
    warnings = [problem for problem in found if problem.kind == "warning"]
    warnings += warnings_of(checked, deployed=deployed)
    warnings += dead_code_of(meanings)
    warnings += dropped_values_of(meanings)
    warnings += shown_texts_of(meanings)
    warnings += pattern_warnings(meanings)
    warnings += made_on_one_way(meanings)
    warnings += repeated_of(meanings)
    warnings += service_warnings(meanings)
    warnings += unused_of(checked, meanings)
    order = {unit.file: number for number, unit in enumerate(checked.units.values())}
    warnings.sort(key=lambda problem: (order.get(problem.file, 0), problem.line, problem.column))
    refused = {(problem.file, problem.line, problem.column) for problem in refusals}
    faults = (problem for problem in found if problem.kind != "warning")
    return Problems(
        refusals,
        tuple(problem for problem in faults if (problem.file, problem.line, problem.column) not in refused),
        tuple(warnings),
    )


def problem_of(error: LanguageError) -> Problem:
    """An error as a problem."""
    return Problem(
        *(error.file, error.line, error.column, error.message, error.kind, error.code),
        *(error.end_line, error.end_column, help_of(error)),
    )


def _place(problem: Problem) -> tuple[str, int, int]:
    return problem.file, problem.line, problem.column
