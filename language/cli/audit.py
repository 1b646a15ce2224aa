"""``lang audit verify``: whether any line of a chained audit was changed, taken out or put in."""

from __future__ import annotations

from language.audit.chain import START, follow
from language.cli.arguments import NONE, UsageError, clean, parse
from language.cli.streams import err, out

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: Longer than any record: whoever has the file checked decides how much memory that takes.
LONGEST_LINE = 16 * 1024 * 1024


def command(words: Sequence[str]) -> int:
    if not words or words[0] != "verify":
        if words and not words[0].startswith("-"):
            raise UsageError("audit", f"unknown command '{clean(words[0])}'")
        err("lang audit: only 'verify' is in this version; the audit of the platform is not")
        return 1
    files = parse("audit", words[1:], NONE)
    paths = files.paths + files.rest
    if not paths:
        raise UsageError("audit", "verify: no file given")
    return _verify(paths)


def _verify(paths: list[str]) -> int:
    link = START
    first: int | None = None
    ended = False
    for path in paths:
        try:
            for number, line in _lines(path):
                problem, link = follow(line, link)
                if problem is not None:
                    err(f"{clean(path)}:{number}: {problem}")
                    return 1
                first = link[0] if first is None else first
                ended = line.startswith(b'{"summary"')
        except OSError as error:
            raise UsageError("audit", f"cannot read '{clean(path)}': {error.strerror}", usage=False) from None
    if first is None:
        out("OK: no lines.")
        return 0
    out(f"OK: {link[0]} lines, seq 1 to {link[0]}. SHA-256 of the last line: {link[1]}")
    if not ended:
        err("lang: warning: the last line is no summary: the program still runs, was killed, or the end was cut off")
    return 0


def _lines(path: str) -> Iterator[tuple[int, bytes]]:
    with open(path, "rb") as file:
        number = 0
        while line := file.readline(LONGEST_LINE):
            number += 1
            yield number, line
