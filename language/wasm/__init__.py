"""The web build from Python, through wasmtime: programs isolated in a WebAssembly instance.

    from language.wasm import WebBuild

    build = WebBuild("lang-web.wasm", memory_bytes=256 * 2**20, timeout_s=5)
    build.run('print("hello")')["output"]      # ["hello"]

Needs the package ``wasmtime`` (the extra ``wasm``).
"""

from __future__ import annotations

import json
import math
import os
import time
import weakref
from _thread import allocate_lock
from collections.abc import Callable, Mapping
from hashlib import sha256 as _sha256
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from language.locks import Lock

try:
    from wasmtime import Engine, Func, FuncType, Linker, Memory, Store, Trap, TrapCode, ValType, WasmtimeError
except ImportError as _missing:
    raise ImportError('language.wasm needs the package wasmtime: pip install "ceiling-lang[wasm]"') from _missing

from language.wasm.hooks import Hooks
from language.wasm.module_cache import Compiled, compiled

if TYPE_CHECKING:
    from typing import Self

__all__ = ["Trapped", "WebBuild"]

HOST_MODULE = "platform_host"
#: Seconds between two increments of the epoch, which is how late a timeout may come.
TICK = 0.01
_UNSIGNED = 0xFFFFFFFF
#: Fuel and epochs for freeing buffers after a call, which may have used up its own.
_AFTERWARDS = 10_000_000


class Trapped(Exception):
    """A fault of the interpreter or an exceeded limit of the instance, never an error of a program; ``detail`` says which. The
    instance is discarded.
    """

    def __init__(self, detail: str) -> None:
        super().__init__(f"the module trapped ({detail}); the instance was discarded")
        self.detail = detail


class WebBuild:
    """The web build as an object with one instance, made when it is needed.

    ``module`` is the path of ``lang-web.wasm`` or its bytes, ``sha256`` the digest they must have in hexadecimal digits.
    ``memory_bytes`` bounds the memory of the instance, ``fuel`` the WebAssembly instructions of a call, ``timeout_s`` its
    seconds, including its hooks (a hook itself is not interrupted). Exceeding ``fuel`` or ``timeout_s`` raises ``Trapped``. A
    program that requests more memory than the limit gets an error.

    Methods, options, hooks and results are those of ``language.run`` and its like. Faults of a program are data. Raises
    ``TypeError`` and ``ValueError`` for wrong arguments, ``OSError`` for a file that cannot be read, ``RuntimeError`` for a
    call during another call of the same object. Different objects may be used in different threads concurrently.
    """

    def __init__(
        self,
        module: str | os.PathLike[str] | bytes | bytearray,
        memory_bytes: int | None = None,
        fuel: int | None = None,
        timeout_s: float | None = None,
        sha256: str | None = None,
    ) -> None:
        for name, value in (("memory_bytes", memory_bytes), ("fuel", fuel), ("timeout_s", timeout_s)):
            if value is not None and not 0 < value < 2**63:
                raise ValueError(f"{name} must be more than 0 and finite, not {value!r}")
        wasm = bytes(module) if isinstance(module, (bytes, bytearray)) else Path(module).read_bytes()
        digest = _sha256(wasm).hexdigest()
        if sha256 is not None and digest != sha256.lower():
            raise ValueError(f"the module's SHA-256 is {digest}, not {sha256}")
        self._compiled = compiled(wasm, digest, fuel=fuel is not None, epochs=timeout_s is not None)
        self._memory_bytes = memory_bytes
        self._fuel = fuel
        self._timeout_s = timeout_s
        self._ticker = None if timeout_s is None else _ticker_of(self._compiled.engine)
        self._instance: _Instance | None = None
        self._in_call = allocate_lock()

    def run(self, source: str, **options: Any) -> dict[str, Any]:
        """Runs the top level; options and answer as ``language.run``."""
        return self._ask("run", source, options)

    def test(self, source: str, **options: Any) -> dict[str, Any]:
        """Runs the test blocks; options and answer as ``language.test``."""
        return self._ask("test", source, options)

    def check(self, source: str, *, problems: bool = False, **options: Any) -> dict[str, Any]:
        """Checks a program without running it; options and answer as ``language.check``."""
        return self._ask("check", source, options, **({"problems": True} if problems else {}))

    def handle(self, source: str, request: Mapping[str, Any], **options: Any) -> dict[str, Any]:
        """Answers one HTTP request; options and answer as ``language.handle``. The program stays prepared for the next one."""
        if not isinstance(request, Mapping):
            raise TypeError(f"request must be a mapping, not {type(request).__name__}")
        sent = dict(request)
        headers = sent.get("headers")
        if isinstance(headers, Mapping):
            sent["headers"] = dict(headers)
        return self._ask("handle", source, options, request=sent)

    def version(self) -> str:
        """The version of the module as ``v<major>.<minor>.<patch>``."""
        return str(self.call({"op": "version"})["version"])

    def call(self, request: Mapping[str, Any], host: Any = None) -> dict[str, Any]:
        """The answer to one request of the protocol; ``host`` are the hooks, of which the field ``host`` of the request selects
        some.
        """
        answer: dict[str, Any] = json.loads(self.call_json(json.dumps(request), host))
        return answer

    def call_json(self, request_text: str, host: Any = None) -> str:
        """:meth:`call` with JSON texts for request and answer."""
        self._enter()
        try:
            return self._called(request_text.encode("utf-8", "surrogatepass"), Hooks(host))
        finally:
            self._in_call.release()

    def close(self) -> None:
        """Releases the instance and its memory. The next call makes a new one."""
        self._enter()
        try:
            self._discard()
        finally:
            self._in_call.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _enter(self) -> None:
        if not self._in_call.acquire(blocking=False):
            raise RuntimeError("one call at a time: this WebBuild is in a call")

    def _ask(self, op: str, source: str, options: dict[str, Any], **more: Any) -> dict[str, Any]:
        if not isinstance(source, str):
            raise TypeError(f"source must be str, not {type(source).__name__}")
        host = options.pop("host", None)
        return self.call({"op": op, "source": source, **_fields(options), "host": Hooks(host).lent, **more}, host)

    def _called(self, request: bytes, hooks: Hooks) -> str:
        if self._ticker is not None:
            self._ticker.begin()
        try:
            instance = self._instance or self._new_instance()
            return instance.call(request, hooks, self._refill)
        except BaseException:
            self._discard()
            raise
        finally:
            if self._ticker is not None:
                self._ticker.end()

    def _new_instance(self) -> _Instance:
        store = Store(self._compiled.engine)
        self._refill(store)
        if self._memory_bytes is not None:
            store.set_limits(memory_size=self._memory_bytes)
        try:
            self._instance = _Instance(store, self._compiled)
        except WasmtimeError as error:
            raise ValueError(f"the module cannot be instantiated: {error}") from None
        return self._instance

    def _refill(self, store: Store, least: int = 0) -> None:
        if self._fuel is not None:
            store.set_fuel(max(self._fuel, least))
        if self._timeout_s is not None:
            store.set_epoch_deadline(max(min(math.ceil(self._timeout_s / TICK) + 1, 2**62), least))

    def _discard(self) -> None:
        instance, self._instance = self._instance, None
        if instance is not None:
            instance.close()


Refill = Callable[..., None]

#: The least bytes of the buffer for requests, and the bytes above which it is freed after the call.
_LEAST_BYTES = 4096
_KEPT_BYTES = 65_536


class _Instance:
    """One instance: passes requests and answers through its memory."""

    def __init__(self, store: Store, from_: Compiled) -> None:
        self._store = store
        self._hooks = Hooks(None)
        self._interrupted: BaseException | None = None
        #: the address and the length of the buffer for requests
        self._buffer = self._buffer_length = 0
        # wasmtime keeps the imports alive for as long as the store: they must not keep the store alive.
        self._exports = _linker(store, weakref.ref(self)).instantiate(store, from_.module).exports(store)
        self._memory = self._export("memory", Memory)
        self._alloc, self._free, self._call = (
            self._export(name, Func) for name in ("platform_alloc", "platform_free", "platform_call")
        )

    def _export(self, name: str, kind: type[Any]) -> Any:
        found = self._exports.get(name)
        if not isinstance(found, kind):
            raise ValueError(f"not the web build: it exports no {kind.__name__.lower()} {name}")
        return found

    def call(self, request: bytes, hooks: Hooks, refill: Refill) -> str:
        """The answer to a request. Raises ``Trapped``, and any exception that interrupted a hook; the instance must then be
        discarded.
        """
        store = self._store
        refill(store)
        self._hooks = hooks
        try:
            sent = self._room(len(request))
            self._memory.write(store, request, sent)
            packed = self._call(store, sent, len(request)) & _UNSIGNED
            answer = self._read(packed + 4, int.from_bytes(self._read(packed, 4), "little"))
            refill(store, _AFTERWARDS)
            self._free(store, packed, 4 + len(answer))
            if self._buffer_length > _KEPT_BYTES:
                self._release()
        except Trapped:
            raise
        except (Trap, WasmtimeError, IndexError) as error:
            raise Trapped(_detail(error)) from None
        except BaseException as error:
            # wasmtime passes on an exception that left an import, possibly in another thread than its own.
            if self._interrupted is not None:
                raise self._interrupted from None
            raise Trapped(f"{type(error).__name__}: {error}") from None
        finally:
            self._hooks = Hooks(None)
        return answer.decode("utf-8")

    def _room(self, length: int) -> int:
        """A buffer for ``length`` bytes. That of the last request is reused if it is long enough, because each call into
        WebAssembly takes time.
        """
        if length > self._buffer_length:
            self._release()
            self._buffer = self._alloc(self._store, max(length, _LEAST_BYTES)) & _UNSIGNED
            if not self._buffer:
                raise Trapped("its memory has no room for the request")
            self._buffer_length = max(length, _LEAST_BYTES)
        return self._buffer

    def _release(self) -> None:
        buffer, length, self._buffer, self._buffer_length = self._buffer, self._buffer_length, 0, 0
        if length:
            self._free(self._store, buffer, length)

    def close(self) -> None:
        self._store.close()

    def _read(self, start: int, length: int) -> bytes:
        data = bytes(self._memory.read(self._store, start, start + length))
        if len(data) != length:
            raise IndexError("a buffer outside of the memory")
        return data

    # ---- imports: they never raise, but for what ends the process -----------------------------------------------------------

    def host_call(self, kind: int, kind_length: int, payload: int, payload_length: int) -> int:
        try:
            asked = self._read(kind & _UNSIGNED, kind_length & _UNSIGNED).decode("utf-8", "replace")
            answer = self._hooks.answer(asked, self._read(payload & _UNSIGNED, payload_length & _UNSIGNED))
        except BaseException as error:  # KeyboardInterrupt and the like; errors of hooks are returned as answers
            self._interrupted = error
            raise
        if answer is None:
            return 0
        packed = len(answer).to_bytes(4, "little") + answer
        start: int = self._alloc(self._store, len(packed))
        if start:
            self._memory.write(self._store, packed, start & _UNSIGNED)
        return start

    def host_random_fill(self, start: int, length: int) -> int:
        try:
            self._memory.write(self._store, os.urandom(length & _UNSIGNED), start & _UNSIGNED)
        except (OSError, IndexError, MemoryError):
            return 1
        return 0


def _linker(store: Store, instance: weakref.ref[_Instance]) -> Linker:
    i32, f64 = ValType.i32(), ValType.f64()

    def host_call(*places: int) -> int:
        here = instance()
        return 0 if here is None else here.host_call(*places)

    def host_random_fill(start: int, length: int) -> int:
        here = instance()
        return 1 if here is None else here.host_random_fill(start, length)

    linker = Linker(store.engine)
    linker.define_func(HOST_MODULE, "host_call", FuncType([i32] * 4, [i32]), host_call)
    linker.define_func(HOST_MODULE, "host_random_fill", FuncType([i32, i32], [i32]), host_random_fill)
    linker.define_func(HOST_MODULE, "host_now_ms", FuncType([], [f64]), lambda: time.time() * 1000)
    return linker


def _detail(error: Exception) -> str:
    """A short description of what ended the call, without stack addresses."""
    code = error.trap_code if isinstance(error, Trap) else None
    if code is TrapCode.OUT_OF_FUEL:
        return "the fuel is used up"
    if code is TrapCode.INTERRUPT:
        return "the time is up"
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1].removeprefix("wasm trap: ") if lines else type(error).__name__


def _fields(options: dict[str, Any]) -> dict[str, Any]:
    """The options as fields of a request. Raises ``TypeError`` or ``ValueError`` where ``language.Program`` does."""
    from language.program import parse_ceiling
    from language.runtime.limits import Limits

    unknown = options.keys() - {"filename", "env", "ceiling", "limits", "files", "error_detail"}
    if unknown:
        raise TypeError(f"unknown option {min(unknown)!r}")
    parse_ceiling(options.get("ceiling"))
    Limits.parse(options.get("limits"))
    if not isinstance(options.get("error_detail"), bool | None):
        raise TypeError(f"error_detail must be bool, not {type(options['error_detail']).__name__}")
    fields = {name: value for name, value in options.items() if value is not None}
    for name in ("env", "files", "limits"):
        if name in fields:
            fields[name] = dict(fields[name])
    for path, content in fields.get("files", {}).items():
        if isinstance(content, Mapping):
            fields["files"][path] = dict(content)
    return fields


class _Ticker:
    """Increments the epoch of an engine regularly while a call with a deadline runs."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = Lock()
        self._calls = 0
        self._thread: Thread | None = None

    def begin(self) -> None:
        with self._lock:
            self._calls += 1
            # The thread is not alive in a forked child, because threads are not forked.
            if self._thread is None or not self._thread.is_alive():
                self._thread = Thread(target=self._tick, name="lang-wasm-epochs", daemon=True)
                self._thread.start()

    def end(self) -> None:
        with self._lock:
            self._calls -= 1

    def _tick(self) -> None:
        done = time.monotonic()
        while True:
            time.sleep(TICK)
            with self._lock:
                if not self._calls:
                    self._thread = None
                    return
            passed = int((time.monotonic() - done) / TICK)
            done += passed * TICK
            for _ in range(passed):
                self._engine.increment_epoch()


_tickers: weakref.WeakKeyDictionary[Engine, _Ticker] = weakref.WeakKeyDictionary()
_tickers_lock = Lock()


def _ticker_of(engine: Engine) -> _Ticker:
    with _tickers_lock:
        found = _tickers.get(engine)
        if found is None:
            found = _tickers[engine] = _Ticker(engine)
        return found
