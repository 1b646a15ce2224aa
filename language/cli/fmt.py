"""``lang fmt``: the canonical layout, written in place."""

from __future__ import annotations

import os

from language.cli.arguments import FMT, UsageError, clean, parse
from language.cli.program_files import program_files
from language.cli.source import not_utf8, read_source
from language.cli.streams import err, say_line, write_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from language.cli.source import Source


def command(words: Sequence[str]) -> int:
    arguments = parse("fmt", words, FMT)
    paths = arguments.paths + arguments.rest
    if not paths:
        raise UsageError("fmt", "no file or folder given")
    check = arguments.given("--check")
    if "-" in paths:
        if len(paths) > 1:
            raise UsageError("fmt", "'-' stands alone: it is a filter from standard input to standard output")
        return _filter(check)
    return max([_format_file(file, check) for file in program_files(paths, "fmt")])


def _filter(check: bool) -> int:
    source = read_source("-", "fmt")
    formatted = _formatted(source)
    if formatted is None:
        return 1
    if check:
        if formatted != source.data:
            say_line(source.name)
        return int(formatted != source.data)
    write_bytes(formatted)
    return 0


def _format_file(path: str, check: bool) -> int:
    """0; 1 when the file does not parse, cannot be written, or (with ``check``) differs; 2 when it cannot be read."""
    try:
        source = read_source(path, "fmt")
        formatted = _formatted(source)
    except UsageError as error:  # the other files still have their turn
        err(f"lang fmt: {error.message}")
        return 2
    if formatted is None:
        return 1
    if formatted == source.data:
        return 0
    if check:
        say_line(source.name)
        return 1
    try:
        replace_file(path, formatted)
    except OSError as error:
        err(f"lang fmt: cannot write '{clean(path)}': {error.strerror}")
        return 1
    return 0


def _formatted(source: Source) -> bytes | None:
    """The new bytes; ``None`` after telling why there are none."""
    from language.errors import LanguageError
    from language.format import format_source
    from language.syntax.lexer import decode_source

    try:
        text = decode_source(source.data)
    except UnicodeDecodeError:
        raise not_utf8(source.name, "fmt") from None
    try:
        return format_source(text, source.name).encode("utf-8")
    except LanguageError as error:
        err(str(error))
        return None


def replace_file(path: str, data: bytes) -> None:
    """Puts ``data`` in the place of an existing file in one step; a link stays a link, the permissions stay.

    Raises ``OSError``; the file then is as it was.
    """
    real = os.path.realpath(path)
    old = os.stat(real)
    temporary = f"{real}.{os.getpid()}.tmp"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
            if (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
                os.fchown(descriptor, old.st_uid, old.st_gid)
            os.fchmod(descriptor, old.st_mode & 0o7777)
        os.replace(temporary, real)
    except OSError:
        os.unlink(temporary)
        raise
