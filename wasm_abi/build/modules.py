"""Determines the modules of a build: those that its entry can reach through imports, including imports inside functions."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from wasm_abi.build.workshop import ROOT, BuildFailed

OWN = ("language", "stdlib", "wasm_abi")


@dataclass(frozen=True, slots=True)
class Build:
    """One of the two modules: its product, the Python module that its shim calls, the C files of its own.

    ``absent`` are the modules that it lacks, each with the reason. Code that imports them checks for them first or handles
    their absence.
    """

    name: str
    product: str
    entry: str
    c_files: tuple[str, ...]
    absent: dict[str, str]


_NOWHERE = {
    "argon2": "C of its own: _argon2 is there in its place",
    "brotli": "the host compresses replies",
    "cryptography": "C and Rust of its own",
    "ctypes": "ends threads, and there are none",
    "language.host.archives": "unpacks with zlib",
    "language.host.compressed": "stands on zlib",
    "language.values.arrays": "stands on NumPy",
    "lark": "makes the parse tables, which are there",
    "mmap": "forms are read from files where a server has put them",
    "pyexpat": "XML is read natively",
    "selectors": "waits for sockets and processes",
    "select": "waits for sockets and processes",
    "signal": "there are no signals",
    "socket": "there are no sockets",
    "ssl": "there are no sockets",
    "subprocess": "there are no processes",
    "zlib": "the host compresses replies",
}

WEB = Build(
    "web",
    "lang-web.wasm",
    "wasm_abi.guest.web",
    ("web.c", "web_wasi.c"),
    {**_NOWHERE, "language.native": "a native host's doors", "language.cli": "the command"},
)
WASIP1 = Build(
    "wasip1",
    "lang-wasip1.wasm",
    "wasm_abi.guest.command",
    ("command.c",),
    {
        **_NOWHERE,
        "language.native": "what a native host reaches, files apart",
        "language.cli.audit_stream": "a flag of the native command",
        "language.cli.learn": "a flag of the native command",
        "language.lsp": "editors start the native command",
    },
)
#: Modules that are present although they are below an absent one.
_PRESENT = {"web": (), "wasip1": ("language.native.files", "language.native.host")}

#: Modules of the shim.
_IN_C = ("_argon2", "_lang_host", "_lang_time_zones")


@dataclass(frozen=True, slots=True)
class Reached:
    """``own`` are our modules by name; ``foreign`` those of Python that they import."""

    own: dict[str, Path]
    foreign: list[str]


def reached(build: Build) -> Reached:
    """What a build needs. Raises ``BuildFailed`` for an import that is neither ours, nor Python's, nor known to be absent."""
    own: dict[str, Path] = {}
    foreign: dict[str, str] = {}
    waiting = [build.entry, *_families()]
    while waiting:
        name = waiting.pop()
        if name in own or _absent(build, name):
            continue
        path = _file(name)
        if path is None:
            raise BuildFailed(f"there is no module {name}")
        own[name] = path
        if "." in name:
            waiting.append(name.rpartition(".")[0])
        for target, attribute in _imports(name, path):
            if target.partition(".")[0] not in OWN:
                foreign.setdefault(target, name)
                continue
            waiting.append(target)
            if attribute and _file(f"{target}.{attribute}") is not None:
                waiting.append(f"{target}.{attribute}")
    names = sorted(name for name in foreign if name not in _IN_C and not _absent(build, name))
    return Reached(dict(sorted(own.items())), names)


def _absent(build: Build, name: str) -> bool:
    present = _PRESENT[build.name]
    if any(name == other or other.startswith(name + ".") for other in present):
        return False
    return any(name == other or name.startswith(other + ".") for other in build.absent)


def _families() -> Iterator[str]:
    tree = ast.parse((ROOT / "stdlib" / "__init__.py").read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "FAMILIES":
            yield from (f"stdlib.{name}" for name in ast.literal_eval(node.value))


def _file(name: str) -> Path | None:
    base = ROOT.joinpath(*name.split("."))
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.is_file():
            return path
    return None


def _imports(name: str, path: Path) -> Iterator[tuple[str, str]]:
    """Every import in a module: the imported module, and the name imported from it (or the empty text)."""
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    for node in _running(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join([*base, *([node.module] if node.module else [])])
            yield from ((origin, alias.name) for alias in node.names)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "__import__":
            yield from ((name, "") for name in _texts(node.args[:1]))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("encode", "decode"):
            # A codec's module, which Python loads when the codec is first used.
            codecs = [f"encodings.{name.lower().replace('-', '_')}" for name in _texts(node.args[:1])]
            yield from ((name, "") for name in codecs if name.isascii() and find_spec(name) is not None)


def _texts(nodes: list[ast.expr]) -> list[str]:
    return [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]


def _running(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a tree that are executed at run time, without those under ``if TYPE_CHECKING``."""
    yield node
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
        children: list[ast.AST] = list(node.orelse)
    else:
        children = list(ast.iter_child_nodes(node))
    for child in children:
        yield from _running(child)
