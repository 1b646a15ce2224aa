"""The store of several processes: what it answers, who may read it, and what it does when processes fork, die and fight."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from language.errors import RuntimeFault
from language.gates import Gate
from language.gates.queue import GateQueue
from language.host import EmbeddedHost
from language.native.shared_sqlite import SqliteBoard, SqliteStore, create, remove
from language.runtime.context import Context
from language.serve.rate_limit import Limiter
from language.shared.gate_board import DECIDED, UNKNOWN
from language.shared.store import StoreFailure, attach
from language.values import FALSE, TRUE
from stdlib.state import family
from tests.shared.store_model import StoreMachine
from tests.waiting_gates import Asked, Console, Handler, approve, wait_for

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture
def path() -> Iterator[str]:
    path = create()
    yield path
    remove(path)


class SqliteMachine(StoreMachine):
    def make_store(self) -> Any:
        self.path = create()
        return SqliteStore(self.path)

    def teardown(self) -> None:
        super().teardown()
        remove(self.path)


TestSqliteStore = SqliteMachine.TestCase
TestSqliteStore.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


def child(code: str, path: str, *words: str) -> subprocess.Popen[str]:
    """Another Python with the store under the name ``store``."""
    head = "import sys; from language.native.shared_sqlite import SqliteStore; store = SqliteStore(sys.argv[1])\n"
    return subprocess.Popen(
        [sys.executable, "-c", head + code, path, *words], cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )


def ended(process: subprocess.Popen[str]) -> str:
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    return output


# ---- the file ----------------------------------------------------------------------------------------------------------


def test_the_folder_is_private_and_removed(path: str) -> None:
    folder = Path(path).parent
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(Path(path).stat().st_mode) == 0o600
    other = create()
    store = SqliteStore(other)
    store.state["k"] = 1
    store.close()
    remove(other)
    assert not Path(other).parent.exists() and folder.exists()


def test_every_start_begins_empty(path: str) -> None:
    SqliteStore(path).state["k"] = 1
    other = create()
    assert SqliteStore(other).state.copy() == {}
    remove(other)


def test_what_killed_services_left_behind_is_removed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    living = create()
    code = (
        "from language.native.shared_sqlite import create\nimport os\npath = create()\nos.fork() or print(path, flush=True)\n"
    )
    code += "sys.stdin.read()"
    process = child(code, "-")
    assert process.stdout is not None and process.stdin is not None
    left = process.stdout.readline().strip()
    SqliteStore(left).state["k"] = 1
    process.kill()
    process.wait(10)
    other = create()  # the fork still lives
    assert Path(left).exists() and Path(living).exists()
    process.stdin.close()
    (tmp_path / "lang-serve-else").mkdir()
    (tmp_path / "lang-serve-else" / "mine").write_text("")

    def swept() -> bool:
        remove(create())
        return not Path(left).parent.exists()

    wait_for(swept)
    assert Path(living).exists() and Path(other).exists() and (tmp_path / "lang-serve-else" / "mine").exists()
    remove(living)
    remove(other)
    process.stdout.close()


def test_a_store_that_cannot_be_made_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    with pytest.raises(StoreFailure, match="the shared store of the worker processes failed"):
        create()


def test_a_store_that_is_gone_is_an_error_of_the_program_and_a_no_to_gates() -> None:
    path = create()
    store = SqliteStore(path)
    remove(path)
    with pytest.raises(RuntimeFault, match="the shared store"):
        store.state.get("k")
    assert not Path(path).exists()
    console = Console()
    assert GateQueue(console, {}, board=store.gates).answer(approve()) is FALSE
    assert any("DENIED" in line for line in console.lines)
    with pytest.raises(RuntimeFault):
        Limiter(store, 1, 1).take("a")


def test_no_token_stands_in_the_file(path: str) -> None:
    console = Console()
    store = SqliteStore(path)
    queue = GateQueue(console, {}, board=store.gates)
    asked = Asked(queue, approve("FIND ME"))
    token = console.token_of(asked.id)
    data = b"".join(Path(path + ending).read_bytes() for ending in ("", "-wal"))
    assert b"FIND ME" in data
    assert token.encode() not in data and bytes.fromhex(token) not in data
    queue.close()
    assert asked.value() is FALSE
    store.close()


# ---- builtins ----------------------------------------------------------------------------------------------------------


def test_the_builtins_of_two_processes_share_one_state(path: str) -> None:
    contexts = []
    for _ in range(2):
        context = Context(EmbeddedHost(), collect=True)
        attach(context, SqliteStore(path))
        contexts.append(context.fork())

    def run(index: int, name: str, *values: Any) -> Any:
        return family.builtins["state_" + name].function(contexts[index], *values)

    assert run(0, "set", "a", [1, TRUE, {"b": b"\0"}]) == [1, TRUE, {"b": b"\0"}]
    assert run(1, "get", "a") == [1, TRUE, {"b": b"\0"}] and run(1, "get", "a")[1] is TRUE
    assert run(1, "get", "b", 5) == 5
    assert [run(0, "incr", "n"), run(1, "incr", "n", 2), run(0, "incr", "n", 0.5)] == [1, 3, 3.5]
    assert run(1, "all") == {"a": [1, TRUE, {"b": b"\0"}], "n": 3.5}
    assert run(0, "delete", "a") is TRUE and run(1, "get", "a") is None
    nested: list[Any] = []
    for _ in range(202):
        nested = [nested]
    with pytest.raises(RuntimeFault, match="200 levels"):
        run(0, "set", "deep", nested)


def test_increments_of_many_processes_are_all_counted(path: str) -> None:
    code = "for _ in range(300): store.state.change('n', lambda n: (n or 0) + 1)"
    for process in [child(code, path) for _ in range(4)]:
        ended(process)
    assert SqliteStore(path).state.get("n") == 1200


def test_a_limit_holds_over_all_processes(path: str) -> None:
    code = (
        "from language.serve.rate_limit import Limiter\n"
        "limit = Limiter(store, 100, 3600, 'l')\n"
        "print(sum(limit.take('a').allowed for _ in range(60)))"
    )
    allowed = [int(ended(process)) for process in [child(code, path) for _ in range(3)]]
    assert sum(allowed) == 100
    verdict = Limiter(SqliteStore(path), 100, 3600, "l").take("a")
    assert not verdict.allowed and verdict.retry_after <= 37
    assert Limiter(SqliteStore(path), 100, 3600, "other").take("a").remaining == 99


# ---- gates over processes ----------------------------------------------------------------------------------------------

ASKING = """
from language.gates.queue import GateQueue
from language.gates import Gate
from tests.waiting_gates import Console
class Printing(Console):
    def write_error_line(self, line):
        print(line, flush=True)
queue = GateQueue(Printing(), {}, board=store.gates)
print(queue.answer(Gate(sys.argv[2], "Ship it?", ["a", "b"], float(sys.argv[3]))), flush=True)
"""


def announced(process: subprocess.Popen[str]) -> tuple[str, str]:
    """Id and token of the gate that a process just opened."""
    assert process.stdout is not None
    line = process.stdout.readline()
    return line.split("/approvals/")[1].split(" ")[0], line.split('"token": "')[1][:64]


def test_any_process_lists_and_decides_the_gates_of_all(path: str) -> None:
    asking = [child(ASKING, path, kind, "30") for kind in ("approve", "confirm", "ask")]
    opened = [announced(process) for process in asking]
    assert len({identifier for identifier, _ in opened}) == 3
    queue = GateQueue(Console(), {}, board=SqliteStore(path).gates)
    assert {entry["id"] for entry in queue.pending()} == {identifier for identifier, _ in opened}
    delays = []
    for (identifier, token), answer, process, shown in zip(opened, (True, False, "b"), asking, ("true", "false", "b")):
        given: dict[str, Any] = {"value": answer} if isinstance(answer, str) else {"decision": answer}
        started = time.monotonic()
        assert queue.decide(identifier, token, **given) == DECIDED
        assert queue.decide(identifier, token, **given) == UNKNOWN
        assert process.stdout is not None and process.stdout.readline() == shown + "\n"
        delays.append(time.monotonic() - started)
        ended(process)
    assert max(delays) < 0.5 and sorted(delays)[1] < 0.15
    assert queue.pending() == []


def test_decisions_arrive_also_when_the_thread_that_asks_for_them_was_lost(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = SqliteStore(path)
    console = Console()
    queue = GateQueue(console, {}, board=store.gates)
    lost: list[float] = []

    def failing() -> list[str]:
        if not lost:
            lost.append(time.monotonic())
            raise SystemExit
        return SqliteBoard.answered(store.gates)

    monkeypatch.setattr(store.gates, "answered", failing)
    asked = Asked(queue, approve(within=30))
    wait_for(lambda: lost)
    other = GateQueue(Console(), {}, board=SqliteStore(path).gates)
    assert other.decide(asked.id, console.token_of(asked.id), decision=True) == DECIDED
    assert asked.value() is TRUE
    assert time.monotonic() - lost[0] < 25


def test_of_decisions_in_many_processes_one_counts(path: str) -> None:
    asking = child(ASKING, path, "approve", "30")
    identifier, token = announced(asking)
    code = (
        "import time\nfrom language.gates.queue import GateQueue\nfrom tests.waiting_gates import Console\n"
        "queue = GateQueue(Console(), {}, board=store.gates)\nqueue.pending()\nprint('ready', flush=True)\nsys.stdin.read()\n"
        "for _ in range(5): print(queue.decide(sys.argv[2], sys.argv[3], decision=sys.argv[4] == 'true'))"
    )
    deciding = [(word, child(code, path, identifier, token, word)) for word in ("true", "false", "true", "false")]
    for _, process in deciding:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
    for _, process in deciding:
        assert process.stdin is not None
        process.stdin.close()
    outcomes = []
    for word, process in deciding:
        assert process.stdout is not None
        outcomes += [(word, line.strip()) for line in process.stdout]
        assert process.wait(60) == 0
    winners = [word for word, outcome in outcomes if outcome == DECIDED]
    assert len(winners) == 1 and len(outcomes) == 20
    assert {outcome for _, outcome in outcomes} == {DECIDED, UNKNOWN}
    assert ended(asking) == winners[0] + "\n"


def test_the_gate_of_a_process_that_died_expires(path: str) -> None:
    asking = child(ASKING, path, "approve", "1.5")
    identifier, token = announced(asking)
    asking.send_signal(signal.SIGKILL)
    asking.wait(10)
    queue = GateQueue(Console(), {}, board=SqliteStore(path).gates)
    assert [entry["id"] for entry in queue.pending()] == [identifier]
    wait_for(lambda: not queue.pending(), 5)
    assert queue.decide(identifier, token, decision=True) == UNKNOWN


def test_a_process_that_is_killed_while_it_writes_holds_up_nobody(path: str) -> None:
    code = "print('go', flush=True)\nwhile True: store.state.change('n', lambda n: (n or 0) + 1)"
    for _ in range(5):
        process = child(code, path)
        assert process.stdout is not None and process.stdout.readline() == "go\n"
        time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        process.wait(10)
        process.stdout.close()
        started = time.monotonic()
        SqliteStore(path).state["k"] = 1
        assert time.monotonic() - started < 20


def in_a_fork(act: Callable[[], object]) -> int:
    """The exit code of a fork of this process that does ``act``: 0, or 1 when that raised."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            act()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_a_fork_goes_on_with_the_store(path: str) -> None:
    """Also where it is open and threads of the parent are at work in it at that moment."""
    store = SqliteStore(path)
    store.state["n"] = 0
    counted = [0, 0]
    stop = threading.Event()

    def work(index: int) -> None:
        while not stop.is_set():
            store.state.change("n", lambda n: n + 1)
            counted[index] += 1

    threads = [threading.Thread(target=work, args=(index,)) for index in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(20):
            assert in_a_fork(lambda: [store.state.change("children", lambda n: (n or 0) + 1) for _ in range(5)]) == 0
    finally:
        stop.set()
        for thread in threads:
            thread.join(10)
    assert store.state.get("children") == 100
    assert store.state.get("n") == sum(counted)
    store.close()


def test_a_queue_that_waits_at_the_fork_waits_in_the_parent_alone(path: str) -> None:
    console = Console()
    store = SqliteStore(path)
    queue = GateQueue(console, {}, board=store.gates)
    asked = Asked(queue, approve("parent"))

    def in_child() -> None:
        own = Asked(queue, approve("child"))
        pending = [entry["message"] for entry in queue.pending()]
        assert pending == ["parent", "child"]
        # By another process than this one, as far as the queue knows: it has to ask the store.
        other = GateQueue(Console(), {}, board=SqliteStore(path).gates)
        assert other.decide(own.id, console.token_of(own.id), decision=True) == DECIDED
        assert own.value() is TRUE
        assert other.decide(asked.id, console.token_of(asked.id), decision=True) == DECIDED
        assert queue.close() == []

    assert in_a_fork(in_child) == 0
    assert asked.value() is TRUE
    store.close()


# Python reports an exception that hit the thread which the cancelled one was just starting.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_thread_that_is_cancelled_holds_up_nobody(path: str) -> None:
    """Wherever in an operation the exception lands, neither the lock nor a transaction stays behind."""
    store, other = SqliteStore(path), SqliteStore(path)
    queue = GateQueue(Console(), {}, board=store.gates)

    def work() -> None:
        store.state.change("n", lambda n: (n or 0) + 1)
        Limiter(store, 5, 60).take("a")
        queue.answer(Gate("approve", "?", None, 0.001))

    for round_number in range(60):
        handler = Handler(work)
        time.sleep(0.002 + round_number * 0.0001)
        handler.cancel(queue.wake_all)
        started = time.monotonic()
        other.state["k"] = round_number
        assert time.monotonic() - started < 20
    assert queue.pending() == []
    store.close()
    other.close()
