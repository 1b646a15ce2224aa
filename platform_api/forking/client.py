"""Asks a fork server, which is started when it is needed, and again after it has ended."""

from __future__ import annotations

import atexit
import os
import socket
import subprocess
import sys
import threading

from platform_api.forking.server import STATUS, read_all

#: The process gets nothing of the environment of the service, which contains keys.
_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "PYTHONDONTWRITEBYTECODE": "1", "LC_ALL": "C.UTF-8"}


class ForkServer:
    """Asks the fork server of one module. Thread-safe.

    Args:
        module: run with ``python -I -m``; its only argument is the number of the control socket, for
            ``platform_api.forking.server.serve``.
        patience: the seconds after which that server ends a child. Nobody waits twice as long for an answer.
    """

    def __init__(self, module: str, patience: int) -> None:
        self._module = module
        self._patience = patience
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        atexit.register(self.close)

    @property
    def pid(self) -> int | None:
        """The number of the process, ``None`` before the first question."""
        return None if self._process is None else self._process.pid

    def ask(self, request: bytes) -> tuple[int, bytes]:
        """The exit code of the child, as of ``os.waitstatus_to_exitcode``, and its answer.

        Errors: ``RuntimeError`` if the process ends twice without either.
        """
        ended: subprocess.Popen[bytes] | None = None
        for _ in range(2):
            mine, theirs = socket.socketpair()
            with mine:
                with theirs:
                    ended = self._hand_over(theirs, ended)
                mine.settimeout(2 * self._patience)
                try:
                    mine.sendall(request)
                    mine.shutdown(socket.SHUT_WR)
                except OSError:
                    pass  # the child has ended; its answer ends with its status
                answer = read_all(mine)
            if len(answer) >= STATUS.size:
                (status,) = STATUS.unpack(answer[-STATUS.size :])
                return os.waitstatus_to_exitcode(status), answer[: -STATUS.size]
        raise RuntimeError(f"the process of {self._module} has ended twice without an answer")

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
        """Passes a connection to the process, which is restarted if it is the one that has ended, and returns the process."""
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

    def _start(
        self, before: subprocess.Popen[bytes] | None, control: socket.socket | None
    ) -> tuple[subprocess.Popen[bytes], socket.socket]:
        if control is not None:
            control.close()
        if before is not None:
            before.wait()
        mine, theirs = socket.socketpair()
        with theirs:
            command = [sys.executable, "-I", "-m", self._module, str(theirs.fileno())]
            nowhere = subprocess.DEVNULL
            started = subprocess.Popen(
                command, stdin=nowhere, stdout=nowhere, env=_ENVIRONMENT, pass_fds=[theirs.fileno()], start_new_session=True
            )
        return started, mine
