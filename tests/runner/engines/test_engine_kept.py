"""Where nobody names an engine, a runner stays with the one that has its programs and volumes."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from runner_process import short_folder

from runner.engines import EngineError
from runner.main import Runner
from runner.settings import settings_from
from runner.state import State


def runner(folder: Path, engine: str = "auto") -> Runner:
    return Runner(settings_from({"PLATFORM_RUNNER_TOKEN": "lr_x", "PLATFORM_RUNNER_ENGINE": engine}, data=folder))


def test_a_daemon_that_is_not_up_yet_is_waited_for_and_not_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(folder: Path) -> None:
        assert runner(folder).engine.name == "process", "the best that answers at the first start"
        state = State(folder / "state.json")
        assert state.engine == "process"
        state.engine = "docker"
        state.save()
        with pytest.raises(EngineError, match=r"no Docker daemon answers.*are in the engine docker"):
            runner(folder)
        assert runner(folder, "process").engine.name == "process", "whoever wants it says so"
        assert State(folder / "state.json").engine == "process"

    with short_folder() as folder:
        monkeypatch.setenv("DOCKER_HOST", f"unix://{folder}/no.sock")
        asyncio.run(story(folder))
