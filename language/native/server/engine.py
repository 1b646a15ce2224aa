"""The sockets of a server. The leader of a thread pool waits for their events and handles them (see ``leader_pool``)."""

from __future__ import annotations

import os
import socket
from collections import deque
from contextlib import suppress
from sys import setswitchinterval
from time import monotonic, sleep
from typing import TYPE_CHECKING

from language.locks import Lock
from language.native.server.addresses import plain
from language.native.server.body_storage import BODY_PREFIX
from language.native.server.connection import CLOSE, Channel, Connection, Gone
from language.native.server.console import report
from language.native.server.conversation import converse
from language.native.server.heads import error, sized_head
from language.native.server.leader_pool import LeaderPool
from language.native.server.listening import UNIX
from language.native.server.polling import LEAVING, LEFT, READ, WRITE, SelectorPoller, best_poller
from language.serve.reply import ClientGone, FileReply, Reply

if TYPE_CHECKING:
    from collections.abc import Callable
    from selectors import BaseSelector

    from language.native.server.requests import Incoming, RequestReader
    from language.native.server.settings import Settings, Site

_MOST_ACCEPTED = 64
#: Seconds between two checks of the deadlines.
_CHECK_SECONDS = 1.0
#: How many seconds a client has to read the last reply and close the connection before the server closes it.
_LINGER_SECONDS = 2.0
#: How long a handler that only computes keeps the interpreter's lock (GIL) while other threads wait for it. A leader loses that
#: time at each read and write. With Python's default of 5 ms one such handler made all others three times as slow. With less
#: than this value waiting threads use up the processor with attempts to acquire the lock.
_SWITCH_SECONDS = 0.002
#: A whole body may take this many times the timeout between its parts, plus one second for each ``_LEAST_BODY_RATE`` bytes.
_WHOLE_BODY = 10
_LEAST_BODY_RATE = 500
#: How many seconds the leader has to notice that the server has stopped.
_END_SECONDS = 0.5
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class Entrance:
    """A listening socket and the function that makes connections of accepted sockets."""

    __slots__ = ("open", "site", "socket", "wrap")

    def __init__(self, sock: socket.socket, site: Site, wrap: Callable[[Connection], None] | None) -> None:
        self.socket = sock
        self.site = site
        #: starts TLS on an accepted socket
        self.wrap = wrap
        self.open = False


class ServerEngine:
    """The sockets and threads of all servers of a process. The limits in ``settings`` are for all of them together.

    ``selector`` waits for the sockets; without it the best one of the system is used.
    """

    def __init__(self, settings: Settings, selector: BaseSelector | None = None) -> None:
        self._settings = settings
        self._poller = best_poller(self._has_left) if selector is None else SelectorPoller(selector, self._has_left)
        self._connections: dict[int, Connection] = {}
        self._entrances: dict[int, Entrance] = {}
        self._ready: deque[Connection] = deque()
        #: connections whose request waits for a free thread
        self._waiting: deque[Connection] = deque()
        self._pool = LeaderPool(self._lead, self._handle_waiting, settings.workers)
        self._lock = Lock()
        self._next_look = 0.0
        self._accepting = True
        self._spill_folder: str | None = None
        self._started = False
        self._ended = False
        self._stopped = False
        #: called by the leader once a second with the monotonic time; they must not block
        self.watchers: set[Callable[[float], None]] = set()
        #: the open WebSockets
        self.channels: set[Channel] = set()

    # ---- from outside ---------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Starts the first leader; a second call does nothing. Raises ``RuntimeError`` where the system refuses a thread."""
        if self._started:
            return
        self._started = True
        setswitchinterval(_SWITCH_SECONDS)
        self._pool.start()

    def add(self, entrance: Entrance) -> None:
        """Accepts connections on a listener."""
        entrance.socket.setblocking(False)
        self._entrances[entrance.socket.fileno()] = entrance
        entrance.open = True
        self._poller.register_listener(entrance.socket.fileno())

    def remove(self, entrance: Entrance) -> None:
        """Stops accepting on a listener and closes its socket. Open connections stay open."""
        if entrance.open:
            entrance.open = False
            self._entrances.pop(entrance.socket.fileno(), None)
            with suppress(FileNotFoundError):  # not registered while there were too many connections
                self._poller.unregister(entrance.socket.fileno())
            entrance.socket.close()

    def wake(self) -> None:
        """Wakes the leader."""
        self._next_look = 0.0
        with self._lock:
            if not self._ended:
                self._poller.wake()

    def stop(self) -> None:
        """Stops the leader and closes all connections."""
        self._stopped = True
        self._pool.stop()
        self.wake()
        for connection in list(self._connections.values()):
            connection.gone = True
        for entrance in list(self._entrances.values()):
            self.remove(entrance)
        until = monotonic() + _END_SECONDS
        while self._started and not self._ended and monotonic() < until:
            sleep(0.002)
        self._remove_bodies()  # the process may exit before the leader does it

    def busy(self) -> int:
        """How many connections have an unanswered request or an unsent reply."""
        return sum(1 for connection in list(self._connections.values()) if connection.busy or connection.out)

    def connected(self) -> int:
        """How many connections are open."""
        return len(self._connections)

    def spilled(self) -> int:
        """How many bodies are stored in files."""
        try:
            return 0 if self._spill_folder is None else len(os.listdir(self._spill_folder))
        except FileNotFoundError:
            return 0

    @property
    def connections(self) -> int:
        return len(self._connections)

    @property
    def threads(self) -> int:
        return self._pool.threads

    # ---- leading --------------------------------------------------------------------------------------------------------

    def _lead(self) -> None:
        ready = self._ready
        while not self._stopped:
            if not ready:
                self._poll()
                continue
            connection = ready.popleft()
            try:
                if not self._advance(connection):
                    return
            except Gone:
                self.close(connection)
            except OSError:
                self.close(connection)  # reset by the client, or timed out
            except Exception as defect:
                report(defect)
                self.close(connection)
        self._end()

    def _poll(self) -> None:
        now = monotonic()
        timeout = max(0.0, self._next_look - now) if self._connections or not self._accepting else -1
        for descriptor, events in self._poller.wait(timeout):
            connection = self._connections.get(descriptor)
            if connection is None:
                self._other_event(descriptor)
            elif connection.busy:
                self._while_busy(connection, events)
            else:
                self._ready.append(connection)
        if now >= self._next_look:
            self._look(now)

    def _other_event(self, descriptor: int) -> None:
        entrance = self._entrances.get(descriptor)
        if entrance is not None:
            self._accept(entrance)
        else:
            self._poller.drain()

    def _accept(self, entrance: Entrance) -> None:
        for _ in range(_MOST_ACCEPTED):
            if len(self._connections) >= self._settings.most_connections:
                self._set_entrances_aside()
                return
            try:
                sock, address = entrance.socket.accept()
            except BlockingIOError:
                return
            except OSError:
                if entrance.open:  # the process has probably run out of file descriptors: waits
                    self._set_entrances_aside()
                return
            sock.setblocking(False)
            if sock.family != socket.AF_UNIX:
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection = Connection(sock, plain(address[0]) if address else UNIX, entrance.site, self._spill)
            connection.deadline = monotonic() + self._settings.head_seconds
            if entrance.wrap is not None:
                entrance.wrap(connection)
            connection.watched = READ
            self._connections[connection.descriptor] = connection
            self._poller.register(connection.descriptor, READ)

    def _set_entrances_aside(self) -> None:
        """Stops accepting until the next check of the deadlines. Further clients wait in the backlog of the socket."""
        if self._accepting:
            self._accepting = False
            for descriptor in self._entrances:
                self._poller.unregister(descriptor)

    def _while_busy(self, connection: Connection, events: int) -> None:
        """Handles an event of a connection that another thread is using. The event must not be reported again and again."""
        if events & LEFT:
            connection.gone = True
            self.watch(connection, 0)
        elif events & WRITE:
            return  # that thread is waiting for the socket and will release the connection; the event will be reported again
        else:
            self.watch(connection, LEAVING)
        if not connection.busy:
            # that thread has finished without noticing that the connection is no longer registered
            self._watch_again(connection)

    def _watch_again(self, connection: Connection) -> None:
        """Registers the events of a connection that no thread is using."""
        self.watch(connection, WRITE if connection.out else READ)

    def watch(self, connection: Connection, mask: int) -> None:
        """Sets the events of a connection that the leader waits for; 0 for none."""
        with self._lock:
            if connection.watched == mask or connection.closed or self._ended:
                return
            if not connection.watched:
                self._poller.register(connection.descriptor, mask)
            elif not mask:
                self._poller.unregister(connection.descriptor)
            else:
                self._poller.modify(connection.descriptor, mask)
            connection.watched = mask

    def _has_left(self, descriptor: int) -> bool:
        connection = self._connections.get(descriptor)
        return connection is None or connection.has_left()

    # ---- one connection -------------------------------------------------------------------------------------------------

    def _advance(self, connection: Connection) -> bool:
        """Handles an event of a connection. Returns whether this thread still leads."""
        if connection.closed:
            return True
        if connection.out:
            if not connection.flush():
                connection.deadline = monotonic() + self._settings.write_seconds
                return True
            self.watch(connection, READ)
        elif connection.handshake is not None:
            if connection.handshake():
                connection.handshake = None
            return True
        elif connection.lingering:
            connection.receive()
            return True
        else:
            try:
                data = connection.receive()
            except BlockingIOError:
                if connection.watched == WRITE:  # two threads requested the write event at the same time
                    self.watch(connection, READ)
                return True
            channel = connection.channel
            if channel is not None:
                channel.received(data)
                return True
            if connection.leaving:
                return True  # data after a stream or socket is not a request; the thread of the stream closes the connection
            reader = connection.reader
            fresh = reader.at_start
            reader.feed(data)
            if not reader.requests:
                self._after_part(connection, fresh)
                return True
        return self._proceed(connection, leads=True)

    def _after_part(self, connection: Connection, fresh: bool) -> None:
        """Handles a received part of a request."""
        reader = connection.reader
        if reader.refusal is not None:
            self._refuse(connection, *reader.refusal)
        elif reader.in_body:
            connection.deadline = self._body_deadline(reader)
            if reader.wants_continue:
                reader.wants_continue = False
                connection.transmit(_CONTINUE)
                if connection.out:
                    self.watch(connection, WRITE)
        elif fresh:
            connection.deadline = monotonic() + self._settings.head_seconds

    def _body_deadline(self, reader: RequestReader) -> float:
        """The deadline of the next part of a body: a timeout after the last part, and a minimum rate for the whole body."""
        seconds = self._settings.body_seconds
        began, size = reader.body_progress()
        return min(monotonic() + seconds, began + _WHOLE_BODY * seconds + size / _LEAST_BODY_RATE)

    def _proceed(self, connection: Connection, leads: bool) -> bool:
        """Answers the complete requests in order. Does not raise: the caller must learn whether this thread still leads."""
        reader = connection.reader
        while reader.requests and not connection.out:
            incoming = reader.requests[0]
            if leads and not self._pool.covered() and not self._at_once(connection, incoming):
                connection.busy = True
                self._waiting.append(connection)
                return True
            del reader.requests[0]
            connection.busy = True
            leads = self._answer(connection, incoming, leads)
            if incoming.body is not None:
                incoming.body.discard()
            if connection.closed:
                return leads
            if connection.leaving:
                break
            if reader.rest and not reader.requests:
                reader.resume()
        self._release(connection)
        return leads

    def _answer(self, connection: Connection, incoming: Incoming, leads: bool) -> bool:
        site = connection.site
        reply = incoming.refused
        if site.succeeded:
            incoming.keep_alive = False
        if reply is None:
            if site.draining:
                reply = site.application.stopping(incoming.request)
                incoming.keep_alive = False
            elif leads:
                began = self._pool.offer_leadership()
                reply = _respond(site, incoming)
                leads = self._pool.take_back_leadership(began)
            else:
                reply = _respond(site, incoming)
        kind = type(reply)
        sized = kind is Reply or kind is FileReply
        began = self._pool.offer_leadership(long=True) if leads and not sized else 0.0
        try:
            if sized:
                connection.answer(incoming, reply)
            else:
                converse(self, connection, incoming, reply)
        except (OSError, ClientGone):
            self.close(connection)
        except BaseException as defect:
            report(defect)
            self.close(connection)
        if leads and not sized:
            leads = self._pool.take_back_leadership(began)
        return leads

    def _at_once(self, connection: Connection, incoming: Incoming) -> bool:
        """Whether the leader may answer a request itself even though no follower can take over."""
        application = connection.site.application
        return incoming.refused is not None or connection.site.draining or application.is_reserved(incoming.request)

    def _release(self, connection: Connection) -> None:
        """Returns the connection to the leader, because nothing more can be done with it now."""
        reader = connection.reader
        try:
            if connection.out:
                connection.deadline = monotonic() + self._settings.write_seconds
                self.watch(connection, WRITE)
            elif connection.leaving:
                self._leave(connection)
            elif reader.refusal is not None:
                self._refuse(connection, *reader.refusal)
            elif reader.in_body:
                self._after_part(connection, False)
            elif reader.at_start:
                connection.deadline = monotonic() + self._settings.idle_seconds
            else:
                connection.deadline = monotonic() + self._settings.head_seconds
        except OSError:
            self.close(connection)
            return
        connection.busy = False
        self._watch_again(connection)

    def _refuse(self, connection: Connection, status: int, message: str) -> None:
        reply = error(status, message)
        connection.leaving = True
        connection.transmit(sized_head(reply, len(reply.body), CLOSE) + reply.body)
        if connection.out:
            connection.deadline = monotonic() + self._settings.write_seconds
            self.watch(connection, WRITE)
        else:
            self._leave(connection)

    def _leave(self, connection: Connection) -> None:
        """Closes the sending side and waits for the client to close. Closing at once could discard the reply."""
        connection.lingering = True
        connection.deadline = monotonic() + _LINGER_SECONDS
        connection.finish()

    def close(self, connection: Connection) -> None:
        with self._lock:
            if connection.closed:
                return
            if connection.watched:
                self._poller.unregister(connection.descriptor)
                connection.watched = 0
            self._connections.pop(connection.descriptor, None)
            connection.drop()

    # ---- beside the requests --------------------------------------------------------------------------------------------

    def _look(self, now: float) -> None:
        """Closes connections whose deadline has passed, and does what else is due once a second."""
        self._next_look = now + _CHECK_SECONDS
        for connection in list(self._connections.values()):
            if connection.deadline < now and not connection.busy:
                self._time_out(connection)
        for watcher in list(self.watchers):
            watcher(now)
        if not self._accepting and len(self._connections) < self._settings.most_connections:
            self._accepting = True
            for descriptor in self._entrances:
                self._poller.register_listener(descriptor)

    def _time_out(self, connection: Connection) -> None:
        try:
            if connection.lingering or connection.out or connection.handshake is not None or connection.reader.at_start:
                self.close(connection)
            else:
                self._refuse(connection, 408, "request timeout")
        except OSError:
            self.close(connection)

    def _handle_waiting(self) -> None:
        """Called when a thread becomes free: connections that wait for a thread are handled first."""
        while self._waiting:
            try:
                connection = self._waiting.popleft()
            except IndexError:
                return
            if connection.gone:
                self.close(connection)
                continue
            try:
                self._proceed(connection, leads=False)
            except Exception as defect:
                report(defect)
                self.close(connection)

    def _spill(self) -> str:
        """The folder for large bodies. It is made for the first one, and again when it was removed meanwhile."""
        from language.native import private_folders

        with self._lock:
            if self._spill_folder is not None and not os.path.isdir(self._spill_folder):
                private_folders.remove(self._spill_folder, BODY_PREFIX)
                self._spill_folder = None
            if self._spill_folder is None:
                self._spill_folder = private_folders.make("lang-bodies-", BODY_PREFIX)
            return self._spill_folder

    def _end(self) -> None:
        for connection in list(self._connections.values()):
            self.close(connection)
        with self._lock:
            self._ended = True
            self._poller.close()
        self._remove_bodies()

    def _remove_bodies(self) -> None:
        folder = self._spill_folder
        if folder is not None:
            from language.native import private_folders

            private_folders.remove(folder, BODY_PREFIX)


def _respond(site: Site, incoming: Incoming) -> Reply:
    """The application's reply. An application does not raise; if it does, the exception is reported and the reply is an
    error.
    """
    try:
        return site.application.respond(incoming.request)
    except BaseException as defect:
        report(defect)
        return error(500, "internal server error", closes=True)
