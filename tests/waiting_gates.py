"""Gates that wait, and the console on which their tokens stand."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from language.errors import Cancelled
from language.gates import Gate
from language.gates.queue import GateQueue
from language.host import EmbeddedHost
from language.native.webhook_delivery import post


class Console(EmbeddedHost):
    """A host whose error stream is a list, and whose webhooks go out."""

    def __init__(self, env: dict[str, str] | None = None) -> None:
        super().__init__(env)
        self.lines: list[str] = []

    def write_error_line(self, line: str) -> None:
        self.lines.append(line)

    def post_webhook(self, url: str, body: bytes, headers: Mapping[str, str]) -> str | None:
        return post(url, body, headers)

    def token_of(self, identifier: str) -> str:
        """The token of a gate, as its console line shows it."""
        mark = f"/approvals/{identifier} "
        wait_for(lambda: any(mark in line for line in self.lines))  # the gate is listed before its line is written
        line = next(line for line in self.lines if mark in line)
        return line.split('"token": "')[1].split('"')[0]


class Asked:
    """A gate waiting in a thread of its own."""

    def __init__(self, queue: GateQueue, gate: Gate) -> None:
        self.result: Any = None
        self.error: BaseException | None = None
        known = {entry["id"] for entry in queue.pending()}
        self.thread = threading.Thread(target=self._run, args=(queue, gate))
        self.thread.start()
        new: set[str] = set()

        def listed() -> bool:
            new.update(entry["id"] for entry in queue.pending() if entry["id"] not in known)
            return bool(new)

        wait_for(listed)
        self.id = new.pop()

    def _run(self, queue: GateQueue, gate: Gate) -> None:
        try:
            self.result = queue.answer(gate)
        except BaseException as error:
            self.error = error

    def value(self) -> Any:
        """What the program got."""
        self.thread.join(10)
        assert not self.thread.is_alive()
        return self.result


def raise_in(ident: int, error: type[BaseException]) -> None:
    """Raises an exception in the thread of this identifier, as whoever ends a handler does. The thread must still run."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), ctypes.py_object(error))


class Handler:
    """A thread that does ``work`` until it is cancelled, and has not ended before nobody raises anything in it any more."""

    def __init__(self, work: Callable[[], object]) -> None:
        self._work = work
        self.begun = False
        self.over = False
        self._released = False
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._released:
            try:
                self.begun = True
                if self.over:
                    time.sleep(0.0005)
                else:
                    self._work()
            except Cancelled:
                self.over = True

    def cancel(self, again: Callable[[], object] = lambda: None, pause: float = 0.005) -> None:
        """Raises :class:`Cancelled` in it until it has noticed: one may be lost in code of others. ``again`` follows each."""
        deadline = time.monotonic() + 10
        while not self.over and time.monotonic() < deadline:
            raise_in(self._thread.ident or 0, Cancelled)
            again()
            time.sleep(pause)
        assert self.over
        time.sleep(0.005)  # for one that is still on its way
        self._released = True
        self._thread.join(10)
        assert not self._thread.is_alive()


def wait_for(condition: Callable[[], object], seconds: float = 10) -> None:
    """Returns when the condition holds; a failure when it does not in time."""
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.002)
    assert condition()


def approve(message: str = "Ship it?", within: float | None = 10) -> Gate:
    return Gate("approve", message, None, within)
