from __future__ import annotations

from pathlib import Path

import pytest
from site_of import Site


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    """A folder ``app`` for a program; the working directory is another one."""
    elsewhere = tmp_path / "elsewhere"
    app = tmp_path / "app"
    elsewhere.mkdir()
    app.mkdir()
    monkeypatch.chdir(elsewhere)
    return Site(app)
