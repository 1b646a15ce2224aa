"""The flags that the commands share."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

Command = Callable[[argparse.Namespace], int]


def parser(name: str, description: str) -> argparse.ArgumentParser:
    """A reader of the arguments of ``lang NAME``. A wrong call ends the process with 2."""
    made = argparse.ArgumentParser(prog=f"lang {name}", description=description, allow_abbrev=False)
    made.add_argument("--url", metavar="URL", help="the service (default: PLATFORM_URL, else that of the last `lang login`)")
    made.add_argument("--json", action="store_true", help="write the answer of the service as JSON")
    return made


def of_project(made: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Adds ``--project``."""
    made.add_argument("--project", metavar="ID", help="id, slug or name (default: the project this folder was deployed to)")
    return made


def read(made: argparse.ArgumentParser, words: Sequence[str]) -> argparse.Namespace:
    """The arguments; flags may stand anywhere."""
    return made.parse_intermixed_args(list(words))
