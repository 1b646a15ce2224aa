"""One function of text to text: the protocol of the WebAssembly builds and of every wrapper."""

from __future__ import annotations

import json
from typing import Any

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
    if op == "handle":
        return _refused("handle: not available in this version (serve is not part of it yet)", handle=True)
    lent = request.get("host") or {}
    offered = {
        name: host.get(name) if isinstance(host, dict) else getattr(host, name, None) for name in lent if lent[name] is True
    }
    try:
        program = Program(
            source,
            filename=request.get("filename") or "<embedded>",
            env=request.get("env"),
            ceiling=request.get("ceiling"),
            limits=request.get("limits"),
            files=request.get("files"),
            host=offered if host is not None else None,
        )
    except (TypeError, ValueError) as error:
        return _refused(str(error))
    if op == "check":
        return program.check()
    return program.test() if op == "test" else program.run()


def _refused(text: str, *, handle: bool = False) -> dict[str, Any]:
    refusal: dict[str, Any] = {"ok": False, "output": [], "errors": [text], "audit": []}
    if handle:
        body = json.dumps({"error": text, "status": 500})
        refusal.update(status=500, content_type="application/json", headers=[], body=body, log=[])
    return refusal
