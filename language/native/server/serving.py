"""Starts servers in the background and stops them gracefully when the process gets a signal."""

from __future__ import annotations

import os
import select
import signal
from contextlib import suppress
from time import monotonic, sleep
from typing import TYPE_CHECKING

from language.native.server.console import say
from language.native.server.engine import Entrance, ServerEngine
from language.native.server.redirecting import Redirect
from language.native.server.settings import DEFAULT_GRACE, Site

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import FrameType

    from language.native.server.listening import Listener
    from language.native.server.settings import RequestHandler, Settings

_CHECK_SECONDS = 0.02
#: How many seconds cancelled handlers have to end and their replies to be sent.
_CANCEL_SECONDS = 2.0
#: The last seconds of the grace period, in which handlers whose gates were not answered can still reply.
_GATES_SECONDS = 1.0
INTERRUPTED = 130
SIGNALS = (signal.SIGTERM, signal.SIGINT)

# Written to the pipe of a :class:`StopSignal` by :meth:`StopSignal.give`; a signal writes its number.
_GIVEN = b"\0"


class Server:
    """One listener with its application. Servers with the same ``engine`` share threads and the event loop.

    ``redirect`` is a second listener, which redirects its clients to the first. Raises ``ValueError`` for unusable certificates
    and for trusted proxies that are not addresses.
    """

    def __init__(
        self,
        listener: Listener,
        application: RequestHandler,
        settings: Settings,
        *,
        engine: ServerEngine | None = None,
        redirect: Listener | None = None,
    ) -> None:
        self.listener = listener
        self.application = application
        self.settings = settings
        self.engine = engine or ServerEngine(settings)
        self._site = Site(application, settings)
        wrap = None
        if settings.tls:
            from language.native.server.tls import wrapper

            wrap = wrapper(self.engine, settings.tls)
        self._entrances = [Entrance(listener.socket, self._site, wrap)]
        if redirect is not None:
            self._entrances.append(Entrance(redirect.socket, Site(Redirect(listener.port), settings), None))

    def start(self) -> None:
        """Starts to answer in background threads. Raises ``RuntimeError`` where the system refuses one."""
        for entrance in self._entrances:
            self.engine.add(entrance)
        self.engine.start()

    def hand_over(self) -> None:
        """Stops accepting, because another process accepts on the same socket. Accepted connections are answered as before."""
        for entrance in self._entrances:
            entrance.site.succeeded = True
            self.engine.remove(entrance)
        self.engine.wake()

    def drain(self) -> None:
        """Stops accepting. Further requests on open connections are refused with that reason; running handlers continue."""
        for entrance in self._entrances:
            entrance.site.draining = True
            self.engine.remove(entrance)
        self.application.begin_shutdown()
        self.engine.wake()

    def stop(self, grace: float = DEFAULT_GRACE) -> None:
        """Drains, waits up to ``grace`` seconds, cancels running handlers, and closes every connection."""
        self.drain()
        finish([self], grace)


def finish(servers: Sequence[Server], grace: float) -> None:
    """Waits for drained servers up to ``grace`` seconds, then stops them."""
    engines = list({id(server.engine): server.engine for server in servers}.values())

    def quiet_within(seconds: float) -> bool:
        end = monotonic() + seconds
        while any(engine.busy() for engine in engines):
            if monotonic() >= end:
                return False
            sleep(_CHECK_SECONDS)
        return True

    for_gates = min(_GATES_SECONDS, grace / 5)
    if not quiet_within(grace - for_gates):
        for server in servers:
            server.application.close_gates()
        if not quiet_within(for_gates):
            for server in servers:
                server.application.cancel_all()
            quiet_within(_CANCEL_SECONDS)
    for engine in engines:
        engine.stop()


class StopSignal:
    """Handles SIGTERM and SIGINT. The first one ends :meth:`wait`, a second one ends the process at once with exit code 130.

    ``at_once`` is called at the first signal, in the main thread between any two steps of the program; it may raise. With
    ``second_ends`` false, a second signal is ignored: the sender has other means.
    """

    def __init__(self, at_once: Callable[[], None] | None = None, *, second_ends: bool = True) -> None:
        self.at_once = at_once
        self._second_ends = second_ends
        self.given = False
        #: whether it was a signal that was heard first
        self.by_signal = False
        # The signal writes to this pipe, whatever the main thread is doing. A signal that arrives just before the thread blocks
        # in a lock would otherwise be noticed only after the wait.
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(self._writer, False)

    def install(self, signals: Sequence[signal.Signals] = SIGNALS) -> None:
        """Installs the signal handlers. Only in the main thread."""
        for number in signals:
            signal.signal(number, self._handle)
        signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.given:
            if self._second_ends:
                os._exit(INTERRUPTED)
            return
        self.by_signal = True
        self.give()
        if self.at_once is not None:
            self.at_once()

    def give(self) -> None:
        """Acts as if the first signal had arrived. In a process that was forked since, the process that calls :meth:`wait`
        notices it.
        """
        self.given = True
        with suppress(BlockingIOError):
            os.write(self._writer, _GIVEN)

    def wait(self, *ends: int) -> None:
        """Blocks until a signal has been given or one of the descriptors ``ends`` is readable. In the main thread."""
        while not self.given:
            ready = select.select([self._reader, *ends], [], [])[0]
            if ready and self._reader not in ready:
                return
            with suppress(BlockingIOError):
                if _GIVEN in os.read(self._reader, 4096):
                    self.given = True


def serve_until_signalled(
    servers: Sequence[Server], grace: float = DEFAULT_GRACE, *, stop: StopSignal | None = None, quiet: bool = False
) -> None:
    """Waits for SIGTERM or SIGINT, then stops the servers gracefully and reports that on the error stream, unless ``quiet``."""
    if stop is None:
        stop = StopSignal()
        stop.install()
    stop.wait()
    for server in servers:
        server.drain()
    if not quiet:
        announce(sum(server.application.in_flight for server in servers), grace)
    finish(servers, grace)
    if not quiet:
        say("[serve] stopped")


def announce(in_flight: int, grace: float) -> None:
    """The line that says what a stopping server still waits for."""
    say(
        f"[serve] shutting down: draining {in_flight} in-flight request(s), grace {grace:g}s (PLATFORM_SHUTDOWN_GRACE)",
    )
