"""Compiled WebAssembly modules, cached per process and configuration and on disk, because compiling takes seconds.

wasmtime loads machine code, which is trusted. The files are therefore in a folder of the cache (``language.cache``) that only
the user can access. A doubtful file is ignored and the module is compiled again. wasmtime itself refuses a file of another
version, configuration or processor.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from stat import S_ISREG
from typing import NamedTuple

from wasmtime import Config, Engine, Module, WasmtimeError

from language.cache import WRITABLE_BY_OTHERS, location, make_folders, open_folder, trusted_path, write_whole
from language.locks import Lock

try:
    from importlib.metadata import version

    WASMTIME = version("wasmtime")
except ImportError:  # installed without metadata: wasmtime itself still refuses the file of another version
    WASMTIME = "unknown"

SUFFIX = ".module"
#: The most files that are kept, about 20 MB each; the least recently used ones are removed first.
MOST_FILES = 8


class Compiled(NamedTuple):
    """A module with the engine it was compiled for, which is shared by all that use it."""

    engine: Engine
    module: Module


_compiled: dict[tuple[str, bool, bool], Compiled] = {}
_lock = Lock()


def compiled(wasm: bytes, digest: str, *, fuel: bool, epochs: bool) -> Compiled:
    """The compiled module of these bytes, whose SHA-256 is ``digest``. ``fuel`` enables metering of fuel, ``epochs``
    interruption by epochs.

    Raises ``ValueError`` for bytes that are not a WebAssembly module.
    """
    key = (digest, fuel, epochs)
    with _lock:
        found = _compiled.get(key)
        if found is None:
            config = Config()
            config.consume_fuel = fuel
            config.epoch_interruption = epochs
            engine = Engine(config)
            found = _compiled[key] = Compiled(engine, _module(engine, wasm, _file_name(key)))
        return found


def _file_name(key: tuple[str, bool, bool]) -> str:
    return hashlib.sha256(repr((WASMTIME, *key)).encode()).hexdigest() + SUFFIX


def _module(engine: Engine, wasm: bytes, name: str) -> Module:
    base = location()
    path = None if base is None else base + "/wasm"
    stored = _loaded(engine, path, name)
    if stored is not None:
        return stored
    try:
        module = Module(engine, wasm)
    except WasmtimeError as error:
        raise ValueError(f"not a WebAssembly module that can be used: {error}") from None
    if path is not None:
        with contextlib.suppress(OSError):
            _store(path, name, bytes(module.serialize()))
    return module


def _loaded(engine: Engine, path: str | None, name: str) -> Module | None:
    """The stored module. It is mapped into memory by its path: nobody but the user and root can replace a file there."""
    folder = open_folder(path)
    if folder is None or path is None:
        return None
    try:
        info = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if not S_ISREG(info.st_mode) or info.st_uid != os.geteuid() or info.st_mode & WRITABLE_BY_OTHERS:
            return None
        real = trusted_path(path)
        if real is None:
            return None
        module = Module.deserialize_file(engine, f"{real}/{name}")
        os.utime(name, dir_fd=folder, follow_symlinks=False)
        return module
    except (OSError, UnicodeEncodeError, WasmtimeError):
        return None
    finally:
        os.close(folder)


def _store(path: str, name: str, data: bytes) -> None:
    make_folders(path)
    folder = open_folder(path)
    if folder is None:
        return
    try:
        write_whole(folder, name, data, sync=True)  # damaged machine code would crash the process that loads it
        _evict(folder)
    finally:
        os.close(folder)


def _evict(folder: int) -> None:
    with os.scandir(folder) as listing:
        files = sorted(((entry.stat(follow_symlinks=False).st_mtime, entry.name) for entry in listing), reverse=True)
    for _, name in files[MOST_FILES:]:
        os.unlink(name, dir_fd=folder)
