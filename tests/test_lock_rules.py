"""Which locks code may use that a program's thread runs through: ``docs/cancellation.md``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.test_architecture import module_name, sources

#: Their locks are acquired in Python code of the standard library: an exception that is delivered there leaves a lock held.
REFUSED = {
    "threading": {"Barrier", "BoundedSemaphore", "Condition", "Event", "Lock", "RLock", "Semaphore", "Timer"},
    "queue": {"LifoQueue", "PriorityQueue", "Queue"},
}
OWN = {"Lock", "InterruptibleLock"}
ACQUIRED_BY_HAND = {
    "language.cli.audit_stream": "before the process forks, released after that: not by the thread of a program",
    "language.native.sqlite_file": "the same",
}
#: Where nothing is raised in a thread: programs run in processes of their own, or not at all.
WITHOUT_PROGRAMS = {"language.lsp.analyses", "language.cli.mcp", "language.cli.mcp_tools", "language.cli.bounded_process"}

WAITS_BY_ITSELF = {
    "language.waits": "the wait itself",
    "language.locks": "a lock that polls",
    "language.cli.message_turns": "the thread that starts each answer, in another one",
    "language.runtime.threads": "the thread that cancels workers",
    "language.runtime.limits": "the watchdog thread of a run",
    "language.runtime.jobs": "the thread that starts a job, which is ended when it has been woken",
    "language.gates.queue": "the thread that asks other processes",
    "language.native.cancellation": "the thread that cancels handlers",
    "language.native.shielded": "the grace period of work that was abandoned",
    "language.native.server.leader_pool": "threads of the server between two requests",
}


def last_name(node: ast.expr) -> str:
    """``lock`` of ``self.lock``, of ``lock()`` and of ``lock``."""
    if isinstance(node, ast.Call):
        return last_name(node.func)
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def faults(module: str, tree: ast.Module) -> Iterator[str]:
    """Each place of a module where an exception of another thread could leave a lock held."""
    makers: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(node.value, ast.Call):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                makers[last_name(target)] = last_name(node.value)
    for node in ast.walk(tree):
        place = f"{module}:{getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.ImportFrom):
            yield from (
                f"{place} uses {node.module}.{alias.name}"
                for alias in node.names
                if alias.name in REFUSED.get(str(node.module), ())
            )
        elif isinstance(node, ast.Attribute) and node.attr in REFUSED.get(last_name(node.value), ()):
            yield f"{place} uses {last_name(node.value)}.{node.attr}"
        elif isinstance(node, ast.With):
            for item in node.items:
                name = last_name(item.context_expr)
                if "allocate_lock" in (name, makers.get(name)):
                    yield f"{place} enters a lock of _thread"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "acquire":
            by_hand = makers.get(last_name(node.func.value)) in OWN
            if by_hand and module not in ACQUIRED_BY_HAND:
                yield f"{place} acquires a lock without `with`"
            if any(given.arg == "timeout" for given in node.keywords) and module not in WAITS_BY_ITSELF:
                yield f"{place} waits for a signal by itself"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("from threading import Event", "uses threading.Event"),
        ("import threading\nx = threading.Condition()", "uses threading.Condition"),
        ("import queue\nq = queue.Queue()", "uses queue.Queue"),
        ("lock = allocate_lock()\nwith lock: pass", "enters a lock of _thread"),
        ("class A:\n def f(self):\n  self.a = allocate_lock()\n  with open(x), self.a: pass", "enters a lock of _thread"),
        ("signal.acquire(timeout=5)", "waits for a signal by itself"),
        ("lock = Lock()\nlock.acquire()\ntry: pass\nfinally: lock.release()", "acquires a lock without `with`"),
    ],
)
def test_the_reader_of_locks_sees_them(text: str, fault: str) -> None:
    (found,) = faults("module", ast.parse(text))
    assert found.endswith(fault)


def test_no_lock_is_used_that_an_exception_of_another_thread_leaves_held() -> None:
    found = [
        fault
        for folder in ("language", "stdlib")
        for path in sources(folder)
        if module_name(path) not in WITHOUT_PROGRAMS
        for fault in faults(module_name(path), ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert found == []
