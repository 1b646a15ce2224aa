"""A wire between a runner and its service that can be cut, or lose what is answered."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit


class Wire:
    """Hands bytes on between whoever connects and a service.

    Attributes:
        is_cut: nothing gets through, and what is connected is disconnected.
        loses_answers: what is sent arrives, what is answered does not.
        lost: answers that were lost.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._place = (parts.hostname or "", parts.port or 80)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self.is_cut = self.loses_answers = False
        self.lost = 0
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Cuts it."""
        self.is_cut = True
        with self._lock:
            for each in self._open:
                _shut(each)

    def mend(self) -> None:
        """Everything gets through again."""
        self.is_cut = self.loses_answers = False

    def close(self) -> None:
        """Ends it."""
        self.cut()
        _shut(self._listening)
        self._listening.close()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listening.accept()
            except OSError:
                return
            if self.is_cut:
                near.close()
                continue
            far = socket.create_connection(self._place)
            with self._lock:
                self._open |= {near, far}
            threading.Thread(target=self._hand_on, args=(near, far, False), daemon=True).start()
            threading.Thread(target=self._hand_on, args=(far, near, True), daemon=True).start()

    def _hand_on(self, origin: socket.socket, target: socket.socket, answers: bool) -> None:
        try:
            while data := origin.recv(65536):
                if answers and self.loses_answers:
                    self.lost += 1
                    break
                target.sendall(data)
        except OSError:
            pass
        _shut(target)
        with self._lock:
            self._open.discard(origin)
        if answers:
            _shut(origin)


def _shut(each: socket.socket) -> None:
    with suppress(OSError):
        each.shutdown(socket.SHUT_RDWR)


@contextmanager
def wire_to(url: str) -> Iterator[Wire]:
    """A wire to a service."""
    made = Wire(url)
    try:
        yield made
    finally:
        made.close()
