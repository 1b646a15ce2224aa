"""The built artifacts that these tests run, and Node where they run one of them."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from tests.servers import missing

ROOT = Path(__file__).resolve().parents[2]
WEB_BUILD = ROOT / "dist" / "lang-web.wasm"
WASIP1_BUILD = ROOT / "dist" / "lang-wasip1.wasm"


def web_build() -> Path:
    """The path of the web build. Not built, it skips its tests; in continuous integration it fails them."""
    return _built(WEB_BUILD)


def wasip1_build() -> Path:
    """The path of the wasip1 build, as :func:`web_build`."""
    return _built(WASIP1_BUILD)


def _built(path: Path) -> Path:
    if not path.is_file():
        message = f"dist/{path.name} is not built (make wasm)"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    return path


def await_builds() -> None:
    """Returns when nobody makes the builds: at once, unless ``LANG_TESTS_MODULES`` names the file that ``.ci/test`` writes
    when it has made them. That file's folder is there as long as somebody may write it."""
    ended = os.environ.get("LANG_TESTS_MODULES")
    while ended and Path(ended).parent.is_dir() and not Path(ended).exists():
        time.sleep(0.2)


def node() -> str:
    """The command ``node``."""
    found = shutil.which("node")
    if found is None:
        missing("Node", "nodejs")
        raise AssertionError
    return found
