"""Messages that are answered one after another while others arrive: a client can cancel the one that is being answered."""

from __future__ import annotations

import threading
import time
from _thread import allocate_lock
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

from language.locks import Lock
from language.runtime.threads import Background

#: Seconds between two looks at a thread that was cancelled: it may return without telling so.
_LOOK_AGAIN = 0.02


class MessageTurns:
    """Answers each message in a background thread of its own, the next one when that has returned.

    Args:
        answer: answers one message and raises nothing. Its thread is cancelled by :meth:`cancel`.
    """

    def __init__(self, answer: Callable[[Any], None]) -> None:
        self._answer = answer
        self._lock = Lock()
        self._waiting: deque[Any] = deque()
        self._running: Any = None
        self._background: Background | None = None
        #: released to wake the thread that serves
        self._news = allocate_lock()
        self._news.acquire()
        threading.Thread(target=self._serve, name="messages", daemon=True).start()

    @property
    def busy(self) -> bool:
        """Whether a message is being answered or waits for it."""
        with self._lock:
            return self._background is not None or bool(self._waiting)

    def take(self, message: Any) -> None:
        """Answers a message after those before it."""
        with self._lock:
            self._waiting.append(message)
        self._tell()

    def cancel(self, ident: Any) -> None:
        """Ends the answer to the request with that id, or forgets the request if it still waits."""
        with self._lock:
            self._waiting = deque(message for message in self._waiting if _ident(message) != ident)
            if self._background is not None and _ident(self._running) == ident:
                self._background.end()

    def finish(self, seconds: float) -> None:
        """Waits until all messages are answered, at most so long, and cancels what is left."""
        deadline = time.monotonic() + seconds
        while self.busy and time.monotonic() < deadline:
            time.sleep(_LOOK_AGAIN)
        with self._lock:
            self._waiting.clear()
            if self._background is not None:
                self._background.end()

    def _serve(self) -> None:
        while True:
            with self._lock:
                background = None
                if self._waiting:
                    message = self._running = self._waiting.popleft()
                    background = self._background = Background(partial(self._work, message))
            if background is None:
                self._news.acquire()
                continue
            background.start()
            while not background.returned:
                self._news.acquire(timeout=_LOOK_AGAIN)
            with self._lock:
                self._background = self._running = None

    def _work(self, message: Any) -> None:
        try:
            self._answer(message)
        finally:
            self._tell()

    def _tell(self) -> None:
        with self._lock:
            if self._news.locked():
                self._news.release()


def _ident(message: Any) -> Any:
    """The id of a request; ``None`` for other messages."""
    return message.get("id") if isinstance(message, dict) else None


def cancelled_id(message: Any) -> Any:
    """The id of the request that a message cancels; ``None`` for every other message."""
    if not isinstance(message, dict) or message.get("method") != "notifications/cancelled":
        return None
    params = message.get("params")
    ident = params.get("requestId") if isinstance(params, dict) else None
    return ident if isinstance(ident, (str, int)) else None
