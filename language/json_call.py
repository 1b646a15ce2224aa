"""A function from JSON text to JSON text: the protocol of the WebAssembly builds and of their wrappers."""

from __future__ import annotations

import json
import re
from gc import collect
from typing import Any

from language.models.budget import Usage
from language.program import Program, version

OPS = ("run", "test", "check", "handle", "version")


#: The deepest nesting of a request.
MOST_DEPTH = 128

#: Text between brackets, including string literals without escapes; then part of a string literal. The bounded repetitions
#: limit the memory of a match.
_BESIDE = re.compile(r'(?:[^"\[\]{}]*"[^"\\]*"){0,4096}[^"\[\]{}]*')
_INSIDE = re.compile(r'[^"\\]*(?:\\.[^"\\]*){0,4096}', re.DOTALL)


def call_json(request_text: str, host: Any = None) -> str:
    """Answers one JSON request with one JSON text. Errors of the program and of the request are part of the answer, never
    exceptions.

    ``host`` are the available hooks; the request names those that it uses.
    """
    try:
        request = _decoded(request_text)
    except ValueError as error:
        return json.dumps(_refused(f"invalid request JSON: {error}"))
    given = answer(request, host)
    try:
        return json.dumps(given)
    except MemoryError:
        # The memory is full of what the program left; the answer itself is small.
        forget_program()
        collect()
        return json.dumps(given)


def _decoded(text: str) -> Any:
    """The request in a JSON text, with lone surrogates replaced. Raises ``ValueError``."""
    if text.count("[") + text.count("{") > MOST_DEPTH:
        _check_depth(text)
    root = json.loads(text)
    if "\\ud" in text.lower() or not text.isascii():
        root = _clean(root)
    return root


def _check_depth(text: str) -> None:
    """Checks the nesting before parsing: the depth at which Python's JSON parser fails differs between versions."""
    depth, position = 0, _end(_BESIDE, text, 0)
    while position < len(text):
        mark = text[position]
        position += 1
        if mark == '"':
            position = _text_end(text, position)
        elif mark in "[{":
            depth += 1
            if depth > MOST_DEPTH:
                raise ValueError(f"nested more than {MOST_DEPTH} levels deep")
        else:
            depth -= 1
        position = _end(_BESIDE, text, position)


def _end(pattern: re.Pattern[str], text: str, position: int) -> int:
    """The end of the match of a pattern that matches anywhere, possibly the empty text."""
    found = pattern.match(text, position)
    return position if found is None else found.end()


def _text_end(text: str, position: int) -> int:
    """The end of a string literal that begins before the position; the end of the text where the literal does not end."""
    while True:
        end = _end(_INSIDE, text, position)
        if text[end : end + 1] == '"':
            return end + 1
        if end == position:
            return len(text)
        position = end


def _clean(value: Any) -> Any:
    """The value with U+FFFD in place of each lone surrogate."""
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
        return program.check(problems=request.get("problems") is True)
    return program.test() if op == "test" else program.run()


def _wrong_field(request: dict[str, Any], op: str) -> str | None:
    """The reason why a request cannot be served, or ``None``."""
    if not isinstance(request.get("source"), str):
        return "missing `source` (the program text)"
    if op == "handle" and not isinstance(request.get("request"), dict):
        return "handle: missing `request` {method, path, headers, body}"
    if not isinstance(request.get("filename") or "", str):
        return "`filename` must be text"
    for name in ("error_detail", "problems"):
        if not isinstance(request.get(name), bool | None):
            return f"`{name}` must be true or false"
    for name in ("env", "host", "limits", "files"):
        value = request.get(name)
        if value is not None and not isinstance(value, dict):
            return "limits: must be an object" if name == "limits" else f"`{name}` must be an object"
    return None


#: The tokens of all calls that the ``llm`` hook has reported in this instance.
_usage = Usage()

#: The program that the last ``handle`` prepared, with the fields of its request. It is reused while these are the same.
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
    """Drops the program that was prepared for ``handle``."""
    _prepared.clear()


def forget() -> None:
    """Drops everything that is kept between calls: the prepared program and the count of tokens."""
    forget_program()
    _usage.used = 0


def _handled(request: dict[str, Any], hooks: dict[str, Any]) -> dict[str, Any]:
    made_of = [request.get(name) for name in ("source", "filename", "env", "ceiling", "limits", "files", "error_detail")], hooks
    try:
        if not _prepared or _prepared[0][0] != made_of:
            _prepared[:] = [(made_of, _program(request, hooks))]
        return _prepared[0][1].handle(request["request"])
    # RuntimeError: a call from inside of a hook; only one call at a time is possible
    except (TypeError, ValueError, RuntimeError) as error:
        return _refused(str(error), "handle")


def refusal(request_text: str, error: str) -> str:
    """The answer to a request that ended early with this error."""
    request = _decoded(request_text)
    return json.dumps(_refused(error, request.get("op", "run") if isinstance(request, dict) else "run"))


def _refused(text: str, op: str = "run") -> dict[str, Any]:
    """The answer to an invalid request: the fields that every answer of ``op`` has, with ``text`` as the error."""
    refusal: dict[str, Any] = {"ok": False, "output": [], "errors": [text], "audit": []}
    if op == "run":
        refusal.update(llm_tokens=_usage.used)
    elif op == "test":
        refusal.update(passed=0, failed=1, lines=[text])
    elif op == "handle":
        body = json.dumps({"error": text, "status": 500})
        refusal.update(status=500, content_type="application/json", headers=[], body=body, log=[])
    return refusal
