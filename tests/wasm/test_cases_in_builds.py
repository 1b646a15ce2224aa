"""The whole conformance suite in both builds, under wasmtime. What is left out, and why, stands in docs/conformance.md."""

from __future__ import annotations

import pytest

from conformance.cases import Case, find, load
from conformance.harness import check
from conformance.profiles import PROFILES
from tests.wasm.web_build import wasip1_build, web_build

CASES = [load(path) for path in find()]


def of_build(build: str) -> list[Case]:
    return [case for case in CASES if not case.excluded(build) and not case.needs]


@pytest.mark.parametrize("case", of_build("web"), ids=lambda case: case.name)
def test_web(case: Case) -> None:
    web_build()
    assert not check(case, PROFILES["web"])


@pytest.mark.parametrize("case", of_build("wasip1"), ids=lambda case: case.name)
def test_wasip1(case: Case) -> None:
    wasip1_build()
    assert not check(case, PROFILES["wasip1"])
