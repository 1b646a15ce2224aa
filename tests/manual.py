"""What the pages of the manual show, taken out of them so that it can be run.

The words after the language of a fence say how:

- ``lang`` or ``python``, with the ``output`` that follows: a program and what it prints, errors and notices included. Words
  that begin with ``--`` are flags of ``lang run``, ``NAME=value`` is its environment;
- ``lang test``: its test blocks are run, and the ``output`` is theirs, also where one fails. The test blocks of all other
  programs must pass, whatever the words say;
- ``lang serve``: what follows, up to the next such program, speaks with it, on the port that stands in it;
- ``lang check``: needs something that a test has not got; it must pass ``lang check``;
- ``console``: commands after ``$``, ``curl`` alone, and below each what it prints;
- ``console platform``: commands for a platform, which ``tests/runner/test_first_deploy.py`` or the page's own test runs;
- any language with ``file=NAME``: a file that lies beside the next program, or the next that is served;
- other languages are shown and not run.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
README = ROOT / "README.md"

_BLOCK = re.compile(r"^```(\S*)(?: ([^\n]*))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_ENVIRONMENT = re.compile(r"[A-Z][A-Z0-9_]*=.*")
_PORT = re.compile(r"^serve on (\d+)$", re.MULTILINE)
_RUN = ("lang", "python")


class Block(NamedTuple):
    """One fenced block. ``words`` are those behind its language."""

    place: str
    language: str
    words: tuple[str, ...]
    text: str

    @property
    def environment(self) -> dict[str, str]:
        return dict(word.split("=", 1) for word in self.words if _ENVIRONMENT.fullmatch(word))

    @property
    def flags(self) -> list[str]:
        return [word for word in self.words if word.startswith("--")]

    @property
    def file(self) -> str | None:
        """The name of the file that it is."""
        return next((word.removeprefix("file=") for word in self.words if word.startswith("file=")), None)


class Program(NamedTuple):
    """A block that is run, with the files beside it."""

    block: Block
    files: tuple[Block, ...]

    @property
    def port(self) -> int:
        """Where it serves."""
        ports = _PORT.findall(self.block.text)
        assert len(ports) == 1, f"{self.block.place}: a program that is served names one port, as a number"
        return int(ports[0])


class Step(NamedTuple):
    """What is to be done and what must come out: ``program`` prints ``output``, or ``commands`` print theirs; ``server`` is the
    program that they speak with. Of a program that is served or only checked there is no ``output``.
    """

    place: str
    program: Program | None
    output: str | None
    commands: tuple[tuple[list[str], str], ...]
    server: Program | None


def pages() -> list[Path]:
    """The pages whose programs are run."""
    return [README, *sorted(DOCS.glob("*.md"))]


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page."""
    text = page.read_text(encoding="utf-8")
    found = []
    for match in _BLOCK.finditer(text):
        place = f"{page.name}:{text.count(chr(10), 0, match.start()) + 1}"
        found.append(Block(place, match[1], tuple(shlex.split(match[2] or "")), match[3]))
    assert 2 * len(found) == len(re.findall("^```", text, re.MULTILINE)), f"{page.name}: a fence is not closed"
    return found


def steps(page: Path) -> list[Step]:
    """What a page shows, in order. Fails for a block of which is not clear how it is to be run."""
    found: list[Step] = []
    files: tuple[Block, ...] = ()
    waiting: Program | None = None
    server: Program | None = None
    for block in blocks(page):
        assert block.language, f"{block.place}: a block without a language"
        if block.language == "output":
            assert waiting is not None, f"{block.place}: an output without a program"
            found.append(Step(waiting.block.place, waiting, block.text, (), server))
            waiting = None
        elif block.file is not None:
            files += (block,)
        elif block.language == "console" and "platform" not in block.words:
            assert server is not None, f"{block.place}: commands without a program that is served"
            found.append(Step(block.place, None, None, tuple(_curls(block)), server))
        elif block.language in _RUN:
            assert waiting is None, f"{block.place}: the program above shows no output"
            program, files = Program(block, files), ()
            if block.words[:1] in (("serve",), ("check",)):
                server = program if block.words[0] == "serve" else server
                found.append(Step(block.place, program, None, (), None))
            else:
                waiting = program
    assert waiting is None, f"{waiting.block.place}: the program shows no output"
    assert not files, f"{files[0].place}: a file without a program"
    return found


def commands(block: Block) -> list[tuple[str, str]]:
    """The commands of a block, each with what stands below it."""
    first, *parts = re.split(r"^\$ ", block.text, flags=re.MULTILINE)
    assert not first and parts, f"{block.place}: begins with no command"
    found = []
    for part in parts:
        command, _, output = part.partition("\n")
        while command.endswith("\\"):
            line, _, output = output.partition("\n")
            command = command.removesuffix("\\") + line
        found.append((command, output))
    return found


def _curls(block: Block) -> list[tuple[list[str], str]]:
    found = [(shlex.split(command), output) for command, output in commands(block)]
    assert all(words[0] == "curl" for words, _ in found), f"{block.place}: a command other than curl"
    return found
