"""What the open descriptors of a process refer to, to see that nothing is left open."""

from __future__ import annotations

import os
from collections import Counter
from contextlib import suppress

import httpx

from tests.examples.running_services import Service
from tests.waiting_gates import wait_for

#: Bytes of a body that a server puts into a file.
LARGE_BODY = 1_100_000


def open_descriptors(process: int | str = "self") -> list[str]:
    """The file, pipe or socket of each open descriptor of a process, sorted."""
    folder = f"/proc/{process}/fd"
    targets = []
    for name in os.listdir(folder):
        with suppress(FileNotFoundError):  # the descriptor that lists the folder
            targets.append(os.readlink(f"{folder}/{name}"))
    # libffi opens its own file once, for the trampolines of callbacks, where it was built that way (Debian).
    return sorted(target for target in targets if "/libffi.so" not in target)


def left_open(before: list[str]) -> list[str]:
    """What this process has open beyond what it had open ``before``."""
    return sorted((Counter(open_descriptors()) - Counter(before)).elements())


def open_without_connections(service: Service, path: str) -> list[str]:
    """What a service holds open when it has no connection, but has taken a large body, posted to that path.

    The first large body opens the folder of large bodies, which stays open and locked until the service ends. The clients
    that asked whether the service is up have left, but the service may not have closed their connections yet.
    """
    assert httpx.post(service.url + path, content=b"z" * LARGE_BODY, timeout=30).status_code == 200

    found: list[str] = []

    def only_the_listener() -> bool:
        """And no file of a module that is imported at this moment."""
        found[:] = open_descriptors(service.process.pid)
        return sum(target.startswith("socket:") for target in found) == 1 and not any(
            target.endswith((".py", ".pyc")) for target in found
        )

    wait_for(only_the_listener, 20)
    return found
