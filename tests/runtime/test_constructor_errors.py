"""A constructor's error tells of its own declaration, whatever other programs run in the process."""

from __future__ import annotations

import pytest

import language

TWO = "type P\n    x: a\n    y: b\nP(1)\n"
THREE = "type P\n    x: a\n    y: b\n    z: c\nP(1)\n"
VARIANT = "enum E\n    v(a, b)\nE.v()\n"


@pytest.mark.parametrize("limits", [None, {"steps": 1000}])
def test_programs_of_one_name_do_not_mix(limits: dict[str, int] | None) -> None:
    kept = [language.Program(source, filename="p.lang", limits=limits) for source in (TWO, THREE, VARIANT)]
    for _ in range(2):
        errors = [program.run()["errors"] for program in kept]
        assert errors == [
            ["Runtime error: p.lang:1:1: Type P expects 2 fields, got 1"],
            ["Runtime error: p.lang:1:1: Type P expects 3 fields, got 1"],
            ["Runtime error: p.lang:1:1: variant E.v expects 2 fields, got 0"],
        ]
