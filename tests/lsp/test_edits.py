"""A short run of the random edits of ``edit_fuzz.py``."""

from __future__ import annotations

import edit_fuzz


def test_a_few_hundred_edits() -> None:
    edit_fuzz.run(300, seed=1)
