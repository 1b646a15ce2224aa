"""Every section of the benchmarks runs to its end, in the smallest form. Nothing here looks at the figures."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import all as benchmarks

#: What a section starts that is not a dependency of the tests, and its package: without it there is nothing to run.
NEEDS = {"platform": ("wrk", "wrk"), "runner": ("bwrap", "bubblewrap"), "serve": ("wrk", "wrk")}


@pytest.mark.parametrize("name", [name for name in benchmarks.SECTIONS if name != "wasm"])  # tests/wasm has its own
def test_the_section_runs_to_its_end(name: str) -> None:
    needed, package = NEEDS.get(name, ("", ""))
    if needed and shutil.which(needed) is None and os.environ.get("CI") != "true":
        pytest.skip(f"{needed} is not installed (Debian: apt-get install -y {package})")
    command = [sys.executable, str(Path(benchmarks.__file__)), "--step", "--only", name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    title, _ = benchmarks.SECTIONS[name]
    assert f"## {title}" in done.stdout
    assert "is not installed: nothing measured" not in done.stdout


def test_all_sections_are_reported_one_after_the_other() -> None:
    options = ["--step", "--only", "append", "--only", "errors"]
    done = subprocess.run(
        [sys.executable, str(Path(benchmarks.__file__)), *options], capture_output=True, text=True, check=True
    )
    assert done.stdout.index("## Growing values") < done.stdout.index("## Raising and catching")


def test_the_environment_of_the_benchmarks_has_what_they_import() -> None:
    here = Path(__file__).parent
    project = tomllib.loads((here.parent.parent / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    declared = [*project["dependencies"], *extras["bench"], *extras["lsp"], *extras["platform"]]
    assert any(line.startswith("ceiling-lang[lsp,platform") for line in extras["bench"])
    known = {re.split(r"[^A-Za-z0-9_.-]", line)[0].lower() for line in declared} | {
        "language",
        "platform_api",
        "runner",
        "pytest",
    }
    folders = (here, here.parent / "platform_api", here.parent / "runner", here.parent)
    own = {"tests", *(path.stem for folder in folders for path in folder.glob("*.py"))}
    imported = set()
    for path in here.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                imported |= {name.name.partition(".")[0] for name in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                imported.add(node.module.partition(".")[0])
    assert imported - set(sys.stdlib_module_names) - own <= known
