"""``lang platform up``: prepares the first start, then keeps the parts of the platform running."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from language.lifeline import Lifeline, follow_parent
from platform_api.administration.playground import find_playground
from platform_api.administration.runners import token
from platform_api.administration.users import first_account, read_password

if TYPE_CHECKING:
    import argparse

    from platform_api.settings import Settings

try:
    import fcntl
except ImportError:  # pragma: no cover - not on Windows
    fcntl = None  # type: ignore[assignment]

#: A part that ends is restarted after this many seconds; the pause doubles with each end up to the longest.
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
#: After this many seconds of running, a part gets the shortest pause again.
STEADY_SECONDS = 60.0
STOP_SECONDS = 15.0
#: The id of the runner of ``up``, which is also its folder below the data folder, and the file of its token in there.
RUNNER, TOKEN_FILE = "runner", "token"
#: Variables for the service only. The runner does not get them, because it runs programs of others.
_OF_THE_SERVICE = ("PLATFORM_DATABASE", "PLATFORM_MASTER_KEY")


class _Stopped(Exception):
    """SIGINT or SIGTERM."""


def up(arguments: argparse.Namespace, settings: Settings) -> int:
    """Runs the platform until SIGINT or SIGTERM: the service, and a runner beside it where the system is Linux.

    The supervisor holds the listening socket: while the service is started again, connections wait instead of being refused.
    Each part holds a pipe to the supervisor and ends with it, so a supervisor that is killed leaves nothing behind. A part that
    ends is started again, and the other one goes on. The supervisor ends in order with whoever started it with a lifeline.

    Errors: ``OSError`` for an address or a folder in use; ``RuntimeError`` for a store of a newer version.
    """
    settings.data.mkdir(parents=True, exist_ok=True, mode=0o700)
    lock = _locked(settings)
    password = read_password() if arguments.admin_password_stdin else None
    family = socket.AF_INET6 if ":" in arguments.host else socket.AF_INET
    listening = socket.create_server((arguments.host, arguments.port), family=family, backlog=1024)
    link = first_account(settings, arguments.admin_email, password)
    print(f"The dashboard: {settings.base_url}/", flush=True)
    if link:
        print(f"This link signs in as {arguments.admin_email} once, within 15 minutes: {link}", flush=True)
    lifeline = Lifeline()
    held, surroundings = lifeline.descriptor, _surroundings(settings, lifeline)
    parts = [_Part("service", _service(arguments, settings, listening), (listening.fileno(), held), surroundings)]
    if sys.platform == "linux":
        own = {name: value for name, value in surroundings.items() if name not in _OF_THE_SERVICE}
        parts.append(_Part("runner", _runner(arguments, settings), (held,), own))
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    try:
        follow_parent()
        _supervise(parts)
    finally:
        lifeline.close_write_end()
        listening.close()
        os.close(lock)
    return 0


def _supervise(parts: Iterable[_Part]) -> None:
    """Keeps the parts running until this process is told to stop."""
    begun = []
    try:
        for part in parts:
            begun.append(part)
            part.begin()
        threading.Event().wait()
    except _Stopped:
        pass
    finally:
        for part in reversed(begun):  # the runner ends first, so that the service receives its last reports
            part.end()


class _Part:
    """A process that is restarted whenever it ends.

    Args:
        name: its name in messages.
        descriptors: the descriptors that it inherits.
    """

    def __init__(self, name: str, command: list[str], descriptors: tuple[int, ...], surroundings: Mapping[str, str]) -> None:
        self._name, self._command, self._descriptors, self._surroundings = name, command, descriptors, surroundings
        self._thread = threading.Thread(target=self._keep, name=name, daemon=True)
        self._lock = threading.Lock()
        self._ending = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None

    def begin(self) -> None:
        """Starts it."""
        self._thread.start()

    def end(self) -> None:
        """Ends it by SIGTERM, kills it if that takes too long, and does not restart it."""
        with self._lock:
            self._ending.set()
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
        self._thread.join()

    def _keep(self) -> None:
        pause = FIRST_PAUSE
        while True:
            began = time.monotonic()
            with self._lock:
                if self._ending.is_set():
                    return
                self._process = subprocess.Popen(
                    self._command, pass_fds=self._descriptors, env=self._surroundings, start_new_session=True
                )
            code = self._process.wait()
            if self._ending.is_set():
                return
            pause = FIRST_PAUSE if time.monotonic() - began > STEADY_SECONDS else pause
            text = f"lang platform: the {self._name} ended with {code} and will be restarted in {pause} seconds"
            print(text, file=sys.stderr, flush=True)
            if self._ending.wait(pause):
                return
            pause = min(2 * pause, LONGEST_PAUSE)


def _surroundings(settings: Settings, lifeline: Lifeline) -> dict[str, str]:
    """The environment of a part. The URL of the database is passed in it and not as an argument, because it has a password."""
    given = {} if settings.database is None else {"PLATFORM_DATABASE": settings.database}
    playground = settings.playground or find_playground(settings.data)
    if playground is not None:
        given["PLATFORM_PLAYGROUND"] = str(playground.absolute())
    return {**os.environ, **given, **lifeline.environment()}


def _service(arguments: argparse.Namespace, settings: Settings, listening: socket.socket) -> list[str]:
    command = [sys.executable, "-m", "language", "platform", "serve", "--fd", str(listening.fileno())]
    command += ["--data", str(settings.data), "--base-url", settings.base_url, "--log-format", settings.log_format]
    if arguments.recipes:
        command += ["--recipes", arguments.recipes]
    if arguments.plans:
        command += ["--plans", str(arguments.plans)]
    return command


def _runner(arguments: argparse.Namespace, settings: Settings) -> list[str]:
    """The command of the runner. A new token for it is written to a file that only this user can read."""
    folder = settings.data / RUNNER
    folder.mkdir(exist_ok=True, mode=0o700)
    _write(folder / TOKEN_FILE, token(settings, RUNNER))
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(arguments.host, arguments.host)
    place = f"[{host}]" if ":" in host else host
    command = [sys.executable, "-m", "language", "platform", "runner", "--data", str(folder)]
    command += ["--token-file", str(folder / TOKEN_FILE), "--id", RUNNER, "--engine", arguments.engine]
    return [*command, "--service", f"http://{place}:{arguments.port}", "--base-url", settings.base_url]


def _write(path: Path, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)


def _stop(_number: int, _frame: object) -> None:
    raise _Stopped


def _locked(settings: Settings) -> int:
    """A lock on the folder, so that it has one supervisor. The system releases it when this process ends."""
    path = settings.data / "up.lock"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    if fcntl is not None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise OSError(f"a platform already runs on {settings.data}: stop it, or name another folder with --data") from None
    return descriptor
