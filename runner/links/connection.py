"""One connection of a link: lines in, lines and sockets out, all of it bounded.

Descriptors are taken from nobody: where there is no room for them the system closes what a program sends, and the connection
ends.
"""

from __future__ import annotations

import array
import asyncio
import errno
import socket
from collections import deque
from collections.abc import Callable

from language.host_link import LONGEST_LINE, Message, WireError, decode, encode

#: Bytes read at a time: what one program sends does not keep the others waiting.
_CHUNK = 16 * 1024
#: Answers that wait to be read: from the first number on nothing more is read, from the second on again.
_MOST_WAITING = 256
_FEW_WAITING = 64
_RETRY_SECONDS = 0.1
#: What a program may say: bytes a second, bytes at once, and what a line counts for at least. Much of it is kept on the disk
#: of all programs until the service has taken it.
BYTES_A_SECOND, BYTES_AT_ONCE, LEAST_OF_A_LINE = 1024 * 1024, 8 * 1024 * 1024, 256


class Pace:
    """How fast a program may talk, over all of its connections. To be made on the running loop."""

    def __init__(self) -> None:
        self._clock = asyncio.get_running_loop().time
        self._left = float(BYTES_AT_ONCE)
        self._seen_at = self._clock()

    def spend(self, size: int) -> None:
        """Counts so many received bytes, or their equivalent."""
        self._left -= size

    def rest(self) -> float:
        """Seconds until more is listened to; 0 where it is now."""
        now = self._clock()
        self._left = min(self._left + (now - self._seen_at) * BYTES_A_SECOND, BYTES_AT_ONCE)
        self._seen_at = now
        return max(0.0, -self._left / BYTES_A_SECOND)


class LinkConnection:
    """Reads and writes a connected socket on the running loop, until it ends.

    ``on_message`` is called for each message in order; ``on_end(why)`` once, when the other side has gone, has broken the
    protocol, or :meth:`close` is called. Who talks faster than ``pace`` allows is read later: nothing is lost.
    """

    def __init__(
        self,
        connection: socket.socket,
        on_message: Callable[[Message], None],
        on_end: Callable[[str], None],
        pace: Pace,
    ) -> None:
        connection.setblocking(False)
        self._socket = connection
        self._pace = pace
        self._on_message = on_message
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._begun = bytearray()
        self._outgoing: deque[tuple[memoryview, socket.socket | None, bool]] = deque()
        self._writing = False
        self._reading = False
        self._held = False
        self._resting: asyncio.TimerHandle | None = None
        self.closed = False
        self._read_on()

    # ---- reading --------------------------------------------------------------------------------------------------------

    def hold(self, held: bool) -> None:
        """Whether reading rests: while what was asked for is under way, nothing more is asked for."""
        self._held = held
        self._read_on()

    def _read_on(self) -> None:
        limit = _FEW_WAITING if not self._reading else _MOST_WAITING
        wanted = not (self.closed or self._held or self._resting or len(self._outgoing) >= limit)
        if wanted == self._reading:
            return
        self._reading = wanted
        if wanted:
            self._loop.add_reader(self._socket, self._readable)
        else:
            self._loop.remove_reader(self._socket)

    def _readable(self) -> None:
        try:
            data, _, flags, _ = self._socket.recvmsg(_CHUNK)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self.close(error.strerror or "the connection broke")
            return
        if flags & socket.MSG_CTRUNC:
            self.close("the program sent descriptors")
        elif not data:
            self.close("the program has closed the link")
        else:
            self._take(data)
            self._rest(self._pace.rest())
            self._read_on()

    def _rest(self, seconds: float) -> None:
        if seconds and not self.closed:
            self._resting = self._loop.call_later(seconds, self._rested)

    def _rested(self) -> None:
        self._resting = None
        self._read_on()

    def _take(self, data: bytes) -> None:
        *whole, rest = data.split(b"\n")
        try:
            for line in whole:
                self._pace.spend(max(len(line), LEAST_OF_A_LINE))
                self._begin(line)
                message, descriptors = decode(bytes(self._begun))
                self._begun.clear()
                if descriptors:
                    raise WireError("the program announced descriptors")
                if message is not None:
                    self._on_message(message)
                if self.closed:
                    return
            self._begin(rest)
        except WireError as broken:
            self.close(f"the program broke the protocol: {broken}")
        except BaseException:
            self.close("a message could not be taken")  # the program comes back and sends again what was not acknowledged
            raise

    def _begin(self, part: bytes) -> None:
        if len(self._begun) + len(part) > LONGEST_LINE:
            raise WireError(f"a line of more than {LONGEST_LINE} bytes")
        self._begun += part

    # ---- writing --------------------------------------------------------------------------------------------------------

    def send(self, message: Message, handed: socket.socket | None = None, *, keep: bool = False) -> None:
        """Sends a message, with a socket where one goes along; that is closed here afterwards unless it is to be kept."""
        if self.closed:
            if handed is not None and not keep:
                handed.close()
            return
        self._outgoing.append((memoryview(encode(message, int(handed is not None))), handed, keep))
        if not self._writing:
            self._writable()
        self._read_on()

    def _writable(self) -> None:
        while self._outgoing:
            data, handed, keep = self._outgoing[0]
            try:
                if handed is None:
                    sent = self._socket.send(data)
                else:
                    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [handed.fileno()]))]
                    sent = self._socket.sendmsg([data], rights)
            except (BlockingIOError, InterruptedError):
                self._write_on(True)
                return
            except OSError as error:
                if error.errno == errno.ETOOMANYREFS:  # sockets that programs have not taken yet: tried again soon
                    self._write_on(False)
                    self._loop.call_later(_RETRY_SECONDS, self._again)
                else:
                    self.close(error.strerror or "the connection broke")
                return
            if handed is not None and not keep:
                handed.close()
            if sent < len(data):
                self._outgoing[0] = (data[sent:], None, True)  # a descriptor goes with the first byte
            else:
                self._outgoing.popleft()
        self._write_on(False)
        self._read_on()

    def _again(self) -> None:
        if not self.closed and not self._writing:
            self._writable()

    def _write_on(self, wanted: bool) -> None:
        if wanted != self._writing:
            self._writing = wanted
            if wanted:
                self._loop.add_writer(self._socket, self._writable)
            else:
                self._loop.remove_writer(self._socket)

    # ---- the end --------------------------------------------------------------------------------------------------------

    def close(self, why: str = "closed") -> None:
        """Ends the connection, with what was not sent. A second call does nothing."""
        if self.closed:
            return
        self.closed = True
        if self._resting is not None:
            self._resting.cancel()
        self._read_on()
        self._write_on(False)
        self._socket.close()
        for _, handed, keep in self._outgoing:
            if handed is not None and not keep:
                handed.close()
        self._outgoing.clear()
        self._begun.clear()
        self._on_end(why)
