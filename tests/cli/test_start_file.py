"""The file that is installed as ``lang``."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

from command_process import ROOT, SECONDS

from language.release import __version__

#: What a program that finds its compiled form loads of ours, and nothing beside it: each module costs a start its time.
LOADED = {
    "language", "language.cache", "language.capabilities", "language.capabilities.grants", "language.cli",
    "language.cli.arguments", "language.cli.compiled_program", "language.cli.main", "language.cli.run", "language.cli.source",
    "language.cli.streams", "language.code", "language.errors", "language.host", "language.host.regular_file",
    "language.locks", "language.native", "language.native.host", "language.recursion", "language.registry",
    "language.release", "language.runtime", "language.runtime.calls", "language.runtime.context",
    "language.runtime.instance", "language.runtime.intrinsics", "language.runtime.reference_counts",
    "language.runtime.services", "language.values", "language.values.allowance", "language.values.display",
    "language.values.operators", "language.waits", "stdlib", "stdlib.core",
}  # fmt: skip


def test_the_installed_start_file(tmp_path: Path, environment: dict[str, str]) -> None:
    build = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"]["wheel"]
    (source,) = [path for path, name in build["shared-scripts"].items() if name == "lang"]
    script = (ROOT / source).read_bytes()
    assert script.startswith(b"#!python\n")  # what installers replace by the path of their Python
    (tmp_path / "lang").write_bytes(script)
    (tmp_path / "hello.lang").write_text('print("hello")\n', encoding="utf-8")

    def start(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-X", "importtime", "lang", *words]
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
        )

    assert start("--version").stdout == f"lang {__version__}\n"
    start("hello.lang")
    warm = start("hello.lang")
    assert (warm.stdout, warm.returncode) == ("hello\n", 0)
    bare = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", "pass"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=True,
    )
    loaded = modules(warm.stderr) - modules(bare.stderr)
    assert "language.cli.run" in loaded
    assert not loaded & {"re", "typing", "enum", "collections", "functools", "contextlib", "argparse", "importlib.util"}
    assert {name for name in loaded if name.partition(".")[0] in ("language", "stdlib")} == LOADED


def modules(report: str) -> set[str]:
    """What ``-X importtime`` says was imported."""
    return {line.rpartition("|")[2].strip() for line in report.splitlines() if line.startswith("import time:")}
