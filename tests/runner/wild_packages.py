"""Packages that misuse their place, all at once on a real engine: each meets its end, and a neighbour meets none."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from deploying import API, detail, ok, status, until
from runner_conformance import Bench

ROOT = Path(__file__).resolve().parent.parent.parent
#: A megabyte or two of a volume that may hold twenty.
DISK_MB = 20
#: Stands in the command lines of what is started, to find what is left of it.
MARK = "left-behind-by-a-wild-package"
#: What an engine says behind the output where it could not read all of it: it is no output of the program.
MISSING = re.compile(r"^At least [0-9,]+ lines? (is|are) missing above: .*\n", re.MULTILINE)

NEIGHBOUR = "require time\nlet n be 0\nwhile true\n    print(n)\n    set n to n + 1\n    sleep(0.05)\n"
EXITS = 'print("began")\nexit(3)\n'
#: 100 MB in lines of 64 KiB.
PRINTS = """let text be "x"
each i in range(0, 16)
    set text to text + text
each i in range(0, 1600)
    print(text)
print("the end")
"""
FILLS = """require file.write("*")
let text be "x"
each i in range(0, 20)
    set text to text + text
let n be 0
while true
    write_file("f" + n, text)
    set n to n + 1
"""
#: Whoever comes of it stays, whatever it is asked.
FORKS = """import os, signal, time
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
print("forking", flush=True)
while True:
    try:
        if os.fork() == 0:
            os.setsid()
    except OSError:
        time.sleep(0.1)
"""
COMMAND = 'require exec("{python}")\nprint(run("{python}", ["-IBc", read_file("forks.py"), "{mark}"]).code)\n'


def plans(folder: Path) -> Path:
    """Plans whose volumes are small."""
    text = (ROOT / "platform_api" / "plans" / "plans.toml").read_text(encoding="utf-8")
    made = folder / "plans.toml"
    made.write_text(re.sub(r"disk_mb = \d+", f"disk_mb = {DISK_MB}", text), encoding="utf-8")
    return made


def left_behind() -> list[str]:
    """The processes of this machine that a package has started."""
    found = []
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            if MARK.encode() in Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0"):
                found.append(process)
        except OSError:  # it has ended meanwhile
            continue
    return found


def exits_at_once(bench: Bench) -> str:
    """Deploys a worker that ends at once. It is started five times, which takes fifteen seconds of pauses."""
    exits = bench.make(EXITS, "worker")
    ok(bench.client.post(f"{API}/projects/{exits}/deploys"))
    return exits


def wild_packages_harm_nobody_else(bench: Bench, python: str, exits: str) -> None:
    """Args:
    python: the command of Python where the programs run.
    exits: what ``exits_at_once`` gave.
    """
    neighbour = bench.up(NEIGHBOUR, "worker")
    command = 'require file.read("forks.py")\n' + COMMAND.format(python=python, mark=MARK)
    files = [{"path": "main.lang", "content": command}, {"path": "forks.py", "content": FORKS}]
    forks = ok(
        bench.client.post(f"{API}/projects", json={"name": "Forks", "files": files, "entry": "main.lang", "kind": "job"})
    )
    jobs = {"prints": bench.make(PRINTS, "job"), "fills": bench.make(FILLS, "job"), "forks": str(forks["project"]["id"])}
    for project in jobs.values():
        ok(bench.client.post(f"{API}/projects/{project}/deploys"))
    runs = {}
    for name, project in jobs.items():
        bench.becomes(project, "ready")
        runs[name] = bench.run(project)

    record = _ended(bench, jobs["prints"], runs["prints"])
    output = MISSING.sub("", record["output"])
    assert record["status"] == "succeeded" and output.endswith("the end\n") and len(output) < 100_000, record | {
        "output": record["output"][-300:]
    }
    told = until(lambda: [line for line in _lines(bench, jobs["prints"]) if "left out here" in line], bench.patience)
    assert all("a project may print 1,000 lines and 256 KiB a second" in line for line in told)

    record = _ended(bench, jobs["fills"], runs["fills"])
    assert record["status"] == "failed" and "has filled its volume" in record["output"], record

    until(lambda: len(left_behind()) > 50 or _finished(bench, jobs["forks"], runs["forks"]), bench.patience)
    ended = _finished(bench, jobs["forks"], runs["forks"])
    assert ended is None, ended
    ok(bench.client.post(f"{API}/projects/{jobs['forks']}/runs/{runs['forks']}/cancel"))
    bench.run_becomes(jobs["forks"], runs["forks"], "cancelled")
    until(lambda: not left_behind(), bench.patience)

    bench.becomes(exits, "failed")
    reason = detail(bench.client, exits)["project"]["status_reason"]
    assert "began" in reason and _lines(bench, exits).count("began") == 5, reason

    def numbers() -> list[int]:
        return [int(line) for line in _lines(bench, neighbour) if line.isdigit()]

    last = numbers()[-1]
    until(lambda: numbers()[-1] > last + 5, bench.patience)
    seen = numbers()
    assert seen == list(range(seen[0], seen[-1] + 1)) and seen.count(0) <= 1, "it was never started again, and lost no line"
    assert status(bench.client, neighbour) == "running"


def _finished(bench: Bench, project: str, run: str) -> Any:
    """A run that has ended, else ``None``."""
    found = ok(bench.client.get(f"{API}/projects/{project}/runs/{run}"))["run"]
    return found if found["finished_at"] else None


def _ended(bench: Bench, project: str, run: str) -> Any:
    """A run, once it has ended."""
    return until(lambda: _finished(bench, project, run), bench.patience)


def _lines(bench: Bench, project: str) -> list[str]:
    told = ok(bench.client.get(f"{API}/projects/{project}/logs/tail", params={"limit": 500}))
    return [item["line"] for item in told["items"]]
