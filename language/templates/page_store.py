"""Finds the files of pages, checks which of them a program may read, and caches compiled pages.

A page is compiled once for each state of its file. Its code is shared by all threads and programs of the process.
"""

from __future__ import annotations

from language.capabilities import Capability
from language.capabilities.scopes import is_inside, normal_path
from language.errors import RuntimeFault
from language.host.files import PathLeaves
from language.locks import Lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FunctionType
    from typing import Any

    from language.code import Code
    from language.host.files import Asset, Files
    from language.runtime.context import Context
    from language.runtime.instance import Instance
    from language.templates.template_nodes import Template

#: The suffixes of files that a computed path may name without a capability.
SUFFIXES = (".html", ".htm", ".xml", ".svg", ".txt", ".md", ".css", ".js")
#: The most cached pages, and the most bytes of their files; beyond either the oldest are dropped.
MOST_PAGES = 1024
MOST_BYTES = 64 * 1024 * 1024

_pages: dict[tuple[str, object, bool], CompiledPage] = {}
_lock = Lock()


class CompiledPage:
    """A compiled page. ``file`` is the name that errors show, ``layout`` the path of its layout, ``size`` the bytes of its
    file.
    """

    __slots__ = ("_code", "_function", "file", "layout", "size")

    def __init__(self, file: str, layout: str | None, code: Code, size: int) -> None:
        self.file = file
        self.layout = layout
        self.size = size
        self._code = code
        self._function: FunctionType | None = None if code.metered else _linked(code, code.namespace())

    def function(self, instance: Instance) -> FunctionType:
        """The task of the page. A task that counts steps is made for one run."""
        if self._function is not None:
            return self._function
        names = self._code.namespace()
        instance.meter(names)
        return _linked(self._code, names)


class _Linker:
    """Replaces the unit while the top level of a page runs, which only defines the page's task."""

    __slots__ = ("closure",)

    def expose(self, closure: FunctionType) -> None:
        self.closure = closure


def _linked(code: Code, names: dict[str, Any]) -> FunctionType:
    linker = _Linker()
    code.main(names)(linker)
    (cell,) = linker.closure.__closure__ or ()
    function: FunctionType = cell.cell_contents
    return function


class Located:
    """A file that was found.

    ``owned`` says that it is part of the program. ``shown`` is its path as a program would write it. ``on_disk`` says that its
    path is one of this machine's file system.
    """

    __slots__ = ("asset", "on_disk", "owned", "shown")

    def __init__(self, asset: Asset, owned: bool, shown: str, on_disk: bool) -> None:
        self.asset = asset
        self.owned = owned
        self.shown = shown
        self.on_disk = on_disk


def locate(files: Files | None, folder: str | None, path: str) -> Located:
    """The file that a template path names: below the folder of the entry file, else below the working directory.

    ``folder`` is ``None`` if the program does not come from a file. It is empty for a program from standard input, whose folder
    is the working directory. Files in the program's folder, and files that come with the program, are part of it. Raises
    ``RuntimeFault``.
    """
    if path.startswith(("/", "\\")) or path[1:2] == ":":
        raise RuntimeFault(f"template path must be relative to the working dir: '{path}'")
    if files is None or "\0" in path or _is_hidden(path):
        raise _not_found(path)
    plain = normal_path(path)  # normalized as the capability check does it, so that the checked path is the opened one
    for base in (folder, "") if folder else ("",):
        try:
            asset = files.find(base, plain)
        except PathLeaves:
            raise RuntimeFault(f"template path escapes the working directory: '{path}'") from None
        if asset is not None:
            if _is_hidden(asset.below):
                break
            owned = base == folder or files.partial or _is_of_program(files, folder, asset)
            return Located(asset, owned, f"{base}/{plain}" if base else plain, not files.partial)
    raise _not_found(path)


def _is_of_program(files: Files, folder: str | None, asset: Asset) -> bool:
    """Whether a file found below the working directory lies in the program's folder."""
    if folder is None:
        return False
    below = files.part_below(folder, asset)
    return below is not None and not _is_hidden(below)


def _not_found(path: str) -> RuntimeFault:
    return RuntimeFault(f"template not found: {path}", kind="name", code="E0605")


def _is_hidden(path: str) -> bool:
    return any(name.startswith(".") and name not in (".", "..") for name in path.replace("\\", "/").split("/"))


def admit(context: Context, located: Located, path: str, *, literal: bool) -> bool:
    """Whether the file is part of the program and so needs no capability. Checks ``file.read`` of any other file.

    ``literal`` says that the path is a literal in the source. Raises ``RuntimeFault`` for a file that may not be read.
    """
    capabilities = context.capabilities
    owned = located.owned and (literal or located.asset.path.lower().endswith(SUFFIXES))
    if owned and capabilities.denials:
        request = Capability("file.read", normal_path(located.shown))
        owned = not any(denial.covers(request) for denial in capabilities.denials)
    if owned:
        capabilities.bundled(normal_path(path))
        return True
    granted = context.check_path("file.read", located.shown)
    if located.on_disk and granted.within is not None and not is_inside(located.asset.path, granted.within):
        raise _not_found(path)  # the file was replaced meanwhile
    return False


def page(files: Files, located: Located, path: str, *, metered: bool) -> CompiledPage:
    """The compiled page of a file. Raises ``RuntimeFault`` if it cannot be read or is not a valid template."""
    asset = located.asset
    known = _pages.get((asset.path, asset.stamp, metered))
    if known is not None:
        return known
    template, file, stamp, size = _parsed(files, located, path)
    from language.templates.translation import compile_template

    code = compile_template(template, metered=metered).named(file)
    made = CompiledPage(file, template.layout, code, size)
    with _lock:
        kept = sum([page.size for page in _pages.values()])
        while _pages and (len(_pages) >= MOST_PAGES or kept + size > MOST_BYTES):
            kept -= _pages.pop(next(iter(_pages))).size
        _pages[asset.path, stamp, metered] = made
    return made


def template(files: Files, located: Located, path: str) -> Template:
    """The tree of a file, for callers that only check that it is valid."""
    return _parsed(files, located, path)[0]


def _parsed(files: Files, located: Located, path: str) -> tuple[Template, str, object, int]:
    from language.templates.parser import parse

    try:
        data, stamp = files.load(located.asset)
    except OSError:
        raise _not_found(path) from None
    file = located.asset.path.replace("\\", "/").rpartition("/")[2]
    try:
        source = data.decode("utf-8")
    except UnicodeDecodeError:
        raise RuntimeFault(f"template is not UTF-8: {path}") from None
    return parse(source, file), file, stamp, len(data)
