"""The files themselves: what they ask of a host, what they offer, how large they are, and their digests."""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import language
from conformance.wasm_builds import WebModule, run_command
from tests.wasm.sections import read
from tests.wasm.web_build import ROOT, wasip1_build, web_build
from wasm_abi.build import interpreter


def test_the_web_build_asks_for_three_functions_and_offers_four_things() -> None:
    module = read(web_build().read_bytes())
    assert sorted(module.imports) == [
        ("platform_host", "host_call", "(i32, i32, i32, i32) -> (i32)"),
        ("platform_host", "host_now_ms", "() -> (f64)"),
        ("platform_host", "host_random_fill", "(i32, i32) -> (i32)"),
    ]
    assert module.exports == {
        "memory": "memory",
        "platform_alloc": "(i32) -> (i32)",
        "platform_call": "(i32, i32) -> (i32)",
        "platform_free": "(i32, i32) -> ()",
    }
    assert not module.has_start
    assert module.memory[1] is None, "the memory may grow as far as the host lets it"


def test_the_command_asks_for_wasi_preview_1_alone() -> None:
    module = read(wasip1_build().read_bytes())
    assert {origin for origin, _, _ in module.imports} == {"wasi_snapshot_preview1"}
    assert module.exports == {"_start": "() -> ()", "memory": "memory"}
    assert not module.has_start


@pytest.mark.parametrize("build", [web_build, wasip1_build])
def test_the_budget(build: Callable[[], Path]) -> None:
    data = build().read_bytes()
    assert len(gzip.compress(data, 9)) <= 5_000_000


@pytest.mark.parametrize("build", [web_build, wasip1_build])
def test_the_digest_beside_each_build(build: Callable[[], Path]) -> None:
    path = build()
    line = path.with_name(path.name + ".sha256").read_text(encoding="ascii")
    assert re.fullmatch(rf"[0-9a-f]{{64}}  {re.escape(path.name)}\n", line)
    assert line[:64] == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("build", [web_build, wasip1_build])
def test_nothing_of_the_machine_that_built_it(build: Callable[[], Path]) -> None:
    data = build().read_bytes()
    for trace in (str(ROOT), str(Path.home()), "lang-web.wasm", "zig-cache"):
        found = data.find(trace.encode())
        assert found < 0, data[max(0, found - 60) : found + 60]


def test_a_build_elsewhere_is_the_same(tmp_path: Path) -> None:
    """From the same sources at another place, in another environment: the same bytes. CPython is taken as it was built."""
    cache = ROOT / ".cache" / "wasm"
    if not (cache / "work").is_dir():
        pytest.skip("the modules were not built here (make wasm)")
    builds = [web_build(), wasip1_build()]
    elsewhere = tmp_path / "another place"
    for folder in ("language", "stdlib", "wasm_abi", ".ci"):
        shutil.copytree(ROOT / folder, elsewhere / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", elsewhere)
    subprocess.run(
        [sys.executable, "-m", "wasm_abi.build", "--cache", cache, "--out", tmp_path / "out"],
        cwd=elsewhere,
        env={**os.environ, "TZ": "Asia/Tokyo", "LC_ALL": "C", "PYTHONHASHSEED": "7", "wrapper": "functools"},
        check=True,
    )
    for path in builds:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        assert (tmp_path / "out" / f"{path.name}.sha256").read_text() == f"{digest}  {path.name}\n", (
            "is dist/ of today's sources?"
        )


def test_the_recorded_answers_of_configure_belong_to_these_sources_and_options() -> None:
    assert interpreter.recorded_key() == interpreter.library_key(), "python -m wasm_abi.build --record makes them anew"


def test_all_builds_have_the_version_of_the_native_command() -> None:
    web_build()
    wasip1_build()
    version = language.version()
    assert WebModule().call({"op": "version"}) == {"version": version}
    assert run_command(["--version"]).stdout == f"lang {version.removeprefix('v')}\n"
