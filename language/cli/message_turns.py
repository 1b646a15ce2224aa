"""Messages that are answered one after another while others arrive: a client can cancel the one that is being answered."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from language.runtime.threads import Background

#: Seconds after which a thread that was cancelled without telling so is noticed.
_LOOK_AGAIN = 0.05


class MessageTurns:
    """Answers each message in a background thread of its own, the next one when that has returned.

    Args:
        answer: answers one message and raises nothing. Its thread is cancelled by :meth:`cancel`.
    """

    def __init__(self, answer: Callable[[Any], None]) -> None:
        self._answer = answer
        self._changed = threading.Condition()
        self._waiting: deque[Any] = deque()
        self._running: Any = None
        self._background: Background | None = None
        self._returned = threading.Event()
        threading.Thread(target=self._serve, name="messages", daemon=True).start()

    @property
    def busy(self) -> bool:
        """Whether a message is being answered or waits for it."""
        with self._changed:
            return self._background is not None or bool(self._waiting)

    def take(self, message: Any) -> None:
        """Answers a message after those before it."""
        with self._changed:
            self._waiting.append(message)
            self._changed.notify_all()

    def cancel(self, ident: Any) -> None:
        """Ends the answer to the request with that id, or forgets the request if it still waits."""
        with self._changed:
            self._waiting = deque(message for message in self._waiting if _ident(message) != ident)
            if self._background is not None and _ident(self._running) == ident:
                self._background.end()

    def finish(self, seconds: float) -> None:
        """Waits until all messages are answered, at most so long, and cancels what is left."""
        with self._changed:
            self._changed.wait_for(lambda: self._background is None and not self._waiting, seconds)
            self._waiting.clear()
            if self._background is not None:
                self._background.end()

    def _serve(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting)
                message = self._running = self._waiting.popleft()
                self._returned.clear()
                background = self._background = Background(lambda message=message: self._work(message))  # type: ignore[misc]
            background.start()
            while not background.returned:
                self._returned.wait(_LOOK_AGAIN)
            with self._changed:
                self._background = self._running = None
                self._changed.notify_all()

    def _work(self, message: Any) -> None:
        try:
            self._answer(message)
        finally:
            self._returned.set()


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
