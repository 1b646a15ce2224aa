"""Several processes that answer on the same listening sockets, and one that starts them again when they die.

The process of the program forks a supervisor once, which has no threads and forks the workers: a worker that dies
can so be replaced without forking a process full of threads. The program's process keeps its top level and its jobs. None of
them outlives the one that forked it, and the program does not go on without its supervisor.

What is forked shares what was open: database connections must not be used in two processes (see
:func:`os.register_at_fork`); sockets, files and memory are as they were.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import struct
from time import monotonic, sleep
from typing import TYPE_CHECKING

from language.lifeline import Lifeline
from language.native.server.console import say
from language.native.server.serving import INTERRUPTED, StopSignal, announce, finish

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from language.native.server.serving import Server

#: Seconds before a worker that died is replaced, doubled each time it dies young.
_RESPAWN_SECONDS = 0.1
_MOST_RESPAWN_SECONDS = 5.0
_YOUNG_SECONDS = 5.0
_LOOK_SECONDS = 0.05
#: Seconds beyond the grace for workers to end by themselves.
_PATIENCE = 5.0
_COUNT = struct.Struct("i")


class WorkerProcesses:
    """The workers of one program. ``servers`` makes, in a worker, the servers that are to be started there; its listeners were
    bound before.
    """

    def __init__(self, count: int, servers: Callable[[], Sequence[Server]], grace: float) -> None:
        self._count = count
        self._servers = servers
        self._grace = grace
        self._supervisor = 0
        #: held by the process of the program, and followed by the supervisor
        self._program: Lifeline
        #: held by the supervisor, and followed by the workers and by the process of the program
        self._keeper: Lifeline
        self._reports = -1

    def start(self) -> None:
        """Forks. Raises ``OSError`` where there are no more processes."""
        self._program, self._keeper = Lifeline(), Lifeline()
        self._reports, reports = os.pipe()
        gc.freeze()
        self._supervisor = os.fork()
        if self._supervisor:
            self._keeper.let_go()
            os.close(reports)
            return
        code = 70
        try:
            self._program.let_go()
            os.close(self._reports)
            code = _Supervisor(self._count, self._servers, self._grace, self._program, self._keeper, reports).run()
        finally:
            os._exit(code)  # never back into the program

    @property
    def end(self) -> int:
        """A descriptor that becomes readable when the supervisor has ended; the workers end with it."""
        return self._keeper.descriptor

    def stop(self) -> None:
        """Stops the workers in order and says so on the error stream."""
        self._signal(signal.SIGTERM)
        announce(self._in_flight(), self._grace)
        until = monotonic() + self._grace + _PATIENCE
        while not self._ended():
            if monotonic() > until:
                self._program.let_go()
                self._signal(signal.SIGKILL)
                os.waitpid(self._supervisor, 0)
                break
            sleep(_LOOK_SECONDS)
        say("[serve] stopped")

    def kill(self) -> None:
        """Ends the workers at once."""
        self._program.let_go()
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
        """What the workers report to have in hand; one that says nothing for a second counts as idle."""
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
    """The process between the program and the workers; without threads."""

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
        self._keeper = keeper
        self._reports = reports
        self._born: dict[int, float] = {}
        self._stopping = False

    def run(self) -> int:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal tells all of us: the program's process passes it on
        signal.signal(signal.SIGTERM, self._stop)
        pause = _RESPAWN_SECONDS
        while not self._stopping:
            while len(self._born) < self._count and not self._stopping:
                self._fork()
            orphaned = bool(select.select([self._watched], [], [], _LOOK_SECONDS)[0])
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
        until = monotonic() + self._grace + _PATIENCE
        while self._born:
            if select.select([self._watched], [], [], _LOOK_SECONDS)[0] or monotonic() > until:
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
        finally:
            os._exit(code)

    def _work(self) -> int:
        stop = StopSignal()
        stop.install([signal.SIGTERM])
        self._keeper.follow()
        if self._stopping:
            stop.give()  # it came between the fork and here
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
        """Takes note of workers that have ended; whether one did so soon after its birth."""
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


def _how(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    return f"signal {-code}" if code < 0 else f"exit code {code}"
