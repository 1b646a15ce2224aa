"""Every host gives the same answers: this process, wasmtime, Node and Chromium, on the conformance cases of the web build and
on the cases of hooks, which a program alone cannot state.

What a program asked of its hooks, and in what order, must be the same too.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
from base64 import b64encode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from playwright.sync_api import Browser

import language
from conformance.cases import Case, find, load
from language.wasm import WebBuild
from tests.wasm.programs import HELLO
from tests.wasm.web_build import ROOT, node, web_build

HERE = Path(__file__).resolve().parent


class Call(NamedTuple):
    """Requests that one instance answers in order, and what its host lends."""

    name: str
    requests: list[dict[str, Any]]
    hooks: dict[str, Any]


def request_of(case: Case) -> Call:
    options: dict[str, Any] = {
        "op": case.mode,
        "source": case.data.decode("utf-8"),
        "filename": case.path.name,
        "env": case.env,
    }
    if case.files:
        options["files"] = {name: {"base64": b64encode(data).decode()} for name, data in case.files.items()}
    if case.limits:
        options["limits"] = case.limits
    if case.flags:
        options["ceiling"] = "sandbox" if case.flags == ("--sandbox",) else case.flags[1]
    sent = [
        {"method": each.method, "path": each.target, "headers": [list(pair) for pair in each.headers], "body": each.body}
        for each in case.requests
    ]
    return Call(case.name, [{**options, "request": each} for each in sent] or [options], {"log": True})


def of_conformance() -> Iterator[Call]:
    """The cases that the web build has and that give the same every time."""
    yield from (request_of(case) for case in map(load, find()) if not case.needs and not unfit(case))


def unfit(case: Case) -> bool:
    """What another build alone can run, or what is different every time."""
    if case.excluded("web") or case.excluded("embedded"):
        return True
    try:
        source = case.data.decode("utf-8")
    except UnicodeDecodeError:
        return True
    return any(word in source for word in ("now(", "time", "random", "uuid", "token(", "password_hash", "sleep"))


def run(source: str, **more: Any) -> dict[str, Any]:
    return {"op": "run", "source": source, **more}


SERVING = (
    HELLO
    + """    route "GET /bytes"
        give binary(bytes([255, 0]), "image/png")
"""
)
MEMORY = 'require memory("notes")\nremember("context", "a")\nprint(length(recall()))'
LLM = (
    'require llm\nprint(decide between ["RED", "BLUE"] given "sky")\n'
    'print(reason about "rain" with where = "Oslo")\nprint(llm_usage())'
)
HTTP = 'require net("api.example")\nlet r be http_get("https://api.example/v")\n'
HTTP_ANSWER = {"status": 200, "headers": [["x-a", "1"], ["x-a", "2"]], "body_base64": "aGk="}

HOOKED = [
    Call(
        "requests",
        [
            {"op": "handle", "source": SERVING, "request": {"method": method, "path": path}}
            for method, path in (
                ("GET", "/hello/ana?x=1"),
                ("GET", "/hello/ana"),
                ("POST", "/hello/ana"),
                ("GET", "/nope"),
                ("GET", "/bytes"),
            )
        ],
        {"kv": {}},
    ),
    Call("no serve", [{"op": "handle", "source": "print(1)", "request": {"path": "/"}}], {}),
    Call("memory", [run(MEMORY), run(MEMORY)], {"kv": {}}),
    Call("memory without a store", [run(MEMORY)], {}),
    Call("a store that holds no JSON", [run('state_get("a")')], {"kv": {"state a": "{oops"}}),
    Call("llm", [run(LLM), run(LLM, ceiling="stdout")], {"llm": {"content": "Blue.", "tokens": 9}}),
    Call("llm fails", [run(LLM)], {"llm": {"error": "quota"}}),
    Call("llm as text", [run(LLM)], {"llm": "Red"}),
    Call("no llm", [run(LLM)], {}),
    Call(
        "http",
        [
            run(HTTP + 'print(text(r["status"]) + r["body"])'),
            run(HTTP, ceiling="stdout"),
            run('http_get("https://api.example/v")'),
        ],
        {"http": HTTP_ANSWER},
    ),
    Call("http fails", [run(HTTP + 'print(r["ok"], r["error"])')], {"http": {"error": "no route"}}),
    Call("no http", [run(HTTP + "print(r)")], {}),
    Call("log and sleep", [run('eprint("é😀")\nsleep(1.5)\neprint("b")')], {"log": True, "sleep": True}),
    Call("check", [{"op": "check", "source": "let x be"}, {"op": "check", "source": "print(1)"}], {}),
    Call("exit", [run('print("a")\nlog "b"\nprint("c")\nexit(3)\nprint("d")'), run("exit()")], {}),
    Call("steps", [run("while true\n    let x be 1", limits={"steps": 1000})], {}),
    Call(
        "refused",
        [run('sql("select 1")'), run('read_file("a.txt")'), run('require file.read("a.txt")\nread_file("a.txt")')],
        {},
    ),
    Call("a long loop", [run("let i be 0\nwhile i < 2000000\n    set i to i + 1\nprint(i)")], {}),
]

CALLS = [*HOOKED, *of_conformance()]


def hooks_of(call: Call, calls: list[list[Any]]) -> dict[str, Any]:
    """The hooks in Python; ``tests/wasm/js/answers.js`` has the same in JavaScript."""
    store = dict(call.hooks.get("kv") or {})

    class Store:
        def get(self, space: str, key: str) -> str | None:
            calls.append(["get", space, key])
            return store.get(f"{space} {key}")

        def set(self, space: str, key: str, value: str) -> None:
            calls.append(["set", space, key, value])
            store[f"{space} {key}"] = value

        def delete(self, space: str, key: str) -> None:
            store.pop(f"{space} {key}", None)

        def list(self, space: str) -> list[str]:
            return [name.removeprefix(f"{space} ") for name in store if name.startswith(f"{space} ")]

    def http(request: dict[str, Any]) -> Any:
        calls.append(["http", request])
        return call.hooks["http"]

    def llm(operation: str, prompt: str) -> Any:
        calls.append(["llm", operation, prompt])
        return call.hooks["llm"]

    everything = {
        "http": http,
        "kv": Store(),
        "llm": llm,
        "log": lambda line: calls.append(["log", line]),
        "sleep": lambda seconds: calls.append(["sleep", seconds]),
    }
    return {name: everything[name] for name in call.hooks}


def comparable(answers: list[Any]) -> Any:
    """The answers without times, in the form that JSON leaves."""
    for answer in answers:
        for record in answer.get("audit", ()):
            del record["ts"]
    return json.loads(json.dumps(answers))


def in_this_process(call: Call) -> tuple[Any, list[list[Any]]]:
    calls: list[list[Any]] = []
    host = hooks_of(call, calls)
    lent = dict.fromkeys(call.hooks, True)
    script = [json.loads(language.call_json(json.dumps({**request, "host": lent}), host)) for request in call.requests]
    return comparable(script), calls


@pytest.fixture(scope="module")
def expected() -> list[tuple[Any, list[list[Any]]]]:
    from language import json_call
    from language.models.budget import Usage

    found = []
    for call in CALLS:
        json_call._usage = Usage()  # as a new instance has it
        found.append(in_this_process(call))
    return found


def timeless(calls: list[list[Any]]) -> list[list[Any]]:
    """The calls of hooks, the times in what memories keep put to nothing."""
    return [[re.sub(r'_at": [0-9.]+', '_at": 0', part) if isinstance(part, str) else part for part in call] for call in calls]


def same(found: list[Any], expected: list[Any]) -> None:
    assert len(found) == len(expected) == len(CALLS)
    different = [
        f"{call.name}:\n  expected {json.dumps(theirs, ensure_ascii=False)}\n  got      {json.dumps(ours, ensure_ascii=False)}"
        for call, ours, theirs in zip(CALLS, found, expected, strict=True)
        if ours[0] != theirs[0] or timeless(ours[1]) != timeless(theirs[1])
    ]
    assert not different, "\n".join(different)


def test_there_is_something_to_compare(expected: list[Any]) -> None:
    assert len(CALLS) > 60
    assert any(calls for _, calls in expected)
    assert {request["op"] for call in CALLS for request in call.requests} == {"run", "test", "check", "handle"}


def test_wasmtime(expected: list[Any]) -> None:
    found = []
    for call in CALLS:
        calls: list[list[Any]] = []
        host = hooks_of(call, calls)
        with WebBuild(web_build()) as build:
            lent = dict.fromkeys(call.hooks, True)
            answers = [build.call({**request, "host": lent}, host) for request in call.requests]
        found.append([comparable(answers), calls])
    same(found, expected)


def as_json() -> str:
    return json.dumps([{"requests": call.requests, "hooks": call.hooks} for call in CALLS])


def test_node(expected: list[Any]) -> None:
    done = subprocess.run(
        [node(), "answer.js"],
        cwd=HERE / "js",
        env={**os.environ, "LANG_WEB_BUILD": str(web_build())},
        input=as_json(),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    same([[comparable(answers), calls] for answers, calls in json.loads(done.stdout)], expected)


class Repository(BaseHTTPRequestHandler):
    """The files of the wrapper and these tests, and the web build."""

    def do_GET(self) -> None:
        path = (ROOT / self.path.lstrip("/")).resolve()
        kind = {".js": "text/javascript", ".wasm": "application/wasm", ".html": "text/html"}.get(path.suffix)
        content = b"<!doctype html>" if self.path == "/empty.html" else None
        if content is None and kind is not None and path.is_relative_to(ROOT) and path.is_file():
            content = path.read_bytes()
        self.send_response(404 if content is None else 200)
        self.send_header("Content-Type", kind or "text/plain")
        self.send_header("Content-Length", str(len(content or b"")))
        self.end_headers()
        self.wfile.write(content or b"")

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


IN_PAGE = """async (cases) => {
    const { answersOf } = await import("/tests/wasm/js/answers.js");
    const module = await WebAssembly.compileStreaming(fetch("/dist/lang-web.wasm"));
    return JSON.stringify(await answersOf(module, JSON.parse(cases)));
}"""


def test_chromium(browser: Browser, expected: list[Any]) -> None:
    web_build()
    with ThreadingHTTPServer(("127.0.0.1", 0), Repository) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        page = browser.new_page()
        try:
            page.goto(f"http://127.0.0.1:{server.server_port}/empty.html")
            found = json.loads(page.evaluate(IN_PAGE, as_json()))
        finally:
            page.close()
            server.shutdown()
            thread.join()
    same([[comparable(answers), calls] for answers, calls in found], expected)
