"""The program's end of the host link.

It has three threads: one reads, one writes, one executes the runner's requests. The program's threads only queue messages
and wait with a polling interval, so that they can be cancelled. After a loss the link is reconnected with the secret from
the start, and messages that were not acknowledged are sent again.
"""

from __future__ import annotations

import errno
import os
import socket
import time
from _queue import SimpleQueue
from _thread import allocate_lock, start_new_thread
from array import array
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import count
from random import uniform
from typing import Any

from language.host_link.messages import (
    LONGEST_LINE,
    PROTOCOL,
    Audited,
    AuditSent,
    Connected,
    ConnectRefused,
    ConnectWanted,
    Decide,
    Decided,
    Drain,
    GateAsked,
    GateEnded,
    Health,
    Hello,
    Listen,
    Message,
    Ping,
    Ready,
    Resumed,
    Start,
    Stop,
    WireError,
    decode,
    encode,
)
from language.host_link.places import RunnerPlace, place_of
from language.locks import Lock
from language.waits import POLLING_INTERVAL, interruptible_wait

#: The most unacknowledged records; a thread that adds another one blocks (backpressure).
MOST_UNACKNOWLEDGED = 10_000
_MOST_ENDED = 5000
_START_SECONDS = 60.0
#: Over TCP, how many seconds the program tries to reach the runner at first.
_FIRST_SECONDS = 20.0
_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 2.0
_CHUNK = 64 * 1024
_MOST_DESCRIPTORS = 16
#: The most characters that are kept of each value of a record that is too long for a line.
_LONGEST_KEPT = 4096


class LinkLost(OSError):
    """The runner cannot be reached."""


class HostLink:
    """A link after its handshake. ``start`` is the runner's message with everything that the program is given.

    Requests of the runner are passed to ``on_decide(gate, token, decision, value)``, which returns an empty text or the reason
    why the decision was not accepted, to ``on_drain()`` and to ``on_stop(grace)``. All of them are called in one thread of the
    link, one at a time, once ``obey`` has been called; earlier requests are queued until then.
    """

    def __init__(self, address: str, secret: str, mode: str, version: str) -> None:
        """Connects to the runner and waits for its start message.

        Args:
            address: the path of a Unix socket, or ``tcp://host:port``.
            secret: the shared secret of a link over TCP, otherwise empty.
            mode: ``run`` or ``serve``.

        Errors: ``LinkLost`` if nobody answers, ``ValueError`` for an invalid address.
        """
        self.place: RunnerPlace = place_of(address, secret)
        self._secret = secret
        self._hello = (PROTOCOL, version, mode)
        self._lock = Lock()
        self._lines: deque[bytes] = deque()
        #: records that are not acknowledged; the first has the number ``_audited + 1``, and ``_sent`` of them have been sent
        self._records: deque[bytes] = deque()
        self._audited = 0
        self._sent = 0
        self._numbers = count(1)
        self._connects: dict[int, _Wanted] = {}
        #: the gates that wait, with the moment of the monotonic clock at which each ends
        self._gates: dict[str, tuple[GateAsked, float | None]] = {}
        self._ended: deque[bytes] = deque(maxlen=_MOST_ENDED)
        self._is_ready = False
        self._handed: list[Listen | socket.socket] = []
        self._hand = allocate_lock()
        self._hand.acquire()
        self._wakes: SimpleQueue[None] = SimpleQueue()
        self._commands: SimpleQueue[Message] = SimpleQueue()
        self.on_decide: Callable[[str, str, bool | None, str | None], str] = lambda *_: "no gate waits"
        self.on_drain: Callable[[], None] = lambda: None
        self.on_stop: Callable[[float], None] = lambda grace: None
        self._reader: _Reader | None = None
        reader = self._dialled_first()
        message = reader.message()
        if not isinstance(message, Start):
            raise LinkLost(errno.EPROTO, "the runner does not begin with what the program is given")
        self.start = message
        self._begin(reader)
        start_new_thread(self._read, ())
        start_new_thread(self._write, ())

    # ---- the program's side ---------------------------------------------------------------------------------------------

    def obey(self) -> None:
        """Begins to pass on the runner's requests. To be called once, after ``on_stop`` and ``on_drain`` are set."""
        start_new_thread(self._obey, ())

    def ready(self) -> None:
        """Reports that the program serves, works or runs."""
        with self._lock:
            self._is_ready = True
            self._lines.append(encode(Ready()))
        self._wakes.put(None)

    def audit(self, record: Mapping[str, Any]) -> None:
        """Queues one record of the audit, in order."""
        with self._lock:
            number = self._audited + len(self._records) + 1
            try:
                line = encode(AuditSent(number, record))
            except WireError:
                line = encode(AuditSent(number, _shortened(record)))
            self._records.append(line)
        self._wakes.put(None)

    def wait_for_room(self) -> None:
        """Blocks until a record can be queued, so that none is lost, however long the runner is unreachable."""
        while len(self._records) >= MOST_UNACKNOWLEDGED:
            time.sleep(POLLING_INTERVAL)

    def flush(self, seconds: float) -> bool:
        """Whether all records are acknowledged within this many seconds."""
        end = time.monotonic() + seconds
        while self._records:
            if time.monotonic() >= end:
                return False
            time.sleep(POLLING_INTERVAL / 5)
        return True

    def gate_asked(self, gate: GateAsked) -> None:
        """Reports a pending gate."""
        line = encode(gate)
        end = None if gate.left_ms is None else time.monotonic() + gate.left_ms / 1000
        with self._lock:
            self._gates[gate.id] = gate, end
            self._lines.append(line)
        self._wakes.put(None)

    def gate_ended(self, gate: GateEnded) -> None:
        """Reports how a gate has ended."""
        line = encode(gate)
        with self._lock:
            if self._gates.pop(gate.id, None) is not None:
                self._ended.append(line)
                self._lines.append(line)
        self._wakes.put(None)

    def connect(self, host: str, port: int, capability: str, seconds: float) -> socket.socket:
        """A connected socket in blocking mode without a timeout.

        Args:
            host: a name or an address without brackets, in canonical form.
            capability: ``net``, ``db`` or ``llm``.

        Errors: ``PermissionError`` if the runner refuses the connection, ``OSError`` if it is not established in time.
        """
        if self.place.is_tcp:
            from language.host_link.proxied import connect

            proxy = self.start.host.get("egress")
            if not isinstance(proxy, int):
                raise OSError(errno.ENETUNREACH, "the runner did not name a way out (egress)")
            return connect((self.place.host, proxy), self.start.resume, (host, port), capability, seconds)
        wanted = _Wanted()
        number = next(self._numbers)
        try:
            wanted.line = encode(ConnectWanted(number, host, port, capability))
            with self._lock:
                self._connects[number] = wanted
                self._lines.append(wanted.line)
            self._wakes.put(None)
            if not interruptible_wait(wanted.over, seconds):
                raise OSError(errno.ETIMEDOUT, "no answer in time")
        finally:
            self._connects.pop(number, None)
        if wanted.socket is not None:
            return wanted.socket
        if wanted.denied:
            raise OSError(errno.EACCES, f"the runner refused the connection: {wanted.reason}")
        raise OSError(errno.EHOSTUNREACH, wanted.reason)

    def listening(self, seconds: float) -> socket.socket | int:
        """The listening socket that the runner passes, or the port to listen on. May be called only once.

        Errors: ``LinkLost``.
        """
        if not interruptible_wait(self._hand, seconds):
            raise LinkLost(errno.ENOTSOCK, "the runner handed in no listening socket")
        given = self._handed.pop()
        if isinstance(given, socket.socket):
            return given
        if given.port is None:
            raise LinkLost(errno.ENOTSOCK, "the runner handed in no listening socket")
        return given.port

    # ---- threads of the link --------------------------------------------------------------------------------------------

    def _read(self) -> None:
        while True:
            reader = self._reader
            try:
                while reader is not None:
                    self._heard(reader, reader.message())
            except (OSError, WireError):
                self._reader = None
            if reader is not None:
                reader.close()
            self._begin(self._dialled_again())

    def _heard(self, reader: _Reader, message: Message | None) -> None:
        if isinstance(message, Audited):
            self._acknowledged(message.seq)
        elif isinstance(message, Connected):
            given = reader.given()
            wanted = self._connects.pop(message.id, None)
            if wanted is None:
                given.close()
            else:
                wanted.socket = given
                wanted.over.release()
        elif isinstance(message, ConnectRefused):
            wanted = self._connects.pop(message.id, None)
            if wanted is not None:
                wanted.reason, wanted.denied = message.reason, message.denied
                wanted.over.release()
        elif isinstance(message, Ping):
            self._say(Health(message.id))
        elif isinstance(message, Listen):
            if not self._handed:
                self._handed.append(message if message.port is not None else reader.given())
                self._hand.release()
        elif isinstance(message, (Decide, Drain, Stop)):
            self._commands.put(message)
        reader.drop_the_rest()

    def _acknowledged(self, number: int) -> None:
        with self._lock:
            while self._audited < number and self._records:
                self._records.popleft()
                self._audited += 1
                self._sent = max(0, self._sent - 1)

    def _write(self) -> None:
        while True:
            self._wakes.get()
            with self._lock:
                reader = self._reader
                if reader is None:
                    continue  # all of it is sent again after the reconnection
                lines = [self._records[at] for at in range(self._sent, len(self._records))]
                self._sent = len(self._records)
                lines += self._lines
                self._lines.clear()
            if lines:
                try:
                    reader.socket.sendall(b"".join(lines))
                except OSError:
                    reader.hang_up()  # the reading thread notices it

    def _obey(self) -> None:
        while True:
            message = self._commands.get()
            if isinstance(message, Decide):
                reason = self.on_decide(message.gate, message.token, message.decision, message.value)
                self._say(Decided(message.id, message.gate, not reason, reason))
            elif isinstance(message, Drain):
                self.on_drain()
            elif isinstance(message, Stop):
                self.on_stop(float(message.grace))

    def _say(self, message: Message) -> None:
        line = encode(message)
        with self._lock:
            self._lines.append(line)
        self._wakes.put(None)

    # ---- dialling -------------------------------------------------------------------------------------------------------

    def _dialled_first(self) -> _Reader:
        """The program's first connection. A network that was just attached may not have a route to the runner yet.

        Errors: ``OSError``.
        """
        end = time.monotonic() + _FIRST_SECONDS
        while True:
            try:
                return self._dialled("")
            except OSError:
                if not self.place.is_tcp or time.monotonic() >= end:
                    raise
            time.sleep(_FIRST_PAUSE)

    def _dialled(self, resume: str) -> _Reader:
        """A connection on which the program has identified itself. Errors: ``OSError``."""
        connection = self.place.dialled()
        try:
            connection.settimeout(_START_SECONDS)
            protocol, version, mode = self._hello
            connection.sendall(encode(Hello(protocol, version, mode, resume, self._secret)))
        except BaseException:
            connection.close()
            raise
        return _Reader(connection)

    def _dialled_again(self) -> _Reader:
        pause = _FIRST_PAUSE
        while True:
            reader = None
            try:
                reader = self._dialled(self.start.resume)
                message = reader.message()
                if isinstance(message, Resumed):
                    self._acknowledged(message.audited)
                    return reader
            except (OSError, WireError):
                pass  # the runner does not listen yet: the loop tries again
            if reader is not None:
                reader.close()
            time.sleep(uniform(pause / 2, pause))
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _begin(self, reader: _Reader) -> None:
        """Makes this connection the link. Messages that may have been lost with the previous one are sent again."""
        reader.socket.settimeout(None)
        with self._lock:
            self._sent = 0
            self._lines.clear()
            if self._is_ready:
                self._lines.append(encode(Ready()))
            self._lines += self._ended
            moment = time.monotonic()
            for gate, end in self._gates.values():
                left = None if end is None else max(0, int(1000 * (end - moment)))
                self._lines.append(encode(replace(gate, left_ms=left)))
            self._lines += [wanted.line for wanted in list(self._connects.values())]
            self._reader = reader
        self._wakes.put(None)


class _Wanted:
    """A requested connection; ``over`` is released with the answer."""

    __slots__ = ("denied", "line", "over", "reason", "socket")

    def __init__(self) -> None:
        self.over = allocate_lock()
        self.over.acquire()
        self.line = b""
        self.socket: socket.socket | None = None
        self.reason = ""
        self.denied = False


class _Reader:
    """Reads a connection line by line, with the file descriptors that come with the lines. No child process inherits them."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self._with_rights = connection.family == socket.AF_UNIX
        self._lines: deque[bytes] = deque()
        self._begun: list[bytes] = []
        self._size = 0
        self._descriptors: deque[int] = deque()
        self._announced = 0

    def message(self) -> Message | None:
        """The next message, ``None`` for an unknown one. Errors: ``LinkLost`` at the end, ``OSError``, ``WireError``."""
        while not self._lines:
            self._receive()
        message, self._announced = decode(self._lines.popleft())
        return message

    def given(self) -> socket.socket:
        """The socket that came with the message. Errors: ``WireError``."""
        if not (self._announced and self._descriptors):
            raise WireError("no descriptor came with the message")
        self._announced -= 1
        found = socket.socket(fileno=self._descriptors.popleft())
        # A listening socket is shared with the program's predecessor, so it must be non-blocking: `accept` could block.
        found.setblocking(not found.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))
        return found

    def drop_the_rest(self) -> None:
        """Closes descriptors that came with the message and were not used."""
        while self._announced and self._descriptors:
            self._announced -= 1
            os.close(self._descriptors.popleft())

    def _receive(self) -> None:
        if self._with_rights:
            room = socket.CMSG_SPACE(4 * _MOST_DESCRIPTORS)
            data, rights, flags, _ = self.socket.recvmsg(_CHUNK, room, socket.MSG_CMSG_CLOEXEC)
            for level, kind, numbers in rights:
                if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                    found = array("i")
                    found.frombytes(numbers[: len(numbers) - len(numbers) % found.itemsize])
                    self._descriptors.extend(found)
            if flags & socket.MSG_CTRUNC:  # a descriptor did not fit, and the next one would be taken for it
                raise LinkLost(errno.EMFILE, "this process has no room for a descriptor of the runner")
        else:
            data = self.socket.recv(_CHUNK)
        if not data:
            raise LinkLost(errno.ECONNRESET, "the runner has closed the link")
        *whole, rest = data.split(b"\n")
        for part in whole:
            self._add(part)
            self._lines.append(b"".join(self._begun))
            self._begun.clear()
            self._size = 0
        self._add(rest)

    def _add(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > LONGEST_LINE:
            raise WireError("a line that is too long")
        self._begun.append(part)

    def hang_up(self) -> None:
        """Makes the reading thread notice the end of the connection."""
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            return  # it has ended already

    def close(self) -> None:
        self.socket.close()
        while self._descriptors:
            os.close(self._descriptors.popleft())


def _shortened(record: Mapping[str, Any]) -> dict[str, Any]:
    """A shortened record that fits into a line, marked as shortened."""

    def kept(value: Any, depth: int) -> Any:
        if isinstance(value, dict) and depth:
            return {name: kept(each, depth - 1) for name, each in list(value.items())[:64]}
        if value is None or isinstance(value, (bool, int, float)):
            return value
        return value[:_LONGEST_KEPT] if isinstance(value, str) else None

    return {**kept(record, 2), "shortened": True}
