"""The JavaScript wrapper in Node: its own tests, one file each, with Node's test runner."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.wasm.web_build import node, web_build

HERE = Path(__file__).resolve().parent
SECONDS = 300


@pytest.fixture(scope="module")
def trapping(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The module of ``trapping.wat``, assembled."""
    import wasmtime

    path = tmp_path_factory.mktemp("wasm") / "trapping.wasm"
    path.write_bytes(wasmtime.wat2wasm((HERE.parent / "trapping.wat").read_text(encoding="utf-8")))
    return path


@pytest.mark.parametrize("file", sorted(HERE.glob("*.test.js")), ids=lambda path: path.name)
def test_file(file: Path, trapping: Path) -> None:
    done = subprocess.run(
        [node(), "--test", file.name],
        cwd=HERE,
        env={**os.environ, "LANG_WEB_BUILD": str(web_build()), "LANG_TRAPPING": str(trapping)},
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("command", ["node", "bun run", "deno run --allow-read"])
def test_everywhere(command: str) -> None:
    """What runtimes other than Node must do; where they are not installed there is nothing to hold."""
    program, *words = command.split()
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"{program} is not installed")
    done = subprocess.run(
        [found, *words, "everywhere.js", str(web_build())], cwd=HERE, capture_output=True, text=True, timeout=SECONDS
    )
    assert done.returncode == 0 and done.stdout.endswith("done\n"), done.stdout + done.stderr
