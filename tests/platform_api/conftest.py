"""A running service for every test: uvicorn, SQLite files of its own, and clients that speak HTTP to it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from platform_service import Service


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    """A service with no accounts, on a free port."""
    with Service(tmp_path / "data") as running:
        yield running
