"""Loads a benchmark program into our language, Python, QuickJS, Lua, LuaJIT or Starlark.

`load(engine, name)` answers a task without arguments that runs the program once and gives its result, or a text that says why
there is none. Everything that happens once (parsing, compiling, starting an engine) happens in `load`.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

PROGRAMS = Path(__file__).parent / "programs"
REPOSITORY = Path(__file__).parents[2]

Run = Callable[[], object]

# Programs that an engine cannot say, and why.
INEXPRESSIBLE = {("starlark", "n_body"): "no square root"}


def source_of(name: str, suffix: str) -> str | None:
    path = PROGRAMS / (name + suffix)
    return path.read_text(encoding="utf-8") if path.exists() else None


def load_program(source: str, filename: str) -> Run:
    """A program of our language through the public door; it gives the last line the program prints."""
    if str(REPOSITORY) not in sys.path:
        sys.path.insert(0, str(REPOSITORY))
    import language

    program = language.Program(source, filename=filename)

    def run() -> object:
        answer = program.run()
        if not answer["ok"]:
            raise RuntimeError("; ".join(map(str, answer["errors"])))
        return answer["output"][-1]

    return run


def load_python(source: str, filename: str) -> Run:
    namespace: dict[str, Any] = {"__name__": filename}
    exec(compile(source, filename, "exec"), namespace)
    return namespace["main"]


def load_quickjs(source: str, _filename: str) -> Run:
    context = importlib.import_module("quickjs").Context()
    context.eval(source)
    return context.get("main")


def load_lua(source: str, _filename: str) -> Run:
    runtime = importlib.import_module("lupa.lua54").LuaRuntime()
    runtime.execute(source)
    return runtime.globals().main


def load_luajit(source: str, _filename: str) -> Run:
    try:
        module = importlib.import_module("lupa.luajit21")
    except ImportError:
        module = importlib.import_module("lupa.luajit20")
    runtime = module.LuaRuntime()
    runtime.execute(source)
    return runtime.globals().main


def load_starlark(source: str, filename: str) -> Run:
    starlark = importlib.import_module("starlark")
    # The extended dialect allows lambdas, which the standard one leaves to the implementation.
    dialect = starlark.Dialect.extended()
    module = starlark.Module()
    starlark.eval(module, starlark.parse(filename, source, dialect), starlark.Globals.standard())
    frozen = module.freeze()
    return lambda: frozen.call("main")


# name in the tables -> (file suffix, loader)
ENGINES: dict[str, tuple[str, Callable[[str, str], Run]]] = {
    "ours": (".lang", load_program),
    "python": (".py", load_python),
    "quickjs": (".js", load_quickjs),
    "lua": (".lua", load_lua),
    "luajit": (".lua", load_luajit),
    "starlark": (".star", load_starlark),
}


def load(engine: str, name: str) -> Run | str:
    """The program `name` in `engine`, or the reason why it cannot run there."""
    if (engine, name) in INEXPRESSIBLE:
        return INEXPRESSIBLE[engine, name]
    suffix, loader = ENGINES[engine]
    source = source_of(name, suffix)
    if source is None:
        return "not written"
    try:
        return loader(source, name + suffix)
    except ImportError:
        return "not installed"
