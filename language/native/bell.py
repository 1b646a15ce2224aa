"""Wakes a thread that waits for descriptors to become readable: other threads ring the bell."""

from __future__ import annotations

import os
import selectors
from contextlib import suppress

from language.host import Bell
from language.waits import POLLING_INTERVAL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


class NativeBell(Bell):
    """A self-pipe: a ring wakes the same system call that waits for the descriptors."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)
        os.set_blocking(self._write, False)

    def ring(self) -> None:
        with suppress(OSError):  # a full pipe has been rung already; with a closed one nobody waits
            os.write(self._write, b"\0")

    def wait(self, descriptors: Iterable[int], seconds: float) -> None:
        with selectors.DefaultSelector() as selector:
            for descriptor in {self._read, *descriptors}:
                selector.register(descriptor, selectors.EVENT_READ)
            for key, _ in selector.select(min(seconds, POLLING_INTERVAL)):
                if key.fd == self._read:
                    with suppress(BlockingIOError):
                        os.read(self._read, 1024)

    def close(self) -> None:
        write, self._write = self._write, -1  # a late ring then finds no descriptor instead of a reused one
        os.close(write)
        os.close(self._read)
