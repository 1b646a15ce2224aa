"""``lang fmt``: rewrites programs in the canonical layout."""

from __future__ import annotations

import os

from language.cli.arguments import FMT, UsageError, clean, parse
from language.cli.program_files import program_files
from language.cli.source import not_utf8, read_source
from language.cli.streams import err, say, say_line, write_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from language.cli.source import Source

    #: Reports a source that differs from its canonical layout.
    Report = Callable[[Source, bytes], None]


def command(words: Sequence[str]) -> int:
    arguments = parse("fmt", words, FMT)
    paths = arguments.paths + arguments.rest
    if not paths:
        raise UsageError("fmt", "no file or folder given")
    if arguments.given("--check") and arguments.given("--diff"):
        raise UsageError("fmt", "--check and --diff are mutually exclusive; choose one")
    report = _name if arguments.given("--check") else _difference if arguments.given("--diff") else None
    if "-" in paths:
        if len(paths) > 1:
            raise UsageError("fmt", "'-' takes no further files: it formats standard input to standard output")
        return _filter(report)
    return max([_format_file(file, report) for file in program_files(paths, "fmt")])


def _filter(report: Report | None) -> int:
    source = read_source("-", "fmt")
    formatted = _formatted(source)
    if formatted is None:
        return 1
    if report is not None:
        if formatted != source.data:
            report(source, formatted)
        return int(formatted != source.data)
    write_bytes(formatted)
    return 0


def _format_file(path: str, report: Report | None) -> int:
    """The exit code: 0; 1 if the file does not parse, cannot be written, or differs under ``--check`` or ``--diff``; 2 if it
    cannot be read.
    """
    try:
        source = read_source(path, "fmt")
        formatted = _formatted(source)
    except UsageError as error:  # the other files are still formatted
        err(f"lang fmt: {error.message}")
        return 2
    if formatted is None:
        return 1
    if formatted == source.data:
        return 0
    if report is not None:
        report(source, formatted)
        return 1
    try:
        replace_file(path, formatted)
    except OSError as error:
        err(f"lang fmt: cannot write '{clean(path)}': {error.strerror}")
        return 1
    return 0


def _name(source: Source, formatted: bytes) -> None:
    say_line(source.name)


def _difference(source: Source, formatted: bytes) -> None:
    """Prints what the layout changes, as a unified diff."""
    from difflib import unified_diff

    from language.console_text import one_line

    name = one_line(source.name)
    old, new = (data.decode("utf-8", "replace").splitlines() for data in (source.data, formatted))
    say("\n".join(unified_diff(old, new, name, f"{name} (formatted)", lineterm="")))


def _formatted(source: Source) -> bytes | None:
    """The new bytes; ``None`` after an error was printed."""
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
    """Replaces the content of an existing file atomically. A symbolic link stays a link; owner and permissions are kept.

    Raises ``OSError``; the file is then unchanged.
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
