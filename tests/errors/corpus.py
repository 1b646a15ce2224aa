"""The programs of ``cases/`` and what the command shows of their mistakes.

``cases/NAME.lang`` begins with the command that is given it, ``-- $ lang check``; the file's name stands behind the command's
first word, or where the line says ``FILE``. ``cases/NAME.txt`` is all that this shows, output before errors, and then the exit
code. Other files there are what programs load; those have no such first line.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from language.cli.main import main

CASES = Path(__file__).resolve().parent / "cases"
_COMMAND = re.compile(r"-- \$ lang (.+)")
#: What the machine that runs the tests might have set, and what would change what is shown.
_UNSET = ("NO_COLOR", "PLATFORM_DEBUG", "PLATFORM_DEV", "PLATFORM_CONTROL_ADDR", "PLATFORM_AUDIT", "PLATFORM_AUDIT_FILE")


class Case(NamedTuple):
    """One program with a mistake, and the words of the command line that shows it."""

    name: str
    words: list[str]

    @property
    def expected(self) -> Path:
        return CASES / f"{self.name}.txt"


def cases() -> list[Case]:
    """All cases, by their names."""
    found = []
    for path in sorted(CASES.glob("*.lang")):
        command = _COMMAND.match(path.read_text(encoding="utf-8", errors="replace"))
        if command is not None:
            words = shlex.split(command[1])
            if "FILE" not in words:
                words.insert(1, "FILE")
            found.append(Case(path.stem, [path.name if word == "FILE" else word for word in words]))
    return found


def shown(case: Case) -> str:
    """What the command shows, run in this process beside the case's file."""
    return command_shows(case.words, CASES)


def command_shows(words: list[str], folder: Path) -> str:
    """Output, then errors, then the exit code of ``lang WORDS`` run in a folder."""
    with _captured() as streams, _beside(folder):
        code = main(words)
    out, err = streams
    return f"{out}{err}exit code: {code}\n"


@contextmanager
def _beside(folder: Path) -> Iterator[None]:
    before, environment = Path.cwd(), dict(os.environ)
    os.chdir(folder)
    for name in _UNSET:
        os.environ.pop(name, None)
    os.environ["PLATFORM_CACHE"] = "off"
    try:
        yield
    finally:
        os.chdir(before)
        os.environ.clear()
        os.environ.update(environment)


@contextmanager
def _captured() -> Iterator[list[str]]:
    """What is written to the standard descriptors meanwhile: the list holds it afterwards."""
    texts: list[str] = []
    sys.stdout.flush()
    sys.stderr.flush()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        kept = os.dup(1), os.dup(2)
        try:
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            try:
                yield texts
            finally:
                os.dup2(kept[0], 1)
                os.dup2(kept[1], 2)
        finally:
            for descriptor in kept:
                os.close(descriptor)
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read().decode("utf-8"))
