"""Waiting for events on sockets: with epoll where the system has it, else with Python's ``selectors``.

A poller is given a mask of events for each descriptor and returns events in the same bits. One thread calls
:meth:`Poller.wait`. Any thread may change a mask meanwhile, with immediate effect.
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

# The bits are those of epoll, so that epoll needs no translation.
_IN = 0x001
_OUT = 0x004
#: Events of a client that has closed the connection, or its side of it: EPOLLRDHUP, EPOLLHUP, EPOLLERR.
LEFT = 0x2000 | 0x010 | 0x008
#: Mask for data to read; reports a closed side too, where the system distinguishes the two.
READ = _IN | 0x2000
#: Mask for room to write.
WRITE = _OUT
#: Mask for a closed side only.
LEAVING = 0x2000
_MOST_EVENTS = 256


class Poller(Protocol):
    """Waits for events on descriptors, in one thread."""

    def register(self, descriptor: int, mask: int) -> None:
        """Registers a descriptor."""

    def register_listener(self, descriptor: int) -> None:
        """Registers a listening socket. Where several processes do, one of them is woken for a connection, if the system
        supports that.
        """

    def modify(self, descriptor: int, mask: int) -> None:
        """Changes the mask of a registered descriptor."""

    def unregister(self, descriptor: int) -> None:
        """Removes a descriptor. Raises ``FileNotFoundError`` where it is not registered."""

    def wait(self, seconds: float) -> list[tuple[int, int]]:
        """Blocks until there are events and returns them with their descriptors; an empty list after ``seconds`` (negative: no
        limit).
        """

    def wake(self) -> None:
        """Makes the current or the next :meth:`wait` return, with an event of an unregistered descriptor."""

    def drain(self) -> None:
        """Clears calls of :meth:`wake`. Called after such an event."""

    def close(self) -> None:
        """Closes the poller's own descriptors."""


def best_poller(has_left: Callable[[int], bool]) -> Poller:
    """The best poller of this system. ``has_left`` returns whether the peer of a descriptor has closed its side."""
    if hasattr(select, "epoll"):
        return EpollPoller()
    from selectors import DefaultSelector

    return SelectorPoller(DefaultSelector(), has_left)


class _Waker:
    """A pipe whose event ends a wait."""

    def __init__(self) -> None:
        self.reader, self._writer = os.pipe()
        os.set_blocking(self.reader, False)
        os.set_blocking(self._writer, False)

    def wake(self) -> None:
        with suppress(BlockingIOError):  # a full pipe has an event already
            os.write(self._writer, b"\0")

    def drain(self) -> None:
        with suppress(BlockingIOError):
            os.read(self.reader, 4096)

    def close(self) -> None:
        os.close(self.reader)
        os.close(self._writer)


class EpollPoller:
    """Epoll of Linux. Its calls are safe from any thread."""

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
    """Any selector of the standard library: kqueue on macOS and BSD, poll or select elsewhere.

    A selector does not distinguish a peer that closes its side from one that sends. Where only the closing is of interest,
    ``has_left`` checks the connection once it can be read. A connection with data to read is then not reported again until
    its mask changes.
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
        # kqueue applies a change while another thread waits; poll and select work on a copy.
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
