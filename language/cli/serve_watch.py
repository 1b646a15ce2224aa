"""``lang serve --watch``: starts the service again after every change of a program."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from language.cli.arguments import UsageError
from language.cli.capability_changes import WatchedManifests
from language.cli.manifest_files import read_manifest
from language.cli.source import read_source
from language.cli.streams import err
from language.cli.watch import SECONDS_BETWEEN_LOOKS, SECONDS_TO_SETTLE, Stamps, stamps
from language.lifeline import Lifeline

if TYPE_CHECKING:
    from collections.abc import Sequence

    from language.cli.arguments import Arguments


#: Seconds that requests in progress have before a changed program takes over, where the operator names none.
GRACE = "1"


def watch(arguments: Arguments, words: Sequence[str]) -> int:
    """Runs ``lang serve`` with the other words in a child process and restarts it after changes. Returns its exit code once a
    signal ended both.

    Changes of the capabilities of a program are printed before it runs. The service ends with this process, even if this one is
    killed.
    """
    path = arguments.paths[0]
    given = [word for word in words if word != "--watch"]
    ended = False

    def end(*_: object) -> None:
        nonlocal ended
        ended = True

    lifeline = Lifeline()
    environment = {"PLATFORM_DEV": "1", "PLATFORM_SHUTDOWN_GRACE": GRACE, **os.environ, **lifeline.environment()}
    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    manifests = WatchedManifests("serve", lambda: [path])
    while True:
        before = stamps(lambda: [path])
        manifests.look()
        command = [sys.executable, "-m", "language", "serve", *given]
        service = subprocess.Popen(command, process_group=0, env=environment, pass_fds=(lifeline.descriptor,))
        crashed = False
        while not ended:
            now = stamps(lambda: [path])
            if now != before:
                before = _settled(path, now)
                if not _has_errors(path):
                    break
                err("[lang] the changed program has errors and is not started; waiting for a change")
            if not crashed and service.poll() is not None:
                crashed = True
                err("[lang] the service has ended; waiting for a change")
            time.sleep(SECONDS_BETWEEN_LOOKS)
        if service.poll() is None:
            os.kill(service.pid, signal.SIGTERM)
        code = service.wait()
        if ended:
            return max(code, 0)
        err("[lang] a file has changed: starting again")


def _settled(path: str, now: Stamps) -> Stamps:
    """The stamps once nothing changes any more: an editor may still be writing."""
    before: Stamps = {}
    while now != before:
        before = now
        time.sleep(SECONDS_TO_SETTLE)
        now = stamps(lambda: [path])
    return now


def _has_errors(path: str) -> bool:
    """Whether the program cannot start; its errors are printed. One that is gone or no text is left to the start."""
    from language.cli.error_display import show_problems

    try:
        errors = read_manifest(path, "serve").errors
        if errors:
            show_problems([*errors], [read_source(path, "serve")])
    except UsageError:
        return False
    return bool(errors)
