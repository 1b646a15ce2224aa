"""The process engine keeps programs in: what ``containment.py`` tries, each by itself."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.runner.engines.containment import CHECKS, MARKER, Check
from tests.runner.engines.engine_stage import Neighbour, Stage
from tests.runner.engines.linked_service import a_service_answers_and_its_commands_cannot_look_into_it


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    with pytest.MonkeyPatch.context() as environ:
        environ.setenv("RUNNER_KNOWS", MARKER)
        made = Stage("process")
        yield made
        made.close()


@pytest.fixture(scope="module")
def neighbour(stage: Stage) -> Iterator[Neighbour]:
    made = Neighbour(stage, "neighbour")
    yield made
    made.close(stage)


@pytest.mark.parametrize(
    "check", (*CHECKS, a_service_answers_and_its_commands_cannot_look_into_it), ids=lambda check: check.__name__
)
def test_programs_stay_inside(check: Check, stage: Stage, neighbour: Neighbour) -> None:
    check(stage, neighbour)
