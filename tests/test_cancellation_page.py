"""The names on the page about cancellation exist."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "cancellation.md").read_text(encoding="utf-8")
NAMES = sorted(set(re.findall(r"`((?:language|stdlib)(?:\.\w+)+)`", PAGE)))


def test_the_page_names_something_and_is_linked() -> None:
    assert len(NAMES) > 15
    assert "docs/cancellation.md" in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_the_name_exists(name: str) -> None:
    module, _, attribute = name.rpartition(".")
    assert hasattr(importlib.import_module(module), attribute)
