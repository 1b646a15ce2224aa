"""The web build through wasmtime: the answers of the embedding API, the outer limits, and the cache of compiled modules."""

from __future__ import annotations

import gc
import hashlib
import json
import os
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import wasmtime

import language
from language.wasm import Trapped, WebBuild
from language.wasm import module_cache as wasm_modules
from tests.wasm.programs import HELLO
from tests.wasm.web_build import ROOT, web_build

MIB = 2**20
ENDLESS = "while true\n    let x be 1"
TRAPPING = wasmtime.wat2wasm((Path(__file__).parent / "trapping.wat").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def build() -> WebBuild:
    return WebBuild(web_build())


def without_times(answer: Any) -> Any:
    for record in answer.get("audit", []):
        record["ts"] = 0
    return answer


# ---- the same answers as in this process -------------------------------------------------------------------------------------

ROUTES = (
    HELLO
    + """    route "POST /echo"
        give binary(read_body_bytes(), "application/octet-stream")
"""
)


class Store:
    """A ``kv`` hook that writes down what it was asked."""

    def __init__(self) -> None:
        self.values: dict[tuple[str, str], str] = {}
        self.calls: list[tuple[str, ...]] = []

    def get(self, namespace: str, key: str) -> str | None:
        self.calls.append(("get", namespace, key))
        return self.values.get((namespace, key))

    def set(self, namespace: str, key: str, value: str) -> None:
        self.calls.append(("set", namespace, key, value))
        self.values[namespace, key] = value

    def delete(self, namespace: str, key: str) -> None:
        self.values.pop((namespace, key), None)

    def list(self, namespace: str) -> list[str]:
        return [key for space, key in self.values if space == namespace]


@pytest.mark.parametrize(
    ("operation", "source", "options"),
    [
        ("run", 'print(1 + 2)\nprint("é😀")', {}),
        ("run", 'print("before")\nrequire random\nprint(random())', {"ceiling": "sandbox"}),
        ("run", "let x be", {"filename": "a.lang"}),
        ("run", 'print("a")\nlog "b"\nexit(3)', {}),
        ("run", 'require env("*")\nprint(env("A"), env("B"), env("C") == "")', {"env": {"A": "x", "B": 5, "C": None}}),
        ("run", 'use "./m.lang" as m\nprint(m.X)', {"files": {"m.lang": "export let X be 5"}}),
        ("run", 'use "./m.lang" as m\nprint(m.X)', {"files": {"m.lang": {"base64": "ZXhwb3J0IGxldCBYIGJlIDY="}}}),
        ("run", ENDLESS, {"limits": {"steps": 1000}}),
        ("run", "print(1)", {"limits": {"steps": 1000}, "ceiling": True}),
        ("test", 'test "sum"\n    assert(1 + 1 == 2)\ntest "bad"\n    assert(1 == 2)', {}),
        ("check", "let x be", {"filename": "a.lang"}),
        ("check", "print(1)", {}),
    ],
)
def test_answers_are_those_of_the_embedding_api(build: WebBuild, operation: str, source: str, options: dict[str, Any]) -> None:
    inside = getattr(build, operation)(source, **options)
    assert without_times(inside) == without_times(getattr(language, operation)(source, **options))


def test_handle(build: WebBuild) -> None:
    store = Store()
    for total in (1, 2):
        reply = build.handle(ROUTES, {"path": "/hello/ana?x=1", "headers": {"a": "b"}}, host={"kv": store})
        assert (reply["status"], reply["content_type"], reply["log"]) == (200, "application/json", ["served ana"])
        assert reply["body"] == f'{{"hi": "ana", "hits": 1, "total": {total}}}'
    assert store.calls == [
        ("get", "state", "total"),
        ("set", "state", "total", "1"),
        ("get", "state", "total"),
        ("set", "state", "total", "2"),
    ]
    assert build.handle(ROUTES, {"method": "POST", "path": "/hello/ana"})["headers"] == [["Allow", "GET"]]
    binary = build.handle(ROUTES, {"method": "POST", "path": "/echo", "body_base64": "/wAB"})
    assert (binary["body_base64"], binary["body"]) == ("/wAB", "")


def test_version_and_the_protocol(build: WebBuild) -> None:
    assert build.version() == language.version()
    assert build.call({"op": "version"}) == {"version": language.version()}
    assert json.loads(build.call_json("[]"))["errors"] == ["the request must be a JSON object"]
    assert json.loads(build.call_json("{oops"))["errors"][0].startswith("invalid request JSON: ")
    assert build.call({"op": "fly"})["errors"] == ['unknown op "fly" (expected run|test|check|handle|version)']
    asked: list[str] = []
    host = {"log": asked.append}
    build.call({"source": 'eprint("a")'}, host)  # the request does not lend it
    build.call({"source": 'eprint("b")', "host": {"log": True}}, host)
    assert asked == ["b"]


# ---- hooks -------------------------------------------------------------------------------------------------------------------

GET = 'require net("api.example")\nlet r be http_get("https://api.example/v")\n'


def both(build: WebBuild, source: str, host: Any) -> dict[str, Any]:
    """The answer through wasmtime, which is that of this process."""
    answer = without_times(build.run(source, host=host))
    assert answer | {"llm_tokens": 0} == without_times(language.run(source, host=host)) | {"llm_tokens": 0}
    return dict(answer)


@pytest.mark.parametrize(
    "reply",
    [
        {"status": 200, "headers": [["x-a", "1"]], "body": "hi"},
        {"status": 200, "headers": {"x-a": "1"}, "body": b"hi"},
        {"status": 200, "headers": (("x-a", "1"),), "body_base64": "aGk="},
        {"status": 204},
        {"error": "no route"},
        {"status": "x"},
        None,
        "text",
    ],
)
def test_http(build: WebBuild, reply: Any) -> None:
    asked: list[dict[str, Any]] = []

    def http(request: dict[str, Any]) -> Any:
        asked.append(request)
        return reply

    assert both(build, f"{GET}print(r)", {"http": http})["ok"]
    assert asked[0] == asked[1]
    assert (asked[0]["method"], asked[0]["url"], asked[0]["body"]) == ("GET", "https://api.example/v", None)


def test_http_is_not_asked_without_grant_or_hook(build: WebBuild) -> None:
    asked: list[Any] = []
    denied = build.run('http_get("https://api.example/v")', host={"http": asked.append})
    assert "Capability not granted: net" in denied["errors"][0]
    above = build.run(GET, host={"http": asked.append}, ceiling="stdout")
    assert "Capability not granted: net" in above["errors"][0]
    assert asked == []
    assert build.run(f'{GET}print(r["ok"], "error" in r)')["output"] == ["false true"]


def test_errors_of_hooks_are_data(build: WebBuild) -> None:
    def broken(*_: Any) -> Any:
        raise OSError("gone")

    async def later(*_: Any) -> Any:
        return None

    assert both(build, f'{GET}print(r["error"])', {"http": broken})["output"] == ["OSError: gone"]
    assert "coroutine" in both(build, f'{GET}print(r["error"])', {"http": later})["output"][0]
    assert both(build, 'print(reason about "x")', {"llm": broken})["output"] == ["[llm error: OSError: gone]"]
    failing = both(build, 'print(state_get("a"))', {"kv": {"get": broken}})
    assert "state: the host store failed: OSError: gone" in failing["errors"][0]
    assert build.run('print(reason about "x")', host={"llm": lambda *_: {1, 2}})["output"][0].startswith(
        "[llm error: TypeError: "
    )


def test_a_hook_may_raise_what_has_no_text(build: WebBuild) -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise ValueError("no text")

    def http(request: dict[str, Any]) -> None:
        raise Mute

    source = 'require net("a.example")\nprint(http_get("https://a.example/")["error"])'
    assert build.run(source, host={"http": http})["output"] == ["Mute: its text cannot be shown"]


@pytest.mark.parametrize("seconds", [float("inf"), float("nan"), 0, -1])
def test_a_timeout_is_a_length_of_time(seconds: float) -> None:
    with pytest.raises(ValueError, match="timeout_s must be more than 0 and finite"):
        WebBuild(web_build(), timeout_s=seconds)


def test_llm_sleep_and_log(build: WebBuild) -> None:
    slept: list[float] = []
    lines: list[str] = []

    class Host:
        kv = None

        def llm(self, operation: str, prompt: str) -> Any:
            return {"content": f"{operation}: {prompt}", "tokens": 9}

        def log(self, line: str) -> None:
            lines.append(line)

        def sleep(self, seconds: float) -> None:
            slept.append(seconds)

    answer = build.run('eprint("a")\nsleep(1.5)\nprint(reason about "x")', host=Host())
    assert answer["output"] == ["reason: x"] and answer["llm_tokens"] % 9 == 0 and answer["llm_tokens"] > 0
    assert (slept, lines) == ([1.5], ["a"])
    before = time.monotonic()
    build.run("sleep(0.2)", host={"sleep": True})
    assert time.monotonic() - before >= 0.2
    before = time.monotonic()
    build.run("sleep(30)")
    assert time.monotonic() - before < 25


def test_memory_and_state(build: WebBuild) -> None:
    store = Store()
    source = 'require memory("notes")\nremember("context", "a")\nprint(length(recall()))'
    assert [build.run(source, host={"kv": store})["output"] for _ in range(2)] == [["1"], ["2"]]
    assert {namespace for namespace, _ in store.values} == {"memory:notes"}
    assert "provides no durable storage (wasm profile)" in build.run(source)["errors"][0]
    state = 'state_set("a", [1])\nstate_set("b", 2)\nstate_delete("b")\nprint(state_all())'
    assert build.run(state, host={"kv": Store()})["output"] == ["{a: [1]}"]


def test_what_interrupts_a_hook_passes_through(build: WebBuild) -> None:
    def interrupted(line: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build.run('eprint("x")', host={"log": interrupted})
    assert build.run("print(1)")["output"] == ["1"]


# ---- misuse ------------------------------------------------------------------------------------------------------------------


def test_wrong_arguments(build: WebBuild) -> None:
    with pytest.raises(TypeError, match="source must be str"):
        build.run(5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="unknown option 'celing'"):
        build.run("", celing="none")
    with pytest.raises(ValueError, match="unknown capability 'bogus'"):
        build.run("", ceiling="bogus")
    with pytest.raises(ValueError, match="limits: "):
        build.run("", limits={"stepz": 1})
    with pytest.raises(TypeError, match="request must be a mapping"):
        build.handle("", "GET /")  # type: ignore[arg-type]
    for name in ("memory_bytes", "fuel", "timeout_s"):
        with pytest.raises(ValueError, match=f"{name} must be more than 0"):
            WebBuild(TRAPPING, **{name: 0})  # type: ignore[arg-type]


def test_wrong_modules(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="absent"):
        WebBuild(tmp_path / "absent.wasm")
    with pytest.raises(ValueError, match="not a WebAssembly module"):
        WebBuild(b"nonsense")
    with pytest.raises(ValueError, match="exports no memory memory"):
        WebBuild(wasmtime.wat2wasm("(module)")).run("")
    with pytest.raises(ValueError, match="cannot be instantiated"):
        WebBuild(wasmtime.wat2wasm('(module (import "env" "f" (func)))')).run("")


def test_the_digest_is_verified() -> None:
    digest = hashlib.sha256(TRAPPING).hexdigest()
    assert WebBuild(TRAPPING, sha256=digest.upper()).run("") == {"ok": True}
    with pytest.raises(ValueError, match=f"SHA-256 is {digest}, not 00"):
        WebBuild(TRAPPING, sha256="00")


def test_one_call_at_a_time(build: WebBuild) -> None:
    inside: list[str] = []

    def log(line: str) -> None:
        for enter in (lambda: build.run("print(1)"), build.close):
            try:
                enter()
            except RuntimeError as error:
                inside.append(str(error))

    assert build.run('eprint("x")\nprint(2)', host={"log": log})["output"] == ["2"]
    assert inside == ["one call at a time: this WebBuild is in a call"] * 2


def test_builds_run_in_threads_side_by_side() -> None:
    answers: dict[int, list[str]] = {}
    module = web_build()

    def work(number: int) -> None:
        with WebBuild(module, timeout_s=60) as own:
            answers[number] = own.run(f"let n be 0\neach i in range(2000)\n    set n to n + {number}\nprint(n)")["output"]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {number: [str(2000 * number)] for number in range(4)}


# ---- outer limits ------------------------------------------------------------------------------------------------------------


def test_a_timeout_traps_and_the_next_call_has_a_fresh_instance() -> None:
    build = WebBuild(web_build(), timeout_s=1)
    source = 'require serve(1)\nserve on 1\n    route "GET /"\n        give {"n": state_incr("n")}'
    assert [build.handle(source, {})["body"] for _ in range(2)] == ['{"n": 1}', '{"n": 2}']
    started = time.monotonic()
    with pytest.raises(Trapped, match="the time is up") as caught:
        build.run(f"try\n    {ENDLESS.replace(chr(10), chr(10) + '    ')}\nrecover e\n    print(1)")
    assert caught.value.detail == "the time is up"
    assert 0.9 < time.monotonic() - started < 10
    assert build.handle(source, {})["body"] == '{"n": 1}'
    for _ in range(3):  # each call has its own time
        assert build.run("print(1)")["output"] == ["1"]


def test_a_timeout_counts_the_hooks() -> None:
    build = WebBuild(web_build(), timeout_s=0.5)
    with pytest.raises(Trapped, match="the time is up"):
        build.run('eprint("x")\nwhile true\n    let x be 1', host={"log": lambda line: time.sleep(0.6)})


def test_a_timeout_holds_in_a_forked_process() -> None:
    script = (
        "import os, sys\nfrom language.wasm import Trapped, WebBuild\n"
        "build = WebBuild(sys.argv[1], timeout_s=1)\nbuild.run('')\n"
        "if os.fork() == 0:\n"
        "    try:\n        build.run('while true\\n    let x be 1')\n"
        "    except Trapped as trapped:\n        print(trapped.detail, flush=True)\n"
        "    os._exit(0)\n"
        "os.wait()"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script, str(web_build())], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert (done.stdout, done.stderr) == ("the time is up\n", "")


def test_fuel_is_refilled_for_each_call() -> None:
    build = WebBuild(web_build(), fuel=1_000_000_000)
    with pytest.raises(Trapped, match="the fuel is used up"):
        build.run(ENDLESS)
    source = "let n be 0\neach i in range(20000)\n    set n to n + i\nprint(n)"
    assert {build.run(source)["output"][0] for _ in range(8)} == {"199990000"}


def test_the_memory_of_an_instance_is_bounded() -> None:
    build = WebBuild(web_build(), memory_bytes=120 * MIB)
    greedy = 'let s be "0123456789"\nwhile true\n    set s to s + s\n'
    for _ in range(2):
        answer = build.run(greedy)
        assert not answer["ok"] and "memory" in answer["errors"][0]
    assert build.run("print(1)")["output"] == ["1"]
    with pytest.raises(Trapped, match="no room for the request"):
        build.run("-- " + "x" * 120 * MIB)
    assert build.run("print(2)")["output"] == ["2"]
    with pytest.raises(ValueError, match="exceeds memory limits"):
        WebBuild(web_build(), memory_bytes=MIB).run("")


def test_a_trap_and_its_last_words() -> None:
    build = WebBuild(TRAPPING)
    lines: list[str] = []
    assert build.run("") == {"ok": True}
    for _ in range(2):
        with pytest.raises(Trapped, match=r"^the module trapped \(.*unreachable.*\); the instance was discarded$"):
            build.run("x" * 200, host={"log": lines.append})
        assert build.run("") == {"ok": True}
    assert lines == ["lang-wasm: panic: test"] * 2


def test_an_instance_goes_with_its_build() -> None:
    build = WebBuild(TRAPPING)
    build.run("")
    instance = weakref.ref(build._instance)
    del build
    gc.collect()
    assert instance() is None


# ---- compiled modules on disk ------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of an empty cache, and nothing compiled in this process yet."""
    tmp_path.chmod(0o700)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("PLATFORM_CACHE", raising=False)
    monkeypatch.setattr(wasm_modules, "_compiled", {})
    yield tmp_path / "lang" / "wasm"


def answers(monkeypatch: pytest.MonkeyPatch, **options: Any) -> None:
    """A build as the next process would have it."""
    monkeypatch.setattr(wasm_modules, "_compiled", {})
    assert WebBuild(TRAPPING, **options).run("") == {"ok": True}


def compiles(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The lengths of what is compiled from now on."""
    compiled: list[int] = []
    real = wasmtime.Module

    class Watched(real):
        def __init__(self, engine: wasmtime.Engine, wasm: bytes) -> None:
            compiled.append(len(wasm))
            super().__init__(engine, wasm)

    monkeypatch.setattr(wasm_modules, "Module", Watched)
    return compiled


def test_a_module_is_compiled_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = compiles(monkeypatch)
    for _ in range(3):
        answers(monkeypatch)
    assert len(compiled) == 1
    (file,) = folder.iterdir()
    assert (folder.stat().st_mode & 0o777, file.stat().st_mode & 0o777) == (0o700, 0o600)


def test_each_configuration_is_compiled_apart(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = compiles(monkeypatch)
    for _ in range(2):
        for options in ({}, {"fuel": 10**9}, {"timeout_s": 10}, {"fuel": 10**9, "timeout_s": 10}):
            answers(monkeypatch, **options)
    assert len(compiled) == 4 == len(list(folder.iterdir()))


def test_a_process_compiles_once_without_a_cache(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLATFORM_CACHE", "off")
    compiled = compiles(monkeypatch)
    for _ in range(3):
        assert WebBuild(TRAPPING).run("") == {"ok": True}
    assert len(compiled) == 1
    assert not folder.exists()


@pytest.mark.parametrize("damage", ["empty", "cut", "text"])
def test_a_damaged_file_is_compiled_anew(folder: Path, monkeypatch: pytest.MonkeyPatch, damage: str) -> None:
    answers(monkeypatch)
    (file,) = folder.iterdir()
    whole = file.read_bytes()
    file.write_bytes({"empty": b"", "cut": whole[: len(whole) // 2], "text": b"no machine code" * 100}[damage])
    compiled = compiles(monkeypatch)
    answers(monkeypatch)
    answers(monkeypatch)
    assert len(compiled) == 1


def not_trusted(folder: Path, file: Path, how: str) -> None:
    if how == "a folder open to others":
        folder.chmod(0o755)
    elif how == "a way there that others may write to":
        folder.parent.chmod(0o777)
    elif how == "a file that others may write to":
        file.chmod(0o666)
    elif how == "a link":
        file.rename(folder / "elsewhere")
        file.symlink_to("elsewhere")
    elif os.geteuid() != 0:
        pytest.skip("giving a file to another user needs root")
    else:
        os.chown(folder if how == "a folder of somebody else" else file, 4242, 4242)


@pytest.mark.parametrize(
    "how",
    [
        "a folder open to others",
        "a way there that others may write to",
        "a file that others may write to",
        "a link",
        "a folder of somebody else",
        "a file of somebody else",
    ],
)
def test_what_somebody_else_could_have_written_is_not_loaded(folder: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    answers(monkeypatch)
    (file,) = folder.iterdir()
    not_trusted(folder, file, how)
    compiled = compiles(monkeypatch)
    answers(monkeypatch)
    assert len(compiled) == 1


def test_few_modules_are_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers(monkeypatch)
    (oldest,) = folder.iterdir()
    os.utime(oldest, (1, 1))
    for number in range(wasm_modules.MOST_FILES):
        WebBuild(wasmtime.wat2wasm(f"(module (memory {number + 1}))"))
    assert len(list(folder.iterdir())) == wasm_modules.MOST_FILES
    assert not oldest.exists()


def test_without_wasmtime_the_error_says_what_to_install() -> None:
    script = "import sys; sys.modules['wasmtime'] = None\nimport language.wasm"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert 'ImportError: language.wasm needs the package wasmtime: pip install "ceiling-lang[wasm]"' in done.stderr
