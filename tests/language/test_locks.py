"""Locks that no exception of another thread leaves held."""

from __future__ import annotations

import _imp as imp
import signal
import sys
import threading
import time
from _thread import allocate_lock
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from random import Random

import pytest

from language.errors import Cancelled
from language.locks import InterruptibleLock, Lock
from language.runtime.threads import raise_in
from language.waits import interruptible_wait

ATTEMPTS = 400


@pytest.fixture(autouse=True)
def busy_turns() -> Iterator[None]:
    """Threads take turns at every step they can."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def held(lock: Lock | InterruptibleLock) -> bool:
    """Whether another thread has the lock; asked in a thread that never had it."""
    found: list[bool] = []

    def ask() -> None:
        found.append(not lock.acquire(blocking=False))
        if not found[0]:
            lock.release()

    asking = threading.Thread(target=ask)
    asking.start()
    asking.join()
    return found[0]


class Interrupted:
    """A thread that does ``step`` over and over, is hit by an exception at some moment, and stays until :meth:`leave`.

    Staying matters: a thread that is gone may pass its identifier, and with it what it held, to the next one.
    """

    def __init__(self, step: Callable[[], object]) -> None:
        self._step = step
        self._may_leave = False
        self._began = False
        self._hit = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        while not self._began:
            pass

    def _run(self) -> None:
        try:
            self._began = True
            while True:
                self._step()
        except Cancelled:
            pass
        while True:  # as long as exceptions are on their way
            try:
                self._hit = True
                while not self._may_leave:
                    time.sleep(0.001)
                return
            except Cancelled:
                continue

    def hit(self) -> None:
        """Returns when it has been."""
        end = time.monotonic() + 30
        while not self._hit:
            assert time.monotonic() < end
            raise_in([self._thread.ident or 0], Cancelled)
            time.sleep(0.0001)

    def leave(self) -> None:
        self._may_leave = True
        self._thread.join()


@pytest.mark.parametrize("kind", [Lock, InterruptibleLock])
@pytest.mark.parametrize("others", [0, 1])
def test_no_exception_leaves_a_lock_held(kind: type[Lock] | type[InterruptibleLock], others: int) -> None:
    random = Random(others)
    lost = 0
    for _ in range(ATTEMPTS // (1 + others)):
        lock = kind()
        over = threading.Event()

        def step(lock: Lock | InterruptibleLock = lock) -> None:
            with lock:
                pass

        def compete(lock: Lock | InterruptibleLock = lock, over: threading.Event = over) -> None:
            while not over.is_set():
                with lock:
                    pass

        competing = [threading.Thread(target=compete) for _ in range(others)]
        for thread in competing:
            thread.start()
        interrupted = Interrupted(step)
        for _ in range(random.randrange(100)):
            pass
        interrupted.hit()
        over.set()
        for thread in competing:
            thread.join(10)
        lost += held(lock)
        interrupted.leave()
        assert not any(thread.is_alive() for thread in competing)
    assert lost == 0


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no alarm clock on this system")
@pytest.mark.parametrize("kind", [Lock, InterruptibleLock])
def test_a_wait_that_a_signal_ends_leaves_the_lock_to_its_holder(kind: type[Lock] | type[InterruptibleLock]) -> None:
    lock = kind()
    taken, over = threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            taken.set()
            over.wait()

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    holder = threading.Thread(target=hold)
    holder.start()
    taken.wait()
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        with pytest.raises(KeyboardInterrupt), lock:
            pass
        assert held(lock)
    finally:
        signal.signal(signal.SIGALRM, before)
        over.set()
        holder.join()
    assert not held(lock)


def test_who_waits_for_a_patient_lock_can_be_ended() -> None:
    lock = InterruptibleLock()

    def step() -> None:
        with lock:
            pass

    with lock:
        waiting = Interrupted(step)
        time.sleep(0.01)
        waiting.hit()  # returns when it is
    waiting.leave()
    assert not held(lock)


def test_no_exception_leaves_the_lock_of_imports_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"imported_over_and_over_{number}" for number in range(2)]
    for name in names:
        (tmp_path / f"{name}.py").write_text("done = True\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    random = Random(1)

    def step(name: str) -> None:
        sys.modules.pop(name, None)
        import_module(name)
        for _ in range(random.randrange(40_000)):  # while one imports, no thread is hit
            pass

    for _ in range(ATTEMPTS // 2):
        interrupted = [Interrupted(partial(step, name)) for name in names]  # two, so that each waits for the other
        for one in interrupted:
            one.hit()
        for one in interrupted:
            one.leave()
        assert not imp.lock_held()


def test_a_wait_ends_with_its_signal_with_its_time_and_with_its_thread() -> None:
    signal_given = allocate_lock()
    assert interruptible_wait(signal_given)
    assert not interruptible_wait(signal_given, 0.01) and not interruptible_wait(signal_given, 0)
    signal_given.release()
    assert interruptible_wait(signal_given, 30)
    for seconds in (None, 300.0):
        waiting = Interrupted(lambda seconds=seconds: interruptible_wait(signal_given, seconds))  # type: ignore[misc]
        waiting.hit()
        waiting.leave()
