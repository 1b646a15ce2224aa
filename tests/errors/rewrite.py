"""``python -m tests.errors.rewrite [NAME ...]``: writes what the command shows now into ``cases/``. Read the difference."""

from __future__ import annotations

import sys

from tests.errors.corpus import cases, shown


def rewrite(names: list[str]) -> None:
    for case in cases():
        if not names or case.name in names:
            case.expected.write_text(shown(case), encoding="utf-8")


if __name__ == "__main__":
    rewrite(sys.argv[1:])
