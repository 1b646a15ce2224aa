"""``lang platform up``: makes what a first start needs, then keeps the parts of the platform running."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from language.lifeline import Lifeline
from platform_api.administration.playground import find_playground
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


class _Stopped(Exception):
    """SIGINT or SIGTERM."""


def up(arguments: argparse.Namespace, settings: Settings) -> int:
    """Runs the platform until SIGINT or SIGTERM.

    The supervisor holds the listening socket: while the service is started again, connections wait instead of being refused.
    The service holds a pipe to the supervisor and ends with it, so a supervisor that is killed leaves nothing behind.

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
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    lifeline = Lifeline()
    try:
        descriptors = listening.fileno(), lifeline.descriptor
        _supervise(_service(arguments, settings, listening), descriptors, _surroundings(settings, lifeline))
    except _Stopped:
        pass
    finally:
        lifeline.let_go()
        listening.close()
        os.close(lock)
    return 0


def _supervise(command: list[str], descriptors: tuple[int, ...], surroundings: dict[str, str]) -> None:
    pause = FIRST_PAUSE
    while True:
        began = time.monotonic()
        part = subprocess.Popen(command, pass_fds=descriptors, env=surroundings, start_new_session=True)
        try:
            code = part.wait()
        except _Stopped:
            _end(part)
            raise
        pause = FIRST_PAUSE if time.monotonic() - began > STEADY_SECONDS else pause
        print(
            f"lang platform: the service ended with {code} and is started again in {pause} seconds", file=sys.stderr, flush=True
        )
        time.sleep(pause)
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


def _end(part: subprocess.Popen[bytes]) -> None:
    part.terminate()
    try:
        part.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        part.kill()
        part.wait()


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
