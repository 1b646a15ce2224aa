"""The WebAssembly builds under wasmtime, as the tests use them: the smallest host of each, from the binary interface alone."""

from __future__ import annotations

import hashlib
import json
import os
import struct
import tempfile
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from conformance.cases import ROOT

DIST = ROOT.parent / "dist"
WEB = DIST / "lang-web.wasm"
WASIP1 = DIST / "lang-wasip1.wasm"

#: Gives the answer to one kind of ``host_call`` (JSON value, or bytes as they are), ``None`` for one that is not offered.
Hook = Callable[[str, Any], Any]


@cache
def compiled(path: Path) -> tuple[Any, Any]:
    """Engine and module of wasmtime for a build; what it compiles is kept in the cache folder for the next process."""
    import wasmtime

    engine = wasmtime.Engine()
    digest = hashlib.sha256(path.read_bytes() + Path(wasmtime.__file__).read_bytes() + _runtime_version()).hexdigest()
    kept = ROOT.parent / ".cache" / "wasm" / "compiled" / f"{path.stem}-{digest[:16]}"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        fresh = kept.with_name(f"{kept.name}.{os.getpid()}")
        fresh.write_bytes(wasmtime.Module.from_file(engine, str(path)).serialize())
        fresh.replace(kept)
    return engine, wasmtime.Module.deserialize_file(engine, str(kept))


def _runtime_version() -> bytes:
    from importlib.metadata import version

    return version("wasmtime").encode()


class WebModule:
    """One instance of the web build. ``calls`` are the calls of ``host_call`` so far: kind and payload."""

    def __init__(
        self,
        hook: Hook | None = None,
        *,
        path: Path = WEB,
        now_ms: Callable[[], float] | None = None,
        fill: Callable[[int], bytes] | None = os.urandom,
        memory_bytes: int | None = None,
    ) -> None:
        import wasmtime

        self.calls: list[tuple[str, Any]] = []
        self._hook = hook
        engine, module = compiled(path)
        self._store = wasmtime.Store(engine)
        if memory_bytes is not None:
            self._store.set_limits(memory_size=memory_bytes)
        i32, f64 = wasmtime.ValType.i32(), wasmtime.ValType.f64()

        # wasmtime keeps the imports for as long as the store: they must not keep the store.
        this = weakref.ref(self)

        def host_call(*places: int) -> int:
            here = this()
            return 0 if here is None else here._host_call(*places)

        def random_fill(place: int, length: int) -> int:
            here = this()
            if here is None or fill is None:
                return 1
            here._write(place, fill(length & 0xFFFFFFFF))
            return 0

        linker = wasmtime.Linker(engine)
        functions = {
            "host_call": (wasmtime.FuncType([i32] * 4, [i32]), host_call),
            "host_random_fill": (wasmtime.FuncType([i32] * 2, [i32]), random_fill),
            "host_now_ms": (wasmtime.FuncType([], [f64]), now_ms or (lambda: time.time() * 1000)),
        }
        for name, (kind, function) in functions.items():
            linker.define_func("platform_host", name, kind, function)
        self._exports = linker.instantiate(self._store, module).exports(self._store)

    @property
    def memory_bytes(self) -> int:
        """The size of the instance's memory, which never shrinks."""
        return int(self._exports["memory"].data_len(self._store))

    def export(self, name: str, *arguments: int) -> Any:
        """Calls an exported function."""
        return self._exports[name](self._store, *arguments)

    def call(self, request: Any) -> dict[str, Any]:
        """The decoded answer to a request, given as an object, as text or as bytes."""
        data = request if isinstance(request, bytes) else request.encode() if isinstance(request, str) else _json(request)
        place = self.export("platform_alloc", len(data)) & 0xFFFFFFFF
        self._write(place, data)
        packed = self.export("platform_call", place, len(data)) & 0xFFFFFFFF
        (length,) = struct.unpack("<I", self._read(packed, 4))
        answer = json.loads(self._read(packed + 4, length))
        self.export("platform_free", packed, 4 + length)
        self.export("platform_free", place, len(data))
        assert isinstance(answer, dict)
        return answer

    def run(self, source: str, **fields: Any) -> dict[str, Any]:
        """The answer to ``op`` ``run``."""
        return self.call({"op": "run", "source": source, **fields})

    def _host_call(self, kind_place: int, kind_length: int, place: int, length: int) -> int:
        kind = self._read(kind_place & 0xFFFFFFFF, kind_length).decode()
        payload = json.loads(self._read(place & 0xFFFFFFFF, length))
        self.calls.append((kind, payload))
        answer = None if self._hook is None else self._hook(kind, payload)
        if answer is None:
            return 0
        data = answer if isinstance(answer, bytes) else _json(answer)
        packed = self.export("platform_alloc", 4 + len(data)) & 0xFFFFFFFF
        self._write(packed, struct.pack("<I", len(data)) + data)
        return packed - (1 << 32) if packed >= 1 << 31 else packed

    def _read(self, place: int, length: int) -> bytes:
        return bytes(self._exports["memory"].read(self._store, place, place + length))

    def _write(self, place: int, data: bytes) -> None:
        self._exports["memory"].write(self._store, data, place)


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


class Done:
    """What a command did."""

    def __init__(self, code: int, stdout: bytes, stderr: bytes) -> None:
        self.code = code
        self.stdout = stdout.decode("utf-8")
        self.stderr = stderr.decode("utf-8")


def run_command(
    words: Sequence[str], *, folder: Path | None = None, env: Mapping[str, str] | None = None, stdin: bytes = b""
) -> Done:
    """Runs the wasip1 build with these arguments, ``folder`` being the only one that it may open."""
    import wasmtime

    engine, module = compiled(WASIP1)
    store = wasmtime.Store(engine)
    written: dict[str, list[bytes]] = {"stdout": [], "stderr": []}
    config = wasmtime.WasiConfig()
    config.argv = ["lang", *words]
    config.env = list((env or {}).items())
    config.stdout_custom = written["stdout"].append
    config.stderr_custom = written["stderr"].append
    if folder is not None:
        config.preopen_dir(str(folder), ".")
    with tempfile.NamedTemporaryFile() as given:
        given.write(stdin)
        given.flush()
        config.stdin_file = given.name
        store.set_wasi(config)
        linker = wasmtime.Linker(engine)
        linker.define_wasi()
        code = 0
        try:
            linker.instantiate(store, module).exports(store)["_start"](store)
        except wasmtime.ExitTrap as end:
            code = end.code
    return Done(code, *(b"".join(pieces) for pieces in written.values()))


_instance: list[WebModule] = []


def web_answers(requests: Sequence[Mapping[str, Any]]) -> tuple[list[dict[str, Any]], list[str]]:
    """The answers of one instance, which all cases share, and the lines that went to its ``log`` hook meanwhile."""
    if not _instance:
        _instance.append(WebModule(lambda kind, payload: {} if kind == "log" else None))
    module = _instance[0]
    before = len(module.calls)
    try:
        answers = [module.call(request) for request in requests]
    except Exception:
        _instance.clear()  # a trap: the memory is not to be read again
        raise
    return answers, [payload["line"] for kind, payload in module.calls[before:] if kind == "log"]
