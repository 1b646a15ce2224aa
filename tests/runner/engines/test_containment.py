"""The process engine keeps programs in: what ``containment.py`` tries, each by itself."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from runner.engines.process import RunningProcess
from tests.runner.engines.containment import CHECKS, MARKER, Check
from tests.runner.engines.engine_stage import Neighbour, Stage
from tests.runner.engines.linked_service import (
    a_process_beside_a_service_has_no_network,
    a_service_answers_and_its_commands_cannot_look_into_it,
)


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


SERVED = (a_service_answers_and_its_commands_cannot_look_into_it, a_process_beside_a_service_has_no_network)


@pytest.mark.parametrize("check", (*CHECKS, *SERVED), ids=lambda check: check.__name__)
def test_programs_stay_inside(check: Check, stage: Stage, neighbour: Neighbour) -> None:
    check(stage, neighbour)


def test_a_paused_program_that_somebody_ends_can_be_removed(stage: Stage) -> None:
    program = stage.program("paused", "deaf")
    running = stage.start(program)
    assert isinstance(running, RunningProcess) and stage.first_line(running) == "deaf"
    stage.run(running.pause())
    group = running._group
    assert group is not None
    for process in group.processes():
        os.kill(process, signal.SIGKILL)
    group.freeze(False)  # under version 1 of control groups nothing ends before
    assert stage.run(running.wait()).reason == "killed"
    stage.run(running.remove())
    assert stage.left_of(program) == []
