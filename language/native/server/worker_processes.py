"""Several worker processes that accept on the same listening sockets, and a supervisor that restarts them.

The program's process forks a supervisor once. The supervisor has no threads and forks the workers, so a worker that dies is
replaced without forking a process that has threads. The program's process keeps the top level and the jobs. No process
outlives the one that forked it, and the program ends when its supervisor does.

A forked process inherits what was open. Database connections must not be used in two processes (see
:func:`os.register_at_fork`). Sockets, files and memory can be.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import struct
import sys
from time import monotonic, sleep
from typing import TYPE_CHECKING

from language.lifeline import Lifeline
from language.native.server.console import say
from language.native.server.serving import INTERRUPTED, StopSignal, announce, finish

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from language.native.server.serving import Server

#: Seconds before a worker that died is replaced. They double each time one dies soon after its start.
_RESPAWN_SECONDS = 0.1
_MOST_RESPAWN_SECONDS = 5.0
_YOUNG_SECONDS = 5.0
_CHECK_SECONDS = 0.05
#: How many seconds beyond the grace period workers have to end by themselves.
_END_SECONDS = 5.0
_COUNT = struct.Struct("i")


class WorkerProcesses:
    """The workers of one program. ``servers`` makes the servers of a worker, in that worker; their listeners are bound
    before.
    """

    def __init__(self, count: int, servers: Callable[[], Sequence[Server]], grace: float) -> None:
        self._count = count
        self._servers = servers
        self._grace = grace
        self._supervisor = 0
        #: its write end is held by the program's process; the supervisor follows it
        self._program: Lifeline
        #: its write end is held by the supervisor; the workers and the program's process follow it
        self._supervisor_lifeline: Lifeline
        self._reports = -1

    def start(self) -> None:
        """Forks the supervisor. Raises ``OSError`` where the system refuses another process."""
        self._program, self._supervisor_lifeline = Lifeline(), Lifeline()
        self._reports, reports = os.pipe()
        gc.freeze()
        self._supervisor = os.fork()
        if self._supervisor:
            self._supervisor_lifeline.close_write_end()
            os.close(reports)
            return
        code = 70
        try:
            self._program.close_write_end()
            os.close(self._reports)
            code = _Supervisor(self._count, self._servers, self._grace, self._program, self._supervisor_lifeline, reports).run()
        finally:
            os._exit(code)  # does not return into the program

    @property
    def end(self) -> int:
        """A descriptor that becomes readable when the supervisor has ended. The workers end with it."""
        return self._supervisor_lifeline.descriptor

    def stop(self) -> None:
        """Stops the workers gracefully and reports that on the error stream."""
        self._signal(signal.SIGTERM)
        announce(self._in_flight(), self._grace)
        until = monotonic() + self._grace + _END_SECONDS
        while not self._ended():
            if monotonic() > until:
                self._program.close_write_end()
                self._signal(signal.SIGKILL)
                os.waitpid(self._supervisor, 0)
                break
            sleep(_CHECK_SECONDS)
        say("[serve] stopped")

    def kill(self) -> None:
        """Ends the workers without a grace period."""
        self._program.close_write_end()
        self._signal(signal.SIGTERM)
        os.waitpid(self._supervisor, 0)

    def _ended(self) -> bool:
        return os.waitpid(self._supervisor, os.WNOHANG)[0] != 0

    def _signal(self, number: int) -> None:
        try:
            os.kill(self._supervisor, number)
        except ProcessLookupError:
            return

    def _in_flight(self) -> int:
        """How many requests the workers report to be answering. A worker that does not report for a second counts as idle."""
        total = 0
        for _ in range(self._count):
            if not select.select([self._reports], [], [], 1.0)[0]:
                break
            data = os.read(self._reports, _COUNT.size)
            if len(data) < _COUNT.size:
                break
            total += _COUNT.unpack(data)[0]
        return total


class _Supervisor:
    """The process between the program and the workers. It has no threads."""

    def __init__(
        self,
        count: int,
        servers: Callable[[], Sequence[Server]],
        grace: float,
        program: Lifeline,
        keeper: Lifeline,
        reports: int,
    ) -> None:
        self._count = count
        self._servers = servers
        self._grace = grace
        self._watched = program.descriptor
        self._supervisor_lifeline = keeper
        self._reports = reports
        self._born: dict[int, float] = {}
        self._stopping = False

    def run(self) -> int:
        # a terminal sends SIGINT to all processes: the program's process passes it on
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, self._stop)
        pause = _RESPAWN_SECONDS
        while not self._stopping:
            while len(self._born) < self._count and not self._stopping:
                self._fork()
            orphaned = bool(select.select([self._watched], [], [], _CHECK_SECONDS)[0])
            if orphaned:
                self._kill(signal.SIGKILL)
                return INTERRUPTED
            died_young = self._reap()
            if died_young:
                sleep(pause)
                pause = min(pause * 2, _MOST_RESPAWN_SECONDS)
            elif self._born and min(monotonic() - born for born in self._born.values()) > _YOUNG_SECONDS:
                pause = _RESPAWN_SECONDS
        self._kill(signal.SIGTERM)
        until = monotonic() + self._grace + _END_SECONDS
        while self._born:
            if select.select([self._watched], [], [], _CHECK_SECONDS)[0] or monotonic() > until:
                self._kill(signal.SIGKILL)
                return INTERRUPTED
            self._reap()
        return 0

    def _stop(self, *_: object) -> None:
        self._stopping = True

    def _fork(self) -> None:
        worker = os.fork()
        if worker:
            self._born[worker] = monotonic()
            return
        code = 70
        try:
            os.close(self._watched)
            code = self._work()
            _close_stores()
        finally:
            os._exit(code)

    def _work(self) -> int:
        stop = StopSignal()
        stop.install([signal.SIGTERM])
        self._supervisor_lifeline.follow()
        if self._stopping:
            stop.give()  # the signal came between the fork and this line
        servers = self._servers()
        for server in servers:
            server.start()
        stop.wait()
        for server in servers:
            server.drain()
        os.write(self._reports, _COUNT.pack(sum(server.application.in_flight for server in servers)))
        finish(servers, self._grace)
        return 0

    def _reap(self) -> bool:
        """Reaps workers that have ended. Returns whether one ended soon after its start."""
        young = False
        for worker in list(self._born):
            ended, status = os.waitpid(worker, os.WNOHANG)
            if ended:
                born = self._born.pop(worker)
                if not self._stopping:
                    young |= monotonic() - born < _YOUNG_SECONDS
                    say(f"[serve] worker process {worker} ended ({_how(status)}): starting another one")
        return young

    def _kill(self, number: int) -> None:
        for worker in self._born:
            os.kill(worker, number)


def _close_stores() -> None:
    """Closes the SQLite files that this process has open, so that the next start need not check them."""
    opened = sys.modules.get("language.native.sqlite_file")
    if opened is not None:
        opened.close_all()


def _how(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    return f"signal {-code}" if code < 0 else f"exit code {code}"
