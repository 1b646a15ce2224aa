"""``lang serve --watch``: starts the service again after every change of a program."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from language.cli.capability_changes import WatchedManifests
from language.cli.streams import err
from language.cli.watch import SECONDS_BETWEEN_LOOKS, SECONDS_TO_SETTLE, stamps
from language.lifeline import Lifeline

if TYPE_CHECKING:
    from collections.abc import Sequence

    from language.cli.arguments import Arguments


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
    environment = {"PLATFORM_DEV": "1", **os.environ, **lifeline.environment()}
    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    manifests = WatchedManifests("serve", lambda: [path])
    while True:
        before = stamps(lambda: [path])
        manifests.look()
        command = [sys.executable, "-m", "language", "serve", *given]
        service = subprocess.Popen(command, process_group=0, env=environment, pass_fds=(lifeline.descriptor,))
        crashed = False
        while not ended and (now := stamps(lambda: [path])) == before:
            if not crashed and service.poll() is not None:
                crashed = True
                err("[lang] the service has ended; waiting for a change")
            time.sleep(SECONDS_BETWEEN_LOOKS)
        if service.poll() is None:
            os.kill(service.pid, signal.SIGTERM)
        code = service.wait()
        if ended:
            return max(code, 0)
        while now != before:  # an editor may still be writing
            before = now
            time.sleep(SECONDS_TO_SETTLE)
            now = stamps(lambda: [path])
        err("[lang] a file has changed: starting again")
