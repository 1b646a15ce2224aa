"""The reference implementation of Argon2 as objects for WebAssembly."""

from __future__ import annotations

from pathlib import Path

from wasm_abi.build import pins, sources
from wasm_abi.build.interpreter import OPTIMISED
from wasm_abi.build.tools import Tools
from wasm_abi.build.workshop import HERE, Workshop, key_of

#: `ref.c` fills the blocks without the vector instructions of particular processors.
FILES = ("argon2.c", "core.c", "encoding.c", "ref.c", "blake2/blake2b.c")


def objects(shop: Workshop, tools: Tools) -> tuple[Path, list[Path]]:
    """The folder of its header, and its objects. Lanes are computed one after the other: there are no threads."""
    folder = shop.folder(f"argon2-{key_of(pins.ARGON2, Path(__file__), HERE / 'requirements.txt')}")
    tree = folder / pins.ARGON2.folder
    made = [folder / (Path(name).stem + ".o") for name in FILES]
    if not (folder / "complete").exists():
        sources.unpacked(shop, pins.ARGON2, folder)
        flags = [*OPTIMISED.split(), "-DARGON2_NO_THREADS", f"-ffile-prefix-map={folder}=.", f"-I{tree / 'include'}"]
        for name, product in zip(FILES, made):
            shop.run([tools.bin / "wcc", *flags, "-c", tree / "src" / name, "-o", product])
        (folder / "complete").touch()
    return tree / "include", made
