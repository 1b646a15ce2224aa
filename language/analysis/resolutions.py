"""The names of each file of a checked program, resolved as the compiler resolves them."""

from __future__ import annotations

from language.analysis.checker import Checked
from language.compiler.compilation import COMPILER_DEPTH
from language.compiler.resolution import Resolution
from language.compiler.resolver import resolve
from language.recursion import deep_recursion


def resolutions_of(checked: Checked) -> dict[str, Resolution]:
    """The resolution of each file by its key in ``checked.units``, made once and kept there."""
    missing = [key for key in checked.units if key not in checked.resolutions]
    if missing:
        with deep_recursion(COMPILER_DEPTH):
            for key in missing:
                program = checked.units[key].program
                checked.resolutions[key] = resolve(program, module=bool(key), with_tests=True)
    return checked.resolutions
