"""The house and its packages: which folder may know which, and what a program's start may load."""

from __future__ import annotations

import ast
import runpy
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("language", "stdlib", "platform_api", "runner", "wasm_abi")
CLI = "language.cli"
REMOTE = "platform_api.commands"
NATIVE = "language.native"
LSP = "language.lsp"
COMMAND = (CLI, "language.__main__")
WASIP1_COMMAND = "wasm_abi.guest.command"
#: The language in an instance of its own: beside the core, which it does not load.
WASM = ("language.wasm", "language.wasm.hooks", "language.wasm.module_cache")

# What reaches outside the process, and who may use it: the host, the command, the cache on disk. Beside them each module of the
# core that needs a little of it, and why.
DOORS = (*COMMAND, "language.host", "language.host_link", NATIVE, LSP, "language.cache", *WASM)
SIDE_DOORS = {
    "language.runtime.modules": ("os.path",),  # where `use` finds a file
    "language.analysis.checker": ("os.path",),  # the same without running
    "language.capabilities.commands": ("os",),  # which file a command is: `PATH`, and where symbolic links lead
    "language.capabilities.scopes": ("os.path",),  # where symbolic links lead
    "language.runtime.instance": ("os.path", "time.perf_counter", "time"),  # the same; how long a test took
    "language.runtime.limits": ("time",),  # the watchdog that a host's limits ask for
    "language.runtime.resident_memory": ("ctypes", "os"),  # what the system tells of the memory of this process
    "language.runtime.threads": ("ctypes",),  # ending the threads of a program
    "language.lifeline": ("os", "signal"),  # the end of the process that started this one
    "language.waits": ("time",),  # how long a wait has taken
    "language.values.json_pieces": ("os",),  # a random name that no text holds
    "language.values.salting": ("os",),  # a random number that no program sees, different in every process
    "language.serve.socket_surroundings": ("os",),  # where the folders of static mounts lie
    "language.serve.static_files": ("os", "time"),  # the files of static mounts, and whether they changed just now
    "language.serve.static_paths": ("os",),  # the way to them
    "language.syntax.table_maker": ("pathlib",),  # run by hand: reads the grammar, writes the parse table
}
OUTSIDE = {
    "os", "posix", "nt", "io", "socket", "ssl", "select", "selectors", "time", "subprocess", "random", "secrets",
    "urllib.request", "http", "ftplib", "smtplib", "shutil", "tempfile", "glob", "pathlib", "sqlite3", "signal",
    "multiprocessing", "ctypes", "uuid", "getpass", "platform", "locale", "asyncio",
}  # fmt: skip

# What takes longer to import than a small program takes to run.
SLOW = {
    "asyncio", "base64", "collections", "concurrent", "csv", "dataclasses", "datetime", "decimal", "email", "enum",
    "fractions", "functools", "hashlib", "hmac", "http", "importlib", "inspect", "json", "lark", "logging", "pathlib",
    "pprint", "random", "re", "secrets", "shutil", "statistics", "string", "subprocess", "tempfile", "threading",
    "tokenize", "tomllib", "traceback", "typing", "unicodedata", "urllib", "uuid", "zoneinfo",
}  # fmt: skip


#: The packages of the core and of the builtins, the lowest first. While a package is loaded, it imports only those before it.
#: Modules beside the packages stand here by themselves. The embedding API, ``language/__init__.py``, loads each name when it is
#: asked for, and so has no place in the order.
PACKAGES = (
    "language.console_text", "language.errors", "language.hints", "language.diagnostics", "language.release",
    "language.registry", "language.waits", "language.locks", "language.recursion",
    "language.lifeline",
    "language.embedder_calls", "language.calendar", "language.values", "language.mcp", "language.settings", "language.syntax",
    "language.capabilities", "language.models",
    "language.audit", "language.shared", "language.gates", "language.host", "language.code", "language.tracing",
    "language.runtime", "language.agents",
    "language.compiler", "language.templates", "language.serve", NATIVE, f"{NATIVE}.server", "language.host_link",
    "language.cache", "language.line_breaks",
    "language.format", "language.analysis", "language.program", "language.json_call", "language.wasm", "stdlib",
    "stdlib.charts", LSP, CLI, "language.__main__",
)  # fmt: skip
#: What a function imports from further up when it runs, and why it must.
UPWARD = {
    ("language.code", "language.runtime"): "the names that compiled functions find among their globals",
    ("language.runtime", "language.compiler"): "modules are compiled when they are used",
    ("language.runtime", "language.agents"): "`agent`, `spawn` and what agents say to each other are statements",
    ("language.runtime", "language.templates"): "pages are rendered while a program runs",
    ("language.runtime", "language.serve"): "a `serve` block is a statement",
    ("language.templates", "language.serve"): "what `render` gives is a response",
}


class Import(NamedTuple):
    """One import statement: who imports what, where, and whether it runs when the module is loaded."""

    module: str
    target: str
    place: str
    at_load: bool


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def is_type_checking(test: ast.expr) -> bool:
    return (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING") or (
        isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING"
    )


def imports_of(path: Path) -> Iterator[Import]:
    module = module_name(path)
    file = path.relative_to(ROOT)
    package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]

    def visit(node: ast.AST, at_load: bool) -> Iterator[Import]:
        place = f"{file}:{getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(module, alias.name, place, at_load)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join([*base, *([node.module] if node.module else [])])
            yield Import(module, origin, place, at_load)
            for alias in node.names:
                yield Import(module, f"{origin}.{alias.name}", place, at_load)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "__import__":
            named = [argument.value for argument in node.args[:1] if isinstance(argument, ast.Constant)]
            yield from (Import(module, str(name), place, at_load) for name in named)
        if isinstance(node, ast.If) and is_type_checking(node.test):
            children: list[ast.AST] = list(node.orelse)  # names for the type checker load nothing
        else:
            children = list(ast.iter_child_nodes(node))
        inside = at_load and not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        for child in children:
            yield from visit(child, inside)

    yield from visit(ast.parse(path.read_text(encoding="utf-8")), True)


def sources(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def within(name: str, packages: set[str] | tuple[str, ...]) -> bool:
    return any(name == package or name.startswith(package + ".") for package in packages)


@cache
def all_imports() -> tuple[Import, ...]:
    """Read when a test asks: each process that collects the tests would read the whole tree."""
    return tuple(found for folder in FOLDERS for path in sources(folder) for found in imports_of(path))


def room_of(module: str) -> str | None:
    """The innermost package of ``PACKAGES`` that a module lies in; ``None`` for the embedding API and for what is not ours."""
    return max((package for package in PACKAGES if within(module, (package,))), key=len, default=None)


def shown(imports: Iterator[Import]) -> list[str]:
    return sorted({f"{found.place} imports {found.target}" for found in imports})


def test_the_reader_of_imports_sees_them() -> None:
    targets = {found.target for found in all_imports() if found.module == "language.syntax.parser"}
    assert "language.syntax.nodes" in targets
    assert len(all_imports()) > 100


def test_the_core_knows_nothing_above_it() -> None:
    # The public door, language/__init__.py, hands the registry of stdlib to the core; the command stands above both.
    above = ("platform_api", "runner", "wasm_abi", CLI)
    core = [found for found in all_imports() if within(found.module, ("language",)) and not within(found.module, COMMAND)]
    assert not shown(found for found in core if within(found.target, above))
    assert not shown(found for found in core if found.module != "language" and within(found.target, ("stdlib",)))


def test_every_module_lies_in_a_room() -> None:
    modules = {module_name(path) for folder in ("language", "stdlib") for path in sources(folder)} - {"language"}
    assert sorted(module for module in modules if room_of(module) is None) == []
    assert sorted(package for package in PACKAGES if package not in modules) == []


def upward(found: Import) -> tuple[str, str] | None:
    """The packages of an import that goes up the list."""
    origin, target = room_of(found.module), room_of(found.target)
    if origin is None or target is None or PACKAGES.index(target) <= PACKAGES.index(origin):
        return None
    return origin, target


def test_rooms_load_only_what_lies_below_them() -> None:
    assert not shown(found for found in all_imports() if found.at_load and upward(found))


def test_few_functions_import_from_further_up() -> None:
    assert not shown(found for found in all_imports() if upward(found) and upward(found) not in UPWARD)
    assert {upward(found) for found in all_imports()} - {None} == set(UPWARD), "an exception that nobody needs any more"


def circles(modules: set[str], imports: list[Import]) -> set[tuple[str, ...]]:
    """The groups of modules that reach each other by these imports."""
    arrows: dict[str, set[str]] = {module: set() for module in modules}
    for found in imports:
        if {found.module, found.target} <= modules and found.module != found.target:
            arrows[found.module].add(found.target)
    reached: dict[str, set[str]] = {}
    for module in modules:
        seen: set[str] = set()
        pending = [module]
        while pending:
            new = arrows[pending.pop()] - seen
            seen |= new
            pending += new
        reached[module] = seen
    return {
        tuple(sorted(m for m in reached[module] if module in reached[m])) for module in modules if module in reached[module]
    }


def modules_of(package: str) -> set[str]:
    modules = {module_name(path) for folder in ("language", "stdlib") for path in sources(folder)}
    return {module for module in modules if room_of(module) == package}


def test_circles_are_seen() -> None:
    def imports(module: str, target: str) -> Import:
        return Import(module, target, "", True)

    arrows = [imports("a", "b"), imports("b", "c"), imports("c", "b"), imports("c", "d"), imports("d", "d"), imports("d", "e")]
    assert circles(set("abcd"), arrows) == {("b", "c")}
    assert circles(set("ab"), arrows) == set()


@pytest.mark.parametrize("package", PACKAGES)
def test_no_circle_inside_a_package_while_it_is_loaded(package: str) -> None:
    assert circles(modules_of(package), [found for found in all_imports() if found.at_load]) == set()


def test_no_circle_inside_the_compiler_when_functions_import_either() -> None:
    assert circles(modules_of("language.compiler"), list(all_imports())) == set()


def test_the_builtins_know_the_core_alone() -> None:
    above = ("platform_api", "runner", "wasm_abi", CLI)
    assert not shown(found for found in all_imports() if within(found.module, ("stdlib",)) and within(found.target, above))


def test_nothing_imports_the_command() -> None:
    outside = [found for found in all_imports() if not within(found.module, (*COMMAND, WASIP1_COMMAND))]
    assert not shown(found for found in outside if within(found.target, (CLI,)))


def test_no_module_hides_a_public_name() -> None:
    """Importing ``language.check`` would put the module in the place of the function ``check``."""
    import language

    modules = {path.stem for path in (ROOT / "language").iterdir()}
    assert not modules & set(language.__all__)


@pytest.mark.parametrize(("service", "other"), [("platform_api", "runner"), ("runner", "platform_api")])
def test_the_services_use_public_names_and_not_each_other(service: str, other: str) -> None:
    import language
    import language.host_link
    import language.lifeline

    public = {"language", *(f"language.{name}" for name in language.__all__)}
    public |= {"language.lifeline", *(f"language.lifeline.{name}" for name in language.lifeline.__all__)}
    own = [found for found in all_imports() if within(found.module, (service,))]
    if service == "runner":
        public.add("language.host_link")
        public |= {f"language.host_link.{name}" for name in language.host_link.__all__}
    shared = ("runner.protocol", "runner.domains") if other == "runner" else ()
    assert not shown(found for found in own if within(found.target, (other, "stdlib")) and not within(found.target, shared))
    assert not shown(found for found in own if within(found.target, ("language",)) and found.target not in public)


@pytest.mark.parametrize(
    ("folder", "packages"),
    [
        ("language", {"brotli", "lark", "numpy"}),
        ("stdlib", {"_argon2", "argon2", "cryptography", "jwt", "markdown_it", "pyotp"}),
    ],
)
def test_third_party_packages(folder: str, packages: set[str]) -> None:
    """The core imports lark, brotli where it serves, and numpy for arrays; the builtins import argon2, cryptography, jwt,
    markdown_it and pyotp. Everything else is the standard library. The doors of the native host stand over libraries of their
    own."""
    known = {*sys.stdlib_module_names, "language", "stdlib", "__future__", *packages}
    own = [
        found for found in all_imports() if within(found.module, (folder,)) and not within(found.module, (NATIVE, LSP, *WASM))
    ]
    assert packages <= {found.target.split(".")[0] for found in own}
    foreign = (found for found in own if found.target.split(".")[0] not in known)
    # The command line hands over to the commands of a platform when one of them is called.
    handed = (REMOTE, "platform_api.administration", "runner.command")
    assert not shown(found for found in foreign if not (within(found.module, COMMAND) and within(found.target, handed)))


def test_the_commands_of_a_platform_need_no_package() -> None:
    """They work where the language alone is installed. The keyring is used where it is there."""
    known = {*sys.stdlib_module_names, "__future__", "keyring", "platform_api"}
    own = [found for found in all_imports() if within(found.module, (REMOTE,))]
    assert own and not shown(found for found in own if found.target.split(".")[0] not in known)
    assert not shown(found for found in own if within(found.target, ("platform_api",)) and not within(found.target, (REMOTE,)))


def test_third_party_packages_of_the_native_host() -> None:
    own = {found.target.split(".")[0] for found in all_imports() if within(found.module, (NATIVE,))}
    libraries = {"httpcore", "httptools", "psycopg", "pymysql", "redis", "wsproto"}
    assert own - sys.stdlib_module_names - {"language", "__future__"} == libraries


def test_third_party_packages_of_the_language_server() -> None:
    own = {found.target.split(".")[0] for found in all_imports() if within(found.module, (LSP,))}
    assert own - sys.stdlib_module_names - {"language", "__future__"} == {"lsprotocol", "pygls"}


def test_third_party_packages_of_the_web_build_in_python() -> None:
    own = {found.target.split(".")[0] for found in all_imports() if within(found.module, WASM)}
    assert own - sys.stdlib_module_names - {"language", "__future__"} == {"wasmtime"}
    outside = [found for found in all_imports() if not within(found.module, WASM)]
    assert not shown(found for found in outside if within(found.target, (*WASM, "wasmtime")))


def test_no_builtin_reaches_outside() -> None:
    """A builtin asks the host of its context for the clock, randomness, files and network."""
    own = [found for found in all_imports() if within(found.module, ("stdlib",))]
    assert not shown(found for found in own if within(found.target, OUTSIDE))


def test_the_core_reaches_outside_through_few_doors() -> None:
    core = [found for found in all_imports() if within(found.module, ("language",)) and not within(found.module, DOORS)]
    reaching = [found for found in core if within(found.target, OUTSIDE)]
    assert not shown(found for found in reaching if not within(found.target, SIDE_DOORS.get(found.module, ())))
    used = {found.module for found in reaching}
    assert used == set(SIDE_DOORS), "a side door that nobody uses any more"


@pytest.mark.parametrize("path", sources("stdlib"), ids=module_name)
def test_loading_a_family_of_builtins_is_cheap(path: Path) -> None:
    loaded = [found for found in imports_of(path) if found.at_load and within(found.target, SLOW)]
    # `from collections.abc import ...` for annotations costs nothing only under TYPE_CHECKING; Python loads the rest on demand.
    assert not [f"{found.place} imports {found.target}" for found in loaded]


def test_a_warm_start_loads_nothing_slow(tmp_path: Path) -> None:
    """The second start of a program finds its compiled form: no parser, no compiler, no heavy module of Python's library."""
    program = tmp_path / "hello.lang"
    program.write_text('let who be "world"\nprint("hello, " + upper(who))\n', encoding="utf-8")
    report = (
        "import sys; before = set(sys.modules); from language.cli.main import main\n"
        "try:\n    code = main(sys.argv[1:])\nexcept SystemExit as end:\n    code = end.code\n"
        "sys.stderr.write(' '.join(sorted(set(sys.modules) - before)))\nsys.exit(code)"
    )
    for _ in range(2):
        result = subprocess.run(
            [sys.executable, "-c", report, "run", str(program)],
            capture_output=True,
            text=True,
            check=True,
            cwd=ROOT,
            env={"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
        )
        assert result.stdout == "hello, WORLD\n"
    loaded = set(result.stderr.split())
    assert {"language.runtime.intrinsics", "stdlib.core"} <= loaded
    front_end = (
        "language.syntax.lexer",
        "language.syntax.layout",
        "language.syntax.parser",
        "language.syntax.nodes",
        "language.syntax.node_builders",
        "language.compiler",
    )
    assert not {name for name in loaded if within(name, front_end)}
    assert not {name for name in loaded if within(name, SLOW)}
    assert not {name for name in loaded if within(name, ("language.host_link", "language.cli.linked"))}
    for_agents = (
        "agents",
        "analysis",
        "gates",
        "host.llm",
        "host.memory",
        "mcp",
        "models",
        "runtime.background",
        "runtime.no_span",
        "runtime.spans",
    )
    assert not {name for name in loaded if within(name, tuple(f"language.{package}" for package in (*for_agents, "tracing")))}


#: The classes of a tree are named after what stands in a program, and written with their module: ``nodes.Route``.
TREES = ("language/syntax/nodes.py", "language/templates/template_nodes.py")


def test_no_class_name_stands_for_two_things() -> None:
    homes: dict[str, list[str]] = {}
    for folder in ("language", "stdlib"):
        for path in sources(folder):
            file = path.relative_to(ROOT).as_posix()
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and file not in TREES:
                    homes.setdefault(node.name, []).append(file)
    assert {name: files for name, files in homes.items() if len(files) > 1} == {}


#: Where the tests of a top-level folder lie, below ``tests``. Those of a package of ``language`` lie in a folder of its name.
MIRRORED = {
    "examples": "examples",
    "language": "language",
    "platform_api": "platform_api",
    "runner": "runner",
    "stdlib": "stdlib",
    "wasm": "wasm_abi",
}
#: Folders of tests that are about no folder of the tree, and what they are about.
OF_NO_FOLDER = {
    "bench": "the speed of the whole, beside other languages",
    "errors": "the texts of errors, whichever folder raises them",
    "security": "what no program may do, whichever builtin it asks",
}


def mirrored(folder: Path) -> Path:
    """The folder that a folder of tests mirrors."""
    first, *rest = folder.relative_to(ROOT / "tests").parts
    top = ROOT / MIRRORED[first] if first in MIRRORED else ROOT / "language" / first
    return top.joinpath(*rest)


def folders_of_tests() -> list[Path]:
    folders = {path.parent for path in (ROOT / "tests").rglob("test_*.py")} - {ROOT / "tests"}
    return sorted(folder for folder in folders if folder.relative_to(ROOT / "tests").parts[0] not in OF_NO_FOLDER)


def folder_named(name: str, source: Path) -> Path | None:
    """The folder inside of ``source`` that the test file ``test_NAME.py`` is named after, or after a module of which: ``None``
    where a module of ``source`` itself has that name, and where the name tells nothing."""
    if (source / f"{name}.py").is_file():
        return None
    inside = sorted(path for path in source.rglob("*/") if path.is_dir() and path != source and path.name != "__pycache__")
    for folder in inside:
        if folder.parent == source and f"{name}_".startswith((f"{folder.name}_", f"{folder.name.removesuffix('s')}_")):
            return folder
    return next((folder for folder in inside if (folder / f"{name}.py").is_file()), None)


def test_the_tests_mirror_the_tree() -> None:
    assert [str(folder.relative_to(ROOT)) for folder in folders_of_tests() if not mirrored(folder).is_dir()] == []
    needless = [
        name for name in OF_NO_FOLDER if mirrored(ROOT / "tests" / name).is_dir() or not (ROOT / "tests" / name).is_dir()
    ]
    assert needless == [], "an exception that nobody needs any more"


def test_what_a_name_tells_of_a_folder() -> None:
    service = ROOT / "platform_api"
    assert folder_named("dashboard_frame", service) == folder_named("dashboard", service) == service / "dashboard"
    assert folder_named("command_account", service) == service / "commands"
    assert folder_named("write_ahead_log", service) == service / "store"
    assert folder_named("settings", service) is folder_named("killed_service", service) is None


def test_a_test_named_after_a_folder_lies_in_its_mirror() -> None:
    """A file of tests lies beside the tests of the whole only where its name says nothing of a folder further in."""
    misplaced = {
        str(path.relative_to(ROOT)): str(named.relative_to(ROOT))
        for folder in folders_of_tests()
        if folder != ROOT / "tests" / "examples"  # one file for each of them
        for path in folder.glob("test_*.py")
        if (named := folder_named(path.stem.removeprefix("test_"), mirrored(folder)))
    }
    assert misplaced == {}


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ("language/values/decimals.py", {"values/test_decimals.py"}),
        ("platform_api/accounts/sessions.py", {"platform_api/accounts/test_sessions.py"}),
        ("platform_api/dashboard/deploys.py", {"platform_api/dashboard", "platform_api/deploys/test_deploys.py"}),
        ("stdlib/charts/bars.py", {"stdlib/charts"}),
        ("wasm_abi/playground/run.js", {"wasm/playground"}),
    ],
)
def test_changed_files_find_their_tests(changed: str, found: set[str]) -> None:
    """As ``make quick`` asks for them."""
    tests_of = runpy.run_path(str(ROOT / ".ci" / "quick_tests.py"))["tests_of"]
    assert tests_of(PurePosixPath(changed)) == {f"tests/{name}" for name in found}


def test_a_file_beside_the_folders_of_its_package_finds_no_tests_inside_of_them() -> None:
    tests_of = runpy.run_path(str(ROOT / ".ci" / "quick_tests.py"))["tests_of"]
    found = {PurePosixPath(path) for path in tests_of(PurePosixPath("platform_api/application.py"))}
    assert found
    assert {path.parent for path in found} == {PurePosixPath("tests/platform_api")}
