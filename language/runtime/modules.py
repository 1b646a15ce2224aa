"""``use``: where a module may lie, and its loading once per resolved path."""

from __future__ import annotations

import os.path

from language.errors import LanguageError, RuntimeFault
from language.host.regular_file import NotRegular, open_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from language.code import Code

EXTENSION = ".lang"


def extensions() -> tuple[str, ...]:
    """Accepted endings of module files: ``.lang`` and those of ``PLATFORM_SOURCE_EXTENSIONS``."""
    extra = os.environ.get("PLATFORM_SOURCE_EXTENSIONS", "")
    found = [piece.strip() for piece in extra.split(",") if piece.strip()]
    return (EXTENSION, *(piece if piece.startswith(".") else "." + piece for piece in found))


class Sources:
    """Where module files come from. ``root`` is the project root; ``read`` answers a file's bytes or ``None``."""

    def __init__(self, root: str) -> None:
        self.root = os.path.realpath(root)
        self.shown_root = root

    def resolve(self, path: str, importer: str, *, from_entry: bool) -> tuple[str, str]:
        """The real path of a module and the path shown in errors. Raises ``RuntimeFault`` by the rules of section 11.

        ``importer`` is the folder of the importing file, as shown.
        """
        check_spelling(path)
        shown = os.path.normpath(os.path.join(importer, path)) if importer else os.path.normpath(path)
        real = os.path.realpath(shown)
        lexical = os.path.abspath(shown)
        for candidate, root in ((lexical, os.path.abspath(self.shown_root)), (real, self.root)):
            if candidate != root and not candidate.startswith(root.rstrip(os.sep) + os.sep):
                if from_entry:
                    raise RuntimeFault(f"module path escapes the importing directory: '{path}'")
                raise RuntimeFault(f"module path escapes the project root: '{path}'")
        return real, shown

    def read(self, real: str, path: str) -> str:
        """The source text of a module. Raises ``RuntimeFault`` when there is none or it is not UTF-8."""
        try:
            with open(open_regular(real), "rb") as file:
                data = file.read()
        except NotRegular:
            raise RuntimeFault(f"module is not a regular file: {path}") from None
        except OSError:
            raise RuntimeFault(f"module not found: {path}", kind="name") from None
        try:
            return data.decode("utf-8")  # the lexer, not loaded on a warm start, brings it into form
        except UnicodeDecodeError:
            raise RuntimeFault(f"module is not UTF-8: {path}") from None


class BundledSources(Sources):
    """Modules out of a mapping from path to text: an embedded program reaches no disk."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = {_normal(path): text for path, text in files.items()}

    def resolve(self, path: str, importer: str, *, from_entry: bool) -> tuple[str, str]:
        check_spelling(path)
        shown = _normal(f"{importer}/{path}" if importer else path)
        if shown == ".." or shown.startswith("../"):
            where = "importing directory" if from_entry else "project root"
            raise RuntimeFault(f"module path escapes the {where}: '{path}'")
        return shown, shown

    def read(self, real: str, path: str) -> str:
        text = self._files.get(real)
        if text is None:
            raise RuntimeFault(f"module not found: {path}", kind="name")
        return text


def _normal(path: str) -> str:
    parts: list[str] = []
    for part in path.replace("\\", "/").split("/"):
        if part in ("", "."):
            continue
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts) or "."


def check_spelling(path: str) -> None:
    """Refuses absolute paths and other endings, in the order of the manual."""
    if path.startswith(("/", "\\")) or os.path.isabs(path) or path[1:2] == ":" or "\0" in path:
        raise RuntimeFault(f"module path must be relative to the importing file: '{path}'")
    if not path.endswith(extensions()):
        raise RuntimeFault(f"module path must end in '.lang': '{path}'")


def compile_module(source: str, shown: str, path: str, build: Callable[[str, str], Code]) -> Code:
    """Compiles a module's source. Its own syntax error is a runtime error of the importing program."""
    try:
        return build(source, shown)
    except LanguageError as error:
        raise RuntimeFault(f"{shown}:{error.line}:{error.column}: {error.message}", kind=error.kind) from None
