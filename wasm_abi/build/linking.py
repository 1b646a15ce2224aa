"""From C files and archives to a module: compiles, links, starts the module once and writes a snapshot of it."""

from __future__ import annotations

from pathlib import Path

from wasm_abi.build.interpreter import OPTIMISED, Library
from wasm_abi.build.modules import Build
from wasm_abi.build.pins import TARGET
from wasm_abi.build.tools import Tools
from wasm_abi.build.workshop import C_SOURCES, ROOT, BuildFailed, Workshop

SHARED = ("boot.c", "memory.c", "watch.c", "argon2module.c")

#: WASI lacks these; the C library imitates them.
EMULATED = ("signal", "getpid", "process-clocks")
DEFINES = ("-D_WASI_EMULATED_SIGNAL", "-D_WASI_EMULATED_GETPID", "-D_WASI_EMULATED_PROCESS_CLOCKS")

#: Functions of the C library that we wrap: `__wrap_x` is called instead of `x`.
WRAPPED = ("malloc", "calloc", "realloc", "free", "log2")

#: Bytes of the C stack. It is the first region of memory, so that a stack overflow traps and does not overwrite data.
STACK = 8 << 20
INITIAL_MEMORY = 32 << 20


def linked(
    shop: Workshop, tools: Tools, build: Build, library: Library, argon2: tuple[Path, list[Path]], frozen: Path, folder: Path
) -> Path:
    """The module of a build as it comes from the linker, nothing started yet."""
    include, argon2_objects = argon2
    flags = [
        *OPTIMISED.split(),
        *DEFINES,
        "-std=c23",
        "-Wall",
        "-Wno-int-to-pointer-cast",
        "-Wno-int-conversion",
        f"-ffile-prefix-map={folder}=.",
        f"-ffile-prefix-map={ROOT}=.",
        f"-ffile-prefix-map={library.sources.parent}=.",
        f"-I{library.sources / 'Include'}",
        f"-I{library.build}",
        f"-I{include}",
        f"-I{C_SOURCES}",
    ]
    objects = []
    for source in [*(C_SOURCES / name for name in (*SHARED, *build.c_files)), frozen]:
        product = folder / f"{build.name}-{source.stem}.o"
        shop.run([tools.bin / "wcc", *flags, "-c", source, "-o", product], cwd=folder)
        objects.append(product)
    product = folder / f"{build.name}-linked.wasm"
    start, libraries = _c_library(shop, tools, build, folder)
    wrapped = [f"--wrap={name}" for name in (*WRAPPED, *(["abort"] if build.name == "web" else []))]
    layout = ["--stack-first", "-z", f"stack-size={STACK}", f"--initial-memory={INITIAL_MEMORY}"]
    linker: list[str | Path] = [
        tools.zig,
        "wasm-ld",
        "--error-limit=0",
        "--export-memory",
        "-s",
        "--gc-sections",
        "-O2",
        *layout,
        *wrapped,
    ]
    shop.run([*linker, "-o", product, *start, *objects, *library.archives, *argon2_objects, *libraries])
    return product


def _c_library(shop: Workshop, tools: Tools, build: Build, folder: Path) -> tuple[list[str], list[str]]:
    """The first arguments of the linker, and the archives of the C library, which come last: taken from the link command of an
    empty program.
    """
    probe = folder / "probe.c"
    probe.write_text("int main(void) { return 0; }\n")
    model = ["-mexec-model=reactor"] if build.name == "web" else []
    emulated = [f"-lwasi-emulated-{name}" for name in EMULATED]
    command: list[str | Path] = [
        tools.zig,
        "cc",
        "-target",
        TARGET,
        "-O2",
        *model,
        probe,
        "-o",
        folder / "probe.wasm",
        *emulated,
        "-s",
    ]
    said = shop.run(["sh", "-c", 'exec "$@" 2>&1', "sh", *command], extra={"ZIG_VERBOSE_LINK": "1"})
    line = next((line for line in said.splitlines() if "wasm-ld" in line), None)
    if line is None:
        raise BuildFailed(f"the compiler does not say how it links:\n{said}")
    words = line.split()
    libraries = [word for word in words if word.endswith(".a")]
    if build.name == "web":
        return ["--no-entry"], libraries
    return ["--entry", "_start", *(word for word in words if "crt1" in word)], libraries


def snapshot(shop: Workshop, tools: Tools, build: Build, module: Path, product: Path) -> None:
    """Starts the module and writes it with its memory at that time."""
    options = [] if build.name == "web" else ["--allow-wasi", "-r", "_start=wizer.resume"]
    shop.run([tools.wizer, *options, module, "-o", product])
