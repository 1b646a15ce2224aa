"""One function of text to text: the protocol of the WebAssembly builds and of every wrapper."""

from __future__ import annotations

import json
from gc import collect
from typing import Any

from language.host.llm import Usage
from language.program import Program, version

OPS = ("run", "test", "check", "handle", "version")


#: How deep a request may nest.
MOST_DEPTH = 128


def call_json(request_text: str, host: Any = None) -> str:
    """Answers one JSON request with one JSON text; faults of the program and of the request are data, never exceptions.

    ``host`` are the hooks that may be lent; the request says which of them it takes.
    """
    try:
        request = _decoded(request_text)
    except ValueError as error:
        return json.dumps(_refused(f"invalid request JSON: {error}"))
    given = answer(request, host)
    try:
        return json.dumps(given)
    except MemoryError:
        # What is left of the program fills the memory; the answer itself is small.
        forget_program()
        collect()
        return json.dumps(given)


def _decoded(text: str) -> Any:
    """The request that a JSON text writes, lone surrogates replaced. Raises ``ValueError``."""
    try:
        root = json.loads(text)
    except RecursionError:
        raise ValueError(f"nested more than {MOST_DEPTH} levels deep") from None
    if text.count("[") + text.count("{") > MOST_DEPTH:
        _check_depth(root)
    if "\\ud" in text.lower() or not text.isascii():
        root = _clean(root)
    return root


def _check_depth(root: Any) -> None:
    level = [root]
    for _ in range(MOST_DEPTH + 1):
        inside: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                inside.extend(value.values())
            elif isinstance(value, list):
                inside.extend(value)
        if not inside:
            return
        level = inside
    raise ValueError(f"nested more than {MOST_DEPTH} levels deep")


def _clean(value: Any) -> Any:
    """The value with U+FFFD for each half of a surrogate pair that stands alone."""
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace") if _has_surrogate(value) else value
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {_clean(name): _clean(item) for name, item in value.items()}
    return value


def _has_surrogate(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def answer(request: Any, host: Any = None) -> dict[str, Any]:
    """The answer to a decoded request."""
    if not isinstance(request, dict):
        return _refused("the request must be a JSON object")
    op = request.get("op", "run")
    if op == "version":
        return {"version": version()}
    if op not in OPS:
        return _refused(f'unknown op "{op}" (expected {"|".join(OPS)})')
    wrong = _wrong_field(request, op)
    if wrong is not None:
        return _refused(wrong, op)
    lent = request.get("host") or {}
    offered = {
        name: host.get(name) if isinstance(host, dict) else getattr(host, name, None) for name in lent if lent[name] is True
    }
    if op == "handle":
        return _handled(request, offered)
    try:
        program = _program(request, offered)
    except (TypeError, ValueError) as error:
        return _refused(str(error), op)
    if op == "check":
        return program.check()
    return program.test() if op == "test" else program.run()


def _wrong_field(request: dict[str, Any], op: str) -> str | None:
    """What keeps a request from being served, or ``None``."""
    if not isinstance(request.get("source"), str):
        return "missing `source` (the program text)"
    if op == "handle" and not isinstance(request.get("request"), dict):
        return "handle: missing `request` {method, path, headers, body}"
    if not isinstance(request.get("filename") or "", str):
        return "`filename` must be text"
    if not isinstance(request.get("error_detail", True), bool | None):
        return "`error_detail` must be true or false"
    for name in ("env", "host", "limits", "files"):
        value = request.get(name)
        if value is not None and not isinstance(value, dict):
            return "limits: must be an object" if name == "limits" else f"`{name}` must be an object"
    return None


#: Tokens of all calls: what the ``llm`` hook of an instance reported since it was made.
_usage = Usage()

#: The program that the last ``handle`` prepared, with what it was made of: kept while nothing of that changes.
_prepared: list[tuple[Any, Program]] = []


def _program(request: dict[str, Any], hooks: dict[str, Any]) -> Program:
    program = Program(
        request["source"],
        filename=request.get("filename") or "<embedded>",
        env=request.get("env"),
        ceiling=request.get("ceiling"),
        limits=request.get("limits"),
        files=request.get("files"),
        error_detail=request.get("error_detail") is not False,
        host=hooks,
    )
    program.usage = _usage
    return program


def forget_program() -> None:
    """Drops the program that is prepared for ``handle``."""
    _prepared.clear()


def forget() -> None:
    """Drops what is kept from call to call: the prepared program, the count of tokens."""
    forget_program()
    _usage.used = 0


def _handled(request: dict[str, Any], hooks: dict[str, Any]) -> dict[str, Any]:
    made_of = [request.get(name) for name in ("source", "filename", "env", "ceiling", "limits", "files", "error_detail")], hooks
    try:
        if not _prepared or _prepared[0][0] != made_of:
            _prepared[:] = [(made_of, _program(request, hooks))]
        return _prepared[0][1].handle(request["request"])
    except (TypeError, ValueError, RuntimeError) as error:  # the last one from inside of a hook: one call at a time
        return _refused(str(error), "handle")


def refusal(request_text: str, error: str) -> str:
    """The answer to a request that was begun and could not be ended, with this error."""
    request = _decoded(request_text)
    return json.dumps(_refused(error, request.get("op", "run") if isinstance(request, dict) else "run"))


def _refused(text: str, op: str = "run") -> dict[str, Any]:
    """The answer to a request that cannot be served: the fields that every answer of ``op`` has, ``text`` as the error."""
    refusal: dict[str, Any] = {"ok": False, "output": [], "errors": [text], "audit": []}
    if op == "run":
        refusal.update(llm_tokens=_usage.used)
    elif op == "test":
        refusal.update(passed=0, failed=1, lines=[text])
    elif op == "handle":
        body = json.dumps({"error": text, "status": 500})
        refusal.update(status=500, content_type="application/json", headers=[], body=body, log=[])
    return refusal
