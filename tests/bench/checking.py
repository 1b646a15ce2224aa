"""How long a check takes, and how long after a key an editor has the diagnostics, in milliseconds.

    python tests/bench/checking.py [--rounds N] [--keys N]

The check is what ``lang check`` does in a process that has checked before: reading, the tree, every error and warning.
"""

from __future__ import annotations

import argparse

import editor_keys
from compile_speed import LINES, compiler, programs
from machine import description
from timing import interleaved, table

#: Milliseconds: 1,000 lines checked; from a key to its diagnostics.
CHECK_GOAL, KEY_GOAL = 150, 100


def measure(rounds: int, keys: int = 60) -> str:
    """The table: milliseconds to check each program, and from a key to its diagnostics, beside the goals."""
    compiler()  # the repository among the modules
    from language.analysis.checker import check_program
    from language.analysis.problems import problems_of
    from language.compiler.compilation import no_collection
    from language.host.files import GivenFiles
    from language.runtime.modules import BundledSources

    def check(source: str) -> object:
        with no_collection():
            checked = check_program(source, "program.lang", BundledSources({}), GivenFiles({}))
            return problems_of(checked)

    sources = programs()
    sources[f"{LINES:,} lines `let vN be N + 1`"] = "".join(f"let v{n} be {n} + 1\n" for n in range(LINES))
    rows = []
    for name, source in sources.items():
        milliseconds = interleaved({"check": lambda source=source: check(source)}, rounds)["check"].median * 1000  # type: ignore[misc]
        each = milliseconds * 1000 / source.count("\n")
        rows.append([f"check: {name}", f"{milliseconds:.0f}", f"{each:.0f}", f"{CHECK_GOAL}"])
    shown = table(["warm, processor time", "ms", "ms per 1,000 lines", "goal"], rows)
    found = editor_keys.measured(keys)
    waits = [
        ["from a key to its diagnostics, median", f"{found.median:.0f}", f"{KEY_GOAL}"],
        ["from a key to its diagnostics, 95 %", f"{found.late:.0f}", ""],
        ["processor time of the server a key", f"{found.work:.0f}", ""],
    ]
    title = f"`lang lsp`, {found.example}, {found.lines} lines, {keys} keys"
    return f"{shown}\n\n{table([title, 'ms', 'goal'], waits)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--keys", type=int, default=60)
    options = parser.parse_args()
    print(f"{description()}\n\n{measure(options.rounds, options.keys)}")


if __name__ == "__main__":
    main()
