"""The hooks of a Python embedder behind the import ``host_call`` of the web build: kinds and JSON in, JSON out."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any

HOOKS = ("http", "kv", "llm", "log", "sleep")
_COROUTINE = "the {} hook is a coroutine function: lend a plain function and run the program in a thread (asyncio.to_thread)"


class Hooks:
    """The hooks in a dict or an object; a hook that is absent or ``None`` is not provided."""

    def __init__(self, host: Any) -> None:
        found = {name: _part(host, name) for name in HOOKS}
        self._hooks = {name: hook for name, hook in found.items() if hook is not None and hook is not False}

    @property
    def lent(self) -> dict[str, bool]:
        """The field ``host`` of a request: which hooks are provided."""
        return dict.fromkeys(self._hooks, True)

    def answer(self, kind: str, payload: bytes) -> bytes | None:
        """The hook's answer as JSON; ``None`` for a hook that is not provided. An exception of a hook becomes an answer too."""
        try:
            hook = self._function(kind)
            if hook is None:
                return None
            given = hook(json.loads(payload))
            if hasattr(given, "__await__"):
                if hasattr(given, "close"):
                    given.close()
                return json.dumps({"error": _COROUTINE.format(kind.partition("_")[0])}).encode()
            return _encoded(kind, given)
        except Exception as error:
            return json.dumps({"error": f"{type(error).__name__}: {_shown(error)}"}).encode()

    def _function(self, kind: str) -> Callable[[dict[str, Any]], Any] | None:
        """The function that answers that kind of call from its payload."""
        hook = self._hooks.get(kind)
        if kind == "http":
            return hook
        if kind == "llm" and hook is not None:
            return lambda payload: hook(payload["op"], payload["prompt"])
        if kind == "log" and hook is not None:
            return lambda payload: hook(payload["line"])
        if kind == "sleep" and hook is not None:
            wait = time.sleep if hook is True else hook
            return lambda payload: wait(payload["secs"])
        store, operation = self._hooks.get("kv"), kind.removeprefix("kv_")
        if store is None or operation == kind:
            return None
        function = _part(store, operation) if operation in ("get", "set", "delete", "list") else None
        if function is None:
            return None
        return lambda payload: function(*(payload[name] for name in ("ns", "key", "value") if name in payload))


def _shown(error: Exception) -> str:
    try:
        return str(error)
    except Exception:
        return "its text cannot be shown"


def _part(owner: Any, name: str) -> Any:
    return owner.get(name) if isinstance(owner, Mapping) else getattr(owner, name, None)


def _encoded(kind: str, given: Any) -> bytes | None:
    """The answer in the form of the protocol; ``None`` for a hook that returned nothing although a value is expected."""
    if isinstance(given, Mapping) and given.get("error") is not None:
        return json.dumps({"error": str(given["error"])}).encode()
    answer: Any
    if kind == "http":
        answer = _http(given)
    elif kind == "kv_get":
        answer = dict(given) if isinstance(given, Mapping) else {"value": given}
    elif kind == "kv_list":
        answer = dict(given) if isinstance(given, Mapping) else {"keys": list(given)}
    elif kind == "llm":
        answer = dict(given) if isinstance(given, Mapping) else given
    else:
        answer = {}
    return None if answer is None else json.dumps(answer).encode()


def _http(given: Any) -> Any:
    if not isinstance(given, Mapping):
        return given
    answer = dict(given)
    headers = answer.get("headers")
    if headers is not None:
        answer["headers"] = [list(pair) for pair in (headers.items() if hasattr(headers, "items") else headers)]
    body = answer.get("body")
    if isinstance(body, (bytes, bytearray, memoryview)):
        from base64 import b64encode

        del answer["body"]
        answer["body_base64"] = b64encode(body).decode("ascii")
    return answer
