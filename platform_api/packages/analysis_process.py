"""The process beside the service that analyses packages: started when it is needed, and again when it has ended."""

from __future__ import annotations

import atexit
import os
import socket
import subprocess
import sys
import threading

from platform_api.packages.analysis import PATIENCE
from platform_api.packages.forking import STATUS, read_all

#: It gets nothing of the service's environment: there are keys in it.
_ENVIRONMENT = {"PYTHONDONTWRITEBYTECODE": "1", "LC_ALL": "C.UTF-8"}


class AnalysisProcess:
    """Has a child of that process do each analysis. Safe for several threads at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    @property
    def pid(self) -> int | None:
        """The number of the process, ``None`` before the first question."""
        return None if self._process is None else self._process.pid

    def ask(self, request: bytes) -> tuple[int, bytes]:
        """How the child ended, as of ``os.waitstatus_to_exitcode``, and what it answered.

        Errors: ``RuntimeError`` where the process ends before it has said either, twice.
        """
        ended: subprocess.Popen[bytes] | None = None
        for _ in range(2):
            mine, theirs = socket.socketpair()
            with mine:
                with theirs:
                    ended = self._hand_over(theirs, ended)
                mine.settimeout(2 * PATIENCE)
                try:
                    mine.sendall(request)
                    mine.shutdown(socket.SHUT_WR)
                except OSError:
                    pass  # the child has ended: the answer says how
                answer = read_all(mine)
            if len(answer) >= STATUS.size:
                (status,) = STATUS.unpack(answer[-STATUS.size :])
                return os.waitstatus_to_exitcode(status), answer[: -STATUS.size]
        raise RuntimeError("the process that analyses packages has ended twice without an answer")

    def close(self) -> None:
        """Ends the process."""
        with self._lock:
            if self._control is not None:
                self._control.close()
                self._control = None
            if self._process is not None:
                self._process.wait()
                self._process = None

    def _hand_over(self, connection: socket.socket, ended: subprocess.Popen[bytes] | None) -> subprocess.Popen[bytes]:
        """Gives a connection to the process and says which one it is: not the one of which is known that it has ended."""
        with self._lock:
            if self._process is not None and self._process is not ended and self._control is not None:
                try:
                    socket.send_fds(self._control, [b"\1"], [connection.fileno()])
                except BrokenPipeError:
                    pass  # it was idle and has ended
                else:
                    return self._process
            self._process, self._control = self._start(self._process, self._control)
            socket.send_fds(self._control, [b"\1"], [connection.fileno()])
            return self._process

    @staticmethod
    def _start(
        before: subprocess.Popen[bytes] | None, control: socket.socket | None
    ) -> tuple[subprocess.Popen[bytes], socket.socket]:
        if control is not None:
            control.close()
        if before is not None:
            before.wait()
        mine, theirs = socket.socketpair()
        with theirs:
            command = [sys.executable, "-I", "-m", "platform_api.packages.analysis", str(theirs.fileno())]
            nowhere = subprocess.DEVNULL
            started = subprocess.Popen(
                command, stdin=nowhere, stdout=nowhere, env=_ENVIRONMENT, pass_fds=[theirs.fileno()], start_new_session=True
            )
        return started, mine


#: The one of this process.
ANALYSIS = AnalysisProcess()
atexit.register(ANALYSIS.close)
