"""The settings of a runner: what is given, and errors that name the setting; and the file that outlives it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runner.settings import LONGEST_FOLDER, settings_from
from runner.state import KeptProject, KeptStart, State

TOKEN = {"PLATFORM_RUNNER_TOKEN": "lr_abc"}


def test_defaults_fit_a_service_on_this_machine() -> None:
    made = settings_from(TOKEN)
    assert (made.service, made.base_url, made.id, made.engine) == ("http://127.0.0.1:8787",) * 2 + ("runner", "auto")
    assert made.capacity_mb > 0
    assert "lr_abc" not in repr(made)
    patience = settings_from({**TOKEN, "PLATFORM_RUNNER_IDLE_SECONDS": "20", "PLATFORM_RUNNER_PAUSED_SECONDS": "0.5"}).patience
    assert (made.patience.idle, made.patience.paused, patience.idle, patience.paused) == (None, None, 20, 0.5)


def test_the_command_line_is_over_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("lr_file\n")
    environment = {"PLATFORM_RUNNER_TOKEN": "lr_abc", "PLATFORM_SERVICE_URL": "https://one.example/"}
    made = settings_from(environment, token_file=file, service="https://two.example/", capacity_mb="100", id=None)
    assert (made.token, made.service, made.capacity_mb) == ("lr_file", "https://two.example", 100)


@pytest.mark.parametrize(
    ("environment", "given", "named"),
    [
        ({}, {}, "--token-file"),
        ({"PLATFORM_RUNNER_TOKEN": "abc"}, {}, "PLATFORM_RUNNER_TOKEN"),
        ({"PLATFORM_RUNNER_TOKEN_FILE": "/does/not/exist"}, {}, "--token-file"),
        (TOKEN, {"service": "ftp://x"}, "--service"),
        (TOKEN, {"service": "http://x:no"}, "--service"),
        (TOKEN, {"service": "http://service.example"}, "--service"),
        (TOKEN, {"service": "http://192.0.2.7"}, "--service"),
        (TOKEN, {"base_url": "x"}, "--base-url"),
        (TOKEN, {"id": "One"}, "--id"),
        ({**TOKEN, "PLATFORM_RUNNER_ENGINE": "podman"}, {}, "--engine"),
        (TOKEN, {"capacity_mb": "much"}, "--capacity-mb"),
        ({**TOKEN, "PLATFORM_RUNNER_IDLE_SECONDS": "0"}, {}, "PLATFORM_RUNNER_IDLE_SECONDS"),
        ({**TOKEN, "PLATFORM_RUNNER_PAUSED_SECONDS": "1e3"}, {}, "PLATFORM_RUNNER_PAUSED_SECONDS"),
        (TOKEN, {"data": "/" + "x" * LONGEST_FOLDER}, "--data"),
    ],
)
def test_an_error_names_the_setting(environment: dict[str, str], given: dict[str, object], named: str) -> None:
    with pytest.raises(ValueError, match=named) as error:
        settings_from(environment, **given)
    assert "lr_abc" not in str(error.value)


def test_sockets_of_projects_fit_below_the_longest_folder() -> None:
    import socket
    import tempfile

    with tempfile.TemporaryDirectory(prefix="s") as short:
        folder = Path(short) / ("x" * (LONGEST_FOLDER - len(short) - 1))
        (folder / "sockets").mkdir(parents=True)
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(os.fspath(folder / "sockets" / f"prj_{'0' * 26}.sock"))


def test_what_is_kept_comes_back_and_nobody_else_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    state = State(path)
    state.projects["prj_1"] = KeptProject(good="dep_1", sleeps="dep_1", settled=3)
    state.starts["s1"] = KeptStart(
        project="prj_1",
        deploy="dep_1",
        generation=3,
        kind="web",
        ceiling="stdout",
        gates={"g": {"kind": "ask"}},
        position=[1, 2],
    )
    state.began("run_1", 2)
    again = State(path)
    assert (again.instance, again.projects, again.starts, again.begun) == (
        state.instance,
        state.projects,
        state.starts,
        {"run_1": 2},
    )
    assert path.stat().st_mode & 0o077 == 0 and list(tmp_path.iterdir()) == [path]


def test_a_file_that_is_no_state_is_named(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.write_text('{"instance": ')
    with pytest.raises(ValueError, match=str(path)):
        State(path)
