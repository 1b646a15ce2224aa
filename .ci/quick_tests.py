#!/usr/bin/env python3
"""The tests that belong to changed files: ``quick_tests.py PATH...`` prints files and folders of ``tests``, one per line."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path, PurePosixPath

#: The tests of the architecture and of the core of the language, which always run.
ALWAYS = (
    "tests/test_architecture.py",
    "tests/test_repository.py",
    "tests/test_lock_rules.py",
    "tests/test_conformance.py",
    "tests/values/test_value_semantics.py",
    "tests/values/test_operators.py",
    "tests/runtime/test_reference_counts.py",
)
#: Folders whose tests are not in the folder of the same name.
ELSEWHERE = {
    "language/diagnostics": "tests/errors",
    "language/tracing": "tests/cli/test_run_trace.py",
    "wasm_abi/playground": "tests/wasm/playground",
    "wasm_abi": "tests/wasm",
}
ROOT = Path(__file__).resolve().parent.parent


def tests_of(changed: PurePosixPath) -> set[str]:
    """The tests of one file, from the first of these that is not empty: those with its name; those of its folder that import
    it; those that share the first word of its name; those named after its folder, or that use its package. If all are empty:
    all tests of its folder, and those with its name in other folders of the package. ``tests`` mirrors the tree.
    """
    parts = changed.parts
    for folder, tests in ELSEWHERE.items():
        if changed.is_relative_to(folder):
            return {tests}
    if parts[0] == "tests":
        if changed.name.startswith("test_"):
            return {str(changed)}
        return {str(changed.parent)} if len(parts) > 2 and _has_tests(changed.parent) else set()
    if parts[0] == "docs" or changed.name == "README.md":
        return {"tests/test_docs.py"}
    if parts[0] == "language" and len(parts) > 2:
        parts = parts[1:]
    elif parts[0] not in ("language", "stdlib", "platform_api", "runner", "examples"):
        return set()
    for depth in range(len(parts) - 1, 0, -1):
        folder = PurePosixPath("tests", *parts[:depth])
        if _has_tests(folder):
            own = (
                _named(folder, changed.stem)
                or _importing(folder, changed)
                or _named(folder, changed.stem.split("_")[0].removesuffix("s"))
            )
            if not own and depth < len(parts) - 1:  # only outer folders have tests
                own = _named(folder, parts[-2].removesuffix("s")) or _holding(folder, (f"{'.'.join(changed.parent.parts)}.",))
            if own:
                return _shown(own)
            return _beside(folder) | _shown(_named(PurePosixPath("tests", parts[0], "**"), changed.stem))
    return set()


def _shown(paths: list[Path]) -> set[str]:
    return {str(PurePosixPath(path.relative_to(ROOT))) for path in paths}


def _beside(folder: PurePosixPath) -> set[str]:
    """The tests directly in a folder, without those of inner folders, which belong to other code."""
    return _shown(sorted((ROOT / folder).glob("test_*.py"))) if _folders_of_tests(folder) else {str(folder)}


def _folders_of_tests(folder: PurePosixPath) -> bool:
    return any((ROOT / folder).glob("*/**/test_*.py"))


def _named(folder: PurePosixPath, start: str) -> list[Path]:
    return sorted(ROOT.glob(f"{folder}/test_{start}*.py")) if start else []


def _importing(folder: PurePosixPath, changed: PurePosixPath) -> list[Path]:
    """The test files of a folder that contain the dotted name of a module."""
    if changed.suffix != ".py":
        return []
    package, module = ".".join(changed.parent.parts), changed.stem
    names = (f"{package}.{module} ", f"{package} import {module}\n", f"{package}.{module}\n")
    return _holding(folder, names)


def _holding(folder: PurePosixPath, names: tuple[str, ...]) -> list[Path]:
    return [path for path in sorted((ROOT / folder).rglob("test_*.py")) if any(name in _text(path) for name in names)]


@cache
def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _has_tests(folder: PurePosixPath) -> bool:
    return any((ROOT / folder).glob("**/test_*.py"))


def main(changed: list[str]) -> None:
    found = set(ALWAYS).union(*(tests_of(PurePosixPath(path)) for path in changed))
    folders = {path for path in found if not path.endswith(".py")}
    for path in sorted(found):
        if not any(PurePosixPath(path).is_relative_to(folder) for folder in folders - {path}):
            print(path)


if __name__ == "__main__":
    main(sys.argv[1:])
