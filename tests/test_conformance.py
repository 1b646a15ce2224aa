"""Every conformance case through the embedding API, with and without limits, and a sample of them through the command."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.cases import Case, Expectation, find, load
from conformance.harness import check, compare
from conformance.profiles import PROFILES, Profile, Result

CASES = [load(path) for path in find()]
SAMPLE_EVERY = 12


def sampled() -> list[Case]:
    """What only the command can run, and every twelfth of the others."""
    return [c for n, c in enumerate(CASES) if c.excluded("embedded") or n % SAMPLE_EVERY == 0]


def hold(case: Case, profile: Profile) -> None:
    reason = case.excluded(profile.build)
    if reason:
        pytest.skip(f"not for the {profile.name} profile: {reason}")
    differences = check(case, profile)
    if case.needs:
        assert differences, f"passes: remove its 'needs' directive ({case.needs})"
        pytest.xfail(f"not in this version, needs {case.needs}")
    assert not differences, "\n".join(differences)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_embedded(case: Case) -> None:
    hold(case, PROFILES["embedded"])


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_metered(case: Case) -> None:
    hold(case, PROFILES["metered"])


@pytest.mark.parametrize("case", sampled(), ids=lambda c: c.name)
def test_command(case: Case) -> None:
    hold(case, PROFILES["native"])


def a_case(text: str, tmp_path: Path) -> Case:
    path = tmp_path / "area" / "case.lang"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return load(path)


def test_the_harness_sees_every_difference(tmp_path: Path) -> None:
    case = a_case('print(1)  -- expect: 1\nlog "x"  -- expect log: x\nraise "no"  -- expect runtime error at 1: no\n', tmp_path)
    right = Result(["1", "[LOG] x"], [], "Runtime error: case.lang:3:1: no", 1)
    assert compare(case, right, log_in_output=True) == []
    assert compare(case, Result(["1"], ["[LOG] x"], right.error, 1), log_in_output=False) == []
    wrong = [
        Result(["2", "[LOG] x"], [], right.error, 1),
        Result(["1", "x"], [], right.error, 1),
        Result(["1"], [], right.error, 1),
        Result(["[LOG] x", "1"], [], right.error, 1),
        Result(["1", "[LOG] x", ""], [], right.error, 1),
        Result(["1", "[LOG] x"], ["more"], right.error, 1),
        Result(["1", "[LOG] x"], [], None, 1),
        Result(["1", "[LOG] x"], [], "Runtime error: no", 1),
        Result(["1", "[LOG] x"], [], "Runtime error: case.lang:3:2: no", 1),
        Result(["1", "[LOG] x"], [], "Runtime error: case.lang:2:1: no", 1),
        Result(["1", "[LOG] x"], [], "Parse error: case.lang:3:1: no", 1),
        Result(["1", "[LOG] x"], [], "Runtime error: case.lang:3:1: no!", 1),
        Result(["1", "[LOG] x"], [], right.error, 0),
    ]
    for result in wrong:
        assert compare(case, result, log_in_output=True), result


def test_like_and_places_in_other_files(tmp_path: Path) -> None:
    case = a_case('use "./m.lang" as m  -- expect runtime error in m.lang at 2:3 like: …key…\n', tmp_path)
    good = "Runtime error: /somewhere/m.lang:2:3: Map has no key 'a'"
    assert compare(case, Result([], [], good, 1), log_in_output=True) == []
    for bad in (good.replace("2:3", "2:4"), good.replace("key", "kez"), good.replace("m.lang", "n.lang")):
        assert compare(case, Result([], [], bad, 1), log_in_output=True)


def test_an_unplaced_error_has_no_place(tmp_path: Path) -> None:
    case = a_case("assert(false)  -- expect runtime error without place: assertion failed\n", tmp_path)
    assert compare(case, Result([], [], "Runtime error: assertion failed", 1), log_in_output=True) == []
    assert compare(case, Result([], [], "Runtime error: case.lang:1:7: assertion failed", 1), log_in_output=True)


def test_an_expected_line_is_exact() -> None:
    want = Expectation("output", "a…", False, 1, None, 1, None, True)
    assert want.matches("a…") and want.matches("a… ") and not want.matches("ab")
