"""The tools of a build: the C compiler from PyPI, the maker of snapshots from npm, in folders of their own."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from wasm_abi.build.pins import TARGET
from wasm_abi.build.workshop import HERE, BuildFailed, Workshop, key_of, tell

REQUIREMENTS = HERE / "requirements.txt"
PACKAGES = HERE / "npm"


@dataclass(frozen=True, slots=True)
class Tools:
    """``bin`` holds the compiler under names that configure takes: ``wcc``, ``war`` ... and ``ncc`` for this machine.

    ``packages`` holds the Python packages of ``requirements.txt``.
    """

    zig: Path
    bin: Path
    wizer: Path
    packages: Path


def installed(shop: Workshop) -> Tools:
    """The tools, fetched when they are not there: by pip and npm, with the hashes of their lock files."""
    lock = PACKAGES / "package-lock.json"
    folder = shop.folder(f"tools-{key_of(REQUIREMENTS, lock)}")
    packages, modules = folder / "python", folder / "npm"
    if not (folder / "complete").exists():
        tell("installing the tools from PyPI and npm")
        shutil.rmtree(folder)
        folder.mkdir()
        _install_packages(shop, folder, packages)
        _install_modules(shop, modules)
        (folder / "complete").touch()
    zig = packages / "ziglang" / "zig"
    wizer = [path for path in modules.glob("node_modules/@bytecodealliance/wizer-*/wizer") if path.is_file()]
    if len(wizer) != 1:
        raise BuildFailed("npm has no wizer for this system: see wasm_abi/build/npm/package.json")
    return Tools(zig, _wrappers(folder / "bin", zig), wizer[0], packages)


def _install_packages(shop: Workshop, folder: Path, into: Path) -> None:
    # The environment of the project may be one without pip.
    python = getattr(sys, "_base_executable", sys.executable)
    shop.run([python, "-m", "venv", folder / "pip"])
    pip: list[str | Path] = [
        folder / "pip" / "bin" / "python",
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ]
    shop.run([*pip, "--no-deps", "--only-binary", ":all:", "--require-hashes", "--target", into, "-r", REQUIREMENTS])


def _install_modules(shop: Workshop, into: Path) -> None:
    if shutil.which("npm") is None:
        raise BuildFailed("npm was not found: install Node.js (Debian: apt-get install npm)")
    into.mkdir()
    for name in ("package.json", "package-lock.json"):
        shutil.copy(PACKAGES / name, into)
    shop.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], cwd=into)


def _wrappers(folder: Path, zig: Path) -> Path:
    # There are no threads: CPython must take its own stubs for them, and not the C library's.
    no_threads = 'for word in "$@"; do [ "$word" = -lpthread ] && exit 1; done\n'
    scripts = {
        "wcc": f'{no_threads}exec "{zig}" cc -target {TARGET} "$@"',
        "wcxx": f'exec "{zig}" c++ -target {TARGET} "$@"',
        "war": f'exec "{zig}" ar "$@"',
        "wranlib": f'exec "{zig}" ranlib "$@"',
        "ncc": f'exec "{zig}" cc "$@"',
        "ncxx": f'exec "{zig}" c++ "$@"',
    }
    folder.mkdir(exist_ok=True)
    for name, text in scripts.items():
        script = folder / name
        script.write_text(f"#!/bin/sh\n{text}\n")
        script.chmod(0o755)
    return folder
