"""``lang audit verify``: finds lines of a chained audit that were changed, removed or inserted."""

from __future__ import annotations

from contextlib import ExitStack

from language.audit.chain import verify_audit
from language.cli.arguments import NONE, UsageError, clean, parse
from language.cli.streams import err, out
from language.console_text import one_line
from language.host.regular_file import open_given

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import BinaryIO


def command(words: Sequence[str]) -> int:
    """``lang audit`` without ``verify`` asks a platform: see ``platform_api.commands.logs``."""
    files = parse("audit", words[1:], NONE)
    paths = files.paths + files.rest
    if not paths:
        raise UsageError("audit", "verify: no file given")
    return _verify(paths)


def _verify(paths: list[str]) -> int:
    files: list[BinaryIO] = []
    with ExitStack() as stack:
        try:
            for path in paths:
                files.append(stack.enter_context(open(open_given(path), "rb")))
            found = verify_audit(*files)
        except OSError as error:
            name = paths[min(len(files), len(paths) - 1)] if error.filename is None else error.filename
            raise UsageError("audit", f"cannot read '{clean(name)}': {error.strerror}", usage=False) from None
    if found.source is not None:
        err(f"{one_line(clean(paths[found.source]))}:{found.line}: {found.why}")
        return 1
    if not found.lines:
        out("OK: no lines.")
        return 0
    begin = found.first.seq + 1
    out(f"OK: {found.lines} lines, seq {begin} to {found.last.seq}. SHA-256 of the last line: {found.last.sha256}")
    if begin > 1:
        err(f"lang: warning: the first line is a checkpoint: the lines before it, seq 1 to {found.first.seq}, are not checked")
    if not found.complete:
        err("lang: warning: the last line is no summary: the program still runs, was killed, or the end of the file is missing")
    return 0
