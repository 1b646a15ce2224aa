"""The Python side of the web build: one JSON text in, one out. Calls of the host go through ``_lang_host``."""

from __future__ import annotations

import gc
import json
from typing import Any

import _lang_host

import language.runtime.limits
import language.waits
from language.errors import LimitExceeded, Uncatchable
from language.json_call import call_json, forget_program, refusal
from wasm_abi.guest.warming import warm


def _ask(kind: str, payload: dict[str, Any]) -> Any:
    """The decoded answer of the host; ``None`` when it does not provide this, or when the answer is not JSON."""
    answer = _lang_host.call(kind, json.dumps(payload))
    if not answer:
        return None
    try:
        return json.loads(answer)
    except (ValueError, RecursionError):
        return None


class _Store:
    """The ``kv`` hook. A missing answer is an error, which the caller reports, and never an empty store."""

    def get(self, namespace: str, key: str) -> Any:
        return _kept("kv_get", {"ns": namespace, "key": key})

    def set(self, namespace: str, key: str, value: str) -> Any:
        return _kept("kv_set", {"ns": namespace, "key": key, "value": value})

    def delete(self, namespace: str, key: str) -> Any:
        return _kept("kv_delete", {"ns": namespace, "key": key})

    def list(self, namespace: str) -> Any:
        return _kept("kv_list", {"ns": namespace})


def _kept(kind: str, payload: dict[str, Any]) -> dict[str, Any]:
    answer = _ask(kind, payload)
    return answer if isinstance(answer, dict) else {"error": f"{kind}: the host gave no answer"}


def _http(request: dict[str, Any]) -> Any:
    return _ask("http", request)


def _llm(operation: str, prompt: str) -> Any:
    return _ask("llm", {"op": operation, "prompt": prompt})


def _log(line: str) -> None:
    _ask("log", {"line": line})


def _sleep(seconds: float) -> None:
    _ask("sleep", {"secs": seconds})


class _Hooks(dict[str, Any]):
    """All hooks that a host may provide. The shim must know whether the host takes log lines, because it logs panics."""

    def get(self, name: str, default: Any = None) -> Any:
        if name == "log":
            _lang_host.lend_log(True)
        return super().get(name, default)


_HOOKS = _Hooks(http=_http, kv=_Store(), llm=_llm, log=_log, sleep=_sleep)


class _Watch:
    """Checks the limits of a run from inside the interpreter: see ``watch.c``."""

    def __init__(self, limits: language.runtime.limits.Limits) -> None:
        self._limits = limits

    def __enter__(self) -> None:
        time_ms, memory = self._limits.time_ms or 0, self._limits.memory_bytes or 0
        late = language.runtime.limits.expiry(LimitExceeded("time_ms", time_ms))
        full = language.runtime.limits.expiry(LimitExceeded("memory_bytes", memory))
        _lang_host.watch(float(time_ms), memory, late, full, LimitExceeded)

    # Not a method in Python: the error of a limit can be raised wherever a function of Python begins, here before the watch
    # has ended.
    __exit__ = _lang_host.unwatch


def prepare() -> None:
    """Runs once, before the snapshot."""
    language.runtime.limits.watch_from_inside = _Watch
    language.waits.check_limits_soon = _lang_host.look_soon
    warm()


def answer(request_text: str) -> str:
    """The answer to one request, as ``platform_call`` gives it."""
    _lang_host.lend_log(False)
    try:
        return call_json(request_text, _HOOKS)
    except MemoryError:
        pass  # the frames that hold the objects filling the memory are freed with it
    except (Exception, Uncatchable) as defect:
        # A fault of the runtime that call_json itself did not turn into data.
        cause = defect.__cause__ or defect
        text = f"Runtime error: internal error: {type(cause).__name__}: {cause}"
        return json.dumps({"ok": False, "output": [], "errors": [text], "audit": []})
    forget_program()
    gc.collect()
    return refusal(request_text, "Runtime error: out of memory")
