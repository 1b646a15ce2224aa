"""``lang run`` and the bare form: runs one program."""

from __future__ import annotations

from language.cli.arguments import RUN, UsageError, clean, parse
from language.cli.source import not_utf8, read_source
from language.cli.streams import err

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from language.cli.arguments import Arguments


def command(words: Sequence[str]) -> int:
    arguments = parse("run", words, RUN)
    if not arguments.paths:
        raise UsageError("run", "no program given")
    return run_program(arguments)
