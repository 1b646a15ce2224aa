"""The flags that all commands for a platform share."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

Command = Callable[[argparse.Namespace], int]


def parser(name: str, description: str) -> argparse.ArgumentParser:
    """A parser for the arguments of ``lang NAME``. A wrong call ends the process with exit code 2."""
    made = argparse.ArgumentParser(prog=f"lang {name}", description=description, allow_abbrev=False)
    made.add_argument(
        "--url", metavar="URL", help="address of the platform (default: PLATFORM_URL, else that of the last `lang login`)"
    )
    made.add_argument("--json", action="store_true", help="print the answer of the platform as JSON")
    return made


def of_project(made: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Adds ``--project``."""
    made.add_argument(
        "--project", metavar="ID", help="its id, slug or name (default: the project to which this folder was deployed)"
    )
    return made


def read(made: argparse.ArgumentParser, words: Sequence[str]) -> argparse.Namespace:
    """The arguments; flags may stand anywhere."""
    return made.parse_intermixed_args(list(words))
