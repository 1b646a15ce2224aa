"""The rules for the files of a package: paths, encodings, sizes. Pure functions."""

from __future__ import annotations

import base64
import binascii
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from platform_api.packages.package import PackageFile
from platform_api.refusals import Refusal

MOST_FILES = 2_000
LARGEST_FILE = 5 * 1024 * 1024
LARGEST_PACKAGE = 20 * 1024 * 1024
#: In characters.
LONGEST_PATH = 240
#: In bytes of UTF-8, the limit of file systems.
LONGEST_PART = 255
LARGEST_SOURCE = 512 * 1024
LARGEST_SOURCES = 2 * 1024 * 1024
EXTENSION = ".lang"
MANIFEST = "lang.toml"


@dataclass(frozen=True, slots=True)
class SentFile:
    """A file as a request sends it."""

    path: str
    content: str
    encoding: str = "utf8"


def decode_files(sent: Sequence[SentFile]) -> tuple[PackageFile, ...]:
    """The files of a request, sorted by path.

    Errors: ``validation`` that names the path at fault.
    """
    if len(sent) > MOST_FILES:
        raise _refused(f"A package has at most {MOST_FILES:,} files, this one has {len(sent):,}.")
    return check_files(PackageFile(file.path, _decoded(file), file.encoding) for file in sent)


def check_files(files: Iterable[PackageFile]) -> tuple[PackageFile, ...]:
    """The files sorted by path, if they are a valid package.

    Errors: ``validation`` that names the path at fault.
    """
    found = sorted(files, key=lambda file: file.path)
    if not found:
        raise _refused("A package has at least one file.")
    if len(found) > MOST_FILES:
        raise _refused(f"A package has at most {MOST_FILES:,} files, this one has {len(found):,}.")
    taken: dict[str, str] = {}
    total = sources = 0
    for file in found:
        if why := path_problem(file.path):
            raise _refused(f"The path {shown(file.path)} {why}.")
        folded = fold(file.path)
        if folded in taken:
            other = taken[folded]
            twice = "is there twice" if other == file.path else f"differs from {shown(other)} in case alone"
            raise _refused(f"The path {shown(file.path)} {twice}.")
        taken[folded] = file.path
        size = len(file.content)
        if size > LARGEST_FILE:
            raise _refused(f"{shown(file.path)} has {size:,} bytes; a file has at most {LARGEST_FILE:,}.")
        if is_source(file.path):
            sources += size
            if size > LARGEST_SOURCE:
                raise _refused(f"{shown(file.path)} has {size:,} bytes; a source file has at most {LARGEST_SOURCE:,}.")
        total += size
    if total > LARGEST_PACKAGE:
        raise _refused(f"The files have {total:,} bytes; a package has at most {LARGEST_PACKAGE:,}.")
    if sources > LARGEST_SOURCES:
        raise _refused(f"The source files have {sources:,} bytes; all of a package have at most {LARGEST_SOURCES:,}.")
    for folded, path in taken.items():
        folder = folded.rpartition("/")[0]
        while folder:
            if folder in taken:
                raise _refused(f"{shown(taken[folder])} is a file, and {shown(path)} lies in a folder of that name.")
            folder = folder.rpartition("/")[0]
    return tuple(found)


def path_problem(path: str) -> str:
    """What is wrong with a path, as the end of a sentence; empty for a valid one."""
    if not path:
        return "is empty"
    if len(path) > LONGEST_PATH:
        return f"has {len(path):,} characters: at most {LONGEST_PATH} are allowed"
    for character in path:
        kind = unicodedata.category(character)
        if kind in ("Cc", "Cs", "Zl", "Zp"):
            return "has a control character in it"
    if "\\" in path:
        return "has a backslash in it: folders are separated with /"
    if path.startswith("/"):
        return "is not relative"
    if unicodedata.normalize("NFC", path) != path:
        return "is not in the Unicode normal form NFC"
    for part in path.split("/"):
        if part in ("", ".", ".."):
            return f"has {shown(part)} as a part: it must be plain names with / between them"
        if len(part.encode()) > LONGEST_PART:
            return f"has a name of more than {LONGEST_PART} bytes in it"
    return ""


def fold(path: str) -> str:
    """What two paths have in common that differ in case alone."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", path).casefold())


def is_source(path: str) -> bool:
    """Whether a file is a source file of the language or the manifest, which the analysis reads."""
    return path.endswith(EXTENSION) or path == MANIFEST


def guess_encoding(content: bytes) -> str:
    """The encoding for a file that was not sent as JSON: ``utf8`` if it is valid UTF-8, else ``base64``."""
    try:
        content.decode()
    except UnicodeDecodeError:
        return "base64"
    return "utf8"


def replace_source(files: Sequence[PackageFile], path: str, source: str) -> tuple[PackageFile, ...]:
    """The files with another text at a path, which need not have been there."""
    others = [file for file in files if file.path != path]
    return check_files([*others, PackageFile(path, encode_source(path, source))])


def encode_source(path: str, text: str) -> bytes:
    """The bytes of a text.

    Errors: ``validation`` for one that cannot be written in UTF-8.
    """
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise _refused(f"{shown(path)} is not valid UTF-8.") from None


def shown(path: str) -> str:
    """A path in a message: quoted, on one line, not too long."""
    text = path if len(path) <= 100 else path[:99] + "…"
    return "'" + "".join(each if each.isprintable() else f"\\u{{{ord(each):x}}}" for each in text) + "'"


def _decoded(file: SentFile) -> bytes:
    if file.encoding == "utf8":
        return encode_source(file.path, file.content)
    if file.encoding != "base64":
        raise _refused(f"The encoding of {shown(file.path)} is {shown(file.encoding)}: it must be utf8 or base64.")
    if len(file.content) > LARGEST_FILE * 2:
        raise _refused(f"{shown(file.path)} is too large; a file has at most {LARGEST_FILE:,} bytes.")
    try:
        return base64.b64decode(file.content, validate=True)
    except (binascii.Error, ValueError):
        raise _refused(f"The content of {shown(file.path)} is not base64.") from None


def _refused(message: str) -> Refusal:
    return Refusal("validation", message, field="files")
