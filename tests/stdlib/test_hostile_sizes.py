"""No builtin escapes the limits of a program, whatever the size of its arguments: every one of the registry is tried."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hostile_sizes import CHECKED, LARGE, LINEAR, POLLED, PROBES
from limited_runs import MOST_TIMES, most_bytes

from stdlib import FAMILIES, load_family
from tests import servers

HERE = Path(__file__).resolve().parent
LIMIT_MS = 150
LIMIT_BYTES = 64_000_000

OWN = {
    family: [name for name, builtin in load_family(family).builtins.items() if builtin.alias_of is None] for family in FAMILIES
}


def made_for(probe: str) -> str:
    """The lines that make the large values which a probe names."""
    words = set(re.findall(r"\w+", probe))
    for name in reversed(LARGE):  # some are made of others, which stand before them
        if name in words:
            words |= set(re.findall(r"\w+", LARGE[name]))
    if "one" in words:
        words.add("shared")
    return "".join(made for name, made in LARGE.items() if name in words)


def test_every_builtin_is_in_the_table() -> None:
    names = {name for family in OWN.values() for name in family}
    assert names - set(PROBES) == set(), "each builtin says why no limit is escaped by it"
    assert set(PROBES) - names == set()
    assert {kind for kind, _ in PROBES.values()} == {CHECKED, POLLED, LINEAR}
    assert [name for name, (_, probe) in PROBES.items() if not re.search(rf"\b{name}\(", probe)] == []


@contextmanager
def address(family: str) -> Iterator[str]:
    """Where the server of a family is that has none inside the process."""
    if family != "redis":
        yield ""
        return
    for place in servers.redis():
        yield f'"redis://:p%40ss%20word@{place}/0"'


@pytest.mark.parametrize("family", FAMILIES)
def test_no_builtin_escapes_the_limits(family: str, tmp_path: Path) -> None:
    (tmp_path / "sparse").touch()
    os.truncate(tmp_path / "sparse", 1 << 30)
    with address(family) as place:
        probes = {name: PROBES[name][1].replace("address", place) for name in OWN[family]}
        asked = json.dumps([LIMIT_MS, LIMIT_BYTES, {name: [made_for(probe), probe + "\n"] for name, probe in probes.items()}])
        child = subprocess.run(
            [sys.executable, str(HERE / "limited_runs.py")],
            input=asked, capture_output=True, text=True, timeout=1200, check=True, cwd=tmp_path,
        )  # fmt: skip
    wrong = []
    for name, (limit, errors, begun, seconds, allowed, grown) in json.loads(child.stdout).items():
        if not begun:
            wrong.append(f"{name}: the probe was not begun: {limit} {errors}")
        if seconds > MOST_TIMES * allowed:
            wrong.append(f"{name}: {seconds:.1f} s of processor time with {allowed} s")
        if grown > most_bytes(LIMIT_BYTES):
            wrong.append(f"{name}: {grown // 1_000_000} MB")
        if PROBES[name][0] == CHECKED and not errors:
            wrong.append(f"{name}: did its work, which is said to be refused")
        if any("Parse error" in error or "Undefined" in error or "internal error" in error for error in errors):
            wrong.append(f"{name}: {errors}")
    assert not wrong
