"""Runs programs under limits, each in a process of its own.

On standard input stands ``[time_ms, memory_bytes, {name: [made, probe]}]``. ``made`` are the lines that make the values of the
probe: the time that they take alone is added to the limit, and more until the probe was begun. Answers ``{name: [limit, errors,
begun, seconds, allowed, grown]}``: processor time, the limit of time in seconds, and the bytes that the process grew by.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

import language
from stdlib import all_builtins

WARMING = """
let r be json_encode(sort_by(unique([2, 1]), (x) => x))
let q be regex_replace("abc", "(b)", "-")
let p be csv_encode([{"a": 1}])
"""
BEGUN = 'print("begun")\n'
TRIES = 6
#: Processor time that is too much, in multiples of the limit: who watches waits for its turn among sixteen busy threads, and it
#: is chance which of them is next.
MOST_TIMES = 10


def most_bytes(memory_bytes: int) -> int:
    """The growth of the process that is too much: the limit, what is made between two looks, what the interpreter takes."""
    return 2 * memory_bytes + 32_000_000


def run(source: str, time_ms: int, memory_bytes: int) -> dict[str, object]:
    host = language.NativeHost()
    return language.Program(source, host=host, limits={"time_ms": time_ms, "memory_bytes": memory_bytes}).run()


def probe(made: str, probing: str, time_ms: int, memory_bytes: int, twice: int) -> list[object]:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.monotonic()
    run(made, 60_000, 10**9)
    allowed = (time_ms + int((time.monotonic() - started) * 1000)) * twice
    started = time.process_time()
    answer = run(made + BEGUN + probing, allowed, memory_bytes)
    seconds = time.process_time() - started
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    errors = [error[:300] for error in answer["errors"]]
    return [answer.get("limit"), errors, "begun" in answer["output"], seconds, allowed / 1000, grown]


def main() -> None:
    time_ms, memory_bytes, programs = json.loads(sys.stdin.read())
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    all_builtins()
    run(WARMING, 60_000, 10**9)
    answers = {}
    for name, (made, probing) in programs.items():
        times = 1
        for _ in range(TRIES):
            reading, writing = os.pipe()
            child = os.fork()
            if child == 0:
                try:
                    os.write(writing, json.dumps(probe(made, probing, time_ms, memory_bytes, times)).encode())
                finally:
                    os._exit(0)
            os.close(writing)
            with open(reading, "rb") as pipe:
                answers[name] = json.loads(pipe.read())
            os.waitpid(child, 0)
            if answers[name][2] or answers[name][0] != "time_ms":
                break
            times *= 2
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
