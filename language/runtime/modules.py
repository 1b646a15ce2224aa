"""``use``: where module files may lie, and how each is loaded once per resolved path."""

from __future__ import annotations

import os.path

from language.errors import LanguageError, RuntimeFault, placed
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
    """Finds and reads module files. ``root`` is the project root."""

    def __init__(self, root: str) -> None:
        self.root = os.path.realpath(root)
        self.shown_root = root

    def resolve(self, path: str, importer: str, *, from_entry: bool) -> tuple[str, str]:
        """The real path of a module and the path shown in errors. Raises ``RuntimeFault`` for a path that is not allowed.

        ``importer`` is the folder of the importing file, as shown.
        """
        check_spelling(path)
        shown = os.path.normpath(os.path.join(importer, path)) if importer else os.path.normpath(path)
        real = os.path.realpath(shown)
        lexical = os.path.abspath(shown)
        for candidate, root in ((lexical, os.path.abspath(self.shown_root)), (real, self.root)):
            if candidate != root and not candidate.startswith(root.rstrip(os.sep) + os.sep):
                if from_entry:
                    raise RuntimeFault(f"module path escapes the importing directory: '{path}'", code="E0203")
                raise RuntimeFault(f"module path escapes the project root: '{path}'", code="E0203")
        return real, shown

    def read(self, real: str, path: str) -> str:
        """The source text of a module. Raises ``RuntimeFault`` when there is none or it is not UTF-8."""
        try:
            with open(open_regular(real), "rb") as file:
                data = file.read()
        except NotRegular:
            raise RuntimeFault(f"module is not a regular file: {path}", code="E0203") from None
        except OSError:
            raise not_found(path) from None
        try:
            return data.decode("utf-8")  # the lexer, which is not loaded on a warm start, normalizes the text
        except UnicodeDecodeError:
            raise RuntimeFault(f"module is not UTF-8: {path}", code="E0203") from None


def not_found(path: str) -> RuntimeFault:
    """The error of a ``use`` line whose file does not exist."""
    help_ = "the path starts at the folder of the file with this `use` line, and ends in `.lang`"
    return RuntimeFault(f"module not found: {path}", kind="name", code="E0203", help=help_)


class BundledSources(Sources):
    """Modules from a mapping of paths to texts: an embedded program reads no files."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = {_normal(path): text for path, text in files.items()}

    def resolve(self, path: str, importer: str, *, from_entry: bool) -> tuple[str, str]:
        check_spelling(path)
        shown = _normal(f"{importer}/{path}" if importer else path)
        if shown == ".." or shown.startswith("../"):
            where = "importing directory" if from_entry else "project root"
            raise RuntimeFault(f"module path escapes the {where}: '{path}'", code="E0203")
        return shown, shown

    def read(self, real: str, path: str) -> str:
        text = self._files.get(real)
        if text is None:
            raise not_found(path)
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
    """Refuses absolute paths and unknown endings, in the order that the manual gives."""
    if path.startswith(("/", "\\")) or os.path.isabs(path) or path[1:2] == ":" or "\0" in path:
        raise RuntimeFault(f"module path must be relative to the importing file: '{path}'", code="E0203")
    if not path.endswith(extensions()):
        raise RuntimeFault(f"module path must end in '.lang': '{path}'", code="E0203")


class BrokenModule(RuntimeFault):
    """A module with a syntax error. Its message, which ``recover`` receives, begins with the position."""

    def __init__(self, error: LanguageError, shown: str) -> None:
        place = placed(shown, error.line, error.column)
        super().__init__(f"{place}: {error.message}", kind=error.kind, code=error.code, help=error.help)
        self.file, self.line, self.column = shown, error.line, error.column
        self.end_line, self.end_column = error.end_line, error.end_column

    def __str__(self) -> str:
        return f"{self.category}: {self.message}"


def compile_module(source: str, shown: str, path: str, build: Callable[[str, str], Code]) -> Code:
    """Compiles a module's source. Its own syntax error is a runtime error of the importing program."""
    try:
        return build(source, shown)
    except LanguageError as error:
        raise BrokenModule(error, shown) from None
