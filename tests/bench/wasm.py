"""The web build: its size, what it takes to begin, how fast it is beside the same Python natively; and beside Pyodide.

    python tests/bench/wasm.py [--rounds N]

Needs `make wasm`, wasmtime and Node; the peer comes from npm (`.ci/node tests/bench/npm .venvs/bench-node`). What is missing is
named in the report.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

from compile_speed import generated_program
from engines import PROGRAMS, REPOSITORY, load_program
from machine import description
from timing import WALL, interleaved, table

WEB_BUILD = REPOSITORY / "dist" / "lang-web.wasm"
HOST = Path(__file__).with_name("wasm_host.js")
PEER = REPOSITORY / ".venvs" / "bench-node"
PROGRAM = "fib"
STEADY_CALLS = 300
#: The Python inside of the module: the one to compare with, where it is installed.
PYTHON = "3.13"
#: What must not be exceeded on an idle machine: a fresh process of Node to its first answer, a later trivial call in wasmtime.
FIRST_ANSWER_MS = 80
LATER_CALL_US = 150

#: What a page has to load before the first program can run.
OWN_FILES = ("wasm_abi/js/*.js", "dist/lang-web.wasm")
PEER_FILES = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")


def milliseconds(body: object) -> float:
    started = perf_counter()
    assert callable(body)
    body()
    return (perf_counter() - started) * 1000


def in_wasmtime(source: str, large: str) -> dict[str, float]:
    """One process' worth of figures; the module comes from the cache, as from the second time on."""
    from language.wasm import WebBuild

    build = WebBuild(WEB_BUILD)  # fills the cache
    started = perf_counter()
    build = WebBuild(WEB_BUILD)
    loaded = (perf_counter() - started) * 1000
    instantiate = milliseconds(build.version)  # made by the first call, whatever that asks
    first = milliseconds(lambda: build.run("print(1)"))
    steady = median(milliseconds(lambda: build.run("print(1)")) for _ in range(STEADY_CALLS))
    run = milliseconds(lambda: build.run(source))
    parse = milliseconds(lambda: build.check(large))
    return {"compile": loaded, "instantiate": instantiate, "first": first, "steady": steady, "run": run, "parse": parse}


def node(*words: str) -> str:
    done = subprocess.run(["node", str(HOST), *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    return done.stdout.strip()


def in_node(program: Path, large: Path) -> dict[str, float]:
    figures: dict[str, float] = json.loads(node("figures", str(WEB_BUILD), str(program), str(large)))
    return figures


def native_python() -> str:
    """The interpreter to compare with: that of the module's version, else this one."""
    installed = [shutil.which(f"python{PYTHON}"), *map(str, Path.home().glob(f".pyenv/versions/{PYTHON}.*/bin/python"))]
    for command in installed:
        if command and subprocess.run([command, "-c", "import language"], cwd=REPOSITORY, capture_output=True).returncode == 0:
            return command
    return sys.executable


def natively(command: str, program: Path, large: Path) -> dict[str, float]:
    """The same in a process of that interpreter."""
    words = [command, __file__, "--natively", str(program), str(large)]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def native(source: str, large: str) -> dict[str, float]:
    run = load_program(source, "program.lang")
    run()
    import language

    return {"run": milliseconds(run), "parse": milliseconds(lambda: language.check(large))}


def middle(samples: list[dict[str, float]]) -> dict[str, float]:
    return {name: median(sample[name] for sample in samples) for name in samples[0]}


def figures(rounds: int) -> str:
    """What each host takes, and how many times this interpreter's time."""
    source, large = (PROGRAMS / f"{PROGRAM}.lang").read_text(encoding="utf-8"), generated_program()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "large.lang")
        path.write_text(large, encoding="utf-8")
        python = native_python()
        asked = [python, "-c", "import platform; print('native', platform.python_implementation(), platform.python_version())"]
        name = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
        samples: dict[str, list[dict[str, float]]] = {name: [], "wasmtime": [], "node": []}
        for _ in range(rounds):
            samples[name].append(natively(python, PROGRAMS / f"{PROGRAM}.lang", path))
            samples["wasmtime"].append(in_wasmtime(source, large))
            if shutil.which("node"):
                samples["node"].append(in_node(PROGRAMS / f"{PROGRAM}.lang", path))
    own = middle(samples[name])
    rows = []
    for host, taken in samples.items():
        if not taken:
            rows.append([f"{host}: not installed", *[""] * 6])
            continue
        found = middle(taken)
        begin = [f"{found[name]:.1f}" if found.get(name) else "-" for name in ("compile", "instantiate", "first")]
        steady = f"{found['steady'] * 1000:.0f}" if "steady" in found else "-"
        rows.append(
            [host, *begin, steady, *(f"{found[name]:.0f} ({found[name] / own[name]:.1f})" for name in ("run", "parse"))]
        )
    header = [
        "host",
        "load ms",
        "instantiate ms",
        "first call ms",
        "later call us",
        f"{PROGRAM} ms (x)",
        "1,000 lines parsed ms (x)",
    ]
    later = min(sample["steady"] for sample in samples["wasmtime"]) * 1000
    bars = [f"A later call in wasmtime: {later:.0f} us at best (bar on an idle machine: {LATER_CALL_US})."]
    if samples["node"]:
        first = min(sum(sample[name] for name in ("compile", "instantiate", "first")) for sample in samples["node"])
        bars.append(
            f"The first answer in a fresh process of Node, once Node itself runs: {first:.0f} ms at best "
            f"(bar on an idle machine: {FIRST_ANSWER_MS})."
        )
    return "\n\n".join([table(header, rows), *bars])


def sizes() -> str:
    """Bytes of the module and of what a page loads, as they are and compressed; the peer's beside."""
    groups = {
        "lang-web.wasm": [WEB_BUILD],
        "module and wrapper": [path for each in OWN_FILES for path in REPOSITORY.glob(each)],
    }
    peer = PEER / "node_modules" / "pyodide"
    if peer.is_dir():
        groups["Pyodide"] = [peer / name for name in PEER_FILES]
    rows = []
    for name, files in groups.items():
        contents = [file.read_bytes() for file in files]
        packed = sum(len(gzip.compress(content, 9)) for content in contents)
        rows.append([name, str(len(files)), f"{sum(map(len, contents)):,}", f"{packed:,}"])
    return table(["what is loaded", "files", "bytes", "gzip -9"], rows)


def first_answer(rounds: int) -> str:
    """Whole processes of Node: from nothing to the answer of a small program."""
    if not shutil.which("node"):
        return "Not measured: Node is not installed."
    with tempfile.TemporaryDirectory() as folder:
        own, theirs = Path(folder, "answer.lang"), Path(folder, "answer.py")
        own.write_text("print(6 * 7)\n", encoding="utf-8")
        theirs.write_text("def main():\n    return 6 * 7\n", encoding="utf-8")
        runs = {"lang": lambda: node("answer", str(WEB_BUILD), str(own)), "Node alone": lambda: node("nothing")}
        if (PEER / "node_modules" / "pyodide").is_dir():
            runs["Pyodide"] = lambda: node("pyodide", str(PEER), str(theirs))
        for name, suffix in (("lang, fib(30)", ".lang"), ("Pyodide, fib(30) in Python", ".py")):
            if name.partition(",")[0] in runs:
                program, mode = str(PROGRAMS / f"{PROGRAM}{suffix}"), "answer" if suffix == ".lang" else "pyodide"
                place = str(WEB_BUILD) if suffix == ".lang" else str(PEER)
                runs[name] = lambda mode=mode, place=place, program=program: node(mode, place, program)
        timings = interleaved(runs, rounds, WALL)
    if len({timing.result for name, timing in timings.items() if "," in name}) > 1:
        raise SystemExit("the peers disagree")
    rows = [[name, f"{timing.best * 1000:.0f}", f"{timing.median * 1000:.0f}"] for name, timing in timings.items()]
    text = table(["process", "best ms", "median ms"], rows)
    return text if "Pyodide" in runs else text + "\n\nPyodide is not installed (.ci/node tests/bench/npm .venvs/bench-node)."


def measure(rounds: int) -> str:
    """All three tables, or why there are none."""
    if not WEB_BUILD.is_file():
        return "Not measured: dist/lang-web.wasm is not built (make wasm)."
    try:
        import wasmtime  # noqa: F401
    except ImportError:
        return "Not measured: wasmtime is not installed."
    few = max(3, min(rounds, 5))
    hosts = "Beside native: the same program on that interpreter; (x) is how many times its time."
    whole = "Whole processes, from the start to the end, with the first answer in between:"
    return "\n\n".join([sizes(), hosts, figures(few), whole, first_answer(few)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--natively", nargs=2, metavar=("PROGRAM", "LARGE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.natively:
        print(json.dumps(native(*(Path(name).read_text(encoding="utf-8") for name in options.natively))))
        return
    os.environ.pop("PLATFORM_CACHE", None)
    print(description())
    print()
    print(measure(options.rounds))


if __name__ == "__main__":
    main()
