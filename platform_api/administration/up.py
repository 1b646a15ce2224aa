"""``lang platform up``: makes what a first start needs, then keeps the parts of the platform running."""

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

from language.lifeline import Lifeline
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

#: A part that ends is started again after this many seconds, doubled at each end up to the longest.
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
#: A part that has run this long begins with the first pause again.
STEADY_SECONDS = 60.0
STOP_SECONDS = 15.0
#: The runner that belongs to ``up``, below the data folder, and the file with its token in there.
RUNNER, TOKEN_FILE = "runner", "token"


class _Stopped(Exception):
    """SIGINT or SIGTERM."""


def up(arguments: argparse.Namespace, settings: Settings) -> int:
    """Runs the platform until SIGINT or SIGTERM: the service, and a runner beside it where the system is Linux.

    The supervisor holds the listening socket: while the service is started again, connections wait instead of being refused.
    Each part holds a pipe to the supervisor and ends with it, so a supervisor that is killed leaves nothing behind. A part that
    ends is started again, and the other one goes on.

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
        print(f"Within 15 minutes this link signs in as {arguments.admin_email}, once: {link}", flush=True)
    lifeline = Lifeline()
    held, surroundings = lifeline.descriptor, _surroundings(settings, lifeline)
    parts = [_Part("service", _service(arguments, settings, listening), (listening.fileno(), held), surroundings)]
    if sys.platform == "linux":
        parts.append(_Part("runner", _runner(arguments, settings), (held,), surroundings))
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    try:
        _supervise(parts)
    finally:
        lifeline.let_go()
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
        for part in reversed(begun):  # what the runner still reports is heard
            part.end()


class _Part:
    """A process that is started again whenever it ends.

    Args:
        name: what it is called in messages.
        descriptors: those that it inherits.
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
        """Ends it by SIGTERM, kills it where that takes too long, and starts it no more."""
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
            text = f"lang platform: the {self._name} ended with {code} and is started again in {pause} seconds"
            print(text, file=sys.stderr, flush=True)
            if self._ending.wait(pause):
                return
            pause = min(2 * pause, LONGEST_PAUSE)


def _surroundings(settings: Settings, lifeline: Lifeline) -> dict[str, str]:
    """The environment of a part. The address of the database holds a password: it is on no command line."""
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
    """The command of the runner. Its token is made anew, and lies in a file that nobody else can read."""
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
    """A lock that says that this folder has its supervisor. The system lets go of it when this process ends in any way."""
    path = settings.data / "up.lock"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    if fcntl is not None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise OSError(f"a platform runs on {settings.data} already: stop it, or name another folder with --data") from None
    return descriptor
