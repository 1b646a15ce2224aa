"""parallel_map, through whole programs."""

from __future__ import annotations

import sys
import threading
import time

import pytest

import language
from language.runtime.threads import run_in_threads


def output(source, **options):
    result = language.run(source, **options)
    assert result["ok"], result["errors"]
    return result["output"]


def error(source, **options):
    result = language.run(source, **options)
    assert not result["ok"]
    return result["errors"][0]


def test_results_come_in_order():
    assert output("""
task slow(n)
    sleep(0.02 * (3 - n))
    give n * n
print(parallel_map(slow, [0, 1, 2, 3], 4), parallel_map(slow, [3, 2], 1), parallel_map(slow, []))
print(parallel_map(upper, ["a", "b"]), parallel_map(() => 7, [1, 2]))
""") == ["[0, 1, 4, 9] [9, 4] []", '["A", "B"] [7, 7]']


def test_items_run_at_the_same_time():
    # None passes before all have come.
    meeting = threading.Barrier(20, timeout=20)
    passed = []
    run_in_threads(lambda: passed.append(meeting.wait()), 20)
    assert sorted(passed) == list(range(20))
    assert output("""
task last(n)
    state_incr("come")
    while state_get("come") < 20
        sleep(0.001)
    give n
print(length(parallel_map(last, range(20))))
""") == ["20"]


@pytest.mark.parametrize("limit", ["", ", 1", ", 2", ", 0", ", -3"])
def test_every_item_has_variables_of_its_own(limit):
    assert output(f"""
let n be 0
let seen be []
task count(i)
    set n to n + 1
    set seen to append(seen, i)
    give [n, seen]
print(parallel_map(count, [5, 6]{limit}), n, seen)
""") == ["[[1, [5]], [1, [6]]] 0 []"]


def test_what_is_written_appears_in_the_order_of_the_items():
    assert output("""
task say(i)
    sleep(0.02 * (2 - i))
    print("item", i)
print("before")
parallel_map(say, [0, 1, 2])
print("after")
""") == ["before", "item 0", "item 1", "item 2", "after"]


def test_the_first_failed_item_decides():
    source = """
task bad(n)
    print("ran", n)
    when n > 1
        raise("bad " + text(n))
    give n
{}
"""
    assert error(source.format("parallel_map(bad, [1, 2, 3], 1)"), filename="p.lang") == "Runtime error: p.lang:5:14: bad 2"
    assert output(source.format("try\n    parallel_map(bad, [1, 2, 3], 1)\nrecover e\n    print(e)")) == [
        "ran 1",
        "ran 2",
        "bad 2",
    ]


def test_wrong_arguments():
    assert error("parallel_map([1], [1])") == "Runtime error: <embedded>:1:13: parallel_map: first argument must be a task"
    assert error("parallel_map(upper, 1)") == "Runtime error: <embedded>:1:13: parallel_map: second argument must be a list"
    assert error("parallel_map([1], upper)") == "Runtime error: <embedded>:1:13: parallel_map: first argument must be a task"
    assert "index must be an integer, got 1.5" in error("parallel_map(upper, [1], 1.5)")


def test_of_a_secret_only_the_name_crosses():
    assert output("""
let key be as_secret("plain", "KEY")
task show(x)
    give [text(key), `{x}!`, json_encode(key), key == "plain", key == "secret(KEY)", key == key, as_secret("in", "IN")]
let shown be parallel_map(show, [key], 2)
print(shown[0])
print(text(shown[0][1] + "?"), shown[0][6] == "in", key == "plain")
""") == [
        r'["secret(KEY)", secret(KEY), "\"[redacted]\"", false, false, false, secret(IN)]',
        "secret(KEY) false true",
    ]


@pytest.mark.parametrize(
    "use",
    [
        'hmac("data", key)',
        'verify_hmac("data", "00", key)',
        'constant_time_eq(key, "secret(KEY)")',
        'hmac("data", "Bearer " + key)',
        "bearer(key)",
        "password_hash(key)",
        'jwt_sign({"iat": 1}, key)',
        'totp(key, {"at": 59})',
        'http_get("http://127.0.0.1:9/", {"Authorization": key})',
        "reveal(key)",
        'hmac("data", crossed[0])',
    ],
)
def test_the_name_alone_is_no_key(use):
    source = f"""
require net("127.0.0.1")
require reveal
let key be as_secret("plain", "KEY")
let crossed be parallel_map((x) => as_secret("inner", "KEY"), [1])
parallel_map((x) => {use}, [1])
"""
    assert "secret(KEY) has no value here: secrets do not cross into or out of parallel_map or an agent; " in error(source)


def test_a_secret_read_inside_the_task_works():
    assert output("""
print(parallel_map((x) => decode(hmac("data", as_secret("k", "K")), "hex"), [1])[0] == decode(hmac("data", "k"), "hex"))
""") == ["true"]


def test_state_is_shared():
    assert output("""
parallel_map((i) => state_incr("n", i), range(50))
print(state_get("n"))
""") == ["1225"]


def test_workers_recurse_as_deep_as_the_program():
    assert output("""
task deep(n)
    when n == 0
        give "bottom"
    give deep(n - 1)
print(parallel_map(deep, [2900, 2900]), parallel_map((x) => parallel_map((y) => x * y, [1, 2]), [3, 4]))
""") == ['["bottom", "bottom"] [[3, 6], [4, 8]]']


def test_exit_ends_the_program():
    result = language.run('print("a")\nparallel_map((x) => exit(3), [1, 2])\nprint("b")')
    assert result["output"] == ["a"]


def test_a_limit_ends_the_workers_too():
    before = threading.active_count()
    running = len(sys_threads())
    result = language.run(
        """
task spin(n)
    while true
        set n to n + 1
parallel_map(spin, [1, 2, 3])
""",
        limits={"time_ms": 200},
    )
    assert result["limit"] == "time_ms"
    patience = time.monotonic() + 10
    while len(sys_threads()) > running and time.monotonic() < patience:
        time.sleep(0.02)
    assert len(sys_threads()) <= running
    assert threading.active_count() <= before


def sys_threads():
    import sys

    return sys._current_frames()


def test_without_threads_the_caller_works(monkeypatch):
    import language.runtime.threads

    def refuse(*_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(language.runtime.threads, "start_new_thread", refuse)
    ran = []
    run_in_threads(lambda: ran.append(threading.get_ident()), 5)
    assert ran == [threading.get_ident()]
    assert output("print(parallel_map((x) => x + 1, [1, 2, 3]))") == ["[2, 3, 4]"]


def test_an_error_of_the_waiting_thread_leaves_at_once():
    """The workers are told to end, and nobody waits for one that is blocked."""
    stop = threading.Event()
    seen = []

    def work():
        while not stop.is_set():
            seen.append(1)
            time.sleep(0.01)

    class Interrupted(Exception):
        pass

    import ctypes

    target = threading.get_ident()

    def interrupt():
        time.sleep(0.2)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(target), ctypes.py_object(Interrupted))

    threading.Thread(target=interrupt).start()
    with pytest.raises(Interrupted):
        run_in_threads(work, 3)
    time.sleep(0.3)
    count = len(seen)
    time.sleep(0.2)
    assert len(seen) == count > 0
    stop.set()


BUSY = """
task busy(n)
    let i be 0
    while true
        set i to i + 1
"""


@pytest.mark.parametrize(
    "source",
    [
        "parallel_map(busy, range(64), 64)",
        "task inner(n)\n    give parallel_map(busy, range(64), 64)\nparallel_map(inner, range(64), 64)",
        "task inner(n)\n    give parallel_map(busy, range(16), 16)\n"
        "task middle(n)\n    give parallel_map(inner, range(4), 4)\nparallel_map(middle, range(4), 4)",
    ],
    ids=["one level", "two levels", "three levels"],
)
def test_a_limit_of_time_ends_nested_work_at_once(source):
    # What is loaded once is loaded: threads, limits, what tells an error.
    language.run("task f(n)\n    give f(n + 1) + 1\nparallel_map(f, [1, 2])", limits={"time_ms": 5000})
    start = time.perf_counter()
    result = language.run(BUSY + source, limits={"time_ms": 200})
    seconds = time.perf_counter() - start
    assert result["errors"][0].endswith(": Limit exceeded: time_ms (200)")
    assert seconds < 5  # it was fifteen; a busy machine needs some
    deadline = time.monotonic() + 10
    while len(threads_of_programs()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert threads_of_programs() == []


def threads_of_programs():
    """The threads that still run a program's code, or wait to end one that does."""
    frames = [frame for ident, frame in sys._current_frames().items() if ident != threading.get_ident()]
    return [frame for frame in frames if in_threads(frame)]


def in_threads(frame):
    while frame is not None:
        if frame.f_code.co_filename.endswith("language/runtime/threads.py"):
            return True
        frame = frame.f_back
    return False
