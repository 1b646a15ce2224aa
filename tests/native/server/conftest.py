"""One server for the tests that only ask it something."""

from __future__ import annotations

import selectors
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import applications
from applications import Paths, serving

KINDS = {"best": None, "poll": selectors.PollSelector}


@pytest.fixture
def application(tmp_path: Path) -> Paths:
    made = Paths()
    made.folder = tmp_path
    return made


@pytest.fixture
def port(application: Paths) -> Iterator[int]:
    with serving(application) as number:
        yield number


@pytest.fixture(params=KINDS.keys())
def every_selector(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test runs with what waits for sockets on other systems, too."""
    monkeypatch.setattr(applications, "selector", KINDS[request.param])
