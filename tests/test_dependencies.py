"""Every locked dependency installs, without a compiler, on each supported Python and platform.

Alpine Linux runs programs; the tests need a browser, which has no wheel there.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from packaging.markers import Marker
from packaging.tags import Tag, compatible_tags, cpython_tags, mac_platforms
from packaging.utils import parse_wheel_filename

pytestmark = pytest.mark.once

ROOT = Path(__file__).resolve().parent.parent
LOCK = tomllib.loads((ROOT / "uv.lock").read_text(encoding="utf-8"))
PACKAGES: dict[str, dict[str, Any]] = {package["name"]: package for package in LOCK["package"]}

VERSIONS = ((3, 11), (3, 12), (3, 13), (3, 14), (3, 15))

# Debian 12 has glibc 2.36, the oldest macOS with security updates is 14.
PLATFORMS = {
    "linux-x86_64": ("linux", "x86_64", [f"manylinux_2_{minor}_x86_64" for minor in range(36, 4, -1)]),
    "linux-aarch64": ("linux", "aarch64", [f"manylinux_2_{minor}_aarch64" for minor in range(36, 16, -1)]),
    "alpine-x86_64": ("linux", "x86_64", ["musllinux_1_2_x86_64", "musllinux_1_1_x86_64"]),
    "macos-arm64": ("darwin", "arm64", list(mac_platforms((14, 0), "arm64"))),
}

# Wheels name the old glibc tags as well.
OLDER = ("manylinux2014", "manylinux2010", "manylinux1")

#: Without a wheel for the newest Python, but their source needs no compiler.
PURE_SOURCES = {"pyyaml": "its part in C is optional"}


def tags(version: tuple[int, int], platform: str) -> set[Tag]:
    """The tags of the wheels that install there."""
    _, machine, names = PLATFORMS[platform]
    if "manylinux" in names[0]:
        names = names + [f"{old}_{machine}" for old in OLDER]
    interpreter = f"cp{version[0]}{version[1]}"
    return {*cpython_tags(version, [interpreter], names), *compatible_tags(version, interpreter, names)}


def environment(version: tuple[int, int], platform: str) -> dict[str, str]:
    """The environment that markers are evaluated in."""
    system, machine, _ = PLATFORMS[platform]
    dotted = ".".join(map(str, version))
    return {
        "implementation_name": "cpython",
        "implementation_version": f"{dotted}.0",
        "os_name": "posix",
        "platform_machine": machine,
        "platform_python_implementation": "CPython",
        "platform_release": "",
        "platform_system": {"linux": "Linux", "darwin": "Darwin"}[system],
        "platform_version": "",
        "python_full_version": f"{dotted}.0",
        "python_version": dotted,
        "sys_platform": system,
    }


def installed(extras: tuple[str, ...], version: tuple[int, int], platform: str) -> set[str]:
    """The names of the locked packages that an installation with ``extras`` brings along."""
    chosen = environment(version, platform)
    own = next(name for name, package in PACKAGES.items() if package["source"] == {"editable": "."})
    found: set[str] = set()
    waiting: list[tuple[str, tuple[str, ...]]] = [(own, extras)]
    met: set[tuple[str, tuple[str, ...]]] = set()
    while waiting:
        here = waiting.pop()
        if here in met:
            continue
        met.add(here)
        name, wanted = here
        found.add(name)
        package = PACKAGES[name]
        for dependency in (*package.get("dependencies", ()), *optional(package, wanted)):
            if "marker" not in dependency or Marker(dependency["marker"]).evaluate(chosen):
                waiting.append((dependency["name"], tuple(dependency.get("extra", ()))))
    return found - {own}


def optional(package: dict[str, Any], extras: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    for extra in extras:
        yield from package.get("optional-dependencies", {}).get(extra, ())


def has_wheel(name: str, accepted: set[Tag]) -> bool:
    """Whether one of the locked wheels of the package installs where these tags are accepted."""
    for wheel in PACKAGES[name].get("wheels", ()):
        if accepted & parse_wheel_filename(wheel["url"].rpartition("/")[2])[3]:
            return True
    return False


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: f"{version[0]}.{version[1]}")
def test_what_programs_need_has_wheels_everywhere(version: tuple[int, int], platform: str) -> None:
    accepted = tags(version, platform)
    needed = installed(("postgres", "mysql", "redis", "wasm"), version, platform)
    assert {"lark", "psycopg-binary", "wasmtime"} <= needed
    assert not {name for name in needed if not has_wheel(name, accepted)}


@pytest.mark.parametrize("platform", [platform for platform in PLATFORMS if platform != "alpine-x86_64"])
@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: f"{version[0]}.{version[1]}")
def test_what_the_tests_need_installs_everywhere(version: tuple[int, int], platform: str) -> None:
    accepted = tags(version, platform)
    without = {name for name in installed(("dev",), version, platform) if not has_wheel(name, accepted)}
    assert not without - set(PURE_SOURCES)
    assert all("sdist" in PACKAGES[name] for name in without & set(PURE_SOURCES))


def test_a_missing_wheel_is_found() -> None:
    """A check of the check: this package has nothing for 3.15, on any platform."""
    assert has_wheel("quickjs", tags((3, 12), "linux-x86_64"))
    assert not has_wheel("quickjs", tags((3, 15), "linux-x86_64"))
