"""One function of text to text: the protocol of the WebAssembly builds and of every wrapper."""

from __future__ import annotations

import json
from typing import Any

from language.llm import Usage
from language.program import Program, version

OPS = ("run", "test", "check", "handle", "version")


def call_json(request_text: str, host: Any = None) -> str:
    """Answers one JSON request with one JSON text; faults of the program and of the request are data, never exceptions.

    ``host`` are the hooks that may be lent; the request says which of them it takes.
    """
    try:
        request = json.loads(request_text)
    except ValueError as error:
        return json.dumps(_refused(f"invalid request JSON: {error}"))
    return json.dumps(answer(request, host))


def answer(request: Any, host: Any = None) -> dict[str, Any]:
    """The answer to a decoded request."""
    if not isinstance(request, dict):
        return _refused("the request must be a JSON object")
    op = request.get("op", "run")
    if op == "version":
        return {"version": version()}
    if op not in OPS:
        return _refused(f'unknown op "{op}" (expected {"|".join(OPS)})')
    source = request.get("source")
    if not isinstance(source, str):
        return _refused("missing `source` (the program text)", handle=op == "handle")
    if op == "handle" and not isinstance(request.get("request"), dict):
        return _refused("handle: missing `request` {method, path, headers, body}", handle=True)
    lent = request.get("host") or {}
    offered = {
        name: host.get(name) if isinstance(host, dict) else getattr(host, name, None) for name in lent if lent[name] is True
    }
    if op == "handle":
        return _handled(request, offered)
    try:
        program = _program(request, offered)
    except (TypeError, ValueError) as error:
        return _refused(str(error))
    if op == "check":
        return program.check()
    return program.test() if op == "test" else program.run()


#: Tokens of all calls: what the ``llm`` hook of an instance reported since it was made.
_usage = Usage()


def _program(request: dict[str, Any], hooks: dict[str, Any]) -> Program:
    program = Program(
        request["source"],
        filename=request.get("filename") or "<embedded>",
        env=request.get("env"),
        ceiling=request.get("ceiling"),
        limits=request.get("limits"),
        files=request.get("files"),
        host=hooks,
    )
    program.usage = _usage
    return program


#: Tokens of all calls: what the ``llm`` hook of an instance reported since it was made.
_usage = Usage()

#: The program that the last ``handle`` prepared, with what it was made of: kept while nothing of that changes.
_prepared: list[tuple[Any, Program]] = []


def forget() -> None:
    """Drops the prepared program."""
    _prepared.clear()


def _handled(request: dict[str, Any], hooks: dict[str, Any]) -> dict[str, Any]:
    made_of = [request.get(name) for name in ("source", "filename", "env", "ceiling", "limits", "files")], hooks
    try:
        if not _prepared or _prepared[0][0] != made_of:
            _prepared[:] = [(made_of, _program(request, hooks))]
        return _prepared[0][1].handle(request["request"])
    except (TypeError, ValueError) as error:
        return _refused(str(error), handle=True)


def _refused(text: str, *, handle: bool = False) -> dict[str, Any]:
    refusal: dict[str, Any] = {"ok": False, "output": [], "errors": [text], "audit": []}
    if handle:
        body = json.dumps({"error": text, "status": 500})
        refusal.update(status=500, content_type="application/json", headers=[], body=body, log=[])
    return refusal
