"""The built artifacts that these tests run, and Node where they run one of them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.servers import missing

ROOT = Path(__file__).resolve().parents[2]
WEB_BUILD = ROOT / "dist" / "lang-web.wasm"


def web_build() -> Path:
    """The path of the web build. Not built, it skips its tests; where it was to be built (``LANG_WASM=1``) it fails them."""
    if not WEB_BUILD.is_file():
        message = "dist/lang-web.wasm is not built (make wasm)"
        if os.environ.get("LANG_WASM") == "1":
            pytest.fail(message)
        pytest.skip(message)
    return WEB_BUILD


def node() -> str:
    """The command ``node``."""
    found = shutil.which("node")
    if found is None:
        missing("Node", "nodejs")
        raise AssertionError
    return found
