"""One server for the tests that only ask it something."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from applications import Paths, serving


@pytest.fixture
def application(tmp_path: Path) -> Paths:
    made = Paths()
    made.folder = tmp_path
    return made


@pytest.fixture
def port(application: Paths) -> Iterator[int]:
    with serving(application) as number:
        yield number
