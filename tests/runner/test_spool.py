"""What is not acknowledged outlives the runner, in order, and a full disk costs log lines first."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from runner import spool as spool_module
from runner.protocol import AuditRecord, Item, LogLine, PhaseReport
from runner.spool import GAP, Spool, Stream
from tests import servers


def line(text: str, project: str = "prj_a") -> LogLine:
    return LogLine(project=project, at=1, line=text)


def texts(stream: Stream) -> list[str]:
    return [str(item["line"]) for _, item in stream.pending(10_000, 10**9)]


def test_a_spool_that_is_behind_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the service is away runs print on, and each report of that holds all output so far."""
    monkeypatch.setattr(spool_module, "MANY_STATES", 1000)
    spool = Spool(tmp_path / "spool")
    assert not spool.is_behind
    spool.append(*(PhaseReport(project="prj_a", generation=1, phase="running", detail="x" * 100) for _ in range(10)))
    assert spool.is_behind
    spool.append(line("y" * 2000))
    last, _ = spool.streams["state"].pending(100, 10**6)[-1]
    spool.acknowledge("state", last)
    assert spool.streams["state"].waiting is False
    spool.close()


def test_numbers_grow_from_1_and_what_is_acknowledged_is_gone(tmp_path: Path) -> None:
    stream = Stream(tmp_path, "logs")
    stream.append([line("a"), line("b")])
    stream.append([line("c")])
    assert [number for number, _ in stream.pending(10, 10**6)] == [1, 2, 3]
    stream.acknowledge(2)
    assert texts(stream) == ["c"] and stream.waiting
    stream.acknowledge(3)
    assert texts(stream) == [] and not stream.waiting


def test_each_sort_has_its_stream(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool")
    items: list[Item] = [
        line("x"),
        PhaseReport(project="prj_a", generation=1, phase="running"),
        AuditRecord(project="prj_a", ts=1.0, capability="net", granted=True),
    ]
    spool.append(*items)
    found = {name: [item["type"] for _, item in stream.pending(9, 9999)] for name, stream in spool.streams.items()}
    assert found == {"state": ["phase"], "audit": ["audit"], "logs": ["log"]}


def test_what_was_kept_of_an_erased_project_leaves_the_disk_with_its_acknowledgement(tmp_path: Path) -> None:
    folder = tmp_path / "spool"

    def kept() -> str:
        return "".join(path.read_text() for path in folder.iterdir())

    spool = Spool(folder)
    logs = spool.streams["logs"]
    spool.append(line("one"), line("two"), line("other", "prj_b"))
    logs.pending(2, 10**6)
    spool.acknowledge("logs", 2)
    assert "one" in kept(), "a small file is not written anew for each line"
    spool.turn()
    spool.append(line("later", "prj_b"))
    assert texts(logs) == ["other", "later"]
    logs.pending(1, 10**6)
    spool.acknowledge("logs", 3)
    assert "prj_a" not in kept() and texts(logs) == ["later"], "what is not acknowledged yet keeps nothing else here"
    spool.turn()
    texts(logs)
    spool.acknowledge("logs", 4)
    assert kept() == ""
    spool.close()
    again = Spool(folder)
    again.append(line("new"))
    [(number, _)] = again.streams["logs"].pending(9, 10**6)
    assert number == 5 + GAP, "numbers go on"
    again.close()


def test_nobody_else_reads_it(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool")
    spool.append(line("x"))
    assert (tmp_path / "spool").stat().st_mode & 0o077 == 0
    assert all(path.stat().st_mode & 0o077 == 0 for path in (tmp_path / "spool").iterdir())


def test_a_batch_is_bounded_but_never_empty(tmp_path: Path) -> None:
    stream = Stream(tmp_path, "logs")
    stream.append([line("x" * 1000) for _ in range(5)])
    assert len(stream.pending(2, 10**6)) == 2
    assert len(stream.pending(10, 2500)) == 2
    assert len(stream.pending(10, 1)) == 1


def test_a_killed_runner_loses_nothing_and_gives_no_number_twice(tmp_path: Path) -> None:
    writer = (
        "import os, signal, sys\nfrom pathlib import Path\n"
        "from runner.protocol import LogLine\nfrom runner.spool import Spool\n"
        "spool = Spool(Path(sys.argv[1]))\n"
        "for n in range(3000):\n    spool.append(LogLine(project='p', at=1, line=str(n)))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    folder = tmp_path / "spool"
    assert subprocess.run([sys.executable, "-c", writer, str(folder)], timeout=120).returncode == -9
    [path] = folder.glob("logs-*.jsonl")
    with open(path, "ab") as file:
        file.write(b'{"n":3001,"i":{"type":"lo')  # the line that it was writing
    spool = Spool(folder)
    spool.append(line("after"))
    numbers = [number for number, _ in spool.streams["logs"].pending(10_000, 10**9)]
    assert texts(spool.streams["logs"]) == [*map(str, range(3000)), "after"]
    assert numbers == [*range(1, 3001), 3001 + GAP]


def test_where_lines_are_from_is_kept_with_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spool = Spool(tmp_path / "spool")
    spool.append(line("a"), origin=("s1", 5, 1))
    spool.append(line("b"), origin=("s2", 7, 1))
    spool.append(line("c"), origin=("s1", 5, 2))
    spool.append(line("d"))
    again = Spool(tmp_path / "spool").streams["logs"]  # of a runner that is killed nothing is closed
    assert again.origins == {"s1": (5, 2), "s2": (7, 1)}
    assert all(set(item) <= {"type", "project", "at", "line", "stream", "run"} for _, item in again.pending(10, 10_000))
    kept: list[int] = []
    again.before_removal = lambda: kept.append(again.size)
    monkeypatch.setattr(spool_module, "SEGMENT", 16)
    again.acknowledge(again.pending(10, 10_000)[-1][0])
    assert kept and kept[0] > 0 and again.size == 0, "who remembers them is asked while they are still there"


def test_numbers_go_on_after_everything_was_acknowledged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool_module, "SEGMENT", 1000)
    for turn in range(3):
        stream = Stream(tmp_path, "logs")
        stream.append([line("x" * 50) for _ in range(100)])
        found = stream.pending(1000, 10**9)
        assert len(found) == 100 and found[0][0] > turn * GAP
        stream.acknowledge(found[-1][0])
        assert stream.size == 0 and len(list(tmp_path.iterdir())) == 1
        stream.close()


@given(some.lists(some.tuples(some.sampled_from(["append", "acknowledge", "restart"]), some.integers(1, 40)), max_size=30))
def test_it_is_a_queue(steps: list[tuple[str, int]]) -> None:
    """Whatever is appended is pending in order until it is acknowledged, across segments and restarts."""
    import tempfile

    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(spool_module, "SEGMENT", 400)
        stream, expected, made = Stream(Path(name), "logs"), [], 0
        for step, count in steps:
            if step == "append":
                new = [str(made + at) for at in range(count)]
                made += count
                stream.append([line(text) for text in new])
                expected += new
            elif step == "acknowledge":
                part = stream.pending(count, 10**9)
                if part:
                    stream.acknowledge(part[-1][0])
                    del expected[: len(part)]
            else:
                stream.close()
                stream = Stream(Path(name), "logs")
                again = texts(stream)
                assert again[len(again) - len(expected) :] == expected, "nothing is lost"
                expected = again  # what was acknowledged since the last segment began is sent once more
            assert texts(stream) == expected
        stream.close()


FULL = """
import json, os, resource, sys
from pathlib import Path
from runner.protocol import AuditRecord, LogLine, PhaseReport
from runner.spool import Spool, STREAMS
spool = Spool(Path(sys.argv[1]))
room = lambda: os.statvfs(sys.argv[1]).f_bavail
n = 0
while not spool.lost:
    spool.append(LogLine(project='p', at=1, line=f'{n} ' + 'x' * 500)); n += 1
for k in range(200):
    spool.append(AuditRecord(project='p', ts=float(k), capability='net', granted=True))
    spool.append(PhaseReport(project='p', generation=k, phase='running'))
    spool.append(LogLine(project='p', at=1, line=f'{n} ' + 'x' * 500)); n += 1
spool.append(LogLine(project='p', at=1, line='last'))
lost = spool.lost['p']
lines = spool.streams['logs'].pending(10**6, 10**9)
assert lines[-1][1]['line'] == 'last', lines[-1]
shown = [int(item['line'].split()[0]) for _, item in lines[:-1]]
assert shown == list(range(lost, n)), 'the oldest are lost, and they are counted'
assert len(spool.streams['audit'].pending(10**6, 10**9)) == 200
assert [item['generation'] for _, item in spool.streams['state'].pending(10**6, 10**9)] == list(range(200))
spool.acknowledge('logs', lines[-1][0])
[(_, told)] = spool.streams['logs'].pending(10, 10**9)
assert told['stream'] == 'system' and told['line'].startswith(f'{lost} lines were lost here'), told
print('done', lost)
"""


def test_a_full_disk_costs_the_oldest_log_lines_and_nothing_else(tmp_path: Path) -> None:
    if shutil.which("bwrap") is None:
        servers.missing("bubblewrap", "bubblewrap")
    root = Path(spool_module.__file__).parent.parent
    command = ["bwrap", "--dev-bind", "/", "/", "--size", str(3 * 1024 * 1024), "--tmpfs", str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    result = subprocess.run(
        [*command, sys.executable, "-c", FULL, str(tmp_path / "spool")],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
    )
    assert result.stdout.startswith("done"), result.stderr
    assert int(result.stdout.split()[1]) > 100


def test_where_not_even_one_segment_fits_what_counts_waits_in_memory(tmp_path: Path) -> None:
    """A limit on the size of files, as of an operator, is no full disk, and yet nothing more can be written."""
    program = (
        "import resource, signal, sys\nfrom pathlib import Path\nfrom runner.protocol import PhaseReport\n"
        "from runner.spool import Spool\nspool = Spool(Path(sys.argv[1]))\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))\n"
        "for n in range(500): spool.append(PhaseReport(project='p', generation=n, phase='running'))\n"
        "assert spool.is_full\n"
        "found = spool.streams['state'].pending(10**6, 10**9)\n"
        "assert [item['generation'] for _, item in found] == list(range(500))\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))\n"
        "spool.append(PhaseReport(project='p', generation=500, phase='running'))\n"
        "assert not spool.is_full\n"
    )
    folder = tmp_path / "spool"
    subprocess.run([sys.executable, "-c", program, str(folder)], check=True, timeout=120)
    kept = [json.loads(text)["i"]["generation"] for path in folder.glob("state-*") for text in path.read_text().splitlines()]
    assert kept == list(range(501))


def logs(spool: Spool) -> list[str]:
    return [str(item["line"]) for _, item in spool.streams["logs"].pending(10_000, 10_000_000)]


def printed(count: int, begin: int = 0) -> list[LogLine]:
    return [LogLine(project="p", at=0, line=str(number)) for number in range(begin, begin + count)]


def test_lines_that_arrive_although_they_were_given_up_are_not_told_as_lost(tmp_path: Path) -> None:
    """Their report was under way when the disk was full."""
    spool = Spool(tmp_path / "spool")
    spool.append(*printed(10))
    last = spool.streams["logs"].pending(6, 10_000_000)[-1][0]
    spool._drop_logs()
    spool.acknowledge("logs", last)
    assert logs(spool) == ["4 lines were lost here: the disk of the runner was full."]
    spool.close()


@pytest.mark.parametrize("arrived", [0, 3, 6])
def test_the_service_is_asked_what_has_arrived_of_a_report_that_failed(tmp_path: Path, arrived: int) -> None:
    spool = Spool(tmp_path / "spool")
    stream = spool.streams["logs"]
    spool.append(*printed(10))
    numbers = [0, *(number for number, _ in stream.pending(6, 10_000_000))]
    spool._drop_logs()
    spool.append(*printed(1, 10))
    assert stream.is_unsure and stream.pending(6, 10_000_000) == []
    spool.acknowledge("logs", numbers[arrived])
    assert not stream.is_unsure
    assert logs(spool) == ["10", f"{10 - arrived} lines were lost here: the disk of the runner was full."]
    spool.close()


def test_the_number_of_a_told_loss_is_not_lost_with_its_line(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool")
    spool.append(*printed(10))
    spool._drop_logs()
    spool.append(*printed(1, 10))
    last = spool.streams["logs"].pending(100, 10_000_000)[-1][0]
    spool.acknowledge("logs", last)
    assert logs(spool) == ["10 lines were lost here: the disk of the runner was full."]
    spool._drop_logs()
    spool.acknowledge("logs", last)  # what tells of them has not arrived
    assert logs(spool) == ["10 lines were lost here: the disk of the runner was full."]
    spool.close()
