"""What a measurement has as a command of its own."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from machine import description


def measured_alone(text: str | None, measure: Callable[[int], str], rounds: int = 5) -> None:
    """Prints the machine and what ``measure`` gives for the rounds of the command line (``--rounds``, else ``rounds``).

    ``text`` says in ``--help`` what is measured.
    """
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=rounds)
    options = parser.parse_args()
    print(f"{description()}\n\n{measure(options.rounds)}")
