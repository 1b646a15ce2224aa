"""How a server hears of what happens on its sockets: by epoll where the system has it, else by Python's ``selectors``.

A poller is told for each descriptor which events are of interest, as a mask, and answers with events in the same bits. One
thread waits in :meth:`Poller.wait`. Any thread may change what is of interest meanwhile; that counts from then on.
"""

from __future__ import annotations

import os
import select
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from language.locks import Lock

if TYPE_CHECKING:
    from collections.abc import Callable
    from selectors import BaseSelector

# The bits are those of epoll, so that nothing is to be translated there.
_IN = 0x001
_OUT = 0x004
#: Events that say that the peer has closed the connection, or its side of it: EPOLLRDHUP, EPOLLHUP, EPOLLERR.
LEFT = 0x2000 | 0x010 | 0x008
#: Interest in what can be read; the peer's leaving is told as well where the system tells the two apart.
READ = _IN | 0x2000
#: Interest in room to write.
WRITE = _OUT
#: Interest in the peer's leaving alone.
LEAVING = 0x2000
_MOST_EVENTS = 256


class Poller(Protocol):
    """The descriptors that one thread waits for."""

    def register(self, descriptor: int, mask: int) -> None:
        """Begins to watch a descriptor."""

    def register_listener(self, descriptor: int) -> None:
        """Begins to watch a listening socket; of several processes that do, one is woken where the system can do that."""

    def modify(self, descriptor: int, mask: int) -> None:
        """Watches a registered descriptor for something else."""

    def unregister(self, descriptor: int) -> None:
        """Watches it no more. Raises ``FileNotFoundError`` where it is not watched."""

    def wait(self, seconds: float) -> list[tuple[int, int]]:
        """Descriptors with events once there are some, an empty list after ``seconds``; a negative number waits forever."""

    def wake(self) -> None:
        """Ends the waiting, now or when it next begins: with an event of a descriptor that nobody registered."""

    def drain(self) -> None:
        """Forgets calls of :meth:`wake`; to be called when such an event has come."""

    def close(self) -> None:
        """Closes the poller's own descriptors."""


def best_poller(has_left: Callable[[int], bool]) -> Poller:
    """The poller for this system. ``has_left`` answers whether the peer of a descriptor has closed its side."""
    if hasattr(select, "epoll"):
        return EpollPoller()
    from selectors import DefaultSelector

    return SelectorPoller(DefaultSelector(), has_left)


class _Waker:
    """A pipe that makes a wait end."""

    def __init__(self) -> None:
        self.reader, self._writer = os.pipe()
        os.set_blocking(self.reader, False)
        os.set_blocking(self._writer, False)

    def wake(self) -> None:
        with suppress(BlockingIOError):  # full: it will be seen anyhow
            os.write(self._writer, b"\0")

    def drain(self) -> None:
        with suppress(BlockingIOError):
            os.read(self.reader, 4096)

    def close(self) -> None:
        os.close(self.reader)
        os.close(self._writer)


class EpollPoller:
    """Linux's epoll. Its calls are safe from any thread."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._waker = _Waker()
        self.wake = self._waker.wake
        self.drain = self._waker.drain
        self.register = self._epoll.register
        self.modify = self._epoll.modify
        self.unregister = self._epoll.unregister
        self._epoll.register(self._waker.reader, select.EPOLLIN)

    def register_listener(self, descriptor: int) -> None:
        self._epoll.register(descriptor, select.EPOLLIN | getattr(select, "EPOLLEXCLUSIVE", 0))

    def wait(self, seconds: float) -> list[tuple[int, int]]:
        return self._epoll.poll(seconds, _MOST_EVENTS)

    def close(self) -> None:
        self._epoll.close()
        self._waker.close()


class SelectorPoller:
    """Any selector of the library: kqueue on macOS and BSD, poll or select elsewhere.

    A selector does not tell a peer that leaves from one that sends. Where its leaving alone is of interest, ``has_left`` looks
    at the connection once something can be read there; a connection with data to read is then watched no more until its mask
    changes, since it would be reported again and again.
    """

    def __init__(self, selector: BaseSelector, has_left: Callable[[int], bool]) -> None:
        self._selector = selector
        self._has_left = has_left
        self._masks: dict[int, int] = {}
        self._lock = Lock()
        self._waiting = False
        self._waker = _Waker()
        self.wake = self._waker.wake
        self.drain = self._waker.drain
        # Interest that the kernel keeps changes while a thread waits; poll and select were given a copy.
        self._changes_at_once = hasattr(selector, "fileno")
        self.register(self._waker.reader, READ)

    def register(self, descriptor: int, mask: int) -> None:
        with self._lock:
            self._masks[descriptor] = mask
            self._select(descriptor, mask)

    def register_listener(self, descriptor: int) -> None:
        self.register(descriptor, READ)

    def modify(self, descriptor: int, mask: int) -> None:
        with self._lock:
            self._masks[descriptor] = mask
            self._deselect(descriptor)
            self._select(descriptor, mask)

    def unregister(self, descriptor: int) -> None:
        with self._lock:
            if self._masks.pop(descriptor, None) is None:
                raise FileNotFoundError(descriptor)
            self._deselect(descriptor)

    def wait(self, seconds: float) -> list[tuple[int, int]]:
        self._waiting = True
        try:
            selected = self._selector.select(None if seconds < 0 else seconds)
        finally:
            self._waiting = False
        events = []
        for key, ready in selected:
            event = self._event(key.fd, ready)
            if event:
                events.append((key.fd, event))
        return events

    def close(self) -> None:
        self._selector.close()
        self._waker.close()

    def _event(self, descriptor: int, ready: int) -> int:
        mask = self._masks.get(descriptor, 0)
        if mask != LEAVING:
            return (_IN if ready & 1 and mask & _IN else 0) | (_OUT if ready & 2 and mask & _OUT else 0)
        if self._has_left(descriptor):
            return LEFT
        with self._lock:
            if self._masks.get(descriptor) == LEAVING:
                self._deselect(descriptor)
        return 0

    def _select(self, descriptor: int, mask: int) -> None:
        self._selector.register(descriptor, 2 if mask & _OUT else 1)  # selectors.EVENT_WRITE, EVENT_READ
        if self._waiting and not self._changes_at_once:
            self.wake()

    def _deselect(self, descriptor: int) -> None:
        with suppress(KeyError):
            self._selector.unregister(descriptor)
